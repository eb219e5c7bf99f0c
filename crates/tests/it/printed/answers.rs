//! What the commands print that people ask with.

use super::{Asking, settings};
use crate::harness::World;

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn answers_at_80_and_at_160_columns() {
    let world = World::new();
    let asking = Asking::begin(&world);
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(asking.ask("log", 80), @r#"
    COMMIT      AGE  COMMITTER             VERDICT  WROTE  SUBJECT
    0123456789  now  unknown                               By something that no hoo…
    0123456789  now  claude-code 01234567  certain  19     Write down all that is k…
    0123456789  now  unknown                               base
    "#);
    insta::assert_snapshot!(asking.ask("log", 160), @r#"
    COMMIT      AGE  COMMITTER             VERDICT  WROTE  SUBJECT
    0123456789  now  unknown                               By something that no hook saw
    0123456789  now  claude-code 01234567  certain  19     Write down all that is known of the work that is under way
    0123456789  now  unknown                               base
    "#);
    insta::assert_snapshot!(asking.ask("show {session}", 80), @r#"
    claude-code 01234567  "Please do the work."

    Session       ses_0123456789abcdef0123456789abcdef
    Conversation  wide
    State         waiting
    Started       2026-11-26 12:34:56
    Last seen     now
    Directory     /a/repo
    Links         issue 42 (cli), PR 7 (cli)
    Models        claude-haiku-4-5-20251001
    Tokens        1 000 in, 100 out
    Sealed        all 15 entries
    Resume        claude --resume wide

    Turn 1  2026-11-26 12:34:56  no stop seen  1 000 in, 100 out
      > Please do the work.
      < wide 1

    Turn 2  2026-11-26 12:34:56  sealed
      > Please write down all that is known of the work, and commit it when it is
        done
        Write notes.md
          @@ -0,0 +1,19 @@
          +What is known of item 1
          +What is known of item 2
          +What is known of item 3
          +What is known of item 4
          +What is known of item 5
          +What is known of item 6
          +What is known of item 7
          … 12 more lines; pass `--full` to show all
        Bash git add -A && git commit -q -m 'Write down all that is known of the w…
      < Done.
      commit 0123456789  Write down all that is known of the work that i…  [certain]
    "#);
    insta::assert_snapshot!(asking.ask("show {session}", 160), @r#"
    claude-code 01234567  "Please do the work."

    Session       ses_0123456789abcdef0123456789abcdef
    Conversation  wide
    State         waiting
    Started       2026-11-26 12:34:56
    Last seen     now
    Directory     /a/repo
    Links         issue 42 (cli), PR 7 (cli)
    Models        claude-haiku-4-5-20251001
    Tokens        1 000 in, 100 out
    Sealed        all 15 entries
    Resume        claude --resume wide

    Turn 1  2026-11-26 12:34:56  no stop seen  1 000 in, 100 out
      > Please do the work.
      < wide 1

    Turn 2  2026-11-26 12:34:56  sealed
      > Please write down all that is known of the work, and commit it when it is done
        Write notes.md
          @@ -0,0 +1,19 @@
          +What is known of item 1
          +What is known of item 2
          +What is known of item 3
          +What is known of item 4
          +What is known of item 5
          +What is known of item 6
          +What is known of item 7
          … 12 more lines; pass `--full` to show all
        Bash git add -A && git commit -q -m 'Write down all that is known of the work that is under way'
      < Done.
      commit 0123456789  Write down all that is known of the work that is under way  [certain]
    "#);
    insta::assert_snapshot!(asking.ask("show HEAD", 80), @r#"
    0123456789  By something that no hook saw
    2026-11-26 12:34:56, author Ada

    Committer   unknown  [unknown]
                · no hook observed this commit
    Candidates  claude-code 01234567  "Please do…"  (issue 42, PR 7)  now
    "#);
    insta::assert_snapshot!(asking.ask("show HEAD", 160), @r#"
    0123456789  By something that no hook saw
    2026-11-26 12:34:56, author Ada

    Committer   unknown  [unknown]
                · no hook observed this commit
    Candidates  claude-code 01234567  "Please do the work."  (issue 42, PR 7)  now
    "#);
    insta::assert_snapshot!(asking.ask("why HEAD", 80), @r#"
    0123456789  By something that no hook saw
    2026-11-26 12:34:56, author Ada

    Committer   unknown  [unknown]
                · no hook observed this commit
    Candidates  claude-code 01234567  "Please do…"  (issue 42, PR 7)  now
    "#);
    insta::assert_snapshot!(asking.ask("why HEAD", 160), @r#"
    0123456789  By something that no hook saw
    2026-11-26 12:34:56, author Ada

    Committer   unknown  [unknown]
                · no hook observed this commit
    Candidates  claude-code 01234567  "Please do the work."  (issue 42, PR 7)  now
    "#);
    insta::assert_snapshot!(asking.ask("why HEAD~1", 80), @r#"
    0123456789  Write down all that is known of the work that is under way
    2026-11-26 12:34:56, author wide, checkpoint 01234567

    Committer   claude-code 01234567  "Please do…"  (issue 42, PR 7)  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the
                  session  observed
                + tool call toolu_wide_2_2 of the session was running
                  here  observed
    Authors     claude-code 01234567  (issue 42, PR 7)  19 lines  [certain]
                notes.md:1-19
    Prompt      Please write down all that is known of the work, and commit it when
                it is done
    Resume      claude --resume wide
    "#);
    insta::assert_snapshot!(asking.ask("why HEAD~1", 160), @r#"
    0123456789  Write down all that is known of the work that is under way
    2026-11-26 12:34:56, author wide, checkpoint 01234567

    Committer   claude-code 01234567  "Please do the work."  (issue 42, PR 7)  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the session  observed
                + tool call toolu_wide_2_2 of the session was running here  observed
    Authors     claude-code 01234567  "Please do the work."  (issue 42, PR 7)  19 lines  [certain]
                notes.md:1-19
    Prompt      Please write down all that is known of the work, and commit it when it is done
    Resume      claude --resume wide
    "#);
    insta::assert_snapshot!(asking.ask("why HEAD~1 --explain", 80), @r#"
    0123456789  Write down all that is known of the work that is under way
    2026-11-26 12:34:56, author wide, checkpoint 01234567

    Committer   claude-code 01234567  "Please do…"  (issue 42, PR 7)  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the
                  session  observed
                + tool call toolu_wide_2_2 of the session was running
                  here  observed
    Authors     claude-code 01234567  (issue 42, PR 7)  19 lines  [certain]
                notes.md:1-19
    Prompt      Please write down all that is known of the work, and commit it when
                it is done
    Resume      claude --resume wide
    Rule        ancestry-and-variable
                git descends from the agent's process, and its variable names the
                  session
                defeated by: a nearer agent, a program of its own between, a
                  variable of somebody else
    Sign        git ran 4 processes below the session's agent
                names the session; certain with a second sign
                defeated by: a program of its own between agent and git, a
                  variable set further in
    Sign        CLAUDE_CODE_SESSION_ID in git's environment names the session
                names the session; certain with ancestry
                defeated by: a terminal, a window or a program that outlived the
                  session may have inherited it
    Sign        tool call toolu_wide_2_2 of the session was running here
                confirms ancestry; separates sessions of one process
                defeated by: not conclusive: others can commit at the same time
    Without     git ran 4 processes below the session's agent
                claude-code 01234567  "Please do…"  (issue 42, PR 7)  [likely]
                by rule: variable
    "#);
    insta::assert_snapshot!(asking.ask("why HEAD~1 --explain", 160), @r#"
    0123456789  Write down all that is known of the work that is under way
    2026-11-26 12:34:56, author wide, checkpoint 01234567

    Committer   claude-code 01234567  "Please do the work."  (issue 42, PR 7)  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the session  observed
                + tool call toolu_wide_2_2 of the session was running here  observed
    Authors     claude-code 01234567  "Please do the work."  (issue 42, PR 7)  19 lines  [certain]
                notes.md:1-19
    Prompt      Please write down all that is known of the work, and commit it when it is done
    Resume      claude --resume wide
    Rule        ancestry-and-variable
                git descends from the agent's process, and its variable names the session
                defeated by: a nearer agent, a program of its own between, a variable of somebody else
    Sign        git ran 4 processes below the session's agent
                names the session; certain with a second sign
                defeated by: a program of its own between agent and git, a variable set further in
    Sign        CLAUDE_CODE_SESSION_ID in git's environment names the session
                names the session; certain with ancestry
                defeated by: a terminal, a window or a program that outlived the session may have inherited it
    Sign        tool call toolu_wide_2_2 of the session was running here
                confirms ancestry; separates sessions of one process
                defeated by: not conclusive: others can commit at the same time
    Without     git ran 4 processes below the session's agent
                claude-code 01234567  "Please do the work."  (issue 42, PR 7)  [likely]
                by rule: variable
    "#);
    insta::assert_snapshot!(asking.ask("why notes.md:3", 80), @r#"
    Line        claude-code 01234567  "Please do…"  (issue 42, PR 7)  [certain]
                notes.md:3 came with this commit
    Prompt      Please write down all that is known of the work, and commit it when
                it is done
    Resume      claude --resume wide

    0123456789  Write down all that is known of the work that is under way
    2026-11-26 12:34:56, author wide, checkpoint 01234567

    Committer   claude-code 01234567  "Please do…"  (issue 42, PR 7)  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the
                  session  observed
                + tool call toolu_wide_2_2 of the session was running
                  here  observed
    Authors     claude-code 01234567  (issue 42, PR 7)  19 lines  [certain]
                notes.md:1-19
    "#);
    insta::assert_snapshot!(asking.ask("why notes.md:3", 160), @r#"
    Line        claude-code 01234567  "Please do the work."  (issue 42, PR 7)  [certain]
                notes.md:3 came with this commit
    Prompt      Please write down all that is known of the work, and commit it when it is done
    Resume      claude --resume wide

    0123456789  Write down all that is known of the work that is under way
    2026-11-26 12:34:56, author wide, checkpoint 01234567

    Committer   claude-code 01234567  "Please do the work."  (issue 42, PR 7)  [certain]
                + git ran 4 processes below the session's agent  observed
                + CLAUDE_CODE_SESSION_ID in git's environment names the session  observed
                + tool call toolu_wide_2_2 of the session was running here  observed
    Authors     claude-code 01234567  "Please do the work."  (issue 42, PR 7)  19 lines  [certain]
                notes.md:1-19
    "#);
    insta::assert_snapshot!(asking.ask("why notes.md", 80), @r#"
    Lines       claude-code 01234567  "Please do…"  (issue 42, PR 7)  [certain]
                notes.md:1-19, came with 0123456789
    Prompt      Please write down all that is known of the work, and commit it when
                it is done
    Resume      claude --resume wide
    "#);
    insta::assert_snapshot!(asking.ask("why notes.md", 160), @r#"
    Lines       claude-code 01234567  "Please do the work."  (issue 42, PR 7)  [certain]
                notes.md:1-19, came with 0123456789
    Prompt      Please write down all that is known of the work, and commit it when it is done
    Resume      claude --resume wide
    "#);
    insta::assert_snapshot!(asking.ask("check HEAD", 80), @r#"
    COMMIT      SUBJECT                        REASON
    0123456789  By something that no hook saw  unrecorded
                it is not recorded; run `siglum adopt 0123456789 SESSION` if you
                know its session, or pass `--allow unrecorded`
    error: 1 of 3 commits failed in HEAD: 1 unrecorded
    "#);
    insta::assert_snapshot!(asking.ask("check HEAD", 160), @r#"
    COMMIT      SUBJECT                        REASON
    0123456789  By something that no hook saw  unrecorded
                it is not recorded; run `siglum adopt 0123456789 SESSION` if you know its session, or pass `--allow unrecorded`
    error: 1 of 3 commits failed in HEAD: 1 unrecorded
    "#);
    insta::assert_snapshot!(asking.ask("check HEAD --deny before", 80), @r#"
    COMMIT      SUBJECT                        REASON
    0123456789  By something that no hook saw  unrecorded
                it is not recorded; run `siglum adopt 0123456789 SESSION` if you
                know its session, or pass `--allow unrecorded`
    0123456789  base                           before
                it is older than Siglum in this repository; run
                `siglum adopt 0123456789 SESSION` if you know its session
    error: 2 of 3 commits failed in HEAD: 1 unrecorded, 1 before
    "#);
    insta::assert_snapshot!(asking.ask("check HEAD --deny before", 160), @r#"
    COMMIT      SUBJECT                        REASON
    0123456789  By something that no hook saw  unrecorded
                it is not recorded; run `siglum adopt 0123456789 SESSION` if you know its session, or pass `--allow unrecorded`
    0123456789  base                           before
                it is older than Siglum in this repository; run `siglum adopt 0123456789 SESSION` if you know its session
    error: 2 of 3 commits failed in HEAD: 1 unrecorded, 1 before
    "#);
    insta::assert_snapshot!(asking.ask("cost", 80), @r#"
    Last 30 days (`--since all` covers everything)
    SESSION   INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST     TITLE
    01234567  1 000     100           0            0  $0.0015  Please do the work.
    total     1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost", 160), @r#"
    Last 30 days (`--since all` covers everything)
    SESSION   INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST     TITLE
    01234567  1 000     100           0            0  $0.0015  Please do the work.
    total     1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost --by session", 80), @r#"
    Last 30 days (`--since all` covers everything)
    SESSION   INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST     TITLE
    01234567  1 000     100           0            0  $0.0015  Please do the work.
    total     1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost --by session", 160), @r#"
    Last 30 days (`--since all` covers everything)
    SESSION   INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST     TITLE
    01234567  1 000     100           0            0  $0.0015  Please do the work.
    total     1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost --by commit", 80), @r#"
    Last 30 days (`--since all` covers everything)
    COMMIT           INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST     TITLE
    not in a commit  1 000     100           0            0  $0.0015
    total            1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost --by commit", 160), @r#"
    Last 30 days (`--since all` covers everything)
    COMMIT           INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST     TITLE
    not in a commit  1 000     100           0            0  $0.0015
    total            1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost --by issue", 80), @r#"
    Last 30 days (`--since all` covers everything)
    ISSUE  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST
    42     1 000     100           0            0  $0.0015
    total  1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("cost --by issue", 160), @r#"
    Last 30 days (`--since all` covers everything)
    ISSUE  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST
    42     1 000     100           0            0  $0.0015
    total  1 000     100           0            0  $0.0015
    "#);
    insta::assert_snapshot!(asking.ask("status", 80), @r#"
    Siglum is on in /a/repo.

    git           hooks installed
    Claude Code   hooks installed in ~/.claude/settings.json
    Codex         hooks installed in ~/.codex/hooks.json
    Gemini CLI    hooks installed in ~/.gemini/settings.json
    OpenCode      hooks installed in ~/.config/opencode/plugins/siglum.js
    Pi            hooks installed in ~/.pi/agent/extensions/siglum.ts
    Qwen Code     hooks installed in ~/.qwen/settings.json
    Copilot CLI   hooks installed in ~/.copilot/hooks/siglum.json

    SESSION   AGENT        STATE    LAST  WHERE  TITLE
    01234567  claude-code  waiting  now   here   Please do the work.

    Waiting       nothing
    Worker        running
    "#);
    insta::assert_snapshot!(asking.ask("status", 160), @r#"
    Siglum is on in /a/repo.

    git           hooks installed
    Claude Code   hooks installed in ~/.claude/settings.json
    Codex         hooks installed in ~/.codex/hooks.json
    Gemini CLI    hooks installed in ~/.gemini/settings.json
    OpenCode      hooks installed in ~/.config/opencode/plugins/siglum.js
    Pi            hooks installed in ~/.pi/agent/extensions/siglum.ts
    Qwen Code     hooks installed in ~/.qwen/settings.json
    Copilot CLI   hooks installed in ~/.copilot/hooks/siglum.json

    SESSION   AGENT        STATE    LAST  WHERE  TITLE
    01234567  claude-code  waiting  now   here   Please do the work.

    Waiting       nothing
    Worker        running
    "#);
    insta::assert_snapshot!(asking.ask("session list", 80), @r#"
    SESSION   AGENT        STATE    LAST  TURNS  COMMITS  LINKS         TITLE
    01234567  claude-code  waiting  now       2        1  issue 42, P…  Please do t…
    "#);
    insta::assert_snapshot!(asking.ask("session list", 160), @r#"
    SESSION   AGENT        STATE    LAST  TURNS  COMMITS  LINKS           TITLE
    01234567  claude-code  waiting  now       2        1  issue 42, PR 7  Please do the work.
    "#);
    insta::assert_snapshot!(asking.ask("session show {session}", 80), @r#"
    claude-code 01234567  "Please do the work."

    Session       ses_0123456789abcdef0123456789abcdef
    Conversation  wide
    State         waiting
    Started       2026-11-26 12:34:56
    Last seen     now
    Directory     /a/repo
    Links         issue 42 (cli), PR 7 (cli)
    Models        claude-haiku-4-5-20251001
    Tokens        1 000 in, 100 out
    Sealed        all 15 entries
    Resume        claude --resume wide

    Turn 1  2026-11-26 12:34:56  no stop seen  1 000 in, 100 out
      > Please do the work.
      < wide 1

    Turn 2  2026-11-26 12:34:56  sealed
      > Please write down all that is known of the work, and commit it when it is
        done
        Write notes.md
          @@ -0,0 +1,19 @@
          +What is known of item 1
          +What is known of item 2
          +What is known of item 3
          +What is known of item 4
          +What is known of item 5
          +What is known of item 6
          +What is known of item 7
          … 12 more lines; pass `--full` to show all
        Bash git add -A && git commit -q -m 'Write down all that is known of the w…
      < Done.
      commit 0123456789  Write down all that is known of the work that i…  [certain]
    "#);
    insta::assert_snapshot!(asking.ask("session show {session}", 160), @r#"
    claude-code 01234567  "Please do the work."

    Session       ses_0123456789abcdef0123456789abcdef
    Conversation  wide
    State         waiting
    Started       2026-11-26 12:34:56
    Last seen     now
    Directory     /a/repo
    Links         issue 42 (cli), PR 7 (cli)
    Models        claude-haiku-4-5-20251001
    Tokens        1 000 in, 100 out
    Sealed        all 15 entries
    Resume        claude --resume wide

    Turn 1  2026-11-26 12:34:56  no stop seen  1 000 in, 100 out
      > Please do the work.
      < wide 1

    Turn 2  2026-11-26 12:34:56  sealed
      > Please write down all that is known of the work, and commit it when it is done
        Write notes.md
          @@ -0,0 +1,19 @@
          +What is known of item 1
          +What is known of item 2
          +What is known of item 3
          +What is known of item 4
          +What is known of item 5
          +What is known of item 6
          +What is known of item 7
          … 12 more lines; pass `--full` to show all
        Bash git add -A && git commit -q -m 'Write down all that is known of the work that is under way'
      < Done.
      commit 0123456789  Write down all that is known of the work that is under way  [certain]
    "#);
    insta::assert_snapshot!(asking.ask("checkpoint list", 80), @r#"
    CHECKPOINT  KIND    COMMIT      AGE  SESSIONS  LINKS           ABOUT
    01234567    commit  0123456789  now  01234567  issue 42, PR 7  Write down all t…
    "#);
    insta::assert_snapshot!(asking.ask("checkpoint list", 160), @r#"
    CHECKPOINT  KIND    COMMIT      AGE  SESSIONS  LINKS           ABOUT
    01234567    commit  0123456789  now  01234567  issue 42, PR 7  Write down all that is known of the work that is under way
    "#);
    insta::assert_snapshot!(asking.ask("search done", 80), @r#"
    SESSION   AGENT        LAST                 TURN  WHERE   TEXT
    01234567  claude-code  2026-11-26 12:34:56     2  prompt  …own all that is know…
                                                   2  answer  Done.
    hint: Run `siglum show 01234567 --turn 2` to read it, or
      `claude --resume wide` to continue it.
    "#);
    insta::assert_snapshot!(asking.ask("search done", 160), @r#"
    SESSION   AGENT        LAST                 TURN  WHERE   TEXT
    01234567  claude-code  2026-11-26 12:34:56     2  prompt  …own all that is known of the work, and commit it when it is done
                                                   2  answer  Done.
    hint: Run `siglum show 01234567 --turn 2` to read it, or `claude --resume wide` to continue it.
    "#);
    insta::assert_snapshot!(asking.ask("audit list", 80), @r#"
    NUMBER  AT                   ACTION         SESSION   ACTOR    WHAT
         2  2026-11-26 12:34:56  link.attached  01234567  unknown  pr_number=7 sour…
         1  2026-11-26 12:34:56  link.attached  01234567  unknown  issue_number=42…
    "#);
    insta::assert_snapshot!(asking.ask("audit list", 160), @r#"
    NUMBER  AT                   ACTION         SESSION   ACTOR    WHAT
         2  2026-11-26 12:34:56  link.attached  01234567  unknown  pr_number=7 source=cli
         1  2026-11-26 12:34:56  link.attached  01234567  unknown  issue_number=42 source=cli
    "#);
    insta::assert_snapshot!(asking.ask("link list {session}", 80), @r#"
    FIELD         VALUE  BY             SINCE
    issue_number  42     unknown (cli)  2026-11-26 12:34:56
    pr_number     7      unknown (cli)  2026-11-26 12:34:56
    "#);
    insta::assert_snapshot!(asking.ask("link list {session}", 160), @r#"
    FIELD         VALUE  BY             SINCE
    issue_number  42     unknown (cli)  2026-11-26 12:34:56
    pr_number     7      unknown (cli)  2026-11-26 12:34:56
    "#);
    insta::assert_snapshot!(asking.ask("projection list", 80), @r#"No projections; add one with `siglum projection add`."#);
    insta::assert_snapshot!(asking.ask("projection list", 160), @r#"No projections; add one with `siglum projection add`."#);
    insta::assert_snapshot!(asking.ask("otel list", 80), @r#"No endpoints; add one with `siglum otel add`."#);
    insta::assert_snapshot!(asking.ask("otel list", 160), @r#"No endpoints; add one with `siglum otel add`."#);
    insta::assert_snapshot!(asking.ask("token list", 80), @r#"No tokens; create one with `siglum token create`."#);
    insta::assert_snapshot!(asking.ask("token list", 160), @r#"No tokens; create one with `siglum token create`."#);
    insta::assert_snapshot!(asking.ask("heartbeat list", 80), @r#"No heartbeats; run `siglum heartbeat add` to add one."#);
    insta::assert_snapshot!(asking.ask("heartbeat list", 160), @r#"No heartbeats; run `siglum heartbeat add` to add one."#);
    insta::assert_snapshot!(asking.ask("context list", 80), @r#"No run has a context yet."#);
    insta::assert_snapshot!(asking.ask("context list", 160), @r#"No run has a context yet."#);
    insta::assert_snapshot!(asking.ask("pipeline list", 80), @r#"No pipelines; link a session to one with `siglum run --pipeline ID`."#);
    insta::assert_snapshot!(asking.ask("pipeline list", 160), @r#"No pipelines; link a session to one with `siglum run --pipeline ID`."#);
    insta::assert_snapshot!(asking.ask("verify --all", 80), @r#"
     1  sessions
     5  receipts
    15  entries
    15  payloads
     0  forgotten payloads
     1  transcript segments
     1  file versions
     0  projection cursors
     2  audit entries
     0  missing
     0  damaged
    Everything was verified.
    "#);
    insta::assert_snapshot!(asking.ask("verify --all", 160), @r#"
     1  sessions
     5  receipts
    15  entries
    15  payloads
     0  forgotten payloads
     1  transcript segments
     1  file versions
     0  projection cursors
     2  audit entries
     0  missing
     0  damaged
    Everything was verified.
    "#);
    insta::assert_snapshot!(asking.ask("import --dry-run", 80), @r#"0 transcripts would be imported (0 B); nothing was changed."#);
    insta::assert_snapshot!(asking.ask("import --dry-run", 160), @r#"0 transcripts would be imported (0 B); nothing was changed."#);
}
