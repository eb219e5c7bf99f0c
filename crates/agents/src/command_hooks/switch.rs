//! Settings that switch hooks off.

use jsonc_parser::ast::Value;

use super::document::{member, parse};
use crate::install::{InstallState, SettingsFile};

/// The state that a setting puts hooks into, if the first file that has a value for it switches it on.
pub(crate) fn switched_off<'f>(
    mut files: impl Iterator<Item = &'f SettingsFile>,
    setting: &'static str,
) -> Option<InstallState> {
    let value = |file: &SettingsFile| flag(file.text.as_deref().unwrap_or_default(), setting);
    let (file, is_on) = files.find_map(|file| Some((file, value(file)?)))?;
    is_on.then(|| InstallState::SwitchedOff {
        setting,
        path: file.path.clone(),
    })
}

fn flag(settings: &str, name: &str) -> Option<bool> {
    let Ok(Some(Value::Object(root))) = parse(settings) else {
        return None;
    };
    match &member(&root, name)?.value {
        Value::BooleanLit(lit) => Some(lit.value),
        _ => None,
    }
}
