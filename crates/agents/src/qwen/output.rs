//! What the shell tool tells the model: command and directory, then what it tells in Gemini CLI.

use crate::gemini::output::{self, Output};

/// Reads what the tool told the model; all of it is output where it has another form.
pub(super) fn output(response: &str) -> Output<'_> {
    output::output(without_heading(response).unwrap_or(response))
}

/// What follows the command, which may have lines of its own, and the directory.
fn without_heading(response: &str) -> Option<&str> {
    let directory = match response.starts_with("Command: ") {
        true => response.find("\nDirectory: ")? + 1,
        false => 0,
    };
    let rest = &response[directory..];
    let line = rest.strip_prefix("Directory: ")?;
    line.split_once('\n').map(|(_, output)| output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(response: &str, text: &str, failed: bool) {
        assert_eq!(output(response), Output { text, failed }, "{response:?}");
    }

    #[test]
    fn the_output_stands_behind_command_and_directory() {
        let closing = "Error: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: 7";
        let wrap = |command: &str, output: &str| {
            format!("Command: {command}\nDirectory: (root)\nOutput: {output}\n{closing}")
        };
        check(&wrap("ls", "a\nb"), "a\nb", false);
        check(&wrap("cat <<E\nOutput: x\nE", "a"), "a", false);
        check(&wrap("true", "(empty)"), "", false);
        check("Directory: (root)\nOutput: a", "a", false);
        check(
            "Command: false\nDirectory: /r\nOutput: (empty)\nError: (none)\nExit Code: 3\nSignal: (none)\nProcess Group PGID: (none)",
            "Exit Code: 3",
            true,
        );
    }

    #[test]
    fn other_forms_are_output() {
        for text in [
            "Command was cancelled by user before it could complete.",
            "Command: x",
            "Directory: x",
            "",
        ] {
            check(text, text, false);
        }
    }
}
