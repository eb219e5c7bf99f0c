//! The first line of a transcript: whose it is.
//!
//! It may be long, since it holds the instructions that the model was given. What matters stands
//! before them.

use std::io::BufRead;

use memchr::memmem;
use siglum_domain::NativeId;

use super::wire::{Line, Payload};
use crate::json::Field;

/// Where the instructions begin; between quotes that are not escaped, so never inside of a text.
const INSTRUCTIONS: &[&[u8]] = &[b",\"base_instructions\":", b",\"instructions\":"];

/// Whose a transcript is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meta {
    /// The thread that wrote it.
    pub(super) thread: Option<NativeId>,
    /// The session that the thread belongs to, if it is another one's.
    pub(super) root: Option<NativeId>,
    /// The directory the agent works in.
    pub(super) cwd: Option<String>,
}

impl Meta {
    /// Reads the head of a transcript; nothing if it does not begin as transcripts do, or if more of
    /// it is needed.
    pub(super) fn of_head(head: &[u8]) -> Option<Self> {
        if let Some(end) = memchr::memchr(b'\n', head) {
            return Self::of_line(&head[..end]);
        }
        let cut = INSTRUCTIONS
            .iter()
            .filter_map(|name| memmem::find(head, name))
            .min()?;
        let mut line = head[..cut].to_vec();
        line.extend_from_slice(b"}}");
        Self::of_line(&line)
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        if line.kind.text().as_deref() != Some("session_meta") {
            return None;
        }
        Some(Self::of_payload(&line.payload.object()))
    }

    /// What the payload of the line says.
    pub(super) fn of_payload(payload: &Payload<'_>) -> Self {
        let thread = native(payload.id);
        let session = native(payload.session_id).or_else(|| native(payload.parent_thread));
        Self {
            root: session.filter(|session| thread.is_some() && thread.as_ref() != Some(session)),
            thread,
            cwd: payload
                .cwd
                .text()
                .filter(|cwd| !cwd.is_empty())
                .map(|cwd| cwd.into_owned()),
        }
    }
}

/// Whether a transcript has its first line, without which the thread is none.
pub(super) fn is_whole(transcript: &mut dyn BufRead) -> bool {
    let mut line = Vec::new();
    let read = transcript.read_until(b'\n', &mut line);
    read.is_ok() && Meta::of_head(line.trim_ascii_start()).is_some()
}

pub(super) fn native(field: Field<'_>) -> Option<NativeId> {
    NativeId::new(field.text()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: Option<(Option<&str>, Option<&str>, Option<&str>)>) {
        let meta = Meta::of_head(head.as_bytes());
        let shown = meta.as_ref().map(|m| {
            (
                m.thread.as_ref().map(NativeId::as_str),
                m.root.as_ref().map(NativeId::as_str),
                m.cwd.as_deref(),
            )
        });
        assert_eq!(shown, expected, "{head}");
    }

    #[test]
    fn a_head_tells_whose_it_is() {
        let line =
            |payload: &str| format!("{{\"type\":\"session_meta\",\"payload\":{{{payload}}}}}\n");
        check(
            &line(r#""session_id":"a","id":"a","cwd":"/r""#),
            Some((Some("a"), None, Some("/r"))),
        );
        check(
            &line(r#""session_id":"a","id":"b""#),
            Some((Some("b"), Some("a"), None)),
        );
        check(
            &line(r#""parent_thread_id":"a","id":"b""#),
            Some((Some("b"), Some("a"), None)),
        );
        check(&line(r#""id":"a","cwd":"""#), Some((Some("a"), None, None)));
        check(&line(r#""cwd":"/r""#), Some((None, None, Some("/r"))));
        check(&line(r#""session_id":"a""#), Some((None, None, None)));
    }

    #[test]
    fn instructions_need_not_be_there() {
        let head = r#"{"type":"session_meta","payload":{"id":"a","cwd":"/r","base_instructions":{"text":"You are"#;
        check(head, Some((Some("a"), None, Some("/r"))));
        check(
            r#"{"type":"session_meta","payload":{"id":"a","cwd":"/r"#,
            None,
        );
        check("{\"type\":\"turn_context\",\"payload\":{}}\n", None);
        check("no JSON\n", None);
        check("", None);
    }
}
