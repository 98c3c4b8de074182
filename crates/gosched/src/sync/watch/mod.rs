//! A value that many watch: tokio's `sync::watch`, with waits.
//!
//! There is one value, the newest. A receiver waits until there is one that it has not seen
//! ([`Receiver::changed`]); those that were replaced before it came are not seen.
//!
//! ```
//! use gosched::sync::watch;
//! use gosched::{chan, select};
//!
//! let (config, mut seen) = watch::channel("old");
//! let (done, finished) = chan::bounded(0);
//! gosched::go(move || {
//!     select! {
//!         recv(seen.ready()) -> _ => {
//!             seen.changed().unwrap(); // does not wait
//!             done.send(*seen.borrow()).unwrap();
//!         },
//!         recv(chan::after(std::time::Duration::from_secs(60))) -> _ => panic!("nothing has changed"),
//!     }
//! });
//! config.send("new").unwrap();
//! assert_eq!(finished.recv(), Ok("new"));
//! ```
//!
//! A [`Ref`], which `borrow` returns, keeps the value from being replaced: `send` waits until it is
//! dropped, and another `borrow` behind that `send` waits, too. So drop it soon, and before the
//! next call on the same channel.

pub mod error;
mod receiver;
mod sender;
mod watched;

use core::fmt;
use core::ops::Deref;

use super::RwLockReadGuard;

pub use error::{RecvError, SendError};
pub use receiver::Receiver;
pub use sender::Sender;

/// A channel with a value, which the receiver has seen. Never moves.
///
/// ```
/// let (s, mut r) = gosched::sync::watch::channel(1);
/// s.send(2).unwrap();
/// assert_eq!(r.changed(), Ok(()));
/// assert_eq!(*r.borrow(), 2);
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(init);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// A reference to the value of a [`channel`], which is not replaced while this lives.
///
/// ```
/// let (s, r) = gosched::sync::watch::channel(1);
/// let value = r.borrow();
/// assert_eq!(*value, 1);
/// assert!(!value.has_changed());
/// # drop(value);
/// # drop(s);
/// ```
#[clippy::has_significant_drop]
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the receiver had not seen the value before this borrow. `false` if it was borrowed
    /// from a sender.
    ///
    /// ```
    /// let (s, mut r) = gosched::sync::watch::channel(1);
    /// s.send(2).unwrap();
    /// assert!(r.borrow_and_update().has_changed());
    /// assert!(!r.borrow_and_update().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ref").field("value", &**self).field("has_changed", &self.has_changed).finish()
    }
}
