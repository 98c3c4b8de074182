//! What the models share: channels whose waiters are notes, and values whose accesses loom checks.

#![cfg(loom)]
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::mem::{ManuallyDrop, MaybeUninit};

use gosched_chan::{
    Chan, Chosen, Filled, Interest, Offers, Operation, Polled, Received, RecvOp, Selection, SendOp, Sent,
    Side, Sudog, Verdict, chosen,
};
use gosched_primitives::{Claim, Note, Outcome};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

pub type W = Arc<Note>;

pub const TIMED_OUT: Outcome = Outcome::MIN;
pub const FIRST: Outcome = TIMED_OUT.saturating_add(1);

/// Checks all interleavings with at most `preemptions` forced switches.
pub fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 50_000;
    builder.check(model);
}

/// A value with contents that its sender writes and its receiver must see, alone.
pub struct Value(Box<UnsafeCell<usize>>);

// SAFETY: the contents belong to whoever has the value, which is what loom checks.
unsafe impl Send for Value {}

impl Value {
    pub fn new(n: usize) -> Value {
        let value = Value(Box::new(UnsafeCell::new(0)));
        // SAFETY: loom checks that this is exclusive.
        value.0.with_mut(|contents| unsafe { *contents = n });
        value
    }

    /// Reads it, by a write: a race with everybody else who touches it.
    pub fn open(self) -> usize {
        // SAFETY: loom checks that this is exclusive.
        self.0.with_mut(|contents| unsafe { std::mem::replace(&mut *contents, usize::MAX) })
    }
}

pub struct Model(pub Chan<Value, W>);

#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Done,
    Closed,
    TimedOut,
}

/// How long somebody waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    Endless,
    /// Until a time limit, which may end at any moment.
    Some,
    None,
}

/// Waits for the ticket's end, which may be a time-out. The ticket's waiter is `note`.
pub fn wait(ticket: &Claim<W>, note: &Note, patience: Patience) -> Outcome {
    if patience == Patience::Some && ticket.claim(TIMED_OUT).is_some() {
        return TIMED_OUT;
    }
    note.sleep();
    ticket.outcome().expect("woken, so claimed")
}

impl Model {
    pub fn bounded(capacity: usize) -> Arc<Model> {
        Arc::new(Model(Chan::bounded(capacity)))
    }

    /// Sends; gives the value back if it was not.
    pub fn send(&self, value: Value, patience: Patience) -> Result<(), (Value, End)> {
        let value = ManuallyDrop::new(value);
        let mut state = self.0.lock();
        // SAFETY: the value is not used again if it was moved.
        match unsafe { state.send(&*value) } {
            Sent::Handed(waiter) => {
                drop(state);
                waiter.wake();
                return Ok(());
            }
            Sent::Buffered => return Ok(()),
            Sent::Closed => return Err((ManuallyDrop::into_inner(value), End::Closed)),
            Sent::NoRoom(_) => unreachable!("bounded"),
            Sent::Full => {}
        }
        if patience == Patience::None {
            return Err((ManuallyDrop::into_inner(value), End::TimedOut));
        }
        let (ticket, note) = (Claim::new(), Arc::new(Note::new()));
        ticket.put(note.clone());
        let slot = std::ptr::from_ref(&*value).cast_mut();
        let node = Sudog::new(&ticket, FIRST, slot.cast());
        // SAFETY: the node is out of the queue before this returns.
        unsafe { state.enqueue(Side::Send, &node) };
        drop(state);
        if wait(&ticket, &note, patience) == TIMED_OUT {
            // SAFETY: it was queued there.
            unsafe { self.0.lock().dequeue(Side::Send, &node) };
            return Err((ManuallyDrop::into_inner(value), End::TimedOut));
        }
        match node.verdict() {
            Verdict::Done => Ok(()),
            Verdict::Closed => Err((ManuallyDrop::into_inner(value), End::Closed)),
            _ => panic!("a verdict that nobody gives"),
        }
    }

    pub fn recv(&self, patience: Patience) -> Result<Value, End> {
        let mut slot = MaybeUninit::<Value>::uninit();
        let (ticket, note) = (Claim::new(), Arc::new(Note::new()));
        let node = Sudog::new(&ticket, FIRST, slot.as_mut_ptr().cast());
        let mut state = self.0.lock();
        // SAFETY: the slot is read if it was written.
        match unsafe { state.recv(slot.as_mut_ptr(), Offers::Accept) } {
            Received::Taken(waiter) => {
                drop(state);
                if let Some(waiter) = waiter {
                    waiter.wake();
                }
                // SAFETY: taken.
                return Ok(unsafe { slot.assume_init() });
            }
            Received::Closed => return Err(End::Closed),
            Received::Offer => unreachable!("not declined"),
            Received::Empty if patience == Patience::None => return Err(End::TimedOut),
            Received::Empty => {
                ticket.put(note.clone());
                // SAFETY: the node is out of the queue before this returns.
                unsafe { state.enqueue(Side::Recv, &node) };
                drop(state);
                if wait(&ticket, &note, patience) == TIMED_OUT {
                    // SAFETY: it was queued there.
                    unsafe { self.0.lock().dequeue(Side::Recv, &node) };
                    return Err(End::TimedOut);
                }
            }
            Received::Offered(sender, waiter) => {
                ticket.put(note.clone());
                // SAFETY: the node stays until the delivery.
                unsafe { state.bind(sender, &node) };
                waiter.wake();
                drop(state);
                note.sleep();
            }
        }
        match node.verdict() {
            // SAFETY: done, so a value was moved into the slot.
            Verdict::Done => Ok(unsafe { slot.assume_init() }),
            Verdict::Closed => Err(End::Closed),
            _ => panic!("a verdict that nobody gives"),
        }
    }

