//! From addresses to what a person reads: functions with their lines, innermost first, calls that were inlined among them.
//! Each address is looked up once.
//!
//! Which of them are shown: of the runtime's own frames at the inner end only the outermost, the call that the user made;
//! at the outer end none, nor what the runtime calls a closure through. So a goroutine that sleeps shows
//! `gosched::thread::sleep` first and its own closure last.

use std::collections::HashMap;
use std::rc::Rc;

/// One call in a stack.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Demangled, without its hash; for code without a name its address.
    pub(super) function: String,
    /// File and line, where they are known.
    pub(super) place: Option<String>,
    kind: Kind,
}

/// Whose code a call is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The runtime's.
    Ours,
    /// That of the standard library, or C.
    Std,
    Other,
}

impl Call {
    /// Whether it is in the runtime's code.
    pub(super) fn is_ours(&self) -> bool {
        self.kind == Kind::Ours
    }

    /// Whether it is in the user's code (or in a library of theirs).
    pub(super) fn is_users(&self) -> bool {
        self.kind == Kind::Other && self.place.is_some()
    }
}

/// The calls at each address, as far as it was asked for.
pub(super) struct Symbols {
    known: HashMap<usize, Rc<[Rc<Call>]>>,
}

impl Symbols {
    pub(super) fn new() -> Symbols {
        Symbols { known: HashMap::new() }
    }

    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// What of a stack with these frames is shown.
    pub(super) fn calls(&mut self, frames: &[usize]) -> Vec<Rc<Call>> {
        let mut calls = Vec::new();
        for address in frames {
            let at = self.known.entry(*address).or_insert_with(|| resolve(*address));
            calls.extend(at.iter().cloned());
        }
        let outer = outermost(&calls);
        calls.truncate(outer);
        calls.drain(..innermost(&calls));
        calls
    }
}

/// How many frames at the inner end lead to the user's first call into the runtime.
fn innermost(calls: &[Rc<Call>]) -> usize {
    let users = calls.iter().position(|call| call.kind == Kind::Other).unwrap_or(calls.len());
    calls[..users].iter().rposition(|call| call.kind == Kind::Ours).unwrap_or(0)
}

/// How many frames there are without those that run a goroutine's closure.
fn outermost(calls: &[Rc<Call>]) -> usize {
    let runs = |call: &Rc<Call>| {
        let in_file = call.place.as_ref().is_some_and(|place| place.contains("/src/g/task.rs"));
        call.function.starts_with("gosched::g::task::run") || (call.kind == Kind::Ours && in_file)
    };
    let Some(begin) = calls.iter().rposition(runs) else { return calls.len() };
    let begin = calls[..begin].iter().rposition(|call| !runs(call)).map_or(0, |last| last + 1);
    let calls = &calls[..begin];
    let through = |call: &Rc<Call>| call.kind == Kind::Ours || is_call_through(call);
    let ours = calls.iter().rposition(|call| call.kind == Kind::Ours);
    let last = match ours {
        // Nothing of the user's, but a function of ours that was given to `go` as it is.
        Some(ours) if calls.iter().all(|call| call.kind != Kind::Other) => Some(ours),
        _ => calls.iter().rposition(|call| !through(call)),
    };
    // One that is just beginning or ending has nothing else to show.
    last.map_or(begin, |last| last + 1).max(1)
}

/// Whether a call stands between the runtime and a closure: `catch_unwind`, calls of closures by trait.
fn is_call_through(call: &Call) -> bool {
    let function = call.function.trim_start_matches('<');
    let by_name = ["std::panic", "core::panic", "core::ops::function", "__rust_try", "rust_try"]
        .iter()
        .any(|start| function.starts_with(start));
    let files = ["/std/src/panic", "/core/src/panic", "/core/src/ops/function.rs"];
    by_name || call.place.as_ref().is_some_and(|place| files.iter().any(|file| place.contains(file)))
}

/// Whose code a call is in. By its file where that is known: with line tables alone, calls that were inlined have no path.
fn kind_of(function: &str, file: Option<&str>) -> Kind {
    match file {
        Some(file) if file.starts_with("/rustc/") || file.contains("/library/std/src/") => return Kind::Std,
        Some(file) if our_module(file).is_some() => return Kind::Ours,
        Some(file) if file.ends_with(".rs") => return Kind::Other,
        _ => {}
    }
    let path =
        function.trim_start_matches(['<', '&', '*']).trim_start_matches("mut ").trim_start_matches("dyn ");
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    match &path[..end] {
        ours if OUR_CRATES.contains(&ours) => Kind::Ours,
        "std" | "core" | "alloc" | "__rust_try" => Kind::Std,
        // C has no paths.
        _ if !path.contains("::") => Kind::Std,
        _ => Kind::Other,
    }
}

const OUR_CRATES: [&str; 5] = ["gosched", "gosched_switch", "gosched_queue", "gosched_chan", "gosched_locks"];

/// The module of ours that a file belongs to, as users know it: its folder, or its name. Our crates lie side by side,
/// wherever that is; their tests and examples are not ours.
fn our_module(file: &str) -> Option<&str> {
    let (crates, own) = env!("CARGO_MANIFEST_DIR").rsplit_once('/')?;
    let (package, inside) = file.strip_prefix(crates)?.strip_prefix('/')?.split_once("/src/")?;
    let is_ours = package == own
        || package.starts_with("gosched-")
        || ["switch", "queue", "chan", "locks"].contains(&package);
    is_ours.then(|| inside.split(['/', '.']).next().unwrap_or(inside))
}

