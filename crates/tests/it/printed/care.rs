//! Care for the ledger.

use super::{Asking, settings};
use crate::harness::World;

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "doctor",
    "audit verify",
    "rebuild summaries",
    "rebuild judgements",
    "rebuild search",
    "relocate",
    "backup copy.db",
    "forget {session} --dry-run",
    "forget {session} --yes",
    "restore copy.db",
    "restore copy.db --yes",
];

fn played(columns: usize) -> String {
    let world = World::new();
    let asking = Asking::begin(&world);
    let (before, restoring) = COMMANDS.split_at(COMMANDS.len() - 2);
    let held = world.hold_worker();
    let before = asking.story(before, columns);
    // Whoever restores has to be alone.
    drop(held);
    format!("{before}\n\n{}", asking.story(restoring, columns))
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn care_at_80_and_at_160_columns() {
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(played(80), @r#"
    $ siglum doctor
    ok       program      siglum 0.1.0, which hooks call as
                          /a/siglum/bin/siglum
    ok       git          git 2.47.3
    ok       ledger       /a/siglum/ledger.db is intact: 786 kB,
                          its log 0 B, 1 file version in 104 B
    ok       spool        the spool in Siglum's home is empty
    ok       worker       it is running
    ok       repository   Siglum is enabled in /a/repo
    ok       git hooks    all 6 are installed
    ok       spool        the spool in this repository is empty
    ok       claude-code  all hooks are in ~/.claude/settings.json
    ok       transcripts  Claude Code deletes transcripts after 30 days; Siglum
                          keeps its redacted copy
    ok       codex        all hooks are in ~/.codex/hooks.json
    ok       gemini       all hooks are in ~/.gemini/settings.json
    ok       transcripts  Gemini CLI deletes transcripts after 30 days; Siglum keeps
                          its redacted copy
    ok       opencode     all hooks are in ~/.config/opencode/plugins/siglum.js
    ok       pi           all hooks are in ~/.pi/agent/extensions/siglum.ts
    ok       qwen         all hooks are in ~/.qwen/settings.json
    ok       copilot      all hooks are in ~/.copilot/hooks/siglum.json
    ok       declined     nothing was declined since 2026-11-26 12:34:56
    ok       search       the search index has all sessions
    ok       stored       5 receipts of 1 session verified, and all files that they
                          need
    ok       audit        2 entries, each chained to the one before

    $ siglum audit verify
               2  audit entries
    last digest   0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

    $ siglum rebuild summaries
    Rebuilt the summaries of 1 session.

    $ siglum rebuild judgements
    Judged 1 commit again, 0 changed.

    $ siglum rebuild search
    Emptied the search index; the worker adds 1 session again.

    $ siglum relocate
    STATE     REPOSITORY                  MATCHED BY  NOW
    in place  /a/repo

    $ siglum backup copy.db
    Wrote 786 kB to copy.db; file versions are not included (pass `--objects DIR`).

    $ siglum forget {session} --dry-run
    -session 01234567  claude-code  15 payloads, 868 B of transcripts, 1 file version
    Nothing was erased.

    $ siglum forget {session} --yes
    -session 01234567  claude-code  15 payloads, 868 B of transcripts, 1 file version
    Erased 1 session; commits keep their verdicts.
    hint: A running session is still recorded; erase it again after it ends.
    hint: Files that claude-code wrote and git objects are not erased; rotate a
      secret that was leaked.

    $ siglum restore copy.db
    The current ledger ends at 2026-11-26 12:34:56; the backup ends at 2026-11-26
      12:34:56.
    The current ledger will be kept as
      /a/siglum/ledger.db.before-restore-2026-11-26T12:34:56Z.
    error: nothing was restored
    hint: Run the same command with `--yes` to skip the confirmation.

    $ siglum restore copy.db --yes
    Restored; the previous ledger is in
      /a/siglum/ledger.db.before-restore-2026-11-26T12:34:56Z.
    hint: Run `siglum verify --all` to check file versions and projections.
    "#);
    insta::assert_snapshot!(played(160), @r#"
    $ siglum doctor
    ok       program      siglum 0.1.0, which hooks call as /a/siglum/bin/siglum
    ok       git          git 2.47.3
    ok       ledger       /a/siglum/ledger.db is intact: 786 kB, its log 0 B, 1 file version in 104 B
    ok       spool        the spool in Siglum's home is empty
    ok       worker       it is running
    ok       repository   Siglum is enabled in /a/repo
    ok       git hooks    all 6 are installed
    ok       spool        the spool in this repository is empty
    ok       claude-code  all hooks are in ~/.claude/settings.json
    ok       transcripts  Claude Code deletes transcripts after 30 days; Siglum keeps its redacted copy
    ok       codex        all hooks are in ~/.codex/hooks.json
    ok       gemini       all hooks are in ~/.gemini/settings.json
    ok       transcripts  Gemini CLI deletes transcripts after 30 days; Siglum keeps its redacted copy
    ok       opencode     all hooks are in ~/.config/opencode/plugins/siglum.js
    ok       pi           all hooks are in ~/.pi/agent/extensions/siglum.ts
    ok       qwen         all hooks are in ~/.qwen/settings.json
    ok       copilot      all hooks are in ~/.copilot/hooks/siglum.json
    ok       declined     nothing was declined since 2026-11-26 12:34:56
    ok       search       the search index has all sessions
    ok       stored       5 receipts of 1 session verified, and all files that they need
    ok       audit        2 entries, each chained to the one before

    $ siglum audit verify
               2  audit entries
    last digest   0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

    $ siglum rebuild summaries
    Rebuilt the summaries of 1 session.

    $ siglum rebuild judgements
    Judged 1 commit again, 0 changed.

    $ siglum rebuild search
    Emptied the search index; the worker adds 1 session again.

    $ siglum relocate
    STATE     REPOSITORY                  MATCHED BY  NOW
    in place  /a/repo

    $ siglum backup copy.db
    Wrote 786 kB to copy.db; file versions are not included (pass `--objects DIR`).

    $ siglum forget {session} --dry-run
    -session 01234567  claude-code  15 payloads, 868 B of transcripts, 1 file version
    Nothing was erased.

    $ siglum forget {session} --yes
    -session 01234567  claude-code  15 payloads, 868 B of transcripts, 1 file version
    Erased 1 session; commits keep their verdicts.
    hint: A running session is still recorded; erase it again after it ends.
    hint: Files that claude-code wrote and git objects are not erased; rotate a secret that was leaked.

    $ siglum restore copy.db
    The current ledger ends at 2026-11-26 12:34:56; the backup ends at 2026-11-26 12:34:56.
    The current ledger will be kept as /a/siglum/ledger.db.before-restore-2026-11-26T12:34:56Z.
    error: nothing was restored
    hint: Run the same command with `--yes` to skip the confirmation.

    $ siglum restore copy.db --yes
    Restored; the previous ledger is in /a/siglum/ledger.db.before-restore-2026-11-26T12:34:56Z.
    hint: Run `siglum verify --all` to check file versions and projections.
    "#);
}
