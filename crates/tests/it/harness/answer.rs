//! The answer of `siglum why`, in words that tests compare.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// The data of the answer.
pub(crate) struct Why(pub(crate) Value);

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (checkpoints, subject) = (self.checkpoints(), &self.0["subject"]);
        writeln!(f, "{subject} {checkpoints:?}: {}", self.committer())?;
        for sign in self.0["committer"]["evidence"].as_array().unwrap() {
            writeln!(
                f,
                "  {} {} {}",
                sign["counted"], sign["basis"], sign["text"]
            )?;
        }
        let (candidates, parents) = (self.candidates(), self.parents());
        write!(
            f,
            "candidates {candidates:?} parents {parents:?} authors {:?}",
            self.authors()
        )
    }
}

impl Why {
    /// `<native id> certain`, `human certain`, `unknown ambiguous` and so on.
    pub(crate) fn committer(&self) -> String {
        let committer = &self.0["committer"];
        format!(
            "{} {}",
            who(committer),
            committer["verdict"].as_str().unwrap()
        )
    }

    /// The checkpoint that the commit is, if it is one.
    pub(crate) fn checkpoints(&self) -> Vec<String> {
        let checkpoint = self.0["checkpoint"].as_str();
        checkpoint.map(str::to_owned).into_iter().collect()
    }

    /// The commits that it was made of, the nearest first, each with who made it.
    pub(crate) fn origins(&self) -> Vec<(String, String)> {
        let origins = self.0["origins"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        origins
            .map(|origin| {
                let committer = &origin["committer"];
                let made_by = format!("{} {}", who(committer), text(&committer["verdict"]));
                (text(&origin["commit"]), made_by)
            })
            .collect()
    }

    /// The sessions it could also be.
    pub(crate) fn candidates(&self) -> Vec<String> {
        self.0["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .map(who)
            .collect()
    }

    /// The sessions that started the committer.
    pub(crate) fn parents(&self) -> Vec<String> {
        self.0["parents"]
            .as_array()
            .unwrap()
            .iter()
            .map(who)
            .collect()
    }

    /// How many lines each author wrote.
    pub(crate) fn authors(&self) -> BTreeMap<String, u64> {
        let authors = self.0["authors"].as_array().unwrap().iter();
        authors
            .map(|author| (who(author), author["lines"].as_u64().unwrap()))
            .collect()
    }

    /// The lines of one file by author, as `1-3,5`.
    pub(crate) fn lines(&self, path: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for author in self.0["authors"].as_array().unwrap() {
            for file in author["files"].as_array().unwrap() {
                if file["path"] == path {
                    found.insert(who(author), ranges(&file["lines"]));
                }
            }
        }
        found
    }

    /// Whether a piece of evidence says this.
    pub(crate) fn says(&self, text: &str) -> bool {
        let evidence = self.0["committer"]["evidence"].as_array().unwrap();
        let has_text = |e: &Value| e["text"].as_str().unwrap().contains(text);
        evidence.iter().any(has_text)
    }
}

fn ranges(lines: &Value) -> String {
    let range = |pair: &Value| match (&pair[0], &pair[1]) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let ranges: Vec<String> = lines.as_array().unwrap().iter().map(range).collect();
    ranges.join(",")
}

/// A session by the first id that its agent gave it, else the kind.
fn who(party: &Value) -> String {
    match party["native_ids"][0].as_str() {
        Some(native) => native.to_owned(),
        None => party["kind"].as_str().unwrap().to_owned(),
    }
}
