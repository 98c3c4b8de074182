//! Giving way: an M between two goroutines yields its CPU to another M that waits for it with
//! something in hand.
//!
//! **Problem.** With more busy threads than CPUs the kernel stops an M anywhere: in the middle of a
//! request, or with all that a look at the network has found. What waits in its ring can be stolen.
//! What it has in hand can't, and waits until the M that runs in its place is stopped in turn, one
//! or more ticks of 4 ms later. That other M has nothing in hand after every few requests. Waiting
//! costs it nothing then, so it offers the CPU.
//!
//! **Hook**: `nothing_in_hand`. It needs no system call to see who waits for this CPU: a P notes
//! the CPU that its M is on, and an M noted on the caller's CPU can't be running. The note is a
//! hint: one that is out of date costs a `sched_yield`.
//!
//! **Without it** what the stopped M has in hand waits until the kernel runs that M again, as in
//! Go.
//!
//! Invariants:
//! - An M gives way only if it has more to do, and all of that is in rings; or if it would look at
//!   the network while another one does. An M that is about to sleep does not: it leaves its CPU
//!   anyway, and is better woken by what it sleeps for than kept waiting for its turn.
//! - An M that spins does not give way: others rely on a spinner.
//! - Nobody gives way to the same pick for long ([`MOST_GIVEN_WAY`]): a goroutine that computes, or
//!   blocks in a call, would delay all others.

use core::sync::atomic::Ordering;

use crate::debug::Policy;
use crate::m::M;
use crate::netpoll;
use crate::p::{P, PStatus};
use crate::sched::Sched;
use crate::sys::cpu;

/// How often others give way to an M before it comes to its next pick.
const MOST_GIVEN_WAY: u32 = 16;

/// An M is between two goroutines, and all it has is in rings: yields the CPU if another M waits
/// for it with something in hand.
pub(in crate::sched) fn nothing_in_hand(sched: &Sched, m: &M, p: &P) {
    if !Policy::GiveWay.is_on() || m.is_spinning() {
        return;
    }
    let cpu = cpu::current();
    p.note_cpu(cpu);
    if sched.is_cpu_wanted(p, cpu) {
        std::thread::yield_now();
    }
}

impl Sched {
    /// Whether another P's M waits for `cpu`, the CPU that the M of `p` is on. A hint.
    pub(in crate::sched) fn is_cpu_wanted(&self, p: &P, cpu: u32) -> bool {
        let looker = netpoll::looker();
        self.all_p().any(|other| other.id != p.id && other.waits_for_cpu(cpu, looker == Some(other.id)))
    }
}

impl P {
    /// Whether this P's M was last on `cpu`, the caller's, so that it can't be running, and has
    /// something in hand: a goroutine, one in `runnext`, or what it finds in the network. `true` at
    /// most [`MOST_GIVEN_WAY`] times for one pick.
    pub(in crate::sched) fn waits_for_cpu(&self, cpu: u32, is_looker: bool) -> bool {
        if self.cpu.load(Ordering::Relaxed) != cpu || self.status() != PStatus::Running {
            return false;
        }
        let in_hand =
            is_looker || self.next.peek().is_some() || self.m().is_some_and(|m| m.cur_g().is_some());
        if !in_hand {
            return false;
        }
        let tick = u64::from(self.sched_tick()) << 32;
        // ORDERING: Relaxed: a hint; if two callers count at once, one count may be lost.
        let given = self.given_way.load(Ordering::Relaxed);
        let times = if given & !u64::from(u32::MAX) == tick { given as u32 } else { 0 };
        if times < MOST_GIVEN_WAY {
            self.given_way.store(tick | u64::from(times + 1), Ordering::Relaxed);
        }
        times < MOST_GIVEN_WAY
    }

    /// Whether anybody ever gave way to its M.
    #[cfg(test)]
    pub(in crate::sched) fn was_given_way(&self) -> bool {
        self.given_way.load(Ordering::Relaxed) != 0
    }
}
