//! Running a selection: the core's `Selection` with the scheduler's way of waiting and waking.
//!
//! As for plain operations: enter once, take all locks once, and if no operation is ready, queue
//! under those same locks and wait. A selection looks again when a timer channel is due or was
//! reset, and when a peer did not complete its operation.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::task::Waker;
use std::sync::Arc;

use gosched_chan::{
    AsOperation, Chosen, Interest, Offers, Operation, Polled, Selection, Sudog, Verdict, chosen,
};
use gosched_primitives::Random;

use super::case::Case;
use super::patience::Patience;
use super::value_slot::ValueSlot;
use crate::debug;
use crate::g::waiter::{FIRST_OUTCOME, ThreadParker, Ticket, WaitReason, Waiter};
use crate::m::current;
use crate::panics::InTurn;
use crate::sched::{Caller, Inside, Limit, StoppedWorld, Visitor};

/// In which order a selection looks at its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A random one.
    Fair,
    /// That in which they were added.
    Biased,
}

/// What a selection does if no operation is ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum SelectMode {
    /// Gives up, and never moves the goroutine.
    Stay,
    /// Gives up, but may move the goroutine.
    Try,
    /// Waits.
    Wait(Patience),
}

impl SelectMode {
    /// The same mode with its time running ([`Patience::begun`]).
    fn begun(self) -> SelectMode {
        match self {
            SelectMode::Wait(patience) => SelectMode::Wait(patience.begun()),
            SelectMode::Stay | SelectMode::Try => self,
        }
    }
}

/// A selection of up to this many operations allocates no scratch memory.
const INLINE: usize = 8;

/// Room for a selection's numbers and nodes, one of each for each case.
struct Scratch<'s> {
    looking: &'s mut [u32],
    locking: &'s mut [u32],
    nodes: &'s mut [MaybeUninit<Sudog<Waiter>>],
}

/// Calls `f` with room for `n` cases.
#[inline]
fn with_scratch<R>(n: usize, f: impl FnOnce(Scratch<'_>) -> R) -> R {
    if n > INLINE {
        return f(Scratch {
            looking: &mut vec![0; n],
            locking: &mut vec![0; n],
            nodes: Box::new_uninit_slice(n).as_mut(),
        });
    }
    let (mut looking, mut locking) = ([0; INLINE], [0; INLINE]);
    let mut nodes = [const { MaybeUninit::uninit() }; INLINE];
    f(Scratch { looking: &mut looking[..n], locking: &mut locking[..n], nodes: &mut nodes[..n] })
}

/// Makes a node for each case.
fn make_nodes<'n>(
    places: &'n mut [MaybeUninit<Sudog<Waiter>>],
    cases: &[Case<'_>],
    ticket: &Ticket,
    slot: *mut (),
) -> &'n [Sudog<Waiter>] {
    for (number, (place, case)) in places.iter_mut().zip(cases).enumerate() {
        let slot = if case.has_slot() { slot } else { core::ptr::null_mut() };
        place.write(Sudog::new(ticket, FIRST_OUTCOME.saturating_add(number), slot));
    }
    // SAFETY: all were written just now: there are as many places as cases.
    unsafe { &*(core::ptr::from_ref::<[MaybeUninit<Sudog<Waiter>>]>(places) as *const [Sudog<Waiter>]) }
}

/// A random number.
fn random() -> u32 {
    thread_local! {
        /// For threads that are not ours.
        static RANDOM: Random = Random::new(debug::seed());
    }
    match current::current() {
        Some(m) => m.random(),
        None => RANDOM.with(Random::next_u32),
    }
}

/// Writes the numbers from 0 in the given order.
fn arrange(numbers: &mut [u32], order: Order) {
    for (number, place) in numbers.iter_mut().enumerate() {
        *place = number as u32;
    }
    if order == Order::Fair {
        for last in (1..numbers.len()).rev() {
            let other = (u64::from(random()) * (last as u64 + 1)) >> 32;
            numbers.swap(last, other as usize);
        }
    }
}

