//! A token as an issuer signs it (RFC 7515, RFC 7519): three parts, of which the last one signs the others.
//!
//! Nothing of its claims is given out before its signature is verified, except which issuer it names.

use std::fmt;

use serde_json::Value;
use siglum_domain::{Timestamp, base64url};

use super::TokenClaims;
use super::key_set::{Algorithm, KeySet, PublicKey};

/// The longest token of an issuer, in bytes.
const TOKEN_MOST: usize = 16 << 10;

/// Why a token of an issuer is not taken. Nothing of the token is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// It has no form that is verified here.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// Nobody configured its issuer.
    #[error("no issuer of this token is configured")]
    UnknownIssuer,
    /// It is not what it says, or not for this gateway.
    #[error("the token is not valid here: {0}")]
    Invalid(&'static str),
    #[error("this token expired at {at}")]
    Expired { at: Timestamp },
    /// It is valid, and worth nothing.
    #[error("no grant of the issuer {issuer} fits this token")]
    NoGrant { issuer: String },
}

/// A token that nobody has verified. It is not shown: whoever reads it has it.
pub struct SignedToken<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    claims: TokenClaims,
    /// What is signed.
    signed: &'t str,
    signature: Vec<u8>,
}

impl<'t> SignedToken<'t> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// [`TokenRefusal::Malformed`]: it has another form, or is signed in a way that is not taken.
    pub fn parse(text: &'t str) -> Result<Self, TokenRefusal> {
        let malformed = TokenRefusal::Malformed;
        if text.len() > TOKEN_MOST {
            return Err(malformed("it is longer than 16384 bytes"));
        }
        let parts = text.rsplit_once('.').and_then(|(signed, signature)| {
            let (header, claims) = signed.split_once('.')?;
            let header: TokenClaims = json_part(header)?;
            let claims: TokenClaims = json_part(claims)?;
            Some((signed, header, claims, base64url::decode(signature)?))
        });
        let (signed, header, claims, signature) =
            parts.ok_or_else(|| malformed("it has not the form of a signed token"))?;
        let algorithm = header.get("alg").and_then(Value::as_str);
        let algorithm = algorithm.and_then(Algorithm::parse);
        let algorithm =
            algorithm.ok_or_else(|| malformed("it is not signed by RS256, ES256 or EdDSA"))?;
        if header.contains_key("crit") {
            return Err(malformed("it requires an extension"));
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(malformed("the name of its key is no text")),
        };
        Ok(Self {
            algorithm,
            key_id,
            claims,
            signed,
            signature,
        })
    }

    /// The issuer that it names, which is not verified.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        self.claims.get("iss").and_then(Value::as_str)
    }

    /// The key by which it says that it is signed.
    #[must_use]
    pub fn key_in<'k>(&self, keys: &'k KeySet) -> Option<&'k PublicKey> {
        keys.key(self.key_id.as_deref(), self.algorithm)
    }

    /// What it says, if this key of its issuer signed it.
    ///
    /// # Errors
    /// [`TokenRefusal::Invalid`]: it did not.
    pub fn verified_claims(self, key: &PublicKey) -> Result<TokenClaims, TokenRefusal> {
        match key.verifies(self.signed.as_bytes(), &self.signature) {
            true => Ok(self.claims),
            false => Err(TokenRefusal::Invalid("its signature is wrong")),
        }
    }
}

impl fmt::Debug for SignedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignedToken(…)")
    }
}

fn json_part(text: &str) -> Option<TokenClaims> {
    serde_json::from_slice(&base64url::decode(text)?).ok()
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    /// A token with this header and these claims, and the keys of whoever signed it.
    fn signed(header: &Value, claims: &Value) -> (String, KeySet) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap();
        let part = |value: &Value| base64url::encode(value.to_string().as_bytes());
        let text = format!("{}.{}", part(header), part(claims));
        let signature = base64url::encode(pair.sign(text.as_bytes()).as_ref());
        let x = base64url::encode(pair.public_key().as_ref());
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x });
        let keys = KeySet::read(&json!({ "keys": [key] }));
        (format!("{text}.{signature}"), keys)
    }

    #[test]
    fn claims_are_given_out_by_the_key_that_signed_them_alone() {
        let header = json!({ "alg": "EdDSA", "kid": "a" });
        let (text, keys) = signed(&header, &json!({ "iss": "i", "n": 1 }));
        let token = SignedToken::parse(&text).unwrap();
        assert_eq!(token.issuer(), Some("i"));
        assert_eq!(format!("{token:?}"), "SignedToken(…)");
        let key = token.key_in(&keys).unwrap();
        assert_eq!(token.verified_claims(key).unwrap()["n"], 1);
        let (other, _) = signed(&header, &json!({ "iss": "i", "n": 2 }));
        let claims = other.split('.').nth(1).unwrap();
        let parts: Vec<&str> = text.split('.').collect();
        let forged = [parts[0], claims, parts[2]].join(".");
        let token = SignedToken::parse(&forged).unwrap();
        let key = token.key_in(&keys).unwrap();
        let refused = token.verified_claims(key).unwrap_err();
        assert_eq!(refused, TokenRefusal::Invalid("its signature is wrong"));
    }

    #[test]
    fn any_other_form_is_refused_and_not_repeated() {
        let with = |header: Value| signed(&header, &json!({ "iss": "i" })).0;
        let good = with(json!({ "alg": "EdDSA" }));
        let unsigned = good.rsplit_once('.').unwrap().0;
        for text in [
            with(json!({ "alg": "none" })),
            with(json!({ "alg": "HS256", "kid": "a" })),
            with(json!({ "alg": "eddsa" })),
            with(json!({ "alg": "RS512" })),
            with(json!({ "kid": "a" })),
            with(json!({ "alg": "EdDSA", "kid": 1 })),
            with(json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false })),
            with(json!(["EdDSA"])),
            String::new(),
            "..".to_owned(),
            "a.b.c".to_owned(),
            unsigned.to_owned(),
            format!("{good}="),
            format!("{good}.x"),
            format!("x.{good}"),
            format!("{unsigned}.{}", "A".repeat(TOKEN_MOST)),
        ] {
            let refused = SignedToken::parse(&text).unwrap_err();
            assert!(matches!(refused, TokenRefusal::Malformed(_)), "{text}");
            assert!(!refused.to_string().contains("eyJ"), "{refused}");
        }
        assert!(SignedToken::parse(&good).is_ok());
    }
}
