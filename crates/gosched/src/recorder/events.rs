//! What is recorded of each change, one function for each; called where the status changes, by
//! whoever owns the goroutine or P, and only if [`is_on`](super::is_on).
//!
//! A goroutine without its P is, for the trace, in a blocking call: the format has no other word
//! for one that runs without a P. The call begins when the P is taken, and ends when the goroutine
//! has a P again or is queued for one.
//!
//! Threads that are not Ms have one stream together ([`OTHERS`]). Only a thread with a P can create
//! a goroutine in the trace. So for those without one there is a P that is none of the scheduler's
//! ([`BORROWED_P`]), which is started and stopped around the creation.

use gosched_traceformat::wire::{EventType, ProcStatus};

use super::block::{Block, HeldG, HeldP, Section};
use super::strings::StopReason;
use super::texts;
use super::word::{NOBODY, ProcRecord, TraceEntry, TraceStatus, TraceWord};

/// The number of the stream of all threads that are not Ms.
const OTHERS_M: u64 = 1 << 32;
/// The number of the P with which goroutines are created by threads without one.
pub(crate) const BORROWED_P: u64 = 1_000_000;

/// The stream of the threads that are not Ms: foreign threads, the monitor.
pub(crate) static OTHERS: Block = Block::new(OTHERS_M);
/// What is known of [`BORROWED_P`].
pub(crate) static BORROWED: ProcRecord = ProcRecord::new();

/// A goroutine and what the trace knows of it.
#[derive(Clone, Copy)]
pub(crate) struct Goroutine<'g> {
    pub(crate) id: u64,
    pub(crate) word: &'g TraceWord,
}

impl Section<'_> {
    /// What the word says from here on.
    #[inline]
    fn set(&self, word: &TraceWord, known: TraceStatus, number: u64) {
        word.set(TraceEntry::new(known, self.generation(), number));
    }

    /// The goroutine that a thread has leaves it: its number in this generation.
    fn number_of_held(&self, word: &TraceWord) -> u64 {
        word.get().number_in(self.generation())
    }

    fn start_goroutine(&mut self, g: Goroutine<'_>, number: u64) {
        self.set(g.word, TraceStatus::Held, number + 1);
        self.put(EventType::GoStart, &[g.id, number + 1]);
        self.stream.g = Some(HeldG { id: g.id, in_call: false });
    }

    fn start_p(&mut self, id: u64, record: &'static ProcRecord) {
        let entry = self.touch(&record.word, id);
        if entry.known() == TraceStatus::Nothing {
            // A P that was made since recording began.
            self.put(EventType::ProcStatus, &[id, ProcStatus::Idle as u64]);
        }
        let number = entry.number() + 1;
        self.set(&record.word, TraceStatus::Held, number);
        record.set_holder(self.m());
        self.put(EventType::ProcStart, &[id, number]);
        self.stream.p = Some(HeldP { id, record });
    }

    fn stop_p(&mut self) {
        if let Some(p) = self.stream.p.take() {
            self.set(&p.record.word, TraceStatus::Idle, p.record.word.get().number());
            p.record.set_holder(NOBODY);
            self.put(EventType::ProcStop, &[]);
        }
    }

    /// The P leaves the M that has it, which is in a blocking call.
    fn steal_p(&mut self, id: u64, record: &ProcRecord) {
        let victim = record.holder();
        loop {
            let entry = record.word.get();
            if entry.is_of(self.generation()) {
                break;
            }
            if record.word.claim(entry, TraceEntry::new(TraceStatus::Held, self.generation(), 0)) {
                self.put(EventType::ProcStatus, &[id, ProcStatus::Abandoned as u64]);
                break;
            }
        }
        let number = record.word.get().number() + 1;
        self.set(&record.word, TraceStatus::Idle, number);
        record.set_holder(NOBODY);
        self.put(EventType::ProcSteal, &[id, number, victim]);
    }

    fn begin_call(&mut self, stack: u64) {
        let (Some(p), Some(g)) = (self.stream.p, &mut self.stream.g) else { return };
        g.in_call = true;
        let number = p.record.word.get().number() + 1;
        self.set(&p.record.word, TraceStatus::Held, number);
        self.put_with_stack(EventType::GoSyscallBegin, &[number, stack]);
    }

    /// Whether user code runs here with a P: what the format asks of most events.
    fn runs_goroutine(&self) -> bool {
        self.stream.p.is_some() && self.stream.g.is_some_and(|g| !g.in_call)
    }
}

/// A goroutine is created, and runnable. `start`: where it begins.
#[cold]
pub(crate) fn go_create(by: &Block, g: Goroutine<'_>, start: u64, stack: u64) {
    {
        let Some(mut section) = by.open() else { return };
        if section.stream.p.is_some() && section.stream.g.is_none_or(|g| !g.in_call) {
            section.set(g.word, TraceStatus::Runnable, 0);
            section.name_stack(start);
            section.put_with_stack(EventType::GoCreate, &[g.id, start, stack]);
            return;
        }
    }
    let Some(mut section) = OTHERS.open() else { return };
    section.set(g.word, TraceStatus::Runnable, 0);
    section.start_p(BORROWED_P, &BORROWED);
    section.name_stack(start);
    section.put_with_stack(EventType::GoCreate, &[g.id, start, stack]);
    section.stop_p();
}

