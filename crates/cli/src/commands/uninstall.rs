//! `siglum uninstall`: takes out exactly what `siglum init` put in. The ledger stays.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use siglum_agents::AGENTS;
use siglum_engine::worker;
use siglum_gitstore::hooks::{self, FileChange, Plan};
use siglum_gitstore::{Repo, is_on};
use siglum_ledger::{Aside, read};

use super::init::{show_diff, summary};
use crate::claim;
use crate::clock::Ids;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::home::repository_spool;
use crate::hook::{self, landings};
use crate::install_record::InstallRecord;
use crate::settings_change::{SettingsChange, refused};
use crate::telemetry::settings::Undoing;
use crate::ui::{self, Style};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.uninstall/1";

/// Remove exactly what `siglum init` installed
///
/// Lists the changes and the files that they affect, shows the diff on request, and asks before it changes anything. The
/// hooks of agents serve all repositories, so they are removed with the last repository, or with `--global`. All recorded
/// data stays.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show what would be removed from this repository
    siglum uninstall --dry-run

  Remove the hooks of agents too, without confirmation
    siglum uninstall --global --yes")]
pub struct Args {
    /// Apply the changes without asking
    #[arg(long)]
    yes: bool,
    /// Show what would change, without changing it
    #[arg(long)]
    dry_run: bool,
    /// Remove the hooks of agents too, even if Siglum is enabled in other repositories
    #[arg(long)]
    global: bool,
    /// Remove only the settings that make agents export telemetry
    #[arg(long, conflicts_with = "global")]
    telemetry: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Whether it was done; else it was only shown.
    done: bool,
    /// The files that change.
    changed: Vec<String>,
    /// The files and directories that go.
    removed: Vec<String>,
    /// What was left alone, and why.
    notes: Vec<String>,
    /// Everything that was recorded, which stays.
    ledger: String,
}

/// What goes.
struct Going {
    settings: Vec<SettingsChange>,
    plan: Plan,
    telemetry: Option<Undoing>,
    /// The directory in the repository that switches Siglum on.
    switch: Option<PathBuf>,
    /// Files of ours in Siglum's home.
    files: Vec<PathBuf>,
    notes: Vec<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let repo = if args.global || args.telemetry {
        cx.find_repo()
    } else {
        Some(cx.repo()?)
    };
    let going = if args.telemetry {
        Going::telemetry(cx)?
    } else {
        plan(args, cx, repo.as_ref())?
    };
    if !cx.ui.json {
        present(args, cx, &going, repo.as_ref())?;
    }
    let nothing = going.is_nothing();
    let done = !nothing && !args.dry_run;
    if done && !args.yes && !is_agreed(cx, &going)? {
        return Err(ui::not_agreed(
            "nothing was changed",
            "Run `siglum uninstall --yes` to skip the confirmation.",
        ));
    }
    if done {
        going.apply(cx)?;
    }
    if cx.ui.json {
        return cx.ui.json(SCHEMA, going.json(cx, done));
    }
    cx.ui.status(match (nothing, done) {
        (true, _) => "Siglum is not enabled here; nothing to change.",
        (_, true) if args.telemetry => "Agents no longer export telemetry to the gateway.",
        (_, true) if cx.home.ledger().exists() => {
            "Siglum is off; recorded data is kept, and `siglum why` still works."
        }
        (_, true) => "Siglum is off.",
        (_, false) => "Nothing was changed.",
    });
    Ok(())
}

