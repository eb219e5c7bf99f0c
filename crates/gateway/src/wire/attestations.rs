//! Attestations of commits.

use serde::{Deserialize, Serialize};
use siglum_domain::{Oid, PlatformName, SessionId, Timestamp};
use siglum_engine::commits::attestations::StandingAttestation;
use siglum_engine::driven::attestation::NewAttestation;
use siglum_engine::views::commits::AttestationJson;
use siglum_ledger::AttestedFacts;

use super::{CommitName, RepositoryName};
use crate::problem::Problem;
#[cfg(test)]
use crate::shared_schemas::Attestation;

/// The most parents of a commit.
const PARENTS_MOST: usize = 64;

/// Attests that a session made a commit.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestCommit {
    /// Full id of the commit.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    commit: Oid,
    /// Its repository: a name such as `github.com/owner/name`, or the id of a known one, `rep_…`.
    repository: RepositoryName,
    /// Name of the platform: 1 to 64 visible characters, no blank at either end.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"))]
    platform: Option<PlatformName>,
    /// Tree of the commit.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    tree: Option<Oid>,
    /// Parents of the commit, first parent first.
    #[cfg_attr(test, schema(max_items = 64))]
    parents: Option<Vec<CommitName>>,
    /// Time of the commit (RFC 3339).
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"))]
    committed_at: Option<Timestamp>,
}

impl AttestCommit {
    /// What is stated of a session, if it keeps to the rules. All ids are of one kind of repository.
    pub(crate) fn checked(self, session: SessionId) -> Result<NewAttestation, Problem> {
        let repository = self.repository.checked("repository")?;
        let digits = self.commit.as_str().len();
        let rule = || format!("{digits} hexadecimal digits, as the id of the commit has");
        let fits = |id: &Oid| id.as_str().len() == digits;
        if !self.tree.iter().all(fits) {
            return Err(Problem::invalid("tree", rule()));
        }
        let parents = self.parents.map(|parents| parents.into_iter().map(|p| p.0));
        let parents: Option<Vec<Oid>> = parents.map(Iterator::collect);
        if parents.iter().flatten().count() > PARENTS_MOST {
            let rule = format!("at most {PARENTS_MOST} parents");
            return Err(Problem::invalid("parents", rule));
        }
        if !parents.iter().flatten().all(fits) {
            return Err(Problem::invalid("parents", rule()));
        }
        Ok(NewAttestation {
            session,
            commit: self.commit,
            repository,
            attested: AttestedFacts {
                platform: self.platform,
                tree: self.tree,
                parents,
                committed_at: self.committed_at,
            },
        })
    }
}

/// An attestation that was recorded or already existed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RecordedAttestation {
    commit: String,
    repository: String,
    #[cfg_attr(test, schema(value_type = Attestation))]
    attestation: AttestationJson,
    /// Whether it already existed.
    pub(crate) already: bool,
}

impl RecordedAttestation {
    pub(crate) fn new(
        commit: &Oid,
        repository: String,
        known: &StandingAttestation,
        already: bool,
    ) -> Self {
        Self {
            commit: commit.to_string(),
            repository,
            attestation: AttestationJson::from(&known.attestation),
            already,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::body::parse;

    /// The field for which a body is refused, if it is.
    fn refused(field: &str, value: Value) -> Option<String> {
        let mut body = json!({ "commit": "a".repeat(40), "repository": "github.com/o/r" });
        body[field] = value;
        let session: SessionId = "ses_01920000000070008000000000000001".parse().unwrap();
        let read = parse::<AttestCommit>(body.to_string().as_bytes());
        let problem = read.and_then(|body| body.checked(session)).err()?;
        Some(problem.field().unwrap_or_default().to_owned())
    }

    #[test]
    fn what_breaks_a_rule_is_refused_by_its_field() {
        let id = |letter: &str, digits| letter.repeat(digits);
        for (field, good) in [
            ("commit", json!(id("b", 40))),
            ("commit", json!(id("b", 64))),
            ("repository", json!("rep_01920000000070008000000000000001")),
            ("platform", json!("Acme Forge")),
            ("platform", Value::Null),
            ("tree", json!(id("c", 40))),
            ("parents", json!([])),
            ("parents", json!([id("c", 40), id("d", 40)])),
            ("committed_at", json!("2026-01-02T03:04:05Z")),
        ] {
            assert_eq!(refused(field, good.clone()), None, "{field} {good}");
        }
        let many = vec![id("c", 40); PARENTS_MOST + 1];
        for (field, bad) in [
            ("commit", json!(id("b", 39))),
            ("commit", json!(id("B", 40))),
            ("repository", json!("/etc")),
            ("platform", json!("")),
            ("platform", json!(" a")),
            ("platform", json!("a\u{202e}b")),
            ("platform", json!("a\nb")),
            ("platform", json!("x".repeat(65))),
            ("platform", json!(format!("siglum_t_{}", "3f".repeat(32)))),
            ("tree", json!(id("c", 64))),
            ("parents", json!([id("c", 64)])),
            ("parents", json!(many)),
            ("committed_at", json!("yesterday")),
            ("session", json!("ses_1")),
        ] {
            let named = refused(field, bad.clone());
            let named = named.unwrap_or_else(|| panic!("{field} {bad} is taken"));
            assert!(named.starts_with(field), "{field} {bad}: {named}");
        }
    }
}
