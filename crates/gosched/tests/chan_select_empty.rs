//! `Select` without operations does what crossbeam's does: the same text, run with both.

mod common;

use std::time::Duration;

/// What each method of an empty `Select` gives: its value, or the text of its panic.
macro_rules! outcomes {
    ($($lib:ident)::+) => {{
        use $($lib)::+::{Select, unbounded};
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::time::Instant;

        let (_s, r) = unbounded::<i32>();
        let brief = Duration::from_millis(1);
        let mut outcomes = Vec::new();
        for kind in ["new", "biased", "emptied"] {
            let mut sel = if kind == "biased" { Select::new_biased() } else { Select::new() };
            if kind == "emptied" {
                let receive = sel.recv(&r);
                sel.remove(receive);
            }
            let mut note = |name: &str, outcome: std::thread::Result<String>| {
                let outcome = outcome.map_err(|panic| (*panic.downcast_ref::<&str>().unwrap()).to_owned());
                outcomes.push((kind, name.to_owned(), outcome));
            };
            macro_rules! method {
                ($method:ident($arg:expr)) => {
                    note(stringify!($method), catch_unwind(AssertUnwindSafe(|| format!("{:?}", sel.$method($arg)))))
                };
                ($method:ident()) => {
                    note(stringify!($method), catch_unwind(AssertUnwindSafe(|| format!("{:?}", sel.$method()))))
                };
            }
            method!(try_select());
            method!(select());
            method!(select_timeout(brief));
            method!(select_deadline(Instant::now() + brief));
            method!(try_ready());
            method!(ready());
            method!(ready_timeout(brief));
            method!(ready_deadline(Instant::now() + brief));
        }
        outcomes
    }};
}

fn compare() {
    let (ours, crossbeams) = (outcomes!(gosched::chan), outcomes!(crossbeam_channel));
    assert_eq!(ours, crossbeams);
    let panicked: Vec<_> = ours.iter().filter(|(_, _, outcome)| outcome.is_err()).collect();
    assert_eq!(panicked.len(), 6, "`select` and `ready` panic, the others don't: {panicked:?}");
    assert!(panicked.iter().all(|(_, _, outcome)| {
        outcome.as_ref().is_err_and(|text| text == "no operations have been added to `Select`")
    }));
}

/// S45: as a goroutine.
#[gosched::test]
fn an_empty_select_is_refused_as_crossbeam_does() {
    compare();
}

/// S45: on a thread.
#[test]
fn an_empty_select_is_refused_on_a_thread() {
    common::within(Duration::from_secs(60), compare);
}
