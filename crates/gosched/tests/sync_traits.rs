//! The locks have the auto traits of std's, for the same reasons: checked side by side, at run
//! time, for types that have them and types that have not.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use gosched::sync as ours;
use std::sync as theirs;

/// Whether `T` is `Send` and so on: the inherent function is there if it is, else the trait's.
struct Probe<T: ?Sized>(PhantomData<T>);

macro_rules! probes {
    ($($name:ident: $marker:path, $no:ident;)*) => {
        $(
            trait $no {
                fn $name() -> bool {
                    false
                }
            }
            impl<T: ?Sized> $no for Probe<T> {}
            impl<T: ?Sized + $marker> Probe<T> {
                fn $name() -> bool {
                    true
                }
            }
        )*

        macro_rules! traits_of {
            ($of:ty) => {
                [$(<Probe<$of>>::$name()),*]
            };
        }
    };
}

probes! {
    send: Send, NotSend;
    sync: Sync, NotSync;
    unpin: Unpin, NotUnpin;
    unwind: UnwindSafe, NotUnwind;
    ref_unwind: RefUnwindSafe, NotRefUnwind;
}

macro_rules! same {
    ($($of:ident)::+ $(<$($arg:tt)*)?) => {
        assert_eq!(
            traits_of!(ours::$($of)::+ $(<$($arg)*)?),
            traits_of!(theirs::$($of)::+ $(<$($arg)*)?),
            "{}",
            stringify!($($of)::+ $(<$($arg)*)?),
        );
    };
}

macro_rules! same_for_all {
    ($($($of:ident)::+ $(<$life:lifetime>)?;)*) => {
        $(
            same!($($of)::+<$($life,)? u8>);
            same!($($of)::+<$($life,)? Rc<u8>>);
            same!($($of)::+<$($life,)? Cell<u8>>);
            same!($($of)::+<$($life,)? *const u8>);
            same!($($of)::+<$($life,)? &'static mut Cell<u8>>);
            same!($($of)::+<$($life,)? std::marker::PhantomPinned>);
            same!($($of)::+<$($life,)? std::sync::MutexGuard<'static, u8>>);
        )*
    };
}

#[test]
fn the_same_auto_traits() {
    same_for_all! {
        Mutex;
        MutexGuard<'static>;
        RwLock;
        RwLockReadGuard<'static>;
        RwLockWriteGuard<'static>;
        OnceLock;
        LazyLock;
        mpsc::Sender;
        mpsc::SyncSender;
        mpsc::Receiver;
        mpsc::Iter<'static>;
        mpsc::TryIter<'static>;
        mpsc::IntoIter;
    }
    same!(Condvar);
    same!(Barrier);
    same!(BarrierWaitResult);
    same!(WaitTimeoutResult);
    same!(Once);
}

/// The probes can say no.
#[test]
fn the_probes_work() {
    assert_eq!(traits_of!(u8), [true; 5]);
    assert_eq!(traits_of!(Rc<Cell<u8>>), [false, false, true, false, false]);
    assert!(!traits_of!(ours::MutexGuard<'static, u8>)[0], "guards stay with their goroutine");
}
