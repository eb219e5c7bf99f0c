//! `siglum link`: facts attached to a session, by hand.

use clap::Subcommand;
use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::link::{Link, LinkError};
use siglum_engine::identity::links::{self, Change, Changed};
use siglum_engine::identity::statements;
use siglum_engine::views::find;
use siglum_engine::views::session::LinkJson;
use siglum_ledger::{Ledger, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer of `link add`.
pub const ADD: &str = "siglum.link.add/1";
/// The schema of the JSON answer of `link remove`.
pub const REMOVE: &str = "siglum.link.remove/1";
/// The schema of the JSON answer of `link list`.
pub const LIST: &str = "siglum.link.list/1";

/// Attach issues, pull requests and other links to a session
#[derive(Subcommand)]
#[command(after_long_help = "\
Examples:
  Link a session to an issue
    siglum link add a1b2c3d4 issue=42

  List the links of a session
    siglum link list a1b2c3d4")]
pub enum Command {
    /// Attach links to a session
    #[command(after_long_help = "\
Examples:
  Link a session to an issue and a pull request
    siglum link add a1b2c3d4 issue=42 pr=57

  Add a label
    siglum link add a1b2c3d4 label=team=checkout")]
    Add(Args),
    /// Detach links from a session
    #[command(after_long_help = "\
Examples:
  Detach an issue
    siglum link remove a1b2c3d4 issue=42

  Detach a role and a phase
    siglum link remove a1b2c3d4 role=coder phase=implement")]
    Remove(Args),
    /// List the links of a session
    #[command(after_long_help = "\
Examples:
  List the links of a session
    siglum link list a1b2c3d4

  Print them as JSON
    siglum link list a1b2c3d4 --json")]
    List {
        /// Session id, the last digits of it, or the agent's native id
        session: String,
    },
}

#[derive(clap::Args)]
pub struct Args {
    /// Session id, the last digits of it, or the agent's native id
    session: String,
    /// Link: issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE
    #[arg(required = true, value_name = "FACT")]
    links: Vec<String>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    /// What is attached now.
    links: Vec<LinkJson>,
    /// How many facts the command attached or detached.
    changed: usize,
}

/// Which sessions a list is of, by what is attached to them. All that is said must be attached.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Facts {
    /// Only sessions with this link: issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE;
    /// repeatable, and all must match
    #[arg(long = "link", value_name = "FACT")]
    link: Vec<Link>,
    /// Only sessions with this agent role
    #[arg(long, value_name = "NAME", value_parser = |text: &str| Link::parse("agent_role", text))]
    role: Option<Link>,
    /// Only sessions of this phase
    #[arg(long, value_name = "NAME", value_parser = |text: &str| Link::parse("phase", text))]
    phase: Option<Link>,
    /// Only sessions with this label; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = |text: &str| Link::parse("label", text))]
    label: Vec<Link>,
}

impl Facts {
    /// What must be attached.
    pub fn links(&self) -> Vec<Link> {
        let all = self.link.iter().chain(&self.role).chain(&self.phase);
        all.chain(&self.label).cloned().collect()
    }
}

/// What is attached, in a few words.
pub fn words(links: &[Link]) -> String {
    let words: Vec<String> = links.iter().map(Link::to_string).collect();
    words.join(", ")
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::Add(args) => change(args, cx, ADD),
        Command::Remove(args) => change(args, cx, REMOVE),
        Command::List { session } => list(session, cx),
    }
}

fn change(args: &Args, cx: &Cx, schema: &str) -> Result<(), CommandError> {
    // All are checked before anything is written.
    let links = args
        .links
        .iter()
        .map(|text| text.parse())
        .collect::<Result<Vec<Link>, LinkError>>()?;
    let mut ledger = store::open(cx)?;
    let session = find::session(&mut ledger, &args.session)?;
    let attaching = schema == ADD;
    let change = if attaching {
        Change::Attach
    } else {
        Change::Detach
    };
    let (world, person) = (cx.world()?, cx.person());
    let by = (person.as_str(), "cli");
    let Changed { changed, standing } =
        links::change(&world, &mut ledger, session, &links, change, by)?;
    if cx.ui.json {
        return json(cx, &mut ledger, schema, session, &standing, changed.len());
    }
    for link in &links {
        cx.ui.status(change_message(
            link,
            session,
            attaching,
            changed.contains(link),
        ));
    }
    Ok(())
}

fn change_message(link: &Link, session: SessionId, attaching: bool, changed: bool) -> String {
    let session = session.short();
    match (attaching, changed) {
        (true, true) => format!("Attached {link} to session {session}."),
        (true, false) => format!("Session {session} already has {link}."),
        (false, true) => format!("Detached {link} from session {session}."),
        (false, false) => format!("Session {session} has no {link}; nothing was changed."),
    }
}

fn list(session: &str, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let session = find::session(&mut ledger, session)?;
    let statements = read(&mut ledger, |tx| tx.statements_of_session(session))?;
    let links = statements::links(&statements);
    if cx.ui.json {
        return json(cx, &mut ledger, LIST, session, &links, 0);
    }
    if links.is_empty() {
        let short = session.short();
        cx.ui.status(format!("Session {short} has no links."));
        cx.ui.hint(format!(
            "Run `siglum link add {short} issue=42` to attach an issue."
        ));
        return Ok(());
    }
    let mut table = Table::new(vec!["FIELD", "VALUE", "BY", "SINCE"]);
    for (link, from) in statements::attached(&statements) {
        let by = format!("{} ({})", from.by, from.source);
        let at = ui::when(from.at);
        table.row(vec![
            Cell::styled(Style::Id, link.field()),
            Cell::plain(link.value()),
            Cell::plain(by),
            Cell::styled(Style::Time, at),
        ]);
    }
    cx.ui.table(&table)
}

fn json(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    schema: &str,
    session: SessionId,
    links: &[Link],
    changed: usize,
) -> Result<(), CommandError> {
    let record = read(ledger, |tx| tx.session(session))?;
    let conversation = record.map(|r| r.conversation.to_string());
    cx.ui
        .json(schema, Json::new(session, conversation, links, changed))
}

/// Attaches facts to a session by a program that somebody started; the JSON answer of `link add`.
#[cfg(feature = "gateway")]
pub fn attach(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    session: SessionId,
    links: &[Link],
    (by, source): (&str, &str),
) -> Result<Json, CommandError> {
    let world = cx.world()?;
    let Changed { changed, standing } =
        links::change(&world, ledger, session, links, Change::Attach, (by, source))?;
    let record = read(ledger, |tx| tx.session(session))?;
    let conversation = record.map(|r| r.conversation.to_string());
    Ok(Json::new(session, conversation, &standing, changed.len()))
}

impl Json {
    fn new(
        session: SessionId,
        conversation_id: Option<String>,
        links: &[Link],
        changed: usize,
    ) -> Self {
        let mut links = links.to_vec();
        links.sort();
        Self {
            session: session.to_string(),
            conversation_id,
            links: links.iter().map(LinkJson::from).collect(),
            changed,
        }
    }
}
