//! The scheduler: one per process (S4). `README.md` beside this file tells the protocols.
//!
//! | file | what it does |
//! |---|---|
//! | `start` | first use: Ps, the threads that are not Ms, handlers |
//! | `template` | the thread that makes all Ms |
//! | `entry` | into the runtime and out again ([`Worker`](crate::m::Worker)), also without the P (D1) |
//! | `may_wait` | who may wait: nobody who has stopped the world |
//! | `caller` | **the seam** as primitives see it: [`Caller`] waits, also for what several may end |
//! | `park` | the seam's inside: park and ready |
//! | `spawn`, `goexit` | a goroutine's first and last steps |
//! | `headers` | headers and ids: those cached on a P or an M, and those that all share |
//! | `stack` | a goroutine's stack: attached when it first runs, freed after its end |
//! | `blocking` | announced blocking calls |
//! | `global` | the global queue |
//! | `scope_group` | goroutines whose end somebody awaits |
//! | `schedule` | the loop on g0, where the next goroutine comes from, the direct switch, the post-switch step |
//! | `steal` | what a P takes from the others |
//! | `dead` | whether any goroutine can ever run again |
//! | `exceptions` | one word that says what is out of the ordinary |
//! | `stop_world`, `turn`, `resize` | stop-the-world, whose turn it is, and the number of Ps |
//! | `held_back` | goroutines that may not start yet |
//! | `stackless` | goroutines that wait for a stack |
//! | `sysmon/` | the monitor: who has held a P too long, and is it blocked or computing |
//! | `say` | what a goroutine says in a trace |
//! | `take` | takes Ps from goroutines in user code |
//! | `lost_p` | the books on Ms that have lost their P |
//! | `policy/` | what is done beyond Go's rules, each with a switch |
//! | `fifo` | a growing ring of pointers |
//! | `idle` | who sleeps, who is woken |
//! | `give_back` | memory that is given back |
//! | `task`, `alarm` | what a `future::block_on` waits on, its waker, and a timer that rings for it |
//! | `wakers` | the goroutine that calls the wakers of other executors |
//! | `timed` | who runs due timers, and who wakes up for them |
//! | `poll` | who polls the network |
//!
//! Lock order: `SCHED.lock` is taken alone; so are the caches' locks. The taker's lock comes before
//! it. Nothing that blocks or runs user code happens under them.

#[cfg(feature = "hyper")]
pub(crate) mod alarm;
mod blocking;
mod caller;
mod dead;
mod entry;
mod exceptions;
mod fifo;
mod give_back;
mod global;
mod goexit;
mod headers;
mod held_back;
mod idle;
mod lost_p;
mod may_wait;
mod misuse;
mod park;
pub(crate) mod policy;
mod poll;
mod resize;
mod say;
mod schedule;
mod scope_group;
mod spawn;
mod stack;
mod stackless;
mod start;
mod steal;
mod stop_world;
mod sysmon;
mod take;
pub(crate) mod task;
mod template;
#[cfg(test)]
mod tests;
mod timed;
mod turn;
pub(crate) mod wakers;

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use gosched_primitives::{IdleWord, Keeper, List, Lock, TakerToken};
use gosched_rules::batch::grab_count;
use gosched_rules::steal::StealOrder;
use gosched_switch::StackPool;

use crate::fatal::fatal;
use crate::g::arena::Arena;
use crate::g::{G, MAIN_ID};
use crate::m::M;
use crate::p::{OwnedP, P, PList, RING};
use crate::settings::MAX_PROCS;

pub(crate) use blocking::Blocking;
pub(crate) use caller::{Caller, Inside, Interruptible, Limit, Visitor, context_has_ended};
pub(crate) use dead::Deadlock;
use exceptions::Exceptions;
use global::GlobalQueue;
pub(crate) use global::QueueClass;
pub(crate) use goexit::free_header;
use held_back::HeldBack;
pub(crate) use held_back::SOFT_LIMIT;
pub(crate) use may_wait::{MayWait, StoppedWorld, refuse_on_foreign_thread};
pub(crate) use park::Commit;
pub(crate) use say::say;
pub(crate) use schedule::yield_now;
pub(crate) use spawn::{Role, Spawn, go_system, hide_current, prepare, spawn};
pub(crate) use stackless::RETRY as RETRY_STACKLESS;
use stackless::Stackless;
pub(crate) use start::{default_class, ensure_started, is_forked, started_procs};
use stop_world::WorldState;
pub(crate) use stop_world::{LONGEST_STOP, Stopped};
pub(crate) use take::{Candidate, heavy_barrier};
pub(crate) use timed::arm_here;

