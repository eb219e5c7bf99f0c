//! An issuer of the configuration, and who its tokens say that somebody is.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use siglum_domain::access::{Limits, Scope, identity_id};
use siglum_domain::{Tenant, Timestamp, TokenId, legible};
use siglum_egress::{Address, IssuerError, Plain, Provider, Timeouts};

use super::grant::{Grant, Public, claim};
use super::{GrantForm, KeySet, TokenClaims, TokenRefusal};
use crate::identity::access::Caller;

/// How long an issuer may take.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(3),
    whole: Duration::from_secs(5),
};
/// How far the clock of an issuer may be ahead, in seconds. Behind it is never: what expired has expired.
const AHEAD_MOST: i64 = 60;
/// The longest name of an issuer, and of whom it names, in bytes.
const NAME_MOST: usize = 32;
const SUBJECT_MOST: usize = 500;
/// The longest text of another field, in bytes.
const TEXT_MOST: usize = 500;
/// How much of a name, and of a subject beside it or alone, is shown, in characters.
const NAME_SHOWN: usize = 50;
const SUBJECT_SHOWN: usize = 60;
const SUBJECT_ALONE: usize = 110;
/// By what people are called, where the configuration says nothing.
const NAMES: [&str; 3] = ["preferred_username", "email", "name"];
/// What is asked for at a login, where the configuration says nothing: with a name, and for longer than one token holds.
const SCOPES: [&str; 4] = ["openid", "profile", "email", "offline_access"];
/// Hosts whose tokens anybody gets, and those that anybody gets for jobs.
const EVERYBODYS: [&str; 2] = ["accounts.google.com", "gitlab.com"];
const EVERYBODYS_JOBS: [&str; 1] = ["token.actions.githubusercontent.com"];

/// An issuer as a configuration has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuerForm {
    /// Its address, exactly as it stands in its tokens.
    pub url: String,
    /// For whom its tokens must be.
    pub audience: String,
    /// As which client people log in; nobody does without it.
    pub client_id: Option<String>,
    /// What is asked for at a login.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The claim that people are called by.
    pub name_claim: Option<String>,
    /// Whose data its tokens give access to.
    pub tenant: Option<String>,
    /// What its tokens are worth: the first one that fits a token counts.
    #[serde(default, rename = "grant")]
    pub grants: Vec<GrantForm>,
}

/// An issuer breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IssuerFormError(String);

/// An issuer that keeps to the rules.
#[derive(Debug, Clone)]
pub struct Issuer {
    name: String,
    url: String,
    audience: String,
    client_id: Option<String>,
    scopes: Vec<String>,
    name_claim: Option<String>,
    tenant: Tenant,
    grants: Vec<Grant>,
}

/// Somebody whom an issuer names, with what they may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The same each time.
    pub id: TokenId,
    /// What the issuer calls them.
    pub subject: String,
    /// What people read: a name if there is one, the subject, and the issuer.
    pub name: String,
    pub scope: Scope,
    pub limits: Limits,
    /// From then on it is worth nothing.
    pub expires_at: Timestamp,
}

impl Identity {
    /// The same as whoever has a token of ours.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller {
            token: self.id,
            name: self.name.clone(),
            scope: self.scope,
            limits: self.limits.clone(),
            note_due: false,
        }
    }
}

impl Issuer {
    /// Checks an issuer. Its tokens give access to the data of `tenant`, unless it names another one.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(name: &str, form: IssuerForm, tenant: &Tenant) -> Result<Self, IssuerFormError> {
        let wrong = |field: &str, rule: &str| IssuerFormError(format!("{field}: {rule}"));
        let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if !(1..=NAME_MOST).contains(&name.len()) || !name.bytes().all(known) {
            return Err(wrong("name", "must have 1 to 32 of a-z, 0-9 and -"));
        }
        let address =
            Address::parse(&form.url, Plain::Loopback).map_err(|error| wrong("url", error.rule))?;
        let is_word = |text: &str| {
            (1..=TEXT_MOST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
        };
        let words = [("audience", Some(&form.audience))];
        let words = words.into_iter().chain([
            ("client_id", form.client_id.as_ref()),
            ("name_claim", form.name_claim.as_ref()),
        ]);
        let words = words.chain(form.scopes.iter().map(|scope| ("scopes", Some(scope))));
        for (field, word) in words {
            if word.is_some_and(|word| !is_word(word)) {
                let rule = "must have 1 to 500 printable ASCII characters, without blanks";
                return Err(wrong(field, rule));
            }
        }
        let tenant = match form.tenant {
            None => tenant.clone(),
            Some(text) => Tenant::new(text).map_err(|error| wrong("tenant", error.rule))?,
        };
        let public = match address.host() {
            host if EVERYBODYS_JOBS.contains(&host) => Public::EverybodysJobs,
            host if EVERYBODYS.contains(&host) => Public::Everybody,
            _ => Public::Members,
        };
        if form.grants.is_empty() {
            return Err(wrong("grant", "without one, no token is worth anything"));
        }
        let mut grants = Vec::new();
        for (nth, grant) in form.grants.into_iter().enumerate() {
            let grant = Grant::parse(grant, public);
            grants.push(grant.map_err(|rule| wrong(&format!("grant {}", nth + 1), &rule))?);
        }
        let scopes = match form.scopes.is_empty() {
            true => SCOPES.map(str::to_owned).to_vec(),
            false => form.scopes,
        };
        Ok(Self {
            name: name.to_owned(),
            url: form.url,
            audience: form.audience,
            client_id: form.client_id,
            scopes,
            name_claim: form.name_claim,
            tenant,
            grants,
        })
    }

