// Patterns for results, `select!` as an expression, control flow out of the cases, nesting, numbers
// of cases.

table! {
    a_wildcard => { let (_s, r) = one(1); sel! { recv(r) -> _ => 1, default => 0 } }
    a_wildcard_with_a_name => { let (_s, r) = one(1); sel! { recv(r) -> _m => 1, default => 0 } }
    a_mutable_binding => {
        let (_s, r) = one(1);
        sel! { recv(r) -> mut m => { m = m.map(|n| n + 1); m } default => Ok(0) }
    }
    a_binding_by_reference => {
        let (_s, r) = one(1);
        sel! { recv(r) -> ref m => m.is_ok(), default => false }
    }
    a_binding_with_at => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m @ (Ok(_) | Err(_)) => m, default => Ok(0) }
    }
    alternatives_in_brackets => {
        let (_s, r) = one(1);
        sel! { recv(r) -> (Ok(_) | Err(_)) => 1, default => 0 }
    }
    a_pattern_in_brackets => { let (_s, r) = one(1); sel! { recv(r) -> (m) => m, default => Ok(0) } }
    a_result_that_is_shadowed => {
        let (_s, r) = one(1);
        let m = 5;
        sel! { recv(r) -> m => m.unwrap() + 1, default => m }
    }
    an_error_of_a_receive => { let (s, r) = empty(); drop(s); sel! { recv(r) -> m => m, default => Ok(0) } }
    an_error_of_a_send => {
        let (s, r) = unbounded();
        drop(r);
        sel! { send(s, 3) -> res => res, default => Ok(()) }
    }
    an_error_of_a_send_with_its_value => {
        let (s, r) = unbounded();
        drop(r);
        sel! { send(s, 3) -> res => res.unwrap_err().0, default => 0 }
    }

    the_value_of_a_let => {
        let (_s, r) = one(1);
        let x: Result<i32, ch::RecvError> = sel! { recv(r) -> m => m, default => Ok(0) };
        x
    }
    an_argument => { let (_s, r) = one(1); format!("{:?}", sel! { recv(r) -> m => m, default => Ok(0) }) }
    an_operand_of_a_sum => { let (_s, r) = one(1); 1 + sel! { recv(r) -> m => m.unwrap(), default => 0 } + 1 }
    a_method_on_it => { let (_s, r) = one(1); sel! { recv(r) -> m => m, default => Ok(0) }.unwrap() }
    a_question_mark_on_it => {
        fn f(r: &Receiver<i32>) -> Result<i32, ch::RecvError> {
            Ok(sel! { recv(r) -> m => m, default => Ok(0) }? + 1)
        }
        f(&one(1).1).is_ok()
    }
    a_condition => {
        let (_s, r) = one(1);
        if sel! { recv(r) -> m => m.is_ok(), default => false }
        { 1 } else { 2 }
    }
    what_is_matched => {
        let (_s, r) = one(1);
        match sel! { recv(r) -> m => m, default => Ok(0) }
        { Ok(n) => n, Err(_) => 9 }
    }
    an_element_of_an_array => {
        let (_s, r) = one(1);
        [sel! { recv(r) -> m => m, default => Ok(0) }, sel! { default => Ok(2) }]
    }
    in_round_brackets => { let (_s, r) = one(1); sel!(recv(r) -> m => m, default => Ok(0)) }
    in_square_brackets => { let (_s, r) = one(1); sel![recv(r) -> m => m, default => Ok(0)] }
    a_statement => {
        let (_s, r) = one(1);
        let mut x = 0;
        sel! { recv(r) -> m => { x = m.unwrap(); } default => {} }
        x
    }
    a_statement_with_a_semicolon => {
        let (_s, r) = one(1);
        let mut x = 0;
        sel! { recv(r) -> m => x = m.unwrap(), default => {} };
        x
    }
    the_body_of_a_function => {
        fn f(r: &Receiver<i32>) -> Option<i32> { sel! { recv(r) -> m => m.ok(), default => None } }
        f(&one(1).1)
    }
    the_body_of_a_closure => {
        let (_s, r) = one(1);
        let f = || sel! { recv(r) -> m => m, default => Ok(0) };
        f()
    }
    the_body_of_a_closure_that_moves => {
        let (_s, r) = one(1);
        let f = move || sel! { recv(r) -> m => m, default => Ok(0) };
        f()
    }
    the_arm_of_a_match => {
        let (_s, r) = one(1);
        match 1 { 1 => sel! { recv(r) -> m => m, default => Ok(0) }, _ => Ok(7) }
    }
    a_reference_to_a_temporary_is_extended => {
        let (_s, r) = one(1);
        let text: &String = sel! { recv(r) -> m => &format!("{m:?}"), default => &String::new() };
        text.clone()
    }
    a_trait_object => {
        let (_s, r) = one(1);
        let x: Box<dyn std::fmt::Debug> = sel! { recv(r) -> m => Box::new(m), default => Box::new("none") };
        format!("{x:?}")
    }
    all_cases_diverge => {
        fn f(r: &Receiver<i32>) -> i32 { sel! { recv(r) -> m => return m.unwrap_or(4), default => return 2 } }
        f(&one(1).1)
    }
    one_case_diverges => {
        fn f(r: &Receiver<i32>) -> i32 {
            let n = sel! { recv(r) -> m => m.unwrap_or(3), default => return 2 };
            n + 1
        }
        f(&empty().1)
    }
    a_panic_as_a_body => { let (_s, r) = one(1); sel! { recv(r) -> m => m, default => panic!("nothing") } }
    unreachable_as_a_body => { let (_s, r) = one(1); sel! { recv(r) -> m => m, default => unreachable!() } }

    a_break => { let (_s, r) = one(1); loop { sel! { recv(r) -> _ => break, default => {} } } }
    a_break_with_a_value => { let (_s, r) = one(1); loop { sel! { recv(r) -> m => break m, default => {} } } }
    a_break_with_a_label => {
        let (_s, r) = one(1);
        'out: loop { loop { sel! { recv(r) -> m => break 'out m, default => {} } } }
    }
    a_continue => {
        let (s, r) = unbounded();
        (0..4).for_each(|n| s.send(n).unwrap());
        let mut odd = Vec::new();
        loop {
            let n = sel! {
                recv(r) -> m => match m { Ok(n) if n % 2 == 0 => continue, m => m },
                default => break,
            };
            odd.push(n);
        }
        odd
    }
    a_continue_with_a_label => {
        let mut n = 0;
        'out: while n < 3 { loop { n += 1; sel! { default => continue 'out } } }
        n
    }
    a_return => {
        fn f(r: &Receiver<i32>) -> i32 { sel! { recv(r) -> _ => return 1, default => {} } 2 }
        (f(&empty().1), f(&empty().1))
    }
    a_return_of_what_was_received => {
        fn f(r: &Receiver<i32>) -> Option<i32> { sel! { recv(r) -> m => return m.ok(), default => {} } None }
        let (_s, r) = one(1);
        f(&r)
    }
    a_question_mark => {
        fn f(r: &Receiver<i32>) -> Option<i32> { Some(sel! { recv(r) -> m => m.ok()?, default => 5 } + 1) }
        let (_s, r) = one(1);
        f(&r)
    }
    a_question_mark_in_a_block => {
        fn f(r: &Receiver<i32>) -> Result<i32, ch::RecvError> {
            sel! { recv(r) -> m => { let n = m?; Ok(n + 1) } default => Ok(5) }
        }
        f(&empty().1)
    }
    a_question_mark_in_an_operand => {
        fn f(r: Option<&Receiver<i32>>) -> Option<i32> {
            sel! { recv(r?) -> m => m.ok(), default => Some(5) }
        }
        f(None)
    }
    a_question_mark_in_the_time => {
        fn f(d: Option<Duration>) -> Option<i32> {
            sel! { recv(ch::never::<i32>()) -> m => m.ok(), default(d?) => Some(5) }
        }
        (f(None), f(Some(BRIEF)))
    }
    a_loop_until_all_is_received => {
        let (s, r) = unbounded();
        (0..5).for_each(|n| s.send(n).unwrap());
        drop(s);
        let mut sum = 0;
        while let Ok(n) = sel! { recv(r) -> m => m } { sum += n; }
        sum
    }

    nested_in_a_body => {
        let ((_s1, a), (_s2, b)) = (one(1), one(2));
        sel! { recv(a) -> x => sel! { recv(b) -> y => (x, y), default => (x, x) }, default => (Ok(0), Ok(0)) }
    }
    nested_in_a_default => {
        let ((_s1, a), (_s2, b)) = (empty(), one(2));
        sel! { recv(a) -> x => x, default => sel! { recv(b) -> y => y, default => Ok(0) } }
    }
    nested_in_an_operand => {
        let ((_s1, a), (_s2, b)) = (one(1), one(2));
        sel! { recv(sel! { recv(a) -> _ => &b, default => &a }) -> x => x, default => Ok(0) }
    }
    nested_in_a_value => {
        let ((_s1, a), (s, r)) = (one(1), unbounded());
        sel! { send(s, sel! { recv(a) -> x => x.unwrap(), default => 7 }) -> _ => r.recv(), default => Ok(0) }
    }
    nested_three_times => {
        let (_s, r) = one(1);
        sel! { default => { sel! { default => { sel! { recv(r) -> m => m, default => Ok(0) } } } } }
    }
    nine_cases => {
        let ((_s, r), (_t, e)) = (one(1), empty());
        sel! {
            recv(e) -> _ => 0, recv(e) -> _ => 1, recv(e) -> _ => 2, recv(e) -> _ => 3, recv(e) -> _ => 4,
            recv(e) -> _ => 5, recv(e) -> _ => 6, recv(e) -> _ => 7, recv(r) -> _ => 8,
        }
    }
    twenty_cases_and_a_default => {
        let ((full, _rest), (_t, e)) = (full(), empty());
        sel! {
            recv(e) -> _ => 0, recv(e) -> _ => 1, recv(e) -> _ => 2, recv(e) -> _ => 3, recv(e) -> _ => 4,
            recv(e) -> _ => 5, recv(e) -> _ => 6, recv(e) -> _ => 7, recv(e) -> _ => 8, recv(e) -> _ => 9,
            send(full, 1) -> _ => 10, send(full, 1) -> _ => 11, send(full, 1) -> _ => 12,
            send(full, 1) -> _ => 13,
            send(full, 1) -> _ => 14, send(full, 1) -> _ => 15, send(full, 1) -> _ => 16,
            send(full, 1) -> _ => 17,
            send(full, 1) -> _ => 18, send(full, 1) -> _ => 19, default => 20,
        }
    }
    as_many_as_crossbeam_takes => {
        let ((_s, r), (_t, e)) = (one(1), empty());
        sel! {
            recv(e) -> _ => {
                0 } recv(e) -> _ => { 1 } recv(e) -> _ => { 2 } recv(e) -> _ => { 3 } recv(e) -> _ => { 4
            }
            recv(e) -> _ => {
                5 } recv(e) -> _ => { 6 } recv(e) -> _ => { 7 } recv(e) -> _ => { 8 } recv(e) -> _ => { 9
            }
            recv(e) -> _ => {
                10 } recv(e) -> _ => { 11 } recv(e) -> _ => { 12 } recv(e) -> _ => { 13 } recv(e) -> _ => { 14
            }
            recv(e) -> _ => {
                15 } recv(e) -> _ => { 16 } recv(e) -> _ => { 17 } recv(e) -> _ => { 18 } recv(e) -> _ => { 19
            }
            recv(e) -> _ => {
                20 } recv(e) -> _ => { 21 } recv(e) -> _ => { 22 } recv(e) -> _ => { 23 } recv(e) -> _ => { 24
            }
            recv(e) -> _ => { 25 } recv(r) -> _ => { 26 }
        }
    }

    a_timeout_that_passes => { let (_s, r) = empty(); sel! { recv(r) -> m => m, default(BRIEF) => Ok(5) } }
    a_timeout_that_is_not_needed => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => m, default(HOUR) => Ok(5) }
    }
    a_timeout_of_zero => {
        let (_s, r) = empty();
        sel! { recv(r) -> m => m, default(Duration::ZERO) => Ok(5) }
    }
    a_timeout_without_end => {
        let (_s, r) = one(1);
        sel! { recv(r) -> m => m, default(Duration::MAX) => Ok(5) }
    }
    a_timeout_for_several => {
        let ((_s, r), (full, _rest)) = (empty(), full());
        sel! { recv(r) -> _ => 1, send(full, 2) -> _ => 2, default(BRIEF) => 3 }
    }
    a_timeout_that_is_a_block => {
        let (_s, r) = empty();
        sel! { recv(r) -> m => m, default({ let d = BRIEF; d * 2 }) => Ok(5) }
    }
    a_timeout_computed_from_what_is_borrowed => {
        let (_s, r) = empty();
        let e = (r, BRIEF);
        sel! { recv(e.0) -> m => m, default(e.1) => Ok(5) }
    }
}