pub(crate) static SCHED: Sched = Sched::new();

pub(crate) struct Sched {
    lock: Lock<IdleLists>,
    runq: GlobalQueue,
    idle: IdleWord,
    keeper: Keeper,
    /// The right to take Ps from goroutines in user code.
    pub(crate) taker: Lock<TakerToken>,
    computing_without_p: AtomicU32,
    lost_to_blocking: AtomicU32,
    /// Ms in announced blocking calls whose P was taken.
    left_in_calls: AtomicU32,
    held_back: HeldBack,
    stackless: Stackless,
    all_p: [AtomicPtr<P>; MAX_PROCS],
    procs: AtomicU32,
    /// For every number of Ps that there ever was, the orders to steal in.
    steal_orders: [OnceLock<StealOrder>; MAX_PROCS + 1],
    /// Exceptional conditions, as bits; normally 0.
    exceptions: Exceptions,
    world: WorldState,
    all_m: AtomicPtr<M>,
    m_count: AtomicU64,
    max_threads: AtomicU64,
    arena: Arena,
    /// Dead headers, shared by all Ps (S4).
    free: Lock<List<G>>,
    pub(crate) stacks: StackPool,
    ids: AtomicU64,
    main_taken: AtomicBool,
    /// Goroutines created and ended by those without a P.
    created: AtomicU64,
    ended: AtomicU64,
}

/// What `SCHED.lock` guards.
struct IdleLists {
    idle_ps: PList,
    /// How often one was taken off that list: while this does not change, with all Ps there, no
    /// goroutine has got one.
    idle_ps_taken: u64,
    idle_ms: List<M>,
    /// Those without a thread.
    spare_ms: List<M>,
}

impl Sched {
    const fn new() -> Sched {
        Sched {
            lock: Lock::new(IdleLists {
                idle_ps: PList::new(),
                idle_ps_taken: 0,
                idle_ms: List::new(),
                spare_ms: List::new(),
            }),
            runq: GlobalQueue::new(),
            idle: IdleWord::new(0),
            keeper: Keeper::new(),
            // SAFETY: the only token: there is one scheduler per process (tests make others, whose
            // Ms have no thread).
            taker: Lock::new(unsafe { TakerToken::new() }),
            computing_without_p: AtomicU32::new(0),
            lost_to_blocking: AtomicU32::new(0),
            left_in_calls: AtomicU32::new(0),
            held_back: HeldBack::new(),
            stackless: Stackless::new(),
            all_p: [const { AtomicPtr::new(core::ptr::null_mut()) }; MAX_PROCS],
            procs: AtomicU32::new(0),
            steal_orders: [const { OnceLock::new() }; MAX_PROCS + 1],
            exceptions: Exceptions::new(),
            world: WorldState::new(),
            all_m: AtomicPtr::new(core::ptr::null_mut()),
            m_count: AtomicU64::new(0),
            max_threads: AtomicU64::new(u64::MAX),
            arena: Arena::new(),
            free: Lock::new(List::new()),
            stacks: StackPool::new(),
            ids: AtomicU64::new(MAIN_ID + 1),
            main_taken: AtomicBool::new(false),
            created: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    /// The number of Ps.
    #[inline]
    pub(crate) fn procs(&self) -> u32 {
        // ORDERING: Acquire pairs with the Release in `resize`: whoever reads a number sees that
        // many Ps.
        self.procs.load(Ordering::Acquire)
    }

    /// Sets whether new goroutines queue behind woken ones, because some compute while others wait.
    /// Called by the monitor.
    pub(crate) fn set_under_pressure(&self, on: bool) {
        if self.exceptions.is_under_pressure() != on {
            self.exceptions.set_under_pressure(on);
        }
    }

    /// Whether every moving call is to move (`GOSCHED_DEBUG=migrate=1`).
    #[inline]
    pub(crate) fn is_migrating(&self) -> bool {
        self.exceptions.is_migrating()
    }

    /// The orders in which a thief may ask the Ps there are.
    fn steal_order(&self) -> Option<&StealOrder> {
        self.steal_orders[self.procs() as usize].get()
    }

    /// All Ps, including the dead ones beyond GOMAXPROCS (S5).
    pub(crate) fn all_p(&self) -> impl Iterator<Item = &'static P> + '_ {
        // ORDERING: Acquire pairs with the Release in `add_p`: a P that is seen is whole.
        // SAFETY: Ps are never freed.
        self.all_p.iter().map_while(|p| unsafe { p.load(Ordering::Acquire).as_ref() })
    }

    /// P number `id`.
    fn p(&self, id: u32) -> Option<&'static P> {
        // ORDERING: as in `all_p`.
        // SAFETY: Ps are never freed.
        unsafe { self.all_p.get(id as usize)?.load(Ordering::Acquire).as_ref() }
    }

    /// All Ms that have a thread (S5).
    pub(crate) fn all_m(&self) -> impl Iterator<Item = &'static M> {
        self.every_m().filter(|m| m.has_thread())
    }

