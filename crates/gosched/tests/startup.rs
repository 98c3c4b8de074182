//! From first use to exit (S6, S7, S32, D9): settings, `run`, foreign threads, fork.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::runtime::{self, Config, ConfigError};
use gosched::thread::{self, Builder};

fn procs() -> usize {
    thread::available_parallelism().unwrap().get()
}

/// S6: a bad GOMAXPROCS, GOSCHED_STACK or GOSCHED_DEBUG is named on standard error, and the program
/// runs.
#[test]
fn bad_settings_are_named() {
    let child = common::child("bad_settings_are_named", || {
        assert_eq!(procs(), runtime::num_cpu());
        assert_eq!(gosched::run(|| gosched::go(|| 6).join().unwrap()), 6);
    });
    for bad in ["many", "0", "-3", "1.5", "1025", "99999999999999999999", "2 4"] {
        let outcome = child.clone().env("GOMAXPROCS", bad).run().ok();
        let outcome = outcome.said(&["GOMAXPROCS", &format!("{bad:?}")]);
        assert_eq!(outcome.stderr.matches("GOMAXPROCS").count(), 1, "{outcome:?}");
    }
    for bad in ["x", "1", "99999999999999"] {
        child.clone().env("GOSCHED_STACK", bad).run().ok().said(&["GOSCHED_STACK", &format!("{bad:?}")]);
    }
    for bad in ["colour=red", "seed=x", "randomize"] {
        child.clone().env("GOSCHED_DEBUG", bad).run().ok().said(&["GOSCHED_DEBUG", "ignored"]);
    }
    let silent =
        child.clone().env("GOMAXPROCS", "").env("GOSCHED_STACK", "").env("GOSCHED_DEBUG", "").run().ok();
    assert!(!silent.stderr.contains("gosched"), "{silent:?}");
}

/// S6: the environment counts, and what is set in code overrides it.
#[test]
fn code_wins_over_the_environment() {
    let child = common::child("code_wins_over_the_environment", || {
        if common::arg() == "code" {
            Config::new().maxprocs(3).install().unwrap();
        }
        println!("procs: {}", procs());
    });
    assert_eq!(child.clone().arg("environment").procs(5).run().ok().value("procs"), "5");
    assert_eq!(child.clone().arg("environment").procs(1024).run().ok().value("procs"), "1024");
    let outcome = child.clone().arg("code").procs(5).run().ok();
    assert_eq!(outcome.value("procs"), "3");
    let outcome = child.arg("code").env("GOMAXPROCS", "nonsense").run().ok();
    assert_eq!(outcome.value("procs"), "3");
}

/// S6: without either, the CPUs in the process's affinity mask count.
#[test]
fn the_affinity_mask_counts() {
    let child = common::child("the_affinity_mask_counts", || {
        // SAFETY: cpu_set_t is plain data, read by the call.
        unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
            assert_eq!(libc::sched_setaffinity(libc::getpid(), size_of_val(&one), &one), 0);
        }
        assert_eq!((runtime::num_cpu(), procs()), (1, 1));
    });
    child.run().ok();
}

/// S6: a `Config` is refused if a value is impossible, and if the runtime has started.
#[test]
fn configs_are_refused() {
    let child = common::child("configs_are_refused", || {
        assert_eq!(Config::new().maxprocs(0).install(), Err(ConfigError::MaxProcs(0)));
        assert_eq!(Config::new().maxprocs(1025).install(), Err(ConfigError::MaxProcs(1025)));
        assert_eq!(Config::new().max_threads(0).install(), Err(ConfigError::MaxThreads));
        for size in [0, 1, 4096, (1 << 30) + 1, usize::MAX] {
            let error = Config::new().stack_size(size).install().unwrap_err();
            assert!(matches!(error, ConfigError::StackSize(_)), "{size}: {error}");
            assert!(error.to_string().contains("stack"), "{error}");
        }
        Config::new().maxprocs(7).install().unwrap();
        Config::new().maxprocs(2).install().unwrap(); // not yet started: the last one counts
        assert_eq!(gosched::run(procs), 2);
        let late = Config::new().maxprocs(4).install().unwrap_err();
        assert_eq!(late, ConfigError::AlreadyStarted);
        assert!(late.to_string().contains("started"), "{late}");
        assert_eq!(procs(), 2);
    });
    child.run().ok();
}

