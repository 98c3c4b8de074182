//! The strings and stacks of a generation.
//!
//! Numbers of strings stay the same throughout a trace; each generation has those that its stacks
//! name. Functions are looked up once.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gosched_traceformat::encode::tables::MIN_STORAGE;
use gosched_traceformat::encode::{Fit, StackFrame, StacksWriter, StringsWriter};

use crate::dump::{StackCall, Symbols};
use crate::g::waiter::WaitReason;
use crate::recorder::{self, FIRST_FREE_STRING, FrameAt, StopReason};

/// Addresses in a trace stand for calls: an address of code may be several, because of inlining.
const FIRST_ADDRESS: u64 = 0x1000;

pub(super) struct TraceTables {
    symbols: Symbols,
    strings: HashMap<Rc<str>, u64>,
    /// What is written of each call that was met.
    calls: HashMap<(String, Option<String>), StackFrame>,
}

/// What a generation needs.
#[derive(Default)]
struct Needed {
    strings: HashSet<u64>,
    stacks: Vec<(u64, Vec<StackFrame>)>,
}

impl TraceTables {
    pub(super) fn new() -> TraceTables {
        TraceTables { symbols: Symbols::new(), strings: HashMap::new(), calls: HashMap::new() }
    }

    /// Adds the tables of a generation.
    pub(super) fn add_to(&mut self, bytes: &mut Vec<u8>, generation: u64, time: u64) {
        let mut needed = Needed::default();
        recorder::each_stack(generation, |number, frames| {
            let frames = self.frames(frames);
            needed.strings.extend(frames.iter().flat_map(|frame| [frame.function, frame.file]));
            needed.stacks.push((number, frames));
        });
        let mut storage = vec![0; MIN_STORAGE];
        self.add_strings(bytes, &mut storage, &needed, (generation, time));
        add_stacks(bytes, &mut storage, &needed, (generation, time));
    }

    fn frames(&mut self, frames: &mut dyn Iterator<Item = FrameAt>) -> Vec<StackFrame> {
        let mut code = Vec::new();
        for frame in frames {
            match frame {
                FrameAt::Code(address) => code.push(address),
                FrameAt::Source(place) => {
                    let function = format!("go at {}:{}", place.file(), place.line());
                    let place = format!("{}:{}", place.file(), place.line());
                    return vec![self.frame(&function, Some(&place))];
                }
            }
        }
        let calls: Vec<Rc<StackCall>> = self.symbols.calls(&code);
        calls.iter().map(|call| self.frame(&call.function, call.place.as_deref())).collect()
    }

    fn frame(&mut self, function: &str, place: Option<&str>) -> StackFrame {
        let key = (function.to_owned(), place.map(str::to_owned));
        if let Some(frame) = self.calls.get(&key) {
            return *frame;
        }
        let (file, line) = match place.and_then(|place| place.rsplit_once(':')) {
            Some((file, line)) => (file, line.parse().unwrap_or(0)),
            None => (place.unwrap_or_default(), 0),
        };
        let frame = StackFrame {
            pc: FIRST_ADDRESS + self.calls.len() as u64,
            function: self.string(function),
            file: self.string(file),
            line,
        };
        self.calls.insert(key, frame);
        frame
    }

    fn string(&mut self, text: &str) -> u64 {
        let next = FIRST_FREE_STRING + self.strings.len() as u64;
        *self.strings.entry(text.into()).or_insert(next)
    }

    fn add_strings(&self, bytes: &mut Vec<u8>, storage: &mut [u8], needed: &Needed, at: (u64, u64)) {
        let mut strings: Vec<(u64, &str)> = WaitReason::strings().collect();
        strings.extend(StopReason::ALL.iter().map(|(reason, text)| (reason.string(), *text)));
        strings.push((recorder::STOP_THE_WORLD, recorder::STOP_THE_WORLD_TEXT));
        let found = self.strings.iter().map(|(text, number)| (*number, &**text));
        strings.extend(found.filter(|(number, _)| needed.strings.contains(number)));
        let mut batch = StringsWriter::begin(&mut *storage, at.0, at.1);
        for (number, text) in strings {
            if batch.string(number, text) == Fit::Full {
                append(bytes, batch.finish());
                batch = StringsWriter::begin(&mut *storage, at.0, at.1);
                let fit = batch.string(number, text);
                debug_assert_eq!(fit, Fit::Written, "an empty batch has room for every string");
            }
        }
        append(bytes, batch.finish());
    }
}

fn add_stacks(bytes: &mut Vec<u8>, storage: &mut [u8], needed: &Needed, at: (u64, u64)) {
    let mut batch = StacksWriter::begin(&mut *storage, at.0, at.1);
    for (number, frames) in &needed.stacks {
        if batch.stack(*number, frames) == Fit::Full {
            append(bytes, batch.finish());
            batch = StacksWriter::begin(&mut *storage, at.0, at.1);
            let fit = batch.stack(*number, frames);
            debug_assert_eq!(fit, Fit::Written, "an empty batch has room for every stack");
        }
    }
    append(bytes, batch.finish());
}

fn append(bytes: &mut Vec<u8>, (batch, len): (&mut [u8], usize)) {
    bytes.extend_from_slice(&batch[..len]);
}
