//! Several operations at once: [`Select`], and what the macros use.
//!
//! Invariant: a chosen operation is completed or undone, once. Whoever has the
//! [`SelectedOperation`] must do that.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::time::Duration;
use std::time::Instant;

use gosched_chan::Chosen;

use super::case::{self, Case, Part};
use super::err::{
    ReadyTimeoutError, RecvError, SelectTimeoutError, SendError, TryReadyError, TrySelectError,
};
use super::patience::Patience;
use super::run::{self, Order, SelectMode};
use super::value_slot::ValueSlot;
use super::{Receiver, Sender};
use crate::g::waiter::Waiter;

/// A `select` whose cases are known only at run time. Where it suffices, the [`select!`] macro is
/// easier.
///
/// First add the operations, by [`send`](Select::send) and [`recv`](Select::recv), which number
/// them. Then either select one (`select`, `try_select`, ...), which *must* be completed with the
/// [`SelectedOperation`]; or find out which one is ready (`ready`, `try_ready`, ...), and do that
/// or not.
///
/// An operation is ready if it need not wait, which includes that its channel is closed. Of several
/// that are ready, each has the same chance. A selection takes part in exactly one.
///
/// ```
/// use gosched::chan::{Select, unbounded};
///
/// let (s1, r1) = unbounded();
/// let (s2, r2) = unbounded();
/// gosched::go(move || s1.send("one").unwrap());
/// gosched::go(move || s2.send("two").unwrap());
///
/// let mut sel = Select::new();
/// let first = sel.recv(&r1);
/// let second = sel.recv(&r2);
/// let oper = sel.select();
/// match oper.index() {
///     i if i == first => assert_eq!(oper.recv(&r1), Ok("one")),
///     i if i == second => assert_eq!(oper.recv(&r2), Ok("two")),
///     _ => unreachable!(),
/// }
/// ```
///
/// [`select!`]: crate::select!
pub struct Select<'a> {
    cases: Vec<Case<'a>>,
    next_index: usize,
    order: Order,
}

// SAFETY: it has references to senders and receivers, but moves values by their bytes only. To get
// a value out or in, the caller needs the sender or receiver itself, and so has it on its thread.
unsafe impl Send for Select<'_> {}
// SAFETY: as above.
unsafe impl Sync for Select<'_> {}

