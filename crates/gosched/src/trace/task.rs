//! What users write into a trace: tasks, regions, logs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context;
use crate::recorder::{self, UserEvent};
use crate::sched::say;

/// The number of a task, as a value of a context.
struct TaskId(u64);

/// The number of no task: what Go calls the background task.
const NO_TASK: u64 = 0;

fn current_task() -> u64 {
    context::current().value::<TaskId>().map_or(NO_TASK, |task| task.0)
}

/// A piece of work that may be spread over several goroutines: what is done for one request, say.
/// It ends when it is dropped. Regions and logs inside [`Task::enter`] belong to it, and so do
/// those of goroutines that are spawned inside, for they inherit it through the context.
///
/// ```
/// use gosched::{go, trace};
///
/// gosched::run(|| {
///     let task = trace::Task::new("request");
///     task.enter(|| {
///         go(|| trace::region("parse", || ())).join().unwrap();
///         trace::log("status", "200");
///     });
/// });
/// ```
pub struct Task {
    id: u64,
    /// With the task in it.
    context: context::Context,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Task {
    /// Begins a task, within the current one if there is one. A moving call while a trace is
    /// recorded.
    pub fn new(name: &str) -> Task {
        static LAST: AtomicU64 = AtomicU64::new(NO_TASK);
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        if recorder::is_on() {
            say(UserEvent::TaskBegin { task: id, parent: current_task(), name });
        }
        Task { id, context: context::current().with_value(TaskId(id)) }
    }

    /// Runs `f` as a part of the task.
    pub fn enter<T>(&self, f: impl FnOnce() -> T) -> T {
        context::enter(&self.context, f)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if recorder::is_on() {
            say(UserEvent::TaskEnd { task: self.id });
        }
    }
}

/// Runs `f` as a region of the calling goroutine: a span of its time with a name. Regions may lie
/// within each other. A moving call while a trace is recorded. On a thread that is not a goroutine
/// it just runs `f`.
///
/// ```
/// let answer = gosched::run(|| gosched::trace::region("think", || 42));
/// assert_eq!(answer, 42);
/// ```
pub fn region<T>(name: &str, f: impl FnOnce() -> T) -> T {
    let _region = recorder::is_on().then(|| Region::begin(name));
    f()
}

/// A region that has begun; ended when dropped, also by a panic.
struct Region<'n> {
    task: u64,
    name: &'n str,
    begun: bool,
}

impl<'n> Region<'n> {
    fn begin(name: &'n str) -> Region<'n> {
        let task = current_task();
        Region { task, name, begun: say(UserEvent::RegionBegin { task, name }) }
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        if self.begun {
            say(UserEvent::RegionEnd { task: self.task, name: self.name });
        }
    }
}

/// Writes a message into the trace, if one is recorded. A moving call then. Texts of more than
/// 1,024 bytes are cut off.
///
/// ```
/// gosched::run(|| gosched::trace::log("cache", "miss"));
/// ```
pub fn log(key: &str, value: &str) {
    if recorder::is_on() {
        say(UserEvent::Log { task: current_task(), key, value });
    }
}
