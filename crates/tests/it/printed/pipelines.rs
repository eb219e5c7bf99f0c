//! Pipelines.

use super::{Asking, settings};
use crate::harness::World;

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "pipeline plan release build review",
    "pipeline phase start release build",
    "pipeline phase wait release build",
    "pipeline phase end release build",
    "pipeline check release tests passed",
    "pipeline review release approved --text 'Fine, as far as can be seen'",
    "pipeline contract release scope --file notes.md",
    "link add {session} pipeline=release phase=build role=writer",
    "pipeline list",
    "pipeline show release",
    "pipeline end release",
];

fn played(columns: usize) -> String {
    let world = World::new();
    let asking = Asking::begin(&world);
    let _held = world.hold_worker();
    asking.story(COMMANDS, columns)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn pipelines_at_80_and_at_160_columns() {
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(played(80), @r#"
    $ siglum pipeline plan release build review
    Recorded event 1 of pipeline release: planned.

    $ siglum pipeline phase start release build
    Recorded event 2 of pipeline release: phase started.

    $ siglum pipeline phase wait release build
    Recorded event 3 of pipeline release: phase awaiting.

    $ siglum pipeline phase end release build
    Recorded event 4 of pipeline release: phase ended.

    $ siglum pipeline check release tests passed
    Recorded event 5 of pipeline release: check.

    $ siglum pipeline review release approved --text 'Fine, as far as can be seen'
    Recorded event 6 of pipeline release: review.

    $ siglum pipeline contract release scope --file notes.md
    Recorded event 7 of pipeline release: contract.

    $ siglum link add {session} pipeline=release phase=build role=writer
    Attached pipeline release to session 01234567.
    Attached phase build to session 01234567.
    Attached role writer to session 01234567.

    $ siglum pipeline list
    STATE    PHASES  SESSIONS  COMMITS  BEGAN  TOOK  PIPELINE
    running     1/2         1        1  now      1s release

    $ siglum pipeline show release
    ▶ release · running · 1s
    ████████████████████░░░░░░░░░░░░░░░░░░░░ 50 % · 1 of 2 phases over
    [✓ build] → ○ review

    ┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
    ┃ ✓ build                                    completed · 1s ┃
    ┃ ┏━━━━━━━━━━━━━━━━━━━━━━┓                                  ┃
    ┃ ┃ ‖ writer             ┃                                  ┃
    ┃ ┃ waiting · 1s ┃                                  ┃
    ┃ ┃ 01234567 claude-code ┃                                  ┃
    ┃ ┃ 1 commit             ┃                                  ┃
    ┃ ┗━━━━━━━━━━━━━━━━━━━━━━┛                                  ┃
    ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                                  │
                                  ▼
    ┌───────────────────────────────────────────────────────────┐
    │ ○ review                                          pending │
    └───────────────────────────────────────────────────────────┘

    ┌───────────────────────────────────────────────────────────┐
    │ ○ no phase                                        pending │
    │ contract scope 01234567                                   │
    │ check ✓ tests passed, reported by unknown                 │
    │ review ✓ approved by unknown: Fine, as far as can be seen │
    └───────────────────────────────────────────────────────────┘

    1 session (1 live) · 1 commit · tokens: 1 000 in, 0 cached, 100 out
    cost $0.0015
    checks: all passed: 1 passed

    $ siglum pipeline end release
    Recorded event 8 of pipeline release: ended.
    "#);
    insta::assert_snapshot!(played(160), @r#"
    $ siglum pipeline plan release build review
    Recorded event 1 of pipeline release: planned.

    $ siglum pipeline phase start release build
    Recorded event 2 of pipeline release: phase started.

    $ siglum pipeline phase wait release build
    Recorded event 3 of pipeline release: phase awaiting.

    $ siglum pipeline phase end release build
    Recorded event 4 of pipeline release: phase ended.

    $ siglum pipeline check release tests passed
    Recorded event 5 of pipeline release: check.

    $ siglum pipeline review release approved --text 'Fine, as far as can be seen'
    Recorded event 6 of pipeline release: review.

    $ siglum pipeline contract release scope --file notes.md
    Recorded event 7 of pipeline release: contract.

    $ siglum link add {session} pipeline=release phase=build role=writer
    Attached pipeline release to session 01234567.
    Attached phase build to session 01234567.
    Attached role writer to session 01234567.

    $ siglum pipeline list
    STATE    PHASES  SESSIONS  COMMITS  BEGAN  TOOK  PIPELINE
    running     1/2         1        1  now      1s release

    $ siglum pipeline show release
    ▶ release · running · 1s
    ████████████████████░░░░░░░░░░░░░░░░░░░░ 50 % · 1 of 2 phases over
    [✓ build] → ○ review

    ┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
    ┃ ✓ build                                    completed · 1s ┃
    ┃ ┏━━━━━━━━━━━━━━━━━━━━━━┓                                  ┃
    ┃ ┃ ‖ writer             ┃                                  ┃
    ┃ ┃ waiting · 1s ┃                                  ┃
    ┃ ┃ 01234567 claude-code ┃                                  ┃
    ┃ ┃ 1 commit             ┃                                  ┃
    ┃ ┗━━━━━━━━━━━━━━━━━━━━━━┛                                  ┃
    ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
                                  │
                                  ▼
    ┌───────────────────────────────────────────────────────────┐
    │ ○ review                                          pending │
    └───────────────────────────────────────────────────────────┘

    ┌───────────────────────────────────────────────────────────┐
    │ ○ no phase                                        pending │
    │ contract scope 01234567                                   │
    │ check ✓ tests passed, reported by unknown                 │
    │ review ✓ approved by unknown: Fine, as far as can be seen │
    └───────────────────────────────────────────────────────────┘

    1 session (1 live) · 1 commit · tokens: 1 000 in, 0 cached, 100 out · cost $0.0015
    checks: all passed: 1 passed

    $ siglum pipeline end release
    Recorded event 8 of pipeline release: ended.
    "#);
}