impl<'a> Select<'a> {
    /// A selection without operations.
    ///
    /// ```
    /// let sel = gosched::chan::Select::new();
    /// # drop(sel);
    /// ```
    pub fn new() -> Select<'a> {
        Select { cases: Vec::with_capacity(4), next_index: 0, order: Order::Fair }
    }

    /// A selection without operations that selects, of several that are ready, the one that was
    /// added first.
    ///
    /// ```
    /// use gosched::chan::{Select, unbounded};
    ///
    /// let (s, r) = unbounded();
    /// s.send(1).unwrap();
    /// let mut sel = Select::new_biased();
    /// sel.recv(&r);
    /// sel.send(&s);
    /// let oper = sel.select();
    /// assert_eq!(oper.index(), 0);
    /// oper.recv(&r).unwrap();
    /// ```
    pub fn new_biased() -> Select<'a> {
        Select { order: Order::Biased, ..Select::new() }
    }

    /// Adds a send. Returns its number.
    ///
    /// ```
    /// let (s, _r) = gosched::chan::unbounded::<i32>();
    /// let mut sel = gosched::chan::Select::new();
    /// assert_eq!(sel.send(&s), 0);
    /// ```
    pub fn send<T>(&mut self, s: &'a Sender<T>) -> usize {
        self.add(|index| Case::send(s, index))
    }

    /// Adds a receive. Returns its number.
    ///
    /// ```
    /// let (_s, r) = gosched::chan::unbounded::<i32>();
    /// let mut sel = gosched::chan::Select::new();
    /// assert_eq!((sel.recv(&r), sel.recv(&r)), (0, 1));
    /// ```
    pub fn recv<T>(&mut self, r: &'a Receiver<T>) -> usize {
        self.add(|index| Case::recv(r, index))
    }

    fn add(&mut self, case: impl FnOnce(usize) -> Case<'a>) -> usize {
        let index = self.next_index;
        self.cases.push(case(index));
        self.next_index += 1;
        index
    }

    /// Removes an operation. The others keep their numbers; its own is not given again.
    ///
    /// # Panics
    ///
    /// If there is no operation with this number.
    ///
    /// ```
    /// use gosched::chan::{Select, unbounded};
    ///
    /// let (s1, r1) = unbounded::<i32>();
    /// let (_s2, r2) = unbounded::<i32>();
    /// drop(s1); // so receiving from r1 is ready, for ever
    /// let mut sel = Select::new();
    /// let first = sel.recv(&r1);
    /// sel.recv(&r2);
    /// assert_eq!(sel.try_ready(), Ok(first));
    /// sel.remove(first);
    /// assert!(sel.try_ready().is_err());
    /// ```
    pub fn remove(&mut self, index: usize) {
        assert!(index < self.next_index, "index out of bounds; {index} >= {}", self.next_index);
        let place = self.cases.iter().position(|case| case.index == index);
        self.cases.remove(place.expect("no operation with this index"));
    }

    /// Selects an operation that is ready, if there is one. Never moves.
    ///
    /// # Errors
    ///
    /// If every operation would wait.
    ///
    /// ```
    /// use gosched::chan::{Select, unbounded};
    ///
    /// let (s, r) = unbounded();
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// assert!(sel.try_select().is_err());
    /// s.send(1).unwrap();
    /// assert_eq!(sel.try_select().unwrap().recv(&r), Ok(1));
    /// ```
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        run(&self.cases, SelectMode::Stay, self.order).ok_or(TrySelectError)
    }

    /// Selects an operation, waiting until one is ready. A moving call.
    ///
    /// # Panics
    ///
    /// If there are no operations. (The macro's `select! {}` waits for ever, as Go's does.)
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (s, r) = bounded(0);
    /// gosched::go(move || s.send(1).unwrap());
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// assert_eq!(sel.select().recv(&r), Ok(1));
    /// ```
    #[track_caller]
    pub fn select(&mut self) -> SelectedOperation<'a> {
        assert!(!self.cases.is_empty(), "no operations have been added to `Select`");
        run(&self.cases, SelectMode::Wait(Patience::Endless), self.order).expect("an endless wait has no end")
    }

    /// As [`select`](Select::select), waiting for `timeout` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over.
    ///
    /// ```
    /// use gosched::chan::{Select, SelectTimeoutError, bounded};
    /// use std::time::Duration;
    ///
    /// let (_s, r) = bounded::<i32>(0);
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// assert_eq!(sel.select_timeout(Duration::from_millis(5)).unwrap_err(), SelectTimeoutError);
    /// ```
    pub fn select_timeout(&mut self, timeout: Duration) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        run(&self.cases, SelectMode::Wait(Patience::For(timeout)), self.order).ok_or(SelectTimeoutError)
    }

    /// As [`select`](Select::select), waiting until `deadline` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over.
    ///
    /// ```
    /// use gosched::chan::{Select, SelectTimeoutError, bounded};
    /// use std::time::{Duration, Instant};
    ///
    /// let (_s, r) = bounded::<i32>(0);
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// assert_eq!(sel.select_deadline(deadline).unwrap_err(), SelectTimeoutError);
    /// ```
    pub fn select_deadline(
        &mut self,
        deadline: Instant,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        run(&self.cases, SelectMode::Wait(Patience::Until(deadline)), self.order).ok_or(SelectTimeoutError)
    }

    /// Finds an operation that is ready, if there is one. Before the caller does it, others may
    /// have come first. Never moves.
    ///
    /// # Errors
    ///
    /// If every operation would wait.
    ///
    /// ```
    /// use gosched::chan::{Select, unbounded};
    ///
    /// let (s, r) = unbounded();
    /// s.send(1).unwrap();
    /// let mut sel = Select::new();
    /// let receive = sel.recv(&r);
    /// assert_eq!(sel.try_ready(), Ok(receive));
    /// assert_eq!(r.try_recv(), Ok(1));
    /// ```
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        self.run_ready(SelectMode::Stay).ok_or(TryReadyError)
    }

    /// Waits until an operation is ready, and returns its number. Before the caller does it, others
    /// may have come first. A moving call.
    ///
    /// # Panics
    ///
    /// If there are no operations.
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (s, r) = bounded(0);
    /// gosched::go(move || s.send(1).unwrap());
    /// let mut sel = Select::new();
    /// let receive = sel.recv(&r);
    /// assert_eq!(sel.ready(), receive);
    /// assert_eq!(r.try_recv(), Ok(1));
    /// ```
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        assert!(!self.cases.is_empty(), "no operations have been added to `Select`");
        self.run_ready(SelectMode::Wait(Patience::Endless)).expect("an endless wait has no end")
    }

    /// As [`ready`](Select::ready), waiting for `timeout` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over.
    ///
    /// ```
    /// use gosched::chan::{ReadyTimeoutError, Select, bounded};
    /// use std::time::Duration;
    ///
    /// let (_s, r) = bounded::<i32>(0);
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// assert_eq!(sel.ready_timeout(Duration::from_millis(5)), Err(ReadyTimeoutError));
    /// ```
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        self.run_ready(SelectMode::Wait(Patience::For(timeout))).ok_or(ReadyTimeoutError)
    }

    /// As [`ready`](Select::ready), waiting until `deadline` at most. A moving call.
    ///
    /// # Errors
    ///
    /// If the time is over.
    ///
    /// ```
    /// use gosched::chan::{ReadyTimeoutError, Select, bounded};
    /// use std::time::{Duration, Instant};
    ///
    /// let (_s, r) = bounded::<i32>(0);
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// let deadline = Instant::now() + Duration::from_millis(5);
    /// assert_eq!(sel.ready_deadline(deadline), Err(ReadyTimeoutError));
    /// ```
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        self.run_ready(SelectMode::Wait(Patience::Until(deadline))).ok_or(ReadyTimeoutError)
    }

    fn run_ready(&self, mode: SelectMode) -> Option<usize> {
        run::ready(&self.cases, mode, self.order).map(|number| self.cases[number].index)
    }
}

