//! Messages of commits that are made at once in one checkout: git has one file for all of them.

use std::collections::BTreeMap;
use std::thread;

use crate::harness::{Agent, Repo, World, until};

/// Commits until git lets it, and gives what git says it made: commit and subject.
fn write(repo: &Repo<'_>, writer: usize, commits: usize) -> Vec<(String, String)> {
    (0..commits)
        .map(|number| {
            let subject = format!("{number} by writer {writer}");
            let commit = format!("git commit --allow-empty -m '{subject}' 2>/dev/null");
            let made = repo.sh(&format!("until {commit}; do :; done")).ok();
            let line = made.lines().find(|line| line.starts_with("[main "));
            let id = line.and_then(|line| line["[main ".len()..].split(']').next());
            (repo.id(id.expect("git names the commit")), subject)
        })
        .collect()
}

/// Four writers commit at once. Gives the commits whose message is another one's, and how many there
/// are.
fn mixed(repo: &Repo<'_>, commits: usize) -> (Vec<String>, usize) {
    let base = repo.id("HEAD");
    let made: BTreeMap<String, String> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| scope.spawn(move || write(repo, writer, commits)))
            .collect();
        let made = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap());
        made.collect()
    });
    let log = repo.git(&["log", "--format=%H %s", &format!("{base}..HEAD")]);
    let landed: Vec<_> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    assert_eq!(landed.len(), 4 * commits);
    let wrong = landed.iter().filter(|(id, subject)| made[*id] != *subject);
    (
        wrong.map(|(id, _)| (*id).to_owned()).collect(),
        landed.len(),
    )
}

/// Without hooks about one in twenty has another one's message, with hooks that do nothing more than
/// half. Ours put the message back; where that came too late, they say so.
#[test]
fn commits_made_at_once_keep_their_messages_or_are_recorded_as_mixed() {
    let world = World::new();
    let repo = world.repo();
    let (wrong, all) = mixed(&repo, 15);
    eprintln!(
        "with siglum's hooks: {} of {all} commits have another one's message",
        wrong.len()
    );
    assert!(wrong.len() * 4 <= all, "{} of {all}", wrong.len());
    let recorded = recorded(&world);
    for commit in &wrong {
        let known = recorded
            .iter()
            .any(|detail| detail.contains(commit.as_str()));
        assert!(known, "{commit} is mixed, and nobody says so: {recorded:?}");
    }
    assert_eq!(
        recorded.len(),
        wrong.len(),
        "no other commit is called mixed"
    );
}

/// What was recorded of commits with another one's message, by hooks that found the ledger busy, too.
fn recorded(world: &World) -> Vec<String> {
    until("the spool is drained", || world.spooled() == 0);
    let store = world.store();
    let mut rows = store
        .prepare("SELECT detail FROM declines WHERE reason = 'message_mixed'")
        .unwrap();
    let details = rows.query_map([], |row| row.get(0)).unwrap();
    details.collect::<Result<_, _>>().unwrap()
}

/// A hook of somebody else may change a message; that is no mix-up and is left alone.
#[test]
fn messages_that_other_hooks_change_stay_changed() {
    for hook in ["prepare-commit-msg", "commit-msg"] {
        let world = World::new();
        let repo = world.repo();
        let path = repo.dir.join(".git/hooks").join(hook);
        let ours = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{ours}sed -i '1s/^/[X-1] /' \"$1\"\n")).unwrap();
        repo.sh("git commit -q --allow-empty -m 'by nobody'").ok();
        assert_eq!(repo.message("HEAD").trim(), "[X-1] by nobody", "{hook}");
        let mut agent = Agent::start(&repo, "prefixed");
        agent.sh("git commit -q --allow-empty -m one").ok();
        assert!(repo.message("HEAD").starts_with("[X-1] one"), "{hook}");
        repo.check(hook, "HEAD", &agent.certain());
        assert_eq!(world.declines(), [""; 0], "{hook}");
    }
}

/// Another git writes its message after the first hook: the own one comes back.
#[test]
fn a_message_that_was_overwritten_after_the_first_hook_comes_back() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "overwritten");
    let hook = repo.dir.join(".git/hooks/prepare-commit-msg");
    let ours = std::fs::read_to_string(&hook).unwrap();
    let other = format!("Siglum-Checkpoint: chk_{:032x}", 1);
    std::fs::write(
        &hook,
        format!("{ours}printf 'theirs\\n\\n{other}\\n' >\"$1\"\n"),
    )
    .unwrap();
    agent.sh("git commit -q --allow-empty -m mine -m more").ok();
    let message = repo.message("HEAD");
    assert!(message.starts_with("mine\n\nmore\n"), "{message}");
    assert!(!message.contains("theirs"), "{message}");
    repo.check("overwritten", "HEAD", &agent.certain());
    assert_eq!(world.declines(), [""; 0]);
}

/// Another git writes its message after the last hook: the commit is recorded as mixed.
#[test]
fn a_message_that_was_overwritten_after_the_last_hook_is_recorded() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "late");
    let hook = repo.dir.join(".git/hooks/commit-msg");
    let ours = std::fs::read_to_string(&hook).unwrap();
    let other = format!("Siglum-Checkpoint: chk_{:032x}", 1);
    std::fs::write(
        &hook,
        format!("{ours}printf 'theirs\\n\\n{other}\\n' >\"$1\"\n"),
    )
    .unwrap();
    agent.sh("git commit -q --allow-empty -m mine").ok();
    assert!(repo.message("HEAD").starts_with("theirs"));
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(world.declines(), ["message_mixed"]);
    assert!(recorded(&world)[0].contains(&repo.id("HEAD")));
    assert_eq!(why.0["warnings"][0]["code"], "message-mixed", "{}", why.0);
    let shown = repo.siglum(&["why", "HEAD"]).stdout;
    assert!(
        shown.contains("has the message of another commit"),
        "{shown}"
    );
}
