//! The attribute macros of gosched. Use them as `gosched::main` and `gosched::test`.
//!
//! This file only joins the parts: `args.rs` reads the attribute's arguments, `item.rs` reads the
//! function below it, `expand.rs` writes the new function, `error.rs` reports mistakes. They all
//! work on `proc_macro2` streams, so that unit tests can call them.
//!
//! A function is parsed by hand instead of with `syn`: only its ends matter here (attributes and
//! signature in front, body at the end), types and bodies pass through untouched, and every user's
//! build is some seconds shorter.

#![forbid(unsafe_code)]

mod args;
mod error;
mod expand;
mod item;

use proc_macro::TokenStream;

/// Makes a function the main goroutine of a program.
///
/// ```text
/// use std::error::Error;
///
/// #[gosched::main]
/// fn main() -> Result<(), Box<dyn Error>> {
///     let answer = gosched::go(|| 6 * 7).join().unwrap();
///     println!("{answer}");
///     Ok(())
/// }
/// ```
///
/// The function may return whatever an ordinary `main` may return. When it returns, the program
/// ends, and goroutines that still run end with it, as in Go.
///
/// The attribute takes no arguments. The number of processors comes from the machine or from
/// `GOMAXPROCS`; to set it in code, use `gosched::runtime::maxprocs` inside the function.
#[proc_macro_attribute]
pub fn main(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::main(args.into(), item.into()).into()
}

/// Makes a function a test that runs in a goroutine of its own.
///
/// ```text
/// #[gosched::test]
/// fn a_goroutine_answers() {
///     assert_eq!(gosched::go(|| 6 * 7).join().unwrap(), 42);
/// }
///
/// #[gosched::test(timeout = "500ms")]
/// fn in_time() -> std::io::Result<()> {
///     Ok(())
/// }
/// ```
///
/// A test that exceeds its time limit (60 seconds unless `timeout` is given) fails with a dump of
/// all goroutines. The limit is a whole number and a unit: `"500ms"`, `"60s"` or `"2m"`.
///
/// `#[should_panic]`, `#[ignore]`, `#[cfg]` and doc comments work as with `#[test]`, which must not
/// be present as well. The function may return whatever a `#[test]` may return.
///
/// # Other attributes, and the time limit
///
/// Write `#[gosched::test]` **above** other attributes that change the test, like `#[serial]` of
/// the crate `serial_test`:
///
/// ```text
/// #[gosched::test(timeout = "5s")]
/// #[serial]
/// fn alone() {}
/// ```
///
/// What is below it runs on the harness's thread, around the goroutine and its time limit: here the
/// five seconds begin when the test has its turn. What is above it runs inside the goroutine, and
/// counts into the limit. For `#[serial]` that is worse than a wait: its lock belongs to a thread,
/// which several goroutines share, and which a goroutine may change. So with `#[serial]` above,
/// tests run at the same time.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::test(args.into(), item.into()).into()
}
