//! `SingleFlight`: Go's `singleflight`.
//!
//! Invariants:
//! - a flight is in the table from when its first caller begins until that has its value, or has
//!   unwound; then it is taken out, and after that its signal is closed. So whoever finds it in the
//!   table will be woken;
//! - a flight has a value when its signal is closed, unless its first caller has unwound;
//! - the table's lock is std's, held for a moment, outside the runtime. Of the user's only the
//!   key's `Hash` and `Eq` run under it.

use core::fmt;
use core::hash::Hash;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::Mutex;
use crate::chan::timer::TimerChan;
use crate::context::{self, ContextError};
use crate::g::waiter::WaitReason;
use crate::sched::Limit;

/// Calls that are made once for all who want the same thing at the same time: Go's
/// `singleflight.Group`.
///
/// ```
/// use gosched::sync::SingleFlight;
/// use gosched::sync::atomic::{AtomicUsize, Ordering};
///
/// static PAGES: SingleFlight<&str, String> = SingleFlight::new();
/// static LOADS: AtomicUsize = AtomicUsize::new(0);
///
/// gosched::scope(|s| {
///     for _ in 0..10 {
///         s.spawn(|| {
///             let page = PAGES.call("index", || {
///                 LOADS.fetch_add(1, Ordering::Relaxed);
///                 gosched::sleep(std::time::Duration::from_millis(50));
///                 String::from("the index")
///             });
///             assert_eq!(page, "the index");
///         });
///     }
/// });
/// assert!(LOADS.load(Ordering::Relaxed) < 10);
/// ```
pub struct SingleFlight<K, V> {
    /// Made at the first use.
    table: std::sync::Mutex<Option<Flights<K, V>>>,
}

type Flights<K, V> = HashMap<Arc<K>, Arc<Flight<V>>>;

/// A call that is being made.
struct Flight<V> {
    value: Mutex<Option<V>>,
    landed: Arc<TimerChan>,
}

/// The first caller's: when dropped, also by a panic, it ends the flight.
struct Landing<'a, K: Hash + Eq, V> {
    flights: &'a SingleFlight<K, V>,
    key: Arc<K>,
    flight: Arc<Flight<V>>,
}

impl<K, V> UnwindSafe for SingleFlight<K, V> {}
impl<K, V> RefUnwindSafe for SingleFlight<K, V> {}

impl<K, V> SingleFlight<K, V> {
    /// No calls.
    ///
    /// ```
    /// static LOADS: gosched::sync::SingleFlight<u32, String> = gosched::sync::SingleFlight::new();
    /// assert_eq!(LOADS.call(1, || "one".into()), "one");
    /// ```
    #[must_use]
    pub const fn new() -> SingleFlight<K, V> {
        SingleFlight { table: std::sync::Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Flights<K, V>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq, V: Clone> SingleFlight<K, V> {
    /// Calls `f` and returns its value. If another caller is just making a call for this key, waits
    /// for that one instead, and returns a clone of its value. A moving call, if it waits; `f` may
    /// make some.
    ///
    /// A value is not kept: a call that begins after the last one has ended is made anew. An `f`
    /// that calls this for the same key waits for itself. The key's `Hash` and `Eq` must not wait.
    ///
    /// # Panics
    ///
    /// With the panic of its own `f`. Those who have waited for that `f` do not panic: one of them
    /// calls its own, and the others wait for that one.
    ///
    /// ```
    /// let flights = gosched::sync::SingleFlight::new();
    /// assert_eq!(flights.call("key", || 1), 1);
    /// assert_eq!(flights.call("key", || 2), 2);
    /// ```
    #[doc(alias = "Do")]
    pub fn call(&self, key: K, f: impl FnOnce() -> V) -> V {
        self.call_within(key, f, Limit::NONE)
            .unwrap_or_else(|| unreachable!("a wait without a limit has ended"))
    }

    /// As [`call`](SingleFlight::call), waiting for another caller only until the current
    /// [context](crate::context) ends. Its own `f` is called even if the context has ended.
    ///
    /// # Errors
    ///
    /// Why the context has ended, if it did before the other caller had a value.
    ///
    /// # Panics
    ///
    /// As [`call`](SingleFlight::call).
    ///
    /// ```
    /// let flights = gosched::sync::SingleFlight::new();
    /// assert_eq!(flights.call_ctx("key", || 1), Ok(1));
    /// ```
    pub fn call_ctx(&self, key: K, f: impl FnOnce() -> V) -> Result<V, ContextError> {
        self.call_within(key, f, Limit::of_context(None)).ok_or_else(context::why_ended)
    }

    fn call_within(&self, key: K, f: impl FnOnce() -> V, limit: Limit) -> Option<V> {
        let key = Arc::new(key);
        loop {
            let flight = match self.find_or_begin(&key) {
                Ok(landing) => return Some(landing.fly(f)),
                Err(flight) => flight,
            };
            if !flight.landed.await_close(WaitReason::Once, limit) {
                return None;
            }
            let value = flight.value.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if value.is_some() {
                return value;
            }
        }
    }

    /// Begins a flight, or returns the one that there is.
    fn find_or_begin(&self, key: &Arc<K>) -> Result<Landing<'_, K, V>, Arc<Flight<V>>> {
        let mut table = self.lock();
        let table = table.get_or_insert_default();
        if let Some(flight) = table.get(&**key) {
            return Err(Arc::clone(flight));
        }
        let flight = Arc::new(Flight { value: Mutex::new(None), landed: TimerChan::signal(None) });
        table.insert(Arc::clone(key), Arc::clone(&flight));
        Ok(Landing { flights: self, key: Arc::clone(key), flight })
    }
}

impl<K: Hash + Eq, V> Landing<'_, K, V> {
    /// Makes the call.
    fn fly(self, f: impl FnOnce() -> V) -> V
    where
        V: Clone,
    {
        let value = f();
        self.leave_table();
        // Nobody finds it any more, so no more waiters come.
        if Arc::strong_count(&self.flight) > 1 {
            let shared = value.clone();
            *self.flight.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
        }
        value
    }

    /// Takes the flight out of the table, if it is there.
    fn leave_table(&self) {
        let mut table = self.flights.lock();
        let ours = |flight: &Arc<Flight<V>>| Arc::ptr_eq(flight, &self.flight);
        let taken = match &mut *table {
            Some(flights) if flights.get(&*self.key).is_some_and(ours) => flights.remove_entry(&*self.key),
            _ => None,
        };
        drop(table);
        drop(taken);
    }
}

impl<K: Hash + Eq, V> Drop for Landing<'_, K, V> {
    fn drop(&mut self) {
        self.leave_table();
        self.flight.landed.close();
    }
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> SingleFlight<K, V> {
        SingleFlight::new()
    }
}

impl<K, V> fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flights = self.lock().as_ref().map_or(0, HashMap::len);
        f.debug_struct("SingleFlight").field("flights", &flights).finish_non_exhaustive()
    }
}
