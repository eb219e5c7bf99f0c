//! Fetching what gateways say of the commits of a history, so that it is here when they are away.
//!
//! A request is about 500 commits, and its answers are kept before the next one: whoever is interrupted goes on from there.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use siglum_domain::Oid;
use siglum_egress::{EgressError, Timeouts};

use super::answer_cache::KeptAnswers;
use super::{Gateway, Question, Team};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{clock, ui};

/// The most commits of which answers are fetched: as many answers are kept.
pub const COMMITS_MOST: usize = super::answer_cache::FILES_MOST;
/// How long one request may take. Nobody waits for one answer among others here.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    whole: Duration::from_secs(60),
};

/// What came of it at one gateway.
#[derive(Default)]
struct Fetched {
    /// How many answers came.
    answers: usize,
    /// How many were here before.
    kept: usize,
    /// Of how many commits it has no record.
    unknown: usize,
    trouble: Option<EgressError>,
}

impl Team {
    /// Fetches what each gateway says of commits, the first ones first, unless the answer is here and of today. Says what
    /// came of it.
    ///
    /// # Errors
    /// A gateway cannot be reached, or refuses the token; what came before is kept.
    pub fn fetch(&self, cx: &Cx, commits: &[Oid]) -> Result<(), CommandError> {
        let kept = KeptAnswers::at(cx.home.answers());
        let mut answered = BTreeSet::new();
        let (mut trouble, mut has_some) = (None, false);
        for gateway in &self.0 {
            let begun = Instant::now();
            let fetched = gateway.fetch(cx, &kept, commits, &mut answered);
            if fetched.trouble.is_none() || fetched.answers > 0 {
                let summary = fetched.summary(gateway.address.as_str(), begun.elapsed());
                cx.ui.status(summary);
            }
            has_some |= fetched.answers > 0;
            trouble = trouble.or(fetched.trouble);
        }
        let lost = kept.prune(commits);
        if lost > 0 {
            let answers = ui::plural(lost as u64, "answer");
            cx.ui.warning(format!("{answers} had no room in the cache"));
        }
        match trouble {
            None => Ok(()),
            Some(error) if is_forbidden(&error) => Err(CommandError::failed(error).hint(
                "This needs a token that may read who made commits: a launcher token, or one of `siglum token create --read`.",
            )),
            Some(error) if has_some => Err(CommandError::partly(error)
                .hint("Run the command again to go on: what was fetched is kept.")),
            Some(error) => Err(CommandError::failed(error)),
        }
    }
}

impl Gateway {
    /// Fetches what this one says of those commits that none answered yet.
    fn fetch(
        &self,
        cx: &Cx,
        cache: &KeptAnswers,
        commits: &[Oid],
        answered: &mut BTreeSet<Oid>,
    ) -> Fetched {
        let (now, mut fetched) = (clock::now(), Fetched::default());
        let (gateway, asker) = (self.address.as_str(), self.asker());
        let place = format!("{gateway} {asker}");
        let mut unknown = cache.unknown();
        let mut open = Vec::new();
        for commit in commits {
            if answered.contains(commit) {
                continue;
            }
            match cache.get(commit, gateway, &asker) {
                Some(known) if known.is_of_today(now) => {
                    fetched.kept += 1;
                    answered.insert(commit.clone());
                }
                None if unknown.contains(&place, commit, now) => fetched.unknown += 1,
                _ => open.push(Question::who_made(commit)),
            }
        }
        let bar = cx.ui.counter("commits");
        bar.set_length(open.len() as u64);
        let questions = open.iter().collect();
        fetched.trouble = self.each_response(&cx.home, PATIENCE, questions, None, |part| {
            let now = clock::now();
            let before = answered.len();
            for answer in part.answers.items {
                answered.insert(answer.commit.clone());
                self.keep(cache, answer, &asker, now);
            }
            fetched.answers += answered.len() - before;
            let is_known = |commit: &Oid| answered.contains(commit);
            for commit in part.settled.iter().filter(|commit| !is_known(commit)) {
                fetched.unknown += 1;
                // It may have known it earlier.
                cache.remove(commit);
            }
            unknown.note(&place, &part.settled, is_known, now);
            cache.put_unknown(&unknown);
            bar.inc(part.settled.len() as u64);
        });
        bar.finish_and_clear();
        fetched
    }
}

/// Whether the token is at fault.
fn is_forbidden(error: &EgressError) -> bool {
    matches!(error, EgressError::Refused { problem, .. } if matches!(problem.status, 401 | 403))
}

impl Fetched {
    fn summary(&self, gateway: &str, took: Duration) -> String {
        let count = |n: usize, noun: &str| ui::plural(n as u64, noun);
        let answers = count(self.answers, "answer");
        let seconds = took.as_secs_f64();
        let mut text = format!("Fetched {answers} from {gateway} in {seconds:.1} s.");
        if self.kept > 0 {
            text += &format!(" {} were here already.", ui::count(self.kept as u64));
        }
        if self.unknown > 0 {
            text += &format!(" It has no record of {}.", count(self.unknown, "commit"));
        }
        text
    }
}