impl<'a> Clone for Select<'a> {
    fn clone(&self) -> Select<'a> {
        Select { cases: self.cases.clone(), next_index: self.next_index, order: self.order }
    }
}

impl<'a> Default for Select<'a> {
    fn default() -> Select<'a> {
        Select::new()
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Select { .. }")
    }
}

pub(super) fn run<'a>(cases: &[Case<'a>], mode: SelectMode, order: Order) -> Option<SelectedOperation<'a>> {
    let mut slot = run::slot_for(cases);
    let (number, chosen) = run::select(cases, mode, order, &mut slot)?;
    let case = cases[number];
    Some(SelectedOperation {
        part: case.part(),
        handle: case.handle,
        index: case.index,
        chosen: Some(chosen),
        slot,
        not_send: PhantomData,
    })
}

/// An operation that was selected and must be completed, by [`send`](SelectedOperation::send) or
/// [`recv`](SelectedOperation::recv): its peer may be waiting for that.
///
/// # Panics
///
/// When it is dropped without having been completed. (What was received is then given to the next
/// receiver.)
///
/// ```
/// use gosched::chan::{Select, SelectedOperation, bounded};
///
/// let (s, r) = bounded(1);
/// let mut sel = Select::new();
/// let send = sel.send(&s);
/// let oper: SelectedOperation<'_> = sel.select();
/// assert_eq!(oper.index(), send);
/// oper.send(&s, "hello").unwrap();
/// assert_eq!(r.recv(), Ok("hello"));
/// ```
#[must_use]
pub struct SelectedOperation<'a> {
    part: &'a dyn Part,
    handle: *const (),
    index: usize,
    /// Its outcome; `None` once it is completed.
    chosen: Option<Chosen<Waiter>>,
    slot: ValueSlot,
    not_send: PhantomData<*mut ()>,
}

