//! The status word of something that can be parked and readied (a G), and the bit that locks it for
//! a scan (S1, D3).
//!
//! ```text
//!            spawn            execute            exit
//!   Idle ───────────▶ Runnable ───────▶ Running ◀──────▶ Dead ──▶ Runnable (reused)
//!                      ▲  ▲  ▲             │  ▲
//!                      │  │  └── yield ────┤  │ commit refused
//!                      │  │                ▼  │
//!                      │  │             Parking ───▶ ParkingReady
//!                      │  │  post-switch   │  ready     │
//!                      │  │                ▼            │ post-switch
//!                      │  └────────────  Waiting        │
//!                      │      ready                     │
//!                      └────────────────────────────────┘
//! ```
//!
//! (Dead becomes Running again for a moment when the end of a task turns out to need user code.)
//! `Blocking` is a running G in an announced blocking call.
//!
//! Invariants:
//! - Every change of the status is a compare-and-swap; if it finds an unexpected status, it changes
//!   nothing and returns that status.
//! - A G's registers are saved between `Parking` and the status that follows. A `ready` that meets
//!   `Parking` must therefore not run the G: it only leaves a mark, and the post-switch step, which
//!   runs on another stack, enqueues.
//! - While the scan bit is set nobody changes the status: anyone who wants to spins. So the scanner
//!   that set it may read what the status guards (name, wait reason, saved registers of a waiting
//!   G).

use crate::sync::{AtomicU32, Ordering, relax};

/// What a G is doing. `Parking` and `ParkingReady` are the two halves of going to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// Never used yet.
    Idle = 0,
    /// In a run queue, or about to be put there by whoever made it so.
    Runnable = 1,
    /// On an M. Its stack belongs to that M.
    Running = 2,
    /// Inside an announced blocking call, on an M, perhaps without a P.
    Blocking = 3,
    /// Has decided to wait; its registers may not be saved yet.
    Parking = 4,
    /// Parking, and readied meanwhile.
    ParkingReady = 5,
    /// Parked: it needs a `ready` to run.
    Waiting = 6,
    /// Ended; the memory waits for reuse.
    Dead = 7,
}

impl Status {
    fn from_bits(bits: u32) -> Status {
        match bits & !SCAN {
            0 => Status::Idle,
            1 => Status::Runnable,
            2 => Status::Running,
            3 => Status::Blocking,
            4 => Status::Parking,
            5 => Status::ParkingReady,
            6 => Status::Waiting,
            _ => Status::Dead,
        }
    }

    /// Whether it runs, will run without a `ready`, or has not finished parking (so it may have
    /// been readied).
    pub fn can_run(self) -> bool {
        !matches!(self, Status::Idle | Status::Waiting | Status::Dead)
    }

    /// The word a dump shows.
    pub fn name(self) -> &'static str {
        match self {
            Status::Idle => "idle",
            Status::Runnable => "runnable",
            Status::Running => "running",
            Status::Blocking => "syscall",
            Status::Parking | Status::ParkingReady => "parking",
            Status::Waiting => "waiting",
            Status::Dead => "dead",
        }
    }
}

const SCAN: u32 = 0x1000;

/// Whether the caller of `ready` has to queue the G.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a G that was made runnable has to be queued"]
pub enum Readied {
    /// It was waiting and is runnable now: the caller queues it.
    Enqueue,
    /// It was still parking: its own post-switch step will queue it.
    LeftMark,
}

/// What the post-switch step of parking found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a G that was readied while parking has to be queued"]
pub enum Parked {
    /// It waits now.
    Waiting,
    /// A ready came first: it is runnable, and the caller queues it.
    Readied,
}

/// The status word.
///
/// ```
/// use gosched_primitives::{Readied, Status, StatusWord};
///
/// let status = StatusWord::new(Status::Waiting);
/// assert_eq!(status.ready(), Ok(Readied::Enqueue));
/// assert_eq!(status.ready(), Err(Status::Runnable)); // waking twice is a bug, and is seen
/// ```
#[derive(Debug)]
pub struct StatusWord(AtomicU32);

