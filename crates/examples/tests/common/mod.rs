//! Runs an example as a program, with a watchdog: a program that does not end in time is killed,
//! and the test fails.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);

fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is not built", path.display());
    path
}

/// Runs it to its end.
pub fn finish(name: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(program(name))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("{name} {arguments:?} did not end: {:?}", child.wait_with_output());
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// A server that runs until this is dropped.
pub struct Server {
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    pub address: String,
}

impl Server {
    /// Starts it; its first line tells its address.
    pub fn start(name: &'static str, arguments: &[&str]) -> Server {
        Server::start_command(name, Command::new(program(name)).args(arguments))
    }

    /// As [`start`](Server::start), in a shell that first does `setup`.
    pub fn start_after(setup: &str, name: &'static str, arguments: &[&str]) -> Server {
        let script = format!("{setup}; exec \"$0\" \"$@\"");
        Server::start_command(
            name,
            Command::new("sh").args(["-c", &script]).arg(program(name)).args(arguments),
        )
    }

    fn start_command(name: &'static str, command: &mut Command) -> Server {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = read(child.stdout.take().unwrap());
        let errors = read(child.stderr.take().unwrap());
        let mut server = Server { name, child, lines, errors, address: String::new() };
        let first = server.line();
        server.address = first.strip_prefix("listening on ").expect("it says where").to_owned();
        server
    }

    /// The next line on its standard output.
    pub fn line(&self) -> String {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(_) => panic!("{} says nothing: {:?}", self.name, self.errors.try_iter().collect::<Vec<_>>()),
        }
    }

    /// The next line on its standard error.
    pub fn error(&self) -> String {
        self.errors.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{} does not complain", self.name))
    }

    /// What else it has written on standard error so far.
    pub fn said(&self) -> Vec<String> {
        self.errors.try_iter().collect()
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    /// Ends it as Ctrl-C does; it prints `bye` and ends with success.
    pub fn interrupt(self) {
        self.end_by(libc::SIGINT);
    }

    /// As [`interrupt`](Server::interrupt), by `kill`.
    pub fn terminate(self) {
        self.end_by(libc::SIGTERM);
    }

    fn end_by(mut self, signal: i32) {
        self.send(signal);
        assert_eq!(self.line(), "bye");
        let status = self.ended();
        assert!(status.success(), "{} ended by {status}", self.name);
    }

    /// Ends it as Ctrl-C does; it ends with status 1. Returns what it printed on standard error.
    pub fn interrupt_in_vain(mut self) -> String {
        self.send(libc::SIGINT);
        let status = self.ended();
        let said = self.errors.iter().collect::<Vec<_>>().join("\n");
        assert_eq!(status.code(), Some(1), "{} ended by {status}: {said}", self.name);
        said
    }

    /// Presses Ctrl-C, and once more when nobody can connect any more. Returns how it ended.
    pub fn interrupt_twice(mut self) -> ExitStatus {
        self.send(libc::SIGINT);
        let began = Instant::now();
        while TcpStream::connect(&self.address).is_ok() {
            assert!(began.elapsed() < LIMIT, "{} still listens", self.name);
            thread::sleep(Duration::from_millis(5));
        }
        self.send(libc::SIGINT);
        self.ended()
    }

    fn send(&self, signal: i32) {
        // SAFETY: the child is not waited for yet, so its id is its own.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    /// How it ended.
    fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < LIMIT, "{} does not end", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
