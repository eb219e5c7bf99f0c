//! Who made a commit: the table of verdicts, played with real processes.

use std::path::Path;

use serde_json::json;

use crate::harness::{Agent, Repo, World, until};

const COMMIT: &str = "git commit -q --allow-empty -m work";

#[test]
fn ancestry_and_variable_make_it_certain() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.bare_sh(COMMIT).ok();
    repo.check("no tool call runs", "HEAD", &agent.certain());
    let why = repo.why("HEAD");
    assert!(why.says("processes below the session's agent"), "{why}");
    assert!(why.says("CLAUDE_CODE_SESSION_ID"), "{why}");
    assert_eq!(why.0["prompt"]["text"], "Please do the work.");
    assert_eq!(why.0["committer"]["resume"], "claude --resume one");
}

#[test]
fn ancestry_and_a_running_call_make_it_certain() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent
        .sh(
            "env -i PATH=\"$PATH\" GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a \
              GIT_COMMITTER_EMAIL=a@a HOME=\"$HOME\" SIGLUM_HOME=\"$SIGLUM_HOME\" \
              git commit -q --allow-empty -m work",
        )
        .ok();
    repo.check("no variables", "HEAD", &agent.certain());
}

#[test]
fn ancestry_alone_is_likely() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent
        .bare_sh(
            "unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT; git commit -q --allow-empty -m work",
        )
        .ok();
    repo.check("ancestry", "HEAD", &agent.likely());
}

#[test]
fn detached_work_is_likely_by_its_variable() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let before = repo.id("HEAD");
    agent
        .sh(&format!(
            "setsid -f sh -c 'sleep 0.2; {COMMIT}' >/dev/null 2>&1"
        ))
        .ok();
    agent.stop();
    until("the detached commit is there", || repo.id("HEAD") != before);
    until("its hooks are done", || {
        repo.committer("HEAD") != "unknown unknown"
    });
    repo.check("detached", "HEAD", &agent.likely());
}

#[test]
fn work_is_found_by_its_variable_where_no_process_was_recorded() {
    for name in ["claude", "worker"] {
        let world = World::new();
        let repo = world.repo();
        let program = Agent::program_called(&repo, name);
        let mut agent = Agent::process(&repo, "one", &program);
        agent.begin("startup");
        world.forget_processes();
        agent.bare_sh(COMMIT).ok();
        repo.check(name, "HEAD", &agent.likely());
    }
}

#[test]
fn a_variable_names_nobody_below_another_process_of_the_same_agent() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let claude = Agent::program_called(&repo, "claude");
    let mut other = agent.nested(&repo, "one", &claude);
    other
        .bare_sh(&format!("CLAUDE_CODE_SESSION_ID=one {COMMIT}"))
        .ok();
    repo.check("below a shell of its own", "HEAD", "unknown unknown");
}

#[test]
fn a_session_that_goes_on_in_a_process_without_hooks_is_found_by_the_variable_that_it_set_itself() {
    for ended in [false, true] {
        let world = World::new();
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "one");
        if ended {
            agent.end("other");
        }
        agent.quit();
        let mut fresh = Agent::process(&repo, "one", &Agent::program());
        fresh.hook("NobodyListens", json!({}));
        fresh.bare_sh(COMMIT).ok();
        repo.check(&format!("ended: {ended}"), "HEAD", "one likely");
    }
}

#[test]
fn a_variable_that_an_agents_process_began_with_names_nobody_below_it() {
    for (inherited, expected) in [("one", "unknown unknown"), ("two", "one likely")] {
        let world = World::new();
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "one");
        agent.quit();
        let mut heir = Agent::started_by(&repo, "", &Agent::program(), |command| {
            let start = format!("CLAUDE_CODE_SESSION_ID={inherited} setsid -f {command}");
            repo.sh(&format!("({start}) >/dev/null 2>&1 &")).ok();
        });
        heir.bare_sh(&format!("CLAUDE_CODE_SESSION_ID=one {COMMIT}"))
            .ok();
        repo.check(inherited, "HEAD", expected);
        // Without a process row it is no other process, and still not its own variable.
        world.forget_processes();
        heir.bare_sh(&format!("CLAUDE_CODE_SESSION_ID=one {COMMIT}"))
            .ok();
        repo.check(inherited, "HEAD", expected);
    }
}

/// The words that take away what the played agent sets and Codex does not.
const AS_CODEX: &str = "env -u CLAUDECODE -u AI_AGENT -u CLAUDE_CODE_SESSION_ID -u CLAUDE_PID";

