//! Helpers of the tests that look inside: headers that are no goroutines, and children of the test
//! binary.

use core::ptr::NonNull;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use gosched_primitives::Parked;

use crate::debug::{self, Policy};
use crate::g::G;
use crate::m::M;

/// Headers in the state of queued goroutines. They have no closure: nobody may run them.
pub(crate) fn runnable(n: usize) -> Vec<NonNull<G>> {
    (0..n)
        .map(|_| {
            let g: &'static G = Box::leak(Box::new(G::idle()));
            g.create();
            NonNull::from(g)
        })
        .collect()
}

/// Headers in the state of parked goroutines.
pub(crate) fn waiting(n: usize) -> Vec<NonNull<G>> {
    let gs = runnable(n);
    let m = M::new();
    for g in &gs {
        // SAFETY: leaked by `runnable`.
        let g = unsafe { g.as_ref() };
        g.execute(m);
        g.park();
        assert_eq!(g.park_m(), Parked::Waiting);
    }
    gs
}

/// Whether `policy` is on. A test that shows a policy asks, and ends if it is off; all other tests
/// pass without policies.
pub(crate) fn shows(policy: Policy) -> bool {
    let on = !debug::get().off.contains(policy);
    if !on {
        println!("this shows the policy {}, which is off", policy.name());
    }
    on
}

const CHILD: &str = "GOSCHED_TEST_CHILD";
const LIMIT: Duration = Duration::from_secs(60);

/// What a child process left behind.
pub(crate) struct ExitedChild {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

/// The exit status of a child whose body has returned. Not 0, with which a test binary ends that
/// finds no test of the name.
const DONE: i32 = 43;

/// Whether this process is the child that runs the test called `name`.
fn is_child(name: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|child| child == name)
}

/// Runs `body` in a child process with `procs` Ps: the test called `name` starts the test binary
/// again, for this test alone. Returns in the parent only. A child that hangs is killed, and the
/// test fails.
pub(crate) fn in_child(name: &str, procs: u32, body: impl FnOnce() + Send) -> Option<ExitedChild> {
    if is_child(name) {
        crate::run(body);
        std::process::exit(DONE);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        .env("GOMAXPROCS", procs.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text).unwrap_or_default()
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name}: the child did not end within {LIMIT:?}:\n{}", reader.join().unwrap());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Some(ExitedChild { status, stderr: reader.join().unwrap() })
}

/// As [`in_child`], for a body that must succeed.
pub(crate) fn succeeds_in_child(name: &str, procs: u32, body: impl FnOnce() + Send) {
    if let Some(ended) = in_child(name, procs, body) {
        assert_eq!(ended.status.code(), Some(DONE), "{name}: {}\n{}", ended.status, ended.stderr);
    }
}
