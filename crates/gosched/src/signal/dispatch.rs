//! The goroutine that reads the numbers of signals from the pipe, and passes them on.
//!
//! It exists while signals are caught. It is the library's own, so it is neither counted nor shown;
//! but as long as it waits for the pipe, somebody waits for I/O, and so there is no deadlock (S48).
//! An idle process sleeps in the poller meanwhile, and no thread waits for signals (S33).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use gosched_primitives::Direction;
use rustix::io::Errno;

use super::kind::Signal;
use super::registry::{self, AfterDispatch, Ear, SignalDue};
use crate::fatal::fatal;
use crate::panics::contain;
use crate::sched::{Limit, hide_current};
use crate::source::{self, Source};
use crate::sys::caught::{self, WAKE};

/// The reading end of the pipe, for ever.
static PIPE: OnceLock<Source<OwnedFd>> = OnceLock::new();

/// Makes the pipe, unless there is one, and registers it with the poller, so that the dispatcher
/// can always wait.
pub(super) fn prepare() -> io::Result<()> {
    source::prepare()?;
    pipe()?.register()
}

fn pipe() -> io::Result<&'static Source<OwnedFd>> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = PIPE.get() {
        return Ok(pipe);
    }
    let made = Source::new(caught::make_pipe()?);
    Ok(PIPE.get_or_init(|| made))
}

/// The goroutine.
pub(super) fn run() {
    let Some(pipe) = PIPE.get() else { return };
    let mut numbers = [WAKE; 64];
    loop {
        let seen = pipe.seen(Direction::Read);
        match rustix::io::read(pipe.get(), &mut numbers) {
            Ok(n) => numbers[..n].iter().filter(|number| **number != WAKE).for_each(|n| dispatch(*n)),
            Err(Errno::INTR) => {}
            Err(_) if registry::retire() => return,
            Err(_) => {
                if let Err(error) = pipe.wait(Direction::Read, seen, Limit::NONE) {
                    fatal!("cannot wait for signals: {error}");
                }
            }
        }
    }
}

fn dispatch(number: u8) {
    let number = i32::from(number);
    let signal = Signal::from(number);
    let SignalDue { ears, then } = registry::due(number);
    // While it may run foreign code (wakers, causes), this goroutine is shown in lists and dumps.
    hide_current(false);
    for ear in ears {
        contain(|| match ear {
            // A full channel loses the signal; a closed one has no listener any more.
            Ear::Channel(sender) => drop(sender.try_send(signal)),
            Ear::Context(ctx) => ctx.cancel_with(signal),
        });
    }
    hide_current(true);
    if then == AfterDispatch::SendAgain {
        caught::send_again(number);
    }
}
