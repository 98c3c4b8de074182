//! G: a goroutine's header (S1). 256 bytes, type-stable, never unmapped, recognised by its id.
//!
//! Who may touch what:
//! - `status` is the key. While a G is *running* (or parking), everything below belongs to the M on
//!   which it runs; while it is *runnable*, to the queue in which it is, or to whoever made the
//!   last transition and has not queued it yet. Fields that others read meanwhile are atomics.
//! - `token` and `join` may be used by anybody at any time; their protocols are in
//!   `gosched-primitives`.
//! - `buf` is written by the switch, and by whoever executes a G for the first time; `stack` by
//!   whoever executes or ends it.
//! - Name, creator and place are written before the first transition to *runnable*; the name is
//!   taken away at the end, under the scan bit. So a holder of the scan bit may read them.
//! - `join` decides who returns a header to the cache (see `JoinWord`): exactly one side frees it.

pub(crate) mod arena;
pub(crate) mod bell;
pub(crate) mod locals;
mod record;
pub(crate) mod scope_group;
pub(crate) mod since;
pub(crate) mod slot;
pub(crate) mod task;
mod transitions;
pub(crate) mod waiter;

use core::cell::{Cell, UnsafeCell};
use core::panic::Location;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use gosched_primitives::{AtomicRef, JoinWord, Linked, Scan, Status, StatusWord, TokenWord};
use gosched_switch::{Gobuf, Stack, StackClass};

use crate::clock::now;
use crate::fatal::fatal;
use crate::m::M;
use crate::recorder::TraceWord;
use locals::Locals;
use scope_group::ScopeGroup;
use since::WaitWord;
use slot::{ContextSlot, SharedContext};
use task::{Payload, TaskVtable};
use waiter::{BoxedWaiter, WaitReason};

pub use task::Goexit;

/// A goroutine's name: one word, since every handle has a copy.
pub(crate) type Name = Arc<Box<str>>;

/// The id of the main goroutine.
pub(crate) const MAIN_ID: u64 = 1;

/// The creator of a goroutine that is hidden.
const NOBODY_TO_SHOW: u64 = u64::MAX;

#[repr(C, align(64))]
pub(crate) struct G {
    // First cache line: what a switch and a queue need.
    pub(crate) buf: UnsafeCell<Gobuf>,
    status: StatusWord,
    wait: WaitWord,
    link: AtomicPtr<G>,
    id: AtomicU64,
    m: AtomicRef<M>,
    // Second: what starting, ending and joining need.
    pub(crate) stack: UnsafeCell<Option<Stack>>,
    pub(crate) join: JoinWord<G, BoxedWaiter>,
    pub(crate) token: TokenWord,
    pub(crate) vtable: Cell<Option<&'static TaskVtable>>,
    pub(crate) locals: Cell<Option<NonNull<Locals>>>,
    locked_m: AtomicRef<M>,
    locks: AtomicU32,
    class: Cell<Option<StackClass>>,
    blocking: AtomicU16,
    // Third and fourth: what is rarely looked at, and the closure or the result.
    creator: AtomicU64,
    created_at: Cell<Option<&'static Location<'static>>>,
    name: UnsafeCell<Option<Name>>,
    group: Cell<Option<NonNull<ScopeGroup>>>,
    /// The context under which it runs.
    pub(crate) context: ContextSlot,
    /// What the trace knows of it.
    pub(crate) traced: TraceWord,
    pub(crate) payload: UnsafeCell<Payload>,
}

// Builds for a sanitizer keep more of a context than its four registers.
const _: () = assert!(
    size_of::<G>() == 256 || size_of::<Gobuf>() > 4 * size_of::<usize>(),
    "a queued goroutine is one header of 256 bytes"
);

// SAFETY: the fields without atomics are passed from owner to owner along the status word, whose
// transitions are AcqRel (see the head of this file).
unsafe impl Sync for G {}
// SAFETY: nothing in a G belongs to a thread.
unsafe impl Send for G {}

// SAFETY: `link` is used for nothing but lists.
unsafe impl Linked for G {
    fn link(&self) -> &AtomicPtr<G> {
        &self.link
    }
}

