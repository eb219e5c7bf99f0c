//! Sessions, their names, their parents, their summaries.

use siglum_domain::{AgentName, ConversationId};
use siglum_ledger::{Mode, Relation, SessionFilter, SessionOrigin, SessionRecord, Summary};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a session comes back as it was created", round_trip),
    Check::new("a session is created once", created_once),
    Check::new("an alias stays with its first session", aliases),
    Check::new("aliases belong to one agent", alias_of_agent),
    Check::new(
        "what a caller calls a session is no native id",
        caller_names,
    ),
    Check::new("touching widens the time and fills what is empty", touched),
    Check::new("a launched session is told its agent later", named_agent),
    Check::new("an agent that nobody named is none", unnamed_agent),
    Check::new(
        "a session that nobody named is named later",
        named_conversation,
    ),
    Check::new("an end can be set, moved and taken back", ended),
    Check::new("a session is unseen until it is heard of", unseen),
    Check::new("a parent is set once, and never to itself", parents),
    Check::new(
        "summaries are replaced and end the wait for a fold",
        summaries,
    ),
    Check::new("a session is archived once, and has ended then", archived),
    Check::new("a session is damaged until it is sound again", quarantined),
    Check::new("a session is folded again when that is asked for", refolded),
];

fn round_trip(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let all = SessionRecord {
        mode: Mode::Driven,
        origin: SessionOrigin::Import,
        parent: Some((session_id(1), Relation::Fork)),
        ended_at: Some(at(50)),
        last_at: at(49),
        cwd: Some("/home/dev/ü b".to_owned()),
        repository: Some(repository_id(2)),
        worktree: Some("/home/dev/r2".to_owned()),
        parent_at: Some(3),
        ..session(4, home)
    };
    let bare = SessionRecord {
        origin: SessionOrigin::Api,
        ..session(5, home)
    };
    desk.write(|tx| {
        tx.create_session(&all)?;
        tx.create_session(&bare)
    })?;
    for wanted in [all, bare] {
        let found = desk.read(|tx| tx.session(wanted.id))?;
        same!(found, Some(wanted), "the session");
    }
    let none = desk.read(|tx| tx.session(session_id(99)))?;
    same!(none, None, "a session that was never created");
    Ok(())
}

fn created_once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let other = SessionRecord {
        agent: Some(agent("codex")),
        ..session(1, home)
    };
    let again = desk.write(|tx| tx.create_session(&other));
    holds!(again.is_err(), "the same session was created twice");
    let found = desk.read(|tx| tx.session(session_id(1)))?;
    let agents = found.and_then(|s| s.agent);
    same!(agents, Some(agent("claude-code")), "its agent");
    Ok(())
}

fn aliases(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (name, one, two) = (agent("codex"), native("n-1"), native("n-2"));
    desk.write(|tx| {
        tx.add_alias(&name, &two, session_id(1), at(9))?;
        tx.add_alias(&name, &one, session_id(1), at(5))?;
        tx.add_alias(&name, &one, session_id(2), at(1))?;
        tx.add_alias(&name, &one, session_id(1), at(20))
    })?;
    let owner = desk.read(|tx| tx.session_by_alias(&name, &one))?;
    same!(owner, Some(session_id(1)), "the session of the alias");
    let (first, second) =
        desk.read(|tx| Ok((tx.aliases(session_id(1))?, tx.aliases(session_id(2))?)))?;
    same!(first, [one, two], "aliases, oldest first");
    same!(second, [], "aliases of the session that came too late");
    Ok(())
}

