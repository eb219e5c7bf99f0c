//! The keys by which an issuer signs (RFC 7517), as far as this program verifies what they sign.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::Value;
use siglum_domain::base64url;

/// The most keys of an issuer that are read.
const KEYS_MOST: usize = 64;
/// What stands before the coordinates of a point of a curve that are both written.
const UNCOMPRESSED: u8 = 4;

/// How a token is signed. There is no other way here: none without a signature, and none by a secret that both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::EdDsa];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of a word.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// A public key of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    id: Option<String>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    /// Modulus and exponent, without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point of P-256, uncompressed.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// Reads a key; nothing for one that is for something else, or of another kind.
    fn read(key: &Value) -> Option<Self> {
        let word = |name: &str| key[name].as_str();
        let bytes = |name: &str| base64url::decode(word(name)?);
        let coordinate = |name: &str| bytes(name).filter(|bytes| bytes.len() == 32);
        if word("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let material = match (word("kty")?, word("crv")) {
            ("RSA", _) => Material::Rsa {
                n: without_zeros(&bytes("n")?),
                e: without_zeros(&bytes("e")?),
            },
            ("EC", Some("P-256")) => {
                let point = [vec![UNCOMPRESSED], coordinate("x")?, coordinate("y")?];
                Material::P256(point.concat())
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(coordinate("x")?),
            _ => return None,
        };
        let key = Self {
            id: word("kid").map(str::to_owned),
            material,
        };
        let is_for = |word: &str| word == key.algorithm().as_str();
        word("alg").is_none_or(is_for).then_some(key)
    }

    /// The one way in which it signs.
    const fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Rsa { .. } => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether it signed a message.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Material::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Material::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

fn without_zeros(number: &[u8]) -> Vec<u8> {
    let digits = number.iter().skip_while(|byte| **byte == 0);
    digits.copied().collect()
}

/// The keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// Reads a JSON Web Key Set; what in it is not for signatures, or of another kind, is left out.
    #[must_use]
    pub fn read(document: &Value) -> Self {
        let keys = document["keys"].as_array().into_iter().flatten();
        Self(keys.take(KEYS_MOST).filter_map(PublicKey::read).collect())
    }

    /// Whether there is none that could have signed anything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key of a name that signs in this way. Without a name, only one can be meant.
    pub(super) fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&PublicKey> {
        let mut fitting = self.0.iter().filter(|key| key.algorithm() == algorithm);
        if let Some(id) = id {
            return fitting.find(|key| key.id.as_deref() == Some(id));
        }
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_of_other_kinds_and_for_other_uses_are_left_out() {
        let x = base64url::encode(&[7; 32]);
        let set = KeySet::read(&json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x },
            { "kty": "OKP", "crv": "Ed25519", "kid": "enc", "x": x, "use": "enc" },
            { "kty": "OKP", "crv": "Ed25519", "kid": "alg", "x": x, "alg": "ES256" },
            { "kty": "OKP", "crv": "Ed448", "kid": "curve", "x": x },
            { "kty": "OKP", "crv": "Ed25519", "kid": "short", "x": "AAAA" },
            { "kty": "EC", "crv": "P-256", "kid": "b", "x": x, "y": x, "alg": "ES256" },
            { "kty": "EC", "crv": "P-384", "kid": "c", "x": x, "y": x },
            { "kty": "oct", "kid": "d", "k": x },
            { "kty": "RSA", "kid": "e", "n": "AAEC", "e": "AQAB", "use": "sig" },
            7,
        ] }));
        let ids: Vec<_> = set.0.iter().filter_map(|key| key.id.as_deref()).collect();
        assert_eq!(ids, ["a", "b", "e"]);
        let Material::Rsa { n, .. } = &set.0[2].material else {
            panic!("{set:?}");
        };
        assert_eq!(n.as_slice(), [1, 2], "without leading zeros");
        assert!(set.key(Some("a"), Algorithm::EdDsa).is_some());
        assert!(set.key(Some("a"), Algorithm::Rs256).is_none());
        assert!(set.key(Some("x"), Algorithm::EdDsa).is_none());
        assert!(set.key(None, Algorithm::EdDsa).is_some());
        assert!(KeySet::read(&json!([])).is_empty());
    }

    #[test]
    fn without_a_name_one_of_several_keys_is_not_guessed() {
        let key = |kid: &str| json!({ "kty": "OKP", "crv": "Ed25519", "kid": kid, "x": base64url::encode(&[7; 32]) });
        let set = KeySet::read(&json!({ "keys": [key("a"), key("b")] }));
        assert!(set.key(None, Algorithm::EdDsa).is_none());
    }
}
