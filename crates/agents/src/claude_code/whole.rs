//! Whether a transcript has all of its conversation.
//!
//! Claude Code follows the chain of messages from the last one to the first, and takes a message whose parent is missing
//! for the first one.

use std::collections::HashSet;
use std::io::BufRead;

use super::wire::ChainLink;

/// Whether each message has its parent, and there is at least one.
pub(super) fn is_whole(transcript: &mut dyn BufRead) -> bool {
    let (mut known, mut parents) = (HashSet::new(), Vec::new());
    let mut line = String::new();
    loop {
        line.clear();
        match transcript.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_) => return false,
        }
        let Ok(link) = serde_json::from_str::<ChainLink<'_>>(line.trim()) else {
            return false;
        };
        if let Some(uuid) = link.uuid.text() {
            known.insert(blake3::hash(uuid.as_bytes()));
            let parent = link.parent.text();
            parents.extend(parent.map(|parent| blake3::hash(parent.as_bytes())));
        }
    }
    !known.is_empty() && parents.iter().all(|parent| known.contains(parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_without_one_of_its_links_is_not_whole() {
        let check = |lines: &[&str], expected: bool| {
            let text = lines.concat();
            assert_eq!(is_whole(&mut text.as_bytes()), expected, "{text}");
        };
        let first = "{\"uuid\":\"a\",\"parentUuid\":null}\n";
        let second = "{\"uuid\":\"b\",\"parentUuid\":\"a\"}   \n";
        let third = "{\"uuid\":\"c\",\"parentUuid\":\"b\"}\n";
        check(&[first, second, third], true);
        check(&[first, third, second], true);
        check(&[first, third], false);
        check(&["{\"type\":\"mode\"}\n", first], true);
        check(&[first, "{\"uuid\":"], false);
        check(&[], false);
    }
}
