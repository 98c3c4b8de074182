//! Who watches the network (S38), where the public API can't tell.

use std::time::{Duration, Instant};

use super::taken::lose_p;
use crate::netpoll;
use crate::sched::SCHED;
use crate::testing::succeeds_in_child;

/// Waits in user code, without a call to anybody.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        core::hint::spin_loop();
    }
}

/// S38: the last busy P is taken while somebody waits for I/O and nobody watches: an M is sent to. (Seen to fail without the
/// look in `hand_off_p`, 2026-11-16.)
#[test]
fn the_last_p_is_handed_to_a_watcher() {
    succeeds_in_child("sched::tests::netting::the_last_p_is_handed_to_a_watcher", 2, || {
        // Another M has been and gone to sleep.
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
