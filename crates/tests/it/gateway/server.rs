//! The gateway itself: started, restarted, stopped and killed, and tokens for it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use siglum_domain::access::{Limits, Scope, Secret};
use siglum_domain::redact::Redactor;
use siglum_domain::{LedgerId, SessionId, Tenant, TokenId, TokenName};
use siglum_engine::Here;
use siglum_engine::identity::access;
use siglum_ledger::postgres::{PostgresLedger, PostgresSettings};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, SqliteLedger};
use siglum_platform::clock;

use super::client::Client;
pub(crate) use crate::faults::store::{
    Store, each_store, each_store_at_once, on_a_file, on_a_server,
};
use crate::harness::{World, until};

/// A gateway that is served, and the token of a launcher for it.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
    settings: Settings,
}

#[derive(Clone, Default)]
struct Settings {
    /// The program, where it is not the one under test.
    program: Option<PathBuf>,
    args: Vec<String>,
    variables: Vec<(String, String)>,
}

/// The tenant of the tests: a file has one, and of a server the driver looks at this one afterwards.
pub(crate) fn tenant(store: &Store) -> &'static str {
    if store.is_file() { "default" } else { "tests" }
}

/// The ledger of a tenant, beside whoever serves it.
pub(crate) fn opened(store: &Store, tenant: &str) -> Box<dyn Ledger> {
    let how = Open::Command {
        id: LedgerId::mint(&clock::Ids),
        key: clock::secret(),
    };
    if store.is_file() {
        return Box::new(SqliteLedger::open(store.file(), how).unwrap());
    }
    let settings = PostgresSettings::new(store.address(), Tenant::new(tenant).unwrap());
    Box::new(PostgresLedger::open(&settings, how).unwrap())
}

/// Makes a token: of a tenant, for a session or a launcher, that holds for so many seconds.
pub(crate) fn token(
    store: &Store,
    tenant: &str,
    session: Option<&str>,
    seconds: Option<i64>,
) -> (String, TokenId) {
    let scope = session.map(|s| Scope::Session(s.parse::<SessionId>().unwrap()));
    token_for(store, tenant, scope.unwrap_or(Scope::Launcher), seconds)
}

/// The same for whatever it is to be used for.
pub(crate) fn token_for(
    store: &Store,
    tenant: &str,
    scope: Scope,
    seconds: Option<i64>,
) -> (String, TokenId) {
    limited_token(store, tenant, scope, Limits::default(), seconds)
}

/// The same with limits.
pub(crate) fn limited_token(
    store: &Store,
    tenant: &str,
    scope: Scope,
    limits: Limits,
    seconds: Option<i64>,
) -> (String, TokenId) {
    let secret = Secret::mint(&Tenant::new(tenant).unwrap(), &clock::secret());
    let here = Here {
        ids: &clock::Ids,
        clock: &clock::now,
        alive: &|_| None,
        redactor: Redactor::shared(),
    };
    let id = TokenId::mint(&clock::Ids);
    let new = access::NewToken {
        id,
        digest: secret.digest(),
        scope,
        limits,
        name: TokenName::new("tests").unwrap(),
        by: "tests".to_owned(),
        expires_at: seconds.map(|s| clock::now().plus_millis(s * 1000)),
    };
    access::issue(&here, &mut *opened(store, tenant), &new).unwrap();
    (secret.reveal().to_owned(), id)
}

/// Takes a token back.
pub(crate) fn revoke(store: &Store, tenant: &str, id: TokenId) {
    let here = Here {
        ids: &clock::Ids,
        clock: &clock::now,
        alive: &|_| None,
        redactor: Redactor::shared(),
    };
    access::revoke(&here, &mut *opened(store, tenant), id, "tests").unwrap();
}

/// Lets a token speak for a ledger that sends here, in the place of the one that registered it.
pub(crate) fn hand_over(store: &Store, tenant: &str, ledger: LedgerId, to: TokenId) {
    let here = Here {
        ids: &clock::Ids,
        clock: &clock::now,
        alive: &|_| None,
        redactor: Redactor::shared(),
    };
    access::hand_over(&here, &mut *opened(store, tenant), ledger, to, "tests").unwrap();
}

impl Gateway {
    /// Serves a store.
    #[track_caller]
    pub(crate) fn start(store: &Store) -> Self {
        Self::with(store, &[], &[])
    }

    /// Serves a store with these arguments, in an environment with these variables.
    #[track_caller]
    pub(crate) fn with(store: &Store, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let (token, _) = token(store, tenant(store), None, None);
        let own = |s: &&str| (*s).to_owned();
        let settings = Settings {
            args: args.iter().map(own).collect(),
            variables: variables.iter().map(|(n, v)| (own(n), own(v))).collect(),
            program: None,
        };
        let (child, address) = serve(store, &settings);
        Self {
            child,
            address: address.expect("the gateway did not start"),
            token,
            settings,
        }
    }

    /// Serves a store by this program, with the token of a launcher that is there already.
    #[track_caller]
    pub(crate) fn by(store: &Store, program: &Path, token: &str) -> Self {
        let settings = Settings {
            program: Some(program.to_owned()),
            ..Settings::default()
        };
        let (child, address) = serve(store, &settings);
        Self {
            child,
            address: address.expect("the gateway did not start"),
            token: token.to_owned(),
            settings,
        }
    }

    /// Another one of the same store, with the same tokens.
    #[track_caller]
    pub(crate) fn beside(&self, store: &Store) -> Self {
        let (child, address) = serve(store, &self.settings);
        Self {
            child,
            address: address.expect("the gateway did not start"),
            token: self.token.clone(),
            settings: self.settings.clone(),
        }
    }

