//! Which top-level modules a source uses: by `use` lines, and by paths inside the code.
//!
//! The source is cut into tokens, without comments and literals. A path counts if it begins with
//! `crate`, or leaves its own top-level module by `super`. What is under `#[cfg(test)]` does not
//! count.

/// A use of something at the crate's root: a module, a macro, or what the root re-exports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub name: String,
    pub is_macro: bool,
    /// The line that it is on, as editors count.
    pub line: usize,
}

struct Token<'s> {
    text: &'s str,
    line: usize,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the comment, literal or lifetime that `rest` begins with; 0 if it begins with
/// none.
fn skipped(rest: &str) -> usize {
    let end_of =
        |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return end_of(2, "*/");
    }
    let prefix = ["br", "cr", "r", "b", "c", ""]
        .into_iter()
        .find(|prefix| rest.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(['"', '#'])));
    if let Some(prefix) = prefix {
        let hashes = rest[prefix.len()..].chars().take_while(|c| *c == '#').count();
        let open = prefix.len() + hashes;
        if rest[open..].starts_with('"') && prefix.ends_with('r') {
            return end_of(open + 1, &format!("\"{}", "#".repeat(hashes)));
        }
        if hashes == 0 {
            return end_of_text(rest, open + 1, '"');
        }
    }
    let Some(quoted) = rest.strip_prefix('\'') else { return 0 };
    let mut chars = quoted.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => end_of_text(rest, 1, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        // A lifetime.
        _ => 1 + quoted.find(|c| !is_word(c)).unwrap_or(quoted.len()),
    }
}

