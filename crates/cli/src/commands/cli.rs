//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{FromArgMatches as _, Parser, Subcommand};
use siglum_domain::legible;

use crate::commands;
use crate::config::Config;
use crate::cx::Cx;
use crate::env;
use crate::error::{CommandError, Kind};
use crate::home::Home;
use crate::store;
use crate::ui::{self, Color, Ui};

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// A session ledger for AI coding agents: which session made this commit, with the evidence
#[derive(Parser)]
#[command(
    name = "siglum",
    version,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Run as if started in this directory
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = GLOBAL)]
    dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// Use colours: `auto`, `always` or `never`
    #[arg(long, value_name = "WHEN", hide_possible_values = true, global = true, help_heading = GLOBAL)]
    color: Option<Color>,
    /// Print only the result
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    quiet: bool,
    /// Do not pipe long output into a pager
    #[arg(long, global = true, help_heading = GLOBAL)]
    no_pager: bool,
    /// Log progress to stderr
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Init(commands::init::Args),
    Run(commands::run::Args),
    #[command(alias = "blame")]
    Why(commands::why::Args),
    Log(commands::log::Args),
    Check(commands::check::Args),
    Show(commands::show::Args),
    Resume(commands::resume::Args),
    Search(commands::search::Args),
    Files(commands::files::Args),
    Cost(commands::cost::Args),
    Status(commands::status::Args),
    Tail(commands::tail::Args),
    Statusline(commands::statusline::Args),
    Agents(commands::agents::Args),
    #[cfg(feature = "gateway")]
    Serve(commands::serve::Args),
    #[cfg(feature = "gateway")]
    Mcp(commands::mcp::Args),
    #[command(subcommand, alias = "sessions")]
    Session(commands::session::Command),
    #[command(subcommand, alias = "contexts")]
    Context(commands::context::Command),
    #[command(subcommand, alias = "checkpoints")]
    Checkpoint(commands::checkpoint::Command),
    #[command(subcommand, alias = "links")]
    Link(commands::link::Command),
    #[command(subcommand, alias = "heartbeats")]
    Heartbeat(commands::heartbeat::Command),
    #[command(subcommand, alias = "tokens")]
    Token(commands::token::Command),
    #[command(subcommand)]
    Audit(commands::audit::Command),
    #[command(subcommand, alias = "pipelines")]
    Pipeline(commands::pipeline::Command),
    #[command(subcommand, alias = "projections")]
    Projection(commands::projection::Command),
    #[command(subcommand)]
    Otel(commands::otel::Command),
    Sync(commands::sync::Args),
    Login(commands::login::Args),
    Logout(commands::logout::Args),
    Rebuild(commands::rebuild::Args),
    Adopt(commands::adopt::Args),
    Import(commands::import::Args),
    Record(commands::record::Args),
    Relocate(commands::relocate::Args),
    Forget(commands::forget::Args),
    Doctor(commands::doctor::Args),
    Verify(commands::verify::Args),
    Backup(commands::backup::Args),
    Restore(commands::restore::Args),
    #[command(subcommand)]
    Config(commands::config::Command),
    Uninstall(commands::uninstall::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
    Version(commands::version::Args),
    Upgrade(commands::upgrade::Args),
    Help(commands::help::Args),
    #[command(hide = true)]
    Worker(commands::worker::Args),
}

/// Which store a command works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorksOn {
    /// The one that SIGLUM_STORE names, else this machine's own ledger.
    NamedStore,
    /// This machine's own ledger alone. The word is the command's; the sentence says what there is for a server.
    OwnLedger(&'static str, &'static str),
    /// This machine and what its hooks record, which SIGLUM_STORE changes nothing of.
    Machine,
    /// No store at all.
    Nothing,
}

/// What there is for a server instead of a command that knows the own ledger alone.
const COMMITS: &str = "The gateway of a store answers for commits: name it in SIGLUM_GATEWAY.";
const PLACES: &str =
    "A server knows repositories by their remotes: list its sessions with `--repository REMOTE`.";
const RUNS: &str = "The gateway of a store takes the session: pass `--gateway URL`.";
const STATUS: &str = "Run `siglum doctor` to check the store.";
const SYNC: &str =
    "A machine sends its sessions to the gateway of a store: run `siglum sync` there.";
const TURNS: &str = "The gateway of a store takes turns over its HTTP API.";
const BACKUPS: &str = "Use the backups of the database, such as `pg_dump`.";
#[cfg(feature = "gateway")]
const MCP: &str = "Programs ask about a store over the HTTP API of its gateway.";

