//! Which schema a program may work with. The rules are those of every store.

use crate::LedgerError;

/// The schema of a store, and the versions that its readers and writers need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SchemaVersions {
    /// Its schema; 0 where there is none yet.
    pub(crate) schema: u32,
    /// The schema that a reader must know.
    pub(crate) min_reader: Option<u32>,
    /// The schema that a writer must know.
    pub(crate) min_writer: Option<u32>,
}

impl SchemaVersions {
    /// Refuses a store that a program may not read or write, or that is older than it.
    pub(crate) fn admit(self, known: u32) -> Result<(), LedgerError> {
        if self.schema < known {
            return Err(LedgerError::Outdated {
                found: self.schema,
                known,
            });
        }
        let needed = self
            .min_writer
            .unwrap_or(self.schema)
            .max(self.min_reader.unwrap_or(0));
        if needed > known {
            return Err(LedgerError::TooNew { needed, known });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: u32, min_reader: Option<u32>, min_writer: Option<u32>, expected: &str) {
        let found = SchemaVersions {
            schema,
            min_reader,
            min_writer,
        };
        let outcome = match found.admit(5) {
            Ok(()) => "admitted".to_owned(),
            Err(refused) => refused.to_string(),
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn a_schema_is_admitted_if_this_program_may_work_with_it() {
        check(5, Some(5), Some(5), "admitted");
        check(9, Some(4), Some(5), "admitted");
        let old = "the ledger has schema 4 and must be migrated to 5";
        check(4, Some(1), Some(1), old);
        let new = "the ledger requires a program that supports schema 9, but this one supports 5";
        check(9, Some(4), Some(9), new);
        check(9, Some(9), Some(4), new);
        check(9, None, None, new);
    }
}
