//! The prompts that led to the lines of a commit, by the logs of their authors alone: a gateway has no content of files,
//! and cannot tell which edit added which line.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use siglum_domain::observation::{Fact, Side};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{LedgerError, Transaction, stored_name};

use crate::commits::prompts::{Prompt, made_at, prompt_at};
use crate::commits::why::Why;
use crate::damage::undamaged;

/// The most edits that are remembered for one response. Of sessions that come after them, prompts of lines are not told.
const EDITS_MOST: usize = 100_000;

/// A prompt, and the files in which it led to all lines of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorPrompt {
    /// The paths after the commit.
    pub paths: Vec<String>,
    pub prompt: Prompt,
}

/// When a session edited which files.
type Edits = BTreeMap<String, Vec<Timestamp>>;

/// The edits of sessions, each log read once.
#[derive(Default)]
pub(crate) struct LoggedEdits {
    sessions: BTreeMap<SessionId, Edits>,
    count: usize,
}

impl LoggedEdits {
    /// The prompts that led to the lines of a commit, as far as they are known: a file that its author edited for several
    /// prompts has none.
    pub(crate) fn prompts(
        &mut self,
        tx: &mut dyn Transaction,
        why: &Why,
    ) -> Result<Vec<AuthorPrompt>, LedgerError> {
        let record = tx.commit(why.repository, &why.facts.commit)?;
        let until = made_at(record.as_ref(), &why.facts);
        let mut found: Vec<AuthorPrompt> = Vec::new();
        for author in &why.authors {
            let Some(session) = author.session else {
                continue;
            };
            for (path, _) in &author.files {
                let times = self.edits(tx, session)?.get(path);
                let had_part = |at: &Timestamp| *at <= until;
                let times = times.into_iter().flatten().copied();
                let times: Vec<Timestamp> = times.filter(had_part).collect();
                let Some(prompt) = only_prompt(tx, session, &times)? else {
                    continue;
                };
                match found.iter_mut().find(|known| known.prompt == prompt) {
                    Some(known) => known.paths.push(path.clone()),
                    None => found.push(AuthorPrompt {
                        paths: vec![path.clone()],
                        prompt,
                    }),
                }
            }
        }
        Ok(found)
    }

    fn edits(
        &mut self,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<&Edits, LedgerError> {
        match self.sessions.entry(session) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let edits = match self.count < EDITS_MOST {
                    true => logged_edits(tx, session)?,
                    false => Edits::new(),
                };
                self.count += edits.values().map(Vec::len).sum::<usize>();
                Ok(unknown.insert(edits))
            }
        }
    }
}

fn logged_edits(tx: &mut dyn Transaction, session: SessionId) -> Result<Edits, LedgerError> {
    let entries = undamaged(tx.entries_of_kind(session, "file_seen", u64::MAX >> 1))?;
    let mut edits = Edits::new();
    for entry in entries.unwrap_or_default() {
        let at = entry.observation.at;
        if let Fact::FileSeen {
            path,
            side: Side::After,
            ..
        } = entry.observation.fact
        {
            let path = stored_name(&path).into_owned();
            edits.entry(path).or_default().push(at);
        }
    }
    Ok(edits)
}

/// The prompt that all these edits followed. Prompts follow each other, so that the first and the last edit are enough.
fn only_prompt(
    tx: &mut dyn Transaction,
    session: SessionId,
    times: &[Timestamp],
) -> Result<Option<Prompt>, LedgerError> {
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
        return Ok(None);
    };
    let prompt = prompt_at(tx, session, *last)?;
    match first == last || prompt_at(tx, session, *first)? == prompt {
        true => Ok(prompt),
        false => Ok(None),
    }
}

/// What led a session to write its lines of a file of a commit, if that is known.
#[must_use]
pub fn prompt_of_author<'a>(
    prompts: &'a [AuthorPrompt],
    session: SessionId,
    path: &str,
) -> Option<&'a Prompt> {
    let path = stored_name(path);
    let is_it = |known: &&AuthorPrompt| {
        known.prompt.session == session && known.paths.iter().any(|one| *one == path)
    };
    prompts.iter().find(is_it).map(|known| &known.prompt)
}
