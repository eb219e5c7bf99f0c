//! What keeps git from starting anything but itself.
//!
//! The settings and attributes of a repository may name programs, and a repository may come from
//! anybody: as an archive, a shared directory, a copy. Whoever asks Siglum about it has not agreed to
//! run them. The person's own settings (global, of the system, on the command line) are trusted.

use crate::error::GitError;

/// Settings that name programs, or lead to some being started, each with a value that starts none.
pub(crate) const SETTINGS: [&str; 25] = [
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "diff.external=",
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    "log.showSignature=false",
    // Starts nothing, but opens whatever is called `.mailmap`, and waits for it.
    "log.mailmap=false",
    "mailmap.file=/dev/null",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.quotePath=false",
    "color.ui=false",
];

/// Hooks are switched off, unless somebody asks where they are: those of the directory, and since git 2.55 those by
/// configuration, too, for each event that a command of ours may lead to. Older versions do not know the others.
pub(crate) const NO_HOOKS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "hook.post-checkout.enabled=false",
    "hook.post-index-change.enabled=false",
    "hook.pre-auto-gc.enabled=false",
    "hook.pre-push.enabled=false",
    "hook.reference-transaction.enabled=false",
    "hook.push-to-checkout.enabled=false",
];

/// Variables with which git starts no other program, whatever the settings say.
pub(crate) const VARIABLES: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // No protocol is called that, so nothing is fetched: wins over `protocol.ext.allow` of a repository.
    ("GIT_ALLOW_PROTOCOL", "none"),
];

/// The keys of a filter, and what switches each off.
const FILTER_OFF: [(&str, &str); 4] = [
    ("clean", ""),
    ("smudge", ""),
    ("process", ""),
    ("required", "false"),
];

/// The settings that switch the filters of a repository off, from git's list of all.
pub(crate) fn filter_settings(list: &str) -> Result<Vec<String>, GitError> {
    let mut own: Vec<&str> = Vec::new();
    let mut trusted: Vec<(&str, &str)> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    let mut fields = list.split_terminator('\0');
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let Some((filter, variable)) = key.rsplit_once('.') else {
            continue;
        };
        let is_own = ["local", "worktree"].contains(&scope);
        if !key.starts_with("filter.") {
            let off = other_off(key, filter, variable).filter(|_| is_own);
            if off.is_some() && filter.contains(['=', '\n', '\t']) {
                return Err(GitError::Filter(filter.to_owned()));
            }
            others.extend(off.filter(|off| !others.contains(off)));
        } else if !is_own {
            trusted.push((key, value));
        } else if filter.contains('=') || filter.contains(char::is_control) {
            // Git would take the name apart at another place than we do.
            return Err(GitError::Filter(filter.to_owned()));
        } else if !own.contains(&filter) {
            own.push(filter);
        }
    }
    let setting = |filter: &&str, (key, off): (&str, &str)| {
        let key = format!("{filter}.{key}");
        let of_person = trusted.iter().rev().find(|(known, _)| *known == key);
        format!("{key}={}", of_person.map_or(off, |(_, value)| value))
    };
    let all = own
        .iter()
        .flat_map(|filter| FILTER_OFF.map(|key| setting(filter, key)));
    Ok(all.chain(others).collect())
}

/// What switches another setting off that has git, or Git LFS, start a program.
fn other_off(key: &str, section: &str, variable: &str) -> Option<String> {
    match variable {
        "command" | "event" | "enabled" if key.starts_with("hook.") => {
            Some(format!("{section}.enabled=false"))
        }
        "standalonetransferagent" if key.starts_with("lfs.") => Some(format!("{key}=")),
        "path" if key.starts_with("lfs.customtransfer.") => Some(format!("{key}=false")),
        "clean" | "smudge" if key.starts_with("lfs.extension.") => Some(format!("{key}=false")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_the_repository_are_off_and_those_of_the_person_stay() {
        let list = "global\0filter.lfs.clean\ngit-lfs clean -- %f\0global\0filter.lfs.required\ntrue\0\
            local\0filter.evil.a.smudge\nrm\0local\0filter.evil.a.clean\nrm\0worktree\0filter.lfs.process\nrm\0";
        let expected = [
            "filter.evil.a.clean=",
            "filter.evil.a.smudge=",
            "filter.evil.a.process=",
            "filter.evil.a.required=false",
            "filter.lfs.clean=git-lfs clean -- %f",
            "filter.lfs.smudge=",
            "filter.lfs.process=",
            "filter.lfs.required=true",
        ];
        assert_eq!(filter_settings(list).unwrap(), expected);
        assert!(
            filter_settings("global\0filter.lfs.clean\nx\0")
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn hooks_by_configuration_and_programs_of_git_lfs_are_off() {
        let list = "local\0hook.evil.event\npost-checkout\0local\0hook.evil.command\nrm\0global\0hook.mine.command\nx\0\
            local\0lfs.customtransfer.evil.path\nrm\0local\0lfs.https://h/o.git.standalonetransferagent\nevil\0\
            local\0lfs.url\nhttps://host/o/r\0local\0lfs.extension.evil.smudge\nrm\0";
        let expected = [
            "hook.evil.enabled=false",
            "lfs.customtransfer.evil.path=false",
            "lfs.https://h/o.git.standalonetransferagent=",
            "lfs.extension.evil.smudge=false",
        ];
        assert_eq!(filter_settings(list).unwrap(), expected);
    }

    #[test]
    fn a_filter_whose_name_cannot_be_given_is_an_error() {
        for name in ["a=b", "a\tb"] {
            let list = format!("local\0filter.{name}.clean\nrm\0");
            let error = filter_settings(&list).unwrap_err();
            assert!(matches!(error, GitError::Filter(_)), "{error}");
        }
    }
}
