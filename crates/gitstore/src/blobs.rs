//! Contents of blobs: one process for the sizes, one for all that are small enough.

use std::collections::HashMap;
use std::str;

use siglum_domain::Oid;

use crate::error::GitError;
use crate::facts::lines;
use crate::git::Git;

const COMMAND: &str = "cat-file";

/// A blob and its content, if it could be had.
pub type BlobContent = (Oid, Option<Vec<u8>>);

impl Git {
    /// Reads blobs, in the order asked. None for one that git does not have, that is larger than
    /// `max_bytes`, or that is no blob (a submodule's commit).
    ///
    /// # Errors
    /// Git fails, or all of them together are larger than the bound on git's output.
    pub fn blobs(&self, oids: &[Oid], max_bytes: u64) -> Result<Vec<BlobContent>, GitError> {
        let unreadable = || GitError::unreadable(COMMAND);
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        let sizes = self.text_of("--batch-check", oids)?;
        let sizes = str::from_utf8(&sizes).map_err(|_| unreadable())?;
        let wanted = sizes.lines().filter_map(blob_size);
        let wanted: Vec<Oid> = wanted
            .filter(|(_, size)| *size <= max_bytes)
            .map(|(oid, _)| oid)
            .collect();
        let output = if wanted.is_empty() {
            Vec::new()
        } else {
            self.text_of("--batch", &wanted)?
        };
        let contents = contents(&output).ok_or_else(unreadable)?;
        Ok(oids
            .iter()
            .map(|oid| (oid.clone(), contents.get(oid).map(|c| c.to_vec())))
            .collect())
    }

    /// The ids of the blobs that commits have at paths, in the order asked, with one process.
    ///
    /// # Errors
    /// Git fails or answers in an unknown form.
    pub fn blob_ids(&self, places: &[(Oid, String)]) -> Result<Vec<Option<Oid>>, GitError> {
        let plain = |path: &str| !path.contains(['\n', '\r']);
        let name = |(commit, path): &(Oid, String)| match plain(path) {
            true => format!("{commit}:{path}\n"),
            false => "-\n".to_owned(),
        };
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let names: String = places.iter().map(name).collect();
        let answer = self.bytes(&[COMMAND, "--batch-check"], names.as_bytes())?;
        // What is missing is answered with its name, which need not be UTF-8.
        let answer = String::from_utf8_lossy(&answer);
        let found: Vec<Option<Oid>> = answer
            .lines()
            .map(|line| blob_size(line).map(|(oid, _)| oid))
            .collect();
        match found.len() == places.len() {
            true => Ok(found),
            false => Err(GitError::unreadable(COMMAND)),
        }
    }

    /// The commits that abbreviated ids name, in the order asked, with one process. None for one
    /// that names no commit, or several objects.
    ///
    /// # Errors
    /// Git fails or answers in an unknown form.
    pub fn resolve_ids(&self, abbreviated: &[&str]) -> Result<Vec<Option<Oid>>, GitError> {
        let plain =
            |id: &&str| (4..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit());
        let ids: Vec<&str> = abbreviated.iter().copied().filter(plain).collect();
        let names: String = ids.iter().map(|id| format!("{id}^{{commit}}\n")).collect();
        let answer = self.bytes(&[COMMAND, "--batch-check"], names.as_bytes())?;
        let answer = str::from_utf8(&answer).map_err(|_| GitError::unreadable(COMMAND))?;
        let known = |line: &str| Oid::new(line.split(' ').next()?).ok();
        let found: HashMap<&str, Option<Oid>> =
            ids.into_iter().zip(answer.lines().map(known)).collect();
        Ok(abbreviated
            .iter()
            .map(|id| found.get(id).cloned().flatten())
            .collect())
    }

    fn text_of(&self, mode: &str, oids: &[Oid]) -> Result<Vec<u8>, GitError> {
        self.bytes(&[COMMAND, mode], &lines(oids))
    }
}

/// Reads `<oid> blob <size>`.
fn blob_size(line: &str) -> Option<(Oid, u64)> {
    let mut words = line.split(' ');
    let oid = Oid::new(words.next()?).ok()?;
    let is_blob = words.next()? == "blob";
    let size = words.next()?.parse().ok()?;
    is_blob.then_some((oid, size))
}

fn contents(mut output: &[u8]) -> Option<HashMap<Oid, &[u8]>> {
    let mut found = HashMap::new();
    while !output.is_empty() {
        let end = output.iter().position(|b| *b == b'\n')?;
        let line = str::from_utf8(&output[..end]).ok()?;
        output = &output[end + 1..];
        if let Some((oid, size)) = blob_size(line) {
            let (content, rest) = output.split_at_checked(usize::try_from(size).ok()?)?;
            found.insert(oid, content);
            output = rest.strip_prefix(b"\n")?;
        }
    }
    Some(found)
}
