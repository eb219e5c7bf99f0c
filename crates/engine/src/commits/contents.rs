//! Contents of file versions: from the object store, else from git, each read once.

use std::collections::BTreeMap;

use siglum_domain::Oid;
use siglum_domain::observation::FileVersion;
use siglum_domain::provenance::added_lines;
use siglum_gitstore::{Git, ObjectAddress};
use siglum_ledger::EditRecord;

use crate::{EngineError, World};

/// Files above this size are not looked into, in bytes.
pub(crate) const FILE_MOST: u64 = 4 << 20;

/// The keyed hashes of the lines that an edit added; none where a version of the file is not kept.
pub(crate) fn hash_added_lines(world: &World<'_>, key: &[u8; 32], edit: &EditRecord) -> Vec<u64> {
    let content = |version: Option<&FileVersion>| match version {
        None => Some(Vec::new()),
        Some(version) => stored(world, version),
    };
    match (content(edit.before.as_ref()), content(edit.after.as_ref())) {
        (Some(before), Some(after)) => added_lines(key, &before, &after),
        _ => Vec::new(),
    }
}

/// The content of a version of a file, if the store has it.
fn stored(world: &World<'_>, version: &FileVersion) -> Option<Vec<u8>> {
    let address: ObjectAddress = version.object.as_ref()?.parse().ok()?;
    world.objects.get(&address).ok()
}

/// What was read so far.
pub(crate) struct Contents<'w> {
    world: &'w World<'w>,
    git: &'w Git,
    blobs: BTreeMap<Oid, Option<Vec<u8>>>,
}

impl<'w> Contents<'w> {
    pub(crate) const fn new(world: &'w World<'w>, git: &'w Git) -> Self {
        Self {
            world,
            git,
            blobs: BTreeMap::new(),
        }
    }

    /// Reads blobs ahead, with few processes.
    pub(crate) fn fetch<'o>(
        &mut self,
        oids: impl IntoIterator<Item = &'o Oid>,
    ) -> Result<(), EngineError> {
        let wanted = oids.into_iter().filter(|oid| !self.blobs.contains_key(oid));
        let mut wanted: Vec<Oid> = wanted.cloned().collect();
        wanted.sort();
        wanted.dedup();
        self.blobs.extend(self.git.blobs(&wanted, FILE_MOST)?);
        Ok(())
    }

    /// The ids of the blobs that commits have at paths, in the order asked.
    pub(crate) fn blob_ids(
        &self,
        places: &[(Oid, String)],
    ) -> Result<Vec<Option<Oid>>, EngineError> {
        Ok(self.git.blob_ids(places)?)
    }

    /// The content of a blob; that of no blob is empty.
    pub(crate) fn blob(&mut self, oid: Option<&Oid>) -> Result<Option<Vec<u8>>, EngineError> {
        let Some(oid) = oid else {
            return Ok(Some(Vec::new()));
        };
        self.fetch([oid])?;
        Ok(self.blobs.get(oid).cloned().flatten())
    }

    /// The content of a version of a file; that of no file is empty. Git has it where the store could not
    /// be written to, if it was committed and was read ahead.
    pub(crate) fn version(&self, version: Option<&FileVersion>) -> Option<Vec<u8>> {
        let Some(version) = version else {
            return Some(Vec::new());
        };
        let from_git = || self.blobs.get(&version.blob).cloned().flatten();
        stored(self.world, version).or_else(from_git)
    }
}

/// The content without the carriage returns that git leaves out of what it stores, where the committed
/// content has none: the file on disk may have them.
pub(crate) fn as_committed(content: Vec<u8>, commit: &[u8]) -> Vec<u8> {
    const END: &[u8] = b"\r\n";
    let has_end = |text: &[u8]| text.windows(2).any(|pair| pair == END);
    if !has_end(&content) || has_end(commit) {
        return content;
    }
    let mut plain = Vec::with_capacity(content.len());
    for line in content.split_inclusive(|b| *b == b'\n') {
        match line.strip_suffix(END) {
            Some(text) => {
                plain.extend_from_slice(text);
                plain.push(b'\n');
            }
            None => plain.extend_from_slice(line),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::as_committed;

    #[test]
    fn line_ends_are_those_of_the_commit() {
        let check = |content: &str, commit: &str, expected: &str| {
            let found = as_committed(content.into(), commit.as_bytes());
            assert_eq!(String::from_utf8(found).expect("UTF-8"), expected);
        };
        check("a\r\nb\nc\r\n", "a\nb\n", "a\nb\nc\n");
        check("a\r\n", "a\r\nb\n", "a\r\n");
        check("a\rb\r", "a\n", "a\rb\r");
    }
}
