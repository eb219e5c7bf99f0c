//! The life of one file in one checkout, from the edits of all sessions and the moves of HEAD.
//!
//! The rules are those of [`FileLife`]. Here they get what they ask for: in which order tools wrote,
//! and whether the file that was seen next is the one that was seen last.

use siglum_domain::observation::{Fact, FileIdentity, FileVersion, ToolClass};
use siglum_domain::provenance::{Canvas, FileLife, Joint, Step, start_among_others};
use siglum_domain::{Oid, SessionId, Timestamp};
use siglum_ledger::{EditRecord, Ledger, LedgerError, Transaction, read};

use crate::EngineError;
use crate::commits::checkout::{Checkout, Timing, replaces};
use crate::commits::committed_file::{CommittedFile, identity_now};
use crate::commits::contents::{Contents, as_committed};
use crate::commits::copies::Copies;

/// Most edits that are replayed for one file.
const EDITS_MOST: usize = 500;
/// Among how many calls that run at once the order of writes is looked for.
const EDITS_AT_ONCE: usize = 16;
/// How many entries of a session's log are searched for the call that a file was put in place in.
const CALLS_BACK: u64 = 512;
/// Edits are looked at until this long after the commit was noticed, since clocks are read in turn.
pub(crate) const SLACK_MS: i64 = 2_000;

/// What is known of a commit's file from its life in the checkout that the commit was made in.
pub(crate) fn known_here(
    ledger: &mut dyn Ledger,
    contents: &mut Contents<'_>,
    copies: &mut Copies,
    checkout: &Checkout,
    file: &CommittedFile<'_>,
) -> Result<Option<Canvas>, EngineError> {
    let mut before = Vec::new();
    let mut during = Vec::new();
    for edit in file.edits(ledger, Some(&checkout.worktree))? {
        match timing(checkout, file, &edit) {
            Timing::Before => before.push(edit),
            Timing::During => during.push(edit),
            Timing::After => {}
        }
    }
    order_writes(&mut before);
    before.drain(..first_on_the_way(&before, file.parent));
    let blobs = before.iter().chain(&during);
    contents.fetch(
        blobs
            .flat_map(|e| [&e.before, &e.after])
            .flatten()
            .map(|v| &v.blob),
    )?;
    let whole = before.len();
    before.extend(during);
    let Some(first) = before.first() else {
        return Ok(None);
    };
    let removals = replacements(ledger, contents, copies, checkout, first, file)?;
    let mut replay = Replay::new(file, contents, removals);
    for at in 0..whole {
        replay.apply(ledger, &before, at, checkout)?;
    }
    if replay.is_at(file.content) {
        return Ok(replay
            .life
            .map(|life| life.lead_to(file.content, Joint::Same)));
    }
    // What was being written when the commit was made may be in it.
    for at in whole..before.len() {
        replay.apply(ledger, &before, at, checkout)?;
    }
    replay.replace_until(u64::MAX);
    let last = before.last();
    let seen = last.and_then(|e| e.after.as_ref());
    let left = seen.and_then(|v| replay.contents.version(Some(v)));
    let is_left = left.is_some_and(|left| as_committed(left, file.content) == file.content);
    let joint = match last {
        Some(_) if is_left || before.len() > whole => Joint::Same,
        Some(last) => {
            let now = identity_now(&checkout.worktree, file.path);
            identity_joint(ledger, &before, last.detail.after.file, now)?
        }
        None => Joint::Open,
    };
    Ok(replay.life.map(|life| life.lead_to(file.content, joint)))
}

/// What is known of a commit's file where no checkout says that it made the commit: the edits of the one
/// checkout in which they lead from exactly the parent's content to exactly the committed one. Likely at most.
pub(crate) fn known_elsewhere(
    ledger: &mut dyn Ledger,
    contents: &mut Contents<'_>,
    file: &CommittedFile<'_>,
) -> Result<Option<Canvas>, EngineError> {
    let edits = file.edits(ledger, None)?;
    let mut worktrees: Vec<&str> = edits.iter().map(|e| &*e.worktree).collect();
    worktrees.sort_unstable();
    worktrees.dedup();
    let mut found = Vec::new();
    for worktree in worktrees {
        let mut own: Vec<EditRecord> = edits
            .iter()
            .filter(|e| e.worktree == worktree)
            .cloned()
            .collect();
        let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.clone());
        let last = own
            .iter()
            .rposition(|e| blob(&e.after).as_ref() == Some(file.blob));
        let Some(last) = last else { continue };
        own.truncate(last + 1);
        let Some(first) = own
            .iter()
            .rposition(|e| base(e).map(|v| &v.blob) == file.parent)
        else {
            continue;
        };
        own.drain(..first);
        contents.fetch(
            own.iter()
                .flat_map(|e| [&e.before, &e.after])
                .flatten()
                .map(|v| &v.blob),
        )?;
        let mut replay = Replay::new(file, contents, Vec::new());
        own.iter().for_each(|edit| replay.step(edit, Joint::Open));
        let exact = replay.is_at(file.content);
        found.extend(replay.life.filter(|_| exact));
    }
    match found.as_slice() {
        [life] => {
            let mut canvas = life.lead_to(file.content, Joint::Open);
            canvas.doubt();
            Ok(Some(canvas))
        }
        _ => Ok(None),
    }
}

