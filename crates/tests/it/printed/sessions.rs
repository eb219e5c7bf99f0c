//! Sessions, their links and checkpoints.

use super::{Asking, settings};
use crate::harness::World;

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "files notes.md",
    "statusline",
    "checkpoint show {checkpoint}",
    "resume {session} --print",
    "link add {session} role=writer label=area=docs",
    "link remove {session} role=writer",
    "session rename {session} 'Notes of the work'",
    "session recover",
    "adopt HEAD {session}",
    "adopt --undo HEAD",
    "session end {session}",
    "tail {session}",
    "run --issue 42 -- true",
    "record --agent tester",
];

fn played(columns: usize) -> String {
    let world = World::new();
    let mut asking = Asking::begin(&world);
    let listed = world.json(&asking.repo.dir, &["checkpoint", "list"]);
    let checkpoint = listed["items"][0]["id"].as_str().unwrap();
    asking.names.push(("{checkpoint}", checkpoint.to_owned()));
    // What hooks report of a turn is in one order, beside what its transcript says.
    let agent = asking.agent.as_mut().unwrap();
    agent.prompt("Is it all there?");
    agent.stop();
    asking.repo.siglum(&["worker", "--once"]).ok();
    let _held = world.hold_worker();
    asking.story(COMMANDS, columns)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn sessions_at_80_and_at_160_columns() {
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(played(80), @r#"
    $ siglum files notes.md
    SESSION   AGENT        LAST  EDITS  COMMITS     PROMPT
    01234567  claude-code  now       1  0123456789  Please write down all that is k…

    $ siglum statusline
    claude-code 01234567  turn 3  $0.0015

    $ siglum checkpoint show {checkpoint}
    checkpoint 01234567 of commit 0123456789  "Write down all that is known of the…"

    Checkpoint  chk_0123456789abcdef0123456789abcdef
    Made        2026-11-26 12:34:56
    Commit      0123456789abcdef0123456789abcdef01234567
    Pins        claude-code 01234567  up to entry 9 of 17  "Please do the work."
    Links       issue 42, PR 7
    Resume      claude --resume wide

    $ siglum resume {session} --print
    cd /a/repo && claude --resume wide

    $ siglum link add {session} role=writer label=area=docs
    Attached role writer to session 01234567.
    Attached area=docs to session 01234567.

    $ siglum link remove {session} role=writer
    Detached role writer from session 01234567.

    $ siglum session rename {session} 'Notes of the work'
    Named session 01234567 "Notes of the work".

    $ siglum session recover
    No open turns.

    $ siglum adopt HEAD {session}
    0123456789 is now attributed to session 01234567, in addition to the evidence.
    hint: Run `siglum adopt --undo 0123456789` to revert this.

    $ siglum adopt --undo HEAD
    0123456789 is no longer attributed to session 01234567; the statement is kept.

    $ siglum session end {session}
    Ended session 01234567.
    hint: Its agent still runs; the session reopens on the next event from it.

    $ siglum tail {session}
    2026-11-26 12:34:56  > Is it all there?
    2026-11-26 12:34:56  . the turn ended
    2026-11-26 12:34:56  . the session ended: a person said so
    Following session 01234567.
    The session has ended.

    $ siglum run --issue 42 -- true

    $ siglum record --agent tester
    Stored 0 lines.
    "#);
    insta::assert_snapshot!(played(160), @r#"
    $ siglum files notes.md
    SESSION   AGENT        LAST  EDITS  COMMITS     PROMPT
    01234567  claude-code  now       1  0123456789  Please write down all that is known of the work, and commit it when it is done

    $ siglum statusline
    claude-code 01234567  turn 3  $0.0015

    $ siglum checkpoint show {checkpoint}
    checkpoint 01234567 of commit 0123456789  "Write down all that is known of the work that is under way"

    Checkpoint  chk_0123456789abcdef0123456789abcdef
    Made        2026-11-26 12:34:56
    Commit      0123456789abcdef0123456789abcdef01234567
    Pins        claude-code 01234567  up to entry 9 of 17  "Please do the work."
    Links       issue 42, PR 7
    Resume      claude --resume wide

    $ siglum resume {session} --print
    cd /a/repo && claude --resume wide

    $ siglum link add {session} role=writer label=area=docs
    Attached role writer to session 01234567.
    Attached area=docs to session 01234567.

    $ siglum link remove {session} role=writer
    Detached role writer from session 01234567.

    $ siglum session rename {session} 'Notes of the work'
    Named session 01234567 "Notes of the work".

    $ siglum session recover
    No open turns.

    $ siglum adopt HEAD {session}
    0123456789 is now attributed to session 01234567, in addition to the evidence.
    hint: Run `siglum adopt --undo 0123456789` to revert this.

    $ siglum adopt --undo HEAD
    0123456789 is no longer attributed to session 01234567; the statement is kept.

    $ siglum session end {session}
    Ended session 01234567.
    hint: Its agent still runs; the session reopens on the next event from it.

    $ siglum tail {session}
    2026-11-26 12:34:56  > Is it all there?
    2026-11-26 12:34:56  . the turn ended
    2026-11-26 12:34:56  . the session ended: a person said so
    Following session 01234567.
    The session has ended.

    $ siglum run --issue 42 -- true

    $ siglum record --agent tester
    Stored 0 lines.
    "#);
}
