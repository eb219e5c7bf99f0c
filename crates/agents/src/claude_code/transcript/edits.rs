//! Both sides of a change, from what an edit tool returned.
//!
//! Nothing is guessed: a side that is not known exactly means no edit. The tool decides more than
//! its input says (a deleted line takes its end along), so a replacement counts only if it leads
//! to what the patch shows.

use std::borrow::Cow;
use std::path::PathBuf;

use super::patch;
use crate::claude_code::wire::{EditResult, Replacement};
use crate::json::Field;

/// Largest side of a change, in bytes.
const SIDE_LIMIT: usize = 8 << 20;
/// Most replacements in one call.
const REPLACEMENT_LIMIT: usize = 1000;
/// Most bytes that the replacements of one call may go over.
const WORK_LIMIT: usize = 256 << 20;
/// What stands for bytes that the agent could not read as text.
const UNREADABLE: char = '\u{fffd}';

/// A file, before and after.
pub(in crate::claude_code) struct Change {
    pub(in crate::claude_code) path: PathBuf,
    pub(in crate::claude_code) before: Option<Vec<u8>>,
    pub(in crate::claude_code) after: Vec<u8>,
}

/// The change that a result tells of.
pub(in crate::claude_code) fn change(result: Field<'_>) -> Option<Change> {
    let raw = result.raw().filter(|raw| raw.starts_with('{'))?;
    memchr::memmem::find(raw.as_bytes(), b"\"filePath\"")?;
    let result: EditResult<'_> = result.object();
    let path = result.path.exact()?;
    let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
    if !usable || result.user_modified.is_true() {
        return None;
    }
    let (before, after) = if result.content.is_string() {
        written(&result)?
    } else {
        replaced(&result)?
    };
    Some(Change {
        path: PathBuf::from(path.into_owned()),
        before: before.map(|text| text.into_owned().into_bytes()),
        after: after.into_bytes(),
    })
}

type Pair<'a> = (Option<Cow<'a, str>>, String);

/// What Write did.
fn written<'a>(result: &EditResult<'a>) -> Option<Pair<'a>> {
    let before = match (result.kind.text()?.as_ref(), result.original.raw()) {
        ("create", None) => None,
        ("update", Some(_)) => Some(side(result.original).filter(readable)?),
        _ => return None,
    };
    Some((before, side(result.content)?.into_owned()))
}

/// What Edit or MultiEdit did.
fn replaced<'a>(result: &EditResult<'a>) -> Option<Pair<'a>> {
    let original = if result.original.is_string() {
        result.original
    } else {
        result.original_contents
    };
    let steps = steps(result)?;
    let before = side(original).filter(readable)?;
    if before.len().saturating_mul(steps.len()) > WORK_LIMIT {
        return None;
    }
    let after = [LineEnd::Kept, LineEnd::Taken]
        .into_iter()
        .filter_map(|line_end| {
            let start = Cow::Borrowed(&*before);
            steps.iter().try_fold(start, |text, step| {
                step.apply(&text, line_end).map(Cow::Owned)
            })
        })
        .find(|after| patch::leads(result.patch, &before, after))?
        .into_owned();
    Some((Some(before), after))
}

fn side(field: Field<'_>) -> Option<Cow<'_, str>> {
    field.exact().filter(|text| text.len() <= SIDE_LIMIT)
}

#[expect(clippy::ptr_arg, reason = "a filter")]
fn readable(text: &Cow<'_, str>) -> bool {
    !text.contains(UNREADABLE)
}

fn steps<'a>(result: &EditResult<'a>) -> Option<Vec<Step<'a>>> {
    if result.old.is_string() {
        return Some(vec![Step::new(result.old, result.new, result.all)?]);
    }
    let items = result.edits.items();
    if items.is_empty() || items.len() > REPLACEMENT_LIMIT {
        return None;
    }
    let step = |item: Field<'a>| {
        let step: Replacement<'_> = item.object();
        Step::new(step.old, step.new, step.all)
    };
    items.into_iter().map(step).collect()
}

/// Whether a deletion takes the end of the line along, if the text ends one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Kept,
    Taken,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    Once,
    All,
}

/// One replacement.
struct Step<'a> {
    old: Cow<'a, str>,
    new: Cow<'a, str>,
    times: Times,
}

impl<'a> Step<'a> {
    fn new(old: Field<'a>, new: Field<'a>, all: Field<'_>) -> Option<Self> {
        let old = old.exact().filter(|old| !old.is_empty())?;
        let times = if all.is_true() {
            Times::All
        } else {
            Times::Once
        };
        Some(Self {
            old,
            new: new.exact()?,
            times,
        })
    }

