//! The values of a broadcast channel that somebody may still receive, and who they are.
//!
//! Values have positions, counted from 0. Invariants:
//! - the positions in the history are consecutive, and at most `capacity`. The value before the
//!   first was overwritten: a receiver that comes to it has *lagged*;
//! - `unseen` is the number of receivers that have not passed a position. When it becomes 0 the
//!   value is taken out: nobody will ask for it;
//! - a receiver alone moves its own position, and counts it where it is. So a value stays while a
//!   receiver clones it, unless it is overwritten: then that receiver has a count of its own;
//! - the lock is std's, held for a moment, outside the runtime. Values are the user's: they are
//!   cloned and dropped without it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::RecvError;
use crate::chan::change::NextChange;
use crate::chan::timer::TimerChan;
use crate::sync;

/// A value. Its lock is for those who clone it: they may wait inside, and need not be `Sync`.
pub(super) type Shared<T> = Arc<sync::Mutex<T>>;

pub(super) struct History<T> {
    pub(super) capacity: usize,
    state: Mutex<HistoryState<T>>,
}

struct HistoryState<T> {
    values: VecDeque<Kept<T>>,
    /// The position of the first one.
    first: u64,
    senders: usize,
    receivers: usize,
    /// A value comes, or the last sender goes.
    comes: NextChange,
    /// The last receiver goes.
    left: NextChange,
}

struct Kept<T> {
    value: Option<Shared<T>>,
    unseen: usize,
}

/// What a receiver gets at its position.
pub(super) type AtPosition<T> = Result<Shared<T>, RecvError>;

impl<T> HistoryState<T> {
    fn end(&self) -> u64 {
        self.first + self.values.len() as u64
    }

    /// The index of a position; `None` if its value was overwritten.
    fn index(&self, position: u64) -> Option<usize> {
        position.checked_sub(self.first).map(|index| index as usize)
    }

    fn find(&self, position: &mut u64) -> Option<AtPosition<T>> {
        let Some(index) = self.index(*position) else {
            let missed = self.first - *position;
            *position = self.first;
            return Some(Err(RecvError::Lagged(missed)));
        };
        match self.values.get(index) {
            Some(Kept { value: Some(value), .. }) => Some(Ok(Arc::clone(value))),
            Some(_) => unreachable!("a value was taken out that a receiver has not seen"),
            None if self.senders == 0 => Some(Err(RecvError::Closed)),
            None => None,
        }
    }
}

impl<T> Kept<T> {
    /// One receiver passes it. Returns the value if that was the last one.
    fn pass(&mut self) -> Option<Shared<T>> {
        self.unseen -= 1;
        if self.unseen == 0 { self.value.take() } else { None }
    }
}

impl<T> History<T> {
    /// With one sender, and no receivers.
    pub(super) fn new(capacity: usize) -> Arc<History<T>> {
        let state = HistoryState {
            values: VecDeque::new(),
            first: 0,
            senders: 1,
            receivers: 0,
            comes: NextChange::new(),
            left: NextChange::new(),
        };
        Arc::new(History { capacity, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, HistoryState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a value for all receivers, and returns how many they are. Without any, the value comes
    /// back.
    pub(super) fn add(&self, value: T) -> Result<usize, T> {
        let value = Arc::new(sync::Mutex::new(value));
        let mut state = self.lock();
        let receivers = state.receivers;
        if receivers == 0 {
            drop(state);
            let value = Arc::into_inner(value).unwrap_or_else(|| unreachable!("nobody else has it"));
            return Err(value.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        let overwritten = if state.values.len() == self.capacity {
            state.first += 1;
            state.values.pop_front()
        } else {
            None
        };
        state.values.push_back(Kept { value: Some(value), unseen: receivers });
        let changed = state.comes.happens();
        drop(state);
        changed.tell();
        drop(overwritten);
        Ok(receivers)
    }

    /// What is at a receiver's position; `None`: nothing yet. If that has lagged, it is moved.
    pub(super) fn find(&self, position: &mut u64) -> Option<AtPosition<T>> {
        self.lock().find(position)
    }

    /// As [`find`](History::find), or the signal that is closed when there may be something.
    pub(super) fn find_or_listen(&self, position: &mut u64) -> Result<AtPosition<T>, Arc<TimerChan>> {
        let mut state = self.lock();
        state.find(position).ok_or_else(|| state.comes.listen())
    }

    /// The signal that is closed when there is something at the position; `None` if there is.
    pub(super) fn listen_at(&self, position: u64) -> Option<Arc<TimerChan>> {
        let mut state = self.lock();
        let has_nothing = position == state.end() && state.senders > 0;
        has_nothing.then(|| state.comes.listen())
    }

    /// A receiver has received the value at its position.
    pub(super) fn pass(&self, position: &mut u64) {
        let mut state = self.lock();
        let index = state.index(*position);
        *position += 1;
        let unwanted = index.and_then(|index| state.values.get_mut(index)).and_then(Kept::pass);
        drop(state);
        drop(unwanted);
    }

    /// Counts one more receiver, and returns its position: behind all values.
    pub(super) fn enter(&self) -> u64 {
        let mut state = self.lock();
        state.receivers += 1;
        state.end()
    }

    /// Counts a receiver out, and drops the values that only this one had not seen.
    pub(super) fn leave(&self, position: u64) {
        let mut state = self.lock();
        state.receivers -= 1;
        let from = state.index(position).unwrap_or(0);
        let unwanted: Vec<_> = state.values.iter_mut().skip(from).filter_map(Kept::pass).collect();
        let changed = (state.receivers == 0).then(|| state.left.happens());
        drop(state);
        if let Some(changed) = changed {
            changed.tell();
        }
        drop(unwanted);
    }

    pub(super) fn add_sender(&self) {
        self.lock().senders += 1;
    }

    pub(super) fn remove_sender(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        let changed = (state.senders == 0).then(|| state.comes.happens());
        drop(state);
        if let Some(changed) = changed {
            changed.tell();
        }
    }

    pub(super) fn senders(&self) -> usize {
        self.lock().senders
    }

    pub(super) fn receivers(&self) -> usize {
        self.lock().receivers
    }

    /// The signal that is closed when the last receiver goes; `None` if there is none.
    pub(super) fn listen_left(&self) -> Option<Arc<TimerChan>> {
        let mut state = self.lock();
        (state.receivers > 0).then(|| state.left.listen())
    }

    /// How many values some receiver has not seen.
    pub(super) fn unseen(&self) -> usize {
        let state = self.lock();
        // Whoever has not seen a value has not seen the later ones either.
        state.values.len() - state.values.partition_point(|kept| kept.unseen == 0)
    }

    /// How many values came at a position or after it.
    pub(super) fn len_from(&self, position: u64) -> usize {
        (self.lock().end() - position) as usize
    }
}
