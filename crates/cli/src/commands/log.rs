//! `siglum log`: the commits of this branch, with who made each of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::{AgentName, Oid, SessionId};
use siglum_engine::commits::answers::{Asker, CommitAnswer};
use siglum_engine::views::commit_log::{self, CommitLog, LogFilter, LoggedCommit};
use siglum_engine::views::commits::CommitSummaryJson;
use siglum_gitstore::GitError;
use siglum_ledger::SessionRecord;

use super::import::GO_ON_IMPORTING;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::team::{Source, SourceJson, Sources, Team, fetch};
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.log/1";

/// List commits of this branch, newest first, with their sessions
///
/// COMMITTER is `-` if only the authors of lines are known. WROTE counts the lines of a commit that sessions were
/// observed to write, followed by `/` and the number of all added lines if that is larger; it names the agents,
/// unless the committing session wrote all counted lines. Commits with no record are listed too, dimmed. SOURCE is the
/// team's gateway, for commits that only it has a record of.
///
/// With `--fetch`, the command first fetches what the team's gateway has about all commits of the branch or range, the
/// newest 5000 of them, so that `siglum why`, `log` and `blame` answer offline. What is here already is not fetched again
/// within a day. If the command is interrupted, run it again to continue.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the last 20 commits
    siglum log

  List the commits of a branch made by Codex
    siglum log --agent codex main..fix/cart-rounding

  Fetch the team's answers for offline use
    siglum log --fetch")]
pub struct Args {
    #[command(flatten)]
    period: Period,
    /// Limit to N rows; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only commits made by sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = super::session::agent)]
    agent: Option<AgentName>,
    /// First fetch what the team's gateway has about the commits, for offline use
    #[arg(long)]
    fetch: bool,
    /// Revision or range, in any form that git accepts
    #[arg(value_name = "REVISION-RANGE")]
    range: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let filter = LogFilter {
        range: args.range.clone(),
        since: args.period.since,
        until: args.period.until,
        agent: args.agent.clone(),
        limit: args.limit,
    };
    if args.fetch {
        fetch(cx, &filter)?;
    }
    let (log, sources) = read_log(cx, &filter)?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::from_log(&log, &sources));
    }
    if log.commits.is_empty() {
        let plain = args.range.is_none() && args.agent.is_none();
        let all = plain && args.period.since.is_none() && args.period.until.is_none();
        cx.ui.status(if all {
            "No commits on this branch yet."
        } else {
            "No commit on this branch matches; run `siglum log` to list all."
        });
        go_on(cx, &log);
        return Ok(());
    }
    cx.ui.table(&table(&log, &sources))?;
    if log.more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    go_on(cx, &log);
    Ok(())
}

/// Says that sessions may lack here.
fn go_on(cx: &Cx, log: &CommitLog) {
    if log.importing {
        cx.ui.hint(GO_ON_IMPORTING);
    }
}

/// Prints the last commits, as a first answer.
pub fn recent(cx: &Cx, n: usize) -> Result<(), CommandError> {
    let (log, sources) = read_log(
        cx,
        &LogFilter {
            limit: n,
            ..LogFilter::default()
        },
    )?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::from_log(&log, &sources));
    }
    if log.commits.is_empty() {
        return Ok(());
    }
    cx.ui.table(&table(&log, &sources))
}

fn read_log(cx: &Cx, filter: &LogFilter) -> Result<(CommitLog, Sources), CommandError> {
    let mut sources = Sources::new();
    let log = list(cx, filter, |team, commits| {
        team.who_made(cx, commits, &mut sources)
    })?;
    Ok((log, sources))
}

