//! How random a piece of text looks.

/// Returns the Shannon entropy of the bytes of `text`, in bits per byte.
pub(super) fn bits_per_byte(text: &str) -> f32 {
    if text.is_empty() {
        return 0.0;
    }
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f32;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = *count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// Tells whether `text` looks drawn at random from letters of both cases and digits.
///
/// Hexadecimal digests, UUIDs and identifiers made of words do not pass, so that they stay readable.
pub(super) fn looks_random(text: &str) -> bool {
    let bytes = text.as_bytes();
    let upper = bytes.iter().filter(|b| b.is_ascii_uppercase()).count();
    let lower = bytes.iter().filter(|b| b.is_ascii_lowercase()).count();
    let digit_groups = bytes
        .iter()
        .enumerate()
        .filter(|(i, b)| b.is_ascii_digit() && (*i == 0 || !bytes[i - 1].is_ascii_digit()))
        .count();
    upper >= 2 && lower >= 2 && digit_groups >= 2 && bits_per_byte(text) >= 3.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_grows_with_variety() {
        assert!(bits_per_byte("") < 0.1);
        assert!(bits_per_byte("aaaaaaaa") < 0.1);
        assert!((bits_per_byte("abcdefgh") - 3.0).abs() < 0.01);
    }

    #[test]
    fn digests_and_words_are_not_random() {
        assert!(looks_random("q7RzW2mLx0Tb9KpVd3Yc"));
        assert!(!looks_random("3f786850e387550fdab836ed7e6dc881de23001b"));
        assert!(!looks_random("SomeVeryLongTypeNameInRust"));
    }
}
