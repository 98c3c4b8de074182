//! From an address in the code to its caller: the call-frame information that compilers leave in
//! `.eh_frame`.
//!
//! A [`Rule`] says how the caller's registers are found at one address. It depends on the code
//! alone, so rules are kept, and `.eh_frame` is read once for each address.
//!
//! Sections are read where the loader has mapped them, inside `dl_iterate_phdr`, whose lock keeps
//! modules from being unloaded meanwhile. [`CodeTable::refresh`] forgets all rules if a module was
//! unloaded since.

#![allow(unsafe_code)]

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use std::ffi::CString;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, FrameDescriptionEntry, NativeEndian, Register, RegisterRule,
    UnwindContext, UnwindSection,
};
use gosched_switch::arch::{self, Call, DWARF};

use super::hash::Map;

type Reader<'a> = gimli::EndianSlice<'a, NativeEndian>;

/// The register from which the end of a frame is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Sp,
    Bp,
}

/// Where the caller's value of a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// Still in its register.
    Kept,
    /// At this distance from the frame's upper end.
    At(isize),
    /// Unknown.
    Lost,
}

/// How the caller is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The frame ends `offset` above `base`; `bp` and `pc` say where the caller's frame pointer and
    /// program counter are. A program counter that is `Kept` is in the link register.
    Step { base: Base, offset: isize, bp: Saved, pc: Saved },
    /// There is no caller: the outermost frame.
    Outermost,
    /// There is no rule, or none that we understand.
    None,
}

/// What is known of the code at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeInfo {
    pub(super) rule: Rule,
    /// Where its function begins; 0 if that is not known.
    pub(super) function: usize,
}

/// What is known of the addresses that were asked for so far.
pub(super) struct CodeTable {
    known: Map<usize, CodeInfo>,
    context: UnwindContext<usize>,
    unloaded: u64,
}

impl CodeTable {
    pub(super) fn new() -> CodeTable {
        CodeTable { known: Map::default(), context: UnwindContext::new(), unloaded: 0 }
    }

    /// What is known of the code at `address`, which lies inside an instruction.
    pub(super) fn at(&mut self, address: usize) -> CodeInfo {
        if let Some(place) = self.known.get(&address) {
            return *place;
        }
        let context = &mut self.context;
        let place = in_module_of(address, |module| module.place(address, context)).flatten();
        let place = place.unwrap_or(CodeInfo { rule: Rule::None, function: 0 });
        self.known.insert(address, place);
        place
    }

    /// Forgets everything if a module was unloaded since the last call.
    pub(super) fn refresh(&mut self) -> Refreshed {
        let mut unloaded = 0;
        each_module(&mut |info| {
            unloaded = info.dlpi_subs;
            Walk::Stop
        });
        if unloaded == self.unloaded {
            return Refreshed::AllStillTrue;
        }
        self.unloaded = unloaded;
        self.known.clear();
        Refreshed::Forgotten
    }
}

/// Whether addresses still mean what they meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Refreshed {
    AllStillTrue,
    Forgotten,
}

/// Where a call leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    /// To a fixed address, or through a fixed slot.
    At(usize),
    /// Through a register or a table.
    Unknown,
}

/// The call right before `address`, if there is one.
pub(super) fn call_before(address: usize) -> Option<Callee> {
    in_module_of(address, |module| {
        let code: [u8; arch::LONGEST_CALL] = module.copy(address.checked_sub(arch::LONGEST_CALL)?)?;
        match arch::call_before(&code, address)? {
            Call::To(target) => Some(Callee::At(target)),
            Call::Through(slot) => {
                let target = usize::from_ne_bytes(module.copy(slot)?);
                Some(Callee::At(target))
            }
            Call::Unknown => Some(Callee::Unknown),
        }
    })
    .flatten()
}

/// The module that `address` lies in: its base address, and its file (empty for the program
/// itself).
pub(super) fn module_of(address: usize) -> Option<(usize, Vec<u8>)> {
    in_module_of(address, |module| (module.base, module.file.to_bytes().to_vec()))
}

/// A program or a library, while the loader's lock is held.
struct Module<'a> {
    base: usize,
    file: &'a CStr,
    headers: &'a [libc::Elf64_Phdr],
}

