//! How stores answer the statements of all verbs: none goes through a table that grows with history, but for those that
//! have a reason to.
//!
//! The suite runs, and what SQL it runs is recorded. Then each statement is planned: in PostgreSQL on tables that are
//! filled, and in SQLite on an empty file, since it plans without looking at rows.

use std::collections::BTreeSet;

use rusqlite::Connection;
use serde_json::Value;
use siglum_domain::link::Link;
use siglum_ledger::sqlite::sums_on;
use siglum_ledger::testing::{Planner, SMALL, StoreKind, record_statements, recorded_statements};
use siglum_ledger::{
    AuditFilter, CheckpointFilter, CommitFilter, LedgerError, Order, QuarterFilter, SessionFilter,
    Transaction,
};

use super::Sqlite;
use crate::check::{Desk, Shelf};
use crate::sample::*;
use crate::{Server, run, tenant_shelf};

/// Statements that may go through a whole table, by what all of these have in them, each with the reason.
const ALLOWED: &[(&[&str], &str)] = &[
    // To look at everything is what is asked.
    (
        &["NOT EXISTS", "GROUP BY"],
        "verify looks for rows of nothing",
    ),
    (
        &["HAVING count(*) > 0"],
        "verify looks for ids that are none",
    ),
    (&["FROM tallies WHERE"], "verify counts"),
    (&["all_sums(sum) AS sum FROM"], "verify counts"),
    (&["sum IS DISTINCT FROM"], "verify looks at each row"),
    (&["WHERE sum IS NOT row_sum("], "verify looks at each row"),
    (
        &["EXISTS (SELECT 1 FROM usage_quarters q"],
        "verify adds all usage up again",
    ),
    (
        &["FROM sessions s", "ORDER BY s.id LIMIT"],
        "verify and doctor go through all sessions in pages",
    ),
    (
        &["INSERT INTO leases", "'nobody'"],
        "restore fences every session",
    ),
    (
        &["UPDATE sessions SET folded = 0"],
        "rebuild folds all sessions",
    ),
    (
        &["INSERT INTO deliveries", "= 1"],
        "a new projection begins with all sessions",
    ),
    (
        &["INSERT INTO documents"],
        "a new destination begins with all there is",
    ),
    (
        &["UPDATE documents"],
        "a destination that begins anew gets all there is",
    ),
    (
        &["FROM deliveries WHERE", "projection = "],
        "a projection that is dropped, or whose scope is shown",
    ),
    // To forget is to look everywhere.
    (&["SELECT DISTINCT \""], "forget looks at all texts"),
    (
        &["UPDATE", " SET \""],
        "forget replaces a text wherever it is",
    ),
    (
        &["all_sums(", "WHERE \""],
        "forget replaces a text wherever it is",
    ),
    (
        &["SELECT DISTINCT", "\" = $2 AND", "IS NOT NULL"],
        "forget takes whatever has a text out of the index",
    ),
    (
        &["INSERT INTO unindexed", "FROM sessions"],
        "an index that begins anew is made of all sessions",
    ),
    (
        &["FROM sessions WHERE forgotten_at IS NOT NULL"],
        "an index that begins anew notes what was erased before",
    ),
    (
        &["DELETE FROM search_parts WHERE tenant = $1"],
        "an index that begins anew is emptied",
    ),
    (
        &["UPDATE edits SET lines"],
        "forget takes an object out of all edits",
    ),
    (&["file_seen"], "forget asks which objects others have"),
    (
        &["json_extract(detail"],
        "forget asks which objects others have",
    ),
    (
        &["detail::json #>>"],
        "forget asks which objects others have",
    ),
    (
        &["SELECT repository, after FROM edits"],
        "doctor heals a file version that is damaged",
    ),
    (
        &["INSERT INTO repositories ("],
        "what refers to it is looked at while a reference is broken, which none is",
    ),
    (
        &["sp.scope::json"],
        "what may leave is decided for all that waits at once, or for each: whichever is quicker",
    ),
    (
        &[
            "FROM deliveries d JOIN sessions s",
            "ORDER BY d.session LIMIT",
        ],
        "a slice of all that was delivered, in the order of sessions",
    ),
    // What decides is how much there is of something, which a plan without values does not know.
    (
        &["FROM sessions s", "s.agent = "],
        "there are few agents, and each has many sessions",
    ),
    (
        &["FROM sessions s", "s.ended_at IS NULL"],
        "sessions that are open are new",
    ),
    (&["FROM sessions s", "unseen"], "few sessions are unseen"),
    (
        &["FROM sessions s", "s.created_at < "],
        "sessions are listed in an order that is nearly that of their creation",
    ),
    (
        &["FROM sessions s", "s.last_at", "ORDER BY s.id DESC"],
        "a page in one order, within bounds of another that is nearly the same",
    ),
    (
        &[
            "FROM sessions s",
            "coalesce((SELECT true FROM session_repositories",
        ],
        "asked of each of few sessions: of a name, a parent, a link, or open ones",
    ),
    (
        &[
            "FROM sessions s",
            "EXISTS (SELECT 1 FROM session_repositories",
        ],
        "asked of each of few sessions: of a name, a parent, a link, or open ones",
    ),
    (
        &["FROM commits c", "c.repository = ANY(", "c.\"commit\" >= "],
        "commits by their first digits, in several clones of one repository",
    ),
    (
        &["FROM checkpoints k", "FROM pins p", "k.repository = ANY("],
        "checkpoints of one session, or of those with a link, in several clones of one repository",
    ),
    (
        &["FROM audit WHERE", "ORDER BY number DESC"],
        "the audit is listed newest first, whatever else is asked of an entry",
    ),
    (
        &["SELECT c.session, c.repository", "FROM commits c"],
        "cost by commit, from the beginning, is about all that committed",
    ),
    (
        &["SELECT l.session, l.value, l.whole FROM"],
        "cost by link, from the beginning, is about all that have such links",
    ),
    (
        &["FROM replica_aliases a JOIN sessions s", "a.native >= "],
        "ids by their first digits are few, and the server takes them for many",
    ),
    (
        &["session_repositories", "repository = ANY(", "LIMIT"],
        "the clones of one repository are few, and the server takes them for many",
    ),
    (
        &["FROM usages u WHERE"],
        "nobody asks for messages without a session, but for the first",
    ),
    (
        &["FROM usage_quarters q"],
        "cost adds up the time that is asked for",
    ),
    (
        &["DELETE FROM context_runs", "LIMIT"],
        "a slice of the oldest goes",
    ),
    (
        &["FROM tokens WHERE", "?1 IS NULL AND ?2 IS NULL"],
        "a page of all tokens",
    ),
];

