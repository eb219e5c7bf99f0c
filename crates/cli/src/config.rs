//! Settings: defaults, then the user's file, then the repository's, then the environment, then flags.
//!
//! A repository's file is somebody else's: it may only narrow, so it may switch recording off and
//! nothing else. Hooks read settings, too: a file that is not there costs one system call.

mod contexts;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use siglum_domain::context::Rule;
use siglum_engine::retention::RetentionPolicy;

#[cfg(feature = "gateway")]
use crate::error::CommandError;
#[cfg(feature = "gateway")]
use crate::platform::regular_file;
use crate::{env, time};

/// A file of settings that is larger than this is left out, in bytes.
const FILE_MOST: u64 = 64 << 10;

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's file.
    User,
    /// The repository's file.
    Repository,
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
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub default: &'static str,
    pub help: &'static str,
    /// What it may be.
    values: Values,
    /// The one value that a repository may give it.
    narrow: Option<&'static str>,
}

/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    OneOf(&'static [&'static str]),
    /// How long something is kept: [`FOREVER`], or a duration of a day or more.
    Age,
}

/// The word for what is kept for good.
const FOREVER: &str = "forever";
/// Nothing goes before it is so old: whoever mistypes an age loses nothing of today.
const AGE_LEAST: Duration = Duration::from_hours(24);

/// The table of what is run on a schedule, in the user's file alone.
pub const HEARTBEATS: &str = "heartbeat";

/// The table of issuers whose tokens a gateway takes, in the user's file alone.
pub const ISSUERS: &str = "issuer";

const SWITCH: Values = Values::OneOf(&["true", "false"]);

/// The setting that `siglum init` changes for whoever wants no trailers.
pub const TRAILER: Key = Key {
    name: "trailer",
    default: "true",
    help: "Whether to add a trailer to commits of sessions",
    values: SWITCH,
    narrow: Some("false"),
};

/// All settings.
pub const KEYS: &[Key] = &[
    Key {
        name: "record",
        default: "true",
        help: "Whether to record sessions and commits",
        values: SWITCH,
        narrow: Some("false"),
    },
    TRAILER,
    Key {
        name: "color",
        default: "auto",
        help: "When to use colours: auto, always or never",
        values: Values::OneOf(&["auto", "always", "never"]),
        narrow: None,
    },
    Key {
        name: "keep_sessions",
        default: FOREVER,
        help: "How long to keep silent sessions before they are forgotten, such as 400d",
        values: Values::Age,
        narrow: None,
    },
    Key {
        name: "keep_telemetry",
        default: FOREVER,
        help: "How long to keep telemetry without a session, such as 30d",
        values: Values::Age,
        narrow: None,
    },
    Key {
        name: "keep_audit",
        default: FOREVER,
        help: "How long to keep entries of the audit log, such as 2y",
        values: Values::Age,
        narrow: None,
    },
];

impl Key {
    /// The setting of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|k| k.name == name)
    }

    /// Whether it is true or false.
    pub fn is_switch(&self) -> bool {
        self.values == SWITCH
    }

    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!("SIGLUM_{}", self.name.to_uppercase())
    }

    /// Says what is wrong with a value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        let expected = match self.values {
            Values::OneOf(words) if words.contains(&value) => return Ok(()),
            Values::Age if value == FOREVER || age(value).is_some() => return Ok(()),
            Values::OneOf(words) => format!("one of {}", words.join(", ")),
            Values::Age => format!("`{FOREVER}`, or a duration of a day or more such as `400d`"),
        };
        let shown: String = value.chars().filter(|c| !c.is_control()).take(40).collect();
        Err(format!(
            "`{}` must be {expected} (got `{shown}`)",
            self.name
        ))
    }
}

/// An age that something may have while it is kept.
fn age(value: &str) -> Option<Duration> {
    let age = time::duration(value).ok()?;
    (age >= AGE_LEAST).then_some(age)
}

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
    /// What holds for the contexts of some routes, in its order. Only the user's file says it.
    pub contexts: Vec<Rule>,
}

