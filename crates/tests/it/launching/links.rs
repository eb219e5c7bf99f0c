//! Issue, pull request, pipeline, role, phase and labels: from flags and variables to the commit.

use super::{COMMIT, Launch, launched, links, sessions};
use crate::harness::World;

#[test]
fn what_the_launcher_knows_is_in_the_answer_for_a_commit() {
    let world = World::new();
    let repo = world.repo();
    let variables = [
        ("SIGLUM_ISSUE_NUMBER", "42"),
        ("EGG_ISSUE_NUMBER", "7"),
        ("EGG_PR_NUMBER", "701"),
        ("EGG_PIPELINE_ID", "issue-42"),
        ("EGG_AGENT_ROLE", "coder"),
        ("SIGLUM_LABELS", "team=core,tier=1"),
        ("EGG_PIPELINE_PHASE", ""),
    ];
    let flags = "--role reviewer --label tier=2 --phase implement";
    let (mut agent, launch) = Launch::agent(&repo, "one", &variables, flags);
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    repo.check("below the launcher", "HEAD", &agent.certain());
    let why = repo.why("HEAD");
    assert!(why.says("the launcher bound this agent process"), "{why}");
    let wanted = [
        "issue_number=42",
        "pr_number=701",
        "pipeline_id=issue-42",
        "agent_role=reviewer",
        "phase=implement",
        "label=team=core",
        "label=tier=2",
    ];
    assert_eq!(links(&why.0["committer"]), wanted);

    let session = launched(&repo);
    assert_eq!(session["session"]["agent"], "claude-code");
    assert_eq!(session["native_ids"], serde_json::json!(["one"]));
    assert_eq!(session["launch"]["state"], "running");
    assert_eq!(links(&session["session"]), wanted);
    assert_eq!(
        sessions(&repo).len(),
        1,
        "the agent's session is the launched one"
    );
    let id = session["session"]["id"].as_str().unwrap();
    let listed = repo.siglum(&["link", "list", id]).ok();
    for source in [
        "flag --role",
        "variable SIGLUM_ISSUE_NUMBER",
        "variable EGG_PR_NUMBER",
    ] {
        assert!(listed.contains(source), "{listed}");
    }

    agent.end("other");
    drop(agent);
    assert_eq!(launch.over(), Some(0));
    let session = launched(&repo);
    assert_eq!(session["launch"]["state"], "completed");
    assert_eq!(session["session"]["state"], "ended");
    assert_eq!(links(&repo.why("HEAD").0["committer"]), wanted);
}

#[test]
fn a_bad_flag_is_refused_and_nothing_happens() {
    let world = World::new();
    let repo = world.repo();
    let mark = world.root.join("ran");
    let worktrees = world.siglum_home().join("worktrees");
    for (flags, field) in [
        (&["--issue", "0"][..], "issue_number"),
        (&["--issue", "-1"], "issue_number"),
        (&["--issue", "12.5"], "issue_number"),
        (&["--issue", ""], "issue_number"),
        (&["--issue", "9007199254740992"], "issue_number"),
        (&["--pr", "true"], "pr_number"),
        (&["--pipeline", " x"], "pipeline_id"),
        (&["--role", &"r".repeat(65)], "agent_role"),
        (&["--phase", "a\nb"], "phase"),
        (&["--label", "novalue"], "label"),
        (&["--agent", "No Such"], "agent"),
        (&["--worktree=a..b"], "branch"),
    ] {
        let flags = [&["run"], flags, &["--worktree", "--", "touch"]].concat();
        let flags: Vec<&str> = match flags.iter().filter(|f| f.starts_with("--worktree")).count() {
            2 => flags.into_iter().filter(|f| *f != "--worktree").collect(),
            _ => flags,
        };
        let ran = repo.siglum(&[&flags[..], &[mark.to_str().unwrap()]].concat());
        let code = if field == "branch" { 1 } else { 2 };
        assert_eq!(ran.code, Some(code), "{flags:?} {ran:?}");
        assert!(ran.stderr.contains(field), "{flags:?} {}", ran.stderr);
        assert!(!mark.exists(), "{flags:?} ran");
    }
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 0);
    assert_eq!(world.count("SELECT count(*) FROM statements"), 0);
    let empty = |dir: &std::path::Path| std::fs::read_dir(dir).map_or(0, Iterator::count) == 0;
    assert!(empty(&worktrees) && empty(&world.siglum_home().join("launches")));
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn a_bad_variable_is_named_and_left_out_and_the_launch_goes_on() {
    let world = World::new();
    let repo = world.repo();
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let secret = &secret[..40];
    let siglum = World::program();
    for bad in ["12.5", "0", "abc", "-3", " 42", "007", secret] {
        let variables = [("EGG_PR_NUMBER", bad), ("EGG_ISSUE_NUMBER", "42")];
        let script = format!("'{}' run -- sh -c 'echo ran'", siglum.display());
        let output = Launch::command(&repo, &variables, &script)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.stdout, b"ran\n", "{stderr}");
        assert!(stderr.contains("EGG_PR_NUMBER"), "{stderr}");
        assert!(stderr.contains(bad) != (bad == secret), "{stderr}");
        let id = sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(
            links(&super::show(&repo, &id)["session"]),
            ["issue_number=42"],
            "{bad}"
        );
    }
}

