//! Go's G-M-P scheduler as a Rust library: goroutines in plain blocking code, no `async`, no
//! coloured functions.
//!
//! ```
//! use gosched::go;
//!
//! gosched::run(|| {
//!     let squares: Vec<_> = (1..=3).map(|n| go(move || n * n)).collect();
//!     let sum: i32 = squares.into_iter().map(|handle| handle.join().unwrap()).sum();
//!     println!("1 + 4 + 9 = {sum}");
//! });
//! ```
//!
//! prints `1 + 4 + 9 = 14`. A goroutine costs a 256-byte header while it is queued and one page of
//! stack once it runs; a million at once are fine. [`go`] starts one from anywhere, also from
//! threads that are not ours; the runtime starts by itself at first use, and [`run`] gives a
//! program its main goroutine.
//!
//! # Finding your way
//!
//! - [`go`], [`run`], [`scope`], [`thread`]: goroutines, with the names of `std::thread`
//! - [`chan`], [`select!`]: channels, with the names of `crossbeam_channel`
//! - [`sync`]: locks, with the names of `std::sync`
//! - [`context`]: cancellation and deadlines; [`time`]: sleeps, timers, time limits
//! - [`net`], [`os::unix::net`]: sockets, with the names of `std::net`: a goroutine waits, not a
//!   thread
//! - [`signal`]: Ctrl-C and other signals, as values and as the end of a context
//! - [`fs`], [`process`], [`io`]: files, programs and the standard input, each call announced as
//!   one that may block
//! - [`future`]: async code called from goroutines, and the other way round
//! - [`runtime`]: how many, which one am I, settings
//! - [`trace`]: what happened when, for `go tool trace` and `gosched-trace`
//! - [`goroutine_local!`]: values of which each goroutine has its own
//! - `#[gosched::main]`, `#[gosched::test]`: a program or a test as the main goroutine
//!
//! # Moving calls
//!
//! A goroutine resumes on another OS thread only inside a *moving call*: a call that may wait,
//! [`yield_now`] or [`checkpoint`](runtime::checkpoint). Each function says whether it is one. So a
//! value that is tied to its thread (a `ThreadRng`, a `StdoutLock`, a borrow of a thread-local)
//! must not live across a moving call. Other values need no care. While a goroutine unwinds it
//! stays on its thread.
//!
//! [`soundness`] has the details.
//!
//! # Environment
//!
//! | variable | effect |
//! |---|---|
//! | `GOMAXPROCS=n` | the number of Ps (default: the number of CPUs that this process may use) |
//! | `GOSCHED_STACK=bytes` | how far stacks may grow |
//! | `GOSCHED_DEBUG=key=value,...` | the switches below |
//! | `GOSCHED_TRACE=file` | records an execution [`trace`] of the whole run; `%p` in the name is the process id |
//! | `GOSCHED_TRACE=flight:10s:file` | keeps the last ten seconds, and writes them when a goroutine panics, holds its thread too long (`stall=ms`), at a fatal error or SIGQUIT, else at the end |
//!
//! | key | effect |
//! |---|---|
//! | `randomize=0` | an overflowing run queue keeps its order |
//! | `seed=n` | seeds the random choices |
//! | `deadlock=0` | switches deadlock detection off |
//! | `migrate=1` | every moving call moves the goroutine to another thread: for tests |
//! | `stall=ms` | reports a goroutine that computes or blocks its thread for longer, with its stack, once for each place |
//! | `schedtrace=ms` | prints the scheduler's state in a line, so often, in the form of Go's runtime: `SCHED 1004ms: gomaxprocs=2 idleprocs=0 threads=5 spinningthreads=0 needspinning=0 idlethreads=1 runqueue=0 [3 1]`; the numbers in brackets are the queues of the Ps |
//! | `scheddetail=1` | with `schedtrace`: a line for each P, each thread (M) and each goroutine, too |
//! | `policy=0`, `policy.NAME=0` | switches off what the scheduler does beyond Go's rules, all of it or one policy: to measure what it is worth for a program |
//!
//! # When it hangs
//!
//! SIGQUIT (Ctrl-\ in a terminal) prints every goroutine with its state, how long it has waited,
//! its stack and who created it, and ends the process with status 2, as in Go. The runtime installs
//! its handler when it starts, unless the program has one; also if SIGQUIT is ignored, as in a
//! program that a script has started with `&`. A program that wants another handler installs it
//! after that, or [listens](signal::notify) for the signal. [`runtime::stacks`] returns the same
//! text at any time. When no goroutine can ever run again, the process prints a fatal error with
//! the same dump, and ends with status 2.
//!
//! # Platforms
//!
//! Linux on x86-64. All code that depends on the CPU is in one file, in `src/arch` of the crate
//! `gosched-switch`. For a target without such a file the build fails with a message. That crate's
//! README has what is known of a second CPU.

#![warn(missing_docs)]
#![deny(unsafe_code)]

pub mod chan;
mod clock;
pub mod context;
mod debug;
#[allow(unsafe_code)]
mod dump;
mod fatal;
pub mod fs;
pub mod future;
#[allow(unsafe_code)]
mod g;
pub mod io;
#[allow(unsafe_code)]
mod m;
pub mod net;
#[allow(unsafe_code)]
mod netpoll;
pub mod os;
#[allow(unsafe_code)]
mod overflow;
#[allow(unsafe_code)]
mod p;
#[allow(unsafe_code)]
mod panics;
pub mod process;
#[allow(unsafe_code)]
mod recorder;
pub mod runtime;
#[allow(unsafe_code)]
mod sched;
mod settings;
pub mod signal;
#[allow(unsafe_code)]
mod source;
pub mod sync;
#[allow(unsafe_code)]
mod sys;
pub mod thread;
pub mod time;
#[allow(unsafe_code)]
mod timers;
pub mod trace;
#[allow(unsafe_code)]
mod tracer;

#[doc = include_str!("soundness.md")]
pub mod soundness {}

#[doc(hidden)]
pub mod __private;
#[cfg(test)]
#[allow(unsafe_code)]
mod testing;

pub use gosched_macros::{main, test};
pub use thread::builder::{go, run};
pub use thread::{JoinHandle, scope, sleep, yield_now};
