//! `siglum otel add`.

use serde::Serialize;
use siglum_domain::scope::Kinds;
use siglum_egress::Plain;
use siglum_egress::otlp::{Compression, Protocol};
use siglum_engine::share::otel::destination::{Backlog, Content, Destination, Sample, Sends};
use siglum_engine::share::project::{self, OTLP};
use siglum_ledger::{Projection, read};

use crate::commands::projection::add::name;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::gateway;
use crate::otel_headers::{self, Given};
use crate::scope::{KindsArg, ReachJson, ScopeArgs, ScopeJson, Shown};
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.otel.add/1";

/// Add an OTLP endpoint that receives committed turns as traces
///
/// Sends the committed turns of the sessions in its scope, including past ones. The scope is the repository of the
/// current directory unless flags say otherwise.
///
/// URL has the form of OTEL_EXPORTER_OTLP_ENDPOINT: over HTTP, /v1/traces and /v1/logs are appended to it. A URL that
/// ends in /v1/traces is used as it is, and receives traces only. Prompts, answers and tool output are not sent
/// unless `--content` is given. If the endpoint exists already, it gets the settings of this command, and nothing is
/// sent again.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Send traces to a collector on this machine
    siglum otel add phoenix http://127.0.0.1:6006

  Send one session in ten over gRPC
    siglum otel add team https://otel.example.org:4317 --protocol grpc --sample 10%")]
pub struct Args {
    /// Name of the endpoint: up to 64 of a-z, 0-9 and -
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// Endpoint: https://…, or http://… on this machine
    #[arg(value_name = "URL")]
    url: String,
    /// Protocol: http/protobuf, http/json or grpc
    #[arg(long, value_name = "PROTOCOL", default_value_t = Protocol::HttpProtobuf)]
    protocol: Protocol,
    /// Add a header that is not secret to each request
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Add a header with a value from a file, which is read now and stored readable only by you
    #[arg(long, value_name = "NAME=PATH")]
    header_file: Vec<String>,
    /// Add a header with a value from an environment variable, which is read now and stored readable only by you
    #[arg(long, value_name = "NAME=VARIABLE")]
    header_env: Vec<String>,
    /// Do not compress requests
    #[arg(long)]
    no_gzip: bool,
    /// Send prompts, answers and tool output too, redacted
    #[arg(long)]
    content: bool,
    /// Send this share of all sessions, each as a whole, such as 10%
    #[arg(long, value_name = "PART", default_value_t = Sample::ALL)]
    sample: Sample,
    /// Forward the telemetry that agents send to the gateway, instead of traces of turns
    #[arg(long)]
    native: bool,
    /// Keep data that cannot be sent for this many days
    #[arg(long, value_name = "DAYS", default_value_t = Backlog::default().days,
          value_parser = clap::value_parser!(u16).range(1..=3650))]
    keep_days: u16,
    /// Allow unencrypted requests to another machine
    #[arg(long)]
    allow_plain: bool,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Show the scope with its counts, without writing or sending anything
    #[arg(long)]
    dry_run: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    endpoint: String,
    /// `http/protobuf`, `http/json` or `grpc`.
    protocol: String,
    /// `added`, `changed`, or `before`: it was there already, just so.
    outcome: String,
    /// Whether it was only looked, and nothing was written: `outcome` is what it would be.
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeJson>,
    reach: ReachJson,
}

/// What became of what was there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Added,
    Changed,
    Before,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let given = given(args, cx)?;
    let destination = destination(args, &given)?;
    let target = destination.to_json();
    let mut ledger = store::open(cx)?;
    let kept = store::secret_name(&ledger, &args.name);
    let known = read(&mut ledger, |tx| tx.projections())?;
    let mut outcome = compare(&known, args, &destination)?;
    if outcome == Outcome::Before && !otel_headers::are_kept(&cx.home, &kept, &given.secrets) {
        outcome = Outcome::Changed;
    }
    let scoped = known.iter().find(|p| p.name == args.name);
    let scoped = scoped.and_then(|p| p.scope.as_ref());
    let mut scope = args
        .scope
        .resolve(cx, &mut ledger, scoped, KindsArg::default())?;
    // What agents themselves send is forwarded as it came.
    scope.kinds = match (destination.sends, destination.content) {
        (Sends::Sessions, Content::Off) => Kinds::Verdicts,
        _ => Kinds::Conversations,
    };
    if outcome == Outcome::Before && scoped != Some(&scope) {
        outcome = Outcome::Changed;
    }
    let world = cx.world()?;
    if !args.dry_run {
        if outcome != Outcome::Before {
            otel_headers::keep_all(&cx.home, &kept, &given.secrets)?;
            project::add(&world, &mut ledger, &args.name, OTLP, &target, &scope)?;
        }
        store::start_worker(cx);
    }
    if destination.content == Content::On {
        cx.ui.warning(format!(
            "prompts, responses and tool output are sent to {}, after recognised secrets are redacted",
            destination.endpoint
        ));
    }
    if store::is_server() && !given.secrets.is_empty() {
        cx.ui.hint(
            "The headers are stored on this machine: run the same command wherever a gateway is to deliver.",
        );
    }
    let planned = Projection {
        name: args.name.clone(),
        kind: OTLP.to_owned(),
        target,
        at: world.now(),
        scope: Some(scope),
    };
    let shown = Shown::planned(&mut ledger, &planned)?;
    tell(cx, args, &destination, outcome, &shown)
}

