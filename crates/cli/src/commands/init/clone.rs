//! Whether a repository is a clone of a known one, where only a person can tell it from a fork.

use siglum_domain::RepositoryId;
use siglum_ledger::RepositoryRecord;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui;

/// How many repositories a person can choose from.
const CHOICES: usize = 9;

/// Asks which of these a repository is a clone of. Without a terminal nobody is asked, and a note says how to tell.
pub(super) fn ask(
    cx: &Cx,
    others: &[RepositoryRecord],
) -> Result<Option<RepositoryId>, CommandError> {
    let others = &others[..others.len().min(CHOICES)];
    let (first, question) = match others {
        [] => return Ok(None),
        [one] => (
            format!("This repository has commits in common with {}.", place(one)),
            "Is it a clone of that one, and not a fork? [y/N]".to_owned(),
        ),
        several => {
            let lines = several.iter().zip(1..);
            let lines: Vec<String> = lines.map(|(r, n)| format!("  {n}  {}", place(r))).collect();
            let lines = lines.join("\n");
            (
                format!("This repository has commits in common with these:\n{lines}"),
                format!(
                    "Which of them is it a clone of, and not a fork? [1-{}, n]",
                    several.len()
                ),
            )
        }
    };
    cx.ui.status(first);
    match ui::answer(&question)? {
        Some(answer) => Ok(chosen(answer.trim(), others)),
        None => {
            advise(cx, others);
            Ok(None)
        }
    }
}

fn chosen(answer: &str, others: &[RepositoryRecord]) -> Option<RepositoryId> {
    let number = match (answer, others) {
        ("y" | "Y" | "yes", [_]) => 1,
        _ => answer.parse::<usize>().ok()?,
    };
    let chosen = number.checked_sub(1).and_then(|n| others.get(n));
    chosen.map(|record| record.id)
}

/// Says how to tell that a repository is a clone of one of these.
pub(super) fn advise(cx: &Cx, others: &[RepositoryRecord]) {
    if let Some(first) = others.first() {
        let first = place(first);
        cx.ui.status(format!(
            "note: this repository has commits in common with {first}. If it is a clone of that one, run `siglum init --same-as {first}`."
        ));
    }
}

fn place(record: &RepositoryRecord) -> String {
    ui::one_line(&Cx::tilde(record.checkout().as_ref()), 200)
}

#[cfg(test)]
mod tests {
    use siglum_ledger::RepositoryIdentity;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_a_clear_answer_chooses() {
        let id = |n| RepositoryId::from_uuid(Uuid::from_u128(n));
        let record = |n| RepositoryRecord {
            id: id(n),
            common_dir: format!("/r{n}/.git"),
            worktrees: Vec::new(),
            identity: RepositoryIdentity::default(),
        };
        let (one, two) = (vec![record(1)], vec![record(1), record(2)]);
        for (others, answer, expected) in [
            (&one, "y", Some(1)),
            (&one, "1", Some(1)),
            (&one, "n", None),
            (&one, "", None),
            (&two, "2", Some(2)),
            (&two, "y", None),
            (&two, "0", None),
            (&two, "3", None),
        ] {
            assert_eq!(chosen(answer, others), expected.map(id), "{answer}");
        }
    }
}
