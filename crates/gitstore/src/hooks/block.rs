//! The block: a few lines of POSIX shell between two markers.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::GitError;

/// The version in the first marker. A block with another one is replaced.
pub const BLOCK_VERSION: u32 = 8;

const BEGIN: &str = "# >>> siglum hooks v";
const BEGIN_END: &str = " >>>\n";
const END: &str = "# <<< siglum hooks <<<";
/// The shell variable with the path of the hook behind ours. It is in nobody's environment.
pub(super) const THEIRS: &str = "siglum_theirs";

/// Who else runs in the same script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company<'a> {
    /// Nobody.
    Alone,
    /// The lines below the block.
    Below,
    /// The hook at this path, a word of the shell, if it is there.
    Behind(&'a str),
}

/// The text of a block, with its last line break. Without the program, or where that cannot be run, it does and says
/// nothing; what the shell says of that goes where the program says nothing, either. Nor does it leave the shell a name.
pub(super) fn block(hook: &str, shim: &Path, company: Company<'_>) -> Result<String, GitError> {
    let refused = || GitError::Shim(shim.to_owned());
    let path = shim
        .to_str()
        .filter(|p| shim.is_absolute() && !p.contains(char::is_control));
    let program = quoted(path.ok_or_else(refused)?);
    let there = format!("[ -f {program} ] && [ -x {program} ]");
    let call = format!("{program} hook git {hook} \"$@\"");
    let mut text = format!("{BEGIN}{BLOCK_VERSION}{BEGIN_END}");
    if let Company::Behind(theirs) = company {
        text.push_str(&format!("{THEIRS}={theirs}\n"));
    }
    let (tests, spares) = spared(hook);
    if super::HOOKS.contains(&hook) {
        let is_shared = match company {
            Company::Alone => None,
            Company::Below => Some(String::new()),
            Company::Behind(_) => Some(format!(" && [ -x \"${THEIRS}\" ]")),
        };
        text.push_str(&tests);
        text.push_str(&match is_shared.filter(|_| hook == READS_INPUT) {
            Some(and) => with_shared_input(spares, &there, &call, &and),
            None => format!("if {spares}{there}; then {}; fi\n", quiet(&call)),
        });
    }
    text.push_str(&match company {
        Company::Behind(_) => {
            format!("if [ -x \"${THEIRS}\" ]; then exec \"${THEIRS}\" \"$@\"; fi\n")
        }
        Company::Alone | Company::Below => forgotten(&tests),
    });
    Ok(text + END + "\n")
}