/// Fetches what the team's gateway says of all commits that the filter names, whoever made them.
fn fetch(cx: &Cx, filter: &LogFilter) -> Result<(), CommandError> {
    let all = LogFilter {
        agent: None,
        limit: fetch::COMMITS_MOST,
        ..filter.clone()
    };
    let mut fetched = None;
    let log = list(cx, &all, |team, commits| {
        let first = commits.len().min(fetch::COMMITS_MOST);
        fetched = Some(team.fetch(cx, &commits[..first]));
        BTreeMap::new()
    })?;
    let Some(fetched) = fetched else {
        return Err(CommandError::not_found("no gateway is configured to fetch from").hint(
            "Set SIGLUM_GATEWAY and SIGLUM_GATEWAY_TOKEN, or add one with `siglum sync --to URL`; of an added one, the scope must have this repository.",
        ));
    };
    if log.more {
        cx.ui.hint(format!(
            "There are more than {} commits: nothing was fetched about the older ones.",
            ui::count(fetch::COMMITS_MOST as u64)
        ));
    }
    fetched
}

/// Lists commits. `ask` gets those that nobody is known here to have made, where there is a gateway to ask.
fn list(
    cx: &Cx,
    filter: &LogFilter,
    mut ask: impl FnMut(&Team, &[Oid]) -> BTreeMap<Oid, CommitAnswer>,
) -> Result<CommitLog, CommandError> {
    let (mut ledger, repository) = cx.settled()?;
    let team = Team::find(cx, Some(&mut ledger), repository.as_ref().map(|r| r.id))?;
    let id = match team.is_empty() {
        true => Some(cx.recorded(repository)?.id),
        false => {
            cx.repo()?;
            repository.map(|r| r.id)
        }
    };
    let mut ask = |commits: &[Oid]| ask(&team, commits);
    let asker: Option<Asker<'_>> = match team.is_empty() {
        true => None,
        false => Some(&mut ask),
    };
    let found = commit_log::log(&cx.git(), &mut ledger, id, filter, asker);
    found.map_err(|error| match (error, &filter.range) {
        (siglum_engine::EngineError::Git(GitError::Refused { .. }), Some(range))
            if cx.git().check_access().is_ok() =>
        {
            CommandError::not_found(format!("`{range}` is not a revision or a range"))
                .hint("Pass a revision or a range that git knows, such as `main..HEAD`.")
        }
        (error, _) => error.into(),
    })
}

/// The gateway that answers for a commit.
fn source<'a>(commit: &LoggedCommit, sources: &'a Sources) -> Option<&'a Source> {
    let source = sources.get(&commit.git.commit);
    source.filter(|_| commit.by_gateway)
}

fn table(log: &CommitLog, sources: &Sources) -> Table {
    let mut header = vec!["COMMIT", "AGE", "COMMITTER", "VERDICT", "WROTE"];
    let has_sources = log.commits.iter().any(|commit| commit.by_gateway);
    if has_sources {
        header.push("SOURCE");
    }
    header.push("SUBJECT");
    let mut table = Table::new(header);
    let now = clock::now();
    for commit in &log.commits {
        let (who, verdict) = committer(commit, &log.sessions);
        let known = commit.committer != Committer::Unknown
            || commit.verdict == Verdict::Ambiguous
            || commit.claim.is_some()
            || has_authors(commit);
        let dim = |cell: Cell, style: Option<Style>| match (known, style) {
            (true, None) => cell,
            (true, Some(style)) => cell.with(style),
            (false, _) => cell.with(Style::Dim),
        };
        let judged = Style::for_verdict(commit.verdict);
        let mut row = vec![
            dim(Cell::plain(commit.git.commit.short()), Some(Style::Id)),
            dim(
                Cell::plain(ui::age(commit.git.committed, now)),
                Some(Style::Time),
            ),
            dim(Cell::plain(who), Some(Style::Agent)),
            dim(Cell::plain(verdict), Some(judged)),
            dim(Cell::plain(author_counts(commit, &log.sessions)), None),
        ];
        if has_sources {
            let source = source(commit, sources).map(|s| s.gateway.as_str());
            row.push(Cell::plain(source.unwrap_or_default()).with(Style::Dim));
        }
        row.push(dim(Cell::plain(&commit.git.subject), None));
        table.row(row);
    }
    table
}

/// `claude-code 0a1b2c3d`.
fn name(id: SessionId, sessions: &BTreeMap<SessionId, SessionRecord>) -> String {
    match sessions.get(&id) {
        Some(record) => format!("{} {}", record.agent_word(), id.short()),
        None => id.short(),
    }
}

