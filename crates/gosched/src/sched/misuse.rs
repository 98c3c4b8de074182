//! What the compiler refuses: each function here breaks a rule of possession, and is compiled by
//! `tests/possession.rs` alone, which expects the error that is named.

#[cfg(gosched_misuse = "handed off twice: E0382")]
fn handed_off_twice(p: crate::p::OwnedP) {
    super::SCHED.hand_off_p(p);
    super::SCHED.hand_off_p(p);
}

#[cfg(gosched_misuse = "sent to another thread: E0277")]
fn sent_to_another_thread(worker: crate::m::Worker) {
    std::thread::spawn(move || drop(worker));
}

#[cfg(gosched_misuse = "a goroutine in the loop: E0308")]
fn a_goroutine_in_the_loop(worker: &mut crate::m::Worker) {
    super::SCHED.find_runnable(worker);
}

#[cfg(gosched_misuse = "made of a shared reference: E0133")]
fn made_of_a_shared_reference(p: &'static crate::p::P) -> crate::p::OwnedP {
    crate::p::OwnedP::assume(p)
}

#[cfg(gosched_misuse = "kept while the goroutine is away: E0505")]
fn kept_while_the_goroutine_is_away(mut worker: crate::m::Worker, g: &'static crate::g::G) {
    let p = worker.p();
    super::schedule::leave(worker, g, crate::m::Post::Requeue(g.into())).finish();
    drop(p);
}

#[cfg(gosched_misuse = "nothing is wrong: ok")]
fn nothing_is_wrong(mut worker: crate::m::Worker) {
    if let Some(p) = worker.release_p() {
        super::SCHED.hand_off_p(p);
    }
}