// As crossbeam's: if something unwinds, the destructor undoes what was chosen.
impl UnwindSafe for SelectedOperation<'_> {}
impl RefUnwindSafe for SelectedOperation<'_> {}

impl SelectedOperation<'_> {
    /// The number that the operation was given when it was added.
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (s, _r) = bounded(1);
    /// let mut sel = Select::new();
    /// let send = sel.send(&s);
    /// let oper = sel.select();
    /// assert_eq!(oper.index(), send);
    /// oper.send(&s, 1).unwrap();
    /// ```
    pub fn index(&self) -> usize {
        self.index
    }

    /// Completes a send. Never moves.
    ///
    /// # Panics
    ///
    /// If `s` is not the sender that was added.
    ///
    /// # Errors
    ///
    /// If the channel is closed. The value comes back.
    ///
    /// ```
    /// use gosched::chan::{Select, SendError, bounded};
    ///
    /// let (s, r) = bounded::<i32>(0);
    /// drop(r);
    /// let mut sel = Select::new();
    /// sel.send(&s);
    /// assert_eq!(sel.select().send(&s, 10), Err(SendError(10)));
    /// ```
    pub fn send<T>(mut self, s: &Sender<T>, msg: T) -> Result<(), SendError<T>> {
        self.complete_send(s, msg)
    }

    /// Completes a receive. Never moves.
    ///
    /// # Panics
    ///
    /// If `r` is not the receiver that was added.
    ///
    /// # Errors
    ///
    /// If the channel is empty and closed.
    ///
    /// ```
    /// use gosched::chan::{RecvError, Select, bounded};
    ///
    /// let (s, r) = bounded::<i32>(0);
    /// drop(s);
    /// let mut sel = Select::new();
    /// sel.recv(&r);
    /// assert_eq!(sel.select().recv(&r), Err(RecvError));
    /// ```
    pub fn recv<T>(mut self, r: &Receiver<T>) -> Result<T, RecvError> {
        self.complete_recv(r)
    }

    /// As [`send`](SelectedOperation::send), without a move of `self`: for the macros, too.
    #[inline]
    pub(super) fn complete_send<T>(&mut self, s: &Sender<T>, msg: T) -> Result<(), SendError<T>> {
        match self.take_chosen(s) {
            // SAFETY: chosen for this sender, and taken out, so this is the one completion.
            Some(chosen) => unsafe { case::complete_send(s.chan(), chosen, msg) },
            None => Err(SendError(msg)),
        }
    }

    /// Takes the outcome of the send on `s`: the caller completes it.
    #[inline]
    pub(super) fn take_chosen<T>(&mut self, s: &Sender<T>) -> Option<Chosen<Waiter>> {
        assert!(core::ptr::from_ref(s).cast() == self.handle, "passed a sender that wasn't selected");
        self.chosen.take()
    }

    /// As [`recv`](SelectedOperation::recv).
    #[inline]
    pub(super) fn complete_recv<T>(&mut self, r: &Receiver<T>) -> Result<T, RecvError> {
        assert!(core::ptr::from_ref(r).cast() == self.handle, "passed a receiver that wasn't selected");
        let value = match self.chosen.take() {
            // SAFETY: chosen for this receiver, whose value is in the slot; and taken out, so this
            // is the one completion.
            Some(Chosen::Value) => unsafe { self.slot.take() },
            Some(Chosen::ValueAndGarbage) => {
                // SAFETY: as above.
                let value = ManuallyDrop::new(unsafe { self.slot.take() });
                case::tidy(r);
                ManuallyDrop::into_inner(value)
            }
            _ => return Err(RecvError),
        };
        Ok(value)
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedOperation { .. }")
    }
}

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        if let Some(chosen) = self.chosen.take() {
            // SAFETY: chosen, and taken out just now, so it is not completed.
            unsafe { case::abandon(self.part, chosen, self.slot.as_ptr()) };
        }
    }
}