/// The indexes of some rows of a table that hold more of them the longer the history is.
const GROWING: &[&str] = &[
    "audit_by_pipeline",
    "audit_by_session",
    "checkpoints_by_commit",
    "commits_by_repository",
    "contexts_by_parent",
    "forwards_by_session",
    "observations_by_call",
    "pipeline_events_by_key",
    "pipeline_events_by_session",
    "receipts_by_key",
    "sessions_by_parent",
    "statements_by_commit",
    "statements_by_session",
    "statements_of_commits",
    "statements_of_links",
    "ticks_by_session",
    "tokens_by_session",
    "turns_asked",
];

fn is_allowed(sql: &str) -> bool {
    let has = |all: &[&str]| all.iter().all(|part| sql.contains(part));
    ALLOWED.iter().any(|(all, _)| has(all))
}

/// The statements that were recorded and that have a plan.
fn statements(kind: StoreKind) -> Vec<String> {
    let mut all = recorded_statements(kind);
    let verbs = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];
    all.retain(|sql| verbs.iter().any(|verb| sql.starts_with(verb)));
    assert!(all.len() > 250, "only {} statements", all.len());
    all
}

/// Fails where statements go through whole tables without a reason.
#[track_caller]
fn check(found: &[(String, Vec<String>)]) {
    let wrong: Vec<String> = found
        .iter()
        .filter(|(sql, scans)| !scans.is_empty() && !is_allowed(sql))
        .map(|(sql, scans)| format!("{sql}\n    {}\n", scans.join("\n    ")))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} statements go through a whole table:\n{}",
        wrong.len(),
        wrong.concat()
    );
}

/// Asks for sessions as requests do: a page, by each thing that it can be limited to.
fn list_sessions(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let page = || SessionFilter {
        limit: 20,
        ..SessionFilter::default()
    };
    for filter in [
        page(),
        SessionFilter {
            repositories: vec![repository_id(1)],
            ..page()
        },
        SessionFilter {
            agent: Some(agent("codex")),
            ..page()
        },
        SessionFilter {
            since: Some(at(1)),
            until: Some(at(9)),
            ..page()
        },
        SessionFilter {
            parent: Some(session_id(1)),
            ..page()
        },
        SessionFilter {
            links: vec![Link::IssueNumber(7)],
            ..page()
        },
        SessionFilter {
            open: true,
            seen: true,
            ..page()
        },
        SessionFilter {
            order: Order::Created {
                after: Some(session_id(9)),
            },
            ..page()
        },
    ] {
        tx.sessions(&filter)?;
    }
    Ok(())
}

