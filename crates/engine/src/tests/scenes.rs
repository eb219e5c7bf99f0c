//! What git's hooks see.

use siglum_domain::intake::{
    Intake, Landed, LandedBy, Matter, Place, RewriteRun, Rewritten, Scene, VERSION,
};
use siglum_domain::process::{Ancestor, Chain};
use siglum_domain::{CheckpointId, Oid};
use uuid::Uuid;

use super::stage::{at, process};

pub(super) fn checkpoint(n: u128) -> CheckpointId {
    CheckpointId::from_uuid(Uuid::from_u128(
        0x0192_0000_0000_7000_8000_00cc_0000_0000 + n,
    ))
}

fn ancestor(pid: u32, program: &str) -> Ancestor {
    Ancestor {
        identity: process(pid),
        name: program.to_owned(),
        executable: Some(program.to_owned()),
        script: None,
        title: None,
        holdings: siglum_domain::process::Holdings::default(),
        group: i64::from(pid),
        terminal: None,
    }
}

/// A commit by the git process `git`, started by the process `by` of an agent.
pub(super) fn scene(n: u128, place: &Place, git: u32, by: Option<u32>, head: Option<Oid>) -> Scene {
    let mut ancestors = vec![ancestor(90_000 + git, "sh"), ancestor(git, "git")];
    ancestors.extend(by.map(|pid| ancestor(pid, "claude")));
    ancestors.push(ancestor(1, "init"));
    Scene {
        checkpoint: checkpoint(n),
        place: place.clone(),
        head,
        chain: Chain {
            ancestors,
            complete: true,
            per_second: 0,
        },
        variables: Vec::new(),
        claim: None,
        launches: Vec::new(),
        agents: Vec::new(),
        inherited: Vec::new(),
        message: "message".to_owned(),
        named: None,
        draft: None,
    }
}

fn intake(key: String, seconds: i64, matter: Matter) -> Intake {
    Intake {
        version: VERSION,
        key,
        at: at(seconds),
        matter,
    }
}

pub(super) fn intent(scene: &Scene, seconds: i64) -> Intake {
    let key = format!("intent:{}", scene.checkpoint);
    intake(key, seconds, Matter::Intent(scene.clone()))
}

pub(super) fn landed(scene: &Scene, commit: &Oid, by: LandedBy, seconds: i64) -> Intake {
    let landed = Landed {
        place: scene.place.clone(),
        commit: commit.clone(),
        by,
        scene: scene.clone(),
        moves: Vec::new(),
    };
    intake(format!("landed:{commit}"), seconds, Matter::Landed(landed))
}

/// What nobody is known to have rewritten.
pub(super) fn rewritten(
    place: &Place,
    command: &str,
    pairs: &[(Oid, Oid)],
    seconds: i64,
) -> Intake {
    rewriting(place, command, pairs, Vec::new(), seconds)
}

/// What the git of a scene rewrote.
pub(super) fn rewritten_by(
    scene: &Scene,
    command: &str,
    pairs: &[(Oid, Oid)],
    seconds: i64,
) -> Intake {
    let mut scene = scene.clone();
    command.clone_into(&mut scene.message);
    let run = RewriteRun {
        at: at(seconds),
        commits: pairs.iter().map(|(_, new)| new.clone()).collect(),
        scene: scene.clone(),
    };
    rewriting(&scene.place, command, pairs, vec![run], seconds)
}

fn rewriting(
    place: &Place,
    command: &str,
    pairs: &[(Oid, Oid)],
    runs: Vec<RewriteRun>,
    seconds: i64,
) -> Intake {
    let rewritten = Rewritten {
        place: place.clone(),
        command: command.to_owned(),
        pairs: pairs.to_vec(),
        runs,
    };
    let key = format!("rewritten:{pairs:?}");
    intake(key, seconds, Matter::Rewritten(rewritten))
}
