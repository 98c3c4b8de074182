//! A fresh process that serves a workload: it prints `port=…` on its first line, and serves until
//! its standard input ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::process::{self, PATIENCE};

/// A process that serves as long as this lives.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts a program and waits until it serves.
    pub fn start(path: &Path, args: &[String]) -> Result<Server, String> {
        let mut child = process::spawn(path, args, Stdio::piped())?;
        let errors = process::read_in_background(child.stderr.take());
        let output = child.stdout.take().map(BufReader::new);
        let (sender, first) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            // An output that cannot be read counts as empty.
            let _ = output.map(|mut output| output.read_line(&mut line));
            sender.send(line)
        });
        let line = first.recv_timeout(PATIENCE).unwrap_or_default();
        if let Some(port) = line.trim().strip_prefix("port=").and_then(|port| port.parse().ok()) {
            return Ok(Server { child, port });
        }
        process::kill(&mut child);
        let errors = errors.join().unwrap_or_default();
        Err(format!("a port was expected, not {line:?}: {}", process::essence(&errors)))
    }

    /// Where it serves.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl Drop for Server {
    /// Kills the process instead of waiting until it sees the end of its input: one that hangs must
    /// not disturb the next measurement.
    fn drop(&mut self) {
        process::kill(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Server, String> {
        Server::start(Path::new("/bin/sh"), &["-c".into(), script.into()])
    }

    #[test]
    fn a_server_tells_its_port_and_ends_with_its_owner() {
        let server = shell("echo port=8080; exec cat").unwrap();
        assert_eq!(server.url(), "http://127.0.0.1:8080/");
        let process = format!("/proc/{}", server.child.id());
        assert!(Path::new(&process).exists());
        drop(server);
        assert!(!Path::new(&process).exists());
    }

    #[test]
    fn one_that_does_not_serve_is_quoted() {
        let error = shell("echo 'no free port' >&2; exit 1").unwrap_err();
        assert!(error.contains("no free port"), "{error}");
        assert!(shell("echo ns=1").unwrap_err().contains("ns=1"));
    }
}
