//! What the agent of a run asks people while it goes on: asked, answered here or through another gateway, or let go.

use siglum_domain::InteractionId;
use siglum_engine::driven::run;
use siglum_platform::clock;

use super::drive::Drive;
use super::interactions::{PendingInteraction, settled_before, settlement};
use crate::problem::Problem;
use crate::runs::{Permissions, RunEvent};

impl Drive {
    /// Notes what the agent asks, and answers it where a rule does.
    pub(super) async fn ask_somebody(&mut self, pending: PendingInteraction, title: &str) {
        let title: String = title.chars().take(2_000).collect();
        let (session, turn) = (self.record.session, self.record.turn);
        let record = pending.record(session, turn, &title, clock::now());
        let (id, title) = (pending.id, record.title.as_str().to_owned());
        let (call, options) = (pending.call.clone(), pending.options.clone());
        let chosen = match self.ask.permissions {
            Permissions::Ask => None,
            Permissions::Allow => Some(pending.allows().cloned()),
            Permissions::Refuse => Some(pending.refuses().cloned()),
        };
        let noted = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |_, ledger| {
                run::record_interaction(ledger, &record)
            });
        if !matches!(noted.await, Ok(Ok(()))) {
            tracing::warn!("cannot store a question of an agent of session {session}");
        }
        self.interactions.push(pending);
        // What led to it is stored and told before it.
        self.store().await;
        self.running.log.push(RunEvent::Interaction {
            id,
            title,
            call,
            options,
        });
        if let Some(chosen) = chosen {
            let option = chosen.map(|choice| choice.id);
            let answered = self.answer(id, option.as_deref(), "policy", "policy").await;
            if answered.is_err() {
                self.let_go("lost").await;
            }
        }
    }

    /// Somebody, or a rule, says something to what the agent asked; `false` where somebody was faster at another gateway,
    /// whose answer the agent got.
    pub(super) async fn answer(
        &mut self,
        id: InteractionId,
        option: Option<&str>,
        how: &str,
        by: &str,
    ) -> Result<bool, Problem> {
        if !self.interactions.iter().any(|pending| pending.id == id) {
            return Err(settled_before(id));
        }
        let settled = settlement(how, option, by, clock::now());
        let noted = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |_, ledger| {
                run::settle(ledger, id, &settled)
            });
        let is_first = noted.await??;
        if !is_first && self.take_answer(id).await? {
            return Ok(false);
        }
        self.pass_on(id, option, by);
        Ok(true)
    }

    /// Looks for answers that came through other gateways.
    pub(super) async fn take_answers(&mut self) {
        let ids: Vec<InteractionId> = self.interactions.iter().map(|asked| asked.id).collect();
        for id in ids {
            // A store that cannot be asked now is asked again.
            let _ = self.take_answer(id).await.is_ok();
        }
    }

    /// Passes on what is stored as the answer, if something is.
    async fn take_answer(&mut self, id: InteractionId) -> Result<bool, Problem> {
        let session = self.record.session;
        let found = self.app.ledgers().read(&self.ask.tenant, move |_, ledger| {
            run::interaction(ledger, session, id)
        });
        let Some(settled) = found.await??.and_then(|record| record.settled) else {
            return Ok(false);
        };
        self.pass_on(id, settled.option.as_deref(), &settled.by);
        Ok(true)
    }

    /// Tells the agent, and those who follow, what was chosen.
    fn pass_on(&mut self, id: InteractionId, option: Option<&str>, by: &str) {
        let at = self.interactions.iter().position(|asked| asked.id == id);
        let Some(at) = at else {
            return;
        };
        let pending = self.interactions.remove(at);
        let refused = pending
            .refuses()
            .is_some_and(|choice| Some(choice.id.as_str()) == option);
        if let Some(call) = pending.call.as_deref().filter(|_| refused) {
            self.scribe.refused(call);
        }
        pending.answer(option);
        self.running.log.push(RunEvent::Answered {
            id,
            option: option.map(str::to_owned),
            by: by.to_owned(),
        });
    }

    /// Nobody answers any more.
    pub(super) async fn let_go(&mut self, how: &'static str) {
        while let Some(pending) = self.interactions.first() {
            let id = pending.id;
            if self.answer(id, None, how, "siglum").await.is_err() {
                self.interactions.remove(0).answer(None);
            }
        }
    }

    /// What nobody answered in time is refused.
    pub(super) async fn expire(&mut self) {
        let most = self.app.runs().settings().answer;
        let late = self
            .interactions
            .iter()
            .find(|pending| pending.since.elapsed() > most);
        if let Some(pending) = late {
            let (id, option) = (
                pending.id,
                pending.refuses().map(|choice| choice.id.clone()),
            );
            if self
                .answer(id, option.as_deref(), "expired", "siglum")
                .await
                .is_err()
            {
                self.let_go("lost").await;
            }
        }
    }
}
