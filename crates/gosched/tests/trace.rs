//! Execution traces as users meet them (S53): what is in them, what can go wrong, the flight
//! recorder, `GOSCHED_TRACE`.
//!
//! Seen to fail: with stacks switched off (`events_have_stacks`), with the file created before the
//! trace is claimed (`there_is_one_trace_at_a_time`), with the error of the writer dropped
//! (`a_writer_that_fails_is_told_of`), without `before_end` (`sigquit_completes_the_trace`); with
//! the number of Ps not told by `start_with`, or by `start_traced`, or written before the goroutine
//! had a P (`the_number_of_ps_is_recorded`), or by a foreign thread (`a_foreign_thread_traces`).

mod common;
mod traces;

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::{child, compute_for};
use gosched::sync::{Mutex, MutexGuard, PoisonError};
use gosched::trace::{self, FlightRecorder, Task};
use gosched::{chan, go, runtime, thread, time};
use gosched_traceformat::order::{EventKind, GaugeKind, GoState, OrderedTrace, RangeEdge};
use gosched_traceformat::wire::EventType;
use traces::{Memory, count, read, read_with};

/// Tests of one process trace one after the other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A trace of what `f` does.
fn trace_of(f: impl FnOnce()) -> Vec<u8> {
    let memory = Memory::default();
    let trace = trace::start_to(memory.clone()).unwrap();
    f();
    trace.stop().unwrap();
    memory.take()
}

/// A file of this process alone.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gosched-{}-{name}", std::process::id()))
}

/// All strings and functions that events name.
fn words(bytes: &[u8]) -> HashSet<String> {
    let mut trace = OrderedTrace::new(bytes).unwrap();
    let mut words = HashSet::new();
    while let Some(event) = trace.next_event().unwrap() {
        let Some(generation) = trace.generation() else { continue };
        let mut add = |number: u64| {
            words.extend(generation.tables.string(number).map(|text| text.to_owned()));
        };
        if let EventKind::GoChange { reason, stack, .. } = event.kind {
            add(reason);
            for frame in generation.tables.stack(stack) {
                add(frame.function);
            }
        }
        for frame in generation.tables.stack(event.stack) {
            add(frame.function);
            add(frame.file);
        }
    }
    words
}

/// S53: creation, start, wait with its reason, wake-up, yield, end.
#[gosched::test]
fn the_life_of_a_goroutine_is_recorded() {
    let _alone = alone();
    let bytes = trace_of(|| {
        let (sender, receiver) = chan::bounded(0);
        let handle = go(move || {
            let received: i32 = receiver.recv().unwrap();
            // On a busy machine one of them may find its P gone.
            (0..20).for_each(|_| thread::yield_now());
            received
        });
        time::sleep(Duration::from_millis(5)).unwrap();
        sender.send(7).unwrap();
        assert_eq!(handle.join().unwrap(), 7);
        (0..20).for_each(|_| runtime::blocking(|| ()));
    });
    let mut changes = HashSet::new();
    read_with(&bytes, |event| {
        if let EventKind::GoChange { from, to, .. } = event.kind {
            changes.insert((from, to));
        }
    })
    .unwrap();
    for change in [
        (GoState::NotExist, GoState::Runnable),
        (GoState::Runnable, GoState::Running),
        (GoState::Running, GoState::Waiting),
        (GoState::Waiting, GoState::Runnable),
        (GoState::Running, GoState::Runnable),
        (GoState::Running, GoState::NotExist),
        (GoState::Running, GoState::Syscall),
        (GoState::Syscall, GoState::Running),
    ] {
        assert!(changes.contains(&change), "no {change:?} in {changes:?}");
    }
    let words = words(&bytes);
    for word in ["chan receive", "sleep", "runtime.Gosched"] {
        assert!(words.contains(word), "no {word:?} in {words:?}");
    }
}

#[inline(never)]
fn waits_here(receiver: &chan::Receiver<()>) {
    let _ = std::hint::black_box(receiver.recv());
}

/// Events have the stack of the goroutine, with the user's functions; new goroutines the place of
/// their creation.
#[gosched::test]
fn events_have_stacks() {
    let _alone = alone();
    let bytes = trace_of(|| {
        let (sender, receiver) = chan::bounded::<()>(0);
        let handle = go(move || waits_here(&receiver));
        time::sleep(Duration::from_millis(5)).unwrap();
        drop(sender);
        handle.join().unwrap();
    });
    let words = words(&bytes);
    assert!(words.iter().any(|word| word.ends_with("waits_here")), "{words:?}");
    assert!(words.iter().any(|word| word.starts_with("go at ") && word.contains("trace.rs:")), "{words:?}");
}

/// A goroutine that loses its P, because it computes while another one waits, is in a call for the
/// trace; the P is stolen.
#[test]
fn a_lost_p_is_recorded() {
    child("a_lost_p_is_recorded", || {
        gosched::run(|| {
            let bytes = trace_of(|| {
                let waiting = go(|| ());
                compute_for(Duration::from_millis(100));
                waiting.join().unwrap();
            });
            assert!(count(&bytes, EventType::ProcSteal) > 0);
            assert!(count(&bytes, EventType::GoSyscallEndBlocked) > 0);
        });
    })
    .env("GOMAXPROCS", "1")
    .run()
    .ok();
}

