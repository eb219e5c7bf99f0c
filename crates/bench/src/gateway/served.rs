//! A gateway that is running: the release program, and what it takes, seen from outside.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Scope, Secret};
use siglum_domain::{Tenant, TokenId, TokenName};
use siglum_engine::identity::access::{self, NewToken};
use siglum_ledger::{Ledger, PostgresLedger, PostgresSettings};
use siglum_platform::clock::{Ids, secret};

use crate::Fallible;
use crate::clock::cpu_ms_of;
use crate::driven;
use crate::run::Run;

/// Where the sessions are.
pub(crate) enum Place {
    /// A file in this home.
    File(PathBuf),
    /// A database of a PostgreSQL server. Gone with this.
    Database {
        server: String,
        name: String,
        home: PathBuf,
    },
}

impl Place {
    /// A new file.
    pub(crate) fn file(run: &Run, name: &str) -> Fallible<Self> {
        Ok(Self::File(run.dir(name)?))
    }

    /// A new database, where there is a server.
    pub(crate) fn database(run: &Run, name: &str) -> Fallible<Option<Self>> {
        let Ok(server) = std::env::var("SIGLUM_TEST_PG") else {
            eprintln!("nothing on PostgreSQL: SIGLUM_TEST_PG is not set (`cargo xtask postgres`)");
            return Ok(None);
        };
        let name = format!("bench_{name}_{}", std::process::id());
        psql(&server, &[&format!("CREATE DATABASE {name}")])?;
        let home = run.dir(&name)?;
        Ok(Some(Self::Database { server, name, home }))
    }

    /// The directory that gateways on it have as their home.
    pub(crate) fn home(&self) -> &Path {
        match self {
            Self::File(home) | Self::Database { home, .. } => home,
        }
    }

    fn address(server: &str, name: &str) -> String {
        match server.rsplit_once('/') {
            Some((before, _)) => format!("{before}/{name}"),
            None => server.to_owned(),
        }
    }

    /// The ledger of the only tenant.
    pub(crate) fn ledger(&self) -> Fallible<Box<dyn Ledger>> {
        Ok(match self {
            Self::File(home) => Box::new(driven::open(&home.join("ledger.db"))?),
            Self::Database { server, name, .. } => {
                let settings = PostgresSettings::new(Self::address(server, name), tenant()?);
                Box::new(PostgresLedger::open(&settings, driven::how())?)
            }
        })
    }

    /// Has the database run some commands, one after the other, and gives what they print.
    pub(crate) fn psql(&self, commands: &[&str]) -> Fallible<String> {
        match self {
            Self::File(_) => Err("a file has no server".into()),
            Self::Database { server, name, .. } => psql(&Self::address(server, name), commands),
        }
    }

    /// A token of a launcher.
    pub(crate) fn token(&self) -> Fallible<String> {
        let secret = Secret::mint(&tenant()?, &secret());
        let new = NewToken {
            id: TokenId::mint(&Ids),
            digest: secret.digest(),
            scope: Scope::Launcher,
            limits: Limits::default(),
            name: TokenName::new("bench")?,
            by: "bench".to_owned(),
            expires_at: None,
        };
        access::issue(&driven::here(), self.ledger()?.as_mut(), &new)?;
        Ok(secret.reveal().to_owned())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Database { server, name, .. } = self {
            // By force, it would end autovacuum, too, which an ordinary role may not; without, the server itself sends that
            // away.
            let end = format!(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}' \
                 AND backend_type = 'client backend' AND usename = current_user"
            );
            let _ = psql(server, &[&end]);
            let _ = psql(server, &[&format!("DROP DATABASE {name}")]);
        }
    }
}

fn tenant() -> Fallible<Tenant> {
    Ok(Tenant::new("default")?)
}

/// Has a server run some commands, one after the other, and gives what they print.
fn psql(server: &str, commands: &[&str]) -> Fallible<String> {
    let out = Command::new("psql")
        .args(["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1"])
        .args(commands.iter().flat_map(|command| ["-c", *command]))
        .arg(server)
        .output()?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&out.stderr).into_owned().into()),
    }
}

/// A gateway. Killed when it is let go.
pub(crate) struct Served {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
}

impl Served {
    /// Starts one, and waits until it serves.
    pub(crate) fn start(run: &Run, place: &Place) -> Fallible<Self> {
        let mut command = Command::new(&run.program);
        command
            .args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .args(["--log-level", "warn"])
            .args(["--rate", "4000000000", "--creations", "4000000000"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", place.home())
            .env("SIGLUM_HOME", place.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Place::Database { server, name, .. } = place {
            command.env("SIGLUM_STORE", Place::address(server, name));
        }
        let mut child = command.spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let output: Value = serde_json::from_str(&line)
            .map_err(|_| format!("the gateway does not serve: {line}"))?;
        let address = output["data"]["address"].as_str().unwrap_or_default();
        Ok(Self {
            child,
            address: address.trim_start_matches("http://").to_owned(),
        })
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) -> Fallible<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The processor time that it has taken.
    pub(crate) fn cpu_ms(&self) -> Fallible<f64> {
        cpu_ms_of(self.child.id())
    }

    /// The memory that it holds, in MB.
    pub(crate) fn rss_mb(&self) -> Fallible<f64> {
        rss_mb(self.child.id())
    }
}

/// The memory that a process holds, in MB.
pub(crate) fn rss_mb(pid: u32) -> Fallible<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kb = line.and_then(|l| l.split_ascii_whitespace().next());
    Ok(kb.ok_or("no VmRSS")?.parse::<f64>()? / 1024.0)
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The client, in a process of its own.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Client {
    /// Starts it against these gateways; it has its sessions and their leases then.
    pub(crate) fn start(served: &[&Served], token: &str, connections: usize) -> Fallible<Self> {
        let addresses: Vec<&str> = served.iter().map(|s| s.address.as_str()).collect();
        let plan = json!({"addresses": addresses, "token": token, "connections": connections});
        Self::by("--load-here", &plan)
    }

    /// Starts one of the kind that this flag of the bench names, with its plan.
    pub(crate) fn by(flag: &str, plan: &Value) -> Fallible<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(flag)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut client = Self {
            child,
            input,
            output,
        };
        client.begin(&plan.to_string())?;
        client.done()?;
        Ok(client)
    }

    /// Lets it do something.
    pub(crate) fn begin(&mut self, what: &str) -> Fallible<()> {
        writeln!(self.input, "{what}")?;
        Ok(self.input.flush()?)
    }

    /// Waits until it is done, and gives what it tells.
    pub(crate) fn done(&mut self) -> Fallible<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).map_err(|_| "the client failed".into())
    }

    /// Both.
    pub(crate) fn does(&mut self, what: &str) -> Fallible<Value> {
        self.begin(what)?;
        self.done()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
