//! The world, stopped (S42): what every goroutine, P and M is doing at one moment.

#![deny(unsafe_code)]

use core::panic::Location;

use crate::g::G;
use crate::m::M;
use crate::p::P;
use crate::sched::{SCHED, Stopped, default_class, started_procs};
use crate::settings::MAX_PROCS;

/// Stops the world, runs `f`, and starts the world again; returns what `f` returns.
///
/// While `f` runs, no goroutine holds a P. Goroutines that compute without one, or are in a
/// blocking call, continue until they next enter the library, and wait there; [`World`] shows them.
/// What other threads make runnable meanwhile runs afterwards.
///
/// `f` must not wait for anybody, and should be quick. A call of this library that can complete
/// without waiting completes: it locks a free mutex, or receives a value that is there. A call that
/// would have to wait panics before it has changed anything, and its lock or channel stays usable.
/// [`scope`](crate::scope) and [`run`](crate::run), which lend their frame to goroutines, always
/// panic; `try_*` calls never do.
///
/// In particular `f` must take no lock of std's that a goroutine may hold across a call into the
/// library, such as the one of `println!`: collect what is to be printed, and print it afterwards.
/// After 10 seconds in `f` the runtime dumps all goroutines, and ends the process with status 2.
///
/// A moving call. One caller at a time: others wait. Works from any thread.
///
/// # Panics
///
/// If `f` makes a call that would have to wait, yields, or stops the world again. Also with the
/// panic of `f`; the world is started first.
///
/// ```
/// use gosched::runtime;
///
/// gosched::run(|| {
///     let parked = gosched::go(|| gosched::thread::park());
///     let mut ids: Vec<u64> = runtime::stop_the_world(|world| world.goroutines().map(|g| g.id).collect());
///     ids.sort();
///     assert!(ids.contains(&1) && ids.len() >= 2);
///     parked.thread().unpark();
///     parked.join().unwrap();
/// });
/// ```
#[doc(alias("stopTheWorld", "STW"))]
pub fn stop_the_world<T>(f: impl FnOnce(&World) -> T) -> T {
    started_procs();
    let stopped = Stopped::begin();
    let world = World { stopper: stopped.stopper() };
    let value = f(&world);
    drop(stopped);
    value
}

/// Reads (`None`) or sets (`Some(n)`) the number of Ps, and returns the number before: how many
/// goroutines can hold the right to run at the same time (`GOMAXPROCS`).
///
/// Setting stops the world for a moment. The other Ps run what the removed ones had queued; nothing
/// is lost. A number above 1,024 counts as 1,024.
///
/// A moving call if it changes the number.
///
/// # Panics
///
/// If `n` is 0. Inside [`stop_the_world`], if it would change the number.
///
/// ```
/// use gosched::runtime::maxprocs;
///
/// let before = maxprocs(Some(3));
/// assert_eq!(maxprocs(None), 3);
/// assert_eq!(maxprocs(Some(before)), 3);
/// ```
#[doc(alias = "GOMAXPROCS")]
pub fn maxprocs(n: Option<usize>) -> usize {
    let before = started_procs();
    let Some(n) = n else { return before };
    assert!(n > 0, "maxprocs(Some(0)): there must be at least one P; maxprocs(None) reads the number");
    let n = n.min(MAX_PROCS);
    if n == before {
        return before;
    }
    let made = SCHED.make_ps(n as u32, default_class());
    let stopped = Stopped::begin();
    let before = SCHED.procs() as usize;
    stopped.start_with(made);
    before
}

/// The world, stopped: given to the closure of [`stop_the_world`].
///
/// ```
/// use gosched::runtime::{maxprocs, stop_the_world};
///
/// let (ps, ms) = stop_the_world(|world| (world.processors().count(), world.threads().count()));
/// println!("{ps} Ps, {ms} threads");
/// assert_eq!(ps, maxprocs(None));
/// ```
#[derive(Debug)]
pub struct World {
    stopper: Option<u64>,
}

