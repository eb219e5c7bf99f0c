//! What a tool that opens pull requests through an API gives back.

use serde_json::Value;

use super::address::PullRequest;

/// The names of such tools, behind the name of whatever offers them.
const TOOLS: &[&str] = &["create_pull_request", "create_merge_request"];
/// How deep a result may be wrapped.
const WRAPPED_MOST: u32 = 8;

/// Whether a tool of this name opens a pull request: `mcp__github__create_pull_request`.
pub(super) fn opens(tool: &str) -> bool {
    let ends = |name: &&&str| {
        let before = tool.strip_suffix(**name);
        before.is_some_and(|b| b.is_empty() || b.ends_with(['_', '-', '.', '/', ':']))
    };
    TOOLS.iter().find(ends).is_some()
}

/// The pull request that a result tells of: an object with its address and its number.
pub(super) fn request(output: &str) -> Option<PullRequest> {
    within(&serde_json::from_str(output).ok()?, WRAPPED_MOST)
}

/// Looks through what protocols put around a result: a list of parts, each with its text.
fn within(value: &Value, deep: u32) -> Option<PullRequest> {
    let deep = deep.checked_sub(1)?;
    match value {
        Value::String(text) => within(&serde_json::from_str(text).ok()?, deep),
        Value::Array(parts) => match parts.as_slice() {
            [only] => within(only, deep),
            _ => None,
        },
        Value::Object(object) => {
            let found = checked_pull_request(object, "html_url", "number");
            let found = found.or_else(|| checked_pull_request(object, "web_url", "iid"));
            found
                .or_else(|| within(object.get("content")?, deep))
                .or_else(|| within(object.get("text")?, deep))
        }
        _ => None,
    }
}

fn checked_pull_request(
    object: &serde_json::Map<String, Value>,
    address: &str,
    number: &str,
) -> Option<PullRequest> {
    let request = PullRequest::from_address(object.get(address)?.as_str()?)?;
    (object.get(number)?.as_u64()? == request.number).then_some(request)
}
