//! The value of a watch channel, its version, and who has the channel.
//!
//! Invariants:
//! - the value is behind the house's `RwLock`, because the user's code runs under it, and may wait.
//!   The version is changed while that is held for writing: so whoever holds it for reading has a
//!   value and the version of that value;
//! - the lock of the rest is std's, held for a moment, outside the runtime. It is taken under the
//!   other one, never the other way round;
//! - a version is *seen* by a receiver that has that number.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chan::change::NextChange;
use crate::chan::timer::TimerChan;
use crate::sync::{RwLock, RwLockReadGuard};

pub(super) struct Watched<T> {
    value: RwLock<T>,
    state: Mutex<WatchState>,
}

struct WatchState {
    version: u64,
    senders: usize,
    receivers: usize,
    /// A new version comes, or the last sender goes.
    comes: NextChange,
    /// The last receiver goes.
    left: NextChange,
}

/// What a receiver learns of the version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct News {
    pub(super) version: u64,
    pub(super) closed: bool,
}

impl WatchState {
    fn news(&self) -> News {
        News { version: self.version, closed: self.senders == 0 }
    }
}

impl<T> Watched<T> {
    /// With one sender, and no receivers.
    pub(super) fn new(value: T) -> Arc<Watched<T>> {
        let state = WatchState {
            version: 0,
            senders: 1,
            receivers: 0,
            comes: NextChange::new(),
            left: NextChange::new(),
        };
        Arc::new(Watched { value: RwLock::new(value), state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, and its version.
    pub(super) fn read(&self) -> (RwLockReadGuard<'_, T>, News) {
        let value = self.value.read().unwrap_or_else(PoisonError::into_inner);
        let news = self.news();
        (value, news)
    }

    pub(super) fn news(&self) -> News {
        self.lock().news()
    }

    /// Calls `modify`; if it says that it has changed the value, that has a new version. If it
    /// panics, there is none, whatever it has changed.
    pub(super) fn modify(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.value.write().unwrap_or_else(PoisonError::into_inner);
        let modified = catch_unwind(AssertUnwindSafe(|| modify(&mut value)));
        let changed = matches!(modified, Ok(true)).then(|| {
            let mut state = self.lock();
            state.version += 1;
            state.comes.happens()
        });
        drop(value);
        if let Some(changed) = changed {
            changed.tell();
        }
        modified.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The signal that is closed when there is another version than `seen`, or no sender; or what
    /// there is already.
    pub(super) fn listen(&self, seen: u64) -> Result<News, Arc<TimerChan>> {
        let mut state = self.lock();
        let news = state.news();
        if news.version != seen || news.closed { Ok(news) } else { Err(state.comes.listen()) }
    }

    /// Counts one more receiver. Returns the version.
    pub(super) fn enter(&self) -> u64 {
        let mut state = self.lock();
        state.receivers += 1;
        state.version
    }

    pub(super) fn leave(&self) {
        let mut state = self.lock();
        state.receivers -= 1;
        let changed = (state.receivers == 0).then(|| state.left.happens());
        drop(state);
        if let Some(changed) = changed {
            changed.tell();
        }
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
}
