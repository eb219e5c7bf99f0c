//! Credentials, from their issue to their end.

use std::time::Duration;

use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::observation::StartKind;
use siglum_domain::{SessionId, TokenId, TokenName};
use siglum_ledger::AuditFilter;
use uuid::Uuid;

use super::stage::{Stage, at, says, started};
use crate::identity::access::*;

const HOUR: i64 = 3600;

fn id(n: u128) -> TokenId {
    TokenId::from_uuid(Uuid::from_u128(n))
}

fn new(n: u128, expires: Option<i64>) -> NewToken {
    NewToken {
        id: id(n),
        digest: format!("digest {n}"),
        scope: Scope::Launcher,
        limits: Limits::default(),
        name: TokenName::new(format!("token {n}")).unwrap(),
        by: "Ann".to_owned(),
        expires_at: expires.map(at),
    }
}

fn issued(stage: &mut Stage, token: &NewToken) {
    stage.play(|here, ledger| issue(here, ledger, token).unwrap());
}

/// Who the token is said to be of, or the code of the refusal.
fn authenticated_caller(stage: &mut Stage, n: u128) -> Result<Caller, &'static str> {
    let digest = format!("digest {n}");
    stage.play(|here, ledger| authenticate(here, ledger, &digest).map_err(|e| e.code()))
}

#[test]
fn a_token_is_taken_until_it_expires() {
    let mut stage = Stage::new();
    issued(&mut stage, &new(1, Some(2000)));
    issued(&mut stage, &new(2, None));
    let caller = authenticated_caller(&mut stage, 1).unwrap();
    assert_eq!((caller.token, caller.scope), (id(1), Scope::Launcher));
    assert_eq!(caller.name, "token 1");
    assert_eq!(authenticated_caller(&mut stage, 3), Err("token-unknown"));
    stage.now.set(1999);
    assert!(authenticated_caller(&mut stage, 1).is_ok());
    stage.now.set(2000);
    assert_eq!(authenticated_caller(&mut stage, 1), Err("token-expired"));
    stage.now.set(2_000_000_000);
    assert!(authenticated_caller(&mut stage, 2).is_ok());
}

#[test]
fn a_token_that_was_revoked_is_refused_and_that_it_expired_does_not_hide_it() {
    let mut stage = Stage::new();
    issued(&mut stage, &new(1, Some(1500)));
    let mut revoke =
        |n| stage.play(|here, ledger| revoke(here, ledger, id(n), "Ann").map_err(|e| e.code()));
    assert_eq!(revoke(1), Ok(true));
    assert_eq!(revoke(1), Ok(false));
    assert_eq!(revoke(2), Err("token-unknown"));
    assert_eq!(authenticated_caller(&mut stage, 1), Err("token-revoked"));
    stage.now.set(1600);
    assert_eq!(authenticated_caller(&mut stage, 1), Err("token-revoked"));
}

#[test]
fn an_old_token_holds_for_the_grace_and_is_replaced_once() {
    let mut stage = Stage::new();
    issued(&mut stage, &new(1, None));
    let replace = |stage: &mut Stage, old, n| {
        let grace = Duration::from_mins(1);
        stage.play(|here, ledger| {
            rotate(here, ledger, id(old), &new(n, None), grace).map_err(|e| e.code())
        })
    };
    assert!(replace(&mut stage, 1, 2).is_ok());
    assert!(
        authenticated_caller(&mut stage, 1).is_ok() && authenticated_caller(&mut stage, 2).is_ok()
    );
    assert_eq!(replace(&mut stage, 1, 3), Err("token-replaced"));
    assert_eq!(authenticated_caller(&mut stage, 3), Err("token-unknown"));
    stage.now.set(1060);
    assert_eq!(authenticated_caller(&mut stage, 1), Err("token-expired"));
    assert!(authenticated_caller(&mut stage, 2).is_ok());
    assert_eq!(replace(&mut stage, 1, 3), Err("token-expired"));
    assert_eq!(replace(&mut stage, 9, 3), Err("token-unknown"));
    stage.play(|here, ledger| rotate(here, ledger, id(2), &new(4, None), Duration::ZERO).unwrap());
    assert_eq!(authenticated_caller(&mut stage, 2), Err("token-expired"));
}

#[test]
fn a_token_keeps_its_limits_when_it_is_rotated_and_the_audit_names_them() {
    let mut stage = Stage::new();
    let limits = Limits::new([Right::Read], ["host/o/r".to_owned()]).unwrap();
    let narrow = NewToken {
        limits: limits.clone(),
        ..new(1, None)
    };
    issued(&mut stage, &narrow);
    stage.play(|here, ledger| rotate(here, ledger, id(1), &new(2, None), Duration::ZERO).unwrap());
    let caller = authenticated_caller(&mut stage, 2).unwrap();
    assert_eq!((caller.scope, caller.limits), (Scope::Launcher, limits));
    let audited = format!("{:?}", stage.read(|tx| tx.audit(&AuditFilter::default())));
    assert_eq!(audited.matches("host/o/r").count(), 2, "{audited}");
}