    /// What the operator calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address, exactly as it stands in its tokens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// For whom its tokens must be.
    #[must_use]
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// As which client people log in, if they do.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }

    /// What is asked for at a login.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Whose data its tokens give access to.
    #[must_use]
    pub const fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Asks it by which keys it signs.
    ///
    /// # Errors
    /// Why there are none.
    pub fn fetch_keys(&self) -> Result<KeySet, IssuerError> {
        let provider = Provider::discover(&self.url, TIMEOUTS)?;
        let keys = KeySet::read(&provider.key_set(TIMEOUTS)?);
        match keys.is_empty() {
            true => Err(IssuerError::Strange {
                address: self.url.clone(),
                why: "it has no key for RS256, ES256 or EdDSA".to_owned(),
            }),
            false => Ok(keys),
        }
    }

    /// Who a token says that somebody is, whose signature was verified.
    ///
    /// # Errors
    /// Why it is worth nothing here, or nothing now.
    pub fn identity(&self, claims: &TokenClaims, now: Timestamp) -> Result<Identity, TokenRefusal> {
        let invalid = TokenRefusal::Invalid;
        if claims.get("iss").and_then(Value::as_str) != Some(self.url.as_str()) {
            return Err(TokenRefusal::UnknownIssuer);
        }
        if !claims.get("aud").is_some_and(|aud| self.is_for_us(aud)) {
            return Err(invalid("it is for another audience"));
        }
        let expires_at = claims.get("exp").and_then(time);
        let expires_at = expires_at.ok_or_else(|| invalid("it does not say when it expires"))?;
        if expires_at <= now {
            return Err(TokenRefusal::Expired { at: expires_at });
        }
        let latest = now.plus_millis(AHEAD_MOST * 1_000);
        for name in ["nbf", "iat"] {
            match claims.get(name).map(time) {
                None => {}
                Some(Some(at)) if at <= latest => {}
                Some(Some(_)) => return Err(invalid("it is not valid yet")),
                Some(None) => return Err(invalid("one of its times is none")),
            }
        }
        let subject = claims.get("sub").and_then(Value::as_str);
        let subject = subject.filter(|subject| (1..=SUBJECT_MOST).contains(&subject.len()));
        let subject = subject.ok_or_else(|| invalid("it does not say whose it is"))?;
        let granted = self.grants.iter().find_map(|grant| grant.applied(claims));
        let (scope, limits) = granted.ok_or_else(|| TokenRefusal::NoGrant {
            issuer: self.name.clone(),
        })?;
        Ok(Identity {
            id: identity_id(&self.url, subject),
            subject: subject.to_owned(),
            name: self.shown_name(claims, subject),
            scope,
            limits,
            expires_at,
        })
    }

    /// Whether we are among those that a token is for.
    fn is_for_us(&self, audiences: &Value) -> bool {
        match audiences {
            Value::String(one) => *one == self.audience,
            Value::Array(several) => several.iter().any(|one| one == self.audience.as_str()),
            _ => false,
        }
    }

    fn shown_name(&self, claims: &TokenClaims, subject: &str) -> String {
        let text = |name: &str| {
            let text = claim(claims, name).and_then(Value::as_str);
            text.filter(|text| !text.trim().is_empty())
        };
        let name = match &self.name_claim {
            Some(claim) => text(claim),
            None => NAMES.into_iter().find_map(text),
        };
        let issuer = &self.name;
        match name {
            Some(name) => {
                let (name, subject) = (cut(name, NAME_SHOWN), cut(subject, SUBJECT_SHOWN));
                format!("{name} ({subject}) of {issuer}")
            }
            None => format!("{} of {issuer}", cut(subject, SUBJECT_ALONE)),
        }
    }
}

/// A time in seconds since the epoch, which may be a fraction.
fn time(value: &Value) -> Option<Timestamp> {
    let seconds = value.as_i64().or_else(|| Some(value.as_f64()? as i64))?;
    Some(Timestamp::from_seconds(seconds))
}

