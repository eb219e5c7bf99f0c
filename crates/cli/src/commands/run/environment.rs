//! What a launched command finds in its environment, beside what this program found in its own.

use std::ffi::{OsStr, OsString};

use siglum_domain::SessionId;
use siglum_domain::trace::TraceParent;

use crate::claim::{self, Token};
use crate::env;

/// The attribute that carries the session in what an agent's own telemetry says of its resource.
const ATTRIBUTE: &str = "siglum.session.id";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
const PARENT: &str = "TRACEPARENT";
const STATE: &str = "TRACESTATE";

/// A variable and its value; none where it is taken out.
pub type Change = (&'static str, Option<OsString>);

/// What is different for the command of a session. A trace parent that is none is taken out, with
/// what belongs to it; a valid one, and baggage, stay as they are.
pub fn handed_down(session: SessionId, token: &Token) -> Vec<Change> {
    let mut changes = of_session(session);
    changes.push((claim::TOKEN_FILE, Some(token.path.clone().into())));
    changes
}

/// The same without a token.
pub fn of_session(session: SessionId) -> Vec<Change> {
    let mut changes: Vec<Change> = vec![
        (claim::SESSION, Some(session.to_string().into())),
        (claim::TOKEN_FILE, None),
    ];
    // What the launcher may do, the command may not: it is known by its session alone.
    changes.extend(super::gateway::VARIABLES.map(|name| (name, None)));
    let before = env::raw(ATTRIBUTES);
    if let Some(before) = before.as_deref().map_or(Some(""), OsStr::to_str) {
        changes.push((ATTRIBUTES, Some(attributes(before, session).into())));
    }
    let parent = env::raw(PARENT);
    let parent = parent.map(|p| p.to_str().and_then(|text| text.parse::<TraceParent>().ok()));
    if parent == Some(None) {
        changes.extend([(PARENT, None), (STATE, None)]);
    }
    // Agents put their own spans into the other variable.
    let launcher = parent.flatten().map(|parent| parent.to_string().into());
    changes.push((claim::TRACED, launcher));
    changes
}

/// Adds the session to a list of attributes, in place of one that a launcher further out had added.
fn attributes(before: &str, session: SessionId) -> String {
    let other = |part: &&str| {
        let key = part.split('=').next().unwrap_or_default();
        !part.trim().is_empty() && key.trim() != ATTRIBUTE
    };
    let own = format!("{ATTRIBUTE}={session}");
    let parts: Vec<&str> = before
        .split(',')
        .filter(other)
        .chain([own.as_str()])
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_keep_what_is_there() {
        let session: SessionId = "ses_01920000000070008000000000000001".parse().unwrap();
        let own = format!("{ATTRIBUTE}={session}");
        for (before, after) in [
            ("", own.clone()),
            ("a=1,b=%2C", format!("a=1,b=%2C,{own}")),
            (
                "a=1,siglum.session.id=ses_old,b=2,",
                format!("a=1,b=2,{own}"),
            ),
        ] {
            assert_eq!(attributes(before, session), after);
        }
    }
}
