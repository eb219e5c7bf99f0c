//! A release, as it describes itself in `release.json`.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use crate::error::CommandError;
use crate::platform::regular_file;

/// No description is longer, in bytes.
const LENGTH_MOST: u64 = 64 << 10;
/// The form of the description.
const FORM: u32 = 1;

/// What is needed of it.
#[derive(Debug, Deserialize)]
pub struct Release {
    release: u32,
    pub version: String,
    pub schema: Schema,
}

/// The schemas that its program writes.
#[derive(Debug, Deserialize)]
pub struct Schema {
    pub sqlite: u32,
    pub postgres: Option<u32>,
}

impl Release {
    /// Reads a description from a file, or from standard input.
    pub fn read(path: &Path) -> Result<Self, CommandError> {
        let text = match path == Path::new("-") {
            true => {
                let mut text = String::new();
                let input = std::io::stdin().lock().take(LENGTH_MOST);
                { input }.read_to_string(&mut text).map(|_| text)
            }
            false => regular_file::read_text(path, LENGTH_MOST),
        };
        let text = text.map_err(CommandError::at(path))?;
        Self::parse(&text).map_err(|why| {
            CommandError::failed(format!(
                "{} is not a release description: {why}",
                path.display()
            ))
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let release: Self = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if release.release != FORM {
            return Err(format!(
                "`release` must be {FORM} (got {})",
                release.release
            ));
        }
        match numbers(&release.version) {
            Some(_) => Ok(release),
            None => Err("`version` must be three numbers".to_owned()),
        }
    }

    /// Whether it is newer than a version.
    pub fn is_newer_than(&self, version: &str) -> bool {
        numbers(&self.version) > numbers(version)
    }
}

/// A version as it is compared.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = version
        .split('.')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(version: &str) -> Result<Release, String> {
        Release::parse(&format!(
            r#"{{"release": 1, "version": "{version}", "schema": {{"sqlite": 17, "postgres": null}}, "later": 1}}"#
        ))
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let release = parse("0.10.0").unwrap();
        assert!(release.is_newer_than("0.9.1"));
        assert!(!release.is_newer_than("0.10.0"));
        assert!(!release.is_newer_than("1.0.0"));
    }

    #[test]
    fn what_describes_no_release_is_refused() {
        assert!(parse("0.1").is_err());
        assert!(parse("0.1.0\\u001b[31m").is_err());
        assert!(Release::parse("<html>").is_err());
        let later = r#"{"release": 2, "version": "0.1.0", "schema": {"sqlite": 17}}"#;
        assert!(Release::parse(later).is_err());
    }
}