/// A played Codex with a recorded session.
fn codex(repo: &Repo<'_>, program: &Path, native: &str) -> Agent {
    let world = repo.world;
    let mut agent = Agent::process(repo, "", program);
    let transcript = world.home().join(".codex/sessions/x.jsonl");
    for (event, more) in [
        ("SessionStart", json!({ "source": "startup" })),
        (
            "UserPromptSubmit",
            json!({ "prompt": "Go.", "turn_id": "t1" }),
        ),
    ] {
        let mut payload = json!({
            "session_id": native, "transcript_path": transcript, "cwd": repo.dir,
            "hook_event_name": event, "model": "m", "permission_mode": "default",
        });
        let more = more.as_object().unwrap().clone();
        payload.as_object_mut().unwrap().extend(more);
        let file = world.root.join("payload.json");
        std::fs::write(&file, payload.to_string()).unwrap();
        let siglum = world.siglum_home().join("bin/siglum");
        let (siglum, file) = (siglum.display(), file.display());
        agent
            .bare_sh(&format!("{AS_CODEX} '{siglum}' hook codex <'{file}'"))
            .ok();
    }
    agent
}

#[test]
fn the_thread_of_codex_names_its_session_where_no_variable_of_the_session_is_there() {
    let world = World::new();
    let repo = world.repo();
    let program = Agent::program_called(&repo, "codex");
    let mut agent = codex(&repo, &program, "cx1");
    let _other = codex(&repo, &program, "cx2");
    let below = |agent: &mut Agent, set: &str, expected: &str| {
        agent.bare_sh(&format!("{AS_CODEX} {set} {COMMIT}")).ok();
        repo.check(&format!("below, {set}"), "HEAD", expected);
    };
    below(&mut agent, "CODEX_THREAD_ID=cx1", "cx1 certain");
    below(&mut agent, "CODEX_THREAD_ID=sub-agent", "cx1 likely");
    below(
        &mut agent,
        "CODEX_SESSION_ID=cx1 CODEX_THREAD_ID=sub-agent",
        "cx1 certain",
    );
    for (set, expected) in [
        ("CODEX_THREAD_ID=cx1", "cx1 likely"),
        ("CODEX_THREAD_ID=sub-agent", "unknown unknown"),
        (
            "CODEX_SESSION_ID=cx1 CODEX_THREAD_ID=sub-agent",
            "cx1 likely",
        ),
        // The thread never speaks beside the session.
        ("CODEX_SESSION_ID=cx1 CODEX_THREAD_ID=cx2", "cx1 likely"),
        (
            "CODEX_SESSION_ID=nobody CODEX_THREAD_ID=cx1",
            "unknown unknown",
        ),
    ] {
        repo.sh(&format!("{set} {COMMIT}")).ok();
        repo.check(&format!("detached, {set}"), "HEAD", expected);
    }
    world.forget_processes();
    below(&mut agent, "CODEX_THREAD_ID=cx1", "cx1 likely");
    below(&mut agent, "CODEX_THREAD_ID=sub-agent", "unknown unknown");
}

#[test]
fn detached_work_outlives_its_agent() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let go = world.root.join("go");
    let waiting = format!(
        "while [ ! -e '{}' ]; do sleep 0.05; done; {COMMIT}; touch done",
        go.display()
    );
    agent
        .sh(&format!(
            "setsid -f sh -c '{}' >/dev/null 2>&1",
            waiting.replace('\'', "\"")
        ))
        .ok();
    agent.end("other");
    agent.kill();
    std::fs::write(&go, "").unwrap();
    until("the orphan is done", || repo.dir.join("done").exists());
    repo.check("orphan", "HEAD", "one likely");
}

#[test]
fn a_variable_of_an_unknown_session_names_nobody() {
    let world = World::new();
    let repo = world.repo();
    repo.sh(&format!(
        "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=stranger {COMMIT}"
    ))
    .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    assert!(why.says("stranger"), "{why}");
    repo.sh(&format!("AI_AGENT=something {COMMIT}")).ok();
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
}

#[test]
fn an_agents_own_process_with_the_variable_of_an_unknown_session() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent
        .bare_sh(&format!("CLAUDE_CODE_SESSION_ID=stranger {COMMIT}"))
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    assert_eq!(why.candidates(), ["one"], "{why}");
    assert!(why.says("set below the nearest agent"), "{why}");
}

