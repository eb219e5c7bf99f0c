//! Commits that git rewrote: who rewrote them, and who made those that they were made of.

use crate::harness::{Agent, Repo, Terminal, Why, World, until};

/// One way of rewriting: whoever made the branch, and whoever rewrites it.
struct Rewriting<'w> {
    repo: Repo<'w>,
    /// The commits of `side` before, oldest first.
    old: Vec<String>,
    /// Who made them.
    origin: String,
    rewriter: String,
}

impl Rewriting<'_> {
    /// The commits of `side` now, oldest first.
    #[track_caller]
    fn rewritten(&self) -> Vec<String> {
        self.repo.commits("main..side")
    }

    /// Checks who rewrote a commit, and who made those that it was made of.
    #[track_caller]
    fn check(&self, what: &str, commit: &str, from: &[&String]) {
        let why = self.repo.why(commit);
        assert_eq!(why.committer(), self.rewriter, "{what}\n{why}");
        let origins = why.origins();
        for old in from {
            let expected = ((*old).clone(), self.origin.clone());
            assert!(origins.contains(&expected), "{what}: {origins:?}\n{why}");
        }
        assert_eq!(origins.len(), from.len(), "{what}: {origins:?}\n{why}");
    }
}

const COMMITS: &str = "git checkout -q -b side && for n in 1 2 3; do echo $n >f-$n && git add -A && \
                       git commit -q -m side-$n; done";

/// A branch of a person that an agent rewrites, and one of an agent that a person rewrites.
#[track_caller]
fn both_ways(steps: &str, check: impl Fn(&Rewriting<'_>)) {
    for by_agent in [true, false] {
        let world = World::new();
        let repo = world.repo();
        let mut person = Terminal::open(&repo);
        let mut agent = Agent::start(&repo, "worker");
        person.run("git checkout -q -b persons && git commit -q --allow-empty -m probe && git checkout -q main");
        let person_is = repo.committer("persons");
        if by_agent {
            person.run(COMMITS);
        } else {
            agent.sh(COMMITS).ok();
        }
        let old = repo.commits("main..side");
        assert_eq!(old.len(), 3);
        // What it is rebased onto.
        repo.sh("git checkout -q main && echo m >m && git add -A && git commit -q -m m && git checkout -q side")
            .ok();
        if by_agent {
            agent.sh(steps).ok();
        } else {
            person.run(steps);
        }
        let (origin, rewriter) = if by_agent {
            (person_is, agent.certain())
        } else {
            (agent.certain(), person_is)
        };
        check(&Rewriting {
            repo,
            old,
            origin,
            rewriter,
        });
    }
}

fn todo(change: &str) -> String {
    format!("GIT_SEQUENCE_EDITOR=\"sed -i '{change}'\" GIT_EDITOR=true git rebase -q -i main")
}

#[test]
fn a_plain_rebase_has_its_rewriter_and_the_origin_of_each() {
    both_ways("git rebase -q main", |r| {
        for (old, new) in r.old.iter().zip(&r.rewritten()) {
            r.check("picked", new, &[old]);
            let why = r.repo.why(new);
            assert_eq!(why.0["origins"][0]["same_change"], true, "{why}");
        }
    });
}

/// Has the starts of the program by hooks of git counted: the names of those hooks since the last time that one asked.
fn count_starts(repo: &Repo<'_>) -> impl Fn() -> Vec<String> {
    let shim = repo.world.siglum_home().join("bin/siglum");
    let (real, calls) = (shim.with_file_name("real"), repo.world.root.join("calls"));
    std::fs::rename(&shim, &real).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$2\" = git ] && echo \"$3\" >>'{}'\nexec '{}' \"$@\"\n",
        calls.display(),
        real.display()
    );
    std::fs::write(&shim, script).unwrap();
    repo.sh(&format!("chmod +x '{}'", shim.display())).ok();
    move || {
        let names = std::fs::read_to_string(&calls).unwrap_or_default();
        let _ = std::fs::remove_file(&calls);
        names.lines().map(str::to_owned).collect()
    }
}

