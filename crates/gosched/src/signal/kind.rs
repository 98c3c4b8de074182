//! Which signals there are, by name and by number, and which can be listened for.

use core::error::Error;
use core::ffi::c_int;
use core::fmt;
use std::io;

/// A signal.
///
/// As an [`Error`] it is the [cause](crate::context::Context::cause) of a context that it has
/// ended.
///
/// ```
/// use gosched::signal::Signal;
///
/// assert_eq!(Signal::from(15), Signal::Terminate);
/// assert_eq!(i32::from(Signal::Terminate), 15);
/// assert_eq!(Signal::from(13), Signal::Other(13));
/// assert_eq!(Signal::Terminate.to_string(), "SIGTERM (Terminate)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: what `kill` sends.
    Terminate,
    /// SIGHUP: the terminal is gone; for servers: read the configuration again.
    Hangup,
    /// SIGQUIT: Ctrl-\.
    Quit,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
    /// SIGCHLD: a child process has ended or stopped.
    Child,
    /// SIGALRM.
    Alarm,
    /// SIGWINCH: the terminal has another size.
    WindowChange,
    /// Another one, by its number. `Signal::from` never returns a number here that has a name
    /// above; such a value means the same as the name, but does not equal it.
    Other(i32),
}

/// Those with a name of their own: number, what it is called in C, and its name here.
const NAMED: [(c_int, &str, Signal); 9] = [
    (libc::SIGINT, "SIGINT", Signal::Interrupt),
    (libc::SIGTERM, "SIGTERM", Signal::Terminate),
    (libc::SIGHUP, "SIGHUP", Signal::Hangup),
    (libc::SIGQUIT, "SIGQUIT", Signal::Quit),
    (libc::SIGUSR1, "SIGUSR1", Signal::User1),
    (libc::SIGUSR2, "SIGUSR2", Signal::User2),
    (libc::SIGCHLD, "SIGCHLD", Signal::Child),
    (libc::SIGALRM, "SIGALRM", Signal::Alarm),
    (libc::SIGWINCH, "SIGWINCH", Signal::WindowChange),
];

impl From<i32> for Signal {
    fn from(number: i32) -> Signal {
        let named = NAMED.iter().find(|named| named.0 == number);
        named.map_or(Signal::Other(number), |named| named.2)
    }
}

impl From<Signal> for i32 {
    fn from(signal: Signal) -> i32 {
        match signal {
            Signal::Other(number) => number,
            signal => NAMED.iter().find(|named| named.2 == signal).map_or(0, |named| named.0),
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = i32::from(*self);
        match NAMED.iter().find(|named| named.0 == number) {
            Some((_, name, signal)) => write!(f, "{name} ({signal:?})"),
            None => write!(f, "signal {number}"),
        }
    }
}

impl Error for Signal {}

/// Those that nobody can listen for: the kernel does not let them be caught, or they are raised by
/// faults of the program.
const REFUSED: [c_int; 8] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
];
/// The largest number.
const LAST: c_int = 64;

/// Signals that can be listened for: a bit for each number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignalSet(u64);

impl SignalSet {
    pub(super) const EMPTY: SignalSet = SignalSet(0);

    pub(super) fn of(signals: &[Signal]) -> io::Result<SignalSet> {
        let mut set = SignalSet::EMPTY;
        for signal in signals {
            let number = i32::from(*signal);
            if !(1..=LAST).contains(&number) || REFUSED.contains(&number) {
                let text = format!("nobody can listen for {signal}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            set.insert(number);
        }
        Ok(set)
    }

    fn bit(number: c_int) -> u64 {
        1 << (number - 1)
    }

    pub(super) fn insert(&mut self, number: c_int) {
        self.0 |= SignalSet::bit(number);
    }

    pub(super) fn remove(&mut self, number: c_int) {
        self.0 &= !SignalSet::bit(number);
    }

    pub(super) fn has(self, number: c_int) -> bool {
        self.0 & SignalSet::bit(number) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their numbers.
    pub(super) fn numbers(self) -> impl Iterator<Item = c_int> {
        (1..=LAST).filter(move |number| self.has(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name and its number are the same signal, and each number comes back from its signal.
    #[test]
    fn numbers_and_names_agree() {
        for number in -1..=100 {
            let signal = Signal::from(number);
            assert_eq!(i32::from(signal), number);
            assert_eq!(matches!(signal, Signal::Other(_)), !NAMED.iter().any(|named| named.0 == number));
        }
        assert_eq!((Signal::from(2), Signal::from(10)), (Signal::Interrupt, Signal::User1));
        assert_eq!(Signal::Other(2).to_string(), "SIGINT (Interrupt)");
    }

    #[test]
    fn a_set_has_each_signal_once() {
        let set = SignalSet::of(&[Signal::Other(64), Signal::Interrupt, Signal::Other(2), Signal::Hangup]);
        assert_eq!(set.unwrap().numbers().collect::<Vec<_>>(), [1, 2, 64]);
        for number in [i32::MIN, -1, 0, 65, i32::MAX].into_iter().chain(REFUSED) {
            let refused = SignalSet::of(&[Signal::Interrupt, Signal::from(number)]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput, "{number}");
        }
    }
}
