//! The block: a few lines of POSIX shell between two markers.

use std::ops::Range;
use std::path::Path;

use crate::error::GitError;

/// The version in the first marker. A block with another one is replaced.
pub const BLOCK_VERSION: u32 = 1;

const BEGIN: &str = "# >>> siglum hooks v";
const BEGIN_END: &str = " >>>\n";
/// Husky before version 9 lets a hook run itself again, as a child. The block runs once.
const ONCE: &str = "if [ \"${siglum_hook-}\" != \"$PPID\" ]; then export siglum_hook=$$\n";
const END: &str = "# <<< siglum hooks <<<";

/// Who else runs in the same script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// Nobody.
    Alone,
    /// The lines below the block.
    Below,
    /// The hook that was moved aside.
    Chained,
}

/// The text of a block, with its last line break.
pub(super) fn block(hook: &str, shim: &Path, company: Company) -> Result<String, GitError> {
    let refused = || GitError::Shim(shim.to_owned());
    let path = shim
        .to_str()
        .filter(|p| shim.is_absolute() && !p.contains(char::is_control));
    let path = path.ok_or_else(refused)?;
    let program = quoted(path);
    let call = format!("{program} hook git {hook} \"$@\"");
    let shared_input = hook == "post-rewrite" && company != Company::Alone;
    let mut text = format!("{BEGIN}{BLOCK_VERSION}{BEGIN_END}");
    if company == Company::Below {
        text.push_str(ONCE);
    }
    if shared_input {
        text.push_str("siglum_input=$(cat) || :\n");
        text.push_str(&format!(
            "if [ -x {program} ]; then printf '%s\\n' \"$siglum_input\" | {call} || :; fi\n"
        ));
        text.push_str("exec <<SIGLUM_INPUT\n$siglum_input\nSIGLUM_INPUT\n");
    } else if hook == "prepare-commit-msg" {
        let hint = quoted(&hint(path));
        text.push_str(&format!("if [ -x {program} ]; then {call} || :\n"));
        // Another user of the repository, who may not look there, can do nothing about it.
        text.push_str(&format!(
            "elif [ -O \"$0\" ]; then printf '%s\\n' {hint} >&2 || :; fi\n"
        ));
    } else {
        text.push_str(&format!("if [ -x {program} ]; then {call} || :; fi\n"));
    }
    if company == Company::Below {
        text.push_str("fi\n");
    }
    if company == Company::Chained {
        let chained = format!("\"$0{}\"", super::CHAINED);
        text.push_str(&format!(
            "if [ -x {chained} ]; then exec {chained} \"$@\"; fi\n"
        ));
    }
    Ok(text + END + "\n")
}

fn hint(path: &str) -> String {
    format!(
        "siglum: not found at {path}; install it again and run siglum doctor, \
         or delete its lines from the git hooks"
    )
}

/// A shell word that stands for this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Where a block stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nowhere.
    None,
    /// Here, with its last line break if it has one.
    At(Range<usize>),
    /// A first marker without a last one.
    Broken,
}

/// Looks for a block of any version.
pub(super) fn find(content: &[u8]) -> Found {
    let Some(start) = line_starts(content).find(|at| is_begin(&content[*at..])) else {
        return Found::None;
    };
    let ends = line_starts(content).filter(|at| *at > start);
    let Some(end) = ends
        .map(|at| (at, line(&content[at..])))
        .find(|(_, l)| *l == END.as_bytes())
    else {
        return Found::Broken;
    };
    let end = end.0 + END.len();
    Found::At(start..content.len().min(end + 1))
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
