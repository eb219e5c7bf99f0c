//! What the newcomer reads.

use std::path::Path;

use super::sandbox::Sandbox;
use super::wire::{Json, Played, Row};
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::ui::{Cell, Style, Table};

/// Shows what was played and what Siglum says of it.
pub fn print(
    cx: &Cx,
    sandbox: &Sandbox,
    played: &Played,
    shown: &Json,
    why: &str,
) -> Result<(), CommandError> {
    let ui = &cx.ui;
    let says = |text: &str| ui.line(text);
    says("")?;
    says("Two Claude Code sessions, A and B, worked in one checkout at once, beside a")?;
    says("person and a script. A committed a test that B wrote; B left a process behind")?;
    says("that committed later. MADE BY is the truth, the rest is Siglum's answer:")?;
    says("")?;
    ui.table(&table(&shown.commits))?;
    if let Some(obstacle) = &played.obstacle {
        says("")?;
        says(&format!(
            "A person and a process that an agent left behind cannot be told apart here: {obstacle}."
        ))?;
    }
    for note in &played.notes {
        says(note)?;
    }
    if let Some(row) = telling(&shown.commits) {
        says("")?;
        let command = format!("$ siglum why {}", short(&row.commit));
        says(&ui.paint(Style::Heading, command))?;
        ui.relay(why)?;
    }
    go_on(cx, sandbox, shown)
}

fn table(rows: &[Row]) -> Table {
    let heading = vec![
        "COMMIT",
        "MADE BY",
        "COMMITTER",
        "VERDICT",
        "AUTHORS",
        "SUBJECT",
    ];
    let mut table = Table::new(heading);
    for row in rows {
        let committer = match &row.session {
            Some(session) => match row.letter {
                Some(letter) => format!("{letter} {}", tail(session)),
                None => tail(session).to_owned(),
            },
            None => row.kind.clone(),
        };
        let authors: Vec<String> = row.authors.iter().map(char::to_string).collect();
        let authors = if authors.is_empty() {
            "unknown".to_owned()
        } else {
            authors.join(", ")
        };
        let sure = match row.verdict.as_str() {
            "certain" => Style::Added,
            "likely" => Style::Time,
            _ => Style::Warning,
        };
        table.row(vec![
            Cell::styled(Style::Id, short(&row.commit)),
            Cell::plain(&row.made_by),
            Cell::styled(Style::Agent, committer),
            Cell::styled(sure, &row.verdict),
            Cell::plain(authors),
            Cell::plain(&row.subject),
        ]);
    }
    table
}

/// What people see of an id.
fn tail(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

fn go_on(cx: &Cx, sandbox: &Sandbox, shown: &Json) -> Result<(), CommandError> {
    let ui = &cx.ui;
    let command = |text: String| ui.line(format!("  {}", ui.paint(Style::Id, text)));
    ui.line("")?;
    ui.block("Now your own repository. The first answers come from the transcripts of your\nagents on this machine. `siglum init` shows its changes and asks first:")?;
    command(format!("cd <repo> && {} init", callable()))?;
    if shown.directory.is_none() {
        ui.line("To explore this repository, keep it:")?;
        return command(format!("{} demo --keep", callable()));
    }
    let (root, repo) = (sandbox.root().display(), sandbox.repo());
    let home = sandbox.siglum_home();
    ui.line(format!(
        "This repository was kept in {root}. To explore it:"
    ))?;
    let (home, repo) = (home.dir().display(), repo.display());
    command(format!(
        "(cd {repo} && SIGLUM_HOME={home} {} log)",
        callable()
    ))
}

/// How this program is called from a shell: by its name if the search path leads to it.
fn callable() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let path = env::path("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join("siglum"))
        .find(|candidate| candidate.is_file());
    let same = |found: &Path| found.canonicalize().ok() == program.canonicalize().ok();
    if found.is_some_and(|found| same(&found)) {
        "siglum".to_owned()
    } else {
        program.display().to_string()
    }
}

/// A commit as all commands show it.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The commit whose answer is shown in full: the first with several authors.
pub fn telling(rows: &[Row]) -> Option<&Row> {
    rows.iter()
        .find(|row| row.authors.len() > 1)
        .or(rows.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(authors: &[char]) -> Row {
        Row {
            commit: "0123456789abcdef".to_owned(),
            subject: authors.iter().collect(),
            made_by: "a person".to_owned(),
            kind: "unknown".to_owned(),
            session: None,
            letter: None,
            verdict: "unknown".to_owned(),
            authors: authors.to_vec(),
            right: true,
        }
    }

    #[test]
    fn the_commit_with_several_authors_is_shown() {
        let rows = [row(&['A']), row(&['A', 'B'])];
        assert_eq!(telling(&rows).map(|r| r.subject.as_str()), Some("AB"));
        assert_eq!(telling(&rows[..1]).map(|r| r.subject.as_str()), Some("A"));
        assert!(telling(&[]).is_none());
    }

    #[test]
    fn ids_are_cut_as_people_see_them() {
        assert_eq!(short("0123456789abcdef"), "0123456789");
        assert_eq!(short("012"), "012");
        assert_eq!(tail("ses_0123456789abcdef"), "89abcdef");
    }
}
