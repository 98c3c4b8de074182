//! `select!` and `select_biased!`, with the grammar of `crossbeam_channel`.
//!
//! A helper takes the cases off the list one after the other (`@parse`), checks each (`@case`), and
//! keeps operations and default apart. Then it expands (`@expand`): the operations' senders and
//! receivers are evaluated in the order written, then the time-out, then one is selected; the value
//! to send is evaluated last, and only for the case that was selected. What can't be read ends in
//! `@mistake`, which says why.
//!
//! Invariants:
//!
//! - By hygiene the cases don't see the expansion's own names. The expansion has no `unsafe`, and
//!   no closure: `return`, `break` and `?` work in the cases.
//! - What was selected is given up, by value, before a body or the default begins, and the
//!   default's is not the arm of a `match` on it, which would keep it until the end. So no channel
//!   is borrowed in a body: it may be dropped, moved or replaced there.
//! - A body is passed on as tokens in braces, and never parsed twice: one that another macro has
//!   parsed can't be parsed again.
//! - The helper calls itself three times for each case, crossbeam's four times: what is within the
//!   compiler's limit there is here.
//! - No path begins at the user's names: `core`, `std` or `Some` may be anything where the macro is
//!   used.

/// Waits for several channel operations at once and does one of them.
///
/// The cases are
///
/// - `recv(receiver) -> result => body`,
/// - `send(sender, value) -> result => body`; the value is evaluated only if this case is selected,
/// - at most one `default => body`, if nothing is ready; or `default(timeout) => body`, if nothing
///   becomes ready for that long.
///
/// `receiver` and `sender` are expressions, used by reference; `result` is a pattern for what
/// `recv` and `send` return; a body is an expression, followed by a comma unless it is a block. An
/// operation is ready if it need not wait, which includes that its channel is closed. Of several
/// that are ready, each has the same chance. Without any case it waits for ever, as Go's
/// `select {}`.
///
/// In a body no channel is borrowed any more: it may be dropped, moved, or replaced, as Go programs
/// set a channel to nil.
///
/// A moving call, even with `default`.
///
/// ```
/// use gosched::chan::{bounded, unbounded};
/// use gosched::select;
/// use std::time::Duration;
///
/// let (s1, r1) = unbounded();
/// let (s2, r2) = bounded(1);
/// s1.send(10).unwrap();
///
/// select! {
///     recv(r1) -> msg => assert_eq!(msg, Ok(10)),
///     send(s2, 20) -> res => {
///         assert_eq!(res, Ok(()));
///         assert_eq!(r2.recv(), Ok(20));
///     }
///     default(Duration::from_secs(1)) => println!("nothing was ready for a second"),
/// }
/// ```
///
/// [`never`](crate::chan::never()) stands in for a receiver that is not there:
///
/// ```
/// use gosched::chan::{Receiver, after, never};
/// use gosched::select;
/// use std::time::Duration;
///
/// fn wait(news: Option<&Receiver<u32>>) -> Option<u32> {
///     select! {
///         recv(news.unwrap_or(&never())) -> msg => msg.ok(),
///         recv(after(Duration::from_millis(5))) -> _ => None,
///     }
/// }
/// assert_eq!(wait(None), None);
/// ```
///
/// and for one that is closed:
///
/// ```
/// use gosched::chan::{never, unbounded};
/// use gosched::select;
///
/// let ((s1, mut r1), (s2, mut r2)) = (unbounded(), unbounded());
/// s1.send(1).unwrap();
/// s2.send(2).unwrap();
/// drop((s1, s2));
/// let (mut sum, mut open) = (0, 2);
/// while open > 0 {
///     select! {
///         recv(r1) -> msg => match msg { Ok(n) => sum += n, Err(_) => { r1 = never(); open -= 1 } },
///         recv(r2) -> msg => match msg { Ok(n) => sum += n, Err(_) => { r2 = never(); open -= 1 } },
///     }
/// }
/// assert_eq!(sum, 3);
/// ```
#[macro_export]
macro_rules! select {
    ($($tokens:tt)*) => {
        $crate::__gosched_select!(@parse ($crate::chan::internal::FAIR) [] [] $($tokens)*)
    };
}

