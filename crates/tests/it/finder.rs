//! The finder of `siglum search` and `siglum resume`, at a real terminal.

use std::fs;

use crate::harness::{Agent, Repo, Terminal, World, until};
use crate::resuming::{SESSION, stored_talk, world_with};

/// With this the terminal shows again what it showed before.
const LEAVE: &str = "\u{1b}[?1049l";

/// A terminal of 80 columns and 24 rows.
fn terminal(repo: &Repo<'_>) -> Terminal {
    let mut terminal = Terminal::open(repo);
    terminal.run("stty rows 24 cols 80");
    terminal
}

/// A command line of the program, at a terminal without colours.
fn siglum(words: &str) -> String {
    let program = World::program();
    format!(
        "NO_COLOR=1 TERM=xterm {} --no-pager {words}",
        program.display()
    )
}

/// Starts a command that opens the finder, and waits until it shows something, which its first picture may do.
#[track_caller]
fn open(terminal: &mut Terminal, command: &str, shown: &str) -> String {
    let first = terminal.keys(&format!("{command}\n"), "Esc leave");
    if first.contains(shown) {
        return first;
    }
    first + &terminal.keys("", shown)
}

/// Waits until the index has all, and the newest session a title.
fn indexed(repo: &Repo<'_>) {
    let json = |words: &[&str]| repo.world.json(&repo.dir, words);
    until("all is indexed", || {
        repo.siglum(&["worker", "--once"]).ok();
        let listed = json(&["session", "list", "--limit", "1"]);
        let index = json(&["search", "round"])["index"].take();
        listed["items"][0]["title"].is_string() && index["used"] == true && index["behind"] == 0
    });
}

/// A session with this prompt and a command.
fn session(repo: &Repo<'_>, native: &str, prompt: &str, command: &str) {
    let mut agent = Agent::start(repo, native);
    agent.prompt(prompt);
    agent.sh(command);
    agent.end("exit");
    indexed(repo);
}

#[test]
fn a_person_types_and_reads_what_is_found() {
    let world = World::new();
    let repo = world.repo();
    session(&repo, "one", "Look at the carts", "echo round_zebra_even");
    session(&repo, "two", "Look at the bills", "true");
    let mut terminal = terminal(&repo);
    open(&mut terminal, &siglum("search"), "2 sessions");
    let typed = terminal.keys("zebr", "1 session found");
    assert!(typed.contains("Search: zebr"), "{typed}");
    terminal.keys("", "> Look at the carts");
    terminal.keys("\r", LEAVE);
    terminal.keys("", "Turn 2");
    terminal.keys("", "Look at the carts");
    assert_eq!(terminal.ended().0, "0");
}

#[test]
fn arrows_choose_and_a_key_before_the_answer_waits_for_it() {
    let world = World::new();
    let repo = world.repo();
    session(&repo, "one", "Look at the carts", "echo round_zebra_even");
    session(&repo, "two", "Look at the bills", "true");
    let mut terminal = terminal(&repo);
    open(&mut terminal, &siglum("search"), "2 sessions");
    // The newest comes first.
    terminal.keys("\u{1b}[B\r", LEAVE);
    terminal.keys("", "  > Look at the carts");
    assert_eq!(terminal.ended().0, "0");
    open(&mut terminal, &siglum("search"), "2 sessions");
    terminal.keys("\u{1b}OB\u{1b}[A\r", LEAVE);
    terminal.keys("", "  > Look at the bills");
    assert_eq!(terminal.ended().0, "0");
    open(&mut terminal, &siglum("search"), "2 sessions");
    terminal.keys("zebra\r", LEAVE);
    terminal.keys("", "Turn 2");
    terminal.keys("", "Look at the carts");
    assert_eq!(terminal.ended().0, "0");
}

#[test]
fn what_is_no_query_and_what_is_not_there_is_told() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = terminal(&repo);
    open(&mut terminal, &siglum("search"), "No sessions yet");
    terminal.keys("\"cart", "has no end");
    terminal.keys("\"", "No matches");
    terminal.keys("\u{15}is:open", "`is:error` is the only one of its kind");
    // Nothing is chosen where nothing is listed; the escape key alone leaves.
    terminal.keys("\r\u{12}\u{19}\u{1b}", LEAVE);
    assert_eq!(terminal.ended().0, "130");
}

