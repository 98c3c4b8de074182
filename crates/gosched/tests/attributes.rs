//! `#[gosched::test]`: each form, passing and failing. (The examples of `#[gosched::main]` test
//! that macro.)

mod common;

use common::Child;
use gosched::{runtime, thread};

/// The body is a goroutine.
#[gosched::test]
fn runs_as_a_goroutine() {
    assert!(runtime::goroutine_id().is_some());
    assert_eq!(gosched::go(|| 2).join().unwrap(), 2);
}

/// A test may return a result; `?` works, also with an error that is not `Send`.
#[gosched::test]
fn may_return_a_result() -> Result<(), Box<dyn std::error::Error>> {
    let n: u8 = "12".parse()?;
    assert_eq!(n, 12);
    Ok(())
}

/// A test may have `#[should_panic]`.
#[gosched::test]
#[should_panic(expected = "as it should")]
fn may_have_to_panic() {
    gosched::yield_now();
    panic!("as it should");
}

/// A limit of its own.
#[gosched::test(timeout = "500s")]
fn may_have_a_limit() {}

/// Attributes below `#[gosched::test]` see a function that returns `()` or a `Result`: there are
/// some, like `#[serial]`, that know no other. Seen not to compile when it returned an `ExitCode`.
#[test]
fn is_a_function_that_returns_a_result() {
    fn returns_result<E: std::fmt::Debug>(test: fn() -> Result<(), E>) {
        test().unwrap();
    }
    returns_result(runs_as_a_goroutine);
    returns_result(may_return_a_result);
    let _nothing: fn() = may_have_to_panic;
}

/// A name that is a keyword.
#[gosched::test]
fn r#try() {}

#[gosched::test]
#[ignore = "fails: run by errors_and_panics_fail"]
fn returns_an_error() -> Result<(), String> {
    Err("an error it was".to_owned())
}

#[gosched::test]
#[ignore = "fails: run by errors_and_panics_fail"]
fn panics() {
    panic!("a panic it was");
}

#[gosched::test]
#[should_panic]
#[ignore = "fails: run by errors_and_panics_fail"]
fn does_not_panic() {}

/// An error, a panic, and a missing panic fail the test, and say why.
#[test]
fn errors_and_panics_fail() {
    Child::of("returns_an_error").ignored().run().died(101, &["an error it was"]);
    Child::of("panics").ignored().run().died(101, &["a panic it was", "goroutine "]);
    let outcome = Child::of("does_not_panic").ignored().run().died(101, &[]);
    assert!(outcome.stdout.contains("did not panic"), "{outcome:#?}");
}

#[gosched::test(timeout = "300ms")]
#[ignore = "hangs: run by a_hanging_test_dumps_and_fails"]
fn hangs() {
    let stuck = thread::Builder::new().name("stuck".into()).spawn(thread::park).unwrap();
    stuck.join().unwrap();
}

#[gosched::test(timeout = "300ms")]
#[should_panic]
#[ignore = "hangs: run by a_hanging_test_dumps_and_fails"]
fn hangs_instead_of_panicking() {
    thread::park();
}

#[gosched::test(timeout = "300ms")]
#[ignore = "loops: run by a_hanging_test_dumps_and_fails"]
fn loops() {
    loop {
        std::hint::spin_loop();
    }
}

/// A test that exceeds its limit fails with a dump: each goroutine by name, what it waits for, and
/// where it was created.
#[test]
fn a_hanging_test_dumps_and_fails() {
    let dump = ["did not end within 300ms", "\"stuck\" [park", "[join", "attributes.rs"];
    Child::of("hangs").ignored().procs(2).run().died(101, &dump);
    Child::of("hangs").ignored().procs(1).run().died(101, &dump);
    let outcome = Child::of("hangs_instead_of_panicking").ignored().run();
    outcome.died(101, &["did not end within 300ms", "[park"]);
    Child::of("loops").ignored().procs(1).run().died(101, &["did not end within 300ms", "[running]"]);
}