fn caller_names(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (name, given, own) = (agent("codex"), native("given"), native("own"));
    let other = native("other");
    desk.write(|tx| {
        tx.add_caller_name(&name, &given, session_id(1), at(1))?;
        tx.add_caller_name(&name, &other, session_id(2), at(1))?;
        tx.add_caller_name(&name, &given, session_id(2), at(2))?;
        tx.add_alias(&name, &own, session_id(1), at(3))
    })?;
    let owner = desk.read(|tx| tx.session_by_alias(&name, &given))?;
    same!(owner, Some(session_id(1)), "the session of the name");
    let owner = desk.read(|tx| tx.session_by_alias(&name, &other))?;
    same!(owner, Some(session_id(2)), "the session of another name");
    let found = desk.read(|tx| tx.sessions_by_native(&given))?;
    same!(found, [(name.clone(), session_id(1))], "sessions by name");
    let natives = desk.read(|tx| tx.aliases(session_id(1)))?;
    same!(
        natives,
        std::slice::from_ref(&own),
        "native ids of a named session"
    );
    desk.write(|tx| {
        tx.add_alias(&name, &given, session_id(2), at(4))?;
        tx.add_caller_name(&name, &own, session_id(1), at(4))
    })?;
    let natives = desk.read(|tx| Ok((tx.aliases(session_id(1))?, tx.aliases(session_id(2))?)))?;
    same!(
        natives,
        (vec![own.clone()], vec![]),
        "natives, called otherwise"
    );
    desk.write(|tx| tx.add_alias(&name, &given, session_id(1), at(5)))?;
    let natives = desk.read(|tx| tx.aliases(session_id(1)))?;
    same!(
        natives,
        [own, given],
        "native ids, once the agent says so, too"
    );
    Ok(())
}

fn alias_of_agent(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let id = native("same");
    desk.write(|tx| {
        tx.add_alias(&agent("codex"), &id, session_id(1), at(1))?;
        tx.add_alias(&agent("pi"), &id, session_id(2), at(1))
    })?;
    let found = desk.read(|tx| {
        let mut found = Vec::new();
        for name in ["codex", "pi", "gemini"] {
            found.push(tx.session_by_alias(&agent(name), &id)?);
        }
        Ok(found)
    })?;
    let wanted = [Some(session_id(1)), Some(session_id(2)), None];
    same!(found, wanted, "sessions by agent and alias");
    let found = desk.read(|tx| tx.sessions_by_native(&id))?;
    let wanted = [
        (agent("codex"), session_id(1)),
        (agent("pi"), session_id(2)),
    ];
    same!(found, wanted, "sessions that any agent calls so");
    let nobodys = desk.read(|tx| tx.sessions_by_native(&native("nobody's")))?;
    same!(nobodys, [], "sessions that no agent calls so");
    Ok(())
}

fn touched(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let first = (repository_id(2), "/home/dev/r2");
    let later = (repository_id(1), "/home/dev/r1");
    desk.write(|tx| {
        tx.touch(session_id(3), at(40), Some(first), Some("/first"))?;
        tx.touch(session_id(3), at(20), Some(later), Some("/later"))?;
        tx.touch(session_id(3), at(35), None, None)
    })?;
    let found = desk.read(|tx| tx.session(session_id(3)))?;
    let Some(found) = found else {
        return Err(super::check::Wrong("the session is gone".to_owned()));
    };
    let times = (found.created_at, found.last_at);
    same!(times, (at(20), at(40)), "its first and last time");
    let place = (found.repository, found.worktree, found.cwd);
    let wanted = (
        Some(repository_id(2)),
        Some("/home/dev/r2".to_owned()),
        Some("/first".to_owned()),
    );
    same!(place, wanted, "its place");
    let other = desk.read(|tx| tx.session(session_id(2)))?;
    let last = other.map(|s| s.last_at);
    same!(last, Some(at(20)), "the last time of another session");
    Ok(())
}

fn named_agent(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let home = desk.0.id();
    let launched = SessionRecord {
        origin: SessionOrigin::Launch,
        ..session(4, home)
    };
    desk.write(|tx| tx.create_session(&launched))?;
    let found = desk.read(|tx| tx.session(session_id(4)))?;
    same!(found, Some(launched), "a launched session");
    let others = desk.read(|tx| tx.session(session_id(2)))?;
    for name in ["pi", "gemini"] {
        desk.write(|tx| tx.set_agent(session_id(1), &agent(name)))?;
        let found = desk.read(|tx| Ok((tx.session(session_id(1))?, tx.session(session_id(2))?)))?;
        let named = found.0.and_then(|s| s.agent);
        same!(named, Some(agent(name)), "the agent of a session");
        same!(found.1, others, "another session");
    }
    Ok(())
}