/// The shell sees that the message is settled, and notes that the commit landed.
#[test]
fn a_commit_starts_the_program_once_and_so_does_an_amend() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "worker");
    let started = count_starts(&repo);
    let once = ["prepare-commit-msg"];
    agent
        .sh("echo 1 >f && git add f && git commit -q -m 'Add f'")
        .ok();
    assert_eq!(started(), once);
    let first = repo.id("HEAD");
    assert_eq!(repo.committer("HEAD"), agent.certain());
    assert_eq!(repo.trailers("HEAD").len(), 1);
    agent
        .sh("echo 2 >f && git commit -q -a --amend -m 'Add f at last'")
        .ok();
    assert_eq!(started(), once);
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(why.origins(), [(first.clone(), agent.certain())], "{why}");
    // Amended again at once, by another agent.
    let second = repo.id("HEAD");
    let mut other = Agent::start(&repo, "other");
    other.sh("git commit -q --amend --no-edit").ok();
    assert_eq!(started(), once);
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), other.certain(), "{why}");
    let origins = [second, first].map(|commit| (commit, agent.certain()));
    assert_eq!(why.origins(), origins, "{why}");
}

/// A message that a hook of somebody else's changed behind ours is looked at again, as is one beside another commit.
#[test]
fn a_message_that_is_not_settled_is_looked_at_by_the_program() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "worker");
    let started = count_starts(&repo);
    let all = ["prepare-commit-msg", "commit-msg", "post-commit"];
    let hook = repo.dir.join(".git/hooks/prepare-commit-msg");
    let ours = std::fs::read_to_string(&hook).unwrap();
    std::fs::write(
        &hook,
        format!("{ours}echo 'Signed-off-by: A <a@b>' >>\"$1\"\n"),
    )
    .unwrap();
    agent
        .sh("echo 1 >f && git add f && git commit -q -m 'Add f'")
        .ok();
    assert_eq!(started(), all);
    assert!(
        repo.sh("git log -1 --format=%B")
            .ok()
            .contains("Signed-off-by: A <a@b>"),
        "theirs stays"
    );
    // Another git stands in its first hook, while this one commits.
    let gate = world.root.join("gate");
    let waits = format!(
        "{ours}while [ -e '{}' ]; do sleep 0.01; done\n",
        gate.display()
    );
    std::fs::write(&hook, waits).unwrap();
    std::fs::write(&gate, "").unwrap();
    let notes = repo.dir.join(".git/siglum/commits");
    let in_hook = || std::fs::read_dir(&notes).is_ok_and(|notes| notes.count() > 0);
    std::thread::scope(|scope| {
        let repo = &repo;
        scope.spawn(move || {
            repo.sh("git commit -q --allow-empty -m first");
        });
        until("the first one stands in its hook", in_hook);
        std::fs::write(&hook, &ours).unwrap();
        started();
        agent.sh("git commit -q --allow-empty -m second").ok();
        assert_eq!(started(), all);
        std::fs::remove_file(&gate).unwrap();
    });
}

/// The shell finds the notes of the first commit, and adds the others by itself.
#[test]
fn a_rebase_starts_the_program_for_its_first_commit_alone() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "worker");
    agent.sh("git checkout -q -b side && for n in 1 2 3 4 5 6; do echo $n >f-$n && git add -A && git commit -q -m $n; done").ok();
    let old = repo.commits("main..side");
    let origin = repo.committer("side");
    repo.sh("git checkout -q main && echo m >m && git add -A && git commit -q -m m && git checkout -q side")
        .ok();
    let started = count_starts(&repo);
    let mut person = Terminal::open(&repo);
    person.run("git rebase -q main");
    let calls = started();
    let of = |hook: &str| calls.iter().filter(|call| *call == hook).count();
    assert_eq!(of("post-commit"), 1, "{calls:?}");
    assert!(of("prepare-commit-msg") <= 1, "{calls:?}");
    assert_eq!(of("commit-msg"), 0, "{calls:?}");
    let new = repo.commits("main..side");
    assert_eq!(new.len(), 6);
    for (old, new) in old.iter().zip(&new) {
        let why = repo.why(new);
        assert_eq!(why.committer(), "human certain", "{why}");
        assert_eq!(why.origins(), [(old.clone(), origin.clone())], "{why}");
    }
}

