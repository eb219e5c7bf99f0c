//! What people type of an id, as an index can look for it.

use siglum_domain::id::{SHORT_DIGITS, is_tail};

/// The last eight digits of every id that has `tail` within them, or ends in a longer one. None for what is no tail.
pub(crate) fn short_forms(tail: &str) -> Vec<String> {
    if !is_tail(tail) {
        return Vec::new();
    }
    if tail.len() >= SHORT_DIGITS {
        return vec![tail[tail.len() - SHORT_DIGITS..].to_owned()];
    }
    // One or two digits are missing, before it or behind it.
    let missing = SHORT_DIGITS - tail.len();
    let digits = (0..1_u32 << (4 * missing)).map(|n| format!("{n:0missing$x}"));
    let around = |digits: String| {
        (0..=missing).map(move |at| format!("{}{tail}{}", &digits[..at], &digits[at..]))
    };
    digits.flat_map(around).collect()
}

/// What comes behind all native ids that begin with `start`: no text of theirs has this character.
pub(crate) fn behind_start(start: &str) -> String {
    format!("{start}{}", char::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_has_every_end_that_holds_it() {
        assert_eq!(short_forms("abcde"), [""; 0]);
        assert_eq!(short_forms("notdigit"), [""; 0]);
        assert_eq!(short_forms("1234abcd"), ["1234abcd"]);
        assert_eq!(short_forms("99991234abcd"), ["1234abcd"]);
        let seven = short_forms("234abcd");
        assert_eq!(seven.len(), 32);
        assert!(seven.contains(&"1234abcd".to_owned()));
        assert!(seven.contains(&"234abcd0".to_owned()));
        let six = short_forms("34abcd");
        assert_eq!(six.len(), 3 * 256);
        for end in ["1234abcd", "034abcdf", "34abcd00"] {
            assert!(six.contains(&end.to_owned()), "{end}");
        }
        assert!(
            six.iter()
                .all(|end| end.len() == 8 && end.contains("34abcd"))
        );
    }

    #[test]
    fn what_begins_so_comes_before_the_end_of_it() {
        let behind = behind_start("5d0c");
        for native in ["5d0c", "5d0c-1", "5d0cé", "5d0c\u{fffd}x"] {
            assert!(native < behind.as_str(), "{native}");
        }
        assert!("5d0d" > behind.as_str());
    }
}
