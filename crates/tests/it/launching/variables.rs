//! Links by variables of the environment that an agent was started in, without `siglum run`: its hooks inherit them.

use serde_json::json;

use super::{COMMIT, Launch, called_session, launched, links, show};
use crate::harness::{Agent, Repo, World};

const ATTACHED: &str = "SELECT count(*) FROM statements WHERE body LIKE '%link_attached%'";

/// An agent whose process has these variables; it has said nothing yet.
fn started_with(repo: &Repo<'_>, native: &str, variables: &[(&str, &str)]) -> Agent {
    Agent::started_by(repo, native, &Agent::program(), |command| {
        let mut shell = Launch::command(repo, variables, &format!("{command} &"));
        assert!(shell.status().unwrap().success());
    })
}

/// What `siglum link list` says of a session.
fn listed(repo: &Repo<'_>, native: &str) -> String {
    let session = called_session(repo, native);
    repo.siglum(&["link", "list", &session]).ok()
}

#[test]
fn the_variables_of_an_agent_are_links_of_its_session() {
    let world = World::new();
    let repo = world.repo();
    let variables = [
        ("SIGLUM_ISSUE_NUMBER", "42"),
        ("EGG_ISSUE_NUMBER", "7"),
        ("EGG_PR_NUMBER", "701"),
        ("SIGLUM_PIPELINE_ID", "issue-42"),
        ("EGG_AGENT_ROLE", "coder"),
        ("SIGLUM_PHASE", ""),
        ("EGG_PIPELINE_PHASE", "build"),
        ("SIGLUM_LABELS", "team=core,tier=1"),
    ];
    let mut agent = started_with(&repo, "one", &variables);
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    agent.stop();
    agent.prompt("And more.");
    agent.hook("SessionStart", json!({ "source": "resume" }));
    let wanted = [
        "issue_number=42",
        "pr_number=701",
        "pipeline_id=issue-42",
        "agent_role=coder",
        "phase=build",
        "label=team=core",
        "label=tier=1",
    ];
    assert_eq!(links(&repo.why("HEAD").0["committer"]), wanted);
    assert_eq!(links(&show(&repo, "one")["session"]), wanted);
    let listed = listed(&repo, "one");
    for variable in ["SIGLUM_ISSUE_NUMBER", "EGG_PR_NUMBER", "SIGLUM_LABELS"] {
        assert!(listed.contains(&format!("variable {variable}")), "{listed}");
    }
    assert_eq!(world.count(ATTACHED), 7, "each once");
    assert_eq!(world.declines(), [""; 0]);
}

#[test]
fn a_turn_attaches_what_no_start_did_and_nothing_comes_back_that_was_detached() {
    let world = World::new();
    let repo = world.repo();
    let variables = [("SIGLUM_ISSUE_NUMBER", "42"), ("SIGLUM_PHASE", "plan")];
    let mut before = Agent::start(&repo, "one");
    before.stop();
    before.kill();
    let mut agent = started_with(&repo, "one", &variables);
    let later = |n: u32| json!({ "prompt": "Go on.", "prompt_id": format!("later-{n}") });
    agent.hook("UserPromptSubmit", later(1));
    assert_eq!(
        links(&show(&repo, "one")["session"]),
        ["issue_number=42", "phase=plan"]
    );
    repo.siglum(&["link", "remove", "one", "phase=plan"]).ok();
    agent.hook("UserPromptSubmit", later(2));
    agent.hook("SessionStart", json!({ "source": "resume" }));
    assert_eq!(links(&show(&repo, "one")["session"]), ["issue_number=42"]);
    assert_eq!(world.count(ATTACHED), 2);
}

#[test]
fn a_bad_variable_of_an_agent_is_declined_once_with_its_exact_bytes() {
    let world = World::new();
    let repo = world.repo();
    let secret = format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36]);
    let variables = [
        ("SIGLUM_ISSUE_NUMBER", "4\t2"),
        ("EGG_PIPELINE_PHASE", "bu\u{200b}ild"),
        ("EGG_AGENT_ROLE", secret.as_str()),
        ("EGG_PR_NUMBER", "5"),
    ];
    let mut agent = started_with(&repo, "one", &variables);
    agent.begin("startup");
    agent.stop();
    agent.prompt("Again.");
    assert_eq!(links(&show(&repo, "one")["session"]), ["pr_number=5"]);
    let mut declines = world.declines();
    declines.sort();
    let of = |variable: &str| format!("bad_variable {variable}");
    let bad = [
        "EGG_AGENT_ROLE",
        "EGG_PIPELINE_PHASE",
        "SIGLUM_ISSUE_NUMBER",
    ];
    assert_eq!(declines, bad.map(of));
    let report = repo.siglum(&["doctor"]).stdout;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let report = words(&report);
    let db = world.store();
    let mut details = db.prepare("SELECT detail FROM declines").unwrap();
    let details = details
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let details: Vec<String> = details.map(Result::unwrap).collect();
    let all = details.join("\n");
    assert!(all.contains(r"SIGLUM_ISSUE_NUMBER is `4\t2`"), "{all}");
    assert!(
        all.contains(r"EGG_PIPELINE_PHASE is `bu\u{200b}ild`"),
        "{all}"
    );
    assert!(all.contains("EGG_AGENT_ROLE is `"), "{all}");
    assert!(!all.contains("a1B2c3D4e5"), "{all}");
    let shown = words(&repo.siglum(&["show", "one"]).ok());
    let audit = world.json(&repo.dir, &["audit", "list", "--refused"]);
    let entries = audit["items"].as_array().unwrap().iter();
    let reasons: Vec<&str> = entries.map(|e| e["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 3, "{audit}");
    for detail in details {
        let expected = words(&detail);
        assert!(report.contains(&expected), "{detail}\n{report}");
        assert!(shown.contains(&expected), "{detail}\n{shown}");
        assert!(reasons.contains(&detail.as_str()), "{audit}");
    }
}

#[test]
fn what_siglum_run_launched_keeps_its_links_and_gets_none_twice() {
    let world = World::new();
    let repo = world.repo();
    let variables = [("EGG_ISSUE_NUMBER", "42"), ("EGG_PR_NUMBER", "5")];
    let (mut agent, launch) = Launch::agent(&repo, "one", &variables, "--issue 78");
    agent.begin("startup");
    agent.stop();
    agent.prompt("Again.");
    agent.hook("SessionStart", json!({ "source": "compact" }));
    assert_eq!(
        links(&launched(&repo)["session"]),
        ["issue_number=78", "pr_number=5"]
    );
    assert_eq!(world.count(ATTACHED), 2);
    let mut inner = agent.nested(&repo, "inner", &Agent::program());
    inner.begin("startup");
    // It has the variables, and was not launched.
    assert_eq!(links(&show(&repo, "inner")["session"]), [""; 0]);
    drop((inner, agent));
    launch.over();
}
