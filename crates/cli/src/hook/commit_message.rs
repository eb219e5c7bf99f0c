//! The message of a commit on its way through git's hooks: it gets its trailer, and stays its own.
//!
//! Git keeps the message of a commit under way in one file of the checkout and reads it again after
//! its hooks. Whoever commits at the same time writes into the same file, so with hooks, whatever
//! they do, nearly each of several commits made at once gets the message of another. The first hook
//! therefore settles what the message is and leaves a note, and the last hook before git reads puts
//! it back where another git's text took its place. `post-commit` tells whether that was enough.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use siglum_domain::commit_message::{self, Cleanup, is_taken};
use siglum_domain::evidence::{Committer, Judgement, Verdict};
use siglum_domain::intake::Scene;
use siglum_domain::process::{Chain, ProcessIdentity};
use siglum_domain::{CheckpointId, Oid, Timestamp, trailer};
use siglum_engine::record::deliver::Delivered;
use siglum_gitstore::hooks::is_own_alone;
use siglum_gitstore::{Git, HeadRead, Repo};

use super::commit_note::{Announced, CommitNote, PreparedMessage};
use super::commit_options::commit_options;
use super::delivery::Delivery;
use super::draft;
use super::given_message::{GivenMessage, given_message};
use super::landings;
use super::message::{self, Message};
use super::message_lock::{MessageLock, Waited};
use super::message_rules::{self, is_message_taken, opens_editor};
use super::scene::{self, Maker};
use crate::config::Config;
use crate::{env, platform};

/// A file that holds a message is read up to this size, in bytes.
const FILE_MOST: u64 = 1 << 20;

/// This hook, its script, git, and what started it.
const NEAR: usize = 4;

/// `prepare-commit-msg`: records the intent, settles the message, and adds the trailer.
pub fn prepare(delivery: &mut Delivery, repo: &Repo, config: &Config, args: &[String]) {
    let Some(file) = args.first().map(Path::new) else {
        return;
    };
    let source = args.get(1).map_or("none", String::as_str);
    let log = repo.log_length();
    let message = Message::read(file);
    let named = message.as_ref().ok().and_then(Message::named);
    let scene = scene::observe(repo, source, named);
    if let Ok(message) = &message
        && was_prepared(repo, &scene.chain, file, message)
    {
        return;
    }
    landings::send_own(delivery, repo, &scene.chain);
    let scene = draft::with_draft(scene, repo, message.as_ref().ok());
    let words = words_of_git(&scene.chain).unwrap_or_default();
    let options = commit_options(&words);
    let is_edited = opens_editor(source, options.as_ref());
    let present = message.as_ref().ok().filter(|_| !is_edited);
    let own = present.and_then(|m| own_text(m.text(), given_to_git(repo, &words)));
    let home = delivery.home.dir().to_owned();
    let prepared = Prepared {
        repo,
        scene: &scene,
        file,
        log,
        at: delivery.now,
        home: &home,
    };
    // An amend keeps the checkpoint that its message names, and so does what a rebase stopped at.
    let rewrites = source == "commit" || repo.rebasing();
    let may_name = config.trailers() && !(rewrites && named.is_some());
    // What git refuses stays as it is, so that git refuses it as it would without us.
    let linked = |maker: Maker, own: &str| {
        let wanted = may_name && maker == Maker::Sessions;
        (wanted && is_message_taken(repo, own, options.as_ref())).then_some(scene.checkpoint)
    };
    if let (Some(present), Some(own)) = (present, &own)
        && let Some(maker) = scene::foreseen_maker(&delivery.home, &scene)
        && let Some(result) = prepared.announce_by_note(present.text(), own, linked(maker, own))
    {
        return report(delivery, repo, result);
    }
    let (intent, maker) = announce(delivery, repo, &scene);
    let wanted = may_name && maker == Maker::Sessions;
    match (present, own, &message) {
        (Some(present), Some(own), _) => {
            let result = prepared.settle(present.text(), &own, linked(maker, &own), intent);
            report(delivery, repo, result);
        }
        // Another git's, and what is missing is not known: git may still find its own.
        (Some(_), None, _) => {}
        (None, _, Ok(message)) if wanted => report(delivery, repo, prepared.await_editor(message)),
        (None, _, Err(_)) if wanted => delivery.decline(
            "message_unreadable",
            "the message got no trailer; the commit is recorded without",
            Some(repo),
        ),
        (None, ..) => {}
    }
}

