//! `siglum serve`: the gateway.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use siglum_domain::context::Policy;
use siglum_gateway::{Limits, ServeError, Settings, Store, Written};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform;

/// The schema of the JSON answer: one line when the gateway is ready.
pub const SCHEMA: &str = "siglum.serve/1";

/// Serve sessions, turns, checkpoints and audit over HTTP
///
/// Serves the ledger of this home, or the PostgreSQL store that SIGLUM_STORE names as
/// postgres://user:password@host/database. Several gateways can serve one PostgreSQL store. Whoever
/// asks needs a token: `siglum token create` makes one for a launcher (there, of the tenant that
/// SIGLUM_TENANT names), and creating a session gives one for that session. Stops on SIGTERM and SIGINT: what has begun is finished.
///
/// What it can do is at /v1/openapi.json, whether it can serve at /readyz, what it counts at /metrics.
#[derive(clap::Args)]
pub struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7477")]
    listen: SocketAddr,
    /// Listen on an address that others can reach, though what is sent there is not encrypted: for a
    /// gateway behind a proxy that does that
    #[arg(long)]
    plain: bool,
    /// Requests of one token in a second
    #[arg(long, value_name = "N", default_value_t = Limits::default().rate)]
    rate: u32,
    /// Sessions that one token may create in a minute
    #[arg(long, value_name = "N", default_value_t = Limits::default().creations)]
    creations: u32,
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    /// Where the gateway listens.
    address: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let store = store(cx)?;
    let settings = Settings {
        listen: args.listen,
        plain: args.plain,
        limits: Limits {
            rate: args.rate,
            creations: args.creations,
            ..Limits::default()
        },
        store,
        policy: Policy::new(cx.config.contexts.clone()),
    };
    let ready = |address: SocketAddr| {
        let address = format!("http://{address}");
        if cx.ui.json {
            // Whoever started it may have gone, and it serves all the same.
            let _ = cx.ui.json(SCHEMA, Json { address });
        } else {
            cx.ui.status(format!("Serving at {address}."));
        }
    };
    siglum_gateway::serve(&settings, ready).map_err(|error| match error {
        ServeError::Plain(_) => CommandError::usage(error.to_string()).hint(
            "`--plain` serves there all the same: for a gateway behind a proxy that encrypts.",
        ),
        ServeError::Store(error) => error.into(),
        other => CommandError::failed(format!("{:#}", anyhow::Error::new(other))),
    })
}

fn store(cx: &Cx) -> Result<Store, CommandError> {
    match crate::store::address()? {
        None => {
            let home = cx.home.clone();
            // The worker does what requests leave for later: folds, projections.
            let written = Written(Arc::new(move || platform::start_worker(&home)));
            Ok(Store::File(cx.home.ledger(), written))
        }
        #[cfg(feature = "postgres")]
        Some(address) => Ok(Store::Server(address)),
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(CommandError::failed(
            "this program was built without PostgreSQL",
        )),
    }
}
