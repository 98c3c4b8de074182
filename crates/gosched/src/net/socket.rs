//! What all sockets share: a std socket in non-blocking mode, its registration with the poller, its
//! time-outs (`options.rs`); and the loop in which a goroutine tries, waits and tries again.
//!
//! Invariant: the descriptor is non-blocking for as long as it is in a [`Socket`].

use core::time::Duration;
use std::io;
use std::os::fd::AsFd;

use gosched_primitives::Direction;
use rustix::io::Errno;

use super::options::Share;
use crate::chan::Receiver;
use crate::clock::{NEVER, when_after};
use crate::context;
use crate::runtime;
use crate::sched::Limit;
use crate::source::{self, SeenEdges, Source, SourceWaited};

/// Pauses between tries if the kernel does not report readiness.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A socket of std's type `S`.
pub(crate) struct Socket<S> {
    // Dropped before the descriptor is.
    share: Share,
    pub(super) source: Source<S>,
}

/// What std's sockets have in common.
pub(crate) trait StdSocket: AsFd + Sized {
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
    fn try_clone(&self) -> io::Result<Self>;
    fn read_timeout(&self) -> io::Result<Option<Duration>>;
    fn write_timeout(&self) -> io::Result<Option<Duration>>;
    fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()>;
    fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()>;
}

macro_rules! std_socket {
    ($($type:ty),*) => {$(
        impl StdSocket for $type {
            fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
                self.set_nonblocking(nonblocking)
            }
            fn try_clone(&self) -> io::Result<Self> {
                self.try_clone()
            }
            fn read_timeout(&self) -> io::Result<Option<Duration>> {
                self.read_timeout()
            }
            fn write_timeout(&self) -> io::Result<Option<Duration>> {
                self.write_timeout()
            }
            fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
                self.set_read_timeout(limit)
            }
            fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
                self.set_write_timeout(limit)
            }
        }
    )*};
}

/// Listeners have no time-outs.
macro_rules! std_listener {
    ($($type:ty),*) => {$(
        impl StdSocket for $type {
            fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
                self.set_nonblocking(nonblocking)
            }
            fn try_clone(&self) -> io::Result<Self> {
                self.try_clone()
            }
            fn read_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(None)
            }
            fn write_timeout(&self) -> io::Result<Option<Duration>> {
                Ok(None)
            }
            fn set_read_timeout(&self, _: Option<Duration>) -> io::Result<()> {
                Ok(())
            }
            fn set_write_timeout(&self, _: Option<Duration>) -> io::Result<()> {
                Ok(())
            }
        }
    )*};
}

std_socket!(std::net::TcpStream, std::net::UdpSocket);
std_socket!(std::os::unix::net::UnixStream, std::os::unix::net::UnixDatagram);
std_listener!(std::net::TcpListener, std::os::unix::net::UnixListener);

impl<S: StdSocket> Socket<S> {
    /// A socket that is non-blocking already, for which the user has set no options.
    pub(crate) fn fresh(io: S) -> Socket<S> {
        Socket { share: Share::fresh(&io), source: Source::new(io) }
    }

    /// A new socket of std's.
    pub(crate) fn new(io: S) -> io::Result<Socket<S>> {
        source::prepare()?;
        io.set_nonblocking(true)?;
        Ok(Socket::fresh(io))
    }

    /// A socket from elsewhere, with the mode and the time-outs it has. (For a socket only the
    /// creation of the poller can fail here, and that is tried again when it is needed. If the
    /// descriptor is no socket, every use fails.)
    pub(crate) fn adopt(io: S) -> Socket<S> {
        let _ = source::prepare();
        let share = Share::adopt(&io);
        share.note_timeout(Direction::Read, io.read_timeout().ok().flatten());
        share.note_timeout(Direction::Write, io.write_timeout().ok().flatten());
        Socket { share, source: Source::new(io) }
    }

    /// Converts to std's type: unregistered, and blocking unless the user set it non-blocking.
    pub(crate) fn into_std(self) -> S {
        let io = self.source.into_inner();
        self.share.give_away();
        io
    }

    #[inline]
    pub(crate) fn std(&self) -> &S {
        self.source.get()
    }

