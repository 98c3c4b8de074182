//! Who watches the network (S38), as far as the public API can't show it.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::taken::lose_p;
use crate::debug::Policy;
use crate::netpoll;
use crate::os::unix::net::UnixStream;
use crate::p::P;
use crate::sched::SCHED;
use crate::testing::{shows, succeeds_in_child};

/// Waits in user code, without calling the library.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        core::hint::spin_loop();
    }
}

/// S38: the last busy P is taken while somebody waits for I/O and nobody watches: an M is woken to
/// watch. (Seen to fail without the look in `hand_off_p`, 2026-11-16.)
#[test]
fn the_last_p_is_handed_to_a_watcher() {
    succeeds_in_child("sched::tests::poll::the_last_p_is_handed_to_a_watcher", 2, || {
        // Another M has run, and gone to sleep.
        crate::go(|| ()).join().unwrap();
        until("the other P is idle", || {
            let idle = SCHED.idle_snapshot();
            idle.idle_ps == 1 && idle.spinning == 0
        });
        assert!(!SCHED.keeper.is_kept());
        netpoll::pretend_somebody_waits();
        lose_p();
        until("somebody sleeps in the poller", || SCHED.keeper.is_kept_afar());
    });
}

/// Two Ms share one CPU, and the network always has something: the one that runs gives way to the
/// one that was stopped in the middle of a goroutine.
#[test]
fn an_m_gives_way_on_a_shared_cpu() {
    if !shows(Policy::GiveWay) {
        return;
    }
    succeeds_in_child("sched::tests::poll::an_m_gives_way_on_a_shared_cpu", 2, || {
        crate::sys::cpu::use_only_one();
        crate::scope(|s| {
            for _ in 0..32 {
                let (mut one, mut other) = UnixStream::pair().unwrap();
                s.spawn(move || std::io::copy(&mut other.try_clone().unwrap(), &mut other).unwrap());
                s.spawn(move || {
                    let began = Instant::now();
                    while !SCHED.all_p().any(P::was_given_way) {
                        assert!(began.elapsed() < Duration::from_secs(60), "nobody gave way");
                        one.write_all(&[7; 64]).unwrap();
                        one.read_exact(&mut [0; 64]).unwrap();
                    }
                });
            }
        });
    });
}
