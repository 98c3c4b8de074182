//! First use (S6): Ps, ownership barrier, handlers, template thread. No M exists until there is
//! work for one.
//!
//! Invariant: `STATE` goes from cold to started, once. In the child of a fork it is forked for
//! ever: none of our threads exists there (D9).

use core::sync::atomic::{AtomicU8, Ordering};
use std::io;
use std::sync::Once;

use gosched_primitives::barrier;
use gosched_switch::{StackClass, check_platform};

use super::{SCHED, Sched, sysmon, template};
use crate::clock::now;
use crate::debug;
use crate::dump::{Books, Overview};
use crate::fatal::fatal;
use crate::g::{G, since};
use crate::m::{M, current};
use crate::p::P;
use crate::settings::{self, Settings};
use crate::sys::signal;
use crate::sys::thread::{self, Defaults};
use crate::{dump, overflow, panics, tracer};

const COLD: u8 = 0;
const STARTED: u8 = 1;
const FORKED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(COLD);
static STARTING: Once = Once::new();

/// Starts the runtime if it isn't running. Called by everything that a foreign thread can call and
/// that needs it.
#[inline]
pub(crate) fn ensure_started() {
    // ORDERING: Acquire pairs with the Release in `start`: a thread that sees it started sees Ps
    // and settings.
    if STATE.load(Ordering::Acquire) != STARTED {
        ensure_started_slow();
    }
}

#[cold]
fn ensure_started_slow() {
    refuse_after_fork();
    STARTING.call_once(|| start(settings::freeze()));
}

/// Ends the child of a fork (D9). For calls that a foreign thread can make without a runtime: a
/// former goroutine must not wait there for others, which do not exist in the child.
pub(crate) fn refuse_after_fork() {
    if is_forked() {
        fatal!(
            "gosched was used after a fork: its threads did not come along. Exec a program in the child, or use \
             std::process::Command, which does"
        );
    }
}

/// Whether this process is the child of a fork, where the runtime is dead.
pub(crate) fn is_forked() -> bool {
    STATE.load(Ordering::Relaxed) == FORKED
}

/// The number of Ps. Starts the runtime if it isn't running.
pub(crate) fn started_procs() -> usize {
    ensure_started();
    SCHED.procs() as usize
}

/// The class of stacks for goroutines that ask for nothing else. Valid once started.
#[inline]
pub(crate) fn default_class() -> StackClass {
    settings::get().stack
}

fn start(settings: &'static Settings) {
    if let Err(unsupported) = check_platform() {
        fatal!("{unsupported}");
    }
    since::start(now());
    let _ = barrier::init();
    signal::install(overflow::on_fault);
    panics::install_hook();
    thread::on_fork(forked);
    SCHED.max_threads.store(settings.max_threads, Ordering::Relaxed);
    debug::get().off.adopt();
    if debug::get().migrate {
        SCHED.exceptions.set_migrating();
    }
    SCHED.make_first_ps(settings.procs, settings.stack);
    let defaults: &'static Defaults = Box::leak(Box::new(Defaults::read()));
    let threads: [fn(&'static Defaults) -> io::Result<()>; 3] =
        [template::start, sysmon::start, |defaults| dump::start(defaults, &SCHED)];
    if let Err(error) = threads.iter().try_for_each(|start| start(defaults)) {
        fatal!("cannot create a thread ({error}): raise `ulimit -u` or the cgroup's pids.max");
    }
    tracer::start_by_environment(&SCHED);
    // ORDERING: Release pairs with the Acquire in `ensure_started`.
    STATE.store(STARTED, Ordering::Release);
}

/// What dumps show.
impl Overview for Sched {
    fn gs(&self) -> Box<dyn Iterator<Item = &'static G> + '_> {
        Box::new(self.all_g())
    }

    fn ms(&self) -> Box<dyn Iterator<Item = &'static M> + '_> {
        Box::new(self.all_m())
    }

    fn every_m(&self) -> Box<dyn Iterator<Item = &'static M> + '_> {
        Box::new(Sched::every_m(self))
    }

    fn ps(&self) -> Box<dyn Iterator<Item = &'static P> + '_> {
        Box::new(self.all_p())
    }

    fn books(&self) -> Books {
        Books {
            procs: self.procs(),
            idle: self.idle_snapshot(),
            runq_len: self.runq_len(),
            goroutines: self.num_goroutine(),
            stopping: self.exceptions.is_stopping(),
            still_running: self.still_running(),
            monitor_sleeps: sysmon::is_asleep(),
        }
    }
}

/// In the child of a fork: this thread is nobody's M, and the runtime is dead.
///
/// # Safety
/// Called by the system, in the child, before `fork` returns there.
unsafe extern "C" fn forked() {
    current::set(None);
    dump::forked();
    tracer::forked();
    STATE.store(FORKED, Ordering::Relaxed);
}
