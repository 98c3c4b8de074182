//! Some thread always watches the network (S25, S35, S38, S47): whatever else runs, blocks or
//! sleeps, what has become ready is found.
//!
//! Seen to fail (2026-11-16): without the poll in sysmon's tick `found_while_others_yield`; without
//! the look for a watcher after a foreign thread has queued `found_for_a_foreign_thread`; when a
//! new poller does not rouse the keeper `found_although_somebody_sleeps_for_a_timer`; when an
//! earlier timer does not ring the bell `an_earlier_timer_interrupts_the_poller`.

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{child, cpu_time, join_all, threads};
use gosched::os::unix::net::UnixStream;
use gosched::{go, runtime, thread};

const LIMIT: Duration = Duration::from_secs(60);
/// Long enough for everything to be asleep, the monitor too.
const AT_REST: Duration = Duration::from_millis(400);

fn with_procs(test: &'static str, procs: &[usize], body: fn()) {
    for procs in procs {
        child(test, || gosched::run(body)).procs(*procs).limit(LIMIT).run().ok();
    }
}

/// A stream, at whose other end a foreign thread writes a byte after `pause`.
fn written_to_after(pause: Duration) -> UnixStream {
    let (ours, mut theirs) = StdStream::pair().unwrap();
    std::thread::spawn(move || {
        std::thread::sleep(pause);
        theirs.write_all(b"x").unwrap();
        // Stays open: the byte is all there is.
        std::mem::forget(theirs);
    });
    ours.into()
}

/// S35: every P is busy with goroutines that only yield, and never polls: the monitor does.
#[test]
fn found_while_others_yield() {
    with_procs("found_while_others_yield", &[1, 2], || {
        let mut stream = written_to_after(Duration::from_millis(50));
        let reader = go(move || stream.read(&mut [0; 8]).unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let loops = (0..2 * thread::available_parallelism().unwrap().get())
            .map(|_| {
                let stop = Arc::clone(&stop);
                go(move || {
                    while !stop.load(Ordering::Relaxed) {
                        gosched::yield_now();
                    }
                })
            })
            .collect();
        assert_eq!(reader.join().unwrap(), 1);
        stop.store(true, Ordering::Relaxed);
        join_all(loops);
    });
}

/// S25: everything is asleep, and one M sleeps in the poller.
#[test]
fn found_while_all_rest() {
    with_procs("found_while_all_rest", &[1, 2, 8], || {
        assert_eq!(written_to_after(AT_REST).read(&mut [0; 8]).unwrap(), 1);
    });
}

/// S18, S25: a foreign thread waits, in a process where no goroutine ever ran, and in one where all
/// are asleep.
#[test]
fn found_for_a_foreign_thread() {
    for procs in [1, 2, 8] {
        child("found_for_a_foreign_thread", || {
            assert_eq!(written_to_after(AT_REST).read(&mut [0; 8]).unwrap(), 1);
            gosched::run(|| thread::sleep(Duration::from_millis(1)));
            assert_eq!(written_to_after(AT_REST).read(&mut [0; 8]).unwrap(), 1);
        })
        .procs(procs)
        .limit(LIMIT)
        .run()
        .ok();
    }
}

/// S25, S46: the keeper sleeps on its note until a distant timer, since there was no poller yet; it
/// moves to the poller.
#[test]
fn found_although_somebody_sleeps_for_a_timer() {
    with_procs("found_although_somebody_sleeps_for_a_timer", &[2, 8], || {
        go(|| thread::sleep(Duration::from_secs(1000)));
        // Another M runs this one when the first is asleep for that timer.
        runtime::blocking(|| std::thread::sleep(AT_REST));
        assert_eq!(written_to_after(AT_REST).read(&mut [0; 8]).unwrap(), 1);
    });
}

/// S38: a goroutine waits for I/O; the last busy P is taken from another one, which is in a
/// blocking call. Somebody is sent to watch.
#[test]
fn found_although_the_last_p_was_lost_to_a_blocking_call() {
    with_procs("found_although_the_last_p_was_lost_to_a_blocking_call", &[1, 2, 8], || {
        let mut stream = written_to_after(2 * AT_REST);
        let (sender, receiver) = mpsc::channel();
        go(move || sender.send(stream.read(&mut [0; 8]).unwrap()).unwrap());
        // Afterwards the M that had slept in the poller runs this one: nobody is in there.
        thread::sleep(Duration::from_millis(50));
        assert_eq!(runtime::blocking(|| receiver.recv().unwrap()), 1);
    });
}

/// S46: the keeper sleeps in the poller until a late timer. Earlier ones are armed by a new
/// goroutine that sleeps and by a foreign thread that reads with a time limit: it wakes up for
/// those.
#[test]
fn an_earlier_timer_interrupts_the_poller() {
    with_procs("an_earlier_timer_interrupts_the_poller", &[1, 2, 8], || {
        let mut never = written_to_after(Duration::from_secs(3600));
        go(move || never.read(&mut [0; 8]));
        go(|| thread::sleep(Duration::from_secs(1000)));
        thread::sleep(Duration::from_millis(20));
        let foreign = std::thread::spawn(|| {
            std::thread::sleep(AT_REST);
            // The timer of a goroutine that is created and goes to sleep while all others sleep.
            let sleeper = go(|| thread::sleep(Duration::from_millis(30)));
            sleeper.join().unwrap();
            let limited = UnixStream::pair().unwrap();
            limited.0.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
            assert!((&limited.0).read(&mut [0; 8]).is_err());
        });
        runtime::blocking(|| foreign.join().unwrap());
    });
}

/// S33: goroutines that wait for I/O, and timers that are not due, cost no CPU; the watcher is one
/// thread.
#[test]
fn watching_costs_nothing() {
    with_procs("watching_costs_nothing", &[2], || {
        for _ in 0..100 {
            let mut never = written_to_after(Duration::from_secs(3600));
            go(move || never.read(&mut [0; 8]));
        }
        thread::sleep(AT_REST);
        let (before, began) = (cpu_time(), Instant::now());
        thread::sleep(Duration::from_secs(2));
        let used = cpu_time() - before;
        assert!(used < began.elapsed() / 50, "{used:?} of CPU in {:?}", began.elapsed());
        // The writers, the watchdog, the harness, and a few of the library.
        assert!(threads() < 100 + 12, "{} threads", threads());
    });
}

/// D9: the child of a fork shares the poller with its parent. Dropping a socket there ends the
/// child, with a message, before it can take the parent's registration away. (Seen to fail with the
/// order reversed, 2026-11-16.)
#[test]
fn a_forked_child_takes_nothing_away() {
    child("a_forked_child_takes_nothing_away", || {
        let (ours, mut theirs) = StdStream::pair().unwrap();
        let (forked, has_forked) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            has_forked.recv().unwrap();
            std::thread::sleep(AT_REST);
            theirs.write_all(b"x").unwrap();
        });
        let mut stream = UnixStream::from(ours);
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert!(stream.read(&mut [0; 8]).is_err(), "it has been waited for, so it is registered");
        stream.set_read_timeout(None).unwrap();
        // SAFETY: the child makes one call, which ends it; if it does not, it ends itself.
        let status = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                drop(stream);
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
            status
        };
        assert_eq!(libc::WEXITSTATUS(status), 2);
        forked.send(()).unwrap();
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 1);
    })
    .limit(LIMIT)
    .run()
    .ok()
    .said(&["gosched was used after a fork"]);
}
