//! What the settings look like with our hooks, without them, and what they hold now.

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged;

use super::CommandHooks;
use super::command::{command, our_program};
use super::document::{Container, Entry, member, parse};
use super::render::{Hooked, Json, Layout};
use crate::install::{InstallError, InstallState};

/// Most hooks of ours that are taken out of one file.
const ROUNDS: usize = 10_000;
const BOM: char = '\u{feff}';

/// One hook of ours in the settings, by position.
struct InstalledHook {
    event: String,
    event_at: usize,
    group_at: usize,
    hook_at: usize,
    command: String,
    program: String,
    matcher: Option<String>,
}

impl CommandHooks {
    fn is_current(&self, found: &InstalledHook, command: &str) -> bool {
        let hooked = self.hooked.iter().find(|h| h.event == found.event);
        found.command == command
            && hooked.is_some_and(|h| h.is_matched_by(found.matcher.as_deref()))
    }

    /// The settings with our hooks.
    pub(crate) fn plan_install(
        &self,
        before: Option<&str>,
        shim: &str,
    ) -> Result<String, InstallError> {
        let command = command(shim, self.arguments)?;
        let text = before.unwrap_or_default();
        let bare = text.trim_start_matches(BOM);
        if bare.trim().is_empty() {
            return Ok(self.fresh(&command));
        }
        let mut after = bare.to_owned();
        self.check_form(&after)?;
        for _ in 0..ROUNDS {
            let stale = self
                .ours(&after, shim)?
                .into_iter()
                .rev()
                .find(|found| !self.is_current(found, &command));
            let Some(stale) = stale else { break };
            let Some(without) = remove(&after, &stale)? else {
                return Ok(self.fresh(&command));
            };
            after = without;
        }
        let current = self.ours(&after, shim)?;
        let missing: Vec<Hooked> = self
            .hooked
            .iter()
            .filter(|hooked| current.iter().all(|found| found.event != hooked.event))
            .copied()
            .collect();
        after = self.add(&after, &missing, &command)?;
        Ok(format!("{}{after}", &text[..text.len() - bare.len()]))
    }

    /// The settings without our hooks; nothing if we made the file and nothing else is in it.
    pub(crate) fn plan_remove(
        &self,
        before: &str,
        shim: &str,
    ) -> Result<Option<String>, InstallError> {
        let bare = before.trim_start_matches(BOM);
        let mut after = bare.to_owned();
        for _ in 0..ROUNDS {
            let Some(last) = self.ours(&after, shim)?.pop() else {
                break;
            };
            match remove(&after, &last)? {
                Some(text) => after = text,
                None => return Ok(None),
            }
        }
        Ok(Some(format!(
            "{}{after}",
            &before[..before.len() - bare.len()]
        )))
    }

    /// What of our hooks the settings hold.
    pub(crate) fn inspect(&self, text: &str, shim: &str) -> Result<InstallState, InstallError> {
        let command = command(shim, self.arguments)?;
        let found = self.ours(text.trim_start_matches(BOM), shim)?;
        if found.is_empty() {
            return Ok(InstallState::Missing);
        }
        if let Some(other) = found.iter().find(|found| found.program != shim) {
            return Ok(InstallState::OtherShim(other.program.clone()));
        }
        let holds = |hooked: &&Hooked| {
            found
                .iter()
                .any(|f| f.event == hooked.event && self.is_current(f, &command))
        };
        let lacking: Vec<String> = self
            .hooked
            .iter()
            .filter(|h| !holds(h))
            .map(|h| h.event.to_owned())
            .collect();
        Ok(if lacking.is_empty() {
            InstallState::Current
        } else {
            InstallState::Partial(lacking)
        })
    }

    fn fresh(&self, command: &str) -> String {
        let layout = Layout::Lines {
            newline: "\n",
            indent: "",
            unit: "  ",
        };
        format!(
            "{}\n",
            Json::Object(vec![("hooks", self.all(self.hooked, command))]).render(layout)
        )
    }

    fn all(&self, hooked: &[Hooked], command: &str) -> Json {
        Json::Object(
            hooked
                .iter()
                .map(|h| (h.event, Json::Array(vec![h.group(command, self.timeout)])))
                .collect(),
        )
    }

    fn check_form(&self, text: &str) -> Result<(), InstallError> {
        let root = root(text)?;
        let Some(hooks) = hooks(&root)? else {
            return Ok(());
        };
        for hooked in self.hooked {
            let value = member(hooks, hooked.event).map(|member| &member.value);
            if value.is_some_and(|value| !matches!(value, Value::Array(_))) {
                return Err(form(format!("hooks.{}", hooked.event), "an array"));
            }
        }
        Ok(())
    }

