//! Base64 with the alphabet of URLs and without padding (RFC 4648, section 5), as signed tokens have it.

/// The digits, by their value.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Writes bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for place in 0..=chunk.len() {
            let digit = word >> (18 - 6 * place) & 0x3f;
            text.push(char::from(DIGITS[digit as usize]));
        }
    }
    text
}

/// Reads what [`encode`] writes; nothing for any other text, so that no two texts are the same bytes.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0u32, 0u32);
    for digit in text.bytes() {
        held = held << 6 | value(digit)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    (bits < 6 && held == 0).then_some(bytes)
}

/// What a digit is worth.
fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_come_back() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
        ] {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text), Some(plain.as_bytes().to_vec()));
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "-__-");
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
    }

    #[test]
    fn any_other_text_is_refused() {
        for text in [
            "Z", "Zg==", "Zh", "Zm9", "+//+", "Zg\n", " Zg", "ä", "Zm9vY",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
