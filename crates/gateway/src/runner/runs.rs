//! The runs of this gateway.

use siglum_domain::{InteractionId, SessionId, Tenant};

use super::{RunSettings, Running};
use crate::app::App;
use crate::problem::Problem;

/// The runs of this gateway, by tenant and session.
#[derive(Debug)]
pub(crate) struct Runs {
    settings: RunSettings,
}

impl Runs {
    pub(crate) const fn new(settings: RunSettings) -> Self {
        Self { settings }
    }

    /// What may be run.
    pub(crate) const fn settings(&self) -> &RunSettings {
        &self.settings
    }

    /// The run of a session that goes on here.
    pub(crate) fn find(&self, _tenant: &Tenant, _session: SessionId) -> Option<Running> {
        None
    }

    /// Cancels the run of a session that goes on here; what it did is committed, and marked. Gives it.
    ///
    /// # Errors
    /// Where none goes on here.
    pub(crate) fn cancel(
        &self,
        _tenant: &Tenant,
        session: SessionId,
        _by: &str,
    ) -> Result<Running, Problem> {
        Err(Problem::not_found(format!(
            "no run of session {session} goes on here"
        )))
    }

    /// Answers an interaction.
    ///
    /// # Errors
    /// Where there is none of this id in this session, where it was answered or lost, and for an option that it does not
    /// have.
    pub(crate) async fn answer(
        &self,
        _app: &App,
        _tenant: &Tenant,
        _session: SessionId,
        interaction: InteractionId,
        _option: &str,
        _by: &str,
    ) -> Result<(), Problem> {
        Err(Problem::not_found(format!(
            "there is no interaction {interaction}"
        )))
    }
}
