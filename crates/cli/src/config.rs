//! Settings: defaults, then the user's file, then the repository's, then the environment, then flags.
//!
//! A repository's file is somebody else's: it may only narrow, so it may switch recording off and
//! ignore paths, and nothing else.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::env;

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's file.
    User,
    /// The repository's file.
    Repository,
    /// The environment.
    Environment,
}

impl Origin {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Repository => "repository",
            Self::Environment => "environment",
        }
    }
}

/// One setting.
struct Key {
    name: &'static str,
    default: &'static str,
    help: &'static str,
    in_repository: bool,
}

/// All settings.
const KEYS: &[Key] = &[
    Key {
        name: "record",
        default: "true",
        help: "Whether sessions and commits are recorded at all",
        in_repository: true,
    },
    Key {
        name: "trailer",
        default: "true",
        help: "Whether commits of sessions get a trailer",
        in_repository: true,
    },
    Key {
        name: "color",
        default: "auto",
        help: "auto, always or never",
        in_repository: false,
    },
];

/// A value with its origin.
#[derive(Debug, Clone)]
pub struct Value {
    pub name: &'static str,
    pub value: String,
    pub origin: Origin,
    pub help: &'static str,
}

/// The settings, resolved once.
#[derive(Debug, Clone)]
pub struct Config {
    pub values: Vec<Value>,
    pub warnings: Vec<String>,
}

/// The user's file.
pub fn user_file() -> PathBuf {
    let base = etcetera::choose_base_strategy().map(|b| b.config_dir());
    base.unwrap_or_else(|_| env::home().join(".config"))
        .join("siglum/config.toml")
}

/// The repository's file.
pub fn repository_file(worktree: &Path) -> PathBuf {
    worktree.join(".siglum.toml")
}

impl Config {
    /// Reads the settings for a checkout, or for none.
    pub fn load(worktree: Option<&Path>) -> Self {
        let values = KEYS.iter().map(|k| Value {
            name: k.name,
            value: k.default.to_owned(),
            origin: Origin::Default,
            help: k.help,
        });
        let mut config = Self {
            values: values.collect(),
            warnings: Vec::new(),
        };
        config.file(&user_file(), Origin::User);
        if let Some(worktree) = worktree {
            config.file(&repository_file(worktree), Origin::Repository);
        }
        for key in KEYS {
            if let Some(value) = env::text(&format!("SIGLUM_{}", key.name.to_uppercase())) {
                config.set(key.name, value, Origin::Environment);
            }
        }
        config
    }

    fn file(&mut self, path: &Path, origin: Origin) {
        let Ok(text) = std::fs::read_to_string(path) else {
            return;
        };
        let table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => {
                return self.warnings.push(format!(
                    "{} is left out: {}",
                    path.display(),
                    error.message()
                ));
            }
        };
        for (name, value) in table {
            let value = match value {
                toml::Value::String(text) => text,
                other => other.to_string(),
            };
            match KEYS.iter().find(|k| k.name == name) {
                None => self
                    .warnings
                    .push(format!("{}: there is no setting `{name}`", path.display())),
                Some(key) if origin == Origin::Repository && !key.in_repository => {
                    self.warnings.push(format!(
                        "{}: a repository may not set `{name}`",
                        path.display()
                    ));
                }
                Some(key) if origin == Origin::Repository && value != "false" => {
                    self.warnings.push(format!(
                        "{}: a repository may only switch `{}` off",
                        path.display(),
                        key.name
                    ));
                }
                Some(_) => self.set(&name, value, origin),
            }
        }
    }

    fn set(&mut self, name: &str, value: String, origin: Origin) {
        if let Some(slot) = self.values.iter_mut().find(|v| v.name == name) {
            (slot.value, slot.origin) = (value, origin);
        }
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> &str {
        self.values
            .iter()
            .find(|v| v.name == name)
            .map_or("", |v| v.value.as_str())
    }
}
