//! The textbook's scheduling policies and gosched's own, simulated on the same workloads (S52).
//!
//! A discrete-event simulator: jobs arrive, compute, wait and end; a policy says who runs. The same
//! seed gives the same run, to the last digit. Nothing here looks at a clock, but for the measure
//! of the simulator's own speed.
//!
//! ```
//! use gosched_sim::kind::{PolicyKind, RunSettings};
//! use gosched_sim::trace::NoTrace;
//! use gosched_sim::workload::{Kind, Size};
//!
//! let workload = Kind::Mixed.make(Size { jobs: Some(1_000), ..Size::usual(1, 42) });
//! let short_ones_wait = |policy: PolicyKind| {
//!     let outcome = policy.run(&workload, &RunSettings::new(1, 42), &mut NoTrace);
//!     outcome.summary(Some(gosched_sim::job::Class::Short)).waiting.mean
//! };
//! assert!(short_ones_wait(PolicyKind::Fcfs) > 5.0 * short_ones_wait(PolicyKind::Srt));
//! ```
//!
//! # Where to look
//!
//! | module | holds |
//! |---|---|
//! | [`job`], [`workload`] | what is to be done |
//! | [`policy`] | the textbook's six, a file each |
//! | [`engine`] | the simulator for these: one ready queue |
//! | [`gmp`] | gosched's scheduler: queues per P, and all that goes with them |
//! | [`kind`] | the policies by name, and one way to run any of them |
//! | [`costs`] | what things cost: measured or assumed |
//! | [`measure`] | what a run came to |
//! | [`table`] | the textbook's table, measured |
//! | [`study`], [`scale`], [`gallery`], [`speed`] | what is run: policies × workloads, 1 to 1,024 Ps, small examples, the simulator's own speed |
//! | [`theory`] | closed forms, and confidence intervals |
//! | [`output`], [`cli`] | what people get to see |
//! | [`events`], [`random`], [`time`], [`trace`] | below all that |

#![forbid(unsafe_code)]

pub mod cli;
pub mod costs;
pub mod engine;
pub mod events;
pub mod gallery;
pub mod gmp;
pub mod job;
pub mod kind;
pub mod measure;
pub mod output;
pub mod policy;
pub mod random;
pub mod scale;
pub mod speed;
pub mod study;
pub mod table;
pub mod theory;
pub mod time;
pub mod trace;
pub mod workload;
