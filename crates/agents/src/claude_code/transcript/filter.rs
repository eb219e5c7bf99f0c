//! Which lines can be skipped without parsing them.

use memchr::memmem;

/// How far into a line its kind is looked for.
const HEAD: usize = 256;

/// Tells whether a line is certainly of a kind that says nothing.
pub(super) fn is_irrelevant(line: &str) -> bool {
    let line = line.as_bytes();
    if let Some(rest) = line.strip_prefix(b"{\"type\":\"") {
        let known = [b"user\"".as_slice(), b"assistant\"", b"system\""];
        return !known.iter().any(|kind| rest.starts_with(kind));
    }
    let head = &line[..line.len().min(HEAD)];
    memmem::find(head, b"\"attachment\":{")
        .is_some_and(|at| memmem::find(&head[..at], b"\"message\":").is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_kinds_are_skipped() {
        for line in [
            r#"{"type":"queue-operation","operation":"enqueue"}"#,
            r#"{"type":"api-request-blob","x":1}"#,
            r#"{"parentUuid":"x","isSidechain":false,"attachment":{"type":"environment"},"type":"attachment"}"#,
        ] {
            assert!(is_irrelevant(line), "{line}");
        }
        for line in [
            r#"{"type":"user","message":{}}"#,
            r#"{"type":"assistant","message":{}}"#,
            r#"{"type":"system","subtype":"compact_boundary"}"#,
            r#"{"parentUuid":null,"message":{"attachment":{}},"type":"user"}"#,
            r#"{"a":"\"attachment\":{","type":"user"}"#,
            r#"{ "type": "queue-operation" }"#,
            "",
        ] {
            assert!(!is_irrelevant(line), "{line}");
        }
    }
}