fn plan(args: &Args, cx: &Cx, repo: Option<&Repo>) -> Result<Going, CommandError> {
    let mut notes = Vec::new();
    let repo = own_repository(args, cx, repo, &mut notes)?;
    let others = others(cx, repo);
    let names: Vec<String> = match &others {
        Ok(dirs) => dirs.iter().map(|d| Cx::tilde(&checkout_of(d))).collect(),
        Err(reason) => vec![reason.clone()],
    };
    let list = shortened(&names);
    let everywhere = cx.home.everywhere().exists();
    let mut telemetry = None;
    let settings = if names.is_empty() && !everywhere || args.global {
        let mut changes = settings_changes(cx)?;
        telemetry = Undoing::plan(cx, &mut changes)?;
        changes
    } else {
        notes.push(if names.is_empty() {
            "agent hooks stay, because sessions are recorded everywhere; `siglum uninstall --global` removes them".to_owned()
        } else {
            format!("agent hooks stay, because they are in use by {list}; `siglum uninstall --global` removes them")
        });
        Vec::new()
    };
    if args.global && !names.is_empty() {
        notes.push(format!(
            "git hooks stay in {list}; run `siglum uninstall` there"
        ));
    }
    let mut files: Vec<PathBuf> = telemetry.iter().map(|_| cx.home.telemetry()).collect();
    if args.global && everywhere {
        files.push(cx.home.everywhere());
    }
    let shim = cx.home.shim();
    let unused = names.is_empty() && (args.global || !everywhere);
    // A program that somebody put there as a file is not ours.
    if unused && fs::read_link(&shim).is_ok() {
        files.push(shim);
    }
    let plan = match repo {
        Some(repo) => hooks_plan(cx, repo, &names, &mut notes)?,
        None => Plan::default(),
    };
    Ok(Going {
        settings,
        plan,
        telemetry,
        switch: repo.filter(|repo| repo.is_on()).map(Repo::siglum_dir),
        files,
        notes,
    })
}

/// The repository, unless another user switched it on: with `--global` that one is left out, else nothing is changed.
fn own_repository<'r>(
    args: &Args,
    cx: &Cx,
    repo: Option<&'r Repo>,
    notes: &mut Vec<String>,
) -> Result<Option<&'r Repo>, CommandError> {
    let Some(repo) = repo else { return Ok(None) };
    match cx.check_user(repo, &cx.hook_site(repo)?) {
        Err(error) if args.global => {
            notes.push(format!("git hooks stay here: {:#}", error.source));
            Ok(None)
        }
        checked => checked.map(|()| Some(repo)),
    }
}

/// The other repositories that are switched on, or why that cannot be told.
fn others(cx: &Cx, repo: Option<&Repo>) -> Result<Vec<PathBuf>, String> {
    if !cx.has_ledger() {
        return Ok(Vec::new());
    }
    let known = cx
        .open_ledger()
        .and_then(|mut ledger| Ok(read(&mut ledger, |tx| tx.repositories())?))
        .map_err(|_| "repositories in an unreadable ledger".to_owned())?;
    let here = repo.map(|r| r.place.common_dir.as_str());
    let on = known
        .into_iter()
        .filter(|r| r.is_here() && Some(r.common_dir.as_str()) != here)
        .map(|r| PathBuf::from(r.common_dir))
        .filter(|dir| is_on(dir));
    Ok(on.collect())
}

fn checkout_of(common_dir: &Path) -> PathBuf {
    match common_dir.parent() {
        Some(parent) if common_dir.ends_with(".git") => parent.to_owned(),
        _ => common_dir.to_owned(),
    }
}

fn shortened(names: &[String]) -> String {
    let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0..=3 => shown,
        n => format!(
            "{shown} and {}",
            ui::counted(n as u64 - 3, "more repository", "more repositories")
        ),
    }
}

fn hooks_plan(
    cx: &Cx,
    repo: &Repo,
    others: &[String],
    notes: &mut Vec<String>,
) -> Result<Plan, CommandError> {
    let site = cx.hook_site(repo)?;
    let is_own =
        |dir: &Path| dir.starts_with(repo.common_dir()) || dir.starts_with(repo.worktree());
    let mut places = InstallRecord::load(&cx.home).hooks_of(repo.common_dir());
    places.push(site.theirs_dir());
    // Where managers of hooks keep them, and may have got ours.
    places.extend([".husky", ".husky/_", ".githooks"].map(|dir| repo.worktree().join(dir)));
    let (own, shared): (Vec<_>, Vec<_>) = places.into_iter().partition(|dir| is_own(dir));
    if others.is_empty() {
        return Ok(hooks::plan_remove(&site, &[own, shared].concat())?);
    }
    let plan = hooks::plan_remove(&site, &own)?;
    for dir in shared {
        if hooks::has_blocks(&dir) {
            notes.push(format!(
                "the git hooks in {} stay, because other repositories share them; here they no longer do anything",
                Cx::tilde(&dir)
            ));
        }
    }
    Ok(plan)
}

