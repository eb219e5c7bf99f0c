//! Ledgers full of old sessions, made through the same door as real ones.
//!
//! Sessions are delivered as intakes, one transaction each; commits, receipts and summaries follow in
//! batches, as the worker would have written them by now.

use std::cell::Cell;
use std::ops::Range;

use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::evidence::{Basis, Committer, Evidence, Judgement, RULES, Verdict};
use siglum_domain::intake::{AgentMatter, Intake, Matter, Place, Scene, VERSION};
use siglum_domain::observation::{
    Body, DiskState, Fact, FileVersion, Observation, Outcome, Role, Side, Source, StartKind,
    Tokens, ToolClass, event,
};
use siglum_domain::process::{Ancestor, Chain, ProcessIdentity};
use siglum_domain::provenance::{Origin, Span};
use siglum_domain::redact::Redactor;
use siglum_domain::{
    AgentName, CheckpointId, NativeId, Oid, RepositoryId, SessionId, Timestamp, receipt,
};
use siglum_engine::identity::sighting_keys::file_key;
use siglum_engine::record::deliver::{Delivered, deliver};
use siglum_engine::{Here, worker};
use siglum_ledger::{
    CheckpointKind, CheckpointRecord, CommitRecord, Durability, FileAuthors, IntentState, Ledger,
    LedgerError, SeenBy, Transaction, write,
};

use crate::Fallible;
use crate::clock::{Chance, Ids, now};
use crate::filler::Filler;
use crate::home::Home;
use crate::repo::{Commit, Repo};

/// How many sessions one batch takes.
const BATCH: usize = 250;
/// Old sessions are spread over this many days.
const DAYS: usize = 700;

/// Whether the worker has been over the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Sealed and folded, commits known, with the authors of their lines.
    Sealed,
    /// As hooks left them.
    Unsealed,
}

/// Fills a ledger with sessions in one repository, each with turns, edits and a commit of its own
/// upon a base of its own, as far as the history goes.
pub(crate) fn fill(home: &Home, repo: &Repo, sessions: usize, care: Care) -> Fallible<()> {
    fill_ledger(&mut home.ledger()?, repo, sessions, care, 0..DAYS)
}

/// Fills a ledger of any kind so, with sessions of these ages, in days.
pub(crate) fn fill_ledger(
    ledger: &mut dyn Ledger,
    repo: &Repo,
    sessions: usize,
    care: Care,
    days: Range<usize>,
) -> Fallible<()> {
    let chance = Chance::new(sessions as u64 + 1);
    let filler = Filler::gather(4 << 20);
    let mut maker = Maker {
        chance: &chance,
        filler: &filler,
        place: repo.place()?,
        files: &repo.files,
        boot: boot_id(),
        before: None,
    };
    let mut all = Vec::new();
    let mut settled = 0;
    for number in 0..sessions {
        let commit = &repo.history[number % repo.history.len()];
        let minutes = days.start * 24 * 60 + chance.below(days.len() * 24 * 60);
        let at = now().plus_millis(-(minutes as i64 + 30) * 60_000);
        all.push(maker.session(ledger, at, commit, End::for_number(number))?);
        if all.len() - settled == BATCH || all.len() == sessions {
            if care == Care::Sealed {
                maker.settle(ledger, &all[settled..])?;
            }
            ledger.maintain()?;
            settled = all.len();
        }
    }
    if care == Care::Sealed {
        // A session that is folded has the authors of commits near its edits looked for again.
        for batch in all.chunks(BATCH) {
            maker.finish(ledger, batch)?;
        }
        ledger.maintain()?;
    }
    Ok(())
}

/// After so long a silence the worker no longer looks at a session whose process it cannot see, in ms.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How an old session came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It said so.
    Reported,
    /// In a container, whose processes cannot be seen from here: nothing more was heard of it, and it
    /// stays open.
    Silent,
    /// Its process died while a command ran; the worker saw that.
    Died,
}

impl End {
    /// Two in three say so.
    const fn for_number(number: usize) -> Self {
        match number % 6 {
            1 => Self::Silent,
            4 => Self::Died,
            _ => Self::Reported,
        }
    }
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// A session that was delivered, with the commit that it made.
struct Made<'a> {
    session: SessionId,
    at: Timestamp,
    commit: &'a Commit,
    process: ProcessIdentity,
    end: End,
}

