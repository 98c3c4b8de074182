//! Files, programs and the standard input (S19): as in std, and other goroutines run meanwhile.
//! With one P.

mod common;

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command as StdCommand, Stdio as StdStdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{child, join_all};
use gosched::fs::{self, File, OpenOptions};
use gosched::go;
use gosched::process::{Command, Stdio};

const LIMIT: Duration = Duration::from_secs(60);
const SPEAKER: &str = "GOSCHED_TEST_READS_STDIN";

/// A directory of its own; removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("gosched-outside-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Dir(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn with_one_p(test: &'static str, body: fn()) {
    child(test, || gosched::run(body)).procs(1).limit(LIMIT).run().ok();
}

/// A goroutine that counts its turns until told to stop.
fn ticker() -> (Arc<AtomicUsize>, gosched::JoinHandle<()>) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let handle = go(move || {
        while Arc::strong_count(&counted) > 1 {
            counted.fetch_add(1, Ordering::Relaxed);
            gosched::sleep(Duration::from_millis(1));
        }
    });
    (turns, handle)
}

/// Waits until the ticker has had `n` turns. (If it never has, the watchdog ends the test.)
fn until_turns(turns: &AtomicUsize, n: usize) {
    while turns.load(Ordering::Relaxed) < n {
        gosched::sleep(Duration::from_millis(1));
    }
}

/// Files: what is written is read, at positions too; options and permissions are as in std; errors
/// are std's.
#[test]
fn files() {
    with_one_p("files", || {
        let dir = Dir::new("files");
        let mut file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(dir.at("a")).unwrap();
        file.write_all(b"0123456789").unwrap();
        file.seek(SeekFrom::Start(3)).unwrap();
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"3456");
        file.write_all_at(b"xy", 1).unwrap();
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"0xy3");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let shared = Arc::new(file);
        join_all(
            (0..8)
                .map(|i| {
                    go({
                        let shared = Arc::clone(&shared);
                        move || shared.write_at(&[i; 100], 1000 + 100 * u64::from(i)).unwrap()
                    })
                })
                .collect(),
        );
        let bytes = fs::read(dir.at("a")).unwrap();
        assert_eq!(bytes.len(), 1800);
        assert!((0..8).all(|i: u8| bytes[1000 + 100 * usize::from(i)..][..100] == [i; 100]));
        assert_eq!(File::create_new(dir.at("a")).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(File::open(dir.at("b")).unwrap_err().kind(), ErrorKind::NotFound);
        fs::create_dir_all(dir.at("x/y")).unwrap();
        fs::copy(dir.at("a"), dir.at("x/y/b")).unwrap();
        fs::rename(dir.at("x/y/b"), dir.at("x/c")).unwrap();
        let mut names: Vec<_> = fs::read_dir(dir.at("x")).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["c", "y"]);
        fs::remove_dir_all(dir.at("x")).unwrap();
        assert!(!fs::exists(dir.at("x")).unwrap());
    });
}

