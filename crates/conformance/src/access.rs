//! Credentials: kept by their digest, and worth nothing once somebody said so.

use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::{LedgerId, TokenId};
use siglum_ledger::TokenRecord;

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a token is found as it was stored", stored),
    Check::new("tokens are listed by page, newest first", listed),
    Check::new("a token is named by the tail of its id", by_tail),
    Check::new("a token is revoked once", revoked),
    Check::new(
        "the tokens of a session are revoked, and no others",
        of_session,
    ),
    Check::new(
        "a token is replaced once, and ends with the grace",
        replaced,
    ),
    Check::new("the use of a token is noted, and the last one counts", used),
    Check::new("a ledger is registered once", registered),
];

fn find_token(desk: &mut Desk, n: u128) -> Outcome<TokenRecord> {
    desk.read(|tx| tx.token(token_id(n)))?
        .ok_or_else(|| Wrong(format!("token {n} is not found")))
}

fn put(desk: &mut Desk, tokens: &[TokenRecord]) -> Outcome {
    desk.write(|tx| tokens.iter().try_for_each(|t| tx.put_token(t)))
}

fn stored(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let whole = TokenRecord {
        scope: Scope::Session(session_id(2)),
        expires_at: Some(at(90)),
        revoked_at: Some(at(80)),
        replaced_by: Some(token_id(9)),
        last_used_at: Some(at(70)),
        ..token(1)
    };
    let limited = TokenRecord {
        scope: Scope::Telemetry,
        ..token(6)
    };
    let reading = TokenRecord {
        scope: Scope::Read,
        ..token(7)
    };
    let narrow = TokenRecord {
        limits: Limits::new([Right::Drive, Right::Read], ["host/o/r".to_owned()])
            .map_err(|error| Wrong(error.to_string()))?,
        ..token(8)
    };
    put(
        &mut desk,
        &[
            whole.clone(),
            token(2),
            limited.clone(),
            reading.clone(),
            narrow.clone(),
        ],
    )?;
    let mut later = Desk::open(shelf)?;
    same!(find_token(&mut later, 1)?, whole, "a token with all fields");
    same!(find_token(&mut later, 6)?, limited, "a token for telemetry");
    same!(find_token(&mut later, 7)?, reading, "a token for reading");
    same!(find_token(&mut later, 8)?, narrow, "a token with limits");
    same!(
        find_token(&mut later, 2)?,
        token(2),
        "a token with few fields"
    );
    let by_digest = |desk: &mut Desk, digest: &str| desk.read(|tx| tx.token_by_digest(digest));
    same!(
        by_digest(&mut later, "digest 1")?,
        Some(whole.clone()),
        "by digest"
    );
    same!(by_digest(&mut later, "digest 3")?, None, "another digest");
    let absent = later.read(|tx| tx.token(token_id(3)))?;
    same!(absent, None, "another id");
    let taken = TokenRecord {
        name: "other".to_owned(),
        ..token(1)
    };
    let stolen = TokenRecord {
        digest: "digest 1".to_owned(),
        ..token(4)
    };
    put(&mut desk, &[taken, stolen])?;
    same!(
        find_token(&mut later, 1)?,
        whole,
        "a token whose id came again"
    );
    let stolen = later.read(|tx| tx.token(token_id(4)))?;
    same!(stolen, None, "a token whose digest came again");
    Ok(())
}

fn listed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = |n: u128, session| TokenRecord {
        scope: Scope::for_session(session),
        ..token(n)
    };
    let (first, second) = (Some(session_id(1)), Some(session_id(2)));
    let tokens = [
        of(3, first),
        of(1, None),
        of(5, first),
        of(2, second),
        of(4, None),
    ];
    put(&mut desk, &tokens)?;
    let mut later = Desk::open(shelf)?;
    let mut list = |session, before: Option<u128>, limit| -> Outcome<Vec<u128>> {
        let before = before.map(token_id);
        let rows = later.read(|tx| tx.tokens(session, before, limit))?;
        let number = |t: &TokenRecord| (1..9).find(|n| token_id(*n) == t.id).unwrap_or(0);
        Ok(rows.iter().map(number).collect())
    };
    same!(list(None, None, 9)?, [5, 4, 3, 2, 1], "all tokens");
    same!(
        list(None, None, 0)?,
        [5, 4, 3, 2, 1],
        "all tokens, without a limit"
    );
    same!(
        list(first, None, 0)?,
        [5, 3],
        "all of a session, without a limit"
    );
    same!(list(None, None, 2)?, [5, 4], "the first page");
    same!(list(None, Some(4), 2)?, [3, 2], "the second page");
    same!(list(first, None, 9)?, [5, 3], "those of a session");
    same!(
        list(first, Some(5), 9)?,
        [3],
        "those of a session, from a place on"
    );
    same!(
        list(Some(session_id(3)), None, 9)?,
        Vec::<u128>::new(),
        "those of a session without"
    );
    Ok(())
}

