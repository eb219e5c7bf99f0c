//! Where a token may begin in text that is raw, JSON-escaped, URL-encoded or coloured for a terminal.

/// What every replacement starts with.
pub(super) const MARKER_START: &str = "[redacted:";

/// Tells whether `byte` belongs to a word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Tells whether a token may begin at `at`: no word runs into it from the left.
///
/// The letter of an escape (`\n`), a URL escape (`%3D`) and the end of a terminal colour (`[32m`) are no word.
pub(super) fn starts_token(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    let byte = text[before];
    !is_word(byte)
        || ends_escape(text, before)
        || ends_url_escape(text, before)
        || ends_colour(text, before)
}

/// Tells whether the byte at `at` is the last one of `\n`, `\t`, `\u001b` and the like.
pub(super) fn ends_escape(text: &[u8], at: usize) -> bool {
    if matches!(text[at], b'n' | b't' | b'r' | b'b' | b'f') && at >= 1 && text[at - 1] == b'\\' {
        return true;
    }
    at >= 5
        && text[at - 5] == b'\\'
        && text[at - 4] == b'u'
        && text[at - 3..=at].iter().all(u8::is_ascii_hexdigit)
}

/// Tells whether the byte at `at` is the last one of `%3D` and the like.
pub(super) fn ends_url_escape(text: &[u8], at: usize) -> bool {
    at >= 2
        && text[at - 2] == b'%'
        && text[at - 1].is_ascii_hexdigit()
        && text[at].is_ascii_hexdigit()
}

fn ends_colour(text: &[u8], at: usize) -> bool {
    if text[at] != b'm' {
        return false;
    }
    let digits = text[..at]
        .iter()
        .rev()
        .take(12)
        .take_while(|b| b.is_ascii_digit() || **b == b';')
        .count();
    at > digits && text[at - digits - 1] == b'['
}

/// Tells whether `at` lies inside the rule name of a replacement, as the `token` of `[redacted:npm-token]` does.
pub(super) fn inside_marker(text: &[u8], at: usize) -> bool {
    let name = text[..at]
        .iter()
        .rev()
        .take(48)
        .take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || **b == b'-')
        .count();
    text[..at - name].ends_with(MARKER_START.as_bytes())
}

/// Returns the length of the escape at `at`: a run of backslashes and what it escapes.
///
/// JSON inside JSON doubles the backslashes; the letter after the whole run still belongs to it.
pub(super) fn escape_len(text: &[u8], at: usize) -> usize {
    let slashes = text[at..].iter().take_while(|b| **b == b'\\').count();
    let rest = &text[at + slashes..];
    match rest.first() {
        Some(b'u') if rest.len() >= 5 && rest[1..5].iter().all(u8::is_ascii_hexdigit) => {
            slashes + 5
        }
        Some(byte) if byte.is_ascii() => slashes + 1,
        _ => slashes,
    }
}

/// Returns `at`, or the end of the escape that `at` lies in.
pub(super) fn after_escape(text: &[u8], at: usize) -> usize {
    let is_slash = |back: usize| at >= back && text[at - back] == b'\\';
    if is_slash(1) {
        return (at - 1 + escape_len(text, at - 1)).min(text.len());
    }
    for back in 1..=4 {
        if at > back && text[at - back] == b'u' && is_slash(back + 1) {
            return (at - back + 5).min(text.len());
        }
    }
    at
}

/// Returns the largest character boundary of `text` that is not above `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_begins_after_an_escape_but_not_inside_a_word() {
        let check = |text: &str, expected| {
            let at = text
                .find("ghp_")
                .expect("because every case names the token");
            assert_eq!(starts_token(text.as_bytes(), at), expected, "{text}");
        };
        check("ghp_", true);
        check("=ghp_", true);
        check(r"\nghp_", true);
        check(r"\u001bghp_", true);
        check("%3Dghp_", true);
        check("\u{1b}[1;32mghp_", true);
        check("xghp_", false);
        check("_ghp_", false);
        check("nghp_", false);
    }

    #[test]
    fn rule_names_inside_markers_are_recognised() {
        let text = b"a [redacted:npm-token] token";
        assert!(inside_marker(text, 16));
        assert!(!inside_marker(text, 23));
    }

    #[test]
    fn escapes_keep_what_they_escape() {
        assert_eq!(escape_len(br"\nMII", 0), 2);
        assert_eq!(escape_len(br"\\nMII", 0), 3);
        assert_eq!(escape_len(br"\u000aMII", 0), 6);
        assert_eq!(escape_len(b"\\", 0), 1);
    }
}
