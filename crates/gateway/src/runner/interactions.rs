//! What agents ask people: as it comes over the protocol, as it is stored, and as it is answered.

use agent_client_protocol::v1::Responder;
use serde_json::Value;
use siglum_domain::redact::Redactor;
use siglum_domain::{InteractionId, SessionId, Tenant, Timestamp, TurnId};
use siglum_engine::driven::active_run::{self, Answer};
use siglum_engine::driven::run;
use siglum_ledger::{InteractionOption, InteractionRecord, Settlement};
use siglum_platform::clock;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::App;
use crate::problem::Problem;
use crate::runs::agent::{cancelled, selected};
use crate::runs::{Choice, ChoiceKind, Control};

/// The most answers that one may have.
const OPTIONS_MOST: usize = 32;

/// An agent waits for somebody.
pub(super) struct PendingInteraction {
    pub(super) id: InteractionId,
    pub(super) call: Option<String>,
    pub(super) options: Vec<Choice>,
    pub(super) since: Instant,
    responder: Box<Responder<Value>>,
}

impl PendingInteraction {
    /// Takes a request of the agent.
    pub(super) fn new(
        id: InteractionId,
        call: Option<String>,
        params: &Value,
        responder: Box<Responder<Value>>,
    ) -> Self {
        let options = params["options"].as_array().into_iter().flatten();
        Self {
            id,
            call,
            options: options.take(OPTIONS_MOST).filter_map(choice).collect(),
            since: Instant::now(),
            responder,
        }
    }

    /// The option that allows it, as narrowly as there is one.
    pub(super) fn allows(&self) -> Option<&Choice> {
        self.first([ChoiceKind::AllowOnce, ChoiceKind::AllowAlways])
    }

    /// The option that refuses it.
    pub(super) fn refuses(&self) -> Option<&Choice> {
        self.first([ChoiceKind::RefuseOnce, ChoiceKind::RefuseAlways])
    }

    fn first(&self, kinds: [ChoiceKind; 2]) -> Option<&Choice> {
        let of = |kind| self.options.iter().find(|choice| choice.kind == kind);
        kinds.into_iter().find_map(of)
    }

    /// Tells the agent what was chosen; nothing: nobody says anything.
    pub(super) fn answer(self, option: Option<&str>) {
        let answer = option.map_or_else(cancelled, selected);
        // An agent that is gone hears nothing.
        let _ = self.responder.respond(answer);
    }

    /// As it is stored.
    pub(super) fn record(
        &self,
        session: SessionId,
        turn: TurnId,
        title: &str,
        now: Timestamp,
    ) -> InteractionRecord {
        let option = |choice: &Choice| InteractionOption {
            id: choice.id.clone(),
            name: Redactor::shared().redact(&choice.name),
            kind: choice.kind.as_str().to_owned(),
        };
        InteractionRecord {
            id: self.id,
            session,
            turn,
            kind: "permission".to_owned(),
            title: Redactor::shared().redact(title),
            call: self.call.clone(),
            options: self.options.iter().map(option).collect(),
            raised_at: now,
            settled: None,
        }
    }
}

fn choice(option: &Value) -> Option<Choice> {
    let kind = match option["kind"].as_str() {
        Some("allow_once") => ChoiceKind::AllowOnce,
        Some("allow_always") => ChoiceKind::AllowAlways,
        Some("reject_once") => ChoiceKind::RefuseOnce,
        Some("reject_always") => ChoiceKind::RefuseAlways,
        _ => ChoiceKind::Other,
    };
    let id = option["optionId"].as_str().filter(|id| id.len() <= 256)?;
    let name = option["name"].as_str().unwrap_or(id);
    let name: String = name.chars().take(200).collect();
    Some(Choice {
        id: id.to_owned(),
        name: Redactor::shared().redact(&name).into_string(),
        kind,
    })
}

/// Answers an interaction.
///
/// # Errors
/// Where there is none of this id in this session, where it was answered or lost, and for an option that it does not
/// have.
pub(crate) async fn answer(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
    interaction: InteractionId,
    option: &str,
    by: &str,
) -> Result<(), Problem> {
    let record = find(app, tenant, session, interaction).await?;
    check(&record, option)?;
    let Some(active) = app.runs().active(tenant, session) else {
        return answer_elsewhere(app, tenant, record, option, by).await;
    };
    let gone = || lost(interaction);
    let (reply, answer) = oneshot::channel();
    let control = Control::Answer {
        id: interaction,
        option: option.to_owned(),
        by: by.to_owned(),
        reply,
    };
    active.control.send(control).await.map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

/// Answers what the agent of a run at another gateway asks.
async fn answer_elsewhere(
    app: &App,
    tenant: &Tenant,
    record: InteractionRecord,
    option: &str,
    by: &str,
) -> Result<(), Problem> {
    let id = record.id;
    if !app.ledgers().is_shared() {
        return Err(lost(id));
    }
    let settled = settlement("answered", Some(option), by, clock::now());
    let answered = app.ledgers().write(tenant, move |here, ledger| {
        active_run::answer(here, ledger, &record, &settled)
    });
    match answered.await?? {
        Answer::Stored => Ok(()),
        Answer::Late => Err(settled_before(id)),
        Answer::Lost => Err(lost(id)),
    }
}

/// The run that asked is gone.
pub(super) fn lost(id: InteractionId) -> Problem {
    let detail = format!("the run that asked {id} is not active");
    Problem::conflict("interaction-lost", detail)
}

/// Somebody else was faster.
pub(super) fn settled_before(id: InteractionId) -> Problem {
    let detail = format!("interaction {id} was settled in the meantime");
    Problem::conflict("interaction-settled", detail)
}

/// What an agent asked in this session.
pub(super) async fn find(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
    id: InteractionId,
) -> Result<InteractionRecord, Problem> {
    let found = app.ledgers().read(tenant, move |_, ledger| {
        run::interaction(ledger, session, id)
    });
    let found = found.await??;
    let none = || Problem::not_found(format!("no interaction {id} in session {session}"));
    found.ok_or_else(none)
}

/// Refuses an answer that comes too late, or that is none.
pub(super) fn check(record: &InteractionRecord, option: &str) -> Result<(), Problem> {
    if let Some(settled) = &record.settled {
        let code = match settled.how.as_str() {
            "lost" => "interaction-lost",
            _ => "interaction-settled",
        };
        let detail = format!(
            "interaction {} ended at {}: {}",
            record.id, settled.at, settled.how
        );
        return Err(Problem::conflict(code, detail));
    }
    if record.options.iter().any(|known| known.id == option) {
        return Ok(());
    }
    let known: Vec<&str> = record
        .options
        .iter()
        .map(|known| known.id.as_str())
        .collect();
    Err(Problem::invalid(
        "option",
        format!("must be one of {}", known.join(", ")),
    ))
}

/// What became of it, as it is stored.
pub(super) fn settlement(how: &str, option: Option<&str>, by: &str, at: Timestamp) -> Settlement {
    Settlement {
        at,
        how: how.to_owned(),
        option: option.map(str::to_owned),
        by: by.to_owned(),
    }
}