impl Module<'_> {
    fn segments(&self, kind: u32) -> impl Iterator<Item = (usize, usize)> {
        let headers = self.headers.iter().filter(move |header| header.p_type == kind);
        headers.map(|header| (self.base.wrapping_add(header.p_vaddr as usize), header.p_memsz as usize))
    }

    /// The loaded segment that `address` lies in: its bytes from there on.
    fn bytes_from(&self, address: usize) -> Option<&[u8]> {
        let (start, size) = self
            .segments(libc::PT_LOAD)
            .find(|(start, size)| address.checked_sub(*start).is_some_and(|offset| offset < *size))?;
        let length = size - (address - start);
        // SAFETY: a loaded segment is mapped as long as the loader's lock is held. Code and its
        // unwind tables do not change; a slot of the linkage table, if it is still unbound, is a
        // word that changes once.
        Some(unsafe {
            core::slice::from_raw_parts(core::ptr::with_exposed_provenance::<u8>(address), length)
        })
    }

    /// A copy of `N` bytes. A guess may lead anywhere in a module, also to what AddressSanitizer
    /// keeps between two variables: so it is not read by instrumented code.
    fn copy<const N: usize>(&self, address: usize) -> Option<[u8; N]> {
        let from = self.bytes_from(address)?.get(..N)?;
        let mut to = [0; N];
        // SAFETY: those bytes are mapped, as above.
        unsafe { arch::copy_racing(from.as_ptr().expose_provenance(), &mut to) };
        Some(to)
    }

    fn place(&self, address: usize, context: &mut UnwindContext<usize>) -> Option<CodeInfo> {
        let (header_at, _) = self.segments(libc::PT_GNU_EH_FRAME).next()?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at as u64);
        let header = EhFrameHdr::new(self.bytes_from(header_at)?, NativeEndian).parse(&bases, 8).ok()?;
        let frames_at = header.eh_frame_ptr().direct().ok()?;
        let bases = bases.set_eh_frame(frames_at);
        let frames = EhFrame::new(self.bytes_from(frames_at as usize)?, NativeEndian);
        let table = header.table()?;
        let entry: FrameDescriptionEntry<Reader<'_>> =
            table.fde_for_address(&frames, &bases, address as u64, EhFrame::cie_from_offset).ok()?;
        let row = entry.unwind_info_for_address(&frames, &bases, context, address as u64).ok()?;
        let rule = rule_of(row.cfa(), row.register(Register(DWARF.ra)), row.register(Register(DWARF.bp)));
        Some(CodeInfo { rule, function: entry.initial_address() as usize })
    }
}

/// Translates what compilers write. Expressions, which only the linkage table and signal frames
/// need, give no rule.
fn rule_of(
    cfa: &CfaRule<usize>,
    return_address: Option<RegisterRule<usize>>,
    frame_pointer: Option<RegisterRule<usize>>,
) -> Rule {
    if matches!(return_address, Some(RegisterRule::Undefined)) {
        return Rule::Outermost;
    }
    let (base, offset) = match cfa {
        CfaRule::RegisterAndOffset { register, offset } if register.0 == DWARF.sp => (Base::Sp, *offset),
        CfaRule::RegisterAndOffset { register, offset } if register.0 == DWARF.bp => (Base::Bp, *offset),
        _ => return Rule::None,
    };
    let offset = offset as isize;
    Rule::Step { base, offset, bp: saved(frame_pointer), pc: saved(return_address) }
}

fn saved(rule: Option<RegisterRule<usize>>) -> Saved {
    match rule {
        None | Some(RegisterRule::SameValue) => Saved::Kept,
        Some(RegisterRule::Offset(offset)) => Saved::At(offset as isize),
        _ => Saved::Lost,
    }
}

/// The modules that are loaded, kept from being unloaded: what is known of an address can be looked
/// up without the loader's lock, and without allocating.
pub(crate) struct PinnedModules {
    modules: Vec<Module<'static>>,
    pins: Vec<NonNull<c_void>>,
    context: UnwindContext<usize>,
    /// How many modules were loaded and unloaded before.
    changes: (u64, u64),
}

// SAFETY: the pins are the loader's handles, which belong to no thread.
unsafe impl Send for PinnedModules {}

/// How many modules were loaded and unloaded so far.
fn changes() -> (u64, u64) {
    let mut changes = (0, 0);
    each_module(&mut |info| {
        changes = (info.dlpi_adds, info.dlpi_subs);
        Walk::Stop
    });
    changes
}

