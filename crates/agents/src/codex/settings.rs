//! Our hooks in Codex's settings: `hooks.json` holds them, `config.toml` says that they are trusted.

use toml_edit::{DocumentMut, Item, TableLike, value};

use super::hooks::HOOKS;
use super::trust::{Placed, placed};
use crate::install::{InstallError, InstallState, SettingsError, SettingsFile, SettingsTexts};

/// What a hook that may run has in its settings.
const HASH: &str = "trusted_hash";

/// Both files as they are.
struct Files<'f> {
    hooks: &'f SettingsFile,
    config: &'f SettingsFile,
}

impl<'f> Files<'f> {
    fn find(files: &'f [SettingsFile]) -> Option<Self> {
        let [hooks, config] = files else {
            return None;
        };
        Some(Self { hooks, config })
    }

    /// All hooks in this text of `hooks.json`.
    fn placed(&self, text: Option<&str>, shim: &str) -> Result<Vec<Placed>, SettingsError> {
        placed(text, shim).map_err(|error| self.hooks.error(error))
    }

    fn config(&self) -> Result<DocumentMut, SettingsError> {
        let text = self.config.text.as_deref().unwrap_or_default();
        let document = text
            .parse::<DocumentMut>()
            .map_err(|error| InstallError::NotToml(error.to_string()))
            .and_then(|document| check_form(&document).map(|()| document));
        document.map_err(|error| self.config.error(error))
    }

    /// The paths by which Codex may call `hooks.json`: it resolves links only where a variable names
    /// its directory.
    fn names(&self) -> Vec<String> {
        let path = &self.hooks.path;
        let real = path.parent().and_then(|dir| dir.canonicalize().ok());
        let real = real.map(|dir| dir.join("hooks.json"));
        let mut names = vec![path.to_string_lossy().into_owned()];
        if let Some(real) = real.filter(|real| real != path) {
            names.push(real.to_string_lossy().into_owned());
        }
        names
    }

    /// The keys and the hashes of these hooks.
    fn keys(&self, placed: &[Placed]) -> Vec<(String, String)> {
        let names = self.names();
        let keys = |hook: &Placed| {
            let of = |name: &String| (format!("{name}:{}", hook.place), hook.hash.clone());
            names.iter().map(of).collect::<Vec<_>>()
        };
        placed
            .iter()
            .filter(|hook| hook.ours)
            .flat_map(keys)
            .collect()
    }
}

/// The settings with our hooks, and with them trusted.
pub(super) fn plan_install(
    files: &[SettingsFile],
    shim: &str,
) -> Result<SettingsTexts, SettingsError> {
    let texts = HOOKS.install_first(files, shim)?;
    let Some(files) = Files::find(files) else {
        return Ok(texts);
    };
    let before = files.placed(files.hooks.text.as_deref(), shim)?;
    let hooks = texts.into_iter().next().flatten();
    let placed = files.placed(hooks.as_deref(), shim)?;
    let mut config = Config::new(&files)?;
    let keys = files.keys(&placed);
    config.forget(&files, &before, &keys);
    config.follow(&files, &before, &placed);
    Ok(vec![hooks, config.trust(&keys)])
}

/// The settings without our hooks and what trusted them.
pub(super) fn plan_remove(
    files: &[SettingsFile],
    shim: &str,
) -> Result<SettingsTexts, SettingsError> {
    let texts = HOOKS.remove_first(files, shim)?;
    let Some(files) = Files::find(files) else {
        return Ok(texts);
    };
    let before = files.placed(files.hooks.text.as_deref(), shim)?;
    let hooks = texts.into_iter().next().flatten();
    let placed = files.placed(hooks.as_deref(), shim)?;
    let mut config = Config::new(&files)?;
    config.forget(&files, &before, &[]);
    config.follow(&files, &before, &placed);
    Ok(vec![hooks, config.text])
}

