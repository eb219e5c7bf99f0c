//! What `siglum why` says of a commit, beside the truth.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::case::{Commit, NOBODY, PERSON};
use crate::desk::Desk;
use crate::world::World;

/// What a statement is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    Certain,
    Likely,
    Ambiguous,
    Unknown,
    /// Names nobody, and there is nobody whom it could name.
    Silent,
    FalseLikely,
    FalseCertain,
}

impl Worth {
    pub(crate) const ALL: [Self; 7] = [
        Self::Certain,
        Self::Likely,
        Self::Ambiguous,
        Self::Unknown,
        Self::Silent,
        Self::FalseLikely,
        Self::FalseCertain,
    ];

    pub(crate) const fn is_false(self) -> bool {
        matches!(self, Self::FalseLikely | Self::FalseCertain)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Ambiguous => "ambiguous",
            Self::Unknown => "unknown",
            Self::Silent => "silent",
            Self::FalseLikely => "false_likely",
            Self::FalseCertain => "false_certain",
        }
    }
}

/// One commit of a case, with all that is needed to judge what is said of it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) commit: Commit,
    /// Whether git carried it over as it was: then its origin's maker made it, too.
    pub(crate) carried: bool,
    /// Who wrote lines whose text does not say it, where lines are judged.
    pub(crate) writers: Option<Vec<(String, String, String)>>,
    pub(crate) repo: PathBuf,
    /// The number of the case, as lines have it.
    pub(crate) number: u64,
}

/// One statement about a commit or a line.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) worth: Worth,
    pub(crate) text: String,
}

/// What was said of one commit, and all of the answer.
pub(crate) struct Verdicts {
    maker: Statement,
    lines: Vec<Statement>,
    origins: Vec<Statement>,
    pub(crate) answer: Value,
}

impl Verdicts {
    pub(crate) fn maker(&self) -> &[Statement] {
        std::slice::from_ref(&self.maker)
    }

    pub(crate) fn lines(&self) -> &[Statement] {
        &self.lines
    }

    pub(crate) fn origins(&self) -> &[Statement] {
        &self.origins
    }

    pub(crate) fn statements(&self) -> impl Iterator<Item = &Statement> {
        let others = self.lines.iter().chain(&self.origins);
        std::iter::once(&self.maker).chain(others)
    }
}

/// Asks who made a commit, and its lines: by the command, or through a desk.
pub(crate) fn judge(world: &World, desk: Option<&mut Desk<'_>>, question: &Question) -> Verdicts {
    let commit = &question.commit;
    let answer = match desk {
        Some(desk) => desk.ask(&question.repo, &commit.id),
        None => world.json(&question.repo, &["why", &commit.id]),
    };
    let mut truths = vec![commit.maker.as_str()];
    // An answer without origins has one name for two: who made it, and who carried it over.
    if question.carried && answer["origins"].is_null() {
        truths.push(&commit.origin);
    }
    let maker = statement(
        &answer["committer"],
        &truths,
        &format!("{} {:?}", &commit.id[..10], commit.subject),
    );
    let lines = match &question.writers {
        Some(writers) => judge_lines(world, question, writers, &answer),
        None => Vec::new(),
    };
    Verdicts {
        maker,
        lines,
        origins: judge_origins(world, question, &answer),
        answer,
    }
}

/// Compares what is said of the commits that this one was made of with what git has of them.
fn judge_origins(world: &World, question: &Question, answer: &Value) -> Vec<Statement> {
    let judge_origin = |origin: &Value| {
        let id = origin["commit"].as_str()?;
        let name = world.git(&question.repo, &["log", "-1", "--format=%cn", id]);
        let maker = name
            .trim()
            .strip_prefix(&format!("k{} ", question.number))?;
        let what = format!("origin {}", &id[..10]);
        Some(statement(&origin["committer"], &[maker], &what))
    };
    let origins = answer["origins"].as_array().into_iter().flatten();
    origins.filter_map(judge_origin).collect()
}

fn statement(party: &Value, truths: &[&str], what: &str) -> Statement {
    let verdict = party["verdict"].as_str().unwrap_or("unknown");
    let named = names(party);
    let is_true = || {
        truths
            .iter()
            .any(|truth| named.iter().any(|name| name == truth))
    };
    let worth = match (named.is_empty(), verdict) {
        (true, "ambiguous") => Worth::Ambiguous,
        (true, _) if truths == [NOBODY] => Worth::Silent,
        (true, _) => Worth::Unknown,
        (false, "certain") if is_true() => Worth::Certain,
        (false, "certain") => Worth::FalseCertain,
        (false, _) if is_true() => Worth::Likely,
        (false, _) => Worth::FalseLikely,
    };
    let answer = if named.is_empty() {
        "nobody".to_owned()
    } else {
        named.join(" or ")
    };
    let truths = truths.join(" or ");
    Statement {
        worth,
        text: format!("{what}: the truth is {truths}, the answer {answer} [{verdict}]"),
    }
}