/// A thread begins to run a goroutine.
#[cold]
pub(crate) fn go_start(on: &Block, g: Goroutine<'_>) {
    let Some(mut section) = on.open() else { return };
    let entry = section.touch(g.word, g.id);
    let mut number = entry.number();
    match entry.known() {
        TraceStatus::Runnable => {}
        // A foreign thread created or woke it while recording began.
        TraceStatus::Waiting => {
            number += 1;
            section.put(EventType::GoUnblock, &[g.id, number, 0]);
        }
        TraceStatus::Nothing | TraceStatus::Held | TraceStatus::Idle => {
            number = 0;
            section.put(EventType::GoCreate, &[g.id, 0, 0]);
        }
    }
    section.start_goroutine(g, number);
}

/// The running goroutine begins to wait. `reason`: a string's number.
#[cold]
pub(crate) fn go_block(on: &Block, word: &TraceWord, reason: u64, stack: u64) {
    let Some(mut section) = on.open() else { return };
    if section.stream.g.take().is_some() {
        section.set(word, TraceStatus::Waiting, section.number_of_held(word));
        section.put_with_stack(EventType::GoBlock, &[reason, stack]);
    }
}

/// A goroutine that waits is woken.
#[cold]
pub(crate) fn go_unblock(by: &Block, g: Goroutine<'_>, stack: u64) {
    let Some(mut section) = by.open() else { return };
    let entry = section.touch(g.word, g.id);
    if entry.known() == TraceStatus::Waiting {
        let number = entry.number() + 1;
        section.set(g.word, TraceStatus::Runnable, number);
        section.put_with_stack(EventType::GoUnblock, &[g.id, number, stack]);
    }
}

/// The running goroutine is to be queued: it yields, or could get no P after it lost its own.
#[cold]
pub(crate) fn go_stop(on: &Block, word: &TraceWord, reason: StopReason, stack: u64) {
    let Some(mut section) = on.open() else { return };
    let Some(g) = section.stream.g.take() else { return };
    section.set(word, TraceStatus::Runnable, section.number_of_held(word));
    if g.in_call {
        section.stream.p = None;
        section.put(EventType::GoSyscallEndBlocked, &[]);
    } else {
        section.put_with_stack(EventType::GoStop, &[reason.string(), stack]);
    }
}

/// The goroutine has come to its end, and knows nothing of the trace any more; the thread goes on
/// in its name until [`go_end`].
#[cold]
pub(crate) fn go_detach(on: &Block, word: &TraceWord) {
    if let Some(section) = on.open() {
        section.set(word, TraceStatus::Nothing, section.number_of_held(word));
    }
}

/// It was not the end yet.
#[cold]
pub(crate) fn go_revive(on: &Block, word: &TraceWord) {
    if let Some(section) = on.open() {
        section.set(word, TraceStatus::Held, section.number_of_held(word));
    }
}

/// The goroutine that the thread has is gone.
#[cold]
pub(crate) fn go_end(on: &Block) {
    let Some(mut section) = on.open() else { return };
    let Some(g) = section.stream.g.take() else { return };
    if g.in_call {
        section.stream.p = None;
        section.put(EventType::GoDestroySyscall, &[]);
    } else {
        section.put(EventType::GoDestroy, &[]);
    }
}

/// The running goroutine begins an announced blocking call.
#[cold]
pub(crate) fn call_begin(on: &Block, stack: u64) {
    if let Some(mut section) = on.open() {
        section.begin_call(stack);
    }
}

/// The calling M's goroutine is about to lose its P, though it goes on.
#[cold]
pub(crate) fn lose_p(on: &Block) {
    if let Some(mut section) = on.open()
        && section.runs_goroutine()
    {
        section.begin_call(0);
    }
}

/// A P is about to be taken from an M: the attempt, which may fail.
///
/// It begins before the compare-and-swap that decides, because what the M does next follows from
/// the theft: so the theft is in no later generation than that. The call from which the P is taken
/// may have begun after the attempt, in a later generation; then the M's next events are in that
/// generation or a later one, too, and so can be the theft ([`Section::follow`]). And until the
/// theft is done, an M in user code that has lost its P writes nothing.
#[must_use = "a theft that succeeds is `done`"]
pub(crate) struct TakeAttempt<'b> {
    /// An M that has announced nothing.
    victim: Option<Section<'b>>,
    thief: Section<'b>,
}

impl<'b> TakeAttempt<'b> {
    /// From an announced blocking call. `None` if nothing is recorded.
    #[cold]
    pub(crate) fn from_call(by: &'b Block) -> Option<TakeAttempt<'b>> {
        Some(TakeAttempt { victim: None, thief: by.open()? })
    }

    /// From an M in user code, whose stream is `victim`. The taker's lock is held, so there is one
    /// such theft at a time, which is why the order of the two streams does not matter.
    #[cold]
    pub(crate) fn from_user_code(victim: &'b Block, by: &'b Block) -> Option<TakeAttempt<'b>> {
        Some(TakeAttempt { victim: Some(victim.open()?), thief: by.open()? })
    }