fn tell(
    cx: &Cx,
    args: &Args,
    destination: &Destination,
    outcome: Outcome,
    shown: &Shown,
) -> Result<(), CommandError> {
    let (name, endpoint) = (&args.name, &destination.endpoint);
    if cx.ui.json {
        let outcome = match outcome {
            Outcome::Added => "added",
            Outcome::Changed => "changed",
            Outcome::Before => "before",
        };
        let (scope, reach) = shown.json();
        let answer = Json {
            name: name.clone(),
            endpoint: endpoint.to_string(),
            protocol: destination.protocol.to_string(),
            outcome: outcome.to_owned(),
            dry_run: args.dry_run,
            scope,
            reach,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    if args.dry_run {
        cx.ui.status(format!(
            "Would add endpoint {name} ({endpoint}); nothing was written."
        ));
        cx.ui.status(format!("Scope: {}.", shown.text()));
        return Ok(());
    }
    cx.ui.status(match (outcome, destination.sends) {
        (Outcome::Before, _) => format!("Endpoint {name} already exists; nothing was changed."),
        (Outcome::Changed, _) => format!("Updated endpoint {name}."),
        (Outcome::Added, Sends::Sessions) => {
            format!("Added endpoint {name}: sends traces of committed turns to {endpoint}.")
        }
        (Outcome::Added, Sends::Native) => {
            format!("Added endpoint {name}: forwards agents' own telemetry to {endpoint}.")
        }
    });
    cx.ui.status(format!("Scope: {}.", shown.text()));
    cx.ui.hint(format!(
        "Run `siglum otel test {name}` to send a test span."
    ));
    Ok(())
}

fn given(args: &Args, cx: &Cx) -> Result<Given, CommandError> {
    let mut given = Given::default();
    for text in &args.header {
        given.add_inline_header(text)?;
    }
    for text in &args.header_file {
        given.in_file(&cx.dir, text)?;
    }
    for text in &args.header_env {
        given.in_variable(text)?;
    }
    Ok(given)
}

fn destination(args: &Args, given: &Given) -> Result<Destination, CommandError> {
    let plain = match args.allow_plain {
        true => Plain::Anywhere,
        false => Plain::Loopback,
    };
    let endpoint = gateway::address(&args.url, plain)?;
    let destination = Destination::new(endpoint, args.protocol).map_err(CommandError::usage)?;
    if args.protocol == Protocol::Grpc && !cfg!(feature = "grpc") {
        return Err(CommandError::usage("this program was built without gRPC"));
    }
    Ok(Destination {
        compression: match args.no_gzip {
            true => Compression::None,
            false => Compression::Gzip,
        },
        sends: match args.native {
            true => Sends::Native,
            false => Sends::Sessions,
        },
        content: match args.content {
            true => Content::On,
            false => Content::Off,
        },
        sample: args.sample,
        headers: given.headers.clone(),
        backlog: Backlog {
            days: args.keep_days,
            ..destination.backlog
        },
        ..destination
    })
}

/// What becomes of what is there. A name stays with its endpoint: how far it has come is true of that one only.
fn compare(
    known: &[Projection],
    args: &Args,
    destination: &Destination,
) -> Result<Outcome, CommandError> {
    let Some(other) = known.iter().find(|p| p.name == args.name) else {
        return Ok(Outcome::Added);
    };
    let before = Destination::from_projection(other).and_then(Result::ok);
    match before {
        Some(before) if before == *destination => Ok(Outcome::Before),
        Some(before)
            if before.endpoint == destination.endpoint && before.sends == destination.sends =>
        {
            Ok(Outcome::Changed)
        }
        _ => Err(CommandError::failed(format!(
            "`{}` is another projection: {} {}",
            other.name,
            other.kind,
            crate::commands::projection::standing::target(other)
        ))
        .hint(format!(
            "Run `siglum otel remove {}` first, or choose another name.",
            other.name
        ))),
    }
}
