// What bodies, defaults and values may do with the channels of the selection: no borrow is left.

struct Server {
    s: Sender<i32>,
    r: Receiver<i32>,
    seen: Vec<i32>,
}

impl Server {
    fn note(&mut self, n: i32) -> i32 {
        self.seen.push(n);
        self.seen.len() as i32
    }

    fn with_a_default(&mut self) -> i32 {
        sel! { recv(self.r) -> m => self.note(m.unwrap()), default => self.note(0) }
    }

    fn with_a_timeout(&mut self) -> i32 {
        sel! { recv(self.r) -> m => self.note(m.unwrap()), default(BRIEF) => self.note(0) }
    }

    fn without(&mut self) -> i32 {
        sel! { recv(self.r) -> m => self.note(m.unwrap()), recv(ch::after(HOUR)) -> _ => self.note(0) }
    }

    fn sending(&mut self) -> i32 {
        sel! { send(self.s, 4) -> res => { res.unwrap(); self.note(4) } default => self.note(0) }
    }

    fn with_both(&mut self) -> i32 {
        sel! {
            recv(self.r) -> m => self.note(m.unwrap()),
            send(self.s, 4) -> _ => self.note(4),
            default => self.note(0),
        }
    }

    fn sending_what_a_method_computes(&mut self) -> i32 {
        sel! {
            send(self.s, self.note(7)) -> res => { res.unwrap(); self.r.recv().unwrap() }
            default => self.note(0),
        }
    }
}

fn server(values: &[i32]) -> Server {
    let (s, r) = unbounded();
    values.iter().for_each(|n| s.send(*n).unwrap());
    Server { s, r, seen: Vec::new() }
}

