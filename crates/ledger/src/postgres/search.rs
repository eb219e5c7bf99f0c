//! The index in PostgreSQL: a table of the store with the words as `tsvector`, which takes them as they are.

use std::collections::BTreeMap;

use postgres::Row;
use siglum_domain::search::{Facet, IndexTerm, TurnText};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};
use uuid::Uuid;

use super::columns::{Col, count, get, int, raw};
use super::open::PostgresLedger;
use super::tx::{Tx, Value};
use crate::search::{
    IndexCheck, IndexMatch, IndexQuery, IndexStanding, IndexUpdate, IndexedPart, PartChanges,
    PartKey, PartMark, SearchIndex, WAITING_MOST, WaitingSession, index_word, mark_of, text_of,
    text_stored,
};
use crate::{Durability, LedgerError, TextColumn};

type Result<T> = std::result::Result<T, LedgerError>;

/// A number that no other change of a session has.
const CHANGE: &str = "(random() * 9007199254740991)::bigint";

/// How many bytes the words of a part have at most: a `tsvector` holds no more, and what is behind that would be lost
/// without a word.
const WORDS_MOST: usize = (1 << 20) - 1;

/// Columns of texts that are in the index, with the one that says of which session they are.
const HOLDERS: &[(&str, &str)] = &[
    ("aliases", "session"),
    ("commits", "session"),
    ("links", "session"),
    ("replica_aliases", "session"),
    ("sessions", "id"),
    ("statements", "session"),
];