/// Inside the runtime, in a call that may move or not.
enum AnyCall {
    Moving(Caller),
    Staying(Visitor),
    /// In a call that could move, made by the goroutine or thread that has stopped the world.
    Stopped(Visitor, StoppedWorld),
}

impl AnyCall {
    fn enter(mode: SelectMode) -> AnyCall {
        match mode {
            SelectMode::Stay => AnyCall::Staying(Visitor::enter()),
            SelectMode::Try | SelectMode::Wait(_) => match Caller::enter_moving() {
                Ok(caller) => AnyCall::Moving(caller),
                Err(stopped) => AnyCall::Stopped(Visitor::enter(), stopped),
            },
        }
    }
}

impl Inside for AnyCall {
    fn wake(&mut self, waiter: Waiter) -> Option<Waker> {
        match self {
            AnyCall::Moving(caller) => caller.wake(waiter),
            AnyCall::Staying(visitor) | AnyCall::Stopped(visitor, _) => visitor.wake(waiter),
        }
    }

    fn leave(self) {
        match self {
            AnyCall::Moving(caller) => caller.leave(),
            AnyCall::Staying(visitor) | AnyCall::Stopped(visitor, _) => visitor.leave(),
        }
    }
}

/// A selection all of whose locks are held. They are released when this is dropped.
struct Locks<'s, 'c>(&'s Selection<'s, Case<'c>>);

impl<'s, 'c> Locks<'s, 'c> {
    fn acquire(selection: &'s Selection<'s, Case<'c>>) -> Locks<'s, 'c> {
        selection.lock();
        Locks(selection)
    }
}

impl Drop for Locks<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: held since `acquire`.
        unsafe { self.0.unlock() };
    }
}

/// Wakes the watchers of the operation's channel that should look again. (They are never async
/// tasks.)
///
/// # Safety
/// The operation's lock is held.
unsafe fn tell_watchers(operation: &dyn Operation<Waiter>, inside: &mut impl Inside) {
    // SAFETY: by contract.
    while let Some(waiter) = unsafe { operation.end_watch() } {
        let _ = inside.wake(waiter);
    }
}

