//! Reads the function below the attribute: what is in front of its name, the name, the return type
//! and the body. Refuses what cannot be run as a goroutine without arguments.
//!
//! Types and bodies are not parsed. The body is the braced group at the end; the return type is
//! everything between the arrow and the body. So half-written bodies, as editors send them, still
//! work.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::quote;

use crate::error::Error;

/// The parts of a function without arguments.
pub(crate) struct Function {
    pub attributes: Vec<Attribute>,
    pub visibility: TokenStream,
    pub name: Ident,
    /// What follows the arrow, if there is one.
    pub output: Option<TokenStream>,
    pub body: TokenStream,
}

/// `#[…]`: the brackets and what is in them.
pub(crate) struct Attribute(pub(crate) Group);

impl Attribute {
    /// Whether this is `#[name]`, `#[name(…)]` or `#[name = …]`.
    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(self.0.stream().into_iter().next(), Some(TokenTree::Ident(path)) if path == name)
    }
}

type Tokens = Peekable<IntoIter>;

impl Function {
    /// `attribute` is the attribute's name in messages.
    pub(crate) fn parse(item: TokenStream, attribute: &str) -> Result<Function, Error> {
        let mut tokens = open_invisible_groups(item).into_iter().peekable();
        let attributes = attributes(&mut tokens);
        let visibility = visibility(&mut tokens);
        let fn_keyword = qualifiers(&mut tokens, attribute)?;
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            return Err(not_a_function(&fn_keyword, attribute));
        };
        arguments(&mut tokens, &name, attribute)?;

        let mut rest: Vec<TokenTree> = tokens.collect();
        let body = match rest.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => quote!(#body),
            _ => {
                return Err(Error::new(
                    name.span(),
                    format!("`{name}` has no body: write `{{ … }}` after it"),
                ));
            }
        };
        if let Some(clause) = rest.iter().find(|token| is_ident(token, "where")) {
            return Err(Error::new(
                clause.span(),
                format!("a function under {attribute} cannot be generic: remove the where clause"),
            ));
        }
        let output = match rest.as_slice() {
            [] => None,
            [TokenTree::Punct(dash), TokenTree::Punct(gt), output @ ..]
                if dash.as_char() == '-' && gt.as_char() == '>' && !output.is_empty() =>
            {
                Some(output.iter().cloned().collect())
            }
            [other, ..] => {
                return Err(Error::new(other.span(), "expected `-> Type` or the function's body here"));
            }
        };
        Ok(Function { attributes, visibility, name, output, body })
    }
}

/// A function of the same name that does nothing, to put beside an error, so that a `main` with a
/// mistake in its signature is not reported as missing too.
pub(crate) fn stub(item: TokenStream) -> Option<TokenStream> {
    let mut tokens = open_invisible_groups(item).into_iter().skip_while(|token| !is_ident(token, "fn"));
    match (tokens.next(), tokens.next()) {
        (Some(_), Some(TokenTree::Ident(name))) => Some(quote! { #[allow(dead_code)] fn #name() {} }),
        _ => None,
    }
}

/// Fragments such as `$vis:vis`, `$body:block` or a whole `$item:item` of a macro_rules macro
/// arrive inside groups without delimiters. Those that hold part of the signature before the arrow,
/// or the body, are opened; a type stays closed, because its grouping can matter.
fn open_invisible_groups(item: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let last = tokens.len().saturating_sub(1);
    let arrow = tokens.iter().position(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == '>'));
    tokens
        .drain(..)
        .enumerate()
        .flat_map(|(at, token)| match token {
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::None
                    && (at == last || arrow.is_none_or(|arrow| at < arrow)) =>
            {
                open_invisible_groups(group.stream())
            }
            other => other.into(),
        })
        .collect()
}

fn attributes(tokens: &mut Tokens) -> Vec<Attribute> {
    let mut found = Vec::new();
    while tokens.next_if(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == '#')).is_some() {
        if let Some(TokenTree::Group(brackets)) = tokens.next() {
            found.push(Attribute(brackets));
        }
    }
    found
}

fn visibility(tokens: &mut Tokens) -> TokenStream {
    let Some(public) = tokens.next_if(|token| is_ident(token, "pub")) else { return TokenStream::new() };
    let restriction = tokens
        .next_if(|token| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Parenthesis));
    quote!(#public #restriction)
}

