//! The switch itself: control, registers and values go where they should.

mod common;

use std::hint::black_box;

use common::watchdog;
use gosched_switch::arch::here;
use gosched_switch::{Gobuf, Stack, StackClass, StackPool, jump, switch};

static POOL: StackPool = StackPool::new();

fn stack() -> Stack {
    POOL.alloc(StackClass::DEFAULT).unwrap()
}

struct Pair {
    main: Gobuf,
    other: Gobuf,
    value: u64,
    rounds: u64,
}

unsafe extern "C" fn double_for_ever(arg: usize) -> ! {
    let pair = arg as *mut Pair;
    let mut seen = 0;
    loop {
        // SAFETY: the pair outlives the context, and one of the two contexts runs at a time.
        unsafe {
            (*pair).value *= 2;
            seen += 1;
            (*pair).rounds = seen;
            switch(&raw mut (*pair).other, &raw const (*pair).main);
        }
    }
}

/// S10: control goes back and forth, and each side keeps its own locals.
#[test]
fn ping_pong_passes_values_and_keeps_locals() {
    let _dog = watchdog();
    let stack = stack();
    let mut pair = Pair { main: Gobuf::empty(), other: Gobuf::empty(), value: 1, rounds: 0 };
    let p = &raw mut pair;
    // SAFETY: the context never ends by itself; its stack is given back when nobody switches to it
    // any more.
    unsafe {
        (*p).other = Gobuf::fresh(stack.top(), double_for_ever, p as usize);
        for round in 1..=50u64 {
            switch(&raw mut (*p).main, &raw const (*p).other);
            assert_eq!(((*p).value, (*p).rounds), (1 << round, round));
        }
    }
    POOL.free(stack);
}

struct Trio {
    bufs: [Gobuf; 3],
    main: Gobuf,
    trace: Vec<usize>,
}

unsafe extern "C" fn hand_around(arg: usize) -> ! {
    let trio = (arg & !7) as *mut Trio;
    let me = arg & 7;
    // SAFETY: the trio outlives the contexts, one of which runs at a time.
    unsafe {
        for _ in 0..3 {
            (*trio).trace.push(me);
            switch(&raw mut (*trio).bufs[me], &raw const (*trio).bufs[(me + 1) % 3]);
        }
        jump(&raw const (*trio).main)
    }
}

