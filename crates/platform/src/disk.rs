//! How much room a disk has.

use std::path::Path;

/// With less room than this on its disk nothing can be recorded, in bytes: a ledger's own log grows by pages, and what it
/// has reserved before is soon used up.
pub const ROOM_NONE: u64 = 256 << 10;

/// The room that is left for this user on the disk of a path, in bytes; nothing where the system does not tell. Of what is
/// not there yet it is the disk that it would be on.
#[must_use]
pub fn room(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|path| path.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_yet_has_the_room_of_where_it_would_be() {
        let dir = std::env::temp_dir();
        assert!(room(&dir).is_some());
        assert!(room(&dir.join("none/at/all")).is_some());
    }
}
