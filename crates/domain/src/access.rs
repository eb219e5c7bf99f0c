//! Credentials: who may call the gateway, and for what.
//!
//! A token is shown once, to whoever makes it. What is kept of it is its digest: its text holds 256 bits of
//! randomness, so that nothing can be told from that.

mod identity;
mod limits;

use std::fmt;

pub use identity::identity_id;
pub use limits::{Limits, LimitsError, Right};

use crate::digest::Hasher;
use crate::{SessionId, Tenant};

/// The tenant of a store that has one alone.
pub const DEFAULT_TENANT: &str = "default";

/// What every token begins with.
const HEAD: &str = "siglum_";
/// The digits of the random part.
const DIGITS: usize = 64;

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// To create, read and end sessions.
    Launcher,
    /// To do what a launcher may, and to attest that a session made a commit.
    Attester,
    /// To act for one session alone.
    Session(SessionId),
    /// To hand over telemetry, and for nothing else: it stands in settings of agents.
    Telemetry,
    /// To read who made which commit, and for nothing else: it stands in the settings of pipelines.
    Read,
}

impl Scope {
    /// The session that it is limited to.
    #[must_use]
    pub const fn session(self) -> Option<SessionId> {
        match self {
            Self::Launcher | Self::Attester | Self::Telemetry | Self::Read => None,
            Self::Session(session) => Some(session),
        }
    }

    /// The scope of what is limited to this session, if to any.
    #[must_use]
    pub fn for_session(session: Option<SessionId>) -> Self {
        session.map_or(Self::Launcher, Self::Session)
    }

    /// The scope and the limits as they are stored: what its session does not tell is in words. A text that this program
    /// does not know is the least that there is.
    #[must_use]
    pub fn stored(session: Option<SessionId>, limit: Option<&str>) -> (Self, Limits) {
        let mut words = limit.into_iter().flat_map(str::split_whitespace).peekable();
        let scope = match words.peek().copied() {
            Some("attester") => Self::Attester,
            Some("read") => Self::Read,
            Some("telemetry") => Self::Telemetry,
            _ => Self::for_session(session),
        };
        words.next_if(|word| scope.word() == Some(*word));
        match Limits::from_words(words) {
            Some(limits) if limit.is_none_or(|text| !text.is_empty()) => (scope, limits),
            _ => (Self::Telemetry, Limits::default()),
        }
    }

    /// The text for [`Scope::stored`]; none where its session tells all. Programs that know no limits read one as the
    /// least that there is.
    #[must_use]
    pub fn limit(self, limits: &Limits) -> Option<String> {
        let mut words: Vec<String> = self.word().map(str::to_owned).into_iter().collect();
        words.extend(limits.words());
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What stands for it where it is stored, beside its session.
    const fn word(self) -> Option<&'static str> {
        match self {
            Self::Launcher | Self::Session(_) => None,
            Self::Attester | Self::Telemetry | Self::Read => Some(self.as_str()),
        }
    }

    /// Tells whether it allows to act for a session.
    #[must_use]
    pub fn allows(self, session: SessionId) -> bool {
        match self {
            Self::Launcher | Self::Attester => true,
            Self::Session(own) => own == session,
            Self::Telemetry | Self::Read => false,
        }
    }

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Launcher => "launcher",
            Self::Attester => "attester",
            Self::Session(_) => "session",
            Self::Telemetry => "telemetry",
            Self::Read => "read",
        }
    }
}

/// The text is not a token. What the text was is not told: it may be one with a slip in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token: {0}")]
pub struct NotAToken(&'static str);

/// The text of a token, `siglum_<tenant>_<64 hexadecimal digits>`. Never stored, never printed but once.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: String,
    tenant: Tenant,
}

impl Secret {
    /// Makes a token for a tenant of 32 random bytes.
    #[must_use]
    pub fn mint(tenant: &Tenant, random: &[u8; 32]) -> Self {
        let mut text = format!("{HEAD}{tenant}_");
        for byte in random {
            text.push(char::from(digit(byte >> 4)));
            text.push(char::from(digit(byte & 0xf)));
        }
        Self {
            text,
            tenant: tenant.clone(),
        }
    }

    /// Takes the text of a token.
    ///
    /// # Errors
    /// The rule that the text breaks, and nothing of the text.
    pub fn parse(text: &str) -> Result<Self, NotAToken> {
        let rest = text
            .strip_prefix(HEAD)
            .ok_or(NotAToken("it does not begin with `siglum_`"))?;
        // A tenant may have underscores, also as its last character; the digits have none.
        let (tenant, digits) = rest
            .rsplit_once('_')
            .ok_or(NotAToken("it has no tenant or no digits"))?;
        let plain = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != DIGITS || !digits.bytes().all(plain) {
            return Err(NotAToken("it does not end with 64 hexadecimal digits"));
        }
        let tenant = Tenant::new(tenant).map_err(|_| NotAToken("it does not name a tenant"))?;
        Ok(Self {
            text: text.to_owned(),
            tenant,
        })
    }

    /// Whether a text is meant to be a token, whole or not: no other credential begins like one.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(HEAD)
    }

    /// Whose data it gives access to.
    #[must_use]
    pub const fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// What is kept of it, in hex.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = Hasher::new();
        hasher.update(self.text.as_bytes());
        hasher.hex()
    }

    /// The text, to be handed to whoever will use it and to nobody else.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

