//! Who owns the P of an M: the M, wait-free, or a taker that takes it away (D1).
//!
//! `in_rt` is 1 while the M is inside the runtime and relies on its P; only the M writes it. `intr`
//! is the one word that tells an entering M that it must take the slow path:
//!
//! ```text
//!                                  +------------- M: settle, clear_preempt -------------+
//!                                  v                                                    |
//!   BLOCKING <-- M: set_ ------> NONE ---- taker: request_preempt ----> PREEMPT --------+
//!            --- M: clear_blocking |                                    |  ^            |
//!                                  |         taker: begin_retake        |  |            |
//!                                  +---------------------> RETAKING <---+  |            |
//!                                  ^                        |  |  |        |            |
//!                                  |  taker: finish, in_rt 0|  |  +--------+            |
//!                                  |                        |  |   taker: finish,       |
//!                                  +---- M: regain --- TAKEN<  |   in_rt 1 (Refused)    |
//!                                                              +------------------------+
//! ```
//!
//! Invariants:
//! - `in_rt == 0 && intr == NONE` means that this M owns a running P. Every other state in which
//!   user code runs has its own value of `intr`, so the one check in [`Owner::enter`] finds it;
//! - only the M makes `intr` NONE or BLOCKING; only a taker makes it PREEMPT, RETAKING or TAKEN;
//! - another thread reaches TAKEN only from RETAKING: it set RETAKING, made a heavy barrier, and
//!   *then* read `in_rt == 0`; hence never while the M is in the runtime with its P (README.md has
//!   the argument). An M that is the taker itself makes the word TAKEN by [`Owner::surrender`];
//! - takers exclude each other: [`TakerToken`].

use crate::barrier;
use crate::sync::{AtomicU32, Ordering, const_fn};

/// The value of an M's `intr` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Intr {
    /// Nobody wants anything: the M owns its P.
    None = 0,
    /// Someone wants the goroutine to yield.
    Preempt = 1,
    /// A taker is about to take the P.
    Retaking = 2,
    /// The P is gone.
    Taken = 3,
    /// The M is in an announced blocking call, and does not own its P.
    Blocking = 4,
}

impl Intr {
    #[inline]
    fn unpack(word: u32) -> Intr {
        match word {
            0 => Intr::None,
            1 => Intr::Preempt,
            2 => Intr::Retaking,
            3 => Intr::Taken,
            4 => Intr::Blocking,
            _ => unreachable!("bad intr word {word}"),
        }
    }
}

/// What [`Owner::enter`] found.
#[must_use = "only `Fast` means that the M still has its P"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// In the runtime, with the P.
    Fast,
    /// In the runtime, but `intr` is not NONE: [`Owner::settle`] says what that means.
    Slow,
    /// The M was in the runtime already (an allocator or a signal handler called us): abort with a
    /// message.
    Nested,
}

/// The result of [`Owner::settle`].
#[must_use = "`Lost` and `Blocking` mean that the M has no P"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The P is kept, and nobody wants anything.
    Kept,
    /// The P is kept, and the goroutine is asked to yield at its next moving call.
    Preempted,
    /// The P was taken. The word says so until [`Owner::regain`].
    Lost,
    /// The M is in an announced blocking call. The word says so until [`Owner::clear_blocking`].
    Blocking,
}

/// The right to take Ps away. There is one, behind a lock of the caller: of two takers at work on
/// one M each could mistake the other's RETAKING for its own, which it set before *its* barrier.
#[derive(Debug)]
pub struct TakerToken(());

impl TakerToken {
    /// Makes the token.
    ///
    /// # Safety
    ///
    /// At most one token exists for any set of [`Owner`]s.
    pub const unsafe fn new() -> TakerToken {
        TakerToken(())
    }
}

/// A retake that was begun on one M and must be finished on it, after a
/// [heavy barrier](barrier::heavy).
#[must_use = "finish it: until then the M takes its slow path"]
#[derive(Debug)]
pub struct Retaking(());

/// The ownership word of an M.
///
/// ```
/// use gosched_primitives::{Entered, Intr, Owner, Settled, TakerToken, barrier};
///
/// // SAFETY: the only token of this program.
/// let mut taker = unsafe { TakerToken::new() };
/// let owner = Owner::new();
/// owner.exit(); // to user code, with a P
///
/// let begun = owner.begin_retake(&mut taker).unwrap();
/// barrier::heavy().unwrap();
/// assert!(owner.finish_retake(&mut taker, begun, || ()).is_some());
///
/// assert_eq!(owner.enter(), Entered::Slow);
/// assert_eq!(owner.settle(), Settled::Lost);
/// owner.regain(); // another P was found
/// owner.exit();
/// ```
pub struct Owner {
    in_rt: AtomicU32,
    intr: AtomicU32,
}

