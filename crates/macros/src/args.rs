//! Reads the arguments of the attribute: none for `main`, an optional time limit for `test`.

use std::time::Duration;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use crate::error::Error;

/// The time a test has unless it says otherwise.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

const USAGE: &str = "write `#[gosched::test]` or `#[gosched::test(timeout = \"60s\")]`";

/// Accepts no arguments.
pub(crate) fn none(args: TokenStream) -> Result<(), Error> {
    match args.into_iter().next() {
        None => Ok(()),
        Some(token) => Err(Error::new(
            token.span(),
            "`#[gosched::main]` takes no arguments: set the number of processors with the environment \
             variable GOMAXPROCS, or with `gosched::runtime::maxprocs` inside the function",
        )),
    }
}

/// Accepts no arguments or `timeout = "…"`.
pub(crate) fn timeout(args: TokenStream) -> Result<Duration, Error> {
    let mut tokens = args.into_iter();
    let Some(key) = tokens.next() else { return Ok(DEFAULT_TIMEOUT) };
    if !matches!(&key, TokenTree::Ident(key) if key == "timeout") {
        return Err(Error::new(key.span(), format!("unknown argument `{key}`: {USAGE}")));
    }
    match tokens.next() {
        Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {}
        Some(other) => return Err(Error::new(other.span(), format!("expected `=`: {USAGE}"))),
        None => return Err(Error::new(key.span(), format!("the time is missing: {USAGE}"))),
    }
    let Some(value) = tokens.next() else {
        return Err(Error::new(key.span(), format!("the time is missing: {USAGE}")));
    };
    let time = duration(&value)?;
    let mut rest = tokens.skip_while(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
    match rest.next() {
        None => Ok(time),
        Some(extra) => Err(Error::new(extra.span(), format!("unexpected `{extra}`: {USAGE}"))),
    }
}

/// Reads `"500ms"`, `"60s"` or `"2m"`.
fn duration(value: &TokenTree) -> Result<Duration, Error> {
    let span = value.span();
    let text = match value {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            // A `$time:literal` of a macro_rules macro arrives inside an invisible group.
            let mut inside = group.stream().into_iter();
            return match (inside.next(), inside.next()) {
                (Some(only), None) => duration(&only),
                _ => Err(bad_time(span, &value.to_string())),
            };
        }
        TokenTree::Literal(literal) => literal.to_string(),
        other => return Err(bad_time(span, &other.to_string())),
    };
    let Some(time) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return Err(bad_time(span, &text));
    };
    let unit_at = time.find(|c: char| !c.is_ascii_digit()).unwrap_or(time.len());
    let (number, unit) = time.split_at(unit_at);
    let millis_per_unit: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err(bad_time(span, &text)),
    };
    match number.parse::<u64>().ok().and_then(|n| n.checked_mul(millis_per_unit)) {
        Some(0) => Err(Error::new(span, "a time of zero would fail every test: give it more")),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err(bad_time(span, &text)),
    }
}

fn bad_time(span: Span, found: &str) -> Error {
    Error::new(
        span,
        format!("{found} is not a time: write a whole number and a unit, as in \"500ms\", \"60s\" or \"2m\""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &str) -> Result<Duration, String> {
        timeout(args.parse().unwrap()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_test_has_a_minute_unless_it_says_otherwise() {
        assert_eq!(parse(""), Ok(Duration::from_secs(60)));
    }

    #[test]
    fn milliseconds_seconds_and_minutes_are_understood() {
        assert_eq!(parse(r#"timeout = "500ms""#), Ok(Duration::from_millis(500)));
        assert_eq!(parse(r#"timeout = "60s""#), Ok(Duration::from_secs(60)));
        assert_eq!(parse(r#"timeout = "2m","#), Ok(Duration::from_secs(120)));
    }

    #[test]
    fn a_bad_time_is_quoted_and_the_remedy_named() {
        for bad in
            [r#""60""#, r#""s""#, r#""1.5s""#, r#""-1s""#, r#""60 s""#, r#""99999999999999999999s""#, "60"]
        {
            let message = parse(&format!("timeout = {bad}")).unwrap_err();
            assert!(message.starts_with(&format!("{bad} is not a time")), "{message}");
            assert!(message.contains(r#""500ms", "60s" or "2m""#), "{message}");
        }
        assert!(parse(r#"timeout = "0ms""#).unwrap_err().contains("zero"));
    }

    #[test]
    fn other_arguments_are_refused_with_the_right_form() {
        for bad in ["timeout", "timeout =", "timeout(5)", "flavor = \"x\"", "timeout = \"1s\" 2"] {
            let message = parse(bad).unwrap_err();
            assert!(message.contains(r#"#[gosched::test(timeout = "60s")]"#), "{bad}: {message}");
        }
    }

    #[test]
    fn main_takes_no_arguments() {
        assert!(none(TokenStream::new()).is_ok());
        assert!(none("procs = 2".parse().unwrap()).unwrap_err().message().contains("GOMAXPROCS"));
    }
}