/// Everything up to `fn`, which is returned; all of `async`, `const`, `unsafe`, `extern` are
/// refused.
fn qualifiers(tokens: &mut Tokens, attribute: &str) -> Result<TokenTree, Error> {
    let Some(token) = tokens.next() else {
        return Err(Error::new(proc_macro2::Span::call_site(), not_a_function_text(attribute)));
    };
    if is_ident(&token, "fn") {
        return Ok(token);
    }
    let leads_to_fn = tokens.clone().any(|token| is_ident(&token, "fn"));
    let remedy = match token.to_string().as_str() {
        _ if !leads_to_fn => return Err(not_a_function(&token, attribute)),
        "async" => "write a plain `fn`: goroutines may block, and `gosched::future::block_on` runs a future",
        qualifier @ ("const" | "unsafe" | "extern") => {
            let message = format!("a function under {attribute} is a plain `fn`: remove `{qualifier}`");
            return Err(Error::new(token.span(), message));
        }
        _ => return Err(not_a_function(&token, attribute)),
    };
    Err(Error::new(token.span(), format!("a function under {attribute} cannot be async: {remedy}")))
}

fn arguments(tokens: &mut Tokens, name: &Ident, attribute: &str) -> Result<(), Error> {
    match tokens.next() {
        Some(TokenTree::Group(list)) if list.delimiter() == Delimiter::Parenthesis => {
            match list.stream().into_iter().next() {
                None => Ok(()),
                Some(argument) => Err(Error::new(
                    argument.span(),
                    format!("a function under {attribute} takes no arguments: remove them"),
                )),
            }
        }
        Some(TokenTree::Punct(open)) if open.as_char() == '<' => Err(Error::new(
            open.span(),
            format!("a function under {attribute} cannot be generic: remove `<…>`"),
        )),
        _ => Err(Error::new(name.span(), format!("expected `()` after `{name}`"))),
    }
}

fn not_a_function(token: &TokenTree, attribute: &str) -> Error {
    Error::new(token.span(), not_a_function_text(attribute))
}

fn not_a_function_text(attribute: &str) -> String {
    format!("{attribute} belongs on a function: `fn name() {{ … }}`")
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(item: &str) -> Result<Function, String> {
        Function::parse(item.parse().unwrap(), "`#[x]`").map_err(|error| error.message().to_owned())
    }

    fn error(item: &str) -> String {
        parse(item).err().unwrap_or_else(|| panic!("accepted: {item}"))
    }

    #[test]
    fn every_part_is_found() {
        let f =
            parse("/// Doc.\n #[ignore = \"slow\"] pub(crate) fn f() -> Result<(), Box<dyn Error>> { g() }")
                .unwrap();
        assert_eq!(f.attributes.len(), 2);
        assert!(f.attributes[1].is("ignore"));
        assert_eq!(f.visibility.to_string(), "pub (crate)");
        assert_eq!(f.name, "f");
        assert_eq!(f.output.unwrap().to_string(), "Result < () , Box < dyn Error >>");
        assert_eq!(f.body.to_string(), "{ g () }");
    }

    #[test]
    fn unfinished_bodies_pass() {
        assert_eq!(parse("fn f() { let x = ; x. }").unwrap().body.to_string(), "{ let x = ; x . }");
    }

    #[test]
    fn fragments_of_macro_rules_are_opened() {
        let group = |text: &str| Group::new(Delimiter::None, text.parse().unwrap());
        let (public, result, body) = (group("pub"), group("A + B"), group("{ 1 }"));
        let item = group(&quote!(#public fn f() -> #result #body).to_string());
        assert!(Function::parse(quote!(#item), "").is_ok());

        let f = Function::parse(quote!(#public fn f() -> #result #body), "").unwrap_or_else(|_| panic!());
        assert_eq!(f.visibility.to_string(), "pub");
        assert_eq!(f.output.unwrap().into_iter().count(), 1);
        assert_eq!(f.body.to_string(), "{ 1 }");
    }

    #[test]
    fn what_cannot_be_a_goroutine_is_refused_with_a_remedy() {
        assert!(error("async fn f() {}").contains("block_on"));
        assert!(error("unsafe fn f() {}").contains("remove `unsafe`"));
        assert!(error("const fn f() {}").contains("remove `const`"));
        assert!(error("extern \"C\" fn f() {}").contains("remove `extern`"));
        assert!(error("fn f(x: u8) {}").contains("takes no arguments"));
        assert!(error("fn f<T>() {}").contains("remove `<…>`"));
        assert!(error("fn f() where u8: Copy {}").contains("where clause"));
        assert!(error("fn f();").contains("no body"));
        assert!(error("struct S;").contains("belongs on a function"));
        assert!(error("const X: u8 = 1;").contains("belongs on a function"));
        assert!(error("").contains("belongs on a function"));
    }

    #[test]
    fn a_stub_keeps_the_name_only() {
        let stubbed = stub("pub async fn main(x: u8) { y }".parse().unwrap()).unwrap().to_string();
        assert!(stubbed.ends_with("fn main () { }"), "{stubbed}");
        assert!(stub("struct S;".parse().unwrap()).is_none());
    }
}