fn settings_changes(cx: &Cx) -> Result<Vec<SettingsChange>, CommandError> {
    let shim = cx.home.shim().to_string_lossy().into_owned();
    let record = InstallRecord::load(&cx.home);
    let mut changes = Vec::new();
    for agent in AGENTS {
        let files = env::settings(agent).map_err(|error| refused(&error, "uninstall"))?;
        let mut after =
            (agent.plan_remove)(&files, &shim).map_err(|error| refused(&error, "uninstall"))?;
        // A file that was there, with nothing in it, was not ours to begin with.
        for (file, after) in files.iter().zip(&mut after) {
            if after.is_none() && file.text.is_some() {
                *after = record.blank(&file.path).map(str::to_owned);
            }
        }
        changes.extend(SettingsChange::all(files, after));
    }
    Ok(changes)
}

/// Says what is about to be removed; the diff is for whoever asks for it.
fn present(args: &Args, cx: &Cx, going: &Going, repo: Option<&Repo>) -> Result<(), CommandError> {
    if !going.is_nothing() {
        cx.ui.line(match args.telemetry {
            true => "This removes the settings that make agents export telemetry.",
            false => "This removes what `siglum init` installed.",
        })?;
        summary::show_rows(cx, going.rows(args, cx, repo))?;
    }
    going.plan.notes.iter().for_each(|note| cx.ui.warning(note));
    going
        .notes
        .iter()
        .for_each(|note| cx.ui.status(format!("note: {note}")));
    match args.dry_run {
        true => going.show_diff(cx),
        false => Ok(()),
    }
}

/// Asks whether the changes are to be made, as often as the person wants to see them first.
fn is_agreed(cx: &Cx, going: &Going) -> Result<bool, CommandError> {
    loop {
        match ui::answer("Make these changes? [y]es, [n]o, [d]iff:")?.as_deref() {
            Some("d" | "D" | "diff") => going.show_diff(cx)?,
            answer => return Ok(matches!(answer, Some("y" | "Y" | "yes"))),
        }
    }
}

impl Going {
    /// The telemetry of agents alone.
    fn telemetry(cx: &Cx) -> Result<Self, CommandError> {
        let mut settings = Vec::new();
        let telemetry = Undoing::plan(cx, &mut settings)?;
        Ok(Self {
            files: telemetry.iter().map(|_| cx.home.telemetry()).collect(),
            settings,
            plan: Plan::default(),
            telemetry,
            switch: None,
            notes: Vec::new(),
        })
    }