/// Where the text ends whose inside begins at `from`: after its unescaped `quote`.
fn end_of_text(rest: &str, from: usize, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest[from..].char_indices() {
        if c == quote && !escaped {
            return from + at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while at < source.len() {
        let rest = &source[at..];
        let skip = skipped(rest);
        let length = if skip > 0 {
            skip
        } else if rest.starts_with(is_word) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        if skip == 0 && !rest.starts_with(char::is_whitespace) {
            found.push(Token { text: &rest[..length], line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

struct Finder<'s> {
    tokens: Vec<Token<'s>>,
    found: Vec<Use>,
}

impl Finder<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// After the bracket that closes the one at `at`.
    fn after_group(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for index in at..self.tokens.len() {
            match self.text(index) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
        self.tokens.len()
    }

    /// After the item, field or statement at `at`, which has attributes of its own, perhaps.
    fn after_item(&self, mut at: usize) -> usize {
        loop {
            match self.text(at) {
                "" | "}" => return at,
                ";" | "," => return at + 1,
                "{" => return self.after_group(at),
                "(" | "[" => at = self.after_group(at),
                _ => at += 1,
            }
        }
    }

    /// Whether a `#[cfg(test)]`, or one with more conditions, is at `at`.
    fn is_for_tests(&self, at: usize) -> bool {
        let begins = |words: &[&str]| words.iter().enumerate().all(|(i, word)| self.text(at + i) == *word);
        begins(&["#", "[", "cfg", "(", "test", ")"]) || begins(&["#", "[", "cfg", "(", "all", "(", "test"])
    }

    /// After what is for tests, whose `#[cfg(test)]` is at `at`.
    fn after_tests(&self, mut at: usize) -> usize {
        while self.text(at) == "#" {
            at = self.after_group(at + 1);
        }
        self.after_item(at)
    }

    /// Whether a path begins at `at`.
    fn begins_path(&self, at: usize) -> bool {
        let continues = at > 0 && self.text(at - 1) == "::";
        matches!(self.text(at), "crate" | "super" | "self") && self.text(at + 1) == "::" && !continues
    }

    /// Reads the path, or the tree of paths, at `at`, in a module that is `depth` below the root.
    /// Returns what comes after.
    fn path(&mut self, mut at: usize, mut depth: usize) -> usize {
        loop {
            match self.text(at) {
                "crate" => depth = 0,
                "super" => depth = depth.saturating_sub(1),
                "self" => {}
                "{" => {
                    let end = self.after_group(at);
                    let mut inner = at + 1;
                    while inner < end - 1 {
                        inner = self.path(inner, depth);
                        while inner < end - 1 && self.text(inner) != "," {
                            inner += 1;
                        }
                        inner += 1;
                    }
                    return end;
                }
                name => {
                    if depth == 0 {
                        let (name, line) = (name.to_owned(), self.tokens[at].line);
                        self.found.push(Use { name, is_macro: self.text(at + 1) == "!", line });
                    }
                    return self.after_path(at);
                }
            }
            if self.text(at + 1) != "::" {
                return at + 1;
            }
            at += 2;
        }
    }

    /// After the rest of a path, whose first name is at `at`.
    fn after_path(&self, mut at: usize) -> usize {
        while self.text(at + 1) == "::" {
            if self.text(at + 2) == "{" {
                return self.after_group(at + 2);
            }
            at += 2;
        }
        at + 1
    }

    fn run(&mut self, depth: usize) {
        let (mut at, mut braces) = (0, 0_usize);
        // The modules that are written out inside the file, by the braces around them.
        let mut inner: Vec<usize> = Vec::new();
        while at < self.tokens.len() {
            if self.is_for_tests(at) {
                at = self.after_tests(at);
                continue;
            }
            if self.begins_path(at) {
                at = self.path(at, depth + inner.len());
                continue;
            }
            match self.text(at) {
                "{" => braces += 1,
                "}" => {
                    braces = braces.saturating_sub(1);
                    if inner.last() == Some(&braces) {
                        inner.pop();
                    }
                }
                "mod" if self.text(at + 2) == "{" => inner.push(braces),
                _ => {}
            }
            at += 1;
        }
    }
}

/// What a source uses of the root, in a file whose module is `depth` below it.
pub fn uses(source: &str, depth: usize) -> Vec<Use> {
    let mut finder = Finder { tokens: tokens(source), found: Vec::new() };
    finder.run(depth);
    finder.found
}

/// What the root has by `pub use`: the name, and the module that it comes from.
pub fn re_exports(root: &str) -> Vec<(String, String)> {
    let tokens = tokens(root);
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token<'_>| token.text);
    let mut found = Vec::new();
    for start in (0..tokens.len()).filter(|at| text(*at) == "use") {
        let mut at = start + 1;
        while !matches!(text(at), ";" | "") {
            if text(at).starts_with(is_word) && matches!(text(at + 1), "," | "}" | ";") {
                found.push((text(at).to_owned(), text(start + 1).to_owned()));
            }
            at += 1;
        }
    }
    found
}

/// The modules that the root declares in files of their own, those of tests left out.
pub fn modules(root: &str) -> Vec<String> {
    let finder = Finder { tokens: tokens(root), found: Vec::new() };
    let mut found = Vec::new();
    let mut at = 0;
    while at < finder.tokens.len() {
        if finder.is_for_tests(at) {
            at = finder.after_tests(at);
            continue;
        }
        if finder.text(at) == "mod" && finder.text(at + 2) == ";" {
            found.push(finder.text(at + 1).to_owned());
        }
        at += 1;
    }
    found
}

/// The macros that a source defines.
pub fn macros(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let words = tokens.windows(3).filter(|words| words[0].text == "macro_rules" && words[1].text == "!");
    words.map(|words| words[2].text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str, depth: usize) -> Vec<String> {
        uses(source, depth).into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn use_lines() {
        assert_eq!(names("use crate::a::b;", 1), ["a"]);
        assert_eq!(names("pub(crate) use crate::a;", 1), ["a"]);
        assert_eq!(names("use crate::{a, b::c};", 1), ["a", "b"]);
        assert_eq!(names("use crate::{a::{self, x::{y, z}}, b::{c, d as e}, f};", 1), ["a", "b", "f"]);
        assert_eq!(names("use crate::{\n    a::b,\n    // c,\n    d,\n};", 1), ["a", "d"]);
        assert_eq!(names("use {crate::a, std::b, crate::c::*};", 1), ["a", "c"]);
        assert_eq!(names("use std::a; use other::crate_like::b; pub(crate) fn f() {}", 1), [""; 0]);
        assert_eq!(uses("\n\nuse crate::a;", 1)[0].line, 3);
    }

    #[test]
    fn paths_inside_code() {
        assert_eq!(names("fn f() { crate::a::f(); }", 1), ["a"]);
        assert_eq!(names("fn f(x: &crate::a::T) -> Option<crate::b::U> { x }", 1), ["a", "b"]);
        assert_eq!(names("let x = || -> crate::a::T<crate::b::U> { crate::c::d };", 1), ["a", "b", "c"]);
        assert_eq!(names("macro_rules! m { () => { $crate::a::f() }; }", 1), ["a"]);
        let found = uses("crate::m!(crate::a::x)", 1);
        assert!(found[0].is_macro && found[0].name == "m" && !found[1].is_macro && found[1].name == "a");
    }

    /// `super` counts where it leaves the top-level module, and not before.
    #[test]
    fn what_super_leads_to() {
        assert_eq!(names("use super::a;", 1), ["a"]);
        assert_eq!(names("use super::a;", 2), [""; 0]);
        assert_eq!(names("use super::super::a;", 2), ["a"]);
        assert_eq!(names("fn f() { super::super::super::a::f() }", 3), ["a"]);
        assert_eq!(names("use super::{a, super::b, super::{c, d::e}};", 2), ["b", "c", "d"]);
        assert_eq!(names("use self::super::a;", 1), ["a"]);
        assert_eq!(names("mod inner { use super::a; use super::super::b; } use super::c;", 1), ["b", "c"]);
        assert_eq!(names("fn f() { mod inner { fn g() {} } } fn h() { super::c() }", 1), ["c"]);
    }

    /// What is no code, and what is for tests only, does not count.
    #[test]
    fn what_does_not_count() {
        assert_eq!(
            names("// crate::a\n/* crate::b */ //! [`crate::c`]\n/// crate::d\nfn f() {}", 1),
            [""; 0]
        );
        assert_eq!(
            names("let x = (\"crate::a \\\" crate::b\", r#\"crate::c \" \"#, b\"crate::d\", '\"');", 1),
            [""; 0]
        );
        assert_eq!(names("fn f<'a>(x: &'a str) -> char { '\\'' } use crate::a;", 1), ["a"]);
        assert_eq!(names("#[cfg(test)] use crate::a; use crate::b;", 1), ["b"]);
        assert_eq!(
            names("#[cfg(test)]\n#[allow(x)]\nmod tests { fn f() { crate::a::f() } }\nuse crate::b;", 1),
            ["b"]
        );
        assert_eq!(names("struct S { #[cfg(test)] x: crate::a::T, y: crate::b::U }", 1), ["b"]);
        assert_eq!(names("#[cfg(all(test, x))] fn f() { crate::a::f() } fn g() { crate::b::g() }", 1), ["b"]);
        assert_eq!(names("#[cfg(not(test))] use crate::a;", 1), ["a"]);
    }

    #[test]
    fn what_the_root_has() {
        let root = "mod a;\n#[allow(x)]\npub mod b;\npub mod c {}\n#[cfg(test)]\n#[allow(x)]\nmod d;\nmod e;\n\
                    pub use b::x::{y, z};\npub use a::w;\n";
        assert_eq!(modules(root), ["a", "b", "e"]);
        let pairs = [("y", "b"), ("z", "b"), ("w", "a")].map(|(name, of)| (name.to_owned(), of.to_owned()));
        assert_eq!(re_exports(root), pairs);
        assert_eq!(macros("macro_rules! one { () => {} }"), ["one"]);
    }
}
