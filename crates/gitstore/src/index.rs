//! The tree that an index amounts to, read by hand.
//!
//! Git leaves the ids of the trees that it has written in the index (the extension `TREE` of gitformat-index), among
//! them that of the whole, which is the one that the next commit gets. It stands behind all entries, so that reading
//! it from the end costs the same for trees of every size.

use std::path::Path;

use siglum_domain::Oid;

use crate::bounded;

/// How much of an index is read, in bytes. More directories than fit in there are not looked for.
const TAIL: u64 = 256 << 10;
const SIGNATURE: &[u8; 4] = b"TREE";
/// A signature of four letters and a length.
const HEAD: usize = 8;

/// The tree of an index; nothing where git left none, as after something was added that no commit has.
pub(crate) fn tree(path: &Path, oid_length: usize) -> Option<Oid> {
    let (_, tail) = bounded::read_end(path, TAIL)?;
    let end = tail.len().checked_sub(oid_length)?;
    let extensions = &tail[..end];
    let mut starts = extensions.windows(HEAD).enumerate().rev();
    let (start, _) =
        starts.find(|(at, head)| head.starts_with(SIGNATURE) && reaches_end(extensions, *at))?;
    let length = length_at(extensions, start)?;
    root(
        extensions.get(start + HEAD..start + HEAD + length)?,
        oid_length,
    )
}

/// Whether there is nothing but whole extensions from here to the end: the same letters may be in the name of a file.
fn reaches_end(extensions: &[u8], mut at: usize) -> bool {
    while at < extensions.len() {
        let Some(length) = length_at(extensions, at) else {
            return false;
        };
        at += HEAD + length;
    }
    at == extensions.len()
}

fn length_at(extensions: &[u8], at: usize) -> Option<usize> {
    let bytes = extensions.get(at + SIGNATURE.len()..at + HEAD)?;
    let length = u32::from_be_bytes(bytes.try_into().ok()?);
    usize::try_from(length).ok()
}

/// The first entry is the root: an empty path, how many files are below it (-1 where that changed), how many trees, and
/// the id.
fn root(extension: &[u8], oid_length: usize) -> Option<Oid> {
    let rest = extension.strip_prefix(b"\0")?;
    let line = rest.iter().position(|b| *b == b'\n')?;
    let counts = str::from_utf8(&rest[..line]).ok()?;
    if counts.starts_with('-') {
        return None;
    }
    let id = rest.get(line + 1..line + 1 + oid_length)?;
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    Oid::new(hex).ok()
}