/// Whom an answer names, in the words of the truth; several for one session with several native ids.
fn names(party: &Value) -> Vec<String> {
    match party["kind"].as_str() {
        Some("human") => vec![PERSON.to_owned()],
        Some("session") => {
            let natives = party["native_ids"].as_array().into_iter().flatten();
            let natives: Vec<String> = natives
                .filter_map(|n| n.as_str().map(str::to_owned))
                .collect();
            if natives.is_empty() {
                vec!["a session without a native id".to_owned()]
            } else {
                natives
            }
        }
        _ => Vec::new(),
    }
}

/// Compares each line that the answer gives to somebody with who wrote it.
fn judge_lines(
    world: &World,
    question: &Question,
    writers: &[(String, String, String)],
    answer: &Value,
) -> Vec<Statement> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut statements = Vec::new();
    for author in answer["authors"].as_array().into_iter().flatten() {
        for file in author["files"].as_array().into_iter().flatten() {
            let path = file["path"].as_str().unwrap();
            let lines = texts
                .entry(path.to_owned())
                .or_insert_with(|| content(world, question, path));
            for range in file["lines"].as_array().into_iter().flatten() {
                let bound = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
                for number in bound(&range[0])..=bound(&range[1]) {
                    let Some(text) = lines.get(number - 1) else {
                        continue;
                    };
                    let Some(writer) = writer(question.number, writers, path, text) else {
                        continue;
                    };
                    let what = format!("{} {path}:{number} {text:?}", &question.commit.id[..10]);
                    let mut judged = statement(author, &[&writer], &what);
                    // People are not seen writing: no line can be theirs.
                    if writer == PERSON && judged.worth == Worth::Unknown {
                        judged.worth = Worth::Silent;
                    }
                    statements.push(judged);
                }
            }
        }
    }
    statements
}

fn content(world: &World, question: &Question, path: &str) -> Vec<String> {
    let name = format!("{}:{path}", question.commit.id);
    let text = world.git(&question.repo, &["show", &name]);
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Who wrote a line: by the story, else by what the line itself says: `k17 by claude3: text`.
fn writer(
    number: u64,
    writers: &[(String, String, String)],
    path: &str,
    text: &str,
) -> Option<String> {
    let known = writers
        .iter()
        .rev()
        .find(|(of, line, _)| of == path && line == text);
    if let Some((_, _, who)) = known {
        return Some(who.clone());
    }
    let rest = text.strip_prefix(&format!("k{number} by "))?;
    rest.split_once(':').map(|(who, _)| who.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(party: &Value, truths: &[&str], expected: Worth) {
        assert_eq!(statement(party, truths, "x").worth, expected, "{party}");
    }

    #[test]
    fn only_a_wrong_name_is_false() {
        let session = |verdict: &str| json!({ "kind": "session", "native_ids": ["a", "b"], "verdict": verdict });
        check(&session("certain"), &["b"], Worth::Certain);
        check(&session("likely"), &["a"], Worth::Likely);
        check(&session("certain"), &["c"], Worth::FalseCertain);
        check(&session("likely"), &["person"], Worth::FalseLikely);
        check(&session("certain"), &["nobody"], Worth::FalseCertain);
        let human =
            |verdict: &str| json!({ "kind": "human", "native_ids": [], "verdict": verdict });
        check(&human("certain"), &["person"], Worth::Certain);
        check(&human("certain"), &["nobody"], Worth::FalseCertain);
        check(&human("likely"), &["a"], Worth::FalseLikely);
        let unknown =
            |verdict: &str| json!({ "kind": "unknown", "native_ids": [], "verdict": verdict });
        check(&unknown("unknown"), &["a"], Worth::Unknown);
        check(&unknown("unknown"), &["nobody"], Worth::Silent);
        check(&unknown("ambiguous"), &["a"], Worth::Ambiguous);
    }

    #[test]
    fn a_session_that_cannot_be_named_is_none_of_the_truths() {
        let nameless = json!({ "kind": "session", "native_ids": [], "verdict": "likely" });
        check(&nameless, &["a", "person", "nobody"], Worth::FalseLikely);
    }

    #[test]
    fn lines_say_who_wrote_them() {
        let known = [("f".to_owned(), "same".to_owned(), "person".to_owned())];
        let who = |path: &str, text: &str| writer(3, &known, path, text);
        assert_eq!(who("f", "same").as_deref(), Some("person"));
        assert_eq!(who("g", "same"), None);
        assert_eq!(who("g", "k3 by claude1: x").as_deref(), Some("claude1"));
        assert_eq!(who("g", "k4 by claude1: x"), None, "of another case");
    }
}