#[test]
fn a_rebase_by_patches_has_its_rewriter_and_the_origin_of_each() {
    both_ways("git rebase -q --apply main", |r| {
        for (old, new) in r.old.iter().zip(&r.rewritten()) {
            r.check("applied", new, &[old]);
        }
    });
}

#[test]
fn a_squash_is_its_rewriters_and_names_all_that_are_in_it() {
    both_ways(&todo("2s/pick/squash/"), |r| {
        let new = r.rewritten();
        assert_eq!(new.len(), 2);
        r.check("squashed", &new[0], &[&r.old[0], &r.old[1]]);
        r.check("picked behind it", &new[1], &[&r.old[2]]);
    });
}

#[test]
fn a_fixup_is_its_rewriters_and_names_all_that_are_in_it() {
    both_ways(&todo("2,3s/pick/fixup/"), |r| {
        let new = r.rewritten();
        assert_eq!(new.len(), 1);
        let from: Vec<_> = r.old.iter().collect();
        r.check("fixed up", &new[0], &from);
    });
}

#[test]
fn a_reworded_commit_is_its_rewriters() {
    let steps = "GIT_SEQUENCE_EDITOR=\"sed -i 2s/pick/reword/\" GIT_EDITOR=\"sed -i 1s/.*/better/\" \
                 git rebase -q -i main";
    both_ways(steps, |r| {
        let new = r.rewritten();
        assert_eq!(r.repo.message(&new[1]).lines().next(), Some("better"));
        for (old, new) in r.old.iter().zip(&new) {
            r.check("reworded or picked", new, &[old]);
        }
    });
}

#[test]
fn new_content_at_a_stop_is_of_who_brought_it() {
    let stop = todo("2s/pick/edit/");
    let amended = format!(
        "{stop} && echo more >>f-2 && git commit -q -a --amend --no-edit && git rebase --continue"
    );
    let continued =
        format!("{stop} && echo more >>f-2 && git add -A && GIT_EDITOR=true git rebase --continue");
    for steps in [amended, continued] {
        both_ways(&steps, |r| {
            let new = r.rewritten();
            assert_eq!(r.repo.git(&["show", &format!("{}:f-2", new[1])]), "2\nmore");
            for (old, new) in r.old.iter().zip(&new) {
                r.check(&steps, new, &[old]);
            }
        });
    }
}

#[test]
fn a_split_commit_is_two_commits_of_who_split_it() {
    let steps = format!(
        "{} && git reset -q HEAD^ && git add f-2 && git commit -q -m one-half && echo y >y && \
         git add y && git commit -q -m other-half && git rebase --continue",
        todo("2s/pick/edit/")
    );
    both_ways(&steps, |r| {
        let new = r.rewritten();
        assert_eq!(new.len(), 4);
        r.check("one half", &new[1], &[]);
        r.check("the other half", &new[2], &[&r.old[1]]);
        r.check("picked behind it", &new[3], &[&r.old[2]]);
    });
}

#[test]
fn commits_while_a_rebase_stands_still_are_commits_like_any_other() {
    let at_break = format!(
        "{} && git commit -q --allow-empty -m stopped && git rebase --continue",
        todo("1abreak")
    );
    let at_edit = format!(
        "{} && echo s >s && git add s && git commit -q -m stopped && git rebase --continue",
        todo("1s/pick/edit/")
    );
    for steps in [at_break, at_edit] {
        both_ways(&steps, |r| {
            let new = r.rewritten();
            assert_eq!(new.len(), 4, "{steps}");
            assert_eq!(
                r.repo.message(&new[1]).lines().next(),
                Some("stopped"),
                "{steps}"
            );
            let why = r.repo.why(&new[1]);
            assert_eq!(why.committer(), r.rewriter, "{steps}\n{why}");
            assert_eq!(why.checkpoints(), r.repo.trailers(&new[1]), "{why}");
            r.check(&steps, &new[0], &[&r.old[0]]);
            r.check(&steps, &new[3], &[&r.old[2]]);
        });
    }
}