/// ` (from claude-code 0a1b2c3d)`, where somebody rewrote what sessions had made.
fn rewritten_from(commit: &LoggedCommit, sessions: &BTreeMap<SessionId, SessionRecord>) -> String {
    let more = match commit.origins.len() {
        0 | 1 => String::new(),
        several => format!(" and {} more", several - 1),
    };
    let first = commit.origins.first();
    first.map_or_else(String::new, |id| {
        format!(" (from {}{more})", name(*id, sessions))
    })
}

/// Who made a commit, and how sure that is. A person's word stands beside the evidence.
fn committer(
    commit: &LoggedCommit,
    sessions: &BTreeMap<SessionId, SessionRecord>,
) -> (String, String) {
    let claimed = commit.claim.as_ref().map(|c| c.session);
    let verdict = match commit.is_attested {
        true => "attested".to_owned(),
        false => commit.verdict.to_string(),
    };
    let judged = match commit.committer {
        Committer::Session { session } if claimed == Some(session) => {
            return (name(session, sessions), verdict);
        }
        Committer::Session { session } => name(session, sessions),
        Committer::Human => "a person".to_owned(),
        Committer::Unknown => match claimed {
            Some(claimed) => return (name(claimed, sessions), "claimed".to_owned()),
            None if commit.verdict == Verdict::Ambiguous => {
                format!("one of {}", commit.candidates.len())
            }
            None => {
                // Who wrote the lines is an answer, too, and stands beside it.
                let nobody = if has_authors(commit) { "-" } else { "unknown" };
                let nobody = nobody.to_owned() + &rewritten_from(commit, sessions);
                return (nobody, String::new());
            }
        },
    };
    let beside = claimed.map(|c| format!(" (claimed: {})", c.short()));
    (
        judged + &beside.unwrap_or_default() + &rewritten_from(commit, sessions),
        verdict,
    )
}

/// Whether a session was seen writing lines of a commit.
fn has_authors(commit: &LoggedCommit) -> bool {
    let lines = commit.lines.as_ref();
    lines.is_some_and(|lines| lines.by_sessions() > 0)
}

/// `claude-code 14/20`: the agents that were seen writing lines, those with most lines first, and how many lines of all. Where
/// the session that committed is the only one, its agent stands beside it already: `14/20`.
fn author_counts(commit: &LoggedCommit, sessions: &BTreeMap<SessionId, SessionRecord>) -> String {
    let Some(lines) = commit.lines.as_ref().filter(|lines| lines.all() > 0) else {
        return String::new();
    };
    let all = match lines.all() {
        all if all == lines.by_sessions() => String::new(),
        all => format!("/{}", ui::count(all)),
    };
    let by: Vec<_> = lines
        .sessions
        .iter()
        .filter(|(_, count)| **count > 0)
        .collect();
    let is_own = |session: SessionId| commit.committer == Committer::Session { session };
    if by.iter().all(|(session, _)| is_own(**session)) {
        return ui::count(lines.by_sessions()) + &all;
    }
    let mut agents: BTreeMap<&str, u64> = BTreeMap::new();
    for (session, count) in by {
        let agent = sessions
            .get(session)
            .map_or("a session", SessionRecord::agent_word);
        *agents.entry(agent).or_default() += count;
    }
    let mut agents: Vec<(&str, u64)> = agents.into_iter().collect();
    agents.sort_by_key(|(agent, count)| (Reverse(*count), *agent));
    let each = agents
        .iter()
        .map(|(agent, count)| format!("{agent} {}", ui::count(*count)));
    each.collect::<Vec<_>>().join(", ") + &all
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    items: Vec<Commit>,
    /// Whether there are more than were asked for.
    more: bool,
    /// Whether an import of the repository runs, or did not come to its end.
    importing: bool,
}

/// One commit as the API has it, and where that is from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Commit {
    #[serde(flatten)]
    commit: CommitSummaryJson,
    /// The gateway that gave all this; absent where it is from this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceJson>,
}

impl Json {
    fn from_log(log: &CommitLog, sources: &Sources) -> Self {
        let commits = log.commits.iter();
        Self {
            items: commits
                .map(|commit| Commit {
                    commit: CommitSummaryJson::from_log(log, commit),
                    source: source(commit, sources).map(SourceJson::from),
                })
                .collect(),
            more: log.more,
            importing: log.importing,
        }
    }
}

