//! Every way to say `git commit`, by an agent and by nobody.

mod compared;
mod mixing;

use crate::harness::{Agent, World};

/// What a form of `git commit` is called, and a script that uses it.
type Form = (&'static str, &'static str);

/// Each makes one commit on top of the last one.
const FORMS: &[Form] = &[
    ("-m", "git add -A && git commit -q -m 'a message'"),
    ("several -m", "git add -A && git commit -q -m title -m body"),
    (
        "-F -",
        "git add -A && printf 'from\\n\\na file\\n' | git commit -q -F -",
    ),
    ("-a", "git commit -q -a -m all"),
    ("a path", "git commit -q -m 'only a path' file"),
    ("--fixup", "git add -A && git commit -q --fixup HEAD"),
    (
        "--squash",
        "git add -A && git commit -q --squash HEAD -m more",
    ),
    (
        "--no-verify",
        "git add -A && git commit -q --no-verify -m unchecked",
    ),
    ("--allow-empty", "git commit -q --allow-empty -m nothing"),
    ("-s", "git add -A && git commit -q -s -m 'signed off'"),
    (
        "--trailer",
        "git add -A && git commit -q --trailer 'Reviewed-by: Bo <b@example.com>' -m trailer",
    ),
    (
        "--cleanup=verbatim",
        "git add -A && git commit -q --cleanup=verbatim -m '# kept'",
    ),
    (
        "--cleanup=scissors",
        "git add -A && git commit -q --cleanup=scissors -m '# kept, too'",
    ),
    (
        "another comment character",
        "git add -A && git -c core.commentChar=';' commit -q -m '; this is text here'",
    ),
    (
        "an alias",
        "git add -A && git -c alias.ci='commit -q' ci -m 'by an alias'",
    ),
    (
        "a shell alias",
        "git add -A && git -c 'alias.ci=!git commit -q' ci -m 'by a shell alias'",
    ),
    (
        "-C dir",
        "git add -A && cd / && git -C \"$OLDPWD\" commit -q -m 'from afar'",
    ),
    (
        "GIT_DIR",
        "git add -A && export GIT_DIR=$PWD/.git GIT_WORK_TREE=$PWD && git commit -q -m 'by variables'",
    ),
    (
        "GIT_DIR alone",
        "git add -A && GIT_DIR=.git git commit -q -m 'by one variable'",
    ),
    (
        "a sub-directory",
        "mkdir -p sub/dir && cd sub/dir && git add -A :/ && git commit -q -m 'from below'",
    ),
    (
        "a clock that went back",
        "git add -A && GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git commit -q -m past",
    ),
    (
        "a clock that is ahead",
        "git add -A && GIT_COMMITTER_DATE=2037-01-01T00:00:00Z git commit -q -m future",
    ),
    (
        "a message of several kinds of lines",
        "git add -A && printf 'title\\r\\n\\nbody: \\303\\244\\n\\nKey: value\\n' | git commit -q -F -",
    ),
];

#[test]
fn each_form_by_an_agent_is_its_own_and_names_one_checkpoint() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("echo start >file && git add file && git commit -q -m start")
        .ok();
    let mut agent = Agent::start(&repo, "forms");
    for (number, (form, script)) in FORMS.iter().enumerate() {
        let before = repo.id("HEAD");
        std::fs::write(repo.dir.join("file"), format!("{number}\n")).unwrap();
        agent.sh(script).ok();
        assert_eq!(repo.id("HEAD^"), before, "{form} makes one commit");
        repo.check(form, "HEAD", &agent.certain());
        assert_eq!(repo.trailers("HEAD").len(), 1, "{form}");
    }
    assert_eq!(world.declines(), [""; 0]);
}

#[test]
fn each_form_by_nobody_is_nobodys_and_names_nothing() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("echo start >file && git add file && git commit -q -m start")
        .ok();
    let _agent = Agent::start(&repo, "bystander");
    for (number, (form, script)) in FORMS.iter().enumerate() {
        std::fs::write(repo.dir.join("file"), format!("{number}\n")).unwrap();
        repo.sh(script).ok();
        repo.check(form, "HEAD", "unknown unknown");
    }
}

