//! The hooks of git.

use std::io::Read as _;
use std::path::Path;

use siglum_domain::Oid;
use siglum_domain::evidence::{Judgement, Verdict};
use siglum_domain::intake::{Head, Landed, LandedBy, Matter, Rewritten, Scene};
use siglum_domain::trailer;
use siglum_engine::deliver::Delivered;
use siglum_gitstore::{Git, HeadRead, Repo, discover};

use super::delivery::Delivery;
use super::message::{Message, Pending};
use super::scene;
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
    // A rebase makes commits by the dozen; post-rewrite settles them together.
    if !repo.siglum_dir().is_dir() || (repo.rebasing() && name != "post-rewrite") {
        return;
    }
    let config = Config::load(Some(repo.worktree()));
    if !config.records() {
        return;
    }
    let mut delivery = Delivery::new(&format!("hook git {name}"));
    match name.as_str() {
        "prepare-commit-msg" => prepare(&mut delivery, &repo, &config, args),
        "commit-msg" => commit_msg(&mut delivery, &repo, args),
        "post-commit" => landed(&mut delivery, &repo, LandedBy::Commit),
        "post-merge" => landed(&mut delivery, &repo, LandedBy::Merge),
        "post-rewrite" => rewritten(&mut delivery, &repo, args),
        "post-checkout" => moved(&mut delivery, &repo),
        _ => {}
    }
}

fn prepare(delivery: &mut Delivery, repo: &Repo, config: &Config, args: &[String]) {
    let Some(file) = args.first() else { return };
    let source = args.get(1).map_or("none", String::as_str);
    let message = Message::read(Path::new(file));
    let named = message.as_ref().ok().and_then(Message::named);
    let scene = scene::look(repo, source, named);
    let git = scene.chain.git_process().map(|(_, git)| git.identity.key());
    Pending::take(&repo.git_dir, git.as_deref());
    let key = format!("intent:{}", scene.checkpoint);
    let told = delivery.send(key, Matter::Intent(scene.clone()), Some(repo));
    let wanted = match &told {
        Some(Delivered::Intent(judgement)) => names_a_session(judgement),
        _ => speaks_for_an_agent(&scene),
    };
    // An amend keeps the checkpoint that its message names.
    if !wanted || !config.trailers() || (source == "commit" && named.is_some()) {
        return;
    }
    let Ok(message) = message else {
        return delivery.decline(
            "message_unreadable",
            "the message got no trailer; the commit is recorded without",
            Some(repo),
        );
    };
    // Git says with this editor that it will start none.
    let result = if env::text("GIT_EDITOR").as_deref() == Some(":") {
        // An empty message stays empty, so that git refuses it as it would without us.
        if trailer::is_empty(&message.cleaned("")) {
            return;
        }
        message.add("", scene.checkpoint)
    } else {
        let template = (source == "template").then(|| message.cleaned(&comment(repo)));
        Pending {
            checkpoint: scene.checkpoint,
            git: git.unwrap_or_default(),
            template,
        }
        .leave(&repo.git_dir)
    };
    if let Err(error) = result {
        delivery.decline("message_unwritable", &error.to_string(), Some(repo));
    }
}

/// A trailer is for commits of sessions: those of a person, and those of nobody known, get none.
fn names_a_session(judgement: &Judgement) -> bool {
    let sessions = matches!(
        judgement.committer,
        siglum_domain::evidence::Committer::Session { .. }
    );
    sessions || judgement.verdict == Verdict::Ambiguous
}

/// What can be told without the ledger: an agent is above git, or its variable names a session.
fn speaks_for_an_agent(scene: &Scene) -> bool {
    !scene.agents.is_empty() || scene.variables.iter().any(|v| v.native.is_some())
}

fn comment(repo: &Repo) -> String {
    Git::new(env::git(), repo.worktree())
        .comment_prefix()
        .unwrap_or_else(|_| "#".to_owned())
}

fn commit_msg(delivery: &mut Delivery, repo: &Repo, args: &[String]) {
    let Some(file) = args.first() else { return };
    if !repo.git_dir.join("siglum-pending").exists() {
        return;
    }
    let git = platform::chain()
        .git_process()
        .map(|(_, git)| git.identity.key());
    let Some(pending) = Pending::take(&repo.git_dir, git.as_deref()) else {
        return;
    };
    let comment = comment(repo);
    let written = Message::read(Path::new(file)).and_then(|message| {
        let kept = message.cleaned(&comment);
        if trailer::is_empty(&kept) || pending.template.as_deref() == Some(kept.as_str()) {
            return Ok(());
        }
        message.add(&comment, pending.checkpoint)
    });
    if let Err(error) = written {
        delivery.decline("message_unwritable", &error.to_string(), Some(repo));
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
    let scene = scene::look(repo, "landed", None);
    let key = format!("landed:{}:{commit}", repo.place.common_dir);
    let matter = Matter::Landed(Landed {
        place: repo.place.clone(),
        commit,
        by,
        scene,
        moves: repo.moves(),
    });
    delivery.send(key, matter, Some(repo));
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
    let pairs: Vec<(Oid, Oid)> = text.lines().filter_map(pair).collect();
    let Some((_, last)) = pairs.last() else {
        return;
    };
    let key = format!("rewritten:{}:{last}", repo.place.common_dir);
    let command = args.first().cloned().unwrap_or_default();
    delivery.send(
        key,
        Matter::Rewritten(Rewritten {
            place: repo.place.clone(),
            command,
            pairs,
        }),
        Some(repo),
    );
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
