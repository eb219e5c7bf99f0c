//! What a tool call changed in files, line by line.

use std::path::Path;

use siglum_domain::fold::{Edit, ToolCall};
use siglum_domain::observation::FileVersion;
use siglum_domain::redact::Redactor;
use siglum_engine::World;
use siglum_gitstore::{ObjectAddress, hooks};

/// A version of a file that is larger is not compared, in bytes.
const FILE_MOST: u64 = 1 << 20;

/// The change of one file.
pub struct Change {
    /// Relative to the worktree.
    pub path: String,
    /// The lines of the difference, each behind its sign. They have no secret: file versions are kept as they were.
    pub lines: Vec<String>,
}

/// What a call changed, of which both sides were seen, are kept and are text: a call that was denied, or still runs, has
/// none.
pub fn changes(world: &World<'_>, call: &ToolCall) -> Vec<Change> {
    let content = |version: Option<&FileVersion>| match version {
        None => Some(None),
        Some(version) => stored(world, version).map(Some),
    };
    let change = |edit: &Edit| {
        let (before, after) = (
            content(edit.before.as_ref())?,
            content(edit.after.as_ref())?,
        );
        let difference = hooks::unified(before.as_deref(), after.as_deref(), Path::new(""));
        // The two lines before it would name the file; a name may have lines of its own.
        let lines: Vec<String> = difference.lines().skip(2).map(str::to_owned).collect();
        let path = edit.path.clone();
        (!lines.is_empty()).then_some(Change { path, lines })
    };
    let seen = call.edits.iter().filter(|e| e.before_seen && e.after_seen);
    seen.filter_map(change).collect()
}

/// The content of a version without secrets, if it is kept and is text.
fn stored(world: &World<'_>, version: &FileVersion) -> Option<Vec<u8>> {
    if version.bytes > FILE_MOST {
        return None;
    }
    let address: ObjectAddress = version.object.as_ref()?.parse().ok()?;
    let content = world.objects.get(&address).ok()?;
    let text = String::from_utf8(content).ok()?;
    let is_text = !text.contains('\0');
    is_text.then(|| Redactor::shared().redact(&text).into_string().into_bytes())
}