    /// The text with the replacement made; nothing if that is not possible in exactly one way.
    fn apply(&self, text: &str, line_end: LineEnd) -> Option<String> {
        let count = text.matches(&*self.old).count();
        if count == 0 || (self.times == Times::Once && count > 1) {
            return None;
        }
        let grown = count.saturating_mul(self.new.len());
        if text.len().saturating_add(grown) > 2 * SIDE_LIMIT {
            return None;
        }
        let line = format!("{}\n", self.old);
        let deletes = self.new.is_empty() && !self.old.ends_with('\n');
        let after = if line_end == LineEnd::Taken && deletes && text.contains(&line) {
            text.replace(&line, "")
        } else {
            text.replace(&*self.old, &self.new)
        };
        (after.len() <= SIDE_LIMIT).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;

    type Sides<'t> = Option<(Option<&'t str>, &'t str)>;

    fn check(result: &Value, expected: Sides<'_>) {
        let text = result.to_string();
        let raw: &RawValue = serde_json::from_str(&text).expect("JSON");
        let found = change(Field::from(raw));
        let sides = found.as_ref().map(|change| {
            let text = |bytes| std::str::from_utf8(bytes).expect("UTF-8");
            assert_eq!(change.path, PathBuf::from("/r/a"));
            (change.before.as_deref().map(text), text(&change.after))
        });
        assert_eq!(sides, expected, "{text:.600}");
    }

    /// `base` with other fields.
    fn with(base: &Value, other: &Value) -> Value {
        let mut out = base.clone();
        for (key, value) in other.as_object().expect("an object") {
            out[key] = value.clone();
        }
        out
    }

    #[test]
    fn write_tells_both_sides() {
        let create =
            json!({"type": "create", "filePath": "/r/a", "content": "a\n", "originalFile": null});
        check(&create, Some((None, "a\n")));
        let update = with(&create, &json!({"type": "update", "originalFile": "b"}));
        check(&update, Some((Some("b"), "a\n")));
        check(
            &with(&update, &json!({"originalFile": "", "content": ""})),
            Some((Some(""), "")),
        );
        let large = json!({"content": "x".repeat(SIDE_LIMIT + 1)});
        for other in [
            json!({"type": "create"}),
            json!({"type": "other"}),
            json!({"type": null}),
            json!({"originalFile": null}),
            json!({"originalFile": 7}),
            json!({"originalFile": "\u{fffd}"}),
            json!({"content": null}),
            json!({"filePath": null}),
            json!({"filePath": ""}),
            json!({"filePath": "/r/a\u{0}"}),
            json!({"userModified": true}),
            large,
        ] {
            check(&with(&update, &other), None);
        }
    }

    fn edit(old: &str, new: &str, before: &str, lines: &[&str]) -> Value {
        json!({"filePath": "/r/a", "oldString": old, "newString": new, "originalFile": before,
            "structuredPatch": [{"oldStart": 1, "lines": lines}], "replaceAll": false})
    }

    #[test]
    fn edit_replaces_once_or_everywhere() {
        let once = edit("b", "B", "a\nb\n", &[" a", "-b", "+B"]);
        check(&once, Some((Some("a\nb\n"), "a\nB\n")));
        let twice = edit("b", "B", "b\nb\n", &["-b", "-b", "+B", "+B"]);
        check(&twice, None);
        let all = with(&twice, &json!({"replaceAll": true}));
        check(&all, Some((Some("b\nb\n"), "B\nB\n")));
        for other in [
            json!({"originalFile": null}),
            json!({"originalFile": "c\n"}),
            json!({"originalFile": "a\nc\nb\n"}),
            json!({"oldString": ""}),
            json!({"oldString": "absent"}),
            json!({"newString": null}),
            json!({"structuredPatch": null}),
            json!({"structuredPatch": []}),
            json!({"userModified": true}),
        ] {
            check(&with(&once, &other), None);
        }
    }

    #[test]
    fn a_deleted_line_takes_its_end_along_if_the_patch_says_so() {
        let before = "a\nb\nc\n";
        let taken = edit("b", "", before, &[" a", "-b", " c"]);
        check(&taken, Some((Some(before), "a\nc\n")));
        let kept = edit("b", "", before, &[" a", "-b", "+", " c"]);
        check(&kept, Some((Some(before), "a\n\nc\n")));
    }

    #[test]
    fn several_edits_follow_each_other() {
        let steps = json!([{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": true}]);
        let multi = json!({"filePath": "/r/a", "edits": steps, "originalFileContents": "a\nb\n",
            "structuredPatch": [{"oldStart": 1, "lines": ["-a", "-b", "+c", "+c"]}]});
        check(&multi, Some((Some("a\nb\n"), "c\nc\n")));
        let once =
            json!([{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]);
        for steps in [
            once,
            json!([]),
            json!([7]),
            json!({}),
            json!([{"old_string": "a"}]),
        ] {
            check(&with(&multi, &json!({"edits": steps})), None);
        }
    }

    #[test]
    fn growth_is_bounded() {
        let before = "a".repeat(100_000);
        let edit = edit("a", &"b".repeat(1000), &before, &[]);
        check(&with(&edit, &json!({"replaceAll": true})), None);
    }

    #[test]
    fn other_results_are_no_edits() {
        check(&json!("Error: String to replace not found"), None);
        check(&json!({"stdout": "\"filePath\""}), None);
        check(
            &json!({"type": "text", "file": {"filePath": "/r/a", "content": "a"}}),
            None,
        );
        check(&json!([{"filePath": "/r/a"}]), None);
        let half = r#"{"type":"create","filePath":"/r/a","content":"\ud800"}"#;
        let raw: &RawValue = serde_json::from_str(half).expect("JSON");
        assert!(change(Field::from(raw)).is_none());
    }
}
