#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! | file | holds |
//! |---|---|
//! | `sync.rs` | std or loom: atomics, fences, the futex |
//! | `kernel.rs` | what is asked of Linux |
//! | `barrier.rs` | the asymmetric barrier (membarrier, or a fence) |
//! | `list.rs` | [`List`], intrusive FIFO |
//! | `double_list.rs` | [`DoubleList`], an intrusive list that any node can leave |
//! | `ring.rs` | [`Ring`], the run queue of a P |
//! | `next.rs` | [`NextSlot`], `runnext` |
//! | `random.rs` | [`Random`], cheap random numbers |
//! | `idle.rs` | [`IdleWord`], idle Ps and spinning Ms |
//! | `note.rs` | [`Note`], one-shot sleep and wake |
//! | `keeper.rs` | [`Keeper`], a worker that sleeps until the earliest timer |
//! | `dormant.rs` | [`Dormant`], a thread that sleeps while it is not needed |
//! | `owner.rs` | [`Owner`], who owns the P of an M |
//! | `conditions.rs` | [`Conditions`], exceptional conditions as bits; a gate |
//! | `atomic_ref.rs` | [`AtomicRef`], a pointer that others may follow |
//! | `lock.rs` | [`Lock`], the runtime's internal lock |
//! | `status.rs` | [`StatusWord`], running, parking, waiting |
//! | `token.rs` | [`TokenWord`], park and unpark |
//! | `join.rs` | [`JoinWord`], who owns a result |
//! | `claim.rs` | [`Claim`], a wait that several may end |
//! | `readiness.rs` | [`Readiness`], the waiters for a descriptor |
//! | `interrupts.rs` | [`Interrupts`], the waits that end with a context |

mod atomic_ref;
pub mod barrier;
mod claim;
mod conditions;
mod dormant;
mod double_list;
mod idle;
mod interrupts;
#[allow(clippy::new_without_default, reason = "a join word belongs to a header and is never made by default")]
mod join;
mod keeper;
#[cfg(not(loom))]
mod kernel;
mod list;
mod lock;
mod next;
mod note;
mod owner;
mod random;
mod readiness;
mod ring;
mod status;
pub mod sync;
#[cfg(all(test, not(loom)))]
mod testing;
mod token;

pub use atomic_ref::AtomicRef;
pub use claim::{Claim, Outcome};
pub use conditions::Conditions;
pub use dormant::Dormant;
pub use double_list::{DoubleList, DoublyLinked, Links};
pub use idle::{Idle, IdleWord, LastSpinner, Spinning};
pub use interrupts::{Interrupt, Interrupts, Registration};
pub use join::{Detach, Finish, Header, JoinWaiter, JoinWord, Registered};
pub use keeper::{Keeper, Watch};
pub use list::{Linked, List};
pub use lock::{Lock, LockGuard, RawLock};
pub use next::NextSlot;
pub use note::{Note, Wake};
pub use owner::{Entered, Intr, Owner, Retaking, Settled, TakerToken};
pub use random::Random;
pub use readiness::{
    Direction, Directions, Edges, MayQueue, Readiness, Sink, TaskNode, Tasks, WaitNode, Woken,
};
pub use ring::{Full, Ring, RingOwner, keep_order};
pub use status::{Parked, Readied, Scan, Status, StatusWord};
pub use token::{Token, TokenWord, Unpark};

/// The path of this file as the compiler got it. Dumps recognise this crate's code by it.
#[doc(hidden)]
pub const SOURCE: &str = file!();
