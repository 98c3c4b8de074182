//! Where complete generations go.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gosched_traceformat::wire::HEADER;

/// Where complete generations go: to a writer, or into memory, the last ones.
pub(crate) enum TraceSink {
    Writer(Box<dyn Write + Send>),
    LastGenerations(LastGenerations),
}

/// The last generations.
pub(crate) struct LastGenerations {
    min_age: Duration,
    max_bytes: usize,
    kept: VecDeque<KeptGeneration>,
    bytes: usize,
    /// Where they are written when something goes wrong, if they are.
    file: Option<PathBuf>,
}

struct KeptGeneration {
    ended: Instant,
    bytes: Vec<u8>,
}

impl TraceSink {
    /// A writer.
    pub(crate) fn of(w: impl Write + Send + 'static) -> TraceSink {
        TraceSink::Writer(Box::new(w))
    }

    /// The last generations, in memory.
    pub(crate) fn ring(min_age: Duration, max_bytes: usize) -> TraceSink {
        TraceSink::LastGenerations(LastGenerations {
            min_age,
            max_bytes,
            kept: VecDeque::new(),
            bytes: 0,
            file: None,
        })
    }

    /// The last generations, which are written into a file when something goes wrong.
    pub(super) fn ring_with_file(min_age: Duration, max_bytes: usize, file: PathBuf) -> TraceSink {
        TraceSink::LastGenerations(LastGenerations {
            min_age,
            max_bytes,
            kept: VecDeque::new(),
            bytes: 0,
            file: Some(file),
        })
    }

    /// Before the first generation.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        match self {
            TraceSink::Writer(w) => w.write_all(&HEADER),
            TraceSink::LastGenerations(_) => Ok(()),
        }
    }

    /// A generation is complete.
    pub(super) fn add(&mut self, generation: &[u8]) -> io::Result<()> {
        match self {
            TraceSink::Writer(w) => w.write_all(generation),
            TraceSink::LastGenerations(ring) => {
                ring.add(generation);
                Ok(())
            }
        }
    }

    /// After the last generation.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match self {
            TraceSink::Writer(w) => w.flush(),
            TraceSink::LastGenerations(_) => Ok(()),
        }
    }

    /// A generation was lost. Each can be read without those before it: so memory goes on with the
    /// next one. For a writer this is the end.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        match self {
            TraceSink::Writer(w) => {
                w.flush()?;
                let most = crate::recorder::MOST_BYTES >> 20;
                Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    format!(
                        "the trace ends early: its writer was too slow, and all {most} MiB of buffers were full. \
                         Write to a faster place"
                    ),
                ))
            }
            TraceSink::LastGenerations(ring) => {
                ring.kept.clear();
                ring.bytes = 0;
                Ok(())
            }
        }
    }
}

impl LastGenerations {
    fn add(&mut self, generation: &[u8]) {
        self.bytes += generation.len();
        self.kept.push_back(KeptGeneration { ended: Instant::now(), bytes: generation.to_vec() });
        // What ended before the span of time that is to be kept is not needed.
        while self.kept.len() > 1
            && (self.kept[0].ended.elapsed() > self.min_age || self.bytes > self.max_bytes)
        {
            self.bytes -= self.kept.pop_front().map_or(0, |first| first.bytes.len());
        }
    }

    /// A trace of what is kept.
    pub(super) fn trace(&self) -> Vec<u8> {
        let mut trace = Vec::with_capacity(HEADER.len() + self.bytes);
        trace.extend_from_slice(&HEADER);
        self.kept.iter().for_each(|kept| trace.extend_from_slice(&kept.bytes));
        trace
    }

    /// Something has gone wrong: writes the file, if there is to be one.
    pub(super) fn write_file(&self) -> io::Result<()> {
        match &self.file {
            Some(path) => File::create(path)?.write_all(&self.trace()),
            None => Ok(()),
        }
    }

    /// Whether there is a file to be written.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }
}

#[cfg(test)]
mod tests {
    //! Seen to fail: without the limit of bytes.
    use super::*;

    fn ring(min_age: Duration, max_bytes: usize) -> LastGenerations {
        let TraceSink::LastGenerations(ring) = TraceSink::ring(min_age, max_bytes) else { unreachable!() };
        ring
    }

    /// What is young is kept, up to so many bytes, and the last generation in any case.
    #[test]
    fn a_ring_keeps_the_last_generations() {
        let mut young = ring(Duration::from_secs(3600), 25);
        for n in 1..=4_u8 {
            young.add(&[n; 10]);
        }
        assert_eq!(young.trace()[HEADER.len()..], [[3; 10], [4; 10]].concat());
        young.add(&[5; 100]);
        assert_eq!(young.trace()[HEADER.len()..], [5; 100]);
        let mut old = ring(Duration::ZERO, 1000);
        for n in 1..=3_u8 {
            old.add(&[n; 10]);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(old.trace()[HEADER.len()..], [3; 10]);
    }
}