/// What a tool started from, as far as it or the disk says.
fn base(edit: &EditRecord) -> Option<&FileVersion> {
    match &edit.detail.write {
        Some(write) if write.added.is_none() => write.base.as_ref(),
        _ => edit.before.as_ref(),
    }
}

fn timing(checkout: &Checkout, file: &CommittedFile<'_>, edit: &EditRecord) -> Timing {
    if let Some(timing) = checkout.timing(edit) {
        return timing;
    }
    match edit.at <= file.until.plus_millis(-SLACK_MS) {
        true => Timing::Before,
        false if edit.after.as_ref().map(|v| &v.blob) == Some(file.blob) => Timing::During,
        false => Timing::After,
    }
}

/// Puts calls that ran at once in the order in which they wrote: whoever started from what another one wrote
/// came later, whichever of their hooks ran last.
fn order_writes(edits: &mut [EditRecord]) {
    let blob = |v: Option<&FileVersion>| v.map(|v| v.blob.clone());
    let written = |e: &EditRecord| {
        let write = e.detail.write.as_ref();
        blob(write.map_or(e.after.as_ref(), |w| w.written.as_ref()))
    };
    for at in 0..edits.len() {
        let start = blob(base(&edits[at]));
        let at_once = |e: &&EditRecord| e.began <= edits[at].at;
        let others = edits[at + 1..].iter().take_while(at_once);
        let earlier = others.take(EDITS_AT_ONCE).position(|e| {
            start.is_some() && written(e) == start && blob(base(e)) != written(&edits[at])
        });
        if let Some(earlier) = earlier {
            edits[at..=at + 1 + earlier].rotate_right(1);
        }
    }
}

/// The first edit that has to be replayed: the last one that started from the parent's content, or the one
/// behind the last that left it.
fn first_on_the_way(edits: &[EditRecord], parent: Option<&Oid>) -> usize {
    let starts = edits
        .iter()
        .rposition(|e| base(e).map(|v| &v.blob) == parent);
    let left = |e: &EditRecord| e.after.as_ref().map(|v| &v.blob) == parent;
    let leaves = edits.iter().rposition(left).map(|at| at + 1);
    let known = starts
        .max(leaves)
        .unwrap_or(0)
        .min(edits.len().saturating_sub(1));
    known.max(edits.len().saturating_sub(EDITS_MOST))
}

/// What git put in place of the file, each with where HEAD had come by then.
fn replacements(
    ledger: &mut dyn Ledger,
    contents: &mut Contents<'_>,
    copies: &mut Copies,
    checkout: &Checkout,
    first: &EditRecord,
    file: &CommittedFile<'_>,
) -> Result<Vec<(u64, Canvas)>, EngineError> {
    let moves = checkout.moves_since(first);
    let paths = [Some(file.path), file.moved_from, Some(&*first.path)];
    let mut places: Vec<(Oid, String)> = Vec::new();
    for step in moves {
        let from = step.from.as_ref().unwrap_or(&step.to);
        for commit in [from, &step.to] {
            let named = paths.iter().map(|p| p.unwrap_or(file.path).to_owned());
            places.extend(named.map(|path| (commit.clone(), path)));
        }
    }
    let blobs = contents.blob_ids(&places)?;
    let mut found = Vec::new();
    for (step, blobs) in moves.iter().zip(blobs.chunks(2 * paths.len())) {
        let at = |side: &[Option<Oid>]| side.iter().flatten().next().cloned();
        let (before, after) = blobs.split_at(paths.len());
        let before = step.from.as_ref().and_then(|_| at(before));
        let after = at(after);
        if replaces(step.kind, before.as_ref(), after.as_ref()) {
            let canvas = match &after {
                Some(blob) => copies.canvas_of(ledger, contents, file, blob)?,
                None => Canvas::new(Vec::new()),
            };
            found.push((step.position, canvas));
        }
    }
    Ok(found)
}

