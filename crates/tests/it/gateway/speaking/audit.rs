//! What the audit log has of batches: what they changed, and what was left out of them.

use siglum_domain::evidence::Committer;
use siglum_engine::share::replica;
use siglum_ledger::Statement;

use super::{Laptop, replica_state, send};
use crate::gateway::server::{Gateway, audited, each_store, tenant, token};

#[test]
fn what_a_batch_changes_is_in_the_audit_by_kind_and_by_whose_token() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let taken = audited(&gateway, "replica.taken");
        assert_eq!(taken.len(), 1, "{taken:?}");
        let actor = taken[0]["actor"].as_str().unwrap();
        assert!(actor.starts_with("token "), "{actor}");
        let body = &taken[0]["body"];
        assert_eq!(body["ledger"], laptop.batch.ledger.to_string());
        for kind in [
            "repositories",
            "sessions",
            "receipts",
            "statements",
            "checkpoints",
            "commits",
        ] {
            assert!(body[kind].as_u64().is_some_and(|n| n > 0), "{kind}: {body}");
        }
    });
}

#[test]
fn what_sessions_share_stays_as_it_is_and_is_named() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let first = gateway.client(&first);
        let before = replica_state(store, &gateway, &laptop);
        let mut batch = laptop.newer();
        let mut place = laptop.batch.repositories[0].clone();
        place.common_dir = "/stolen/.git".to_owned();
        batch.repositories.push(place);
        let mut stolen = laptop.commit_of(laptop.two);
        stolen.judgement.committer = Committer::Session {
            session: laptop.one,
        };
        batch.commits.push(stolen);
        let mut withdrawn = laptop.checkpoint_of(laptop.two);
        withdrawn.pinned = None;
        batch.checkpoints.push(withdrawn);
        batch.statements.push(replica::wire::StatementDocument {
            sequence: 901,
            at: batch.stamp,
            by: "Ann".to_owned(),
            source: "cli".to_owned(),
            statement: Statement::Adopted {
                repository: laptop.batch.repositories[0].id,
                commit: laptop.commit_of(laptop.two).commit,
                session: laptop.one,
            },
        });
        let answer = send(&first, &batch).is(200);
        let aside = answer["positions"]["set_aside"].as_array().unwrap();
        let named: Vec<&str> = aside
            .iter()
            .map(|s| s["document"].as_str().unwrap())
            .collect();
        assert_eq!(named.len(), 4, "{answer}");
        for kind in [
            "repositories/",
            "commits/",
            "checkpoints/",
            "statements/901",
        ] {
            assert!(
                named.iter().any(|n| n.starts_with(kind)),
                "{kind}: {named:?}"
            );
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        let refused = audited(&gateway, "replica.refused");
        assert_eq!(refused[0]["body"]["documents"], 4, "{refused:?}");
        // What it sends of itself is taken again and again, and changes nothing of others'.
        let mut own = laptop.newer();
        for (_, batch) in laptop.rows(laptop.one).into_iter().take(1) {
            own.sessions = batch.sessions;
        }
        own.repositories.clone_from(&laptop.batch.repositories);
        own.commits.push(laptop.commit_of(laptop.one));
        own.checkpoints.push(laptop.checkpoint_of(laptop.one));
        let answer = send(&first, &own).is(200);
        assert_eq!(answer["positions"].get("set_aside"), None, "{answer}");
        assert_eq!(replica_state(store, &gateway, &laptop), before);
    });
}
