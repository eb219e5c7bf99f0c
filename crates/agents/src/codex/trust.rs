//! Which hooks Codex may run: it passes over every hook in silence whose hash is not in its settings.
//!
//! A hash is made of what a hook does (event, matcher, command, timeout, …) and kept under a key that
//! says where the hook stands: `<path of hooks.json>:<event>:<group>:<hook>`.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::hooks::{BRIEF, HOOKS};
use crate::command_hooks::our_program;
use crate::install::InstallError;

/// Seconds that Codex waits for a hook that names no timeout: for most events, and for those at the
/// end of something.
const TIMEOUTS: (u64, u64) = (600, 1);
/// Events at the end of something. Codex waits less for their hooks, whatever they say.
const BRIEF_EVENTS: &[&str] = &["SessionEnd", "Interrupt"];
/// Events whose matcher does not count.
const UNMATCHED: &[&str] = &["UserPromptSubmit", "Stop", "Interrupt"];

/// One hook as Codex sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    /// The event, as it is called in `hooks.json`.
    pub(super) event: String,
    /// Where it stands: event, group and hook.
    pub(super) place: String,
    /// What Codex calls it in its settings, once the person trusts it.
    pub(super) hash: String,
    pub(super) ours: bool,
}

/// All hooks in `hooks.json`.
///
/// # Errors
/// It is no plain JSON, of which Codex reads nothing.
pub(super) fn placed(hooks: Option<&str>, shim: &str) -> Result<Vec<Placed>, InstallError> {
    let text = hooks.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut root: Value =
        serde_json::from_str(text).map_err(|error| InstallError::NotJson(error.to_string()))?;
    root.sort_all_objects();
    let mut out = Vec::new();
    for (event, groups) in root["hooks"].as_object().into_iter().flatten() {
        for (group_at, group) in groups.as_array().into_iter().flatten().enumerate() {
            let hooks = group["hooks"].as_array().into_iter().flatten();
            for (hook_at, hook) in hooks.enumerate() {
                let Some(command) = hook["command"].as_str() else {
                    continue;
                };
                out.push(Placed {
                    event: event.clone(),
                    place: format!("{}:{group_at}:{hook_at}", label(event)),
                    hash: hash(event, group["matcher"].as_str(), command, hook),
                    ours: our_program(command, shim, HOOKS.arguments).is_some(),
                });
            }
        }
    }
    Ok(out)
}

/// The event as keys and hashes call it: `PreToolUse` is `pre_tool_use`.
fn label(event: &str) -> String {
    let mut out = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The hash of a hook: of JSON without blanks and with sorted names.
fn hash(event: &str, matcher: Option<&str>, command: &str, hook: &Value) -> String {
    let (usual, most) = if BRIEF_EVENTS.contains(&event) {
        (TIMEOUTS.1, u64::from(BRIEF))
    } else {
        (TIMEOUTS.0, u64::MAX)
    };
    let timeout = hook["timeout"].as_u64().unwrap_or(usual).clamp(1, most);
    let mut handler = Map::new();
    handler.insert(
        "async".to_owned(),
        json!(hook["async"].as_bool().unwrap_or(false)),
    );
    handler.insert("command".to_owned(), json!(command));
    if let Some(status) = hook["statusMessage"].as_str() {
        handler.insert("statusMessage".to_owned(), json!(status));
    }
    handler.insert("timeout".to_owned(), json!(timeout));
    handler.insert("type".to_owned(), json!("command"));
    let mut identity = Map::new();
    identity.insert("event_name".to_owned(), json!(label(event)));
    identity.insert("hooks".to_owned(), json!([handler]));
    if let Some(matcher) = matcher.filter(|_| !UNMATCHED.contains(&event)) {
        identity.insert("matcher".to_owned(), json!(matcher));
    }
    let mut identity = Value::Object(identity);
    identity.sort_all_objects();
    let digest = Sha256::digest(identity.to_string());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Codex itself said of these hooks (`hooks/list` of its app server).
    #[test]
    fn hashes_are_those_of_codex() {
        let text = include_str!("fixtures/0.169.0/hooks.json");
        let listed: Value =
            serde_json::from_str(include_str!("fixtures/0.169.0/listed.json")).expect("JSON");
        let placed = placed(Some(text), "/home/dev/.local/share/siglum/bin/siglum").expect("hooks");
        let listed = listed.as_array().expect("hooks");
        assert_eq!(placed.len(), listed.len());
        for hook in listed {
            let key = hook["key"].as_str().expect("a key");
            let place = key
                .strip_prefix("/home/dev/.codex/hooks.json:")
                .expect("a place");
            let mine = placed.iter().find(|p| p.place == place).expect("the hook");
            assert_eq!(
                hook["currentHash"].as_str(),
                Some(mine.hash.as_str()),
                "{key}"
            );
        }
    }

    #[test]
    fn labels_are_the_events_in_small_letters() {
        assert_eq!(label("PreToolUse"), "pre_tool_use");
        assert_eq!(label("Stop"), "stop");
    }

    #[test]
    fn only_plain_json_is_read() {
        assert_eq!(placed(None, "s"), Ok(Vec::new()));
        assert_eq!(placed(Some(" \n"), "s"), Ok(Vec::new()));
        assert!(matches!(
            placed(Some("{} // x"), "s"),
            Err(InstallError::NotJson(_))
        ));
        assert_eq!(placed(Some("{\"hooks\":[1]}"), "s"), Ok(Vec::new()));
    }
}
