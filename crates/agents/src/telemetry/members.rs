//! Members of a JSON text that has comments: set where there are none, and taken out again byte for byte.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;

use super::{Export, Member, Set, Weight};
use crate::command_hooks::{Container, Entry, Json, Layout, form, member, root};
use crate::install::InstallError;

const BOM: char = '\u{feff}';

/// What stands at a path.
enum There {
    Nothing,
    Same,
    Other,
}

/// The text with the members that it lacks.
pub(super) fn set(
    text: Option<&str>,
    members: &[Member],
    export: &Export,
) -> Result<Set, InstallError> {
    let whole = text.unwrap_or_default();
    let bare = whole.trim_start_matches(BOM);
    let mut after = bare.to_owned();
    let (mut added, mut kept) = (Vec::new(), Vec::new());
    for member in members {
        let value = (member.value)(export);
        match there(&after, member.path, &value)? {
            There::Same => {}
            There::Other => kept.push(name(member.path)),
            There::Nothing => {
                after = add(&after, member.path, value)?;
                added.push(name(member.path));
            }
        }
    }
    let text = match added.is_empty() {
        true => text.map(str::to_owned),
        false => Some(format!("{}{after}", &whole[..whole.len() - bare.len()])),
    };
    Ok(Set { text, added, kept })
}

/// The text without the members that were added and are still as they were.
pub(super) fn unset(
    text: &str,
    members: &[Member],
    export: &Export,
    added: &[String],
) -> Result<Option<String>, InstallError> {
    let bare = text.trim_start_matches(BOM);
    let mut after = bare.to_owned();
    for member in members.iter().rev() {
        let ours = added.contains(&name(member.path));
        let value = (member.value)(export);
        if ours && matches!(there(&after, member.path, &value)?, There::Same) {
            match remove(&after, member.path)? {
                Some(text) => after = text,
                None => return Ok(None),
            }
        }
    }
    let head = &text[..text.len() - bare.len()];
    Ok(Some(format!("{head}{after}")))
}

/// The member by which a person sends the telemetry elsewhere.
pub(super) fn elsewhere(
    text: &str,
    members: &[Member],
    theirs: &[&[&str]],
    export: &Export,
) -> Result<Option<String>, InstallError> {
    let bare = text.trim_start_matches(BOM);
    for path in theirs {
        if find(bare, path, |_| ())?.is_some() {
            return Ok(Some(name(path)));
        }
    }
    for member in members.iter().filter(|m| m.weight == Weight::Decides) {
        if let There::Other = there(bare, member.path, &(member.value)(export))? {
            return Ok(Some(name(member.path)));
        }
    }
    Ok(None)
}

fn name(path: &[&str]) -> String {
    path.join(".")
}

fn there(text: &str, path: &[&str], wanted: &Json) -> Result<There, InstallError> {
    let same = find(text, path, |value| match (value, wanted) {
        (Value::StringLit(found), Json::Text(text)) => found.value == text.as_str(),
        (Value::BooleanLit(found), Json::Bool(wanted)) => found.value == *wanted,
        _ => false,
    })?;
    Ok(match same {
        None => There::Nothing,
        Some(true) => There::Same,
        Some(false) => There::Other,
    })
}

/// What is at a path, looked at.
fn find<T>(
    text: &str,
    path: &[&str],
    look: impl FnOnce(&Value<'_>) -> T,
) -> Result<Option<T>, InstallError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = root(text)?;
    let Some((last, around)) = path.split_last() else {
        return Ok(None);
    };
    let mut object: &Object<'_> = &root;
    for (depth, step) in around.iter().enumerate() {
        match member(object, step).map(|m| &m.value) {
            None => return Ok(None),
            Some(Value::Object(inner)) => object = inner,
            Some(_) => return Err(form(path[..=depth].join("."), "an object")),
        }
    }
    Ok(member(object, last).map(|m| look(&m.value)))
}

/// Adds a member with what is missing around it.
fn add(text: &str, path: &[&'static str], value: Json) -> Result<String, InstallError> {
    let nested = |steps: &[&'static str], value: Json| {
        let wrap = |value, step: &&'static str| Json::Object(vec![(*step, value)]);
        steps.iter().rev().fold(value, wrap)
    };
    if text.trim().is_empty() {
        let layout = Layout::Lines {
            newline: "\n",
            indent: "",
            unit: "  ",
        };
        return Ok(format!("{}\n", nested(path, value).render(layout)));
    }
    let root = root(text)?;
    let (mut object, mut around): (&Object<'_>, _) = (&root, root.range);
    let mut depth = 0;
    while let Some(Value::Object(inner)) = path
        .get(depth)
        .filter(|_| depth + 1 < path.len())
        .and_then(|step| member(object, step))
        .map(|m| &m.value)
    {
        around = object.range();
        object = inner;
        depth += 1;
    }
    let entry = Entry {
        name: Some(path[depth]),
        value: nested(&path[depth + 1..], value),
    };
    Ok(Container::from(object).add(text, &entry, around))
}

/// Takes a member out, and with it every object that was made for it; nothing is left if that includes the file.
fn remove(text: &str, path: &[&str]) -> Result<Option<String>, InstallError> {
    let root = root(text)?;
    let mut levels = Vec::new();
    let mut object: &Object<'_> = &root;
    for step in path {
        let named = |m: &jsonc_parser::ast::ObjectProp<'_>| m.name.as_str() == *step;
        let Some(at) = object.properties.iter().rposition(named) else {
            return Ok(Some(text.to_owned()));
        };
        levels.push((Container::from(object), at));
        if let Value::Object(inner) = &object.properties[at].value {
            object = inner;
        }
    }
    let kept = levels
        .iter()
        .rev()
        .find(|(container, _)| container.len() > 1 || !container.is_made_by_us(text));
    if let Some((container, at)) = kept {
        return Ok(Some(container.remove(text, *at)));
    }
    let alone = format!("{}{}", &text[..root.range.start], &text[root.range.end..])
        .trim()
        .is_empty();
    let (outer, at) = &levels[0];
    Ok((!alone).then(|| outer.remove(text, *at)))
}
