//! `siglum otel test`.

use std::time::Instant;

use serde::Serialize;
use siglum_domain::IdSource as _;
use siglum_domain::trace::{SpanId, TraceId};
use siglum_egress::otlp::{OtlpAnswer, OtlpError, Protocol, Refusal, Signal};
use siglum_engine::share::otel::destination::Destination;
use siglum_telemetry::answer::Answer;
use siglum_telemetry::probe::{self, Probe};

use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::otel_headers;
use crate::store;
use crate::ui::Style;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.otel.test/1";

/// Send a test trace to an OTLP endpoint and show the response
///
/// The trace has one span, of the session `siglum-test`, with the attribute `siglum.test`. No session data is sent.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Test an endpoint
    siglum otel test phoenix

  Print the response as JSON
    siglum otel test phoenix --json")]
pub struct Args {
    /// Name of the endpoint
    #[arg(value_name = "NAME")]
    name: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    endpoint: String,
    /// `http/protobuf`, `http/json` or `grpc`.
    protocol: String,
    /// The session that the trace says it is of.
    session: String,
    /// The id of the trace, in hex.
    trace_id: String,
    /// Whether the server took it.
    taken: bool,
    duration_ms: u64,
    /// What the server says beside, or why it took nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    taken: bool,
    message: Option<String>,
    hint: Option<&'static str>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let (projection, destination) = super::named(&mut ledger, &args.name)?;
    let name = &projection.name;
    let kept = store::secret_name(&ledger, name);
    drop(ledger);
    let client = otel_headers::client(&cx.home, &kept, &destination).map_err(|e| {
        CommandError::failed(e).hint("Run `siglum otel add` with the same name to store it again.")
    })?;
    if !client.takes(Signal::Traces) {
        let endpoint = &destination.endpoint;
        return Err(CommandError::failed(format!(
            "{endpoint} does not accept traces, and a test sends one"
        )));
    }
    let (trace, body) = body(destination.protocol);
    let began = Instant::now();
    let sent = client.send(Signal::Traces, &body);
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let outcome = outcome(sent);
    let answer = Json {
        name: name.clone(),
        endpoint: destination.endpoint.to_string(),
        protocol: destination.protocol.to_string(),
        session: probe::SESSION.to_owned(),
        trace_id: hex(&trace),
        taken: outcome.taken,
        duration_ms,
        message: outcome.message,
        hint: outcome.hint.map(str::to_owned),
    };
    tell(cx, &destination, answer)
}

/// A trace of its own for each test, encoded.
fn body(protocol: Protocol) -> (TraceId, Vec<u8>) {
    let (first, second) = (Ids.fresh(), Ids.fresh());
    let (_, tail) = second.as_bytes().split_at(8);
    let because = "because these ids are not zero";
    let probe = Probe {
        trace: TraceId::from_bytes(first.as_bytes()).expect(because),
        span: SpanId::from_bytes(tail).expect(because),
        at: clock::now(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let body = match protocol {
        Protocol::HttpJson => probe.json(),
        Protocol::HttpProtobuf | Protocol::Grpc => probe.protobuf(),
    };
    (probe.trace, body)
}

fn hex(trace: &TraceId) -> String {
    trace.bytes().iter().map(|b| format!("{b:02x}")).collect()
}

fn outcome(sent: Result<OtlpAnswer, OtlpError>) -> Outcome {
    let answer = match sent {
        Ok(answer) => answer,
        Err(error) => {
            return Outcome {
                message: Some(error.to_string()),
                hint: hint(&error),
                ..Outcome::default()
            };
        }
    };
    match Answer::read(&answer.content_type, &answer.body) {
        Ok(answer) if answer.rejected > 0 => Outcome {
            message: Some(match answer.message.as_str() {
                "" => "the server rejected the span without a reason".to_owned(),
                why => format!("the server rejected the span: {}", server_message(why)),
            }),
            ..Outcome::default()
        },
        Ok(answer) => Outcome {
            taken: true,
            message: Some(server_message(&answer.message)).filter(|text| !text.is_empty()),
            hint: None,
        },
        Err(error) => Outcome {
            message: Some(error.to_string()),
            hint: Some("The response is not from an OTLP server: check the path of the endpoint."),
            ..Outcome::default()
        },
    }
}

/// A word of a server, on one line.
fn server_message(text: &str) -> String {
    crate::ui::one_line(text, 500)
}

/// What may help against a failure.
fn hint(error: &OtlpError) -> Option<&'static str> {
    let refusal_hint = |refusal: &Refusal| match refusal {
        refusal if refusal.is_about_credentials() => Some(
            "Check the credential: replace it with `siglum otel add`, the same name and `--header-file NAME=PATH`.",
        ),
        refusal if refusal.is_about_the_address() => Some(
            "Check the endpoint: over HTTP, /v1/traces is appended unless it already ends with it; gRPC has no path.",
        ),
        refusal if refusal.is_about_the_form() => Some("Try another `--protocol`, or `--no-gzip`."),
        _ => None,
    };
    match error {
        OtlpError::Unreachable { .. } => {
            Some("Check that the server runs, and the port: usually 4318 for HTTP, 4317 for gRPC.")
        }
        OtlpError::Busy { .. } => Some("The server is reachable but busy: try again later."),
        OtlpError::TooLarge { refusal, .. } | OtlpError::Refused { refusal, .. } => {
            refusal_hint(refusal)
        }
    }
}

fn tell(cx: &Cx, destination: &Destination, answer: Json) -> Result<(), CommandError> {
    let failure = (!answer.taken).then(|| {
        let message = answer.message.clone().unwrap_or_default();
        let error = CommandError::failed(format!(
            "the test failed after {} ms: {message}",
            answer.duration_ms
        ));
        match &answer.hint {
            Some(hint) => error.hint(hint.clone()),
            None => error,
        }
    });
    if cx.ui.json {
        cx.ui.json(SCHEMA, answer)?;
    } else if failure.is_none() {
        cx.ui.line(format!(
            "{} accepted trace {} of session {} in {} ms, over {}",
            destination.endpoint,
            cx.ui.paint(Style::Id, &answer.trace_id),
            answer.session,
            answer.duration_ms,
            answer.protocol
        ))?;
        if let Some(message) = &answer.message {
            cx.ui.line(format!("Server message: {message}"))?;
        }
    }
    failure.map_or(Ok(()), Err)
}