#[cfg(test)]
mod tests {
    use siglum_domain::{Oid, Timestamp};
    use siglum_engine::commits::why::Claim;
    use siglum_engine::views::commit_log::Lines;
    use siglum_gitstore::ListedCommit;

    use super::*;

    const ONE: &str = "ses_01920000000070008000000000000001";
    const TWO: &str = "ses_01920000000070008000000000000002";

    fn id(text: &str) -> SessionId {
        text.parse().unwrap()
    }

    fn logged(committer: Committer, verdict: Verdict, claim: Option<&str>) -> LoggedCommit {
        LoggedCommit {
            git: ListedCommit {
                commit: Oid::new("a".repeat(40)).unwrap(),
                committed: Timestamp::default(),
                author: String::new(),
                subject: String::new(),
            },
            repository: None,
            recorded: true,
            recorded_at: None,
            committer,
            verdict,
            is_attested: false,
            candidates: vec![id(ONE), id(TWO)],
            origins: Vec::new(),
            claim: claim.map(|c| Claim {
                session: id(c),
                by: "me".into(),
                at: Timestamp::default(),
            }),
            checkpoint: None,
            lines: None,
            by_gateway: false,
        }
    }

    fn check(of: Committer, verdict: Verdict, claim: Option<&str>, expected: (&str, &str)) {
        let commit = logged(of, verdict, claim);
        let (who, verdict) = committer(&commit, &BTreeMap::new());
        assert_eq!((who.as_str(), verdict.as_str()), expected);
    }

    #[test]
    fn a_claim_stands_beside_the_evidence_and_never_over_it() {
        let one = Committer::Session { session: id(ONE) };
        let (unknown, human) = (Committer::Unknown, Committer::Human);
        check(one, Verdict::Certain, None, ("00000001", "certain"));
        check(one, Verdict::Certain, Some(ONE), ("00000001", "certain"));
        let both = ("00000001 (claimed: 00000002)", "likely");
        check(one, Verdict::Likely, Some(TWO), both);
        check(
            unknown,
            Verdict::Unknown,
            Some(TWO),
            ("00000002", "claimed"),
        );
        check(unknown, Verdict::Unknown, None, ("unknown", ""));
        check(unknown, Verdict::Ambiguous, None, ("one of 2", "ambiguous"));
        check(human, Verdict::Certain, None, ("a person", "certain"));
    }

    #[test]
    fn an_attested_commit_says_so_and_a_claim_stands_beside_it() {
        let shown = |claim| {
            let one = Committer::Session { session: id(ONE) };
            let commit = LoggedCommit {
                is_attested: true,
                ..logged(one, Verdict::Likely, claim)
            };
            committer(&commit, &BTreeMap::new())
        };
        let row = |who: &str| (who.to_owned(), "attested".to_owned());
        assert_eq!(shown(None), row("00000001"));
        assert_eq!(shown(Some(ONE)), row("00000001"));
        assert_eq!(shown(Some(TWO)), row("00000001 (claimed: 00000002)"));
    }

    #[test]
    fn agents_are_named_where_lines_are_theirs() {
        let shown = |committer, ours, unknown| {
            let commit = LoggedCommit {
                lines: Some(Lines {
                    sessions: BTreeMap::from([(id(ONE), ours)]),
                    unknown,
                }),
                ..logged(committer, Verdict::Unknown, None)
            };
            author_counts(&commit, &BTreeMap::new())
        };
        let (nobody, own) = (Committer::Unknown, Committer::Session { session: id(ONE) });
        let other = Committer::Session { session: id(TWO) };
        assert_eq!(shown(nobody, 3, 0), "a session 3");
        assert_eq!(shown(other, 3, 1), "a session 3/4");
        assert_eq!(shown(own, 3, 1), "3/4");
        assert_eq!(
            (shown(nobody, 0, 0), shown(nobody, 0, 2)),
            (String::new(), "0/2".to_owned())
        );
    }
}
