//! Whether a thread is blocked or computing (D2), as the kernel says (`sys::task`).
//!
//! The file is opened when the monitor first asks about an M, and kept until a taker takes the M's
//! P or the thread ends. Where it can't be opened, the thread's CPU clock decides: it stands still
//! while the thread is blocked (and while the kernel runs others, which is why it is second
//! choice).

use gosched_primitives::Lock;

use crate::sys::clock;
use crate::sys::task::TaskFile;

/// What is needed to ask about an M's thread. Behind a lock: the monitor asks, and whoever takes
/// the M's P, or ends its thread, closes.
pub(crate) struct Probe(Lock<ProbeState>);

struct ProbeState {
    file: ProbedFile,
    last_cpu: u64,
}

enum ProbedFile {
    /// Not opened yet.
    Unopened,
    Open(TaskFile),
    /// Can't be opened or read.
    Unavailable,
}

impl Probe {
    pub(crate) const fn new() -> Probe {
        Probe(Lock::new(ProbeState { file: ProbedFile::Unopened, last_cpu: 0 }))
    }

    /// Whether the thread is blocked in the kernel.
    pub(crate) fn is_blocked(&self, tid: i32) -> bool {
        let mut asked = self.0.lock();
        if let ProbedFile::Unopened = asked.file {
            asked.file = TaskFile::open(tid).map_or(ProbedFile::Unavailable, ProbedFile::Open);
        }
        let ProbedFile::Open(file) = &asked.file else { return asked.clock_stands_still(tid) };
        let blocked = file.is_blocked();
        if blocked.is_none() {
            asked.file = ProbedFile::Unavailable;
        }
        blocked.unwrap_or(false)
    }

    /// The M has lost its P, or its thread ends: closes the file. There is nothing to ask until the
    /// M has a P again, and the program may need the descriptor.
    pub(crate) fn close(&self) {
        self.0.lock().file = ProbedFile::Unopened;
    }
}

impl ProbeState {
    fn clock_stands_still(&mut self, tid: i32) -> bool {
        let cpu = clock::cpu_of(tid);
        let before = core::mem::replace(&mut self.last_cpu, cpu);
        before != 0 && before == cpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::thread::tid;
    use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use core::time::Duration;

    /// D2: a thread in a system call is blocked, one that computes is not.
    #[test]
    fn tells_blocked_from_computing() {
        static TID: AtomicI32 = AtomicI32::new(0);
        static STOP: AtomicBool = AtomicBool::new(false);
        let computing = std::thread::spawn(|| {
            TID.store(tid(), Ordering::Relaxed);
            while !STOP.load(Ordering::Relaxed) {
                core::hint::spin_loop();
            }
        });
        while TID.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let probe = Probe::new();
        // Its first moments may be in the kernel; from then on it only computes.
        while probe.is_blocked(TID.load(Ordering::Relaxed)) {
            std::thread::yield_now();
        }
        assert!((0..100).all(|_| !probe.is_blocked(TID.load(Ordering::Relaxed))));
        assert!(clock::cpu_of(TID.load(Ordering::Relaxed)) > 0);
        STOP.store(true, Ordering::Relaxed);
        computing.join().unwrap();

        let (send, receive) = std::sync::mpsc::channel();
        let sleeping = std::thread::spawn(move || {
            send.send(tid()).unwrap();
            std::thread::sleep(Duration::from_secs(30));
        });
        let sleeper = receive.recv().unwrap();
        let probe = Probe::new();
        while !probe.is_blocked(sleeper) {
            std::thread::yield_now();
        }
        drop(sleeping);
    }
}
