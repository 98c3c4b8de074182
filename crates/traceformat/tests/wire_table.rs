//! The table of events is Go's: numbers, names, arguments, which of them are strings and stacks,
//! what ends what.
//!
//! Go's sources are read as text. Without Go, this says so.
//!
//! Seen to fail: with an argument of `GoUnblock` left out, with `ProcStop` and `ProcSteal`
//! exchanged, and with the limit of strings doubled.

mod common;

use std::collections::BTreeMap;

use common::GoTools;
use gosched_traceformat::wire::{EventClass, EventType, MAX_BATCH, MAX_FRAMES, MAX_STRING};

/// The names of the constants of each block of Go's file, in order.
fn constants(source: &str, from: &str, to: &str) -> Vec<String> {
    let block =
        source.split_once(from).expect("the first constant").1.split_once(to).expect("the last one").0;
    let name = |line: &str| Some(line.trim().strip_prefix("Ev")?.split_whitespace().next()?.to_owned());
    block.lines().filter_map(name).collect()
}

/// What stands between `field` and the end of its braces in an entry of the table.
fn list(entry: &str, field: &str) -> Vec<String> {
    let Some((_, rest)) = entry.split_once(field) else { return Vec::new() };
    let inside = rest.split_once('{').and_then(|(_, rest)| rest.split_once('}')).expect("a list").0;
    inside
        .split(',')
        .map(|word| word.trim().trim_matches('"').to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The table's entries, by name.
fn entries(source: &str) -> BTreeMap<String, String> {
    let table = source.split_once("var specs = ").expect("the table").1;
    let mut entries = BTreeMap::new();
    let mut rest = table;
    while let Some((_, tail)) = rest.split_once("\n\tEv") {
        let (name, tail) = tail.split_once(": {").expect("an entry");
        let (entry, tail) = tail.split_once("\n\t},").expect("its end");
        entries.insert(name.to_owned(), entry.to_owned());
        rest = tail;
    }
    entries
}

#[test]
fn the_table_is_go_s() {
    let Some(go) = GoTools::find() else { return };
    let source = std::fs::read_to_string(go.root.join("src/internal/trace/tracev2/events.go")).unwrap();
    let mut names = constants(&source, "EventType = iota // unused", "NumEvents");
    let wanted: Vec<&str> = EventType::ALL.iter().map(|event| event.spec().name).collect();
    names.extend(constants(&source, "EventType = 127 + iota", "MaxExperimentalEvent\n"));
    assert_eq!(names, wanted, "names and their order");
    let (plain, experimental): (Vec<EventType>, Vec<EventType>) =
        EventType::ALL.iter().partition(|event| event.spec().class != EventClass::Experimental);
    assert!(plain.iter().zip(1..).all(|(event, number)| *event as u8 == number));
    assert!(experimental.iter().zip(128..).all(|(event, number)| *event as u8 == number));
    let entries = entries(&source);
    for event in EventType::ALL {
        let (spec, entry) = (event.spec(), &entries[event.spec().name]);
        assert_eq!(list(entry, "Args:"), spec.args, "{event:?}");
        assert_eq!(entry.contains("IsTimedEvent: true"), spec.is_timed(), "{event:?}");
        assert_eq!(entry.contains("Experiment:"), spec.class == EventClass::Experimental, "{event:?}");
        let numbers = |is: &dyn Fn(usize) -> bool| -> Vec<String> {
            (0..spec.args.len()).filter(|arg| is(*arg)).map(|arg| arg.to_string()).collect()
        };
        assert_eq!(list(entry, "StringIDs:"), numbers(&|arg| spec.is_string(arg)), "{event:?}");
        let mut stacks = list(entry, "StackIDs:");
        assert_eq!(stacks.first().cloned(), spec.stack().map(|arg| arg.to_string()), "{event:?}");
        stacks.sort();
        assert_eq!(stacks, numbers(&|arg| spec.is_stack(arg)), "{event:?}");
        let begun = entry
            .split_once("StartEv:")
            .map(|(_, rest)| rest.trim().split(',').next().unwrap_or("").to_owned());
        assert_eq!(begun, spec.begun_by.map(|begun| format!("Ev{}", begun.spec().name)), "{event:?}");
    }
}

#[test]
fn the_limits_are_go_s() {
    let Some(go) = GoTools::find() else { return };
    let source = std::fs::read_to_string(go.root.join("src/internal/trace/tracev2/events.go")).unwrap();
    let value = |name: &str| {
        let line = source.lines().find(|line| line.trim().starts_with(&format!("{name} = ")));
        line.and_then(|line| line.split_once("= ")).map(|(_, value)| value.to_owned())
    };
    assert_eq!(value("MaxBatchSize").as_deref(), Some("64 << 10"));
    assert_eq!(value("MaxFramesPerStack").as_deref(), Some("128"));
    assert_eq!(value("MaxEventTrailerDataSize").as_deref(), Some("1 << 10"));
    assert_eq!((MAX_BATCH, MAX_FRAMES, MAX_STRING), (64 << 10, 128, 1 << 10));
}
