//! The well-known program (S22), whole: one P, ten goroutines, then a receive that never comes.
//!
//! ```sh
//! cargo run --release --example deadlock
//! ```
//!
//! It prints `9 0 1 2 3 4 5 6 7 8`, one a line, as the same program does in Go: the goroutine that
//! was created last is in `runnext`, the others are in the ring. Then no goroutine can ever run
//! again, which is a fatal error: all goroutines are shown, and the status is 2.

use gosched::{chan, go, runtime};

#[gosched::main]
fn main() {
    runtime::maxprocs(Some(1));
    let (_sender, receiver) = chan::bounded::<()>(0);
    for i in 0..10 {
        go(move || println!("{i}"));
    }
    let _ = receiver.recv();
}