/// S1, S7: the closure of the first `run` is goroutine 1, whatever came before; the next ones get
/// the next ids.
#[test]
fn main_is_goroutine_1() {
    let child = common::child("main_is_goroutine_1", || {
        let before = gosched::go(runtime::goroutine_id).join().unwrap();
        assert!(before > Some(1), "{before:?}");
        assert_eq!(runtime::goroutine_id(), None);
        assert_eq!(gosched::run(runtime::goroutine_id), Some(1));
        let again = gosched::run(|| {
            let nested = gosched::run(runtime::goroutine_id);
            (runtime::goroutine_id(), nested)
        });
        assert!(again.0 > Some(1) && again.1 > Some(1) && again.0 != again.1, "{again:?}");
    });
    child.run().ok();
}

/// S7: `run` borrows, returns the closure's value, nests, and its panic resumes in the caller,
/// nested too.
#[gosched::test]
fn run_nests_and_borrows() {
    let mut text = String::from("a");
    let length = gosched::run(|| {
        text.push('b');
        gosched::run(|| {
            text.push('c');
            text.len()
        })
    });
    assert_eq!((length, text.as_str()), (3, "abc"));
    let panic =
        catch_unwind(AssertUnwindSafe(|| gosched::run(|| gosched::run(|| std::panic::panic_any(5_u8)))));
    assert_eq!(panic.unwrap_err().downcast_ref::<u8>(), Some(&5));
}