/// The user's file.
pub fn user_file() -> PathBuf {
    let base = etcetera::choose_base_strategy().map(|b| b.config_dir());
    base.unwrap_or_else(|_| env::home().join(".config"))
        .join("siglum/config.toml")
}

/// The text of the user's file, if there is one.
#[cfg(feature = "gateway")]
pub fn user_text() -> Result<Option<String>, CommandError> {
    let path = user_file();
    match regular_file::read_settings(&path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(CommandError::failed(format!("{}: {e}", path.display()))),
    }
}

/// The repository's file.
pub fn repository_file(worktree: &Path) -> PathBuf {
    worktree.join(".siglum.toml")
}

impl Config {
    /// Reads the settings for a checkout, or for none.
    pub fn load(worktree: Option<&Path>) -> Self {
        let mut config = Self::defaults();
        config.file(&user_file(), Origin::User);
        if let Some(worktree) = worktree {
            config.file(&repository_file(worktree), Origin::Repository);
        }
        for key in KEYS {
            if let Some(value) = env::text(&key.variable()) {
                match key.check(&value) {
                    Ok(()) => config.set(key.name, value, Origin::Environment),
                    Err(wrong) => config.warn(format!("{}: {wrong}", key.variable())),
                }
            }
        }
        config
    }

    fn defaults() -> Self {
        let values = KEYS.iter().map(|k| Value {
            name: k.name,
            value: k.default.to_owned(),
            origin: Origin::Default,
            help: k.help,
        });
        Self {
            values: values.collect(),
            warnings: Vec::new(),
            contexts: Vec::new(),
        }
    }

    fn file(&mut self, path: &Path, origin: Origin) {
        match read(path, origin) {
            Ok(None) => {}
            Ok(Some(text)) => self.text(&text, &path.display().to_string(), origin),
            Err(wrong) => self.warn(format!("{} is ignored: {wrong}", path.display())),
        }
    }

    fn text(&mut self, text: &str, file: &str, origin: Origin) {
        let table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => return self.warn(format!("{file} is ignored: {}", error.message())),
        };
        for (name, value) in table {
            if name == "contexts" && origin == Origin::User {
                let (rules, wrong) = contexts::rules(&value);
                self.contexts = rules;
                self.warnings
                    .extend(wrong.into_iter().map(|w| format!("{file}: {w}")));
                continue;
            }
            // These are read where they are needed; a repository says nothing of them.
            if [HEARTBEATS, ISSUERS].contains(&name.as_str()) && origin == Origin::User {
                continue;
            }
            let value = match value {
                toml::Value::String(text) => text,
                other => other.to_string(),
            };
            match admitted(&name, &value, origin) {
                Ok(()) => self.set(&name, value, origin),
                Err(wrong) => self.warn(format!("{file}: {wrong}")),
            }
        }
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    fn set(&mut self, name: &str, value: String, origin: Origin) {
        if let Some(slot) = self.values.iter_mut().find(|v| v.name == name) {
            (slot.value, slot.origin) = (value, origin);
        }
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> &str {
        self.find(name).map_or("", |v| v.value.as_str())
    }

    /// A setting with its value and origin.
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|v| v.name == name)
    }

    /// Whether anything is recorded.
    pub fn records(&self) -> bool {
        self.get("record") != "false"
    }

    /// How long what the ledger has is kept.
    pub fn retention(&self) -> RetentionPolicy {
        RetentionPolicy {
            sessions: age(self.get("keep_sessions")),
            telemetry: age(self.get("keep_telemetry")),
            audit: age(self.get("keep_audit")),
        }
    }

    /// Whether commits of sessions get a trailer.
    pub fn trailers(&self) -> bool {
        self.get("trailer") != "false"
    }
}

