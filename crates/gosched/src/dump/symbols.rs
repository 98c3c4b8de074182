//! From addresses to text for people: functions with their lines, innermost first, inlined calls
//! included. Each address is looked up once.
//!
//! Which of them are shown: of the runtime's own frames at the inner end only the outermost, the
//! call that the user made; of those at the outer end none, nor the frames through which the
//! runtime calls a closure. So a goroutine that sleeps shows `gosched::thread::sleep` first and its
//! own closure last.

use std::rc::Rc;

use super::hash::Map;
use super::names::{self, CodeOwner};
use super::symtab::Symtabs;

/// One call in a stack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StackCall {
    /// Demangled, without its hash; for code without a name its address.
    pub(crate) function: String,
    /// File and line, where they are known.
    pub(crate) place: Option<String>,
    kind: CodeOwner,
}

impl StackCall {
    /// Whether it is in the runtime's code.
    pub(super) fn is_ours(&self) -> bool {
        self.kind == CodeOwner::Ours
    }

    /// Whether it is in the user's code (or in a library that they use).
    pub(super) fn is_users(&self) -> bool {
        self.kind == CodeOwner::Other && self.place.is_some()
    }
}

/// The calls at each address that was asked for.
pub(crate) struct Symbols {
    known: Map<usize, Rc<[Rc<StackCall>]>>,
    symtabs: Symtabs,
}

impl Symbols {
    pub(crate) fn new() -> Symbols {
        Symbols { known: Map::default(), symtabs: Symtabs::new() }
    }

    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.symtabs.forget();
    }

    /// The calls that are shown of a stack with these frames.
    pub(crate) fn calls(&mut self, frames: &[usize]) -> Vec<Rc<StackCall>> {
        let mut calls = Vec::new();
        for address in frames {
            let symtabs = &mut self.symtabs;
            let at = self.known.entry(*address).or_insert_with(|| resolve(*address, symtabs));
            calls.extend(at.iter().cloned());
        }
        let outer = outermost(&calls);
        calls.truncate(outer);
        calls.drain(..innermost(&calls));
        calls
    }
}

/// How many frames at the inner end are hidden: those inside the user's call into the runtime.
fn innermost(calls: &[Rc<StackCall>]) -> usize {
    let users = calls.iter().position(|call| call.kind == CodeOwner::Other).unwrap_or(calls.len());
    calls[..users].iter().rposition(|call| call.kind == CodeOwner::Ours).unwrap_or(0)
}

/// How many frames there are without those that run the goroutine's closure.
fn outermost(calls: &[Rc<StackCall>]) -> usize {
    let runs = |call: &Rc<StackCall>| call.function.starts_with("gosched::g::task::run");
    let Some(begin) = calls.iter().rposition(runs) else {
        let main = |call: &Rc<StackCall>| call.function.starts_with("gosched::sched::spawn::goroutine_main");
        return calls.iter().rposition(main).unwrap_or(calls.len()).max(1);
    };
    // Then what leads to the user's closure, one of ours among it, whose name may be no more than
    // `{closure#0}`.
    let leads = |call: &Rc<StackCall>| {
        call.function.starts_with("gosched::g::task::") || is_call_through(&call.function)
    };
    let begin = calls[..begin].iter().rposition(|call| !leads(call)).map_or(0, |last| last + 1);
    let calls = &calls[..begin];
    let through = |call: &Rc<StackCall>| call.kind == CodeOwner::Ours || is_call_through(&call.function);
    let ours = calls.iter().rposition(|call| call.kind == CodeOwner::Ours);
    let last = match ours {
        // No user code: a function of ours was passed to `go`.
        Some(ours) if calls.iter().all(|call| call.kind != CodeOwner::Other) => Some(ours),
        _ => calls.iter().rposition(|call| !through(call)),
    };
    // At least one: a goroutine that begins or ends has no other frames.
    last.map_or(begin, |last| last + 1).max(1)
}

/// What stands between the runtime and a closure: `catch_unwind` and calls of closures by trait.
fn is_call_through(function: &str) -> bool {
    if names::is_call_shim(function) {
        return true;
    }
    let function = function.trim_start_matches('<');
    ["std::panic", "core::panic", "core::ops::function", "alloc::boxed", "__rust_try", "rust_try"]
        .iter()
        .any(|start| function.starts_with(start))
}

