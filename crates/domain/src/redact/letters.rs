//! Whether letters were drawn at random or are words.

/// For each letter, those that hardly ever follow it in words and names, as bits: counted over manuals and sources of
/// some thousand libraries, less than five in a hundred thousand pairs.
const STRANGE: [u32; 26] = [
    0x000_4200, 0x2e1_b480, 0x2c0_2240, 0x241_9680, 0x200_0200, 0x2e1_8680, 0x2e1_862e, 0x2e1_aeec,
    0x150_0280, 0x3eb_beee, 0x3e3_dea2, 0x281_1680, 0x2e3_06a0, 0x281_0200, 0x301_0080, 0x2c1_3222,
    0x3ef_f7ff, 0x281_0200, 0x280_0200, 0x221_0602, 0x361_0680, 0x3f7_beaa, 0x3b9_966e, 0x2e7_2e40,
    0x3b3_06ed, 0x2fb_bee6,
];
/// Shortest run of letters that is judged.
const SHORTEST: usize = 16;

/// Tells whether a value is of letters alone that no words are made of: every sixth pair or more is a strange one.
pub(super) fn are_drawn(value: &str) -> bool {
    let bytes = value.as_bytes();
    if bytes.len() < SHORTEST || !bytes.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    let place = |byte: u8| byte.to_ascii_lowercase() - b'a';
    let strange = bytes
        .windows(2)
        .filter(|pair| STRANGE[usize::from(place(pair[0]))] >> place(pair[1]) & 1 == 1)
        .count();
    strange * 6 >= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_drawn() {
        for drawn in [
            "jcTGOBUSZGiHWGKZbRLZTRSP",
            "gLKOmxgJTeKdNnFRIBXuDLDxtpYlSXpf",
            "qzvkxwjtrphgqbdnmxzvwkjq",
        ] {
            assert!(are_drawn(drawn), "{drawn}");
        }
        for words in [
            "authenticationConfigurationProvider",
            "getUserByIdAndTenantKey",
            "parseJSONFromHTTPSProxyURL",
            "correcthorsebatterystaple",
        ] {
            assert!(!are_drawn(words), "{words}");
        }
    }
}
