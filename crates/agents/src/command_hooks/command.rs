//! The hook command, which is frozen: `<stable shim> hook <agent>`.

use crate::install::InstallError;

/// What our program is called, wherever it lies.
const PROGRAMS: &[&str] = &["siglum", "siglum.exe"];

/// The command for a shim.
pub(super) fn command(shim: &str, agent: &str) -> Result<String, InstallError> {
    if shim.is_empty() || shim.chars().any(char::is_control) {
        return Err(InstallError::Shim);
    }
    Ok(format!("{} hook {agent}", quote(shim)))
}

/// The program of a hook command, if the command is one of ours.
pub(crate) fn our_program(command: &str, shim: &str, agent: &str) -> Option<String> {
    let program = command.trim().strip_suffix(agent)?.strip_suffix(" hook ")?;
    let program = unquote(program.trim_end())?;
    let base = program.rsplit(['/', '\\']).next().unwrap_or_default();
    (program == shim || PROGRAMS.contains(&base)).then_some(program)
}

/// Writes a word so that a POSIX shell reads it as it is.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads one word as a POSIX shell does; nothing if it is no word or more than one, or if the shell
/// would put something else in its place.
fn unquote(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    inner => out.push(inner),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => {
                        let next = chars.next()?;
                        if !matches!(next, '"' | '\\' | '$' | '`') {
                            out.push('\\');
                        }
                        out.push(next);
                    }
                    inner => out.push(inner),
                }
            },
            '\\' => out.push(chars.next()?),
            c if c.is_whitespace() || ";&|<>()".contains(c) => return None,
            c => out.push(c),
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_undone_by_unquoting() {
        for word in [
            "/usr/bin/siglum",
            "/a b/siglum",
            "/it's/siglum",
            "-x",
            "/ä/$HOME/`x`\"\\",
        ] {
            assert_eq!(unquote(&quote(word)).as_deref(), Some(word));
        }
        assert_eq!(
            command("/usr/bin/siglum", "claude-code").as_deref(),
            Ok("/usr/bin/siglum hook claude-code")
        );
        assert_eq!(
            command("/a b/siglum", "codex").as_deref(),
            Ok("'/a b/siglum' hook codex")
        );
        assert_eq!(command("a\nb", "codex"), Err(InstallError::Shim));
        assert_eq!(command("", "codex"), Err(InstallError::Shim));
    }

    #[test]
    fn our_commands_are_distinguished_from_others() {
        let check = |command: &str, expected: Option<&str>| {
            assert_eq!(
                our_program(command, "/opt/shim", "claude-code").as_deref(),
                expected,
                "{command}"
            );
        };
        check("/opt/shim hook claude-code", Some("/opt/shim"));
        check("siglum hook claude-code", Some("siglum"));
        check("\"/a b/siglum\" hook claude-code ", Some("/a b/siglum"));
        check(r"/a\ b/siglum hook claude-code", Some("/a b/siglum"));
        check("/opt/other hook claude-code", None);
        check("siglum hook claude-code --x", None);
        check("siglum hook codex", None);
        check("echo; siglum hook claude-code", None);
        check("siglumhook claude-code", None);
        check(" hook claude-code", None);
    }
}