#[test]
fn an_amend_keeps_its_checkpoint_or_gets_a_new_one_with_a_new_message() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "amends");
    agent
        .sh("echo a >a && git add a && git commit -q -m one")
        .ok();
    let first = repo.trailers("HEAD");
    agent
        .sh("echo b >>a && git commit -q -a --amend --no-edit")
        .ok();
    repo.check("--no-edit", "HEAD", &agent.certain());
    assert_eq!(repo.trailers("HEAD"), first);
    agent
        .sh("echo c >>a && git commit -q -a --amend -m two")
        .ok();
    repo.check("-m", "HEAD", &agent.certain());
    assert_eq!(repo.trailers("HEAD").len(), 1);
    agent
        .sh("git commit -q --amend --reset-author -C HEAD")
        .ok();
    repo.check("-C", "HEAD", &agent.certain());
    assert_eq!(repo.message("HEAD").matches("Siglum-Checkpoint").count(), 1);
}

/// A copied message brings the pointer of its original along; the ledger knows better.
#[test]
fn a_copied_message_misleads_nobody() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "original");
    first
        .sh("echo a >a && git add a && git commit -q -m one")
        .ok();
    let copied = repo.trailers("HEAD");
    let mut second = Agent::start(&repo, "copyist");
    second.sh("echo b >>a && git commit -q -a -C HEAD").ok();
    assert_eq!(repo.committer("HEAD"), second.certain());
    assert_eq!(repo.trailers("HEAD"), copied);
    assert!(repo.why("HEAD").says("the message names checkpoint"));
    repo.sh("echo c >>a && git commit -q -a -C HEAD").ok();
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
    assert_eq!(repo.why("HEAD").candidates(), ["original"]);
}

#[test]
fn an_amend_by_nobody_of_an_agents_commit_is_nobodys() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "first");
    agent
        .sh("echo a >a && git add a && git commit -q -m one")
        .ok();
    drop(agent);
    repo.sh("echo b >>a && git commit -q -a --amend --no-edit")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    assert_eq!(why.candidates(), ["first"], "{why}");
}

/// A commit that git refuses stays refused, and leaves nothing that a later one could inherit.
#[test]
fn what_git_refuses_is_refused_with_siglum_too() {
    let refused: &[Form] = &[
        ("an empty message", "git add -A && git commit -q -m ''"),
        ("a blank message", "git add -A && git commit -q -m '  '"),
        (
            "nothing from standard input",
            "git add -A && git commit -q -F - </dev/null",
        ),
        (
            "nothing to commit",
            "git reset -q --hard && git commit -q -m nothing",
        ),
        (
            "an unknown option",
            "git add -A && git commit --no-such-option -m x",
        ),
        (
            "a dry run",
            "git add -A && git commit --dry-run -m x && false",
        ),
    ];
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "refused");
    let before = repo.id("HEAD");
    for (form, script) in refused {
        std::fs::write(repo.dir.join("file"), form).unwrap();
        let ran = agent.sh(script);
        assert_ne!(ran.code, Some(0), "{form}");
        assert_eq!(repo.id("HEAD"), before, "{form}");
    }
    repo.sh("git add -A && git commit -q --allow-empty -m later")
        .ok();
    repo.check("after all of them", "HEAD", "unknown unknown");
}

#[test]
fn an_empty_message_that_is_allowed_is_left_empty_or_linked() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "mute");
    agent
        .sh("git commit -q --allow-empty --allow-empty-message -m ''")
        .ok();
    assert_eq!(repo.committer("HEAD"), agent.certain());
}

#[test]
fn a_commit_of_plumbing_is_never_called_anybodys_without_evidence() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "plumber");
    let script = "git update-ref HEAD $(git commit-tree -p HEAD -m tree HEAD^{tree})";
    agent.sh(script).ok();
    assert_eq!(
        repo.committer("HEAD"),
        agent.likely(),
        "its subject is in the command"
    );
    agent.sh(&format!("{script} && git rev-parse HEAD")).ok();
    assert_eq!(repo.committer("HEAD"), agent.likely(), "printed, too");
    std::fs::write(world.root.join("message"), "from a file\n").unwrap();
    let from_file = script.replace(
        "-m tree",
        &format!("-F '{}'", world.root.join("message").display()),
    );
    agent.sh(&format!("{from_file} && git rev-parse HEAD")).ok();
    repo.check("only printed", "HEAD", "unknown unknown");
    repo.sh(script).ok();
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
}
