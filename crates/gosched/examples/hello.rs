//! The program on the front page: a million goroutines, each returns a number.

use gosched::go;

#[gosched::main]
fn main() {
    let goroutines: Vec<_> = (1..=1_000_000u64).map(|n| go(move || n)).collect();
    let sum: u64 = goroutines.into_iter().map(|goroutine| goroutine.join().unwrap()).sum();
    println!("a million goroutines add up to {sum}");
}