impl World {
    /// All goroutines, in no particular order. The library's own one, which calls the wakers of
    /// async tasks, is left out unless it is calling one.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let states: Vec<_> =
    ///         gosched::runtime::stop_the_world(|world| world.goroutines().map(|g| (g.id, g.state)).collect());
    ///     assert!(states.contains(&(1, "waiting")), "whoever stops the world waits meanwhile: {states:?}");
    /// });
    /// ```
    pub fn goroutines(&self) -> impl Iterator<Item = GoroutineInfo> + '_ {
        SCHED.all_g().filter_map(|g| GoroutineInfo::of(g, self.stopper))
    }

    /// The Ps, by number.
    ///
    /// ```
    /// let statuses: Vec<&str> =
    ///     gosched::runtime::stop_the_world(|world| world.processors().map(|p| p.status).collect());
    /// assert!(statuses.iter().all(|status| *status == "gcstop"));
    /// ```
    pub fn processors(&self) -> impl Iterator<Item = ProcessorInfo> + '_ {
        SCHED.all_p().take(SCHED.procs() as usize).map(ProcessorInfo::of)
    }

    /// The worker threads (Ms), in no particular order.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let threads = gosched::runtime::stop_the_world(|world| world.threads().count());
    ///     assert!(threads >= 1);
    /// });
    /// ```
    pub fn threads(&self) -> impl Iterator<Item = ThreadInfo> + '_ {
        SCHED.all_m().map(ThreadInfo::of)
    }
}

/// A goroutine, as it was when the world stopped.
///
/// ```
/// gosched::run(|| {
///     let names: Vec<_> =
///         gosched::runtime::stop_the_world(|world| world.goroutines().filter_map(|g| g.name).collect());
///     assert!(names.is_empty());
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GoroutineInfo {
    /// Its id.
    pub id: u64,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// `runnable`, `running`, `syscall` (in an announced blocking call) or `waiting`. One that is
    /// `running` has no P.
    pub state: &'static str,
    /// Why it waits, in the words of a dump; empty if it doesn't.
    pub wait_reason: &'static str,
    /// The thread it is on, by the id of [`ThreadInfo`].
    pub thread: Option<u64>,
    /// Whether it continues although the world is stopped: it computes without a P, or is in a
    /// blocking call.
    pub without_p: bool,
    /// The goroutine that created it; `None` if a thread did.
    pub creator: Option<u64>,
    /// Where it was created.
    pub created_at: Option<&'static Location<'static>>,
}

impl GoroutineInfo {
    fn of(g: &G, stopper: Option<u64>) -> Option<GoroutineInfo> {
        let view = g.inspect()?;
        let is_stopper = stopper == Some(view.id);
        let on_thread = !is_stopper && matches!(view.status, "running" | "syscall");
        Some(GoroutineInfo {
            id: view.id,
            name: view.name.map(|name| name.to_string()),
            state: if is_stopper { "waiting" } else { view.status },
            wait_reason: if is_stopper || view.status == "waiting" { g.reason().text() } else { "" },
            thread: view.thread.filter(|_| is_stopper || on_thread),
            without_p: on_thread,
            creator: (view.creator != 0).then_some(view.creator),
            created_at: view.place,
        })
    }
}

/// A P, as it was when the world stopped.
///
/// ```
/// let queued: usize =
///     gosched::runtime::stop_the_world(|world| world.processors().map(|p| p.run_queue).sum());
/// println!("{queued} goroutines are queued locally");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessorInfo {
    /// Its number, from 0.
    pub id: usize,
    /// Its status, in Go's words: `gcstop` while the world is stopped.
    pub status: &'static str,
    /// Goroutines in its run queue, `runnext` included.
    pub run_queue: usize,
    /// How many picks have begun a new time slice. Wraps around.
    pub sched_tick: u32,
    /// How many announced blocking calls have begun, and how often it was taken from one. Wraps
    /// around.
    pub syscall_tick: u32,
}

impl ProcessorInfo {
    fn of(p: &P) -> ProcessorInfo {
        ProcessorInfo {
            id: p.id as usize,
            status: p.status().name(),
            run_queue: p.ring.len() + usize::from(!p.next.is_empty()),
            sched_tick: p.sched_tick(),
            syscall_tick: p.blocking_tick(),
        }
    }
}

/// A worker thread (M), as it was when the world stopped.
///
/// ```
/// gosched::run(|| {
///     let busy = gosched::runtime::stop_the_world(|world| world.threads().filter(|m| m.goroutine.is_some()).count());
///     assert!(busy >= 1, "the one that stopped the world is on a thread");
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// Its number, from 0. A number is used again when its thread has ended.
    pub id: u64,
    /// The system's id of the thread; 0 while it is being started.
    pub os_id: i32,
    /// The goroutine on it, if any.
    pub goroutine: Option<u64>,
}

impl ThreadInfo {
    fn of(m: &M) -> ThreadInfo {
        ThreadInfo { id: m.id, os_id: m.tid(), goroutine: m.cur_g().map(|g| g.id()) }
    }
}
