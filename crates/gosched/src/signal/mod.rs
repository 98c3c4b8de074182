//! Signals from the kernel, as values: a goroutine waits for them, and no handler is written.
//!
//! ```
//! use gosched::signal::{self, Signal};
//! use gosched::{select, time};
//! use std::time::Duration;
//!
//! gosched::run(|| -> std::io::Result<()> {
//!     let signals = signal::notify(&[Signal::Hangup, Signal::User1])?;
//! #   rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP)?;
//!     select! {
//!         recv(signals) -> signal => match signal {
//!             Ok(Signal::Hangup) => println!("reading the configuration again"),
//!             Ok(signal) => println!("got {signal}"),
//!             Err(_) => unreachable!("only its own end closes it"),
//!         },
//!         recv(time::after(Duration::from_secs(60))) -> _ => println!("a quiet minute"),
//!     }
//!     Ok(())
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A server that ends on Ctrl-C runs under [`context_until`]; [`net`](crate::net) has the whole
//! pattern.
//!
//! As long as somebody listens for a signal, it does nothing else: neither what it does by default
//! nor what a handler did before. That comes back when the last receiver is dropped, unless the
//! program has installed another handler meanwhile. So for SIGQUIT: who listens gets it, instead of
//! the [dump](crate#when-it-hangs), until the receiver is dropped.
//!
//! What is listened for may come at any time. So as long as somebody listens no deadlock is
//! reported, as with Go's `signal.Notify`.
//!
//! A signal goes to the process that it was sent to: a child between `fork` and `exec` ends by it,
//! and does not pass it on.

#![deny(unsafe_code)]

mod dispatch;
mod kind;
mod registry;

use std::io;

use crate::chan::{Receiver, ReceiversGone, bounded_until};
use crate::context::{Context, RecvCtxError, current};
use crate::sched::ensure_started;

pub use kind::Signal;
use kind::SignalSet;
use registry::{Ear, ListenerId};

/// How many signals a receiver holds.
const BUFFER: usize = 16;

/// A receiver that gets each of these signals as it comes. Never moves.
///
/// Every receiver gets every signal that it was made for. The kernel merges signals of a kind that
/// come before the first of them was handled; and a receiver holds 16 signals: those that come
/// while it is full are lost to it.
///
/// What the signals did before comes back when this receiver and its clones are dropped, or
/// [closed](Receiver::close), and nobody else listens for them.
///
/// # Errors
///
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for a number that is no signal's, for SIGKILL and
/// SIGSTOP, which can't be caught, and for the signals of faults, after which a program can't go on
/// (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS). Then nothing has changed.
///
/// ```
/// use gosched::signal::{Signal, notify};
/// use std::io::ErrorKind;
///
/// let signals = notify(&[Signal::WindowChange])?;
/// # rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::WINCH)?;
/// // ... the user drags the corner of the window ...
/// assert_eq!(signals.recv(), Ok(Signal::WindowChange));
/// assert_eq!(notify(&[Signal::from(9)]).unwrap_err().kind(), ErrorKind::InvalidInput);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn notify(signals: &[Signal]) -> io::Result<Receiver<Signal>> {
    let signals = SignalSet::of(signals)?;
    let id = ListenerId::new();
    let gone = ReceiversGone { tell: |id| registry::forget(ListenerId(id)), number: id.0 };
    let (sender, receiver) = bounded_until(BUFFER, gone);
    listen(id, signals, Ear::Channel(sender))?;
    Ok(receiver)
}

/// Waits for Ctrl-C (SIGINT), once. What it did before comes back afterwards. A moving call.
///
/// # Errors
///
/// If the signal can't be caught; if the [context](crate::context) ends before it comes.
///
/// ```no_run
/// gosched::run(|| -> std::io::Result<()> {
///     gosched::go(|| println!("serving"));
///     gosched::signal::ctrl_c()?;
///     println!("bye");
///     Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn ctrl_c() -> io::Result<()> {
    match notify(&[Signal::Interrupt])?.recv_ctx() {
        Ok(_) => Ok(()),
        Err(RecvCtxError::Done(error)) => Err(error.into()),
        Err(RecvCtxError::Disconnected) => unreachable!("the sender is kept while there is a receiver"),
    }
}

/// A context, derived from the [current] one, that ends at the first of these signals. Its
/// [cause](Context::cause) is that [`Signal`]. Never moves.
///
/// By the time it ends the signals do again what they did before: whoever presses Ctrl-C once more,
/// because the end takes too long, ends the program. The same goes when it is cancelled otherwise;
/// until then the signals stay caught, even if nobody has the context any more.
///
/// # Errors
///
/// As for [`notify`].
///
/// ```
/// use gosched::signal::{Signal, context_until};
/// use gosched::{context, time};
/// use std::time::Duration;
///
/// gosched::run(|| -> std::io::Result<()> {
///     let ctx = context_until(&[Signal::Interrupt, Signal::Terminate])?;
/// #   rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT)?;
///     context::enter(&ctx, || {
///         while time::sleep(Duration::from_secs(1)).is_ok() {
///             println!("working");
///         }
///     });
///     let cause = ctx.cause().unwrap();
///     assert_eq!(cause.downcast_ref(), Some(&Signal::Interrupt));
///     assert_eq!(cause.to_string(), "SIGINT (Interrupt)");
///     Ok(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias = "NotifyContext")]
pub fn context_until(signals: &[Signal]) -> io::Result<Context> {
    let signals = SignalSet::of(signals)?;
    let id = ListenerId::new();
    let ctx = current().with_cancel();
    listen(id, signals, Ear::Context(ctx.clone()))?;
    // Does nothing after a signal. Should one come before this, it runs at once.
    ctx.after_func(move || registry::forget(id));
    Ok(ctx)
}

/// Adds a listener, and sees to it that somebody reads what the handler writes.
fn listen(id: ListenerId, signals: SignalSet, ear: Ear) -> io::Result<()> {
    // First, since it installs handlers: what was there before ours includes them.
    ensure_started();
    if !signals.is_empty() {
        dispatch::prepare()?;
    }
    registry::add(id, signals, ear)
}
