//! `siglum init`: switches Siglum on for a repository.

mod clone;
pub(super) mod summary;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use siglum_agents::{AGENTS, AgentSpec};
use siglum_domain::{RepositoryId, Timestamp};
use siglum_egress::Plain;
use siglum_engine::identity::repositories::{self, Recognised};
use siglum_engine::record::import;
use siglum_gitstore::hooks::{self, FileChange, Plan};
use siglum_gitstore::{Repo, create_directories};
use siglum_ledger::{Aside, Durability, RepositoryRecord, SqliteLedger, read, write};

use self::summary::Summary;
use crate::clock::{self, Ids};
use crate::config::TRAILER;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::install_record::InstallRecord;
use crate::scope;
use crate::settings_change::{SettingsChange, refused};
use crate::telemetry::settings::{Setup, SetupOptions, without};
use crate::ui::{self, Style};

const PRIVATE_MODE: u32 = 0o700;

/// Enable Siglum: install hooks for agents and for this repository
///
/// Hooks are installed for the agents on this machine. The command lists the changes and the files that they affect,
/// shows the diff on request, and asks before it changes anything. `siglum uninstall` reverts exactly these changes.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Enable Siglum in this repository
    siglum init

  Show the changes, as a dry run
    siglum init --dry-run")]
pub struct Args {
    /// Apply the changes without asking
    #[arg(long)]
    yes: bool,
    /// Show what would change, without changing it
    #[arg(long)]
    dry_run: bool,
    /// Record sessions everywhere, including outside enabled repositories
    #[arg(long)]
    global: bool,
    /// Mark this repository as a clone, not a fork, of another (a path inside that one, or its id); `.` undoes this
    #[arg(long, value_name = "PATH|ID", conflicts_with = "global")]
    same_as: Option<String>,
    /// Do not add trailers to agents' commits: sets `trailer` to false
    #[arg(long)]
    no_trailer: bool,
    /// Configure agents to export their own OpenTelemetry data to the gateway, without conversation content
    #[arg(long)]
    telemetry: bool,
    /// Gateway for that telemetry (default: the previous one, or http://127.0.0.1:7477)
    #[arg(long, value_name = "URL", requires = "telemetry")]
    gateway: Option<String>,
    /// File with a telemetry token issued by a gateway on another machine
    #[arg(long, value_name = "FILE", requires = "telemetry")]
    token_file: Option<PathBuf>,
    /// Allow an unencrypted connection to a gateway on another machine
    #[arg(long, requires = "telemetry")]
    allow_plain: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let repo = if args.global {
        cx.find_repo()
    } else {
        Some(cx.repo()?)
    };
    let agents = agents();
    let mut settings = settings_changes(cx, &agents)?;
    let telemetry = telemetry(args, cx, &mut settings)?;
    let known = known(cx, repo.as_ref(), args.same_as.as_deref())?;
    let plan = match &repo {
        Some(repo) => hooks_plan(cx, repo)?,
        None => Plan::default(),
    };
    let changes = settings.len() + plan.changes.len();
    let summary = Summary {
        agents: &agents,
        settings: &settings,
        plan: &plan,
        worktree: repo.as_ref().map(|repo| Path::new(&repo.place.worktree)),
        global: args.global,
        trailer: cx.config.trailers() && !args.no_trailer,
        telemetry: telemetry.as_ref().map(Setup::gateway),
        destinations: known.destinations.clone(),
    };
    if changes > 0 {
        summary.show(cx)?;
    }
    plan.notes.iter().for_each(|note| cx.ui.warning(note));
    let notes = telemetry.iter().flat_map(|t| &t.notes);
    notes.for_each(|note| cx.ui.status(format!("note: {note}")));
    let hidden = telemetry.as_ref().map(|t| t.hidden.as_slice());
    let show_diff = || show_diff(cx, &settings, &plan, hidden.unwrap_or_default());
    if args.dry_run {
        show_diff()?;
        cx.ui.status("Nothing was changed.");
        return Ok(());
    }
    refuse_demo(cx)?;
    let answer = match changes > 0 && !args.yes {
        true => ask(changes, show_diff)?,
        false => Answer::Yes,
    };
    if answer == Answer::No {
        return Err(ui::not_agreed(
            "nothing was changed",
            "Run `siglum init --yes` to skip the confirmation.",
        ));
    }
    if answer == Answer::WithoutTrailer || args.no_trailer {
        super::config::set::write(&TRAILER, "false")?;
    }
    install_shim(cx)?;
    begin_ledger(cx)?;
    let mut record = InstallRecord::load(&cx.home);
    settings.iter().for_each(|change| change.note(&mut record));
    if let Some(repo) = &repo {
        note_hooks(repo, &plan, &mut record);
    }
    record.store(&cx.home)?;
    if let Some(telemetry) = &telemetry {
        telemetry.apply(cx)?;
    }
    for change in &settings {
        change.apply()?;
    }
    if let Some(telemetry) = &telemetry {
        telemetry.finish(cx)?;
    }
    plan.apply()?;
    if args.global {
        let everywhere = cx.home.everywhere();
        fs::write(&everywhere, "").map_err(CommandError::at(&everywhere))?;
    }
    if let Some(repo) = &repo {
        switch_on(cx, repo, &known, args)?;
    }
    finish(cx, repo.as_ref(), changes, &plan)
}

