//! Everything that a store says, as text, to compare two moments.

use siglum_domain::link::Link;
use siglum_domain::observation::Source;
use siglum_ledger::{
    CheckpointFilter, CheckpointKind, CommitFilter, FileAuthors, HeadMove, LedgerError,
    OutputMention, Relation, RepositoryIdentity, SessionFilter, Statement, Summary, TelemetryStore,
    Transaction,
};

use super::check::{Desk, Outcome};
use super::forgetting::DETAIL;
use super::sample::*;

/// Writes at least one row through every verb that writes.
pub(super) fn fill(desk: &mut Desk) -> Outcome {
    furnish(desk)?;
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        sessions(tx)?;
        log(tx)?;
        turns(tx)?;
        commits(tx)?;
        queue(tx)
    })
}

fn sessions(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let one = session_id(1);
    let identity = RepositoryIdentity {
        roots: vec![oid(1)],
        remote: Some("host/o/r".to_owned()),
        clone_of: Some(repository_id(1)),
    };
    tx.set_identity(repository_id(2), &identity)?;
    tx.set_swept(repository_id(1), &place(1).worktree, &oid(1))?;
    tx.add_alias(&agent("claude-code"), &native("native-1"), one, at(1))?;
    tx.add_caller_name(&agent("claude-code"), &native("named-1"), one, at(1))?;
    tx.set_ended(one, Some(at(50)))?;
    tx.set_unseen(session_id(3))?;
    tx.set_parent(session_id(2), one, Relation::Fork)?;
    tx.bind(one, &process(10), Some(&[variable()]), at(3))?;
    tx.turn(one, "p", turn_id(1), at(3))?;
    tx.note_prompt(turn_id(1), 1)?;
    tx.take_lease(one, "driver", at(1), at(9))?;
    let ended = Statement::Adopted {
        repository: repository_id(1),
        commit: oid(1),
        session: one,
    };
    tx.state(at(3), "Ann", "cli", &ended)?;
    let attached = Statement::LinkAttached {
        session: one,
        link: Link::PrNumber(7),
    };
    tx.state(at(3), "Ann", "cli", &attached)?;
    Ok(())
}

fn turns(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let three = session_id(3);
    tx.append_rows(three, turn_id(3), &[row(4, "k4", "said")])?;
    tx.leave_out("a", session_id(1), 1, at(90))?;
    let receipt = next_receipt(tx, 3, 5)?;
    tx.put_keyed_receipt(&receipt, "key", "content")?;
    tx.put_open_turn(&open_turn(3))?;
    tx.add_pending(three, &row(5, "k5", "waits"))?;
    tx.archive(session_id(2), at(70))?;
    tx.quarantine(session_id(2), Some("damaged"))?;
    tx.claim("a", at(100), at(150), 1)?;
    tx.failed("a", three, "r", at(200), Some(at(110)))?;
    tx.taken("a", session_id(1), 1, at(200))
}

fn log(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let one = session_id(1);
    for (n, session) in [(1, 1), (2, 1), (3, 2)] {
        let text = "x".repeat(2000);
        let mut seen = prompt(&format!("k{n}"), &text);
        if session == 2 {
            seen.subagent = None;
        }
        append(tx, session_id(session), n, None, &seen)?;
    }
    let rows = receipt_entries(tx, one, 1, 2)?;
    if let Some(receipt) = siglum_domain::receipt::seal(one, None, &rows, vec![], at(4)) {
        tx.put_receipt(&receipt)?;
    }
    tx.put_summary(
        one,
        &Summary {
            turns: 1,
            state: "ended".to_owned(),
            ..Summary::default()
        },
        2,
    )?;
    tx.begin_call(one, "t", "/w", at(3))?;
    tx.put_edit(&edit("t", "a", 3))?;
    tx.put_move(&HeadMove {
        repository: repository_id(1),
        commit: oid(1),
        session: one,
        event: "t".to_owned(),
        mention: OutputMention::Named,
        at: at(3),
    })
}

fn commits(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let repository = repository_id(1);
    tx.put_intent(repository, at(3), &scene(1, 10))?;
    tx.put_commit(&commit(1))?;
    tx.put_commit(&commit(2))?;
    tx.put_facts(repository, &facts(&oid(1)))?;
    tx.finish(repository, &oid(1), "patch")?;
    tx.put_rewrite(repository, &oid(0), &oid(1), "amend", at(3))?;
    let span = siglum_domain::provenance::Span {
        first: 1,
        last: 2,
        origin: siglum_domain::provenance::Origin::Session(session_id(1)),
        bridged: false,
    };
    let file = FileAuthors {
        path: "a".to_owned(),
        spans: vec![span],
    };
    tx.put_authors(repository, &oid(1), &[file])?;
    tx.put_checkpoint(&checkpoint(1, CheckpointKind::Commit))
}

