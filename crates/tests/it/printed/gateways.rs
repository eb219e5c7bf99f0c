//! The gateway: tokens, logins and heartbeats.

use super::{Asking, settings};
use crate::harness::World;

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "token create --name laptop",
    "token list",
    "token rotate {token}",
    "token revoke {token}",
    "token list",
    "token release led_0123456789abcdef0123456789abcdef",
    "heartbeat add daily --agent claude-code --every 1d --prompt 'Look at what is open'",
    "heartbeat list",
    "heartbeat show daily",
    "heartbeat pause daily",
    "heartbeat show daily",
    "heartbeat resume daily",
    "heartbeat run daily --gateway http://127.0.0.1:9",
    "heartbeat remove daily",
    "login",
    "login http://127.0.0.1:9",
    "logout",
    "serve --plain --listen 127.0.0.1:0 2>served & until grep -qs ' serves ' served || ! kill -0 $!; do sleep 0.1; done; kill $!; wait $!; cat served",
];

fn played(columns: usize) -> String {
    let world = World::new();
    let mut asking = Asking::begin(&world);
    let token = world.json(&asking.repo.dir, &["token", "create", "--name", "ci"]);
    let token = token["token"]["id"].as_str().unwrap().to_owned();
    asking.names.push(("{token}", token));
    let _held = world.hold_worker();
    asking.story(COMMANDS, columns)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a list of answers")]
fn gateways_at_80_and_at_160_columns() {
    let _settings = settings().bind_to_scope();
    insta::assert_snapshot!(played(80), @r#"
    $ siglum token create --name laptop
    siglum_default_0123456789abcdef
    Created token 01234567 (laptop) for launchers; it expires on 2026-11-26
      12:34:56.
    hint: Store it now: it is not shown again; the ledger keeps only a digest.

    $ siglum token list
    TOKEN     FOR       STATE   EXPIRES              USED   BY       NAME
    01234567  launcher  active  2026-11-26 12:34:56  never  unknown  laptop
    01234567  launcher  active  2026-11-26 12:34:56  never  unknown  ci

    $ siglum token rotate {token}
    siglum_default_0123456789abcdef
    Token 01234567 replaces 01234567, which stays valid until 2026-11-26 12:34:56;
      it expires on 2026-11-26 12:34:56.
    hint: Store it now: it is not shown again; the ledger keeps only a digest.

    $ siglum token revoke {token}
    Revoked token 01234567.

    $ siglum token list
    TOKEN     FOR       STATE    EXPIRES              USED   BY       NAME
    01234567  launcher  active   2026-11-26 12:34:56  never  unknown  ci
    01234567  launcher  active   2026-11-26 12:34:56  never  unknown  laptop
    01234567  launcher  revoked  2026-11-26 12:34:56  never  unknown  ci

    $ siglum token release led_0123456789abcdef0123456789abcdef
    error: ledger led_0123456789abcdef0123456789abcdef is not registered here

    $ siglum heartbeat add daily --agent claude-code --every 1d --prompt 'Look at what is open'
    Heartbeat daily is due next 2026-11-26 12:34:56.
    hint: It runs only while `siglum serve --run claude-code --workdir DIR` is
      running.

    $ siglum heartbeat list
    HEARTBEAT  NEXT                 LAST  ALIVE  TICKS  TARGET  ROUTE
    daily      2026-11-26 12:34:56  -     never      0  log     heartbeat:daily

    $ siglum heartbeat show daily
    daily is due 2026-11-26 12:34:56
    claude-code · heartbeat:daily · log
    No ticks yet.

    $ siglum heartbeat pause daily
    Paused heartbeat daily.

    $ siglum heartbeat show daily
    daily has been paused since 2026-11-26 12:34:56
    claude-code · heartbeat:daily · log
    No ticks yet.

    $ siglum heartbeat resume daily
    Resumed heartbeat daily.

    $ siglum heartbeat run daily --gateway http://127.0.0.1:9
    error: cannot connect to http://127.0.0.1:9: Connection refused (os error 111)
    hint: Start a gateway with `siglum serve --run AGENT --workdir DIR`, or pass
      the address of one with `--gateway`.

    $ siglum heartbeat remove daily
    Removed heartbeat daily.

    $ siglum login
    error: no gateway is named
    hint: Pass its URL: `siglum login https://…`.

    $ siglum login http://127.0.0.1:9
    error: cannot connect to http://127.0.0.1:9: Connection refused (os error 111)

    $ siglum logout
    error: not logged in to any gateway

    $ siglum serve --plain --listen 127.0.0.1:0 2>served & until grep -qs ' serves ' served || ! kill -0 $!; do sleep 0.1; done; kill $!; wait $!; cat served
    Serving at http://127.0.0.1:12345.
    2026-11-26T12:34:56Z  INFO siglum 0.1.0 serves /a/siglum/ledger.db at http://127.0.0.1:12345 address=127.0.0.1:12345 store=/a/siglum/ledger.db version="0.1.0"
    2026-11-26T12:34:56Z  INFO stopping; 0 runs are in progress runs=0
    2026-11-26T12:34:56Z  INFO stopped
    "#);
    insta::assert_snapshot!(played(160), @r#"
    $ siglum token create --name laptop
    siglum_default_0123456789abcdef
    Created token 01234567 (laptop) for launchers; it expires on 2026-11-26 12:34:56.
    hint: Store it now: it is not shown again; the ledger keeps only a digest.

    $ siglum token list
    TOKEN     FOR       STATE   EXPIRES              USED   BY       NAME
    01234567  launcher  active  2026-11-26 12:34:56  never  unknown  laptop
    01234567  launcher  active  2026-11-26 12:34:56  never  unknown  ci

    $ siglum token rotate {token}
    siglum_default_0123456789abcdef
    Token 01234567 replaces 01234567, which stays valid until 2026-11-26 12:34:56; it expires on 2026-11-26 12:34:56.
    hint: Store it now: it is not shown again; the ledger keeps only a digest.

    $ siglum token revoke {token}
    Revoked token 01234567.

    $ siglum token list
    TOKEN     FOR       STATE    EXPIRES              USED   BY       NAME
    01234567  launcher  active   2026-11-26 12:34:56  never  unknown  ci
    01234567  launcher  active   2026-11-26 12:34:56  never  unknown  laptop
    01234567  launcher  revoked  2026-11-26 12:34:56  never  unknown  ci

    $ siglum token release led_0123456789abcdef0123456789abcdef
    error: ledger led_0123456789abcdef0123456789abcdef is not registered here

    $ siglum heartbeat add daily --agent claude-code --every 1d --prompt 'Look at what is open'
    Heartbeat daily is due next 2026-11-26 12:34:56.
    hint: It runs only while `siglum serve --run claude-code --workdir DIR` is running.

    $ siglum heartbeat list
    HEARTBEAT  NEXT                 LAST  ALIVE  TICKS  TARGET  ROUTE
    daily      2026-11-26 12:34:56  -     never      0  log     heartbeat:daily

    $ siglum heartbeat show daily
    daily is due 2026-11-26 12:34:56
    claude-code · heartbeat:daily · log
    No ticks yet.

    $ siglum heartbeat pause daily
    Paused heartbeat daily.

    $ siglum heartbeat show daily
    daily has been paused since 2026-11-26 12:34:56
    claude-code · heartbeat:daily · log
    No ticks yet.

    $ siglum heartbeat resume daily
    Resumed heartbeat daily.

    $ siglum heartbeat run daily --gateway http://127.0.0.1:9
    error: cannot connect to http://127.0.0.1:9: Connection refused (os error 111)
    hint: Start a gateway with `siglum serve --run AGENT --workdir DIR`, or pass the address of one with `--gateway`.

    $ siglum heartbeat remove daily
    Removed heartbeat daily.

    $ siglum login
    error: no gateway is named
    hint: Pass its URL: `siglum login https://…`.

    $ siglum login http://127.0.0.1:9
    error: cannot connect to http://127.0.0.1:9: Connection refused (os error 111)

    $ siglum logout
    error: not logged in to any gateway

    $ siglum serve --plain --listen 127.0.0.1:0 2>served & until grep -qs ' serves ' served || ! kill -0 $!; do sleep 0.1; done; kill $!; wait $!; cat served
    Serving at http://127.0.0.1:12345.
    2026-11-26T12:34:56Z  INFO siglum 0.1.0 serves /a/siglum/ledger.db at http://127.0.0.1:12345 address=127.0.0.1:12345 store=/a/siglum/ledger.db version="0.1.0"
    2026-11-26T12:34:56Z  INFO stopping; 0 runs are in progress runs=0
    2026-11-26T12:34:56Z  INFO stopped
    "#);
}
