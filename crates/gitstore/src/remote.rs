//! Where a repository is fetched from, by one name for all forms of an address, so that two clones can be compared.
//!
//! It is no address: nothing is fetched by it. People name repositories by it where they read, and nowhere else, since
//! whoever wrote a settings file chose what stands in it. Only an absolute path is taken for a path. Git would take others
//! from the checkout, where whoever wrote the checkout says what lies there.

use std::path::Path;

use crate::list::without_secrets;
use crate::{bounded, config};

const CONFIG_LIMIT: u64 = 1 << 20;
/// The longest name, in bytes.
const NAME_MOST: usize = 512;
/// Schemes of git, and the port that each has where none is given.
const SCHEMES: &[(&str, &str)] = &[
    ("https", "443"),
    ("http", "80"),
    ("ssh", "22"),
    ("git+ssh", "22"),
    ("git", "9418"),
];

/// The name of where the repository with this common directory is fetched from, as its own settings file has it: its remote
/// `origin`, else the only one.
#[must_use]
pub fn remote(common_dir: &Path) -> Option<String> {
    let text = bounded::read_text(&common_dir.join("config"), CONFIG_LIMIT)?;
    remote_name(&config::fetched_from(&text)?)
}

/// What an address is called: `host/o/r`, or the path on this machine. Passwords are left out, and the user, too, where that
/// does not say which repository it is. Nothing for what has no such name.
#[must_use]
pub fn remote_name(address: &str) -> Option<String> {
    let name = match address.split_once("://") {
        Some(("file", path)) => return path_name(path),
        Some((scheme, rest)) => {
            let (_, port) = SCHEMES.iter().find(|(known, _)| *known == scheme)?;
            let (authority, path) = rest.split_once('/')?;
            let user = if scheme.ends_with("ssh") {
                Users::Count
            } else {
                Users::Not
            };
            let authority = authority
                .strip_suffix(&format!(":{port}"))
                .unwrap_or(authority);
            joined(&authority.replace(':', "/"), path, user)?
        }
        None if address.starts_with('/') => return path_name(address),
        None => {
            // As git reads it: a colon behind a slash is part of a path, two name a helper.
            let (authority, path) = address.split_once(':')?;
            let is_host = !authority.contains('/') && !path.starts_with(':');
            joined(authority, path, Users::Count).filter(|_| is_host)?
        }
    };
    is_remote_name(&name).then(|| without_secrets(&name))
}

/// Whether a text has the form `host/o/r` that [`remote_name`] gives to an address which is no path.
#[must_use]
pub fn is_remote_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._/~+@-".contains(&b);
    let has_both = |(host, path): (&str, &str)| !host.is_empty() && !path.is_empty();
    name.len() <= NAME_MOST && name.bytes().all(plain) && name.split_once('/').is_some_and(has_both)
}

/// Whether users of one host have repositories of their own under one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Users {
    Count,
    Not,
}

fn joined(authority: &str, path: &str, users: Users) -> Option<String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    if host.is_empty() || path.is_empty() {
        return None;
    }
    // `git` is everybody's user where repositories are served by it.
    let user = user.filter(|user| users == Users::Count && *user != "git");
    let user = user.map(|user| format!("{}@", user.split('/').next().unwrap_or(user)));
    let host = host.to_ascii_lowercase();
    Some(format!("{}{host}/{path}", user.unwrap_or_default()))
}

/// A path in one form, whether it is there or not: nothing of the name depends on what lies on the way.
fn path_name(path: &str) -> Option<String> {
    let mut names = Vec::new();
    for name in path.strip_prefix('/')?.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let name = format!("/{}", names.join("/"));
    let is_name = name.len() <= NAME_MOST && !name.chars().any(char::is_control);
    is_name.then(|| without_secrets(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_has_one_name_without_credentials() {
        for (address, name) in [
            ("https://github.com/o/r.git", Some("github.com/o/r")),
            ("https://GitHub.com:443/o/r/", Some("github.com/o/r")),
            (
                "https://user:hunter2@github.com/o/r",
                Some("github.com/o/r"),
            ),
            ("git@github.com:o/r.git", Some("github.com/o/r")),
            ("ssh://git@github.com:22/o/r", Some("github.com/o/r")),
            ("http://localhost:3000/o/r", Some("localhost/3000/o/r")),
            ("alice@host:r.git", Some("alice@host/r")),
            ("ssh://alice@host/~/r", Some("alice@host/~/r")),
            ("/srv/git/r.git/", Some("/srv/git/r.git")),
            ("file:///srv/git/r.git", Some("/srv/git/r.git")),
            ("/srv/./git//x/../r.git", Some("/srv/git/r.git")),
            ("/../r", Some("/r")),
            // These lead into the checkout, or start a helper.
            ("../r", None),
            ("r", None),
            ("./host:o/r", None),
            ("~/r", None),
            ("file://srv/r", None),
            ("https:/host/o/r", Some("https/host/o/r")),
            ("ext::sh -c false", None),
            ("ext::false", None),
            ("custom://host/o/r", None),
            ("https://host/a b", None),
            ("https://host/", None),
            (":r", None),
            ("", None),
        ] {
            assert_eq!(remote_name(address).as_deref(), name, "{address}");
            let is_path = |name: &str| name.starts_with('/');
            assert!(name.is_none_or(|n| is_path(n) || is_remote_name(n)));
        }
    }

    #[test]
    fn a_name_has_a_host_and_a_path_and_no_more() {
        for (name, is_one) in [
            ("github.com/o/r", true),
            ("alice@host/~/r", true),
            ("/srv/git/r.git", false),
            ("host", false),
            ("host/", false),
            ("https://host/o/r", false),
            ("host/a b", false),
            ("host/ä", false),
            ("host/\0", false),
            ("", false),
        ] {
            assert_eq!(is_remote_name(name), is_one, "{name}");
        }
        assert!(!is_remote_name(&format!("host/{}", "r".repeat(NAME_MOST))));
    }
}
