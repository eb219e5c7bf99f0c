//! Setting up, in a repository that Siglum does not know, and undoing it.

use super::{Asking, settings};
use crate::harness::World;

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "init --yes",
    "init --dry-run",
    "agents",
    "config list",
    "config path",
    "config get color",
    "config set color never",
    "config unset color",
    "version",
    "upgrade --check",
    "demo",
    "uninstall --dry-run | grep -E '^-(directory|file) '",
    "uninstall --yes",
    "uninstall --yes",
];

fn played(columns: usize) -> String {
    let mut world = World::new();
    // What the demo makes goes with the world, whatever becomes of the demo.
    world.variables.push(("TMPDIR", world.root.clone()));
    let dir = world.root.join("repo");
    std::fs::create_dir(&dir).unwrap();
    let repo = world.at(&dir);
    repo.sh("git init -q -b main . && git commit -q --allow-empty -m base")
        .ok();
    Asking::at(repo, Vec::new()).story(COMMANDS, columns)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn setup_at_80_and_at_160_columns() {
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(played(80), @r#"
    $ siglum init --yes
    Siglum records which agent's session makes each commit.

      where      /a/repo
      agents     Claude Code, Codex, Gemini CLI, OpenCode, Pi, Qwen Code, Copilot
                 CLI: hooks in ~/.claude/settings.json, ~/.codex/hooks.json,
                 ~/.codex/config.toml and 5 more
      git        6 hooks in /a/repo/.git/hooks
      trailer    one line in the message of agents' commits,
                 `Siglum-Checkpoint: chk_…`; none in yours
      reads      agents' hook events and transcripts (including earlier ones), and
                 git's history
      keeps      prompts, responses, tool calls and file versions, without secrets,
                 in /a/siglum
      sends      nothing
      undo       `siglum uninstall`

    Siglum is enabled.
    Each commit now has its session: let an agent commit, then run `siglum why`.

    $ siglum init --dry-run
    Nothing was changed.

    $ siglum agents
    AGENT        FOUND  HOOKS      LAST SEEN  NOT REPORTED BY HOOKS
    Claude Code  yes    installed  never      origins
    Codex        yes    installed  never      failures, origins
    Gemini CLI   yes    installed  never      commits, turns, calls, sub-agents
    OpenCode     yes    installed  never      origins
    Pi           yes    installed  never      turns
    Qwen Code    yes    installed  never      ends, origins
    Copilot CLI  yes    installed  never      turns, calls

    Recognised, but not recorded: cursor-agent, amp, droid (formats not documented
    well enough, and no real client to try them with); openclaw, aider, goose,
    crush, cline, auggie, kiro (no reader of its formats yet). `siglum record`
    records any agent; `siglum import --acp` imports the sessions of one that speaks
    the Agent Client Protocol.

    $ siglum config list
    SETTING         VALUE    FROM     MEANING
    record          true     default  Whether to record sessions and commits
    trailer         true     default  Whether to add a trailer to commits of sessio…
    color           auto     default  When to use colours: auto, always or never
    keep_sessions   forever  default  How long to keep silent sessions before they…
    keep_telemetry  forever  default  How long to keep telemetry without a session,…
    keep_audit      forever  default  How long to keep entries of the audit log, su…

    $ siglum config path
    /a/home/.config/siglum/config.toml

    $ siglum config get color
    auto

    $ siglum config set color never
    Set color to never in ~/.config/siglum/config.toml.

    $ siglum config unset color
    Removed color from ~/.config/siglum/config.toml.

    $ siglum version
    siglum 0.1.0 (x86_64-linux, debug)
    features  gateway, grpc, postgres
    schema    28 in SQLite, 28 in PostgreSQL
    git       2.31.0 or newer

    $ siglum upgrade --check
    siglum 0.1.0, installed by: unknown
    program   /a/siglum
    ledger    schema 28, current
    upgrade   build it from source again, or copy the new program into place

    $ siglum demo

    Two Claude Code sessions, A and B, worked in one checkout at once, beside a
    person and a script. A committed a test that B wrote; B left a process behind
    that committed later. MADE BY is the truth, the rest is Siglum's answer:

    COMMIT      MADE BY      COMMITTER   VERDICT  AUTHORS  SUBJECT
    0123456789  A            A 01234567  certain  A        Add up the cart
    0123456789  a person     human       certain  unknown  Say what the shop sells
    0123456789  B            B 01234567  certain  B        Give ten percent off
    0123456789  A            A 01234567  certain  A, B     Round the total
    0123456789  B, detached  B 01234567  likely   B        Note the discount
    0123456789  a script     unknown     unknown  unknown  Count the stock

    $ siglum why 0123456789
    0123456789  Round the total
    2026-11-26 12:34:56, author Robin, checkpoint 01234567

    Committer   claude-code 01234567  "Add up the cart, to the cent"  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the
                  session  observed
                + tool call toolu_0123456789abcdef01234567 of the
                  session was running here  observed
    Authors     claude-code 01234567  "Ten percent off abov…"  5 lines  [certain]
                tests/test_cart.py:1-5
                claude-code 01234567  "Add up the cart, to…"  2 lines  [certain]
                shop/cart.py:6-7
    Prompt      Add up the cart, to the cent
    Resume      claude --resume 01234567-89ab-7cde-8f01-0123456789ab

    Now your own repository. The first answers come from the transcripts of your
    agents on this machine. `siglum init` shows its changes and asks first:
      cd <repo> && /a/siglum init
    To explore this repository, keep it:
      /a/siglum demo --keep
    Creating a repository and installing hooks with `siglum init`.
    Two agent sessions, a person and a script work in it at once.

    $ siglum uninstall --dry-run | grep -E '^-(directory|file) '
    -directory /a/repo/.git/siglum
    -file /a/siglum/bin/siglum
    Nothing was changed.

    $ siglum uninstall --yes
    This removes what `siglum init` installed.

      where      /a/repo
      agents     hooks in ~/.claude/settings.json, ~/.codex/hooks.json,
                 ~/.codex/config.toml and 5 more
      git        6 hooks in /a/repo/.git/hooks
      files      /a/repo/.git/siglum,
                 /a/siglum/bin/siglum
      keeps      all recorded data, in /a/siglum/ledger.db

    Siglum is off; recorded data is kept, and `siglum why` still works.

    $ siglum uninstall --yes
    Siglum is not enabled here; nothing to change.
    "#);
    insta::assert_snapshot!(played(160), @r#"
    $ siglum init --yes
    Siglum records which agent's session makes each commit.

      where      /a/repo
      agents     Claude Code, Codex, Gemini CLI, OpenCode, Pi, Qwen Code, Copilot CLI: hooks in
                 ~/.claude/settings.json, ~/.codex/hooks.json, ~/.codex/config.toml and 5 more
      git        6 hooks in /a/repo/.git/hooks
      trailer    one line in the message of agents' commits, `Siglum-Checkpoint: chk_…`; none in yours
      reads      agents' hook events and transcripts (including earlier ones), and git's history
      keeps      prompts, responses, tool calls and file versions, without secrets, in
                 /a/siglum
      sends      nothing
      undo       `siglum uninstall`

    Siglum is enabled.
    Each commit now has its session: let an agent commit, then run `siglum why`.

    $ siglum init --dry-run
    Nothing was changed.

    $ siglum agents
    AGENT        FOUND  HOOKS      LAST SEEN  NOT REPORTED BY HOOKS
    Claude Code  yes    installed  never      origins
    Codex        yes    installed  never      failures, origins
    Gemini CLI   yes    installed  never      commits, turns, calls, sub-agents
    OpenCode     yes    installed  never      origins
    Pi           yes    installed  never      turns
    Qwen Code    yes    installed  never      ends, origins
    Copilot CLI  yes    installed  never      turns, calls

    Recognised, but not recorded: cursor-agent, amp, droid (formats not documented well enough, and no
    real client to try them with); openclaw, aider, goose, crush, cline, auggie, kiro (no reader of its
    formats yet). `siglum record` records any agent; `siglum import --acp` imports the sessions of one
    that speaks the Agent Client Protocol.

    $ siglum config list
    SETTING         VALUE    FROM     MEANING
    record          true     default  Whether to record sessions and commits
    trailer         true     default  Whether to add a trailer to commits of sessions
    color           auto     default  When to use colours: auto, always or never
    keep_sessions   forever  default  How long to keep silent sessions before they are forgotten, such as 400d
    keep_telemetry  forever  default  How long to keep telemetry without a session, such as 30d
    keep_audit      forever  default  How long to keep entries of the audit log, such as 2y

    $ siglum config path
    /a/home/.config/siglum/config.toml

    $ siglum config get color
    auto

    $ siglum config set color never
    Set color to never in ~/.config/siglum/config.toml.

    $ siglum config unset color
    Removed color from ~/.config/siglum/config.toml.

    $ siglum version
    siglum 0.1.0 (x86_64-linux, debug)
    features  gateway, grpc, postgres
    schema    28 in SQLite, 28 in PostgreSQL
    git       2.31.0 or newer

    $ siglum upgrade --check
    siglum 0.1.0, installed by: unknown
    program   /a/siglum
    ledger    schema 28, current
    upgrade   build it from source again, or copy the new program into place

    $ siglum demo

    Two Claude Code sessions, A and B, worked in one checkout at once, beside a
    person and a script. A committed a test that B wrote; B left a process behind
    that committed later. MADE BY is the truth, the rest is Siglum's answer:

    COMMIT      MADE BY      COMMITTER   VERDICT  AUTHORS  SUBJECT
    0123456789  A            A 01234567  certain  A        Add up the cart
    0123456789  a person     human       certain  unknown  Say what the shop sells
    0123456789  B            B 01234567  certain  B        Give ten percent off
    0123456789  A            A 01234567  certain  A, B     Round the total
    0123456789  B, detached  B 01234567  likely   B        Note the discount
    0123456789  a script     unknown     unknown  unknown  Count the stock

    $ siglum why 0123456789
    0123456789  Round the total
    2026-11-26 12:34:56, author Robin, checkpoint 01234567

    Committer   claude-code 01234567  "Add up the cart, to the cent"  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the session  observed
                + tool call toolu_0123456789abcdef01234567 of the session was running here  observed
    Authors     claude-code 01234567  "Ten percent off above 100, and test the…"  5 lines  [certain]
                tests/test_cart.py:1-5
                claude-code 01234567  "Add up the cart, to the cent"  2 lines  [certain]
                shop/cart.py:6-7
    Prompt      Add up the cart, to the cent
    Resume      claude --resume 01234567-89ab-7cde-8f01-0123456789ab

    Now your own repository. The first answers come from the transcripts of your
    agents on this machine. `siglum init` shows its changes and asks first:
      cd <repo> && /a/siglum init
    To explore this repository, keep it:
      /a/siglum demo --keep
    Creating a repository and installing hooks with `siglum init`.
    Two agent sessions, a person and a script work in it at once.

    $ siglum uninstall --dry-run | grep -E '^-(directory|file) '
    -directory /a/repo/.git/siglum
    -file /a/siglum/bin/siglum
    Nothing was changed.

    $ siglum uninstall --yes
    This removes what `siglum init` installed.

      where      /a/repo
      agents     hooks in ~/.claude/settings.json, ~/.codex/hooks.json, ~/.codex/config.toml and 5 more
      git        6 hooks in /a/repo/.git/hooks
      files      /a/repo/.git/siglum, /a/siglum/bin/siglum
      keeps      all recorded data, in /a/siglum/ledger.db

    Siglum is off; recorded data is kept, and `siglum why` still works.

    $ siglum uninstall --yes
    Siglum is not enabled here; nothing to change.
    "#);
}
