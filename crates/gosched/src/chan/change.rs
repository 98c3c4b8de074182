//! The next change of something that its owner keeps under a lock of its own: who waits for it, and
//! who is told.
//!
//! A waiter looks at the state and finds that it has to wait; under the same lock it gets the
//! *signal* of the next change ([`NextChange::listen`]), and then waits, without the lock, until
//! that is closed. Whoever changes the state takes the signal out under the lock
//! ([`NextChange::happens`]), and closes it when the lock is free ([`Changed::tell`]). So no change
//! is missed, however late the wait begins; and a signal can be waited for by `select!` as well
//! ([`Receiver::of_signal`](super::Receiver::of_signal)): it carries no value that could be lost.
//!
//! Invariant: a signal is closed once, after the change of whose state it tells. The owner's lock
//! may be std's: nothing here enters the runtime under it.

use std::sync::Arc;

use super::timer::TimerChan;

/// The signal of the next change, if anybody has asked for it.
pub(crate) struct NextChange(Option<Arc<TimerChan>>);

/// "It has changed": the waiters are to be told, without the lock.
#[must_use = "the waiters have to be told"]
pub(crate) struct Changed(Option<Arc<TimerChan>>);

impl NextChange {
    pub(crate) const fn new() -> NextChange {
        NextChange(None)
    }

    /// The signal that is closed after the next change.
    pub(crate) fn listen(&mut self) -> Arc<TimerChan> {
        Arc::clone(self.0.get_or_insert_with(|| TimerChan::signal(None)))
    }

    /// It changes now.
    pub(crate) fn happens(&mut self) -> Changed {
        Changed(self.0.take())
    }
}

impl Changed {
    /// Wakes the waiters. Outside the runtime, without the owner's lock. Never moves.
    pub(crate) fn tell(self) {
        if let Some(signal) = self.0 {
            signal.close();
        }
    }
}

/// A signal that is closed already: what is waited for is there.
pub(crate) fn closed_signal() -> Arc<TimerChan> {
    let signal = TimerChan::signal(None);
    signal.close();
    signal
}
