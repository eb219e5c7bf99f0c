//! What a token is worth: which claims it must have, and the rights and repositories that they give.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use siglum_domain::RepositoryId;
use siglum_domain::access::{Limits, Right, Scope};

use super::TokenClaims;
use crate::identity::repositories::remote_of;

/// The longest text that a claim is compared with, in bytes.
const TEXT_MOST: usize = 500;
/// What begins otherwise and ends anyhow: all texts with this beginning.
const ANYTHING: char = '*';
/// Claims that say of which repository the job of a CI system is.
const OF_A_JOB: &[&str] = &[
    "repository",
    "repository_id",
    "repository_owner",
    "repository_owner_id",
    "project_path",
    "project_id",
    "namespace_path",
    "namespace_id",
    "job_workflow_ref",
    "workflow_ref",
];
/// Claims that say, beside those, who it is.
const OF_SOMEBODY: &[&str] = &["sub", "email", "hd", "groups", "groups_direct"];

/// A grant as a configuration has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantForm {
    /// Claims by their names, with what each must be; a dot leads into an object.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
    /// What such a token may: the words of rights.
    #[serde(default)]
    pub may: Vec<String>,
    /// The repositories that it is limited to, by remote or id; `{claim}` stands for what a claim says.
    #[serde(default)]
    pub repositories: Vec<String>,
    /// `launcher`, or `read` for who made which commit and nothing else.
    pub kind: Option<String>,
}

/// Who may have a token of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Public {
    /// Whoever belongs to the company that runs it.
    Members,
    /// Anybody.
    Everybody,
    /// Anybody, for the jobs of their repositories.
    EverybodysJobs,
}

/// What tokens with some claims are worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    claims: BTreeMap<String, Pattern>,
    scope: Scope,
    rights: Vec<Right>,
    repositories: Vec<String>,
}

impl Grant {
    /// Checks a grant of an issuer.
    pub(super) fn parse(form: GrantForm, public: Public) -> Result<Self, String> {
        let (scope, rights) = scope_and_rights(&form)?;
        if form.claims.is_empty() {
            return Err(
                "`claims` must name a claim at least; `{ sub = \"*\" }` is everybody".to_owned(),
            );
        }
        let mut claims = BTreeMap::new();
        for (name, text) in form.claims {
            let pattern = Pattern::parse(&text).map_err(|rule| format!("`{name}` {rule}"))?;
            claims.insert(name, pattern);
        }
        let names = |known: &[&str]| {
            let narrows = |(name, pattern): (&String, &Pattern)| {
                known.contains(&name.as_str()) && pattern.says_whose()
            };
            claims.iter().any(narrows)
        };
        if public != Public::Members && !names(OF_A_JOB) && !names(OF_SOMEBODY) {
            return Err(
                "anybody gets tokens of this issuer: `claims` must say whose are meant, such as `repository_owner`"
                    .to_owned(),
            );
        }
        let is_of_jobs = claims.keys().any(|name| OF_A_JOB.contains(&name.as_str()));
        if (is_of_jobs || public == Public::EverybodysJobs) && form.repositories.is_empty() {
            return Err(
                "`repositories` must say what jobs are limited to, such as \"github.com/{repository}\""
                    .to_owned(),
            );
        }
        for text in &form.repositories {
            check_repository(text)?;
        }
        Limits::new([], form.repositories.iter().cloned())
            .map_err(|error| format!("`repositories`: {error}"))?;
        Ok(Self {
            claims,
            scope,
            rights,
            repositories: form.repositories,
        })
    }

    /// What a token with these claims may; nothing where it is not meant, or where a repository that it is limited to
    /// cannot be told from them.
    pub(super) fn applied(&self, claims: &TokenClaims) -> Option<(Scope, Limits)> {
        let fits = |(name, pattern): (&String, &Pattern)| {
            claim(claims, name).is_some_and(|value| pattern.matches(value))
        };
        if !self.claims.iter().all(fits) {
            return None;
        }
        let names = self.repositories.iter();
        let names: Option<Vec<String>> = names.map(|text| filled(text, claims)).collect();
        let limits = Limits::new(self.rights.iter().copied(), names?).ok()?;
        Some((self.scope, limits))
    }
}