/// Whether the file is the same now and then: the same one on disk, or one that was put in its place while
/// a command of one of these sessions ran, as formatters do.
fn identity_joint(
    ledger: &mut dyn Ledger,
    edits: &[EditRecord],
    then: Option<FileIdentity>,
    now: Option<FileIdentity>,
) -> Result<Joint, EngineError> {
    let (Some(then), Some(now)) = (then, now) else {
        return Ok(Joint::Open);
    };
    if then == now {
        return Ok(Joint::Same);
    }
    let mut sessions: Vec<SessionId> = edits.iter().map(|e| e.session).collect();
    sessions.sort();
    sessions.dedup();
    for session in sessions {
        if read(ledger, |tx| ran_a_command(tx, session, now.born))? {
            return Ok(Joint::Same);
        }
    }
    Ok(Joint::Open)
}

/// Whether a command of a session was running at a moment.
fn ran_a_command(
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Timestamp,
) -> Result<bool, LedgerError> {
    let Some(record) = tx.session(session)? else {
        return Ok(false);
    };
    let from = record.head.saturating_sub(CALLS_BACK);
    let mut running: Option<String> = None;
    for entry in tx.entries(session, from, 0)? {
        let seen = &entry.observation;
        match &seen.fact {
            Fact::ToolStarted {
                class: ToolClass::Shell,
                ..
            } if seen.at <= at => running = Some(seen.event.clone()),
            Fact::ToolEnded { .. } if seen.at < at && running.as_ref() == Some(&seen.event) => {
                running = None;
            }
            _ => {}
        }
    }
    Ok(running.is_some())
}

struct Replay<'r, 'w> {
    file: &'r CommittedFile<'r>,
    contents: &'r Contents<'w>,
    life: Option<FileLife>,
    /// What git will put in place, oldest first.
    replacements: std::vec::IntoIter<(u64, Canvas)>,
}

impl<'r, 'w> Replay<'r, 'w> {
    fn new(
        file: &'r CommittedFile<'r>,
        contents: &'r Contents<'w>,
        replacements: Vec<(u64, Canvas)>,
    ) -> Self {
        Self {
            file,
            contents,
            life: None,
            replacements: replacements.into_iter(),
        }
    }

    fn is_at(&mut self, content: &[u8]) -> bool {
        self.replace_until(u64::MAX);
        self.life
            .as_ref()
            .is_some_and(|life| life.content() == content)
    }

    fn replace_until(&mut self, position: u64) {
        while let Some((at, _)) = self.replacements.as_slice().first()
            && *at < position
        {
            let next = self.replacements.next();
            if let (Some(life), Some((_, canvas))) = (&mut self.life, next) {
                life.replace(canvas);
            }
        }
    }

    /// Replays the next edit, with what git did before it.
    fn apply(
        &mut self,
        ledger: &mut dyn Ledger,
        edits: &[EditRecord],
        at: usize,
        checkout: &Checkout,
    ) -> Result<(), EngineError> {
        let edit = &edits[at];
        self.replace_until(checkout.position(edit));
        let joint = match at.checked_sub(1).map(|last| &edits[last]) {
            None => Joint::Same,
            Some(last) => {
                let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.clone());
                let left = blob(&last.after).is_some() && blob(&last.after) == blob(&edit.before);
                match left || edit.began <= last.at {
                    true => Joint::Same,
                    false => identity_joint(
                        ledger,
                        &edits[..at],
                        last.detail.after.file,
                        edit.detail.before.file,
                    )?,
                }
            }
        };
        self.step(edit, joint);
        Ok(())
    }

    /// Replays one edit.
    fn step(&mut self, edit: &EditRecord, joint: Joint) {
        let version = |v: Option<&FileVersion>| {
            let content = self.contents.version(v)?;
            Some(as_committed(content, self.file.content))
        };
        let after = match &edit.detail.write {
            Some(write) => write.written.as_ref(),
            None => edit.after.as_ref(),
        };
        let (Some(mut before), Some(after)) = (version(base(edit)), version(after)) else {
            return;
        };
        if let Some(write) = edit.detail.write.as_ref().filter(|w| w.added.is_some()) {
            let Some(added) = version(write.added.as_ref()) else {
                return;
            };
            before = start_among_others(&before, &after, &added).unwrap_or(before);
        }
        let life = self
            .life
            .get_or_insert_with(|| FileLife::new(before.clone()));
        life.write(&Step {
            session: edit.session,
            before,
            after,
            exact: edit.detail.write.is_some(),
            joint,
        });
    }
}