/// As [`select!`](crate::select!), but of several operations that are ready the first one is
/// selected.
///
/// ```
/// use gosched::chan::unbounded;
/// use gosched::select_biased;
///
/// let (s, r) = unbounded();
/// s.send(1).unwrap();
/// select_biased! {
///     recv(r) -> msg => assert_eq!(msg, Ok(1)),
///     send(s, 2) -> _ => unreachable!(),
/// }
/// ```
#[macro_export]
macro_rules! select_biased {
    ($($tokens:tt)*) => {
        $crate::__gosched_select!(@parse ($crate::chan::internal::BIASED) [] [] $($tokens)*)
    };
}

/// The helper of [`select!`]: see the head of its file.
#[doc(hidden)]
#[macro_export]
macro_rules! __gosched_select {
    // All cases are read.
    (@parse $bias:tt $cases:tt $default:tt $(,)*) => {
        $crate::__gosched_select!(@expand selected $bias $default (0usize) [] $cases)
    };

    // One case: its operation, argument list, result and body.
    (@parse $bias:tt $cases:tt $default:tt default => $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias $cases $default default() => $($rest)*)
    };
    (@parse $bias:tt $cases:tt $default:tt $op:ident($($args:tt)*) $(-> $res:pat)? => { $($body:tt)* }, $($rest:tt)*) => {
        $crate::__gosched_select!(@case $bias $cases $default ($op ($($args)*) ($($res)?) { $($body)* }) $($rest)*)
    };
    (@parse $bias:tt $cases:tt $default:tt $op:ident($($args:tt)*) $(-> $res:pat)? => $body:expr, $($rest:tt)*) => {
        $crate::__gosched_select!(@case $bias $cases $default ($op ($($args)*) ($($res)?) { $body }) $($rest)*)
    };
    (@parse $bias:tt $cases:tt $default:tt $op:ident($($args:tt)*) $(-> $res:pat)? => $body:expr) => {
        $crate::__gosched_select!(@case $bias $cases $default ($op ($($args)*) ($($res)?) { $body }))
    };
    (@parse $bias:tt $cases:tt $default:tt $op:ident($($args:tt)*) $(-> $res:pat)? => { $($body:tt)* } $($rest:tt)*) => {
        $crate::__gosched_select!(@case $bias $cases $default ($op ($($args)*) ($($res)?) { $($body)* }) $($rest)*)
    };
    (@parse $bias:tt $cases:tt $default:tt $($rest:tt)+) => {
        $crate::__gosched_select!(@mistake $($rest)+)
    };

    // Its argument list. A value that can't touch the sender needs no hold of its channel.
    (@case $bias:tt [$($cases:tt)*] $default:tt (recv($r:expr $(,)?) ($res:pat) $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (recv ($r) ($res) $body)] $default $($rest)*)
    };
    (@case $bias:tt [$($cases:tt)*] $default:tt (send($s:ident, $m:ident $(,)?) ($res:pat) $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send_plain ($s, $m) ($res) $body)] $default $($rest)*)
    };
    (@case $bias:tt [$($cases:tt)*] $default:tt (send($s:expr, $m:literal $(,)?) ($res:pat) $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send_plain ($s, $m) ($res) $body)] $default $($rest)*)
    };
    (@case $bias:tt [$($cases:tt)*] $default:tt (send($s:expr, $m:expr $(,)?) ($res:pat) $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send ($s, $m) ($res) $body)] $default $($rest)*)
    };
    (@case $bias:tt $cases:tt [] (default($($timeout:expr $(,)?)?) () $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias $cases [($($timeout)?) $body] $($rest)*)
    };
    (@case $bias:tt $cases:tt [$($default:tt)+] (default($($timeout:tt)*) () $body:tt) $($rest:tt)*) => {
        $crate::chan::internal::compile_error!("there can be only one `default` case in a `select!`")
    };
    (@case $bias:tt $cases:tt $default:tt (default($($timeout:tt)*) ($res:pat) $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@result_of_default)
    };
    (@case $bias:tt $cases:tt $default:tt (default($($timeout:tt)*) () $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@args "`default` takes one time-out or nothing" default($($timeout)*))
    };
    (@case $bias:tt $cases:tt $default:tt (recv($($args:tt)*) () $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@no_result recv($($args)*) "recv(receiver) -> msg => ..")
    };
    (@case $bias:tt $cases:tt $default:tt (send($($args:tt)*) () $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@no_result send($($args)*) "send(sender, value) -> res => ..")
    };
    (@case $bias:tt $cases:tt $default:tt (recv($($args:tt)*) $res:tt $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@args "`recv` takes one receiver" recv($($args)*))
    };
    (@case $bias:tt $cases:tt $default:tt (send($($args:tt)*) $res:tt $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@args "`send` takes a sender and a value" send($($args)*))
    };
    (@case $bias:tt $cases:tt $default:tt ($op:ident $args:tt $res:tt $body:tt) $($rest:tt)*) => {
        $crate::__gosched_select!(@unknown $op)
    };

    // Why a case can't be read: first its name, then what follows.
    (@mistake recv $($rest:tt)*) => { $crate::__gosched_select!(@mistake_after recv $($rest)*) };
    (@mistake send $($rest:tt)*) => { $crate::__gosched_select!(@mistake_after send $($rest)*) };
    (@mistake default -> $($rest:tt)*) => { $crate::__gosched_select!(@result_of_default) };
    (@mistake default $($rest:tt)*) => { $crate::__gosched_select!(@mistake_after default $($rest)*) };
    (@mistake ; $($rest:tt)*) => {
        $crate::chan::internal::compile_error!("found `;` after a case of a `select!`: cases are separated by commas")
    };
    (@mistake $found:tt $($rest:tt)*) => { $crate::__gosched_select!(@unknown $found) };
    (@mistake_after $op:ident($($args:tt)*) $(-> $res:pat)? => $body:expr; $($rest:tt)*) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "found `;` after `", $crate::chan::internal::stringify!($body), "`: cases of a `select!` are separated by commas"
        ))
    };
    (@mistake_after $op:ident($($args:tt)*) $(-> $res:pat)? =>) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "the body of `", $crate::chan::internal::stringify!($op), "(", $crate::chan::internal::stringify!($($args)*), ")", "` is missing after `=>`"
        ))
    };
    (@mistake_after $op:ident($($args:tt)*) $(-> $res:pat)? => $($rest:tt)+) => {
        $crate::__gosched_select!(@comma [] $($rest)+)
    };
    (@mistake_after $op:ident($($args:tt)*) -> => $($rest:tt)*) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "the pattern is missing after `", $crate::chan::internal::stringify!($op), "(", $crate::chan::internal::stringify!($($args)*), ")", " ->`: \
             write `-> _` if the result does not matter"
        ))
    };
    (@mistake_after $op:ident($($args:tt)*) $(-> $res:tt $($found:tt $($rest:tt)*)?)?) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "expected `=>` and a body after `", $crate::chan::internal::stringify!($op), "(", $crate::chan::internal::stringify!($($args)*), ")" $(, " -> ", $crate::chan::internal::stringify!($res))?, "`"
            $($(, ", found `", $crate::chan::internal::stringify!($found), "`")?)?
        ))
    };
    (@mistake_after $op:ident($($args:tt)*) $found:tt $($rest:tt)*) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "expected `->` and a pattern after `", $crate::chan::internal::stringify!($op), "(", $crate::chan::internal::stringify!($($args)*), ")", "`, found `",
            $crate::chan::internal::stringify!($found), "`"
        ))
    };
    (@mistake_after $op:ident $($found:tt $($rest:tt)*)?) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "the argument list is missing after `", $crate::chan::internal::stringify!($op), "`"
            $(, ": found `", $crate::chan::internal::stringify!($found), "`")?
        ))
    };

    // A body that does not end with a comma: where does the next case begin?
    (@comma [$($body:tt)+] recv($($args:tt)*) -> $($rest:tt)*) => { $crate::__gosched_select!(@no_comma $($body)+) };
    (@comma [$($body:tt)+] send($($args:tt)*) -> $($rest:tt)*) => { $crate::__gosched_select!(@no_comma $($body)+) };
    (@comma [$($body:tt)+] default($($args:tt)*) => $($rest:tt)*) => { $crate::__gosched_select!(@no_comma $($body)+) };
    (@comma [$($body:tt)+] default => $($rest:tt)*) => { $crate::__gosched_select!(@no_comma $($body)+) };
    (@comma [$($body:tt)*] $next:tt $($rest:tt)*) => {
        $crate::__gosched_select!(@comma [$($body)* $next] $($rest)*)
    };
    (@comma [$($body:tt)*]) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "expected an expression as the body of a case of a `select!`, found `",
            $crate::chan::internal::stringify!($($body)*), "`"
        ))
    };
    (@no_comma $($body:tt)*) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "a comma is missing after `", $crate::chan::internal::stringify!($($body)*),
            "`: only a case that ends with a block needs none"
        ))
    };
    (@result_of_default) => {
        $crate::chan::internal::compile_error!("`default` has no result: write `default => ..`, without `->`")
    };
    (@no_result $op:ident($($args:tt)*) $form:literal) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "expected `->` and a pattern after `", $crate::chan::internal::stringify!($op), "(", $crate::chan::internal::stringify!($($args)*), ")",
            "`, found `=>`: write `", $form, "`"
        ))
    };
    (@args $takes:literal $op:ident($($args:tt)*)) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            $takes, ", found `", $crate::chan::internal::stringify!($op), "(", $crate::chan::internal::stringify!($($args)*), ")", "`"
        ))
    };
    (@unknown $found:tt) => {
        $crate::chan::internal::compile_error!($crate::chan::internal::concat!(
            "expected `recv`, `send` or `default` as a case of a `select!`, found `",
            $crate::chan::internal::stringify!($found), "`"
        ))
    };

    // Evaluates the senders and receivers, numbers the cases, and writes what completes each.
    (@expand $sel:ident $bias:tt $default:tt ($n:expr) [$($done:tt)*] [(recv ($r:expr) ($res:pat) $body:tt) $($cases:tt)*]) => {
        match $r {
            ref receiver => {
                let receiver: &$crate::chan::Receiver<_> = receiver;
                $crate::__gosched_select!(
                    @expand $sel $bias $default ($n + 1usize)
                    [$($done)* (recv receiver ($n) ($sel.recv(receiver)) ($res) $body)]
                    [$($cases)*]
                )
            }
        }
    };
    (@expand $sel:ident $bias:tt $default:tt ($n:expr) [$($done:tt)*] [(send ($s:expr, $m:expr) ($res:pat) $body:tt) $($cases:tt)*]) => {
        match $s {
            ref sender => {
                let sender: &$crate::chan::Sender<_> = sender;
                $crate::__gosched_select!(
                    @expand $sel $bias $default ($n + 1usize)
                    [$($done)* (send sender ($n) ($sel.hold(sender).send($m)) ($res) $body)]
                    [$($cases)*]
                )
            }
        }
    };
    (@expand $sel:ident $bias:tt $default:tt ($n:expr) [$($done:tt)*] [(send_plain ($s:expr, $m:expr) ($res:pat) $body:tt) $($cases:tt)*]) => {
        match $s {
            ref sender => {
                let sender: &$crate::chan::Sender<_> = sender;
                $crate::__gosched_select!(
                    @expand $sel $bias $default ($n + 1usize)
                    [$($done)* (send sender ($n) ($sel.send(sender, $m)) ($res) $body)]
                    [$($cases)*]
                )
            }
        }
    };

    // Selects, completes what was selected, and goes on with its body.
    (@expand $sel:ident ($bias:expr) [$(($($timeout:expr)?) $default:tt)?] $n:tt
        [$(($kind:ident $handle:ident ($i:expr) ($complete:expr) ($res:pat) $body:tt))*] []
    ) => {{
        let $sel = $crate::__gosched_select!(
            @select (&[$($crate::chan::internal::$kind($handle, $i)),*], $bias) $(default($($timeout)?))?
        );
        $(if $sel.index() == $i {
            let result = $complete;
            let $res = result;
            $body
        } else)* {
            $sel.nothing();
            $crate::__gosched_select!(@otherwise $($default)?)
        }
    }};
    (@select ($cases:expr, $bias:expr)) => { $crate::chan::internal::select($cases, $bias) };
    (@select ($cases:expr, $bias:expr) default()) => { $crate::chan::internal::try_select($cases, $bias) };
    (@select ($cases:expr, $bias:expr) default($timeout:expr)) => {
        $crate::chan::internal::select_timeout($cases, $timeout, $bias)
    };
    (@otherwise) => { $crate::chan::internal::no_such_case() };
    (@otherwise $default:tt) => { $default };
}
