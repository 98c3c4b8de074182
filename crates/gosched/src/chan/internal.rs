//! What the macros expand to. Not part of the API.
#![allow(unsafe_code)]

use core::fmt;
use core::time::Duration;

use gosched_chan::Chosen;

pub use super::case::Case;
pub use core::{compile_error, concat, stringify};

use super::case;
use super::err::{RecvError, SendError};
use super::patience::Patience;
use super::run::{Order, SelectMode};
use super::select::run;
use super::{Receiver, SelectedOperation, Sender};
use crate::g::waiter::Waiter;

/// In which order the cases are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Bias(Order);

/// `select!`.
pub const FAIR: Bias = Bias(Order::Fair);
/// `select_biased!`.
pub const BIASED: Bias = Bias(Order::Biased);

/// A receive, as the case number `index`.
#[inline]
pub fn recv<T>(r: &Receiver<T>, index: usize) -> Case<'_> {
    Case::recv(r, index)
}

/// A send, as the case number `index`.
#[inline]
pub fn send<T>(s: &Sender<T>, index: usize) -> Case<'_> {
    Case::send(s, index)
}

/// Without a default.
///
/// Until one is selected, the cases borrow their channels: neither an operand nor the time-out can
/// drop or replace one.
///
/// ```compile_fail,E0505
/// # use gosched::chan::{Receiver, unbounded};
/// # use gosched::select;
/// let (_s, r) = unbounded::<i32>();
/// select! { recv(r) -> _ => {}, default({ drop(r); std::time::Duration::ZERO }) => {} }
/// ```
///
/// ```compile_fail,E0506
/// # use gosched::chan::{Receiver, never, unbounded};
/// # use gosched::select;
/// let (_s, mut r) = unbounded::<i32>();
/// select! { recv(r) -> _ => {}, recv({ r = never(); &never::<u8>() }) -> _ => {} }
/// ```
pub fn select<'a>(cases: &[Case<'a>], bias: Bias) -> Selected<'a> {
    Selected(run(cases, SelectMode::Wait(Patience::Endless), bias.0))
}

/// With a default.
pub fn try_select<'a>(cases: &[Case<'a>], bias: Bias) -> Selected<'a> {
    Selected(run(cases, SelectMode::Try, bias.0))
}

/// With a default after some time.
pub fn select_timeout<'a>(cases: &[Case<'a>], timeout: Duration, bias: Bias) -> Selected<'a> {
    Selected(run(cases, SelectMode::Wait(Patience::For(timeout)), bias.0))
}

/// What was selected, if anything. The methods that complete it take it by value, so that it
/// borrows nothing afterwards.
#[derive(Debug)]
pub struct Selected<'a>(Option<SelectedOperation<'a>>);

impl<'a> Selected<'a> {
    /// The number of the case; `usize::MAX`, which is no case's, if nothing was selected.
    #[inline]
    pub fn index(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, SelectedOperation::index)
    }

    /// Completes a receive.
    #[inline]
    pub fn recv<T>(mut self, r: &Receiver<T>) -> Result<T, RecvError> {
        self.operation().complete_recv(r)
    }

    /// Completes a send.
    #[inline]
    pub fn send<T>(mut self, s: &Sender<T>, value: T) -> Result<(), SendError<T>> {
        self.operation().complete_send(s, value)
    }

    /// Keeps the channel of a send alive while its value is computed, by code that may drop or
    /// replace the sender.
    #[inline]
    pub fn hold<T>(mut self, s: &Sender<T>) -> SelectedSend<T> {
        SelectedSend { sender: s.clone(), chosen: self.operation().take_chosen(s) }
    }

    /// Ends it when nothing was selected. Forgets it, because even a drop that does nothing would
    /// cost time here.
    #[inline]
    pub fn nothing(self) {
        debug_assert!(self.0.is_none(), "a case was selected that there is not");
        core::mem::forget(self);
    }

    #[inline]
    fn operation(&mut self) -> &mut SelectedOperation<'a> {
        self.0.as_mut().expect("a case was selected")
    }
}

/// A send that was selected and has to be completed, as a [`SelectedOperation`]; it borrows
/// nothing.
pub struct SelectedSend<T> {
    sender: Sender<T>,
    /// Its outcome; `None` once it is completed.
    chosen: Option<Chosen<Waiter>>,
}

impl<T> SelectedSend<T> {
    /// Completes it.
    #[inline]
    pub fn send(mut self, value: T) -> Result<(), SendError<T>> {
        match self.chosen.take() {
            // SAFETY: chosen for this sender, and taken out, so this is the one completion.
            Some(chosen) => unsafe { case::complete_send(self.sender.chan(), chosen, value) },
            None => Err(SendError(value)),
        }
    }
}

impl<T> fmt::Debug for SelectedSend<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedSend { .. }")
    }
}

impl<T> Drop for SelectedSend<T> {
    fn drop(&mut self) {
        if let Some(chosen) = self.chosen.take() {
            // SAFETY: chosen, and taken out just now, so it is not completed. A send has no value
            // in a slot.
            unsafe { case::abandon(&self.sender, chosen, core::ptr::null_mut()) };
        }
    }
}

/// The case that can't be: a `select!` without a default has selected nothing.
#[cold]
pub fn no_such_case() -> ! {
    unreachable!("a `select!` without a default has selected nothing")
}