/// Its row has the word that programs of every version read there: by it, and by nothing else, it is found.
fn unnamed_agent(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let unnamed = SessionRecord {
        agent: None,
        ..session(4, home)
    };
    desk.write(|tx| tx.create_session(&unnamed))?;
    let found = desk.read(|tx| tx.session(unnamed.id))?;
    same!(found, Some(unnamed.clone()), "a session of no agent");
    let by = SessionFilter {
        agent: Some(AgentName::unnamed()),
        ..SessionFilter::default()
    };
    let listed = desk.read(|tx| tx.sessions(&by))?;
    let listed: Vec<SessionRecord> = listed.into_iter().map(|l| l.record).collect();
    same!(listed, [unnamed], "the sessions of no agent");
    desk.write(|tx| tx.set_agent(session_id(4), &agent("pi")))?;
    let found = desk.read(|tx| tx.session(session_id(4)))?;
    let named = found.and_then(|s| s.agent);
    same!(named, Some(agent("pi")), "the agent once it is named");
    Ok(())
}

fn named_conversation(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let others = desk.read(|tx| tx.session(session_id(2)))?;
    for name in ["first", "second"] {
        let name = ConversationId::new(name).expect("because it keeps to the grammar");
        desk.write(|tx| tx.set_conversation(session_id(1), &name))?;
        let found = desk.read(|tx| Ok((tx.session(session_id(1))?, tx.session(session_id(2))?)))?;
        let named = found.0.map(|s| s.conversation);
        same!(named, Some(name), "the conversation of a session");
        same!(found.1, others, "another session");
    }
    Ok(())
}

fn ended(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    for end in [Some(at(30)), Some(at(31)), None] {
        desk.write(|tx| tx.set_ended(session_id(1), end))?;
        let found = desk.read(|tx| Ok((tx.session(session_id(1))?, tx.session(session_id(2))?)))?;
        let ends = (found.0.map(|s| s.ended_at), found.1.map(|s| s.ended_at));
        same!(ends, (Some(end), Some(None)), "the ends of two sessions");
    }
    Ok(())
}

fn unseen(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let filter = SessionFilter {
        seen: true,
        ..SessionFilter::default()
    };
    let seen = |desk: &mut Desk| -> Outcome<bool> {
        let listed = desk.read(|tx| tx.sessions(&filter))?;
        Ok(listed.iter().any(|l| l.record.id == session_id(1)))
    };
    same!(seen(&mut desk)?, true, "a session before it is given up");
    desk.write(|tx| tx.set_unseen(session_id(1)))?;
    same!(seen(&mut desk)?, false, "a session that is given up");
    let all = desk.read(|tx| tx.sessions(&SessionFilter::default()))?;
    same!(all.len(), 3, "sessions, unseen ones among them");
    let listed = all.iter().find(|l| l.record.id == session_id(1));
    let last = listed.map_or(at(1), |l| l.record.last_at);
    desk.write(|tx| tx.touch(session_id(1), last, None, None))?;
    same!(seen(&mut desk)?, false, "a session of which old news came");
    desk.write(|tx| tx.touch(session_id(1), last.plus_millis(1), None, None))?;
    same!(seen(&mut desk)?, true, "a session that was heard of again");
    Ok(())
}

fn parents(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.set_parent(session_id(2), session_id(2), Relation::Nested)?;
        tx.set_parent(session_id(3), session_id(1), Relation::Clear)?;
        tx.set_parent(session_id(3), session_id(2), Relation::Fork)
    })?;
    let found = desk.read(|tx| Ok([tx.session(session_id(2))?, tx.session(session_id(3))?]))?;
    let parents = found.map(|s| s.and_then(|s| s.parent));
    let wanted = [None, Some((session_id(1), Relation::Clear))];
    same!(parents, wanted, "parents");
    Ok(())
}

