//! Nobody reads standard error: then messages of the runtime are lost, and nothing waits for a
//! reader. (A fatal error may wait: the process is at its end.)

mod common;

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{block_thread, child, join_all};
use gosched::{go, runtime, thread};

const LIMIT: Duration = Duration::from_secs(60);

/// Makes standard error a full pipe that nobody reads. From here on a panic message is not seen, so
/// a child reports on standard output.
fn stop_reading_stderr() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: changes the flags of an open descriptor, and puts it in the place of standard error.
    unsafe {
        libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
        while writer.write(&[b'x'; 4096]).is_ok() {}
        while writer.write(b"x").is_ok() {}
        libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, 0);
        assert_eq!(libc::dup2(writer.as_raw_fd(), 2), 2);
    }
    std::mem::forget(reader);
}

/// The warning beyond the soft limit of blocked threads does not block the monitor: goroutines that
/// were held back start.
#[test]
fn the_monitor_goes_on_beyond_the_soft_limit() {
    let body = || {
        stop_reading_stderr();
        gosched::run(|| {
            let (reader, writer) = std::io::pipe().unwrap();
            let reader = Arc::new(reader);
            let begun = Arc::new(AtomicUsize::new(0));
            let blocked = (0..520).map(|_| {
                let (reader, begun) = (Arc::clone(&reader), Arc::clone(&begun));
                go(move || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    (&*reader).read(&mut [0]).unwrap()
                })
            });
            let blocked: Vec<_> = blocked.collect();
            while begun.load(Ordering::Relaxed) < 520 {
                thread::sleep(Duration::from_millis(1));
            }
            println!("\nbegun: all");
            drop(writer);
            join_all(blocked);
        });
    };
    let outcome = child("the_monitor_goes_on_beyond_the_soft_limit", body).procs(2).limit(LIMIT).run().ok();
    assert_eq!(outcome.value("begun"), "all");
}

/// Reports of stalls are not read: Ps are still taken from goroutines that block, and
/// `runtime::stacks` returns.
#[test]
fn stall_reports_hold_nobody_up() {
    #[inline(never)]
    fn blocks_here() {
        block_thread(Duration::from_millis(60));
    }
    #[inline(never)]
    fn blocks_there() {
        block_thread(Duration::from_millis(std::hint::black_box(60)));
    }
    let body = || {
        stop_reading_stderr();
        gosched::run(|| {
            for round in 0..5 {
                join_all((0..8).map(|i| go(if i % 2 == 0 { blocks_here } else { blocks_there })).collect());
                println!("\nround: {round}");
            }
            println!("dumped: {}", runtime::stacks().contains("goroutine 1 [running]"));
        });
    };
    for procs in [1, 2] {
        let child = child("stall_reports_hold_nobody_up", body).procs(procs).limit(LIMIT);
        let outcome = child.env("GOSCHED_DEBUG", "stall=10").run().ok();
        assert_eq!(outcome.value("dumped"), "true");
    }
}

/// The start warns of bad settings, and does not wait for a reader.
#[test]
fn bad_settings_do_not_hold_the_start_up() {
    let body = || {
        stop_reading_stderr();
        println!("\nran: {}", gosched::run(|| runtime::maxprocs(None) > 0));
    };
    let child = child("bad_settings_do_not_hold_the_start_up", body).limit(LIMIT);
    let child =
        child.env("GOMAXPROCS", "many").env("GOSCHED_STACK", "deep").env("GOSCHED_DEBUG", "colour=red");
    assert_eq!(child.run().ok().value("ran"), "true");
}

/// Allows this process no more threads than it has, by becoming a user of its own; returns `false`
/// if it can't.
fn allow_no_threads() -> bool {
    // SAFETY: plain system calls; glibc changes the ids of all threads; the structure is
    // initialised.
    unsafe {
        let id = 1_000_000 + libc::getpid() as u32;
        if libc::setgroups(0, std::ptr::null()) != 0 || libc::setgid(id) != 0 || libc::setuid(id) != 0 {
            return false;
        }
        set_thread_limit(0);
    }
    true
}

fn set_thread_limit(n: u64) {
    // SAFETY: the structure is initialised; only the soft limit is changed, so it can be raised
    // again.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NPROC, &mut limit);
        limit.rlim_cur = n;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &limit), 0);
    }
}

/// The warning that a thread was refused does not block the template thread: when threads can be
/// made again, they are.
#[test]
fn a_refused_thread_does_not_hold_the_next_up() {
    let body = || {
        stop_reading_stderr();
        gosched::run(|| {
            let (mut reader, mut writer) = std::io::pipe().unwrap();
            if !allow_no_threads() {
                return println!("\nskipped");
            }
            std::thread::sleep(Duration::from_millis(100));
            let writes = go(move || writer.write_all(b"text").unwrap());
            // From here on the P needs another thread, and none can be made.
            let refused = runtime::blocking(|| {
                block_thread(Duration::from_millis(100));
                set_thread_limit(1000);
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes).unwrap();
                bytes
            });
            println!("\nread: {refused:?}");
            writes.join().unwrap();
        });
    };
    let outcome = child("a_refused_thread_does_not_hold_the_next_up", body).procs(1).limit(LIMIT).run().ok();
    assert!(outcome.stdout.contains("read: ") || outcome.stdout.contains("skipped"), "{outcome:#?}");
}
