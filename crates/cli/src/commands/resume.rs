//! `siglum resume`: goes on with a session in its agent.

mod place;
mod subject;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;

use serde::Serialize;
use siglum_agents::{AgentSpec, quote};
use siglum_domain::SessionId;
use siglum_engine::commits::cards::{SessionCard, card};
use siglum_engine::record::transcript::{PutBack, copy_transcript, put_back};
use siglum_ledger::{Ledger as _, RepositoryRecord, SqliteLedger, read};

use self::place::{Place, Transcript};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::child;
use crate::{env, platform, store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.resume/1";
/// What there is for a server, whose sessions ran elsewhere.
pub const ON_A_SERVER: &str = "A session is resumed on the machine where it ran.";

/// Resume a session in its agent
///
/// The session is named by its id, its name, a commit that it made, a line that it wrote, or words of its prompts. The
/// agent runs in the directory that the session worked in; where that is gone, in a checkout of the same repository. If
/// the agent deleted the transcript, it is written again from the ledger, without the secrets that were removed from it;
/// a file that exists is never replaced. With `--json`, prints the command as `--print` does.
///
/// Without arguments, opens the finder of `siglum search` with the sessions that can be resumed.
#[derive(clap::Args)]
#[command(override_usage = "\
siglum resume [OPTIONS] [SESSION|COMMIT|FILE:LINE|WORD]...
       siglum resume [OPTIONS] <SESSION|COMMIT|FILE:LINE|WORD> -- <ARGUMENT>...")]
#[command(after_long_help = "\
Examples:
  Resume the session that made a commit
    siglum resume HEAD~2

  Print the command for the session that wrote a line
    siglum resume src/cart.py:40 --print

  Resume a session with arguments for its agent
    siglum resume a1b2c3d4 -- --model opus")]
pub struct Args {
    /// Session id or name, commit, `FILE:LINE`, or words that occur in one session; default: choose in the finder
    #[arg(value_name = "SESSION|COMMIT|FILE:LINE|WORD")]
    what: Vec<String>,
    /// Print the command and run nothing
    #[arg(long)]
    print: bool,
    /// Arguments for the agent
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    session: String,
    agent: String,
    directory: String,
    /// The program and its arguments.
    command: Vec<String>,
    /// The same for a POSIX shell, with the change of directory.
    line: String,
    /// `present`: it is where the agent looks; `deleted`: the command writes it again before the agent starts; `moved`: it
    /// copies it from where the agent kept it for another directory; `unknown`: nobody can tell from here.
    transcript: String,
}

/// How a session goes on.
struct Plan {
    session: SessionId,
    agent: &'static AgentSpec,
    place: Place,
    program: String,
    arguments: Vec<OsString>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (mut ledger, here) = cx.settled()?;
    let session = subject::find(cx, &mut ledger, here.as_ref(), &args.what)?;
    let plan = Plan::make(cx, &mut ledger, here.as_ref(), (session, &args.arguments))?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, plan.json());
    }
    if args.print {
        if let Transcript::Deleted { .. } | Transcript::Moved { .. } = plan.place.transcript {
            cx.ui.hint(format!(
                "The transcript is not where {} looks for it; `siglum resume` without `--print` restores it.",
                plan.agent.title
            ));
        }
        return cx.ui.line(plan.line());
    }
    plan.start(cx, ledger)
}

/// Resumes a session that somebody chose.
pub fn resume(cx: &Cx, session: SessionId) -> Result<(), CommandError> {
    store::refuse_server("resume", ON_A_SERVER)?;
    let (mut ledger, here) = cx.settled()?;
    let plan = Plan::make(cx, &mut ledger, here.as_ref(), (session, &[]))?;
    plan.start(cx, ledger)
}

impl Plan {
    fn make(
        cx: &Cx,
        ledger: &mut SqliteLedger,
        here: Option<&RepositoryRecord>,
        (session, arguments): (SessionId, &[OsString]),
    ) -> Result<Self, CommandError> {
        let short = session.short();
        let Some(card) = read(ledger, |tx| card(tx, session))? else {
            let error = format!("session {short} is not on this machine");
            return Err(CommandError::not_found(error)
                .hint("Run `siglum resume` on the machine where it ran."));
        };
        if card.record.home != ledger.id() {
            let home = card.record.home.short();
            let error = format!("session {short} ran on another machine (ledger {home})");
            return Err(CommandError::failed(error)
                .hint("Run `siglum resume` on the machine where it ran."));
        }
        let (agent, words) = command(&card)?;
        let place = Place::find(cx, ledger, here, agent, &card)?;
        let (program, own) = words.split_first().ok_or_else(|| cannot(&card))?;
        let own = own.iter().map(OsString::from);
        Ok(Self {
            session,
            agent,
            place,
            program: program.clone(),
            arguments: own.chain(arguments.iter().cloned()).collect(),
        })
    }