fn list_others(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let page = || CommitFilter {
        limit: 20,
        ..CommitFilter::default()
    };
    for filter in [
        page(),
        CommitFilter::of_repository(repository_id(1), 20),
        CommitFilter {
            repositories: vec![repository_id(1), repository_id(2)],
            ..page()
        },
        CommitFilter {
            prefix: Some("ab".to_owned()),
            ..page()
        },
        CommitFilter {
            after: Some((at(9), oid(1), repository_id(1))),
            ..page()
        },
    ] {
        tx.commits(&filter)?;
    }
    let page = || CheckpointFilter {
        limit: 20,
        ..CheckpointFilter::default()
    };
    for filter in [
        page(),
        CheckpointFilter {
            session: Some(session_id(1)),
            ..page()
        },
        CheckpointFilter {
            links: vec![Link::IssueNumber(7)],
            ..page()
        },
        CheckpointFilter {
            repositories: vec![repository_id(1)],
            ..page()
        },
        CheckpointFilter {
            repositories: vec![repository_id(1), repository_id(2)],
            ..page()
        },
        CheckpointFilter {
            since: Some(at(1)),
            until: Some(at(9)),
            ..page()
        },
    ] {
        tx.checkpoints(&filter)?;
    }
    let page = || AuditFilter {
        limit: 20,
        ..AuditFilter::default()
    };
    for filter in [
        page(),
        AuditFilter {
            session: Some(session_id(1)),
            ..page()
        },
        AuditFilter {
            pipeline: Some("p".to_owned()),
            ..page()
        },
        AuditFilter {
            before: Some(9),
            ..page()
        },
    ] {
        tx.audit(&filter)?;
    }
    let of_time = QuarterFilter {
        since: Some(at(1)),
        ..QuarterFilter::default()
    };
    tx.usage_quarters(&of_time, &mut |_| {})
}

/// Has every verb run on stores of a kind.
fn run_all(fresh: &dyn Fn() -> Box<dyn Shelf>) {
    record_statements();
    assert_eq!(run(fresh), []);
    let shelf = fresh();
    let mut desk = Desk::open(shelf.as_ref()).unwrap();
    desk.read(list_sessions).unwrap();
    desk.read(list_others).unwrap();
}

#[test]
fn sqlite_finds_what_it_is_asked_for() {
    run_all(&|| Box::new(Sqlite::new()));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    drop(super::open(&path).unwrap());
    let db = Connection::open(path).unwrap();
    sums_on(&db).unwrap();
    let names = |kind: &str| -> BTreeSet<String> {
        let sql = format!("SELECT name FROM sqlite_schema WHERE {kind}");
        let mut query = db.prepare(&sql).unwrap();
        let names = query.query_map([], |row| row.get(0)).unwrap();
        names.collect::<rusqlite::Result<_>>().unwrap()
    };
    let tables = names("type = 'table'");
    let mut partial = names("type = 'index' AND sql LIKE '% WHERE %'");
    partial.retain(|name| !GROWING.contains(&name.as_str()));
    let plan = |sql: String| {
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = explain.raw_query();
        let mut scans = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            if scans_whole(&sql, &step, &tables, &partial) {
                scans.push(step);
            }
        }
        (sql, scans)
    };
    let found: Vec<_> = statements(StoreKind::Sqlite)
        .into_iter()
        .map(plan)
        .collect();
    check(&found);
}

/// Whether a step of a plan of SQLite goes through a whole table that grows, where the statement does not ask for all of it
/// or for a page of all.
fn scans_whole(
    sql: &str,
    step: &str,
    tables: &BTreeSet<String>,
    partial: &BTreeSet<String>,
) -> bool {
    let Some(rest) = step.strip_prefix("SCAN ") else {
        return false;
    };
    let name = rest.split(' ').next().unwrap_or_default();
    // The step has the alias of the table.
    let words: Vec<&str> = sql
        .split(|c: char| c.is_whitespace() || "(),".contains(c))
        .collect();
    let aliased = words
        .windows(2)
        .find(|pair| pair[1] == name && tables.contains(pair[0]));
    let table = aliased.map_or(name, |pair| pair[0]);
    let index = rest.split(' ').skip_while(|word| *word != "INDEX").nth(1);
    let asks_for_all = sql.contains("LIMIT -1") || sql.contains(" WHERE 1 = 1 ORDER") || {
        let is_page = sql.contains(" LIMIT ");
        is_page && !sql.replace(" WHERE true ORDER", "").contains(" WHERE ")
    };
    tables.contains(table)
        && !SMALL.contains(&table)
        && !index.is_some_and(|index| partial.contains(index))
        && !asks_for_all
}

