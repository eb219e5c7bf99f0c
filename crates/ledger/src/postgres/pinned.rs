//! What has a session in PostgreSQL alone.

use siglum_domain::SessionId;

use super::blobs::FREE_BLOBS;
use super::columns::Col;
use super::tx::Tx;
use crate::LedgerError;
use crate::verbs::pinned::OwnPins;

impl OwnPins for Tx<'_> {
    fn strip_further(&mut self, session: SessionId) -> Result<(), LedgerError> {
        for sql in [
            FREE_BLOBS,
            "DELETE FROM search_parts WHERE tenant = $1 AND session = $2",
            "DELETE FROM unindexed WHERE tenant = $1 AND session = $2",
        ] {
            self.run(sql, &[&Col(session)])?;
        }
        Ok(())
    }
}