/// A text on one line, of so many characters at most.
fn cut(text: &str, most: usize) -> String {
    let line = legible::line(text);
    match line.chars().count() > most {
        true => line.chars().take(most - 1).chain(['…']).collect(),
        false => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use siglum_domain::access::Right;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn form() -> IssuerForm {
        let grant = |group: &str, may: &str| GrantForm {
            claims: BTreeMap::from([("groups".to_owned(), group.to_owned())]),
            may: vec![may.to_owned()],
            ..GrantForm::default()
        };
        IssuerForm {
            url: "https://login.example".to_owned(),
            audience: "siglum".to_owned(),
            client_id: None,
            scopes: Vec::new(),
            name_claim: None,
            tenant: None,
            grants: vec![grant("admins", "admin"), grant("dev", "read")],
        }
    }

    fn parsed(form: IssuerForm) -> Result<Issuer, IssuerFormError> {
        Issuer::parse("corp", form, &Tenant::new("default").unwrap())
    }

    /// Who a token says that it is, with these claims instead of good ones.
    fn identified(other: &Value) -> Result<Identity, TokenRefusal> {
        let mut claims = json!({ "iss": "https://login.example", "aud": "siglum", "sub": "7",
            "exp": NOW + 300, "groups": ["dev"], "email": "ann@example.org" });
        let (Value::Object(claims), Value::Object(other)) = (&mut claims, other) else {
            panic!("objects");
        };
        claims.extend(other.clone());
        let issuer = parsed(form()).unwrap();
        issuer.identity(claims, Timestamp::from_seconds(NOW))
    }

    #[test]
    fn an_identity_has_a_name_and_what_the_first_grant_that_fits_gives() {
        let ann = identified(&json!({})).unwrap();
        assert_eq!(ann.name, "ann@example.org (7) of corp");
        assert_eq!(ann.expires_at, Timestamp::from_seconds(NOW + 300));
        assert!(ann.limits.allows(Right::Read) && !ann.limits.allows(Right::Admin));
        let both = identified(&json!({ "groups": ["dev", "admins"], "name": "Ann" })).unwrap();
        assert!(both.limits.allows(Right::Admin) && !both.limits.allows(Right::Read));
        assert_eq!(both.id, ann.id);
        let other = identified(&json!({ "sub": "8", "email": "\u{1b}[2J\n" })).unwrap();
        assert_ne!(other.id, ann.id);
        assert!(!other.name.chars().any(char::is_control), "{}", other.name);
        let long = identified(&json!({ "sub": "x".repeat(500), "email": "ä".repeat(500) }));
        assert!(long.unwrap().name.chars().count() < 160);
        for aud in [json!(["other", "siglum"]), json!("siglum")] {
            assert!(identified(&json!({ "aud": aud })).is_ok());
        }
        for early in [NOW, NOW + AHEAD_MOST] {
            assert!(identified(&json!({ "nbf": early, "iat": early })).is_ok());
        }
    }

    #[test]
    fn a_token_for_others_or_for_another_time_is_refused() {
        let invalid = |other: Value| {
            let refused = identified(&other).unwrap_err();
            assert!(
                matches!(refused, TokenRefusal::Invalid(_)),
                "{other}: {refused}"
            );
        };
        for other in [
            json!({ "aud": "other" }),
            json!({ "aud": ["siglum2"] }),
            json!({ "aud": null }),
            json!({ "aud": { "siglum": 1 } }),
            json!({ "exp": null }),
            json!({ "exp": "2099-01-01" }),
            json!({ "nbf": NOW + AHEAD_MOST + 1 }),
            json!({ "nbf": "soon" }),
            json!({ "iat": NOW + 3_600 }),
            json!({ "sub": "" }),
            json!({ "sub": 7 }),
            json!({ "sub": "x".repeat(501) }),
        ] {
            invalid(other);
        }
        let expired = |exp: Value| identified(&json!({ "exp": exp })).unwrap_err();
        for exp in [
            json!(NOW),
            json!(NOW - 1),
            json!(0),
            json!(-1),
            json!(NOW as f64 - 0.5),
        ] {
            let refused = expired(exp.clone());
            assert!(
                matches!(refused, TokenRefusal::Expired { .. }),
                "{exp}: {refused}"
            );
        }
        let other = identified(&json!({ "iss": "https://other.example" }));
        assert_eq!(other, Err(TokenRefusal::UnknownIssuer));
        let nobody = identified(&json!({ "groups": [] }));
        assert!(
            matches!(nobody, Err(TokenRefusal::NoGrant { .. })),
            "{nobody:?}"
        );
    }

    #[test]
    fn a_configuration_that_breaks_a_rule_is_refused_with_its_field() {
        let refuses = |change: fn(&mut IssuerForm), field: &str| {
            let mut form = form();
            change(&mut form);
            let refused = parsed(form).unwrap_err().to_string();
            assert!(refused.starts_with(field), "{refused}");
        };
        refuses(
            |f| f.url = "http://login.example".to_owned(),
            "url: without encryption",
        );
        refuses(|f| f.url = "login.example".to_owned(), "url");
        refuses(|f| f.audience = String::new(), "audience");
        refuses(|f| f.client_id = Some("a b".to_owned()), "client_id");
        refuses(|f| f.scopes = vec!["a b".to_owned()], "scopes");
        refuses(|f| f.tenant = Some("a b".to_owned()), "tenant");
        refuses(|f| f.grants.clear(), "grant");
        refuses(|f| f.grants[1].may.clear(), "grant 2");
        let mut form = form();
        form.url = "http://127.0.0.1:7".to_owned();
        assert!(parsed(form).is_ok());
    }
}
