//! People at real terminals, and scripts without one.

use crate::harness::{Agent, Terminal, World, until};

#[test]
fn a_person_at_a_terminal_is_human_without_a_trailer() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    terminal.run("echo a >a && git add a && git commit -q -m 'by hand'");
    repo.check("-m", "HEAD", "human certain");
    assert_eq!(repo.message("HEAD"), "by hand");
    terminal.run("GIT_EDITOR='sed -i 1ityped' git commit -q --allow-empty");
    repo.check("in an editor", "HEAD", "human certain");
    terminal.run("git commit -q --amend --allow-empty -m amended");
    repo.check("amended", "HEAD", "human certain");
    terminal.run("git commit --allow-empty -m piped | cat");
    let why = repo.why("HEAD");
    assert!(
        ["human certain", "unknown unknown"].contains(&why.committer().as_str()),
        "{why}"
    );
    assert_eq!(repo.trailers("HEAD"), [""; 0]);
}

#[test]
fn the_terminal_that_started_the_agent_stays_the_persons() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let mut agent = Agent::started_by(&repo, "job", &Agent::program(), |command| {
        terminal.run(&format!("{command} &"));
    });
    agent.begin("startup");
    let call = agent.shell_call("sleep 5");
    agent.hook("PreToolUse", call);
    terminal.run("git commit -q --allow-empty -m 'by the person'");
    repo.check("while a call of the agent runs", "HEAD", "human certain");
    agent
        .bare_sh("git commit -q --allow-empty -m 'by the agent'")
        .ok();
    repo.check("the agent's own", "HEAD", &agent.certain());
    drop(agent);
    terminal.run("git commit -q --allow-empty -m 'after it'");
    repo.check("after the agent", "HEAD", "human certain");
}

#[test]
fn a_shell_inside_an_agent_is_the_agents() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "wrapper");
    let script = "python3 -c 'import pty; pty.spawn([\"bash\", \"--norc\", \"-i\", \"-c\", \
                  \"git commit -q --allow-empty -m inside\"])'";
    agent.sh(script).ok();
    repo.check("a terminal below an agent", "HEAD", &agent.likely());
    assert!(
        repo.why("HEAD")
            .says("holds a terminal or a connection of its own")
    );
}

#[test]
fn a_terminal_with_an_agents_variable_is_not_a_persons() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    terminal.run("CLAUDECODE=1 git commit -q --allow-empty -m x");
    repo.check("a presence variable", "HEAD", "unknown unknown");
    terminal.run("GEMINI_CLI=1 git commit -q --allow-empty -m x");
    repo.check(
        "of an agent that is not recorded",
        "HEAD",
        "unknown unknown",
    );
}

#[test]
fn a_person_amending_an_agents_commit_is_human() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "first");
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m one").ok();
    let mut terminal = Terminal::open(&repo);
    terminal.run("git commit -q --amend --no-edit --author 'B <b@example.com>'");
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "human certain", "{why}");
    assert_eq!(why.authors(), [("first".to_owned(), 1)].into(), "{why}");
}

/// Who commits by hand loses neither the names of those who wrote the lines, nor what they were asked.
#[test]
fn a_person_committing_an_agents_lines_keeps_its_name_prompt_and_way_on() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "writer");
    agent.prompt("Write three lines.");
    agent.write("file", "one\ntwo\nthree\n");
    agent.stop();
    let mut terminal = Terminal::open(&repo);
    terminal.run("git add -A && git commit -q -m 'by hand'");
    terminal.run("echo four >>file && git add -A && git commit -q -m 'and more'");
    let line = repo.why("file:1");
    let (prompt, by_hand) = (&line.0["line"]["prompt"]["text"], repo.why("HEAD~"));
    assert_eq!(*prompt, "Write three lines.", "{line}");
    assert_eq!(by_hand.committer(), "human certain", "{by_hand}");
    let shown = repo.siglum(&["why", "file:1"]).ok();
    let has = |start: &str, text: &str| {
        let mut lines = shown.lines();
        lines.any(|line| line.starts_with(start) && line.contains(text))
    };
    assert!(has("Prompt", "Write three lines."), "{shown}");
    assert!(has("Resume", "claude --resume writer"), "{shown}");
    let log = repo.siglum(&["log", "-n", "2"]).ok();
    let rows = log
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>();
    let ends = [
        "a person certain 0/1 and more",
        "a person certain claude-code 3 by hand",
    ];
    assert_eq!(rows.len(), ends.len(), "{log}");
    for (row, end) in rows.iter().zip(ends) {
        assert!(row.ends_with(end), "{end}: {log}");
    }
}

/// Where nobody is seen committing, those who wrote the lines are known all the same.
#[test]
fn a_commit_by_nobody_has_the_writers_of_its_lines_in_the_log() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "writer");
    agent.write("file", "one\ntwo\n");
    agent.stop();
    repo.sh("git add -A && git commit -q -m 'by a script'").ok();
    repo.check("a script", "HEAD", "unknown unknown");
    let log = repo.siglum(&["log", "-n", "1"]).ok();
    let words: Vec<&str> = log.split_whitespace().collect();
    let end = ["-", "claude-code", "2", "by", "a", "script"];
    assert!(words.ends_with(&end), "{log}");
}

#[test]
fn scripts_without_a_terminal_are_nobody() {
    let world = World::new();
    let repo = world.repo();
    let _agent = Agent::start(&repo, "bystander");
    repo.sh("git commit -q --allow-empty -m script").ok();
    repo.check("a script", "HEAD", "unknown unknown");
    let daemon = "setsid -f sh -c 'git commit -q --allow-empty -m cron; touch done' </dev/null >/dev/null 2>&1";
    repo.sh(daemon).ok();
    until("cron is done", || repo.dir.join("done").exists());
    repo.check("cron", "HEAD", "unknown unknown");
    let mut terminal = Terminal::open(&repo);
    std::fs::write(
        repo.dir.join("script.sh"),
        "git commit -q --allow-empty -m x\n",
    )
    .unwrap();
    terminal.run("sh script.sh");
    repo.check("a script from a terminal", "HEAD", "human likely");
    terminal.run("setsid -w sh -c 'git commit -q --allow-empty -m x'");
    repo.check("away from the terminal", "HEAD", "unknown unknown");
}

#[test]
fn no_terminal_hides_a_stopped_agent() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let mut agent = Agent::started_by(&repo, "paused", &Agent::program(), |command| {
        terminal.run(&format!("{command} &"));
    });
    agent.begin("startup");
    agent.stop();
    terminal.run("kill -STOP %1; git commit -q --allow-empty -m 'meanwhile'; kill -CONT %1");
    repo.check("while the agent is stopped", "HEAD", "human certain");
}
