//! What all agents' forms have in common: whose a file is, and what is written into it.

use std::path::PathBuf;

use siglum_domain::Timestamp;

use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Event, Helper};

/// Whose a file is.
#[derive(Debug, Clone)]
pub(in crate::corpus) struct Origin {
    /// The agent's id for the session.
    pub(in crate::corpus) session: String,
    /// The directory that the agent works in.
    pub(in crate::corpus) cwd: String,
    /// When it began.
    pub(in crate::corpus) began: Timestamp,
    /// The session that it was forked from.
    pub(in crate::corpus) parent: Option<Parent>,
    /// The sub-agent that writes the file.
    pub(in crate::corpus) helper: Option<String>,
}

/// A session that another one was forked from.
#[derive(Debug, Clone)]
pub(in crate::corpus) struct Parent {
    pub(in crate::corpus) session: String,
    pub(in crate::corpus) cwd: String,
    pub(in crate::corpus) path: PathBuf,
    pub(in crate::corpus) seed: u64,
    pub(in crate::corpus) began: Timestamp,
}

/// Where an agent writes down what a sub-agent does.
pub(in crate::corpus) enum HelperPlace {
    /// It has none.
    Nowhere,
    /// In the file of the session.
    Inline,
    /// In a file of its own.
    File(PathBuf, Box<dyn Form>),
}

/// How an agent writes a file.
pub(in crate::corpus) trait Form {
    /// Writes what stands in front of everything. Takes as much of the chance in a fork as in the session it came from.
    fn begin(&mut self, sheet: &mut Sheet) -> Fallible<()>;

    /// Writes something that happened, but for a sub-agent.
    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()>;

    /// Writes that a sub-agent starts, and says where it writes itself.
    fn helper_starts(&mut self, _: &mut Sheet, _: &Helper) -> Fallible<HelperPlace> {
        Ok(HelperPlace::Nowhere)
    }

    /// Writes that it returned.
    fn helper_ends(&mut self, _: &mut Sheet, _: &Helper) -> Fallible<()> {
        Ok(())
    }

    /// What was copied of another session is over.
    fn end_copy(&mut self, _: Chance) {}

    /// Writes what stands behind everything.
    fn end(&mut self, _: &mut Sheet) -> Fallible<()> {
        Ok(())
    }
}

/// A directory as Claude Code, Qwen Code and others name the one of a project.
pub(in crate::corpus) fn slug(cwd: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c,
        false => '-',
    };
    cwd.chars().map(plain).collect()
}

/// A prompt in the parts that Gemini CLI and Qwen Code write: its text, and an image.
pub(in crate::corpus) fn prompt_parts(text: &str, image: Option<&str>) -> Vec<Object> {
    let mut parts = vec![object! { "text": text }];
    parts.extend(image.map(|image| {
        let data = object! { "mimeType": "image/png", "data": image };
        object! { "inlineData": data }
    }));
    parts
}
