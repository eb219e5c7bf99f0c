//! Markdown. What people and agents wrote stands in quotations, so that nothing of it looks like a heading of ours, and
//! has no HTML in it, which could hide what comes behind it; what tools printed stands between fences that do not occur
//! in it.

use super::{Document, Part};
use crate::error::CommandError;
use crate::ui::{self, Ui};

pub(super) fn print(ui: &Ui, document: &Document) -> Result<(), CommandError> {
    lines(document).iter().try_for_each(|line| ui.line(line))
}

fn lines(document: &Document) -> Vec<String> {
    let mut all = vec![format!("# {}", plain(&document.title)), String::new()];
    for (word, value) in &document.facts {
        all.push(format!("- {word}: {}", plain(value)));
    }
    if document.earlier > 0 {
        let earlier = ui::plural(document.earlier as u64, "turn");
        all.extend([String::new(), format!("{earlier} omitted.")]);
    }
    for turn in &document.turns {
        all.extend([
            String::new(),
            format!("## {}", plain(&turn.heading)),
            String::new(),
        ]);
        for part in &turn.parts {
            push(&mut all, part);
        }
    }
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    all
}

fn push(all: &mut Vec<String>, part: &Part) {
    match part {
        Part::Text { who, text } => {
            all.push(format!("**{who}**"));
            all.push(String::new());
            // Not with a backslash, which another one before it would take away.
            let text = text.replace('<', "&lt;");
            let quoted = text.lines().map(|line| format!("> {line}"));
            all.extend(quoted.map(|line| line.trim_end().to_owned()));
        }
        Part::Call {
            head,
            changes,
            output,
            ..
        } => {
            fenced(all, "", [head.as_str()]);
            for (path, lines) in changes {
                all.extend([String::new(), format!("{}:", plain(path)), String::new()]);
                fenced(all, "diff", lines.iter().map(String::as_str));
            }
            if let Some(output) = output {
                all.push(String::new());
                let lines: Vec<String> = output.lines().map(|line| format!("  {line}")).collect();
                fenced(all, "", lines.iter().map(String::as_str));
            }
        }
        Part::Commit(line) => all.push(format!("Commit {}", plain(line))),
    }
    all.push(String::new());
}

/// Lines as they are, between fences.
fn fenced<'l>(all: &mut Vec<String>, language: &str, lines: impl IntoIterator<Item = &'l str>) {
    let lines: Vec<&str> = lines.into_iter().collect();
    let longest = lines.iter().map(|line| longest_run(line)).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    all.push(format!("{fence}{language}"));
    all.extend(lines.iter().map(|line| (*line).to_owned()));
    all.push(fence);
}

/// How many backticks stand in a row at most.
fn longest_run(line: &str) -> usize {
    let runs = line.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// One line in which no character means anything to Markdown or HTML.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '&' | '~'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::session::export::DocumentTurn;

    #[test]
    fn nothing_looks_like_a_heading_of_ours() {
        let document = Document {
            title: "<b> *x* [a](b)".to_owned(),
            facts: vec![("Agent", "claude-code".to_owned())],
            earlier: 2,
            turns: vec![DocumentTurn {
                heading: "Turn 1".to_owned(),
                parts: vec![
                    Part::Text {
                        who: "Prompt",
                        text: "one <!-- \\<b>\n\n# two".to_owned(),
                    },
                    Part::Call {
                        head: "Bash  printf '```'".to_owned(),
                        has_failed: false,
                        changes: vec![("a_b".to_owned(), vec!["+x".to_owned()])],
                        output: Some("```\n# three".to_owned()),
                    },
                ],
            }],
        };
        let expected = "\
# \\<b\\> \\*x\\* \\[a\\](b)

- Agent: claude-code

2 turns omitted.

## Turn 1

**Prompt**

> one &lt;!-- \\&lt;b>
>
> # two

````
Bash  printf '```'
````

a\\_b:

```diff
+x
```

````
  ```
  # three
````";
        assert_eq!(lines(&document).join("\n"), expected);
    }
}