/// Tasks, regions and logs; a goroutine inherits the task of its creator.
#[gosched::test]
fn users_write_into_the_trace() {
    let _alone = alone();
    let bytes = trace_of(|| {
        let task = Task::new("request");
        task.enter(|| {
            go(|| trace::region("parse", || trace::region("inner", || ()))).join().unwrap();
            trace::log("status", &"é".repeat(2000));
        });
        drop(task);
        trace::log("", "");
        let panic = go(|| trace::region("ends by a panic", || panic!("expected"))).join();
        assert!(panic.is_err());
    });
    let (mut begun, mut regions, mut logs) = (HashSet::new(), Vec::new(), 0);
    read_with(&bytes, |event| match &event.kind {
        EventKind::TaskBegin { task, name, .. } => {
            assert_eq!(&**name, "request");
            begun.insert(*task);
        }
        EventKind::TaskEnd { task, .. } => assert!(begun.remove(task)),
        EventKind::Region { edge, task, .. } => regions.push((*edge, begun.contains(task))),
        EventKind::Log { .. } => logs += 1,
        _ => {}
    })
    .unwrap();
    assert!(begun.is_empty());
    assert_eq!(logs, 2);
    assert_eq!(regions.iter().filter(|(_, of_task)| *of_task).count(), 4, "{regions:?}");
    let begins = regions.iter().filter(|(edge, _)| *edge == RangeEdge::Begin).count();
    assert_eq!((regions.len(), begins), (6, 3));
}

/// A second trace is refused, and the first one's file is not touched.
#[gosched::test]
fn there_is_one_trace_at_a_time() {
    let _alone = alone();
    let file = scratch("one.trace");
    let first = trace::start(&file).unwrap();
    let refused = trace::start(&file).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert!(refused.to_string().contains("one at a time"), "{refused}");
    let flight = FlightRecorder::new(Duration::from_secs(1), 1 << 20);
    assert_eq!(flight.start().unwrap_err().kind(), ErrorKind::AlreadyExists);
    first.stop().unwrap();
    assert!(read(&fs::read(&file).unwrap()).unwrap() > 0);
    flight.start().unwrap();
    assert!(flight.start().is_err());
    flight.stop();
    trace::start(&file).unwrap().stop().unwrap();
    fs::remove_file(&file).unwrap();
}