fn by_tail(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let ids: Vec<TokenId> = [0xaa_bbcc, 0xaa_bbdd, 0x1aa_bbcc].map(token_id).into();
    put(&mut desk, &[0xaa_bbcc, 0xaa_bbdd, 0x1aa_bbcc].map(token))?;
    let mut later = Desk::open(shelf)?;
    let mut named = |tail: &str| -> Outcome<Vec<TokenId>> {
        let mut found = later.read(|tx| tx.tokens_by_tail(tail))?;
        found.sort();
        Ok(found)
    };
    same!(named("00aabbdd")?, [ids[1]], "a tail");
    same!(named("aabbcc")?, [ids[0], ids[2]], "a tail of two");
    same!(named("aabbee")?, [], "a tail of none");
    Ok(())
}

fn revoked(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    put(&mut desk, &[token(1), token(2)])?;
    let mut revoke = |n, seconds| desk.write(|tx| tx.revoke_token(token_id(n), at(seconds)));
    holds!(revoke(1, 30)?, "a token that is there was not revoked");
    holds!(!revoke(1, 40)?, "a token was revoked twice");
    holds!(!revoke(7, 40)?, "a token that is not there was revoked");
    let mut later = Desk::open(shelf)?;
    same!(
        find_token(&mut later, 1)?.revoked_at,
        Some(at(30)),
        "when it was revoked"
    );
    same!(find_token(&mut later, 2)?, token(2), "another token");
    Ok(())
}

fn of_session(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = |n: u128, session| TokenRecord {
        scope: Scope::Session(session_id(session)),
        ..token(n)
    };
    put(
        &mut desk,
        &[of(1, 1), of(2, 1), of(3, 1), of(4, 2), token(5)],
    )?;
    desk.write(|tx| tx.revoke_token(token_id(1), at(10)))?;
    let count = desk.write(|tx| tx.revoke_tokens_of(session_id(1), at(20)))?;
    same!(count, 2, "the tokens that were revoked with a session");
    let count = desk.write(|tx| tx.revoke_tokens_of(session_id(1), at(30)))?;
    same!(count, 0, "the tokens that were revoked again");
    let mut later = Desk::open(shelf)?;
    for (n, when) in [
        (1, Some(10)),
        (2, Some(20)),
        (3, Some(20)),
        (4, None),
        (5, None),
    ] {
        let wanted = when.map(at);
        same!(
            find_token(&mut later, n)?.revoked_at,
            wanted,
            format!("token {n}")
        );
    }
    Ok(())
}

fn replaced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let until = |n, seconds| TokenRecord {
        expires_at: Some(at(seconds)),
        ..token(n)
    };
    put(
        &mut desk,
        &[token(1), until(2, 100), until(3, 20), token(4), token(5)],
    )?;
    desk.write(|tx| tx.revoke_token(token_id(4), at(5)))?;
    let mut replace = |n, new, seconds| {
        desk.write(|tx| tx.replace_token(token_id(n), token_id(new), at(seconds)))
    };
    holds!(replace(1, 11, 50)?, "a token without an end");
    holds!(replace(2, 12, 50)?, "a token that would end later");
    holds!(replace(3, 13, 50)?, "a token that would end before");
    holds!(!replace(1, 14, 40)?, "a token was replaced twice");
    holds!(!replace(4, 14, 50)?, "a revoked token was replaced");
    holds!(
        !replace(7, 14, 50)?,
        "a token that is not there was replaced"
    );
    let mut later = Desk::open(shelf)?;
    for (n, by, ends) in [
        (1, Some(11), Some(50)),
        (2, Some(12), Some(50)),
        (3, Some(13), Some(20)),
        (4, None, None),
        (5, None, None),
    ] {
        let token = find_token(&mut later, n)?;
        let found = (token.replaced_by, token.expires_at);
        same!(
            found,
            (by.map(token_id), ends.map(at)),
            format!("token {n}")
        );
    }
    Ok(())
}

fn used(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    put(&mut desk, &[token(1), token(2)])?;
    let mut later = Desk::open(shelf)?;
    for (seconds, wanted) in [(30, 30), (50, 50), (40, 50)] {
        desk.write(|tx| tx.note_token_use(token_id(1), at(seconds)))?;
        let found = find_token(&mut later, 1)?.last_used_at;
        same!(found, Some(at(wanted)), "when a token was last used");
    }
    same!(find_token(&mut later, 2)?, token(2), "another token");
    Ok(())
}

fn registered(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let ledger = |n| LedgerId::from_uuid(uuid::Uuid::from_u128(n));
    let of = |n| -> Outcome<Option<TokenId>> {
        Desk::open(shelf)?.read(|tx| tx.registration(ledger(n)))
    };
    same!(of(1)?, None, "a ledger that nobody registered");
    desk.write(|tx| {
        tx.register(ledger(1), token_id(1), at(1))?;
        tx.register(ledger(2), token_id(2), at(1))?;
        tx.register(ledger(1), token_id(3), at(2))
    })?;
    same!(of(1)?, Some(token_id(1)), "who registered a ledger");
    desk.write(|tx| tx.unregister(ledger(1)))?;
    same!(of(1)?, None, "a ledger that may be registered anew");
    same!(of(2)?, Some(token_id(2)), "another ledger");
    desk.write(|tx| tx.register(ledger(1), token_id(3), at(3)))?;
    same!(of(1)?, Some(token_id(3)), "who registered it anew");
    Ok(())
}
