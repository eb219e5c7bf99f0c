//! One line of a file: the commit that brought it, and who wrote it there.

use siglum_engine::prompts::{Prompt, prompt_of_line};
use siglum_engine::why::{Author, Why};
use siglum_gitstore::{BlameLine, Git};
use siglum_ledger::{SqliteLedger, stored_name};

use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;

/// Where a line of a file of this checkout came from, if a text names one as `FILE:LINE`.
pub(super) fn find(cx: &Cx, text: &str) -> Result<Option<BlameLine>, CommandError> {
    let Some((file, number)) = split(text) else {
        return Ok(None);
    };
    let repo = cx.repo()?;
    let path = cx.dir.join(file);
    if !path.is_file() {
        return Ok(None);
    }
    let Some(path) = repo.relative(&path) else {
        return Err(CommandError::usage(format!(
            "{file} is not in this checkout"
        )));
    };
    let git = Git::new(env::git(), repo.worktree());
    let mut lines = git.blame(&path, Some(number..=number), None)?;
    match lines.pop() {
        Some(line) if line.commit.is_zero() => Err(CommandError::not_found(format!(
            "line {number} of {file} is not committed yet"
        ))
        .hint("`siglum why` answers for lines of commits.")),
        line => Ok(line),
    }
}

/// What led the author of a line to write it.
pub(super) fn author_prompt(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    why: &Why,
    line: &BlameLine,
) -> Result<Option<Prompt>, CommandError> {
    let Some(session) = writer(why, line).and_then(|author| author.session) else {
        return Ok(None);
    };
    let (world, path) = (cx.world()?, stored_name(&line.path));
    let found = prompt_of_line(&world, ledger, why, session, &path, &line.text)?;
    Ok(found)
}

fn split(text: &str) -> Option<(&str, u32)> {
    let (file, number) = text.rsplit_once(':')?;
    let number = number.parse().ok().filter(|n| *n > 0)?;
    (!file.is_empty()).then_some((file, number))
}

/// The author whose lines hold this one; none if it was in the parent already or is nobody's.
pub(super) fn writer<'a>(why: &'a Why, line: &BlameLine) -> Option<&'a Author> {
    let path = stored_name(&line.path);
    let holds = |author: &&Author| {
        let files = author.files.iter().filter(|(name, _)| *name == path);
        let mut spans = files.flat_map(|(_, spans)| spans);
        spans.any(|span| (span.first..=span.last).contains(&line.line))
    };
    why.authors.iter().find(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_file_and_a_number() {
        assert_eq!(split("src/a.rs:42"), Some(("src/a.rs", 42)));
        assert_eq!(split("a:b:7"), Some(("a:b", 7)));
        for none in ["HEAD", "HEAD:a.rs", "a.rs:0", ":3", "a.rs:-1", "a.rs:"] {
            assert_eq!(split(none), None, "{none}");
        }
    }
}
