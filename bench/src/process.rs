//! One measurement: a fresh process that runs one workload and prints its figures on one line.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::rows::Size;
use crate::server::Server;
use crate::wrk::Wrk;

/// What a workload measured, by name.
pub type Figures = BTreeMap<String, f64>;

/// Longer than any workload takes on a slow machine; a hung one ends here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A program that runs workloads.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// The program at `path`.
    pub fn new(path: PathBuf) -> Program {
        Program { path }
    }

    /// The names of its workloads.
    pub fn list(&self) -> Result<Vec<String>, String> {
        Ok(run(&self.path, &["list".into()])?.lines().map(str::to_owned).collect())
    }

    /// Runs one workload once.
    pub fn measure(&self, workload: &str, procs: u32, sizes: &[Size]) -> Result<Figures, String> {
        figures(&run(&self.path, &arguments(workload, procs, sizes))?)
    }

    /// Runs one workload that only serves once, with wrk as its client.
    pub fn measure_served(
        &self,
        workload: &str,
        procs: u32,
        sizes: &[Size],
        wrk: &Wrk,
    ) -> Result<Figures, String> {
        wrk.load(&Server::start(&self.path, &arguments(workload, procs, sizes))?, sizes)
    }
}

fn arguments(workload: &str, procs: u32, sizes: &[Size]) -> Vec<String> {
    let sizes = sizes.iter().map(|(name, size)| format!("{name}={size}"));
    [workload.to_owned(), format!("procs={procs}")].into_iter().chain(sizes).collect()
}

/// Runs a program to its end and returns what it printed.
pub(crate) fn run(path: &Path, args: &[String]) -> Result<String, String> {
    let mut child = spawn(path, args, Stdio::null())?;
    let (sender, end) = mpsc::channel();
    let errors = read_in_background(child.stderr.take());
    let output = read_in_background(child.stdout.take());
    thread::spawn(move || {
        sender.send((output.join().unwrap_or_default(), errors.join().unwrap_or_default()))
    });
    let received = end.recv_timeout(PATIENCE);
    if received.is_err() {
        kill(&mut child);
        return Err(format!("no result after {} s", PATIENCE.as_secs()));
    }
    let (output, errors) = received.unwrap_or_default();
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(output) } else { Err(format!("{status}: {}", essence(&errors))) }
}

/// Starts a program whose output and errors can be read.
pub(crate) fn spawn(path: &Path, args: &[String], input: Stdio) -> Result<Child, String> {
    Command::new(path)
        .args(args)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", path.display()))
}

pub(crate) fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is still worth showing.
            let _ = pipe.read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

pub(crate) fn kill(child: &mut Child) {
    // Fails only if it has just ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// The first lines of what a failed program said, on one line.
pub(crate) fn essence(errors: &str) -> String {
    let lines: Vec<_> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
    if lines.is_empty() { "it said nothing".into() } else { lines.join(" ") }
}

/// Reads `ns=451.3 bytes=17.0`.
fn figures(line: &str) -> Result<Figures, String> {
    let figures: Option<Figures> = line
        .split_whitespace()
        .map(|pair| {
            let (name, number) = pair.split_once('=')?;
            Some((name.to_owned(), number.parse().ok()?))
        })
        .collect();
    figures
        .filter(|figures| !figures.is_empty())
        .ok_or_else(|| format!("figures were expected, not {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<String, String> {
        run(Path::new("/bin/sh"), &["-c".into(), script.into()])
    }

    #[test]
    fn figures_are_read_by_name() {
        let read = figures("ns=451.5 bytes=17\n").unwrap();
        assert_eq!((read["ns"], read["bytes"]), (451.5, 17.0));
        assert!(figures("").is_err());
        assert!(figures("hello").unwrap_err().contains("hello"));
    }

    #[test]
    fn a_failure_quotes_the_program() {
        assert_eq!(shell("echo ns=1").unwrap(), "ns=1\n");
        let error = shell("echo 'fatal error: deadlock' >&2; exit 2").unwrap_err();
        assert!(error.contains('2') && error.contains("fatal error: deadlock"), "{error}");
        assert!(run(Path::new("/no/such/program"), &[]).unwrap_err().contains("/no/such/program"));
    }
}
