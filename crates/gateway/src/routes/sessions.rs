//! Sessions: listed, shown, kept alive, ended.

use axum::Json;
use axum::extract::State;
use siglum_domain::link::Link;
use siglum_domain::{AgentName, ConversationId};
use siglum_engine::driven::remote;
use siglum_engine::driven::turn::TurnError;
use siglum_engine::views::session::{SessionJson, SessionListJson};
use siglum_ledger::{Order, SessionFilter, read};

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use super::representation::Elsewhere;
use super::responses;
use super::transaction::refusable;
use crate::admission::Launcher;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::ledgers::seeing;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{Query, SESSION_RULE};
use crate::reach::wanted_repositories;
#[cfg(test)]
use crate::shared_schemas::{Session, SessionList};
#[cfg(test)]
use crate::wire::LabelInput;
use crate::wire::{EndSession, EndedSession};

/// Rows of a page.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;

/// List sessions, newest first
///
/// The newest is the one that was created last, so that no session moves from one page to another. `since` and `until`
/// go by the last activity of a session, its `last_at`.
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions", tag = "sessions", operation_id = "listSessions",
    security(("launcher" = [])),
    params(
        ("issue_number" = Option<i64>, Query, description = "Only with this issue number", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pr_number" = Option<i64>, Query, description = "Only with this pull request number", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pipeline_id" = Option<String>, Query, description = "Only in this pipeline", pattern = r"^[^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?$"),
        ("agent_role" = Option<String>, Query, description = "Only with this agent role", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("phase" = Option<String>, Query, description = "Only in this phase", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("label" = Option<Vec<LabelInput>>, Query, description = "Only with this label, `key=value`; may be repeated"),
        ("agent" = Option<String>, Query, description = "Only sessions of this agent", pattern = r"^[a-z0-9-]{1,64}$"),
        ("conversation_id" = Option<String>, Query, description = "Only sessions with this conversation id, of any agent", pattern = r"^(?!.*\.\.)[A-Za-z0-9._:-]{1,128}$"),
        ("parent" = Option<String>, Query, description = "Only sessions that came from this one: sub-agents, forks, rewinds and new starts after a clear", pattern = r"^ses_[0-9a-f]{32}$"),
        ("since" = Option<String>, Query, description = "Only sessions with their last activity at or after this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("until" = Option<String>, Query, description = "Only sessions with their last activity before this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("repository" = Option<String>, Query, description = "Only sessions in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("state" = Option<String>, Query, description = "`open` or `all`", pattern = r"^(open|all)$"),
        ("cursor" = Option<String>, Query, description = "Return sessions after this one (`next` of the previous page)", pattern = r"^ses_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The sessions", body = SessionList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<SessionListJson>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let repository = query.text("repository", 4096)?;
    let conversation = query.take("conversation_id")?.map(ConversationId::new);
    let conversation = conversation.transpose();
    let (since, until) = query.period()?;
    let filter = SessionFilter {
        conversation: conversation.map_err(|e| Problem::invalid("conversation_id", e.rule))?,
        parent: query.parsed("parent", SESSION_RULE)?,
        since,
        until,
        agent: query.named(
            "agent",
            |t| AgentName::new(t).ok(),
            "1 to 64 of the characters a-z 0-9 -",
        )?,
        open: match query.take("state")?.as_deref() {
            None | Some("all") => false,
            Some("open") => true,
            Some(_) => return Err(Problem::invalid("state", "`open` or `all`")),
        },
        links: wanted_links(&mut query)?,
        order: Order::Created {
            after: query.cursor()?,
        },
        limit: limit + 1,
        ..SessionFilter::default()
    };
    query.end()?;
    let limits = caller.limits().clone();
    let listed = app.ledgers().read(&caller.tenant, move |here, ledger| {
        read(ledger, |tx| {
            let mut filter = filter.clone();
            match wanted_repositories(tx, &limits, repository.as_deref())? {
                Some(none) if none.is_empty() => return Ok(Vec::new()),
                wanted => filter.repositories = wanted.unwrap_or_default(),
            }
            let found = tx.sessions(&filter)?;
            responses::shown_sessions(&seeing(here), tx, found)
        })
    });
    let mut sessions = listed.await??;
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| more).map(|s| s.id.to_string());
    Ok(Json(SessionListJson {
        items: sessions,
        more,
        next,
    }))
}

/// The links that a query asks for.
pub(crate) fn wanted_links(query: &mut Query) -> Result<Vec<Link>, Problem> {
    let mut links = Vec::new();
    for field in siglum_domain::link::FIELDS {
        let values = match *field {
            "label" => query.all(field),
            _ => query.take(field)?.into_iter().collect(),
        };
        for value in values {
            links.push(Link::parse(field, &value)?);
        }
    }
    Ok(links)
}

/// Get a session
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}", tag = "sessions", operation_id = "getSession",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The session", body = Session), Problems)))]
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<SessionJson>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let found = app.ledgers().read(&caller.tenant, move |here, ledger| {
        read(ledger, |tx| {
            responses::shown_session(&seeing(here), tx, session)
        })
    });
    let found = found.await??;
    found
        .map(Json)
        .ok_or_else(|| TurnError::NoSession(session).into())
}

/// Keep a session alive
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/keep-alive", tag = "sessions", operation_id = "keepSessionAlive",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The current state of the session", body = Session), Problems)))]
pub(crate) async fn keep_alive(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<SessionJson>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    app.rates().keep_alive(session)?;
    let credential = caller.credential().clone();
    let kept = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let own = ledger.id();
        refusable(ledger, |tx| {
            let home = Elsewhere::of_session(here, tx, &credential, own, session)?;
            remote::keep_alive(tx, session, here.now())?;
            let response =
                responses::session(&seeing(here), tx, session)?.ok_or_else(Problem::internal)?;
            home.note(here, tx, &credential)?;
            Ok(response)
        })
    });
    let kept = kept.await?;
    Ok(Json(kept.inspect_err(|p| caller.note_forbidden(&app, p))?))
}

/// End a session with its outcome; repeating it changes nothing
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/end", tag = "sessions", operation_id = "endSession",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = EndSession,
    responses((status = 200, description = "The session has ended", body = EndedSession), Problems)))]
pub(crate) async fn end(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(new): Body<EndSession>,
) -> Result<Json<EndedSession>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let end = new.checked()?;
    let (by, credential) = (caller.by(), caller.credential().clone());
    let ended = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let id = ledger.id();
        refusable(ledger, |tx| {
            let home = Elsewhere::of_session(here, tx, &credential, id, session)?;
            let now = remote::end(here, tx, id, session, &end, &by)?;
            let response =
                responses::session(&seeing(here), tx, session)?.ok_or_else(Problem::internal)?;
            home.note(here, tx, &credential)?;
            Ok(EndedSession {
                session: response,
                already: !now,
            })
        })
    });
    let ended = ended.await?;
    Ok(Json(ended.inspect_err(|p| caller.note_forbidden(&app, p))?))
}