/// A digit of hex.
const fn digit(value: u8) -> u8 {
    match value {
        0..=9 => b'0' + value,
        _ => b'a' + value - 10,
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({HEAD}{}_…)", self.tenant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;

    #[test]
    fn what_a_scope_is_comes_back_as_it_was_stored() {
        let session = |n| SessionId::from_uuid(uuid::Uuid::from_u128(n));
        let repositories = || ["github.com/o/r", "rep_1"].map(str::to_owned);
        let all_limits = [
            Limits::default(),
            Limits::new([Right::Read, Right::Sync], []).unwrap(),
            Limits::new([], repositories()).unwrap(),
            Limits::new(Right::ALL, repositories()).unwrap(),
        ];
        for scope in [
            Scope::Launcher,
            Scope::Attester,
            Scope::Session(session(1)),
            Scope::Telemetry,
            Scope::Read,
        ] {
            for limits in &all_limits {
                let stored = Scope::stored(scope.session(), scope.limit(limits).as_deref());
                assert_eq!(stored, (scope, limits.clone()));
            }
        }
        assert_eq!(Scope::Launcher.limit(&Limits::default()), None);
        assert_eq!(
            Scope::Read.limit(&Limits::default()).as_deref(),
            Some("read")
        );
        let text = Scope::Launcher.limit(&all_limits[3]);
        assert_eq!(
            text.as_deref(),
            Some("may=sync,read,run,drive,admin in=github.com/o/r in=rep_1")
        );
        let least = (Scope::Telemetry, Limits::default());
        for newer in [
            "newer",
            "may=read newer",
            "may=newer",
            "read newer",
            "may=",
            "",
        ] {
            let stored = Scope::stored(Some(session(1)), Some(newer));
            assert_eq!(stored, least, "{newer}");
        }
        let allowed = |scope: Scope| [scope.allows(session(1)), scope.allows(session(2))];
        assert_eq!(allowed(Scope::Launcher), [true, true]);
        assert_eq!(allowed(Scope::Attester), [true, true]);
        assert_eq!(allowed(Scope::Session(session(1))), [true, false]);
        assert_eq!(allowed(Scope::Telemetry), [false, false]);
        assert_eq!(allowed(Scope::Read), [false, false]);
    }

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    #[test]
    fn the_text_names_its_tenant_whatever_that_is_called() {
        for name in [
            "default",
            "a",
            "_",
            "a_",
            "__a__b__",
            "siglum_default",
            "A.b:c-d_e",
            &"x".repeat(64),
        ] {
            let secret = Secret::mint(&tenant(name), &[0x5a; 32]);
            assert_eq!(
                secret.reveal(),
                format!("siglum_{name}_{}", "5a".repeat(32))
            );
            let parsed = Secret::parse(secret.reveal()).unwrap();
            assert_eq!(parsed.tenant().as_str(), name);
            assert_eq!(parsed, secret);
            assert_eq!(parsed.digest(), secret.digest());
        }
    }

    #[test]
    fn every_value_of_a_byte_is_written_in_hex() {
        let random = std::array::from_fn(|at| u8::try_from(at * 8 + at % 8).unwrap());
        let secret = Secret::mint(&tenant("t"), &random);
        let hex: String = random.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(secret.reveal(), format!("siglum_t_{hex}"));
    }

    #[test]
    fn anything_else_is_refused_and_not_repeated() {
        let hex = "0123456789abcdef".repeat(4);
        for text in [
            String::new(),
            " ".to_owned(),
            hex.clone(),
            format!("siglum_{hex}"),
            format!("siglum__{hex}"),
            format!("Siglum_t_{hex}"),
            format!(" siglum_t_{hex}"),
            format!("siglum_t_{hex} "),
            format!("siglum_t_{hex}\n"),
            format!("siglum_t_{}", &hex[1..]),
            format!("siglum_t_{hex}0"),
            format!("siglum_t_{}", hex.to_uppercase()),
            format!("siglum_t t_{hex}"),
            format!("siglum_t/../t_{hex}"),
            format!("siglum_ä_{hex}"),
            format!("siglum_{}_{hex}", "t".repeat(65)),
            format!("siglum_t_{}ä", &hex[2..]),
        ] {
            let refused = Secret::parse(&text).unwrap_err();
            let shown = format!("{refused} {refused:?}");
            assert!(!shown.contains("012345"), "{shown}");
        }
    }

    #[test]
    fn neither_debug_nor_digest_shows_it() {
        let secret = Secret::mint(&tenant("t"), &[0xab; 32]);
        for shown in [format!("{secret:?}"), secret.digest()] {
            assert!(!shown.contains("abab"), "{shown}");
        }
        let other = Secret::mint(&tenant("u"), &[0xab; 32]);
        assert_ne!(
            secret.digest(),
            other.digest(),
            "the tenant is part of what is digested"
        );
    }

    #[test]
    fn the_redactor_takes_it_out() {
        let hex = "3f786850e387550fdab836ed7e6dc8819f86d081884c7d659a2feaa0c55ad015";
        for tenant in ["default", "_", "a.b:c-_", &"x".repeat(64)] {
            let text = format!("Authorization was siglum_{tenant}_{hex}, as told");
            let redacted = Redactor::shared().redact(&text);
            assert!(!redacted.as_str().contains("3f78"), "{redacted}");
        }
    }
}