    /// The rows of the summary.
    fn rows(&self, args: &Args, cx: &Cx, repo: Option<&Repo>) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        if let Some(repo) = repo.filter(|_| self.switch.is_some()) {
            rows.push(("where", Cx::tilde(repo.worktree())));
        }
        if !self.settings.is_empty() {
            let what = if args.telemetry { "telemetry" } else { "hooks" };
            let files = self.settings.iter().map(|change| change.path.clone());
            rows.push(("agents", format!("{what} in {}", summary::named(files))));
        }
        rows.extend(summary::changed_hooks(&self.plan).map(|hooks| ("git", hooks)));
        let gone = self.switch.iter().chain(&self.files);
        let gone: Vec<String> = gone.map(|path| Cx::tilde(path)).collect();
        if !gone.is_empty() {
            rows.push(("files", gone.join(", ")));
        }
        let ledger = cx.home.ledger();
        if ledger.exists() {
            let ledger = Cx::tilde(&ledger);
            rows.push(("keeps", format!("all recorded data, in {ledger}")));
        }
        rows
    }

    fn show_diff(&self, cx: &Cx) -> Result<(), CommandError> {
        let hidden = self.telemetry.as_ref().map(|t| t.hidden.as_slice());
        show_diff(cx, &self.settings, &self.plan, hidden.unwrap_or_default())?;
        for path in self.switch.iter().chain(&self.files) {
            let what = if path.is_dir() { "directory" } else { "file" };
            let line = format!("-{what} {}", Cx::tilde(path));
            cx.ui.preview_line(cx.ui.paint(Style::Removed, line))?;
        }
        Ok(())
    }

    fn is_nothing(&self) -> bool {
        self.settings.is_empty()
            && self.plan.changes.is_empty()
            && self.switch.is_none()
            && self.files.is_empty()
    }

    /// First what calls Siglum, then what waits, so that nothing comes in behind it.
    fn apply(&self, cx: &Cx) -> Result<(), CommandError> {
        for change in &self.settings {
            change.apply()?;
        }
        if let Some(telemetry) = &self.telemetry {
            telemetry.finish(cx)?;
        }
        self.plan.apply()?;
        let mut record = InstallRecord::load(&cx.home);
        self.settings
            .iter()
            .for_each(|change| record.drop_blank(&change.path));
        if let Some(dir) = &self.switch {
            record.drop_hooks(dir.parent().unwrap_or(dir));
        }
        record.remove_empty_directories();
        if let Some(dir) = &self.switch {
            switch_off(cx, dir)?;
        }
        if cx.home.dir().is_dir() {
            record.store(&cx.home)?;
        }
        for file in &self.files {
            match fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(CommandError::at(file)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn json(&self, cx: &Cx, done: bool) -> Json {
        let shown = |path: &Path| path.display().to_string();
        let (mut changed, mut removed) = (Vec::new(), Vec::new());
        for change in &self.settings {
            let list = if change.after.is_some() {
                &mut changed
            } else {
                &mut removed
            };
            list.push(shown(&change.path));
        }
        for change in &self.plan.changes {
            let goes = matches!(
                change,
                FileChange::Delete { .. }
                    | FileChange::Leave { .. }
                    | FileChange::Link { after: None, .. }
            );
            let list = if goes { &mut removed } else { &mut changed };
            list.push(shown(change.path()));
        }
        removed.extend(self.switch.iter().chain(&self.files).map(|p| shown(p)));
        Json {
            done,
            changed,
            removed,
            notes: self.plan.notes.iter().chain(&self.notes).cloned().collect(),
            ledger: shown(&cx.home.ledger()),
        }
    }
}

/// Takes the directory away that switches Siglum on. What waits in it goes into the ledger, and what
/// the ledger does not take is kept in Siglum's home.
fn switch_off(cx: &Cx, dir: &Path) -> Result<(), CommandError> {
    let spool = repository_spool(dir);
    landings::spool(&cx.home, dir, |_| false);
    let spools = [cx.home.spool(), spool.clone()];
    if spools.iter().any(|spool| !spool.is_empty())
        && let Ok(mut ledger) = cx.open_ledger()
    {
        while worker::drain(&Ids, &mut ledger, &spools)? > 0 {}
    }
    if !spool.is_empty() {
        let (count, dir) = (spool.len() as u64, spool.dir().display());
        let waiting = ui::counted(count, "delivery waits", "deliveries wait");
        return Err(CommandError::partly(format!("{waiting} in {dir}, and the ledger does not take them"))
            .hint("Run `siglum doctor` to see why, then `siglum uninstall` again. Siglum stays enabled while that directory exists."));
    }
    let (left, home) = (spool.files(), cx.home.spool());
    if !left.is_empty() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(home.dir())
            .map_err(CommandError::at(home.dir()))?;
    }
    for path in left {
        // There nobody would see any more that it may only speak of this repository.
        let kept = home.dir().join(path.file_name().unwrap_or_default());
        keep(&path, &kept.with_extension(Aside::Foreign.ending()))?;
    }
    // What else is in it stays, and with it the directory above.
    let _ = fs::remove_dir(spool.dir());
    claim::forget_copies(dir);
    hook::remove_state(dir).map_err(CommandError::at(dir))?;
    match fs::remove_dir(dir) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(CommandError::partly(
            format!("{} contains files that are not Siglum's", dir.display()),
        )
        .hint("Siglum stays enabled while that directory exists: move the files, then run `siglum uninstall` again.")),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(CommandError::at(dir)(error)),
        _ => Ok(()),
    }
}

/// Moves a file, also to another disk; what is there is not replaced.
fn keep(from: &Path, to: &Path) -> Result<(), CommandError> {
    if !to.exists() && fs::rename(from, to).is_err() {
        fs::copy(from, to).map_err(CommandError::at(to))?;
        fs::remove_file(from).map_err(CommandError::at(from))?;
    } else if from.exists() {
        return Err(CommandError::partly(format!(
            "{} already exists, so {} stays",
            to.display(),
            from.display()
        )));
    }
    Ok(())
}
