//! Logging in at the team's gateway, and jobs of CI systems that need no login: the commands, against a played issuer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::issuers::{JOBS, PEOPLE, configure, serving};
use super::server::{Gateway, audited, on_a_file, siglum};
use crate::harness::issuer::{CODE, Entered, PAGE};
use crate::harness::{Agent, Issuer, Repo, SigningKey, World, until, until_within};
use crate::moved_repositories::{looked_at, repo_in};

fn started() -> Issuer {
    Issuer::start(SigningKey::ed25519("a", 1))
}

/// The files in which logins and tokens are kept.
fn kept(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.siglum_home().join("tokens"));
    let entries = entries.into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end != "lock"));
    files
}

/// A repository with this remote and a commit of a session, and nothing that is still to be done.
fn worked_in<'w>(world: &'w World, remote: &str) -> Repo<'w> {
    let repo = world.repo_made_by(&format!(
        "git init -q -b main . && git commit -q --allow-empty -m base && git remote add origin {remote}"
    ));
    let mut agent = Agent::start(&repo, "one");
    agent.prompt("Do the work.");
    agent.sh("git commit -q --allow-empty -m work");
    agent.stop();
    agent.end("exit");
    agent.quit();
    until("the worker has left", || world.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
    looked_at(world);
    repo
}

/// How many sessions a gateway has.
fn sessions(gateway: &Gateway) -> usize {
    let listed = gateway.launcher().get("/v1/sessions").is(200);
    listed["items"].as_array().unwrap().len()
}

#[test]
fn who_logs_in_sends_and_reads_by_that_until_they_log_out() {
    on_a_file(|store| {
        let issuer = started();
        let gateway = serving(store, &issuer, PEOPLE);
        let laptop = World::new();
        let repo = worked_in(&laptop, "https://github.com/acme/shop.git");
        issuer.polls([Entered::Pending, Entered::SlowDown]);
        let ran = repo.siglum(&["login", &gateway.address]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(PAGE) && ran.stdout.contains(CODE),
            "{ran:?}"
        );
        let done = format!("Logged in to {} as ann@example.org.", gateway.address);
        assert!(ran.stderr.contains(&done), "{ran:?}");
        for secret in ["eyJ", "refresh-", "device-code"] {
            assert!(!format!("{ran:?}").contains(secret), "{ran:?}");
        }
        assert_eq!(issuer.count("/token"), 3, "pending, slower, and then");
        let [file]: [PathBuf; 1] = kept(&laptop).try_into().unwrap();
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        repo.siglum(&["sync", "--to", &gateway.address]).ok();
        assert_eq!(sessions(&gateway), 1);
        let registered = audited(&gateway, "ledger.registered");
        let actor = registered[0]["actor"].as_str().unwrap();
        assert!(actor.ends_with(" ann@example.org (7) of corp"), "{actor}");
        let status = repo.siglum(&["status"]).ok();
        let named = format!("{} as ann@example.org", gateway.address);
        assert!(status.contains(&named), "{status}");
        let status = laptop.json(&repo.dir, &["status"]);
        assert_eq!(status["logins"][0]["name"], "ann@example.org", "{status}");
        let listed = repo.siglum(&["session", "list", "--team"]).ok();
        assert!(listed.contains(&gateway.address), "{listed}");
        // What is in no scope is not asked about, whoever is logged in.
        let private = repo_in(&laptop, "private");
        private
            .sh("git remote add origin https://github.com/ann/private.git")
            .ok();
        let refused = private.siglum(&["session", "list", "--team"]);
        assert_eq!(refused.code, Some(3), "{refused:?}");
        let doctor = repo.siglum(&["doctor"]).stdout;
        assert!(
            doctor.contains("the token reads commits, sessions"),
            "{doctor}"
        );
        let log = fs::read_to_string(laptop.siglum_home().join("siglum.log")).unwrap_or_default();
        assert!(!log.contains("eyJ") && !log.contains("refresh-"), "{log}");
        let out = repo.siglum(&["logout"]);
        assert!(out.stderr.contains("Logged out of"), "{out:?}");
        assert!(kept(&laptop).is_empty());
        let nobody = repo.siglum(&["session", "list", "--team"]);
        assert_eq!(nobody.code, Some(3), "{nobody:?}");
        assert_eq!(repo.siglum(&["logout"]).code, Some(3));
    });
}

#[test]
fn a_login_is_renewed_before_it_expires_and_said_to_be_over_when_it_cannot_be() {
    on_a_file(|store| {
        let issuer = started();
        // So soon that each command needs another token.
        issuer.issues(json!({}), 8);
        let gateway = serving(store, &issuer, PEOPLE);
        let laptop = World::new();
        let dir = laptop.root.clone();
        laptop.siglum(&dir, &["login", &gateway.address]).ok();
        let list = || laptop.siglum(&dir, &["session", "list", "--team", "--all"]);
        for count in [2, 3] {
            list().ok();
            assert_eq!(issuer.count("/token"), count);
        }
        issuer.forget_refresh();
        let mut last = list();
        until_within(Duration::from_secs(60), "the login is over", || {
            last = list();
            // One that began before may be refused by the gateway: the token expired on the way.
            last.stderr.contains("has expired")
        });
        assert_eq!(last.code, Some(1), "{last:?}");
        let words = "the login of ann@example.org at ";
        assert!(last.stderr.contains(words), "{last:?}");
        assert!(last.stderr.contains("invalid_grant"), "{last:?}");
        let hint = format!("siglum login {}", gateway.address);
        assert!(last.stderr.contains(&hint), "{last:?}");
        assert!(!format!("{last:?}").contains("eyJ"), "{last:?}");
    });
}

