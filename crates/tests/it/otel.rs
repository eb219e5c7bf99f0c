//! `siglum otel`: servers that get traces.

mod behind;
mod destinations;
mod probes;
mod turns;

use std::path::PathBuf;

use crate::harness::World;

/// A value that nobody but the server may see.
const SECRET: &str = "Bearer quokka7-quokka7-quokka7";

fn secret_file(world: &World) -> PathBuf {
    let path = world.root.join("secret");
    std::fs::write(&path, format!("{SECRET}\n")).unwrap();
    path
}