    /// Ends, and is served again, at another address.
    #[track_caller]
    pub(crate) fn restart(&mut self, store: &Store) {
        self.stop();
        self.start_again(store);
    }

    /// Is served again after its end, at another address.
    #[track_caller]
    pub(crate) fn start_again(&mut self, store: &Store) {
        let (child, address) = serve(store, &self.settings);
        self.child = child;
        self.address = address.expect("the gateway did not start again");
    }

    /// Is served by this program from its next start on.
    pub(crate) fn serve_by(&mut self, program: &Path) {
        self.settings.program = Some(program.to_owned());
    }

    /// Tells it to stop, and waits until it has; gives its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.over()
    }

    /// Waits until it is over.
    #[track_caller]
    pub(crate) fn over(&mut self) -> Option<i32> {
        until("the gateway is over", || {
            self.child.try_wait().unwrap().is_some()
        });
        self.child.wait().unwrap().code()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
    }

    /// Kills it without a word.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Whoever has the launcher's token.
    pub(crate) fn launcher(&self) -> Client {
        self.client(&self.token)
    }

    /// Whoever has this token.
    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.address, Some(token))
    }

    /// Whoever has none.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(&self.address, None)
    }

    /// Host and port.
    pub(crate) fn place(&self) -> &str {
        self.address.split_once("://").unwrap().1
    }

    /// The memory that it has in use, in kilobytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts one, and gives the address that it says, if it serves.
fn serve(store: &Store, settings: &Settings) -> (Child, Option<String>) {
    let program = settings.program.clone().unwrap_or_else(World::program);
    let mut command = store.world.command(program);
    command.args(["serve", "--json"]);
    if !settings.args.iter().any(|arg| arg == "--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command.args(&settings.args);
    command.envs(settings.variables.iter().map(|(n, v)| (n, v)));
    if !store.is_file() {
        command.env("SIGLUM_STORE", store.address());
    }
    let errors = std::fs::File::options()
        .append(true)
        .create(true)
        .open(store.world.root.join("gateway.err"));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(errors.unwrap())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let started: Option<Value> = serde_json::from_str(&line).ok();
    let address = started.map(|t| t["data"]["address"].as_str().unwrap().to_owned());
    (child, address)
}

/// Starts one that must not serve: its exit code, and what it says.
pub(crate) fn refused(store: &Store, args: &[&str]) -> (Option<i32>, String) {
    let settings = Settings {
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        ..Settings::default()
    };
    let (mut child, address) = serve(store, &settings);
    assert_eq!(address, None);
    let code = child.wait().unwrap().code();
    let errors = std::fs::read_to_string(store.world.root.join("gateway.err"));
    (code, errors.unwrap())
}

/// The answer of a command on the store that is served.
#[track_caller]
pub(crate) fn siglum(store: &Store, args: &[&str]) -> Value {
    let mut command = store.world.command(World::program());
    command.args(args).arg("--json");
    if !store.is_file() {
        command.env("SIGLUM_STORE", store.address());
        command.env("SIGLUM_TENANT", tenant(store));
    }
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    let mut answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    answer["data"].take()
}

/// What the gateway counts under a name, with its labels if it has any; nothing where it did not yet.
pub(crate) fn counted(gateway: &Gateway, name: &str) -> u64 {
    let metrics = gateway.stranger().get("/metrics").text;
    let line = metrics
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    let count = line.and_then(|line| line.rsplit(' ').next());
    assert!(count.is_some() || name.contains('{'), "{name} in {metrics}");
    count.map_or(0, |count| count.parse().unwrap())
}

/// What is stored, as far as a request that is refused must not change it: rows by table, and the sessions as they are
/// listed.
pub(crate) fn stored(store: &Store, gateway: &Gateway) -> (String, Value) {
    let tables = [
        "sessions",
        "aliases",
        "statements",
        "links",
        "tokens",
        "repositories",
        "worktrees",
        "requests",
        "observations",
        "pending",
        "open_turns",
        "receipts",
        "leases",
        "checkpoints",
        "pins",
        "commits",
        "pipelines",
        "pipeline_events",
    ];
    let ours = if store.is_file() {
        "1 = 1"
    } else {
        "tenant = 'tests'"
    };
    let of =
        |table: &str, which: &str| format!("(SELECT count(*) FROM {table} WHERE {ours}{which})");
    let mut counts: Vec<String> = tables.iter().map(|t| of(t, "")).collect();
    for action in ["session.created", "session.ended", "token.created"] {
        counts.push(of("audit", &format!(" AND action = '{action}'")));
    }
    let rows = store.sql(&format!("SELECT {}", counts.join(", ")));
    let mut listed = gateway.launcher().get("/v1/sessions?limit=500").is(200);
    for session in listed["items"].as_array_mut().unwrap() {
        // What was committed before is summed up when there is time.
        for later in [
            "turns",
            "tokens",
            "title",
            "models",
            "tool_calls",
            "subagents",
            "state",
        ] {
            session.as_object_mut().unwrap().remove(later);
        }
    }
    (rows, listed)
}

/// The entries of the audit of one action, newest first.
pub(crate) fn audited(gateway: &Gateway, action: &str) -> Vec<Value> {
    let path = format!("/v1/audit?limit=1000&action={action}");
    let page = gateway.launcher().get(&path).is(200);
    page["items"].as_array().unwrap().clone()
}

/// The smallest request for a session.
pub(crate) fn base(name: &str) -> Value {
    json!({ "agent": "claude-code", "conversation_id": name, "repositories": ["github.com/o/r"] })
}

/// The same with links.
pub(crate) fn linked(name: &str, links: &Value) -> Value {
    let mut body = base(name);
    body["links"] = links.clone();
    body
}

/// How long is waited where the gateway looks only once in a while.
pub(crate) const LONG: Duration = Duration::from_secs(150);
