//! Go's text form of traces, in which its own tests of broken and odd ones are written: translated
//! to bytes.

use gosched_traceformat::leb128;
use gosched_traceformat::wire::EventType;

/// A trace in text, and what Go's parser says of it.
pub struct Case {
    pub trace: Vec<u8>,
    pub is_accepted: bool,
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    let mut room = [0; leb128::MAX_LEN];
    let len = leb128::put(&mut room, number);
    bytes.extend(&room[..len]);
}

/// A string as Go quotes it.
fn unquoted(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_matches('"').chars();
    while let Some(c) = rest.next() {
        let c = match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('x') => {
                    let code: String = rest.by_ref().take(2).collect();
                    bytes.push(u8::from_str_radix(&code, 16).expect("two hexadecimal digits"));
                    continue;
                }
                Some(c) => c,
                None => break,
            },
            c => c,
        };
        bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    bytes
}

/// The value of `name=` in a line.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn event(bytes: &mut Vec<u8>, line: &str) {
    let name = line.split_whitespace().next().expect("a word");
    let event = EventType::ALL.iter().find(|event| event.spec().name == name);
    let event = *event.unwrap_or_else(|| panic!("no event {name}"));
    bytes.push(event as u8);
    for arg in event.spec().args {
        let number = value(line, arg).unwrap_or_else(|| panic!("no {arg} in {line}"));
        put(bytes, number.parse().unwrap_or_else(|_| panic!("{arg} is no number in {line}")));
    }
}

/// Translates a file of Go's `internal/trace/testdata/tests`.
pub fn case(text: &str) -> Case {
    let (head, body) = text.split_once("-- trace --\n").expect("a trace");
    let is_accepted = head.contains("SUCCESS");
    let mut lines = body.lines();
    let version = lines.next().and_then(|line| line.strip_prefix("Trace Go1.")).expect("a version");
    let mut trace = format!("go 1.{version} trace\0\0\0").into_bytes();
    for line in lines.filter(|line| !line.trim().is_empty()) {
        match line.strip_prefix('\t') {
            None => event(&mut trace, line),
            Some(data) if data.starts_with("data=") => {
                let data = unquoted(&data["data=".len()..]);
                put(&mut trace, data.len() as u64);
                trace.extend(data);
            }
            Some(frame) => {
                for name in ["pc", "func", "file", "line"] {
                    let number = value(frame, name).expect("a frame");
                    put(&mut trace, number.parse().expect("a number"));
                }
            }
        }
    }
    Case { trace, is_accepted }
}