#[test]
fn a_login_that_is_refused_or_not_taken_leaves_nothing() {
    on_a_file(|store| {
        let issuer = started();
        let gateway = serving(store, &issuer, PEOPLE);
        let laptop = World::new();
        let login = |words: &str| {
            let ran = laptop.siglum(&laptop.root, &["login", &gateway.address]);
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert!(ran.stderr.contains(words), "{words}: {ran:?}");
            assert!(kept(&laptop).is_empty(), "{words}");
        };
        issuer.polls([Entered::Denied]);
        login("the login was refused");
        issuer.polls([Entered::Expired]);
        login("before it expired");
        issuer.issues(json!({ "aud": "another" }), 600);
        login("token-invalid");
        issuer.set_away(true);
        login("cannot reach");
        configure(store, "");
        let other = gateway.beside(store);
        let ran = laptop.siglum(&laptop.root, &["login", &other.address]);
        assert!(ran.stderr.contains("has no issuer"), "{ran:?}");
        for (args, code) in [
            (["login", "http://gateway.example"], 2),
            (["login", "https://a@b"], 2),
            (["logout", "https://gateway.example"], 3),
        ] {
            let ran = laptop.siglum(&laptop.root, &args);
            assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        }
    });
}

/// A laptop that had a token speaks for its ledger by that token, until the operator says otherwise.
#[test]
fn a_laptop_that_had_a_token_logs_in_once_its_ledger_is_released() {
    on_a_file(|store| {
        let issuer = started();
        let gateway = serving(store, &issuer, PEOPLE);
        let laptop = World::new();
        let repo = worked_in(&laptop, "https://github.com/acme/shop.git");
        let file = laptop.root.join("token");
        fs::write(&file, &gateway.token).unwrap();
        let sync = ["sync", "--to", &gateway.address, "--token-file"];
        repo.siglum(&[&sync[..], &[file.to_str().unwrap()]].concat())
            .ok();
        repo.siglum(&["login", &gateway.address]).ok();
        let mut agent = Agent::start(&repo, "two");
        agent.prompt("Do more.");
        agent.stop();
        agent.end("exit");
        agent.quit();
        until("the worker has left", || laptop.processes().is_empty());
        let refused = repo.siglum(&["sync"]);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        let words = "siglum token release ";
        assert!(refused.stderr.contains(words), "{refused:?}");
        let (_, rest) = refused.stderr.split_once(words).unwrap();
        let ledger: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        let released = siglum(store, &["token", "release", &ledger]);
        assert_eq!(released["ledger"], ledger, "{released}");
        repo.siglum(&["sync"]).ok();
        assert_eq!(audited(&gateway, "ledger.released").len(), 1);
        let registered = audited(&gateway, "ledger.registered");
        let actor = registered[0]["actor"].as_str().unwrap();
        assert!(actor.ends_with(" of corp"), "{actor}");
        assert_eq!(sessions(&gateway), 2);
    });
}

/// What a token of a job of a repository says.
fn job(repository: &str) -> Value {
    json!({ "sub": format!("repo:{repository}:ref:refs/heads/main"), "repository": repository,
        "repository_owner": "acme", "ref": "refs/heads/main", "email": null, "groups": null })
}

/// A machine that runs a job.
fn runner(variables: &[(&'static str, &str)]) -> World {
    let mut world = World::new();
    for (name, value) in variables {
        world.variables.push((*name, PathBuf::from(value)));
    }
    world
}

#[test]
fn a_job_sends_by_the_token_that_its_system_hands_out_and_for_its_repository_alone() {
    on_a_file(|store| {
        let issuer = started();
        let gateway = serving(store, &issuer, JOBS);
        for (repository, is_taken) in [("acme/other", false), ("acme/shop", true)] {
            let token = issuer.token(&job(repository));
            let machine = runner(&[("SIGLUM_ID_TOKEN", &token)]);
            let repo = worked_in(&machine, "https://github.com/acme/shop.git");
            let ran = repo.siglum(&["sync", "--to", &gateway.address]);
            assert_eq!(ran.code == Some(0), is_taken, "{repository}: {ran:?}");
            assert_eq!(sessions(&gateway), usize::from(is_taken), "{repository}");
            assert!(kept(&machine).is_empty(), "{repository}");
            assert!(!holds(&machine.siglum_home(), &token), "{repository}");
        }
    });
}

#[test]
fn a_job_of_github_asks_its_runner_for_a_token() {
    on_a_file(|store| {
        let issuer = started();
        issuer.issues(job("acme/shop"), 300);
        let gateway = serving(store, &issuer, JOBS);
        let url = format!("{}/job?api-version=2.0", issuer.url);
        let variables = [
            ("ACTIONS_ID_TOKEN_REQUEST_URL", url.as_str()),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "runner-1"),
            ("SIGLUM_GATEWAY", gateway.address.as_str()),
        ];
        let audience = [("SIGLUM_ID_TOKEN_AUDIENCE", "siglum")];
        let list = ["session", "list", "--team", "--all"];
        let machine = runner(&[&variables[..], &audience].concat());
        machine.siglum(&machine.root, &list).ok();
        let path = |nth: usize| issuer.requests("/job")[nth].path.clone();
        assert!(path(0).ends_with("&audience=siglum"), "{}", path(0));
        // Without the variable it is for the gateway, which expects another audience here.
        let machine = runner(&variables);
        let refused = machine.siglum(&machine.root, &list);
        assert!(refused.stderr.contains("token-invalid"), "{refused:?}");
        assert!(path(1).contains("&audience=http"), "{}", path(1));
    });
}

/// Whether a file in a directory, or beneath it, holds a text.
fn holds(dir: &Path, text: &str) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        memchr::memmem::find(&bytes, text.as_bytes()).is_some()
    })
}