/// Says why a file may not give this value.
fn admitted(name: &str, value: &str, origin: Origin) -> Result<(), String> {
    let Some(key) = Key::find(name) else {
        return Err(format!(
            "unknown setting `{}`",
            crate::ui::one_line(name, 40)
        ));
    };
    match key.narrow {
        _ if origin != Origin::Repository => key.check(value),
        Some(narrow) if value == narrow => Ok(()),
        Some(narrow) => Err(format!("a repository may only set `{name}` to {narrow}")),
        None => Err(format!("a repository may not set `{name}`")),
    }
}

/// The text of a file of settings, if there is one. A repository's is not followed where it is a
/// link, and only a regular file is opened, since a hook must not wait for a pipe.
fn read(path: &Path, origin: Origin) -> Result<Option<String>, String> {
    let opened = match origin {
        Origin::Repository => siglum_agents::open_regular(path),
        _ => siglum_gitstore::open_regular(path),
    };
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // A link is refused with an error that only says that there are too many.
        Err(_) if path.is_symlink() => return Err("not a regular file".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    match file.take(FILE_MOST + 1).read_to_string(&mut text) {
        Ok(bytes) if bytes as u64 > FILE_MOST => Err(format!("larger than {FILE_MOST} bytes")),
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn config(text: &str, origin: Origin) -> Config {
        let mut config = Config::defaults();
        config.text(text, "f", origin);
        config
    }

    #[test]
    fn a_repository_may_only_narrow() {
        let off = config("record = false\ntrailer = \"false\"", Origin::Repository);
        assert!(!off.records() && !off.trailers());
        assert!(off.warnings.is_empty());

        let mut user = config("record = false", Origin::User);
        user.text("record = true\ncolor = \"never\"", "g", Origin::Repository);
        assert!(!user.records());
        assert_eq!(user.get("color"), "auto");
        assert_eq!(
            user.warnings,
            [
                "g: a repository may not set `color`",
                "g: a repository may only set `record` to false"
            ]
        );
    }

    #[test]
    fn unknown_settings_and_bad_values_are_reported_and_left_out() {
        let odd = config("recrd = true\nrecord = \"maybe\"", Origin::User);
        assert!(odd.records());
        assert_eq!(
            odd.warnings,
            [
                "f: `record` must be one of true, false (got `maybe`)",
                "f: unknown setting `recrd`"
            ]
        );
        assert_eq!(config("= 1", Origin::User).warnings.len(), 1);
    }

    #[test]
    fn what_is_kept_has_an_age_of_a_day_or_more_and_no_repository_says_it() {
        assert!(Config::defaults().retention().keeps_all());
        let kept = config(
            "keep_sessions = \"400d\"\nkeep_audit = \"2y\"",
            Origin::User,
        );
        let days = |days: u64| Some(Duration::from_hours(24 * days));
        let policy = RetentionPolicy {
            sessions: days(400),
            telemetry: None,
            audit: days(730),
        };
        assert_eq!((kept.retention(), kept.warnings.len()), (policy, 0));
        for bad in ["23h", "0s", "x", "400", "-1d"] {
            let refused = config(&format!("keep_sessions = \"{bad}\""), Origin::User);
            assert!(refused.retention().keeps_all(), "{bad}");
            assert_eq!(refused.warnings.len(), 1, "{bad}");
        }
        let repository = config("keep_sessions = \"1d\"", Origin::Repository);
        assert!(repository.retention().keeps_all());
        assert_eq!(
            repository.warnings,
            ["f: a repository may not set `keep_sessions`"]
        );
    }

    #[test]
    fn only_small_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        assert_eq!(read(&file, Origin::User), Ok(None));
        fs::write(&file, "record = false").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, Origin::User).unwrap().is_some());
        assert!(read(&link, Origin::Repository).is_err());
        fs::write(&file, " ".repeat(70 << 10)).unwrap();
        assert!(read(&file, Origin::User).is_err());
    }
}
