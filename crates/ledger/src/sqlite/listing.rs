//! Sessions as they are listed, in SQLite.

use siglum_domain::RepositoryId;

use super::columns::Col;
use super::database::Tx;
use crate::LedgerError;
use crate::columns::{Parameter, Value};
use crate::database::Database;
use crate::lookup::{Window, page_of_repositories, picks_few};
use crate::record::*;
use crate::verbs::listing::{LISTED, SUMMARIES, listing_row};
use crate::verbs::places::window;

type Result<T> = std::result::Result<T, LedgerError>;

/// The condition that a session works in one of these repositories, whose values are added. Within a window, the sessions
/// there are looked up; else the condition is asked of each session on the way.
fn works_in_one_of(
    repositories: &[RepositoryId],
    window: Option<Window>,
    values: &mut Vec<Box<dyn Parameter>>,
) -> String {
    for repository in repositories {
        values.push(Box::new(Col(*repository)));
    }
    let ids = vec!["?"; repositories.len()].join(", ");
    let Some(window) = window else {
        return format!(
            "EXISTS (SELECT 1 FROM session_repositories r WHERE r.repository IN ({ids}) AND r.session = s.id)"
        );
    };
    let (first, last) = window.hours;
    values.push(Box::new(first));
    values.push(Box::new(last));
    let from = match window.from {
        Some(session) => {
            values.push(Box::new(Col(session)));
            " AND session >= ?"
        }
        None => "",
    };
    format!(
        "s.id IN (SELECT session FROM session_repositories WHERE repository IN ({ids}) AND hour BETWEEN ? AND ?{from})"
    )
}

impl Tx<'_> {
    pub(super) fn listing(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        if filter.repositories.is_empty() || picks_few(filter) {
            return self.listing_of(filter, None);
        }
        page_of_repositories(
            self,
            filter,
            |tx: &mut Self, sessions| window(tx, filter, sessions),
            |tx: &mut Self, window| tx.listing_of(filter, Some(window)),
        )
    }

    /// The page of a filter, of the sessions of its repositories that are in a window. Without one, all sessions that the
    /// filter picks are looked at, or all in the order of the page.
    fn listing_of(
        &mut self,
        filter: &SessionFilter,
        window: Option<Window>,
    ) -> Result<Vec<SessionListing>> {
        // Each condition is written out, so that each combination can use its index.
        let mut conditions = vec!["1 = 1".to_owned()];
        let mut values: Vec<Box<dyn Parameter>> = Vec::new();
        let mut when = |condition: &str, value: Option<Box<dyn Parameter>>| {
            if let Some(value) = value {
                conditions.push(condition.to_owned());
                values.push(value);
            }
        };
        when("s.id = ?", filter.id.map(|id| Box::new(Col(id)) as _));
        when(
            "s.agent = ?",
            filter.agent.as_ref().map(|a| Box::new(a.to_string()) as _),
        );
        when(
            "s.conversation_id = ?",
            filter
                .conversation
                .as_ref()
                .map(|name| Box::new(name.to_string()) as _),
        );
        when(
            "s.last_at >= ?",
            filter.since.map(|t| Box::new(Col(t)) as _),
        );
        when("s.last_at < ?", filter.until.map(|t| Box::new(Col(t)) as _));
        when(
            "s.created_at < ?",
            filter.created_before.map(|t| Box::new(Col(t)) as _),
        );
        when(
            "s.ended_at IS NULL AND 1 = ?",
            filter.open.then(|| Box::new(1) as _),
        );
        when(
            "s.unseen = 0 AND 1 = ?",
            filter.seen.then(|| Box::new(1) as _),
        );
        when("s.parent = ?", filter.parent.map(|p| Box::new(Col(p)) as _));
        if !filter.repositories.is_empty() {
            conditions.push(works_in_one_of(&filter.repositories, window, &mut values));
        }
        for link in &filter.links {
            let linked = "s.id IN (SELECT session FROM links WHERE field = ? AND value = ?)";
            conditions.push(linked.to_owned());
            values.push(Box::new(link.field()));
            values.push(Box::new(link.value()));
        }
        if let Order::Created { after: Some(after) } = filter.order {
            conditions.push("s.id < ?".to_owned());
            values.push(Box::new(Col(after)));
        }
        let order = match filter.order {
            Order::LastActive => "s.last_at DESC, s.id",
            Order::Created { .. } => "s.id DESC",
        };
        let limit = match filter.limit {
            0 => -1,
            most => i64::try_from(most).unwrap_or(i64::MAX),
        };
        let index = match filter.order {
            _ if filter.open && filter.seen => "INDEXED BY sessions_open",
            // Else all sessions are read and sorted, however few are wanted.
            Order::LastActive if filter.limit > 0 && window.is_none() && !picks_few(filter) => {
                "INDEXED BY sessions_by_last"
            }
            _ => "",
        };
        let sql = format!(
            "{} {index} {} WHERE {} ORDER BY {order} LIMIT {limit}",
            LISTED.sqlite,
            SUMMARIES.sqlite,
            conditions.join(" AND ")
        );
        let values: Vec<Value<'_>> = values.iter().map(|value| &**value).collect();
        self.rows(&sql, &values, listing_row)
    }
}