/// Tells the ledger of a commit, and has it list what would have told of its maker. Gives where the intent is now, and
/// who seems to make the commit.
fn announce(delivery: &mut Delivery, repo: &Repo, scene: &Scene) -> (IntentPlace, Maker) {
    let (key, matter) = landings::intent(scene.clone());
    let delivered = delivery.send(key, matter, Some(repo));
    let place = match delivered {
        Some(_) => IntentPlace::Ledger,
        None => IntentPlace::Spool,
    };
    if let (IntentPlace::Ledger, Some(process)) = (place, scene.chain.identities().next()) {
        delivery.list_bound(process);
    }
    let names_it = match &delivered {
        Some(Delivered::Intent(judgement)) => names_a_session(judgement),
        _ => speaks_for_an_agent(scene),
    };
    let maker = match names_it {
        true => Maker::Sessions,
        false => Maker::NoSession,
    };
    (place, maker)
}

fn report(delivery: &mut Delivery, repo: &Repo, result: io::Result<()>) {
    if let Err(error) = result {
        delivery.decline("message_unwritable", &error.to_string(), Some(repo));
    }
}

/// Whether an earlier run of this hook has done all of this: a manager of hooks may run ours twice.
fn was_prepared(repo: &Repo, chain: &Chain, file: &Path, message: &Message) -> bool {
    let git = chain.git_process().map(|(_, git)| &git.identity);
    let Some(note) = git.and_then(|git| CommitNote::read(repo, git)) else {
        return false;
    };
    let is_same_commit = note.head == head(repo);
    let is_same_text = match &note.message {
        Some(own) => own.text == message.text() && own.file == real_path(file),
        None => note.checkpoint.is_some(),
    };
    is_same_commit && is_same_text
}

fn head(repo: &Repo) -> Option<Oid> {
    match repo.head() {
        HeadRead::Commit(commit) => Some(commit),
        HeadRead::Unborn | HeadRead::NeedsGit => None,
    }
}

fn real_path(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// A trailer is for commits of sessions: those of a person, and those of nobody known, get none. Nor
/// do those at a terminal that a person may have typed: most such messages are a person's.
fn names_a_session(judgement: &Judgement) -> bool {
    let at_terminal = ["typed-by-call", "terminal-of-unknown-program"];
    match judgement.committer {
        Committer::Session { .. } => true,
        Committer::Human | Committer::Unknown => {
            judgement.verdict == Verdict::Ambiguous
                && !at_terminal.contains(&judgement.rule.as_str())
        }
    }
}

/// What can be told without the ledger: an agent is above git, or its variable names a session.
fn speaks_for_an_agent(scene: &Scene) -> bool {
    !scene.agents.is_empty() || scene.variables.iter().any(|v| v.native.is_some())
}

/// The message of a commit for which no editor is started, where git wrote `present` and was given another one. Nothing
/// where `present` is another git's, and what is missing of the own one is not known.
fn own_text(present: &str, given: Option<GivenMessage>) -> Option<String> {
    match given {
        Some(given) if given.begins(present) => Some(present.to_owned()),
        Some(given) if given.whole => Some(given.text + "\n"),
        Some(_) => None,
        None => Some(present.to_owned()),
    }
}

fn linked_text(own: &str, checkpoint: Option<CheckpointId>) -> String {
    match checkpoint {
        Some(checkpoint) => trailer::add(own, "", checkpoint),
        None => own.to_owned(),
    }
}

/// Where the intent of a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntentPlace {
    Ledger,
    /// It waits, perhaps for another home.
    Spool,
    /// In the commit's note alone.
    Note,
}

/// A commit whose message is being prepared.
struct Prepared<'a> {
    repo: &'a Repo,
    scene: &'a Scene,
    file: &'a Path,
    /// How long git's list of the moves of HEAD was.
    log: Option<u64>,
    at: Timestamp,
    /// The home that it is announced to.
    home: &'a Path,
}