/// The calls at an address inside an instruction.
fn resolve(address: usize, symtabs: &mut Symtabs) -> Rc<[Rc<StackCall>]> {
    let mut found: Vec<(Option<String>, Option<String>, Option<u32>)> = Vec::new();
    // `resolve` takes a return address and looks at the instruction before it.
    let after = core::ptr::without_provenance_mut(address + 1);
    backtrace::resolve(after, |symbol| {
        let name = symbol.name().map(|name| format!("{name:#}"));
        let file = symbol.filename().map(|file| file.display().to_string());
        found.push((name, file, symbol.lineno()));
    });
    // The last one is the function that the others were inlined in: the only one that the symbol
    // table knows.
    match found.last_mut() {
        None => found.push((symtabs.name(address), None, None)),
        Some((name, file, _)) => {
            let is_rust = file.as_ref().is_none_or(|file| file.ends_with(".rs"));
            if is_rust && name.as_ref().is_none_or(|name| names::is_bare(name)) {
                *name = symtabs.name(address).or(name.take());
            }
        }
    }
    let call = |(name, file, line): (Option<String>, Option<String>, Option<u32>)| {
        let name = name.unwrap_or_else(|| format!("{address:#x}"));
        let function = names::public(&names::whole(&name, file.as_deref()));
        let kind = names::kind_of(&function);
        let place = file.map(|file| line.map_or(file.clone(), |line| format!("{file}:{line}")));
        Rc::new(StackCall { function, place, kind })
    };
    found.into_iter().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: &str) -> Rc<StackCall> {
        Rc::new(StackCall { function: function.to_owned(), place: None, kind: names::kind_of(function) })
    }

    fn shown(functions: &[&str]) -> Vec<String> {
        let mut calls: Vec<_> = functions.iter().map(|function| call(function)).collect();
        calls.truncate(outermost(&calls));
        calls.drain(..innermost(&calls));
        calls.iter().map(|call| call.function.clone()).collect()
    }

    const OUTER: [&str; 9] = [
        "core::ops::function::FnOnce::call_once",
        "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
        "gosched::g::task::run_to_end::{{closure}}",
        "<core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once",
        "__rust_try",
        "std::panic::catch_unwind",
        "gosched::g::task::run_to_end",
        "gosched::g::task::run_boxed",
        "gosched::sched::spawn::goroutine_main",
    ];

    /// Inside: the call into the runtime that the user made. Outside: the user's closure. (Seen to
    /// fail with `position` instead of `rposition` in either function.)
    #[test]
    fn the_runtime_is_hidden_at_both_ends() {
        let inner = ["gosched_switch::arch::switch", "gosched::sched::park::park", "core::option::map"];
        let inner = [&inner[..], &["gosched::thread::sleep"]].concat();
        let user = ["app::wait", "core::iter::for_each", "app::main::{{closure}}"];
        let all = [&inner[..], &user, &OUTER].concat();
        assert_eq!(shown(&all), ["gosched::thread::sleep", user[0], user[1], user[2]]);
        assert_eq!(shown(&[&inner[..], &OUTER].concat()), ["gosched::thread::sleep"]);
        let blocked =
            ["clock_nanosleep", "std::thread::sleep", "app::wait", "gosched::runtime::blocking", "app::main"];
        assert_eq!(shown(&[&blocked[..], &OUTER].concat()), blocked);
        let bare = [
            "alloc::boxed::call_once",
            "gosched::g::task::{closure#0}",
            "std::panic::catch_unwind",
            OUTER[6],
        ];
        assert_eq!(shown(&[&inner[..], &user, &bare].concat()), shown(&all));
        assert_eq!(shown(&[&inner[..], &bare].concat()), ["gosched::thread::sleep"]);
        assert_eq!(shown(&OUTER[6..]), [OUTER[6]]);
        assert_eq!(shown(&["gosched::sched::exit::goexit", OUTER[8]]), ["gosched::sched::exit::goexit"]);
    }
}
