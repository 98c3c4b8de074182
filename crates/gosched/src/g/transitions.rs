//! All changes of a goroutine's status, one function for each (S1), under the names that readers of
//! Go's runtime know.
//!
//! | function | from | to | in Go |
//! |---|---|---|---|
//! | [`create`](G::create) | idle, dead | runnable | `newproc` |
//! | [`execute`](G::execute) | runnable | running | `execute` |
//! | [`park`](G::park) | running | parking | `gopark` |
//! | [`stay`](G::stay) | parking | running | `gopark`, when `unlockf` refuses |
//! | [`park_m`](G::park_m) | parking | waiting, or runnable if it was readied meanwhile | `park_m` |
//! | [`ready`](G::ready) | waiting, or parking, which is marked | runnable | `goready` |
//! | [`gosched`](G::gosched) | running | runnable | `goschedImpl` |
//! | [`enter_syscall`](G::enter_syscall) | running | blocking | `entersyscall` |
//! | [`exit_syscall`](G::exit_syscall) | blocking | running | `exitsyscall` |
//! | [`destroy`](G::destroy) | running | dead | `gdestroy` |
//! | [`revive`](G::revive) | dead | running | |
//!
//! Who may call which follows from who owns the G (`sched/README.md`, section 1). A change that
//! finds another status is a bug: it ends the process and shows the G's state.

use gosched_primitives::{Parked, Readied, Scan, Status};

use super::G;
use crate::fatal::fatal;
use crate::m::M;
use crate::recorder;

impl G {
    /// The status now; it may change at once.
    #[inline]
    pub(crate) fn status(&self) -> Status {
        self.status.get()
    }

    /// Holds the status still, unless there is no goroutine to see.
    pub(crate) fn scan(&self) -> Option<Scan<'_>> {
        self.status.scan()
    }

    /// The goroutine begins, and is to be queued. Called by whoever filled the header, or runs the
    /// timer that starts it.
    #[doc(alias = "newproc")]
    #[inline(always)]
    pub(crate) fn create(&self) {
        let before = self.status.get();
        debug_assert!(matches!(before, Status::Idle | Status::Dead), "{before:?}");
        self.change(before, Status::Runnable, "newproc");
        if recorder::is_on() {
            self.record_create();
        }
    }

    /// It runs on `m` from here on. Called by that M's worker, which took it from a queue.
    #[inline(always)]
    pub(crate) fn execute(&self, m: &'static M) {
        self.change(Status::Runnable, Status::Running, "execute");
        self.set_m(Some(m));
        if recorder::is_on() {
            self.record_execute(m);
        }
    }

    /// It is about to wait: from here on a `ready` may come, and leaves a mark. Called by the
    /// goroutine.
    #[doc(alias = "gopark")]
    #[inline(always)]
    pub(crate) fn park(&self) {
        self.change(Status::Running, Status::Parking, "park");
        if recorder::is_on() {
            self.record_park();
        }
    }

    /// There is nothing to wait for after all. Called by the goroutine; nobody knows its waiter.
    #[inline]
    pub(crate) fn stay(&self) {
        self.change(Status::Parking, Status::Running, "park");
        if recorder::is_on() {
            self.record_stay();
        }
    }

    /// It waits, with its registers saved; or it was readied meanwhile, and is to be queued. Called
    /// by the post-switch step.
    #[inline]
    pub(crate) fn park_m(&self) -> Parked {
        self.status.finish_parking().unwrap_or_else(|found| self.bad_status("park", found))
    }

    /// Its wait is over. Called by whoever took its waiter.
    #[doc(alias = "goready")]
    #[inline]
    pub(crate) fn ready(&self) -> Readied {
        // Before the change: if the goroutine is still parking, its M queues it from then on.
        if recorder::is_on() {
            self.record_ready();
        }
        self.status.ready().unwrap_or_else(|found| self.bad_status("ready", found))
    }

    /// It has yielded, and is to be queued. Called by the post-switch step.
    #[inline]
    pub(crate) fn gosched(&self) {
        self.change(Status::Running, Status::Runnable, "gosched");
    }

    /// It begins an announced blocking call. Called by the goroutine.
    #[doc(alias = "entersyscall")]
    #[inline(always)]
    pub(crate) fn enter_syscall(&self) {
        self.change(Status::Running, Status::Blocking, "entersyscall");
        if recorder::is_on() {
            self.record_enter_syscall();
        }
    }

    /// Its announced blocking call is over. Called by the goroutine.
    #[doc(alias = "exitsyscall")]
    #[inline]
    pub(crate) fn exit_syscall(&self) {
        self.change(Status::Blocking, Status::Running, "exitsyscall");
    }

    /// It has ended. Called by the goroutine.
    #[doc(alias = "gdestroy")]
    #[inline(always)]
    pub(crate) fn destroy(&self) {
        self.change(Status::Running, Status::Dead, "goexit");
        self.set_m(None);
        if recorder::is_on() {
            self.record_destroy();
        }
    }

    /// Its end needs user code: it runs once more. Called by the goroutine, before the header can
    /// have another owner.
    pub(crate) fn revive(&self, m: &'static M) {
        self.set_m(Some(m));
        self.change(Status::Dead, Status::Running, "goexit");
        if recorder::is_on() {
            self.record_revive(m);
        }
    }

    #[inline]
    fn change(&self, from: Status, to: Status, place: &str) {
        if let Err(found) = self.status.transition(from, to) {
            self.bad_status(place, found);
        }
    }

    /// Ends the process: `place` found the G in a status it can't be in.
    #[cold]
    fn bad_status(&self, place: &str, found: Status) -> ! {
        fatal!(
            "bad g status in {place}: goroutine {} is {} (wait reason {:?}, m {:?})",
            self.id(),
            found.name(),
            self.reason(),
            self.m().map(|m| m.id),
        )
    }
}
