//! The command line of the simulator.
use gosched_sim::kind::PolicyKind;
fn main() {
    use clap::ValueEnum;
    for policy in PolicyKind::value_variants() {
        let speed = gosched_sim::speed::measure(*policy, 500_000, 8, 1);
        println!(
            "{:6} {:>10} {:?} {:.2}M/s",
            policy.name(),
            speed.events,
            speed.took,
            speed.per_second() / 1e6
        );
    }
}
