//! What an agent that the gateway runs finds in its environment: as with `siglum run`.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use siglum_domain::SessionId;
use siglum_gateway::{Handed, Handing, Over};

use crate::claim::Token;
use crate::commands::run::environment;
use crate::cx::Cx;
use crate::home::Home;
use crate::{store, telemetry};

/// Hands over the session, a token for its hooks, and where telemetry goes. On a PostgreSQL store there is no token: hooks
/// write to the ledger of this home, which does not have the session.
pub fn from_cx(cx: &Cx) -> Handing {
    let home = cx.home.clone();
    match store::address() {
        Ok(None) => Handing(Arc::new(move |session| hand(&home, session))),
        _ => Handing(Arc::new(|session| {
            Ok(Handed {
                digest: String::new(),
                variables: owned(environment::of_session(session)),
                over: Over(None),
            })
        })),
    }
}

fn hand(home: &Home, session: SessionId) -> io::Result<Handed> {
    let token = Token::renew(home, session)?;
    let mut variables = owned(environment::handed_down(session, &token));
    let telemetry = telemetry::handed_down(home).into_iter();
    variables.extend(telemetry.map(|(name, value)| (name.into(), Some(value.into()))));
    Ok(Handed {
        digest: token.digest.clone(),
        variables,
        over: Over(Some(Box::new(move || token.end()))),
    })
}

/// With what the gateway knows and an agent need not.
fn owned(changes: Vec<environment::Change>) -> Vec<(OsString, Option<OsString>)> {
    let kept_back = store::VARIABLES.map(|name| (name, None));
    let all = changes.into_iter().chain(kept_back);
    #[cfg(feature = "postgres")]
    let all = all.chain(crate::blobs::VARIABLES.map(|name| (name, None)));
    all.map(|(name, value)| (name.into(), value)).collect()
}