impl Prepared<'_> {
    /// Leaves the trailer to `commit-msg`, which sees what the person made of the message.
    fn await_editor(&self, message: &Message) -> io::Result<()> {
        let Some((_, git)) = self.scene.chain.git_process() else {
            return Ok(());
        };
        let comment = message_rules::comment(self.repo, message.text());
        let template = (self.scene.message == "template").then(|| message.cleaned(&comment));
        let note = CommitNote {
            git: git.identity.key(),
            head: head(self.repo),
            checkpoint: Some(self.scene.checkpoint),
            message: None,
            template,
            comment: Some(comment),
            announced: None,
        };
        note.leave(self.repo, &git.identity).map(drop)
    }

    /// Announces a commit by its note alone, and writes the message as it is to be. Nothing where no note can be left, or
    /// nobody could tell by it that the commit landed.
    fn announce_by_note(
        &self,
        present: &str,
        own: &str,
        checkpoint: Option<CheckpointId>,
    ) -> Option<io::Result<()>> {
        self.scene.chain.git_process()?;
        self.log?;
        let text = linked_text(own, checkpoint);
        let time = self.leave_note(&text, checkpoint, IntentPlace::Note).ok()?;
        Some(self.write(present, &text, time))
    }

    /// Leaves a note, and writes the message as it is to be.
    fn settle(
        &self,
        present: &str,
        own: &str,
        checkpoint: Option<CheckpointId>,
        intent: IntentPlace,
    ) -> io::Result<()> {
        let text = linked_text(own, checkpoint);
        let time = self.leave_note(&text, checkpoint, intent)?;
        self.write(present, &text, time)
    }

    fn announced(&self, intent: IntentPlace) -> Option<Announced> {
        (intent != IntentPlace::Spool).then_some(Announced {
            home: self.home.to_owned(),
            at: self.at,
            scene: self.scene.clone(),
            log: self.log?,
            untold: intent == IntentPlace::Note,
        })
    }

    /// Gives the time that the message is to have, if any.
    fn leave_note(
        &self,
        text: &str,
        checkpoint: Option<CheckpointId>,
        intent: IntentPlace,
    ) -> io::Result<Option<SystemTime>> {
        let Some((_, git)) = self.scene.chain.git_process() else {
            return Ok(None);
        };
        let note = CommitNote {
            git: git.identity.key(),
            head: head(self.repo),
            checkpoint,
            message: Some(PreparedMessage {
                file: real_path(self.file),
                text: text.to_owned(),
                head: self.scene.head.clone(),
                log: self.log,
            }),
            template: None,
            comment: None,
            announced: self.announced(intent),
        };
        let time = note.leave(self.repo, &git.identity)?;
        // Of a commit that is not announced the shell cannot say that it landed.
        Ok(time.filter(|_| note.announced.is_some()))
    }

    fn write(&self, present: &str, text: &str, time: Option<SystemTime>) -> io::Result<()> {
        let changed = text != present;
        if let Some((_, git)) = self.scene.chain.git_process().filter(|_| changed) {
            let lock = MessageLock::new(self.repo, &git.identity, self.log);
            if lock.wait() == Waited::Overtaken {
                return Ok(());
            }
        }
        match (changed, time) {
            (true, _) => message::replace(self.file, text, time),
            (false, Some(time)) => message::set_time(self.file, text, time),
            (false, None) => Ok(()),
        }
    }
}

/// The words of the git that runs this hook; only where no other hook can have changed the message
/// before.
fn words_of_git(chain: &Chain) -> Option<Vec<String>> {
    let git = chain.ancestors.get(2).filter(|a| a.program() == "git")?;
    platform::command_line(git.identity.pid)
}

/// The message on the command line of the git that runs this hook.
fn given_to_git(repo: &Repo, words: &[String]) -> Option<GivenMessage> {
    let prefix = env::text("GIT_PREFIX").unwrap_or_default();
    given_message(words, |file| {
        // A pipe was read by git and is empty now.
        let path = repo.worktree().join(&prefix).join(file);
        let meta = path.metadata().ok()?;
        let readable = meta.is_file() && meta.len() <= FILE_MOST && file != "-";
        readable.then(|| std::fs::read_to_string(&path).ok())?
    })
}

/// `commit-msg`: the last hook before git reads the message.
pub fn complete(delivery: &mut Delivery, repo: &Repo, args: &[String]) {
    let Some(file) = args.first().map(Path::new) else {
        return;
    };
    let chain = chain_to_git();
    let Some((_, git)) = chain.git_process() else {
        return;
    };
    let Some(note) = CommitNote::read(repo, &git.identity) else {
        return;
    };
    let result = if note.message.is_some() {
        keep_own(repo, &git.identity, &note, file, &chain)
    } else {
        CommitNote::remove(repo, &git.identity);
        link_edited(&note, file)
    };
    if let Err(error) = result {
        delivery.decline("message_unwritable", &error.to_string(), Some(repo));
    }
}

/// The processes up to git, which is near unless a hook manager is between.
fn chain_to_git() -> Chain {
    let near = platform::nearest(NEAR);
    // The outermost git of an alias counts, so the walk must have seen what is above it.
    match near.git_process() {
        Some((at, _)) if at + 1 < near.ancestors.len() => near,
        _ => platform::chain(),
    }
}

