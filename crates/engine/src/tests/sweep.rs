//! Commits that no hook saw landing, in a real repository.

use std::fs;
use std::process::Command;

use siglum_domain::draft::draft_digest;
use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::intake::{Head, Intake, LandedBy, Matter, Place, Scene, VERSION};
use siglum_domain::observation::{Fact, Observation, Side, StartKind, ToolClass};
use siglum_domain::{Oid, SessionId};
use siglum_ledger::{CommitRecord, Durability, IntentState, SeenBy, write};

use super::scenes::*;
use super::stage::*;
use crate::commits::sweep::sweep;

pub(crate) struct Repo {
    pub(super) place: Place,
}

impl Repo {
    /// A repository with one commit, that is looked through from there.
    pub(super) fn new(stage: &mut Stage) -> Self {
        let dir = stage.dir.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&dir).unwrap();
        let worktree = dir.to_string_lossy().into_owned();
        let common_dir = format!("{worktree}/.git");
        let repo = Self {
            place: Place {
                common_dir,
                worktree,
            },
        };
        repo.git(&["init", "-q", "-b", "main"]);
        let first = repo.commit("first", 0);
        let head = Head {
            place: repo.place.clone(),
            commit: Some(first),
        };
        stage.deliver(&Intake {
            version: VERSION,
            key: "head".to_owned(),
            at: at(0),
            matter: Matter::Head(head),
        });
        repo
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        self.git_at(args, 0)
    }

    #[expect(clippy::disallowed_methods, reason = "the tests' own git")]
    pub(super) fn git_at(&self, args: &[&str], seconds: i64) -> String {
        let date = format!("{} +0000", at(seconds).seconds());
        let output = Command::new("git")
            .args(["-C", &self.place.worktree])
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(super) fn head(&self) -> Oid {
        Oid::new(self.git(&["rev-parse", "HEAD"])).unwrap()
    }

    /// The digest of the commit that [`Repo::commit`] makes of a message, which is taken back.
    fn draft_of(&self, message: &str, seen: &Scene) -> String {
        self.commit(message, 0);
        let tree = Oid::new(self.git(&["rev-parse", "HEAD^{tree}"])).unwrap();
        self.git(&["reset", "-q", "--hard", "HEAD^"]);
        draft_digest(seen.checkpoint, &tree, message)
    }

    /// Commits so many seconds after the start of the stage's time.
    pub(super) fn commit(&self, message: &str, seconds: i64) -> Oid {
        let file = format!("{}/{}", self.place.worktree, message.len());
        fs::write(file, message).unwrap();
        self.git(&["add", "-A"]);
        self.git_at(&["commit", "-q", "-m", message], seconds);
        self.head()
    }
}

impl Stage {
    fn sweep(&mut self) {
        let repository = self.repository();
        self.play(|world, ledger| sweep(world, ledger, &repository).unwrap());
    }

    fn state(&mut self, n: u128) -> IntentState {
        self.read(|tx| tx.intent(checkpoint(n))).unwrap().state
    }

    fn commit(&mut self, commit: &Oid) -> Option<CommitRecord> {
        let repository = self.repository().id;
        self.read(|tx| tx.commit(repository, commit))
    }
}

/// A session in process 50, a repository, and an intent of git process 70 at second 10.
fn announced() -> (Stage, Repo) {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let start = vec![started(1, StartKind::Startup), prompt("p", 2)];
    stage.hear(in_process(50, says("one", start)));
    let seen = scene(1, &repo.place, 70, Some(50), Some(repo.head()));
    stage.deliver(&intent(&seen, 10));
    (stage, repo)
}

#[test]
fn an_intent_whose_git_lives_stays_open() {
    let (mut stage, repo) = announced();
    let commit = repo.commit("second", 11);
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Open);
    assert_eq!(stage.commit(&commit), None);
}

#[test]
fn a_dead_git_without_a_commit_lets_its_intent_expire() {
    let (mut stage, _repo) = announced();
    stage.dead.borrow_mut().push(70);
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Expired);
}

