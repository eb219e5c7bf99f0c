//! Agents that switch git's hooks off, several at once.

use crate::harness::{Agent, Terminal, World};

const OFF: &str = "git -c core.hooksPath=/dev/null commit --allow-empty";

#[test]
fn who_prints_a_log_did_not_make_what_it_names() {
    let world = World::new();
    let repo = world.repo();
    let mut maker = Agent::start(&repo, "maker");
    let mut printer = Agent::start(&repo, "printer");
    let quiet = format!("{OFF} -q -m quiet");
    let (making, printing) = (maker.shell_call(&quiet), printer.shell_call("git log -1"));
    printer.hook("PreToolUse", printing.clone());
    maker.hook("PreToolUse", making.clone());
    let made = maker.bare_sh(&quiet);
    let printed = printer.bare_sh("git log -1");
    printer.shell_returned(printing, &printed);
    assert_eq!(repo.committer("HEAD"), maker.likely(), "the maker's runs");
    let _bystander = Agent::start(&repo, "a-bystander");
    repo.recency_errs("maker");
    maker.shell_returned(making, &made);
    assert_eq!(repo.committer("HEAD"), maker.likely(), "both returned");
}

#[test]
fn two_calls_whose_commands_fit_are_ambiguous() {
    let world = World::new();
    let repo = world.repo();
    let mut maker = Agent::start(&repo, "maker");
    let mut rival = Agent::start(&repo, "rival");
    let quiet = format!("{OFF} -q -m quiet");
    let (making, beside) = (maker.shell_call(&quiet), rival.shell_call(&quiet));
    rival.hook("PreToolUse", beside);
    maker.hook("PreToolUse", making.clone());
    let made = maker.bare_sh(&quiet);
    maker.shell_returned(making, &made);
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    let mut candidates = why.candidates();
    candidates.sort();
    assert_eq!(candidates, ["maker", "rival"], "{why}");
}

#[test]
fn a_call_that_prints_a_commit_did_not_make_it() {
    let world = World::new();
    let repo = world.repo();
    let mut printer = Agent::start(&repo, "printer");
    for command in [
        "git log -3",
        "git rev-parse HEAD",
        "git commit -q -m 'nothing to do'; git log -1",
        "git show --stat",
    ] {
        let call = printer.shell_call(command);
        printer.hook("PreToolUse", call.clone());
        repo.sh(&format!("{OFF} -q -m 'by another client'")).ok();
        let printed = printer.bare_sh(command);
        printer.shell_returned(call, &printed);
        assert_eq!(repo.committer("HEAD"), "unknown unknown", "{command}");
    }
}

#[test]
fn git_s_own_words_tell_the_maker_from_the_printer() {
    let world = World::new();
    let repo = world.repo();
    let mut maker = Agent::start(&repo, "maker");
    let mut printer = Agent::start(&repo, "printer");
    let loud = format!("{OFF} -m loud");
    let (making, printing) = (maker.shell_call(&loud), printer.shell_call("git log -1"));
    printer.hook("PreToolUse", printing.clone());
    maker.hook("PreToolUse", making.clone());
    let made = maker.bare_sh(&loud);
    let printed = printer.bare_sh("git log -1");
    printer.shell_returned(printing, &printed);
    assert_eq!(repo.committer("HEAD"), maker.likely(), "not told yet");
    let _bystander = Agent::start(&repo, "a-bystander");
    repo.recency_errs("maker");
    maker.shell_returned(making, &made);
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "maker certain", "judged again: {why}");
    assert_eq!(why.checkpoints().len(), 1, "{why}");
}

#[test]
fn a_commit_that_was_overtaken_inside_its_call_is_not_missed() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "first");
    let mut second = Agent::start(&repo, "second");
    let commands = [format!("{OFF} -m one"), format!("{OFF} -m two")];
    let calls = [
        first.shell_call(&commands[0]),
        second.shell_call(&commands[1]),
    ];
    first.hook("PreToolUse", calls[0].clone());
    second.hook("PreToolUse", calls[1].clone());
    let one = first.bare_sh(&commands[0]);
    let two = second.bare_sh(&commands[1]);
    let [of_one, of_two] = calls;
    second.shell_returned(of_two, &two);
    first.shell_returned(of_one, &one);
    let _bystander = Agent::start(&repo, "a-bystander");
    repo.recency_errs("first");
    assert_eq!(repo.committer("HEAD~1"), "first certain");
    assert_eq!(repo.committer("HEAD"), "second certain");
}

#[test]
fn two_commits_of_one_call_are_both_seen() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "twice");
    agent.sh(&format!("{OFF} -m one && {OFF} -m two")).ok();
    let before = repo.id("HEAD");
    agent
        .sh(&format!(
            "{OFF} -m gone && git rev-parse HEAD && git reset -q --hard HEAD~1"
        ))
        .ok();
    assert_eq!(repo.id("HEAD"), before, "HEAD stands as before");
    let gone = repo.id("HEAD@{1}");
    let _bystander = Agent::start(&repo, "a-bystander");
    repo.recency_errs("twice");
    for commit in ["HEAD~1", "HEAD", gone.as_str()] {
        assert_eq!(repo.committer(commit), "twice certain", "{commit}");
    }
}

#[test]
fn what_a_person_commits_while_an_agent_prints_logs_is_the_persons() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "a-printer");
    let mut terminal = Terminal::open(&repo);
    let call = agent.shell_call("git log -1");
    agent.hook("PreToolUse", call.clone());
    terminal.run("git commit -q --allow-empty -m 'by hand'");
    let ran = agent.bare_sh("git log -1");
    agent.shell_returned(call, &ran);
    repo.check("seen by a hook", "HEAD", "human certain");
    repo.recency_errs("a person");
}
