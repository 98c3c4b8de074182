//! Giving way: an M between two goroutines lets another one run that waits for its CPU with something in hand.
//!
//! **Problem.** With more busy threads than CPUs the kernel stops an M anywhere: in the middle of a request, or with all that a look at the
//! network has found. What waits in its ring can be stolen; what it has in hand can't, and stays there until the M that runs in its
//! place is stopped in turn, one or more ticks of 4 ms later. That other one comes to a point where it has nothing in hand every few
//! requests. There it can wait at no cost, so there it offers the CPU.
//!
//! **Hook**: `nothing_in_hand`. Who waits for this CPU is known without a system call. A P notes the CPU that its M is on; where we run, no other M does. Both
//! are hints: a note that is out of date costs a `sched_yield`.
//!
//! **Without it** what the stopped M has in hand waits for the kernel, as in Go.
//!
//! Invariants:
//! - Who gives way has more to do, and all of it is in rings; or it would look at the network, and another one does. An M that is
//!   about to sleep leaves its CPU anyway, and had better be woken by what it sleeps for than wait for its turn.
//! - Who gives way does not spin: others rely on a spinner.
//! - Nobody gives way to a goroutine for long ([`MOST_GIVEN_WAY`]): one that computes, or sits in a call, would delay all others.

use core::sync::atomic::Ordering;

use crate::debug::Policy;
use crate::m::M;
use crate::netpoll;
use crate::p::{P, PStatus};
use crate::sched::Sched;
use crate::sys::cpu;

/// How often others give way to an M that does not come to its next pick.
const MOST_GIVEN_WAY: u32 = 16;

/// An M is between two goroutines, and all it has is in rings: lets an M run that waits for this CPU and has something in hand, if
/// there is one.
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
    /// Whether another P's M waits for `cpu`, the one that this P's is on, as far as is known.
    pub(in crate::sched) fn is_cpu_wanted(&self, p: &P, cpu: u32) -> bool {
        let looker = netpoll::looker();
        self.all_p().any(|other| other.id != p.id && other.waits_for_cpu(cpu, looker == Some(other.id)))
    }
}

impl P {
    /// Whether this P's M was last on the CPU that the caller is on, so that it can't be running, and has something in hand: a
    /// goroutine, the next one, or what it finds in the network. At most [`MOST_GIVEN_WAY`] times for one pick.
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
        // ORDERING: Relaxed, a hint: of two that count at once, one may be lost.
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
