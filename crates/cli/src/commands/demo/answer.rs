//! Asking Siglum about the commits of the play, and comparing what it says with the truth.

use std::process::Output;

use super::sandbox::Sandbox;
use super::wire::{Answer, By, Envelope, Made, Played, Row};
use crate::error::CommandError;

/// Runs this program in the repository of the play, as if in a terminal of this width.
pub fn siglum(sandbox: &Sandbox, args: &[&str], columns: &str) -> Result<Output, CommandError> {
    let mut command = sandbox.command(&sandbox.program("siglum"));
    let output = command.args(args).env("COLUMNS", columns).output()?;
    if output.status.success() {
        return Ok(output);
    }
    Err(CommandError::failed(format!(
        "`siglum {}` failed: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

/// Asks about every commit, and judges each answer.
pub fn rows(sandbox: &Sandbox, played: &Played) -> Result<Vec<Row>, CommandError> {
    let ask = |made: &Made| {
        let output = siglum(sandbox, &["why", &made.commit, "--json"], "80")?;
        let answer: Envelope<Answer> = serde_json::from_slice(&output.stdout)?;
        Ok(row(played, made, &answer.data))
    };
    played.commits.iter().map(ask).collect()
}

fn row(played: &Played, made: &Made, answer: &Answer) -> Row {
    let committer = &answer.committer;
    let mut authors: Vec<char> = answer
        .authors
        .iter()
        .filter_map(|author| letter(played, &author.native_ids))
        .collect();
    authors.sort_unstable();
    Row {
        commit: made.commit.clone(),
        subject: made.subject.clone(),
        made_by: made.by.words(),
        kind: committer.kind.clone(),
        session: committer.session.clone(),
        letter: letter(played, &committer.native_ids),
        verdict: committer.verdict.clone(),
        authors,
        right: is_right(played, made.by, answer),
    }
}

/// The letter of the session with one of these native ids.
pub fn letter(played: &Played, natives: &[String]) -> Option<char> {
    let mut sessions = played.sessions.iter();
    sessions
        .find(|(_, native)| natives.contains(native))
        .map(|(letter, _)| *letter)
}

/// Whether Siglum says the truth. Where the machine hides what it takes to know, `unknown` is the
/// truth, too; a false name never is.
fn is_right(played: &Played, by: By, answer: &Answer) -> bool {
    let committer = &answer.committer;
    let hidden = played.obstacle.is_some() && committer.kind == "unknown";
    let named = |wanted: char| {
        committer.kind == "session" && letter(played, &committer.native_ids) == Some(wanted)
    };
    match by {
        By::Session(letter) => named(letter),
        By::Detached(letter) => named(letter) || hidden,
        By::Person => committer.kind == "human" || hidden,
        By::Script => committer.kind == "unknown",
    }
}

impl By {
    /// As the table says it.
    pub fn words(self) -> String {
        match self {
            Self::Session(letter) => letter.to_string(),
            Self::Detached(letter) => format!("{letter}, detached"),
            Self::Person => "a person".to_owned(),
            Self::Script => "a script".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Party;
    use super::*;

    fn played(obstacle: Option<&str>) -> Played {
        Played {
            sessions: vec![('A', "a-1".into()), ('B', "b-1".into())],
            obstacle: obstacle.map(str::to_owned),
            ..Played::default()
        }
    }

    fn answer(kind: &str, native: Option<&str>) -> Answer {
        Answer {
            committer: Party {
                kind: kind.into(),
                session: None,
                native_ids: native.iter().map(|n| (*n).to_owned()).collect(),
                verdict: "certain".into(),
            },
            authors: Vec::new(),
        }
    }

    #[track_caller]
    fn check(by: By, kind: &str, native: Option<&str>, expected: bool) {
        let right = is_right(&played(None), by, &answer(kind, native));
        assert_eq!(right, expected, "{by:?}: {kind} {native:?}");
    }

    #[test]
    fn only_the_truth_is_right() {
        check(By::Session('A'), "session", Some("a-1"), true);
        check(By::Session('A'), "session", Some("b-1"), false);
        check(By::Session('A'), "session", Some("c-1"), false);
        check(By::Session('A'), "unknown", None, false);
        check(By::Detached('B'), "session", Some("b-1"), true);
        check(By::Detached('B'), "unknown", None, false);
        check(By::Person, "human", None, true);
        check(By::Person, "session", Some("a-1"), false);
        check(By::Person, "unknown", None, false);
        check(By::Script, "unknown", None, true);
        check(By::Script, "human", None, false);
    }

    #[test]
    fn where_the_machine_hides_it_unknown_is_right_and_a_false_name_is_not() {
        let check = |by: By, kind: &str, native: Option<&str>, expected: bool| {
            let right = is_right(&played(Some("hidden")), by, &answer(kind, native));
            assert_eq!(right, expected, "{by:?}: {kind} {native:?}");
        };
        check(By::Person, "unknown", None, true);
        check(By::Person, "session", Some("a-1"), false);
        check(By::Detached('B'), "unknown", None, true);
        check(By::Detached('B'), "session", Some("a-1"), false);
        check(By::Session('A'), "unknown", None, false);
    }
}
