//! Compares gosched with Go, tokio, may and OS threads on the same workloads. README.md says how to
//! run it, how to read it and how to add a row.
//!
//! | file | holds |
//! |---|---|
//! | `rows.rs` | **the table**: workloads, sizes, rows and aims. Start here to add one |
//! | `aim.rs` | what a row has to reach, and whether it did |
//! | `peer.rs` | the runtimes that are compared |
//! | `programs.rs`, `go.rs` | building their programs; finding Go |
//! | `process.rs` | one measurement: a fresh process, one line of figures |
//! | `server.rs`, `wrk.rs` | the same for programs that serve, and the client that loads them |
//! | `compare.rs` | all measurements, interleaved |
//! | `stats.rs` | medians and spread |
//! | `table.rs`, `paint.rs`, `json.rs` | showing the results |
//! | `machine.rs`, `progress.rs`, `cli.rs` | what we run on; how far we are; the options |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod aim;

pub mod cli;
pub mod compare;
pub mod go;
pub mod json;
pub mod machine;
pub mod paint;
pub mod peer;
pub mod process;
pub mod programs;
pub mod progress;
pub mod rows;
pub mod server;
pub mod stats;
pub mod table;
pub mod wrk;