/// S7: from several threads at once, each caller waits for its own; other goroutines live on in
/// between.
#[test]
fn run_from_several_threads_at_once() {
    let child = common::child("run_from_several_threads_at_once", || {
        let survivor = gosched::run(|| gosched::go(thread::park));
        let (start, ids) = (Barrier::new(8), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for i in 0..8 {
                let (start, ids) = (&start, &ids);
                s.spawn(move || {
                    start.wait();
                    for round in 0..50 {
                        let handles =
                            gosched::run(|| (0..10).map(|j| gosched::go(move || i * j)).collect::<Vec<_>>());
                        let sum: usize = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
                        assert_eq!(sum, 45 * i, "round {round}");
                        ids.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(ids.load(Ordering::Relaxed), 400);
        assert!(!survivor.is_finished());
        survivor.thread().unpark();
        survivor.join().unwrap();
    });
    for procs in [1, 2, 8] {
        child.clone().procs(procs).run().ok();
    }
}

/// S6: the very first use from many threads at once starts one runtime.
#[test]
fn the_first_use_may_be_anywhere() {
    let child = common::child("the_first_use_may_be_anywhere", || {
        let (start, mains) = (Barrier::new(8), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for i in 0..8 {
                let (start, mains) = (&start, &mains);
                s.spawn(move || {
                    start.wait();
                    if i % 2 == 0 {
                        assert_eq!(gosched::go(move || i).join().unwrap(), i);
                    } else {
                        let main = gosched::run(|| runtime::goroutine_id() == Some(1));
                        mains.fetch_add(usize::from(main), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(mains.load(Ordering::Relaxed), 1);
    });
    for _ in 0..5 {
        child.run().ok();
    }
}

/// S7: when main has returned, the program ends without waiting for the others, whatever they do.
#[test]
fn nobody_waits_for_the_others() {
    let child = common::child("nobody_waits_for_the_others", || {
        static STARTED: AtomicBool = AtomicBool::new(false);
        gosched::run(|| {
            gosched::go(thread::park);
            gosched::go(|| {
                STARTED.store(true, Ordering::Relaxed);
                loop {
                    gosched::yield_now();
                }
            });
            while !STARTED.load(Ordering::Relaxed) {
                gosched::yield_now();
            }
        });
        println!("main: returned");
    });
    let outcome = child.limit(Duration::from_secs(20)).run().ok();
    assert_eq!(outcome.value("main"), "returned");
}

/// S32: needing more threads than allowed ends the process, with the number.
#[test]
fn thread_exhaustion_is_said() {
    let child = common::child("thread_exhaustion_is_said", || {
        Config::new().maxprocs(2).max_threads(1).install().unwrap();
        gosched::run(|| {
            let handles: Vec<_> = (0..100).map(|_| gosched::go(gosched::yield_now)).collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
    });
    child.run().died(2, &["fatal error: thread exhaustion", " 1 thread"]);
}

/// D9: Ms do not inherit the signal mask or the affinity of the thread that starts the runtime.
#[test]
fn workers_inherit_nothing_from_the_first_user() {
    let child = common::child("workers_inherit_nothing_from_the_first_user", || {
        std::thread::spawn(|| {
            // SAFETY: sets and reads plain data of this frame.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&mut set);
                libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
                libc::sched_setaffinity(0, size_of_val(&one), &one);
            }
            let (blocked, cpus) = gosched::run(|| {
                // SAFETY: as above.
                unsafe {
                    let mut set: libc::sigset_t = std::mem::zeroed();
                    libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &mut set);
                    let mut cpus: libc::cpu_set_t = std::mem::zeroed();
                    libc::sched_getaffinity(0, size_of_val(&cpus), &mut cpus);
                    (libc::sigismember(&set, libc::SIGUSR1), libc::CPU_COUNT(&cpus))
                }
            });
            assert_eq!(blocked, 0, "the worker has its creator's signal mask");
            // SAFETY: as above.
            let all = unsafe {
                let mut cpus: libc::cpu_set_t = std::mem::zeroed();
                libc::sched_getaffinity(libc::getpid(), size_of_val(&cpus), &mut cpus);
                libc::CPU_COUNT(&cpus)
            };
            assert_eq!(cpus, all, "the worker has its creator's affinity");
        })
        .join()
        .unwrap();
    });
    child.run().ok();
}

/// D9: after a fork without exec the runtime is dead in the child: a call that needs it ends the
/// process with a message instead of hanging; the parent continues.
#[test]
fn use_after_fork_is_fatal() {
    let child = common::child("use_after_fork_is_fatal", || {
        let parked = gosched::run(|| gosched::go(thread::park));
        // SAFETY: the child uses nothing that another thread may have locked, but what is under
        // test.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            match common::arg().as_str() {
                "go" => drop(gosched::go(|| ())),
                "run" => gosched::run(|| ()),
                "builder" => drop(Builder::new().spawn(|| ())),
                "join" => drop(parked.join()),
                "park" => thread::park(),
                "sleep" => thread::sleep(Duration::from_millis(1)),
                "yield" => thread::yield_now(),
                "scope" => thread::scope(|s| drop(s.spawn(|| ()))),
                _ => {}
            }
            // SAFETY: _exit has no preconditions.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the child is ours, and the status this frame's.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert!(libc::WIFEXITED(status));
        println!("status: {}", libc::WEXITSTATUS(status));
        parked.thread().unpark();
        parked.join().unwrap();
    });
    let child = child.limit(Duration::from_secs(20));
    for entry in ["go", "run", "builder", "join", "park", "sleep", "yield", "scope"] {
        let outcome = child.clone().arg(entry).run().ok().said(&["fatal error:", "fork"]);
        assert_eq!(outcome.value("status"), "2", "{entry}");
    }
    assert_eq!(child.arg("nothing").run().ok().value("status"), "0");
}

/// D9: a goroutine may start other programs: fork with exec is fine.
#[gosched::test]
fn fork_with_exec_is_fine() {
    let output = std::process::Command::new("echo").arg("hello").output().unwrap();
    assert_eq!(output.stdout, b"hello\n");
    assert_eq!(gosched::go(|| 4).join().unwrap(), 4);
}
