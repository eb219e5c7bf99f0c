//! The commits that HEAD came to while a tool call ran.
//!
//! Agents that switch git's hooks off leave no other sign of their commits. A call has a window,
//! between HEAD before it and HEAD after it; every commit that git's list of the moves of HEAD says
//! was made in it is noted, with what the call's output says of it. A call that pulled, reset or
//! checked a commit out did not make it, whatever it prints.

use siglum_domain::commit::says_it_was_made;
use siglum_domain::intake::Place;
use siglum_domain::observation::{Arrival, Fact, Observation, Side};
use siglum_domain::{IdSource, Oid, SessionId};
use siglum_ledger::{HeadMove, LedgerError, OutputMention, Transaction};

use crate::commits::judgements;
use crate::identity::SessionIdentity;
use crate::identity::sighting_keys::before_key;

/// HEAD after a call is not worth an entry where nothing was made and it stands as before.
pub(crate) fn stayed(
    tx: &mut dyn Transaction,
    session: SessionId,
    observation: &Observation,
) -> Result<bool, LedgerError> {
    let Fact::HeadSeen {
        side: Side::After,
        commit: after,
        ..
    } = &observation.fact
    else {
        return Ok(false);
    };
    let Some(before) = before(tx, session, observation)? else {
        return Ok(false);
    };
    let same = matches!(&before.fact, Fact::HeadSeen { commit, .. } if commit == after);
    Ok(same && made_between(&before.fact, &observation.fact).is_empty())
}

/// Notes what was made while a call ran, and judges again what was judged without knowing of it.
pub(crate) fn note(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    identity: SessionIdentity,
    place: Option<&Place>,
    delivery: &[Observation],
    after: &Observation,
) -> Result<(), LedgerError> {
    let (Some(repository), Some(place)) = (identity.repository(), place) else {
        return Ok(());
    };
    let Some(before) = before(tx, identity.session(), after)? else {
        return Ok(());
    };
    for commit in made_between(&before.fact, &after.fact) {
        let mention = delivery.iter().map(|o| says(o, &commit)).max();
        tx.put_move(&HeadMove {
            repository,
            commit: commit.clone(),
            session: identity.session(),
            event: after.event.clone(),
            mention: mention.unwrap_or(OutputMention::Nothing),
            at: after.at,
        })?;
        if tx.commit(repository, &commit)?.is_some() {
            judgements::judge_again(tx, ids, repository, &commit)?;
        } else if let Fact::HeadSeen {
            commit: Some(stood),
            ..
        } = &before.fact
        {
            // A sweep may have passed before this was known.
            tx.set_swept(repository, &place.worktree, stood)?;
        }
    }
    Ok(())
}

fn before(
    tx: &mut dyn Transaction,
    session: SessionId,
    after: &Observation,
) -> Result<Option<Observation>, LedgerError> {
    let key = before_key("head", &after.event);
    let entry = tx.entry(session, after.source, &key)?;
    Ok(entry.map(|e| e.observation))
}

/// The commits that were made between two looks at HEAD: by git's list of its moves, and where git
/// keeps none, the one at which HEAD stands, if it is another one.
fn made_between(before: &Fact, after: &Fact) -> Vec<Oid> {
    let (
        Fact::HeadSeen {
            commit: stood,
            log: from,
            ..
        },
        Fact::HeadSeen {
            commit,
            arrival,
            log: to,
            moves,
            ..
        },
    ) = (before, after)
    else {
        return Vec::new();
    };
    let moved = |arrival: &Option<Arrival>| *arrival == Some(Arrival::Moved);
    let mut made: Vec<Oid> = match (from, to) {
        // A list that became shorter was written anew.
        (Some(from), Some(to)) if from <= to => moves
            .iter()
            .filter(|step| step.position >= *from && !moved(&step.arrival))
            .map(|step| step.to.clone())
            .collect(),
        _ => commit
            .iter()
            .filter(|commit| stood.as_ref() != Some(commit) && !moved(arrival))
            .cloned()
            .collect(),
    };
    made.sort();
    made.dedup();
    made
}

/// What the end of a call says of a commit.
fn says(end: &Observation, commit: &Oid) -> OutputMention {
    let Fact::ToolEnded {
        output: Some(output),
        ..
    } = &end.fact
    else {
        return OutputMention::Nothing;
    };
    match output.text() {
        Some(text) if says_it_was_made(text, commit) => OutputMention::Made,
        Some(text) if names(text, commit) => OutputMention::Named,
        _ => OutputMention::Nothing,
    }
}

/// Tells whether a text names a commit, other than beside another one in full: so git refuses a
/// commit where somebody else was quicker.
fn names(text: &str, commit: &Oid) -> bool {
    let is_other = |word: &str| {
        matches!(word.len(), 40 | 64)
            && word.bytes().all(|b| b.is_ascii_hexdigit())
            && word != commit.as_str()
    };
    let beside = |line: &str| {
        line.split(|c: char| !c.is_ascii_alphanumeric())
            .any(is_other)
    };
    text.lines()
        .any(|line| line.contains(&commit.as_str()[..7]) && !beside(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_commit_of_somebody_else() {
        let (before, quicker) = ("1".repeat(40), "2".repeat(40));
        let oid = Oid::new(&quicker).unwrap();
        assert!(names("2222222 Add a file\n1111111 Begin", &oid));
        assert!(names(&format!("commit {quicker}\n"), &oid));
        let refused =
            format!("fatal: cannot lock ref 'HEAD': is at {quicker} but expected {before}");
        assert!(!names(&refused, &oid));
    }
}