#[test]
fn a_commit_with_the_trailer_is_its_intent() {
    let (mut stage, repo) = announced();
    // Long after, and by another parent: the trailer names it.
    repo.commit("between", 500);
    let message = format!("second\n\nSiglum-Checkpoint: {}", checkpoint(1));
    let commit = repo.commit(&message, 900);
    stage.dead.borrow_mut().push(70);
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Landed(commit.clone()));
    let found = stage.commit(&commit).unwrap();
    assert_eq!(found.seen_by, SeenBy::Sweep);
    assert_eq!(found.checkpoint, Some(checkpoint(1)));
    assert_eq!(found.at, at(10), "when it was announced");
}

#[test]
fn an_intent_waits_until_git_can_be_run() {
    let (mut stage, repo) = announced();
    let message = format!("second\n\nSiglum-Checkpoint: {}", checkpoint(1));
    let commit = repo.commit(&message, 11);
    stage.dead.borrow_mut().push(70);
    let config = format!("{}/config", repo.place.common_dir);
    let sound = fs::read(&config).unwrap();
    fs::write(&config, "[").unwrap();
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Open);
    fs::write(&config, sound).unwrap();
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Landed(commit));
}

#[test]
fn a_commit_without_the_trailer_fits_by_parent_tree_subject_and_moment() {
    for (seconds, fits) in [(11, true), (20, true), (25, false), (5, false)] {
        let mut stage = Stage::new();
        let repo = Repo::new(&mut stage);
        let mut seen = scene(1, &repo.place, 70, None, Some(repo.head()));
        seen.draft = Some(repo.draft_of("second", &seen));
        stage.deliver(&intent(&seen, 10));
        let commit = repo.commit("second", seconds);
        stage.dead.borrow_mut().push(70);
        stage.sweep();
        let wanted = if fits {
            IntentState::Landed(commit)
        } else {
            IntentState::Expired
        };
        assert_eq!(stage.state(1), wanted, "committed at {seconds}");
    }
}

/// A linter ran between the start of git and our hook. What was made before git began is somebody else's.
#[test]
fn a_commit_is_dated_when_its_git_began() {
    for (seconds, fits) in [(4, true), (5, true), (2, false)] {
        let mut stage = Stage::new();
        let repo = Repo::new(&mut stage);
        let mut seen = scene(1, &repo.place, 70, None, Some(repo.head()));
        seen.draft = Some(repo.draft_of("second", &seen));
        seen.chain.per_second = 100;
        let git = seen.chain.ancestors[1].identity.start;
        seen.chain.ancestors[0].identity.start = git + 501;
        stage.deliver(&intent(&seen, 10));
        let commit = repo.commit("second", seconds);
        stage.dead.borrow_mut().push(70);
        stage.sweep();
        let is_found = stage.state(1) == IntentState::Landed(commit);
        assert_eq!(is_found, fits, "committed at {seconds}");
    }
}

#[test]
fn a_commit_of_another_tree_or_subject_is_not_the_one_that_was_announced() {
    for has_draft in [true, false] {
        let mut stage = Stage::new();
        let repo = Repo::new(&mut stage);
        let mut seen = scene(1, &repo.place, 70, None, Some(repo.head()));
        seen.draft = has_draft.then(|| repo.draft_of("twelve chars", &seen));
        stage.deliver(&intent(&seen, 10));
        let commit = repo.commit("second", 11);
        stage.dead.borrow_mut().push(70);
        stage.sweep();
        assert_eq!(stage.state(1), IntentState::Expired);
        assert_eq!(stage.commit(&commit), None);
    }
}

#[test]
fn two_intents_that_fit_equally_stay_apart() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    for n in [1, 2] {
        let git = 69 + u32::try_from(n).unwrap();
        let mut seen = scene(n, &repo.place, git, None, Some(repo.head()));
        seen.draft = Some(repo.draft_of("second", &seen));
        stage.deliver(&intent(&seen, 10));
        stage.dead.borrow_mut().push(git);
    }
    let commit = repo.commit("second", 11);
    stage.sweep();
    assert_eq!(
        [stage.state(1), stage.state(2)],
        [IntentState::Expired, IntentState::Expired]
    );
    assert_eq!(stage.commit(&commit), None, "nobody knows whose it is");
}

