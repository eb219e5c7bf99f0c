//! Commits that are made at once in one checkout: how many get the message of another one.
//!
//! Git has one file for the message of a commit under way, so this happens without hooks, too, and
//! with any hooks much more often.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::thread;

use crate::Fallible;
use crate::home::Home;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;

/// How many commit at once.
const WRITERS: usize = 4;
/// What ours may mix up of all commits, as a divisor: git alone mixes up to one in fifteen.
const SHARE: usize = 10;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let dir = run.dir("messages")?;
    let home = Home::create(&run.program, &dir.join("home"))?;
    let bare = Repo::create(&home, &dir.join("bare"), 20, 10)?;
    let empty = bare.copy(&home, &dir.join("empty"))?;
    let ours = bare.copy(&home, &dir.join("ours"))?;
    home.run(&ours.dir, &["init", "--yes"])?;
    empty.do_nothing_in_hooks_of(&ours)?;
    let each = run.much(40, 10);
    let all = WRITERS * each;
    let without = mixed_up(&home, &bare, each)?;
    let line = |name: &str, wrong: usize| {
        let name = format!("another one's message, {name}");
        Line::new(name, as_number(wrong), "commits", all).against("no hooks", as_number(without))
    };
    let (nothing, siglum) = (
        mixed_up(&home, &empty, each)?,
        mixed_up(&home, &ours, each)?,
    );
    let bound = format!("≤ 1 in {SHARE}");
    Ok(vec![
        line("no hooks", without),
        line("hooks that do nothing", nothing),
        line("ours", siglum).bound(bound, siglum * SHARE <= all),
    ])
}

fn as_number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Four writers commit at once, so many each. Gives how many commits have a message that is not the
/// one they were made with.
fn mixed_up(home: &Home, repo: &Repo, each: usize) -> Fallible<usize> {
    let base = repo.git(home, &["rev-parse", "HEAD"])?;
    let made: Vec<Result<Vec<(String, String)>, String>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(home, repo, writer, each)))
            .collect();
        let joined = writers.into_iter().map(|writer| match writer.join() {
            Ok(made) => made,
            Err(_) => Err("a writer broke off".to_owned()),
        });
        joined.collect()
    });
    let mut messages: BTreeMap<String, String> = BTreeMap::new();
    for writer in made {
        messages.extend(writer?);
    }
    let log = repo.git(home, &["log", "--format=%h %s", &format!("{base}..HEAD")])?;
    let landed: Vec<_> = log.lines().filter_map(|l| l.split_once(' ')).collect();
    if landed.len() != WRITERS * each {
        return Err(format!("{} of {} commits landed", landed.len(), WRITERS * each).into());
    }
    let is_wrong = |(id, subject): &&(&str, &str)| {
        let own = messages
            .iter()
            .find(|(made, _)| id.starts_with(*made) || made.starts_with(*id));
        own.is_none_or(|(_, message)| message != subject)
    };
    Ok(landed.iter().filter(is_wrong).count())
}

/// Commits until git lets it; gives each commit's abbreviated id, as git prints it, and its message.
fn write(
    home: &Home,
    repo: &Repo,
    writer: usize,
    commits: usize,
) -> Result<Vec<(String, String)>, String> {
    let mut made = Vec::new();
    for number in 0..commits {
        let message = format!("{number} by writer {writer}");
        let id = loop {
            let mut git = Command::new("git");
            home.apply(&mut git);
            let out = git
                .current_dir(&repo.dir)
                .args(["commit", "--allow-empty", "-m", &message])
                .stdin(Stdio::null())
                .output()
                .map_err(|error| error.to_string())?;
            let shown = String::from_utf8_lossy(&out.stdout).into_owned();
            let line = shown.lines().find_map(|line| line.strip_prefix("[main "));
            match line.and_then(|line| line.split(']').next()) {
                Some(id) if out.status.success() => break id.to_owned(),
                // Another one was quicker: HEAD or the index is locked.
                _ => {}
            }
        };
        made.push((id, message));
    }
    Ok(made)
}
