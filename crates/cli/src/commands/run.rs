//! `siglum run`: starts an agent as a session that is known before it runs.

pub mod environment;
mod gateway;
mod tree;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use siglum_agents::recognise;
use siglum_domain::audit::Action;
use siglum_domain::link::{Dropped, LinkError, Stated, from_flag, from_variables, overlay};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, SessionId};
use siglum_engine::driven::launch::{self, NewLaunch};
use siglum_engine::identity::audit::{self, Entry};
use siglum_gitstore::siglum_dir;
use siglum_ledger::{Launch, LaunchEnd, OwnWorktree, read};

use self::gateway::Gateway;
use self::tree::Tree;
use crate::claim::{self, Token};
use crate::clock::Ids;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::child::{self, Ended, Signals};
use crate::{env, platform, telemetry, ui};

/// The exit code where a command is not found, and where it cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;
/// What is added to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// Run an agent as a session linked to an issue, PR or pipeline
///
/// Records the session in the ledger before the command starts, with issue, pull request, pipeline, role, phase and
/// labels; every commit made in it shows them. Values without a flag come from the environment: SIGLUM_ISSUE_NUMBER,
/// SIGLUM_PR_NUMBER, SIGLUM_PIPELINE_ID, SIGLUM_AGENT_ROLE, SIGLUM_PHASE, SIGLUM_LABELS (k=v,k=v), else
/// EGG_ISSUE_NUMBER, EGG_PR_NUMBER, EGG_PIPELINE_ID, EGG_AGENT_ROLE, EGG_PIPELINE_PHASE. An invalid flag is an error,
/// and nothing runs; an invalid variable is reported and ignored.
///
/// The command inherits the terminal and the open files, and receives the signals that are sent to siglum. Its exit
/// code is returned: 128 plus the signal number after a signal, 127 if the command is not found, 126 if it cannot be
/// started. After `siglum init --telemetry`, it gets the variables that make agents export telemetry, unless it has
/// its own. The first agent process below takes over the session; an agent that this one starts gets a session of its
/// own.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Run Claude Code for an issue
    siglum run --issue 42 -- claude

  Run Codex as a coder in a worktree of its own
    siglum run --issue 42 --role coder --worktree=fix/issue-42 -- codex")]
pub struct Args {
    /// Issue that the work is for
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    issue: Option<String>,
    /// Pull request that carries the work
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pr: Option<String>,
    /// Pipeline that starts the agent
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pipeline: Option<String>,
    /// Role of the agent in the pipeline
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    role: Option<String>,
    /// Phase of the pipeline
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    phase: Option<String>,
    /// Label; repeatable
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    label: Vec<String>,
    /// Agent that the command starts, if its name does not show it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Create a worktree for this session only, on BRANCH or a new branch
    ///
    /// It is removed at the end only if nothing in it would be lost.
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<String>>,
    /// Register the session at the team's gateway and send it there at the end; default: SIGLUM_GATEWAY
    ///
    /// Registers the session before the command starts; if the gateway refuses it, nothing runs. Sends the session and
    /// the data that belongs to it, and nothing else. The gateway is not remembered.
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
    /// File with the gateway token; default: SIGLUM_GATEWAY_TOKEN_FILE or SIGLUM_GATEWAY_TOKEN
    #[arg(long, value_name = "FILE")]
    gateway_token_file: Option<PathBuf>,
    /// Allow an unencrypted connection to a gateway on another machine
    #[arg(long)]
    allow_plain: bool,
    /// Command to run, with its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<ExitCode, CommandError> {
    let flags = flags(args).inspect_err(|refused| note_refusal(cx, refused))?;
    let agent = agent(args)?;
    let (variables, dropped) = from_variables(env::raw);
    dropped.iter().for_each(|d| cx.ui.warning(d.to_string()));
    let links = overlay(flags, variables);
    let signals = Signals::catch()?;
    if !cx.config.records() {
        return unrecorded(args, cx, signals);
    }
    let session = SessionId::mint(&Ids);
    let mut gateway = Gateway::named(args, cx)?;
    if let Some(gateway) = &mut gateway {
        gateway.register(cx, session, agent.as_ref(), &links)?;
    }
    let launched = Launched::register(args, cx, session, agent, (links, &dropped));
    let launched = launched.inspect_err(|_| {
        if let Some(gateway) = &gateway {
            gateway.end(cx, session, &LaunchEnd::NotStarted { code: 1 });
        }
    })?;
    let checkout = launched.tree.as_ref().map(|tree| tree.path.clone());
    let checkout = checkout.or_else(|| cx.find_repo().map(|r| r.worktree().to_owned()));
    if let Some(checkout) = &checkout {
        Tree::tell_left(cx, checkout);
    }
    let mut command = child::command(&args.command[0], &args.command[1..]);
    let dir = launched.tree.as_ref().map_or(&cx.dir, |tree| &tree.dir);
    start_in(&mut command, dir);
    for (name, value) in environment::handed_down(launched.session, &launched.token) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.envs(telemetry::handed_down(&cx.home));
    if launched.tree.is_some() {
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            command.env_remove(name);
        }
    }
    let ended = child::run(&mut command, signals);
    let (end, code) = outcome(&args.command[0], ended);
    launched.end(cx, &end);
    if let Some(gateway) = &gateway {
        gateway.end(cx, session, &end);
        gateway.sync(cx, session);
    }
    Ok(code)
}

