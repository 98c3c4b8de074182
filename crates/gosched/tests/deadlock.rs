//! Deadlock detection (S48): said when no goroutine can ever run again, and never otherwise.
//!
//! Without a test harness: its threads could wake a goroutine, as far as the library knows.

mod common;

use std::io::Read;
#[cfg(feature = "futures-io")]
use std::io::Write;
use std::sync::Arc;
#[cfg(feature = "futures-io")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use common::child_alone as child;
use gosched::signal::{self, Signal};
use gosched::{go, runtime, thread};

const DEAD: &str = "fatal error: all goroutines are asleep - deadlock!";

/// S48: nobody can run: the message, every goroutine with its wait reason and creator, status 2.
/// With 1, 2 and 8 Ps.
fn all_asleep() {
    for procs in [1, 2, 8] {
        let outcome = child("all_asleep", || {
            gosched::run(|| {
                let waits = thread::Builder::new().name("waits".into()).spawn(thread::park).unwrap();
                waits.join().unwrap();
            })
        })
        .procs(procs)
        .run();
        outcome.died(
            2,
            &[DEAD, "goroutine 1 [join]:", "\"waits\" [park]:", "created by goroutine 1", "deadlock.rs"],
        );
    }
}

/// S45, S48: `select! {}` waits for ever, as in Go, and is found like any other wait.
fn an_empty_select() {
    let outcome = child("an_empty_select", || gosched::run(|| gosched::select! {})).procs(2).run();
    outcome.died(2, &[DEAD, "goroutine 1 [select (no cases)]:"]);
}

/// S48: a deadlock is also found after work, sleeps, blocking calls and lost Ps.
fn asleep_after_a_life() {
    let outcome = child("asleep_after_a_life", || {
        gosched::run(|| {
            let handles: Vec<_> = (0..100)
                .map(|i| {
                    go(move || {
                        gosched::sleep(Duration::from_millis(i % 5));
                        runtime::blocking(|| std::thread::sleep(Duration::from_millis(1)));
                        std::thread::sleep(Duration::from_millis(1));
                        gosched::yield_now();
                    })
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            println!("through");
            thread::park();
        })
    })
    .procs(2)
    .run();
    assert!(outcome.stdout.contains("through"));
    outcome.died(2, &[DEAD, "goroutine 1 [park]:"]);
}

/// S48, S51: a deadlock is also found after threads of the library have ended, with the goroutines
/// that were locked to them; and not while a thread-local's destructor still runs on such a thread,
/// which may wake others.
fn asleep_after_threads_have_ended() {
    struct Wakes(thread::Thread);
    impl Drop for Wakes {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(500));
            println!("woken late");
            self.0.unpark();
        }
    }
    thread_local!(static LAST: std::cell::OnceCell<Wakes> = const { std::cell::OnceCell::new() });
    for procs in [1, 2, 8] {
        let outcome = child("asleep_after_threads_have_ended", || {
            gosched::run(|| {
                for _ in 0..100 {
                    thread::Builder::new().pinned().spawn(gosched::yield_now).unwrap().join().unwrap();
                }
                let me = thread::current();
                let wakes = move || LAST.with(|last| drop(last.set(Wakes(me))));
                thread::Builder::new().pinned().spawn(wakes).unwrap().join().unwrap();
                thread::park();
                println!("through");
                thread::park();
            })
        })
        .procs(procs)
        .run();
        assert!(outcome.stdout.contains("woken late\nthrough"), "{outcome:#?}");
        outcome.died(2, &[DEAD, "goroutine 1 [park]:"]);
    }
}

/// S48: a foreign thread that waits in our calls can't wake anybody; one that ends no longer hides
/// the deadlock.
fn foreign_threads_that_wait_or_end() {
    let outcome = child("foreign_threads_that_wait_or_end", || {
        std::thread::spawn(|| std::thread::sleep(Duration::from_millis(300)));
        std::thread::spawn(|| gosched::run(thread::park));
        thread::park();
    })
    .run();
    outcome.died(2, &[DEAD, "[park]:"]);
}

/// S48: `deadlock=0` switches it off.
fn can_be_switched_off() {
    child("can_be_switched_off", || {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            std::process::exit(0);
        });
        gosched::run(thread::park);
    })
    .env("GOSCHED_DEBUG", "deadlock=0")
    .run()
    .ok();
}