#[test]
fn an_intent_whose_git_was_dead_already_ends_with_its_hook() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let mut seen = scene(1, &repo.place, 70, None, Some(repo.head()));
    seen.chain.ancestors.retain(|a| a.program() != "git");
    let hook = seen.chain.ancestors[0].identity.pid;
    stage.deliver(&intent(&seen, 10));
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Open);
    stage.dead.borrow_mut().push(hook);
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Expired);
}

#[test]
fn a_trailer_does_not_decide_between_those_who_committed_at_once() {
    let (mut stage, repo) = announced();
    let beside = scene(2, &repo.place, 71, None, Some(repo.head()));
    stage.deliver(&intent(&beside, 10));
    let message = format!("second\n\nSiglum-Checkpoint: {}", checkpoint(1));
    let commit = repo.commit(&message, 11);
    stage.dead.borrow_mut().extend([70, 71]);
    stage.sweep();
    let judgement = stage.commit(&commit).unwrap().judgement;
    assert_eq!(judgement.verdict, Verdict::Ambiguous);
    let one = stage.named("one").unwrap();
    assert_eq!(judgement.candidates, [one]);
    let pinned = stage.read(|tx| tx.checkpoint(checkpoint(1))).unwrap();
    assert_eq!((pinned.commit, pinned.pins[0].0), (Some(commit), one));
}

/// All who commit in a checkout share the file with the message: a rebase took up what a hook had left there.
#[test]
fn a_trailer_does_not_make_a_commit_of_a_rebase_its_intents() {
    let (mut stage, repo) = announced();
    let first = repo.head();
    let message = format!("second\n\nSiglum-Checkpoint: {}", checkpoint(1));
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let picked = repo.git_at(
        &["commit-tree", "-p", first.as_str(), "-m", &message, &tree],
        5,
    );
    let rebase = [
        "rebase",
        "-q",
        "--force-rebase",
        "--onto",
        first.as_str(),
        first.as_str(),
        &picked,
    ];
    repo.git_at(&rebase, 11);
    let commit = repo.head();
    assert_ne!(commit.as_str(), picked);
    stage.dead.borrow_mut().push(70);
    stage.sweep();
    let judgement = stage.commit(&commit).unwrap().judgement;
    assert_eq!(judgement.committer, Committer::Unknown);
    assert_eq!(judgement.verdict, Verdict::Ambiguous);
    assert_eq!(judgement.candidates, [stage.named("one").unwrap()]);
    assert_eq!(stage.state(1), IntentState::Landed(commit));
}

#[test]
fn a_trailer_does_not_overrule_the_hook_that_saw_who_made_the_commit() {
    let (mut stage, repo) = announced();
    let other = vec![started(3, StartKind::Startup), prompt("q", 4)];
    let other = stage.hear(in_process(51, says("other", other)));
    let seen = scene(2, &repo.place, 71, Some(51), Some(repo.head()));
    let message = format!("second\n\nSiglum-Checkpoint: {}", checkpoint(1));
    let commit = repo.commit(&message, 11);
    stage.deliver(&landed(&seen, &commit, LandedBy::Commit, 11));
    stage.dead.borrow_mut().extend([70, 71]);
    stage.sweep();
    let session = Committer::Session { session: other };
    assert_eq!(stage.commit(&commit).unwrap().judgement.committer, session);
    assert_eq!(stage.state(1), IntentState::Expired);
}

/// What git of a second session saw that committed at the same time.
fn beside(repo: &Repo) -> Scene {
    scene(2, &repo.place, 71, Some(51), Some(repo.head()))
}

