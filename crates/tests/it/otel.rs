//! `siglum otel`: servers that get traces.

mod destinations;
mod probes;

use std::path::PathBuf;

use crate::harness::World;

/// A value that nobody but the server may see.
const SECRET: &str = "Bearer hunter2-hunter2-hunter2";

/// A file with the secret in it.
fn secret_file(world: &World) -> PathBuf {
    let path = world.root.join("secret");
    std::fs::write(&path, format!("{SECRET}\n")).unwrap();
    path
}
