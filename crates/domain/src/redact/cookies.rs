//! Cuts the values that look like keys out of a list of cookies, and leaves the others.

use std::ops::Range;

use super::{boundary, value};

/// Longest list looked at.
const LONGEST: usize = 8 * 1024;

/// Tells whether what stands under a key is a list of cookies, as the fields of a request have it.
pub(super) fn are_under(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    ["cookie", "set-cookie"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(last))
}

/// Returns the values worth hiding among the cookies that begin at `start`, as a header or an option has them.
pub(super) fn values(text: &str, start: usize) -> Vec<Range<usize>> {
    let bytes = &text.as_bytes()[..boundary::floor(text, start + LONGEST)];
    let mut found = Vec::new();
    let mut at = start;
    while let Some(value) = next_value(bytes, &mut at) {
        if value.len() >= 16 && value::is_mixed(&text[value.clone()]) {
            found.push(value);
        }
    }
    found
}

/// The value of the cookie at `at`, which goes behind it; nothing where the list ends.
fn next_value(bytes: &[u8], at: &mut usize) -> Option<Range<usize>> {
    let run = |from: usize, belongs: fn(u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| belongs(**byte)).count()
    };
    let name = run(*at, |byte| byte == b' ' || byte == b';');
    let name_end = run(name, |byte| {
        byte.is_ascii_alphanumeric() || b"_-.$%[]".contains(&byte)
    });
    let is_attribute = bytes.get(name_end) == Some(&b';');
    if is_attribute {
        *at = name_end;
        return Some(name_end..name_end);
    }
    if name == name_end || bytes.get(name_end) != Some(&b'=') {
        return None;
    }
    let start = name_end + 1;
    let end = run(start, |byte| {
        byte.is_ascii_graphic() && !b";,\"'\\`<>".contains(&byte)
    });
    // A date has a comma and blanks in it.
    *at = run(end, |byte| {
        byte == b',' || byte == b' ' || byte == b':' || byte.is_ascii_alphanumeric() || byte == b'-'
    });
    if bytes.get(*at) != Some(&b';') {
        *at = bytes.len();
    }
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_to_sessions_go_and_settings_stay() {
        let text = "theme=dark; sid=q7RzW2mLx0Tb9KpV; HttpOnly; Expires=Thu, 15 Jan 2026 10:00:00 GMT; a=3f9a1c7e5b2d8046fe";
        let found: Vec<&str> = values(text, 0)
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, ["q7RzW2mLx0Tb9KpV", "3f9a1c7e5b2d8046fe"]);
    }

    #[test]
    fn a_list_ends_with_its_line_or_quotes() {
        for text in [
            "a=1\nsid=q7RzW2mLx0Tb9KpV",
            "a=1\\nsid=q7RzW2mLx0Tb9KpV",
            "a=1\"; sid=q7RzW2mLx0Tb9KpV",
        ] {
            assert!(values(text, 0).is_empty(), "{text}");
        }
    }
}
