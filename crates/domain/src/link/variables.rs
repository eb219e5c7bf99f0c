//! Links from variables of the environment, and what wins where several name one thing.
//!
//! A variable that is not set, empty or blank is absent. A bad value is dropped and told, and
//! nothing else is dropped with it.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use serde::{Deserialize, Serialize};

use crate::place::{Decline, Place};

use super::{Link, LinkError, refuse, refuse_bytes};

/// The variables that name links, each with its field. Of two for one field the first wins.
pub const VARIABLES: &[(&str, &str)] = &[
    ("SIGLUM_ISSUE_NUMBER", "issue_number"),
    ("SIGLUM_PR_NUMBER", "pr_number"),
    ("SIGLUM_PIPELINE_ID", "pipeline_id"),
    ("SIGLUM_AGENT_ROLE", "agent_role"),
    ("SIGLUM_PHASE", "phase"),
    ("SIGLUM_LABELS", "label"),
    ("EGG_ISSUE_NUMBER", "issue_number"),
    ("EGG_PR_NUMBER", "pr_number"),
    ("EGG_PIPELINE_ID", "pipeline_id"),
    ("EGG_AGENT_ROLE", "agent_role"),
    ("EGG_PIPELINE_PHASE", "phase"),
];

/// What the source of a link begins with that a variable of the environment names.
pub const BY_VARIABLE: &str = "variable ";

/// A link and where it was stated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    pub link: Link,
    /// The flag or the variable.
    pub source: String,
}

/// A variable whose value was dropped. The value is redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    pub variable: &'static str,
    /// The field and the rule that it broke.
    pub error: LinkError,
}

impl Dropped {
    /// That it was left out, by whoever read it in this repository.
    #[must_use]
    pub fn decline(&self, edge: &str, place: Option<&Place>) -> Decline {
        Decline {
            edge: edge.to_owned(),
            reason: format!("bad_variable {}", self.variable),
            detail: self.to_string(),
            place: place.cloned(),
        }
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkError { field, value, rule } = &self.error;
        let variable = self.variable;
        write!(
            f,
            "{variable} is `{value}` and was left out: {field} is {rule}"
        )
    }
}

/// Takes the links that variables name, and those variables that were dropped.
pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> (Vec<Stated>, Vec<Dropped>) {
    let (mut links, mut dropped) = (Vec::new(), Vec::new());
    for &(variable, field) in VARIABLES {
        let Some(value) = get(variable) else { continue };
        let mut stated = Vec::new();
        for parsed in parse(field, value) {
            match parsed {
                Ok(link) => stated.push(Stated {
                    link,
                    source: format!("{BY_VARIABLE}{variable}"),
                }),
                Err(error) => dropped.push(Dropped { variable, error }),
            }
        }
        links = overlay(links, stated);
    }
    (links, dropped)
}

fn parse(field: &'static str, value: OsString) -> Vec<Result<Link, LinkError>> {
    let value = match value.into_string() {
        Ok(value) => value,
        Err(raw) => return vec![Err(refuse_bytes(field, raw.as_bytes(), "text in UTF-8"))],
    };
    let parts: Vec<&str> = match field {
        "label" => value.split(',').collect(),
        _ => vec![&value],
    };
    let present = parts.into_iter().filter(|part| !part.trim().is_empty());
    present.map(|part| Link::parse(field, part)).collect()
}

/// Adds what was stated further away: what is stated nearer stays as it is, and the same field, of
/// labels the same key, is not taken from further away.
#[must_use]
pub fn overlay(mut near: Vec<Stated>, far: Vec<Stated>) -> Vec<Stated> {
    let named = |link: &Link| near.iter().any(|s| same_slot(&s.link, link));
    let far: Vec<Stated> = far.into_iter().filter(|s| !named(&s.link)).collect();
    near.extend(far);
    near
}

/// Whether two links say what the same thing is: of a label its key, else the field.
#[must_use]
pub fn same_slot(one: &Link, other: &Link) -> bool {
    match (one, other) {
        (Link::Label { key, .. }, Link::Label { key: other, .. }) => key == other,
        _ => one.field() == other.field(),
    }
}

