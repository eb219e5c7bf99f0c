//! Changing the user's file of settings: the comments and the order of a person's file stay.

use std::io::ErrorKind;
use std::path::PathBuf;

use toml_edit::{DocumentMut, KeyMut, RawString, value};

use crate::config::{Key, user_file};
use crate::error::CommandError;
use crate::platform::regular_file;
use crate::settings_change::{Mode, SettingsChange};

/// The user's file, open for a change.
pub(super) struct UserFile {
    path: PathBuf,
    before: Option<String>,
    document: DocumentMut,
}

impl UserFile {
    pub(super) fn open() -> Result<Self, CommandError> {
        let path = user_file();
        let before = match regular_file::read_settings(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(CommandError::failed(format!("{}: {error}", path.display()))),
        };
        let document = parse(before.as_deref().unwrap_or_default()).map_err(|error| {
            CommandError::failed(format!("{}: {error}", path.display()))
                .hint("Repair the file by hand; nothing was changed.")
        })?;
        Ok(Self {
            path,
            before,
            document,
        })
    }

    pub(super) fn set(&mut self, key: &Key, text: &str) {
        set(&mut self.document, key, text);
    }

    /// Tells whether the setting was there.
    pub(super) fn unset(&mut self, key: &Key) -> bool {
        unset(&mut self.document, key.name)
    }

    /// Writes the file, whole or not at all. Returns where it is.
    pub(super) fn write(self) -> Result<PathBuf, CommandError> {
        let after = self.document.to_string();
        if self.before.as_deref().unwrap_or_default() != after {
            SettingsChange {
                path: self.path.clone(),
                before: self.before,
                after: Some(after),
                mode: Mode::AsItIs,
            }
            .apply()?;
        }
        Ok(self.path)
    }
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>()
        .map_err(|error| error.to_string().trim_end().to_owned())
}

fn set(document: &mut DocumentMut, key: &Key, text: &str) {
    let mut item = match text.parse::<bool>() {
        Ok(switch) if key.is_switch() => value(switch),
        _ => value(text),
    };
    let Some(old) = document.get_mut(key.name) else {
        document.insert(key.name, item);
        return;
    };
    // The comment behind the value stays.
    if let (Some(old), Some(new)) = (old.as_value(), item.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    *old = item;
}

fn unset(document: &mut DocumentMut, name: &str) -> bool {
    let table = document.as_table_mut();
    let Some(comment) = table.key(name).map(|key| prefix(key.leaf_decor().prefix())) else {
        return false;
    };
    let next = {
        let mut names = table.iter().map(|(name, _)| name.to_owned());
        names.find(|n| n == name);
        names.next()
    };
    table.remove(name);
    if comment.trim().is_empty() {
        return true;
    }
    // What stood above the setting is a person's and stays.
    match next.as_deref().and_then(|next| table.key_mut(next)) {
        Some(mut next) => put_above(&mut next, &comment),
        None => {
            let trailing = comment + &prefix(Some(document.trailing()));
            document.set_trailing(trailing);
        }
    }
    true
}

fn put_above(key: &mut KeyMut<'_>, comment: &str) {
    let own = prefix(key.leaf_decor().prefix());
    key.leaf_decor_mut().set_prefix(format!("{comment}{own}"));
}

fn prefix(text: Option<&RawString>) -> String {
    text.and_then(RawString::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# mine\n# more\nrecord   = true # why\n\n# colours\ncolor = 'never'\n# end\n";

    fn key(name: &str) -> &'static Key {
        Key::find(name).unwrap()
    }

    #[test]
    fn setting_keeps_every_other_byte() {
        let mut document = parse(FILE).unwrap();
        set(&mut document, key("record"), "false");
        assert_eq!(document.to_string(), FILE.replace("= true", "= false"));
        set(&mut document, key("trailer"), "false");
        let text = document.to_string();
        assert!(
            text.starts_with("# mine\n# more\nrecord   = false # why\n"),
            "{text}"
        );
        assert!(
            text.contains("trailer = false\n") && text.ends_with("# end\n"),
            "{text}"
        );
    }

    #[test]
    fn unsetting_keeps_comments() {
        let mut document = parse(FILE).unwrap();
        assert!(unset(&mut document, "record"));
        assert_eq!(
            document.to_string(),
            "# mine\n# more\n\n# colours\ncolor = 'never'\n# end\n"
        );
        assert!(unset(&mut document, "color"));
        assert_eq!(document.to_string(), "# mine\n# more\n\n# colours\n# end\n");
        assert!(!unset(&mut document, "color"));
    }
}
