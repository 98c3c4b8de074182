//! The template thread, which makes all Ms (D9).
//!
//! It was cleaned of what it inherited from whoever started the runtime, and its children inherit from it alone.
//! It also is where Ms are allocated, and where a refused thread is tried for again: the scheduler does neither.
//!
//! Invariant: the note is set only by whoever makes the list non-empty, and cleared before the list is emptied.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::io;
use std::time::Duration;

use gosched_queue::{List, Lock, Note, Spinning};

use super::{M, current};
use crate::fatal::say;
use crate::p::P;
use crate::sched::{self, SCHED};
use crate::sys::{signal, thread};

/// g0 runs the scheduler and nothing of the user's.
const G0_STACK_BYTES: usize = 256 * 1024;

/// Ps that wait for a new M, off every other list.
static WANTED: Lock<List<P>> = Lock::new(List::new());
static NOTE: Note = Note::new();

/// Starts the template thread.
pub(crate) fn start() -> io::Result<()> {
    thread::spawn(G0_STACK_BYTES, template_main, core::ptr::null_mut())
}

/// Asks for a new M for `p`, which is the caller's to give. Allocates nothing.
pub(crate) fn start_m(p: &'static P, spinning: Option<Spinning>) {
    p.keep_for_new_m(spinning);
    let mut wanted = WANTED.lock();
    let first = wanted.is_empty();
    // SAFETY: Ps are never freed; this one was just taken off the idle list, or from an M.
    unsafe { wanted.push_back(NonNull::from(p)) };
    drop(wanted);
    if first {
        NOTE.wake();
    }
}

extern "C" fn template_main(_: *mut c_void) -> *mut c_void {
    thread::set_name(c"gosched-template");
    thread::adopt_process_defaults();
    loop {
        NOTE.sleep();
        NOTE.clear();
        let mut batch = core::mem::take(&mut *WANTED.lock());
        while let Some(p) = batch.pop_front() {
            // SAFETY: Ps are never freed.
            let p: &'static P = unsafe { p.as_ref() };
            create(M::new(p, p.take_kept_spinning()));
        }
    }
}

/// Creates the thread, however long it takes (S32): said once, tried again at growing intervals.
fn create(m: &'static M) {
    static SAID: std::sync::Once = std::sync::Once::new();
    SCHED.list_m(m);
    let mut pause = Duration::from_millis(1);
    while let Err(error) = thread::spawn(G0_STACK_BYTES, m_main, core::ptr::from_ref(m).cast_mut().cast()) {
        SAID.call_once(|| {
            say(format_args!(
                "gosched: the system refuses a thread ({error}); trying again until it gives one. \
                 Raise `ulimit -u` or the cgroup's pids.max.\n"
            ));
        });
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

extern "C" fn m_main(m: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passed an M, which lives for ever.
    let m: &'static M = unsafe { &*m.cast::<M>() };
    current::set(Some(m));
    thread::set_name(c"gosched-m");
    thread::set_tight_timer_slack();
    signal::give_alternate_stack();
    m.set_tid(thread::tid());
    sched::mstart(m)
}
