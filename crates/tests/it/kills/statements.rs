//! What the ledger says of commits, against git.

use std::collections::{BTreeMap, BTreeSet};

use super::day::Day;
use super::shift::Form;
use super::truth::{self, Commit};
use crate::harness::{Repo, Why};

/// Every trailer names a checkpoint that is there, and if it is the commit's own, one of its maker.
pub(super) fn check_trailers(day: &Day<'_>, which: &[&str]) -> usize {
    let commits = truth::commits(&day.trees[0], which);
    let makers = truth::makers(&commits, &day.births);
    let store = day.world.store();
    let mut checked = 0;
    for commit in &commits {
        for trailer in &commit.trailers {
            let id = trailer.strip_prefix("chk_").unwrap().to_uppercase();
            let sql = "SELECT c.\"commit\", group_concat(a.native) FROM checkpoints c LEFT JOIN pins p ON p.checkpoint = c.id \
                       LEFT JOIN aliases a ON a.session = p.session WHERE hex(c.id) = ?1 GROUP BY c.id";
            let found = store.query_row(sql, [&id], |row| {
                Ok((
                    row.get::<_, Option<String>>(0)?,
                    row.get::<_, Option<String>>(1)?,
                ))
            });
            let (of, natives) = found.unwrap_or_else(|_| {
                let intent = "SELECT state || ' ' || coalesce(\"commit\", '') FROM intents WHERE hex(checkpoint) = ?1";
                let intent = store.query_row(intent, [&id], |row| row.get::<_, String>(0));
                let known = "SELECT seen_by || ' ' || coalesce(hex(checkpoint), '') || ' ' || coalesce(hex(intent), '') FROM commits WHERE \"commit\" = ?1";
                let known = store.query_row(known, [&commit.id], |row| row.get::<_, String>(0));
                panic!("{commit:?}: {trailer} dangles; intent {intent:?}, commit {known:?}")
            });
            if of.as_ref() == Some(&commit.id)
                && let Some(natives) = natives
            {
                let right = natives
                    .split(',')
                    .any(|native| makers[&commit.id].contains(native));
                let why = day.trees[0].why(&commit.id);
                // Those between whom nobody can tell are pinned, too.
                let open = why.committer() == "unknown ambiguous";
                assert!(right || open, "{commit:?}: pinned {natives}: {why}");
            }
            checked += 1;
        }
    }
    checked
}

/// No statement is false; those of undisturbed commits are sure.
pub(super) fn check(day: &Day<'_>) -> BTreeMap<String, u64> {
    let repo = &day.trees[0];
    let commits = truth::commits(repo, &["--all", "--reflog", "base.."]);
    let makers = truth::makers(&commits, &day.births);
    let mut verdicts = BTreeMap::new();
    for commit in &commits {
        let why = repo.why(&commit.id);
        let verdict = check_committer(day, commit, &makers[&commit.id], &why);
        check_authors(repo, commit, &why);
        check_checkpoints(day, commit);
        *verdicts.entry(verdict).or_default() += 1;
    }
    verdicts
}

fn check_committer(day: &Day<'_>, commit: &Commit, makers: &BTreeSet<String>, why: &Why) -> String {
    let answer = why.committer();
    let (name, verdict) = answer.split_once(' ').unwrap();
    let unknown = name == "unknown" && ["unknown", "ambiguous"].contains(&verdict);
    assert!(
        unknown || makers.contains(name),
        "{commit:?} of {makers:?}: {why}\n{}",
        story(day, &commit.id)
    );
    let of = match commit.committer.as_str() {
        "human" => "human",
        "nobody" | "Ada" => "nobody",
        _ => "agents",
    };
    let form = day.undisturbed.get(&commit.id);
    match (of, form) {
        ("agents", Some(_)) => assert!(!unknown, "{commit:?} was not disturbed, {form:?}: {why}"),
        ("human", Some(Form::Message | Form::Editor | Form::Amend | Form::AmendKept)) => {
            assert_eq!(answer, "human certain", "{commit:?}: {why}");
        }
        _ => {}
    }
    let how = if form.is_some() {
        "undisturbed"
    } else {
        "disturbed"
    };
    format!("{of}, {how}: {verdict}")
}

/// What git and the ledger know of a commit and of those it was made of, for a person who looks into it.
fn story(day: &Day<'_>, commit: &str) -> String {
    let store = day.world.store();
    let git = day.trees[0].git(&["log", "-1", "--format=%H by %cn of %an at %ct: %B", commit]);
    let row = "SELECT c.seen_by || ', checkpoint ' || coalesce(hex(c.checkpoint), '-') || ', intent ' || coalesce(hex(i.checkpoint) \
               || ' ' || i.state || ' of ' || coalesce(i.git, '-') || ' at ' || i.at || ' upon ' || coalesce(i.scene, '-'), '-') \
               FROM commits c LEFT JOIN intents i ON i.checkpoint = c.intent WHERE c.\"commit\" = ?1";
    let known = store.query_row(row, [commit], |row| row.get::<_, String>(0));
    let mut rows = store
        .prepare("SELECT old FROM rewrites WHERE new = ?1 AND old <> new ORDER BY at")
        .unwrap();
    let olds = rows.query_map([commit], |row| row.get::<_, String>(0));
    let before: String = olds
        .unwrap()
        .map(|old| format!("made of: {}", story(day, &old.unwrap())))
        .collect();
    let announced = "SELECT hex(checkpoint) || ' ' || state || ' of ' || coalesce(git, '-') || ' at ' || at || ' upon ' || coalesce(scene, '-') FROM intents ORDER BY at";
    let mut rows = store.prepare(announced).unwrap();
    let intents = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let intents: Vec<String> = intents.map(Result::unwrap).collect();
    format!(
        "{git}\n{known:?}\n{before}announced:\n{}",
        intents.join("\n")
    )
}

/// A commit is one checkpoint, or as many as its message names: commits that are made at once in one
/// checkout share the file with the message, and may get two trailers.
fn check_checkpoints(day: &Day<'_>, commit: &Commit) {
    let store = day.world.store();
    let sql = "SELECT 'chk_' || lower(hex(id)) FROM checkpoints WHERE \"commit\" = ?1";
    let mut rows = store.prepare_cached(sql).unwrap();
    let found = rows.query_map([&commit.id], |row| row.get::<_, String>(0));
    let found: Vec<String> = found.unwrap().map(Result::unwrap).collect();
    let named = found.iter().all(|id| commit.trailers.contains(id));
    assert!(found.len() < 2 || named, "{commit:?} is {found:?}");
}

/// Each line names who wrote it.
fn check_authors(repo: &Repo<'_>, commit: &Commit, why: &Why) {
    for author in why.0["authors"].as_array().unwrap() {
        let Some(native) = author["native_ids"][0].as_str() else {
            continue;
        };
        for file in author["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            let text = repo.git(&["show", &format!("{}:{path}", commit.id)]);
            let lines: Vec<&str> = text.lines().collect();
            for range in file["lines"].as_array().unwrap() {
                let end = |at: usize| usize::try_from(range[at].as_u64().unwrap()).unwrap();
                for line in &lines[end(0) - 1..end(1)] {
                    let wrote = line.ends_with(&format!(" by {native}"));
                    assert!(
                        wrote,
                        "{commit:?} {path}: {line:?} is said to be of {native}\n{text}\n{why}"
                    );
                }
            }
        }
    }
}
