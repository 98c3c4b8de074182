//! What the integration tests share: a test that runs part of itself in a process of its own, with
//! a watchdog.
//!
//! A test binary re-executes itself for one test; an environment variable tells the child that it
//! is one. So a test can have its own number of Ps and its own fresh runtime, may die, and can
//! count things of the whole process. A child that hangs dumps all its goroutines, and is killed if
//! even that fails.
#![allow(dead_code)] // Each test binary uses its own part.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use gosched_switch::sanitizer::{SANITIZER, Sanitizer};

const ROLE: &str = "GOSCHED_TEST_CHILD";
const ARG: &str = "GOSCHED_TEST_ARG";
const LIMIT: &str = "GOSCHED_TEST_LIMIT_MS";
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
/// How long a child that hangs has to dump its goroutines itself before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// In the parent: a child to be configured and run. In that child: runs `body` and exits.
///
/// `test` is the name of the calling test, as `--exact` wants it.
pub fn child(test: &'static str, body: impl FnOnce()) -> Child {
    if std::env::var(ROLE).is_ok_and(|role| role == test) {
        println!("child {test}");
        watch(test);
        body();
        std::process::exit(0);
    }
    Child::of(test).env(ROLE, test)
}

/// Runs `body` as a goroutine and on a foreign thread, with 1, 2 and 8 Ps, each time in a process
/// of its own. `test` as for [`child`].
pub fn everywhere(test: &'static str, body: fn()) {
    let run = move || match arg().as_str() {
        "goroutine" => gosched::run(body),
        _ => thread::spawn(body).join().unwrap(),
    };
    let child = child(test, run);
    for procs in [1, 2, 8] {
        for who in ["goroutine", "thread"] {
            child.clone().procs(procs).arg(who).run().ok();
        }
    }
}

/// As [`child`], for a test binary without a harness: the child has no thread but the one that runs
/// `body`, and so no watchdog of its own; the parent's kills it.
pub fn child_alone(test: &'static str, body: impl FnOnce()) -> Child {
    if std::env::var(ROLE).is_ok_and(|role| role == test) {
        println!("running 1 test\nchild {test}");
        body();
        std::process::exit(0);
    }
    Child::of(test).env(ROLE, test)
}

/// What `GOSCHED_DEBUG` says of policies: what the scheduler does beyond Go's rules can be switched
/// off.
fn policies() -> Vec<String> {
    let debug = std::env::var("GOSCHED_DEBUG").unwrap_or_default();
    debug.split(',').map(str::trim).filter(|entry| entry.starts_with("policy")).map(str::to_owned).collect()
}

/// Whether `policy` is on. A test that shows a policy calls this and ends if it is off; every other
/// test passes without any of them.
pub fn shows(policy: &str) -> bool {
    let mut on = true;
    for entry in policies() {
        let Some((key, value)) = entry.split_once('=') else { continue };
        if key == "policy" || key.strip_prefix("policy.") == Some(policy) {
            on = value == "1";
        }
    }
    if !on {
        println!("this shows the policy {policy}, which is off");
    }
    on
}

/// A test that cannot hold in a build for a sanitizer asks here, with the reason, and ends.
/// `docs/sanitizers.md` lists them.
pub fn spared_by_sanitizer(why: &str) -> bool {
    let spared = SANITIZER != Sanitizer::Off;
    if spared {
        println!("skipped in a build for a sanitizer: {why}");
    }
    spared
}