/// S19: opening and reading a pipe in the file system blocks the thread; the writer, on the same P,
/// gets its turn.
#[test]
fn a_file_that_blocks() {
    with_one_p("a_file_that_blocks", || {
        let dir = Dir::new("pipe");
        let pipe = dir.at("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (turns, ticking) = ticker();
        let reader = go({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        until_turns(&turns, 5);
        let mut writer = OpenOptions::new().write(true).open(&pipe).unwrap();
        writer.write_all(b"through the pipe").unwrap();
        drop(writer);
        assert_eq!(reader.join().unwrap(), "through the pipe");
        drop(turns);
        ticking.join().unwrap();
    });
}

/// S19: programs run, talk over pipes and are waited for; many at once with one P.
#[test]
fn programs() {
    with_one_p("programs", || {
        let (turns, ticking) = ticker();
        let sleeps =
            (0..10).map(|_| go(|| Command::new("sleep").arg("0.1").status().unwrap().success())).collect();
        assert_eq!(join_all(sleeps), [true; 10]);
        until_turns(&turns, 5);
        drop(turns);
        ticking.join().unwrap();

        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let writer = go(move || input.write_all(&[7; 1 << 20]));
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).unwrap();
        writer.join().unwrap().unwrap();
        assert!(bytes.len() == 1 << 20 && bytes.iter().all(|b| *b == 7));
        assert!(child.wait().unwrap().success());

        let output = Command::new("sh")
            .args(["-c", "echo out; echo err >&2; exit 3"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(
            (output.status.code(), &*output.stdout, &*output.stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert_eq!(Command::new("/no/such/program").spawn().unwrap_err().kind(), ErrorKind::NotFound);
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
    });
}

/// S19: a goroutine waits for a line on the standard input while another, on the same P, has its
/// turns.
#[test]
fn standard_input() {
    if std::env::var(SPEAKER).is_ok() {
        return common::within(LIMIT, || gosched::run(read_lines));
    }
    let mut process = StdCommand::new(std::env::current_exe().unwrap())
        .args(["--exact", "standard_input", "--nocapture", "--test-threads=1"])
        .env(SPEAKER, "1")
        .env("GOMAXPROCS", "1")
        .stdin(StdStdio::piped())
        .stdout(StdStdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    // There is nothing to read until other goroutines have had their turns.
    let mut line = String::new();
    while !line.contains("others have their turns") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0);
    }
    for line in ["one\n", "two\nthree\n", "four\nrest without end"] {
        std::thread::sleep(Duration::from_millis(30));
        input.write_all(line.as_bytes()).unwrap();
    }
    drop(input);
    // Ends by itself: its own watchdog sees to that.
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(process.wait().unwrap().success());
    assert!(rest.contains("heard: one|two|three|four|rest without end"), "{rest}");
}

fn read_lines() {
    let (turns, ticking) = ticker();
    let reader = go(|| -> io::Result<Vec<String>> {
        let input = gosched::io::stdin();
        let mut first = String::new();
        input.read_line(&mut first)?;
        let mut heard = vec![first.trim_end().to_owned()];
        for line in input.lines() {
            heard.push(line?);
        }
        Ok(heard)
    });
    until_turns(&turns, 5);
    println!("others have their turns");
    let heard = reader.join().unwrap().unwrap();
    println!("heard: {}", heard.join("|"));
    drop(turns);
    ticking.join().unwrap();
}

/// As std: `read_exact` locks the standard input until it has all its bytes, so of two at once each
/// gets bytes that follow each other. Seen to fail, in each of many runs, without that method: it
/// is then a `read` for each byte here, which locks for itself.
#[test]
fn readers_of_the_standard_input_do_not_mix() {
    const N: usize = 2_000;
    let body = || {
        let (reader, mut writer) = io::pipe().unwrap();
        // SAFETY: both are open descriptors.
        assert_eq!(unsafe { libc::dup2(reader.as_raw_fd(), 0) }, 0);
        let read = || {
            let mut bytes = [0; N];
            gosched::io::stdin().read_exact(&mut bytes).map(|()| bytes)
        };
        let readers = vec![go(read), go(read)];
        for i in 0..2 * N {
            writer.write_all(&[(i / N) as u8]).unwrap();
            let mut unread = 1;
            while unread > 0 {
                std::thread::yield_now();
                // SAFETY: it writes the number.
                assert_eq!(unsafe { libc::ioctl(reader.as_raw_fd(), libc::FIONREAD, &mut unread) }, 0);
            }
        }
        let mut got: Vec<_> = join_all(readers).into_iter().map(Result::unwrap).collect();
        got.sort_by_key(|bytes| bytes[0]);
        assert!(got[0] == [0; N] && got[1] == [1; N], "each has bytes of both");
    };
    child("readers_of_the_standard_input_do_not_mix", body).procs(2).limit(LIMIT).run().ok();
}