/// What of our hooks the settings hold, and whether Codex runs them.
pub(super) fn inspect(files: &[SettingsFile], shim: &str) -> Result<InstallState, SettingsError> {
    let state = HOOKS.inspect_first(files, shim)?;
    let Some(files) = Files::find(files) else {
        return Ok(state);
    };
    if state != InstallState::Current {
        return Ok(state);
    }
    let placed = files.placed(files.hooks.text.as_deref(), shim)?;
    let document = files.config()?;
    let off = document
        .get("features")
        .and_then(|f| f.get("hooks"))
        .and_then(Item::as_bool)
        == Some(false);
    let runs = |name: &str, hook: &Placed| {
        let entry = state_of(&document).and_then(|all| all.get(&format!("{name}:{}", hook.place)));
        let entry = entry.and_then(Item::as_table_like);
        let trusted_hash = entry
            .and_then(|entry| entry.get(HASH))
            .and_then(Item::as_str);
        let on = entry
            .and_then(|entry| entry.get("enabled"))
            .and_then(Item::as_bool);
        !off && trusted_hash == Some(hook.hash.as_str()) && on != Some(false)
    };
    let names = files.names();
    let passed_over = |hook: &&Placed| hook.ours && !names.iter().any(|name| runs(name, hook));
    let events: Vec<String> = placed
        .iter()
        .filter(passed_over)
        .map(|hook| hook.event.clone())
        .collect();
    Ok(if events.is_empty() {
        InstallState::Current
    } else {
        InstallState::Untrusted(events)
    })
}

/// Refuses settings in which there is something else where the agent looks for trust.
fn check_form(document: &DocumentMut) -> Result<(), InstallError> {
    let table = |item: Option<&Item>, place: &str| match item {
        Some(item) if item.as_table_like().is_none() => Err(InstallError::Form {
            place: place.to_owned(),
            expected: "a table",
        }),
        _ => Ok(()),
    };
    let hooks = document.get("hooks");
    table(hooks, "hooks")?;
    table(hooks.and_then(|hooks| hooks.get("state")), "hooks.state")?;
    let entries = state_of(document).into_iter().flat_map(|all| all.iter());
    for (key, entry) in entries {
        table(Some(entry), &format!("hooks.state.{}", quoted(key)))?;
    }
    Ok(())
}

fn state_of(document: &DocumentMut) -> Option<&dyn TableLike> {
    document.get("hooks")?.get("state")?.as_table_like()
}

/// `config.toml` on its way. Entries of the form that we write are put in and taken out as text, so
/// that taking out undoes putting in byte for byte; all others through the document.
struct Config {
    /// Absent: there is no such file.
    text: Option<String>,
}

impl Config {
    fn new(files: &Files<'_>) -> Result<Self, SettingsError> {
        files.config()?;
        Ok(Self {
            text: files.config.text.clone(),
        })
    }

    fn document(&self) -> DocumentMut {
        let text = self.text.as_deref().unwrap_or_default();
        text.parse().unwrap_or_default()
    }

    /// Trusts the hooks with these keys and hashes; returns the text.
    fn trust(mut self, keys: &[(String, String)]) -> Option<String> {
        let document = self.document();
        for (key, hash) in keys {
            let entry = state_of(&document).and_then(|all| all.get(key));
            let trusted_hash = entry.and_then(|e| e.as_table_like()?.get(HASH)?.as_str());
            if trusted_hash == Some(hash.as_str()) {
                continue;
            }
            match entry {
                Some(_) => self.set(key, hash),
                None => self.append(key, hash),
            }
        }
        self.text
    }

    /// Adds an entry at the end; in a document where that is no longer possible, where it fits.
    fn append(&mut self, key: &str, hash: &str) {
        let block = block(key, hash);
        let after = match &self.text {
            Some(text) => format!("{text}\n{block}"),
            None => block,
        };
        if after.parse::<DocumentMut>().is_ok() {
            self.text = Some(after);
        } else {
            self.set(key, hash);
        }
    }

    fn set(&mut self, key: &str, hash: &str) {
        let mut document = self.document();
        document["hooks"]["state"][key][HASH] = value(hash);
        self.text = Some(document.to_string());
    }