/// The calls at an address inside an instruction.
fn resolve(address: usize) -> Rc<[Rc<Call>]> {
    let mut calls = Vec::new();
    // It is asked for the instruction before, as if a return address had been given.
    let after = core::ptr::without_provenance_mut(address + 1);
    backtrace::resolve(after, |symbol| {
        let function = match symbol.name() {
            Some(name) => public_path(&format!("{name:#}")),
            None => format!("{address:#x}"),
        };
        let file = symbol.filename().map(|file| file.display().to_string());
        let kind = kind_of(&function, file.as_deref());
        let module = file.as_deref().and_then(our_module);
        let function = match module {
            Some(module) if !function.contains("::") => format!("gosched::{module}::{function}"),
            _ => function,
        };
        let place = file.map(|file| match symbol.lineno() {
            Some(line) => format!("{file}:{line}"),
            None => file,
        });
        calls.push(Rc::new(Call { function, place, kind }));
    });
    if calls.is_empty() {
        calls.push(Rc::new(Call { function: format!("{address:#x}"), place: None, kind: Kind::Std }));
    }
    calls.into()
}

/// `gosched::thread::current::park` is known to users as `gosched::thread::park`: of our paths, modules within modules
/// are left out.
fn public_path(function: &str) -> String {
    let Some(path) = function.strip_prefix("gosched::") else { return function.to_owned() };
    let end = path.find(['<', '{', '(']).unwrap_or(path.len());
    let (path, rest) = path.split_at(path[..end].trim_end_matches("::").len());
    let parts: Vec<&str> = path.split("::").collect();
    let is_module = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase());
    let item = parts.iter().position(|part| !is_module(part)).unwrap_or(parts.len() - 1);
    if item < 2 || !matches!(parts[0], "thread" | "runtime" | "chan" | "sync" | "time" | "net" | "context") {
        return function.to_owned();
    }
    format!("gosched::{}::{}{rest}", parts[0], parts[item..].join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(function: &str) -> Rc<Call> {
        Rc::new(Call { function: function.to_owned(), place: None, kind: kind_of(function, None) })
    }

    fn shown(functions: &[&str]) -> Vec<String> {
        let mut calls: Vec<_> = functions.iter().map(|function| call(function)).collect();
        calls.truncate(outermost(&calls));
        calls.drain(..innermost(&calls));
        calls.iter().map(|call| call.function.clone()).collect()
    }

    const OUTER: [&str; 6] = [
        "core::ops::function::FnOnce::call_once",
        "<core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once",
        "__rust_try",
        "std::panic::catch_unwind",
        "gosched::g::task::run",
        "gosched::sched::spawn::goroutine_main",
    ];

    /// Inside: the call into the runtime that the user made. Outside: the user's closure. (Seen to fail with `position`
    /// instead of `rposition` in either function.)
    #[test]
    fn the_runtime_is_hidden_at_both_ends() {
        let inner =
            ["gosched_switch::arch::x86_64::switch", "gosched::sched::park::park", "core::option::map"];
        let inner = [&inner[..], &["gosched::thread::sleep"]].concat();
        let user = ["app::wait", "core::iter::for_each", "app::main::{{closure}}"];
        let all = [&inner[..], &user, &OUTER].concat();
        assert_eq!(shown(&all), ["gosched::thread::sleep", user[0], user[1], user[2]]);
        assert_eq!(shown(&[&inner[..], &OUTER].concat()), ["gosched::thread::sleep"]);
        let blocked =
            ["clock_nanosleep", "std::thread::sleep", "app::wait", "gosched::runtime::blocking", "app::main"];
        assert_eq!(shown(&[&blocked[..], &OUTER].concat()), blocked);
        assert_eq!(shown(&OUTER[4..]), [OUTER[4]]);
    }

    #[test]
    fn private_modules_are_left_out() {
        for (path, public) in [
            ("gosched::thread::current::park", "gosched::thread::park"),
            ("gosched::thread::join::JoinHandle<T>::join", "gosched::thread::JoinHandle<T>::join"),
            ("gosched::sync::lock::mutex::Mutex<T>::lock", "gosched::sync::Mutex<T>::lock"),
            ("gosched::thread::scope::scope::{{closure}}", "gosched::thread::scope::{{closure}}"),
            ("gosched::runtime::blocking", "gosched::runtime::blocking"),
            ("gosched::run", "gosched::run"),
            ("gosched::sched::park::wait", "gosched::sched::park::wait"),
            ("app::thread::current::park", "app::thread::current::park"),
        ] {
            assert_eq!(public_path(path), public);
        }
    }

    #[test]
    fn it_is_known_whose_code_it_is() {
        assert_eq!(kind_of("gosched::run", None), Kind::Ours);
        assert_eq!(kind_of("<gosched::waiter::Waiter as core::ops::drop::Drop>::drop", None), Kind::Ours);
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/thread/park.rs");
        assert_eq!((kind_of("park", Some(here)), our_module(here)), (Kind::Ours, Some("thread")));
        assert_eq!(kind_of("main", Some(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/x.rs"))), Kind::Other);
        assert_eq!(kind_of("call_once<()>", Some("/rustc/0123/library/core/src/x.rs")), Kind::Std);
        assert_eq!(kind_of("nanosleep", Some("../sysdeps/nanosleep.c")), Kind::Std);
        assert_eq!(kind_of("gosched_tools::f", None), Kind::Other);
        assert_eq!(kind_of("<&mut dyn core::fmt::Write>::write_str", None), Kind::Std);
        assert_eq!(kind_of("pthread_mutex_lock", None), Kind::Std);
        assert_eq!(kind_of("<app::Thing as core::clone::Clone>::clone", None), Kind::Other);
    }
}
