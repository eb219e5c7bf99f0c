//! What ends a run from outside: the gateway is told to stop, or somebody cancels the run. Where its turn is not open yet,
//! its agent is let go, and nothing of it is stored.

use tokio::sync::{mpsc, watch};

use crate::app::App;
use crate::runs::Control;
use crate::runs::agent::AgentError;

/// What ends the start of a run because the gateway stops.
pub(super) const STOPPING: &str = "stopping";

/// Waits for an agent that starts, unless somebody cancels its run or stops the gateway meanwhile: then it is let go.
pub(super) async fn unless_cancelled<T>(
    app: &App,
    controls: &mut mpsc::Receiver<Control>,
    work: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AgentError> {
    let mut stopping = app.stopping();
    tokio::select! {
        biased;
        () = stops(&mut stopping) => {
            let text = "the gateway stopped while the agent started";
            Err(AgentError::new(STOPPING, text))
        }
        by = cancelled(controls) => {
            let text = format!("cancelled by {by} while the agent started");
            Err(AgentError::new("cancelled", text))
        }
        done = work => done,
    }
}

/// Who cancels a run, when somebody does.
async fn cancelled(controls: &mut mpsc::Receiver<Control>) -> String {
    loop {
        match controls.recv().await {
            Some(Control::Cancel(by)) => return by,
            // The agent asked nothing yet.
            Some(Control::Answer { .. }) => {}
            // The other side is there for as long as the run has its place.
            None => std::future::pending::<()>().await,
        }
    }
}

/// Done when the gateway is told to stop, also if that was before.
pub(super) async fn stops(stopping: &mut watch::Receiver<bool>) {
    // Nobody lets go of the other side before the gateway is gone.
    let _ = stopping.wait_for(|stop| *stop).await.is_ok();
}
