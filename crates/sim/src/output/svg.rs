//! SVG by hand: a canvas that collects elements, and the one style sheet of all pictures.
//!
//! Colours are CSS variables with a light and a dark value, so that one picture serves both; text
//! never carries a series' colour alone. Every number is written with one decimal: the same figures
//! give the same bytes.

use std::fmt::Write;

/// The style sheet: of the report, and inside each picture that stands alone.
pub const STYLE: &str = "
:root,svg{--bg:#fcfcfb;--ink:#0b0b0b;--soft:#52514e;--line:#e1e0d9;--axis:#c3c2b7;--s0:#2a78d6;--s1:#1baf7a;--s2:#eda100;--s3:#008300;--s4:#4a3aa7;--s5:#e34948;--s6:#e87ba4}
@media(prefers-color-scheme:dark){:root,svg{--bg:#1a1a19;--ink:#ffffff;--soft:#c3c2b7;--line:#2c2c2a;--axis:#383835;--s0:#3987e5;--s1:#199e70;--s2:#c98500;--s3:#00a300;--s4:#9085e9;--s5:#e66767;--s6:#d55181}}
svg text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--soft)}
svg .title{font-size:14px;font-weight:600;fill:var(--ink)}
svg .name{fill:var(--ink)}
svg .grid{stroke:var(--line);stroke-width:1}
svg .axis{stroke:var(--axis);stroke-width:1}
svg .span{stroke:var(--axis);stroke-width:2}
svg .ideal{stroke:var(--soft);stroke-width:1;stroke-dasharray:4 4;fill:none}
svg .curve{fill:none;stroke-width:2;stroke-linejoin:round}
svg .dashed{stroke-dasharray:6 3}
svg .dot{stroke:var(--bg);stroke-width:2}
svg .ground{fill:var(--bg)}
";

/// How many colours there are.
pub const COLOURS: usize = 7;

/// Where text is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// A picture in the making.
#[derive(Clone, Debug)]
pub struct Canvas {
    width: f64,
    height: f64,
    label: String,
    body: String,
}

/// Text with what HTML and SVG would misunderstand replaced.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Canvas {
    /// An empty one; `label` says what it shows to those who can't see it.
    #[must_use]
    pub fn new(width: f64, height: f64, label: &str) -> Canvas {
        Canvas { width, height, label: escape(label), body: String::new() }
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a string can't fail.
        let _ = self.body.write_fmt(arguments);
        self.body.push('\n');
    }

    /// A line of a class.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    /// A text of a class.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let ((x, y), text) = (at, escape(text));
        self.put(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// A bar in a series' colour, with a tip for those who point at it.
    pub fn bar(&mut self, colour: usize, at: (f64, f64), size: (f64, f64), tip: &str) {
        let ((x, y), (w, h), tip) = (at, size, escape(tip));
        self.put(format_args!(
            r#"<rect fill="var(--s{})" x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" rx="2"><title>{tip}</title></rect>"#,
            colour % COLOURS
        ));
    }

    /// A bar as [`bar`](Canvas::bar), but hollow.
    pub fn hollow_bar(&mut self, colour: usize, at: (f64, f64), size: (f64, f64), tip: &str) {
        let ((x, y), (w, h), tip) = (at, size, escape(tip));
        self.put(format_args!(
            r#"<rect fill="none" stroke="var(--s{})" stroke-width="2" x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" rx="2"><title>{tip}</title></rect>"#,
            colour % COLOURS
        ));
    }

    /// A dot in a series' colour.
    pub fn dot(&mut self, colour: usize, at: (f64, f64), tip: &str) {
        let ((x, y), tip) = (at, escape(tip));
        self.put(format_args!(
            r#"<circle class="dot" fill="var(--s{})" cx="{x:.1}" cy="{y:.1}" r="6"><title>{tip}</title></circle>"#,
            colour % COLOURS
        ));
    }

    /// A curve through these points, in a series' colour, with further classes.
    pub fn curve(&mut self, classes: &str, colour: usize, points: &[(f64, f64)]) {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.put(format_args!(
            r#"<polyline class="curve {classes}" stroke="var(--s{})" points="{}"/>"#,
            colour % COLOURS,
            path.join(" ")
        ));
    }

    /// The picture for a page that has the style sheet.
    #[must_use]
    pub fn inline(&self) -> String {
        self.render("")
    }

    /// The picture as a file of its own.
    #[must_use]
    pub fn standalone(&self) -> String {
        self.render(&format!(
            "<style>{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
        ))
    }

    fn render(&self, head: &str) -> String {
        let Canvas { width, height, label, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{label}\">\n{head}{body}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is escaped, and a picture that stands alone brings its colours.
    #[test]
    fn text_is_escaped() {
        let mut canvas = Canvas::new(10.0, 10.0, "a < b");
        canvas.text("name", (1.0, 2.0), Anchor::Start, "x & \"y\"");
        assert!(canvas.inline().contains("aria-label=\"a &lt; b\""));
        assert!(canvas.inline().contains("x &amp; &quot;y&quot;") && !canvas.inline().contains("<style>"));
        assert!(canvas.standalone().contains("prefers-color-scheme:dark"));
    }
}
