//! Plug-ins of ours for agents that have no command hooks: a file in the agent's own directory, ours as a whole, with the
//! stable program that it calls written into it.

use crate::install::{InstallError, InstallState, SettingsError, SettingsFile, SettingsTexts};

/// How each of our plug-ins begins. A file that begins in another way is somebody else's.
const MARK: &str = "// Siglum's plug-in for ";
/// The line that names the program, up to its name.
const PROGRAM: &str = "const SIGLUM = ";
/// The program's name where the plug-in was not installed.
const UNNAMED: &str = "\"siglum\"";

/// One plug-in.
#[derive(Debug)]
pub(crate) struct PluginFile {
    /// What it holds before it is installed.
    pub(crate) text: &'static str,
}

impl PluginFile {
    /// The file with the plug-in: files before, stable shim → texts after.
    ///
    /// # Errors
    /// Another file has its name, or the path of the shim cannot be written into it.
    pub(crate) fn plan_install(
        &self,
        files: &[SettingsFile],
        shim: &str,
    ) -> Result<SettingsTexts, SettingsError> {
        let after = |file: &SettingsFile| {
            let is_free = file.text.as_ref().is_none_or(|t| t.trim().is_empty());
            if !is_free && !is_ours(file) {
                return Err(file.error(InstallError::Foreign));
            }
            let text = self.calling(shim).map_err(|error| file.error(error))?;
            Ok(Some(text))
        };
        files.iter().map(after).collect()
    }

    /// The files without the plug-in; another's file stays as it is.
    pub(crate) fn plan_remove(files: &[SettingsFile]) -> SettingsTexts {
        let after = |file: &SettingsFile| file.text.clone().filter(|_| !is_ours(file));
        files.iter().map(after).collect()
    }

    /// How the plug-in stands.
    ///
    /// # Errors
    /// The path of the shim cannot be written into it.
    pub(crate) fn inspect(
        &self,
        files: &[SettingsFile],
        shim: &str,
    ) -> Result<InstallState, SettingsError> {
        let Some(file) = files.first().filter(|file| is_ours(file)) else {
            return Ok(InstallState::Missing);
        };
        let wanted = self.calling(shim).map_err(|error| file.error(error))?;
        let text = file.text.as_deref().unwrap_or_default();
        Ok(match called(text) {
            _ if text == wanted => InstallState::Current,
            Some(other) if other != shim => InstallState::OtherShim(other),
            _ => InstallState::Partial(vec!["those of this version".to_owned()]),
        })
    }

    /// The plug-in with the program that it calls.
    fn calling(&self, shim: &str) -> Result<String, InstallError> {
        if shim.is_empty() || shim.chars().any(char::is_control) {
            return Err(InstallError::Shim);
        }
        let named = |name: &str| format!("{PROGRAM}{name}\n");
        let quoted = serde_json::Value::from(shim).to_string();
        Ok(self.text.replacen(&named(UNNAMED), &named(&quoted), 1))
    }
}

fn is_ours(file: &SettingsFile) -> bool {
    file.text.as_ref().is_some_and(|t| t.starts_with(MARK))
}

/// The program that a plug-in calls.
fn called(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(PROGRAM))?;
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const PLUGIN: PluginFile = PluginFile {
        text: "// Siglum's plug-in for X.\nconst SIGLUM = \"siglum\"\ncall(SIGLUM)\n",
    };
    const SHIM: &str = "/home/a \"b\"/bin/siglum";

    fn file(text: Option<&str>) -> SettingsFile {
        SettingsFile {
            path: PathBuf::from("/home/a/plugins/siglum.js"),
            text: text.map(str::to_owned),
        }
    }

    fn installed(before: Option<&str>) -> Result<String, InstallError> {
        let texts = PLUGIN.plan_install(&[file(before)], SHIM);
        texts
            .map(|mut texts| texts.remove(0).expect("a text"))
            .map_err(|error| error.error)
    }

    #[test]
    fn it_is_put_in_place_and_taken_away_as_a_whole() {
        let text = installed(None).expect("a plug-in");
        assert!(
            text.contains("const SIGLUM = \"/home/a \\\"b\\\"/bin/siglum\"\n"),
            "{text}"
        );
        assert_eq!(installed(Some(&text)), Ok(text.clone()));
        assert_eq!(installed(Some(" \n")), Ok(text.clone()));
        let there = [file(Some(&text))];
        assert_eq!(PLUGIN.inspect(&there, SHIM), Ok(InstallState::Current));
        assert_eq!(PluginFile::plan_remove(&there), vec![None]);
        assert_eq!(PluginFile::plan_remove(&[file(None)]), vec![None]);
    }

    #[test]
    fn the_file_of_somebody_else_is_left_alone() {
        let own = "export const Mine = () => {}\n";
        assert_eq!(installed(Some(own)), Err(InstallError::Foreign));
        assert_eq!(
            PluginFile::plan_remove(&[file(Some(own))]),
            vec![Some(own.to_owned())]
        );
        let state = PLUGIN.inspect(&[file(Some(own))], SHIM);
        assert_eq!(state, Ok(InstallState::Missing));
    }

    #[test]
    fn another_version_and_another_program_are_seen() {
        let text = installed(None).expect("a plug-in");
        let check = |text: &str, expected: &InstallState| {
            let state = PLUGIN.inspect(&[file(Some(text))], SHIM);
            assert_eq!(state.as_ref(), Ok(expected), "{text}");
        };
        let older = format!("{text}// more\n");
        let partial = InstallState::Partial(vec!["those of this version".to_owned()]);
        check(&older, &partial);
        let other = PLUGIN.calling("/old/siglum").expect("a plug-in");
        check(&other, &InstallState::OtherShim("/old/siglum".to_owned()));
        assert_eq!(PLUGIN.calling(""), Err(InstallError::Shim));
        assert_eq!(PLUGIN.calling("a\nb"), Err(InstallError::Shim));
    }
}
