//! The ownership protocol under real threads (D1), with `membarrier` and with fences: the M in the
//! runtime and a taker never use a P at once. This is the only check of the membarrier mode, which
//! loom does not know.
//!
//! Seen to fail (2026-11-15): `heavy` without its `membarrier` (`with_membarrier`: the P lost while
//! in use); `light` without its fence (`with_fences`: the same).

#![cfg(not(loom))]

mod support;

use gosched_primitives::{Entered, Owner, Settled, TakerToken, barrier};
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use support::{Random, Watchdog};

/// The mode of the barrier belongs to the process: one test at a time.
static MODE: Mutex<()> = Mutex::new(());

const M: u32 = 1;
const TAKER: u32 = 2;

struct P {
    user: AtomicU32,
    uses: UnsafeCell<u64>,
}

// SAFETY: the ownership word keeps the threads apart, which is what is checked.
unsafe impl Sync for P {}

impl P {
    fn use_it(&self, who: u32, spins: usize) {
        assert_eq!(self.user.load(Ordering::Relaxed), 0, "{who} found the P in use");
        self.user.store(who, Ordering::Relaxed);
        // SAFETY: exclusive, or an assertion here fails or the sum at the end is wrong.
        unsafe { *self.uses.get() += 1 };
        (0..spins).for_each(|_| std::hint::spin_loop());
        assert_eq!(self.user.load(Ordering::Relaxed), who, "{who} lost the P while using it");
        self.user.store(0, Ordering::Relaxed);
    }
}

struct Model {
    owner: Owner,
    p: P,
    /// Set by the taker to give the P back.
    idle: AtomicBool,
    over: AtomicBool,
}

/// The M: short calls into the runtime, in quick succession. Returns how often it used and how
/// often it lost the P.
fn run_m(model: &Model) -> (u64, u64) {
    let mut random = Random::new(1);
    let (mut uses, mut losses) = (0, 0);
    model.owner.exit();
    while !model.over.load(Ordering::Relaxed) {
        let settled = match model.owner.enter() {
            Entered::Fast => Settled::Kept,
            Entered::Slow => model.owner.settle(),
            Entered::Nested => panic!("nested"),
        };
        match settled {
            Settled::Kept | Settled::Preempted => {}
            Settled::Lost => {
                losses += 1;
                while !model.idle.swap(false, Ordering::AcqRel) {
                    std::thread::yield_now();
                }
                model.owner.regain();
            }
            Settled::Blocking => panic!("nobody blocks here"),
        }
        model.p.use_it(M, random.below(4));
        uses += 1;
        model.owner.exit();
        random.pause();
        if random.below(16) == 0 {
            // In user code for about as long as a membarrier takes.
            (0..random.below(400)).for_each(|_| std::hint::spin_loop());
        }
    }
    (uses, losses)
}

/// The taker: tries again and again for `time`, and longer on a loaded machine, until it has also
/// lost the race once. Returns attempts and wins.
fn run_taker(model: &Model, time: Duration) -> (u64, u64) {
    // SAFETY: one token for this one M.
    let mut taker = unsafe { TakerToken::new() };
    let mut random = Random::new(2);
    let (mut attempts, mut wins) = (0, 0);
    let start = Instant::now();
    while start.elapsed() < time || (attempts == wins && start.elapsed() < LONGEST) {
        random.pause();
        if random.below(4) == 0 {
            let _ = model.owner.request_preempt(&mut taker);
        }
        let Some(begun) = model.owner.begin_retake(&mut taker) else { continue };
        barrier::heavy().unwrap();
        attempts += 1;
        if model.owner.finish_retake(&mut taker, begun, || ()).is_some() {
            wins += 1;
            model.p.use_it(TAKER, random.below(64));
            model.idle.store(true, Ordering::Release);
        }
    }
    model.over.store(true, Ordering::Relaxed);
    (attempts, wins)
}

/// After so long without a race the test shows nothing.
const LONGEST: Duration = Duration::from_secs(10);

fn never_overlap(mode: barrier::BarrierMode) {
    let _watchdog = Watchdog::new("never_overlap");
    let model = Model {
        owner: Owner::new(),
        p: P { user: AtomicU32::new(0), uses: UnsafeCell::new(0) },
        idle: AtomicBool::new(false),
        over: AtomicBool::new(false),
    };
    let ((uses, losses), (attempts, wins)) = std::thread::scope(|scope| {
        let m = scope.spawn(|| run_m(&model));
        let taker = scope.spawn(|| run_taker(&model, Duration::from_millis(1_500)));
        (m.join().unwrap(), taker.join().unwrap())
    });
    println!("{mode:?}: {uses} calls, {attempts} attempts, {wins} wins, {losses} losses noticed");
    assert_eq!(model.p.uses.into_inner(), uses + wins, "two used the P at once");
    assert!(wins >= losses && wins <= losses + 1, "every loss but the last is noticed");
    assert!(wins > 0 && attempts > wins, "the race was not run");
}

#[test]
fn with_membarrier() {
    let _one = MODE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match barrier::init() {
        barrier::BarrierMode::Membarrier => never_overlap(barrier::BarrierMode::Membarrier),
        barrier::BarrierMode::Fence => eprintln!("skipped: this kernel has no membarrier for us"),
    }
}

#[test]
fn with_fences() {
    let _one = MODE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    barrier::force_fence();
    assert_eq!(barrier::mode(), barrier::BarrierMode::Fence);
    never_overlap(barrier::BarrierMode::Fence);
}