    /// It has succeeded.
    pub(crate) fn done(mut self, id: u32, record: &ProcRecord) {
        if let Some(victim) = &mut self.victim
            && victim.runs_goroutine()
        {
            victim.begin_call(0);
        }
        self.steal(id, record);
    }

    fn steal(&mut self, id: u32, record: &ProcRecord) {
        self.thief.follow(&record.word);
        if record.holder() != NOBODY {
            self.thief.steal_p(u64::from(id), record);
        }
    }

    /// It has succeeded, and the thief, itself back from a call in which it had lost this very P,
    /// goes on with it.
    fn keep(mut self, id: u32, record: &'static ProcRecord, g: Option<Goroutine<'_>>) {
        self.steal(id, record);
        start_on(&mut self.thief, id, record, g);
    }
}

/// An M has this P from here on. If its goroutine was without one, it runs again.
#[cold]
pub(crate) fn proc_start(on: &Block, id: u32, record: &'static ProcRecord, g: Option<Goroutine<'_>>) {
    if let Some(mut section) = on.open() {
        start_on(&mut section, id, record, g);
    }
}

fn start_on(section: &mut Section<'_>, id: u32, record: &'static ProcRecord, g: Option<Goroutine<'_>>) {
    section.stream.p = None;
    section.start_p(u64::from(id), record);
    if section.stream.g.is_some_and(|g| g.in_call)
        && let Some(g) = g
    {
        section.put(EventType::GoSyscallEndBlocked, &[]);
        section.start_goroutine(g, section.number_of_held(g.word));
    }
}

/// An M is back from a blocking call with the P that it had before: the attempt has succeeded.
#[cold]
pub(crate) fn call_end(
    mut attempt: TakeAttempt<'_>,
    id: u32,
    record: &'static ProcRecord,
    g: Option<Goroutine<'_>>,
) {
    let section = &mut attempt.thief;
    if !section.has_own_p() {
        // It was stolen, and is back from another M's blocking call; or recording has begun since.
        return attempt.keep(id, record, g);
    }
    if let Some(g) = &mut section.stream.g {
        g.in_call = false;
        section.put(EventType::GoSyscallEnd, &[]);
    }
}

/// An M gives its P up.
#[cold]
pub(crate) fn proc_stop(on: &Block) {
    if let Some(mut section) = on.open() {
        section.stop_p();
    }
}

/// The running goroutine begins to stop the world. Returns whether that is recorded.
#[cold]
pub(crate) fn stop_world_begin(on: &Block, stack: u64) -> bool {
    let Some(mut section) = on.open() else { return false };
    let runs = section.runs_goroutine();
    if runs {
        section.put_with_stack(EventType::STWBegin, &[super::strings::STOP_THE_WORLD, stack]);
    }
    runs
}

/// The world goes on.
#[cold]
pub(crate) fn stop_world_end(on: &Block) {
    if let Some(mut section) = on.open()
        && section.runs_goroutine()
    {
        section.put(EventType::STWEnd, &[]);
    }
}

/// The running goroutine has changed the number of Ps, or has begun the trace.
#[cold]
pub(crate) fn procs_change(on: &Block, procs: u32, stack: u64) {
    if let Some(mut section) = on.open()
        && section.runs_goroutine()
    {
        section.put_with_stack(EventType::ProcsChange, &[u64::from(procs), stack]);
    }
}

/// What a user writes into a trace: of a task, a region or a log.
#[derive(Clone, Copy)]
pub(crate) enum UserEvent<'t> {
    TaskBegin { task: u64, parent: u64, name: &'t str },
    TaskEnd { task: u64 },
    RegionBegin { task: u64, name: &'t str },
    RegionEnd { task: u64, name: &'t str },
    Log { task: u64, key: &'t str, value: &'t str },
}

/// The running goroutine says something. Returns whether it is recorded.
#[cold]
pub(crate) fn user_event(on: &Block, event: UserEvent<'_>, stack: u64) -> bool {
    let Some(mut section) = on.open() else { return false };
    if !section.runs_goroutine() {
        return false;
    }
    let generation = section.generation();
    let text = |text: &str| texts::number_of(generation, text);
    match event {
        UserEvent::TaskBegin { task, parent, name } => {
            section.put_with_stack(EventType::UserTaskBegin, &[task, parent, text(name), stack]);
        }
        UserEvent::TaskEnd { task } => section.put_with_stack(EventType::UserTaskEnd, &[task, stack]),
        UserEvent::RegionBegin { task, name } => {
            section.put_with_stack(EventType::UserRegionBegin, &[task, text(name), stack]);
        }
        UserEvent::RegionEnd { task, name } => {
            section.put_with_stack(EventType::UserRegionEnd, &[task, text(name), stack]);
        }
        UserEvent::Log { task, key, value } => {
            section.put_with_stack(EventType::UserLog, &[task, text(key), text(value), stack]);
        }
    }
    true
}