struct Maker<'a> {
    chance: &'a Chance,
    filler: &'a Filler,
    place: Place,
    files: &'a [String],
    boot: String,
    /// The agent's id of the session before.
    before: Option<NativeId>,
}

impl Maker<'_> {
    fn session<'c>(
        &mut self,
        ledger: &mut dyn Ledger,
        at: Timestamp,
        commit: &'c Commit,
        end: End,
    ) -> Fallible<Made<'c>> {
        let ids = Ids {
            chance: self.chance,
            at: Cell::new(at),
        };
        let native = NativeId::new(self.chance.hex(32))?;
        let before = self.before.replace(native.clone());
        let process = ProcessIdentity {
            host: match end {
                End::Silent => self.chance.hex(12),
                End::Reported | End::Died => "localhost".to_owned(),
            },
            boot: self.boot.clone(),
            namespace: 4_026_531_836,
            pid: 4_000_000 + u32::try_from(self.chance.below(190_000))?,
            start: self.chance.next() >> 40,
        };
        let intake = Intake {
            version: VERSION,
            key: format!("bench:{native}"),
            at,
            matter: Matter::Agent(AgentMatter {
                parent: before.filter(|_| self.chance.below(10) == 0),
                process: Some(process.clone()),
                cwd: Some(self.place.worktree.clone()),
                place: Some(self.place.clone()),
                observations: self.observations(at, end)?,
                ..AgentMatter::new(AgentName::new("claude-code")?, native)
            }),
        };
        match deliver(ledger, &ids, &intake)? {
            Delivered::Session(session) => Ok(Made {
                session,
                at,
                commit,
                process,
                end,
            }),
            other => Err(format!("a session was delivered as {other:?}").into()),
        }
    }

    fn observations(&self, start: Timestamp, end: End) -> Fallible<Vec<Observation>> {
        let mut log = Log {
            maker: self,
            at: start,
            turn: None,
            all: Vec::new(),
        };
        log.push(
            "start",
            "start",
            Fact::SessionStarted {
                how: StartKind::Startup,
                model: Some("claude-sonnet-4-5".to_owned()),
            },
        );
        for number in 0..1 + self.chance.below(3) {
            log.turn(number)?;
        }
        match end {
            End::Reported => log.end(),
            End::Silent => {}
            End::Died => {
                log.shell_begins();
            }
        }
        Ok(log.all)
    }

    fn text(&self, words: usize) -> Body {
        let text = self.filler.words(self.chance, words);
        Body::Text(Redactor::shared().redact(&text))
    }

    fn version(&self) -> Fallible<FileVersion> {
        Ok(FileVersion {
            blob: Oid::new(self.chance.hex(40))?,
            object: Some(self.chance.hex(64)),
            bytes: 4000,
        })
    }

    /// What the worker has done for old sessions: commits closed, logs sealed and folded.
    fn settle(&self, ledger: &mut dyn Ledger, batch: &[Made<'_>]) -> Fallible<()> {
        write(ledger, Durability::Process, |tx| {
            let found = tx.repository(&self.place.common_dir)?;
            let Some(repository) = found.map(|r| r.id) else {
                return Ok(());
            };
            for made in batch {
                self.commit(tx, repository, made)?;
                if made.end == End::Died {
                    tx.end_calls(made.session)?;
                    tx.set_ended(made.session, Some(made.at))?;
                }
                if made.end == End::Silent && now().millis_since(made.at) > DAY_MS {
                    tx.set_unseen(made.session)?;
                }
                seal(tx, made.session, made.at)?;
            }
            if let Some(last) = batch.last() {
                tx.set_swept(repository, &self.place.worktree, &last.commit.commit)?;
            }
            Ok(())
        })?;
        let ids = Ids {
            chance: self.chance,
            at: Cell::new(now()),
        };
        let here = Here {
            ids: &ids,
            clock: &now,
            alive: &|_| None,
            redactor: Redactor::shared(),
        };
        while worker::fold_sessions(&here, ledger, BATCH)? > 0 {}
        Ok(())
    }

    fn commit(
        &self,
        tx: &mut dyn Transaction,
        repository: RepositoryId,
        made: &Made<'_>,
    ) -> Result<(), LedgerError> {
        let ids = Ids {
            chance: self.chance,
            at: Cell::new(made.at),
        };
        let checkpoint = CheckpointId::mint(&ids);
        let scene = Scene {
            checkpoint,
            place: self.place.clone(),
            head: made.commit.parent.clone(),
            chain: chain(&made.process),
            variables: Vec::new(),
            claim: None,
            launches: Vec::new(),
            agents: Vec::new(),
            inherited: Vec::new(),
            message: "message".to_owned(),
            named: None,
            draft: None,
        };
        tx.put_intent(repository, made.at, &scene)?;
        tx.close_intent(checkpoint, &IntentState::Landed(made.commit.commit.clone()))?;
        let head = tx.session(made.session)?.map_or(0, |s| s.head);
        tx.put_checkpoint(&CheckpointRecord {
            id: checkpoint,
            kind: CheckpointKind::Commit,
            repository: Some(repository),
            commit: Some(made.commit.commit.clone()),
            at: made.at,
            pins: vec![(made.session, head)],
        })?;
        tx.put_commit(&CommitRecord {
            repository,
            commit: made.commit.commit.clone(),
            checkpoint: Some(checkpoint),
            intent: Some(checkpoint),
            judgement: judgement(made.session),
            facts: None,
            patch: None,
            at: made.at,
            seen_by: SeenBy::Hook,
        })?;
        tx.push(made.at, "commit", made.commit.commit.as_str())
    }

    /// Adds what git says of the commits, and that their sessions wrote their lines.
    fn finish(&self, ledger: &mut dyn Ledger, batch: &[Made<'_>]) -> Fallible<()> {
        write(ledger, Durability::Process, |tx| {
            let found = tx.repository(&self.place.common_dir)?;
            let Some(repository) = found.map(|r| r.id) else {
                return Ok(());
            };
            for made in batch {
                let facts = facts(made.commit);
                tx.put_facts(repository, &facts)?;
                tx.finish(repository, &facts.commit, &self.chance.hex(40))?;
                let lines = Span {
                    first: 1,
                    last: 20,
                    origin: Origin::Session(made.session),
                    bridged: false,
                };
                let file = FileAuthors {
                    path: made.commit.path.clone(),
                    spans: vec![lines],
                };
                tx.put_authors(repository, &facts.commit, &[file])?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// The observations of one session while they are made.
struct Log<'a> {
    maker: &'a Maker<'a>,
    at: Timestamp,
    turn: Option<String>,
    all: Vec<Observation>,
}

impl Log<'_> {
    fn push(&mut self, key: &str, event: &str, fact: Fact) {
        let chance = self.maker.chance;
        self.at = self.at.plus_millis(200 + chance.below(9_000) as i64);
        self.all.push(Observation {
            source: Source::Hook,
            key: key.to_owned(),
            event: event.to_owned(),
            at: self.at,
            turn: self.turn.clone(),
            subagent: None,
            fact,
        });
    }

    fn turn(&mut self, number: usize) -> Fallible<()> {
        let maker = self.maker;
        let turn = maker.chance.hex(32);
        self.turn = Some(turn.clone());
        let prompt = event::prompt(&turn);
        self.push(
            &prompt,
            &prompt,
            Fact::Prompt {
                text: maker.text(30),
                synthetic: false,
            },
        );
        for _ in 0..2 {
            self.shell();
            self.edit()?;
        }
        let message = event::message(&maker.chance.hex(24));
        self.push(
            &message,
            &message,
            Fact::Message {
                role: Role::Assistant,
                text: maker.text(60),
                model: Some("claude-sonnet-4-5".to_owned()),
                tokens: Some(Tokens {
                    input: 12,
                    output: 800,
                    cache_read: 40_000,
                    cache_write: 2_000,
                }),
                request: None,
            },
        );
        self.push(
            &format!("stop:{number}"),
            &event::stop(&turn),
            Fact::Stopped {
                last_message: Some(maker.text(20)),
                background: Vec::new(),
                failure: None,
            },
        );
        Ok(())
    }

    fn end(&mut self) {
        self.turn = None;
        self.push(
            "end",
            "end",
            Fact::SessionEnded {
                reason: "prompt_input_exit".to_owned(),
            },
        );
    }

    fn shell(&mut self) {
        let (call, event) = self.shell_begins();
        self.push(
            &format!("post:{call}"),
            &event,
            Fact::ToolEnded {
                tool: "Bash".to_owned(),
                class: ToolClass::Shell,
                outcome: Outcome::Ok,
                output: Some(self.maker.text(80)),
                duration_ms: Some(700),
            },
        );
    }

    /// The call and its event.
    fn shell_begins(&mut self) -> (String, String) {
        let call = self.maker.chance.hex(24);
        let event = event::tool(&call);
        self.push(
            &format!("pre:{call}"),
            &event,
            Fact::ToolStarted {
                tool: "Bash".to_owned(),
                class: ToolClass::Shell,
                input: self.maker.text(12),
                path: None,
            },
        );
        (call, event)
    }

    fn edit(&mut self) -> Fallible<()> {
        let maker = self.maker;
        let call = maker.chance.hex(24);
        let event = event::tool(&call);
        let path = maker.files[maker.chance.below(maker.files.len())].clone();
        self.push(
            &format!("pre:{call}"),
            &event,
            Fact::ToolStarted {
                tool: "Edit".to_owned(),
                class: ToolClass::Edit,
                input: maker.text(40),
                path: Some(path.clone()),
            },
        );
        for side in [Side::Before, Side::After] {
            self.push(
                &file_key(&event, &path, side),
                &event,
                Fact::FileSeen {
                    path: path.clone(),
                    side,
                    version: Some(maker.version()?),
                    disk: DiskState::default(),
                    write: None,
                    place: None,
                },
            );
        }
        Ok(())
    }
}

fn chain(agent: &ProcessIdentity) -> Chain {
    let ancestor = |name: &str, up: u32| Ancestor {
        identity: ProcessIdentity {
            pid: agent.pid + 3 - up,
            ..agent.clone()
        },
        name: name.to_owned(),
        executable: Some(name.to_owned()),
        script: None,
        title: None,
        holdings: siglum_domain::process::Holdings::default(),
        group: i64::from(agent.pid),
        terminal: None,
    };
    let names = ["siglum", "sh", "git", "claude"];
    Chain {
        ancestors: names
            .iter()
            .zip(0..)
            .map(|(n, up)| ancestor(n, up))
            .collect(),
        complete: true,
        per_second: 100,
    }
}

fn judgement(session: SessionId) -> Judgement {
    let evidence = |text: &str| Evidence {
        session: Some(session),
        basis: Basis::Observed,
        counted: true,
        text: text.to_owned(),
    };
    Judgement {
        rules: RULES,
        committer: Committer::Session { session },
        verdict: Verdict::Certain,
        rule: "ancestry".into(),
        evidence: vec![
            evidence("git descends from the agent's process"),
            evidence("the agent's variable names the session"),
        ],
        candidates: Vec::new(),
        outer: Vec::new(),
    }
}

fn facts(commit: &Commit) -> CommitFacts {
    CommitFacts {
        commit: commit.commit.clone(),
        tree: commit.commit.clone(),
        parents: commit.parent.iter().cloned().collect(),
        authored: commit.at,
        committed: commit.at,
        author: "Ada".to_owned(),
        subject: format!("Change {}", commit.path),
        named: Vec::new(),
        changes: vec![Change {
            path: commit.path.clone(),
            before: None,
            after: Some(commit.commit.clone()),
        }],
    }
}

/// Seals the whole log of a session.
fn seal(tx: &mut dyn Transaction, session: SessionId, at: Timestamp) -> Result<(), LedgerError> {
    let Some(record) = tx.session(session)? else {
        return Ok(());
    };
    let rows = tx.to_seal(session, 1, record.head)?;
    let mut turns: Vec<_> = rows.iter().filter_map(|(_, turn)| *turn).collect();
    turns.sort();
    turns.dedup();
    let entries: Vec<_> = rows.into_iter().map(|(entry, _)| entry).collect();
    if let Some(receipt) = receipt::seal(session, None, &entries, turns, at) {
        tx.put_receipt(&receipt)?;
    }
    Ok(())
}
