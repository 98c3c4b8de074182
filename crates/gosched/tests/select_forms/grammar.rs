// How cases are written: commas, blocks, argument lists, and what a body may be. Included for each
// library by ../select_forms.rs, as a module in which `ch` and `sel!` are its channels and its
// macro.

table! {
    one_receive => { let (s, r) = one(1); let x = sel! { recv(r) -> m => m }; drop(s); x }
    one_receive_with_a_comma => { let (_s, r) = one(1); sel! { recv(r) -> m => m, } }
    one_receive_with_a_block => { let (_s, r) = one(1); sel! { recv(r) -> m => { m } } }
    one_receive_with_a_block_and_a_comma => { let (_s, r) = one(1); sel! { recv(r) -> m => { m }, } }
    one_send => { let (s, r) = unbounded(); sel! { send(s, 1) -> res => (res, r.recv()) } }
    one_send_with_a_comma => { let (s, r) = unbounded(); sel! { send(s, 1) -> res => (res, r.recv()), } }
    one_send_with_a_block => { let (s, r) = unbounded(); sel! { send(s, 1) -> res => { (res, r.recv()) } } }
    commas_in_the_argument_lists => {
        let ((_s, r), (full, _rest)) = (one(1), full());
        sel! { recv(r,) -> m => m, send(full, 2,) -> _ => Ok(7), default(HOUR,) => Ok(8) }
    }
    blocks_without_commas => {
        let ((_s1, r1), (_s2, r2), (full, _rest)) = (one(1), empty(), full());
        sel! {
            recv(r2) -> _ => { 10 }
            send(full, 2) -> _ => { 11 }
            recv(r1) -> m => { m.unwrap() }
            default => { 12 }
        }
    }
    blocks_with_and_without_commas => {
        let ((_s1, r1), (_s2, r2), (full, _rest)) = (one(1), empty(), full());
        sel! {
            recv(r2) -> _ => { 10 },
            send(full, 2) -> _ => { 11 }
            recv(r1) -> m => m.unwrap(),
            default => { 12 },
        }
    }
    the_default_first => { let (_s, r) = empty(); sel! { default => 1, recv(r) -> m => m.unwrap() } }
    the_default_first_as_a_block => {
        let (_s, r) = empty();
        sel! { default => { 1 } recv(r) -> m => m.unwrap() }
    }
    the_default_in_the_middle => {
        let ((_s1, r1), (_s2, r2)) = (empty(), one(2));
        sel! { recv(r1) -> m => m, default => Ok(1), recv(r2) -> m => m }
    }
    the_default_with_empty_brackets => {
        let (_s, r) = empty();
        sel! { recv(r) -> m => m.unwrap(), default() => 1 }
    }
    a_default_alone => { sel! { default => 1 } }
    a_default_alone_as_a_block => { sel! { default => { 1 } } }
    a_default_alone_with_a_comma => { sel! { default => 1, } }
    a_default_alone_with_commas => { sel! { default => 1,, } }
    a_default_alone_with_a_timeout => { sel! { default(BRIEF) => 1 } }
    a_default_alone_with_a_timeout_and_commas => { sel! { default(BRIEF,) => 1,,, } }
    an_empty_block => { let (_s, r) = one(1); sel! { recv(r) -> _ => {} } }
    an_empty_tuple => { let (_s, r) = one(1); sel! { recv(r) -> _ => () } }
    a_block_that_goes_on => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => { m }.map(|n| n + 1), default => Ok(0) }
    }
    a_block_in_a_sum => { let (_s, r) = one(1); sel! { recv(r) -> m => { m.unwrap() } + 1, default => 0 } }
    a_block_in_a_sum_at_the_end => {
        let (_s, r) = one(1);
        sel! { default => 0, recv(r) -> m => { m.unwrap() } + 1, }
    }
    brackets_around_a_body => { let (_s, r) = one(1); sel! { recv(r) -> m => (m), default => (Ok(0)), } }
    an_unsafe_block => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => unsafe { same(m) }, default => unsafe { same(Ok(0)) } }
    }
    an_if => { let (_s, r) = one(1); sel! { recv(r) -> m => if m.is_ok() { 1 } else { 2 }, default => 3 } }
    an_if_let => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => if let Ok(n) = m { n } else { 2 }, default => 3 }
    }
    a_match => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => match m { Ok(n) => n, Err(_) => 5 }, default => 3 }
    }
    a_loop => { let (_s, r) = one(1); sel! { recv(r) -> m => loop { break m }, default => Ok(3) } }
    a_labelled_block => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => 'a: { if m.is_ok() { break 'a 1 } 2 }, default => 3 }
    }
    a_closure => { let (_s, r) = one(1); let f = sel! { recv(r) -> m => move || m, }; f() }
    a_closure_with_an_argument => {
        let (_s, r) = one(1);
        let f = sel! { recv(r) -> m => move |n: i32| n + m.unwrap() };
        f(2)
    }
    a_range => { let (_s, r) = one(1); sel! { recv(r) -> m => 0..m.unwrap(), default => 0..0 } }
    an_array => { let (_s, r) = one(1); sel! { recv(r) -> m => [m, m], default => [Ok(0), Ok(0)], } }
    a_struct => {
        #[derive(Debug)]
        struct S { n: i32 }
        let (_s, r) = one(1);
        sel! { recv(r) -> m => S { n: m.unwrap() }, default => S { n: 0 } }
    }
    an_assignment => {
        let (_s, r) = one(1);
        let mut x = Ok(0);
        sel! { recv(r) -> m => x = m, default => x = Ok(5) }
        x
    }
    an_addition_to => {
        let (_s, r) = one(1);
        let mut x = 1;
        sel! { recv(r) -> m => x += m.unwrap(), default => x -= 1, };
        x
    }
    a_reference => { let (_s, r) = one(1); let (a, b) = (1, 2); *sel! { recv(r) -> _ => &a, default => &b } }
    a_cast => { let (_s, r) = one(1); sel! { recv(r) -> m => m.unwrap() as u8, default => 0 as u8 } }
    a_comparison => { let (_s, r) = one(1); sel! { recv(r) -> m => m.unwrap() < 2, default => false } }
    a_turbofish => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => m.map::<i64, _>(i64::from), default => Ok::<i64, _>(0) }
    }
    a_macro_in_round_brackets => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => format!("{m:?}"), default => format!("none") }
    }
    a_macro_in_square_brackets => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => vec![m], default => vec![] }
    }
    a_macro_in_braces => { let (_s, r) = one(1); sel! { recv(r) -> m => vec! { m }, default => vec! {} } }
    a_block_of_statements => {
        let (_s, r) = one(1);
        sel! {
            recv(r) -> m => { let n = m.unwrap(); let k = n + 1; (n, k) }
            default => { let n = 5; (n, n) }
        }
    }
    a_block_with_attributes => {
        let (_s, r) = one(1);
        sel! {
            recv(r) -> m => { #[allow(unused)] let k = 5; m }
            default => { #[allow(unused)] let k = 5; Ok(0) }
        }
    }
    a_block_with_items => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => { fn f(n: i32) -> i32 { n + 5 } f(m.unwrap()) } default => 0 }
    }
    a_send_and_a_receive => {
        let ((full, _rest), (_s, r)) = (full(), one(1));
        sel! { send(full, 5) -> res => format!("{res:?}"), recv(r) -> m => format!("{m:?}") }
    }
    two_sends => {
        let ((full, _rest), (s, r)) = (full(), unbounded());
        sel! { send(full, 5) -> _ => Ok(9), send(s, 6) -> _ => r.recv() }
    }
    the_same_receiver_twice => { let (_s, r) = one(1); sel! { recv(r) -> m => m, recv(r) -> m => m } }
    both_ends_of_a_channel => {
        let (s, r) = bounded(1);
        s.send(1).unwrap();
        sel! { send(s, 2) -> _ => Ok(0), recv(r) -> m => m }
    }
    different_types => {
        let ((_s1, r1), (_s2, r2)) = (empty(), unbounded::<String>());
        let (s3, r3) = unbounded::<(u8, char)>();
        s3.send((1, 'x')).unwrap();
        sel! {
            recv(r1) -> m => format!("{m:?}"),
            recv(r2) -> m => m.unwrap(),
            recv(r3) -> m => format!("{:?}", m.unwrap()),
        }
    }
    names_of_ours_in_a_body => {
        let (_s, r) = one(1);
        let (selected, result, cases, receiver, sender, index) = (1, 2, 3, 4, 5, 6);
        sel! {
            recv(r) -> _ => (selected, result, cases, receiver, sender, index),
            default => (0, result, cases, receiver, sender, index),
        }
    }
    names_of_ours_as_operands => {
        let ((_s, receiver), (sender, _rest)) = (one(1), full());
        let (selected, _res, oper) = (receiver.clone(), 2, 3);
        sel! {
            send(sender, _res + oper) -> result => format!("{result:?}"),
            recv(selected) -> result => format!("{result:?} {_res} {oper}"),
            recv(receiver) -> result => format!("{result:?} {_res} {oper}"),
        }
    }
}