#[test]
fn postgres_finds_what_it_is_asked_for() {
    let Some(address) = Server::address() else {
        return;
    };
    let server = Server::own(&address).unwrap();
    drop(tenant_shelf(&server).open().unwrap());
    let mut planner = Planner::on(&server).unwrap();
    run_all(&|| tenant_shelf(&server));
    let partial = planner.partial_indexes().unwrap().into_iter();
    let partial = partial.filter(|name| !GROWING.contains(&name.as_str()));
    let partial: BTreeSet<String> = partial.collect();
    let mut found = Vec::new();
    for sql in statements(StoreKind::Postgres) {
        let plan = planner
            .plan(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let plan: Value = serde_json::from_str(&plan).unwrap();
        let mut scans = Vec::new();
        whole_scans(&plan[0]["Plan"], None, false, &partial, &mut scans);
        found.push((sql, scans));
    }
    check(&found);
}

/// Collects the nodes of a plan of PostgreSQL that go through a whole table that grows. One that goes through it in the
/// order that is asked for, and stops at a limit, does not, unless it passes over rows on the way.
fn whole_scans(
    node: &Value,
    table: Option<&str>,
    is_limited: bool,
    partial: &BTreeSet<String>,
    found: &mut Vec<String>,
) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let text = |field: &str| node[field].as_str().unwrap_or_default();
    let table = node["Relation Name"].as_str().or(table);
    let is_limited = match kind {
        "Limit" => true,
        "Sort" | "Aggregate" | "Hash" | "Materialize" | "Bitmap Heap Scan" => false,
        // What has no partner is passed over, too.
        "Nested Loop" | "Hash Join" | "Merge Join" => is_limited && text("Join Type") == "Left",
        _ => is_limited,
    };
    let grows = table.is_some_and(|table| !SMALL.contains(&table) && !table.starts_with("pg_"));
    let condition = text("Index Cond");
    let narrows = |c: &str| !c.contains("tenant = ") && !c.contains("IS NOT NULL");
    let is_looked_up = !condition.is_empty() && condition.split(" AND ").any(narrows);
    let is_whole = match kind {
        "Seq Scan" => true,
        "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
            let stops = is_limited && text("Filter").is_empty();
            !is_looked_up && !stops && !partial.contains(text("Index Name"))
        }
        _ => false,
    };
    if grows && is_whole {
        let table = table.unwrap_or_default();
        found.push(format!(
            "{kind} {table} {} {}",
            text("Index Name"),
            text("Filter")
        ));
    }
    // The index below a bitmap does not say whose it is.
    let of_bitmap = table.filter(|_| kind.starts_with("Bitmap"));
    for part in node["Plans"].as_array().into_iter().flatten() {
        whole_scans(part, of_bitmap, is_limited, partial, found);
    }
}

/// What must be found is found.
#[test]
fn a_scan_of_a_table_that_grows_is_told_from_a_page_of_it() {
    let tables = BTreeSet::from(["sessions".to_owned(), "repositories".to_owned()]);
    let partial = BTreeSet::from(["sessions_unsealed".to_owned()]);
    let is_whole = |sql: &str, step: &str| scans_whole(sql, step, &tables, &partial);
    let of = "SELECT 1 FROM sessions s WHERE s.agent = ?1";
    assert!(is_whole(of, "SCAN s"));
    assert!(is_whole(of, "SCAN s USING INDEX sessions_by_last"));
    assert!(!is_whole(of, "SCAN s USING INDEX sessions_unsealed"));
    assert!(!is_whole(
        of,
        "SEARCH s USING INDEX sessions_by_agent (agent=?)"
    ));
    assert!(!is_whole("SELECT 1 FROM repositories", "SCAN repositories"));
    let page = "SELECT 1 FROM sessions s WHERE 1 = 1 ORDER BY s.last_at LIMIT 20";
    assert!(!is_whole(page, "SCAN s USING INDEX sessions_by_last"));
    let scans = |plan: Value| {
        let mut found = Vec::new();
        whole_scans(&plan, None, false, &partial, &mut found);
        found.len()
    };
    let walk = serde_json::json!({"Node Type": "Index Scan", "Relation Name": "sessions",
        "Index Name": "sessions_by_last", "Index Cond": "(tenant = $1)"});
    assert_eq!(scans(walk.clone()), 1);
    assert_eq!(
        scans(serde_json::json!({"Node Type": "Limit", "Plans": [walk]})),
        0
    );
    let mut filtered = walk.clone();
    filtered["Filter"] = "(agent = $2)".into();
    assert_eq!(
        scans(serde_json::json!({"Node Type": "Limit", "Plans": [filtered]})),
        1
    );
    let joined = serde_json::json!({"Node Type": "Limit", "Plans": [
        {"Node Type": "Nested Loop", "Join Type": "Semi", "Plans": [walk]}]});
    assert_eq!(scans(joined), 1);
    let sorted = serde_json::json!({"Node Type": "Limit", "Plans": [{"Node Type": "Sort", "Plans": [walk]}]});
    assert_eq!(scans(sorted), 1);
    let mut found = walk;
    found["Index Cond"] = "((tenant = $1) AND (id = $2))".into();
    assert_eq!(scans(found), 0);
}