    /// As [`std`](Socket::std), for the user, who may copy the descriptor.
    pub(crate) fn shown(&self) -> &S {
        self.share.show(self.std());
        self.std()
    }

    pub(crate) fn try_clone(&self) -> io::Result<Socket<S>> {
        let io = self.std().try_clone()?;
        Ok(Socket { share: self.share.another(&io), source: Source::new(io) })
    }

    pub(crate) fn set_nonblocking(&self, nonblocking: bool) {
        self.share.set_nonblocking(nonblocking);
    }

    /// Notes that reading is being shut down. To be called before the kernel's `shutdown`, which
    /// wakes the waiters.
    pub(crate) fn note_shut(&self) {
        self.share.note_shut();
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.share.is_shut()
    }

    /// Sets the time-out: on the descriptor too, where std checks it, and where it stays after a
    /// conversion.
    pub(crate) fn set_timeout(&self, direction: Direction, limit: Option<Duration>) -> io::Result<()> {
        match direction {
            Direction::Read => self.std().set_read_timeout(limit)?,
            Direction::Write => self.std().set_write_timeout(limit)?,
        }
        self.share.note_timeout(direction, limit);
        Ok(())
    }

    /// The time-out that was set.
    pub(crate) fn timeout(&self, direction: Direction) -> Option<Duration> {
        self.share.timeout(direction)
    }

    /// Calls `op`; while that would block, waits for `direction` and tries again. A moving call.
    #[inline]
    pub(crate) fn run<T>(
        &self,
        direction: Direction,
        mut op: impl FnMut(&S) -> io::Result<T>,
    ) -> io::Result<T> {
        let seen = self.source.seen(direction);
        match op(self.std()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.run_waiting(direction, seen, op, error)
            }
            done => {
                runtime::checkpoint();
                done
            }
        }
    }

    #[inline(never)]
    fn run_waiting<T>(
        &self,
        direction: Direction,
        mut seen: SeenEdges,
        mut op: impl FnMut(&S) -> io::Result<T>,
        would_block: io::Error,
    ) -> io::Result<T> {
        if self.share.is_nonblocking() {
            runtime::checkpoint();
            return Err(would_block);
        }
        let deadline = self.timeout(direction).map(when_after);
        loop {
            if direction == Direction::Read && self.is_shut() {
                return Err(Errno::INVAL.into());
            }
            // std returns the same error after a time-out.
            if self.wait(direction, seen, deadline)? == InTime::No {
                return Err(would_block);
            }
            seen = self.source.seen(direction);
            match op(self.std()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// As [`run`](Socket::run), if the kernel does not report when to try again: also tries after a
    /// pause. A moving call.
    pub(crate) fn run_retrying<T>(
        &self,
        direction: Direction,
        mut op: impl FnMut(&S) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut pause = FIRST_PAUSE;
        let mut deadline = None;
        loop {
            let seen = self.source.seen(direction);
            let would_block = match op(self.std()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.share.is_nonblocking() => {
                    error
                }
                done => {
                    runtime::checkpoint();
                    return done;
                }
            };
            let end = *deadline.get_or_insert_with(|| self.timeout(direction).map_or(NEVER, when_after));
            let next = when_after(pause).min(end);
            if self.wait(direction, seen, Some(next))? == InTime::No && next == end {
                return Err(would_block);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A receiver that gets one value when a call may succeed: see [`Source::watch`].
    pub(crate) fn watch(&self, direction: Direction) -> Receiver<()> {
        self.source.watch(direction)
    }

    /// What has been reported so far. To be called before a try.
    pub(crate) fn seen(&self, direction: Direction) -> SeenEdges {
        self.source.seen(direction)
    }

    /// Waits for `direction`, until `deadline` at most. Returns an error if the context ends.
    pub(crate) fn wait(
        &self,
        direction: Direction,
        seen: SeenEdges,
        deadline: Option<u64>,
    ) -> io::Result<InTime> {
        match self.source.wait(direction, seen, Limit::of_context(deadline))? {
            SourceWaited::Ready => Ok(InTime::Yes),
            SourceWaited::TimedOut => Ok(InTime::No),
            SourceWaited::Interrupted => Err(context::why_ended().into()),
        }
    }
}

/// Whether a wait ended before its time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum InTime {
    Yes,
    No,
}