impl Tx<'_> {
    /// The index lacks a session in its newest state.
    pub(super) fn index_later(&mut self, session: SessionId) -> Result<()> {
        let sql = format!(
            "INSERT INTO unindexed (tenant, session, change) VALUES ($1, $2, {CHANGE}) \
             ON CONFLICT (tenant, session) DO UPDATE SET change = excluded.change"
        );
        self.run(&sql, &[&Col(session)]).map(drop)
    }

    /// The same of the session that made a commit, once git was asked about that.
    pub(super) fn index_commit_later(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<()> {
        let sql = format!(
            "INSERT INTO unindexed (tenant, session, change) SELECT tenant, session, {CHANGE} FROM commits \
             WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3 AND session IS NOT NULL AND facts IS NOT NULL \
             ON CONFLICT (tenant, session) DO UPDATE SET change = excluded.change"
        );
        self.run(&sql, &[&Col(repository), &commit.as_str()])
            .map(drop)
    }

    /// Takes a session out of the index, since something of it is erased; what is left is put back later. First it waits:
    /// whoever is about to put it in is waited for, or finds that it changed.
    pub(super) fn unindex(&mut self, session: SessionId) -> Result<()> {
        self.index_later(session)?;
        let sql = "DELETE FROM search_parts WHERE tenant = $1 AND session = $2";
        self.run(sql, &[&Col(session)]).map(drop)
    }

    /// The same of all sessions that have a text in a column.
    pub(super) fn unindex_holders(&mut self, at: TextColumn, text: &str) -> Result<()> {
        let TextColumn { table, column } = at;
        let Some((_, id)) = HOLDERS.iter().find(|(holder, _)| *holder == table) else {
            return Ok(());
        };
        let sql = format!(
            "SELECT DISTINCT {id} FROM {table} WHERE tenant = $1 AND \"{column}\" = $2 AND {id} IS NOT NULL"
        );
        let sessions: Vec<SessionId> = self.rows(&sql, &[&text], |row| get(row, 0))?;
        sessions
            .into_iter()
            .try_for_each(|session| self.unindex(session))
    }

    /// What is stored of a session: its parts without their texts.
    fn stored_parts(
        &mut self,
        session: SessionId,
    ) -> Result<BTreeMap<PartKey, (PartKey, [u8; 32])>> {
        let sql = "SELECT turn, part, mark FROM search_parts WHERE tenant = $1 AND session = $2";
        let rows = self.rows(sql, &[&Col(session)], |row| {
            let key = (turn_at(row, 0)?, count(row, 1)?);
            Ok((key, (key, mark_of(raw(row, 2)?)?)))
        })?;
        Ok(rows.into_iter().collect())
    }

    /// Puts a session into the index; `false` where it changed since it was read.
    fn update_parts(&mut self, update: &IndexUpdate<'_>) -> Result<bool> {
        let WaitingSession { session, change } = update.waiting;
        let sql = "SELECT change FROM unindexed WHERE tenant = $1 AND session = $2 FOR UPDATE";
        let now = self.row(sql, &[&Col(session)], |row| raw::<i64>(row, 0))?;
        if now != Some(change) {
            return Ok(false);
        }
        let Some(changes) = PartChanges::new(update, self.stored_parts(session)?) else {
            return Ok(false);
        };
        for (turn, part) in changes.gone {
            let sql = "DELETE FROM search_parts WHERE tenant = $1 AND session = $2 AND turn = $3 AND part = $4";
            self.run(sql, &[&Col(session), &stored_turn(turn), &int(part)])?;
        }
        for ((turn, nth), part) in changes.kept {
            let sql = "UPDATE search_parts SET number = $5, began = $6 \
                 WHERE tenant = $1 AND session = $2 AND turn = $3 AND part = $4 AND (number <> $5 OR began <> $6)";
            let values: [Value<'_>; 5] = [
                &Col(session),
                &stored_turn(turn),
                &int(nth),
                &int(part.number),
                &Col(part.began),
            ];
            self.run(sql, &values)?;
        }
        let replaced = changes
            .replaced
            .into_iter()
            .map(|(_, part, text)| (part, text));
        for (part, text) in replaced.chain(changes.added) {
            self.put_part(session, part, text)?;
        }
        if update.is_whole {
            let sql = "DELETE FROM unindexed WHERE tenant = $1 AND session = $2";
            self.run(sql, &[&Col(session)])?;
        }
        Ok(true)
    }

    fn put_part(&mut self, session: SessionId, part: &IndexedPart, text: &TurnText) -> Result<()> {
        let sql = "INSERT INTO search_parts (tenant, session, turn, part, number, began, mark, text, words) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, array_to_tsvector($9::text[])) \
             ON CONFLICT (tenant, session, turn, part) DO UPDATE SET number = excluded.number, began = excluded.began, \
             mark = excluded.mark, text = excluded.text, words = excluded.words";
        let mut words = vec![tenant_word(self.tenant)];
        words.extend(text.words());
        let mut room = WORDS_MOST;
        words.retain(|word| {
            let fits = word.len() <= room;
            room -= if fits { word.len() } else { 0 };
            fits
        });
        let (turn, nth) = part.key;
        let values: [Value<'_>; 8] = [
            &Col(session),
            &stored_turn(turn),
            &int(nth),
            &int(part.number),
            &Col(part.began),
            &&part.mark[..],
            &text_stored(text),
            &words,
        ];
        self.run(sql, &values).map(drop)
    }

    fn find_parts(&mut self, query: &IndexQuery) -> Result<Vec<IndexMatch>> {
        let words = expression(&query.all_of, self.tenant);
        let from = query.since.unwrap_or(Timestamp::from_nanos(i64::MIN));
        let past = query.until.unwrap_or(Timestamp::from_nanos(i64::MAX));
        let ids = query.sessions.iter().flatten();
        let ids: Vec<Col<SessionId>> = ids.map(|session| Col(*session)).collect();
        let mut sql =
            "SELECT id, session, turn, number, began FROM search_parts WHERE tenant = $1 AND began >= $2 AND began < $3"
                .to_owned();
        let (from, past, limit) = (Col(from), Col(past), int(query.limit as u64));
        let mut values: Vec<Value<'_>> = vec![&from, &past, &limit];
        if let Some(words) = &words {
            values.push(words);
            sql += &format!(" AND words @@ ${}::text::tsquery", values.len() + 1);
        }
        if query.sessions.is_some() {
            values.push(&ids);
            sql += &format!(" AND session = ANY(${})", values.len() + 1);
        }
        sql += " ORDER BY began DESC, id DESC LIMIT $4";
        self.rows(&sql, &values, |row| {
            Ok(IndexMatch {
                id: raw(row, 0)?,
                session: get(row, 1)?,
                turn: turn_at(row, 2)?,
                number: count(row, 3)?,
                began: get(row, 4)?,
            })
        })
    }
}

/// What stands for a turn: for none, zeros.
fn stored_turn(turn: Option<TurnId>) -> Col<TurnId> {
    Col(turn.unwrap_or(TurnId::from_uuid(Uuid::nil())))
}

fn turn_at(row: &Row, at: usize) -> Result<Option<TurnId>> {
    let turn: TurnId = get(row, at)?;
    Ok(Some(turn).filter(|turn| !turn.uuid().is_nil()))
}

/// The word of a tenant: several share the index.
fn tenant_word(tenant: &str) -> String {
    let signs = tenant.bytes().map(|byte| format!("{byte:02x}"));
    Facet::Tenant.word(&signs.collect::<String>())
}

/// What is asked for in the language of `tsquery`; nothing where nothing is. Each word is a string, in which nothing is
/// syntax. Several tenants share the index, so whose the parts are is asked for as well.
fn expression(all_of: &[Vec<IndexTerm>], tenant: &str) -> Option<String> {
    let quoted = |word: &str| format!("'{}'", index_word(word));
    let term = |term: &IndexTerm| match term {
        IndexTerm::Whole(word) => quoted(word),
        IndexTerm::Prefix(start) => format!("{}:*", quoted(start)),
    };
    let one_of = |terms: &Vec<IndexTerm>| {
        let terms: Vec<String> = terms.iter().map(term).collect();
        format!("({})", terms.join(" | "))
    };
    let all = all_of.iter().filter(|terms| !terms.is_empty());
    let mut all: Vec<String> = all.map(one_of).collect();
    if all.is_empty() {
        return None;
    }
    all.push(quoted(&tenant_word(tenant)));
    Some(all.join(" & "))
}

