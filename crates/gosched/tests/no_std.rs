//! `#[gosched::test]` and the macros in a crate without std that gives the names of std to things
//! of its own.
//!
//! That this compiles is the test. std is linked all the same, by gosched and by the harness, but
//! it has no name here.
#![no_std]
#![allow(unused, non_camel_case_types)]

/// A module that hides the crate of this name.
mod core {}
mod alloc {}
mod test {}

struct Result;
struct Option;
struct Some;
struct None;
struct Ok;
struct Err;
struct Box;
struct String;
struct Duration;
struct ExitCode;
struct u64;
trait FnOnce {}
trait Send {}
trait Termination {}

macro_rules! concat {
    ($($any:tt)*) => {
        compile_error!("another macro of this name")
    };
}
macro_rules! module_path {
    ($($any:tt)*) => {
        compile_error!("another macro of this name")
    };
}
pub(crate) use concat;
pub(crate) use module_path;

#[gosched::test]
fn returns_nothing() {
    assert!(gosched::runtime::goroutine_id().is_some());
}

#[gosched::test(timeout = "50s")]
fn returns_a_result() -> ::core::result::Result<(), &'static str> {
    ::core::result::Result::Ok(())
}

#[gosched::test]
#[should_panic(expected = "as it should")]
fn panics() {
    panic!("as it should");
}

#[gosched::test]
fn selects() {
    let (s, r) = gosched::chan::unbounded();
    gosched::select! { send(s, 1) -> res => assert!(res.is_ok()), recv(r) -> _ => {} }
    gosched::select! { recv(r) -> m => assert!(m == ::core::result::Result::Ok(1)), default => unreachable!() }
    gosched::select! { recv(r) -> _ => unreachable!(), default(::core::time::Duration::ZERO) => {} }
    gosched::goroutine_local! {
        static LOCAL: i32 = 5;
    }
    LOCAL.with(|n| assert!(*n == 5));
}
