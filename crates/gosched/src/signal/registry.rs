//! Who listens for which signals, and what the signals did before.
//!
//! Invariants:
//! - a signal has our handler from when its first listener was added until its last one is removed;
//! - there is a dispatcher (`dispatch.rs`) if any signal is caught. It may be about to end while
//!   none is;
//! - the lock is std's, held for a moment, outside the runtime: nothing is sent, cancelled or
//!   dropped under it.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::dispatch;
use super::kind::{Signal, SignalSet};
use crate::chan::Sender;
use crate::context::Context;
use crate::sched::go_system;
use crate::sys::caught::{self, ActionBefore};

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    listeners: Vec::new(),
    caught: BTreeMap::new(),
    given_back: SignalSet::EMPTY,
    dispatcher: Dispatcher::None,
});

/// Names a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListenerId(pub(super) u64);

impl ListenerId {
    pub(super) fn new() -> ListenerId {
        static IDS: AtomicU64 = AtomicU64::new(0);
        ListenerId(IDS.fetch_add(1, Ordering::Relaxed))
    }
}

/// Where a signal goes.
#[derive(Clone)]
pub(super) enum Ear {
    Channel(Sender<Signal>),
    /// Is cancelled by the first signal, which also removes the listener.
    Context(Context),
}

struct Listener {
    id: ListenerId,
    signals: SignalSet,
    ear: Ear,
}

/// What we know of a signal that is caught.
struct CaughtSignal {
    before: ActionBefore,
    listeners: usize,
}

/// The goroutine that reads what the handler writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dispatcher {
    None,
    Running,
}

struct Registry {
    listeners: Vec<Listener>,
    caught: BTreeMap<c_int, CaughtSignal>,
    /// Those whose last listener was a context that has ended by a signal. One that was caught
    /// before that, and is dispatched now, was meant to have its default action.
    given_back: SignalSet,
    dispatcher: Dispatcher,
}

/// What is to be done about a signal.
pub(super) struct SignalDue {
    pub(super) ears: Vec<Ear>,
    pub(super) then: AfterDispatch,
}

/// Whether a signal that was caught does what it does without us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterDispatch {
    Nothing,
    SendAgain,
}

fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a listener; on an error nothing has changed.
pub(super) fn add(id: ListenerId, signals: SignalSet, ear: Ear) -> io::Result<()> {
    let before = {
        let mut registry = lock();
        registry.catch(signals)?;
        registry.listeners.push(Listener { id, signals, ear });
        let running = if signals.is_empty() { registry.dispatcher } else { Dispatcher::Running };
        core::mem::replace(&mut registry.dispatcher, running)
    };
    if before == Dispatcher::None && !signals.is_empty() {
        go_system(dispatch::run);
    }
    Ok(())
}

/// Removes a listener, if it is still there.
pub(super) fn forget(id: ListenerId) {
    let removed = {
        let mut registry = lock();
        let place = registry.listeners.iter().position(|listener| listener.id == id);
        place.map(|place| registry.remove(place))
    };
    // Without the lock: this may close a channel.
    drop(removed);
}

/// Who gets a signal that was caught. Removes the contexts that it ends.
pub(super) fn due(number: c_int) -> SignalDue {
    let mut registry = lock();
    let mut ears = Vec::new();
    let mut place = 0;
    while let Some(listener) = registry.listeners.get(place) {
        match &listener.ear {
            _ if !listener.signals.has(number) => place += 1,
            Ear::Channel(_) => {
                ears.push(listener.ear.clone());
                place += 1;
            }
            Ear::Context(_) => {
                let Listener { signals, ear, .. } = registry.remove(place);
                signals.numbers().for_each(|number| registry.note_given_back(number));
                ears.push(ear);
            }
        }
    }
    let again = ears.is_empty() && registry.given_back.has(number);
    SignalDue { ears, then: if again { AfterDispatch::SendAgain } else { AfterDispatch::Nothing } }
}

/// Ends the dispatcher if no signal is caught; returns whether it did. By the dispatcher, when
/// there is nothing to read.
pub(super) fn retire() -> bool {
    let mut registry = lock();
    let retires = registry.caught.is_empty();
    if retires {
        registry.dispatcher = Dispatcher::None;
    }
    retires
}

impl Registry {
    /// Catches these signals for one more listener.
    fn catch(&mut self, signals: SignalSet) -> io::Result<()> {
        for number in signals.numbers() {
            if let Err(error) = self.catch_one(number) {
                let done = signals.numbers().take_while(|other| *other != number);
                done.for_each(|number| self.release_one(number));
                return Err(error);
            }
        }
        signals.numbers().for_each(|number| self.given_back.remove(number));
        Ok(())
    }

    fn catch_one(&mut self, number: c_int) -> io::Result<()> {
        if let Some(caught) = self.caught.get_mut(&number) {
            caught.listeners += 1;
            return Ok(());
        }
        let before = caught::catch(number)?;
        self.caught.insert(number, CaughtSignal { before, listeners: 1 });
        Ok(())
    }

    fn release_one(&mut self, number: c_int) {
        let Some(known) = self.caught.get_mut(&number) else { return };
        known.listeners -= 1;
        if known.listeners == 0
            && let Some(known) = self.caught.remove(&number)
        {
            caught::release(number, &known.before);
        }
    }

    fn note_given_back(&mut self, number: c_int) {
        if !self.caught.contains_key(&number) {
            self.given_back.insert(number);
        }
    }

    /// Removes the listener at this place, and what it alone has caught. To be dropped without the
    /// lock.
    fn remove(&mut self, place: usize) -> Listener {
        let listener = self.listeners.remove(place);
        listener.signals.numbers().for_each(|number| self.release_one(number));
        if self.caught.is_empty() && self.dispatcher == Dispatcher::Running {
            caught::wake_reader();
        }
        listener
    }
}
