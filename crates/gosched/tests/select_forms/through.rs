// Cases, or parts of them, that come through another macro.

macro_rules! bodies {
    ($r:ident, $body:expr, $default:expr) => { sel! { recv($r) -> _ => $body, default => $default } };
}
macro_rules! bodies_at_the_end {
    ($r:ident, $body:expr, $default:expr) => {
        sel! { default => $default, recv($r) -> _ => $body }
    };
}
macro_rules! literals {
    ($r:ident, $body:literal, $default:literal) => {
        sel! { recv($r) -> _ => $body, default => $default }
    };
}
macro_rules! literals_at_the_end {
    ($r:ident, $body:literal, $default:literal) => {
        sel! { default => $default, recv($r) -> _ => $body, }
    };
}
macro_rules! blocks {
    ($r:ident, $body:block, $default:block) => {
        sel! { recv($r) -> _ => $body, default => $default }
    };
}
macro_rules! idents {
    ($r:ident, $body:ident, $default:ident) => {
        sel! { recv($r) -> _ => $body, default => $default }
    };
}
macro_rules! paths {
    ($r:ident, $body:path, $default:path) => {
        sel! { recv($r) -> _ => $body, default => $default }
    };
}
macro_rules! tokens {
    ($r:ident, $body:tt, $default:tt) => {
        sel! { recv($r) -> _ => $body, default => $default }
    };
}
macro_rules! lists {
    ($r:ident, [$($body:tt)*], [$($default:tt)*]) => {
        sel! { recv($r) -> _ => $($body)*, default => $($default)* }
    };
}
macro_rules! in_blocks {
    ($r:ident, $body:expr, $default:expr) => { sel! { recv($r) -> _ => { $body } default => {
        $default } }
    };
}
macro_rules! in_sums {
    ($r:ident, $body:expr, $default:expr) => {
        sel! { recv($r) -> _ => $body + 1, default => $default - 1 }
    };
}
macro_rules! in_calls {
    ($r:ident, $body:expr, $default:expr) => {
        sel! { recv($r) -> _ => same($body), default => same($default) }
    };
}
macro_rules! alone { ($r:ident, $body:expr) => { sel! { recv($r) -> _ => $body } }; }
macro_rules! default_alone { ($body:expr) => { sel! { default => $body } }; }
macro_rules! default_literal_alone { ($body:literal) => { sel! { default => $body, } }; }
macro_rules! default_block_alone { ($body:block) => { sel! { default => $body } }; }
macro_rules! after_a_send { ($s:ident, $body:expr) => { sel! { send($s, 1) -> _ => $body, default => 0 } }; }
macro_rules! literal_after_a_send {
    ($s:ident, $body:literal) => {
        sel! { send($s, 1) -> _ => $body, default => 0 }
    };
}
macro_rules! operands { ($r:expr) => { sel! { recv($r) -> m => m, default => Ok(0) } }; }
macro_rules! operands_with_commas { ($r:expr) => { sel! { recv($r,) -> m => m, default => Ok(0) } }; }
macro_rules! operands_that_are_paths { ($r:path) => { sel! { recv($r) -> m => m, default => Ok(0) } }; }
macro_rules! operands_lent { ($r:expr) => { sel! { recv(&$r) -> m => m, default => Ok(0) } }; }
macro_rules! values {
    ($s:expr, $v:expr) => {
        sel! { send($s, $v) -> res => res.is_ok(), default => false }
    };
}
macro_rules! literal_values {
    ($s:ident, $v:literal) => {
        sel! { send($s, $v) -> res => res.is_ok(), default => false }
    };
}
macro_rules! token_values {
    ($s:tt, $v:tt) => {
        sel! { send($s, $v,) -> res => res.is_ok(), default => false }
    };
}
macro_rules! patterns {
    ($r:ident, $m:pat => $body:expr) => {
        sel! { recv($r) -> $m => $body, default => 0 }
    };
}
macro_rules! simple_patterns {
    ($r:ident, $m:pat_param => $body:expr) => {
        sel! { recv($r) -> $m => $body, default => 0 }
    };
}
macro_rules! names {
    ($r:ident, $m:ident => $body:expr) => {
        sel! { recv($r) -> $m => $body, default => 0 }
    };
}
macro_rules! times { ($r:ident, $time:expr) => { sel! { recv($r) -> m => m, default($time) => Ok(5) } }; }
macro_rules! operations {
    ($op:ident, $r:ident, $none:ident) => {
        sel! { $op($r) -> m => m, $none => Ok(0) }
    };
}
macro_rules! whole { ($($cases:tt)*) => { sel! { $($cases)* } }; }
macro_rules! repeated { ($($r:ident)*) => { sel! { $(recv($r) -> m => m,)* default => Ok(9) } }; }
macro_rules! repeated_blocks {
    ($($r:ident => $body:block)*) => {
        sel! { $(recv($r) -> _ => $body,)* default => 9 }
    };
}
macro_rules! repeated_bodies {
    ($($r:ident => $body:expr),*) => {
        sel! { $(recv($r) -> _ => $body,)* default => 9 }
    };
}
macro_rules! twice { ($r:ident, $body:expr) => { bodies!($r, $body, $body) }; }
macro_rules! its_own_names {
    ($r:expr) => {{ let m = 5; sel! { recv($r) -> n => n.map(|n: i32| n + m), default => Ok(m) } }};
}

