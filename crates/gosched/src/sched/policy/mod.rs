//! What the scheduler does beyond Go's rules, to be faster or fairer on real machines: one policy
//! in each file, whose head says what the problem is, at which hook it is called, and what happens
//! without it. The figures are in `docs/design.md`.
//!
//! Each can be switched off: `GOSCHED_DEBUG=policy.NAME=0`, all of them with `policy=0`. No
//! goroutine is lost then, and none waits for ever: what progress needs (held-back starts, waiting
//! for a stack, insisting on a P, the slow hand-offs beyond the soft limit) is part of the core.
//! The test suite passes with each of them off, and with all off. Tests that show a policy are
//! skipped without it: they name it (`shows`).
//!
//! | hook | when | policies |
//! |---|---|---|
//! | [`before_poll`] | an M with a P is about to look at the network | `relieve` |
//! | [`nothing_in_hand`] | an M is between two goroutines, and all it has is in rings | `give_way` |
//! | [`after_search`] | a search has found nothing | `await_look` |
//! | [`before_run`] | a search has found a goroutine | `in_reach` |
//! | [`queue_woken`] | a goroutine was woken by a caller with a P | `trust` |
//! | [`picked`] | a pick has found a goroutine in `runnext` or the ring | `trust` |
//! | [`runnext_waits`] | a goroutine in `runnext` was not run soon | `trust` |
//! | [`class_of_preempted`] | a goroutine was preempted, or needs a P again after it lost its own | `preempted_last` |
//! | [`pick`](pressure::pick) | a pick, while there is pressure | `pressure` |
//! | the monitor's tick | | `pressure`, `quantum`, `pace`, `trust` |
//! | a thread begins, sleeps for a short time, loses its P while it computes, or has one again | | `timer_slack`, `time_slices` |

mod await_look;
mod give_way;
mod in_reach;
pub(crate) mod pace;
mod preempted_last;
pub(crate) mod pressure;
pub(crate) mod quantum;
mod relieve;
pub(crate) mod time_slices;
pub(crate) mod timer_slack;
mod trust;

pub(super) use await_look::after_search;
pub(super) use give_way::nothing_in_hand;
pub(super) use in_reach::before_run;
pub(super) use preempted_last::class_of_preempted;
pub(super) use relieve::before_poll;
pub(super) use trust::{picked, queue_woken, runnext_waits};
