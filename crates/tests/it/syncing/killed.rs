//! `siglum sync`, killed between any two requests; answers that are lost; a thousand sessions.

use std::process::Stdio;

use siglum_ledger::{SessionFilter, SqliteLedger, read};

use super::{settle, worked};
use crate::harness::{Fate, Gateway, Repo, World};

/// What a ledger has of all sessions and commits, in words.
fn ledger_contents(ledger: &mut SqliteLedger) -> Vec<String> {
    let mut lines = read(ledger, |tx| {
        let mut lines = Vec::new();
        for listing in tx.sessions(&SessionFilter::default())? {
            let (id, sealed) = (listing.record.id, listing.record.sealed);
            let mut rows = tx.log_rows(id, 0, 10_000)?;
            rows.retain(|r| r.sequence <= sealed);
            lines.push(format!(
                "{id} {:?} {:?} {:?} {:?} {:?}",
                listing.record.ended_at,
                rows,
                tx.receipts(id)?,
                tx.aliases(id)?,
                tx.commits_of_session(id, 99)?
                    .into_iter()
                    .map(|c| (c.commit, c.judgement, c.facts, c.patch))
                    .collect::<Vec<_>>(),
            ));
        }
        Ok(lines)
    })
    .unwrap();
    lines.sort();
    lines
}

fn here(world: &World) -> SqliteLedger {
    let how = siglum_ledger::sqlite::Open::Command {
        id: siglum_domain::LedgerId::from_uuid(uuid::Uuid::from_u128(1)),
        key: [0; 32],
    };
    SqliteLedger::open(&world.siglum_home().join("ledger.db"), how).unwrap()
}

/// Syncs once; the gateway may kill it.
fn sync(repo: &Repo<'_>, gateway: &Gateway) -> Option<i32> {
    let mut command = repo.world.command(World::program());
    let args = ["sync", "--to", &gateway.url, "--all-repositories"];
    let mut child = command
        .args(args)
        .current_dir(&repo.dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    gateway.kills(child.id());
    child.wait().unwrap().code()
}

#[test]
fn a_sync_that_is_killed_or_not_answered_goes_on() {
    let world = World::new();
    let repo = worked(&world);
    for round in 0..6 {
        let mut agent = crate::harness::Agent::start(&repo, &format!("more-{round}"));
        agent.sh("git commit -q --allow-empty -m more");
        agent.stop();
        agent.end("exit");
        agent.quit();
        crate::harness::until("the worker has left", || world.processes().is_empty());
        settle(&repo);
        let gateway_dir = world.root.join("gateway");
        let _ = std::fs::remove_dir_all(&gateway_dir);
        // A fresh gateway each time, under another address: it gets everything.
        let gateway = Gateway::start(&world);
        let fate = [
            Fate::KillBefore,
            Fate::KillAfter,
            Fate::Before,
            Fate::After,
            Fate::Status(503),
            Fate::Status(429),
        ];
        // At the first, second, … request, each of them.
        for at in 0..2 {
            let mut fates = vec![Fate::Well; at];
            fates.push(fate[round]);
            gateway.fates(fates);
            repo.siglum(&["rebuild", "gateway-127-0-0-1"]);
            sync(&repo, &gateway);
        }
        gateway.fates([]);
        assert_eq!(sync(&repo, &gateway), Some(0), "round {round}");
        assert_eq!(
            ledger_contents(&mut gateway.ledger()),
            ledger_contents(&mut here(&world)),
            "round {round}"
        );
        for projection in world.json(&repo.dir, &["projection", "list"])["projections"]
            .as_array()
            .unwrap()
        {
            let name = projection["name"].as_str().unwrap();
            repo.siglum(&["projection", "remove", name]).ok();
        }
    }
}

/// A session that prompts and stops.
fn session_intake(n: i64) -> siglum_domain::intake::Intake {
    use siglum_domain::intake::{AgentMatter, Intake, Matter, VERSION};
    use siglum_domain::observation::{Body, Fact, Observation, Source};
    use siglum_domain::{AgentName, NativeId, Redacted, Timestamp};
    let at = Timestamp::from_seconds(1_795_000_000 + n * 10);
    let hook_observation = |key: &str, fact| Observation {
        source: Source::Hook,
        key: key.to_owned(),
        event: key.to_owned(),
        at,
        turn: Some("t".to_owned()),
        subagent: None,
        fact,
    };
    let text = Redacted::from_stored(format!("do number {n}"));
    let matter = AgentMatter {
        observations: vec![
            hook_observation(
                "prompt",
                Fact::Prompt {
                    text: Body::Text(text),
                    synthetic: false,
                },
            ),
            hook_observation(
                "stop",
                Fact::Stopped {
                    last_message: None,
                    background: Vec::new(),
                    failure: None,
                },
            ),
        ],
        ..AgentMatter::new(
            AgentName::new("claude-code").unwrap(),
            NativeId::new(format!("native-{n}")).unwrap(),
        )
    };
    Intake {
        version: VERSION,
        key: format!("k{n}"),
        at,
        matter: Matter::Agent(matter),
    }
}

#[test]
fn a_thousand_sessions_are_killed_through() {
    use siglum_domain::IdSource;
    struct Ids(std::cell::Cell<u128>);
    impl IdSource for Ids {
        fn fresh(&self) -> uuid::Uuid {
            self.0.set(self.0.get() + 1);
            uuid::Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0000 + self.0.get())
        }
    }
    let world = World::new();
    let repo = world.repo();
    settle(&repo);
    let ids = Ids(std::cell::Cell::new(0));
    let mut ledger = here(&world);
    for n in 0..1_000_i64 {
        let intake = session_intake(n);
        siglum_engine::record::deliver::deliver(&mut ledger, &ids, &intake).unwrap();
    }
    let gateway = Gateway::start(&world);
    // It is killed before and after every single request, and gets through all the same.
    let mut rounds = 0;
    let code = loop {
        gateway.fates([Fate::Well, Fate::KillAfter, Fate::KillBefore]);
        let code = sync(&repo, &gateway);
        rounds += 1;
        assert!(rounds < 200, "it never came to its end");
        if code == Some(0) {
            break code;
        }
    };
    assert_eq!(code, Some(0));
    assert!(rounds > 3, "{rounds}");
    let all = ledger_contents(&mut gateway.ledger());
    assert_eq!(all.len(), 1_000);
    assert_eq!(all, ledger_contents(&mut here(&world)));
    gateway.fates([]);
    let before = gateway.requests().len();
    assert_eq!(sync(&repo, &gateway), Some(0));
    let more = gateway.requests().split_off(before);
    assert_eq!(
        more.len(),
        1,
        "nothing was due: it asks whether all is there"
    );
}
