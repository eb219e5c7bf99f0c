//! What the shell tool tells the model: the output, and a closing line with the exit code.

/// What a command printed, else how it ended; and whether it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Output<'a> {
    pub(super) text: &'a str,
    pub(super) failed: bool,
}

/// Reads what the tool told the model; all of it is output where it has another form.
pub(super) fn output(response: &str) -> Output<'_> {
    let whole = response.trim_end();
    let (before, last) = match whole.rsplit_once('\n') {
        Some((before, last)) => (before, last),
        None => ("", whole),
    };
    let Some(code) = exit_code(last) else {
        return Output {
            text: response,
            failed: false,
        };
    };
    let failed = code != "0";
    Output {
        text: if before.is_empty() && failed {
            last
        } else {
            before
        },
        failed,
    }
}

/// The exit code in a closing line such as `<shellId: 0 completed with exit code 0>`.
fn exit_code(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('<')?.strip_suffix('>')?;
    let (_, code) = inner.rsplit_once(" with exit code ")?;
    let digits = code.strip_prefix('-').unwrap_or(code);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(response: &str, text: &str, failed: bool) {
        assert_eq!(output(response), Output { text, failed }, "{response:?}");
    }

    #[test]
    fn the_closing_line_tells_how_it_ended() {
        check(
            "a\nb\n<shellId: 0 completed with exit code 0>",
            "a\nb",
            false,
        );
        check("\n<shellId: 0 completed with exit code 0>", "", false);
        check("x\n<shellId: 1 completed with exit code 3>\n", "x", true);
        check(
            "<exited with exit code 1>",
            "<exited with exit code 1>",
            true,
        );
    }

    #[test]
    fn what_a_command_prints_is_no_closing_line() {
        for text in [
            "",
            "a",
            "<shellId: 0 completed with exit code 1>\na",
            "<a with exit code >",
            "<a with exit code x>",
            "a with exit code 1",
        ] {
            check(text, text, false);
        }
    }
}
