//! `siglum serve`: the gateway.

#[cfg(feature = "postgres")]
mod deliveries;
mod handing;
mod logging;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use siglum_domain::AgentName;
use siglum_domain::context::Policy;
use siglum_engine::driven::turn::Decision;
use siglum_gateway::HeartbeatSettings;
use siglum_gateway::{
    Limits, Network, Origin, RunAgent, RunSettings, ServeError, Settings, Store, TlsError,
    TlsFiles, Written,
};

use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::heartbeats;
use crate::issuers;

#[cfg(feature = "postgres")]
use deliveries::Deliveries;
use logging::{LogFormat, LogLevel};

/// The schema of the JSON answer: one line when the gateway is ready.
pub const SCHEMA: &str = "siglum.serve/1";

/// Serve sessions, turns, checkpoints and audit over HTTP
///
/// Serves the ledger of this home, or the PostgreSQL store that SIGLUM_STORE names as
/// postgres://user:password@host/database. SIGLUM_STORE_FILE names a file with that address instead. Several gateways
/// can serve one PostgreSQL store; one of them at a time delivers to each OTLP endpoint of `siglum otel add`, if its
/// headers are stored on that machine. Clients need a token: `siglum token create` creates one for a
/// launcher (on PostgreSQL, of the tenant in SIGLUM_TENANT), and creating a session returns one for that session. On
/// SIGTERM and SIGINT, the gateway begins no further runs, finishes those in progress, and stops; a second signal ends
/// it at once.
///
/// SIGLUM_BLOBS=s3://bucket/prefix keeps large payloads of a PostgreSQL store in a bucket of S3, with the key in the file
/// that SIGLUM_BLOBS_CREDENTIALS_FILE names.
///
/// The settings `keep_sessions`, `keep_telemetry` and `keep_audit` (`siglum config list`) say how long data is kept. Tables
/// `[issuer.NAME]` of the user's settings name issuers (OpenID Connect) whose tokens the gateway accepts, too.
///
/// The API is described at /v1/openapi.json; /readyz reports readiness, /metrics exposes metrics. The log is on stderr,
/// with one line for each request.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Serve the ledger of this home
    siglum serve

  Run Claude Code for clients that send messages
    siglum serve --run claude-code --workdir .

  Serve a team over HTTPS
    siglum serve --listen 0.0.0.0:7477 --tls-certificate fullchain.pem --tls-key privkey.pem

  Log JSON, behind a proxy that sets X-Forwarded-For
    siglum serve --log-format json --trusted-proxy 10.0.0.0/8 --listen 0.0.0.0:7477 --plain")]
pub struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7477")]
    listen: SocketAddr,
    /// Listen without encryption on an address that other machines can reach: for a gateway behind a proxy that
    /// encrypts
    #[arg(long, conflicts_with = "tls_certificate")]
    plain: bool,
    /// Serve HTTPS with this certificate, in PEM, followed by its intermediate certificates. It is read again when the
    /// file changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, in PEM, in a file that other users cannot read
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Limit each token to N requests per second
    #[arg(long, value_name = "N", default_value_t = Limits::default().rate)]
    rate: u32,
    /// Limit each token to N new sessions per minute
    #[arg(long, value_name = "N", default_value_t = Limits::default().creations)]
    creations: u32,
    /// Use at most N connections to a PostgreSQL store, for all tenants together; one more delivers traces, if a tenant
    /// has an OTLP endpoint
    #[arg(long, value_name = "N", default_value_t = Limits::default().store_connections,
          value_parser = clap::value_parser!(u16).range(2..))]
    store_connections: u16,
    /// Run this agent for clients that send messages; its program is looked up unless it is given
    #[arg(long = "run", value_name = "AGENT[=PROGRAM]", value_parser = agent, requires = "workdir")]
    run: Vec<RunAgent>,
    /// Allow agents to work in this directory and below it
    #[arg(long, value_name = "DIR", value_parser = directory)]
    workdir: Vec<PathBuf>,
    /// Allow heartbeats to call a webhook on this host, even if its address is on this machine or its network
    #[arg(long, value_name = "HOST")]
    webhook: Vec<String>,
    /// Allow CORS requests from this origin, such as http://localhost:5173
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<Origin>,
    /// How to settle a turn whose driver died during a tool call that may or may not have been executed
    #[arg(long, value_name = "HOW", default_value = "ask")]
    held: HeldTurns,
    /// Log format: text, or one JSON object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Minimum log level: `error`, `warn`, `info` (default) or `debug`
    #[arg(long, value_name = "LEVEL", hide_possible_values = true)]
    log_level: Option<LogLevel>,
    /// On SIGTERM, wait N seconds for runs in progress before cancelling them
    #[arg(long, value_name = "N", default_value_t = Limits::default().drain.as_secs())]
    drain_seconds: u64,
    /// Take the address of the client from the headers that a proxy at this address or in this network sets
    #[arg(long, value_name = "CIDR")]
    trusted_proxy: Vec<Network>,
}

