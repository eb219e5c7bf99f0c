//! Every field of a link through every layer, by enumerating the fields: a new one cannot be forgotten in any.

use serde_json::{Value, json};
use siglum_domain::link::{FIELDS, VARIABLES};

use super::{actions, audit, verify};
use crate::harness::World;
use crate::launching::{COMMIT, Launch, links, sessions};

/// A value for a field of any kind.
fn value(field: &str, n: u32) -> String {
    match field {
        "issue_number" | "pr_number" => format!("{n}"),
        "label" => format!("key{n}=value {n}"),
        _ => format!("{field} {n}"),
    }
}

/// The same as the audit has it: numbers are numbers.
fn json_value(field: &str, value: &str) -> Value {
    match field {
        "issue_number" | "pr_number" => json!(value.parse::<u64>().unwrap()),
        _ => json!(value),
    }
}

/// The flag of `siglum run` for a field, and the word of `--link` and `link add`.
fn word(field: &str) -> &str {
    match field {
        "issue_number" => "issue",
        "pr_number" => "pr",
        "pipeline_id" => "pipeline",
        "agent_role" => "role",
        other => other,
    }
}

/// The names of the fields that an answer shows.
fn shown(links: &[String]) -> Vec<&str> {
    links.iter().map(|l| l.split_once('=').unwrap().0).collect()
}

/// What must hold in each layer behind the launch of a session with these values.
fn arrived(world: &World, repo: &crate::harness::Repo<'_>, values: &[(&str, String)]) {
    let wanted: Vec<String> = values.iter().map(|(f, v)| format!("{f}={v}")).collect();
    let session = sessions(repo)[0]["id"].as_str().unwrap().to_owned();
    let short = &session[session.len() - 8..];

    let stated = world.count(&format!(
        "SELECT count(*) FROM statements WHERE kind = 'link_attached' AND hex(session) = upper('{}')",
        session.trim_start_matches("ses_")
    ));
    assert_eq!(stated, i64::try_from(FIELDS.len()).unwrap(), "statements");

    let created = audit(
        world,
        &["--session", &session, "--action", "session.created"],
    );
    let body = &created[0]["body"]["links"];
    let audited: Vec<&str> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut every = FIELDS.to_vec();
    every.sort_unstable();
    assert_eq!(audited, every, "fields in the audit");
    for (field, value) in values {
        assert_eq!(
            body[field],
            json!([json_value(field, value)]),
            "{field} in the audit"
        );
    }

    let why = repo.why("HEAD");
    assert_eq!(
        links(&why.0["committer"]),
        wanted,
        "the checkpoint of a commit"
    );
    let shown_session = world.json(&repo.dir, &["session", "show", &session]);
    assert_eq!(links(&shown_session["session"]), wanted, "session show");
    let listed = world.json(&repo.dir, &["link", "list", &session]);
    assert_eq!(links(&listed), wanted, "link list");

    for (field, value) in values {
        let fact = format!("{}={value}", word(field));
        let of = |fact: &str| {
            let found = world.json(&repo.dir, &["session", "list", "--link", fact]);
            let found = found["items"].as_array().unwrap().clone();
            found
                .iter()
                .map(|s| s["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&fact), [session.as_str()], "session list --link {fact}");
        let other = format!("{}={}", word(field), super::fields::value(field, 99));
        assert!(of(&other).is_empty(), "session list --link {other}");
    }

    let pipeline = &values.iter().find(|(f, _)| *f == "pipeline_id").unwrap().1;
    let found = audit(world, &["--pipeline", pipeline, "--session", short]);
    assert_eq!(actions(&found)[0], "session.created");
}

/// Launches an agent with these flags and variables, and lets it commit once.
fn launched(
    repo: &crate::harness::Repo<'_>,
    native: &str,
    flags: &str,
    variables: &[(&str, &str)],
) {
    let (mut agent, launch) = Launch::agent(repo, native, variables, flags);
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    agent.end("other");
    drop(agent);
    assert_eq!(launch.over(), Some(0));
}

#[test]
fn every_field_arrives_by_flag_and_by_variable() {
    let world = World::new();
    let repo = world.repo();

    let values: Vec<_> = FIELDS.iter().map(|f| (*f, value(f, 1))).collect();
    let flag = |(field, value): &(&str, String)| format!("--{} '{value}'", word(field));
    let flags: Vec<String> = values.iter().map(flag).collect();
    launched(&repo, "by-flag", &flags.join(" "), &[]);
    arrived(&world, &repo, &values);

    let values: Vec<_> = FIELDS.iter().map(|f| (*f, value(f, 2))).collect();
    let names: Vec<_> = VARIABLES
        .iter()
        .map(|(name, field)| (*name, *field))
        .collect();
    let named: Vec<(&str, &str)> = values
        .iter()
        .map(|(field, value)| {
            let known = names.iter().find(|(_, of)| of == field);
            (
                known.unwrap_or_else(|| panic!("{field} has no variable")).0,
                value.as_str(),
            )
        })
        .collect();
    launched(&repo, "by-variable", "", &named);
    arrived(&world, &repo, &values);
    verify(&world).ok();
}

#[test]
fn every_field_is_attached_and_detached_with_an_entry() {
    let world = World::new();
    let repo = world.repo();
    launched(&repo, "one", "", &[]);
    let session = sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
    for (verb, action) in [("add", "link.attached"), ("remove", "link.detached")] {
        for field in FIELDS {
            let fact = format!("{}={}", word(field), value(field, 3));
            for _ in 0..2 {
                repo.siglum(&["link", verb, &session, &fact]).ok();
            }
        }
        let entries = audit(&world, &["--action", action]);
        let named: Vec<Value> = entries.iter().map(|e| e["body"]["links"].clone()).collect();
        assert_eq!(named.len(), FIELDS.len(), "{action}: once each");
        for (field, links) in FIELDS.iter().zip(named) {
            let wanted = json!([json_value(field, &value(field, 3))]);
            assert_eq!(links[field], wanted, "{action}");
        }
        let standing = world.json(&repo.dir, &["link", "list", &session]);
        let standing = links(&standing);
        let wanted = if verb == "add" { FIELDS } else { &[] };
        assert_eq!(shown(&standing), wanted);
    }
}

#[test]
fn every_field_that_is_refused_is_in_the_audit_by_its_name_and_rule_alone() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["session", "list"]).ok();
    for field in FIELDS {
        let flag = format!("--{}", word(field));
        let bad = format!("  not-this\t{}", "x".repeat(300));
        let refused = repo.siglum(&["run", &flag, &bad, "--", "touch", "ran"]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    }
    assert!(!repo.dir.join("ran").exists());
    let entries = audit(&world, &["--refused"]);
    let fields: Vec<&str> = entries
        .iter()
        .map(|e| e["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, FIELDS);
    for entry in &entries {
        assert_eq!(entry["action"], "session.refused");
        assert!(!entry.to_string().contains("not-this"), "{entry}");
        assert!(!entry["reason"].as_str().unwrap().is_empty());
    }
    assert!(sessions(&repo).is_empty());
}
