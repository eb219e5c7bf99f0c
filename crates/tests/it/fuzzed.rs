//! The corpora of the fuzz targets, and the recordings of the agents, through the targets.

use std::fs;
use std::path::{Path, PathBuf};

use siglum_tests::fuzz::targets;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a directory, in order.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn corpora_hold() {
    for (name, target) in targets() {
        let inputs = files(&root().join("fuzz/corpus").join(&name));
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in &inputs {
            target(&fs::read(input).unwrap());
        }
        eprintln!("{name}: {} inputs", inputs.len());
    }
}

/// What agents really wrote, each line a payload and each file a transcript.
#[test]
fn recordings_hold() {
    for (name, target) in targets() {
        let Some((agent, kind)) = name.rsplit_once('_') else {
            continue;
        };
        let recorded = files(
            &root()
                .join("crates/agents/src")
                .join(agent)
                .join("fixtures"),
        );
        for file in &recorded {
            let text = fs::read_to_string(file).unwrap();
            match kind {
                "payload" => text.lines().for_each(|line| target(line.as_bytes())),
                _ => target(text.as_bytes()),
            }
        }
    }
}