#[test]
fn a_commit_of_an_exec_line_is_seen_by_its_own_hooks() {
    let steps = todo("1aexec git commit -q --allow-empty -m inside");
    both_ways(&steps, |r| {
        let new = r.rewritten();
        assert_eq!(new.len(), 4);
        let why = r.repo.why(&new[1]);
        // A person did not type it: a shell of git's ran it.
        let expected = if r.rewriter.starts_with("human") {
            ["unknown unknown", "human likely"]
        } else {
            [r.rewriter.as_str(); 2]
        };
        assert!(expected.contains(&why.committer().as_str()), "{why}");
        assert_eq!(why.checkpoints(), r.repo.trailers(&new[1]), "{why}");
        assert_eq!(why.origins(), [], "{why}");
        r.check("picked behind it", &new[3], &[&r.old[2]]);
    });
}

/// A file that `side` and `main` change in different ways.
fn conflicting(repo: &Repo<'_>) {
    repo.sh("echo base >f && git add f && git commit -q -m base")
        .ok();
}

const CONFLICT: &str = "git checkout -q -b side && echo 1 >g && git add g && git commit -q -m one && \
                        echo side >f && git commit -q -a -m two && echo 3 >h && git add h && \
                        git commit -q -m three && git checkout -q main && echo main >f && \
                        git commit -q -a -m main && git checkout -q side";

#[test]
fn who_continues_a_rebase_did_not_run_what_came_before() {
    for resolved in [
        "GIT_EDITOR=true git rebase --continue",
        "git commit -q --no-edit && git rebase --continue",
    ] {
        let world = World::new();
        let repo = world.repo();
        conflicting(&repo);
        let mut person = Terminal::open(&repo);
        let mut agent = Agent::start(&repo, "worker");
        person.run(CONFLICT);
        let person_is = repo.committer("side");
        assert!(person_is.starts_with("human"), "{person_is}");
        assert_ne!(person.type_in("git rebase -q main").0, "0");
        agent
            .sh(&format!("echo both >f && git add f && {resolved}"))
            .ok();
        let new = repo.commits("main..side");
        let found: Vec<_> = new.iter().map(|c| repo.committer(c)).collect();
        let expected = [person_is.clone(), agent.certain(), agent.certain()];
        assert_eq!(found, expected, "{resolved}");
        for commit in &new {
            let origins = repo.why(commit).origins();
            assert_eq!(origins.len(), 1, "{origins:?}");
            assert_eq!(origins[0].1, person_is);
        }
    }
}

#[test]
fn of_a_rebase_by_patches_that_was_continued_only_the_end_is_known() {
    let world = World::new();
    let repo = world.repo();
    conflicting(&repo);
    let mut person = Terminal::open(&repo);
    let mut agent = Agent::start(&repo, "worker");
    person.run(CONFLICT);
    assert_ne!(person.type_in("git rebase -q --apply main").0, "0");
    agent
        .sh("echo both >f && git add f && GIT_EDITOR=true git rebase --continue")
        .ok();
    for commit in repo.commits("main..side") {
        let why = repo.why(&commit);
        assert_eq!(why.committer(), "unknown unknown", "{why}");
        assert_eq!(why.origins().len(), 1, "{why}");
    }
}

#[test]
fn an_agent_that_fixes_up_into_a_persons_commit_is_its_rewriter() {
    let world = World::new();
    let repo = world.repo();
    let mut person = Terminal::open(&repo);
    person.run(COMMITS);
    let person_is = repo.committer("side");
    let old = repo.commits("main..side");
    let mut agent = Agent::start(&repo, "worker");
    agent.write("f-2", "2\nby the agent\n");
    agent
        .sh("git commit -q -a --fixup side~1 && GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash main")
        .ok();
    let new = repo.commits("main..side");
    assert_eq!(new.len(), 3);
    let why = repo.why(&new[1]);
    assert_eq!(why.committer(), agent.certain(), "{why}");
    let origins = why.origins();
    assert_eq!(origins.len(), 2, "{origins:?}");
    assert!(
        origins.contains(&(old[1].clone(), person_is)),
        "{origins:?}"
    );
    assert!(
        origins.iter().any(|(_, who)| *who == agent.certain()),
        "{origins:?}"
    );
}