/// Lets the command start in a directory. Where that is the one that this program was started in, the
/// command finds it under the name that the caller's shell has for it.
fn start_in(command: &mut Command, dir: &Path) {
    if Path::new(".").canonicalize().ok().as_deref() != Some(dir) {
        command.current_dir(dir).env("PWD", dir);
    }
}

/// The links that flags name.
fn flags(args: &Args) -> Result<Vec<Stated>, LinkError> {
    let single = [
        ("--issue", "issue_number", &args.issue),
        ("--pr", "pr_number", &args.pr),
        ("--pipeline", "pipeline_id", &args.pipeline),
        ("--role", "agent_role", &args.role),
        ("--phase", "phase", &args.phase),
    ];
    let mut links = Vec::new();
    for (flag, field, value) in single {
        if let Some(value) = value {
            links.push(from_flag(flag, field, value)?);
        }
    }
    for value in &args.label {
        links.push(from_flag("--label", "label", value)?);
    }
    Ok(links)
}

/// Records that a launch was refused, by the field and its rule and without the value. Nothing is made for that: where
/// there is no ledger yet, nothing is recorded.
fn note_refusal(cx: &Cx, refused: &LinkError) {
    if !cx.config.records() || !cx.has_ledger() {
        return;
    }
    let (person, field) = (cx.person(), Some(refused.field));
    let entry = Entry::refused(&person, Action::SessionRefused, refused.rule, field);
    let noted = cx.open_ledger().and_then(|mut ledger| {
        let world = cx.world()?;
        Ok(audit::note(&world, &mut ledger, &entry)?)
    });
    if let Err(error) = noted {
        cx.ui
            .warning(format!("cannot record the refusal: {:#}", error.source));
    }
}

/// The agent that the caller names, else the one that the program is known as.
fn agent(args: &Args) -> Result<Option<AgentName>, CommandError> {
    if let Some(name) = &args.agent {
        let named = AgentName::new(name);
        return named.map(Some).map_err(|e| {
            let name = ui::one_line(name, 80);
            CommandError::usage(format!("agent `{name}`: {}", e.rule))
        });
    }
    let program = args.command[0].to_str();
    let known = recognise(program, None, None);
    Ok(known.and_then(|known| AgentName::new(known.name).ok()))
}

/// The command as it is, where nothing is to be recorded.
fn unrecorded(args: &Args, cx: &Cx, signals: Signals) -> Result<ExitCode, CommandError> {
    if args.worktree.is_some() {
        return Err(CommandError::failed(
            "recording is off here, and `--worktree` needs a recorded session",
        ));
    }
    cx.ui
        .warning("recording is off here: the command runs without a session");
    let mut command = child::command(&args.command[0], &args.command[1..]);
    start_in(&mut command, &cx.dir);
    let ended = child::run(&mut command, signals);
    Ok(outcome(&args.command[0], ended).1)
}

/// How the command ended, and the exit code that says the same.
fn outcome(program: &OsString, ended: std::io::Result<Ended>) -> (LaunchEnd, ExitCode) {
    let byte = |code: i32| ExitCode::from(u8::try_from(code & 0xff).unwrap_or(u8::MAX));
    match ended {
        Ok(Ended::Code(0)) => (LaunchEnd::Completed, ExitCode::SUCCESS),
        Ok(Ended::Code(code)) => (LaunchEnd::Failed { code }, byte(code)),
        Ok(Ended::Signal(signal)) => (LaunchEnd::Signalled { signal }, byte(BY_SIGNAL + signal)),
        Err(error) => {
            let program = ui::one_line(&program.to_string_lossy(), 200);
            let (code, why) = match error.kind() {
                ErrorKind::NotFound => (NOT_FOUND, "command not found".to_owned()),
                _ => (NOT_STARTED, error.to_string()),
            };
            ui::report(&CommandError::failed(format!("{program}: {why}")));
            let recorded = i32::from(code);
            (
                LaunchEnd::NotStarted { code: recorded },
                ExitCode::from(code),
            )
        }
    }
}

/// A session whose command may start.
struct Launched {
    session: SessionId,
    token: Token,
    tree: Option<Tree>,
}