/// What a new goroutine's header is filled with.
pub(crate) struct Birth {
    pub(crate) id: u64,
    pub(crate) creator: u64,
    pub(crate) place: &'static Location<'static>,
    pub(crate) name: Option<Name>,
    pub(crate) class: StackClass,
    pub(crate) group: Option<NonNull<ScopeGroup>>,
    pub(crate) locks: u32,
    pub(crate) context: Option<SharedContext>,
}

impl G {
    /// A header that was never used.
    pub(crate) const fn idle() -> G {
        G {
            buf: UnsafeCell::new(Gobuf::empty()),
            status: StatusWord::new(Status::Idle),
            wait: WaitWord::new(),
            link: AtomicPtr::new(core::ptr::null_mut()),
            id: AtomicU64::new(0),
            m: AtomicRef::none(),
            stack: UnsafeCell::new(None),
            join: JoinWord::new(),
            token: TokenWord::new(0),
            vtable: Cell::new(None),
            locals: Cell::new(None),
            locked_m: AtomicRef::none(),
            locks: AtomicU32::new(0),
            class: Cell::new(None),
            blocking: AtomicU16::new(0),
            creator: AtomicU64::new(0),
            created_at: Cell::new(None),
            name: UnsafeCell::new(None),
            group: Cell::new(None),
            context: ContextSlot::new(),
            traced: TraceWord::new(),
            payload: UnsafeCell::new(Payload::empty()),
        }
    }

    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    /// Why it waits, or last waited.
    pub(crate) fn reason(&self) -> WaitReason {
        self.wait.reason()
    }

    /// How long its wait has lasted.
    pub(crate) fn waited(&self) -> Duration {
        self.wait.lasted(now())
    }

    /// A wait begins now.
    #[inline]
    pub(crate) fn set_reason(&self, reason: WaitReason) {
        self.wait.begin(reason);
    }

