//! From an edge's delivery to rows: the only way in.
//!
//! One delivery is one transaction. A delivery that comes twice, from the hook and from the spool,
//! has the effect of one.

use std::borrow::Cow;
use std::path::Path;

use siglum_domain::evidence::Judgement;
use siglum_domain::intake::{AgentMatter, Decline, Intake, Matter, Place, Scene};
use siglum_domain::observation::Fact;
use siglum_domain::{IdSource, LedgerId, RepositoryId, SessionId};
use siglum_gitstore::lies_in;
use siglum_ledger::{
    Durability, Ledger, LedgerError, Mode, SessionRecord, Spool, SpoolRepository, Transaction,
    write,
};

use crate::commits::{landing, rewrites, scene};
use crate::identity::repositories::{lying_at, note_place};
use crate::identity::session_by_name;
use crate::record::session;

/// What a delivery led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// It was written to this session.
    Session(SessionId),
    /// The intent was judged so.
    Intent(Judgement),
    /// It was written.
    Noted,
}

/// How safe a delivery must be before its edge goes on.
#[must_use]
pub const fn durability(matter: &Matter) -> Durability {
    match matter {
        Matter::Intent(_) => Durability::Disk,
        _ => Durability::Process,
    }
}

/// Writes a delivery to the ledger.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn deliver(
    ledger: &mut dyn Ledger,
    ids: &dyn IdSource,
    intake: &Intake,
) -> Result<Delivered, LedgerError> {
    let home = ledger.id();
    write(ledger, durability(&intake.matter), |tx| {
        write_down(tx, home, ids, intake)
    })
}

/// Writes a delivery to the ledger that waited in a spool. That of a repository may have come with it, and may speak of that
/// repository and of sessions in it alone. Gives what else a delivery is about; nothing was written then.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn deliver_from(
    ledger: &mut dyn Ledger,
    ids: &dyn IdSource,
    spool: &Spool,
    intake: &Intake,
) -> Result<Option<String>, LedgerError> {
    let Some(repository) = spool.repository() else {
        return deliver(ledger, ids, intake).map(|_| None);
    };
    let home = ledger.id();
    let (intake, declined) = without_other_transcript(repository, intake);
    write(ledger, durability(&intake.matter), |tx| {
        let foreign = foreign_to(tx, home, &repository.common_dir, &intake.matter)?;
        if foreign.is_none() {
            write_down(tx, home, ids, &intake)?;
            if let Some(decline) = &declined {
                tx.decline(&intake.key, intake.at, decline)?;
            }
        }
        Ok(foreign)
    })
}

/// A delivery without a transcript that lies where its agent keeps none, and that this was declined, as a hook does.
fn without_other_transcript<'a>(
    repository: &SpoolRepository,
    intake: &'a Intake,
) -> (Cow<'a, Intake>, Option<Decline>) {
    let Matter::Agent(matter) = &intake.matter else {
        return (Cow::Borrowed(intake), None);
    };
    let is_own = |path: &String| (repository.is_transcript)(&matter.agent, path);
    if matter.transcript.as_ref().is_none_or(is_own) {
        return (Cow::Borrowed(intake), None);
    }
    let decline = Decline {
        edge: format!("hook {}", matter.agent),
        reason: "transcript_outside".to_owned(),
        detail: format!("named in the spool of {}", repository.common_dir),
        place: matter.place.clone(),
    };
    let matter = AgentMatter {
        transcript: None,
        ..matter.clone()
    };
    let intake = Intake {
        matter: Matter::Agent(matter),
        ..intake.clone()
    };
    (Cow::Owned(intake), Some(decline))
}

/// What in a matter is neither of the repository at this common directory nor of sessions in it, in words.
fn foreign_to(
    tx: &mut dyn Transaction,
    home: LedgerId,
    common_dir: &str,
    matter: &Matter,
) -> Result<Option<String>, LedgerError> {
    let here = lying_at(tx, common_dir)?;
    let before = here.as_ref().map_or(common_dir, |r| r.common_dir.as_str());
    // Hooks know it by its path without links.
    let real = std::fs::canonicalize(common_dir).ok();
    let real = real.as_ref().and_then(|path| path.to_str());
    let own: Vec<&str> = [common_dir, before].into_iter().chain(real).collect();
    let Some(place) = place_in(matter) else {
        return Ok(Some("it names no repository".to_owned()));
    };
    let is_here = |place: &&Place| {
        own.contains(&place.common_dir.as_str()) && lies_in(Path::new(&place.worktree), &own)
    };
    let is_inside = |place: &Place| own.iter().any(|dir| is_submodule(place, dir));
    let scenes = scenes_in(matter);
    let places = scenes.iter().map(|scene| &scene.place);
    let other = std::iter::once(place).chain(places).find(|p| !is_here(p));
    let file = files_in(matter).find(|p| !is_here(p) && !is_inside(p));
    if let Some(other) = other.or(file) {
        return Ok(Some(format!("it is about {}", other.worktree)));
    }
    let at_real = match real {
        Some(real) => lying_at(tx, real)?,
        None => None,
    };
    let here: Vec<RepositoryId> = here.iter().chain(&at_real).map(|r| r.id).collect();
    for scene in scenes {
        let intent = tx.intent(scene.checkpoint)?;
        if intent.is_some_and(|intent| !here.contains(&intent.repository)) {
            return Ok(Some(format!(
                "{} is of another repository",
                scene.checkpoint
            )));
        }
    }
    match matter {
        Matter::Agent(matter) => bound_elsewhere(tx, home, &here, matter),
        _ => Ok(None),
    }
}

