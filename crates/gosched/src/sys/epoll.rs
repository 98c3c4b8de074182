//! epoll, edge-triggered, with a *bell*: an eventfd that makes the thread that blocks in it return.
//!
//! Through `rustix` and not `mio`: this is four calls on one kernel interface, with owned
//! descriptors and without `errno`. `mio` would hide the bell and the clock, which the scheduler
//! needs itself, and offers neither a wait to the nanosecond nor a bell that survives a look by
//! another thread.
//!
//! Invariants:
//! - One thread at a time blocks; any number may look. The bell (and the timer, below) is
//!   level-triggered, and only a wait that blocks silences it. So a look by another thread never
//!   swallows a ring that was meant for the thread that blocks.
//! - A blocking wait is timed to the nanosecond: by `epoll_pwait2`, or where the kernel lacks it by
//!   a timer descriptor that is part of the set.
//! - All descriptors are close-on-exec.

use core::mem::MaybeUninit;
use core::time::Duration;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// What a source is registered for.
const INTEREST: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::OUT)
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::PRI)
    .union(epoll::EventFlags::ET);
/// What makes a source worth reading from: also errors, which a read then reports.
const INPUT: epoll::EventFlags = epoll::EventFlags::IN.union(SPECIAL);
/// Where a read may stop short although there is more to read: the end, an error, urgent data.
const SPECIAL: epoll::EventFlags = epoll::EventFlags::RDHUP
    .union(epoll::EventFlags::HUP)
    .union(epoll::EventFlags::ERR)
    .union(epoll::EventFlags::PRI);
/// What makes a source worth writing to.
const OUTPUT: epoll::EventFlags =
    epoll::EventFlags::OUT.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);

/// The bell's number among the sources.
const BELL: u64 = u64::MAX;
/// The timer descriptor's.
const TIMER: u64 = u64::MAX - 1;
/// The largest number of a source; the smallest is 0.
pub(crate) const MAX_SOURCE: u64 = TIMER - 1;

/// The most reports that one call takes.
const BATCH: usize = 128;

/// The longest wait that is rounded to milliseconds.
const LONGEST_ROUNDED: Duration = Duration::from_secs(3600);

type EventRoom = [MaybeUninit<epoll::Event>; BATCH];

/// How a wait waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Not at all.
    Look,
    /// For so long at most; `None`: until something is reported or the bell rings.
    Block(Option<Duration>),
}

/// What epoll reports of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceReport {
    pub(crate) source: u64,
    pub(crate) input: bool,
    pub(crate) output: bool,
    /// One of [`SPECIAL`]'s.
    pub(crate) special: bool,
}

/// An epoll set and its bell.
pub(crate) struct Epoll {
    set: OwnedFd,
    bell: OwnedFd,
    /// Made when the kernel turns out to lack `epoll_pwait2`.
    timer: OnceLock<OwnedFd>,
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&set, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        Ok(Epoll { set, bell, timer: OnceLock::new() })
    }

    /// Registers a source, edge-triggered in both directions. What it is ready for now is reported
    /// at once.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, source: u64) -> io::Result<()> {
        debug_assert!(source <= MAX_SOURCE);
        Ok(epoll::add(&self.set, fd, epoll::EventData::new_u64(source), INTEREST)?)
    }

    /// Takes a source out. To be called before its descriptor is closed or given away: a duplicate
    /// would keep it in.
    pub(crate) fn delete(&self, fd: BorrowedFd<'_>) {
        // It can only fail for a descriptor that is not in the set.
        let _ = epoll::delete(&self.set, fd);
    }

    /// Makes the current blocking wait return, or else the next one.
    pub(crate) fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Waits as `how` says and passes each report to `each`. Returns their number, without bell and
    /// timer.
    pub(crate) fn wait(&self, how: How, mut each: impl FnMut(SourceReport)) -> usize {
        let mut room = [const { MaybeUninit::uninit() }; BATCH];
        let events = match how {
            How::Look => self.collect(&mut room, Some(Duration::ZERO)),
            How::Block(None) => self.collect(&mut room, None),
            How::Block(Some(limit)) => self.collect_timed(&mut room, limit),
        };
        let mut reports = 0;
        for event in events {
            let flags = event.flags;
            match (event.data.u64(), how) {
                (BELL | TIMER, How::Look) => {}
                (BELL, How::Block(_)) => silence(&self.bell),
                (TIMER, How::Block(_)) => self.timer.get().into_iter().for_each(silence),
                (source, _) => {
                    reports += 1;
                    each(SourceReport {
                        source,
                        input: flags.intersects(INPUT),
                        output: flags.intersects(OUTPUT),
                        special: flags.intersects(SPECIAL),
                    });
                }
            }
        }
        reports
    }

    /// Waits by `epoll_wait`, to the millisecond. Returns nothing if a signal ends the wait.
    fn collect<'r>(&self, room: &'r mut EventRoom, limit: Option<Duration>) -> &'r mut [epoll::Event] {
        match epoll::wait(&self.set, &mut room[..], limit.map(timespec).as_ref()) {
            Ok((events, _)) => events,
            Err(_) => &mut [],
        }
    }

    /// Waits for `limit` at most, to the nanosecond.
    fn collect_timed<'r>(&self, room: &'r mut EventRoom, limit: Duration) -> &'r mut [epoll::Event] {
        if self.timer.get().is_none() {
            match pwait2(&self.set, room, limit) {
                Ok(n) => {
                    // SAFETY: the kernel has filled in the first `n`.
                    return unsafe { room[..n.min(BATCH)].assume_init_mut() };
                }
                Err(libc::ENOSYS | libc::EPERM) => {}
                Err(_) => return &mut [],
            }
        }
        self.collect_by_timer(room, limit)
    }

    /// As [`collect_timed`](Epoll::collect_timed), for kernels before 5.11.
    fn collect_by_timer<'r>(&self, room: &'r mut EventRoom, limit: Duration) -> &'r mut [epoll::Event] {
        match self.set_timer(limit) {
            Ok(()) => self.collect(room, None),
            // No descriptor is left for the timer: waits to the next millisecond. The caller looks
            // at the clock afterwards.
            Err(_) => {
                let millis = limit.min(LONGEST_ROUNDED).as_nanos().div_ceil(1_000_000);
                self.collect(room, Some(Duration::from_millis(millis as u64)))
            }
        }
    }

    /// Makes the timer descriptor report after `limit`.
    fn set_timer(&self, limit: Duration) -> io::Result<()> {
        let timer = match self.timer.get() {
            Some(timer) => timer,
            None => {
                let new = timerfd_create(
                    TimerfdClockId::Monotonic,
                    TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
                )?;
                epoll::add(&self.set, &new, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)?;
                self.timer.get_or_init(|| new)
            }
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would disarm it.
        let value = timespec(limit.max(Duration::from_nanos(1)));
        timerfd_settime(
            timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        )?;
        Ok(())
    }
}