/// Whether a git process that a rebase's commits were noted of runs this hook: it has a file of notes, named by its id,
/// that was written since the process is known. Of another one that has the id by chance, `/proc` got its entry later
/// than that; to read its start, byte by byte, would take half as long as an empty hook does. Without `/proc`, or below
/// a manager of hooks, there is no file of that name.
const IN_RUN: &str = r#"siglum_in_run() {
[ -d "${GIT_DIR:-.git}/rebase-merge" ] || return 1
set -- "${GIT_DIR:-.git}/rebase-merge/siglum-run-$PPID-"*
siglum_run=$1
[ -f "$siglum_run" ] && [ "$siglum_run" -nt "/proc/$PPID" ] 2>/dev/null
}
"#;
/// The same by its id alone, for the hooks before a commit. For another process that has its id by chance, the hook after
/// the commit, which looks at both, starts the program.
const SEEMS_IN_RUN: &str = r#"siglum_seems_in_run() {
set -- "${GIT_DIR:-.git}/rebase-merge/siglum-run-$PPID-"*
[ -f "$1" ]
}
"#;
/// Adds the commit at HEAD to the notes, with the one that was picked for it.
const NOTE: &str = r#"siglum_notes_run() {
siglum_in_run || return 1
siglum_old=
{ read -r siglum_new <"${GIT_DIR:-.git}/HEAD"; } 2>/dev/null || return 1
{ read -r siglum_old <"${GIT_DIR:-.git}/CHERRY_PICK_HEAD"; } 2>/dev/null
case $siglum_new in '' | *[!0-9a-f]*) return 1 ;; esac
{ printf '%s %s\n' "$siglum_new" "$siglum_old" >>"$siglum_run"; } 2>/dev/null
}
"#;
/// The note that an earlier hook of this commit left ([`super::COMMITS`]), if its git process runs this hook. Below a manager
/// of hooks the number of git is not known; notes of other checkouts than the main one are not looked for here.
const HAS_NOTE: &str = r#"siglum_has_note() {
siglum_note=${GIT_DIR:-.git}/siglum/commits/$PPID
[ -f "$siglum_note" ]
}
"#;
/// Whether a message file has the same time of change as the note: nobody wrote it since the note was left. A `[` that
/// cannot compare times fails otherwise than by 1.
const IS_KEPT: &str = r#"siglum_is_kept() {
[ -f "$1" ] || return 1
[ "$1" -nt "$siglum_note" ] 2>/dev/null
[ $? = 1 ] || return 1
[ "$1" -ot "$siglum_note" ] 2>/dev/null
[ $? = 1 ]
}
"#;
/// Whether nothing is to be done for the message in the file `$1`: it is as the note says, or no commit left a note.
const IS_SETTLED: &str = r#"siglum_is_settled() {
[ -d "${GIT_DIR:-.git}/siglum" ] || return 1
if siglum_has_note; then
siglum_is_kept "$1"
else
set -- "${GIT_DIR:-.git}/siglum/commits"/*
! [ -e "$1" ]
fi
}
"#;
/// Adds to the note that the commit landed, which is told later: by the next hook, the worker or a command. Only where
/// nobody else can have had a part in it: its message is as the note says, and no rebase stands still.
const LANDS: &str = r#"siglum_lands() {
siglum_has_note && siglum_is_kept "${GIT_DIR:-.git}/COMMIT_EDITMSG" || return 1
[ -d "${GIT_DIR:-.git}/rebase-merge" ] || [ -d "${GIT_DIR:-.git}/rebase-apply" ] && return 1
{ echo >>"$siglum_note"; } 2>/dev/null
}
"#;
/// Whether the hook after an amend by this git process told all of it, or noted that it landed. Told: the mark is there
/// ([`super::AMENDS`]) and HEAD did not move since. Noted: the note has another time than the message by then, but not
/// that of one which is looked at by the program in any case, long before git's settings were written.
const IS_RECORDED: &str = r#"siglum_is_told() {
[ "$1" = amend ] || return 1
if siglum_has_note; then
siglum_is_kept "${GIT_DIR:-.git}/COMMIT_EDITMSG" && return 1
[ "$siglum_note" -nt "${GIT_DIR:-.git}/config" ] 2>/dev/null
return $?
fi
siglum_mark=${GIT_DIR:-.git}/siglum/amends/$PPID
[ -f "$siglum_mark" ] || return 1
[ "$siglum_mark" -ot "${GIT_DIR:-.git}/logs/HEAD" ] 2>/dev/null
[ $? = 1 ]
}
"#;

/// Where the shell can tell that the program has nothing to do, which is a process less: its tests, and how they stand
/// before the test for the program.
fn spared(hook: &str) -> (String, &'static str) {
    match hook {
        "prepare-commit-msg" => (
            SEEMS_IN_RUN.to_owned(),
            "siglum_seems_in_run; then :; elif ",
        ),
        "commit-msg" => (
            [SEEMS_IN_RUN, HAS_NOTE, IS_KEPT, IS_SETTLED].concat(),
            "siglum_seems_in_run || siglum_is_settled \"$1\"; then :; elif ",
        ),
        "post-commit" => (
            [IN_RUN, NOTE, HAS_NOTE, IS_KEPT, LANDS].concat(),
            "siglum_notes_run || siglum_lands; then :; elif ",
        ),
        "post-rewrite" => (
            [HAS_NOTE, IS_KEPT, IS_RECORDED].concat(),
            "siglum_is_told \"$1\"; then :; elif ",
        ),
        _ => (String::new(), ""),
    }
}

/// The one hook of ours that git gives something to read.
const READS_INPUT: &str = "post-rewrite";

/// Both read what git says, where ours needs it. In a rebase that is a file, which ours opens once more, where the system
/// lets it: theirs has the file of git, from its first byte.
fn with_shared_input(spares: &str, there: &str, call: &str, and: &str) -> String {
    let alone = match and {
        "" => String::new(),
        _ => format!("elif {there}; then {}\n", quiet(call)),
    };
    let again = quiet(&format!("{call} </proc/self/fd/0"));
    let copied = quiet(&format!("printf '%s\\n' \"$siglum_input\" | {call}"));
    format!(
        "if {spares}{there}{and}; then\n\
         if [ -f /proc/self/fd/0 ]; then {again}\nelse\nsiglum_input=$(cat) || :\n\
         {copied}\n\
         exec <<SIGLUM_INPUT\n$siglum_input\nSIGLUM_INPUT\n\
         unset siglum_input\nfi\n{alone}fi\n"
    )
}

/// A command that may fail. A hook of ours says nothing: what comes to standard error is of the shell or the system, about
/// a program that cannot be run or broke down.
fn quiet(call: &str) -> String {
    format!("{{ {call} || :; }} 2>/dev/null")
}

/// Takes the names of these functions, and those that they set, from the shell again: the lines below may list them. The
/// last word before those lines is none of them, either.
fn forgotten(functions: &str) -> String {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = functions.split(|c: char| !is_part(c));
    let names: BTreeSet<&str> = words.filter(|word| word.starts_with("siglum_")).collect();
    let is_function = |name: &&str| functions.contains(&format!("{name}() {{"));
    let (own, set): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_function);
    let line = |command: &str, names: &[&str]| match names {
        [] => String::new(),
        names => format!("{command} {}\n", names.join(" ")),
    };
    match own.as_slice() {
        [] => String::new(),
        own => line("unset -f", own) + &line("unset", &set) + ":\n",
    }
}

/// A shell word that stands for this text.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Where a block stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockLocation {
    /// Nowhere.
    None,
    /// Here, with its last line break if it has one.
    At(Range<usize>),
    /// A first marker without a last one.
    Broken,
}

/// Looks for a block of any version.
pub(super) fn find(content: &[u8]) -> BlockLocation {
    let Some(start) = line_starts(content).find(|at| is_begin(&content[*at..])) else {
        return BlockLocation::None;
    };
    let ends = line_starts(content).filter(|at| *at > start);
    let Some(end) = ends
        .map(|at| (at, line(&content[at..])))
        .find(|(_, l)| *l == END.as_bytes())
    else {
        return BlockLocation::Broken;
    };
    let end = end.0 + END.len();
    BlockLocation::At(start..content.len().min(end + 1))
}

fn line_starts(content: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let breaks = content.iter().enumerate().filter(|(_, b)| **b == b'\n');
    std::iter::once(0).chain(breaks.map(|(at, _)| at + 1))
}

fn line(content: &[u8]) -> &[u8] {
    content.split(|b| *b == b'\n').next().unwrap_or_default()
}

fn is_begin(content: &[u8]) -> bool {
    let version = line(content).strip_prefix(BEGIN.as_bytes());
    let version = version.and_then(|l| l.strip_suffix(BEGIN_END.trim_end().as_bytes()));
    version.is_some_and(|v| !v.is_empty() && v.iter().all(u8::is_ascii_digit))
}

/// The shim that a block calls, as quoted in it.
pub(super) fn calls(block: &[u8], shim: &Path) -> bool {
    let Some(path) = shim.to_str() else {
        return false;
    };
    let call = format!("{} hook git ", quoted(path));
    block
        .windows(call.len())
        .any(|window| window == call.as_bytes())
}

/// The program that a block calls.
pub(super) fn program(block: &[u8]) -> Option<PathBuf> {
    let text = std::str::from_utf8(block).ok()?;
    let (_, quoted) = text.split_once("[ -x '")?;
    let (path, _) = quoted.split_once("' ]")?;
    Some(PathBuf::from(path.replace(r"'\''", "'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the shell does itself, and the words between commands.
    const BUILT_IN: &[&str] = &[
        "", "[", ":", "case", "echo", "else", "esac", "exec", "fi", "printf", "read", "return",
        "set", "unset",
    ];

    fn blocks() -> Vec<String> {
        let kinds = [Company::Alone, Company::Below, Company::Behind("theirs")];
        let hooks = super::super::HOOKS.into_iter().chain(["pre-push"]);
        let shim = Path::new("/home/me/siglum");
        hooks
            .flat_map(|hook| kinds.map(|company| block(hook, shim, company).unwrap()))
            .collect()
    }

    /// What starts a process for what a hook reads, and what only looks as if it did.
    const KNOWN: [&str; 4] = [
        "siglum_input=$(cat) || :\n",
        "printf '%s\\n' \"$siglum_input\" | ",
        "<<SIGLUM_INPUT\n$siglum_input\nSIGLUM_INPUT",
        "'' | ",
    ];

    /// The first word of each command in a line.
    fn commands(line: &str) -> Vec<&str> {
        let mut parts = vec![line];
        for between in ["; ", " && ", " || ", ") ", "() {"] {
            parts = parts
                .into_iter()
                .flat_map(|part| part.split(between))
                .collect();
        }
        let leads_on =
            |word: &&str| ["if", "elif", "then", "!", "{", "}", "2>/dev/null"].contains(word);
        let first = parts.into_iter();
        first
            .filter_map(|part| part.split(' ').find(|word| !leads_on(word)))
            .collect()
    }

    /// A process takes longer than all of a block.
    #[test]
    fn a_block_starts_no_process_but_the_program() {
        for text in blocks() {
            let script = KNOWN
                .iter()
                .fold(text.clone(), |script, known| script.replace(known, ""));
            for starts in ["$(", "`", " | ", "& "] {
                assert!(
                    !script.replace("&& ", "").contains(starts),
                    "{starts} in {text}"
                );
            }
            let code = script.lines().filter(|line| !line.starts_with('#'));
            for word in code.flat_map(commands) {
                let is_ours = word.starts_with("siglum_") || word == "'/home/me/siglum'";
                assert!(is_ours || BUILT_IN.contains(&word), "{word} in {text}");
            }
        }
    }

    #[test]
    fn a_block_leaves_no_name_to_the_lines_below() {
        let rewrite = block("post-rewrite", Path::new("/p"), Company::Below).unwrap();
        let end = "fi\nunset -f siglum_has_note siglum_is_kept siglum_is_told\n\
                   unset siglum_mark siglum_note\n:\n# <<< siglum hooks <<<\n";
        assert!(rewrite.ends_with(end), "{rewrite}");
    }
}
