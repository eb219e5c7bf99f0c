//! That nobody says rows of another tenant, or of repositories that are not theirs.

use siglum_domain::access::{Limits, Scope};

use super::{Laptop, replica_state, send};
use crate::gateway::client::{Client, secret};
use crate::gateway::server::{
    Gateway, base, each_store, hand_over, limited_token, on_a_server, tenant, token,
};

/// Another tenant has the same ids in a store of its own, where it may say all of it.
#[test]
fn no_credential_of_another_tenant_changes_a_row_of_this_one() {
    let laptop = Laptop::new();
    on_a_server(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let before = replica_state(store, &gateway, &laptop);
        let launcher = gateway.client(&token(store, "others", None, None).0);
        let session = gateway.client(&secret(&launcher.create(&base("S1"))));
        let mut rows = laptop.rows(laptop.one);
        rows.extend(laptop.shared_rows(laptop.one));
        let taken_of = |who: &Client| {
            let taken = rows.iter().filter(|row| send(who, &row.1).status == 200);
            taken.count()
        };
        let by_session = taken_of(&session);
        send(&launcher, &laptop.batch).is(200);
        let by_launcher = taken_of(&launcher);
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        assert!(by_launcher > by_session, "{by_launcher} and {by_session}");
    });
}

#[test]
fn a_token_of_another_repository_says_no_row_though_it_speaks_for_the_ledger() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let ours = tenant(store);
        let limits = Limits::new([], ["github.com/o/other".to_owned()]).unwrap();
        let (limited, id) = limited_token(store, ours, Scope::Launcher, limits, None);
        hand_over(store, ours, laptop.batch.ledger, id);
        let before = replica_state(store, &gateway, &laptop);
        let mut rows = laptop.rows(laptop.one);
        rows.extend(laptop.shared_rows(laptop.one));
        for (what, batch) in rows {
            let problem = send(&gateway.client(&limited), &batch).problem(403, "forbidden");
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains("limited to other repositories"),
                "{what}: {problem}"
            );
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
    });
}
