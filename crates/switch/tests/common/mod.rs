//! What the tests of this crate share: a watchdog, a closure run on a stack of ours, child
//! processes, and questions to the kernel. Each test binary uses a part of it.
#![allow(dead_code)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use gosched_switch::arch::here;
use gosched_switch::sanitizer::{SANITIZER, Sanitizer};
use gosched_switch::{Gobuf, Stack, jump, switch};

/// Ends the process if it is not dropped in time: a hang is a failure.
pub struct Watchdog {
    _cancel: Sender<()>,
}

/// Watches the calling test.
pub fn watchdog() -> Watchdog {
    let (cancel, cancelled) = channel::<()>();
    let (started, starting) = channel::<()>();
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    std::thread::spawn(move || {
        let _ = started.send(());
        if cancelled.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            eprintln!("{test} hangs");
            std::process::abort();
        }
    });
    let _ = starting.recv();
    Watchdog { _cancel: cancel }
}

struct Call<'a> {
    back: Gobuf,
    there: Gobuf,
    body: Option<&'a mut dyn FnMut()>,
}

/// The entry function of `run_on`. Its name is looked for in backtraces.
pub unsafe extern "C" fn run_on_entry(arg: usize) -> ! {
    let call = arg as *mut Call<'_>;
    // SAFETY: `run_on` waits, so the call is alive, and only this context uses it.
    unsafe {
        if let Some(body) = (*call).body.take() {
            body();
        }
        jump(&raw const (*call).back)
    }
}

/// Runs `body` to its end on `stack`; it must not unwind.
pub fn run_on(stack: &Stack, mut body: impl FnMut()) {
    let mut call = Call { back: Gobuf::empty(), there: Gobuf::empty(), body: Some(&mut body) };
    let c = &raw mut call;
    // SAFETY: the stack is borrowed for the whole call; the context ends by jumping back here.
    unsafe {
        (*c).there = Gobuf::fresh(stack.top(), run_on_entry, c as usize);
        switch(&raw mut (*c).back, &raw const (*c).there);
    }
}

/// Uses about `bytes` of the running stack, page after page, and writes nothing but non-zero values
/// to most of it.
#[inline(never)]
pub fn use_stack(bytes: usize) {
    descend(here().sp.saturating_sub(bytes));
}

#[inline(never)]
fn descend(target: usize) {
    let line = std::hint::black_box([0x77u64; 16]);
    // Not the line's address: AddressSanitizer keeps such locals elsewhere.
    if here().sp > target {
        descend(target);
    }
    std::hint::black_box(line);
}

const ROLE: &str = "GOSCHED_SWITCH_TEST_ROLE";

/// The role that this process was started in by `child`, if it was.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// A test that can't hold in a build for a sanitizer asks here, with the reason, and ends.
/// `docs/sanitizers.md` lists them.
pub fn spared_by_sanitizer(why: &str) -> bool {
    let spared = SANITIZER != Sanitizer::Off;
    if spared {
        println!("skipped in a build for a sanitizer: {why}");
    }
    spared
}

/// Runs one test of this binary again as a process of its own, in a role. With a sanitizer, too, a
/// fault in it is a signal; it is not searched for leaks, for which a limit on memory may leave no
/// room.
pub fn child(test: &str, role: &str) -> Output {
    let exe = std::env::current_exe().expect("this binary has a path");
    let asan = std::env::var("ASAN_OPTIONS").unwrap_or_default();
    Command::new(exe)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env("ASAN_OPTIONS", format!("{asan}:handle_segv=0:handle_sigbus=0:detect_leaks=0"))
        .output()
        .expect("a child process can be started")
}

/// Panics with the child's output unless it succeeded.
pub fn expect_success(output: &Output) {
    assert!(output.status.success(), "{}", describe(output));
}

/// Panics with the child's output unless that signal ended it.
pub fn expect_signal(output: &Output, signal: i32) {
    assert_eq!(output.status.signal(), Some(signal), "{}", describe(output));
}

fn describe(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("child: {}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// How many of the pages of `[from, to)` are in memory.
pub fn resident_pages(from: usize, to: usize) -> usize {
    let mut map = vec![0u8; (to - from) / 4096];
    // SAFETY: mincore only looks; `map` has a byte for each page.
    let result = unsafe { libc::mincore(from as *mut libc::c_void, to - from, map.as_mut_ptr()) };
    assert_eq!(result, 0, "mincore: {}", std::io::Error::last_os_error());
    map.iter().filter(|&&m| m & 1 != 0).count()
}

/// How many pages of a stack are in memory.
pub fn pages_of(stack: &Stack) -> usize {
    resident_pages(stack.limit(), stack.high())
}

/// How many mappings this process has.
pub fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").expect("/proc is there").lines().count()
}

/// Asks the kernel whether bytes can be read, without risk: it copies them to a pipe or says
/// EFAULT.
pub struct Prober {
    read: libc::c_int,
    write: libc::c_int,
}

impl Prober {
    pub fn new() -> Prober {
        let mut fds = [0; 2];
        // SAFETY: the kernel writes two descriptors.
        assert_eq!(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        Prober { read: fds[0], write: fds[1] }
    }

    pub fn readable(&self, addr: usize) -> bool {
        let mut byte = 0u8;
        // SAFETY: the kernel checks the address itself; the byte goes through the pipe to a local.
        unsafe {
            match libc::write(self.write, addr as *const libc::c_void, 1) {
                1 => libc::read(self.read, (&raw mut byte).cast(), 1) == 1,
                _ => false,
            }
        }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        // SAFETY: both descriptors are ours.
        unsafe {
            libc::close(self.read);
            libc::close(self.write);
        }
    }
}
