//! Files and directories, with the names of `std::fs`. Calls that may block their thread are
//! announced, so that other goroutines do not wait for the disk.
//!
//! ```
//! use gosched::fs;
//!
//! gosched::run(|| -> std::io::Result<()> {
//!     let path = std::env::temp_dir().join(format!("gosched-doc-{}", std::process::id()));
//!     fs::write(&path, "hello")?;
//!     assert_eq!(fs::read_to_string(&path)?, "hello");
//!     fs::remove_file(&path)
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The types that only describe a file ([`Metadata`], [`Permissions`], [`DirEntry`], ...) are std's
//! own. The end of a context does not cut these calls short.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod file;
mod options;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::runtime;

pub use file::File;
pub use options::{DirBuilder, OpenOptions};

#[doc(no_inline)]
pub use std::fs::{DirEntry, FileTimes, FileType, Metadata, Permissions, TryLockError};

/// The absolute path, without links and dots. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// assert_eq!(fs::canonicalize(dir.join("."))?, fs::canonicalize(&dir)?);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn canonicalize<P: AsRef<Path>>(path: P) -> io::Result<PathBuf> {
    runtime::blocking(|| std::fs::canonicalize(path))
}

/// Copies a file and its permissions; returns how many bytes. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// assert_eq!(fs::copy(dir.join("a"), dir.join("b"))?, 3);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn copy<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<u64> {
    runtime::blocking(|| std::fs::copy(from, to))
}

/// Creates a directory. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::create_dir(dir.join("a"))?;
/// assert!(fs::metadata(dir.join("a"))?.is_dir());
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn create_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    runtime::blocking(|| std::fs::create_dir(path))
}

/// Creates a directory and its parents, if they are missing. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::create_dir_all(dir.join("a/b/c"))?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn create_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    runtime::blocking(|| std::fs::create_dir_all(path))
}

/// Whether there is something at `path`. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// assert!(fs::exists(&dir)?);
/// assert!(!fs::exists(dir.join("nothing"))?);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn exists<P: AsRef<Path>>(path: P) -> io::Result<bool> {
    runtime::blocking(|| std::fs::exists(path))
}

/// Creates a hard link: a second name for a file. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// fs::hard_link(dir.join("a"), dir.join("b"))?;
/// assert_eq!(fs::read(dir.join("b"))?, b"abc");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn hard_link<P: AsRef<Path>, Q: AsRef<Path>>(original: P, link: Q) -> io::Result<()> {
    runtime::blocking(|| std::fs::hard_link(original, link))
}

/// A file's metadata; follows symbolic links. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// assert_eq!(fs::metadata(dir.join("a"))?.len(), 3);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    runtime::blocking(|| std::fs::metadata(path))
}

/// Reads a whole file. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// assert_eq!(fs::read(dir.join("a"))?, b"abc");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read<P: AsRef<Path>>(path: P) -> io::Result<Vec<u8>> {
    runtime::blocking(|| std::fs::read(path))
}

/// The target of a symbolic link. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// std::os::unix::fs::symlink("there", dir.join("link"))?;
/// assert_eq!(fs::read_link(dir.join("link"))?.to_str(), Some("there"));
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_link<P: AsRef<Path>>(path: P) -> io::Result<PathBuf> {
    runtime::blocking(|| std::fs::read_link(path))
}

/// Reads a whole file as text. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// assert_eq!(fs::read_to_string(dir.join("a"))?, "abc");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_to_string<P: AsRef<Path>>(path: P) -> io::Result<String> {
    runtime::blocking(|| std::fs::read_to_string(path))
}

/// Removes an empty directory. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::create_dir(dir.join("a"))?;
/// fs::remove_dir(dir.join("a"))?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_dir<P: AsRef<Path>>(path: P) -> io::Result<()> {
    runtime::blocking(|| std::fs::remove_dir(path))
}

/// Removes a directory and everything in it. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::create_dir_all(dir.join("a/b"))?;
/// fs::remove_dir_all(dir.join("a"))?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_dir_all<P: AsRef<Path>>(path: P) -> io::Result<()> {
    runtime::blocking(|| std::fs::remove_dir_all(path))
}

/// Removes a file. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// fs::remove_file(dir.join("a"))?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn remove_file<P: AsRef<Path>>(path: P) -> io::Result<()> {
    runtime::blocking(|| std::fs::remove_file(path))
}

/// Renames a file or directory, and replaces what had the new name. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// fs::rename(dir.join("a"), dir.join("b"))?;
/// assert!(!fs::exists(dir.join("a"))?);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn rename<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q) -> io::Result<()> {
    runtime::blocking(|| std::fs::rename(from, to))
}

/// Changes a file's permissions. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// let mut permissions = fs::metadata(dir.join("a"))?.permissions();
/// permissions.set_readonly(true);
/// fs::set_permissions(dir.join("a"), permissions)?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn set_permissions<P: AsRef<Path>>(path: P, perm: Permissions) -> io::Result<()> {
    runtime::blocking(|| std::fs::set_permissions(path, perm))
}

/// A file's metadata; does not follow symbolic links. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// std::os::unix::fs::symlink("there", dir.join("link"))?;
/// assert!(fs::symlink_metadata(dir.join("link"))?.is_symlink());
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn symlink_metadata<P: AsRef<Path>>(path: P) -> io::Result<Metadata> {
    runtime::blocking(|| std::fs::symlink_metadata(path))
}

/// Writes a file with these bytes, and replaces what was there. A moving call.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write<P: AsRef<Path>, C: AsRef<[u8]>>(path: P, contents: C) -> io::Result<()> {
    runtime::blocking(|| std::fs::write(path, contents))
}

/// The entries of a directory. A moving call, and so is each step of the iterator.
///
/// ```
/// use gosched::fs;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// fs::write(dir.join("a"), "abc")?;
/// let names = fs::read_dir(&dir)?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>()?;
/// assert_eq!(names, ["a"]);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_dir<P: AsRef<Path>>(path: P) -> io::Result<ReadDir> {
    runtime::blocking(|| std::fs::read_dir(path)).map(ReadDir)
}

/// Creates a symbolic link. A moving call.
///
/// ```
/// #[allow(deprecated)]
/// use gosched::fs::soft_link;
///
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// #[allow(deprecated)]
/// soft_link("there", dir.join("link"))?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[deprecated(since = "1.1.0", note = "replaced with std::os::unix::fs::symlink")]
pub fn soft_link<P: AsRef<Path>, Q: AsRef<Path>>(original: P, link: Q) -> io::Result<()> {
    runtime::blocking(|| std::os::unix::fs::symlink(original, link))
}

/// The entries of a directory, as [`read_dir`] returns them. Each step is a moving call.
///
/// ```
/// let entries = gosched::fs::read_dir("/proc/self")?.count();
/// assert!(entries > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ReadDir(std::fs::ReadDir);

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<io::Result<DirEntry>> {
        runtime::blocking(|| self.0.next())
    }
}
