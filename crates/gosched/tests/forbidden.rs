//! A seccomp filter that a program installs after the runtime has started, and that forbids what
//! the runtime relies on.

mod common;

use std::time::Duration;

use common::{child, compute_for};
use gosched::{go, runtime};

const LIMIT: Duration = Duration::from_secs(60);

/// From here on `membarrier` fails with EPERM on every thread of this process.
fn forbid_membarrier() {
    let load_number = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump_unless_equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let end = (libc::BPF_RET | libc::BPF_K) as u16;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut filter = [
        // The number of the system call is the first thing that the kernel shows.
        step(load_number, 0, 0),
        step(jump_unless_equal, 1, libc::SYS_membarrier as u32),
        step(end, 0, refuse),
        step(end, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter are whole, and the kernel copies them.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let (how, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
        assert_eq!(libc::syscall(libc::SYS_seccomp, how, flags, &raw const program), 0);
        assert_eq!(libc::syscall(libc::SYS_membarrier, 0, 0, 0), -1);
    }
}

/// D1: taking a P relies on membarrier. If that is refused after the start, the process ends with a
/// fatal error that names the cause, whether the monitor or a stop of the world needed it: it does
/// not hang, and no P has two owners.
#[test]
fn membarrier_refused_after_the_start_is_fatal() {
    for how in ["monitor", "stop"] {
        let outcome = child("membarrier_refused_after_the_start_is_fatal", || {
            gosched::run(|| {
                go(|| ()).join().unwrap();
                forbid_membarrier();
                if common::arg() == "stop" {
                    runtime::stop_the_world(|_| ());
                }
                // This one waits for the only P, so the monitor takes it.
                go(|| ());
                compute_for(LIMIT);
            });
        })
        .procs(1)
        .limit(LIMIT)
        .arg(how)
        .run();
        let outcome = outcome.died(2, &["fatal error: ", "membarrier", "seccomp", "Operation not permitted"]);
        assert!(!outcome.stderr.contains("panicked"), "{outcome:#?}");
    }
}

/// If membarrier is refused from the beginning, the runtime works without it.
#[test]
fn membarrier_refused_from_the_start_is_fine() {
    child("membarrier_refused_from_the_start_is_fine", || {
        forbid_membarrier();
        gosched::run(|| {
            let hog = go(|| compute_for(Duration::from_millis(100)));
            go(|| ()).join().unwrap();
            runtime::stop_the_world(|_| ());
            hog.join().unwrap();
        });
    })
    .procs(1)
    .limit(LIMIT)
    .run()
    .ok();
}
