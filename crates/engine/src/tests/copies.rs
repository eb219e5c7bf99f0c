//! The lines of commits that git made of others, in a real repository.

use std::fs;

use siglum_domain::intake::{Landed, LandedBy, Matter};
use siglum_domain::observation::{DiskState, Fact, FileVersion, Side, StartKind, ToolClass};
use siglum_domain::provenance::Origin;
use siglum_domain::{Oid, SessionId};

use super::scenes::*;
use super::stage::*;
use super::sweep::Repo;

/// A session that wrote a file, the commit of it on a branch, and a cherry-pick of that by nobody on another one.
pub(crate) struct Picked {
    pub(crate) stage: Stage,
    repo: Repo,
    session: SessionId,
    origin: Oid,
    copy: Oid,
}

impl Picked {
    pub(crate) fn new(content: &str) -> Self {
        let mut stage = Stage::new();
        let repo = Repo::new(&mut stage);
        repo.git(&["checkout", "-q", "-b", "side"]);
        let path = format!("{}/picked", repo.place.worktree);
        fs::write(&path, content).unwrap();
        let blob = Oid::new(repo.git(&["hash-object", "-w", &path])).unwrap();
        let version = FileVersion {
            blob,
            object: None,
            bytes: content.len() as u64,
        };
        let mut sides =
            [(Side::Before, None), (Side::After, Some(version))].map(|(side, after)| {
                let mut seen = file_at("picked", ("t", "p"), 4, side, None);
                if let Fact::FileSeen { version, disk, .. } = &mut seen.fact {
                    *version = after;
                    *disk = DiskState {
                        head_log: Some(0),
                        ..DiskState::default()
                    };
                }
                seen
            });
        let [before, after] = &mut sides;
        let observations = vec![
            started(1, StartKind::Startup),
            prompt("p", 2),
            call("t", "p", 3, ToolClass::Edit),
            before.clone(),
            after.clone(),
        ];
        let session = stage.hear(siglum_domain::intake::AgentMatter {
            place: Some(repo.place.clone()),
            ..in_process(50, says("one", observations))
        });
        repo.git(&["add", "picked"]);
        repo.git_at(&["commit", "-q", "-m", "picked"], 10);
        let origin = repo.head();
        repo.git(&["checkout", "-q", "main"]);
        repo.commit("beside", 20);
        repo.git_at(&["cherry-pick", "side"], 30);
        let copy = repo.head();
        Self {
            stage,
            repo,
            session,
            origin,
            copy,
        }
    }

    fn lands(&mut self, n: u32, commit: &Oid, by: Option<u32>, seconds: i64) {
        let scene = scene(u128::from(n), &self.repo.place, 70 + n, by, None);
        self.stage.deliver(&intent(&scene, seconds - 1));
        let mut landing = landed(&scene, commit, LandedBy::Commit, seconds);
        if let Matter::Landed(Landed { scene, .. }) = &mut landing.matter {
            scene.head = Some(commit.clone());
        }
        self.stage.deliver(&landing);
    }

    pub(crate) fn origin_lands(&mut self) {
        let origin = self.origin.clone();
        self.lands(1, &origin, Some(50), 10);
    }

    fn copy_lands(&mut self) {
        let copy = self.copy.clone();
        self.lands(2, &copy, None, 30);
    }

    /// Who wrote the line of a commit's file.
    fn author(&mut self, commit: &Oid) -> Origin {
        let repository = self.stage.repository().id;
        let files = self.stage.read(|tx| tx.authors(repository, commit));
        let files = files.expect("the authors were looked for");
        files[0].spans[0].origin
    }
}

/// Git is asked about both at once. One in two copies comes first by its id.
#[test]
fn a_copy_knows_its_lines_whatever_its_id() {
    for n in 0..6 {
        let mut picked = Picked::new(&format!("number {n}\n"));
        picked.origin_lands();
        picked.copy_lands();
        picked.stage.slice();
        let (origin, copy) = (picked.origin.clone(), picked.copy.clone());
        let mine = Origin::Session(picked.session);
        assert_eq!(picked.author(&origin), mine);
        assert_eq!(picked.author(&copy), mine, "{n}: {copy} of {origin}");
    }
}

/// The hook of the origin waited in a spool.
#[test]
fn a_copy_that_is_finished_first_is_finished_again_when_its_origin_is() {
    let mut picked = Picked::new("one\n");
    picked.copy_lands();
    picked.stage.slice();
    let (origin, copy) = (picked.origin.clone(), picked.copy.clone());
    assert_eq!(picked.author(&copy), Origin::Unknown);
    picked.origin_lands();
    picked.stage.slice();
    picked.stage.slice();
    assert_eq!(picked.author(&origin), Origin::Session(picked.session));
    assert_eq!(picked.author(&copy), Origin::Session(picked.session));
}