#[test]
fn a_session_that_was_killed_goes_on_in_another_process() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "same");
    first.sh(COMMIT).ok();
    first.kill();
    let mut second = Agent::process(&repo, "same", &Agent::program());
    second.begin("resume");
    second.sh(COMMIT).ok();
    for commit in repo.commits("HEAD~2..HEAD") {
        repo.check("before and after", &commit, "same certain");
    }
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 1);
    assert_eq!(world.count("SELECT count(*) FROM processes"), 2);
}

#[test]
fn a_clear_makes_another_session_in_the_same_process() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "before");
    agent.sh(COMMIT).ok();
    repo.check("before", "HEAD", "before certain");
    agent.stop();
    agent.clear("after");
    agent.sh(COMMIT).ok();
    repo.check("after", "HEAD", "after certain");
    agent
        .bare_sh(&format!(
            "unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT; {COMMIT}"
        ))
        .ok();
    repo.check("ancestry alone names the open one", "HEAD", "after likely");
    repo.check("the first is still the first's", "HEAD~2", "before certain");
}

#[test]
fn a_newer_session_in_the_same_worktree_takes_nothing() {
    let world = World::new();
    let repo = world.repo();
    let mut older = Agent::start(&repo, "older");
    let mut newer = Agent::start(&repo, "newer");
    newer.sh("true").ok();
    older.sh(COMMIT).ok();
    repo.check("with a call", "HEAD", &older.certain());
    newer.prompt("More.");
    older.bare_sh(COMMIT).ok();
    repo.check("without a call", "HEAD", &older.certain());
    let call = newer.shell_call("sleep 1");
    newer.hook("PreToolUse", call);
    older
        .bare_sh(&format!(
            "unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT; {COMMIT}"
        ))
        .ok();
    repo.check("while the newer one's call runs", "HEAD", &older.likely());
}

#[test]
fn two_sessions_that_interleave_keep_their_commits() {
    let world = World::new();
    let repo = world.repo();
    let mut agents = [Agent::start(&repo, "left"), Agent::start(&repo, "right")];
    for round in 0..6 {
        let agent = &mut agents[round % 2];
        agent.write("file", &format!("{round}\n"));
        agent.sh("git add -A && git commit -q -m round").ok();
    }
    for (round, commit) in repo.commits("HEAD~6..HEAD").iter().enumerate() {
        repo.check("interleaved", commit, &agents[round % 2].certain());
    }
}

#[test]
fn of_nested_agents_the_nearest_commits() {
    let world = World::new();
    let repo = world.repo();
    let mut outer = Agent::start(&repo, "outer");
    let mut inner = outer.nested(&repo, "inner", &Agent::program());
    inner.begin("startup");
    inner.sh(COMMIT).ok();
    repo.check("the inner one", "HEAD", &inner.certain());
    assert_eq!(repo.why("HEAD").parents(), ["outer"]);
    inner
        .bare_sh(&format!("export CLAUDE_CODE_SESSION_ID=outer; {COMMIT}"))
        .ok();
    repo.check("with the outer one's variable", "HEAD", &inner.likely());
    outer.sh(COMMIT).ok();
    repo.check("the outer one", "HEAD", &outer.certain());
}

#[test]
fn an_agent_that_is_not_recorded_hides_the_one_that_started_it() {
    let world = World::new();
    let repo = world.repo();
    let mut outer = Agent::start(&repo, "outer");
    let codex = Agent::program_called(&repo, "codex");
    let mut inner = outer.nested(&repo, "codex", &codex);
    inner
        .bare_sh(
            "unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT; git commit -q --allow-empty -m work",
        )
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    assert!(why.says("codex"), "{why}");
    let step = json!({ "sh": format!("CLAUDE_CODE_SESSION_ID=outer {COMMIT}") });
    inner.step(&step);
    assert_eq!(
        repo.committer("HEAD"),
        "unknown unknown",
        "the inherited variable is no sign"
    );
}

#[test]
fn a_recorded_agent_below_an_unrecorded_one_is_the_committer() {
    let world = World::new();
    let repo = world.repo();
    let codex = Agent::program_called(&repo, "codex");
    let mut outer = Agent::process(&repo, "codex", &codex);
    let mut inner = outer.nested(&repo, "inner", &Agent::program());
    inner.begin("startup");
    inner.sh(COMMIT).ok();
    repo.check("nearest", "HEAD", &inner.certain());
}

