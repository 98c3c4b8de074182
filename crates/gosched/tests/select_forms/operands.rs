// What may be received from and sent into: places, values, references and expressions with effects.

struct Ends {
    s: Sender<i32>,
    r: Receiver<i32>,
}

struct Wrapped(Receiver<i32>);

impl std::ops::Deref for Wrapped {
    type Target = Receiver<i32>;
    fn deref(&self) -> &Receiver<i32> {
        &self.0
    }
}

static LATE: std::sync::OnceLock<(Sender<i32>, Receiver<i32>)> = std::sync::OnceLock::new();

table! {
    a_reference => { let (_s, r) = one(1); sel! { recv(&r) -> m => m, default => Ok(0) } }
    a_mutable_reference => { let (_s, mut r) = one(1); sel! { recv(&mut r) -> m => m, default => Ok(0) } }
    a_reference_to_a_reference => { let (_s, r) = one(1); sel! { recv(&&&r) -> m => m, default => Ok(0) } }
    a_variable_that_is_a_reference => {
        let (_s, r) = one(1);
        let r = &r;
        sel! { recv(r) -> m => m, default => Ok(0) }
    }
    a_variable_that_is_a_double_reference => {
        let (_s, r) = one(1);
        let r = &&r;
        sel! { recv(r) -> m => m, default => Ok(0) }
    }
    something_dereferenced => {
        let (_s, r) = one(1);
        let r = &r;
        sel! { recv(*r) -> m => m, default => Ok(0) }
    }
    a_clone => { let (_s, r) = one(1); sel! { recv(r.clone()) -> m => m, default => Ok(0) } }
    a_clone_of_a_sender => {
        let (s, r) = unbounded();
        sel! { send(s.clone(), 1) -> _ => r.recv(), default => Ok(0) }
    }
    a_reference_to_a_clone => { let (_s, r) = one(1); sel! { recv(&r.clone()) -> m => m, default => Ok(0) } }
    a_reference_to_a_sender => {
        let (s, r) = unbounded();
        sel! { send(&s, 1) -> _ => r.recv(), default => Ok(0) }
    }
    a_box => { let (_s, r) = one(1); let r = Box::new(r); sel! { recv(r) -> m => m, default => Ok(0) } }
    an_arc => {
        let (s, r) = unbounded();
        let s = std::sync::Arc::new(s);
        sel! { send(s, 1) -> _ => r.recv(), default => Ok(0) }
    }
    an_arc_that_is_new => {
        let (_s, r) = one(1);
        sel! { recv(std::sync::Arc::new(r)) -> m => m, default => Ok(0) }
    }
    something_with_deref => {
        let (_s, r) = one(1);
        let w = Wrapped(r);
        sel! { recv(w) -> m => m, default => Ok(0) }
    }
    a_field => { let (s, r) = one(1); let e = Ends { s, r }; sel! { recv(e.r) -> m => m, default => Ok(0) } }
    both_fields => {
        let (s, r) = unbounded();
        let e = Ends { s, r };
        sel! { recv(e.r) -> m => m, send(e.s, 3) -> _ => e.r.recv() }
    }
    a_field_behind_a_reference => {
        let (s, r) = one(1);
        let e = &Ends { s, r };
        sel! { recv(e.r) -> m => m, default => Ok(0) }
    }
    a_field_of_a_tuple => {
        let pair = one(1);
        sel! { recv(pair.1) -> m => m, send(pair.0, 3) -> _ => Ok(1), default => Ok(0) }
    }
    an_element => { let rs = [one(1).1]; sel! { recv(rs[0]) -> m => m.is_ok(), default => false } }
    an_element_found_by_an_expression => {
        let (_s, r) = one(1);
        let (rs, i) = (vec![ch::never(), r], 0);
        sel! { recv(rs[i + 1]) -> m => m, recv(rs[i]) -> m => m }
    }
    an_option_unwrapped => {
        let (_s, r) = one(1);
        let o = Some(r);
        sel! { recv(o.as_ref().unwrap()) -> m => m, default => Ok(0) }
    }
    an_option_unwrapped_and_dereferenced => {
        let (_s, r) = one(1);
        let o = Some(r);
        sel! { recv(*o.as_ref().unwrap()) -> m => m, default => Ok(0) }
    }
    an_option_or_never => {
        let (_s, r) = one(1);
        let o = Some(&r);
        sel! { recv(o.unwrap_or(&ch::never())) -> m => m, default => Ok(0) }
    }
    no_option_or_never => {
        let o: Option<&Receiver<i32>> = None;
        sel! { recv(o.unwrap_or(&ch::never())) -> m => m, default => Ok(0) }
    }
    an_option_cloned_or_never => {
        let (_s, r) = one(1);
        let o = Some(r);
        sel! { recv(o.clone().unwrap_or_else(ch::never)) -> m => m, default => Ok(0) }
    }
    an_if => {
        let ((_s1, a), (_s2, b)) = (one(1), one(2));
        let first = false;
        sel! { recv(if first { &a } else { &b }) -> m => m, default => Ok(0) }
    }
    a_match => {
        let ((_s1, a), (_s2, b)) = (one(1), one(2));
        sel! { recv(match 2 { 1 => &a, _ => &b }) -> m => m, default => Ok(0) }
    }
    a_block => { let (_s, r) = one(1); sel! { recv({ let r = &r; r }) -> m => m, default => Ok(0) } }
    an_unsafe_block => {
        let (_s, r) = one(1);
        sel! { recv(unsafe { same(&r) }) -> m => m, default => Ok(0) }
    }
    a_call => {
        fn make() -> Receiver<i32> { one(1).1 }
        sel! { recv(make()) -> m => m.is_ok(), default => false }
    }
    a_call_that_lends => {
        let (_s, r) = one(1);
        fn lend(r: &Receiver<i32>) -> &Receiver<i32> { r }
        sel! { recv(lend(&r)) -> m => m, default => Ok(0) }
    }
    a_macro => {
        let (_s, r) = one(1);
        macro_rules! it { () => { r.clone() } }
        sel! { recv(it!()) -> m => m, default => Ok(0) }
    }
    a_static => {
        let (s, r) = LATE.get_or_init(unbounded);
        s.send(1).unwrap();
        sel! { recv(LATE.get().unwrap().1) -> m => m.is_ok() && r.is_empty(), default => false }
    }
    after_some_time => {
        let (_s, r) = empty();
        sel! { recv(r) -> _ => 1, recv(ch::after(BRIEF)) -> at => i32::from(at.is_ok()) + 1 }
    }
    a_ticker => {
        let (_s, r) = empty();
        let t = ch::tick(BRIEF);
        sel! { recv(r) -> _ => 1, recv(t) -> at => i32::from(at.is_ok()) + 1 }
    }
    never_and_now => {
        let (_s, r) = one(1);
        sel! { recv(ch::never::<u8>()) -> _ => Ok(0), recv(r) -> m => m }
    }
    never_of_an_inferred_type => {
        let mut it = ch::never();
        let (_s, r) = one(1);
        let x = sel! { recv(it) -> m => m, recv(r) -> m => m };
        it = r;
        drop(it);
        x
    }
    what_a_guard_gives => {
        let (_s, r) = one(1);
        let locked = std::sync::Mutex::new(r);
        sel! { recv(locked.lock().unwrap()) -> m => m, default => Ok(0) }
    }
    what_a_guard_gives_while_it_is_held => {
        let (_s, r) = one(1);
        let locked = std::sync::Mutex::new(r);
        sel! {
            recv(&*locked.lock().unwrap()) -> m => (m, locked.try_lock().is_err()),
            default => (Ok(0), false),
        }
    }
    what_a_cell_gives => {
        let (_s, r) = one(1);
        let cell = std::cell::RefCell::new(r);
        sel! { recv(cell.borrow()) -> m => m, default => Ok(0) }
    }
    a_generic_receiver => {
        fn get<T>(r: &Receiver<T>) -> Option<T> { sel! { recv(r) -> m => m.ok(), default => None } }
        let (_s, r) = one(1);
        get(&r)
    }
    a_generic_sender => {
        fn put<T>(s: &Sender<T>, value: T) -> bool {
            sel! { send(s, value) -> res => res.is_ok(), default => false }
        }
        put(&unbounded().0, 1)
    }
    values_that_borrow => {
        let text = String::from("text");
        let (s, r) = unbounded::<&str>();
        sel! { send(s, &text) -> _ => r.recv().map(str::len), recv(r) -> _ => Ok(0) }
    }
    each_operand_once => {
        let ((_s1, a), (_s2, b), (full, _rest)) = (empty(), one(1), full());
        let count = std::cell::Cell::new([0; 4]);
        let up = |i: usize| { let mut c = count.get(); c[i] += 1; count.set(c); };
        let x = sel! {
            recv({ up(0); &a }) -> m => m,
            send({ up(1); &full }, { up(3); 1 }) -> _ => Ok(0),
            recv({ up(2); &b }) -> m => m,
        };
        (x, count.get())
    }
    operands_in_order_then_the_time => {
        let ((_s1, a), (full, _rest)) = (empty(), full());
        let order = std::cell::RefCell::new(Vec::new());
        let note = |what: &'static str| order.borrow_mut().push(what);
        sel! {
            send({ note("sender"); &full }, { note("value"); 1 }) -> _ => note("sent"),
            default({ note("time"); BRIEF }) => note("default"),
            recv({ note("receiver"); &a }) -> _ => note("received"),
        }
        order.into_inner()
    }
    the_value_last => {
        let ((s, _r), (_s2, b)) = (unbounded(), empty());
        let order = std::cell::RefCell::new(Vec::new());
        let note = |what: &'static str| order.borrow_mut().push(what);
        sel! {
            send({ note("sender"); &s }, { note("value"); 1 }) -> _ => note("sent"),
            recv({ note("receiver"); &b }) -> _ => note("received"),
        }
        order.into_inner()
    }
    operands_live_until_after_the_body => {
        let order = Order::default();
        let ((_s1, a), (_s2, b)) = (one(1), empty());
        let x = sel! {
            recv(order.kept("a", a)) -> m => { order.note("body"); m }
            recv(order.kept("b", b)) -> m => m,
        };
        order.note("end");
        (x, order.seen())
    }
    operands_live_until_after_the_default => {
        let order = Order::default();
        let (_s, a) = empty();
        sel! { recv(order.kept("a", a)) -> _ => {} default => order.note("body") }
        order.note("end");
        order.seen()
    }
    a_result_lives_until_after_the_body => {
        let order = Order::default();
        let (s, r) = unbounded();
        s.send(order.kept("value", ())).unwrap();
        sel! { recv(r) -> _ => order.note("body"), default => {} }
        order.note("end");
        order.seen()
    }
    temporaries_of_a_value_end_before_the_body => {
        let order = Order::default();
        let (s, _r) = unbounded();
        sel! { send(s, order.kept("value", 1).1) -> _ => order.note("body"), default => {} }
        order.seen()
    }
    temporaries_of_a_body => {
        let order = Order::default();
        let (_s, r) = one(1);
        let x = sel! { recv(r) -> m => m.unwrap() + order.kept("temporary", 1).1, default => 0 };
        order.note("end");
        (x, order.seen())
    }
}