impl Args {
    fn tls_files(&self) -> Option<TlsFiles> {
        let (certificate, key) = self.tls_certificate.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles { certificate, key })
    }

    /// Logs to standard error as the options say; without them, a line for each request.
    pub fn start_log(&self, is_verbose: bool, is_quiet: bool) {
        let level = self.log_level.unwrap_or(match (is_verbose, is_quiet) {
            (true, _) => LogLevel::Debug,
            (false, true) => LogLevel::Warn,
            (false, false) => LogLevel::Info,
        });
        logging::start(self.log_format, level);
    }
}

/// What becomes of a turn whose driver died during a tool call
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum HeldTurns {
    /// Wait for a decision, over HTTP or by `siglum session recover`
    Ask,
    /// Keep the turn, with calls without a result marked as failed
    Keep,
    /// Discard the turn and all of its content
    Discard,
}

impl HeldTurns {
    const fn decision(self) -> Option<Decision> {
        match self {
            Self::Ask => None,
            Self::Keep => Some(Decision::Failed),
            Self::Discard => Some(Decision::Discard),
        }
    }
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Where the gateway listens.
    address: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let agents = runnable(&args.run)?;
    let store = store(cx)?;
    #[cfg(feature = "postgres")]
    let deliveries = Deliveries::from_store(&store, cx);
    #[cfg(feature = "postgres")]
    let projecting = deliveries.as_ref().map(Deliveries::projecting);
    #[cfg(not(feature = "postgres"))]
    let projecting = None;
    let settings = Settings {
        listen: args.listen,
        plain: args.plain,
        tls: args.tls_files(),
        limits: Limits {
            rate: args.rate,
            creations: args.creations,
            store_connections: args.store_connections,
            drain: Duration::from_secs(args.drain_seconds),
            ..Limits::default()
        },
        store,
        projecting,
        runs: RunSettings {
            agents,
            workdirs: args.workdir.clone(),
            programs: env::programs(),
            handing: handing::from_cx(cx),
            ..RunSettings::default()
        },
        policy: Policy::new(cx.config.contexts.clone()),
        heartbeats: HeartbeatSettings {
            configured: heartbeats::configured()?,
            webhooks: args.webhook.clone(),
            by: format!("the configuration of {}", crate::gateway::host()),
            log: Some(cx.home.heartbeats()),
        },
        held: args.held.decision(),
        retention: cx.config.retention(),
        origins: args.allow_origin.clone(),
        proxies: args.trusted_proxy.clone(),
        issuers: issuers::configured()?,
    };
    let ready = |address: SocketAddr| {
        let address = format!("{}://{address}", settings.scheme());
        if cx.ui.json {
            // Whoever started it may have gone, and it serves all the same.
            let _ = cx.ui.json(SCHEMA, Json { address });
        } else if args.log_format == LogFormat::Text {
            cx.ui.status(format!("Serving at {address}."));
        }
    };
    let served = siglum_gateway::serve(&settings, ready);
    // Whoever sends a second signal waits for nothing.
    #[cfg(feature = "postgres")]
    if !matches!(served, Err(ServeError::Interrupted)) {
        deliveries.into_iter().for_each(Deliveries::stop);
    }
    served.map_err(refused)
}