#[test]
fn an_agent_called_claude_is_known_by_its_binding() {
    let world = World::new();
    let repo = world.repo();
    let claude = Agent::program_called(&repo, "claude");
    let mut agent = Agent::process(&repo, "named", &claude);
    agent.bare_sh("git commit -q --allow-empty -m early").ok();
    repo.check("before its first hook", "HEAD", "unknown unknown");
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    repo.check("after it", "HEAD", &agent.certain());
}

#[test]
fn signs_for_different_sessions_are_ambiguous() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    let _two = Agent::start(&repo, "two");
    one.bare_sh(&format!("CLAUDE_CODE_SESSION_ID=two {COMMIT}"))
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    let mut candidates = why.candidates();
    candidates.sort();
    assert_eq!(candidates, ["one", "two"], "{why}");
    assert_eq!(repo.trailers("HEAD"), why.checkpoints());
}

/// A rebase and a cherry-pick give commits the messages that others had: a call that is given the same words, and makes
/// nothing, is not who made them.
#[test]
fn a_copied_commit_is_not_of_the_call_with_the_same_message() {
    const BARE: &str = "git -c core.hooksPath=/dev/null -c user.name=Somebody";
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let same = "commit -q --allow-empty -m 'the same words'";
    repo.sh(&format!(
        "{BARE} commit -q --allow-empty -m first && {BARE} {same}"
    ))
    .ok();
    let copies = [
        "rebase -q --force-rebase HEAD~1",
        "cherry-pick --allow-empty HEAD",
    ];
    for copy in copies {
        let call = agent.shell_call(&format!("{BARE} {same}"));
        agent.hook("PreToolUse", call.clone());
        repo.sh(&format!("{BARE} {copy}")).ok();
        let refused = agent.bare_sh(&format!("{BARE} commit -q -m 'the same words'"));
        assert_ne!(refused.code, Some(0));
        agent.shell_returned(call, &refused);
        let why = repo.why("HEAD");
        assert_eq!(why.committer(), "unknown unknown", "{copy}: {why}");
    }
}

#[test]
fn a_commit_with_hooks_switched_off_is_known_by_the_tools_output() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "hookless");
    let off = "git -c core.hooksPath=/dev/null commit -q --allow-empty -m off";
    agent
        .sh(&format!("{off} && git rev-parse --short HEAD"))
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.likely(), "{why}");
    agent
        .sh("git -c core.hooksPath=/dev/null commit --allow-empty -m 'git prints it'")
        .ok();
    assert_eq!(repo.committer("HEAD"), agent.certain());
    agent.sh(off).ok();
    assert_eq!(
        repo.committer("HEAD"),
        agent.likely(),
        "its command has the subject"
    );
    repo.sh(off).ok();
    agent.sh("git log -1 --format=%H").ok();
    assert_eq!(
        repo.committer("HEAD"),
        "unknown unknown",
        "HEAD did not move in the call"
    );
}

#[test]
fn a_call_that_ended_long_ago_is_no_sign() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "done");
    agent.sh("true").ok();
    agent.stop();
    repo.sh(
        "setsid -f sh -c 'git commit -q --allow-empty -m x; touch done' </dev/null >/dev/null 2>&1",
    )
    .ok();
    until("it is done", || repo.dir.join("done").exists());
    repo.check("orphan of nobody", "HEAD", "unknown unknown");
}

#[test]
fn what_was_left_behind_before_a_call_began_is_not_the_calls() {
    let world = World::new();
    let repo = world.repo();
    repo.sh(
        "setsid -f sh -c 'echo >waits; until [ -e go ]; do sleep 0.02; done; \
             git commit -q --allow-empty -m x; touch done' </dev/null >/dev/null 2>&1",
    )
    .ok();
    until("it waits", || repo.dir.join("waits").exists());
    let mut agent = Agent::start(&repo, "only");
    let call = agent.shell_call("make");
    agent.hook("PreToolUse", call);
    std::fs::write(repo.dir.join("go"), "").unwrap();
    until("it is done", || repo.dir.join("done").exists());
    repo.check("older than the call", "HEAD", "unknown unknown");
}

#[test]
fn a_running_call_takes_no_orphans() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "only");
    let call = agent.shell_call("make");
    agent.hook("PreToolUse", call);
    agent
        .bare_sh("unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT CLAUDE_PID; \
                  setsid -f sh -c 'git commit -q --allow-empty -m x; touch done' </dev/null >/dev/null 2>&1")
        .ok();
    until("it is done", || repo.dir.join("done").exists());
    repo.check("the only running call", "HEAD", "unknown unknown");
}
