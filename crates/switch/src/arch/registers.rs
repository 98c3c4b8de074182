//! What an unwinder needs to know of a CPU. Plain data; nothing here depends on the architecture.

/// Where to start unwinding a stack.
///
/// # Examples
///
/// ```
/// let here = gosched_switch::arch::here();
/// assert!(here.bp.is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer, where it is known.
    pub bp: Option<usize>,
    /// The link register, where it is known: the return address of a function that has not saved
    /// it. There is none where a call pushes the return address.
    pub lr: Option<usize>,
}

/// What unwind tables (DWARF) call the registers of an architecture.
///
/// # Examples
///
/// ```
/// let gosched_switch::arch::Dwarf { sp, bp, ra } = gosched_switch::arch::DWARF;
/// assert!(sp != bp && bp != ra);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dwarf {
    /// The stack pointer.
    pub sp: u16,
    /// The frame pointer.
    pub bp: u16,
    /// The return address: the link register, or a number that stands for where a call pushes it.
    pub ra: u16,
}

/// Where a call leads.
///
/// # Examples
///
/// ```
/// use gosched_switch::arch::Call;
/// assert_ne!(Call::To(0x1000), Call::Through(0x1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// To this address.
    To(usize),
    /// To the address in the word that lies here: a slot of a table that the linker made.
    Through(usize),
    /// To an address in a register or in the program's data.
    Unknown,
}
