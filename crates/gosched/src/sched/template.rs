//! The template thread, which makes all Ms (D9).
//!
//! It sets itself back to the defaults, whatever it inherited from the thread that started the
//! runtime, and all Ms inherit from it. It also allocates the Ms, and asks again for a thread that
//! was refused: the scheduler waits for neither.
//!
//! Invariant: under the list's lock, the note is set exactly if the list is not empty.

use core::ffi::c_void;
use std::io;
use std::sync::Once;
use std::time::Duration;

use gosched_primitives::{Lock, Note, Spinning};

use super::policy::time_slices::{self, TimeSlice};
use super::{SCHED, schedule};
use crate::dump;
use crate::fatal::fatal;
use crate::m::{FirstThread, HasP, M, Worker, current};
use crate::p::{OwnedP, PList};
use crate::sys::thread::{self, Defaults};

/// For the scheduler. Of the user's code only destructors of thread-locals run there, at a thread's
/// end.
const G0_STACK_BYTES: usize = 256 * 1024;

/// Ps that wait for a new M, off every other list.
static WANTED: Lock<PList> = Lock::new(PList::new());
static NOTE: Note = Note::new();

/// Starts the template thread.
pub(crate) fn start(defaults: &'static Defaults) -> io::Result<()> {
    thread::spawn(G0_STACK_BYTES, template_main, core::ptr::from_ref(defaults).cast_mut().cast())
}

/// Asks for a new M for `p`. Allocates nothing.
pub(crate) fn start_m(p: OwnedP, spinning: Option<Spinning>) {
    p.keep_for_new_m(spinning);
    let mut wanted = WANTED.lock();
    let first = wanted.is_empty();
    wanted.push_back(p);
    if first {
        NOTE.wake();
    }
}

extern "C" fn template_main(defaults: *mut c_void) -> *mut c_void {
    thread::set_name(c"gosched-template");
    // SAFETY: `start` passed this reference, which is `'static`.
    unsafe { &*defaults.cast::<Defaults>() }.adopt();
    let mut refused = None;
    loop {
        match refused {
            None => NOTE.sleep(),
            Some(pause) => drop(NOTE.sleep_timeout(pause)),
        }
        let mut batch = {
            let mut wanted = WANTED.lock();
            if NOTE.is_set() {
                NOTE.clear();
            }
            core::mem::replace(&mut *wanted, PList::new())
        };
        if refused.take().is_some() && batch.is_empty() {
            match SCHED.claim_for_new_m() {
                Some(p) => batch.push_back(p),
                None => refused = SCHED.unwatched_timer().map(|due| due.max(RETRY)),
            }
        }
        while let Some(p) = batch.pop_front() {
            if create(p) == Created::Refused {
                refused = Some(RETRY);
            }
        }
    }
}

/// How long to wait before a refused thread is asked for again.
const RETRY: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Created {
    Yes,
    Refused,
}

/// Creates an M for `p`. If the system refuses the thread, reports that once, gives the P to an M
/// that sleeps or back to the idle list, and has it tried again while work waits (S32).
fn create(p: OwnedP) -> Created {
    static SAID: Once = Once::new();
    let spinning = p.take_kept_spinning();
    let m = SCHED.take_spare_m().unwrap_or_else(M::new);
    m.give(p, spinning);
    let Err(error) = thread::spawn(G0_STACK_BYTES, m_main, core::ptr::from_ref(m).cast_mut().cast()) else {
        return Created::Yes;
    };
    if !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM)) {
        fatal!("cannot create a thread: {error}");
    }
    SAID.call_once(|| {
        dump::warn(format_args!(
            "gosched: the system refuses a thread ({error}); going on with those there are, and trying again. \
             Raise `ulimit -u` or the cgroup's pids.max.\n"
        ));
    });
    let spinning = m.take_spinning();
    let p = m.take_next_p();
    SCHED.put_spare_m(m);
    if let Some(p) = p {
        SCHED.take_back_p(p, spinning);
    }
    Created::Refused
}

/// The thread of an M. It ends only with a goroutine that was locked to it (S51). Destructors of
/// thread-locals run after that, on a thread that is no longer ours.
extern "C" fn m_main(m: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passed an M, which lives for ever and has no other thread.
    let m: &'static M = unsafe { &*m.cast::<M>() };
    current::set(Some(m));
    // SAFETY: this thread is its M's from here on, and an M without a thread is inside the runtime,
    // without a P.
    let mut worker = unsafe { Worker::assume(m, HasP::No) };
    if worker.begin() == FirstThread::Yes {
        SCHED.list_m(m);
    }
    thread::set_name(c"gosched-m");
    time_slices::ask(0, TimeSlice::Short);
    let worker = schedule::mstart(worker);
    current::set(None);
    SCHED.end_m(worker);
    thread::count_end();
    core::ptr::null_mut()
}
