//! The next event of each M, in a heap by time.
//!
//! The order of events that have the same time is nobody's business, but it is made to be that of
//! Go's parser, so that its output can be compared: hence a heap of our own.

use super::model::Model;
use crate::read::{Generation, RawEvent, StrandCursor};
use crate::{TraceError, read::Tables};

/// The next event of an M.
#[derive(Debug)]
struct Head {
    strand: usize,
    m: u64,
    cursor: StrandCursor,
    next: RawEvent,
}

/// The next events of all Ms that have any left.
#[derive(Debug, Default)]
pub(super) struct Frontier(Vec<Head>);

impl Frontier {
    pub(super) fn of_generation(generation: &Generation) -> Result<Frontier, TraceError> {
        let mut frontier = Frontier::default();
        for (strand, events) in generation.strands.iter().enumerate() {
            let mut cursor = StrandCursor::default();
            if let Some(next) = cursor.next(events, generation.tick)? {
                frontier.0.push(Head { strand, m: events.m, cursor, next });
                frontier.sift_up(frontier.0.len() - 1);
            }
        }
        Ok(frontier)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time of the earliest.
    pub(super) fn time(&self) -> Option<i64> {
        self.0.first().map(|head| head.next.time)
    }

    /// Advances the earliest that can. What it means is in the model's queue.
    pub(super) fn advance(&mut self, model: &mut Model, generation: &Generation) -> Result<(), TraceError> {
        if self.try_at(0, model, generation)? {
            return Ok(());
        }
        self.0.sort_by_key(|head| head.next.time);
        for place in 1..self.0.len() {
            if self.try_at(place, model, generation)? {
                return Ok(());
            }
        }
        Err(self.stuck())
    }

    fn try_at(
        &mut self,
        place: usize,
        model: &mut Model,
        generation: &Generation,
    ) -> Result<bool, TraceError> {
        let head = &mut self.0[place];
        let tables: &Tables = &generation.tables;
        let advanced = model.advance(&head.next, tables, head.m, generation.number);
        if !advanced.map_err(|message| TraceError::new(head.next.offset, message))? {
            return Ok(false);
        }
        match head.cursor.next(&generation.strands[head.strand], generation.tick)? {
            Some(next) => {
                head.next = next;
                if self.sift_up(place) == place {
                    self.sift_down(place);
                }
            }
            None => self.remove(place),
        }
        Ok(true)
    }

    /// No M's next event can happen.
    fn stuck(&self) -> TraceError {
        let Some(first) = self.0.first() else { return TraceError::new(0, "no events") };
        let waiting = self.0.iter().take(4).map(|head| {
            let args: Vec<String> = head.next.args.iter().map(u64::to_string).collect();
            format!("M {}: {:?}({})", head.m, head.next.event, args.join(", "))
        });
        let waiting: Vec<String> = waiting.collect();
        let message = format!(
            "nothing can happen next: each of {} Ms has an event that another one must precede: {}",
            self.0.len(),
            waiting.join("; ")
        );
        TraceError::new(first.next.offset, message)
    }

    fn remove(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            self.0.swap(parent, place);
            place = parent;
        }
        self.0.swap_remove(0);
        self.sift_down(0);
    }

    fn sift_up(&mut self, mut place: usize) -> usize {
        while place > 0 && self.0[(place - 1) / 2].next.time > self.0[place].next.time {
            self.0.swap((place - 1) / 2, place);
            place = (place - 1) / 2;
        }
        place
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let mut least = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.0.len() && self.0[child].next.time < self.0[least].next.time {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.0.swap(least, place);
            place = least;
        }
    }
}