/// Two sessions commit at once; the second one's id comes with it.
fn announced_twice() -> (Stage, Repo, SessionId) {
    let (mut stage, repo) = announced();
    let other = vec![started(3, StartKind::Startup), prompt("q", 4)];
    let other = stage.hear(in_process(51, says("other", other)));
    stage.deliver(&intent(&beside(&repo), 10));
    (stage, repo, other)
}

/// A commit with the trailer of the first one, that a sweep finds when both gits are dead.
fn swept(stage: &mut Stage, repo: &Repo) -> Oid {
    let message = format!("second\n\nSiglum-Checkpoint: {}", checkpoint(1));
    let commit = repo.commit(&message, 11);
    stage.dead.borrow_mut().extend([70, 71]);
    stage.sweep();
    commit
}

/// The hook saw the commit landing, but its word waited in a spool while git was dead already.
#[test]
fn a_hook_that_is_delivered_late_overrules_the_sweep() {
    let (mut stage, repo, other) = announced_twice();
    let beside = beside(&repo);
    let commit = swept(&mut stage, &repo);
    let judgement = stage.commit(&commit).unwrap().judgement;
    assert_eq!(judgement.verdict, Verdict::Ambiguous);
    // By the trailer it was the first one's; it was the second one that made it.
    stage.deliver(&landed(&beside, &commit, LandedBy::Commit, 11));
    let found = stage.commit(&commit).unwrap();
    let session = Committer::Session { session: other };
    assert_eq!(found.judgement.committer, session);
    assert_eq!(
        (found.seen_by, found.intent),
        (SeenBy::Hook, Some(checkpoint(2)))
    );
    assert_eq!(stage.state(1), IntentState::Expired);
    assert_eq!(stage.state(2), IntentState::Landed(commit.clone()));
    let pins = stage.read(|tx| tx.checkpoint(checkpoint(2))).unwrap().pins;
    assert_eq!(pins.len(), 1);
    assert_eq!(stage.read(|tx| tx.checkpoint(checkpoint(1))), None);
    // Said twice, it changes nothing.
    stage.deliver(&landed(&beside, &commit, LandedBy::Commit, 12));
    stage.sweep();
    assert_eq!(stage.commit(&commit).unwrap(), found);
}

#[test]
fn the_announcer_whose_hook_is_delivered_late_is_certain_again() {
    let (mut stage, repo, _) = announced_twice();
    let seen = scene(1, &repo.place, 70, Some(50), Some(repo.head()));
    let commit = swept(&mut stage, &repo);
    stage.deliver(&landed(&seen, &commit, LandedBy::Commit, 11));
    let found = stage.commit(&commit).unwrap();
    let session = stage.named("one").unwrap();
    assert_eq!(found.judgement.committer, Committer::Session { session });
    assert_eq!(found.seen_by, SeenBy::Hook);
    let pins = stage.read(|tx| tx.checkpoint(checkpoint(1))).unwrap().pins;
    let pinned: Vec<_> = pins.iter().map(|p| p.0).collect();
    assert_eq!(pinned, [session]);
}

#[test]
fn an_intent_that_cannot_be_seen_waits_for_a_day() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let mut seen = scene(1, &repo.place, 70, None, Some(repo.head()));
    seen.chain.ancestors.clear();
    stage.deliver(&intent(&seen, 10));
    for (now, wanted) in [(86_000, IntentState::Open), (90_000, IntentState::Expired)] {
        stage.now.set(now);
        stage.sweep();
        assert_eq!(stage.state(1), wanted);
    }
}

#[test]
fn a_checkout_that_is_gone_is_left_out() {
    let (mut stage, repo) = announced();
    fs::remove_dir_all(&repo.place.worktree).unwrap();
    stage.sweep();
    assert_eq!(stage.state(1), IntentState::Open);
}

/// A call whose command makes a commit.
fn commits(id: &str, turn: &str, seconds: i64) -> Observation {
    let mut seen = call(id, turn, seconds, ToolClass::Shell);
    if let Fact::ToolStarted { input, .. } = &mut seen.fact {
        *input = text("git commit -q -m theirs");
    }
    seen
}