fn scope_and_rights(form: &GrantForm) -> Result<(Scope, Vec<Right>), String> {
    let words = Right::ALL.map(Right::as_str).join(", ");
    match form.kind.as_deref() {
        None | Some("launcher") if form.may.is_empty() => {
            Err(format!("`may` must name a right at least: {words}"))
        }
        None | Some("launcher") => {
            let right = |word: &String| {
                let right = Right::parse(word);
                right.ok_or_else(|| format!("`may` takes {words} (got `{word}`)"))
            };
            let rights: Result<_, String> = form.may.iter().map(right).collect();
            Ok((Scope::Launcher, rights?))
        }
        Some("read") if form.may.is_empty() => Ok((Scope::Read, Vec::new())),
        Some("read") => Err("`may` says nothing of the kind `read`; leave it out".to_owned()),
        Some(other) => Err(format!(
            "`kind` must be `launcher` or `read` (got `{other}`)"
        )),
    }
}

/// What a claim must be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exactly(String),
    Beginning(String),
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() || text.len() > TEXT_MOST {
            return Err("must have 1 to 500 bytes");
        }
        let Some(beginning) = text.strip_suffix(ANYTHING) else {
            return match text.contains(ANYTHING) {
                true => Err("may have a `*` at its end only"),
                false => Ok(Self::Exactly(text.to_owned())),
            };
        };
        // `acme*` would be `acme-of-somebody-else`, too.
        let is_whole = beginning.is_empty() || beginning.ends_with(['/', ':']);
        match is_whole && !beginning.contains(ANYTHING) {
            true => Ok(Self::Beginning(beginning.to_owned())),
            false => Err("may have a `*` behind `/` or `:` only, or alone"),
        }
    }

    /// Whether it narrows a claim down to somebody: `*` does not, and `repo:*` does not either.
    fn says_whose(&self) -> bool {
        match self {
            Self::Exactly(_) => true,
            Self::Beginning(beginning) => beginning.contains('/'),
        }
    }

    /// Of several values, one is enough.
    fn matches(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.matches_text(text),
            Value::Bool(_) | Value::Number(_) => self.matches_text(&value.to_string()),
            Value::Array(items) => items
                .iter()
                .filter_map(Value::as_str)
                .any(|text| self.matches_text(text)),
            Value::Null | Value::Object(_) => false,
        }
    }

    fn matches_text(&self, text: &str) -> bool {
        match self {
            Self::Exactly(expected) => text == expected,
            Self::Beginning(beginning) => text.starts_with(beginning),
        }
    }
}

/// A claim by its name: as a whole, else as the way into objects.
pub(super) fn claim<'c>(claims: &'c TokenClaims, name: &str) -> Option<&'c Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    let mut parts = rest.split('.');
    parts.try_fold(claims.get(first)?, |value, part| value.get(part))
}

/// Checks how a repository is written: its id, or its remote, whose host no claim gives.
fn check_repository(text: &str) -> Result<(), String> {
    let any_name = |_: &str| Some("o".to_owned());
    // A path says something on one machine only.
    let is_remote = |text: &str| remote_of(text).is_some_and(|name| !name.starts_with('/'));
    let is_known = |text: &str| is_remote(text) || text.parse::<RepositoryId>().is_ok();
    let name = text.split_once("://").map_or(text, |(_, name)| name);
    let host = name.split('{').next();
    let begins_with_host = host.is_some_and(|host| host.contains('/'));
    let is_right = match text.contains('{') {
        true => begins_with_host && filled_by(text, any_name).is_some_and(|t| is_known(&t)),
        false => is_known(text),
    };
    is_right.then_some(()).ok_or_else(|| {
        format!(
            "`repositories` takes remotes such as `github.com/{{repository}}`, or ids (got `{text}`)"
        )
    })
}

/// The name of a repository with what claims say in it.
fn filled(text: &str, claims: &TokenClaims) -> Option<String> {
    filled_by(text, |name| {
        let path = claim(claims, name)?.as_str()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(plain);
        path.split('/').all(is_name).then(|| path.to_owned())
    })
}

