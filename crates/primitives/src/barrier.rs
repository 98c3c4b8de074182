//! The asymmetric barrier of the ownership protocol: the M's side is (nearly) free, the taker's
//! side pays.
//!
//! `membarrier(PRIVATE_EXPEDITED)` makes every running thread of the process execute a full fence.
//! So the M needs only keep the *compiler* from reordering its store of `in_rt` and its load of
//! `intr`; wherever the taker's [`heavy`] falls between them, it acts as the fence that is missing
//! there. Where the kernel refuses, both sides are an ordinary `SeqCst` fence.
//!
//! Invariants:
//! - the mode is chosen once, by [`init`], before the first M exists, and never changes afterwards
//!   (a `light` of one mode does not pair with a `heavy` of the other);
//! - before `init` the mode is the fence, which is always right;
//! - loom knows no membarrier: it checks the fence mode. The membarrier mode is stressed natively
//!   (`tests/stress_owner.rs`).

#[cfg(not(loom))]
pub use native::{force_fence, heavy, init, light, mode};

#[cfg(loom)]
pub use model::{heavy, init, light, mode};

/// Which barrier is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierMode {
    /// A `SeqCst` fence on both sides.
    Fence,
    /// A compiler fence against `membarrier`.
    Membarrier,
}

/// The kernel refuses a membarrier although it had registered the process, perhaps because a
/// seccomp filter was installed since. The taker has no guarantee, and the Ms rely on it: the
/// process can't continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The system's error code.
    pub errno: i32,
}

#[cfg(not(loom))]
mod native {
    use super::{BarrierMode, Refused};
    use crate::kernel::{MembarrierCommand, membarrier};
    use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

    /// Read on every entry to the runtime and written once: `Relaxed`, since whoever makes the
    /// first M publishes it.
    static MEMBARRIER: AtomicBool = AtomicBool::new(false);

    /// Registers the process for expedited membarriers; on any error the fence stays in use for
    /// good.
    ///
    /// Call it once, before the first M exists: with other threads alive it takes up to 35 ms.
    pub fn init() -> BarrierMode {
        if membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok() {
            MEMBARRIER.store(true, Ordering::Relaxed);
        }
        mode()
    }

    /// Which barrier is in use.
    pub fn mode() -> BarrierMode {
        if MEMBARRIER.load(Ordering::Relaxed) { BarrierMode::Membarrier } else { BarrierMode::Fence }
    }

    /// Selects the fence, for tests of it. Not while an M exists.
    #[doc(hidden)]
    pub fn force_fence() {
        MEMBARRIER.store(false, Ordering::Relaxed);
    }

    /// The M's side: to a thread that calls [`heavy`], no later load is done before an earlier
    /// store.
    #[inline(always)]
    pub fn light() {
        if MEMBARRIER.load(Ordering::Relaxed) {
            // ORDERING: partner is the membarrier in `heavy`, which supplies the hardware's half.
            compiler_fence(Ordering::SeqCst);
        } else {
            // ORDERING: partner is the fence in `heavy`.
            fence(Ordering::SeqCst);
        }
    }

    /// The taker's side: between the code before it and the code after it, every other running
    /// thread of the process has passed a full fence.
    ///
    /// # Errors
    ///
    /// If the kernel refuses although it had registered the process.
    pub fn heavy() -> Result<(), Refused> {
        // ORDERING: partner is `light`. In membarrier mode the system call is also a full fence of
        // this thread, and the fence here is for the compiler.
        fence(Ordering::SeqCst);
        if MEMBARRIER.load(Ordering::Relaxed) {
            let made = membarrier(MembarrierCommand::PrivateExpedited);
            return made.map_err(|error| Refused { errno: error.raw_os_error() });
        }
        Ok(())
    }
}

#[cfg(loom)]
mod model {
    use super::{BarrierMode, Refused};
    use crate::sync::{Ordering, fence};

    /// Nothing to do: loom knows only the fence.
    pub fn init() -> BarrierMode {
        BarrierMode::Fence
    }

    /// Always the fence.
    pub fn mode() -> BarrierMode {
        BarrierMode::Fence
    }

    /// The M's side.
    pub fn light() {
        // ORDERING: partner is the fence in `heavy`.
        fence(Ordering::SeqCst);
    }

    /// The taker's side.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn heavy() -> Result<(), Refused> {
        // ORDERING: partner is the fence in `light`.
        fence(Ordering::SeqCst);
        Ok(())
    }
}
