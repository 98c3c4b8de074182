//! What a function is called in a dump, and whose code it is.
//!
//! Debug information that has only line tables has bare names of functions. The rest of the path is
//! then made from the file: `sleep` in `.../gosched/src/thread/sleep.rs` is
//! `gosched::thread::sleep::sleep`. Users know it as `gosched::thread::sleep`, and that is what is
//! shown.

/// Whose code a call is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeOwner {
    /// The runtime's.
    Ours,
    /// That of the standard library, or C.
    Std,
    Other,
}

/// Where the sources of our crates lie, as debug information has it (perhaps after a directory),
/// and their names.
const SOURCES: [(&str, &str); 4] = [
    (file!(), "gosched"),
    (gosched_switch::SOURCE, "gosched_switch"),
    (gosched_primitives::SOURCE, "gosched_primitives"),
    (gosched_rules::SOURCE, "gosched_rules"),
];

/// Our public modules, whose own modules are private.
const PUBLIC: [&str; 10] =
    ["thread", "runtime", "chan", "sync", "time", "net", "fs", "context", "future", "trace"];

/// Whether a name has no path.
pub(super) fn is_bare(function: &str) -> bool {
    let path = function.split('<').next().unwrap_or(function);
    !path.is_empty() && !path.contains("::")
}

/// The name with its path, made of the name in the debug information and the file.
pub(super) fn whole(function: &str, file: Option<&str>) -> String {
    match file.and_then(module_of) {
        Some(module) if is_bare(function) => {
            let name = function.split('<').next().unwrap_or(function);
            format!("{module}::{name}")
        }
        _ => function.to_owned(),
    }
}

/// The module that a Rust file holds.
fn module_of(file: &str) -> Option<String> {
    let file = file.strip_suffix(".rs")?;
    let (name, inner) = match SOURCES.iter().find_map(|(source, name)| Some((*name, below(file, source)?))) {
        Some(ours) => ours,
        None => match file.rsplit_once("/src/") {
            Some((directory, inner)) => (directory.rsplit('/').next()?, inner),
            None => ("", file.rsplit('/').next()?),
        },
    };
    // A package's directory may have its version in its name.
    let name = name.split_once("-0.").or(name.split_once("-1.")).map_or(name, |(name, _)| name);
    let parts = [name].into_iter().chain(inner.split('/'));
    let parts: Vec<String> = parts
        .filter(|part| !matches!(*part, "" | "mod" | "lib" | "main"))
        .map(|part| part.replace('-', "_"))
        .collect();
    (!parts.is_empty()).then(|| parts.join("::"))
}

/// The part of a path that follows the directory of a crate's sources.
fn below<'a>(file: &'a str, source: &str) -> Option<&'a str> {
    let (directory, _) = source.split_once("src/")?;
    let directory = format!("{directory}src/");
    let start = file.find(&directory)?;
    (start == 0 || file[..start].ends_with('/')).then(|| &file[start + directory.len()..])
}

/// `<app::pool::Pool<u8>>::get`, as Rust's newer mangling has methods, without the brackets around
/// the type; `None` for everything else.
fn inherent(function: &str) -> Option<String> {
    let inside = function.strip_prefix('<').filter(|inside| inside.starts_with(char::is_alphabetic))?;
    let mut depth = 1;
    let end = inside.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    })?;
    let (path, rest) = (&inside[..end], &inside[end + 1..]);
    let is_type = !path.contains(" as ") && !path.starts_with("dyn ") && rest.starts_with("::");
    is_type.then(|| format!("{path}{rest}"))
}

/// Whether this is what the compiler makes to call a function or closure as a trait's method:
/// `<app::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once`. With Rust's newer
/// mangling such names begin with the path of what is called.
pub(super) fn is_call_shim(function: &str) -> bool {
    function.contains(" as core::ops::function::Fn")
}

/// Whose code a function is, by its path.
pub(super) fn kind_of(function: &str) -> CodeOwner {
    if is_call_shim(function) {
        return CodeOwner::Std;
    }
    let path =
        function.trim_start_matches(['<', '&', '*']).trim_start_matches("mut ").trim_start_matches("dyn ");
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    match &path[..end] {
        "gosched" | "gosched_switch" | "gosched_primitives" | "gosched_rules" => CodeOwner::Ours,
        "std" | "core" | "alloc" | "__rust_try" => CodeOwner::Std,
        // C has no paths.
        _ if !path.contains("::") => CodeOwner::Std,
        _ => CodeOwner::Other,
    }
}