impl Owner {
    const_fn! {
        /// The word of an M that starts: in the runtime, with `intr` NONE.
        pub const fn new() -> Owner {
            Owner { in_rt: AtomicU32::new(1), intr: AtomicU32::new(Intr::None as u32) }
        }
    }

    /// Goes from user code into the runtime. Called by the M.
    #[inline(always)]
    pub fn enter(&self) -> Entered {
        if self.in_rt.load(Ordering::Relaxed) != 0 {
            return Entered::Nested;
        }
        self.in_rt.store(1, Ordering::Relaxed);
        barrier::light();
        // Only the M itself writes NONE, so `Relaxed` is enough for the fast path; `settle`
        // acquires for the others.
        match self.intr.load(Ordering::Relaxed) {
            0 => Entered::Fast,
            _ => Entered::Slow,
        }
    }

    /// Goes from the runtime back to user code. Called by the M.
    #[inline(always)]
    pub fn exit(&self) {
        // ORDERING: partner is the acquire load in `finish_retake`: a taker that sees the M outside
        // sees all that the M did to its P inside.
        self.in_rt.store(0, Ordering::Release);
    }

    /// Whether the M is in the runtime. To takers a hint: such an M need not be tried. To whoever
    /// has closed a gate ([`Conditions`](crate::Conditions)), after a heavy barrier, the answer: an
    /// M that is out has done what it did inside.
    #[inline]
    pub fn in_runtime(&self) -> bool {
        // ORDERING: partner is the release in `exit`.
        self.in_rt.load(Ordering::Acquire) != 0
    }

    /// The value of `intr`, for whoever decides by it whether the M has its P: if the P is gone,
    /// the caller sees what the taker did before taking it.
    pub fn found(&self) -> Intr {
        // ORDERING: partner is the CAS to TAKEN in `finish_retake`, as in `settle`.
        Intr::unpack(self.intr.load(Ordering::Acquire))
    }

    /// The value of `intr` now. A hint, for dumps and the monitor.
    pub fn intr(&self) -> Intr {
        Intr::unpack(self.intr.load(Ordering::Relaxed))
    }

    /// The slow path of [`enter`](Owner::enter): finds out what a taker wants or did, and takes a
    /// request off the word. Called by the M, in the runtime.
    ///
    /// A retake that this defeats counts as a request to yield, exactly as one that the taker
    /// itself gives up (which leaves PREEMPT): someone waits for this P either way.
    #[cold]
    pub fn settle(&self) -> Settled {
        match self.drop_requests(Intr::None) {
            Intr::None => Settled::Kept,
            Intr::Preempt | Intr::Retaking => Settled::Preempted,
            Intr::Taken => Settled::Lost,
            Intr::Blocking => Settled::Blocking,
        }
    }

    /// PREEMPT and RETAKING become `to`; other values stay. Returns the value that was there. Apart
    /// from spurious failures it takes few rounds: there is one taker, which moves the word from
    /// PREEMPT to RETAKING or back, and makes a heavy barrier in between.
    #[inline]
    fn drop_requests(&self, to: Intr) -> Intr {
        // ORDERING: partner is the CAS to TAKEN in `finish_retake`: the M that lost its P sees what
        // the taker did before.
        let mut word = self.intr.load(Ordering::Acquire);
        loop {
            let found = Intr::unpack(word);
            if !matches!(found, Intr::Preempt | Intr::Retaking) {
                return found;
            }
            // ORDERING: as a release, partner is a taker's acquire CAS, as in `leave`; on failure
            // as the load above.
            match self.intr.compare_exchange_weak(word, to as u32, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return found,
                Err(now) => word = now,
            }
        }
    }

    /// Makes TAKEN NONE: the M has got a new P after it lost the old one. Called by the M, in the
    /// runtime.
    ///
    /// # Panics
    ///
    /// If the word was not TAKEN.
    pub fn regain(&self) {
        self.leave(Intr::Taken);
    }

    /// Makes the word TAKEN, whatever request was there: the M gives up its P, as the taker that it
    /// is itself (a stop of the world, a call that must block its thread). Called by the M, in the
    /// runtime, with its P.
    pub fn surrender(&self, _taker: &mut TakerToken) {
        // ORDERING: Release, as every TAKEN; nobody else writes the word now: the token keeps other
        // takers out.
        self.intr.store(Intr::Taken as u32, Ordering::Release);
    }