impl Launched {
    /// Makes what the session needs and writes it down; if anything fails, nothing of it stays.
    fn register(
        args: &Args,
        cx: &Cx,
        session: SessionId,
        agent: Option<AgentName>,
        (links, dropped): (Vec<Stated>, &[Dropped]),
    ) -> Result<Self, CommandError> {
        let outer = claim::inherited(None);
        let by = cx.person();
        let branch = args.worktree.as_ref().map(Option::as_deref);
        // A ledger that cannot be opened is told before anything is made.
        let mut ledger = cx.open_ledger()?;
        let tree = branch.map(|b| Tree::make(cx, session, b)).transpose()?;
        let undo = |error: CommandError| {
            if let Some(tree) = &tree {
                tree.undo();
            }
            error
        };
        let mut token = Token::make(&cx.home, session).map_err(|e| undo(e.into()))?;
        let place = match &tree {
            Some(tree) => Some(tree.place.clone()),
            None => cx.find_repo().map(|repo| repo.place),
        };
        if let Some(place) = &place {
            token.copy_to(&siglum_dir(Path::new(&place.common_dir)), session);
        }
        let dir = tree.as_ref().map_or(&cx.dir, |tree| &tree.dir);
        let program = Path::new(&args.command[0]).file_name().unwrap_or_default();
        let program = Redactor::shared().redact(&program.to_string_lossy());
        let worktree = tree.as_ref().map(|t| t.path.to_string_lossy().into_owned());
        let decline = |dropped: &Dropped| dropped.decline("siglum run", place.as_ref());
        let new = NewLaunch {
            session,
            launch: Launch {
                digest: token.digest.clone(),
                launcher: platform::chain()
                    .ancestors
                    .into_iter()
                    .next()
                    .map(|a| a.identity),
                agent,
                program: program.into_string(),
                worktree,
            },
            links,
            left_out: dropped.iter().map(decline).collect(),
            by,
            cwd: dir.to_string_lossy().into_owned(),
            place,
            outer,
        };
        let registered = cx
            .world()
            .and_then(|world| Ok(launch::register(&world, &mut ledger, &new)?));
        if let Err(error) = registered {
            token.end();
            return Err(undo(error));
        }
        hint(cx);
        Ok(Self {
            session,
            token,
            tree,
        })
    }

    /// Settles the worktree, and writes down how it ended. The command is over: what fails now is
    /// told, and changes no exit code.
    fn end(&self, cx: &Cx, end: &LaunchEnd) {
        let short = self.session.short();
        let worktree = self.tree.as_ref().map(|tree| {
            let settled = tree.settle(self.session, self.busy(cx));
            if let OwnWorktree::Kept { reason, snapshot } = &settled {
                let path = tree.path.display();
                cx.ui
                    .warning(format!("the worktree of session {short} is kept: {reason}"));
                cx.ui.warning(format!("it is at {path}"));
                if let Some(kept) = snapshot {
                    cx.ui.warning(format!(
                        "its uncommitted changes are kept as {} ({})",
                        kept.reference,
                        kept.commit.short()
                    ));
                }
            }
            settled
        });
        match self.write_down(cx, end, worktree.as_ref()) {
            Ok(()) => self.token.end(),
            Err(error) => cx.ui.warning(format!(
                "cannot record the end of session {short}: {:#}",
                error.source
            )),
        }
        cx.home.start_worker();
    }

    fn write_down(
        &self,
        cx: &Cx,
        end: &LaunchEnd,
        worktree: Option<&OwnWorktree>,
    ) -> Result<(), CommandError> {
        let mut ledger = cx.open_ledger()?;
        let world = cx.world()?;
        launch::end(&world, &mut ledger, self.session, end, worktree)?;
        Ok(())
    }

    /// Who may still work in the worktree, though the command is over.
    fn busy(&self, cx: &Cx) -> Option<&'static str> {
        let Ok(mut ledger) = cx.open_ledger() else {
            return Some("the ledger does not say whether its agent still runs");
        };
        let session = self.session;
        let bound = read(&mut ledger, |tx| {
            let claimed = launch::standing(tx, session)?.and_then(|s| s.claimed);
            tx.bindings(claimed.map_or(session, |c| c.to))
        });
        let runs = |b: &siglum_ledger::Binding| platform::alive(&b.process) == Some(true);
        match bound {
            Ok(bound) if bound.iter().any(runs) => Some("its agent still runs"),
            Ok(_) => None,
            Err(_) => Some("the ledger does not say whether its agent still runs"),
        }
    }
}

/// Says that commits and turns are not recorded where Siglum is not switched on.
fn hint(cx: &Cx) {
    let is_off = cx.find_repo().is_some_and(|repo| !repo.is_on());
    if is_off && !cx.home.everywhere().exists() {
        cx.ui
            .hint("Siglum is not enabled in this repository: run `siglum init` to record turns and commits.");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use siglum_domain::link::FIELDS;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// A field that is forgotten here could not be given on the command line.
    #[test]
    fn every_field_has_a_flag() {
        let line = "run --issue 1 --pr 2 --pipeline p --role r --phase f --label a=b -- x";
        let line = Line::try_parse_from(line.split(' ')).unwrap();
        let stated = flags(&line.args).unwrap();
        let named: Vec<&str> = stated.iter().map(|s| s.link.field()).collect();
        assert_eq!(named, FIELDS);
    }
}