fn hooks_plan(cx: &Cx, repo: &Repo) -> Result<Plan, CommandError> {
    let dir = repo.siglum_dir();
    if dir.symlink_metadata().is_ok() && !repo.is_on() {
        return Err(CommandError::failed(format!("{} is not a directory", dir.display()))
            .hint("Siglum keeps its data in a directory of that name, and follows no link there: remove it, then run `siglum init` again."));
    }
    Ok(hooks::plan_install(
        &cx.writable_hook_site(repo)?,
        &cx.home.shim(),
    )?)
}

/// Agents are not to report into what a demo left.
fn refuse_demo(cx: &Cx) -> Result<(), CommandError> {
    if !cx.home.demo().exists() {
        return Ok(());
    }
    let home = cx.home.dir().display();
    Err(CommandError::failed(format!(
        "{home} was kept by `siglum demo`, and your agents would report to it"
    ))
    .hint("Unset SIGLUM_HOME (`unset SIGLUM_HOME`), then run `siglum init` again."))
}

/// What the ledger knows of a repository before Siglum is switched on in it.
#[derive(Debug, Default)]
struct Known {
    /// The names of what its sessions leave for, if it was on before.
    destinations: Vec<String>,
    /// The repositories that it may be a clone of.
    unclear: Vec<RepositoryRecord>,
    /// The repository that it is said to be a clone of.
    same_as: Option<RepositoryId>,
}

fn known(cx: &Cx, repo: Option<&Repo>, same_as: Option<&str>) -> Result<Known, CommandError> {
    let Some(repo) = repo.filter(|_| cx.has_ledger()) else {
        return match same_as {
            None => Ok(Known::default()),
            Some(_) => Err(CommandError::not_found(
                "there is no ledger yet, so there is no repository that this one is a clone of",
            )),
        };
    };
    let mut ledger = match cx.open_ledger() {
        // What to do about it is said where the ledger is begun.
        Err(error) if error.is_lost_ledger() && same_as.is_none() => return Ok(Known::default()),
        opened => opened?,
    };
    let unclear = match cx.recognise(&mut ledger, repo)? {
        Recognised::Unknown(unclear) => unclear,
        Recognised::Known(_) => Vec::new(),
    };
    let same_as = match same_as {
        Some(text) => scope::named(cx, &mut ledger, &[text.to_owned()])
            .map(|ids: Vec<_>| ids.first().copied())?,
        None => None,
    };
    let destinations = destinations(&mut ledger, repo)?;
    Ok(Known {
        destinations,
        unclear,
        same_as,
    })
}