#[test]
fn a_pull_that_rebases_is_of_who_pulls() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("git clone -q . ../upstream && cd ../upstream && git commit -q --allow-empty -m up")
        .ok();
    let mut person = Terminal::open(&repo);
    person.run("echo p >p && git add p && git commit -q -m mine");
    let (person_is, old) = (repo.committer("HEAD"), repo.id("HEAD"));
    let mut agent = Agent::start(&repo, "worker");
    agent.sh("git pull -q --rebase ../upstream main").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(why.origins(), [(old, person_is)], "{why}");
}

#[test]
fn an_amend_has_the_commit_before_as_its_origin() {
    both_ways(
        "echo more >>f-3 && git commit -q -a --amend --no-edit",
        |r| {
            r.check("amended", "side", &[&r.old[2]]);
        },
    );
}

#[test]
fn origins_go_back_through_every_rewriting() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "worker");
    agent.sh(COMMITS).ok();
    let old = repo.id("side");
    repo.sh("git checkout -q main && git commit -q --allow-empty -m m && git checkout -q side && git rebase -q main")
        .ok();
    let between = repo.id("side");
    repo.sh("git checkout -q main && git commit -q --allow-empty -m n && git checkout -q side && git rebase -q main")
        .ok();
    let why: Why = repo.why("side");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    let expected = [
        (between, "unknown unknown".to_owned()),
        (old, agent.certain()),
    ];
    assert_eq!(why.origins(), expected, "{why}");
    let shown = repo.siglum(&["why", "side"]).ok();
    assert!(shown.contains("Origins"), "{shown}");
}

#[test]
fn a_commit_in_a_second_clone_is_who_made_it_in_the_first() {
    let world = World::new();
    let repo = world.repo();
    let mut person = Terminal::open(&repo);
    let mut agent = Agent::start(&repo, "worker");
    agent.write("a", "one\n");
    agent.sh("git add -A && git commit -q -m agents").ok();
    person.run("git commit -q --allow-empty -m persons");
    let clone = repo.beside("../clone");
    repo.sh("git clone -q . ../clone").ok();
    clone.siglum(&["init", "--yes"]).ok();
    for revision in ["HEAD", "HEAD~1"] {
        let (first, second) = (repo.why(revision), clone.why(revision));
        assert_eq!(second.committer(), first.committer(), "{second}");
        assert_eq!(second.authors(), first.authors(), "{second}");
        let recorded = format!("recorded in {}", repo.dir.display());
        assert!(second.says(&recorded), "{second}");
        assert!(!first.says("recorded in"), "{first}");
    }
}

/// A person's commit that git refused after our hook had seen it announced.
fn refused(repo: &Repo<'_>) {
    repo.sh(
        "printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/commit-msg && chmod +x .git/hooks/commit-msg",
    )
    .ok();
    let mut person = Terminal::open(repo);
    person.run("echo mine >mine && git add mine");
    assert_ne!(person.type_in("git commit -q -m 'by hand'").0, "0");
}

#[test]
fn the_commit_of_a_script_is_not_the_one_that_a_person_was_refused() {
    let others = [
        "git -c core.hooksPath=/dev/null commit -q -m 'by a script'",
        "echo else >mine && git add mine && git -c core.hooksPath=/dev/null commit -q -m 'by hand'",
    ];
    for script in others {
        let world = World::new();
        let repo = world.repo();
        refused(&repo);
        repo.sh(script).ok();
        let why = repo.why("HEAD");
        assert_eq!(why.committer(), "unknown unknown", "{script}\n{why}");
    }
}

#[test]
fn what_nobody_saw_landing_is_never_certainly_a_persons() {
    let world = World::new();
    let repo = world.repo();
    refused(&repo);
    repo.sh("git -c core.hooksPath=/dev/null commit -q -m 'by hand'")
        .ok();
    let why = repo.why("HEAD");
    assert_ne!(why.committer(), "human certain", "{why}");
}
