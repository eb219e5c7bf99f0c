//! What the shell tool tells the model: the output between a heading and a few closing lines.
//!
//! `Output: …`, then `Error:`, `Exit Code:`, `Signal:`, `Background PIDs:` and `Process Group PGID:` where
//! there is something to say, all of it in `<untrusted_context>`.

/// What stands for no output.
const EMPTY: &str = "(empty)";
/// The closing lines, last first.
const CLOSING: &[&str] = &[
    "Process Group PGID: ",
    "Background PIDs: ",
    "Signal: ",
    "Exit Code: ",
    "Error: ",
];

/// Closing lines that a fork writes where there is nothing to say.
const NO_REASON: &[&str] = &["Signal: (none)", "Exit Code: 0", "Error: (none)"];

/// What a command printed, else why it failed; and whether it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output<'a> {
    pub(crate) text: &'a str,
    pub(crate) failed: bool,
}

/// Reads what the tool told the model; all of it is output where it has another form.
pub(crate) fn output(response: &str) -> Output<'_> {
    let inner = response.trim();
    let inner = inner
        .strip_prefix("<untrusted_context>")
        .and_then(|rest| rest.strip_suffix("</untrusted_context>"))
        .map_or(inner, str::trim);
    let Some(mut text) = inner.strip_prefix("Output: ") else {
        return Output {
            text: response,
            failed: false,
        };
    };
    let mut why = None;
    for closing in CLOSING {
        let Some((before, last)) = text.rsplit_once('\n') else {
            break;
        };
        if last.starts_with(closing) {
            let is_reason = matches!(*closing, "Signal: " | "Exit Code: " | "Error: ");
            if is_reason && !NO_REASON.contains(&last) {
                why = Some(last);
            }
            text = before;
        }
    }
    if text == EMPTY {
        text = why.unwrap_or_default();
    }
    Output {
        text,
        failed: why.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(response: &str, text: &str, failed: bool) {
        assert_eq!(output(response), Output { text, failed }, "{response:?}");
    }

    #[test]
    fn the_output_stands_between_heading_and_closing_lines() {
        let wrap = |inner: &str| format!("<untrusted_context>\n{inner}\n</untrusted_context>");
        check(&wrap("Output: abc\nProcess Group PGID: 1"), "abc", false);
        check(&wrap("Output: (empty)\nProcess Group PGID: 1"), "", false);
        check(
            &wrap("Output: a\nb\nExit Code: 3\nProcess Group PGID: 1"),
            "a\nb",
            true,
        );
        check(
            &wrap("Output: (empty)\nSignal: 9\nBackground PIDs: 4, 5\nProcess Group PGID: 1"),
            "Signal: 9",
            true,
        );
        check("Output: a", "a", false);
    }

    #[test]
    fn what_a_command_prints_is_no_closing_line() {
        check(
            "Output: Exit Code: 3\nfine\nProcess Group PGID: 1",
            "Exit Code: 3\nfine",
            false,
        );
        check(
            "something else\nExit Code: 3",
            "something else\nExit Code: 3",
            false,
        );
        check("", "", false);
    }
}