/// The same with a value for each name in braces.
fn filled_by(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}')?;
        whole.push_str(before);
        whole.push_str(&value(name)?);
        rest = behind;
    }
    whole.push_str(rest);
    Some(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(claims: &[(&str, &str)], may: &[&str], repositories: &[&str]) -> GrantForm {
        let own = |text: &&str| (*text).to_owned();
        GrantForm {
            claims: claims
                .iter()
                .map(|(name, text)| (own(name), own(text)))
                .collect(),
            may: may.iter().map(own).collect(),
            repositories: repositories.iter().map(own).collect(),
            kind: None,
        }
    }

    fn claims(value: Value) -> TokenClaims {
        serde_json::from_value(value).unwrap()
    }

    #[track_caller]
    fn check(pattern: (&str, &str), value: Value, expected: bool) {
        let grant = Grant::parse(form(&[pattern], &["read"], &[]), Public::Members).unwrap();
        assert_eq!(grant.applied(&claims(value)).is_some(), expected);
    }

    #[test]
    fn a_claim_is_a_text_one_of_several_or_within_an_object() {
        check(("groups", "dev"), json!({ "groups": "dev" }), true);
        check(("groups", "dev"), json!({ "groups": ["ops", "dev"] }), true);
        check(
            ("groups", "dev"),
            json!({ "groups": ["ops", "devs"] }),
            false,
        );
        check(
            ("groups", "dev"),
            json!({ "groups": { "dev": true } }),
            false,
        );
        check(("groups", "dev"), json!({}), false);
        check(("sub", "*"), json!({ "sub": "x" }), true);
        check(("team", "eu/*"), json!({ "team": "eu/a" }), true);
        check(("team", "eu/*"), json!({ "team": "eu" }), false);
        check(("admin", "true"), json!({ "admin": true }), true);
        let roles = json!({ "realm_access": { "roles": ["dev"] } });
        check(("realm_access.roles", "dev"), roles, true);
        let named = json!({ "https://a.example/groups": ["dev"] });
        check(("https://a.example/groups", "dev"), named, true);
    }

    #[test]
    fn a_job_is_limited_to_its_repository_and_to_no_other_one() {
        let form = form(
            &[("repository_owner", "acme"), ("ref", "refs/heads/*")],
            &["sync", "read"],
            &["github.com/{repository}"],
        );
        let grant = Grant::parse(form, Public::EverybodysJobs).unwrap();
        let job = |repository: Value| {
            claims(
                json!({ "repository_owner": "acme", "ref": "refs/heads/main", "repository": repository }),
            )
        };
        let (scope, limits) = grant.applied(&job(json!("acme/shop"))).unwrap();
        assert_eq!(scope, Scope::Launcher);
        assert!(limits.allows(Right::Sync) && !limits.allows(Right::Drive));
        assert_eq!(
            Vec::from_iter(limits.repositories()),
            ["github.com/acme/shop"]
        );
        // What cannot be a name of a repository is no limit that is left out.
        for repository in [
            json!(null),
            json!(""),
            json!("a b"),
            json!("a/../b"),
            json!(["a"]),
            json!("a/"),
        ] {
            assert_eq!(
                grant.applied(&job(repository.clone())),
                None,
                "{repository}"
            );
        }
        let other = json!({ "repository_owner": "eve", "ref": "refs/heads/main", "repository": "acme/shop" });
        assert_eq!(grant.applied(&claims(other)), None);
    }

    #[track_caller]
    fn refuses(form: GrantForm, public: Public, words: &str) {
        let refused = Grant::parse(form, public).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }

    #[test]
    fn a_grant_that_says_too_little_is_refused() {
        let dev = &[("groups", "dev")];
        refuses(form(dev, &[], &[]), Public::Members, "`may`");
        refuses(form(dev, &["write"], &[]), Public::Members, "write");
        refuses(form(&[], &["read"], &[]), Public::Members, "`claims`");
        for text in ["acme*", "*x", "a/**", ""] {
            refuses(
                form(&[("groups", text)], &["read"], &[]),
                Public::Members,
                "`groups`",
            );
        }
        for text in [
            "{repository}",
            "github.com/{repository",
            "github.com",
            "a b",
            "github.com/{x} y",
            "https://{host}/{repository}",
            "ssh://git@{host}/o",
            "/srv/git/{repository}",
        ] {
            refuses(
                form(dev, &["read"], &[text]),
                Public::Members,
                "`repositories`",
            );
        }
        refuses(
            form(&[("repository_owner", "acme")], &["sync"], &[]),
            Public::Members,
            "`repositories`",
        );
        let everywhere = &["github.com/{repository}"];
        for claims in [
            [("ref", "refs/heads/main")],
            [("repository_owner", "*")],
            [("sub", "repo:*")],
        ] {
            refuses(
                form(&claims, &["sync"], everywhere),
                Public::EverybodysJobs,
                "anybody",
            );
        }
        refuses(
            form(&[("sub", "*")], &["read"], &[]),
            Public::Everybody,
            "anybody",
        );
        let mut reads = form(dev, &[], &[]);
        reads.kind = Some("read".to_owned());
        let grant = Grant::parse(reads.clone(), Public::Members).unwrap();
        assert_eq!(grant.scope, Scope::Read);
        reads.may = vec!["read".to_owned()];
        refuses(reads.clone(), Public::Members, "leave it out");
        reads.kind = Some("attester".to_owned());
        refuses(reads, Public::Members, "`kind`");
    }
}
