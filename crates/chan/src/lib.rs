#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! | file | holds |
//! |---|---|
//! | `sudog.rs` | [`Sudog`], a waiter at a channel, and the [`Queue`]s of waiters |
//! | `buffer.rs` | [`Buffer`], the values in a channel |
//! | `chan.rs` | [`Chan`] and what can be done with it while its lock is held ([`ChanState`]) |
//! | `outcome.rs` | what the operations return: [`Sent`], [`Received`], ... |
//! | `select.rs` | [`Selection`], several channels at once |

mod buffer;
mod chan;
mod outcome;
mod select;
mod sudog;

pub use buffer::{Buffer, NoRoom, Room};
pub use chan::{Chan, ChanState};
pub use outcome::{Filled, Offers, Received, Reserved, Sent, Side};
pub use select::{AsOperation, Chosen, Interest, Operation, Polled, RecvOp, Selection, SendOp, chosen};
pub use sudog::{Queue, Sudog, Verdict};
