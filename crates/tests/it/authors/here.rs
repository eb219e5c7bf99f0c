//! Lines of files as they stand in a checkout: committed or not, one, several or all of them.

use std::fs;

use serde_json::Value;

use crate::harness::{Agent, Repo, World};

/// `1-2 one certain <commit> "prompt"`, for each run of lines.
fn runs(repo: &Repo<'_>, target: &str) -> Vec<String> {
    let answer = repo.world.json(&repo.dir, &["why", target]);
    let runs = answer["runs"].as_array().unwrap().iter();
    let run = |run: &Value| {
        let resume = run["resume"].as_str().unwrap_or_default();
        let session = ["one", "two"]
            .into_iter()
            .find(|native| resume.ends_with(native));
        let commit = run["commit"].as_str().map_or("not yet", |id| &id[..7]);
        format!(
            "{}-{} {} {} {commit} {:?}",
            run["first"],
            run["last"],
            session.unwrap_or("nobody"),
            run["verdict"].as_str().unwrap(),
            run["prompt"]["text"].as_str().unwrap_or_default(),
        )
    };
    runs.map(run).collect()
}

#[test]
fn lines_that_are_not_committed_have_their_author_and_prompt() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("printf 'a\\nb\\nc\\n' >file && git add file && git commit -q -m base")
        .ok();
    let base = repo.id("HEAD")[..7].to_owned();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Say more of b.");
    one.edit("file", "b\n", "b\nmore of b\n");
    let mut two = Agent::start(&repo, "two");
    two.prompt("End it.");
    two.edit("file", "c\n", "c\nthe end\n");
    two.write("fresh", "all\nnew\n");
    let third = "3-3 one certain not yet \"Say more of b.\"";
    assert_eq!(runs(&repo, "file:3"), [third]);
    // What is left of edits behind a change that nobody saw is likely.
    let text = fs::read_to_string(repo.dir.join("file")).unwrap();
    fs::write(repo.dir.join("file"), format!("{text}by hand\n")).unwrap();
    let expected = [
        format!("1-2 nobody unknown {base} \"\""),
        "3-3 one likely not yet \"Say more of b.\"".to_owned(),
        format!("4-4 nobody unknown {base} \"\""),
        "5-5 two likely not yet \"End it.\"".to_owned(),
        "6-6 nobody unknown not yet \"\"".to_owned(),
    ];
    assert_eq!(runs(&repo, "file"), expected);
    assert_eq!(runs(&repo, "file:2-4")[1], expected[1]);
    assert_eq!(runs(&repo, "file:3"), expected[1..2]);
    let fresh = ["1-2 two certain not yet \"End it.\""];
    assert_eq!(runs(&repo, "fresh"), fresh);
    repo.sh("git add fresh").ok();
    assert_eq!(runs(&repo, "fresh"), fresh, "staged");

    let page = repo.siglum(&["why", "file:3"]).ok();
    assert!(
        page.contains("not committed yet") && page.contains("Say more of b."),
        "{page}"
    );
    let page = repo.siglum(&["why", "file"]).ok();
    assert!(
        page.contains("not yet") && page.contains("not observed"),
        "{page}"
    );
    let beyond = repo.siglum(&["why", "file:9"]);
    assert_eq!(beyond.code, Some(3), "{}", beyond.stderr);
    assert!(
        beyond.stderr.contains("it has 6 lines"),
        "{}",
        beyond.stderr
    );

    two.sh("git add . && git commit -q -m 'Add all'").ok();
    let commit = repo.id("HEAD")[..7].to_owned();
    let committed = |line: &String| line.replace("not yet", &commit);
    let expected: Vec<String> = expected.iter().map(committed).collect();
    assert_eq!(runs(&repo, "file"), expected);
    repo.sh("git branch fresh").ok();
    assert_eq!(
        repo.why("fresh").committer(),
        two.certain(),
        "a commit goes before a file"
    );
}
