//! What `siglum why` says of a commit, held against git and the ledger.

use std::collections::BTreeMap;

use serde_json::Value;

use super::book::Book;
use super::lab::Lab;

/// The answer for one commit.
#[derive(Debug)]
pub(super) struct Why {
    data: Value,
}

impl Lab {
    /// Asks about a commit.
    #[track_caller]
    pub(super) fn look_why(&self, commit: &str) -> Why {
        let data = self.ask(&["why", commit]);
        assert_eq!(data["commit"], commit);
        Why { data }
    }

    /// Asks who made a commit, and checks what holds for each commit of a session: the verdict is
    /// on this session, the message has one trailer, and its checkpoint leads to both.
    #[track_caller]
    pub(super) fn why(&self, commit: &str, native: &str, verdict: &str, book: &Book) -> Why {
        let why = self.look_why(commit);
        let data = &why.data;
        let committer = &data["committer"];
        let found = (&committer["kind"], &committer["verdict"]);
        assert_eq!(found, (&"session".into(), &verdict.into()), "{data:#}");
        assert_eq!(
            committer["native_ids"],
            serde_json::json!([native]),
            "{data:#}"
        );
        let id = book.session(native).id.as_str();
        assert_eq!(committer["session"], id, "{data:#}");
        assert_eq!(
            data["subject"],
            self.git(&["log", "-1", "--format=%s", commit]).as_str()
        );

        let format = "--format=%(trailers:key=Siglum-Checkpoint,valueonly)";
        let trailer = self.git(&["log", "-1", format, commit]);
        assert_eq!(data["checkpoint"], trailer.trim(), "{data:#}");
        let checkpoint = book.checkpoints.iter().find(|c| c.id == trailer.trim());
        let checkpoint = checkpoint.unwrap_or_else(|| panic!("no {trailer} in {book:#?}"));
        assert_eq!(checkpoint.kind, "commit");
        assert_eq!(checkpoint.commit.as_deref(), Some(commit));
        assert_eq!(checkpoint.pins, [id]);
        why
    }
}

impl Why {
    /// The lines of each file as `ID:FIRST-LAST`, by the agent's id of their author, `unknown` for
    /// nobody.
    pub(super) fn lines(&self) -> BTreeMap<String, Vec<String>> {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for author in list(&self.data["authors"]) {
            let native = author["native_ids"][0].as_str().unwrap_or("unknown");
            for file in list(&author["files"]) {
                let path = file["path"].as_str().expect("a path").to_owned();
                let spans = list(&file["lines"]);
                let spans = spans.iter().map(|s| format!("{native}:{}-{}", s[0], s[1]));
                files.entry(path).or_default().extend(spans);
            }
        }
        files
    }

    /// Checks that each of these files was written by one session, and that there are no others.
    #[track_caller]
    pub(super) fn wrote(&self, expected: &[(&str, &str)]) {
        let lines = self.lines();
        let mut written: Vec<(&str, &str)> = lines
            .iter()
            .flat_map(|(path, spans)| spans.iter().map(move |span| (path, span)))
            .filter_map(|(path, span)| Some((path.as_str(), span.split_once(':')?.0)))
            .collect();
        written.dedup();
        assert_eq!(written, expected, "{:#}", self.data);
    }

    /// The agent's ids of the sessions that started the committer.
    pub(super) fn parents(&self) -> Vec<&str> {
        let parents = self.data["parents"].as_array().expect("a list");
        parents
            .iter()
            .filter_map(|p| p["native_ids"][0].as_str())
            .collect()
    }

    /// The agent's id of the committer, if it is a session, and the verdict.
    pub(super) fn committer(&self) -> (Option<String>, String) {
        let committer = &self.data["committer"];
        let native = committer["native_ids"][0].as_str().map(str::to_owned);
        (
            native,
            committer["verdict"].as_str().unwrap_or_default().to_owned(),
        )
    }

    /// The agent's ids of the sessions that may have made it.
    pub(super) fn candidates(&self) -> Vec<&str> {
        let candidates = self.data["candidates"].as_array().expect("a list");
        let natives = candidates.iter().map(|c| &c["native_ids"][0]);
        natives.filter_map(Value::as_str).collect()
    }

    /// What is attached to the committer, as `field=value`.
    pub(super) fn links(&self) -> Vec<String> {
        crate::launching::links(&self.data["committer"])
    }

    /// The prompt that led to the commit.
    pub(super) fn prompt(&self) -> &str {
        self.data["prompt"]["text"].as_str().unwrap_or_default()
    }

    /// The command that resumes the committer.
    pub(super) fn resume(&self) -> &str {
        self.data["committer"]["resume"]
            .as_str()
            .unwrap_or_default()
    }

    /// The evidence that counted, in words.
    pub(super) fn evidence(&self) -> Vec<String> {
        let signs = list(&self.data["committer"]["evidence"]);
        let counted = signs.into_iter().filter(|s| s["counted"] == true);
        counted
            .filter_map(|s| Some(s["text"].as_str()?.to_owned()))
            .collect()
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
