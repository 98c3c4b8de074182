//! Building the programs that run the workloads. One that cannot be built is left out with a note;
//! the comparison continues with the others.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::go;
use crate::peer::Peer;
use crate::process::Program;
use crate::rows::Workload;
use crate::wrk::{self, Wrk};

/// The programs that were built, and notes about the others.
#[derive(Debug, Default)]
pub struct Programs {
    /// By runtime.
    pub found: BTreeMap<Peer, Program>,
    /// The version of each runtime.
    pub versions: BTreeMap<Peer, String>,
    /// The client of the workloads that are served, if one of them is to be run.
    pub wrk: Option<Wrk>,
    /// What is missing, why, and what to do.
    pub notes: Vec<String>,
}

impl Programs {
    /// Whether what `workload` needs beside them is there.
    pub fn can_run(&self, workload: &Workload) -> bool {
        self.wrk.is_some() || !workload.is_served()
    }
}

/// Where this package is.
pub fn bench_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the programs of `peers`, and finds what else `workloads` need.
pub fn build(peers: &[Peer], workloads: &[&Workload]) -> Programs {
    let mut programs = Programs::default();
    build_rust(peers, &mut programs);
    if peers.contains(&Peer::Go) {
        build_go(&mut programs);
    }
    if workloads.iter().any(|workload| workload.is_served()) {
        find_wrk(&mut programs);
    }
    programs
}

fn build_rust(peers: &[Peer], programs: &mut Programs) {
    let packages: Vec<(Peer, &str)> =
        peers.iter().filter_map(|peer| Some((*peer, peer.package()?))).collect();
    let built = match cargo_build(&packages) {
        Ok(built) => built,
        Err(error) => return programs.notes.push(error),
    };
    for (peer, package) in packages {
        match built.get(package) {
            Some(path) => {
                programs.found.insert(peer, Program::new(path.clone()));
                programs.versions.insert(peer, locked_version(peer));
            }
            None => {
                programs.notes.push(format!("{} is left out: {package} could not be built", peer.title()))
            }
        }
    }
}

/// Builds what can be built and tells where it is.
fn cargo_build(packages: &[(Peer, &str)]) -> Result<BTreeMap<String, PathBuf>, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--keep-going", "--message-format=json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(bench_dir().join("Cargo.toml"))
        .args(packages.iter().flat_map(|(_, package)| ["--package", package]))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    let messages =
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    Ok(messages
        .filter_map(|message: Value| {
            let (name, path) = (message["target"]["name"].as_str()?, message["executable"].as_str()?);
            Some((name.to_owned(), PathBuf::from(path)))
        })
        .collect())
}

fn build_go(programs: &mut Programs) {
    let Some(toolchain) = go::find() else {
        programs.notes.push(format!(
            "Go is not installed: its column is missing, and aims measured by it are undecided. To get it:\n  {}",
            go::REMEDY
        ));
        return;
    };
    match toolchain.build(&target_dir()) {
        Ok(path) => {
            programs.found.insert(Peer::Go, Program::new(path));
            programs.versions.insert(Peer::Go, toolchain.version.trim_start_matches("go").to_owned());
        }
        Err(error) => programs.notes.push(format!("Go is left out: {error}")),
    }
}

fn find_wrk(programs: &mut Programs) {
    programs.wrk = Wrk::find();
    if programs.wrk.is_none() {
        programs.notes.push(format!(
            "wrk is not installed: the figures that need it are missing, and their aims are undecided. To get it:\n  {}",
            wrk::REMEDY
        ));
    }
}

/// Where cargo puts what it builds: this program is in its `release` or `debug`.
fn target_dir() -> PathBuf {
    let beside = env::current_exe().ok().and_then(|path| Some(path.parent()?.parent()?.to_owned()));
    beside.unwrap_or_else(|| bench_dir().join("target"))
}

/// The version of a runtime's crate according to Cargo.lock; OS threads are std's.
fn locked_version(peer: Peer) -> String {
    let lock = std::fs::read_to_string(bench_dir().join("Cargo.lock")).unwrap_or_default();
    let krate = match peer {
        Peer::Threads => return "std".into(),
        peer => peer.title(),
    };
    version_in(&lock, krate).unwrap_or_else(|| "unknown version".into())
}

fn version_in(lock: &str, krate: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = {krate:?}"));
    Some(lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::WORKLOADS;

    #[test]
    fn what_is_served_needs_its_client() {
        let without = Programs::default();
        let runnable = WORKLOADS.iter().filter(|workload| without.can_run(workload)).count();
        let served = WORKLOADS.iter().filter(|workload| workload.is_served()).count();
        assert_eq!((runnable, served), (WORKLOADS.len() - 1, 1));
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"tokio-util\"\nversion = \"0.7.1\"\n\n[[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\n";
        assert_eq!(version_in(lock, "tokio").as_deref(), Some("1.54.1"));
        assert_eq!(version_in(lock, "may"), None);
    }
}
