//! What is done with a prompt before it is said, and with an answer after.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use siglum_gitstore::open_regular;

use super::definition::{PROMPT_MOST, Prompt};

/// How many characters an answer may have beside the acknowledgement.
const SLACK: usize = 300;

/// Reads what the agent is told; nothing where there is nothing to do: the file is not there, is empty, or has only
/// headings, comments and empty lines.
///
/// # Errors
/// Why it cannot be read, in words.
pub fn read(prompt: &Prompt, cwd: Option<&str>) -> Result<Option<String>, String> {
    let (file, cwd) = match (prompt, cwd) {
        (Prompt::Text(text), _) => return Ok(Some(text.clone())),
        (Prompt::File(file), Some(cwd)) => (file, Path::new(cwd)),
        (Prompt::File(_), None) => return Err("no directory to read the prompt in".into()),
    };
    let path = match cwd.join(file).canonicalize() {
        Ok(path) => path,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(format!("cannot read the prompt: {e}")),
    };
    let within = cwd.canonicalize().is_ok_and(|cwd| path.starts_with(cwd));
    let outside = || "the prompt is not a file inside the directory".to_owned();
    if !within {
        return Err(outside());
    }
    let mut text = String::new();
    let most = PROMPT_MOST as u64 + 1;
    let read = open_regular(&path).and_then(|f| f.take(most).read_to_string(&mut text));
    match read {
        Err(e) if e.kind() == ErrorKind::InvalidInput => Err(outside()),
        Ok(bytes) if bytes as u64 == most => Err("the prompt is larger than 64 KiB".to_owned()),
        Ok(_) => Ok((!is_empty(&text)).then_some(text)),
        Err(e) => Err(format!("cannot read the prompt: {e}")),
    }
}

/// Tells whether a text says nothing: it has only headings, comments, empty list items and empty lines.
fn is_empty(text: &str) -> bool {
    let mut rest = text;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    let says_nothing = |line: &str| {
        let line = line.trim();
        line.is_empty()
            || line.starts_with('#')
            || matches!(line, "-" | "*" | "+" | "- [ ]" | "* [ ]" | "---")
    };
    plain.lines().all(says_nothing)
}

/// Tells whether an answer says that there is nothing to say: it begins or ends with the acknowledgement, and has
/// little beside it.
#[must_use]
pub fn is_acknowledged(answer: &str, acknowledge: &str) -> bool {
    let markup = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '.' | '!');
    let plain = answer.trim_matches(markup);
    let rest = plain
        .strip_prefix(acknowledge)
        .filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        .or_else(|| {
            let before = plain.strip_suffix(acknowledge)?;
            let joined = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            (!joined).then_some(before)
        });
    rest.is_some_and(|rest| rest.trim().chars().count() <= SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_the_answer_or_stands_at_its_end() {
        let long = "x".repeat(SLACK + 1);
        for (answer, expected) in [
            ("HEARTBEAT_OK", true),
            ("  **HEARTBEAT_OK**\n", true),
            ("HEARTBEAT_OK. Nothing new since the last look.", true),
            ("Looked at the queue. HEARTBEAT_OK", true),
            (&format!("HEARTBEAT_OK {}", &long[1..]), true),
            (&format!("HEARTBEAT_OK {long}"), false),
            ("The word HEARTBEAT_OK stands in the middle.", false),
            ("HEARTBEAT_OKAY", false),
            ("NOT_HEARTBEAT_OK", false),
            ("heartbeat_ok", false),
            ("", false),
        ] {
            assert_eq!(
                is_acknowledged(answer, "HEARTBEAT_OK"),
                expected,
                "{answer}"
            );
        }
    }

    #[test]
    fn a_prompt_without_content_is_nothing_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().to_str();
        let file = Prompt::File("todo.md".to_owned());
        assert_eq!(read(&file, cwd), Ok(None), "there is none");
        for (text, expected) in [
            ("", None),
            ("# Todo\n\n- [ ]\n<!-- look\nat this -->\n", None),
            (
                "# Todo\n- look at the queue\n",
                Some("# Todo\n- look at the queue\n"),
            ),
        ] {
            std::fs::write(dir.path().join("todo.md"), text).unwrap();
            assert_eq!(read(&file, cwd), Ok(expected.map(str::to_owned)), "{text}");
        }
        std::fs::write(dir.path().join("todo.md"), "x".repeat(PROMPT_MOST + 1)).unwrap();
        assert!(read(&file, cwd).is_err());
    }

    #[test]
    fn a_prompt_is_read_in_its_directory_alone() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("secret"), "text").unwrap();
        std::os::unix::fs::symlink(other.path().join("secret"), dir.path().join("link")).unwrap();
        let link = Prompt::File("link".to_owned());
        assert!(read(&link, dir.path().to_str()).is_err());
    }
}
