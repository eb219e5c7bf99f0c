//! People ask what runs were given to read.

use serde_json::json;

use super::host::{Host, recorded};
use crate::gateway::server::{Gateway, on_a_file};

#[test]
fn the_commands_tell_what_routes_hold_and_why() {
    on_a_file(|store| {
        let mut gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("an idle rollover"));
        let of_api = |path: &str| host.client.get(path).is(200);
        let routes = of_api("/v1/routes");
        let detail = of_api("/v1/route?route_key=agent:main:main");
        let session = detail["contexts"][0]["session"].as_str().unwrap();
        let explanation = of_api(&format!("/v1/sessions/{session}/context/explanation"));
        gateway.stop();
        let dir = store.world.root.clone();
        let json = |args: &[&str]| store.world.json(&dir, args);
        let listed = json(&["context", "list"]);
        assert_eq!(listed, routes, "one form at both doors");
        let route = &listed["items"][0];
        assert_eq!(
            (&route["route_key"], &route["runs"]),
            (&json!("agent:main:main"), &json!(2))
        );
        let shown = json(&["context", "show", "agent:main:main"]);
        assert_eq!(shown, detail, "one form at both doors");
        assert_eq!(shown["contexts"][0]["cause"], "idle");
        assert_eq!(
            shown["route"]["context_key"],
            shown["contexts"][0]["context_key"]
        );
        let current = shown["route"]["context_key"].as_str().unwrap();
        for of in [current, session] {
            let explained = json(&["context", "explain", of]);
            assert_eq!(explained, explanation, "one form at both doors");
            let origins = [0, 1].map(|n| explained["parts"][n]["origin"].clone());
            assert_eq!(origins, ["inherited", "own"]);
            assert!(
                explained["parts"][0]["why"]
                    .as_str()
                    .unwrap()
                    .contains("tail:20")
            );
        }
        let plain = store
            .world
            .siglum(&dir, &["context", "explain", current])
            .ok();
        assert!(plain.contains("said in this context"), "{plain}");
        let missing = store.world.siglum(&dir, &["context", "show", "nowhere"]);
        assert_eq!(missing.code, Some(3), "{missing:?}");
    });
}
