//! How to open a file, and how to create a directory.

use std::fmt;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::File;
use crate::runtime;

/// How to open a file, as `std::fs::OpenOptions`.
///
/// ```
/// # use gosched::fs::OpenOptions;
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(dir.join("a"))?;
/// # drop(file);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct OpenOptions(std::fs::OpenOptions);

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl OpenOptions {
    /// Options that are all unset. Never moves.
    ///
    /// ```
    /// let options = gosched::fs::OpenOptions::new();
    /// # drop(options);
    /// ```
    #[must_use]
    #[allow(clippy::new_without_default, reason = "as std's")]
    pub fn new() -> OpenOptions {
        OpenOptions(std::fs::OpenOptions::new())
    }

    /// Sets whether to read. Never moves.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// std::fs::write(dir.join("a"), "abc")?;
    /// OpenOptions::new().read(true).open(dir.join("a"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.0.read(read);
        self
    }

    /// Sets whether to write. Never moves.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// std::fs::write(dir.join("a"), "abc")?;
    /// OpenOptions::new().write(true).open(dir.join("a"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.0.write(write);
        self
    }

    /// Sets whether each write goes to the end of the file. Never moves.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// OpenOptions::new().append(true).create(true).open(dir.join("a"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.0.append(append);
        self
    }

    /// Sets whether to empty the file first. Never moves.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// OpenOptions::new().write(true).create(true).truncate(true).open(dir.join("a"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.0.truncate(truncate);
        self
    }

    /// Sets whether to create the file if it is missing. Never moves.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// OpenOptions::new().append(true).create(true).open(dir.join("a"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.0.create(create);
        self
    }

    /// Sets whether to create the file, and fail if it exists. Never moves.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// OpenOptions::new().write(true).create_new(true).open(dir.join("a"))?;
    /// assert!(OpenOptions::new().write(true).create_new(true).open(dir.join("a")).is_err());
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.0.create_new(create_new);
        self
    }

    /// Opens the file. A moving call.
    ///
    /// ```
    /// # use gosched::fs::OpenOptions;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// std::fs::write(dir.join("a"), "abc")?;
    /// let file = OpenOptions::new().read(true).open(dir.join("a"))?;
    /// # drop(file);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open<P: AsRef<Path>>(&self, path: P) -> io::Result<File> {
        runtime::blocking(|| self.0.open(path)).map(File::from)
    }
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.0.mode(mode);
        self
    }

    fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }
}

/// How to create directories, as `std::fs::DirBuilder`.
///
/// ```
/// # use gosched::fs::DirBuilder;
/// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_dir_all(&dir);
/// # std::fs::create_dir(&dir)?;
/// DirBuilder::new().recursive(true).create(dir.join("a/b"))?;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct DirBuilder(std::fs::DirBuilder);

impl fmt::Debug for DirBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl DirBuilder {
    /// Options to create one directory, whose parent must exist. Never moves.
    ///
    /// ```
    /// let builder = gosched::fs::DirBuilder::new();
    /// # drop(builder);
    /// ```
    #[must_use]
    #[allow(clippy::new_without_default, reason = "as std's")]
    pub fn new() -> DirBuilder {
        DirBuilder(std::fs::DirBuilder::new())
    }

    /// Sets whether to create the parents, too, and to succeed if the directory exists. Never
    /// moves.
    ///
    /// ```
    /// # use gosched::fs::DirBuilder;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// DirBuilder::new().recursive(true).create(dir.join("a/b"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.0.recursive(recursive);
        self
    }

    /// Creates the directory. A moving call.
    ///
    /// ```
    /// # use gosched::fs::DirBuilder;
    /// # let dir = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_dir_all(&dir);
    /// # std::fs::create_dir(&dir)?;
    /// DirBuilder::new().create(dir.join("a"))?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        runtime::blocking(|| self.0.create(path))
    }
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.0.mode(mode);
        self
    }
}
