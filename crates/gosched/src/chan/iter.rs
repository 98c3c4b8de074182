//! Receivers as iterators.

use core::fmt;
use core::iter::FusedIterator;

use super::Receiver;

/// The values of a channel as they come, until it is empty and closed; see [`Receiver::iter`].
///
/// ```
/// let (s, r) = gosched::chan::unbounded();
/// s.send(1).unwrap();
/// drop(s);
/// let mut iter: gosched::chan::Iter<'_, i32> = r.iter();
/// assert_eq!((iter.next(), iter.next()), (Some(1), None));
/// ```
pub struct Iter<'a, T>(&'a Receiver<T>);

/// The values that are in a channel already; see [`Receiver::try_iter`].
///
/// ```
/// let (s, r) = gosched::chan::unbounded();
/// s.send(1).unwrap();
/// let mut iter: gosched::chan::TryIter<'_, i32> = r.try_iter();
/// assert_eq!((iter.next(), iter.next()), (Some(1), None));
/// ```
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// As [`Iter`], but owns the receiver.
///
/// ```
/// let (s, r) = gosched::chan::unbounded();
/// s.send(1).unwrap();
/// drop(s);
/// let mut iter: gosched::chan::IntoIter<i32> = r.into_iter();
/// assert_eq!((iter.next(), iter.next()), (Some(1), None));
/// ```
pub struct IntoIter<T>(Receiver<T>);

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> Iter<'a, T> {
        Iter(receiver)
    }
}

impl<'a, T> TryIter<'a, T> {
    pub(super) fn new(receiver: &'a Receiver<T>) -> TryIter<'a, T> {
        TryIter(receiver)
    }
}

impl<T> IntoIter<T> {
    pub(super) fn new(receiver: Receiver<T>) -> IntoIter<T> {
        IntoIter(receiver)
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Iter { .. }")
    }
}

impl<T> fmt::Debug for TryIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("TryIter { .. }")
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("IntoIter { .. }")
    }
}

/// The values of a channel as they come, until it is closed or the context ends; see
/// [`Receiver::iter_ctx`].
///
/// ```
/// let (s, r) = gosched::chan::unbounded();
/// s.send(1).unwrap();
/// drop(s);
/// let mut iter: gosched::chan::IterCtx<'_, i32> = r.iter_ctx();
/// assert_eq!((iter.next(), iter.next()), (Some(Ok(1)), None));
/// ```
pub struct IterCtx<'a, T> {
    /// `None` when it is over.
    pub(crate) receiver: Option<&'a Receiver<T>>,
}

impl<T> fmt::Debug for IterCtx<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("IterCtx { .. }")
    }
}
