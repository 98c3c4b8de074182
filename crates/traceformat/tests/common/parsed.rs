//! Our reading of a trace, printed as `go tool trace -d=parsed` prints it.
//!
//! Left out on both sides: the wall clock, which is printed in the machine's time zone.

use std::fmt::Write;

use gosched_traceformat::TraceError;
use gosched_traceformat::order::{
    EventKind, GaugeKind, OrderedTrace, RangeEdge, RangeKind, RangeScope, TraceEvent,
};
use gosched_traceformat::read::{Generation, Tables};
use gosched_traceformat::wire::EventType;

/// As Go quotes strings.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => write!(quoted, "\\x{:02x}", c as u32).unwrap(),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn number(id: Option<u64>) -> i64 {
    id.map_or(-1, |id| id as i64)
}

fn stack(out: &mut String, head: &str, tables: &Tables, id: u64) {
    if id == 0 {
        return;
    }
    writeln!(out, "\n{head}").unwrap();
    for frame in tables.stack(id) {
        let text = |id| tables.string(id).unwrap_or_default();
        let (function, file, line) = (text(frame.function), text(frame.file), frame.line);
        writeln!(out, "\t{function} @ {:#x}\n\t\t{file}:{line}", frame.pc).unwrap();
    }
}

fn range_name(range: RangeKind, tables: &Tables) -> String {
    match range {
        RangeKind::Collection => "GC concurrent mark phase".to_owned(),
        RangeKind::Sweep => "GC incremental sweep".to_owned(),
        RangeKind::MarkAssist => "GC mark assist".to_owned(),
        RangeKind::StoppedWorld { why } => {
            format!("stop-the-world ({})", tables.string(why).unwrap_or_default())
        }
    }
}

fn range(
    out: &mut String,
    event: &TraceEvent,
    edge: RangeEdge,
    range: RangeKind,
    scope: RangeScope,
    tables: &Tables,
) {
    let scope = match scope {
        RangeScope::All => "None".to_owned(),
        RangeScope::OfP(p) => format!("Proc({p})"),
        RangeScope::OfG(g) => format!("Goroutine({g})"),
    };
    write!(out, " Name={} Scope={scope}", quoted(&range_name(range, tables))).unwrap();
    if edge == RangeEdge::End {
        let (swept, reclaimed) = (event.args[0], event.args[1]);
        match range {
            RangeKind::Sweep => write!(
                out,
                " Attributes=[\"bytes swept\"=Value{{Uint64({swept})}} \"bytes reclaimed\"=Value{{Uint64({reclaimed})}}]"
            ),
            _ => write!(out, " Attributes=[]"),
        }
        .unwrap();
    }
}

fn name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Sync { .. } => "Sync",
        EventKind::ProcChange { .. } | EventKind::GoChange { .. } => "StateTransition",
        EventKind::Range { edge: RangeEdge::Begin, .. } => "RangeBegin",
        EventKind::Range { edge: RangeEdge::Active, .. } => "RangeActive",
        EventKind::Range { edge: RangeEdge::End, .. } => "RangeEnd",
        EventKind::Gauge { .. } => "Metric",
        EventKind::Label { .. } => "Label",
        EventKind::TaskBegin { .. } => "TaskBegin",
        EventKind::TaskEnd { .. } => "TaskEnd",
        EventKind::Region { edge: RangeEdge::End, .. } => "RegionEnd",
        EventKind::Region { .. } => "RegionBegin",
        EventKind::Log { .. } => "Log",
        EventKind::CpuSample => "StackSample",
        EventKind::Experimental => "Experimental",
    }
}

fn details(out: &mut String, event: &TraceEvent, tables: &Tables) {
    let text = |id| quoted(tables.string(id).unwrap_or_default());
    match &event.kind {
        EventKind::ProcChange { p, from, to } => {
            write!(out, " ProcID={p} {from:?}->{to:?} Reason=\"\"").unwrap()
        }
        EventKind::GoChange { g, from, to, reason, stack: id } => {
            write!(out, " GoID={} {from:?}->{to:?} Reason={}", *g as i64, text(*reason)).unwrap();
            // Go's parser prints the head of an empty one too, but only here.
            if *id == 0 && matches!(event.wire, EventType::GoCreate | EventType::GoCreateBlocked) {
                writeln!(out, "\nTransitionStack=").unwrap();
            }
            stack(out, "TransitionStack=", tables, *id);
        }
        EventKind::Range { edge, range: kind, scope } => range(out, event, *edge, *kind, *scope, tables),
        EventKind::Gauge { gauge, value } => {
            let name = match gauge {
                GaugeKind::Procs => "/sched/gomaxprocs:threads",
                GaugeKind::HeapAlloc => "/memory/classes/heap/objects:bytes",
                GaugeKind::HeapGoal => "/gc/heap/goal:bytes",
            };
            write!(out, " Name=\"{name}\" Value=Value{{Uint64({value})}}").unwrap();
        }
        EventKind::Label { label } => {
            write!(out, " Label={} Resource=Goroutine({})", text(*label), number(event.scene.g)).unwrap();
        }
        EventKind::TaskBegin { task, parent, name } | EventKind::TaskEnd { task, parent, name } => {
            write!(out, " ID={task} Parent={} Type={}", parent.unwrap_or(u64::MAX), quoted(name)).unwrap();
        }
        EventKind::Region { task, name, .. } => write!(out, " Task={task} Type={}", text(*name)).unwrap(),
        EventKind::Log { task, key, value } => {
            write!(out, " Task={task} Category={} Message={}", text(*key), text(*value)).unwrap();
        }
        EventKind::Sync { .. } | EventKind::CpuSample | EventKind::Experimental => {}
    }
}

fn print(out: &mut String, event: &TraceEvent, generation: Option<&Generation>) {
    let scene = event.scene;
    write!(out, "M={} P={} G={} ", number(scene.m), number(scene.p), number(scene.g)).unwrap();
    write!(out, "{} Time={}", name(&event.kind), event.time).unwrap();
    if let EventKind::Sync { number } = event.kind {
        write!(out, " N={number}").unwrap();
        if let Some((trace, clocks)) = generation.and_then(Generation::clocks_in_nanos) {
            write!(out, " Trace={trace} Mono={}", clocks.mono).unwrap();
        }
    } else if let Some(generation) = generation {
        details(out, event, &generation.tables);
        // Of a status, the stack is the goroutine's.
        let own = event.wire != EventType::GoStatusStack || event.stack != 0;
        stack(out, "Stack=", &generation.tables, if own { event.stack } else { 0 });
    }
    out.push('\n');
}

/// Our reading, or what is wrong.
pub fn ours(bytes: &[u8]) -> Result<String, TraceError> {
    let mut trace = OrderedTrace::new(bytes)?;
    let mut out = String::new();
    while let Some(event) = trace.next_event()? {
        print(&mut out, &event, trace.generation());
    }
    Ok(out)
}

/// The lines that are compared.
pub fn lines(text: &str) -> Vec<String> {
    let without_clock = |line: &str| match line.split_once(" Wall=") {
        Some((line, _)) => line.to_owned(),
        None => line.to_owned(),
    };
    text.lines().filter(|line| !line.is_empty()).map(without_clock).collect()
}