impl PinnedModules {
    pub(crate) fn new() -> PinnedModules {
        let changes = changes();
        let mut names: Vec<CString> = Vec::new();
        each_module(&mut |info| {
            if !info.dlpi_name.is_null() {
                // SAFETY: the loader's description is correct.
                names.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
            }
            Walk::On
        });
        let mut pins = Vec::new();
        names.retain(|name| {
            // SAFETY: counts a module that is loaded once more, and loads none.
            let pin = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            pins.extend(NonNull::new(pin));
            // The program has no name; the kernel's module has no file. They stay.
            !pin.is_null() || name.is_empty() || name.to_bytes().starts_with(b"linux-vdso")
        });
        let mut modules = Vec::new();
        each_module(&mut |info| {
            // SAFETY: the loader's description is correct. The program itself and the kernel's
            // module are never unloaded; the others are pinned, or were loaded since and are passed
            // over.
            unsafe {
                let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
                if names.iter().any(|pinned| pinned.as_c_str() == name) {
                    let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
                    modules.push(Module { base: info.dlpi_addr as usize, file: c"", headers });
                }
            }
            Walk::On
        });
        PinnedModules { modules, pins, context: UnwindContext::new(), changes }
    }

    /// How many modules were loaded and unloaded so far.
    pub(crate) fn changes_so_far() -> (u64, u64) {
        changes()
    }

    /// Whether they are those that were loaded at this number of changes.
    pub(crate) fn are_of(&self, changes: (u64, u64)) -> bool {
        self.changes == changes
    }

    /// What is known of the code at `address`, which lies inside an instruction; `None` if that is
    /// in none of these modules.
    pub(crate) fn rule_at(&mut self, address: usize) -> Option<Rule> {
        let module = self.modules.iter().find(|module| module.bytes_from(address).is_some())?;
        Some(module.place(address, &mut self.context).map_or(Rule::None, |place| place.rule))
    }
}

impl Drop for PinnedModules {
    fn drop(&mut self) {
        for pin in &self.pins {
            // SAFETY: the handle is ours, and closed once.
            unsafe { libc::dlclose(pin.as_ptr()) };
        }
    }
}

/// Whether to look at the next module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    On,
    Stop,
}

fn in_module_of<T>(address: usize, f: impl FnOnce(&Module<'_>) -> T) -> Option<T> {
    let mut f = Some(f);
    let mut result = None;
    each_module(&mut |info| {
        // SAFETY: the loader's description is correct, and it keeps its modules while its lock is
        // held.
        let (headers, file) = unsafe {
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            (headers, if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) })
        };
        let module = Module { base: info.dlpi_addr as usize, file, headers };
        if module.bytes_from(address).is_none() {
            return Walk::On;
        }
        result = f.take().map(|f| f(&module));
        Walk::Stop
    });
    result
}

fn each_module(f: &mut dyn FnMut(&libc::dl_phdr_info) -> Walk) {
    extern "C" fn call(info: *mut libc::dl_phdr_info, _: usize, f: *mut c_void) -> i32 {
        // SAFETY: the loader passes a valid description, and below a pointer to the function is
        // passed along.
        let (info, f) = unsafe { (&*info, &mut *f.cast::<&mut dyn FnMut(&libc::dl_phdr_info) -> Walk>()) };
        i32::from(f(info) == Walk::Stop)
    }
    let mut f = f;
    // SAFETY: `call` gets what it expects, during this call only.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut f).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address right after the call to this function.
    #[inline(never)]
    fn return_address() -> usize {
        let trace = std::hint::black_box(caller_of_caller());
        std::hint::black_box(trace)
    }

    #[inline(never)]
    fn caller_of_caller() -> usize {
        let mut frames = 0;
        let mut found = 0;
        backtrace::trace(|frame| {
            let name = |f: &mut bool| {
                backtrace::resolve_frame(frame, |symbol| {
                    *f |= symbol.name().is_some_and(|name| name.to_string().contains("return_address"));
                });
            };
            if frames == 1 {
                found = frame.ip() as usize;
                return false;
            }
            let mut is_it = false;
            name(&mut is_it);
            frames += usize::from(is_it);
            true
        });
        found
    }

    /// The call before a return address and the function that it leads to are found.
    #[test]
    fn a_call_leads_to_the_beginning_of_a_function() {
        let after_call = return_address();
        assert_ne!(after_call, 0);
        let begin = return_address as *const () as usize;
        assert_eq!(call_before(after_call), Some(Callee::At(begin)));
        assert_eq!(call_before(begin), None);
        let mut places = CodeTable::new();
        let place = places.at(begin + 1);
        assert_eq!(place.function, begin);
        assert!(matches!(place.rule, Rule::Step { .. }));
        assert!(matches!(places.at(8).rule, Rule::None));
    }
}
