//! Bytes written as text: hex or base64.

/// Reads an id of `size` bytes: hex of any case, else base64. Anything else that is not empty is no id.
pub(super) fn id(text: &str, size: usize) -> Option<Vec<u8>> {
    match text.len() {
        0 => Some(Vec::new()),
        length if length == size * 2 => hex(text),
        _ => base64(text).filter(|bytes| bytes.len() == size),
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok())
        .collect()
}

/// Reads base64 of either alphabet, with or without padding.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    if digits.len() % 4 == 1 || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.chunks(4) {
        let mut word = 0;
        for place in 0..4 {
            word = word << 6 | chunk.get(place).map_or(Some(0), |digit| value(*digit))?;
        }
        let all = word.to_be_bytes();
        bytes.extend_from_slice(&all[1..chunk.len()]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}
