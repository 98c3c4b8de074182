//! Giving way: an M between two goroutines lets another one run that waits for its CPU with something in hand.
//!
//! With more busy threads than CPUs the kernel stops an M anywhere: in the middle of a request, or with all that a look at the
//! network has found. What waits in its ring can be stolen; what it has in hand can't, and stays there until the M that runs in its
//! place is stopped in turn, one or more ticks of 4 ms later. That other one comes to a point where it has nothing in hand every few
//! requests. There it can wait at no cost, so there it offers the CPU.
//!
//! Who waits for this CPU is known without a system call. A P notes the CPU that its M is on; where we run, no other M does. Both
//! are hints: a note that is out of date costs a `sched_yield`.
//!
//! Invariants:
//! - Who gives way has more to do, and all of it is in rings; or it would look at the network, and another one does. An M that is
//!   about to sleep leaves its CPU anyway, and had better be woken by what it sleeps for than wait for its turn.
//! - Who gives way does not spin: others rely on a spinner.
//! - Nobody gives way to a goroutine for long ([`P::waits_for_cpu`]): one that computes, or sits in a call, would delay all others.

use super::Sched;
use crate::m::M;
use crate::netpoll;
use crate::p::HeldP;
use crate::sys::cpu;

impl Sched {
    /// Lets an M run that waits for this CPU and has something in hand, if there is one.
    pub(super) fn give_way(&self, m: &M, p: HeldP<'_>) {
        if m.is_spinning() {
            return;
        }
        let cpu = cpu::current();
        p.note_cpu(cpu);
        if self.is_cpu_wanted(p, cpu) {
            std::thread::yield_now();
        }
    }

    /// Whether another P's M waits for `cpu`, the one that this P's is on, as far as is known.
    pub(super) fn is_cpu_wanted(&self, p: HeldP<'_>, cpu: u32) -> bool {
        let looker = netpoll::looker();
        self.all_p().any(|other| other.id != p.id && other.waits_for_cpu(cpu, looker == Some(other.id)))
    }
}