    pub fn close(&self) {
        let mut state = self.0.lock();
        state.close();
        let waiters: Vec<W> = std::iter::from_fn(|| state.end_one()).collect();
        drop(state);
        waiters.into_iter().for_each(|waiter| waiter.wake());
    }
}

/// What a selection wants.
pub enum Case<'m> {
    Send(SendOp<'m, Value, W>),
    Recv(RecvOp<'m, Value, W>),
}

impl<'m> Case<'m> {
    pub fn send(model: &'m Model) -> Case<'m> {
        Case::Send(SendOp(&model.0))
    }

    pub fn recv(model: &'m Model) -> Case<'m> {
        Case::Recv(RecvOp(&model.0))
    }

    fn operation(&self) -> &dyn Operation<W> {
        match self {
            Case::Send(send) => send,
            Case::Recv(recv) => recv,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Selected {
    Received(usize, usize),
    Sent(usize),
    Closed(usize),
    TimedOut,
}

/// Selects among `cases`; a send sends a value with `n`.
pub fn select(cases: &[Case<'_>], n: usize, patience: Patience) -> Selected {
    let operations: Vec<&dyn Operation<W>> = cases.iter().map(Case::operation).collect();
    let looking: Vec<u32> = (0..cases.len() as u32).collect();
    let mut locking = vec![0; cases.len()];
    let selection = Selection::new(&operations, &looking, &mut locking);
    let mut slot = MaybeUninit::<Value>::uninit();
    let place: *mut () = slot.as_mut_ptr().cast();
    let (ticket, note) = (Claim::new(), Arc::new(Note::new()));
    selection.lock();
    // SAFETY: the locks are held; the slot is a Value's.
    let (number, what) = match unsafe { selection.poll(place, Offers::Accept) } {
        (number, Polled::Ready(chosen, waiter)) => {
            // SAFETY: the locks are held.
            unsafe { selection.unlock() };
            if let Some(waiter) = waiter {
                waiter.wake();
            }
            (number, chosen)
        }
        (number, Polled::Offered(sender, waiter)) => {
            let node = Sudog::new(&ticket, FIRST, place);
            ticket.put(note.clone());
            // SAFETY: the locks are held; the node stays until the delivery.
            unsafe { operations[number].bind(sender, &node) };
            waiter.wake();
            // SAFETY: the locks are held.
            unsafe { selection.unlock() };
            note.sleep();
            (number, chosen(node.verdict()).expect("nobody changes his mind"))
        }
        (_, Polled::Offer) => unreachable!("not declined"),
        (_, Polled::Wait) if patience == Patience::None => {
            // SAFETY: the locks are held.
            unsafe { selection.unlock() };
            return Selected::TimedOut;
        }
        (_, Polled::Wait) => {
            ticket.put(note.clone());
            let node = |(number, case): (usize, &Case<'_>)| {
                let slot = if let Case::Recv(_) = case { place } else { std::ptr::null_mut() };
                Sudog::new(&ticket, FIRST.saturating_add(number), slot)
            };
            let nodes: Vec<Sudog<W>> = cases.iter().enumerate().map(node).collect();
            // SAFETY: the locks are held; the nodes are out of the queues before this returns.
            unsafe {
                selection.enqueue(Interest::Take, &nodes);
                selection.unlock();
            }
            let outcome = wait(&ticket, &note, patience);
            let done = outcome.get().checked_sub(FIRST.get());
            // SAFETY: they were queued there.
            unsafe { selection.dequeue(Interest::Take, &nodes, done) };
            let Some(number) = done else { return Selected::TimedOut };
            (number, chosen(nodes[number].verdict()).expect("nobody changes his mind"))
        }
    };
    complete(&cases[number], number, what, slot, n)
}

fn complete(case: &Case<'_>, number: usize, what: Chosen<W>, slot: MaybeUninit<Value>, n: usize) -> Selected {
    match (case, what) {
        (_, Chosen::Closed) => Selected::Closed(number),
        (Case::Recv(_), Chosen::Value | Chosen::ValueAndGarbage) => {
            // SAFETY: a value is in the slot.
            Selected::Received(number, unsafe { slot.assume_init() }.open())
        }
        (Case::Send(SendOp(chan)), Chosen::Place) => {
            let value = ManuallyDrop::new(Value::new(n));
            // SAFETY: a place is reserved; the value is not used again if it was moved.
            match unsafe { chan.lock().fill(&*value) } {
                Filled::Done(receiver, sender) => {
                    [receiver, sender].into_iter().flatten().for_each(|w| w.wake())
                }
                Filled::Buffered => {}
                Filled::Closed => {
                    drop(ManuallyDrop::into_inner(value));
                    return Selected::Closed(number);
                }
                Filled::NoRoom(_) => unreachable!("bounded"),
            }
            Selected::Sent(number)
        }
        (Case::Send(SendOp(chan)), Chosen::Peer(node, waiter)) => {
            let value = ManuallyDrop::new(Value::new(n));
            // SAFETY: the one delivery; the value is moved.
            let waiter = unsafe { chan.lock().deliver(node, waiter, &*value) };
            waiter.expect("no futures here").expect("it waits").wake();
            Selected::Sent(number)
        }
        _ => panic!("chosen, but not for this case"),
    }
}