/// D3: symmetric: a context switches straight to any other one.
#[test]
fn contexts_switch_straight_to_each_other() {
    let _dog = watchdog();
    let stacks = [stack(), stack(), stack()];
    let mut trio = Trio { bufs: [const { Gobuf::empty() }; 3], main: Gobuf::empty(), trace: Vec::new() };
    let t = &raw mut trio;
    // SAFETY: the stacks are given back after the last context has jumped away.
    unsafe {
        for (i, stack) in stacks.iter().enumerate() {
            (*t).bufs[i] = Gobuf::fresh(stack.top(), hand_around, t as usize | i);
        }
        switch(&raw mut (*t).main, &raw const (*t).bufs[0]);
    }
    assert_eq!(trio.trace, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    stacks.into_iter().for_each(|s| POOL.free(s));
}

unsafe extern "C" fn scribble_registers(arg: usize) -> ! {
    let pair = arg as *mut Pair;
    loop {
        // SAFETY: every register written is declared; rbx, which can't be, is put back. The pair
        // outlives us.
        unsafe {
            std::arch::asm!(
                "push rbx", "mov rbx, -1", "mov r12, -1", "mov r13, -1", "mov r14, -1", "mov r15, -1",
                "pcmpeqd xmm6, xmm6", "pcmpeqd xmm15, xmm15", "pop rbx",
                out("r12") _, out("r13") _, out("r14") _, out("r15") _, out("xmm6") _, out("xmm15") _,
            );
            switch(&raw mut (*pair).other, &raw const (*pair).main);
        }
    }
}

/// More live values than registers, integers and floats, survive a switch to a context that
/// overwrites the registers which a callee must preserve, and two vector registers.
#[test]
fn registers_and_floats_survive() {
    let _dog = watchdog();
    let stack = stack();
    let mut pair = Pair { main: Gobuf::empty(), other: Gobuf::empty(), value: 0, rounds: 0 };
    let p = &raw mut pair;
    // SAFETY: as in `ping_pong_passes_values_and_keeps_locals`.
    unsafe { (*p).other = Gobuf::fresh(stack.top(), scribble_registers, p as usize) };
    for seed in 0..24u64 {
        let [a, b, c, d, e, f, g, h] =
            [1, 2, 3, 4, 5, 6, 7, 8].map(|k: u64| black_box(seed * 0x0101_0101 + k));
        let [x, y, z, w] = [0.25, 0.5, 0.75, 1.5].map(|k: f64| black_box(seed as f64 + k));
        // SAFETY: as above.
        unsafe { switch(&raw mut (*p).main, &raw const (*p).other) };
        assert_eq!(a + b + c + d + e + f + g + h, 8 * seed * 0x0101_0101 + 36);
        assert_eq!([a, d, h].map(|v| v - seed * 0x0101_0101), [1, 4, 8]);
        assert_eq!(x + y + z + w, 4.0 * seed as f64 + 3.0);
    }
    POOL.free(stack);
}

/// A type that the compiler places by trusting the ABI, without aligning the stack pointer itself.
#[repr(align(16))]
struct Aligned([u8; 16]);

unsafe extern "C" fn note_alignment(arg: usize) -> ! {
    let pair = arg as *mut Pair;
    let local = black_box(Aligned([1; 16]));
    // SAFETY: the pair outlives the context.
    unsafe {
        (*pair).value = black_box(&local.0).as_ptr() as u64 % 16;
        jump(&raw const (*pair).main)
    }
}

/// The ABI's promise at function entry: compiled code may use aligned vector moves on our stacks.
#[test]
fn entry_has_the_abis_alignment() {
    let _dog = watchdog();
    for stack in [(); 20].map(|()| stack()) {
        assert_eq!(stack.top() % 16, 0);
        let mut pair = Pair { main: Gobuf::empty(), other: Gobuf::empty(), value: 1, rounds: 0 };
        let p = &raw mut pair;
        // SAFETY: the context jumps back; its stack is given back after that.
        unsafe {
            (*p).other = Gobuf::fresh(stack.top(), note_alignment, p as usize);
            switch(&raw mut (*p).main, &raw const (*p).other);
        }
        assert_eq!(pair.value, 0);
        POOL.free(stack);
    }
}

struct Relay {
    main: Gobuf,
    left: u32,
    top: usize,
    sps: Vec<usize>,
}

unsafe extern "C" fn run_and_hand_over(arg: usize) -> ! {
    let relay = arg as *mut Relay;
    // SAFETY: the relay lies on the main stack. The next context takes this stack over in place:
    // nothing of this frame is needed after the jump; the buffer is read before its line is reused.
    unsafe {
        (*relay).sps.push(here().sp);
        if (*relay).left == 0 {
            jump(&raw const (*relay).main);
        }
        (*relay).left -= 1;
        let next = Gobuf::fresh((*relay).top, run_and_hand_over, arg);
        jump(&raw const next)
    }
}

/// S9, S10: a context that ends hands its stack to the next in place, a hundred thousand times at
/// the same depth.
#[test]
fn jump_starts_the_next_context_on_the_same_stack() {
    let _dog = watchdog();
    let stack = stack();
    let left = 100_000;
    let mut relay = Relay { main: Gobuf::empty(), left, top: stack.top(), sps: Vec::new() };
    let r = &raw mut relay;
    // SAFETY: the last context jumps back to main; the stack is given back after that.
    unsafe {
        let first = Gobuf::fresh((*r).top, run_and_hand_over, r as usize);
        switch(&raw mut (*r).main, &raw const first);
    }
    assert_eq!(relay.sps.len(), left as usize + 1);
    assert!(relay.sps.iter().all(|sp| *sp == relay.sps[0]), "each started at the same place");
    POOL.free(stack);
}

/// A context may be resumed on another thread than the one that it was suspended on.
#[test]
fn a_context_moves_between_threads() {
    let _dog = watchdog();
    let stack = stack();
    let mut pair = Pair { main: Gobuf::empty(), other: Gobuf::empty(), value: 1, rounds: 0 };
    pair.other = Gobuf::fresh(stack.top(), double_for_ever, &raw mut pair as usize);
    let p = &raw mut pair as usize;
    for round in 1..=20u64 {
        std::thread::spawn(move || {
            let p = p as *mut Pair;
            // SAFETY: threads take turns by `join`, which also orders their accesses.
            unsafe { switch(&raw mut (*p).main, &raw const (*p).other) };
        })
        .join()
        .unwrap();
        assert_eq!((pair.value, pair.rounds), (1 << round, round));
    }
    POOL.free(stack);
}

/// The saved stack pointer of a suspended context lies on its stack; that of a fresh one is the
/// top.
#[test]
fn a_resting_context_shows_where_it_is() {
    let _dog = watchdog();
    let stack = stack();
    let mut pair = Pair { main: Gobuf::empty(), other: Gobuf::empty(), value: 1, rounds: 0 };
    let p = &raw mut pair;
    // SAFETY: as in `ping_pong_passes_values_and_keeps_locals`.
    unsafe {
        (*p).other = Gobuf::fresh(stack.top(), double_for_ever, p as usize);
        assert_eq!((*p).other.sp(), stack.top());
        let fresh_pc = (*p).other.registers().pc;
        switch(&raw mut (*p).main, &raw const (*p).other);
        assert!((stack.limit()..stack.top()).contains(&(*p).other.sp()));
        assert_ne!((*p).other.registers().pc, fresh_pc);
    }
    POOL.free(stack);
}

#[test]
fn an_unaligned_top_is_refused() {
    let _dog = watchdog();
    let refused = std::panic::catch_unwind(|| Gobuf::fresh(0x1008, double_for_ever, 0));
    assert!(refused.is_err());
}

#[test]
fn this_platform_is_supported() {
    assert_eq!(gosched_switch::check_platform(), Ok(()));
    let text = gosched_switch::Unsupported::ShadowStack.to_string();
    assert!(text.contains("shadow stack") && text.contains("GLIBC_TUNABLES"), "{text}");
}