fn timespec(d: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(d.as_secs()).unwrap_or(i64::MAX), tv_nsec: d.subsec_nanos().into() }
}

/// Reads a counter, so that it is no longer readable.
fn silence(fd: &OwnedFd) {
    let _ = rustix::io::read(fd, &mut [0_u8; 8]);
}

/// `epoll_pwait2`. (`rustix` calls it only when built for kernels that all have it.) `Err` is the
/// error number.
fn pwait2(set: &OwnedFd, room: &mut EventRoom, limit: Duration) -> Result<usize, i32> {
    let limit = libc::timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    // SAFETY: the kernel writes at most BATCH events into `room`, whose elements have the kernel's
    // layout, and reads `limit`; without a signal mask the last two arguments are ignored.
    let n = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            set.as_raw_fd(),
            room.as_mut_ptr(),
            BATCH,
            &raw const limit,
            core::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    usize::try_from(n).map_err(|_| super::errno::get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    fn look(epoll: &Epoll, how: How) -> Vec<SourceReport> {
        let mut reports = Vec::new();
        epoll.wait(how, |report| reports.push(report));
        reports
    }

    /// S47: edges: what is ready is reported once, and again when more comes; each direction by
    /// itself.
    #[test]
    fn reports_edges() {
        let epoll = Epoll::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        epoll.add(ours.as_fd(), 7).unwrap();
        assert_eq!(
            look(&epoll, How::Look),
            [SourceReport { source: 7, input: false, output: true, special: false }]
        );
        assert_eq!(look(&epoll, How::Look), []);
        for _ in 0..2 {
            theirs.write_all(b"x").unwrap();
            let [SourceReport { source: 7, input: true, .. }] = look(&epoll, How::Block(None))[..] else {
                panic!("no report of input")
            };
            assert_eq!(look(&epoll, How::Look), []);
        }
        epoll.delete(ours.as_fd());
        theirs.write_all(b"x").unwrap();
        assert_eq!(look(&epoll, How::Look), []);
    }

    /// D9: the bell ends the wait of the thread that blocks, once, even if others have looked
    /// meanwhile.
    #[test]
    fn the_bell_is_not_swallowed() {
        let epoll = Epoll::new().unwrap();
        epoll.ring();
        epoll.ring();
        assert_eq!(look(&epoll, How::Look), []);
        assert_eq!(look(&epoll, How::Block(None)), []);
        let began = Instant::now();
        let limit = Duration::from_millis(20);
        assert_eq!(look(&epoll, How::Block(Some(limit))), []);
        assert!(began.elapsed() >= limit, "the bell rang twice");
    }

    /// D9: where the kernel lacks `epoll_pwait2`, a timer descriptor ends the wait; looks of others
    /// do not swallow it.
    #[test]
    fn waits_by_a_timer_descriptor() {
        let epoll = Epoll::new().unwrap();
        let limit = Duration::from_micros(20_500);
        epoll.set_timer(limit).unwrap();
        for _ in 0..3 {
            let began = Instant::now();
            let mut room = [const { MaybeUninit::uninit() }; BATCH];
            assert_eq!(epoll.collect_by_timer(&mut room, limit).len(), 1);
            assert!(began.elapsed() >= limit);
            assert_eq!(look(&epoll, How::Look), []);
            // It still ends a wait that blocks, and is gone after that.
            assert_eq!(look(&epoll, How::Block(None)), []);
        }
        epoll.ring();
        let began = Instant::now();
        assert_eq!(look(&epoll, How::Block(Some(Duration::from_secs(100)))), []);
        assert!(began.elapsed() < Duration::from_secs(50));
    }
}
