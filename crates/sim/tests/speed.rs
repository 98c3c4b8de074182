//! The simulator is fast enough: 10⁷ events per second are the aim (`--speed` prints it); a test
//! must not fail on a busy machine, so here it is a fifth of that, and only in release builds.

use gosched_sim::kind::PolicyKind;
use gosched_sim::speed::measure;

#[test]
fn millions_of_events_per_second() {
    if cfg!(debug_assertions) {
        eprintln!("skipped: only in release builds");
        return;
    }
    for policy in [PolicyKind::Fcfs, PolicyKind::Rr, PolicyKind::Gmp] {
        let speed = measure(policy, 100_000, 8, 1);
        println!("{policy:?}: {:.1} million events per second", speed.per_second() / 1e6);
        assert!(speed.per_second() > 2e6, "{policy:?}: {:.0} events per second", speed.per_second());
    }
}
