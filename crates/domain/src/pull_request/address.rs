//! The addresses of pull requests and of repositories.

use crate::link::NUMBER_MAX;

/// Longest name of a host or a repository.
const NAME_MOST: usize = 512;
/// What `gh` says before the address of a pull request that it did not open.
const BEFORE_AN_OLD_ONE: &str = "already exists:";

/// A pull request, by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// The repository, as its host names it: `owner/name`, with the groups above it at GitLab.
    pub repository: String,
    /// Its number there.
    pub number: u64,
    /// At GitLab it is called a merge request.
    gitlab: bool,
}

impl PullRequest {
    /// Takes a whole address: `https://github.com/o/r/pull/7`, `https://…/g/r/-/merge_requests/7`, on
    /// any host.
    #[must_use]
    pub fn from_address(address: &str) -> Option<Self> {
        let rest = address.strip_prefix("https://");
        let rest = rest.or_else(|| address.strip_prefix("http://"))?;
        let (host, path) = rest.split_once('/')?;
        let (path, number) = path.rsplit_once('/')?;
        let (repository, gitlab) = match path.strip_suffix("/pull") {
            Some(repository) => (repository, false),
            None => (path.strip_suffix("/-/merge_requests")?, true),
        };
        let parts = repository.split('/').count();
        let shaped = if gitlab { parts >= 2 } else { parts == 2 };
        if !shaped || !is_host(host) || !is_path(repository) {
            return None;
        }
        Some(Self {
            repository: repository.to_owned(),
            number: digits(number)?,
            gitlab,
        })
    }

    /// Whether it is of this repository. Hosts fold case in names.
    #[must_use]
    pub fn is_of(&self, repository: &str) -> bool {
        self.repository.eq_ignore_ascii_case(repository)
    }

    pub(super) fn is_of_gitlab(&self) -> bool {
        self.gitlab
    }
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.starts_with('0') && text.len() <= 16;
    let number = text.bytes().all(|b| b.is_ascii_digit()).then_some(text)?;
    let number: u64 = number.parse().ok().filter(|_| plain)?;
    (1..=NUMBER_MAX).contains(&number).then_some(number)
}

fn is_host(host: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':');
    !host.is_empty() && host.len() <= NAME_MOST && host.bytes().all(plain)
}

fn is_path(path: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'~' | b'+');
    let part = |part: &str| !part.is_empty() && part != ".." && part.bytes().all(plain);
    path.len() <= NAME_MOST && path.split('/').all(part)
}

/// The addresses of pull requests that are lines of their own, each once, without those that the line
/// before says were there.
pub(super) fn printed(output: &str) -> Vec<(&str, PullRequest)> {
    let mut found: Vec<(&str, PullRequest)> = Vec::new();
    let mut before = "";
    for line in output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let old = before.ends_with(BEFORE_AN_OLD_ONE);
        before = line;
        if let Some(request) = PullRequest::from_address(line)
            && !old
            && found.iter().all(|(_, known)| *known != request)
        {
            found.push((line, request));
        }
    }
    found
}

/// The name of a repository by the address that it is cloned from, whichever way it is written:
/// `owner/name`. None for a path of this machine.
#[must_use]
pub fn repository_name(address: &str) -> Option<String> {
    let (_, path) = match address.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?,
        None => {
            let (host, path) = address.split_once(':')?;
            // A path may have a colon, too.
            (!host.contains('/')).then_some((host, path))?
        }
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (is_path(path) && path.contains('/')).then(|| path.to_owned())
}