#[test]
fn an_empty_variable_is_as_if_it_were_not_there() {
    let world = World::new();
    let repo = world.repo();
    let siglum = World::program();
    let names = [
        "EGG_ISSUE_NUMBER",
        "EGG_PR_NUMBER",
        "EGG_PIPELINE_ID",
        "EGG_AGENT_ROLE",
        "EGG_PIPELINE_PHASE",
        "SIGLUM_ISSUE_NUMBER",
        "SIGLUM_LABELS",
    ];
    for blank in ["", "  "] {
        let variables = names.map(|name| (name, blank));
        let script = format!("'{}' run -- true", siglum.display());
        let output = Launch::command(&repo, &variables, &script)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        for name in names {
            assert!(!stderr.contains(name), "{name}: {stderr}");
        }
        let id = sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(
            links(&super::show(&repo, &id)["session"]),
            [""; 0],
            "{blank:?}"
        );
    }
    assert_eq!(sessions(&repo).len(), 2);
}

#[test]
fn a_launch_that_is_tried_again_carries_the_same_links() {
    let world = World::new();
    let repo = world.repo();
    let siglum = World::program();
    let script = format!("'{}' run --pr 5 -- sh -c 'exit 3'", siglum.display());
    let variables = [("SIGLUM_PIPELINE_ID", "nightly")];
    for _ in 0..2 {
        let mut launch = Launch::command(&repo, &variables, &script);
        assert_eq!(launch.status().unwrap().code(), Some(3));
    }
    let all = sessions(&repo);
    assert_eq!(all.len(), 2);
    for session in all {
        let session = super::show(&repo, session["id"].as_str().unwrap());
        assert_eq!(
            links(&session["session"]),
            ["pr_number=5", "pipeline_id=nightly"]
        );
    }
}

#[test]
fn trace_context_is_handed_on_and_the_session_added() {
    let world = World::new();
    let repo = world.repo();
    let siglum = World::program();
    let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let seen = |parent: &str| {
        let variables = [
            ("TRACEPARENT", parent),
            ("TRACESTATE", "a=b"),
            ("BAGGAGE", "k=v"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,host.id=%2C"),
        ];
        let print = "echo \"$TRACEPARENT|$TRACESTATE|$BAGGAGE|$OTEL_RESOURCE_ATTRIBUTES|$SIGLUM_SESSION_ID\"";
        let script = format!("'{}' run -- sh -c '{print}'", siglum.display());
        let output = Launch::command(&repo, &variables, &script)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let fields = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    let kept = fields(&seen(valid));
    let attributes =
        |session: &str| format!("service.name=x,host.id=%2C,siglum.session.id={session}");
    assert!(kept[4].starts_with("ses_"), "{kept:?}");
    assert_eq!(
        kept[..4],
        [valid, "a=b", "k=v", attributes(&kept[4]).as_str()]
    );
    let dropped = fields(&seen("garbage"));
    assert_eq!(
        dropped[..4],
        ["", "", "k=v", attributes(&dropped[4]).as_str()]
    );
}
