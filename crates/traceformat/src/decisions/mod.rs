//! What the scheduler decided and by which rule, for which Go's format has no word: a private
//! format in experimental batches.
//!
//! Go's parser passes such batches on unread, if their experiment is one that it knows; so ours
//! have the number of the only one ([`crate::wire::EXPERIMENT`]), and tell themselves apart by
//! their first bytes ([`MAGIC`]). Readers skip batches that do not begin so, and records of a newer
//! version.
//!
//! **Layout.** After the header that every experimental batch has: [`MAGIC`], [`VERSION`], then
//! records. A record is a kind (one byte), the time since the record before (the first: since the
//! batch's time), and numbers, all LEB128. Which numbers follow depends on the kind and, in a pick,
//! on its rule; `code.rs` has the one table. A number that may be absent is one more than it is,
//! or 0.
//!
//! **The order of a queue.** Every queue of goroutines that promises first in, first out has a
//! number, and counts what is put in and what is taken out, both under its lock. So the goroutine
//! that was put in as the k-th is taken out as the k-th, and a reader sees a broken promise without
//! knowing how the clocks relate.
//!
//! **What a recorder owes.** Whoever records decisions in a generation records a [`Decision::Pick`]
//! before each `GoStart` on that P, with the P's count as the fairness tick sees it (a goroutine
//! that inherits a slice is picked with the same number again), and a [`Decision::Put`] and a
//! [`Decision::Take`] for all that goes through the global queue. `gosched-trace check` relies on
//! it.

mod code;

use crate::encode::{BatchCore, Fit};
use crate::leb128;
use crate::wire::MAX_BATCH;

/// How a batch of decisions begins.
pub const MAGIC: &[u8; 7] = b"gosched";
/// The version of the records that follow.
pub const VERSION: u8 = 1;

/// The most numbers of a record.
const MAX_NUMBERS: usize = 6;
/// The longest record.
const MAX_RECORD: usize = 1 + leb128::MAX_LEN * (1 + MAX_NUMBERS);

/// Why this goroutine was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickRule {
    /// A due timer of this P made it runnable.
    OwnTimer,
    /// Every so many picks, the global queue comes first.
    FairnessTick,
    /// The slot of the one that was readied last.
    Runnext,
    /// The head of the own ring.
    Ring,
    /// The global queue: so many were taken of so many.
    GlobalQueue {
        /// This one, and those that went to the own ring.
        taken: u64,
        /// How long the queue was.
        of: u64,
    },
    /// The network poller said that so many are ready.
    NetPoll {
        /// This one among them.
        ready: u64,
    },
    /// Stolen from another P's ring.
    StolenRing {
        /// From whom.
        victim: u64,
        /// This one, and those that went to the own ring.
        taken: u64,
        /// How many were there.
        of: u64,
    },
    /// Stolen from another P's slot.
    StolenRunnext {
        /// From whom.
        victim: u64,
    },
    /// A due timer of another P made it runnable.
    StolenTimer {
        /// From whom.
        victim: u64,
    },
    /// It went on: nobody else was runnable.
    Kept,
    /// It is bound to this M.
    Locked,
}

/// Where a runnable goroutine was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutPlace {
    /// The slot of the P.
    RunnextOf {
        /// Whose.
        p: u64,
    },
    /// The tail of the P's ring.
    RingOf {
        /// Whose.
        p: u64,
    },
    /// The global queue.
    InGlobal {
        /// Which of its queues.
        queue: u64,
        /// The how manieth that was put in there, from 1 on.
        order: u64,
    },
}

/// Whether a sleeping worker was woken, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeResult {
    /// This M was woken.
    WokeM {
        /// Which.
        m: u64,
    },
    /// A new thread was started.
    NewThread,
    /// Somebody spins already and will find it.
    HasSpinner,
    /// All Ps are busy.
    NoIdleP,
    /// One goroutine in the slot of a running P runs there soonest.
    LoneRunnext,
}

/// Why a P was handed off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOffReason {
    /// Its goroutine announced a blocking call.
    Announced,
    /// Its M was in a blocking call for long.
    BlockedLong,
    /// Its goroutine computed for longer than its slice.
    SliceOver,
    /// The world is being stopped.
    WorldStopping,
    /// Its goroutine is bound to another M.
    BoundElsewhere,
}

/// What became of a P that was handed off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOffTarget {
    /// An M runs it: there was work.
    ForWork,
    /// An M spins with it: nobody else did.
    ToSpin,
    /// It is stopped.
    StoppedP,
    /// An M watches the network with it.
    ToPoll,
    /// It is idle.
    IdleList,
}

