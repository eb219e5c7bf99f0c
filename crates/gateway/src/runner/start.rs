//! A run begins.

use super::{Ask, Running};
use crate::app::App;
use crate::problem::Problem;

/// Begins a run. Gives it once its conversation has its name and its turn is open.
///
/// # Errors
/// Where the agent may not be run here or cannot be started, where another run of the session goes on, and those of the
/// store. Nothing was told to the agent then.
pub(crate) async fn start(_app: &App, ask: Ask) -> Result<Running, Problem> {
    Err(Problem::invalid(
        "agent",
        format!(
            "`{}` is not run here; `siglum serve --run` says which are",
            ask.agent
        ),
    ))
}