#[test]
fn a_key_resumes_the_session_and_another_one_copies_its_id() {
    let world = world_with("claude");
    let repo = world.repo();
    drop(stored_talk(&repo));
    indexed(&repo);
    let mut terminal = terminal(&repo);
    open(&mut terminal, &siglum("search"), "1 session");
    let copied = terminal.keys("\u{19}", "Copied, if the terminal allows it: ses_");
    // The id, as the clipboard of a terminal takes it.
    assert!(copied.contains("\u{1b}]52;c;c2VzX"), "{copied}");
    terminal.keys("\u{12}", LEAVE);
    terminal.keys("", "<--resume>");
    terminal.keys("", &format!("<{SESSION}>"));
    assert_eq!(terminal.ended().0, "0");

    let first = open(&mut terminal, &siglum("resume"), "1 session");
    assert!(first.contains("Resume: "), "{first}");
    terminal.keys("taxes\r", LEAVE);
    terminal.keys("", &format!("<{SESSION}>"));
    assert_eq!(terminal.ended().0, "0");

    open(&mut terminal, &siglum("resume"), "1 session");
    terminal.keys("\u{3}", LEAVE);
    terminal.keys("", "no session was chosen");
    assert_eq!(terminal.ended().0, "1");
}

#[test]
fn words_of_several_sessions_open_the_finder_of_resume() {
    let world = world_with("claude");
    let repo = world.repo();
    drop(stored_talk(&repo));
    session(&repo, "other-session", "Round the corner", "true");
    let mut terminal = terminal(&repo);
    open(&mut terminal, &siglum("resume round"), "2 sessions found");
    terminal.keys(" cart", "1 session found");
    terminal.keys("\r", &format!("<{SESSION}>"));
    assert_eq!(terminal.ended().0, "0");
}

#[test]
fn the_conversation_moves_beside_the_list_in_a_wide_terminal() {
    let world = World::new();
    let repo = world.repo();
    session(&repo, "one", "Look at the carts", "true");
    let mut terminal = terminal(&repo);
    let shown = terminal.run("tty");
    let mut words = shown.split_whitespace();
    let name = words.find(|word| word.starts_with("/dev/"));
    let name = name.unwrap_or_else(|| panic!("{shown}"));
    let narrow = open(&mut terminal, &siglum("search"), "> Look at the carts");
    assert!(narrow.contains(&"─".repeat(80)), "{narrow}");
    assert!(!narrow.contains('│'), "{narrow}");
    repo.sh(&format!("stty rows 30 cols 160 <{name}")).ok();
    terminal.keys("", "│ > Look at the carts");
    repo.sh(&format!("stty rows 24 cols 80 <{name}")).ok();
    terminal.keys("", &"─".repeat(80));
    repo.sh(&format!("stty rows 2 cols 9 <{name}")).ok();
    terminal.keys("\u{3}", LEAVE);
    assert_eq!(terminal.ended().0, "130");
}

/// A script that runs a program and writes down how the terminal is before and after it, which process it is, and how it
/// ends.
const AROUND: &str = "\
stty -g >before
sh -c 'echo $$ >pid; exec \"$@\"' sh \"$@\"
echo $? >code
stty -g >after
";

/// The command line of the program in that script.
fn around(repo: &Repo<'_>, words: &str) -> String {
    for old in ["before", "pid", "code", "after"] {
        let _ = fs::remove_file(repo.dir.join(old));
    }
    let script = repo.world.root.join("around.sh");
    fs::write(&script, AROUND).unwrap();
    let program = World::program();
    format!(
        "NO_COLOR=1 TERM=xterm sh {} {} {words}",
        script.display(),
        program.display()
    )
}

/// The finder in that script, at an empty ledger.
fn opened_around(repo: &Repo<'_>) -> Terminal {
    let mut terminal = terminal(repo);
    open(&mut terminal, &around(repo, "search"), "No sessions yet");
    terminal
}