/// S48: no alarm while a timer, a blocking call (announced or not), a goroutine without a P or a
/// thread can still wake a goroutine.
fn no_false_alarm() {
    for procs in [1, 2] {
        for source in ["timer", "announced", "unannounced", "computing", "thread", "timeout"] {
            child("no_false_alarm", || {
                let source = common::arg();
                let pause = Duration::from_millis(300);
                if source == "timeout" {
                    // The main thread waits with a limit.
                    go(thread::park);
                    return thread::park_timeout(pause);
                }
                gosched::run(|| {
                    let me = thread::current();
                    match source.as_str() {
                        "timer" => return gosched::sleep(pause),
                        "announced" => return runtime::blocking(|| std::thread::sleep(pause)),
                        "unannounced" => return std::thread::sleep(pause),
                        "computing" => drop(go(move || {
                            common::compute_for(pause);
                            me.unpark();
                        })),
                        _ => drop(std::thread::spawn(move || {
                            std::thread::sleep(pause);
                            me.unpark();
                        })),
                    }
                    thread::park();
                });
            })
            .procs(procs)
            .arg(source)
            .run()
            .ok();
        }
    }
}

/// S48: a thread that is blocked outside our calls may always wake others, whatever it waits for:
/// here, for another process.
fn no_false_alarm_while_a_thread_is_blocked_outside() {
    for (procs, how) in [(1, "read"), (2, "read"), (1, "recv"), (2, "recv")] {
        child("no_false_alarm_while_a_thread_is_blocked_outside", || {
            let mut command = std::process::Command::new("sh");
            // Long enough for several looks, which are a second apart in the end.
            let other = command.args(["-c", "sleep 2.5; echo x"]).stdout(std::process::Stdio::piped());
            let mut other = other.spawn().unwrap();
            let mut from_other = other.stdout.take().unwrap();
            let (send, receive) = mpsc::channel();
            gosched::run(|| {
                let me = thread::current();
                let mut reads = move || assert_eq!(from_other.read(&mut [0; 8]).unwrap(), 2);
                if common::arg() == "read" {
                    std::thread::spawn(move || {
                        reads();
                        me.unpark();
                    });
                } else {
                    // This thread waits for another one, which is blocked outside our calls, too.
                    std::thread::spawn(move || {
                        receive.recv().unwrap();
                        me.unpark();
                    });
                    std::thread::spawn(move || {
                        reads();
                        send.send(()).unwrap();
                    });
                }
                go(thread::park);
                thread::park();
            });
            other.wait().unwrap();
        })
        .procs(procs)
        .arg(how)
        .run()
        .ok();
    }
}

