//! Which ledger this home has, kept beside it: so a ledger that is gone or emptied is told from one that was never begun.

use std::io::Write as _;
use std::{fs, io};

use siglum_domain::LedgerId;

use crate::home::Home;
use crate::platform::regular_file;

/// The ledger that was here before, as far as that is known. What cannot be read says nothing.
pub fn load(home: &Home) -> Option<LedgerId> {
    let text = regular_file::read_text(&home.known_ledger(), LENGTH_MOST).ok()?;
    text.trim().parse().ok()
}

/// Notes that this home has this ledger from now on.
pub fn store(home: &Home, id: LedgerId) -> io::Result<()> {
    if load(home) == Some(id) {
        return Ok(());
    }
    let mut file = tempfile::NamedTempFile::new_in(home.dir())?;
    writeln!(file, "{id}")?;
    file.persist(home.known_ledger())
        .map(drop)
        .map_err(|e| e.error)
}

/// Whether there is a ledger, or was one before.
pub fn is_here(home: &Home) -> bool {
    load(home).is_some() || has_bytes(home)
}

/// Whether the file of the ledger holds anything.
pub fn has_bytes(home: &Home) -> bool {
    fs::metadata(home.ledger()).is_ok_and(|meta| meta.len() > 0)
}

/// No id is longer, in bytes.
const LENGTH_MOST: u64 = 100;