/// A path that can't be written is refused at once, and nothing is left behind.
#[gosched::test]
fn a_path_that_cannot_be_written_is_refused() {
    let _alone = alone();
    let error = trace::start(std::env::temp_dir().join("no-such-folder/x.trace")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    trace::start_to(io::sink()).unwrap().stop().unwrap();
}

/// Accepts so many bytes, then fails: a full disk, a closed pipe.
struct Fails(usize);

impl Write for Fails {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The program goes on, `stop` says what was wrong, and the next trace works.
#[gosched::test]
fn a_writer_that_fails_is_told_of() {
    let _alone = alone();
    for room in [0, 20] {
        let trace = trace::start_to(Fails(room)).unwrap();
        go(|| time::sleep(Duration::from_millis(30)).unwrap()).join().unwrap();
        assert_eq!(trace.stop().unwrap_err().kind(), ErrorKind::StorageFull);
    }
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let trace = trace::start_to(writer).unwrap();
    assert_eq!(trace.stop().unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert!(read(&trace_of(|| ())).unwrap() > 0);
}

/// Panics when it is written to.
struct Panics;

impl Write for Panics {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("expected: a writer that panics")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that panics ends the trace, not the program.
#[gosched::test]
fn a_writer_that_panics_ends_the_trace() {
    let _alone = alone();
    let error = trace::start_to(Panics).unwrap().stop().unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(read(&trace_of(|| ())).unwrap() > 0);
}

/// In a stopped world a trace can't begin, and nothing is changed; regions and logs do nothing.
#[gosched::test]
fn in_a_stopped_world_no_trace_begins() {
    let _alone = alone();
    let file = scratch("stopped.trace");
    let refused = std::panic::catch_unwind(|| runtime::stop_the_world(|_| trace::start(&file)));
    assert!(refused.is_err() && !file.exists());
    let bytes = trace_of(|| {
        runtime::stop_the_world(|_| {
            trace::log("stopped", "world");
            assert_eq!(trace::region("r", || 1), 1);
        });
    });
    assert_eq!(count(&bytes, EventType::STWBegin), 1);
    assert_eq!(count(&bytes, EventType::STWEnd), 1);
    assert_eq!(count(&bytes, EventType::UserLog), 0);
}

/// How many Ps there are: when a goroutine begins the trace, and when one changes it.
#[gosched::test]
fn the_number_of_ps_is_recorded() {
    let _alone = alone();
    let before = runtime::maxprocs(None);
    let bytes = trace_of(|| {
        for procs in [before + 2, before + 2, before + 1, before] {
            runtime::maxprocs(Some(procs));
        }
    });
    let mut numbers = Vec::new();
    read_with(&bytes, |event| {
        if let EventKind::Gauge { gauge: GaugeKind::Procs, value } = event.kind {
            assert_ne!(event.stack, 0);
            numbers.push(value as usize);
        }
    })
    .unwrap();
    assert_eq!(numbers, [before, before + 2, before + 1, before]);
}

/// Traces begin and end on foreign threads, too. Those can't say how many Ps there are.
#[test]
fn a_foreign_thread_traces() {
    child("a_foreign_thread_traces", || {
        let bytes = trace_of(|| {
            trace::log("no", "goroutine");
            runtime::maxprocs(Some(runtime::maxprocs(None) + 1));
            go(thread::yield_now).join().unwrap();
        });
        assert!(count(&bytes, EventType::GoCreate) >= 1);
        assert_eq!(count(&bytes, EventType::ProcsChange), 0);
    })
    .run()
    .ok();
}

/// What is kept is a trace of its own, again and again.
#[gosched::test]
fn a_flight_recorder_writes_what_it_keeps() {
    let _alone = alone();
    let recorder = FlightRecorder::new(Duration::from_millis(200), 8 << 20);
    assert!(recorder.write_to(io::sink()).is_err());
    recorder.start().unwrap();
    for n in 0..5 {
        let begun = Instant::now();
        trace::log("turn", &n.to_string());
        go(|| time::sleep(Duration::from_millis(300)).unwrap()).join().unwrap();
        let mut kept = Vec::new();
        assert_eq!(recorder.write_to(&mut kept).unwrap(), kept.len() as u64);
        assert!(read(&kept).unwrap() > 0);
        // The turns before are too old.
        let logs = count(&kept, EventType::UserLog);
        assert!(logs <= 2, "{logs} logs in turn {n}");
        // On a busy machine a generation may have ended by itself meanwhile, and be too old, too.
        assert!(logs > 0 || begun.elapsed() > Duration::from_millis(800), "no log in turn {n}");
    }
    recorder.stop();
    assert!(recorder.write_to(io::sink()).is_err());
}

/// `GOSCHED_TRACE=file` traces the whole run.
#[test]
fn the_environment_asks_for_a_trace() {
    let file = scratch("%p.trace");
    let body = || {
        gosched::run(|| go(|| trace::log("in", "a run")).join().unwrap());
        println!("id: {}", std::process::id());
    };
    let outcome = child("the_environment_asks_for_a_trace", body)
        .env("GOSCHED_TRACE", file.to_str().unwrap())
        .run()
        .ok();
    let file = PathBuf::from(file.to_str().unwrap().replace("%p", outcome.value("id")));
    let bytes = fs::read(&file).unwrap();
    assert_eq!(count(&bytes, EventType::UserLog), 1);
    fs::remove_file(file).unwrap();
}

/// A file that can't be written is told of, and the program runs.
#[test]
fn the_environment_names_a_bad_file() {
    let body = || assert_eq!(gosched::run(|| 7), 7);
    let outcome = child("the_environment_names_a_bad_file", body)
        .env("GOSCHED_TRACE", "/proc/no-such-folder/x")
        .run()
        .ok();
    assert!(outcome.stderr.contains("GOSCHED_TRACE: cannot write"), "{outcome:#?}");
}

/// SIGQUIT ends the process, with the trace complete.
#[test]
fn sigquit_completes_the_trace() {
    let file = scratch("quit.trace");
    let body = || {
        gosched::run(|| {
            // SAFETY: a signal to this very process.
            unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) };
            thread::park();
        });
    };
    let outcome =
        child("sigquit_completes_the_trace", body).env("GOSCHED_TRACE", file.to_str().unwrap()).run();
    assert_eq!(outcome.code, Some(2), "{outcome:#?}");
    assert!(read(&fs::read(&file).unwrap()).unwrap() > 0);
    fs::remove_file(file).unwrap();
}

/// `GOSCHED_TRACE=flight:10s:file` is written when a goroutine panics.
#[test]
fn a_panic_writes_the_flight_recorder() {
    let file = scratch("flight.trace");
    let body = || {
        let path = std::env::var("FLIGHT").unwrap();
        gosched::run(|| {
            assert!(fs::metadata(&path).is_err());
            assert!(go(|| panic!("expected")).join().is_err());
            let begun = Instant::now();
            while fs::metadata(&path).map_or(0, |file| file.len()) < 100 {
                assert!(begun.elapsed() < Duration::from_secs(30), "no file was written");
                time::sleep(Duration::from_millis(5)).unwrap();
            }
        });
    };
    child("a_panic_writes_the_flight_recorder", body)
        .env("GOSCHED_TRACE", &format!("flight:10s:{}", file.display()))
        .env("FLIGHT", file.to_str().unwrap())
        .run()
        .ok();
    assert!(read(&fs::read(&file).unwrap()).unwrap() > 0);
    fs::remove_file(file).unwrap();
}
