//! The audit and credentials: what is recorded of a launch, link by link, and that no token is left anywhere.

mod fields;
mod tokens;

use serde_json::Value;

use crate::harness::{Ran, World};

/// The entries of the audit, oldest first.
fn audit(world: &World, args: &[&str]) -> Vec<Value> {
    let list = [&["audit", "list"], args].concat();
    let listed = world.json(&world.root, &list);
    let mut entries = listed["items"].as_array().unwrap().clone();
    entries.reverse();
    entries
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|e| e["action"].as_str().unwrap())
        .collect()
}

fn verify(world: &World) -> Ran {
    world.siglum(&world.root, &["audit", "verify"])
}
