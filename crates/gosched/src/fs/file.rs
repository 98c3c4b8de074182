//! An open file.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use super::{FileTimes, Metadata, OpenOptions, Permissions, TryLockError};
use crate::runtime;

/// An open file, as `std::fs::File`. Dropping it closes it.
///
/// ```
/// use std::io::{Read, Seek, Write};
/// # use gosched::fs::File;
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// let mut file = File::options().read(true).write(true).create(true).truncate(true).open(dir.join("a"))?;
/// file.write_all(b"hello")?;
/// file.rewind()?;
/// let mut text = String::new();
/// file.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct File(std::fs::File);

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl File {
    /// Opens a file for reading. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// std::fs::write(dir.join("a"), "abc")?;
    /// let file = File::open(dir.join("a"))?;
    /// # drop(file);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open<P: AsRef<Path>>(path: P) -> io::Result<File> {
        runtime::blocking(|| std::fs::File::open(path)).map(File)
    }

    /// Creates a file for writing, or empties an existing one. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// # drop(file);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create<P: AsRef<Path>>(path: P) -> io::Result<File> {
        runtime::blocking(|| std::fs::File::create(path)).map(File)
    }

    /// Creates a file for reading and writing; fails if it exists. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create_new(dir.join("a"))?;
    /// assert!(File::create_new(dir.join("a")).is_err());
    /// # drop(file);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        runtime::blocking(|| std::fs::File::create_new(path)).map(File)
    }

    /// As [`OpenOptions::new`]. Never moves.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::options().append(true).create(true).open(dir.join("a"))?;
    /// # drop(file);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Waits until everything is on the disk. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.sync_all()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sync_all(&self) -> io::Result<()> {
        runtime::blocking(|| self.0.sync_all())
    }

    /// Waits until the contents are on the disk. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.sync_data()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sync_data(&self) -> io::Result<()> {
        runtime::blocking(|| self.0.sync_data())
    }

    /// Locks the file exclusively; waits for other locks. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.lock()?;
    /// file.unlock()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lock(&self) -> io::Result<()> {
        runtime::blocking(|| self.0.lock())
    }

    /// Locks the file together with others; waits for an exclusive lock. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.lock_shared()?;
    /// file.unlock()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lock_shared(&self) -> io::Result<()> {
        runtime::blocking(|| self.0.lock_shared())
    }

    /// As [`lock`](File::lock), without waiting. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// assert!(file.try_lock().is_ok());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        runtime::blocking(|| self.0.try_lock())
    }

    /// As [`lock_shared`](File::lock_shared), without waiting. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// assert!(file.try_lock_shared().is_ok());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_lock_shared(&self) -> Result<(), TryLockError> {
        runtime::blocking(|| self.0.try_lock_shared())
    }

    /// Releases the lock. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.lock()?;
    /// file.unlock()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn unlock(&self) -> io::Result<()> {
        runtime::blocking(|| self.0.unlock())
    }

    /// Sets the file's length: truncates it, or extends it with zeros. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.set_len(10)?;
    /// assert_eq!(file.metadata()?.len(), 10);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        runtime::blocking(|| self.0.set_len(size))
    }

    /// The file's metadata. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// assert!(file.metadata()?.is_file());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metadata(&self) -> io::Result<Metadata> {
        runtime::blocking(|| self.0.metadata())
    }

    /// Another handle to the same open file: they share the position. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// let clone = file.try_clone()?;
    /// # drop(clone);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<File> {
        runtime::blocking(|| self.0.try_clone()).map(File)
    }

    /// Changes its permissions. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// let mut permissions = file.metadata()?.permissions();
    /// permissions.set_readonly(true);
    /// file.set_permissions(permissions)?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        runtime::blocking(|| self.0.set_permissions(perm))
    }

    /// Changes its times. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// let times = std::fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
    /// file.set_times(times)?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        runtime::blocking(|| self.0.set_times(times))
    }

    /// Changes the time of its last change. A moving call.
    ///
    /// ```
    /// # use gosched::fs::File;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// let file = File::create(dir.join("a"))?;
    /// file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
    /// assert_eq!(file.metadata()?.modified()?, std::time::SystemTime::UNIX_EPOCH);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        runtime::blocking(|| self.0.set_modified(time))
    }

    /// Whether it is a terminal, as std's `IsTerminal`. Never moves.
    ///
    /// ```
    /// assert!(!gosched::fs::File::open("/dev/null")?.is_terminal());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.0.is_terminal()
    }
}

/// Moving calls.
impl Read for &File {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).read(buf))
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).read_vectored(bufs))
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).read_to_end(buf))
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).read_to_string(buf))
    }
}

/// Moving calls.
impl Write for &File {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).write(buf))
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).write_vectored(bufs))
    }

    fn flush(&mut self) -> io::Result<()> {
        runtime::blocking(|| (&self.0).flush())
    }
}

/// Moving calls.
impl Seek for &File {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        runtime::blocking(|| (&self.0).seek(pos))
    }
}

/// Moving calls.
impl Read for File {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(bufs)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (&*self).read_to_end(buf)
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (&*self).read_to_string(buf)
    }
}

/// Moving calls.
impl Write for File {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

/// Moving calls.
impl Seek for File {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&*self).seek(pos)
    }
}

/// Moving calls.
impl FileExt for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        runtime::blocking(|| self.0.read_at(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        runtime::blocking(|| self.0.write_at(buf, offset))
    }
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> File {
        File(file)
    }
}

impl From<File> for std::fs::File {
    fn from(file: File) -> std::fs::File {
        file.0
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        File(fd.into())
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> OwnedFd {
        file.0.into()
    }
}

impl From<File> for Stdio {
    fn from(file: File) -> Stdio {
        file.0.into()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl IntoRawFd for File {
    fn into_raw_fd(self) -> RawFd {
        self.0.into_raw_fd()
    }
}

impl FromRawFd for File {
    unsafe fn from_raw_fd(fd: RawFd) -> File {
        // SAFETY: by the same contract.
        File(unsafe { std::fs::File::from_raw_fd(fd) })
    }
}
