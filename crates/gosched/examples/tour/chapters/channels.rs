use std::time::Instant;

use gosched::chan::{Receiver, bounded};
use gosched::go;

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "channels",
    title: "Channels",
    why: "A channel passes values from goroutine to goroutine, with crossbeam's names. Without a buffer sender and receiver\n\
          meet. A prime sieve is a chain of them: each goroutine lets through what its prime does not divide.",
    source: include_str!("channels.rs"),
    run,
    aside: nothing,
};

const PRIMES: usize = 300;

// ---8<---
/// The values of `numbers` that are no multiples of `prime`.
fn filter(numbers: Receiver<u32>, prime: u32) -> Receiver<u32> {
    let (s, filtered) = bounded(0);
    go(move || numbers.iter().filter(|n| n % prime != 0).try_for_each(|n| s.send(n)));
    filtered
}

fn primes() -> Vec<u32> {
    let (s, mut numbers) = bounded(0);
    go(move || (2..).try_for_each(|n| s.send(n))); // until nobody receives any more
    let mut primes = Vec::new();
    while primes.len() < PRIMES {
        let prime = numbers.recv().unwrap();
        primes.push(prime);
        numbers = filter(numbers, prime);
    }
    primes
}
// ---8<---

/// How many values pass a channel on the way to the last prime: each number, through as many
/// filters as it survives.
fn messages(primes: &[u32]) -> u64 {
    let survives = |n: u32| primes.iter().take_while(|prime| !n.is_multiple_of(**prime)).count() as u64;
    (2..=primes[primes.len() - 1]).map(|n| 1 + survives(n)).sum()
}

fn run(page: &Page, _: bool) -> Check {
    let (time, primes) = gosched::run(|| {
        let start = Instant::now();
        let primes = primes();
        (start.elapsed(), primes)
    });
    let messages = messages(&primes);
    page.result(format_args!(
        "the {PRIMES}th prime is {}: {} messages through {PRIMES} channels in {time:.0?}, {} ns each",
        primes[PRIMES - 1],
        thousands(messages),
        time.as_nanos() / u128::from(messages)
    ));
    ensure(primes[PRIMES - 1] == 1987, "the 300th prime is 1987")
}
