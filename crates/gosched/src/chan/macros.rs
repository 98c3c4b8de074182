//! `select!` and `select_biased!`, with the grammar of `crossbeam_channel`.
//!
//! A helper reads the cases one after the other (`@parse`) into a list of operations and a default, then expands (`@expand`):
//! the operations' senders and receivers are evaluated in the order written, then the time-out, then one is selected; the value to
//! send is evaluated last, and only for the case that was selected. What the expansion names stays invisible to the cases
//! by hygiene. It contains no `unsafe`, and no closure: `return`, `break` and `?` work in the cases.

/// Waits for several channel operations at once and does one of them.
///
/// The cases are
///
/// - `recv(receiver) -> result => body`,
/// - `send(sender, value) -> result => body`; the value is evaluated only if this case is selected,
/// - at most one `default => body`, if nothing is ready; or `default(timeout) => body`, if nothing becomes ready for that long.
///
/// `receiver` and `sender` are expressions, used by reference; `result` is a pattern for what `recv` and `send` return; a body is
/// an expression, followed by a comma unless it is a block. An operation is ready if it need not wait, also if its channel is
/// closed. Of several that are ready, each has the same chance. Without any case it waits for ever, as Go's `select {}`.
///
/// A moving call, also with `default`.
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
#[macro_export]
macro_rules! select {
    ($($tokens:tt)*) => {
        $crate::__gosched_select!(@parse ($crate::chan::internal::FAIR) [] [] $($tokens)*)
    };
}

