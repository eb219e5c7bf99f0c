//! The few settings of a repository that must be known without asking git.
//!
//! Git reads these from the repository's own file only, without includes, so a plain reading of
//! that file gives git's answer. Everything else is asked of the git program.

/// The last value of `section.key` in the text of a git configuration file. Names are compared
/// without case; a key without `=` means `true`.
pub(crate) fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut inside = false;
    let mut found = None;
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((header, after)) = rest.split_once(']') else {
                continue;
            };
            inside = header.trim().eq_ignore_ascii_case(section);
            line = after.trim();
        }
        if !inside || line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, raw) = line.split_once('=').unwrap_or((line, "true"));
        if name.trim().eq_ignore_ascii_case(key) {
            found = Some(plain(raw.trim()));
        }
    }
    found
}

/// The addresses that the remotes in the text of a git configuration file are fetched from and pushed
/// to.
pub(crate) fn addresses(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            let kind = rest.split([' ', '\t', '"', ']']).next();
            inside = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("remote"));
        } else if inside && let Some((name, raw)) = line.split_once('=') {
            let name = name.trim();
            if name.eq_ignore_ascii_case("url") || name.eq_ignore_ascii_case("pushurl") {
                found.push(plain(raw.trim()));
            }
        }
    }
    found
}

/// The address that a repository with this text as its settings is fetched from: that of its remote `origin`, else of the
/// only one that has any. Of several addresses git fetches from the first.
pub(crate) fn fetched_from(text: &str) -> Option<String> {
    let mut remote = None;
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            remote = remote_of(rest);
        } else if let (Some(remote), Some((name, raw))) = (&remote, line.split_once('='))
            && name.trim().eq_ignore_ascii_case("url")
            && !found.iter().any(|(known, _)| known == remote)
        {
            found.push((remote.clone(), plain(raw.trim())));
        }
    }
    let origin = found.iter().position(|(remote, _)| remote == "origin");
    let only = (found.len() == 1).then_some(0);
    let (_, address) = found.swap_remove(origin.or(only)?);
    Some(address)
}

/// The name in the header of a remote, as it stands behind the bracket.
fn remote_of(header: &str) -> Option<String> {
    let (kind, name) = header.split_once([' ', '\t'])?;
    let name = name.trim().strip_prefix('"')?;
    let is_remote = kind.eq_ignore_ascii_case("remote");
    is_remote.then(|| name.split('"').next().unwrap_or(name).to_owned())
}

/// Takes quotes, escapes and a trailing comment off a value.
fn plain(raw: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(c),
        }
    }
    if raw.ends_with('"') {
        out
    } else {
        out.trim_end().to_owned()
    }
}

/// Git's idea of a true value.
pub(crate) fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"]
        .iter()
        .any(|t| value.eq_ignore_ascii_case(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[core]\n\tbare = false ; no\n[Extensions] objectFormat = sha256\n\
        [core]\n\tworktree = \"../a # b\\\\\"\n\tBARE\n[remote \"core\"]\n\tbare = no\n";

    fn check(section: &str, key: &str, expected: Option<&str>) {
        assert_eq!(value(TEXT, section, key).as_deref(), expected);
    }

    #[test]
    fn remotes_have_addresses() {
        let text = "[remote \"origin\"]\n\turl = git@host:me/r.git ; mine\n\tfetch = +refs/*\n\
            [branch \"x\"]\n\tremote = origin\n\turl = no\n[Remote \"a b\"]\n URL=https://host/o/r\n\
            \tpushurl = \"ssh://host/o/r\"\n";
        let expected = ["git@host:me/r.git", "https://host/o/r", "ssh://host/o/r"];
        assert_eq!(addresses(text), expected);
        assert!(addresses("[remote]").is_empty());
    }

    #[test]
    fn a_repository_is_fetched_from_its_origin_or_its_only_remote() {
        let remote = |name: &str, url: &str| format!("[Remote \"{name}\"]\n\tURL = {url}\n");
        let (origin, other) = (remote("origin", "a"), remote("up", "b"));
        let pushed = "[remote \"origin\"]\n\tpushurl = c\n\turl = d\n\turl = e\n";
        for (text, address) in [
            (String::new(), None),
            (origin.clone(), Some("a")),
            (other.clone() + &origin, Some("a")),
            (other.clone(), Some("b")),
            (other + &remote("third", "c"), None),
            (pushed.to_owned(), Some("d")),
            ("[branch \"origin\"]\n\turl = x\n".to_owned(), None),
        ] {
            assert_eq!(fetched_from(&text).as_deref(), address, "{text}");
        }
    }

    #[test]
    fn the_last_value_of_a_section_counts() {
        check("core", "bare", Some("true"));
        check("core", "worktree", Some("../a # b\\"));
        check("extensions", "objectformat", Some("sha256"));
        check("extensions", "refstorage", None);
        check("remote", "bare", None);
    }
}