/// S4, S48: the goroutine that calls the wakers of async tasks belongs to the library. It is
/// neither counted nor shown, and neither it nor the poller hides a deadlock.
#[cfg(feature = "futures-io")]
fn what_is_the_librarys_own_does_not_count() {
    use futures_io::AsyncRead;
    use std::pin::Pin;
    use std::task::{Context, Wake, Waker};

    struct Notes(AtomicBool);
    impl Wake for Notes {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    for procs in [1, 2, 8] {
        let outcome = child("what_is_the_librarys_own_does_not_count", || {
            gosched::run(|| {
                let (ours, mut theirs) = gosched::os::unix::net::UnixStream::pair().unwrap();
                let notes = Arc::new(Notes(AtomicBool::new(false)));
                let waker = Waker::from(Arc::clone(&notes));
                let mut cx = Context::from_waker(&waker);
                assert!(Pin::new(&mut &ours).poll_read(&mut cx, &mut [0; 8]).is_pending());
                let seen = || runtime::stop_the_world(|world| world.goroutines().count());
                assert_eq!((runtime::num_goroutine(), seen()), (1, 1));
                assert!(!runtime::stacks().contains("wakers"));
                theirs.write_all(b"x").unwrap();
                while !notes.0.load(Ordering::Relaxed) {
                    gosched::sleep(Duration::from_millis(1));
                }
                println!("called: yes");
                assert_eq!(runtime::num_goroutine(), 1);
                thread::park();
            })
        })
        .procs(procs)
        .run()
        .died(2, &[DEAD, "goroutine 1 [park]:"]);
        assert_eq!(outcome.value("called"), "yes");
        assert_eq!(outcome.stderr.matches("goroutine ").count(), 1, "{outcome:#?}");
    }
}

/// S48: that goroutine is shown while it runs a waker that never returns.
#[cfg(feature = "futures-io")]
fn a_waker_that_waits_is_shown() {
    use futures_io::AsyncRead;
    use std::pin::Pin;
    use std::task::{Context, Wake, Waker};

    struct Parks;
    impl Wake for Parks {
        fn wake(self: Arc<Self>) {
            thread::park();
        }
    }
    let outcome = child("a_waker_that_waits_is_shown", || {
        gosched::run(|| {
            let (ours, mut theirs) = gosched::os::unix::net::UnixStream::pair().unwrap();
            let waker = Waker::from(Arc::new(Parks));
            let mut cx = Context::from_waker(&waker);
            assert!(Pin::new(&mut &ours).poll_read(&mut cx, &mut [0; 8]).is_pending());
            theirs.write_all(b"x").unwrap();
            thread::park();
        })
    })
    .procs(2)
    .run();
    // (Of an inlined function a release build knows the name, not whose it is.)
    outcome.died(2, &[DEAD, "goroutine 1 [park]:", "\"gosched wakers\" [park]:", "wake(...)"]);
}

/// The library's own goroutine does not keep the context of the caller that started it.
#[cfg(feature = "futures-io")]
fn the_librarys_own_goroutine_keeps_no_context() {
    use futures_io::AsyncRead;
    use gosched::context;
    use std::pin::Pin;
    use std::task::{Context, Waker};

    child("the_librarys_own_goroutine_keeps_no_context", || {
        gosched::run(|| {
            let value = Arc::new(());
            let ctx = context::background().with_value(Arc::clone(&value));
            context::enter(&ctx, || {
                let (ours, _theirs) = gosched::os::unix::net::UnixStream::pair().unwrap();
                let mut cx = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut &ours).poll_read(&mut cx, &mut [0; 8]).is_pending());
            });
            drop(ctx);
            assert_eq!(Arc::strong_count(&value), 1);
        });
    })
    .procs(2)
    .run()
    .ok();
}

/// S48: what can still wake somebody changes from one thing to the next, each for long enough that
/// the monitor looks: never an alarm, and in the end one. Among them is a foreign thread that
/// waited in our calls and was woken. Seen to fail, by an alarm, when whoever wakes a foreign
/// thread does not count it out.
fn no_false_alarm_while_it_hops() {
    for procs in [1, 2, 8] {
        let outcome = child("no_false_alarm_while_it_hops", || {
            // It looks after ten idle ticks, about 75 ms.
            const PAUSE: Duration = Duration::from_millis(200);
            let (to_helper, at_helper) = gosched::chan::unbounded::<thread::Thread>();
            std::thread::spawn(move || {
                for who in at_helper {
                    std::thread::sleep(PAUSE);
                    who.unpark();
                }
            });
            gosched::run(|| {
                for _ in 0..2 {
                    let me = thread::current();
                    to_helper.send(me.clone()).unwrap();
                    thread::park();
                    go(move || {
                        gosched::sleep(PAUSE);
                        runtime::blocking(|| std::thread::sleep(PAUSE));
                        std::thread::sleep(PAUSE);
                        me.unpark();
                    });
                    thread::park();
                }
                println!("hopped: yes");
                thread::park();
            });
        })
        .procs(procs)
        .run()
        .died(2, &[DEAD, "goroutine 1 [park]:"]);
        assert_eq!(outcome.value("hopped"), "yes");
    }
}