/// What the shell tool of the second session saw: its own commit, with git's own line, under a message
/// that names the checkpoint of the first.
fn its_own(repo: &Repo, before: &Oid, commit: &Oid) -> [siglum_domain::intake::AgentMatter; 2] {
    let stands = |side, oid: &Oid, seconds| {
        let mut seen = head("u", "q", seconds, side, 1);
        if let Fact::HeadSeen { commit, .. } = &mut seen.fact {
            *commit = Some(oid.clone());
        }
        seen
    };
    let line = format!("[main {}] theirs", &commit.as_str()[..7]);
    let in_place = |observations| siglum_domain::intake::AgentMatter {
        place: Some(repo.place.clone()),
        ..says("two", observations)
    };
    [
        in_place(vec![
            started(3, StartKind::Startup),
            prompt("q", 4),
            commits("u", "q", 5),
            stands(Side::Before, before, 5),
        ]),
        in_place(vec![
            returned("u", "q", 12, ToolClass::Shell, &line),
            stands(Side::After, commit, 12),
        ]),
    ]
}

#[test]
fn a_message_that_somebody_else_used_does_not_make_the_commit_its_announcers() {
    for ends_first in [true, false] {
        let (mut stage, repo) = announced();
        let before = repo.head();
        let message = format!("theirs\n\nSiglum-Checkpoint: {}", checkpoint(1));
        let made = repo.commit(&message, 11);
        let [begins, ends] = its_own(&repo, &before, &made);
        let two = stage.hear(begins);
        stage.dead.borrow_mut().push(70);
        if ends_first {
            stage.hear(ends);
            stage.sweep();
        } else {
            stage.sweep();
            stage.slice();
            stage.hear(ends);
        }
        stage.slice();
        let known = stage.commit(&made).unwrap();
        let session = Committer::Session { session: two };
        assert_eq!(
            known.judgement.committer, session,
            "told first: {ends_first}"
        );
        assert_eq!(known.judgement.verdict, Verdict::Certain);
        assert_ne!(stage.state(1), IntentState::Landed(made));
    }
}

#[test]
fn a_trailer_does_not_decide_where_a_call_of_somebody_else_ran() {
    for returned in [true, false] {
        let (mut stage, repo) = announced();
        let before = repo.head();
        let message = format!("theirs\n\nSiglum-Checkpoint: {}", checkpoint(1));
        let made = repo.commit(&message, 11);
        let [begins, mut ends] = its_own(&repo, &before, &made);
        let two = stage.hear(begins);
        // Git said nothing, and its hooks were killed.
        for observation in &mut ends.observations {
            if let Fact::ToolEnded { output, .. } = &mut observation.fact {
                *output = None;
            }
        }
        stage.dead.borrow_mut().push(70);
        stage.sweep();
        if returned {
            stage.hear(ends);
            stage.slice();
        }
        let one = stage.named("one").unwrap();
        let judgement = stage.commit(&made).unwrap().judgement;
        assert_eq!(judgement.verdict, Verdict::Ambiguous);
        assert_eq!(judgement.candidates, [one, two]);
        let doubts = judgement.evidence.iter().filter(|e| e.counted).count();
        assert_eq!(doubts, 1, "it is said once");
    }
}

/// Somebody died when git had answered and before the authors were written down.
#[test]
fn the_authors_of_a_commit_that_was_left_halfway_are_looked_for_by_the_next_worker() {
    let (mut stage, repo) = announced();
    let commit = swept(&mut stage, &repo);
    assert!(stage.commit(&commit).is_some());
    let repository = stage.repository().id;
    let facts = stage.play(|world, _| {
        world
            .git(&repo.place.worktree)
            .facts(std::slice::from_ref(&commit))
    });
    let facts = facts.unwrap().known.remove(0);
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| {
            tx.put_facts(repository, &facts)
        })
        .unwrap();
    });
    assert_eq!(stage.read(|tx| tx.authors(repository, &commit)), None);
    stage.slice();
    let found = stage.read(|tx| tx.authors(repository, &commit));
    assert!(found.is_some());
}