impl Command {
    /// Which store it works on. A new command has to say it here: one that took the own ledger for the named store would
    /// answer from a wrong and perhaps empty one.
    const fn works_on(&self) -> WorksOn {
        match self {
            Self::Context(_)
            | Self::Heartbeat(_)
            | Self::Token(_)
            | Self::Audit(_)
            | Self::Pipeline(_)
            | Self::Upgrade(_) => WorksOn::NamedStore,
            #[cfg(feature = "gateway")]
            Self::Serve(_) => WorksOn::NamedStore,
            // Hooks know no other ledger than this machine's, so whoever switches them on or off means that one. With
            // `--telemetry`, the token is created in the named store, whose gateway takes the telemetry.
            Self::Init(_) | Self::Uninstall(_) => WorksOn::Machine,
            // A login is kept for this user, and for no store.
            Self::Login(_) | Self::Logout(_) => WorksOn::Machine,
            // It tells of the agents on this machine, and of what their hooks left here.
            Self::Agents(_) => WorksOn::Machine,
            // Hooks start it for what they left, whatever the environment of an agent or of git names.
            Self::Worker(_) => WorksOn::Machine,
            // It is in the prompt of every shell: what hooks record here, and no complaint.
            Self::Statusline(_) => WorksOn::Machine,
            // What these show, erase and check is in the store, whoever put it there.
            Self::Show(_)
            | Self::Search(_)
            | Self::Cost(_)
            | Self::Session(_)
            | Self::Checkpoint(_)
            | Self::Link(_)
            | Self::Projection(_)
            | Self::Otel(_)
            | Self::Rebuild(_)
            | Self::Forget(_)
            | Self::Doctor(_)
            | Self::Verify(_) => WorksOn::NamedStore,
            Self::Run(_) => WorksOn::OwnLedger("run", RUNS),
            // They ask git, and weigh what this machine saw.
            Self::Why(_) => WorksOn::OwnLedger("why", COMMITS),
            Self::Log(_) => WorksOn::OwnLedger("log", COMMITS),
            Self::Check(_) => WorksOn::OwnLedger("check", COMMITS),
            Self::Adopt(_) => WorksOn::OwnLedger("adopt", COMMITS),
            Self::Files(_) => WorksOn::OwnLedger("files", COMMITS),
            Self::Status(_) => WorksOn::OwnLedger("status", STATUS),
            // Agents run, and keep their transcripts, on this machine.
            Self::Resume(_) => WorksOn::OwnLedger("resume", commands::resume::ON_A_SERVER),
            Self::Tail(_) => WorksOn::OwnLedger("tail", STATUS),
            #[cfg(feature = "gateway")]
            Self::Mcp(_) => WorksOn::OwnLedger("mcp", MCP),
            Self::Sync(_) => WorksOn::OwnLedger("sync", SYNC),
            Self::Import(_) => WorksOn::OwnLedger("import", SYNC),
            Self::Record(_) => WorksOn::OwnLedger("record", TURNS),
            Self::Relocate(_) => WorksOn::OwnLedger("relocate", PLACES),
            Self::Backup(_) => WorksOn::OwnLedger("backup", BACKUPS),
            Self::Restore(_) => WorksOn::OwnLedger("restore", BACKUPS),
            // The demo has a ledger of its own, in an environment without the variable.
            Self::Demo(_)
            | Self::Config(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Version(_)
            | Self::Help(_) => WorksOn::Nothing,
        }
    }

    /// Refuses to work on another store than the one that is named.
    fn check_store(&self) -> Result<(), CommandError> {
        match self.works_on() {
            WorksOn::OwnLedger(command, way) => store::refuse_server(command, way),
            WorksOn::NamedStore | WorksOn::Machine | WorksOn::Nothing => Ok(()),
        }
    }

    /// Whether its answer may be longer than a screen.
    const fn is_read_at_length(&self) -> bool {
        match self {
            // Without words it takes the screen itself.
            Self::Search(args) => !args.words.is_empty(),
            Self::Why(_) | Self::Log(_) | Self::Show(_) | Self::Files(_) | Self::Cost(_) => true,
            _ => false,
        }
    }

    /// Whether it reads or changes what agents keep in the user's home.
    const fn looks_into_home(&self) -> bool {
        matches!(
            self,
            Self::Init(_)
                | Self::Uninstall(_)
                | Self::Import(_)
                | Self::Doctor(_)
                | Self::Resume(_)
                | Self::Agents(_)
        )
    }
}

/// What is wrong with the command line, of words that begin no line of the complaint that repeats them.
fn legible_error() -> Option<clap::Error> {
    let words = std::env::args_os();
    let legible = words.map(|word| legible::line(&word.to_string_lossy()).into_owned());
    parse(legible).err()
}

/// What there is for a command before its options are known, in the directory that this runs in; it says nothing.
pub fn bare_cx() -> Option<Cx> {
    let dir = PathBuf::from(".").canonicalize().ok()?;
    let config = load_config(&dir);
    Some(Cx::new(Ui::new(Color::Never, false, true), dir, config))
}

/// The settings that hold in a directory.
fn load_config(dir: &Path) -> Config {
    let worktree = siglum_gitstore::discover(dir, None, None);
    Config::load(worktree.as_ref().map(siglum_gitstore::Repo::worktree))
}

fn parse(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let mut command = commands::help::grouped(false);
    let mut matches = command
        .try_get_matches_from_mut(&words)
        .map_err(|error| suggest(error, &command, &words))?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// Suggests `log` for `lgo`. The parser compares letters near their place, and short words have too few of these.
fn suggest(mut error: clap::Error, root: &clap::Command, words: &[OsString]) -> clap::Error {
    let wrong = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(wrong)) => wrong.clone(),
        _ => return error,
    };
    let before = words.iter().take_while(|word| **word != *wrong);
    let parent = before.fold(root, |parent, word| {
        parent.find_subcommand(word).unwrap_or(parent)
    });
    let names = parent.get_subcommands().filter(|c| !c.is_hide_set());
    let names = names.map(clap::Command::get_name);
    let meant: Vec<String> = names
        .filter(|name| is_one_slip(&wrong, name))
        .map(str::to_owned)
        .collect();
    if !meant.is_empty() {
        error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(meant),
        );
    }
    error
}