/// Takes the value of a flag by the name of its field.
///
/// # Errors
/// The field and the rule that it broke.
pub fn from_flag(flag: &str, field: &'static str, value: &str) -> Result<Stated, LinkError> {
    if value.trim().is_empty() {
        return Err(refuse(field, value, "not empty where the flag is given"));
    }
    let link = Link::parse(field, value)?;
    let source = format!("flag {flag}");
    Ok(Stated { link, source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::super::FIELDS;
    use super::*;

    fn taken(variables: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let get = |name: &str| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let (links, dropped) = from_variables(get);
        let described = |s: &Stated| format!("{} by {}", s.link, s.source);
        (
            links.iter().map(described).collect(),
            dropped.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn every_field_has_a_variable_of_ours() {
        for field in FIELDS {
            let ours = |(name, of): &&(&str, &str)| of == field && name.starts_with("SIGLUM_");
            assert_eq!(VARIABLES.iter().filter(ours).count(), 1, "{field}");
        }
    }

    #[test]
    fn ours_win_and_the_other_names_are_taken() {
        let (links, dropped) = taken(&[
            ("SIGLUM_ISSUE_NUMBER", "42"),
            ("EGG_ISSUE_NUMBER", "7"),
            ("EGG_PR_NUMBER", "701"),
            ("EGG_PIPELINE_PHASE", "implement"),
        ]);
        assert_eq!(
            links,
            [
                "issue 42 by variable SIGLUM_ISSUE_NUMBER",
                "PR 701 by variable EGG_PR_NUMBER",
                "phase implement by variable EGG_PIPELINE_PHASE"
            ]
        );
        assert!(dropped.is_empty(), "{dropped:?}");
    }

    #[test]
    fn empty_and_blank_are_absent() {
        let (links, dropped) = taken(&[
            ("EGG_AGENT_ROLE", ""),
            ("EGG_PIPELINE_ID", "  "),
            ("SIGLUM_LABELS", ","),
        ]);
        assert_eq!((links.len(), dropped.len()), (0, 0));
    }

    #[test]
    fn a_bad_value_is_dropped_alone_and_reported_without_its_secret() {
        for bad in ["12.5", "0", "-3", "abc", " 42", "+5", "1_000"] {
            let (links, dropped) = taken(&[("EGG_PR_NUMBER", bad), ("EGG_ISSUE_NUMBER", "42")]);
            assert_eq!(links, ["issue 42 by variable EGG_ISSUE_NUMBER"], "{bad}");
            assert!(dropped[0].starts_with("EGG_PR_NUMBER is "), "{dropped:?}");
            assert!(dropped[0].contains("pr_number"), "{dropped:?}");
        }
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        let (_, dropped) = taken(&[("SIGLUM_ISSUE_NUMBER", &token[..40])]);
        assert!(!dropped[0].contains("a1B2c3D4e5"), "{dropped:?}");
    }

    #[test]
    fn a_bad_value_of_ours_does_not_hide_a_good_one() {
        let (links, dropped) = taken(&[("SIGLUM_PHASE", "a\nb"), ("EGG_PIPELINE_PHASE", "plan")]);
        assert_eq!(links, ["phase plan by variable EGG_PIPELINE_PHASE"]);
        assert_eq!(dropped.len(), 1);
    }

    #[test]
    fn labels_are_a_list_and_each_stands_for_itself() {
        let (links, dropped) = taken(&[("SIGLUM_LABELS", "team=core,nonsense,,tier=")]);
        assert_eq!(
            links,
            [
                "team=core by variable SIGLUM_LABELS",
                "tier= by variable SIGLUM_LABELS"
            ]
        );
        assert_eq!(dropped.len(), 1, "{dropped:?}");
    }

    #[test]
    fn what_is_no_text_is_dropped() {
        let get = |name: &str| {
            (name == "SIGLUM_PIPELINE_ID").then(|| OsString::from_vec(vec![b'a', 0xff]))
        };
        let (links, dropped) = from_variables(get);
        assert!(links.is_empty());
        assert_eq!(dropped[0].error.rule, "text in UTF-8");
    }

    #[test]
    fn what_is_nearer_wins_label_by_label() {
        let stated = |field, value: &str| from_flag("--x", field, value).unwrap();
        let near = vec![stated("label", "a=1"), stated("phase", "plan")];
        let far = vec![
            stated("label", "a=2"),
            stated("label", "b=2"),
            stated("phase", "pr"),
            stated("issue_number", "4"),
        ];
        let all = overlay(near, far);
        let words: Vec<String> = all.iter().map(|s| s.link.to_string()).collect();
        assert_eq!(words, ["a=1", "phase plan", "b=2", "issue 4"]);
    }
}