/// `gosched::thread::current::park` is known to users as `gosched::thread::park`: of our paths,
/// modules within modules are left out.
pub(super) fn public(function: &str) -> String {
    let inherent = inherent(function);
    let function = inherent.as_deref().unwrap_or(function);
    let Some(path) = function.strip_prefix("gosched::") else { return function.to_owned() };
    let end = path.find(['<', '{', '(']).unwrap_or(path.len());
    let (path, rest) = path.split_at(path[..end].trim_end_matches("::").len());
    let parts: Vec<&str> = path.split("::").collect();
    let is_module = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase());
    let item = parts.iter().position(|part| !is_module(part)).unwrap_or(parts.len() - 1);
    if item < 2 || !PUBLIC.contains(&parts[0]) {
        return function.to_owned();
    }
    format!("gosched::{}::{}{rest}", parts[0], parts[item..].join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_modules_are_left_out() {
        for (path, shown) in [
            ("gosched::thread::current::park", "gosched::thread::park"),
            ("gosched::thread::join::JoinHandle<T>::join", "gosched::thread::JoinHandle<T>::join"),
            ("gosched::sync::lock::mutex::Mutex<T>::lock", "gosched::sync::Mutex<T>::lock"),
            ("gosched::thread::scope::scope::{{closure}}", "gosched::thread::scope::{{closure}}"),
            ("gosched::runtime::blocking", "gosched::runtime::blocking"),
            ("<gosched::thread::join::JoinHandle<()>>::join", "gosched::thread::JoinHandle<()>::join"),
            ("<app::pool::Pool<u8>>::get::{closure#0}", "app::pool::Pool<u8>::get::{closure#0}"),
            ("<app::Thing as core::clone::Clone>::clone", "<app::Thing as core::clone::Clone>::clone"),
            ("<dyn app::Job>::run", "<dyn app::Job>::run"),
            ("gosched::run", "gosched::run"),
            ("gosched::sched::park::wait", "gosched::sched::park::wait"),
            ("app::thread::current::park", "app::thread::current::park"),
        ] {
            assert_eq!(public(path), shown);
        }
    }

    #[test]
    fn it_is_known_whose_code_it_is() {
        assert_eq!(kind_of("gosched::run"), CodeOwner::Ours);
        assert_eq!(kind_of("<gosched::g::waiter::Waiter as core::ops::drop::Drop>::drop"), CodeOwner::Ours);
        let shim = "<app::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once";
        assert_eq!(kind_of(shim), CodeOwner::Std);
        assert_eq!(kind_of("gosched_tools::f"), CodeOwner::Other);
        assert_eq!(kind_of("<&mut dyn core::fmt::Write>::write_str"), CodeOwner::Std);
        assert_eq!(kind_of("pthread_mutex_lock"), CodeOwner::Std);
        assert_eq!(kind_of("<app::Thing as core::clone::Clone>::clone"), CodeOwner::Other);
    }

    #[test]
    fn bare_names_get_their_paths_from_the_file() {
        let std = "/rustc/0123/library/core/src/panic/unwind_safe.rs";
        let ours = format!("/home/me/{}", file!().replace("dump/names", "g/task"));
        let switch = format!("/home/me/{}", gosched_switch::SOURCE.replace("lib", "arch/gobuf"));
        for (function, file, name) in [
            ("run<app::main::{closure_env#0}, ()>", ours.as_str(), "gosched::g::task::run"),
            ("fresh", &switch, "gosched_switch::arch::gobuf::fresh"),
            ("call_once<(), app::F>", std, "core::panic::unwind_safe::call_once"),
            ("{closure#1}", "/home/me/app/src/pool/mod.rs", "app::pool::{closure#1}"),
            ("main", "/home/me/my-app/src/main.rs", "my_app::main"),
            ("recv<u8>", "/cargo/registry/src/x/some-crate-0.5.1/src/a/b.rs", "some_crate::a::b::recv"),
            ("parks", "/home/me/app/tests/dump.rs", "dump::parks"),
            ("app::whole::path<T>", "/home/me/app/src/main.rs", "app::whole::path<T>"),
            ("<app::T as app::Tr>::f", "/home/me/app/src/main.rs", "<app::T as app::Tr>::f"),
            ("read", "./io/read.c", "read"),
        ] {
            assert_eq!(whole(function, Some(file)), name);
        }
        assert_eq!(whole("parks", None), "parks");
    }
}