    /// Takes out what trusted our hooks, except under the keys that stay: entries for this file with
    /// a hash of ours.
    fn forget(&mut self, files: &Files<'_>, before: &[Placed], staying: &[(String, String)]) {
        let ours: Vec<&str> = before
            .iter()
            .filter(|hook| hook.ours)
            .map(|hook| hook.hash.as_str())
            .collect();
        let names: Vec<String> = files
            .names()
            .iter()
            .map(|name| format!("{name}:"))
            .collect();
        let document = self.document();
        for (key, entry) in state_of(&document).into_iter().flat_map(|all| all.iter()) {
            let hash = entry.as_table_like().and_then(|e| e.get(HASH)?.as_str());
            let Some(hash) = hash.filter(|hash| ours.contains(hash)) else {
                continue;
            };
            let here = names.iter().any(|name| key.starts_with(name));
            if here && staying.iter().all(|(other, _)| other != key) {
                self.take_out(key, hash);
            }
        }
    }

    fn take_out(&mut self, key: &str, hash: &str) {
        let Some(text) = self.text.take() else {
            return;
        };
        let block = block(key, hash);
        if let Some(at) = text.find(&format!("\n{block}")) {
            let rest = &text[at + 1 + block.len()..];
            if ends_here(rest) {
                self.text = Some(format!("{}{rest}", &text[..at]));
                return;
            }
        }
        if let Some(rest) = text.strip_prefix(&block).filter(|rest| ends_here(rest)) {
            self.text = Some(rest.strip_prefix('\n').unwrap_or(rest).to_owned());
            self.text.take_if(|text| text.is_empty());
            return;
        }
        self.text = Some(text);
        let mut document = self.document();
        let state = document
            .get_mut("hooks")
            .and_then(|hooks| hooks.get_mut("state"));
        if let Some(state) = state.and_then(Item::as_table_like_mut) {
            state.remove(key);
            self.text = Some(document.to_string());
        }
    }

    /// Other people's hooks that stand elsewhere after this stay trusted, or not, as they were.
    fn follow(&mut self, files: &Files<'_>, before: &[Placed], after: &[Placed]) {
        let others = |all: &[Placed]| -> Vec<Placed> {
            all.iter().filter(|hook| !hook.ours).cloned().collect()
        };
        let moved: Vec<(String, String)> = others(before)
            .into_iter()
            .zip(others(after))
            .filter(|(was, is)| was.hash == is.hash && was.place != is.place)
            .flat_map(|(was, is)| {
                let key = move |name: String| {
                    (
                        format!("{name}:{}", was.place),
                        format!("{name}:{}", is.place),
                    )
                };
                files.names().into_iter().map(key)
            })
            .collect();
        let mut document = self.document();
        let state = document
            .get_mut("hooks")
            .and_then(|hooks| hooks.get_mut("state"));
        let Some(state) = state.and_then(Item::as_table_like_mut) else {
            return;
        };
        let entries: Vec<(String, Option<Item>)> = moved
            .into_iter()
            .map(|(was, is)| (is, state.remove(&was)))
            .collect();
        if entries.iter().all(|(_, entry)| entry.is_none()) {
            return;
        }
        for (key, entry) in entries {
            if let Some(entry) = entry {
                state.insert(&key, entry);
            }
        }
        self.text = Some(document.to_string());
    }
}

/// The text of an entry.
fn block(key: &str, hash: &str) -> String {
    format!("[hooks.state.{}]\n{HASH} = \"{hash}\"\n", quoted(key))
}

/// Tells whether the entry before this has no further fields.
fn ends_here(rest: &str) -> bool {
    let next = rest.trim_start();
    next.is_empty() || next.starts_with('[')
}

/// A key as a basic string of TOML.
fn quoted(key: &str) -> String {
    let mut out = String::from("\"");
    for c in key.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The settings files of this agent's directory, for tests and messages.
#[cfg(test)]
pub(super) fn files(
    dir: &std::path::Path,
    hooks: Option<&str>,
    config: Option<&str>,
) -> Vec<SettingsFile> {
    let texts = [hooks, config];
    let file = |(path, text): (std::path::PathBuf, Option<&str>)| SettingsFile {
        path,
        text: text.map(str::to_owned),
    };
    super::path::settings(dir)
        .into_iter()
        .zip(texts)
        .map(file)
        .collect()
}

#[cfg(test)]
mod tests;
