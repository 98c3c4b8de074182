//! The user's options of an open socket: time-outs, and non-blocking mode.
//!
//! They belong to the open socket, not to a handle, so clones share them, as in std. The kernel's
//! flag `O_NONBLOCK` can't be the user's mode: every socket of ours has the flag set. But others
//! may have copies of the descriptor, from before we took it over or made since, and may convert
//! those, too. So `adopt` must know whether the flag that it finds is ours.
//!
//! Invariant: a socket of ours of which others may have copies is in `OPEN`, by the kernel's cookie
//! for it. Its flag is ours then, and the user's mode is in its `Options`. `adopt`, `give_away` and
//! the drop of the last handle look at the list and change the flag under one lock. A socket from
//! elsewhere that is not in the list has the flag that the user gave it.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use gosched_primitives::Direction;
use rustix::net::sockopt;

use crate::sched;
use crate::sys::fd::{self, BlockingMode};

/// No time-out.
const NONE: u64 = 0;

/// Nobody else has a copy of the descriptor.
const PRIVATE: u8 = 0;
/// In `OPEN`.
const LISTED: u8 = 1;
/// A handle was converted back: the flag is the user's.
const GIVEN_AWAY: u8 = 2;

type Open = BTreeMap<u64, Weak<Options>>;

/// Sockets of ours that others may have copies of.
static OPEN: Mutex<Open> = Mutex::new(Open::new());

fn open() -> MutexGuard<'static, Open> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The user's options of an open socket.
#[derive(Debug)]
struct Options {
    /// Nanoseconds, by direction.
    timeouts: [AtomicU64; 2],
    nonblocking: AtomicBool,
    /// Reading was shut down: set before the kernel's `shutdown`. A non-blocking call on a Unix
    /// listener or datagram socket that is shut down only returns "would block".
    shut: AtomicBool,
    /// Changes under the lock of `OPEN`.
    listing: AtomicU8,
    /// The kernel's name for the socket, if it is listed.
    cookie: AtomicU64,
}

impl Options {
    fn new(mode: BlockingMode) -> Options {
        Options {
            timeouts: [AtomicU64::new(NONE), AtomicU64::new(NONE)],
            nonblocking: AtomicBool::new(mode == BlockingMode::NonBlocking),
            shut: AtomicBool::new(false),
            listing: AtomicU8::new(PRIVATE),
            cookie: AtomicU64::new(0),
        }
    }

    fn mode(&self) -> BlockingMode {
        if self.nonblocking.load(Ordering::Relaxed) {
            BlockingMode::NonBlocking
        } else {
            BlockingMode::Blocking
        }
    }

    fn is(&self, listing: u8) -> bool {
        self.listing.load(Ordering::Relaxed) == listing
    }

    fn list(self: &Arc<Self>, open: &mut Open, cookie: u64) {
        open.insert(cookie, Arc::downgrade(self));
        self.cookie.store(cookie, Ordering::Relaxed);
        self.listing.store(LISTED, Ordering::Relaxed);
    }

    /// Makes the flag of `fd` the user's.
    fn give_away(&self, open: &mut Open, fd: RawFd) {
        if self.is(LISTED) {
            open.remove(&self.cookie.load(Ordering::Relaxed));
        }
        self.listing.store(GIVEN_AWAY, Ordering::Relaxed);
        fd::set_mode(fd, self.mode());
    }
}

/// One handle's share in its socket's options. Dropped before the descriptor is closed.
pub(super) struct Share {
    /// Created when an option is first set, or needed.
    options: OnceLock<Arc<Options>>,
    fd: RawFd,
}

impl Share {
    /// For a socket that is non-blocking already, of which nobody else has a copy, and for which no
    /// options were set.
    pub(super) fn fresh(socket: &impl AsFd) -> Share {
        Share { options: OnceLock::new(), fd: socket.as_fd().as_raw_fd() }
    }

    /// For a socket from elsewhere. Sets the kernel's flag.
    pub(super) fn adopt(socket: &impl AsFd) -> Share {
        let fd = socket.as_fd().as_raw_fd();
        let cookie = sockopt::socket_cookie(socket).ok();
        let mut open = open();
        let known = cookie.and_then(|cookie| open.get(&cookie)?.upgrade());
        let options = known.unwrap_or_else(|| {
            let options = Arc::new(Options::new(fd::mode(fd)));
            if let Some(cookie) = cookie {
                options.list(&mut open, cookie);
            }
            options
        });
        fd::set_mode(fd, BlockingMode::NonBlocking);
        drop(open);
        Share { options: OnceLock::from(options), fd }
    }

    /// For a clone.
    pub(super) fn another(&self, socket: &impl AsFd) -> Share {
        let options = OnceLock::from(Arc::clone(self.options()));
        Share { options, fd: socket.as_fd().as_raw_fd() }
    }

    /// The user gets the descriptor, and may copy it.
    pub(super) fn show(&self, socket: &impl AsFd) {
        let options = self.options();
        if !options.is(PRIVATE) {
            return;
        }
        let Ok(cookie) = sockopt::socket_cookie(socket) else { return };
        let mut open = open();
        if options.is(PRIVATE) {
            options.list(&mut open, cookie);
        }
    }

    /// The descriptor is converted back, with the user's mode, which its copies get, too.
    pub(super) fn give_away(self) {
        match self.options.get() {
            Some(options) => options.give_away(&mut open(), self.fd),
            None => fd::set_mode(self.fd, BlockingMode::Blocking),
        }
    }

    fn options(&self) -> &Arc<Options> {
        self.options.get_or_init(|| Arc::new(Options::new(BlockingMode::Blocking)))
    }

    pub(super) fn set_nonblocking(&self, nonblocking: bool) {
        self.options().nonblocking.store(nonblocking, Ordering::Relaxed);
    }

    pub(super) fn is_nonblocking(&self) -> bool {
        self.options.get().is_some_and(|options| options.mode() == BlockingMode::NonBlocking)
    }

    pub(super) fn note_shut(&self) {
        // ORDERING: Release pairs with the Acquire in `is_shut`.
        self.options().shut.store(true, Ordering::Release);
    }

    pub(super) fn is_shut(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `note_shut`.
        self.options.get().is_some_and(|options| options.shut.load(Ordering::Acquire))
    }

    pub(super) fn note_timeout(&self, direction: Direction, limit: Option<Duration>) {
        if limit.is_none() && self.options.get().is_none() {
            return;
        }
        let nanos = limit.map_or(NONE, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        self.options().timeouts[direction as usize].store(nanos, Ordering::Relaxed);
    }

    pub(super) fn timeout(&self, direction: Direction) -> Option<Duration> {
        let nanos = self.options.get()?.timeouts[direction as usize].load(Ordering::Relaxed);
        (nanos != NONE).then(|| Duration::from_nanos(nanos))
    }
}

impl Drop for Share {
    /// The last handle sets the flag to the user's mode, since others may still have copies. Not in
    /// the child of a fork, where that would change the parent's socket.
    fn drop(&mut self) {
        let Some(options) = self.options.take() else { return };
        if sched::is_forked() {
            return;
        }
        // Under the lock, so that no `adopt` of a copy finds our flag without the options.
        let mut open = open();
        if let Some(last) = Arc::into_inner(options)
            && last.is(LISTED)
        {
            last.give_away(&mut open, self.fd);
        }
    }
}