fn summaries(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [2, 1, 3] {
            append(tx, session_id(n), n, None, &prompt("p", "x"))?;
        }
        tx.put_summary(session_id(3), &Summary::default(), 1)
    })?;
    let waiting = desk.read(|tx| Ok((tx.unfolded(9)?, tx.unfolded(1)?)))?;
    let wanted = (vec![session_id(1), session_id(2)], vec![session_id(1)]);
    same!(waiting, wanted, "sessions to fold, longest silent first");
    let mut summary = Summary {
        state: "working".to_owned(),
        title: Some("Do it".to_owned()),
        models: vec!["m-1".to_owned(), "m-2".to_owned()],
        turns: 2,
        tool_calls: 3,
        subagents: 4,
        tokens: siglum_domain::observation::Tokens {
            input: 5,
            output: 6,
            cache_read: 7,
            cache_write: u64::from(u32::MAX) * 2,
        },
    };
    for state in ["working", "ended"] {
        summary.state = state.to_owned();
        desk.write(|tx| tx.put_summary(session_id(1), &summary, 1))?;
        let found = desk.read(|tx| tx.sessions(&SessionFilter::default()))?;
        let found = found.into_iter().find(|l| l.record.id == session_id(1));
        same!(
            found.map(|l| l.summary),
            Some(summary.clone()),
            "the summary"
        );
    }
    let waiting = desk.read(|tx| tx.unfolded(9))?;
    same!(waiting, [session_id(2)], "sessions to fold after folds");
    desk.write(|tx| append(tx, session_id(1), 9, None, &prompt("q", "x")))?;
    let waiting = desk.read(|tx| tx.unfolded(9))?;
    same!(
        waiting,
        [1, 2].map(session_id),
        "sessions to fold after one grew"
    );
    Ok(())
}

fn record(desk: &mut Desk, n: u128) -> Outcome<SessionRecord> {
    let found = desk.read(|tx| tx.session(session_id(n)))?;
    found.ok_or_else(|| Wrong(format!("session {n} is gone")))
}

fn archived(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.set_ended(session_id(2), Some(at(30)))?;
        tx.archive(session_id(1), at(50))?;
        tx.archive(session_id(1), at(60))?;
        tx.archive(session_id(2), at(50))
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for (n, wanted) in [
            (1, (Some(at(50)), Some(at(50)))),
            (2, (Some(at(50)), Some(at(30)))),
            (3, (None, None)),
        ] {
            let found = record(desk, n)?;
            let found = (found.archived_at, found.ended_at);
            same!(found, wanted, format!("session {n}: archived, ended"));
        }
        let open = SessionFilter {
            open: true,
            ..SessionFilter::default()
        };
        let found = desk.read(|tx| tx.sessions(&open))?;
        let ids: Vec<_> = found.into_iter().map(|l| l.record.id).collect();
        same!(ids, [session_id(3)], "open sessions");
    }
    Ok(())
}

fn quarantined(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [1, 2] {
            append(tx, session_id(n), n, None, &prompt("p", "x"))?;
        }
        Ok(())
    })?;
    for reason in [Some("receipt 3 does not verify"), Some("ü"), None] {
        desk.write(|tx| tx.quarantine(session_id(1), reason))?;
        let mut later = Desk::open(shelf)?;
        for desk in [&mut desk, &mut later] {
            let found = record(desk, 1)?.quarantined;
            same!(found.as_deref(), reason, "what is damaged");
            same!(record(desk, 2)?.quarantined, None, "another session");
            let unsealed = desk.read(|tx| Ok(tx.unsealed(9)?.len()))?;
            let wanted = if reason.is_some() { 1 } else { 2 };
            same!(unsealed, wanted, "sessions to seal");
        }
    }
    desk.write(|tx| {
        tx.quarantine(session_id(2), Some("two"))?;
        tx.quarantine(session_id(1), Some("one"))
    })?;
    let all = [(1, "one"), (2, "two")].map(|(n, why)| (session_id(n), why.to_owned()));
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.quarantined_sessions(9))?;
        same!(found, all, "damaged sessions");
        let found = desk.read(|tx| tx.quarantined_sessions(1))?;
        same!(found, all[..1], "a damaged session");
    }
    Ok(())
}

fn refolded(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [1, 2, 3] {
            append(tx, session_id(n), 1, None, &prompt("p", "x"))?;
            tx.put_summary(session_id(n), &Summary::default(), 1)?;
        }
        Ok(())
    })?;
    same!(desk.read(|tx| tx.unfolded(9))?, [], "sessions to fold");
    desk.write(|tx| tx.refold(Some(session_id(2))))?;
    let waiting = desk.read(|tx| tx.unfolded(9))?;
    same!(
        waiting,
        [session_id(2)],
        "sessions to fold after one was asked for"
    );
    desk.write(|tx| tx.refold(None))?;
    let mut waiting = desk.read(|tx| tx.unfolded(9))?;
    waiting.sort();
    same!(
        waiting,
        [1, 2, 3].map(session_id),
        "sessions to fold after all were asked for"
    );
    Ok(())
}
