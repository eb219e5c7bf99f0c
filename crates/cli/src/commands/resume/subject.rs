//! Which session is to go on.

use siglum_domain::SessionId;
use siglum_domain::search::SearchQuery;
use siglum_engine::identity::repositories;
use siglum_engine::views::find::{self, FindError, Named};
use siglum_engine::views::overview::{self, Listed};
use siglum_engine::views::search::{self, Query};
use siglum_engine::worker;
use siglum_ledger::{Ledger, RepositoryRecord, SessionFilter, SqliteLedger, read};

use crate::clock;
use crate::commands::finder::{self, Choice, Purpose, Wanted};
use crate::commands::{show, why};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::time::Period;
use crate::ui;

/// How many sessions a person chooses from by a number, and in the finder.
const CHOICES: usize = 20;
const LISTED: usize = 100;
/// How many of the newest sessions are searched for words.
const SEARCHED: usize = 1000;
/// How many sessions are named where nobody can choose.
const NAMED: usize = 5;

/// The session that words name; without words, the one that a person chooses.
pub(super) fn find(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    here: Option<&RepositoryRecord>,
    words: &[String],
) -> Result<SessionId, CommandError> {
    let [text] = words else {
        return match words.is_empty() {
            true => newest(cx, ledger, here),
            false => by_words(cx, ledger, here, words),
        };
    };
    let session = match find::anything(ledger, text) {
        Ok(Named::Session(id)) => Some(id),
        Ok(Named::Checkpoint(_)) | Err(FindError::NotFound { .. }) => None,
        Err(other) => return Err(other.into()),
    };
    match (session, show::commit(cx, text)?) {
        (Some(id), Some(commit)) => Err(FindError::Ambiguous {
            text: text.clone(),
            meanings: vec![id.to_string(), format!("commit {commit}")],
        }
        .into()),
        (Some(id), None) => Ok(id),
        (None, Some(_)) => why::session_behind(cx, text),
        (None, None) => match find::by_name(ledger, text)? {
            Some(id) => Ok(id),
            None if why::names_lines(cx, text)? => why::session_behind(cx, text),
            None => by_words(cx, ledger, here, words),
        },
    }
}

/// The one session in which all words stand, or the one that a person chooses of several.
fn by_words(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    here: Option<&RepositoryRecord>,
    words: &[String],
) -> Result<SessionId, CommandError> {
    let text = words.join(" ");
    let shown = ui::one_line(&text, 80);
    let query = SearchQuery::parse(&text, clock::now())
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let query = Query {
        query,
        sessions: filter(ledger, here, SEARCHED)?,
        commits_in: Vec::new(),
        most: CHOICES,
        after: None,
    };
    let world = cx.world()?;
    worker::catch_up(&world, ledger);
    let found = search::search(&world, ledger, &query)?.found;
    let found: Vec<Listed> = found.into_iter().map(|found| found.session).collect();
    match &found[..] {
        [] => Err(
            CommandError::not_found(format!("no session, commit or line matches `{shown}`"))
                .hint("Run `siglum session list` or `siglum search` to find the session."),
        ),
        [only] => Ok(only.listing.record.id),
        _ if finder::is_possible(cx) => choose_on_screen(cx, here, text),
        _ => choose(cx, &found, &format!("`{shown}` matches several sessions")),
    }
}

/// The one that a person chooses of the newest sessions.
fn newest(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    here: Option<&RepositoryRecord>,
) -> Result<SessionId, CommandError> {
    let filter = filter(ledger, here, CHOICES * 2)?;
    let mut sessions = overview::sessions(&cx.world()?, ledger, &filter)?;
    let home = ledger.id();
    sessions.retain(|s| {
        let record = &s.listing.record;
        record.home == home && siglum_agents::find(record.agent_word()).is_some()
    });
    sessions.truncate(CHOICES);
    if sessions.is_empty() {
        return Err(
            CommandError::not_found("there is no session to resume here")
                .hint("Name one of another repository; `siglum session list --all` lists them."),
        );
    }
    match finder::is_possible(cx) {
        true => choose_on_screen(cx, here, String::new()),
        false => choose(cx, &sessions, "no session is named"),
    }
}

/// Lets a person choose in the finder, in which a text is typed already.
fn choose_on_screen(
    cx: &Cx,
    here: Option<&RepositoryRecord>,
    text: String,
) -> Result<SessionId, CommandError> {
    let wanted = Wanted {
        purpose: Purpose::Resume,
        place: match here {
            Some(_) => Where::default(),
            None => Where::everywhere(),
        },
        agent: None,
        period: Period::default(),
        most: LISTED,
        text,
    };
    match finder::choose(cx, &wanted)? {
        Some(Choice::Resume(session) | Choice::Show(session, _)) => Ok(session),
        None => Err(CommandError::failed("no session was chosen")),
    }
}

/// The newest sessions of this repository and its clones; of all, outside of one.
fn filter(
    ledger: &mut SqliteLedger,
    here: Option<&RepositoryRecord>,
    limit: usize,
) -> Result<SessionFilter, CommandError> {
    let repositories = match here {
        Some(here) => read(ledger, |tx| repositories::clones(tx, &[here.id]))?,
        None => Vec::new(),
    };
    Ok(SessionFilter {
        repositories,
        limit,
        ..SessionFilter::default()
    })
}

/// Lets a person choose by a number. Without one there, `problem` is an error that names the newest.
fn choose(cx: &Cx, sessions: &[Listed], problem: &str) -> Result<SessionId, CommandError> {
    if !ui::can_ask() || cx.ui.json {
        let hint = CommandError::usage(problem).hint("Name one session, for example:");
        let example = |error: CommandError, session: &Listed| {
            let short = session.listing.record.id.short();
            let title = ui::one_line(session.title().unwrap_or_default(), 60);
            error.hint(format!("siglum resume {short}  # {title}"))
        };
        return Err(sessions.iter().take(NAMED).fold(hint, example));
    }
    let now = clock::now();
    for (at, session) in sessions.iter().enumerate() {
        let record = &session.listing.record;
        let head = format!(
            "{:>3}  {}  {:<11}  {:<12}",
            at + 1,
            record.id.short(),
            ui::one_line(record.agent_word(), 11),
            ui::ago(record.last_at, now)
        );
        let room = cx.ui.width().saturating_sub(head.len() + 2).clamp(20, 200);
        let title = ui::one_line(session.title().unwrap_or("(no prompt)"), room);
        cx.ui.status(format!("{head}  {title}"));
    }
    let answer = ui::answer("Number of the session to resume:")?;
    let number = answer.and_then(|text| text.parse::<usize>().ok());
    let chosen = number.and_then(|number| sessions.get(number.checked_sub(1)?));
    let chosen = chosen.ok_or_else(|| CommandError::failed("no session was chosen"))?;
    Ok(chosen.listing.record.id)
}