fn queue(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    let decline = siglum_domain::intake::Decline {
        edge: "hook".to_owned(),
        reason: "r".to_owned(),
        detail: String::new(),
        place: None,
    };
    tx.decline("k", at(1), &decline)?;
    tx.want_transcript(&transcript("a"))?;
    tx.put_segment(&segment("a", 0, 50, "line"))?;
    tx.push(at(1), "commit", "b")?;
    tx.set_cursor("spans", 1)?;
    tx.park("export", "a", at(1), "why")
}

/// What every verb that reads says, each with its name.
pub(super) fn all(desk: &mut Desk) -> Outcome<Vec<(&'static str, String)>> {
    let mut answers = vec![
        ("id", desk.0.id().to_string()),
        ("key", format!("{:?}", desk.0.key())),
    ];
    answers.extend(desk.read(|tx| verb_answers(tx))?);
    Ok(answers)
}

fn verb_answers(tx: &mut dyn Transaction) -> Result<Vec<(&'static str, String)>, LedgerError> {
    let (mut answers, claude, one) = (Vec::new(), agent("claude-code"), session_id(1));
    macro_rules! tell {
        ($($verb:ident($($arg:expr),*);)*) => {
            $(answers.push((stringify!($verb), format!("{:?}", tx.$verb($($arg),*)?)));)*
        };
    }
    tell! {
        repository(&place(1).common_dir);
        repositories();
        session(one);
        session_by_alias(&claude, &native("native-1"));
        session_by_alias(&claude, &native("named-1"));
        sessions_by_native(&native("native-1"));
        sessions_by_native_start("native"); sessions_by_link_start("pr_number", "7");
        sessions_by_tail(&one.short());
        sessions(&SessionFilter::default());
        sessions(&SessionFilter { links: vec![Link::PrNumber(7)], ..SessionFilter::default() });
        aliases(one);
        unfolded(9);
        bound_to(&process(10).key());
        bindings(one);
        last_turn(one);
        first_prompt(one);
        last_prompt(one, at(9));
        statements_of_session(one);
        statements_of_commit(repository_id(1), &oid(1)); statements_of_commit_anywhere(&oid(1));
        entries(one, 0, 0);
        holdings(one);
        payloads(0, 9);
        segments("", 0, 9);
        objects_of(one);
        objects_of_others(&[one]);
        texts(DETAIL, "", 9); text_columns(); kept_telemetry(TelemetryStore::Unassigned, 0, 9);
        last_of_kind(session_id(2), "prompt", 9);
        entry(one, Source::Hook, "k1");
        sighted(one, Source::Hook, "k1");
        running_calls("/w", at(0));
        moves_to(repository_id(1), &oid(1));
        edits(repository_id(1), "a", at(9));
        last_edit(repository_id(1), "a");
        edits_leaving(&oid(2));
        unhashed_edits(9);
        unsealed(9);
        to_seal(one, 1, 9);
        receipts(one);
        lease(one);
        open_turn(session_id(3));
        open_turns(9);
        pending(session_id(3));
        keyed_receipt(session_id(3), "key");
        last_receipt(session_id(3));
        projections();
        delivery("a", one);
        troubled(None, 9);
        lag("a");
        receipts_after(one, 0, 9);
        intent(checkpoint_id(1));
        intents_of_git(&process(10).key());
        open_intents(None);
        commit(repository_id(1), &oid(1));
        commits_of_checkpoint(checkpoint_id(1));
        commits_of_session(one, 9);
        commits(&CommitFilter::default());
        commits_by_patch(repository_id(1), "patch");
        unfinished(repository_id(1), 9);
        rewritten_from(repository_id(1), &oid(1));
        authors(repository_id(1), &oid(1));
        authored(one);
        checkpoint(checkpoint_id(1));
        checkpoints(&CheckpointFilter::default());
        checkpoints_by_tail(&checkpoint_id(1).short());
        declines(at(0), 9);
        wanted_transcripts(9);
        transcript("a");
        segment("a", 0);
        outbox_end();
        cursor("spans");
        parked();
    }
    Ok(answers)
}