impl PostgresLedger {
    fn read_index<T>(&mut self, mut work: impl FnMut(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        let mut found = None;
        self.run_once(&mut |tx| {
            found = Some(work(tx)?);
            Ok(())
        })?;
        Ok(found.expect("because a transaction that succeeds has run its work"))
    }

    fn write_index<T>(&mut self, mut work: impl FnMut(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        let mut done = None;
        self.run_again(Durability::Process, &mut |tx| {
            done = Some(work(tx)?);
            Ok(())
        })?;
        Ok(done.expect("because a transaction that succeeds has run its work"))
    }
}

impl SearchIndex for PostgresLedger {
    fn index_standing(&mut self) -> Result<IndexStanding> {
        let sql =
            "SELECT count(*) FROM (SELECT 1 FROM unindexed WHERE tenant = $1 LIMIT $2) AS waiting";
        let most = int(WAITING_MOST as u64);
        let waiting = self.read_index(|tx| tx.one(sql, &[&most], |row| count(row, 0)))?;
        Ok(IndexStanding {
            is_ready: true,
            waiting,
        })
    }

    /// Nothing: it is as old as the store.
    fn begin_index(&mut self) -> Result<()> {
        Ok(())
    }

    fn restart_index(&mut self) -> Result<u64> {
        self.write_index(|tx| {
            let all = format!(
                "INSERT INTO unindexed (tenant, session, change) SELECT tenant, id, {CHANGE} FROM sessions \
                 WHERE tenant = $1 ON CONFLICT (tenant, session) DO UPDATE SET change = excluded.change"
            );
            let waiting = tx.run(&all, &[])?;
            tx.run("DELETE FROM search_parts WHERE tenant = $1", &[])?;
            Ok(waiting)
        })
    }

    fn waiting_sessions(&mut self, limit: usize) -> Result<Vec<WaitingSession>> {
        let sql = "SELECT session, change FROM unindexed WHERE tenant = $1 ORDER BY session DESC LIMIT $2";
        self.read_index(|tx| {
            tx.rows(sql, &[&int(limit as u64)], |row| {
                Ok(WaitingSession {
                    session: get(row, 0)?,
                    change: raw(row, 1)?,
                })
            })
        })
    }

    fn session_repositories(&mut self, session: SessionId) -> Result<Vec<RepositoryId>> {
        let sql = "SELECT repository FROM session_repositories WHERE tenant = $1 AND session = $2 \
             UNION SELECT repository FROM commits WHERE tenant = $1 AND session = $2 ORDER BY 1";
        self.read_index(|tx| tx.rows(sql, &[&Col(session)], |row| get(row, 0)))
    }

    fn indexed_parts(&mut self, session: SessionId) -> Result<Vec<PartMark>> {
        let stored = self.read_index(|tx| tx.stored_parts(session))?;
        let marks = stored.into_iter();
        Ok(marks
            .map(|(key, (_, mark))| PartMark { key, mark })
            .collect())
    }

    fn update_index(&mut self, updates: &[IndexUpdate<'_>]) -> Result<usize> {
        // Each in a transaction of its own: whoever changes a session waits for no other one.
        let mut put = 0;
        for update in updates {
            put += usize::from(self.write_index(|tx| tx.update_parts(update))?);
        }
        Ok(put)
    }

    fn search_index(&mut self, query: &IndexQuery) -> Result<Vec<IndexMatch>> {
        self.read_index(|tx| tx.find_parts(query))
    }

    fn indexed_texts(&mut self, ids: &[i64]) -> Result<Vec<(i64, TurnText)>> {
        let sql = "SELECT id, text FROM search_parts WHERE tenant = $1 AND id = ANY($2)";
        let ids = ids.to_vec();
        self.read_index(|tx| {
            tx.rows(sql, &[&ids], |row| {
                Ok((raw(row, 0)?, text_of(raw(row, 1)?)?))
            })
        })
    }

    /// Nothing: the server checks its own indexes.
    fn check_index(&mut self) -> Result<IndexCheck> {
        Ok(IndexCheck::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_searched_for_is_syntax() {
        let words = |words: &[&str]| -> Vec<IndexTerm> {
            let one = |word: &&str| IndexTerm::Whole((*word).to_owned());
            words.iter().map(one).collect()
        };
        assert_eq!(expression(&[Vec::new()], "t"), None);
        let terms = [words(&["a'b\\"]), vec![IndexTerm::Prefix("c".to_owned())]];
        assert_eq!(
            expression(&terms, "t").as_deref(),
            Some("('\u{e00f}') & ('c':*) & '\u{e006}74'")
        );
    }
}