    /// All Ms, also those whose thread has ended.
    pub(crate) fn every_m(&self) -> impl Iterator<Item = &'static M> {
        // ORDERING: Acquire pairs with the Release in `list_m`: with that of the M found first, and
        // with those of all behind it, since each was put in front by a compare-and-swap of the
        // pointer that the one before had stored (a release sequence). SAFETY: Ms are never freed.
        let first = unsafe { self.all_m.load(Ordering::Acquire).as_ref() };
        core::iter::successors(first, |m| {
            // SAFETY: as above; the link was written before the M was published.
            unsafe { m.all_link.load(Ordering::Relaxed).as_ref() }
        })
    }

    /// All headers, alive or not (S5).
    pub(crate) fn all_g(&self) -> impl Iterator<Item = &'static G> + '_ {
        self.arena.iter()
    }

    /// Goroutines alive. Exact when nobody creates or ends one meanwhile.
    pub(crate) fn num_goroutine(&self) -> usize {
        // ORDERING: Acquire pairs with the Release in `bump`, `count_created_without_p` and
        // `count_ended_without_p`: ends are read before births, and each end comes after its birth,
        // so the difference is not negative.
        let ended = self.all_p().map(|p| p.ended.load(Ordering::Acquire)).sum::<u64>()
            + self.ended.load(Ordering::Acquire);
        let created = self.all_p().map(|p| p.created.load(Ordering::Acquire)).sum::<u64>()
            + self.created.load(Ordering::Acquire);
        usize::try_from(created.saturating_sub(ended)).unwrap_or(usize::MAX)
    }

    /// Queues a batch at the global queue's tail, from P number `from`. The caller wakes an M.
    pub(crate) fn put_global(&self, from: u32, batch: List<G>) {
        self.runq.push_batch(self.procs() as usize, from, batch);
    }

    /// Queues one G at the tail of its class in the global queue; `from` is the caller's P, if it
    /// has one. The caller wakes an M.
    #[doc(alias = "globrunqput")]
    #[inline]
    pub(crate) fn put_global_one(&self, from: Option<&P>, g: NonNull<G>, class: QueueClass) {
        self.runq.push(self.procs() as usize, from.map_or(0, |p| p.id), g, class);
    }

    /// The global queue's length.
    #[inline]
    pub(crate) fn runq_len(&self) -> usize {
        self.runq.len(self.procs() as usize)
    }

    /// Takes this P's share of the global queue (S24): one to run, the rest into its ring.
    #[doc(alias = "globrunqget")]
    fn grab_global(&self, p: &mut OwnedP, max: Option<usize>) -> Option<NonNull<G>> {
        let len = self.runq_len();
        if len == 0 {
            return None;
        }
        let procs = self.procs() as usize;
        let n = grab_count(len, procs, RING, max);
        let mut first = None;
        let (id, tick) = (p.id, p.sched_tick());
        // Only a P with an empty ring asks for more than one, and half a ring is the most there is:
        // they fit.
        let ring = p.ring_owner();
        // Each is in the ring before the queue's size says that it is gone: a second look must find
        // it in one of the two.
        self.runq.take(procs, tick, n, len, |g| match first {
            None => first = Some(g),
            Some(_) => {
                if ring.push(g).is_err() {
                    fatal!("no room in the ring of p{id} for its share of the global queue");
                }
            }
        });
        first
    }

    fn count_created_without_p(&self) {
        // ORDERING: Release pairs with `num_goroutine`.
        self.created.fetch_add(1, Ordering::Release);
    }

    fn count_ended_without_p(&self) {
        // ORDERING: Release pairs with `num_goroutine`.
        self.ended.fetch_add(1, Ordering::Release);
    }
}
