//! Real agents below `siglum run --gateway`, in a sandbox that has no ledger of its own when it begins, and none when
//! it is over: what the team asks about their commits is answered by the gateway alone.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::agents::{Agent, Start};
use super::lab::Lab;
use super::launched::{LINKS, VARIABLES};
use super::programs::{self, stdout};
use crate::launching::links;

/// A gateway.
pub(super) struct Team {
    serving: Child,
    pub(super) address: String,
    token: String,
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

impl Team {
    /// The team's, with a ledger that nobody but it sees.
    fn open(lab: &Lab) -> Self {
        Self::serving(lab, &lab.beside("team"))
    }

    /// One that serves the ledger of a home.
    pub(super) fn serving(lab: &Lab, home: &Path) -> Self {
        let siglum = || {
            let mut command = lab.command(programs::path("SIGLUM_BIN"));
            command.env("SIGLUM_HOME", home);
            command
        };
        let token = stdout(siglum().args(["token", "create"])).trim().to_owned();
        fs::write(lab.beside("team.token"), &token).expect("a file");
        let mut serving = siglum()
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the gateway starts");
        let mut line = String::new();
        let out = serving.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let address = ready["data"]["address"].as_str().expect("its address");
        Self {
            serving,
            address: address.to_owned(),
            token,
        }
    }

    /// What the gateway answers.
    #[track_caller]
    pub(super) fn get(&self, path: &str) -> Value {
        let host = self.address.strip_prefix("http://").expect("plain HTTP");
        let mut stream = TcpStream::connect(host).expect("a connection");
        let token = &self.token;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it is asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        serde_json::from_str(body).expect("JSON")
    }

    #[track_caller]
    fn why(&self, commit: &str) -> Value {
        let mut answer = self.get(&format!("/v1/commits/{commit}"));
        let commits = answer["items"].as_array().expect("a list");
        assert_eq!(commits.len(), 1, "{answer:#}");
        answer["items"][0].take()
    }
}

/// The session that an answer names as committer.
fn committer(why: &Value) -> &Value {
    assert_eq!(why["committer"]["kind"], "session", "{why:#}");
    &why["committer"]
}

/// The command, in a namespace of its own where the team's ledger is not to be seen and Siglum has its program and
/// nothing else: what is recorded there goes with it.
fn sandboxed(lab: &Lab, inner: &Command) -> Command {
    let script = r#"
        set -e
        bin=$1 home=$2 team=$3
        shift 3
        mount -t tmpfs tmpfs "$team"
        mount -t tmpfs tmpfs "$home"
        cp -r "$bin" "$home/bin"
        test ! -e "$home/ledger.db"
        test ! -e "$team/ledger.db"
        "$@"
    "#;
    let kept = lab.beside("bin");
    if !kept.exists() {
        stdout(
            lab.command("cp")
                .arg("-r")
                .arg(lab.siglum_home().join("bin"))
                .arg(&kept),
        );
    }
    let mut command = lab.command("unshare");
    command
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ])
        .args(["sh", "-c", script, "sh"])
        .args([kept, lab.siglum_home(), lab.beside("team")])
        .arg(inner.get_program())
        .args(inner.get_args());
    let given = inner
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.envs(given);
    command
}

fn may_unshare(lab: &Lab) -> bool {
    let mut command = lab.command("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
    ]);
    command.args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    let done = command.stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// An agent on a script, below `siglum run --gateway` in a sandbox.
#[track_caller]
fn launch(lab: &Lab, team: &Team, agent: Agent, scenario: &str) -> String {
    let token = lab.beside("team.token").to_string_lossy().into_owned();
    let flags = [
        "--gateway",
        &team.address,
        "--gateway-token-file",
        &token,
        "--phase",
        "implement",
    ];
    let inner = lab.below_launcher(agent, Start::New, scenario, &flags, &VARIABLES);
    let what = format!("sandboxed {agent:?} {scenario}");
    lab.begin(agent, sandboxed(lab, &inner), what).finish()
}

#[test]
fn agents_in_a_sandbox_are_known_to_the_team() {
    for agent in [Agent::Claude, Agent::Codex] {
        let Some(lab) = Lab::open_for(&[agent]) else {
            return;
        };
        if !may_unshare(&lab) {
            eprintln!("not shown: no namespaces are allowed here");
            return;
        }
        let team = Team::open(&lab);
        let native = launch(&lab, &team, agent, "write_commit");
        let why = team.why(&lab.head());
        let session = committer(&why);
        assert!(
            ["certain", "likely"].contains(&session["verdict"].as_str().unwrap_or_default()),
            "{why:#}"
        );
        assert_eq!(
            session["native_ids"],
            serde_json::json!([native]),
            "{agent:?}"
        );
        assert_eq!(links(session), LINKS, "{agent:?}");
        assert!(why["checkpoint"].is_string(), "{why:#}");
        let id = session["session"].as_str().expect("an id");
        let shown = team.get(&format!("/v1/sessions/{id}"));
        assert_eq!(shown["end"], "completed", "{shown:#}");
        assert!(shown["sealed"].as_u64() > Some(1), "{shown:#}");
        let found = team.get("/v1/sessions?issue_number=42&agent_role=coder");
        assert_eq!(
            found["items"].as_array().map(Vec::len),
            Some(1),
            "{found:#}"
        );
        let audit = team.get(&format!("/v1/audit?session={id}&action=session.created"));
        let audited = &audit["items"][0]["body"]["links"];
        assert_eq!(
            audited["issue_number"],
            serde_json::json!([42]),
            "{audit:#}"
        );
    }
}

/// The agent that a launched one starts in its shell has an identity of its own, at the gateway as well.
#[test]
fn an_agent_that_one_in_a_sandbox_starts_is_not_it() {
    let Some(lab) = Lab::open() else { return };
    if !may_unshare(&lab) {
        return;
    }
    let team = Team::open(&lab);
    let inner = "33333333-2222-4333-8444-555555555555";
    let command = lab.claude(Start::Named(inner), &lab.prompt("write_commit"));
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(quoted).collect();
    fs::write(lab.beside("nested.sh"), line.join(" ")).expect("a script");
    let outer = launch(&lab, &team, Agent::Claude, "nested");
    let why = team.why(&lab.head());
    let session = committer(&why);
    assert_eq!(session["native_ids"], serde_json::json!([outer]), "{why:#}");
    assert_eq!(links(session), LINKS, "{why:#}");
    let why = team.why(&lab.git(&["rev-parse", "HEAD^"]));
    let session = committer(&why);
    assert_eq!(session["native_ids"], serde_json::json!([inner]), "{why:#}");
    assert!(links(session).is_empty(), "{why:#}");
}