/// A slot for the value of any of the cases.
pub(super) fn slot_for(cases: &[Case<'_>]) -> ValueSlot {
    let (mut size, mut align) = (0, 1);
    for case in cases {
        let layout = case.layout();
        size = layout.size().max(size);
        align = layout.align().max(align);
    }
    ValueSlot::new(Layout::from_size_align(size, align).unwrap_or(Layout::new::<u64>()))
}

/// Does one of the operations. Returns its number among `cases`, and its outcome. A received value
/// is in the slot.
pub(super) fn select(
    cases: &[Case<'_>],
    mode: SelectMode,
    order: Order,
    slot: &mut ValueSlot,
) -> Option<(usize, Chosen<Waiter>)> {
    if cases.is_empty() {
        return no_cases(mode);
    }
    with_scratch(cases.len(), |scratch| select_with(cases, mode, order, slot.as_ptr(), scratch))
}

fn select_with(
    cases: &[Case<'_>],
    mode: SelectMode,
    order: Order,
    slot: *mut (),
    scratch: Scratch<'_>,
) -> Option<(usize, Chosen<Waiter>)> {
    arrange(scratch.looking, order);
    let selection = Selection::new(cases, scratch.looking, scratch.locking);
    let mut mode = mode;
    // For a call that must not move and meets a sender that has yet to compute its value.
    let mut parker: Option<Arc<ThreadParker>> = None;
    loop {
        let mut inside = AnyCall::enter(mode);
        let locks = Locks::acquire(&selection);
        let declines = !matches!(inside, AnyCall::Moving(_)) && parker.is_none();
        let offers = if declines { Offers::Decline } else { Offers::Accept };
        // SAFETY: the locks are held, and the slot is large enough for each of the cases.
        let (number, polled) = unsafe { selection.poll(slot, offers) };
        match polled {
            Polled::Ready(chosen, waiter) => {
                // SAFETY: the locks are held.
                unsafe { tell_watchers(cases[number].as_operation(), &mut inside) };
                let [waker] = inside.conclude(locks, [waiter]);
                return Some((number, call_for(&cases[number], waker, chosen, slot)));
            }
            Polled::Offered(sender, waiter) => {
                mode = mode.begun();
                let operation = cases[number].as_operation();
                match meet(locks, inside, operation, sender, waiter, slot, parker.take()) {
                    Some(chosen) => return Some((number, chosen)),
                    None => continue,
                }
            }
            // In a stopped world the offer counts as none: its sender is stopped, and can't compute
            // its value.
            Polled::Offer if StoppedWorld::of_caller().is_none() => {
                let [] = inside.conclude(locks, []);
                parker = Some(ThreadParker::current());
                continue;
            }
            Polled::Offer | Polled::Wait => {}
        }
        let (locks, caller, limit) = may_wait(locks, inside, mode)?;
        mode = SelectMode::Wait(Patience::of(limit));
        match wait(locks, cases, caller, limit, Interest::Take, scratch.nodes, slot) {
            SelectEnd::Verdict(number, verdict) => {
                if let Some(chosen) = chosen(verdict) {
                    return Some((number, chosen));
                }
            }
            SelectEnd::Late => {}
        }
    }
}

/// Calls the waker of the operation's peer, if that is an async task. If the waker panics, the
/// operation is undone: nobody would complete it.
#[inline]
fn call_for(case: &Case<'_>, waker: Option<Waker>, chosen: Chosen<Waiter>, slot: *mut ()) -> Chosen<Waiter> {
    let Some(waker) = waker else { return chosen };
    let mut steps = InTurn::new();
    steps.call(|| waker.wake());
    if steps.has_panicked() {
        // SAFETY: chosen, and not completed: this panics now.
        steps.call(|| unsafe { case.part().undo(chosen, slot) });
        steps.finish();
        unreachable!("the panic goes on");
    }
    chosen
}

/// Waits until one of the operations need not wait. Returns its number among `cases`.
pub(super) fn ready(cases: &[Case<'_>], mode: SelectMode, order: Order) -> Option<usize> {
    if cases.is_empty() {
        return no_cases(mode).map(|(number, _)| number);
    }
    with_scratch(cases.len(), |scratch| ready_with(cases, mode, order, scratch))
}

fn ready_with(cases: &[Case<'_>], mode: SelectMode, order: Order, scratch: Scratch<'_>) -> Option<usize> {
    arrange(scratch.looking, order);
    let selection = Selection::new(cases, scratch.looking, scratch.locking);
    let mut mode = mode;
    loop {
        let inside = AnyCall::enter(mode);
        let locks = Locks::acquire(&selection);
        // SAFETY: the locks are held.
        let found = unsafe { selection.find_ready() };
        let mode_now = if found.is_some() { SelectMode::Try } else { mode };
        let Some((locks, caller, limit)) = may_wait(locks, inside, mode_now) else { return found };
        mode = SelectMode::Wait(Patience::of(limit));
        let nobody = core::ptr::null_mut();
        match wait(locks, cases, caller, limit, Interest::Watch, scratch.nodes, nobody) {
            SelectEnd::Verdict(_, Verdict::Again) | SelectEnd::Late => {}
            SelectEnd::Verdict(number, _) => return Some(number),
        }
    }
}

/// What a wait needs, if the mode allows one and time is left. Else the locks are released, and the
/// runtime is left.
fn may_wait<'s, 'c>(
    locks: Locks<'s, 'c>,
    inside: AnyCall,
    mode: SelectMode,
) -> Option<(Locks<'s, 'c>, Caller, Limit)> {
    match (inside, mode) {
        (AnyCall::Moving(caller), SelectMode::Wait(patience)) => {
            if let Some(limit) = patience.limit() {
                return Some((locks, caller, limit));
            }
            let [] = caller.conclude(locks, []);
        }
        (AnyCall::Stopped(visitor, stopped), SelectMode::Wait(patience)) => {
            let [] = visitor.conclude(locks, []);
            if !patience.is_over() {
                stopped.refuse("wait");
            }
        }
        (inside, _) => {
            let [] = inside.conclude(locks, []);
        }
    }
    None
}

/// How a wait ended.
enum SelectEnd {
    /// By a peer, at this operation.
    Verdict(usize, Verdict<Waiter>),
    /// By time, perhaps that of a timer channel: look again.
    Late,
}

/// Queues a node at each channel, and waits: until the limit, or until a timer channel is due.
#[inline(never)]
fn wait(
    locks: Locks<'_, '_>,
    cases: &[Case<'_>],
    mut caller: Caller,
    limit: Limit,
    interest: Interest,
    places: &mut [MaybeUninit<Sudog<Waiter>>],
    slot: *mut (),
) -> SelectEnd {
    let mut deadline = limit.deadline;
    for case in cases {
        // SAFETY: the locks are held.
        if let Some(due) = unsafe { case.deadline() } {
            deadline = Some(deadline.map_or(due, |deadline| deadline.min(due)));
        }
    }
    let selection = locks.0;
    let ticket = Ticket::new();
    let nodes = make_nodes(places, cases, &ticket, slot);
    // SAFETY: the locks are held; the nodes are out of the queues when this returns.
    let watched = unsafe { selection.enqueue(interest, nodes) };
    if watched && interest == Interest::Take {
        for case in cases {
            // SAFETY: the locks are held. Watchers are threads and goroutines.
            while let Some(waiter) = unsafe { case.as_operation().end_watch() } {
                let _ = caller.wake(waiter);
            }
        }
    }
    let outcome =
        caller.wait_ticket(WaitReason::Select, Limit { deadline, ..limit }, &ticket, || drop(locks));
    let done = outcome.get().checked_sub(FIRST_OUTCOME.get());
    if done.is_none() || cases.len() > 1 {
        let _visitor = Visitor::enter();
        // SAFETY: they were queued there.
        unsafe { selection.dequeue(interest, nodes, done) };
    }
    match done {
        Some(number) => SelectEnd::Verdict(number, nodes[number].verdict()),
        None => SelectEnd::Late,
    }
}

/// Waits for the value of a `select` that was claimed and computes it now. `None`: it did not
/// complete the send.
#[cold]
fn meet(
    locks: Locks<'_, '_>,
    mut inside: AnyCall,
    operation: &dyn Operation<Waiter>,
    sender: NonNull<Sudog<Waiter>>,
    waiter: Waiter,
    slot: *mut (),
    parker: Option<Arc<ThreadParker>>,
) -> Option<Chosen<Waiter>> {
    let ticket = Ticket::new();
    let node = Sudog::new(&ticket, FIRST_OUTCOME, slot);
    // SAFETY: the locks are held; the sender is from `Offered`; the node is in this frame until the
    // delivery.
    unsafe { operation.bind(sender, &node) };
    // The sender needs the lock to deliver, so it does not deliver before this waits. It is no
    // async task.
    let _ = inside.wake(waiter);
    match (inside, parker) {
        (AnyCall::Moving(caller), _) => caller.wait(WaitReason::Select, |waiter| {
            ticket.put(waiter);
            drop(locks);
        }),
        (AnyCall::Staying(visitor) | AnyCall::Stopped(visitor, _), parker) => {
            // `Some`: an offer is declined unless the parker is there.
            let parker = parker.unwrap_or_else(ThreadParker::current);
            ticket.put(Waiter::Thread(parker.clone()));
            drop(locks);
            visitor.block(&parker);
        }
    }
    chosen(node.verdict())
}

/// A selection without operations: waits as long as patience lasts.
#[cold]
fn no_cases(mode: SelectMode) -> Option<(usize, Chosen<Waiter>)> {
    let SelectMode::Wait(patience) = mode else { return None };
    let limit = patience.limit()?;
    let caller = Caller::enter_moving().unwrap_or_else(|stopped| stopped.refuse("wait"));
    if limit.deadline.is_none() {
        caller.wait(WaitReason::SelectNoCases, |_| ());
    } else {
        let ticket = Ticket::new();
        let _ = caller.wait_ticket(WaitReason::SelectNoCases, limit, &ticket, || ());
    }
    None
}
