//! Headers of requests: which of them are secrets, and where those are kept.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use siglum_domain::redact::Redactor;
use siglum_egress::otlp::{Header, OtlpClient};
use siglum_engine::share::otel::destination::{
    Destination, DestinationError, HeaderSource, NamedHeader,
};

use crate::error::CommandError;
use crate::home::Home;
use crate::{env, secret_files};

/// What the names of headers with credentials have in them.
const TELLING: &[&str] = &[
    "auth",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "token",
];

/// Headers as a person gives them.
#[derive(Default)]
pub struct Given {
    pub headers: Vec<NamedHeader>,
    /// The values that are kept.
    pub secrets: Vec<Header>,
}

impl Given {
    /// A header that stands on the command line, for everybody on this machine to read.
    pub fn add_inline_header(&mut self, text: &str) -> Result<(), CommandError> {
        let (name, value) = pair("--header", text)?;
        let header = Header::new(name, value).map_err(CommandError::usage)?;
        if is_secret(&header) {
            let name = header.name();
            return Err(CommandError::usage(format!(
                "header `{name}` looks like a credential, and every user of this machine can read a command line"
            ))
            .hint(format!(
                "Write the value to a file and pass `--header-file {name}=PATH`, or pass `--header-env {name}=VARIABLE`."
            )));
        }
        let source = HeaderSource::Inline(header.reveal().to_owned());
        self.add(header.name(), source)
    }

    /// A header whose value is in a file.
    pub fn in_file(&mut self, dir: &Path, text: &str) -> Result<(), CommandError> {
        let (name, path) = pair("--header-file", text)?;
        let value = secret_files::read(&dir.join(path), &format!("header `{name}`"))?;
        self.keep(name, &value)
    }

    /// A header whose value is in a variable now.
    pub fn in_variable(&mut self, text: &str) -> Result<(), CommandError> {
        let (name, variable) = pair("--header-env", text)?;
        let value = env::text(variable).ok_or_else(|| {
            CommandError::failed(format!("the variable {variable} is not set or is empty"))
        })?;
        self.keep(name, &value)
    }

    fn keep(&mut self, name: &str, value: &str) -> Result<(), CommandError> {
        let header = Header::new(name, value).map_err(CommandError::failed)?;
        self.add(header.name(), HeaderSource::Kept)?;
        self.secrets.push(header);
        Ok(())
    }

    fn add(&mut self, name: &str, source: HeaderSource) -> Result<(), CommandError> {
        if self.headers.iter().any(|h| h.name == name) {
            return Err(CommandError::usage(format!(
                "header `{name}` is given twice"
            )));
        }
        let name = name.to_owned();
        self.headers.push(NamedHeader { name, source });
        Ok(())
    }
}

/// The two parts of what an option has.
fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), CommandError> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    // What stands there may be a secret: it is not told.
    pair.ok_or_else(|| CommandError::usage(format!("`{option}` must be NAME=…")))
}

fn is_secret(header: &Header) -> bool {
    let value = header.reveal();
    let scheme = value.split(' ').next().unwrap_or_default();
    let is_scheme = |word: &str| scheme.eq_ignore_ascii_case(word);
    TELLING.iter().any(|word| header.name().contains(word))
        || ["basic", "bearer"].iter().any(|word| is_scheme(word))
        || !matches!(Redactor::shared().redact_cow(value), Cow::Borrowed(_))
}

/// Of which file a value is kept in; no name of a header leads elsewhere.
fn file_name(destination: &str, header: &str) -> String {
    format!("{destination}.{header}.header")
}

/// Keeps the values of a destination, and none that it had before.
pub fn keep_all(home: &Home, destination: &str, secrets: &[Header]) -> Result<(), CommandError> {
    drop_all(home, destination);
    for header in secrets {
        let name = file_name(destination, header.name());
        secret_files::write(home, &name, header.reveal()).map_err(|e| {
            CommandError::failed(format!("cannot store header `{}`: {e}", header.name()))
        })?;
    }
    Ok(())
}

/// Whether the values that are kept are these and no others.
pub fn are_kept(home: &Home, destination: &str, secrets: &[Header]) -> bool {
    secrets
        .iter()
        .all(|h| kept_value(home, destination, h.name()).as_deref() == Some(h.reveal()))
}

fn kept_value(home: &Home, destination: &str, header: &str) -> Option<String> {
    let path = home.tokens().join(file_name(destination, header));
    secret_files::read(&path, "header").ok()
}

/// A destination that is gone needs no secrets.
pub fn drop_all(home: &Home, destination: &str) {
    let own = format!("{destination}.");
    for entry in fs::read_dir(home.tokens()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&own) && name.ends_with(".header") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The values that are kept for the headers of a destination now, in the order of the headers.
pub fn kept_values(home: &Home, name: &str, destination: &Destination) -> Vec<Option<String>> {
    let headers = destination.headers.iter();
    headers
        .filter(|header| matches!(header.source, HeaderSource::Kept))
        .map(|header| kept_value(home, name, &header.name))
        .collect()
}

/// The client of a destination, with what is kept for it.
pub fn client(
    home: &Home,
    name: &str,
    destination: &Destination,
) -> Result<OtlpClient, DestinationError> {
    destination.client(&|header| kept_value(home, name, header))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_credential_is_not_taken_from_the_command_line() {
        for text in [
            "Authorization=Bearer x",
            "x-api-key=1",
            "X-Langfuse-Secret=1",
            "x-thing=Basic abc",
            "x-thing=ghp_0123456789abcdefghijklmnopqrstuvwxyzAB",
        ] {
            let error = Given::default().add_inline_header(text).unwrap_err();
            let (_, value) = text.split_once('=').unwrap();
            assert!(
                value.len() < 2 || !format!("{error:?}").contains(value),
                "{text}"
            );
        }
        let mut given = Given::default();
        given.add_inline_header("X-Ingestion-Version=4").unwrap();
        assert_eq!(given.headers[0].name, "x-ingestion-version");
        assert!(given.add_inline_header("x-ingestion-version=5").is_err());
        for text in ["", "x", "=1", "x=", "host=y", "a b=c"] {
            assert!(Given::default().add_inline_header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_kept_for_their_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_owned());
        let header = |name, value| Header::new(name, value).unwrap();
        let secrets = [header("authorization", "Bearer a b"), header("..", "c")];
        keep_all(&home, "one", &secrets).unwrap();
        keep_all(&home, "one-2", &[header("x", "y")]).unwrap();
        assert!(are_kept(&home, "one", &secrets));
        for entry in fs::read_dir(home.tokens()).unwrap().flatten() {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        keep_all(&home, "one", &secrets[..1]).unwrap();
        assert!(!are_kept(&home, "one", &secrets));
        drop_all(&home, "one");
        assert_eq!(kept_value(&home, "one", "authorization"), None);
        assert_eq!(kept_value(&home, "one-2", "x").as_deref(), Some("y"));
    }
}
