//! In a steady state, creating, parking, waking and ending goroutines costs no allocation and no
//! system call (S10, S12).

mod common;

use common::threads;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::go;
use gosched::thread::{self, JoinHandle};

/// Counts allocations and deallocations.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One round of everything: batches of spawn and join, detached ones, park and unpark, yields.
/// `handles` has room.
fn round(handles: &mut Vec<JoinHandle<u64>>) {
    let captured = [1_u64, 2, 3, 4];
    for i in 0..100_u64 {
        handles.push(gosched::go(move || captured.iter().sum::<u64>() + i));
    }
    for (i, handle) in (0..).zip(handles.drain(..)) {
        assert_eq!(handle.join().unwrap(), 10 + i);
    }
    drop(gosched::go(|| 5));
    let parker = gosched::go(|| {
        for _ in 0..10 {
            thread::park();
            gosched::yield_now();
        }
    });
    while !parker.is_finished() {
        parker.thread().unpark();
        gosched::yield_now();
    }
    parker.join().unwrap();
    let mut borrowed = 0;
    thread::scope(|s| drop(s.spawn(|| borrowed += 1)));
    assert_eq!(borrowed, 1);
}

/// S12: after some rounds to warm up, 100,000 goroutines come and go without one allocation. A
/// thread may still be made later, when none was asleep at the right moment: that is one allocation
/// each.
#[test]
fn no_allocation() {
    const WINDOWS: usize = 10;
    let child = common::child("no_allocation", || {
        let mut counts = [0; WINDOWS];
        let new_threads = gosched::run(|| {
            let mut handles = Vec::with_capacity(100);
            (0..200).for_each(|_| round(&mut handles));
            let before = threads();
            for count in &mut counts {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                (0..100).for_each(|_| round(&mut handles));
                *count = ALLOCATIONS.load(Ordering::Relaxed) - before;
            }
            threads() - before
        });
        println!("allocations: {}", counts.iter().sum::<usize>());
        println!("windows without: {}", counts.iter().filter(|count| **count == 0).count());
        println!("new threads: {new_threads}");
    });
    for procs in [1, 2, 8] {
        let outcome = child.clone().procs(procs).run().ok();
        let number = |key: &str| -> usize { outcome.value(key).parse().unwrap() };
        // With one P there is one thread, unless the kernel blocked it.
        if procs == 1 && number("new threads") == 0 {
            assert_eq!(number("allocations"), 0);
        }
        // One more may have been asked for and not be there yet.
        assert!(number("allocations") <= number("new threads") + 1, "{outcome:#?}");
        assert!(number("windows without") >= WINDOWS / 3, "{outcome:#?}");
    }
}

/// Says which system call it was, and ends the process.
extern "C" fn on_forbidden(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; for SIGSYS the number lies behind the address of
    // the call.
    let number = unsafe { info.cast::<u8>().add(24).cast::<i32>().read() };
    let mut text = *b"forbidden system call    \n";
    for (i, place) in [1, 10, 100].into_iter().zip([24, 23, 22]) {
        text[place] = b'0' + (number / i % 10) as u8;
    }
    // SAFETY: writes a buffer of this frame; _exit has no preconditions.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        libc::_exit(1);
    }
}

/// From here on the calling thread may write, return from signal handlers and exit; nothing else.
fn forbid_system_calls() {
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let allowed = [libc::SYS_write, libc::SYS_exit_group, libc::SYS_rt_sigreturn];
    let mut program = vec![libc::sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 }];
    for (i, number) in allowed.iter().enumerate() {
        let to_allow = (allowed.len() - i) as u8;
        program.push(libc::sock_filter { code: JUMP_IF_EQUAL, jt: to_allow, jf: 0, k: *number as u32 });
    }
    program.push(libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_TRAP });
    program.push(libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW });
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the action and the filter are whole; both calls copy what they are given.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_forbidden as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()), 0);
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter), 0);
    }
    drop(program);
}

/// S10, S12: with one P and so one thread, 100,000 goroutines are created, run, park, are woken,
/// yield, end and are joined without one system call: a filter would end the process.
#[test]
fn no_system_call() {
    if common::spared_by_sanitizer("it makes system calls of its own") {
        return;
    }
    let child = common::child("no_system_call", || {
        gosched::run(|| {
            let mut handles = Vec::with_capacity(1000);
            (0..200).for_each(|_| round(&mut handles));
            // Enough headers and places in queues, wherever they are cached later.
            (0..1000).for_each(|_| handles.push(go(|| 7)));
            handles.drain(..).for_each(|handle| assert_eq!(handle.join().unwrap(), 7));
            forbid_system_calls();
            if common::arg() == "break the rule" {
                std::thread::yield_now();
            }
            (0..1000).for_each(|_| round(&mut handles));
            let text = b"survived: yes\n";
            // SAFETY: writes a static text; _exit has no preconditions.
            unsafe {
                libc::write(libc::STDOUT_FILENO, text.as_ptr().cast(), text.len());
                libc::_exit(0);
            }
        });
    });
    // When the kernel keeps the thread off its CPU for so long that the monitor takes its P, the
    // policy `time_slices` asks for another slice, which is a system call; the other two put
    // goroutines into queues of their own, which map memory at their first use.
    let off = "policy.time_slices=0,policy.preempted_last=0,policy.pressure=0";
    let child = child.procs(1).env("GOSCHED_DEBUG", off);
    let outcome = child.clone().arg("keep the rule").run().ok();
    assert_eq!(outcome.value("survived"), "yes");
    // The filter works: it catches sched_yield, number 24.
    child.arg("break the rule").run().died(1, &["forbidden system call 024"]);
}