table! {
    methods_that_change_self => { let mut a = server(&[1]); (a.with_a_default(), a.with_a_default(), a.seen) }
    methods_that_change_self_and_a_timeout => {
        let mut a = server(&[1]);
        (a.with_a_timeout(), a.with_a_timeout(), a.seen)
    }
    methods_that_change_self_without_a_default => {
        let mut a = server(&[1, 2]);
        (a.without(), a.without(), a.seen)
    }
    methods_that_change_self_after_a_send => { let mut a = server(&[]); (a.sending(), a.seen) }
    methods_that_change_self_beside_both => { let mut a = server(&[]); (a.with_both(), a.seen) }
    methods_that_change_self_in_a_value => {
        let mut a = server(&[]);
        (a.sending_what_a_method_computes(), a.seen)
    }

    nil_channels => {
        let ((s1, mut ra), (s2, mut rb)) = (one(1), one(2));
        drop((s1, s2));
        let (mut sum, mut open) = (0, 2);
        while open > 0 {
            sel! {
                recv(ra) -> m => match m { Ok(n) => sum += n, Err(_) => { ra = ch::never(); open -= 1 } },
                recv(rb) -> m => match m { Ok(n) => sum += n, Err(_) => { rb = ch::never(); open -= 1 } },
                default => unreachable!(),
            }
        }
        sum
    }
    nil_channels_in_short => {
        let (s, mut ra) = empty();
        drop(s);
        sel! { recv(ra) -> m => if m.is_err() { ra = ch::never() }, default => {} }
        ra.try_recv()
    }
    nil_channels_without_a_default => {
        let (s, mut ra) = empty();
        drop(s);
        sel! { recv(ra) -> m => if m.is_err() { ra = ch::never() } }
        ra.try_recv()
    }
    nil_channels_with_a_timeout => {
        let (s, mut ra) = empty();
        drop(s);
        sel! { recv(ra) -> m => if m.is_err() { ra = ch::never() }, default(HOUR) => {} }
        ra.try_recv()
    }
    a_receiver_replaced_in_the_default => {
        let (_s, mut r) = empty();
        let (_t, other) = one(1);
        sel! { recv(r) -> _ => {} default => r = other }
        r.recv()
    }
    a_sender_replaced => {
        let (mut s, r) = unbounded();
        sel! { send(s, 1) -> _ => s = unbounded().0, default => {} }
        drop(s);
        (r.recv(), r.recv())
    }

    a_sender_dropped_in_a_body => {
        let (s, r) = unbounded();
        sel! { send(s, 1) -> _ => drop(s), default => {} }
        (r.recv(), r.recv())
    }
    a_sender_dropped_in_the_default => {
        let (s, r) = bounded(0);
        sel! { send(s, 1) -> _ => {} default => drop(s) }
        r.recv()
    }
    a_sender_dropped_after_a_timeout => {
        let (s, r) = bounded(0);
        sel! { send(s, 1) -> _ => {} default(BRIEF) => drop(s) }
        r.recv()
    }
    a_sender_dropped_without_a_default => {
        let (s, r) = unbounded();
        sel! { send(s, 1) -> _ => drop(s) }
        (r.recv(), r.recv())
    }
    a_receiver_dropped_in_a_body => {
        let (s, r) = one(1);
        sel! { recv(r) -> _ => drop(r), default => {} }
        s.send(2)
    }
    a_receiver_dropped_in_the_default => {
        let (s, r) = empty();
        sel! { recv(r) -> _ => {} default => drop(r) }
        s.send(2)
    }
    another_channel_dropped => {
        let ((_s, a), (t, b)) = (one(1), empty());
        sel! { recv(a) -> _ => drop(b), recv(b) -> _ => drop(a), default => {} }
        t.send(2)
    }
    all_channels_dropped => {
        let ((_s, a), (t, b)) = (one(1), empty());
        sel! { recv(a) -> _ => drop((a, b)), recv(b) -> _ => {} default => {} }
        t.send(2)
    }
    all_channels_dropped_in_the_default => {
        let ((_s, a), (t, b)) = (empty(), empty());
        sel! { recv(a) -> _ => {} recv(b) -> _ => {} default => drop((a, b)) }
        t.send(2)
    }

    a_receiver_moved_into_a_thread => {
        let (s, r) = one(1);
        s.send(2).unwrap();
        sel! { recv(r) -> _ => std::thread::spawn(move || r.recv()).join().unwrap(), default => Ok(0) }
    }
    a_receiver_moved_into_a_thread_by_the_default => {
        let (s, r) = empty();
        sel! {
            recv(r) -> m => m,
            default => { s.send(2).unwrap(); std::thread::spawn(move || r.recv()).join().unwrap() }
        }
    }
    a_sender_moved_into_a_thread => {
        let (s, r) = unbounded();
        sel! {
            send(s, 1) -> _ => std::thread::spawn(move || s.send(2)).join().unwrap().unwrap(),
            default => {}
        }
        (r.recv(), r.recv(), r.recv())
    }
    a_sender_moved_into_a_closure => {
        let (s, r) = unbounded();
        let f = sel! { send(s, 1) -> _ => Some(move || s.send(2)), default => None };
        f.unwrap()().unwrap();
        (r.recv(), r.recv())
    }
    a_receiver_returned => {
        let (_s, r) = one(1);
        sel! { recv(r) -> _ => Some(r), default => None }.is_some()
    }
    a_receiver_returned_by_the_default => {
        let (_s, r) = empty();
        sel! { recv(r) -> _ => None, default => Some(r) }.is_some()
    }
    a_receiver_lent_mutably => {
        fn change(r: &mut Receiver<i32>) -> bool { *r = ch::never(); true }
        let (_s, mut r) = one(1);
        sel! { recv(r) -> _ => change(&mut r), default => change(&mut r) }
    }

    an_element_removed => {
        let (_s, r) = one(1);
        let mut v = vec![r];
        sel! { recv(v[0]) -> _ => { v.remove(0); } default => {} }
        v.len()
    }
    an_element_removed_in_the_default => {
        let (_s, r) = empty();
        let mut v = vec![r];
        sel! { recv(v[0]) -> _ => {} default => { v.remove(0); } }
        v.len()
    }
    elements_cleared => {
        let (_s, r) = one(1);
        let mut v = vec![r];
        sel! { recv(v[0]) -> _ => v.clear(), default(BRIEF) => v.clear() }
        v.len()
    }
    an_element_pushed => {
        let (_s, r) = one(1);
        let mut v = vec![r];
        sel! { recv(v[0]) -> _ => v.push(ch::never()), default => {} }
        v.len()
    }
    an_option_set_to_none => {
        let (_s, r) = one(1);
        let mut o = Some(r);
        sel! { recv(o.as_ref().unwrap()) -> _ => o = None, default => {} }
        o.is_none()
    }
    an_option_set_to_none_by_the_default => {
        let (_s, r) = empty();
        let mut o = Some(r);
        sel! { recv(o.as_ref().unwrap()) -> _ => {} default => o = None }
        o.is_none()
    }
    an_option_taken => {
        let (_s, r) = one(1);
        let mut o = Some(r);
        sel! { recv(o.as_ref().unwrap()) -> _ => drop(o.take()), default => drop(o.take()) }
        o.is_none()
    }
    a_map_entry_removed => {
        let (_s, r) = one(1);
        let mut map = std::collections::HashMap::from([("r", r)]);
        sel! { recv(map["r"]) -> _ => { map.remove("r"); } default => {} }
        map.len()
    }
    a_structure_moved => {
        let a = server(&[1]);
        sel! { recv(a.r) -> m => { let b = a; (m, b.seen.len()) } default => (Ok(0), 0) }
    }
    a_structure_moved_by_the_default => {
        let a = server(&[]);
        sel! { recv(a.r) -> _ => 1, default => { let b = a; b.seen.len() } }
    }
    a_field_replaced => {
        let mut a = server(&[1]);
        sel! { recv(a.r) -> _ => a.r = ch::never(), send(a.s, 2) -> _ => {} default => {} }
        a.seen.len()
    }
    a_box_emptied => {
        let (_s, r) = one(1);
        let b = Box::new(r);
        sel! { recv(b) -> _ => drop(*b), default => {} }
    }
    a_cell_borrowed_mutably => {
        let (_s, r) = one(1);
        let cell = std::cell::RefCell::new(r);
        sel! { recv(unsafe { &*cell.as_ptr() }) -> _ => *cell.borrow_mut() = ch::never(), default => {} }
        cell.into_inner().try_recv()
    }
    the_same_receiver_in_the_body => {
        let (s, r) = one(1);
        s.send(2).unwrap();
        sel! { recv(r) -> m => (m, r.recv()), default => (Ok(0), Ok(0)) }
    }
    the_other_end_in_the_body => {
        let (s, r) = one(1);
        sel! { recv(r) -> _ => s.send(5), default => Ok(()) }
    }

    a_value_that_is_moved => {
        let (s, r) = unbounded();
        let text = String::from("text");
        sel! { send(s, text) -> _ => r.recv(), default => Ok(String::new()) }
    }
    a_value_that_is_moved_if_it_is_chosen => {
        let ((_s, r), (full, _rest)) = (one(1), bounded::<String>(0));
        let text = String::from("text");
        sel! { send(full, text) -> _ => String::new(), recv(r) -> _ => text }
    }
    a_value_that_several_cases_move => {
        let ((a, _ra), (b, rb)) = (bounded::<String>(0), unbounded());
        let text = String::from("text");
        sel! { send(a, text) -> _ => {} send(b, text) -> _ => {} }
        rb.recv()
    }
    a_value_that_comes_back => {
        let (s, r) = unbounded();
        drop(r);
        let text = String::from("text");
        sel! { send(s, text) -> res => res.unwrap_err().into_inner(), default => String::new() }
    }
    a_value_that_is_coerced => {
        let (s, r) = unbounded::<Box<dyn std::fmt::Debug>>();
        sel! { send(s, Box::new(5)) -> _ => format!("{:?}", r.recv()), default => String::new() }
    }
    a_value_that_is_a_closure => {
        let (s, r) = unbounded::<Box<dyn Fn(i32) -> i32>>();
        sel! { send(s, Box::new(|n| n + 1)) -> _ => (r.recv().unwrap())(4), default => 0 }
    }
    a_value_that_is_negative => {
        let (s, r) = unbounded::<i32>();
        sel! { send(s, -5) -> _ => r.recv(), default => Ok(0) }
    }
    a_value_of_an_inferred_type => {
        let (s, r) = unbounded();
        let x = sel! { send(s, 5) -> _ => r.recv(), default => Ok(0) };
        x.map(|n: u64| n)
    }
    a_value_that_is_a_place => {
        let (s, r) = unbounded();
        let pair = (String::from("a"), 1);
        sel! { send(s, pair.0) -> _ => (r.recv(), pair.1), default => (Ok(String::new()), 0) }
    }
    a_value_that_changes_something => {
        let (s, r) = unbounded();
        let mut n = 1;
        sel! { send(s, { n += 1; n }) -> _ => {} default => {} }
        (n, r.recv())
    }
    a_value_from_the_same_channel => {
        let (s, r) = one(1);
        sel! { send(s, r.try_recv().unwrap() + 1) -> _ => r.recv(), default => Ok(0) }
    }
    a_value_from_a_queue => {
        let (s, r) = unbounded();
        let mut q = std::collections::VecDeque::from([1, 2]);
        sel! { send(s, q.pop_front().unwrap()) -> _ => {} default => {} }
        (q, r.recv())
    }
    a_value_from_a_field_beside => {
        let mut a = server(&[]);
        a.seen.push(3);
        sel! { send(a.s, a.seen.pop().unwrap()) -> _ => a.r.recv(), default => Ok(0) }
    }
    the_sender_itself_in_its_value => {
        let (s, r) = unbounded();
        sel! { send(s, s.capacity()) -> _ => r.recv(), default => Ok(Some(9)) }
    }
    a_sender_as_a_value => {
        let ((s, r), (t, u)) = (unbounded::<Sender<i32>>(), unbounded());
        sel! { send(s, t) -> _ => r.recv().unwrap().send(5).unwrap(), default => {} }
        u.recv()
    }
}
