//! `siglum rebuild`: makes something anew that is derived from the ledger.

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::evidence::{Committer, Verdict};
use siglum_engine::commits::judgements;
use siglum_engine::share::project;
use siglum_engine::views::find;
use siglum_engine::worker;
use siglum_ledger::{DESTINATION, Durability, Ledger, write};

use super::projection::{self, SEARCH, SUMMARIES};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{clock, store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.rebuild/1";
/// What the answers about commits are called.
pub const JUDGEMENTS: &str = "judgements";
/// How many sessions are folded at a time.
const FOLDED: usize = 64;

/// Rebuild a projection, the search index, summaries or verdicts
///
/// `search` empties the search index; the worker fills it again.
///
/// `judgements` applies the current rules to the raw evidence of all commits and lists the verdicts that changed.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Judge all commits again with the current rules
    siglum rebuild judgements

  Deliver one session to a projection again
    siglum rebuild copies a1b2c3d4")]
pub struct Args {
    /// Name of a projection, `search`, `summaries` or `judgements`
    #[arg(value_name = "NAME")]
    name: String,
    /// Only this session: its id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

/// The JSON form of the answer.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    /// How many sessions are made anew: summaries are, and a projection gets all of it from the worker.
    sessions: u64,
    /// How many commits were judged again.
    commits: u64,
    /// The commits whose answer is another one now.
    changed: Vec<ChangedJson>,
}

/// An answer that changed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangedJson {
    commit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// The answer before: a session's id, `human` or `unknown`, and the verdict.
    before: (String, String),
    /// The answer now, in the same form.
    after: (String, String),
    /// The row of the table of evidence that gives it.
    rule: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if args.name == JUDGEMENTS {
        store::refuse_server(
            "rebuild judgements",
            "Commits are judged on the machines where they were made.",
        )?;
        return judge_again(cx, args);
    }
    let mut ledger = store::open(cx)?;
    if args.name == SEARCH && args.session.is_some() {
        let what = "the search index is rebuilt as a whole: leave out the session";
        return Err(CommandError::usage(what));
    }
    let session = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    let sessions = match args.name.as_str() {
        SUMMARIES => summaries(cx, &mut ledger, session)?,
        SEARCH => {
            let sessions = ledger.index()?.restart_index()?;
            store::start_worker(cx);
            sessions
        }
        name => projection(cx, &mut ledger, name, session)?,
    };
    if cx.ui.json {
        let rebuilt = Json {
            name: args.name.clone(),
            sessions,
            ..Json::default()
        };
        return cx.ui.json(SCHEMA, rebuilt);
    }
    let n = ui::plural(sessions, "session");
    cx.ui.status(match args.name.as_str() {
        SUMMARIES => format!("Rebuilt the summaries of {n}."),
        SEARCH if store::is_server() => {
            format!("Emptied the search index; the gateways add {n} again.")
        }
        SEARCH => format!("Emptied the search index; the worker adds {n} again."),
        name => format!("Emptied projection {name}; the worker delivers {n} again."),
    });
    Ok(())
}

/// Judges all commits by today's rules and lists what changed.
fn judge_again(cx: &Cx, args: &Args) -> Result<(), CommandError> {
    let (mut ledger, _) = cx.settled()?;
    if args.session.is_some() {
        return Err(CommandError::usage("`judgements` does not take a session"));
    }
    let world = cx.world()?;
    let (commits, changed) = judgements::rebuild(&world, &mut ledger, &mut |_, _| {})?;
    if cx.ui.json {
        let rebuilt = Json {
            name: args.name.clone(),
            commits,
            changed: changed.iter().map(changed_json).collect(),
            ..Json::default()
        };
        return cx.ui.json(SCHEMA, rebuilt);
    }
    for one in &changed {
        let subject = one.subject.as_deref().unwrap_or_default();
        cx.ui.line(format!(
            "{}  {} → {}  {}  {}",
            cx.ui.paint(ui::Style::Id, one.commit.short()),
            answer(one.before),
            answer(one.after),
            one.rule,
            ui::one_line(subject, 60)
        ))?;
    }
    cx.ui.status(format!(
        "Judged {} again, {} changed.",
        ui::plural(commits, "commit"),
        changed.len()
    ));
    Ok(())
}

fn answer((committer, verdict): (Committer, Verdict)) -> String {
    match committer {
        Committer::Session { session } => format!("{} {verdict}", session.short()),
        Committer::Human => format!("human {verdict}"),
        Committer::Unknown => verdict.to_string(),
    }
}

fn changed_json(changed: &judgements::Changed) -> ChangedJson {
    let form = |(committer, verdict): (Committer, Verdict)| {
        let who = match committer {
            Committer::Session { session } => session.to_string(),
            Committer::Human => "human".to_owned(),
            Committer::Unknown => "unknown".to_owned(),
        };
        (who, verdict.to_string())
    };
    ChangedJson {
        commit: changed.commit.to_string(),
        subject: changed.subject.clone(),
        before: form(changed.before),
        after: form(changed.after),
        rule: changed.rule.clone(),
    }
}

fn summaries(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    session: Option<SessionId>,
) -> Result<u64, CommandError> {
    let world = cx.world()?;
    write(ledger, Durability::Process, |tx| tx.refold(session))?;
    let mut folded = 0;
    loop {
        match worker::fold_sessions(&world, ledger, FOLDED)? {
            0 => return Ok(folded),
            n => folded += n as u64,
        }
    }
}

fn projection(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    name: &str,
    session: Option<SessionId>,
) -> Result<u64, CommandError> {
    let projection = projection::named(ledger, name)?;
    if projection.kind == DESTINATION {
        // What it has stays there: it takes what it lacks, and nothing twice.
        let now = clock::now();
        let sessions = write(ledger, Durability::Disk, |tx| {
            if session.is_none() {
                tx.restart_documents(name)?;
            }
            tx.restart(name, session, now)
        })?;
        store::start_worker(cx);
        return Ok(sessions);
    }
    // A directory, or what a program feeds, is where its worker is.
    let sink = project::sink(&projection).filter(|_| !store::is_server());
    let Some(mut sink) = sink else {
        return Err(CommandError::failed(format!(
            "cannot rebuild `{name}`: only the program that feeds it can empty it"
        )));
    };
    let done = project::rebuild(&*cx.world()?, ledger, name, sink.as_mut(), session)?;
    store::start_worker(cx);
    done.map_err(|error| {
        CommandError::failed(format!("cannot empty the projection: {error}"))
            .hint("Nothing was removed, and delivery goes on as before.")
    })
}
