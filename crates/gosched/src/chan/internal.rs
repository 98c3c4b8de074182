//! What the macros expand to. Not part of the API.

use core::time::Duration;

pub use super::case::Case;

use super::ops::Patience;
use super::run::{Mode, Order};
use super::select::{run, select_endless};
use super::{Receiver, SelectedOperation, Sender};

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
pub fn select<'a>(cases: &[Case<'a>], bias: Bias) -> SelectedOperation<'a> {
    select_endless(cases, bias.0)
}

/// With a default.
pub fn try_select<'a>(cases: &[Case<'a>], bias: Bias) -> Option<SelectedOperation<'a>> {
    run(cases, Mode::Try, bias.0)
}

/// With a default after some time.
pub fn select_timeout<'a>(
    cases: &[Case<'a>],
    timeout: Duration,
    bias: Bias,
) -> Option<SelectedOperation<'a>> {
    run(cases, Mode::Wait(Patience::For(timeout)), bias.0)
}