#[test]
fn a_token_of_a_session_needs_the_session_and_stays_with_it_when_it_is_rotated() {
    let mut stage = Stage::new();
    let session = stage.hear(says("one", vec![started(1, StartKind::Startup)]));
    let other = SessionId::from_uuid(Uuid::from_u128(7));
    let of = |n, session| NewToken {
        scope: Scope::Session(session),
        ..new(n, None)
    };
    let refused = stage.play(|here, ledger| issue(here, ledger, &of(1, other)).unwrap_err());
    assert_eq!(refused.code(), "session-unknown");
    assert_eq!(authenticated_caller(&mut stage, 1), Err("token-unknown"));
    issued(&mut stage, &of(2, session));
    stage.play(|here, ledger| rotate(here, ledger, id(2), &new(3, None), Duration::ZERO).unwrap());
    let caller = authenticated_caller(&mut stage, 3).unwrap();
    assert_eq!(caller.scope, Scope::Session(session));
    assert!(caller.may_act_for(session) && !caller.may_act_for(other));
}

#[test]
fn use_is_noted_once_an_hour() {
    let mut stage = Stage::new();
    issued(&mut stage, &new(1, None));
    let mut noted = Vec::new();
    for seconds in [0, 1, HOUR - 1, HOUR, HOUR + 1, 2 * HOUR] {
        stage.now.set(1000 + seconds);
        let caller = authenticated_caller(&mut stage, 1).unwrap();
        if caller.note_due {
            // Two requests at once: both are told that it is due.
            for _ in 0..2 {
                stage.play(|here, ledger| note_use(here, ledger, &caller).unwrap());
            }
            noted.push(seconds);
        }
        let last = stage.read(|tx| tx.token(id(1))).unwrap().last_used_at;
        assert_eq!(last, noted.last().map(|s| at(1000 + s)));
    }
    assert_eq!(noted, [0, HOUR, 2 * HOUR]);
}

/// The entries of the audit as `action outcome actor`, oldest first.
fn audited(stage: &mut Stage) -> Vec<String> {
    let all = AuditFilter::default();
    let entries = stage.play(|_, ledger| crate::identity::audit::list(ledger, &all).unwrap());
    let line = |e: &siglum_domain::audit::Entry| {
        let h = &e.header;
        format!("{} {} {}", h.action.as_str(), h.outcome.as_str(), h.actor)
    };
    entries.iter().rev().map(line).collect()
}

#[test]
fn the_life_of_a_token_is_in_the_audit() {
    let mut stage = Stage::new();
    issued(&mut stage, &new(1, None));
    let caller = authenticated_caller(&mut stage, 1).unwrap();
    stage.play(|here, ledger| {
        for _ in 0..3 {
            note_use(here, ledger, &caller).unwrap();
        }
        rotate(here, ledger, id(1), &new(2, None), Duration::ZERO).unwrap();
        rotate(here, ledger, id(1), &new(3, None), Duration::ZERO).unwrap_err();
        for _ in 0..2 {
            revoke(here, ledger, id(2), "Bob").unwrap();
        }
    });
    let bearer = format!("token {} token 1", id(1));
    assert_eq!(
        audited(&mut stage),
        [
            "token.created done Ann".to_owned(),
            format!("token.used done {bearer}"),
            "token.rotated done Ann".to_owned(),
            "token.revoked done Bob".to_owned(),
        ]
    );
}

#[test]
fn a_token_that_is_worth_nothing_is_audited_once_an_hour_and_an_unknown_one_each_time() {
    let mut stage = Stage::new();
    issued(&mut stage, &new(1, Some(900)));
    for seconds in [0, 1, HOUR - 1, HOUR + 1] {
        stage.now.set(1000 + seconds);
        for digest in ["digest 1", "digest 9"] {
            stage.play(|here, ledger| {
                let refusal = authenticate(here, ledger, digest).unwrap_err();
                let more = serde_json::json!({ "address": "192.0.2.7" });
                note_refusal(here, ledger, digest, &refusal, &more).unwrap();
            });
        }
    }
    let rows = audited(&mut stage);
    let known = format!("token.refused refused token {} token 1", id(1));
    assert_eq!(rows.iter().filter(|t| **t == known).count(), 2, "{rows:?}");
    let unknown = "token.refused refused unknown";
    assert_eq!(rows.iter().filter(|t| *t == unknown).count(), 4);
    let text = format!("{:?}", stage.read(|tx| tx.audit(&AuditFilter::default())));
    assert!(text.contains("192.0.2.7") && !text.contains("digest 9"));
}

#[test]
fn the_tokens_of_a_session_end_when_it_is_archived() {
    let mut stage = Stage::new();
    let session = super::audit::created(&mut stage, "one", vec![]);
    let other = super::audit::created(&mut stage, "two", vec![]);
    for (n, session) in [(1, session), (2, session), (3, other)] {
        let scope = Scope::Session(session);
        let token = NewToken {
            scope,
            ..new(n, None)
        };
        issued(&mut stage, &token);
    }
    stage.play(|here, ledger| crate::driven::turn::archive(here, ledger, session, "Ann").unwrap());
    assert_eq!(authenticated_caller(&mut stage, 1), Err("token-revoked"));
    assert_eq!(authenticated_caller(&mut stage, 2), Err("token-revoked"));
    assert!(authenticated_caller(&mut stage, 3).is_ok());
}