fn refused(error: ServeError) -> CommandError {
    match error {
        ServeError::Plain(_) => CommandError::usage(error.to_string())
            .hint("Pass `--tls-certificate` and `--tls-key` to serve HTTPS.")
            .hint("Pass `--plain` to serve there anyway, for a gateway behind a TLS proxy."),
        ServeError::Tls(TlsError::ExposedKey(ref key)) => CommandError::failed(&error)
            .hint(format!("Run `chmod 600 {}`.", key.display())),
        ServeError::Room { .. } => CommandError::failed(error).hint(
            "Pass a smaller number to `--store-connections`, or raise `max_connections` of the server.",
        ),
        ServeError::Store(error) => error.into(),
        other => CommandError::failed(format!("{:#}", anyhow::Error::new(other))),
    }
}

fn agent(text: &str) -> Result<RunAgent, String> {
    let (name, program) = match text.split_once('=') {
        Some((_, "")) => return Err("expected a program after `=`".to_owned()),
        Some((name, program)) => (name, Some(PathBuf::from(program))),
        None => (text, None),
    };
    let name = AgentName::new(name).map_err(|error| error.to_string())?;
    Ok(RunAgent { name, program })
}

/// The agents with their programs. One that cannot be started is told now, and not to each client that sends a message.
fn runnable(agents: &[RunAgent]) -> Result<Vec<RunAgent>, CommandError> {
    agents.iter().map(with_program).collect()
}

fn with_program(agent: &RunAgent) -> Result<RunAgent, CommandError> {
    let Some(given) = &agent.program else {
        return Ok(agent.clone());
    };
    // A path is named in this directory, and the program is started in that of a run.
    let (program, is_there, wrong) = if given.as_os_str().as_bytes().contains(&b'/') {
        let program = std::path::absolute(given).map_err(CommandError::at(given))?;
        let is_there = env::is_program(&program);
        (program, is_there, "is not an executable file")
    } else {
        let is_there = env::is_in_path(given);
        (given.clone(), is_there, "is not a program in PATH")
    };
    if !is_there {
        let (name, given) = (&agent.name, given.display());
        let error = format!("cannot run {name}: {given} {wrong}");
        let hint = format!("Pass its path: `--run {name}=/path/to/program`.");
        return Err(CommandError::usage(error).hint(hint));
    }
    Ok(RunAgent {
        name: agent.name.clone(),
        program: Some(program),
    })
}

fn directory(text: &str) -> Result<PathBuf, String> {
    let real = fs::canonicalize(text).map_err(|error| error.to_string())?;
    match real.is_dir() {
        true => Ok(real),
        false => Err("not a directory".to_owned()),
    }
}

fn store(cx: &Cx) -> Result<Store, CommandError> {
    match crate::store::address()? {
        None => {
            #[cfg(feature = "postgres")]
            if crate::blobs::settings()?.is_some() {
                let what = "SIGLUM_BLOBS is set, and only a PostgreSQL store has a blob store";
                return Err(
                    CommandError::usage(what).hint("Set SIGLUM_STORE_FILE, or unset SIGLUM_BLOBS.")
                );
            }
            // One that is lost is not served as an empty one.
            drop(cx.open_ledger()?);
            let home = cx.home.clone();
            // The worker does what requests leave for later: folds, projections.
            let written = Written(Arc::new(move || home.start_worker_of_gateway()));
            Ok(Store::File(cx.home.ledger(), written))
        }
        #[cfg(feature = "postgres")]
        Some(address) => {
            let blobs = crate::blobs::settings()?;
            blobs.as_ref().map_or(Ok(()), crate::blobs::probe)?;
            Ok(Store::Server(address, blobs))
        }
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(CommandError::failed(
            "this program was built without PostgreSQL",
        )),
    }
}