    /// All hooks of ours, in the order of the file.
    fn ours(&self, text: &str, shim: &str) -> Result<Vec<InstalledHook>, InstallError> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let root = root(text)?;
        let mut found = Vec::new();
        let Some(hooks) = hooks(&root)? else {
            return Ok(found);
        };
        for (event_at, event) in hooks.properties.iter().enumerate() {
            let Value::Array(groups) = &event.value else {
                continue;
            };
            for (group_at, group) in groups.elements.iter().enumerate() {
                let Value::Object(group) = group else {
                    continue;
                };
                for (hook_at, hook) in array(group, "hooks")
                    .iter()
                    .flat_map(|hooks| hooks.elements.iter().enumerate())
                {
                    let Value::Object(hook) = hook else { continue };
                    let Some(command) = string(hook, "command") else {
                        continue;
                    };
                    let Some(program) = our_program(command, shim, self.arguments) else {
                        continue;
                    };
                    let matcher = string(group, "matcher").map(str::to_owned);
                    let (event, command) = (event.name.as_str().to_owned(), command.to_owned());
                    found.push(InstalledHook {
                        event,
                        event_at,
                        group_at,
                        hook_at,
                        command,
                        program,
                        matcher,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Adds the groups for the events that are missing.
    fn add(&self, text: &str, missing: &[Hooked], command: &str) -> Result<String, InstallError> {
        let mut text = text.to_owned();
        if missing.is_empty() {
            return Ok(text);
        }
        let before = root(&text)?;
        if hooks(&before)?.is_none() {
            let entry = Entry {
                name: Some("hooks"),
                value: self.all(missing, command),
            };
            return Ok(Container::from(&before).add(&text, &entry, before.range));
        }
        for hooked in missing {
            text = self.add_group(&text, *hooked, command)?;
        }
        Ok(text)
    }

    fn add_group(&self, text: &str, hooked: Hooked, command: &str) -> Result<String, InstallError> {
        let root = root(text)?;
        let Some(hooks) = hooks(&root)? else {
            return Ok(text.to_owned());
        };
        let group = hooked.group(command, self.timeout);
        Ok(match array(hooks, hooked.event) {
            Some(groups) => Container::from(groups).add(
                text,
                &Entry {
                    name: None,
                    value: group,
                },
                hooks.range(),
            ),
            None => {
                let entry = Entry {
                    name: Some(hooked.event),
                    value: Json::Array(vec![group]),
                };
                Container::from(hooks).add(text, &entry, root.range)
            }
        })
    }
}

/// Says that something is not of the form that the agent reads.
pub(crate) fn form(place: impl Into<String>, expected: &'static str) -> InstallError {
    InstallError::Form {
        place: place.into(),
        expected,
    }
}

/// The object that a text is.
pub(crate) fn root<'a>(text: &'a str) -> Result<Object<'a>, InstallError> {
    match parse(text)? {
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err(form("the file", "an object")),
        None => Err(InstallError::NotJson("there is no value in it".to_owned())),
    }
}

/// The object with all hooks, if there is one.
fn hooks<'v, 'a>(root: &'v Object<'a>) -> Result<Option<&'v Object<'a>>, InstallError> {
    match member(root, "hooks").map(|member| &member.value) {
        None => Ok(None),
        Some(Value::Object(hooks)) => Ok(Some(hooks)),
        Some(_) => Err(form("hooks", "an object")),
    }
}

fn array<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v Array<'a>> {
    match &member(object, name)?.value {
        Value::Array(array) => Some(array),
        _ => None,
    }
}

fn string<'v>(object: &'v Object<'_>, name: &str) -> Option<&'v str> {
    match &member(object, name)?.value {
        Value::StringLit(text) => Some(&text.value),
        _ => None,
    }
}

/// Takes one hook out, and with it every container that was made for it; nothing is left if that
/// includes the whole file.
fn remove(text: &str, found: &InstalledHook) -> Result<Option<String>, InstallError> {
    let root = root(text)?;
    let position = root
        .properties
        .iter()
        .rposition(|member| member.name.as_str() == "hooks");
    let (Some(hooks_at), Some(hooks)) = (position, hooks(&root)?) else {
        return Ok(Some(text.to_owned()));
    };
    let Value::Array(groups) = &hooks.properties[found.event_at].value else {
        return Ok(Some(text.to_owned()));
    };
    if let Value::Object(group) = &groups.elements[found.group_at]
        && let Some(inner) = array(group, "hooks").filter(|inner| inner.elements.len() > 1)
    {
        return Ok(Some(Container::from(inner).remove(text, found.hook_at)));
    }
    let levels = [
        (Container::from(groups), found.group_at),
        (Container::from(hooks), found.event_at),
        (Container::from(&root), hooks_at),
    ];
    let kept = levels
        .iter()
        .find(|(container, _)| container.len() > 1 || !container.is_made_by_us(text));
    if let Some((container, at)) = kept {
        return Ok(Some(container.remove(text, *at)));
    }
    let alone = format!("{}{}", &text[..root.range.start], &text[root.range.end..])
        .trim()
        .is_empty();
    Ok((!alone).then(|| levels[2].0.remove(text, hooks_at)))
}
