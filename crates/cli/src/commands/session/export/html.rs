//! One HTML page that needs nothing else: no script, no address, no image. Its policy forbids whatever a text could bring
//! along, and every text is escaped.

use std::fmt::Write as _;

use super::{Document, Part};
use crate::error::CommandError;
use crate::ui::{self, Ui};

/// Output with more lines is folded.
const UNFOLDED: usize = 3;

/// What nobody outside of this file chose.
const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
"#;

const STYLE: &str = r"<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1rem; margin-top: 2.5rem; border-bottom: 1px solid #8886; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; font-size: .9rem; }
dt { opacity: .7; }
dd { margin: 0; }
.who { font-size: .8rem; opacity: .7; margin: 1rem 0 0; }
.text { white-space: pre-wrap; margin: .2rem 0 1rem; padding: .5rem .8rem; border-left: 3px solid #8888; }
.prompt { border-color: #47f; }
pre { font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; margin: .2rem 0; padding: .5rem .8rem; background: #8881; }
details, .call { margin: .4rem 0; }
summary, .call { font: 13px/1.4 ui-monospace, monospace; }
summary { cursor: pointer; }
.failed { color: #c33; }
.added { color: #2a7d2a; }
.removed { color: #c33; }
</style>
";

pub(super) fn print(ui: &Ui, document: &Document) -> Result<(), CommandError> {
    page(document).lines().try_for_each(|line| ui.line(line))
}

fn page(document: &Document) -> String {
    let title = escaped(&document.title);
    let mut page =
        format!("{HEAD}<title>{title}</title>\n{STYLE}</head>\n<body>\n<h1>{title}</h1>\n<dl>\n");
    for (word, value) in &document.facts {
        let _ = writeln!(page, "<dt>{word}</dt><dd>{}</dd>", escaped(value));
    }
    page.push_str("</dl>\n");
    if document.earlier > 0 {
        let earlier = ui::plural(document.earlier as u64, "turn");
        let _ = writeln!(page, "<p>{earlier} omitted.</p>");
    }
    for turn in &document.turns {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(&turn.heading));
        for part in &turn.parts {
            push(&mut page, part);
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn push(page: &mut String, part: &Part) {
    let _ = match part {
        Part::Text { who, text } => {
            let look = if *who == "Prompt" {
                "text prompt"
            } else {
                "text"
            };
            let text = escaped(text);
            writeln!(
                page,
                "<p class=\"who\">{who}</p>\n<div class=\"{look}\">{text}</div>"
            )
        }
        Part::Commit(line) => {
            writeln!(page, "<p class=\"call\">Commit {}</p>", escaped(line))
        }
        Part::Call {
            head,
            has_failed,
            changes,
            output,
        } => {
            let body = body(changes, output.as_deref());
            let look = if *has_failed { " class=\"failed\"" } else { "" };
            let head = escaped(head);
            let lines = changes.iter().map(|(_, lines)| lines.len()).sum::<usize>()
                + output.as_deref().map_or(0, |text| text.lines().count());
            match lines {
                0 => writeln!(page, "<div class=\"call\"><span{look}>{head}</span></div>"),
                _ => {
                    let open = if lines <= UNFOLDED { " open" } else { "" };
                    writeln!(
                        page,
                        "<details{open}><summary><span{look}>{head}</span> ({})</summary>{body}</details>",
                        ui::plural(lines as u64, "line")
                    )
                }
            }
        }
    };
}

/// What a call changed and printed.
fn body(changes: &[(String, Vec<String>)], output: Option<&str>) -> String {
    let mut body = String::new();
    for (path, lines) in changes {
        let _ = write!(body, "<p class=\"who\">{}</p><pre>", escaped(path));
        for line in lines {
            let look = match line.chars().next() {
                Some('+') => "added",
                Some('-') => "removed",
                _ => "same",
            };
            let _ = writeln!(body, "<span class=\"{look}\">{}</span>", escaped(line));
        }
        body.push_str("</pre>");
    }
    if let Some(output) = output {
        let _ = write!(body, "<pre>{}</pre>", escaped(output));
    }
    body
}

/// A text that is nothing but text, also in quotes; its lines begin no line of the file.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::session::export::DocumentTurn;

    const HOSTILE: &str =
        "</pre></div></details><script>alert(1)</script><img src=x onerror='a()'>\"&lt;";

    fn document() -> Document {
        Document {
            title: HOSTILE.to_owned(),
            facts: vec![("Agent", HOSTILE.to_owned())],
            earlier: 1,
            turns: vec![DocumentTurn {
                heading: HOSTILE.to_owned(),
                parts: vec![
                    Part::Text {
                        who: "Prompt",
                        text: HOSTILE.to_owned(),
                    },
                    Part::Call {
                        head: HOSTILE.to_owned(),
                        has_failed: true,
                        changes: vec![(HOSTILE.to_owned(), vec![format!("+{HOSTILE}")])],
                        output: Some(format!("{HOSTILE}\n\n\n\n")),
                    },
                    Part::Commit(HOSTILE.to_owned()),
                ],
            }],
        }
    }

    #[test]
    fn every_text_is_text() {
        let page = page(&document());
        for part in ["<script", "<img", "onerror='", "</pre></div>"] {
            assert!(!page.contains(part), "{part}: {page}");
        }
        let times = page
            .matches("&lt;script&gt;alert(1)&lt;/script&gt;")
            .count();
        assert_eq!(times, 10, "{page}");
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = page(&document()).replace(&escaped(HOSTILE), "");
        for part in [
            "http:", "https:", "//", "url(", "src=", "href=", "<link", "@import",
        ] {
            assert!(!page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn long_output_is_folded() {
        let body = |lines: usize| {
            let mut page = String::new();
            let part = Part::Call {
                head: "Bash".to_owned(),
                has_failed: false,
                changes: Vec::new(),
                output: (lines > 0).then(|| "x\n".repeat(lines)),
            };
            push(&mut page, &part);
            page
        };
        assert!(body(0).starts_with("<div class=\"call\">"));
        assert!(body(3).starts_with("<details open>"));
        assert!(body(4).starts_with("<details>"));
    }
}
