//! Guards: three ways of making them, best first. A stack without one is never handed out.
//!
//! | rung | kernel | costs mappings | a touch is |
//! |---|---|---|---|
//! | `Madvise` | 6.13 | no | SIGSEGV, `SEGV_MAPERR` |
//! | `Poison` | 6.6 | no | SIGBUS, `BUS_MCEERR_AR` |
//! | `Mprotect` | any | two per stack | SIGSEGV, `SEGV_ACCERR` |
//!
//! Invariants: guards are installed before anything in the slab is touched, and are never removed;
//! every slab tries the rungs anew, because what works can depend on the slab (locked memory
//! refuses the first two).

use std::sync::{Mutex, PoisonError};

use super::error::LimitMet;
use super::slab::Slab;
use crate::sys::{self, Errno};
use crate::uffd::Uffd;

/// Mappings that `Mprotect` leaves for the rest of the process: allocator, threads, libraries.
const MAP_RESERVE: usize = 1024;
/// The kernel's own default, used where `/proc` can't be read.
const DEFAULT_MAX_MAP_COUNT: usize = 65_530;

/// A way of making guards. Public for tests only.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardRung {
    /// `MADV_GUARD_INSTALL`.
    Madvise,
    /// `UFFDIO_POISON`.
    Poison,
    /// `mprotect(PROT_NONE)`.
    Mprotect,
}

/// Which rungs may be tried.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ladder {
    /// All, best first.
    Best,
    /// This one or none.
    Only(GuardRung),
}

/// Makes guards for one pool, and keeps the state for that.
#[derive(Debug)]
pub(crate) struct Guards {
    ladder: Ladder,
    state: Mutex<GuardState>,
}

#[derive(Debug)]
struct GuardState {
    uffd: Opened,
    /// Stacks guarded by `Mprotect`, each of which split a mapping twice.
    split: usize,
    used: Option<GuardRung>,
}

#[derive(Debug)]
enum Opened {
    NotTried,
    Yes(Uffd),
    No(Errno),
}

impl Guards {
    pub(crate) const fn new(ladder: Ladder) -> Guards {
        Guards { ladder, state: Mutex::new(GuardState { uffd: Opened::NotTried, split: 0, used: None }) }
    }

    /// The rung that made the newest slab's guards.
    pub(crate) fn used(&self) -> Option<GuardRung> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).used
    }

    /// Guards the stacks of the slab. If only some can be guarded, cuts the slab to those; if none
    /// can, it is an error.
    pub(crate) fn install(&self, slab: &mut Slab) -> Result<(), LimitMet> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let rungs: &[GuardRung] = match &self.ladder {
            Ladder::Best => &[GuardRung::Madvise, GuardRung::Poison, GuardRung::Mprotect],
            Ladder::Only(rung) => core::slice::from_ref(rung),
        };
        let mut outcome = Ok(());
        for &rung in rungs {
            outcome = match rung {
                GuardRung::Madvise => by_madvise(slab).map_err(LimitMet::Guard),
                GuardRung::Poison => state.by_poison(slab).map_err(LimitMet::Guard),
                GuardRung::Mprotect => state.by_mprotect(slab),
            };
            if outcome.is_ok() {
                state.used = Some(rung);
                return outcome;
            }
        }
        outcome
    }
}

fn by_madvise(slab: &Slab) -> Result<(), Errno> {
    let class = slab.class();
    // SAFETY: the guards of a slab that has not been handed out yet.
    unsafe { sys::install_guards(slab.guard(0), class.guard(), class.stride(), slab.count() as usize) }
}

impl GuardState {
    fn by_poison(&mut self, slab: &Slab) -> Result<(), Errno> {
        if let Opened::NotTried = self.uffd {
            self.uffd = match Uffd::open() {
                Ok(uffd) => Opened::Yes(uffd),
                Err(errno) => Opened::No(errno),
            };
        }
        let uffd = match &self.uffd {
            Opened::Yes(uffd) => uffd,
            Opened::No(errno) => return Err(*errno),
            Opened::NotTried => return Err(libc::EINVAL),
        };
        uffd.register(slab.base(), slab.len())?;
        (0..slab.count()).try_for_each(|i| uffd.poison(slab.guard(i), slab.class().guard()))
    }

    fn by_mprotect(&mut self, slab: &mut Slab) -> Result<(), LimitMet> {
        let max_map_count = max_map_count();
        let room = (max_map_count.saturating_sub(MAP_RESERVE) / 2).saturating_sub(self.split);
        let wanted = slab.count().min(u32::try_from(room).unwrap_or(u32::MAX));
        let mut failure = libc::ENOMEM;
        let mut done = 0;
        while done < wanted {
            // SAFETY: a guard of a slab that has not been handed out yet.
            match unsafe { sys::protect_none(slab.guard(done), slab.class().guard()) } {
                Ok(()) => done += 1,
                Err(errno) => {
                    failure = errno;
                    break;
                }
            }
        }
        if done == 0 {
            return Err(match failure {
                libc::ENOMEM => LimitMet::MapCount { max_map_count },
                errno => LimitMet::Guard(errno),
            });
        }
        slab.truncate(done);
        self.split += done as usize;
        Ok(())
    }
}

fn max_map_count() -> usize {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    text.trim().parse().unwrap_or(DEFAULT_MAX_MAP_COUNT)
}
