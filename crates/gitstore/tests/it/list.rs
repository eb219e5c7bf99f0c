//! Lists of commits.

use siglum_domain::Timestamp;
use siglum_gitstore::{GitError, Listing};

use crate::sandbox::Sandbox;

#[test]
fn an_unborn_branch_has_no_commits_and_a_wrong_range_is_refused() {
    let sandbox = Sandbox::new();
    let git = sandbox.init("a", &[]).gitstore();
    assert_eq!(git.list(&Listing::default()).unwrap(), []);
    for range in ["nonsense", "--output=/tmp/x", ""] {
        let wanted = Listing {
            range: Some(range),
            ..Listing::default()
        };
        assert!(
            matches!(git.list(&wanted), Err(GitError::Refused { .. })),
            "{range:?}"
        );
    }
}

#[test]
fn range_limit_and_period_choose() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &["--object-format=sha256"]);
    let one = tree.commit("a", "1", "first, ä\nstill the first\n\nbody");
    let two = tree.commit("a", "2", "second");
    let git = tree.gitstore();
    let list = |wanted: &Listing<'_>| {
        let listed = git.list(wanted).unwrap();
        listed.into_iter().map(|c| c.commit).collect::<Vec<_>>()
    };
    let all = git.list(&Listing::default()).unwrap();
    assert_eq!(all[1].subject, "first, ä still the first");
    assert_eq!(all[1].author, "Ann");
    assert_eq!(all[1].committed, Timestamp::from_seconds(1_700_000_100));
    assert_eq!(list(&Listing::default()), [two.clone(), one]);
    let range = Some("HEAD~1..HEAD");
    for wanted in [
        Listing {
            range,
            ..Listing::default()
        },
        Listing {
            limit: 1,
            ..Listing::default()
        },
    ] {
        assert_eq!(list(&wanted), std::slice::from_ref(&two), "{wanted:?}");
    }
    let at = |seconds| Some(Timestamp::from_seconds(seconds));
    for (since, until, count) in [
        (at(1_700_000_100), None, 2),
        (at(1_700_000_101), None, 0),
        (None, at(1_700_000_100), 0),
        (None, at(1_700_000_101), 2),
    ] {
        let wanted = Listing {
            since,
            until,
            ..Listing::default()
        };
        assert_eq!(list(&wanted).len(), count, "{since:?} {until:?}");
    }
}