    /// The M it runs on, or last ran on; none before it first runs and after its end.
    pub(crate) fn m(&self) -> Option<&'static M> {
        self.m.get()
    }

    #[inline]
    fn set_m(&self, m: Option<&'static M>) {
        self.m.set(m);
    }

    /// The class of the stack it has or will get.
    #[inline]
    pub(crate) fn class(&self) -> StackClass {
        self.class.get().unwrap_or_else(|| fatal!("goroutine {} has no stack class", self.id()))
    }

    /// The M this goroutine is bound to: while it panics or has locked its thread (D5).
    #[inline]
    pub(crate) fn locked_m(&self) -> Option<&'static M> {
        self.locked_m.get()
    }

    pub(crate) fn set_locked_m(&self, m: Option<&'static M>) {
        self.locked_m.set(m);
    }

    /// How often the goroutine has locked its thread (S51).
    pub(crate) fn locks(&self) -> u32 {
        self.locks.load(Ordering::Relaxed)
    }

    /// Sets how often the goroutine has locked its thread. Called by whoever makes it, then by
    /// itself.
    pub(crate) fn set_locks(&self, locks: u32) {
        self.locks.store(locks, Ordering::Relaxed);
    }

    /// How many announced blocking calls it is in, one inside the other. Called by the goroutine.
    #[inline]
    pub(crate) fn blocking_depth(&self) -> u16 {
        self.blocking.load(Ordering::Relaxed)
    }

    pub(crate) fn set_blocking_depth(&self, depth: u16) {
        self.blocking.store(depth, Ordering::Relaxed);
    }

    /// Sets whether lists of goroutines for the user leave it out, because it belongs to the
    /// library and runs no foreign code now. Called by whoever makes it, then by the goroutine.
    pub(crate) fn hide(&self, hidden: bool) {
        self.creator.store(if hidden { NOBODY_TO_SHOW } else { 0 }, Ordering::Relaxed);
    }

    /// Writes everything that a new goroutine needs except its closure and first status.
    ///
    /// # Safety
    /// The header is the caller's alone: fresh, or taken from a cache of dead ones.
    #[inline]
    pub(crate) unsafe fn begin(&self, birth: Birth) {
        self.id.store(birth.id, Ordering::Relaxed);
        self.class.set(Some(birth.class));
        self.token.reset(birth.id);
        self.join.reset();
        self.creator.store(birth.creator, Ordering::Relaxed);
        self.created_at.set(Some(birth.place));
        self.set_locks(birth.locks);
        self.group.set(birth.group);
        self.context.put(birth.context);
        // SAFETY: the header is ours; a dead one holds no name, so nothing is dropped here.
        unsafe { *self.name.get() = birth.name };
    }

    /// The group it belongs to.
    ///
    /// # Safety
    /// The caller is the goroutine, which its group outlives, or its join handle, which the group
    /// outlives too. The reference is not used after `ScopeGroup::ended` was called for the
    /// goroutine.
    pub(crate) unsafe fn group<'a>(&self) -> Option<&'a ScopeGroup> {
        // SAFETY: by contract.
        self.group.get().map(|group| unsafe { group.as_ref() })
    }

    /// Takes the name away at the goroutine's end, before the header can have another owner.
    ///
    /// # Safety
    /// The caller is the goroutine itself, and nobody asks it for its name again.
    #[inline]
    pub(crate) unsafe fn retire_name(&self) -> Option<Name> {
        // SAFETY: only the goroutine itself ever takes it away.
        unsafe { (*self.name.get()).as_ref()? };
        let _still = self.status.scan();
        // SAFETY: whoever else reads the name holds the scan bit, which is ours now.
        unsafe { (*self.name.get()).take() }
    }

    /// The name.
    ///
    /// # Safety
    /// The G is alive and stays so: the caller runs on it, holds its scan bit or its join handle.
    pub(crate) unsafe fn name(&self) -> Option<&Name> {
        // SAFETY: written before the G's first transition, and taken away by the goroutine itself
        // at its end: by contract not now.
        unsafe { (*self.name.get()).as_ref() }
    }

    /// Who created it and where.
    ///
    /// # Safety
    /// As for [`G::name`].
    pub(crate) unsafe fn origin(&self) -> (u64, Option<&'static Location<'static>>) {
        (self.creator.load(Ordering::Relaxed), self.created_at.get())
    }

    /// Where the goroutine was created, for a message. The header may be another goroutine's by
    /// now.
    pub(crate) fn place_hint(&self) -> Option<&'static Location<'static>> {
        self.inspect().and_then(|view| view.place)
    }

    /// What there is to see of the goroutine; `None` if the header has none, or it is hidden.
    pub(crate) fn inspect(&self) -> Option<View> {
        self.hold().map(|(_, view)| view)
    }

    /// As [`inspect`](G::inspect), with the goroutine held still for as long as the first of the
    /// two is kept.
    pub(crate) fn hold(&self) -> Option<(Scan<'_>, View)> {
        let scan = self.status.scan()?;
        // SAFETY: the scan bit keeps it alive.
        let (name, (creator, place)) = unsafe { (self.name().cloned(), self.origin()) };
        if creator == NOBODY_TO_SHOW {
            return None;
        }
        let (state, waited) = match scan.status() {
            Status::Waiting | Status::Parking | Status::ParkingReady => {
                (self.reason().text(), self.wait.lasted(now()))
            }
            status => (status.name(), Duration::ZERO),
        };
        let status = scan.status().name();
        let thread = self.m().map(|m| m.id);
        Some((scan, View { id: self.id(), name, status, state, waited, thread, creator, place }))
    }
}

/// A goroutine that was not started yet.
#[derive(Clone, Copy)]
pub(crate) struct Prepared(pub(crate) NonNull<G>);

/// What a dump shows of a goroutine.
pub(crate) struct View {
    pub(crate) id: u64,
    pub(crate) name: Option<Name>,
    pub(crate) status: &'static str,
    /// The status, or why it waits.
    pub(crate) state: &'static str,
    /// The M it is on, or was on last.
    pub(crate) thread: Option<u64>,
    pub(crate) waited: Duration,
    pub(crate) creator: u64,
    pub(crate) place: Option<&'static Location<'static>>,
}
