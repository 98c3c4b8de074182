//! The tracer: a thread that collects what is recorded (`recorder/`), generation by generation, and
//! hands it to whoever wants the trace.
//!
//! | file | what it does |
//! |---|---|
//! | `session` | a trace from its start to its end; one at a time |
//! | `thread` | the thread: takes full buffers, ends generations |
//! | `generation` | a generation that is being put together |
//! | `sink` | where complete generations go |
//! | `tables` | the strings and stacks of a generation |
//! | `unwind` | the frames of a goroutine's stack, found by itself |
//! | `environment` | `GOSCHED_TRACE` |
//!
//! Invariants: what the scheduler waits for (locks of streams, buffers, stacks and modules) the
//! tracer holds for a moment only, and takes no lock of others meanwhile; whoever reads the trace
//! may be as slow as they like. A generation is handed over when it is complete, so a reader never
//! sees a part of one. If buffers run out, a trace that is written ends with the last generation
//! that is complete, and says so; one that is kept in memory goes on with the next generation.

mod environment;
mod generation;
mod session;
mod sink;
mod tables;
mod thread;
mod unwind;

pub(crate) use environment::start_by_environment;
pub(crate) use session::{PreparedTrace, Session, forked};
pub(crate) use sink::TraceSink;
