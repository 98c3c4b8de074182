//! What the user sees when an attribute cannot be applied: a message that names the remedy, at the
//! offending token.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

/// A mistake in the user's source.
#[derive(Debug)]
pub(crate) struct Error {
    span: Span,
    message: String,
}

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Error { span, message: message.into() }
    }

    /// The error as source text: compiling it shows the message at the right place.
    pub(crate) fn into_compile_error(self) -> TokenStream {
        let Error { span, message } = self;
        quote_spanned! { span=> ::gosched::__private::compile_error! { #message } }
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}