impl StatusWord {
    crate::sync::const_fn! {
        /// A word that starts as `status`.
        pub const fn new(status: Status) -> StatusWord {
            StatusWord(AtomicU32::new(status as u32))
        }
    }

    /// The status now, scan bit aside.
    #[inline]
    pub fn get(&self) -> Status {
        // ORDERING: Acquire pairs with the AcqRel of `transition`: a thread that sees a status sees
        // what was written before it was set.
        Status::from_bits(self.0.load(Ordering::Acquire))
    }

    /// Changes `from` into `to`, or returns the status that it found instead.
    #[inline]
    pub fn transition(&self, from: Status, to: Status) -> Result<(), Status> {
        // ORDERING: AcqRel. Release publishes what the former owner wrote (registers, fields),
        // Acquire receives it; the partner is the next `transition`, `ready`, `finish_parking` or
        // `get` of this word.
        match self.0.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(found) => self.transition_slow(from, to, found),
        }
    }

    #[cold]
    fn transition_slow(&self, from: Status, to: Status, mut found: u32) -> Result<(), Status> {
        loop {
            if found & !SCAN != from as u32 {
                return Err(Status::from_bits(found));
            }
            if found & SCAN != 0 {
                relax();
            }
            // ORDERING: as in `transition`.
            match self.0.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => found = now,
            }
        }
    }

    /// Wakes the G: `Waiting` becomes `Runnable`, `Parking` becomes `ParkingReady`. Any other
    /// status is a bug of the caller, and is returned.
    #[inline]
    pub fn ready(&self) -> Result<Readied, Status> {
        match self.transition(Status::Waiting, Status::Runnable) {
            Ok(()) => Ok(Readied::Enqueue),
            Err(Status::Parking) => match self.transition(Status::Parking, Status::ParkingReady) {
                Ok(()) => Ok(Readied::LeftMark),
                // The post-switch step came in between. It can do so only once: a G that was not
                // readied can't begin to park again.
                Err(Status::Waiting) => {
                    self.transition(Status::Waiting, Status::Runnable).map(|()| Readied::Enqueue)
                }
                Err(other) => Err(other),
            },
            Err(other) => Err(other),
        }
    }

    /// The post-switch step of parking, run on another stack once the registers are saved.
    #[inline]
    pub fn finish_parking(&self) -> Result<Parked, Status> {
        match self.transition(Status::Parking, Status::Waiting) {
            Ok(()) => Ok(Parked::Waiting),
            Err(Status::ParkingReady) => {
                self.transition(Status::ParkingReady, Status::Runnable).map(|()| Parked::Readied)
            }
            Err(other) => Err(other),
        }
    }

    /// Locks the status against changes, unless there is nothing to see (idle, dead).
    pub fn scan(&self) -> Option<Scan<'_>> {
        let mut found = self.0.load(Ordering::Relaxed);
        loop {
            let status = Status::from_bits(found);
            if matches!(status, Status::Idle | Status::Dead) {
                return None;
            }
            if found & SCAN != 0 {
                relax();
                found = self.0.load(Ordering::Relaxed);
                continue;
            }
            // ORDERING: Acquire pairs with the Release half of `transition`: the fields the status
            // guards are seen.
            match self.0.compare_exchange(found, found | SCAN, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Scan { word: self, status }),
                Err(now) => found = now,
            }
        }
    }
}

/// Evidence that a status is locked against changes, until this is dropped. Hold it for moments
/// only: the owner spins.
#[derive(Debug)]
pub struct Scan<'a> {
    word: &'a StatusWord,
    status: Status,
}

impl Scan<'_> {
    /// The locked status.
    pub fn status(&self) -> Status {
        self.status
    }
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire half of `transition`: our reads come before the
        // owner's writes.
        self.word.0.store(self.status as u32, Ordering::Release);
    }
}