fn destinations(ledger: &mut SqliteLedger, repo: &Repo) -> Result<Vec<String>, CommandError> {
    let names = read(ledger, |tx| {
        let Some(known) = tx.repository(&repo.place.common_dir)? else {
            return Ok(Vec::new());
        };
        let mut all = tx.projections()?;
        all.retain(|p| p.scope.as_ref().is_some_and(|s| s.has_repository(known.id)));
        Ok(all.into_iter().map(|p| p.name).collect())
    })?;
    Ok(names)
}

/// What the person says to the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    WithoutTrailer,
}

/// Asks whether the changes are to be made, as often as the person wants to see them first.
fn ask(
    changes: usize,
    show_diff: impl Fn() -> Result<(), CommandError>,
) -> Result<Answer, CommandError> {
    let files = ui::plural(changes as u64, "file");
    let question = format!("Change {files}? [y]es, [n]o, [d]iff, [t] yes, without trailers:");
    loop {
        return Ok(match ui::answer(&question)?.as_deref() {
            Some("y" | "Y" | "yes") => Answer::Yes,
            Some("t" | "T") => Answer::WithoutTrailer,
            Some("d" | "D" | "diff") => {
                show_diff()?;
                continue;
            }
            _ => Answer::No,
        });
    }
}

/// Makes sure of a ledger. One that is lost gives way to another, which takes in what waited meanwhile.
fn begin_ledger(cx: &Cx) -> Result<(), CommandError> {
    match cx.open_ledger() {
        Err(error) if error.is_lost_ledger() => {
            cx.ui
                .warning(format!("{:#}; siglum continues without it", error.source));
        }
        opened => return opened.map(drop),
    }
    drop(cx.begin_ledger()?);
    let spools = cx.spools();
    spools.iter().for_each(|spool| {
        spool.take_back(&[Aside::Refused]);
    });
    if spools.iter().any(|spool| !spool.is_empty()) {
        cx.home.start_worker();
    }
    Ok(())
}

/// Notes where hooks get a block, before they do.
pub fn note_hooks(repo: &Repo, plan: &Plan, record: &mut InstallRecord) {
    record.add_directories(plan.new_directories());
    for change in &plan.changes {
        if let (FileChange::Write { path, .. }, Some(dir)) = (change, change.path().parent())
            && path
                .file_name()
                .is_some_and(|name| hooks::HOOKS.iter().any(|hook| *hook == name))
        {
            record.add_hooks(repo.common_dir(), dir.to_owned());
        }
    }
}

/// What switches the agents' telemetry on, if that is asked for.
fn telemetry(
    args: &Args,
    cx: &Cx,
    settings: &mut Vec<SettingsChange>,
) -> Result<Option<Setup>, CommandError> {
    let options = SetupOptions {
        gateway: args.gateway.as_deref(),
        plain: match args.allow_plain {
            true => Plain::Anywhere,
            false => Plain::Loopback,
        },
        token_file: args.token_file.as_deref(),
    };
    let options = args.telemetry.then_some(options);
    options
        .map(|options| Setup::plan(&options, cx, settings))
        .transpose()
}

/// Whether the agent was ever used here.
fn is_here(agent: &AgentSpec) -> bool {
    env::agent_dir(agent).is_dir()
}

/// The agents that were used here. Where none was yet, all are prepared for.
fn agents() -> Vec<&'static AgentSpec> {
    let present: Vec<_> = AGENTS.iter().filter(|agent| is_here(agent)).collect();
    match present.is_empty() {
        true => AGENTS.iter().collect(),
        false => present,
    }
}

