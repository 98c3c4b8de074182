use std::time::Instant;

use super::{Chapter, Check, ensure, nothing};
use crate::page::{Page, thousands};

pub const CHAPTER: Chapter = Chapter {
    name: "scope",
    title: "Goroutines that borrow",
    why: "scope waits for the goroutines started in it, so they may borrow from the caller: no Arc, no clone, no channel.\n\
          A quicksort that sorts both halves of one slice at the same time:",
    source: include_str!("scope.rs"),
    run,
    aside: nothing,
};

const N: usize = 2_000_000;

// ---8<---
fn quicksort(numbers: &mut [u32]) {
    if numbers.len() < 10_000 {
        return numbers.sort_unstable();
    }
    let (small, _, large) = numbers.select_nth_unstable(numbers.len() / 2);
    gosched::scope(|s| {
        s.spawn(|| quicksort(small));
        quicksort(large);
    });
}
// ---8<---

fn run(page: &Page, _: bool) -> Check {
    let mut seed = 1u32;
    let mut numbers: Vec<u32> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed
    })
    .take(N)
    .collect();
    let mut expected = numbers.clone();
    expected.sort_unstable();
    let start = Instant::now();
    gosched::run(|| quicksort(&mut numbers));
    page.result(format_args!("{} numbers sorted in {:.0?}", thousands(N as u64), start.elapsed()));
    ensure(numbers == expected, "they are not sorted")
}
