//! `#[gosched::main]` in a program without std. It has no harness: that `main` runs is the test.
#![no_std]

/// Other crates under the names of `core` and `std`.
extern crate libc as core;
extern crate libc as std;

struct ExitCode;

#[gosched::main]
fn main() -> ::rustix::io::Result<()> {
    let _ = ExitCode;
    assert!(gosched::runtime::goroutine_id() == Some(1));
    assert!(gosched::go(|| 6 * 7).join().is_ok_and(|answer| answer == 42));
    Ok(())
}