/// Adds the trailer to a message that a person or a program edited.
fn link_edited(note: &CommitNote, file: &Path) -> io::Result<()> {
    let Some(checkpoint) = note.checkpoint else {
        return Ok(());
    };
    let comment = note.comment.as_deref().unwrap_or("#");
    let message = Message::read(file)?;
    let kept = message.cleaned(comment);
    let is_untouched = |template: &String| commit_message::is_untouched(&kept, template);
    // What git refuses without the trailer it must refuse with it.
    if !is_taken(&kept, Cleanup::Whitespace, "") || note.template.as_ref().is_some_and(is_untouched)
    {
        return Ok(());
    }
    message.add(comment, checkpoint)
}

/// Puts the own message back if another git's is in its place.
fn keep_own(
    repo: &Repo,
    git: &ProcessIdentity,
    note: &CommitNote,
    file: &Path,
    chain: &Chain,
) -> io::Result<()> {
    let Some(own) = &note.message else {
        return Ok(());
    };
    if MessageLock::new(repo, git, own.log).take() == Waited::Overtaken {
        return Ok(());
    }
    let present = Message::read(file)?;
    if present.text() == own.text || !is_anothers(&present, note, chain) {
        return Ok(());
    }
    message::replace(file, &own.text, None)
}

/// Whether a message that is not as it was left is another git's. It is where nobody but git and
/// Siglum writes it, or where it names the checkpoint of another commit instead of its own. Else a
/// hook may have changed it, which is its right.
fn is_anothers(present: &Message, note: &CommitNote, chain: &Chain) -> bool {
    let Some(own) = &note.message else {
        return false;
    };
    let (before, now) = (trailer::named(&own.text), trailer::named(present.text()));
    let names_another = now.iter().any(|id| !before.contains(id))
        && note.checkpoint.is_some_and(|own| !now.contains(&own));
    names_another || no_other_hook_runs(chain)
}

/// Whether the scripts of both hooks that may change a message are Siglum's and nothing else.
fn no_other_hook_runs(chain: &Chain) -> bool {
    let direct = chain.ancestors.get(2).is_some_and(|a| a.program() == "git");
    let script = chain.ancestors.get(1).filter(|_| direct);
    let words = script.and_then(|shell| platform::command_line(shell.identity.pid));
    let hook = words.and_then(|words| {
        let mut scripts = words.iter().skip(1).map(Path::new);
        let script = scripts.find(|path| path.parent().is_some_and(Path::is_dir))?;
        Some(script.to_owned())
    });
    hook.is_some_and(|hook| {
        ["prepare-commit-msg", "commit-msg"]
            .iter()
            .all(|name| is_own_alone(&hook.with_file_name(name)))
    })
}

/// `post-commit`, first: git read the message, so the next one may go on, and whatever only the note says is told. Gives
/// what the message was to be if the file holds another one now.
pub fn finish(delivery: &mut Delivery, repo: &Repo, chain: &Chain) -> Option<PreparedMessage> {
    let git = chain.git_process().map(|(_, git)| &git.identity);
    let note = git.and_then(|git| CommitNote::read(repo, git));
    let doubtful = match (git, &note) {
        (Some(git), Some(note)) => release(repo, git, note, chain),
        _ => false,
    };
    let is_told = landings::send_intent(delivery, repo, chain);
    if let Some(git) = git.filter(|_| is_told) {
        CommitNote::remove(repo, git);
    }
    note?.message.filter(|_| doubtful)
}

/// Lets the next git read its message. Tells whether the file holds another one than this commit was to have.
fn release(repo: &Repo, git: &ProcessIdentity, note: &CommitNote, chain: &Chain) -> bool {
    let Some(own) = &note.message else {
        return false;
    };
    MessageLock::new(repo, git, own.log).release();
    // Still there, it was there when git read it: nobody else puts it back.
    let present = Message::read(&own.file);
    present.is_ok_and(|present| present.text() != own.text && is_anothers(&present, note, chain))
}

/// `post-commit`, last: records that a commit has the message of another one.
pub fn compare(delivery: &mut Delivery, repo: &Repo, own: &PreparedMessage, commit: &Oid) {
    let git = Git::new(env::git(), repo.worktree());
    let Ok(message) = git.message(commit) else {
        return;
    };
    if !is_same(&message, &own.text) {
        let detail = format!(
            "commit {commit} has the message of another commit, made in the same checkout at the \
             same time; `git commit --amend` or `git rebase` corrects it"
        );
        delivery.decline("message_mixed", &detail, Some(repo));
    }
}

/// Whether git can have made one message of the other: blanks and comments do not count.
fn is_same(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        let text = commit_message::cleaned(text, "#");
        text.split_ascii_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    words(one) == words(other)
}