table! {
    an_expression => { let (_s, r) = one(1); bodies!(r, 1 + 1, 3) }
    an_expression_that_is_a_literal => { let (_s, r) = one(1); bodies!(r, 1, 3) }
    an_expression_that_is_negative => { let (_s, r) = one(1); bodies!(r, -1, -3) }
    an_expression_that_is_a_block => { let (_s, r) = one(1); bodies!(r, { 1 }, { 3 }) }
    an_expression_that_is_a_call => { let (_s, r) = one(1); bodies!(r, same(1), same(3)) }
    an_expression_that_is_a_name => { let (_s, r) = one(1); let (a, b) = (1, 3); bodies!(r, a, b) }
    an_expression_that_is_an_if => { let (_s, r) = one(1); bodies!(r, if true { 1 } else { 2 }, 3) }
    an_expression_that_is_a_closure => {
        let (_s, r) = empty();
        let f: fn() -> i32 = bodies!(r, || 1, || 3);
        f()
    }
    an_expression_that_is_a_string => { let (_s, r) = empty(); bodies!(r, "a", "b") }
    an_expression_that_breaks => { let (_s, r) = empty(); loop { bodies!(r, (), break) } }
    an_expression_that_drops => { let (s, r) = one(1); bodies!(r, drop(r), ()); s.send(1) }
    an_expression_at_the_end => { let (_s, r) = one(1); bodies_at_the_end!(r, 1 + 1, 3 + 3) }
    an_expression_in_a_block => { let (_s, r) = one(1); in_blocks!(r, 1 + 1, 3) }
    an_expression_in_a_sum => { let (_s, r) = one(1); in_sums!(r, 1 + 1, 3) }
    an_expression_in_a_call => { let (_s, r) = one(1); in_calls!(r, 1 + 1, 3) }
    an_expression_without_a_default => { let (_s, r) = one(1); alone!(r, 1 + 1) }
    an_expression_of_a_default_alone => { default_alone!(1 + 1) }
    an_expression_after_a_send => { let (s, _r) = unbounded(); after_a_send!(s, 5 * 2) }
    an_expression_twice => { let (_s, r) = one(1); twice!(r, 1 + 1) }
    a_literal => { let (_s, r) = one(1); literals!(r, 1, 3) }
    a_literal_that_is_negative => { let (_s, r) = empty(); literals!(r, -1, -3) }
    a_literal_that_is_a_string => { let (_s, r) = one(1); literals!(r, "one", "three") }
    a_literal_at_the_end => { let (_s, r) = one(1); literals_at_the_end!(r, 1, 3) }
    a_literal_of_a_default_alone => { default_literal_alone!(1) }
    a_literal_after_a_send => { let (s, _r) = unbounded(); literal_after_a_send!(s, 5) }
    a_block => { let (_s, r) = one(1); blocks!(r, { 1 }, { 3 }) }
    a_block_of_a_default_alone => { default_block_alone!({ 1 }) }
    a_name => { let (_s, r) = one(1); let (a, b) = (1, 3); idents!(r, a, b) }
    a_path => { let (_s, r) = one(1); paths!(r, i32::MAX, i32::MIN) }
    a_token => { let (_s, r) = one(1); tokens!(r, 1, (3)) }
    a_token_that_is_a_block => { let (_s, r) = one(1); tokens!(r, { 1 }, { 3 }) }
    tokens_of_an_expression => { let (_s, r) = one(1); lists!(r, [1 + 1], [3 + 1]) }
    an_operand => { let (_s, r) = one(1); operands!(r) }
    an_operand_that_is_a_reference => { let (_s, r) = one(1); operands!(&r) }
    an_operand_that_is_a_clone => { let (_s, r) = one(1); operands!(r.clone()) }
    an_operand_with_a_comma => { let (_s, r) = one(1); operands_with_commas!(r) }
    an_operand_that_is_a_path => { let (_s, r) = one(1); operands_that_are_paths!(r) }
    an_operand_that_is_lent => { let (_s, r) = one(1); operands_lent!(r) }
    a_value => { let (s, _r) = unbounded(); values!(s, 1 + 1) }
    a_value_that_is_a_literal => { let (s, _r) = unbounded(); values!(s, 1) }
    a_value_that_is_negative => { let (s, _r) = unbounded(); values!(&s, -1) }
    a_value_that_is_a_name => { let (s, _r) = unbounded(); let v = String::new(); values!(s.clone(), v) }
    a_value_that_is_a_block => { let (s, _r) = unbounded(); values!(s, { 1 }) }
    a_literal_value => { let (s, _r) = unbounded(); literal_values!(s, "x") }
    a_negative_literal_value => { let (s, _r) = unbounded(); literal_values!(s, -1) }
    a_token_value => { let (s, _r) = unbounded(); token_values!(s, 1) }
    a_token_value_that_is_a_block => { let (s, _r) = unbounded(); token_values!({ &s }, { 1 }) }
    a_pattern => { let (_s, r) = one(1); patterns!(r, m => m.unwrap()) }
    a_pattern_that_is_a_wildcard => { let (_s, r) = one(1); patterns!(r, _ => 1) }
    a_pattern_with_alternatives => { let (_s, r) = one(1); patterns!(r, (Ok(_) | Err(_)) => 1) }
    a_simple_pattern => { let (_s, r) = one(1); simple_patterns!(r, mut m => { m = Ok(4); m.unwrap() }) }
    a_name_for_a_result => { let (_s, r) = one(1); names!(r, m => m.unwrap()) }
    a_time => { let (_s, r) = empty(); times!(r, BRIEF * 2) }
    names_of_operations => { let (_s, r) = one(1); operations!(recv, r, default) }
    a_whole_selection => { let (_s, r) = one(1); whole! { recv(r) -> m => m, default => Ok(0) } }
    a_whole_selection_of_blocks => {
        let (_s, r) = empty();
        whole! { recv(r) -> _ => { 1 } default => { 2 } }
    }
    a_whole_selection_in_a_macro_twice => {
        let (_s, r) = one(1);
        whole! { default => whole! { recv(r) -> m => m, default => Ok(0) } }
    }
    a_list_of_receivers => { let ((_s, a), (_t, b), (_u, c)) = (empty(), one(1), empty()); repeated!(a b c) }
    a_list_of_blocks => {
        let ((_s, a), (_t, b)) = (empty(), one(1));
        repeated_blocks!(a => { 1 } b => { 2 })
    }
    a_list_of_bodies => { let ((_s, a), (_t, b)) = (empty(), one(1)); repeated_bodies!(a => 1, b => 1 + 1) }
    an_empty_list => { let x: Result<i32, ch::RecvError> = repeated!(); x }
    names_of_the_other_macro => { let (_s, r) = one(1); let n = 9; (its_own_names!(r), n) }
}