/// As [`select!`](crate::select!), but of several operations that are ready the first one is selected.
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
    (@parse $bias:tt $cases:tt $default:tt) => {
        $crate::__gosched_select!(@expand $bias $default (0usize) [] $cases)
    };

    // A case whose body is a block, with or without a comma behind it; then one whose body is another expression.
    (@parse $bias:tt [$($cases:tt)*] $default:tt recv($r:expr $(,)?) -> $res:pat => $body:block, $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (recv ($r) ($res) ($body))] $default $($rest)*)
    };
    (@parse $bias:tt [$($cases:tt)*] $default:tt recv($r:expr $(,)?) -> $res:pat => $body:expr, $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (recv ($r) ($res) ($body))] $default $($rest)*)
    };
    (@parse $bias:tt [$($cases:tt)*] $default:tt recv($r:expr $(,)?) -> $res:pat => $body:block $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (recv ($r) ($res) ($body))] $default $($rest)*)
    };
    (@parse $bias:tt [$($cases:tt)*] $default:tt recv($r:expr $(,)?) -> $res:pat => $body:expr) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (recv ($r) ($res) ($body))] $default)
    };

    (@parse $bias:tt [$($cases:tt)*] $default:tt send($s:expr, $m:expr $(,)?) -> $res:pat => $body:block, $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send ($s, $m) ($res) ($body))] $default $($rest)*)
    };
    (@parse $bias:tt [$($cases:tt)*] $default:tt send($s:expr, $m:expr $(,)?) -> $res:pat => $body:expr, $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send ($s, $m) ($res) ($body))] $default $($rest)*)
    };
    (@parse $bias:tt [$($cases:tt)*] $default:tt send($s:expr, $m:expr $(,)?) -> $res:pat => $body:block $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send ($s, $m) ($res) ($body))] $default $($rest)*)
    };
    (@parse $bias:tt [$($cases:tt)*] $default:tt send($s:expr, $m:expr $(,)?) -> $res:pat => $body:expr) => {
        $crate::__gosched_select!(@parse $bias [$($cases)* (send ($s, $m) ($res) ($body))] $default)
    };

    // `default`, without and with a time-out. There may be one.
    (@parse $bias:tt $cases:tt $default:tt default => $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias $cases $default default() => $($rest)*)
    };
    (@parse $bias:tt $cases:tt [$($default:tt)+] default($($timeout:tt)*) => $($rest:tt)*) => {
        compile_error!("there can be only one `default` case in a `select!` block")
    };
    (@parse $bias:tt $cases:tt [] default($($timeout:expr $(,)?)?) => $body:block, $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias $cases [($($timeout)?) ($body)] $($rest)*)
    };
    (@parse $bias:tt $cases:tt [] default($($timeout:expr $(,)?)?) => $body:expr, $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias $cases [($($timeout)?) ($body)] $($rest)*)
    };
    (@parse $bias:tt $cases:tt [] default($($timeout:expr $(,)?)?) => $body:block $($rest:tt)*) => {
        $crate::__gosched_select!(@parse $bias $cases [($($timeout)?) ($body)] $($rest)*)
    };
    (@parse $bias:tt $cases:tt [] default($($timeout:expr $(,)?)?) => $body:expr) => {
        $crate::__gosched_select!(@parse $bias $cases [($($timeout)?) ($body)])
    };

    // What can't be read.
    (@parse $bias:tt $cases:tt $default:tt recv($($args:tt)*) => $($rest:tt)*) => {
        compile_error!("expected `->` and a pattern after `recv(..)`, found `=>`")
    };
    (@parse $bias:tt $cases:tt $default:tt send($($args:tt)*) => $($rest:tt)*) => {
        compile_error!("expected `->` and a pattern after `send(..)`, found `=>`")
    };
    (@parse $bias:tt $cases:tt $default:tt default $(($($args:tt)*))? -> $($rest:tt)*) => {
        compile_error!("expected `=>` after `default`, found `->`")
    };
    (@parse $bias:tt $cases:tt $default:tt $case:ident $($rest:tt)*) => {
        compile_error!(concat!(
            "can't read the case `", stringify!($case), "` in a `select!` block; the cases are `recv(receiver) -> result => ..`, \
             `send(sender, value) -> result => ..`, `default => ..` and `default(timeout) => ..`, each followed by a comma \
             unless it ends with a block"
        ))
    };
    (@parse $bias:tt $cases:tt $default:tt $token:tt $($rest:tt)*) => {
        compile_error!(concat!(
            "expected `recv`, `send` or `default` in a `select!` block, found `", stringify!($token), "`"
        ))
    };

    // Evaluates the senders and receivers, and numbers the cases.
    (@expand $bias:tt $default:tt ($n:expr) [$($done:tt)*] [(recv ($r:expr) $res:tt $body:tt) $($cases:tt)*]) => {
        match $r {
            ref receiver => {
                let receiver: &$crate::chan::Receiver<_> = receiver;
                $crate::__gosched_select!(
                    @expand $bias $default ($n + 1usize)
                    [$($done)* (recv (receiver) () ($n) $res $body)]
                    [$($cases)*]
                )
            }
        }
    };
    (@expand $bias:tt $default:tt ($n:expr) [$($done:tt)*] [(send ($s:expr, $m:expr) $res:tt $body:tt) $($cases:tt)*]) => {
        match $s {
            ref sender => {
                let sender: &$crate::chan::Sender<_> = sender;
                $crate::__gosched_select!(
                    @expand $bias $default ($n + 1usize)
                    [$($done)* (send (sender) ($m) ($n) $res $body)]
                    [$($cases)*]
                )
            }
        }
    };

    // Selects.
    (@expand ($bias:expr) [] $n:tt [$(($kind:ident ($handle:ident) $m:tt ($i:expr) $res:tt $body:tt))*] []) => {{
        let cases: [$crate::chan::internal::Case<'_>; _] = [$($crate::chan::internal::$kind($handle, $i)),*];
        let selected = $crate::chan::internal::select(&cases, $bias);
        $crate::__gosched_select!(@complete selected [$(($kind ($handle) $m ($i) $res $body))*])
    }};
    (@expand ($bias:expr) [() ($default:expr)] $n:tt [$(($kind:ident ($handle:ident) $m:tt ($i:expr) $res:tt $body:tt))*] []) => {{
        let cases: [$crate::chan::internal::Case<'_>; _] = [$($crate::chan::internal::$kind($handle, $i)),*];
        match $crate::chan::internal::try_select(&cases, $bias) {
            ::core::option::Option::Some(selected) => {
                $crate::__gosched_select!(@complete selected [$(($kind ($handle) $m ($i) $res $body))*])
            }
            ::core::option::Option::None => $default,
        }
    }};
    (@expand ($bias:expr) [($timeout:expr) ($default:expr)] $n:tt [$(($kind:ident ($handle:ident) $m:tt ($i:expr) $res:tt $body:tt))*] []) => {{
        let cases: [$crate::chan::internal::Case<'_>; _] = [$($crate::chan::internal::$kind($handle, $i)),*];
        match $crate::chan::internal::select_timeout(&cases, $timeout, $bias) {
            ::core::option::Option::Some(selected) => {
                $crate::__gosched_select!(@complete selected [$(($kind ($handle) $m ($i) $res $body))*])
            }
            ::core::option::Option::None => $default,
        }
    }};

    // Completes what was selected, and goes on with its body.
    (@complete $selected:ident [(recv ($handle:ident) () ($i:expr) ($res:pat) ($body:expr)) $($cases:tt)*]) => {
        if $selected.index() == $i {
            let result = $selected.recv($handle);
            let $res = result;
            $body
        } else {
            $crate::__gosched_select!(@complete $selected [$($cases)*])
        }
    };
    (@complete $selected:ident [(send ($handle:ident) ($m:expr) ($i:expr) ($res:pat) ($body:expr)) $($cases:tt)*]) => {
        if $selected.index() == $i {
            let result = $selected.send($handle, $m);
            let $res = result;
            $body
        } else {
            $crate::__gosched_select!(@complete $selected [$($cases)*])
        }
    };
    (@complete $selected:ident []) => {{
        let _ = $selected;
        ::core::unreachable!("a case was selected that there is not")
    }};
}
