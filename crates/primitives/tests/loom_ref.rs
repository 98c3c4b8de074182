//! Model of `AtomicRef`: who follows a pointer for the first time, and has taken no lock since what
//! it points at was made, finds it whole.
//!
//! Seen to fail (2026-11-18): `set` or `get` `Relaxed`.

#![cfg(loom)]

mod support;

use gosched_primitives::AtomicRef;
use loom::sync::Arc;
use loom::thread;
use support::{Node, check};

#[test]
fn what_is_found_is_whole() {
    check(4, || {
        // Lives as long as the model, which is for ever as far as it knows.
        let nodes = Arc::new(Node::all(2));
        // SAFETY: the nodes are dropped after all threads were joined, and nobody follows the place
        // after that.
        let [one, two] = [0, 1].map(|i| unsafe { &*std::ptr::from_ref(&nodes[i]) });
        let place = Arc::new(AtomicRef::none());
        let reader = {
            let place = place.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let found: Option<&'static Node> = place.get();
                    assert!(found.is_none_or(|node| node.is_whole()));
                }
            })
        };
        one.fill();
        place.set(Some(one));
        two.fill();
        place.set(Some(two));
        assert!(place.is(two) && !place.is(one));
        place.set(None);
        reader.join().unwrap();
    });
}