/// Looks that the terminal is as it was before the program, and gives the exit code of that.
#[track_caller]
fn code_around(repo: &Repo<'_>, how: &str) -> String {
    let read = |name: &str| fs::read_to_string(repo.dir.join(name)).unwrap_or_default();
    until("the script is done", || read("after").ends_with('\n'));
    assert_eq!(read("before"), read("after"), "{how}");
    read("code").trim().to_owned()
}

#[test]
fn whatever_ends_it_the_terminal_is_as_it_was() {
    let world = World::new();
    let repo = world.repo();
    for key in ["\u{3}", "\u{1b}", "\u{7}", "\u{4}"] {
        let mut terminal = opened_around(&repo);
        let left = terminal.keys(key, LEAVE);
        for off in ["\u{1b}[?2004l", "\u{1b}[?7h", "\u{1b}[?25h"] {
            assert!(left.contains(off), "{left:?}");
        }
        assert_eq!(code_around(&repo, &format!("{key:?}")), "130");
        terminal.ended();
    }
    for signal in ["INT", "TERM", "HUP", "QUIT"] {
        let mut terminal = opened_around(&repo);
        repo.sh(&format!("kill -{signal} $(cat pid)")).ok();
        terminal.keys("", LEAVE);
        assert_eq!(code_around(&repo, signal), "130");
        terminal.ended();
    }
}

#[test]
fn it_gives_the_terminal_to_the_shell_and_takes_it_again() {
    let world = World::new();
    let repo = world.repo();
    let stops: [&dyn Fn(&mut Terminal); 2] = [
        &|terminal: &mut Terminal| {
            terminal.keys("\u{1a}", LEAVE);
        },
        &|terminal: &mut Terminal| {
            repo.sh("kill -TSTP $(cat pid)").ok();
            terminal.keys("", LEAVE);
        },
    ];
    for stop in stops {
        let mut terminal = opened_around(&repo);
        stop(&mut terminal);
        terminal.keys("", "Stopped");
        assert!(terminal.run("stty -a").contains(" icanon"));
        terminal.keys("fg\n", "Esc leave");
        terminal.keys("x", "No matches");
        terminal.keys("\u{3}", LEAVE);
        assert_eq!(code_around(&repo, "stopped"), "130");
        terminal.ended();
    }
}

#[test]
fn a_pager_that_is_killed_leaves_the_terminal_as_it_was() {
    let world = World::new();
    let repo = world.repo();
    let pager = world.root.join("pager.sh");
    fs::write(&pager, "stty raw </dev/tty\nkill -9 $$\n").unwrap();
    let mut terminal = terminal(&repo);
    let command = around(&repo, "log");
    terminal.run(&format!("GIT_PAGER='sh {}' {command}", pager.display()));
    code_around(&repo, "a pager was killed");
}

#[test]
fn nothing_that_a_transcript_says_is_obeyed() {
    let world = World::new();
    let repo = world.repo();
    let prompt = "Look \u{1b}]52;c;aGk=\u{7} at \u{9b}2J \u{202e}this needle";
    session(&repo, "one", prompt, "printf 'in\\033]0;title\\007put'");
    let mut terminal = terminal(&repo);
    let mut shown = open(&mut terminal, &siglum("search"), "1 session");
    shown += &terminal.keys("", "needle");
    shown += &terminal.keys("needle", "1 session found");
    shown += &terminal.keys("", "\\u{1b}]52;c;aGk=");
    shown += &terminal.keys("\u{1b}", LEAVE);
    for hazard in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!shown.contains(hazard), "{hazard:?}: {shown:?}");
    }
}

#[test]
fn without_a_terminal_terms_are_needed() {
    let world = World::new();
    let repo = world.repo();
    for words in [
        &["search"][..],
        &["search", "--team"],
        &["search", "--json"],
    ] {
        let ran = repo.siglum(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains("no search terms given"), "{ran:?}");
    }
    let mut terminal = terminal(&repo);
    let program = World::program();
    let (code, shown) = terminal.type_in(&format!("{} search", program.display()));
    assert_eq!(code, "2", "a terminal that has no other screen: {shown}");
}
