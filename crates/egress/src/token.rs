//! A credential on its way to a gateway.

use std::fmt;

/// The longest token, in bytes: those of issuers say much.
const MOST: usize = 16 << 10;

/// What a gateway knows us by. It stands in one header and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why a text is no token; it does not tell the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token must be 1 to 16384 printable characters without blanks")]
pub struct TokenError;

impl Token {
    /// Takes a token; blanks and line ends around it, as files have them, do not count.
    ///
    /// # Errors
    /// It cannot stand in a header.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_good =
            (1..=MOST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        is_good.then(|| Self(text.to_owned())).ok_or(TokenError)
    }

    /// The token itself, to be stored where only its owner reads.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The value of the header.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let token = Token::new(" sgl_secret\n").unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(token.header(), "Bearer sgl_secret");
        for bad in ["", " \n", "a b", "a\nb", "ä", &"x".repeat(MOST + 1)] {
            assert_eq!(Token::new(bad), Err(TokenError));
        }
    }
}