    /// Takes a request to yield off the word, and returns whether there was one. Called by the M,
    /// in the runtime, with its P.
    #[inline]
    #[must_use = "a request taken off the word must be honoured"]
    pub fn take_preempt(&self) -> bool {
        // Only the M itself writes NONE: in the usual case nothing else need be seen.
        self.intr.load(Ordering::Relaxed) != Intr::None as u32
            && matches!(self.drop_requests(Intr::None), Intr::Preempt | Intr::Retaking)
    }

    /// Forgets a request to yield: it was meant for the goroutine that ran before. Called by
    /// `execute`.
    #[inline]
    pub fn clear_preempt(&self) {
        let _ = self.take_preempt();
    }

    /// Announces a blocking call: the word becomes BLOCKING, which takers leave alone, and a
    /// request to yield is forgotten. Called by the M, in the runtime, *before* it gives up its P.
    ///
    /// # Panics
    ///
    /// If the M has no P to give up.
    pub fn set_blocking(&self) {
        let mut word = self.intr.load(Ordering::Relaxed);
        loop {
            match Intr::unpack(word) {
                Intr::None | Intr::Preempt | Intr::Retaking => {}
                found => panic!("set_blocking without a P: {found:?}"),
            }
            // ORDERING: as a release, partner is the acquire of a taker's failed CAS, which then
            // does nothing; the P's status carries the hand-over. As an acquire, partner is the
            // release of a taker's CAS.
            match self.intr.compare_exchange_weak(
                word,
                Intr::Blocking as u32,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Makes BLOCKING NONE: the announced blocking call is over, and the M has a P again (or will
    /// sleep in the runtime until it has one).
    ///
    /// # Panics
    ///
    /// If the word was not BLOCKING.
    pub fn clear_blocking(&self) {
        self.leave(Intr::Blocking);
    }

    /// Makes a word that takers never change NONE again.
    fn leave(&self, from: Intr) {
        let found = self.intr.load(Ordering::Relaxed);
        assert!(found == from as u32, "the M was not {from:?} but {:?}", Intr::unpack(found));
        // ORDERING: partner is the acquire CAS of a taker that finds this NONE: it sees
        // `in_rt == 1`, or a later exit, and not an exit from before. (The fence in `enter` would
        // be enough for that, which is why loom can't show the need; with a membarrier `enter` has
        // no fence.)
        self.intr.store(Intr::None as u32, Ordering::Release);
    }

    /// Asks the goroutine to yield at its next moving call. Returns `false` if the word was not
    /// NONE. Called by takers.
    pub fn request_preempt(&self, _taker: &mut TakerToken) -> bool {
        self.taker_cas(Intr::None, Intr::Preempt).is_ok()
    }

    /// Begins to take the P away. `None` if the M lost it already, is in an announced blocking
    /// call, or has a retake begun that was not finished. Called by takers.
    ///
    /// Begin with all candidates, then call [`barrier::heavy`] once, then
    /// [finish](Owner::finish_retake) each.
    #[must_use = "None: there is no P to take here"]
    pub fn begin_retake(&self, _taker: &mut TakerToken) -> Option<Retaking> {
        let mut from = Intr::None;
        while let Err(found) = self.taker_cas(from, Intr::Retaking) {
            match found {
                Intr::None | Intr::Preempt => from = found,
                Intr::Retaking | Intr::Taken | Intr::Blocking => return None,
            }
        }
        Some(Retaking(()))
    }

    /// Takes the P if the M is in user code. Called by the taker that began, after a
    /// [`barrier::heavy`]. `None`: the M is in the runtime, or was meanwhile; it keeps its P, and
    /// gets or got the request to yield.
    ///
    /// `read` is called at the only moment at which the taker can read what belongs to the M
    /// (`m.p`): the M is out of the runtime and has not lost its P yet. The value that was read is
    /// right if it is returned; if the M came in meanwhile, it is thrown away (so `read` must load
    /// an atomic).
    ///
    /// Had `read` been called earlier, the M could have changed its P since; later, the M could
    /// have forgotten it already. The taker may write to the P and to its link to the M only after
    /// `Some`.
    #[must_use = "Some: the caller now owns the P"]
    pub fn finish_retake<R>(
        &self,
        _taker: &mut TakerToken,
        begun: Retaking,
        read: impl FnOnce() -> R,
    ) -> Option<R> {
        let Retaking(()) = begun;
        // ORDERING: partner is the release in `exit`.
        if self.in_rt.load(Ordering::Acquire) == 0 {
            let seen = read();
            // If the CAS fails, the M entered the runtime, settled, and kept its P.
            self.taker_cas(Intr::Retaking, Intr::Taken).ok().map(|()| seen)
        } else {
            let _settled_by_the_m = self.taker_cas(Intr::Retaking, Intr::Preempt);
            None
        }
    }

    /// A taker's change of the word; on failure what is there instead.
    fn taker_cas(&self, from: Intr, to: Intr) -> Result<(), Intr> {
        // ORDERING: as an acquire, partner is the M's release when it made the word NONE. As a
        // release, partner is the M's acquire in `drop_requests`.
        self.intr
            .compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Intr::unpack)
    }
}

impl Default for Owner {
    fn default() -> Owner {
        Owner::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn taker() -> TakerToken {
        // SAFETY: each test has owners of its own.
        unsafe { TakerToken::new() }
    }

    /// Whether the P was taken, if there was one to take.
    fn retake(owner: &Owner, taker: &mut TakerToken) -> Option<bool> {
        let begun = owner.begin_retake(taker)?;
        barrier::heavy().unwrap();
        Some(owner.finish_retake(taker, begun, || ()).is_some())
    }

    #[test]
    fn a_p_is_taken_from_user_code_only() {
        let (owner, mut taker) = (Owner::new(), taker());
        assert_eq!(retake(&owner, &mut taker), Some(false));
        assert_eq!(owner.settle(), Settled::Preempted);
        owner.exit();
        assert_eq!(retake(&owner, &mut taker), Some(true));
        assert_eq!(retake(&owner, &mut taker), None);
        assert!(!owner.request_preempt(&mut taker));
        assert_eq!(owner.enter(), Entered::Slow);
        assert_eq!(owner.settle(), Settled::Lost);
        assert!(!owner.take_preempt());
        owner.regain();
        owner.exit();
        assert_eq!(owner.enter(), Entered::Fast);
    }

    #[test]
    fn an_entering_m_foils_the_retake() {
        let (owner, mut taker) = (Owner::new(), taker());
        owner.exit();
        let begun = owner.begin_retake(&mut taker).unwrap();
        assert_eq!(owner.enter(), Entered::Slow);
        assert_eq!(owner.settle(), Settled::Preempted);
        owner.exit();
        barrier::heavy().unwrap();
        assert_eq!(owner.finish_retake(&mut taker, begun, || ()), None);
        assert_eq!(owner.intr(), Intr::None);
    }

    #[test]
    fn a_request_does_not_hit_the_next_goroutine() {
        let (owner, mut taker) = (Owner::new(), taker());
        assert!(owner.request_preempt(&mut taker));
        assert!(!owner.request_preempt(&mut taker));
        owner.clear_preempt();
        owner.exit();
        assert_eq!(owner.enter(), Entered::Fast);
        assert!(owner.request_preempt(&mut taker));
        assert!(owner.take_preempt());
        assert!(!owner.take_preempt());
    }

    #[test]
    fn takers_leave_announced_calls_alone() {
        let (owner, mut taker) = (Owner::new(), taker());
        assert!(owner.request_preempt(&mut taker));
        owner.set_blocking();
        owner.exit();
        assert_eq!(retake(&owner, &mut taker), None);
        assert!(!owner.request_preempt(&mut taker));
        assert_eq!(owner.enter(), Entered::Slow);
        assert_eq!(owner.settle(), Settled::Blocking);
        owner.clear_blocking();
        assert_eq!(owner.settle(), Settled::Kept);
    }

    #[test]
    fn a_p_that_is_surrendered_is_lost() {
        let (owner, mut taker) = (Owner::new(), taker());
        assert!(owner.request_preempt(&mut taker));
        owner.surrender(&mut taker);
        owner.exit();
        assert_eq!(retake(&owner, &mut taker), None);
        assert_eq!(owner.enter(), Entered::Slow);
        owner.regain();
    }

    #[test]
    fn entering_twice_is_noticed() {
        let owner = Owner::new();
        assert_eq!(owner.enter(), Entered::Nested);
        owner.exit();
        assert_eq!(owner.enter(), Entered::Fast);
        assert_eq!(owner.enter(), Entered::Nested);
    }

    #[test]
    #[should_panic = "the M was not Taken but None"]
    fn regaining_what_was_not_lost_is_noticed() {
        Owner::new().regain();
    }
}