/// The first session that a matter names, by a name or by the process it runs in, and that is not of this repository, in
/// words.
fn bound_elsewhere(
    tx: &mut dyn Transaction,
    home: LedgerId,
    here: &[RepositoryId],
    matter: &AgentMatter,
) -> Result<Option<String>, LedgerError> {
    let mut named = Vec::from_iter(matter.explicit);
    for native in std::iter::once(&matter.native).chain(&matter.thread) {
        named.extend(session_by_name(tx, &matter.agent, native)?);
    }
    if let Some(process) = &matter.process {
        named.extend(tx.bound_to(&process.key())?.into_iter().map(|b| b.session));
    }
    for id in named {
        let is_here = |session: &SessionRecord| match session.repository {
            Some(repository) => session.home == home && here.contains(&repository),
            // What hooks say of a driven session is evidence, and never extends it.
            None => session.mode == Mode::Driven,
        };
        if tx.session(id)?.is_some_and(|session| !is_here(&session)) {
            return Ok(Some(format!("session {id} is bound elsewhere")));
        }
    }
    Ok(None)
}

/// Where a matter was seen.
const fn place_in(matter: &Matter) -> Option<&Place> {
    match matter {
        Matter::Agent(matter) => matter.place.as_ref(),
        Matter::Intent(scene) => Some(&scene.place),
        Matter::Landed(landed) => Some(&landed.place),
        Matter::Rewritten(rewritten) => Some(&rewritten.place),
        Matter::Head(head) => Some(&head.place),
        Matter::Decline(decline) => decline.place.as_ref(),
    }
}

fn scenes_in(matter: &Matter) -> Vec<&Scene> {
    match matter {
        Matter::Intent(scene) => vec![scene],
        Matter::Landed(landed) => vec![&landed.scene],
        Matter::Rewritten(rewritten) => rewritten.runs.iter().map(|run| &run.scene).collect(),
        Matter::Agent(_) | Matter::Head(_) | Matter::Decline(_) => Vec::new(),
    }
}

/// The checkouts of files that are in another one than the session.
fn files_in(matter: &Matter) -> impl Iterator<Item = &Place> {
    let observations = match matter {
        Matter::Agent(matter) => matter.observations.as_slice(),
        _ => &[],
    };
    observations.iter().filter_map(|o| match &o.fact {
        Fact::FileSeen { place, .. } => place.as_ref(),
        _ => None,
    })
}

/// Whether a place is in a submodule of the repository at this common directory, or of a linked worktree of it.
fn is_submodule(place: &Place, common_dir: &str) -> bool {
    let inside = place.common_dir.strip_prefix(common_dir);
    let of_worktree = |path: &str| {
        let name = path.strip_prefix("/worktrees/");
        name.and_then(|rest| rest.split_once('/'))
            .is_some_and(|(_, rest)| rest.starts_with("modules/"))
    };
    let is_module = |path: &str| path.starts_with("/modules/") || of_worktree(path);
    inside.is_some_and(|path| is_module(path) && !path.contains(".."))
        && lies_in(Path::new(&place.worktree), &[&place.common_dir])
}

fn write_down(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    intake: &Intake,
) -> Result<Delivered, LedgerError> {
    match &intake.matter {
        Matter::Agent(matter) => {
            let identity = session::record(tx, home, ids, intake.at, matter)?;
            Ok(Delivered::Session(identity.session()))
        }
        Matter::Intent(seen) => {
            let repository = note_place(tx, ids, &seen.place, intake.at)?;
            tx.put_intent(repository, intake.at, seen)?;
            let case = scene::case(tx, seen, intake.at)?;
            Ok(Delivered::Intent(siglum_domain::evidence::judge(&case)))
        }
        Matter::Landed(landed) => {
            let repository = note_place(tx, ids, &landed.place, intake.at)?;
            landing::land(tx, repository, intake.at, landed)?;
            Ok(Delivered::Noted)
        }
        Matter::Rewritten(rewritten) => {
            let repository = note_place(tx, ids, &rewritten.place, intake.at)?;
            rewrites::rewrite(tx, repository, intake.at, rewritten)?;
            Ok(Delivered::Noted)
        }
        Matter::Head(head) => {
            let repository = note_place(tx, ids, &head.place, intake.at)?;
            landing::look_from_here(tx, repository, head)?;
            Ok(Delivered::Noted)
        }
        Matter::Decline(decline) => {
            tx.decline(&intake.key, intake.at, decline)?;
            Ok(Delivered::Noted)
        }
    }
}