/// What an M waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepKind {
    /// Until it is woken.
    OnNote,
    /// Until it is woken, a socket is ready or a timer is due.
    InPoller,
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The P's next goroutine.
    Pick {
        /// Whose.
        p: u64,
        /// Which goroutine.
        g: u64,
        /// Which of the P's picks this is, as the scheduler counts for its fairness tick.
        tick: u64,
        /// By which rule.
        rule: PickRule,
    },
    /// A goroutine that has become runnable is queued.
    Put {
        /// Which.
        g: u64,
        /// Where.
        place: PutPlace,
    },
    /// A goroutine is taken out of the global queue, to run or into a ring.
    Take {
        /// By whom.
        p: u64,
        /// Which.
        g: u64,
        /// Out of which of its queues.
        queue: u64,
        /// The how manieth that was taken there, from 1 on.
        order: u64,
    },
    /// There is work: is somebody woken for it?
    WakeUp {
        /// On which P, if on any.
        p: Option<u64>,
        /// What came of it.
        result: WakeResult,
    },
    /// This M begins to look for work of others.
    SpinBegin {
        /// With which P.
        p: u64,
    },
    /// It ends.
    SpinEnd {
        /// With which P.
        p: u64,
        /// Whether it found any.
        found: bool,
    },
    /// This M goes to sleep.
    SleepBegin {
        /// How.
        kind: SleepKind,
    },
    /// It wakes up.
    SleepEnd,
    /// A P leaves its M.
    HandedOff {
        /// Which P.
        p: u64,
        /// Whose it was.
        from: u64,
        /// Why.
        reason: HandOffReason,
        /// What became of it.
        target: HandOffTarget,
    },
}

/// A decision, when and on which M.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedDecision {
    /// Nanoseconds, as the times of events.
    pub time: i64,
    /// On which M, if any.
    pub m: Option<u64>,
    /// What was decided.
    pub decision: Decision,
}

/// Writes one M's decisions into storage that it owns or borrows.
///
/// ```
/// use gosched_traceformat::decisions::{Decision, DecisionsWriter, PickRule};
/// use gosched_traceformat::encode::Fit;
///
/// let mut storage = [0; 1024];
/// let mut batch = DecisionsWriter::begin(&mut storage[..], 1, 7, 1_000);
/// let pick = Decision::Pick { p: 1, g: 37, tick: 61, rule: PickRule::FairnessTick };
/// assert_eq!(batch.decision(1_010, pick), Fit::Written);
/// let (storage, len) = batch.finish();
/// assert_eq!(storage[..2], [49, 1]);
/// assert_eq!(storage[len - 6..len], [1, 10, 1, 37, 61, 1]);
/// ```
#[derive(Debug)]
pub struct DecisionsWriter<B> {
    core: BatchCore<B>,
    last: u64,
}

impl<B: AsMut<[u8]>> DecisionsWriter<B> {
    /// A batch of the M's decisions, in this generation; `time` is not after the first.
    ///
    /// # Panics
    /// If the storage has less than 64 bytes.
    pub fn begin(storage: B, generation: u64, m: u64, time: u64) -> DecisionsWriter<B> {
        let mut core = BatchCore::begin_experimental(storage, generation, m, time);
        let room = core.room(MAGIC.len() + 1).expect("storage of 64 bytes");
        room[..MAGIC.len()].copy_from_slice(MAGIC);
        room[MAGIC.len()] = VERSION;
        core.advance(MAGIC.len() + 1);
        DecisionsWriter { core, last: time }
    }

    /// Writes a decision.
    #[inline]
    pub fn decision(&mut self, time: u64, decision: Decision) -> Fit {
        let delta = time.saturating_sub(self.last);
        let Some(room) = self.core.room(MAX_RECORD) else { return Fit::Full };
        let record = code::encode(decision);
        room[0] = record.kind;
        let mut at = 1 + leb128::put(&mut room[1..], delta);
        for number in &record.numbers[..record.count] {
            at += leb128::put(&mut room[at..], *number);
        }
        self.core.advance(at);
        self.last += delta;
        Fit::Written
    }

    /// Ends the batch: the storage, and how many of its bytes are the batch, header included.
    pub fn finish(self) -> (B, usize) {
        self.core.finish()
    }
}

/// Whether the data of an experimental batch are decisions that can be read here.
#[must_use]
pub fn is_decisions(data: &[u8]) -> bool {
    data.len() <= MAX_BATCH && data.starts_with(MAGIC) && data.get(MAGIC.len()) == Some(&VERSION)
}

/// The decisions in the data of an experimental batch, with their times in ticks; `time` is the
/// batch's. `Err` is where in the data something is not a record.
///
/// # Errors
/// If the data are cut short or have an unknown kind.
pub fn read_decisions(data: &[u8], time: u64) -> Result<Vec<(u64, Decision)>, usize> {
    if !is_decisions(data) {
        return Ok(Vec::new());
    }
    let (mut at, mut time, mut decisions) = (MAGIC.len() + 1, time, Vec::new());
    while at < data.len() {
        let kind = data[at];
        let mut next = at + 1;
        let mut number = || {
            let (number, len) = leb128::get(&data[next..])?;
            next += len;
            Some(number)
        };
        let Some(delta) = number() else { return Err(at) };
        let Some(decision) = code::decode(kind, number) else { return Err(at) };
        time = time.saturating_add(delta);
        decisions.push((time, decision));
        at = next;
    }
    Ok(decisions)
}
