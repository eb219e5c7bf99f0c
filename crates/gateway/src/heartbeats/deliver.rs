//! What ticks said goes where it belongs.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use siglum_domain::{Tenant, legible};
use siglum_engine::driven::heartbeat::{self, Parcel, Target, Undelivered, document};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::app::App;
use crate::ledgers::{Ledgers, Unavailable};

/// How long a program may take.
const COMMAND: Duration = Duration::from_secs(60);

/// Delivers what may be delivered now, beside what else goes on.
pub(super) async fn round(app: &App, tenant: &Tenant) -> Result<(), Unavailable> {
    let parcels = app.ledgers().write(tenant, heartbeat::take).await?;
    for parcel in parcels.map_err(|e| Unavailable::from(&e))? {
        let (app, tenant) = (app.clone(), tenant.clone());
        tokio::spawn(async move {
            let outcome = send(&app, &tenant, &parcel).await;
            let settled = app.ledgers().write(&tenant, move |here, ledger| {
                heartbeat::settle(here, ledger, &parcel, &outcome)
            });
            match settled.await {
                Ok(Ok(())) => {}
                // It is taken again, by its name, when its time is over.
                Ok(Err(error)) => tracing::warn!("cannot record a delivery: {error}"),
                Err(error) => tracing::warn!("cannot record a delivery: {error}"),
            }
        });
    }
    Ok(())
}

async fn send(app: &App, tenant: &Tenant, parcel: &Parcel) -> Result<(), Undelivered> {
    match &parcel.target {
        Target::Nowhere => Ok(()),
        Target::Log => {
            tracing::info!(
                "heartbeat {} has an answer: {}",
                parcel.tick.heartbeat,
                parcel.id
            );
            match app.heartbeats().log.clone() {
                Some(log) => blocking(parcel, move |parcel| written(&log, parcel)).await,
                None => Ok(()),
            }
        }
        Target::Webhook(address) => {
            let (address, reach) = (address.clone(), app.heartbeats().reach(address));
            blocking(parcel, move |parcel| {
                heartbeat::to_webhook(&address, reach, parcel)
            })
            .await
        }
        Target::Command => command(app, tenant, parcel).await,
        Target::Route(route) => {
            let (route, policy, parcel) = (route.clone(), app.policy().clone(), parcel.clone());
            let sent = app.ledgers().write(tenant, move |here, ledger| {
                heartbeat::to_session(here, ledger, &policy, &route, &parcel)
            });
            sent.await
                .unwrap_or_else(|e| Err(Undelivered::Later(e.to_string())))
        }
    }
}

async fn blocking(
    parcel: &Parcel,
    work: impl FnOnce(&Parcel) -> Result<(), Undelivered> + Send + 'static,
) -> Result<(), Undelivered> {
    let parcel = parcel.clone();
    let done = tokio::task::spawn_blocking(move || work(&parcel)).await;
    done.unwrap_or_else(|e| Err(Undelivered::Later(e.to_string())))
}

/// Adds a line to the file of its heartbeat.
fn written(log: &Path, parcel: &Parcel) -> Result<(), Undelivered> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let line = log_line(&document(parcel));
    let write = || {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(log)?;
        let file = log.join(format!("{}.jsonl", parcel.tick.heartbeat));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(file)?;
        file.write_all(line.as_bytes())
    };
    write().map_err(|e| Undelivered::Later(format!("cannot write the log: {e}")))
}

/// A document on a line of a file that people look at in a terminal.
fn log_line(document: &serde_json::Value) -> String {
    format!("{}\n", legible::json(&document.to_string()))
}

/// Hands it to the program that the configuration names: the ledger names none.
async fn command(app: &App, tenant: &Tenant, parcel: &Parcel) -> Result<(), Undelivered> {
    let ours = *tenant == Ledgers::local();
    let mut configured = app.heartbeats().configured.iter();
    let found = configured.find(|c| ours && c.definition.name == parcel.tick.heartbeat);
    let Some([program, arguments @ ..]) = found.map(|c| c.command.as_slice()) else {
        let why = "the configuration of this gateway names no command for it";
        return Err(Undelivered::Later(why.to_owned()));
    };
    let failed = |why: String| Undelivered::Later(format!("the command failed: {why}"));
    // The operator's configuration names this program, and nobody else.
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("SIGLUM_TICK", &parcel.id)
        .env("SIGLUM_ROUTE", parcel.route.as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let run = async {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that does not read has what it wants.
            let _ = stdin.write_all(heartbeat::input(parcel).as_bytes()).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(COMMAND, run).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(failed(status.to_string())),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed("it took more than a minute".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_has_nothing_that_is_obeyed_or_hides() {
        let document = serde_json::json!({ "text": "a\u{9b}31m\u{7f}\u{202e}b\u{200b}\nc" });
        let line = log_line(&document);
        let text = line.trim_end();
        assert!(
            !text
                .chars()
                .any(|sign| legible::is_hazard(sign) || sign == '\n')
        );
        let read: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(read, document);
    }
}
