//! What agents ask people while they run, and the answers.

use axum::Json;
use axum::extract::State;
use siglum_domain::{InteractionId, SessionId};
use siglum_ledger::{InteractionRecord, read};

#[cfg(test)]
use super::path::OfConversation;
use super::path::Path;
use super::running::existing_session;
use crate::admission;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::runner;
use crate::wire::{AnswerInteraction, Interaction, InteractionList};

/// Rows of a page, and at most.
const PAGE: usize = 200;
const NO_CURSOR: &str =
    "`cursor` names no interaction of this list; it may be forgotten: start again without it";

/// Which of them, for the document.
#[cfg(test)]
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "the document alone reads it; `Path` gives the id")]
pub(crate) struct OfInteraction {
    /// Interaction id
    #[param(pattern = r"^int_[0-9a-f]{32}$")]
    interaction: String,
}

/// List the questions that the agent of a session asked people, newest first
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/interactions", tag = "messages", operation_id = "listInteractions",
    security(("launcher" = []), ("session" = [])),
    params(
        OfConversation,
        ("agent" = Option<String>, Query, description = "Agent, if several have a conversation of this id", pattern = r"^[a-z0-9-]{1,64}$"),
        ("state" = Option<String>, Query, description = "`open`: only questions without an answer; `all` by default", pattern = "^(open|all)$"),
        ("cursor" = Option<String>, Query, description = "Return interactions after this one (`next` of the previous page)", pattern = r"^int_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "The interactions", body = InteractionList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    mut query: Query,
) -> Result<Json<InteractionList>, Problem> {
    let open = match query.take("state")?.as_deref() {
        None | Some("all") => false,
        Some("open") => true,
        Some(_) => return Err(Problem::invalid("state", "`open` or `all`")),
    };
    let limit = query.limit(PAGE, PAGE)?;
    let cursor: Option<InteractionId> = query.cursor()?;
    let session = existing_session(&app, &caller, &path, &mut query).await?.id;
    query.end()?;
    admission::read(&app, &caller, session);
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        // All of them: a session has few, each of which waited for a person.
        read(ledger, |tx| tx.interactions_of(session, 0))
    });
    let mut found = found.await??;
    if let Some(cursor) = cursor {
        let last = found.iter().position(|record| record.id == cursor);
        let last = last.ok_or_else(|| Problem::not_found(NO_CURSOR))?;
        found.drain(..=last);
    }
    found.retain(|record| !open || record.settled.is_none());
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more);
    Ok(Json(InteractionList {
        items: found.iter().map(Interaction::from).collect(),
        next: next.map(|record| record.id.to_string()),
    }))
}

/// Answer an agent's question by an option, or by approving or rejecting it
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/interactions/{interaction}", tag = "messages", operation_id = "answerInteraction",
    security(("launcher" = []), ("session" = [])),
    params(
        OfConversation,
        OfInteraction,
        ("agent" = Option<String>, Query, description = "Agent, if several have a conversation of this id", pattern = r"^[a-z0-9-]{1,64}$"),
    ),
    request_body = AnswerInteraction,
    responses((status = 200, description = "The answered interaction", body = Interaction), Problems)))]
pub(crate) async fn answer(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    mut query: Query,
    Body(new): Body<AnswerInteraction>,
) -> Result<Json<Interaction>, Problem> {
    let id = path.interaction()?;
    let session = existing_session(&app, &caller, &path, &mut query).await?.id;
    query.end()?;
    let read_interaction = async || {
        let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
            read(ledger, |tx| tx.interaction(id))
        });
        of_session(found.await??, session)
    };
    let option = chosen(&read_interaction().await?, &new)?;
    runner::answer(&app, &caller.tenant, session, id, &option, &caller.by()).await?;
    Ok(Json(Interaction::from(&read_interaction().await?)))
}

fn of_session(
    found: Option<InteractionRecord>,
    session: SessionId,
) -> Result<InteractionRecord, Problem> {
    let found = found.filter(|record| record.session == session);
    found.ok_or_else(|| Problem::not_found("the session has no interaction with this id"))
}

/// The option that an answer means.
fn chosen(record: &InteractionRecord, new: &AnswerInteraction) -> Result<String, Problem> {
    let kinds = match (&new.option, new.approved) {
        (Some(option), None) => {
            let known = record.options.iter().any(|o| o.id == *option);
            let rule = "must be the id of one of the options of the interaction";
            return match known {
                true => Ok(option.clone()),
                false => Err(Problem::invalid("option", rule)),
            };
        }
        (None, Some(true)) => ["allow-once", "allow-always"],
        (None, Some(false)) => ["refuse-once", "refuse-always"],
        _ => {
            let rule = "must have either `option` or `approved`";
            return Err(Problem::invalid("option", rule));
        }
    };
    let of = |kind: &&str| record.options.iter().find(|o| o.kind == **kind);
    let found = kinds.iter().find_map(of);
    let rule = "the interaction has no such option; choose one with `option`";
    let found = found.ok_or_else(|| Problem::invalid("approved", rule))?;
    Ok(found.id.clone())
}

#[cfg(test)]
mod tests {
    use siglum_domain::{Redacted, Timestamp};
    use siglum_ledger::InteractionOption;

    use super::*;

    fn interaction_record(kinds: &[&str]) -> InteractionRecord {
        let option = |kind: &&str| InteractionOption {
            id: format!("id-{kind}"),
            name: siglum_domain::redact::Redactor::shared().redact(kind),
            kind: (*kind).to_owned(),
        };
        InteractionRecord {
            id: format!("int_{:032x}", 1).parse().unwrap(),
            session: format!("ses_{:032x}", 2).parse().unwrap(),
            turn: format!("trn_{:032x}", 3).parse().unwrap(),
            kind: "permission".to_owned(),
            title: Redacted::from_stored(String::new()),
            call: None,
            options: kinds.iter().map(option).collect(),
            raised_at: Timestamp::from_nanos(0),
            settled: None,
        }
    }

    #[track_caller]
    fn check(
        kinds: &[&str],
        option: Option<&str>,
        approved: Option<bool>,
        expected: Result<&str, &str>,
    ) {
        let new = AnswerInteraction {
            option: option.map(str::to_owned),
            approved,
        };
        let found = chosen(&interaction_record(kinds), &new);
        let found = found.map_err(|problem| problem.field().unwrap_or_default().to_owned());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{kinds:?} {option:?} {approved:?}");
    }

    #[test]
    fn an_answer_is_an_option_and_once_comes_before_always() {
        let all = ["allow-always", "allow-once", "refuse-always", "refuse-once"];
        check(&all, None, Some(true), Ok("id-allow-once"));
        check(&all, None, Some(false), Ok("id-refuse-once"));
        check(&all, Some("id-allow-always"), None, Ok("id-allow-always"));
        check(&["allow-always"], None, Some(true), Ok("id-allow-always"));
        check(&["allow-once"], None, Some(false), Err("approved"));
        check(&["other"], None, Some(true), Err("approved"));
        check(&all, Some("allow-once"), None, Err("option"));
        check(&all, Some("id-allow-once"), Some(true), Err("option"));
        check(&all, None, None, Err("option"));
    }
}