#[cfg(test)]
mod tests {
    use siglum_domain::intake::Place;
    use siglum_domain::link::Link;
    use siglum_domain::{AgentName, ConversationId, LedgerId, SessionId, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::lookup::HOUR;
    use crate::sqlite::{Open, SqliteLedger};
    use crate::{Durability, Ledger, read, write};

    fn repository(n: u128) -> RepositoryId {
        RepositoryId::from_uuid(Uuid::from_u128(n))
    }

    /// A session that was active last in an hour.
    fn session(n: u128, home: LedgerId, place: u128, hour: i64) -> SessionRecord {
        let at = Timestamp::from_nanos(hour * HOUR + i64::try_from(n).unwrap());
        let agent = match n.is_multiple_of(100) {
            true => "gemini",
            false => "codex",
        };
        SessionRecord {
            repository: Some(repository(place)),
            ..SessionRecord::new(
                SessionId::from_uuid(Uuid::from_u128(n)),
                AgentName::new(agent).unwrap(),
                ConversationId::new(format!("c{n}")).unwrap(),
                home,
                Mode::Observed,
                SessionOrigin::Live,
                at,
            )
        }
    }

    fn listed(ledger: &mut SqliteLedger, filter: SessionFilter) -> Vec<u128> {
        let filter = SessionFilter { limit: 3, ..filter };
        let listed = read(ledger, |tx| tx.sessions(&filter)).unwrap();
        listed
            .iter()
            .map(|l| l.record.id.uuid().as_u128())
            .collect()
    }

    #[test]
    fn sessions_of_repositories_are_listed_newest_first_wherever_they_lie() {
        let dir = tempfile::tempdir().unwrap();
        let new = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(1)),
            key: [1; 32],
        };
        let mut ledger = SqliteLedger::open(&dir.path().join("ledger.db"), new).unwrap();
        let home = ledger.id();
        write(&mut ledger, Durability::Process, |tx| {
            for n in 1..=2 {
                let place = Place {
                    common_dir: format!("/r/{n}"),
                    worktree: format!("/r/{n}"),
                };
                tx.note_place(&place, repository(n), Timestamp::from_nanos(1))?;
            }
            // Ten in each hour, and the older ones, by id, are active again later.
            for n in 1..=1_000 {
                let hour = 500 - i64::try_from(n / 10).unwrap();
                tx.create_session(&session(n, home, 1, hour))?;
            }
            tx.create_session(&session(1_001, home, 2, 7))?;
            tx.create_session(&session(1_002, home, 2, 900))
        })
        .unwrap();
        let of = |places: &[u128]| SessionFilter {
            repositories: places.iter().map(|n| repository(*n)).collect(),
            ..SessionFilter::default()
        };
        assert_eq!(listed(&mut ledger, of(&[1])), [9, 8, 7]);
        assert_eq!(listed(&mut ledger, of(&[2])), [1_002, 1_001]);
        assert_eq!(listed(&mut ledger, of(&[1, 2])), [1_002, 9, 8]);
        let of_agent = SessionFilter {
            agent: Some(AgentName::new("gemini").unwrap()),
            ..of(&[1])
        };
        assert_eq!(listed(&mut ledger, of_agent), [100, 200, 300]);
        let until = SessionFilter {
            until: Some(Timestamp::from_nanos(450 * HOUR)),
            ..of(&[1])
        };
        assert_eq!(listed(&mut ledger, until), [519, 518, 517]);
        let created = SessionFilter {
            order: Order::Created {
                after: Some(SessionId::from_uuid(Uuid::from_u128(700))),
            },
            ..of(&[1, 2])
        };
        assert_eq!(listed(&mut ledger, created), [699, 698, 697]);
        // What goes on moves with the time.
        write(&mut ledger, Durability::Process, |tx| {
            let old = SessionId::from_uuid(Uuid::from_u128(999));
            tx.touch(old, Timestamp::from_nanos(600 * HOUR), None, None)
        })
        .unwrap();
        assert_eq!(listed(&mut ledger, of(&[1])), [999, 9, 8]);
    }

    #[test]
    fn a_fold_makes_links_and_hours_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let new = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(1)),
            key: [7; 32],
        };
        let mut ledger = SqliteLedger::open(&path, new).unwrap();
        let home = ledger.id();
        let id = SessionId::from_uuid(Uuid::from_u128(1));
        write(&mut ledger, Durability::Process, |tx| {
            let place = Place {
                common_dir: "/r/1".to_owned(),
                worktree: "/r/1".to_owned(),
            };
            tx.note_place(&place, repository(1), Timestamp::from_nanos(1))?;
            tx.create_session(&session(1, home, 1, 7))?;
            let attached = Statement::LinkAttached {
                session: id,
                link: Link::IssueNumber(7),
            };
            tx.state(Timestamp::from_nanos(1), "me", "cli", &attached)
        })
        .unwrap();
        let db = rusqlite::Connection::open(&path).unwrap();
        let known = || -> String {
            let sql = "SELECT group_concat(l.value || ' ' || l.whole || ' ' || r.hour) FROM session_links l \
                 JOIN session_repositories r ON r.session = l.session";
            let known: Option<String> = db.query_row(sql, [], |row| row.get(0)).unwrap();
            known.unwrap_or_default()
        };
        assert_eq!(known(), "7 1 7");
        db.execute_batch("UPDATE session_links SET whole = 0, value = '8'; UPDATE session_repositories SET hour = 1")
            .unwrap();
        assert_eq!(known(), "8 0 1");
        write(&mut ledger, Durability::Process, |tx| {
            tx.put_summary(id, &Summary::default(), 0)
        })
        .unwrap();
        assert_eq!(known(), "7 1 7");
    }
}