/// S48: a signal that somebody listens for may come at any time, as in Go: no alarm meanwhile. When
/// nobody listens any more, there is one. Seen to fail when `wake_reader` does nothing.
fn listening_for_a_signal_is_no_deadlock() {
    for procs in [1, 2, 8] {
        let outcome = child("listening_for_a_signal_is_no_deadlock", || {
            let script = format!("sleep 1.5; kill -USR1 {}", std::process::id());
            let mut sender = std::process::Command::new("sh").args(["-c", &script]).spawn().unwrap();
            gosched::run(|| {
                let signals = signal::notify(&[Signal::User1]).unwrap();
                println!("caught: {}", signals.recv().unwrap());
                assert!(sender.wait().unwrap().success());
                drop(signals);
                thread::park();
            });
        })
        .procs(procs)
        .run()
        .died(2, &[DEAD, "goroutine 1 [park]:"]);
        assert_eq!(outcome.value("caught"), "SIGUSR1 (User1)");
        assert_eq!(outcome.stderr.matches("goroutine ").count(), 1, "{outcome:#?}");
    }
}

/// S48: a socket that is a case of a selection is a wait for I/O until its receiver is dropped. Seen
/// to fail when a watch that is dropped does not take its task out.
fn a_socket_as_a_case_counts_until_it_is_dropped() {
    for procs in [1, 2, 8] {
        let outcome = child("a_socket_as_a_case_counts_until_it_is_dropped", || {
            gosched::run(|| {
                let (ours, theirs) = gosched::os::unix::net::UnixStream::pair().unwrap();
                let (_never, nothing) = gosched::chan::bounded::<()>(0);
                let other = theirs.readable();
                gosched::select! {
                    recv(ours.readable()) -> _ => unreachable!("nobody writes"),
                    recv(nothing) -> _ => unreachable!("nobody sends"),
                    // Long enough for several looks.
                    default(Duration::from_secs(1)) => {}
                }
                println!("no alarm: yes");
                drop(other);
                thread::park();
            });
        })
        .procs(procs)
        .run()
        .died(2, &[DEAD, "goroutine 1 [park]:"]);
        assert_eq!(outcome.value("no alarm"), "yes");
        assert_eq!(outcome.stderr.matches("goroutine ").count(), 1, "{outcome:#?}");
    }
}

/// D4: goroutines wait for a stack, and all that have one wait for those: the process ends with
/// count and remedy, status 2.
fn out_of_stacks() {
    for procs in [1, 2, 8] {
        let outcome = child("out_of_stacks", || {
            gosched::run(|| {
                let n = 2 * common::allow_few_stacks();
                let all = Arc::new(gosched::sync::Barrier::new(n));
                let handles: Vec<_> = (0..n)
                    .map(|_| {
                        let all = Arc::clone(&all);
                        common::go_large(move || all.wait().is_leader())
                    })
                    .collect();
                handles.into_iter().for_each(|handle| drop(handle.join()));
            })
        })
        .procs(procs)
        .run();
        let said = [
            "fatal error: out of goroutine stacks: ",
            " goroutines wait for one",
            "67108864 bytes",
            "raise the limit",
        ];
        outcome.died(2, &said);
    }
}

fn main() {
    common::run_tests(&[
        ("all_asleep", all_asleep),
        ("an_empty_select", an_empty_select),
        ("asleep_after_a_life", asleep_after_a_life),
        ("asleep_after_threads_have_ended", asleep_after_threads_have_ended),
        ("foreign_threads_that_wait_or_end", foreign_threads_that_wait_or_end),
        ("can_be_switched_off", can_be_switched_off),
        ("out_of_stacks", out_of_stacks),
        ("no_false_alarm", no_false_alarm),
        (
            "no_false_alarm_while_a_thread_is_blocked_outside",
            no_false_alarm_while_a_thread_is_blocked_outside,
        ),
        ("no_false_alarm_while_it_hops", no_false_alarm_while_it_hops),
        ("listening_for_a_signal_is_no_deadlock", listening_for_a_signal_is_no_deadlock),
        ("a_socket_as_a_case_counts_until_it_is_dropped", a_socket_as_a_case_counts_until_it_is_dropped),
        #[cfg(feature = "futures-io")]
        ("what_is_the_librarys_own_does_not_count", what_is_the_librarys_own_does_not_count),
        #[cfg(feature = "futures-io")]
        ("a_waker_that_waits_is_shown", a_waker_that_waits_is_shown),
        #[cfg(feature = "futures-io")]
        ("the_librarys_own_goroutine_keeps_no_context", the_librarys_own_goroutine_keeps_no_context),
    ]);
}
