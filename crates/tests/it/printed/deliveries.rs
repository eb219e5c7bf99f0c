//! Where sessions are sent: projections, endpoints for traces, and a gateway.

use super::{Asking, settings};
use crate::harness::{Gateway, World};

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "projection add copies --directory copies --all-repositories",
    "projection list",
    "projection show copies",
    "projection scope copies",
    "projection retry copies",
    "projection skip copies {session}",
    "projection remove copies",
    "otel add traces http://127.0.0.1:9/ --all-repositories",
    "otel list",
    "otel test traces",
    "otel remove traces",
    "otel unassigned",
    "sync",
    "sync --to {gateway}",
    "sync --to http://127.0.0.1:9",
];

fn played(columns: usize) -> String {
    let world = World::new();
    let mut asking = Asking::begin(&world);
    let gateway = Gateway::start(&world);
    asking.names.push(("{gateway}", gateway.url));
    let _held = world.hold_worker();
    asking.story(COMMANDS, columns)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn deliveries_at_80_and_at_160_columns() {
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(played(80), @r#"
    $ siglum projection add copies --directory copies --all-repositories
    Added projection copies.
    Scope: repository /a/repo and sessions without a
      repository, conversations; 1 session in scope, 0 outside.

    $ siglum projection list
    NAME    HEALTH  RECEIPTS  SESSIONS  SECONDS  FAILING  PARKED  KIND
    copies  ok             5         1        2        0       0  directory
      /a/repo/copies
      repository /a/repo and sessions without a repository,
        conversations; 1 session in scope, 0 outside

    $ siglum projection show copies
    copies  directory /a/repo/copies
    ok: lacks 5 receipts of 1 session, 2 s behind; added 2026-11-26 12:34:56
    scope: repository /a/repo and sessions without a
      repository, conversations; 1 session in scope, 0 outside

    $ siglum projection scope copies
    copies: repository /a/repo and sessions without a
      repository, conversations; 1 session in scope, 0 outside

    $ siglum projection retry copies
    Retrying 1 session now.

    $ siglum projection skip copies {session}
    Skipped receipt 1 of session 01234567.

    $ siglum projection remove copies
    Removed projection copies; delivered data is kept in directory
      /a/repo/copies.

    $ siglum otel add traces http://127.0.0.1:9/ --all-repositories
    Added endpoint traces: sends traces of committed turns to http://127.0.0.1:9.
    Scope: repository /a/repo and sessions without a
      repository, verdicts; 1 session in scope, 0 outside.
    hint: Run `siglum otel test traces` to send a test span.

    $ siglum otel list
    NAME    HEALTH  DUE  SECONDS  PARKED  LOST  ENDPOINT
    traces  ok        5        2       0     0  http://127.0.0.1:9
      sessions over http/protobuf, without content, sample 100%
      repository /a/repo and sessions without a repository,
        verdicts; 1 session in scope, 0 outside

    $ siglum otel test traces
    error: the test failed after 2 ms: cannot connect to http://127.0.0.1:9:
      Connection refused (os error 111)
    hint: Check that the server runs, and the port: usually 4318 for HTTP, 4317
      for gRPC.

    $ siglum otel remove traces
    Removed endpoint traces; data at http://127.0.0.1:9 is kept.

    $ siglum otel unassigned
    No unassigned telemetry.

    $ siglum sync
    error: no gateway configured
    hint: Run `siglum sync --to URL` to add one.

    $ siglum sync --to {gateway}
    gateway-127-0-0-1: sent 5 receipts, 2 statements, 4 documents to
      http://127.0.0.1:12345; up to date
      scope: repository /a/repo, conversations; 1 session in
        scope, 0 outside

    $ siglum sync --to http://127.0.0.1:9
    gateway-127-0-0-1-2: sent 0 receipts, 0 statements, 0 documents to
      http://127.0.0.1:9; 5 receipts, 2 statements, 4 documents left to send
      scope: repository /a/repo, conversations; 1 session in
        scope, 0 outside
    error: gateway-127-0-0-1-2: cannot connect to http://127.0.0.1:9: Connection
      refused (os error 111)
    hint: Unsent data is kept; the worker and the next `siglum sync` retry. Run
      `siglum projection show gateway-127-0-0-1-2` for details.
    "#);
    insta::assert_snapshot!(played(160), @r#"
    $ siglum projection add copies --directory copies --all-repositories
    Added projection copies.
    Scope: repository /a/repo and sessions without a repository, conversations; 1 session in scope, 0 outside.

    $ siglum projection list
    NAME    HEALTH  RECEIPTS  SESSIONS  SECONDS  FAILING  PARKED  KIND
    copies  ok             5         1        2        0       0  directory
      /a/repo/copies
      repository /a/repo and sessions without a repository, conversations; 1 session in scope, 0 outside

    $ siglum projection show copies
    copies  directory /a/repo/copies
    ok: lacks 5 receipts of 1 session, 2 s behind; added 2026-11-26 12:34:56
    scope: repository /a/repo and sessions without a repository, conversations; 1 session in scope, 0 outside

    $ siglum projection scope copies
    copies: repository /a/repo and sessions without a repository, conversations; 1 session in scope, 0 outside

    $ siglum projection retry copies
    Retrying 1 session now.

    $ siglum projection skip copies {session}
    Skipped receipt 1 of session 01234567.

    $ siglum projection remove copies
    Removed projection copies; delivered data is kept in directory /a/repo/copies.

    $ siglum otel add traces http://127.0.0.1:9/ --all-repositories
    Added endpoint traces: sends traces of committed turns to http://127.0.0.1:9.
    Scope: repository /a/repo and sessions without a repository, verdicts; 1 session in scope, 0 outside.
    hint: Run `siglum otel test traces` to send a test span.

    $ siglum otel list
    NAME    HEALTH  DUE  SECONDS  PARKED  LOST  ENDPOINT
    traces  ok        5        2       0     0  http://127.0.0.1:9
      sessions over http/protobuf, without content, sample 100%
      repository /a/repo and sessions without a repository, verdicts; 1 session in scope, 0 outside

    $ siglum otel test traces
    error: the test failed after 2 ms: cannot connect to http://127.0.0.1:9: Connection refused (os error 111)
    hint: Check that the server runs, and the port: usually 4318 for HTTP, 4317 for gRPC.

    $ siglum otel remove traces
    Removed endpoint traces; data at http://127.0.0.1:9 is kept.

    $ siglum otel unassigned
    No unassigned telemetry.

    $ siglum sync
    error: no gateway configured
    hint: Run `siglum sync --to URL` to add one.

    $ siglum sync --to {gateway}
    gateway-127-0-0-1: sent 5 receipts, 2 statements, 4 documents to http://127.0.0.1:12345; up to date
      scope: repository /a/repo, conversations; 1 session in scope, 0 outside

    $ siglum sync --to http://127.0.0.1:9
    gateway-127-0-0-1-2: sent 0 receipts, 0 statements, 0 documents to http://127.0.0.1:9; 5 receipts, 2 statements, 4 documents left to send
      scope: repository /a/repo, conversations; 1 session in scope, 0 outside
    error: gateway-127-0-0-1-2: cannot connect to http://127.0.0.1:9: Connection refused (os error 111)
    hint: Unsent data is kept; the worker and the next `siglum sync` retry. Run `siglum projection show gateway-127-0-0-1-2` for details.
    "#);
}
