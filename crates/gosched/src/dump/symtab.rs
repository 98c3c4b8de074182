//! Names from the symbol table of a program or library. They have their paths even where debug
//! information has only line tables (as in our profiles): those say `park`, this says
//! `app::pool::park`.
//!
//! A module's file is mapped, and its symbols are sorted, when it is first asked for. The mapping
//! is never removed.

#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::{Object, SymbolMap, SymbolMapName};

use super::cfi;
use super::hash::Map;

/// The tables of the modules that were asked for, by their base address.
pub(super) struct Symtabs(Map<usize, Option<SymbolMap<SymbolMapName<'static>>>>);

impl Symtabs {
    pub(super) fn new() -> Symtabs {
        Symtabs(Map::default())
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// The function at `address`, demangled, without its hash.
    pub(super) fn name(&mut self, address: usize) -> Option<String> {
        let (base, file) = cfi::module_of(address)?;
        let table = self.0.entry(base).or_insert_with(|| {
            // The loader gives no name for the program itself.
            let file = if file.is_empty() {
                Path::new("/proc/self/exe")
            } else {
                Path::new(OsStr::from_bytes(&file))
            };
            Some(object::File::parse(map(file)?).ok()?.symbol_map())
        });
        let symbol = table.as_ref()?.containing((address - base) as u64)?;
        Some(format!("{:#}", rustc_demangle::demangle(symbol.name())))
    }
}

/// A file's contents, mapped for ever.
fn map(path: &Path) -> Option<&'static [u8]> {
    let file = File::open(path).ok()?;
    let length = usize::try_from(file.metadata().ok()?.len()).ok().filter(|length| *length > 0)?;
    // SAFETY: a private, read-only mapping of a whole file, at an address of the kernel's choice,
    // that is never unmapped. (Truncating a program's file while it runs ends the program anyway.)
    unsafe {
        let base = libc::mmap(
            core::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        );
        (base != libc::MAP_FAILED).then(|| core::slice::from_raw_parts(base.cast(), length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program's own functions and a library's.
    #[test]
    fn functions_have_names() {
        let mut tables = Symtabs::new();
        let this = functions_have_names as *const () as usize;
        let name = "gosched::dump::symtab::tests::functions_have_names";
        assert_eq!(tables.name(this + 1).as_deref(), Some(name));
        assert_eq!(tables.name(8), None);
    }
}
