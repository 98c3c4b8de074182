//! `select!` and `select_biased!` take what crossbeam's take, and give the same: a table of forms,
//! the same text compiled with both.
//!
//! Each file of `select_forms/` is included four times: for ours and crossbeam's `select!` and
//! `select_biased!`. That they compile is the test; then all are run, ours on a thread and as
//! goroutines, and each must give what crossbeam's gives. In each form at most one case is ready,
//! or it does not matter which one is taken.
//!
//! A form that crossbeam takes and ours does not is added here before it is fixed.

mod common;

use std::cell::RefCell;

/// What each form gives, by its name.
type Table = &'static [(&'static str, fn() -> String)];

/// Notes what happens in which order, and when the values that it hands out are dropped.
#[derive(Default)]
struct Order(RefCell<Vec<&'static str>>);

impl Order {
    fn note(&self, what: &'static str) {
        self.0.borrow_mut().push(what);
    }

    fn kept<T>(&self, name: &'static str, value: T) -> Kept<'_, T> {
        Kept(name, value, self)
    }

    fn seen(&self) -> Vec<&'static str> {
        self.0.borrow().clone()
    }
}

/// A value whose drop is noted.
struct Kept<'a, T>(&'static str, T, &'a Order);

impl<T> std::ops::Deref for Kept<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.1
    }
}

impl<T> Drop for Kept<'_, T> {
    fn drop(&mut self) {
        self.2.note(self.0);
    }
}

/// The forms: `name => { body }`, where the body's value can be printed.
macro_rules! table {
    ($($name:ident => $body:block)*) => {
        $(fn $name() -> String {
            format!("{:?}", $body)
        })*
        pub const TABLE: crate::Table = &[$((stringify!($name), $name)),*];
    };
}

/// All forms, with the channels of `$lib` and its macro `$macro`.
macro_rules! instance {
    ($instance:ident, $($lib:ident)::+, $macro:ident) => {
        // Forms are as users write them, not as we would.
        #[allow(clippy::all, clippy::undocumented_unsafe_blocks, unused, unreachable_code)]
        mod $instance {
            pub mod grammar { instance!(@prelude $($lib)::+, $macro); include!("select_forms/grammar.rs"); }
            pub mod operands { instance!(@prelude $($lib)::+, $macro); include!("select_forms/operands.rs"); }
            pub mod results { instance!(@prelude $($lib)::+, $macro); include!("select_forms/results.rs"); }
            pub mod borrows { instance!(@prelude $($lib)::+, $macro); include!("select_forms/borrows.rs"); }
            pub mod through { instance!(@prelude $($lib)::+, $macro); include!("select_forms/through.rs"); }
            pub const TABLES: [(&str, crate::Table); 5] = [
                ("grammar", grammar::TABLE),
                ("operands", operands::TABLE),
                ("results", results::TABLE),
                ("borrows", borrows::TABLE),
                ("through", through::TABLE),
            ];
        }
    };
    (@prelude $($lib:ident)::+, $macro:ident) => {
        use crate::{Kept, Order};
        use ch::{Receiver, Sender, bounded, unbounded};
        use std::time::Duration;
        use $($lib)::+ as ch;
        use $($lib)::+::$macro as sel;

        const BRIEF: Duration = Duration::from_millis(1);
        const HOUR: Duration = Duration::from_secs(3600);

        /// A channel with one value in it.
        fn one(value: i32) -> (Sender<i32>, Receiver<i32>) {
            let (s, r) = unbounded();
            s.send(value).unwrap();
            (s, r)
        }

        fn empty() -> (Sender<i32>, Receiver<i32>) {
            unbounded()
        }

        /// A channel without a buffer, to which nobody listens.
        fn full() -> (Sender<i32>, Receiver<i32>) {
            bounded(0)
        }

        fn same<T>(value: T) -> T {
            value
        }
    };
}

instance!(fair, gosched::chan, select);
instance!(biased, gosched::chan, select_biased);
instance!(crossbeam_fair, crossbeam_channel, select);
instance!(crossbeam_biased, crossbeam_channel, select_biased);

/// Runs both tables and compares them, form by form. Returns how many there were.
fn compare(ours: &[(&str, Table)], crossbeams: &[(&str, Table)]) -> usize {
    let mut forms = 0;
    for ((file, ours), (_, crossbeams)) in ours.iter().zip(crossbeams) {
        for ((name, ours), (_, crossbeams)) in ours.iter().zip(*crossbeams) {
            assert_eq!(ours(), crossbeams(), "{file}/{name}");
            forms += 1;
        }
    }
    forms
}

/// S45: on a thread.
#[test]
fn each_form_gives_what_crossbeams_gives_on_a_thread() {
    common::within(std::time::Duration::from_secs(60), || {
        let forms = compare(&fair::TABLES, &crossbeam_fair::TABLES);
        assert_eq!(forms, compare(&biased::TABLES, &crossbeam_biased::TABLES));
        assert!(forms >= 128, "{forms}");
        println!("{forms} forms");
    });
}

/// S45: as a goroutine.
#[gosched::test]
fn each_form_gives_what_crossbeams_gives_as_a_goroutine() {
    compare(&fair::TABLES, &crossbeam_fair::TABLES);
    compare(&biased::TABLES, &crossbeam_biased::TABLES);
}
