//! Keys, causes and policies.

use super::*;
use crate::SessionId;

#[test]
fn causes_and_policies_are_read_as_they_are_written() {
    for cause in Cause::ALL {
        assert_eq!(cause.to_string().parse(), Ok(*cause));
    }
    for inherit in [
        Inherit::None,
        Inherit::Summary,
        Inherit::Tail(1),
        Inherit::Tail(10_000),
        Inherit::All,
    ] {
        assert_eq!(inherit.to_string().parse(), Ok(inherit));
    }
    for bad in [
        "",
        "None",
        "tail",
        "tail:",
        "tail:0",
        "tail:06",
        "tail:+6",
        "tail:10001",
    ] {
        assert!(bad.parse::<Inherit>().is_err(), "{bad}");
    }
}

#[test]
fn an_isolated_run_keeps_its_route_and_has_a_context_of_its_own() {
    let session = |n| SessionId::from_uuid(uuid::Uuid::from_u128(n));
    let route = RouteKey::new("agent:main:main:heartbeat").unwrap();
    let shared = Keys::shared(route.clone());
    assert_eq!(shared.route.as_str(), shared.context.as_str());
    let ticks = [1, 2].map(|n| Keys::isolated(route.clone(), session(n)).unwrap());
    assert_eq!(ticks[0].route, ticks[1].route);
    assert_ne!(ticks[0].context, ticks[1].context);
    let long = RouteKey::new("r".repeat(512)).unwrap();
    assert!(Keys::isolated(long, session(1)).is_err(), "never cut off");
}

#[test]
fn keys_are_opaque_and_keep_their_case() {
    for good in [
        "a",
        "Agent:Main",
        "a/b@c#d+e-f_g.h:i",
        "..",
        &"k".repeat(512),
    ] {
        assert_eq!(RouteKey::new(good).unwrap().as_str(), good);
        assert_eq!(ContextKey::new(good).unwrap().as_str(), good);
    }
    for bad in ["", " ", " a", "a b", "a\n", "é", "a?b", &"k".repeat(513)] {
        assert!(
            RouteKey::new(bad).is_err() && ContextKey::new(bad).is_err(),
            "{bad:?}"
        );
    }
}

#[test]
fn a_pattern_means_what_its_stars_leave_open() {
    let matches = |pattern: &str, route: &str| {
        let pattern: RoutePattern = pattern.parse().unwrap();
        pattern.matches(&RouteKey::new(route).unwrap())
    };
    for (pattern, route) in [
        ("*", "a"),
        ("a:b", "a:b"),
        ("agent:*", "agent:main:main"),
        ("*:heartbeat", "agent:main:heartbeat"),
        ("agent:*:cron:*", "agent:x:cron:nightly"),
        ("a*a", "aa"),
        ("**", "x"),
    ] {
        assert!(matches(pattern, route), "{pattern} {route}");
    }
    for (pattern, route) in [
        ("a:b", "a:b:c"),
        ("A:b", "a:b"),
        ("a*a", "a"),
        ("agent:*:cron:*", "agent:cron:x"),
        ("*:heartbeat", "heartbeat"),
    ] {
        assert!(!matches(pattern, route), "{pattern} {route}");
    }
    for bad in ["", "a b", "é*", " *"] {
        assert!(bad.parse::<RoutePattern>().is_err(), "{bad:?}");
    }
}

#[test]
fn the_first_rule_that_speaks_of_a_thing_counts() {
    use std::time::Duration;
    let rule = |routes: &str, inherit: &[(Cause, Inherit)], idle: Option<u64>| Rule {
        routes: routes.parse().unwrap(),
        inherit: inherit.to_vec(),
        idle: idle.map(Duration::from_secs),
        retention: None,
    };
    let policy = Policy::new(vec![
        rule("chat:*", &[(Cause::Reset, Inherit::Tail(6))], None),
        rule(
            "*",
            &[
                (Cause::Reset, Inherit::Summary),
                (Cause::Tick, Inherit::All),
            ],
            Some(60),
        ),
    ]);
    let route = |text: &str| RouteKey::new(text).unwrap();
    let inherit = |text, cause| policy.inherit(&route(text), cause);
    assert_eq!(inherit("chat:1", Cause::Reset), Inherit::Tail(6));
    assert_eq!(inherit("chat:1", Cause::Tick), Inherit::All);
    assert_eq!(inherit("mail:1", Cause::Reset), Inherit::Summary);
    assert_eq!(policy.idle(&route("chat:1")), Some(Duration::from_secs(60)));
    let none = Policy::default();
    assert_eq!(none.inherit(&route("a"), Cause::Tick), Inherit::None);
    assert_eq!(none.inherit(&route("a"), Cause::Idle), Inherit::Tail(20));
    assert_eq!(none.inherit(&route("a"), Cause::Rewind), Inherit::All);
    assert_eq!(none.idle(&route("a")), None);
}
