//! What a goroutine says in a trace: tasks, regions, logs.

use crate::g::G;
use crate::m::Worker;
use crate::recorder::{self, UserEvent};

/// Writes what the calling goroutine says into the trace. A moving call: the trace wants a
/// goroutine with a P. Says nothing on a thread that is not ours, and in a stopped world. Returns
/// whether it is written.
#[cold]
pub(crate) fn say(event: UserEvent<'_>) -> bool {
    let Ok(Some(worker)) = Worker::enter_moving() else { return false };
    let written = recorder::user_event(&worker.m().recorder, event, G::traced_stack());
    worker.finish();
    written
}
