//! The hooks of git.

use std::io::Read as _;
use std::path::Path;

use siglum_domain::Oid;
use siglum_domain::intake::{Head, Landed, LandedBy, Matter, Rewritten, Scene};
use siglum_gitstore::{Git, HeadRead, Repo, discover};

use super::delivery::Delivery;
use super::rebase::AMEND;
use super::{amend_mark, commit_message, landings, rebase, scene};
use crate::config::Config;
use crate::{env, platform};

/// Runs one hook of git: its name, then its arguments as git gave them.
pub fn run(args: &[String]) {
    let Some((name, args)) = args.split_first() else {
        return;
    };
    let (git_dir, work_tree) = (env::path("GIT_DIR"), env::path("GIT_WORK_TREE"));
    let Some(repo) = discover(Path::new("."), git_dir.as_deref(), work_tree.as_deref()) else {
        return;
    };
    if !repo.is_on() {
        return;
    }
    // A rebase makes commits by the dozen; post-rewrite settles them together.
    let in_batch = name != "post-rewrite" && rebase::runs_by_itself(&repo);
    if in_batch && name != "post-commit" {
        return;
    }
    let config = Config::load(Some(repo.worktree()));
    if !config.records() {
        return;
    }
    if in_batch {
        return rebase::note_commit(&repo);
    }
    let mut delivery = Delivery::new(&format!("hook git {name}"));
    match name.as_str() {
        "prepare-commit-msg" => commit_message::prepare(&mut delivery, &repo, &config, args),
        "commit-msg" => commit_message::complete(&mut delivery, &repo, args),
        "post-commit" => landed(&mut delivery, &repo, LandedBy::Commit),
        "post-merge" => landed(&mut delivery, &repo, LandedBy::Merge),
        "post-rewrite" => rewritten(&mut delivery, &repo, args),
        "post-checkout" => moved(&mut delivery, &repo),
        _ => {}
    }
}

fn head(repo: &Repo) -> Option<Oid> {
    match repo.head() {
        HeadRead::Commit(oid) => Some(oid),
        HeadRead::Unborn => None,
        HeadRead::NeedsGit => Git::new(env::git(), repo.worktree()).head().ok().flatten(),
    }
}

fn landed(delivery: &mut Delivery, repo: &Repo, by: LandedBy) {
    let Some(commit) = head(repo) else { return };
    let scene = scene::observe(repo, "landed", None);
    let prepared = commit_message::finish(delivery, repo, &scene.chain);
    let moves = repo.moves();
    let own = prepared
        .as_ref()
        .map(|prepared| moved_from(&moves, prepared.head.as_ref(), &commit));
    let (key, matter) = landings::landing(Landed {
        place: repo.place.clone(),
        commit: commit.clone(),
        by,
        scene: scene.clone(),
        moves,
    });
    delivery.send(key, matter, Some(repo));
    if let Some(old) = repo.amended(&commit).filter(|_| !repo.rebasing()) {
        amended(delivery, repo, scene, (old, commit));
    }
    if let (Some(prepared), Some(own)) = (prepared, own) {
        commit_message::compare(delivery, repo, &prepared, &own);
    }
}

/// The commit that HEAD went to from where it stood: somebody else may have moved it on since.
fn moved_from(moves: &[(Option<Oid>, Oid)], from: Option<&Oid>, head: &Oid) -> Oid {
    let moved = moves.iter().find(|(old, _)| old.as_ref() == from);
    moved.map_or_else(|| head.clone(), |(_, new)| new.clone())
}

/// Tells of an amend what `post-rewrite` would, in one start of the program; the shell is told that it need not be started
/// again.
fn amended(delivery: &mut Delivery, repo: &Repo, scene: Scene, pair: (Oid, Oid)) {
    let git = scene.chain.git_process().map(|(_, git)| git.identity.pid);
    let rewritten = rebase::amended(repo, delivery.now, scene, pair);
    send_rewritten(delivery, repo, rewritten);
    if let Some(git) = git {
        // Without it the same is delivered twice, which is once.
        let _ = amend_mark::leave(repo, git);
    }
}

fn send_rewritten(delivery: &mut Delivery, repo: &Repo, rewritten: Rewritten) {
    if let Some((key, matter)) = landings::rewriting(rewritten) {
        delivery.send(key, matter, Some(repo));
    }
}

fn rewritten(delivery: &mut Delivery, repo: &Repo, args: &[String]) {
    let mut text = String::new();
    if std::io::stdin()
        .take(64 << 20)
        .read_to_string(&mut text)
        .is_err()
    {
        return delivery.decline(
            "rewrite_unreadable",
            "git's list of rewritten commits is no text",
            Some(repo),
        );
    }
    let pair = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        Some((Oid::new(words.next()?).ok()?, Oid::new(words.next()?).ok()?))
    };
    let mut pairs: Vec<(Oid, Oid)> = text.lines().filter_map(pair).collect();
    let command = args.first().cloned().unwrap_or_default();
    if command == AMEND && repo.rebasing() {
        if rebase::runs_by_itself(repo) {
            return rebase::note_replaced(repo, &pairs);
        }
        pairs = rebase::without_its_own(repo, pairs);
    }
    if command == AMEND {
        landings::send_intent(delivery, repo, &platform::chain());
    }
    send_rewritten(delivery, repo, rebase::rewritten(repo, command, pairs));
}

fn moved(delivery: &mut Delivery, repo: &Repo) {
    let commit = head(repo);
    let key = format!("head:{}:{}", repo.place.worktree, delivery.now.nanos());
    delivery.send(
        key,
        Matter::Head(Head {
            place: repo.place.clone(),
            commit,
        }),
        Some(repo),
    );
}
