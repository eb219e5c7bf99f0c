//! Who comes with the token of an issuer.

use crate::TokenId;
use crate::digest::Hasher;

/// The digits of an id.
const DIGITS: usize = 32;

/// The id under which somebody is known whom an issuer calls `subject`: the same with each of their tokens, and nobody
/// else's. No token of this ledger has it.
///
/// # Panics
/// Never: digits of a digest are those of an id.
#[must_use]
pub fn identity_id(issuer: &str, subject: &str) -> TokenId {
    let mut hasher = Hasher::new();
    for part in ["siglum identity", issuer, subject] {
        hasher.field(part.as_bytes());
    }
    let digits = &hasher.hex()[..DIGITS];
    let id = format!("{}_{digits}", TokenId::PREFIX);
    id.parse().expect("because it has the form of an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_comes_again_is_the_same_and_another_one_is_not() {
        let id = identity_id("https://a.example", "1");
        assert_eq!(id, identity_id("https://a.example", "1"));
        for (issuer, subject) in [
            ("https://a.example", "2"),
            ("https://b.example", "1"),
            ("https://a.example1", ""),
        ] {
            assert_ne!(id, identity_id(issuer, subject));
        }
    }
}