    /// All words of the command, as text.
    fn words(&self) -> Vec<String> {
        let arguments = self.arguments.iter().map(|a| a.to_string_lossy());
        let program = std::iter::once(self.program.clone());
        program.chain(arguments.map(String::from)).collect()
    }

    /// The command, for a POSIX shell.
    fn line(&self) -> String {
        let words: Vec<String> = self.words().iter().map(|word| quote(word)).collect();
        let dir = quote(&self.place.dir.to_string_lossy());
        format!("cd {dir} && {}", words.join(" "))
    }

    fn json(&self) -> Json {
        Json {
            session: self.session.to_string(),
            agent: self.agent.name.to_owned(),
            directory: self.place.dir.to_string_lossy().into_owned(),
            command: self.words(),
            line: self.line(),
            transcript: match self.place.transcript {
                Transcript::Present => "present",
                Transcript::Deleted { .. } => "deleted",
                Transcript::Moved { .. } => "moved",
                Transcript::Unknown => "unknown",
            }
            .to_owned(),
        }
    }

    /// Becomes the agent. Returns only where that fails.
    fn start(&self, cx: &Cx, mut ledger: SqliteLedger) -> Result<(), CommandError> {
        if !env::is_in_path(&self.program) {
            let (title, program) = (self.agent.title, &self.program);
            let error = format!("{title} is not installed: there is no `{program}` in PATH");
            return Err(CommandError::failed(error).hint(format!(
                "Run `siglum show {} --full` to read the session.",
                self.session.short()
            )));
        }
        let bindings = read(&mut ledger, |tx| tx.bindings(self.session))?;
        if bindings
            .iter()
            .any(|b| platform::alive(&b.process) == Some(true))
        {
            cx.ui
                .warning("the session still runs in another process: both will write to it");
        }
        self.restore_transcript(cx, &mut ledger)?;
        drop(ledger);
        cx.ui.status(format!("Running: {}", self.line()));
        let dir = &self.place.dir;
        let mut command = child::command(OsStr::new(&self.program), &self.arguments);
        let error = command.current_dir(dir).env("PWD", dir).exec();
        let program = &self.program;
        Err(CommandError::failed(format!("{program}: {error}")))
    }

    fn restore_transcript(&self, cx: &Cx, ledger: &mut SqliteLedger) -> Result<(), CommandError> {
        let (done, path) = match &self.place.transcript {
            Transcript::Present | Transcript::Unknown => return Ok(()),
            Transcript::Deleted { stored, path } => {
                (put_back(ledger, self.agent, stored, path)?, path)
            }
            Transcript::Moved { from, path } => (copy_transcript(from, path)?, path),
        };
        match done {
            PutBack::Written => cx.ui.status(format!("Wrote {}.", Cx::tilde(path))),
            PutBack::Present => {}
            PutBack::NotStored => return Err(gone(self.session, self.agent)),
        }
        Ok(())
    }
}

/// The agent of a session, and the command that resumes it there.
fn command(card: &SessionCard) -> Result<(&'static AgentSpec, Vec<String>), CommandError> {
    let agent = siglum_agents::find(card.record.agent_word()).ok_or_else(|| cannot(card))?;
    let words = card.natives.last().and_then(|id| agent.resume_words(id));
    let words = words.ok_or_else(|| {
        let (short, title) = (card.record.id.short(), agent.title);
        CommandError::failed(format!(
            "session {short} has no id that {title} can resume it by"
        ))
    })?;
    Ok((agent, words))
}

fn cannot(card: &SessionCard) -> CommandError {
    let agents: Vec<&str> = siglum_agents::AGENTS.iter().map(|a| a.title).collect();
    let agent = ui::one_line(card.record.agent_word(), 60);
    CommandError::failed(format!("sessions of {agent} cannot be resumed"))
        .hint(format!("Those of {} can.", agents.join(", ")))
}

/// What is said where a transcript is gone for good.
fn gone(session: SessionId, agent: &AgentSpec) -> CommandError {
    let (short, title) = (session.short(), agent.title);
    CommandError::failed(format!(
        "the transcript of session {short} is deleted, and cannot be put back for {title}"
    ))
    .hint(format!(
        "Run `siglum show {short} --full` to read what is recorded of it."
    ))
}
