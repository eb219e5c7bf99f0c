//! Several writers at once, on each kind of store: what they do is one chain in the audit.

use siglum_domain::access::{Limits, Scope};
use siglum_domain::link::Link;
use siglum_domain::{LedgerId, TokenId, TokenName};
use siglum_engine::Here;
use siglum_engine::driven::turn;
use siglum_engine::identity::access::{self, NewToken};
use siglum_engine::identity::audit;
use siglum_engine::identity::links::{self, Change};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{AuditFilter, Durability, Ledger, LedgerError, Refusal, SqliteLedger, write};

use super::*;
use crate::place::here;

const WRITERS: u64 = 8;
const ROUNDS: u64 = 6;

/// A session with links and, in one transaction each, a token that is replaced and a link that comes later.
fn round(here: &Here<'_>, ledger: &mut dyn Ledger, name: &str) {
    let new = NewSession {
        agent: AgentName::new("test-runtime").unwrap(),
        conversation: ConversationId::new(name).unwrap(),
        cwd: None,
        links: vec![Link::IssueNumber(4), Link::PipelineId("p".to_owned())],
        by: "test".to_owned(),
    };
    let session = turn::create(here, ledger, &new).unwrap().id;
    let token = |which: &str| NewToken {
        id: TokenId::mint(here.ids),
        digest: format!("{name} {which}"),
        scope: Scope::Session(session),
        limits: Limits::default(),
        name: TokenName::new(which).unwrap(),
        by: "test".to_owned(),
        expires_at: None,
    };
    let (first, second) = (token("first"), token("second"));
    write(ledger, Durability::Disk, |tx| {
        let role = Link::AgentRole(name.to_owned());
        let attached =
            links::change_in(tx, here, session, &[role], Change::Attach, ("test", "api"));
        attached.map_err(|error| error.into_store().unwrap())?;
        access::issue_in(tx, here, &first, None)
    })
    .unwrap();
    let caller = access::authenticate(here, ledger, &first.digest).unwrap();
    access::note_use(here, ledger, &caller).unwrap();
    access::rotate(here, ledger, first.id, &second, Duration::ZERO).unwrap();
    let old = access::authenticate(here, ledger, &first.digest).unwrap_err();
    assert_eq!(old.code(), "token-expired");
}

fn how() -> Open {
    Open::Command {
        id: LedgerId::mint(here().ids),
        key: [1; 32],
    }
}

fn at_once(open: &(dyn Fn() -> Result<Box<dyn Ledger>, LedgerError> + Sync)) {
    drop(open().unwrap());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let mut ledger = open().unwrap();
                for n in 0..ROUNDS {
                    round(&here(), ledger.as_mut(), &format!("{writer}.{n}"));
                }
            });
        }
    });
    let mut ledger = open().unwrap();
    let report = audit::verify(ledger.as_mut()).unwrap();
    assert_eq!(report.flaws, []);
    assert_eq!(report.entries, WRITERS * ROUNDS * 5);
    let of = |ledger: &mut dyn Ledger, set: &dyn Fn(&mut AuditFilter)| {
        let mut filter = AuditFilter::default();
        set(&mut filter);
        audit::list(ledger, &filter).unwrap().len() as u64
    };
    let used = of(ledger.as_mut(), &|f| {
        f.action = Some("token.used".to_owned());
    });
    assert_eq!(used, WRITERS * ROUNDS);
    let pipeline = of(ledger.as_mut(), &|f| f.pipeline = Some("p".to_owned()));
    assert_eq!(
        pipeline, report.entries,
        "all of it was done in the pipeline"
    );
}

#[test]
fn writers_of_a_file_leave_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    at_once(&|| Ok(Box::new(SqliteLedger::open(&path, how())?)));
}

#[cfg(feature = "postgres")]
#[test]
fn writers_of_a_server_leave_one_chain_for_each_tenant() {
    use siglum_conformance::Server;
    use siglum_ledger::PostgresLedger;

    let Some(address) = Server::address() else {
        return;
    };
    let server = Server::shared(&address).unwrap();
    for tenant in [server.tenant(), server.tenant()] {
        let settings = server.settings(tenant);
        at_once(&|| Ok(Box::new(PostgresLedger::open(&settings, how())?)));
    }
}