fn settings_changes(
    cx: &Cx,
    agents: &[&'static AgentSpec],
) -> Result<Vec<SettingsChange>, CommandError> {
    let shim = cx.home.shim().to_string_lossy().into_owned();
    let mut changes = Vec::new();
    for agent in agents {
        let files = env::settings(agent).map_err(|error| refused(&error, "init"))?;
        let after = (agent.plan_install)(&files, &shim).map_err(|error| refused(&error, "init"))?;
        changes.extend(SettingsChange::all(files, after));
    }
    Ok(changes)
}

/// Shows changes as a diff, without what is not to be shown.
pub fn show_diff(
    cx: &Cx,
    settings: &[SettingsChange],
    plan: &Plan,
    hidden: &[String],
) -> Result<(), CommandError> {
    let diffs = settings
        .iter()
        .map(SettingsChange::diff)
        .chain(plan.changes.iter().map(hooks::FileChange::diff));
    for diff in diffs {
        for line in without(&diff, hidden).lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => Some(Style::Added),
                Some(b'-') => Some(Style::Removed),
                _ => None,
            };
            let line = style.map_or_else(|| line.to_owned(), |style| cx.ui.paint(style, line));
            cx.ui.preview_line(line)?;
        }
    }
    Ok(())
}

/// Points the stable name that hooks call at this program.
pub fn install_shim(cx: &Cx) -> Result<(), CommandError> {
    let shim = cx.home.shim();
    let program = std::env::current_exe()?;
    if program == shim || fs::read_link(&shim).is_ok_and(|target| target == program) {
        return Ok(());
    }
    let dir = shim.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(CommandError::at(dir))?;
    let aside = dir.join(format!(".siglum-{}", std::process::id()));
    let _ = fs::remove_file(&aside);
    let link = symlink(&program, &aside).and_then(|()| fs::rename(&aside, &shim));
    link.map_err(CommandError::at(&shim))
}

fn switch_on(cx: &Cx, repo: &Repo, known: &Known, args: &Args) -> Result<(), CommandError> {
    let dir = repo.siglum_dir();
    let was_on = dir.is_dir();
    create_directories(&dir, PRIVATE_MODE).map_err(CommandError::at(&dir))?;
    let git = cx.git();
    if !was_on {
        repo.note_begin(&git.tips()?)
            .map_err(CommandError::at(&dir))?;
    }
    let head = git.head()?;
    let now: Timestamp = clock::now();
    let mut ledger = cx.open_ledger()?;
    let id = write(&mut ledger, Durability::Process, |tx| {
        let id = repositories::note_place(tx, &Ids, &repo.place, now)?;
        if let Some(head) = &head {
            tx.set_swept(id, &repo.place.worktree, head)?;
        }
        Ok(id)
    })?;
    repositories::mark(&mut ledger, repo.common_dir(), id)?;
    let of = match known.same_as {
        None if was_on => None,
        None if args.yes => {
            clone::advise(cx, &known.unclear);
            None
        }
        None => clone::ask(cx, &known.unclear)?,
        same => same,
    };
    if let Some(of) = of {
        repositories::set_clone_of(&mut ledger, id, of)?;
    }
    Ok(())
}

/// The first answer comes from the user's own history.
fn finish(cx: &Cx, repo: Option<&Repo>, changes: usize, plan: &Plan) -> Result<(), CommandError> {
    let is_hindered = plan.obstacle.is_some();
    cx.ui.status(match changes {
        _ if is_hindered => "Siglum is enabled for agents here, without git hooks.",
        0 => "Siglum is enabled; nothing to change.",
        _ => "Siglum is enabled.",
    });
    let Some(repo) = repo else { return Ok(()) };
    let common_dir = Some(repo.place.common_dir.as_str());
    let on_disk = import::transcripts_on_disk(&env::agent_dir, common_dir, None)?;
    let found = &on_disk.found;
    if found.is_empty() {
        if !on_disk.refused.is_empty() {
            super::import::import_all(cx, &on_disk)?;
        }
        cx.ui.status(match is_hindered {
            true => "A commit now has its session if the hooks of an agent observe it; run `siglum doctor` to see how to enable git hooks, too.",
            false => "Each commit now has its session: let an agent commit, then run `siglum why`.",
        });
        return Ok(());
    }
    let size: u64 = found.iter().map(import::ImportableTranscript::bytes).sum();
    let sessions = ui::plural(found.len() as u64, "earlier session");
    cx.ui.status(format!(
        "Importing {sessions} of this repository from this machine ({}).",
        ui::bytes(size)
    ));
    super::import::import_all(cx, &on_disk)?;
    super::log::recent(cx, 5)
}