/// In a test binary without a harness: runs the tests that the command line asks for, or the one
/// that this child is for.
pub fn run_tests(tests: &[(&'static str, fn())]) {
    let role = std::env::var(ROLE).ok();
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_asked = |name: &str| match &role {
        Some(role) => role == name,
        None => asked.is_empty() || asked.iter().any(|asked| name.contains(asked.as_str())),
    };
    for (name, test) in tests.iter().filter(|(name, _)| is_asked(name)) {
        test();
        println!("test {name} ... ok");
    }
}

/// What the parent passed with [`Child::arg`].
pub fn arg() -> String {
    std::env::var(ARG).expect("the parent passes an argument")
}

/// A process that runs one test of this binary.
#[derive(Clone)]
pub struct Child {
    test: &'static str,
    env: Vec<(String, String)>,
    flags: Vec<&'static str>,
    limit: Duration,
    blocked: Option<i32>,
    ignored: Option<i32>,
    program: Option<PathBuf>,
}

impl Child {
    /// A process that runs `test` as it is. One that is marked as ignored also needs
    /// [`Child::ignored`].
    pub fn of(test: &'static str) -> Child {
        let (env, flags, limit) = (Vec::new(), Vec::new(), DEFAULT_LIMIT);
        Child { test, env, flags, limit, blocked: None, ignored: None, program: None }
    }

    /// Lets a test that is marked as ignored run.
    pub fn ignored(mut self) -> Child {
        self.flags.push("--ignored");
        self
    }

    pub fn env(mut self, key: &str, value: &str) -> Child {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    pub fn procs(self, n: usize) -> Child {
        self.env("GOMAXPROCS", &n.to_string())
    }

    pub fn arg(self, arg: &str) -> Child {
        self.env(ARG, arg)
    }

    /// With a sanitizer: without its look for leaks at the end, for which it needs one more thread.
    pub fn without_leak_check(self) -> Child {
        self.sanitizer_option("detect_leaks=0")
    }

    /// With a sanitizer: it does not handle SIGSEGV, which it does else as the program's first
    /// handler.
    pub fn without_fault_reports(self) -> Child {
        self.sanitizer_option("handle_segv=0")
    }

    fn sanitizer_option(self, option: &str) -> Child {
        let options = std::env::var("ASAN_OPTIONS").unwrap_or_default();
        self.env("ASAN_OPTIONS", &format!("{options}:{option}"))
    }

    pub fn limit(mut self, limit: Duration) -> Child {
        self.limit = limit;
        self
    }

    /// Starts it with this signal blocked, as a careless parent process may.
    pub fn blocking(mut self, signal: i32) -> Child {
        self.blocked = Some(signal);
        self
    }

    /// Starts it with this signal ignored, as a script does that starts it with `&`.
    pub fn ignoring(mut self, signal: i32) -> Child {
        self.ignored = Some(signal);
        self
    }

    /// Runs this program instead: the test binary in another form, for example stripped.
    pub fn program(mut self, program: PathBuf) -> Child {
        self.program = Some(program);
        self
    }

    /// Runs it to its end.
    pub fn run(&self) -> Outcome {
        let program = self.program.clone().unwrap_or_else(|| std::env::current_exe().unwrap());
        let mut command = Command::new(program);
        command.args(["--exact", self.test, "--nocapture", "--test-threads=1"]).args(&self.flags);
        for inherited in ["GOMAXPROCS", "GOSCHED_STACK", "GOSCHED_DEBUG", ROLE, ARG] {
            command.env_remove(inherited);
        }
        command.env("RUST_BACKTRACE", "0").env(LIMIT, self.limit.as_millis().to_string());
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        // Policies that are off here are off there, too.
        let own = self.env.iter().rfind(|(name, _)| name == "GOSCHED_DEBUG").map(|(_, value)| value.clone());
        let debug: Vec<String> = own.into_iter().chain(policies()).collect();
        if !debug.is_empty() {
            command.env("GOSCHED_DEBUG", debug.join(","));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(signal) = self.blocked {
            // SAFETY: between fork and exec it only changes its own signal mask.
            unsafe {
                command.pre_exec(move || {
                    let mut set: libc::sigset_t = std::mem::zeroed();
                    libc::sigaddset(&mut set, signal);
                    libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                    Ok(())
                });
            }
        }
        if let Some(signal) = self.ignored {
            // SAFETY: between fork and exec it only ignores a signal.
            unsafe {
                command.pre_exec(move || {
                    libc::signal(signal, libc::SIG_IGN);
                    Ok(())
                });
            }
        }
        let mut process = command.spawn().unwrap();
        let (stdout, stderr) = (read(process.stdout.take()), read(process.stderr.take()));
        let (ended, end) = mpsc::channel::<()>();
        let pid = process.id() as i32;
        let limit = self.limit + GRACE;
        let killer = thread::spawn(move || {
            let late = end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                // SAFETY: `kill` touches no memory. The child has not been reaped, unless it ended
                // this very moment.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            late
        });
        let status = process.wait().unwrap();
        drop(ended);
        let killed = killer.join().unwrap();
        let outcome = Outcome {
            test: self.test,
            code: status.code(),
            signal: status.signal(),
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        };
        assert!(!killed, "hung and was killed: {outcome:#?}");
        let ran = outcome.stdout.contains("running 1 test");
        assert!(ran, "there is no test {:?} in this file: {outcome:#?}", self.test);
        outcome
    }
}

fn read(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    let mut pipe = pipe.unwrap();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// How a child ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub test: &'static str,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// It must have ended well.
    #[track_caller]
    pub fn ok(self) -> Outcome {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// It must have died with this exit status, saying all of these on standard error.
    #[track_caller]
    pub fn died(self, code: i32, said: &[&str]) -> Outcome {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self.said(said)
    }

    #[track_caller]
    pub fn said(self, said: &[&str]) -> Outcome {
        for text in said {
            assert!(self.stderr.contains(text), "{text:?} is missing on standard error: {self:#?}");
        }
        self
    }

    /// The rest of the line `key: ...` on its standard output.
    #[track_caller]
    pub fn value(&self, key: &str) -> &str {
        let start = format!("{key}: ");
        match self.stdout.lines().find_map(|line| line.strip_prefix(&start)) {
            Some(value) => value,
            None => panic!("it did not print {start:?}: {self:#?}"),
        }
    }
}

/// In the child: after the time limit, dumps all goroutines and ends the process.
fn watch(test: &'static str) {
    let limit = std::env::var(LIMIT).ok().and_then(|ms| ms.parse().ok()).unwrap_or(60_000);
    // Never freed: once the watchdog sleeps it allocates and frees nothing, which some tests count.
    let begun: &'static Barrier = Box::leak(Box::new(Barrier::new(2)));
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || {
            begun.wait();
            let (never, bell) = (Mutex::new(()), Condvar::new());
            let guard = never.lock().unwrap();
            let _ = bell.wait_timeout_while(guard, Duration::from_millis(limit), |()| true);
            dump(test);
            std::process::exit(3);
        })
        .unwrap();
    begun.wait();
}

/// Writes all goroutines to standard error.
pub fn dump(name: &str) {
    gosched::__private::dump(&format!("test {name} hangs; all goroutines:"));
}

/// Runs `body` on this foreign thread. If it takes longer than `limit`, dumps all goroutines and
/// ends the process. For plain `#[test]`s.
pub fn within(limit: Duration, body: impl FnOnce()) {
    struct Ring(Arc<(Mutex<bool>, Condvar)>);
    impl Drop for Ring {
        fn drop(&mut self) {
            *self.0.0.lock().unwrap() = true;
            self.0.1.notify_all();
        }
    }
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let _ring = Ring(Arc::clone(&ended));
    thread::spawn(move || {
        let guard = ended.0.lock().unwrap();
        let (guard, _) = ended.1.wait_timeout_while(guard, limit, |ended| !*ended).unwrap();
        if !*guard {
            dump("(a plain test)");
            std::process::exit(3);
        }
    });
    body();
}

/// A small random generator.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }
}

/// The kernel's id of the calling thread.
pub fn tid() -> i32 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::gettid() }
}

/// A number of kB from `/proc/self/status`, in bytes.
pub fn status_bytes(key: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

/// Resident memory and the page tables for it.
pub fn resident() -> usize {
    status_bytes("VmRSS") + status_bytes("VmPTE")
}

/// Threads of this process.
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// User and system time of this process.
pub fn cpu_time() -> Duration {
    // SAFETY: rusage is plain data, filled in by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let of = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    of(usage.ru_utime) + of(usage.ru_stime)
}

/// Joins all; none may have panicked.
pub fn join_all<T>(handles: Vec<gosched::JoinHandle<T>>) -> Vec<T> {
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}

/// Blocks the thread in the kernel without telling the runtime.
pub fn block_thread(d: Duration) {
    std::thread::sleep(d);
}

/// Computes without calling the library.
pub fn compute_for(d: Duration) {
    let began = Instant::now();
    while began.elapsed() < d {
        std::hint::spin_loop();
    }
}

/// The size of the stacks for which [`allow_few_stacks`] leaves little room.
const LARGE: usize = 64 << 20;

/// Limits the address space of this process, so that it has room for a few stacks of [`go_large`],
/// whose number is returned, and for everything else.
pub fn allow_few_stacks() -> usize {
    const STACKS: usize = 15;
    let limit = (status_bytes("VmSize") + STACKS * LARGE + LARGE / 2) as u64;
    // SAFETY: plain data.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &libc::rlimit { rlim_cur: limit, rlim_max: limit }) };
    assert_eq!(set, 0);
    STACKS
}

/// Starts a goroutine with a large stack.
pub fn go_large<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> gosched::JoinHandle<T> {
    gosched::thread::Builder::new().stack_size(LARGE).spawn(f).unwrap()
}

/// How many goroutines wait for `reason`, in the words of a dump.
pub fn waiting(reason: &str) -> usize {
    let count = |world: &gosched::runtime::World| {
        world.goroutines().filter(|goroutine| goroutine.wait_reason == reason).count()
    };
    gosched::runtime::stop_the_world(count)
}

/// Lets others run until `n` of them wait for `reason`.
pub fn until_waiting(reason: &str, n: usize) {
    while waiting(reason) < n {
        gosched::yield_now();
    }
}
