//! Writes the function that takes the place of the user's.
//!
//! The user's function is kept whole, as an inner function of the same name: so its name shows in
//! dumps and backtraces, it can still call itself, and no name of ours can clash with one in its
//! body. All paths begin at `::gosched`, since the user may have no `std`, may have other crates or
//! modules called `std` or `core`, or may have imported `gosched::test` under the name of the
//! built-in `#[test]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::args;
use crate::error::Error;
use crate::item::{Attribute, Function, stub};

/// `#[gosched::main]`.
pub(crate) fn main(args: TokenStream, item: TokenStream) -> TokenStream {
    or_error(try_main(args, item.clone()), item)
}

/// `#[gosched::test]`.
pub(crate) fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    or_error(try_test(args, item.clone()), item)
}

fn or_error(result: Result<TokenStream, Error>, item: TokenStream) -> TokenStream {
    result.unwrap_or_else(|error| {
        let (error, stub) = (error.into_compile_error(), stub(item));
        quote! { #error #stub }
    })
}

fn try_main(args: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    args::none(args)?;
    let function = Function::parse(item, "`#[gosched::main]`")?;
    let (attributes, visibility, name) = (attributes(&function), &function.visibility, &function.name);
    let (inner, report) = (inner(&function), report(&function));
    Ok(quote! {
        #attributes
        #visibility fn #name() -> ::gosched::__private::ExitCode {
            #inner
            ::gosched::__private::main(#report)
        }
    })
}

fn try_test(args: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let timeout = args::timeout(args)?;
    let function = Function::parse(item, "`#[gosched::test]`")?;
    let panics = expects_panic(&function)?;
    let (attributes, visibility, name) = (attributes(&function), &function.visibility, &function.name);
    let (inner, report) = (inner(&function), report(&function));
    let millis = u64::try_from(timeout.as_millis()).expect("args.rs reads times as 64-bit milliseconds");
    let plain_name = name.to_string();
    let plain_name = plain_name.trim_start_matches("r#");
    let call = quote! {
        ::gosched::__private::test(
            ::gosched::__private::concat!(::gosched::__private::module_path!(), "::", #plain_name),
            ::gosched::__private::Duration::from_millis(#millis),
            #report,
        )
    };
    // The built-in harness requires `()` from a test that should panic; it fails the test if there
    // is no panic, whatever it returns.
    let (output, call) = match panics {
        Panics::Expected => (TokenStream::new(), quote! { let _: ::gosched::__private::TestResult = #call; }),
        Panics::Fail => (quote! { -> ::gosched::__private::TestResult }, call),
    };
    Ok(quote! {
        #[::gosched::__private::plain_test]
        #attributes
        #visibility fn #name() #output {
            #inner
            #call
        }
    })
}

/// What a panic in a test means. (The compiler has expanded every `cfg_attr` before this runs.)
enum Panics {
    Expected,
    Fail,
}

fn expects_panic(function: &Function) -> Result<Panics, Error> {
    if let Some(attribute) = function.attributes.iter().find(|attribute| attribute.is("test")) {
        return Err(Error::new(
            attribute.0.span(),
            "the test would run twice, once outside of any goroutine: remove `#[test]`",
        ));
    }
    if function.attributes.iter().any(|attribute| attribute.is("should_panic")) {
        Ok(Panics::Expected)
    } else {
        Ok(Panics::Fail)
    }
}

fn attributes(function: &Function) -> TokenStream {
    function.attributes.iter().map(|Attribute(brackets)| quote! { # #brackets }).collect()
}

fn inner(Function { name, output, body, .. }: &Function) -> TokenStream {
    let arrow = output.as_ref().map(|output| quote! { -> #output });
    quote! { fn #name() #arrow #body }
}

/// A closure that runs the user's function and turns what it returns into an exit code. For a
/// return type that does not implement `Termination` the compiler's error points at that type. The
/// allowed lints are for functions that return `!`.
fn report(Function { name, output, .. }: &Function) -> TokenStream {
    let at_type = output.iter().cloned().flatten().next().map_or_else(Span::call_site, |first| first.span());
    let report = quote_spanned! { at_type.resolved_at(Span::call_site())=>
        ::gosched::__private::Termination::report(result)
    };
    quote! {
        || {
            #[allow(unreachable_code, clippy::diverging_sub_expression)]
            let code = {
                let result = #name();
                #report
            };
            code
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(with: fn(TokenStream, TokenStream) -> TokenStream, args: &str, item: &str) -> String {
        with(args.parse().unwrap(), item.parse().unwrap()).to_string()
    }

    #[test]
    fn main_keeps_visibility_attributes_and_return_type() {
        let text = expand(main, "", "/// Doc.\n pub fn start() -> Result<(), String> { Ok(()) }");
        assert!(text.contains("doc = \" Doc.\""), "{text}");
        assert!(text.contains("pub fn start () -> :: gosched :: __private :: ExitCode {"), "{text}");
        assert!(text.contains("fn start () -> Result < () , String > { Ok (()) }"), "{text}");
        assert!(text.contains(":: gosched :: __private :: main (||"), "{text}");
    }

    #[test]
    fn test_has_its_name_and_its_time() {
        let text = expand(test, "timeout = \"2m\"", "#[ignore] fn r#try() {}");
        assert!(text.starts_with("# [:: gosched :: __private :: plain_test] # [ignore]"), "{text}");
        assert!(text.contains("module_path ! () , \"::\" , \"try\")"), "{text}");
        assert!(text.contains("from_millis (120000u64)"), "{text}");
    }

    #[test]
    fn paths_begin_at_gosched() {
        for (with, item) in [
            (main as fn(_, _) -> _, "fn f() -> T {}"),
            (main, "async fn f() {}"),
            (test, "fn f() {}"),
            (test, "#[should_panic] fn f() {}"),
            (test, "fn f(n: T) {}"),
        ] {
            let text = expand(with, "", item);
            assert!(!text.contains("std ::") && !text.contains("core ::"), "{text}");
        }
    }

    #[test]
    fn a_test_that_should_panic_returns_nothing() {
        let text = expand(test, "", "#[should_panic(expected = \"x\")] fn f() { panic!(\"x\") }");
        assert!(text.contains("should_panic (expected = \"x\")] fn f () { fn f ()"), "{text}");
    }

    #[test]
    fn mistakes_become_compile_errors_beside_a_stub() {
        let text = expand(main, "", "async fn main() {}");
        assert!(text.starts_with(":: gosched :: __private :: compile_error !"), "{text}");
        assert!(text.ends_with("fn main () { }"), "{text}");
        assert!(expand(test, "", "#[test] fn f() {}").contains("remove `#[test]`"));
        assert!(expand(test, "timeout = \"1\"", "fn f() {}").contains("is not a time"));
    }
}
