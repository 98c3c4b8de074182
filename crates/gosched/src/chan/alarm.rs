//! Async tasks that wait for a channel of time. Timers wake goroutines, so a goroutine waits in the task's place.

use core::task::Waker;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::err::{RecvError, TryRecvError};
use super::timer::TimerChan;
use crate::sched::hide_current;
use crate::thread::go_system;

/// Wakes a task when a channel of time may have something for it. A goroutine does the waiting; it ends with the alarm.
pub(super) struct Alarm(Arc<Mutex<Bell>>);

struct Bell {
    waker: Waker,
    waits: Waiting,
}

/// What the goroutine behind an alarm does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Still,
    /// It has rung, and ended.
    Over,
}

/// What a look has shown.
pub(super) enum Polled {
    Ready(Result<Instant, RecvError>),
    /// Not yet; this alarm will wake the task.
    Set(Alarm),
    /// Not yet; the alarm that was there will wake the task.
    Still,
}

/// Receives from `chan`, or sees to it that the task is woken. `alarm` is the one that was set before.
pub(super) fn poll(chan: &Arc<TimerChan>, alarm: Option<&mut Alarm>, waker: &Waker) -> Polled {
    match chan.try_recv() {
        Ok(due) => return Polled::Ready(Ok(due)),
        Err(TryRecvError::Disconnected) => return Polled::Ready(Err(RecvError)),
        Err(TryRecvError::Empty) => {}
    }
    if let Some(Alarm(bell)) = alarm {
        let new = waker.clone();
        let mut bell = bell.lock().unwrap_or_else(PoisonError::into_inner);
        if bell.waits == Waiting::Still {
            let old = core::mem::replace(&mut bell.waker, new);
            drop(bell);
            drop(old);
            return Polled::Still;
        }
    }
    Polled::Set(set(chan, waker.clone()))
}

/// Starts the goroutine that waits.
fn set(chan: &Arc<TimerChan>, waker: Waker) -> Alarm {
    let bell = Arc::new(Mutex::new(Bell { waker, waits: Waiting::Still }));
    let (alarm, chan) = (Arc::downgrade(&bell), Arc::clone(chan));
    go_system(move || {
        chan.wait_for_change(|| alarm.strong_count() > 0);
        let Some(bell) = alarm.upgrade() else { return };
        let mut bell = bell.lock().unwrap_or_else(PoisonError::into_inner);
        bell.waits = Waiting::Over;
        let waker = bell.waker.clone();
        drop(bell);
        // What others' code does on this goroutine, it does in the open.
        hide_current(false);
        waker.wake();
    });
    Alarm(bell)
}
