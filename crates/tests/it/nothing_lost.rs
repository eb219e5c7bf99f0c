//! Whatever goes away, the conversation stays: transcripts that agents delete, projects that move, worktrees that are
//! removed, repositories that are cloned again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Repo, Talk, World, until};
use crate::resuming::{SESSION, rollout, world_with};

const CODEX_SESSION: &str = "01a1fc44-c824-7a41-9678-86a903db1e79";

/// An agent with its id of the session, how it is told to go on, and what a prompt and an answer have in them.
struct Case {
    agent: &'static str,
    session: &'static str,
    option: &'static str,
    words: [&'static str; 2],
}

const CASES: [Case; 2] = [
    Case {
        agent: "claude",
        session: SESSION,
        option: "--resume",
        words: ["Round the cart", "I have looked."],
    },
    Case {
        agent: "codex",
        session: CODEX_SESSION,
        option: "resume",
        words: ["Shout the second line", "Done."],
    },
];

impl Case {
    /// A conversation in a directory, all of which is in the ledger.
    fn talk(&self, place: &Repo<'_>) {
        match self.agent {
            "claude" => {
                let mut talk = Talk::start(place, self.session);
                talk.turn("Round the cart");
                talk.agent.quit();
            }
            _ => {
                let day = place.world.home().join(".codex/sessions/2026/11/21");
                fs::create_dir_all(&day).unwrap();
                let name = format!("rollout-2026-11-21T04-02-08-{}.jsonl", self.session);
                fs::write(day.join(name), rollout(place, self.session)).unwrap();
                place.siglum(&["import"]).ok();
            }
        }
        until("all of the transcript is stored", || {
            place.siglum(&["worker", "--once"]).ok();
            self.is_stored(place.world)
        });
    }

    fn transcripts(&self, world: &World) -> PathBuf {
        world.home().join(match self.agent {
            "claude" => ".claude/projects",
            _ => ".codex/sessions",
        })
    }

    fn is_stored(&self, world: &World) -> bool {
        let mut bytes = 0;
        let mut below = vec![self.transcripts(world)];
        while let Some(dir) = below.pop() {
            for entry in fs::read_dir(dir).unwrap().flatten() {
                let kind = entry.metadata().unwrap();
                match kind.is_dir() {
                    true => below.push(entry.path()),
                    false => bytes += kind.len(),
                }
            }
        }
        world.count(&format!(
            "SELECT count(*) FROM transcripts WHERE read_to = {bytes}"
        )) == 1
    }

    /// It can be read, found, and gone on with, in the place that there is now.
    #[track_caller]
    fn is_there(&self, what: &str, now: &Repo<'_>) {
        let shown = now.siglum(&["show", self.session, "--full"]).ok();
        for words in self.words {
            assert!(shown.contains(words), "{} {what}: {shown}", self.agent);
        }
        let found = now.world.json(&now.dir, &["search", self.words[0]]);
        let found = found["items"].as_array().unwrap().len();
        assert_eq!(found, 1, "{} {what}", self.agent);
        let ran = now.siglum(&["resume", self.session]);
        let expected = format!(
            "in {}\n<{}>\n<{}>\n",
            now.dir.display(),
            self.option,
            self.session
        );
        assert_eq!(ran.stdout, expected, "{} {what}: {ran:?}", self.agent);
    }
}

/// What happens to a repository and the worktree beside it in which the session ran, and where somebody is afterwards.
type Event = (&'static str, fn(&Repo<'_>, &Path) -> PathBuf);

const EVENTS: [Event; 4] = [
    ("whose transcript is deleted", |_, side| side.to_owned()),
    ("whose worktree moved", |repo, side| {
        let moved = repo.world.root.join("moved");
        let script = format!(
            "git worktree move '{}' '{}'",
            side.display(),
            moved.display()
        );
        repo.sh(&script).ok();
        moved
    }),
    ("whose worktree is removed", |repo, side| {
        let script = format!("git worktree remove --force '{}'", side.display());
        repo.sh(&script).ok();
        repo.dir.clone()
    }),
    ("whose repository is cloned again", |repo, side| {
        fs::remove_dir_all(side).unwrap();
        fs::remove_dir_all(&repo.dir).unwrap();
        let anew = repo.world.root.join("anew");
        let script = "git clone -q file://$PWD/r.git anew";
        repo.world.sh(&repo.world.root, script).ok();
        anew
    }),
];

#[track_caller]
fn check(case: &Case) {
    for (what, happen) in EVENTS {
        let world = world_with(case.agent);
        let repo = world.repo_made_by(
            "git init -q -b main . && git commit -q --allow-empty -m base && \
             git init -q --bare -b main ../r.git && git remote add origin file://$PWD/../r.git && \
             git push -q origin main && git worktree add -q ../side",
        );
        let side = world.root.join("side");
        case.talk(&world.at(&side));
        let now = world.at(&happen(&repo, &side));
        // Once as the agent left it, and once after the agent has deleted it.
        if now.dir != side {
            case.is_there(what, &now);
        }
        fs::remove_dir_all(case.transcripts(&world)).unwrap();
        case.is_there(&format!("{what}, and transcript"), &now);
    }
}

#[test]
fn a_conversation_of_claude_code_outlives_its_transcript_its_worktree_and_its_repository() {
    check(&CASES[0]);
}

#[test]
fn a_conversation_of_codex_outlives_its_transcript_its_worktree_and_its_repository() {
    check(&CASES[1]);
}