/// Whether two words differ in two neighbouring letters that are swapped, or in one letter.
fn is_one_slip(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let begin = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[begin..], &other[begin..]);
    let ends = one.iter().rev().zip(other.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    match (&one[..one.len() - end], &other[..other.len() - end]) {
        ([a, b], [c, d]) => a == d && b == c,
        (one, other) => one.len() <= 1 && other.len() <= 1,
    }
}

/// Parses the command line and runs the command.
pub fn run() -> ExitCode {
    commands::completions::answer();
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let error = legible_error().unwrap_or(error);
            match error.use_stderr() && wants_json(std::env::args_os().any(|arg| arg == "--json")) {
                true => ui::report_as_json(&CommandError::usage(error.to_string().trim_end())),
                false => ui::report_usage(&error),
            }
            return ExitCode::from(code);
        }
    };
    let as_json = wants_json(cli.json);
    match start(cli) {
        Ok(code) => code,
        Err(error) => {
            match error.kind {
                Kind::Closed => {}
                _ if as_json => ui::report_as_json(&error),
                _ => ui::report(&error),
            }
            error.kind.code()
        }
    }
}

fn wants_json(by_flag: bool) -> bool {
    by_flag || env::text("SIGLUM_JSON").is_some()
}

fn start(cli: Cli) -> Result<ExitCode, CommandError> {
    if let Some(dir) = Home::wrong_variable() {
        let dir = dir.display();
        return Err(CommandError::usage(format!(
            "SIGLUM_HOME must be an absolute path (got \"{dir}\")"
        ))
        .hint("Set SIGLUM_HOME to an absolute path, or unset it."));
    }
    if env::path("HOME").is_none_or(|home| home.is_relative()) && cli.command.looks_into_home() {
        return Err(CommandError::usage(
            "HOME is not set or is not an absolute path, so the settings of agents cannot be found",
        )
        .hint("Set HOME to the home directory of the user who runs the agents."));
    }
    cli.command.check_store()?;
    let is_verbose = cli.verbose || env::text("SIGLUM_VERBOSE").is_some();
    let is_quiet = cli.quiet || env::text("SIGLUM_QUIET").is_some();
    match &cli.command {
        #[cfg(feature = "gateway")]
        Command::Serve(args) => args.start_log(is_verbose, is_quiet),
        _ if is_verbose => ui::log_to_stderr(tracing::Level::DEBUG),
        _ => ui::log_to_stderr(tracing::Level::ERROR),
    }
    let is_elsewhere = cli.dir.is_some();
    let dir = cli.dir.unwrap_or_else(|| PathBuf::from("."));
    let dir = dir
        .canonicalize()
        .map_err(|e| CommandError::usage(format!("{}: {e}", dir.display())))?;
    // Files that options name are found from there, too.
    if is_elsewhere {
        std::env::set_current_dir(&dir).map_err(CommandError::at(&dir))?;
    }
    let config = load_config(&dir);
    let color = cli.color.unwrap_or_else(|| match config.get("color") {
        "always" => Color::Always,
        "never" => Color::Never,
        _ => Color::Auto,
    });
    let ui = Ui::new(color, wants_json(cli.json), is_quiet).paged(!cli.no_pager);
    config.warnings.iter().for_each(|w| ui.warning(w));
    let cx = Cx::new(ui, dir, config);
    let is_long = cli.command.is_read_at_length();
    let _pager = is_long.then(|| cx.pager()).flatten();
    dispatch(cli.command, &cx).map_err(|error| match store::is_server() {
        true => error,
        false => error.naming_ledger(&cx.home.ledger()),
    })
}

