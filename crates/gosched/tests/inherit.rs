//! What the threads and programs inherit that a goroutine starts: what the process had, not what
//! the runtime asks of the kernel for its own threads (D9).

mod common;

use std::time::Duration;

use common::{Child, child, compute_for, until_waiting};
use gosched::{go, thread};

const PROCS: [usize; 3] = [1, 2, 8];

/// What a thread inherits from the one that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inherited {
    slack: u64,
    slice: u64,
    nice: i32,
}

impl Inherited {
    /// The calling thread's.
    fn here() -> Inherited {
        /// The kernel's `struct sched_attr`, in its first form.
        #[repr(C)]
        #[derive(Default)]
        struct SchedAttr {
            size: u32,
            policy: u32,
            flags: u64,
            nice: i32,
            priority: u32,
            runtime: u64,
            deadline: u64,
            period: u64,
        }
        let mut attr = SchedAttr::default();
        let size = size_of::<SchedAttr>() as u32;
        // SAFETY: the kernel writes no more than `size` bytes of `attr`.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) };
        assert_eq!(got, 0);
        assert_eq!(attr.flags & 1, 0, "SCHED_FLAG_RESET_ON_FORK is ours, too");
        Inherited { slack: slack(), slice: attr.runtime, nice: attr.nice }
    }

    /// That of a thread which the caller makes.
    fn by_a_thread() -> Inherited {
        std::thread::spawn(Inherited::here).join().unwrap()
    }

    /// That of a program which the caller starts.
    fn by_a_program() -> String {
        Child::of("report").ignored().run().ok().value("inherited").to_owned()
    }
}

/// The calling thread's timer slack.
fn slack() -> u64 {
    // SAFETY: asks for a number.
    unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) as u64 }
}

/// Run by other tests, as the program that they start.
#[test]
#[ignore = "only says what it has inherited"]
fn report() {
    println!("\ninherited: {:?}", Inherited::here());
}

/// Many short sleeps, and some computing beside them: every M has slept until a timer, and some
/// have lost their P.
fn use_all_threads() {
    let handles = (0..8).map(|i| {
        go(move || {
            (0..20).for_each(|_| thread::sleep(Duration::from_millis(1)));
            if i % 2 == 0 {
                compute_for(Duration::from_millis(60));
            }
        })
    });
    common::join_all(handles.collect());
}

/// Each of `n` goroutines has the slack of the process, and all that it starts has inherited what
/// the process had.
fn check(expected: Inherited, n: usize) {
    let looks = |_| {
        go(move || {
            thread::sleep(Duration::from_millis(1));
            assert_eq!(slack(), expected.slack, "user code does not run with our slack");
            assert_eq!(Inherited::by_a_thread(), expected);
            assert_eq!(Inherited::by_a_program(), format!("{expected:?}"));
        })
    };
    common::join_all((0..n).map(looks).collect());
}

/// The timer slack and time slice of an M are not inherited.
#[test]
fn threads_and_programs_inherit_what_the_process_had() {
    for procs in PROCS {
        child("threads_and_programs_inherit_what_the_process_had", || {
            let expected = Inherited::by_a_thread();
            gosched::run(move || {
                use_all_threads();
                check(expected, 8);
            });
        })
        .procs(procs)
        .run()
        .ok();
    }
}

/// The same with the poller, in which the keeper then sleeps.
#[test]
fn also_after_sleeping_in_the_poller() {
    for procs in PROCS {
        child("also_after_sleeping_in_the_poller", || {
            let expected = Inherited::by_a_thread();
            gosched::run(move || {
                let quiet = gosched::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                go(move || quiet.recv(&mut [0; 8]));
                until_waiting("IO wait", 1);
                use_all_threads();
                check(expected, 8);
            });
        })
        .procs(procs)
        .run()
        .ok();
    }
}

/// Sets the calling thread's timer slack.
fn set_slack(nanos: u64) {
    // SAFETY: takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos) };
}

/// A program that was started with another timer slack passes that one on, whichever thread starts
/// the runtime.
#[test]
fn a_slack_of_the_users_is_passed_on() {
    let child = child("a_slack_of_the_users_is_passed_on", || {
        let expected = Inherited::by_a_thread();
        assert_eq!(expected.slack, 70_000);
        set_slack(80_000);
        gosched::run(move || {
            use_all_threads();
            check(expected, 4);
        });
    });
    let start = move || {
        set_slack(70_000);
        child.procs(2).run().ok();
    };
    std::thread::spawn(start).join().unwrap();
}

/// A nice value is passed on: also one below 0, if the system allows it. (The flag that resets the
/// slice would reset that, too.)
#[test]
fn a_nice_value_is_passed_on() {
    for nice in ["5", "-5"] {
        child("a_nice_value_is_passed_on", || {
            let nice = common::arg().parse().unwrap();
            // SAFETY: takes numbers; 0 is the calling thread.
            if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } != 0 {
                return println!("may not have a nice value of {nice}");
            }
            let expected = Inherited::by_a_thread();
            assert_eq!(expected.nice, nice);
            gosched::run(move || {
                use_all_threads();
                check(expected, 4);
            });
        })
        .arg(nice)
        .procs(2)
        .run()
        .ok();
    }
}

/// The longer slice of a thread that computes without a P is not inherited.
#[test]
fn a_long_slice_is_not_passed_on() {
    for procs in [1, 2] {
        child("a_long_slice_is_not_passed_on", || {
            let expected = Inherited::by_a_thread();
            gosched::run(move || {
                let looks = |_| {
                    go(move || {
                        compute_for(Duration::from_millis(100));
                        assert_eq!(Inherited::by_a_thread(), expected);
                    })
                };
                common::join_all((0..8).map(looks).collect());
            });
        })
        .procs(procs)
        .run()
        .ok();
    }
}
