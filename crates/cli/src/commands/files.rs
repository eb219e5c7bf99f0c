//! `siglum files`: the sessions that touched a file.

use serde::Serialize;
use siglum_engine::identity::repositories;
use siglum_engine::views::file_history::{FileSession, sessions_of_file};
use siglum_ledger::read;

use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.files/1";
/// How many commits are named in a row.
const COMMITS: usize = 3;

/// List the sessions that edited a file
///
/// Lists each session that was seen editing the file, with the time of its last edit, what it was asked, and the commits
/// that contain its lines, last edit first. The file need not exist any more.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the sessions that edited a file
    siglum files src/cart.py

  Show what the last of them was asked, as JSON
    siglum files src/cart.py --limit 1 --json")]
pub struct Args {
    /// File of this repository
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    path: String,
    /// Limit to N sessions; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Relative to the root of the repository.
    path: String,
    sessions: Vec<Touched>,
    /// Whether there are more than were asked for.
    more: bool,
}

/// A session that edited the file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Touched {
    session: String,
    /// Absent where nobody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// How many edits of the file were seen.
    edits: usize,
    first_at: String,
    last_at: String,
    /// What it was asked when it edited the file, oldest first; the last five.
    prompts: Vec<String>,
    /// The commits with lines of the file that it wrote, newest first.
    commits: Vec<String>,
    /// The command that resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

impl Touched {
    fn from_found(found: &FileSession) -> Self {
        let prompts = found.prompts.iter().map(|prompt| prompt.text.clone());
        Self {
            session: found.card.record.id.to_string(),
            agent: found.card.record.agent.as_ref().map(ToString::to_string),
            title: found.card.title.clone(),
            edits: found.edits,
            first_at: found.first.to_string(),
            last_at: found.last.to_string(),
            prompts: prompts.collect(),
            commits: found.commits.iter().map(ToString::to_string).collect(),
            resume: found.card.resume.clone(),
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let repo = cx.repo()?;
    let Some(path) = repo.relative(&cx.dir.join(&args.path)) else {
        let error = format!("{} is not in this worktree", args.path);
        return Err(CommandError::usage(error));
    };
    let (mut ledger, here) = cx.settled()?;
    let here = cx.recorded(here)?;
    let clones = read(&mut ledger, |tx| repositories::clones(tx, &[here.id]))?;
    let world = cx.world()?;
    let (found, more) = sessions_of_file(&world, &mut ledger, &clones, &path, args.limit)?;
    if cx.ui.json {
        let sessions = found.iter().map(Touched::from_found).collect();
        return cx.ui.json(
            SCHEMA,
            Json {
                path,
                sessions,
                more,
            },
        );
    }
    if found.is_empty() {
        cx.ui.status(format!("No session was seen editing {path}."));
        return Ok(());
    }
    cx.ui.table(&table(&found))?;
    if more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    Ok(())
}

fn table(found: &[FileSession]) -> Table {
    let heading = vec!["SESSION", "AGENT", "LAST", "EDITS", "COMMITS", "PROMPT"];
    let mut table = Table::new(heading);
    let now = clock::now();
    for touched in found {
        let record = &touched.card.record;
        let named = touched.commits.iter().take(COMMITS);
        let mut commits: Vec<String> = named.map(|c| c.short().to_owned()).collect();
        if touched.commits.len() > COMMITS {
            commits.push(format!("+{}", touched.commits.len() - COMMITS));
        }
        let prompt = touched.prompts.last();
        let prompt = prompt.and_then(|p| p.text.lines().find(|l| !l.trim().is_empty()));
        table.row(vec![
            Cell::styled(Style::Id, record.id.short()),
            Cell::styled(Style::Agent, record.agent_word()),
            Cell::styled(Style::Time, ui::age(touched.last, now)),
            Cell::number(ui::count(touched.edits as u64)),
            Cell::styled(Style::Id, commits.join(" ")),
            Cell::plain(ui::one_line(prompt.unwrap_or_default(), 200)),
        ]);
    }
    table
}