fn dispatch(command: Command, cx: &Cx) -> Result<ExitCode, CommandError> {
    let done = match command {
        Command::Run(args) => return commands::run::run(&args, cx),
        Command::Help(args) => return Ok(commands::help::run(&args)),
        Command::Pipeline(command) => return commands::pipeline::run(&command, cx),
        Command::Search(args) => return commands::search::run(&args, cx),
        Command::Status(args) => return commands::status::run(&args, cx),
        Command::Demo(args) => commands::demo::run(&args, cx),
        Command::Init(args) => commands::init::run(&args, cx),
        Command::Why(args) => commands::why::run(&args, cx),
        Command::Log(args) => commands::log::run(&args, cx),
        Command::Check(args) => commands::check::run(&args, cx),
        Command::Show(args) => commands::show::run(&args, cx),
        Command::Resume(args) => commands::resume::run(&args, cx),
        Command::Files(args) => commands::files::run(&args, cx),
        Command::Cost(args) => commands::cost::run(&args, cx),
        Command::Tail(args) => commands::tail::run(&args, cx),
        Command::Statusline(args) => commands::statusline::run(&args, cx),
        Command::Agents(args) => commands::agents::run(&args, cx),
        #[cfg(feature = "gateway")]
        Command::Serve(args) => commands::serve::run(&args, cx),
        #[cfg(feature = "gateway")]
        Command::Mcp(args) => commands::mcp::run(&args, cx),
        Command::Session(command) => commands::session::run(&command, cx),
        Command::Checkpoint(command) => commands::checkpoint::run(&command, cx),
        Command::Link(command) => commands::link::run(&command, cx),
        Command::Heartbeat(command) => commands::heartbeat::run(&command, cx),
        Command::Context(command) => commands::context::run(&command, cx),
        Command::Token(command) => commands::token::run(&command, cx),
        Command::Audit(command) => commands::audit::run(&command, cx),
        Command::Projection(command) => commands::projection::run(&command, cx),
        Command::Otel(command) => commands::otel::run(&command, cx),
        Command::Sync(args) => commands::sync::run(&args, cx),
        Command::Login(args) => commands::login::run(&args, cx),
        Command::Logout(args) => commands::logout::run(&args, cx),
        Command::Rebuild(args) => commands::rebuild::run(&args, cx),
        Command::Adopt(args) => commands::adopt::run(&args, cx),
        Command::Import(args) => commands::import::run(&args, cx),
        Command::Record(args) => commands::record::run(&args, cx),
        Command::Relocate(args) => commands::relocate::run(&args, cx),
        Command::Forget(args) => commands::forget::run(&args, cx),
        Command::Doctor(args) => commands::doctor::run(&args, cx),
        Command::Verify(args) => commands::verify::run(&args, cx),
        Command::Backup(args) => commands::backup::run(&args, cx),
        Command::Restore(args) => commands::restore::run(&args, cx),
        Command::Config(command) => commands::config::run(&command, cx),
        Command::Uninstall(args) => commands::uninstall::run(&args, cx),
        Command::Completions(args) => commands::completions::run(&args, cx),
        Command::Man(args) => commands::man::run(&args, cx),
        Command::Version(args) => commands::version::run(&args, cx),
        Command::Upgrade(args) => commands::upgrade::run(&args, cx),
        Command::Worker(args) => commands::worker::run(&args, cx),
    };
    done.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, suggested: &str) {
        let words = line.split(' ');
        let Err(error) = parse(words) else {
            panic!("{line} is no mistake");
        };
        let text = error.to_string();
        let tip = text.lines().find(|line| line.contains("tip:"));
        assert_eq!(tip.unwrap_or_default().trim(), suggested, "{text}");
    }

    #[test]
    fn a_command_with_one_slip_is_suggested() {
        let log = "tip: a similar subcommand exists: 'log'";
        for line in ["siglum lgo", "siglum lg", "siglum --json lgo --limit 3"] {
            check(line, log);
        }
        check("siglum hwy", "tip: a similar subcommand exists: 'why'");
        let list = "tip: a similar subcommand exists: 'list'";
        check("siglum session lsit", list);
        check("siglum xyz", "");
    }

    #[test]
    fn a_slip_is_one_letter_or_two_neighbours_that_are_swapped() {
        for slip in ["lgo", "olg", "lg", "lo", "logg", "blog", "dog"] {
            assert!(is_one_slip(slip, "log"), "{slip}");
        }
        for other in ["gol", "l", "login", "dig", "xlgo", ""] {
            assert!(!is_one_slip(other, "log"), "{other}");
        }
    }
}
