//! `cargo xtask fuzz`: looks for inputs that break what must always hold.

use std::path::Path;

use crate::{Failure, programs, workspace};

/// The longest input, in bytes.
const LONGEST: u32 = 64 << 10;

/// Runs one target, or all of them after each other; a target is a folder of the corpus.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let dir = workspace::root().join("fuzz");
    let (names, seconds) = match args {
        [] => (all(&dir)?, 60),
        [name] => (vec![name.clone()], 60),
        [name, seconds] => {
            let seconds = seconds.parse();
            let seconds =
                seconds.map_err(|_| Failure::Usage("fuzz [TARGET [SECONDS]]".to_owned()))?;
            (vec![name.clone()], seconds)
        }
        _ => return Err(Failure::Usage("fuzz [TARGET [SECONDS]]".to_owned())),
    };
    names.iter().try_for_each(|name| one(&dir, name, seconds))
}

fn all(dir: &Path) -> Result<Vec<String>, Failure> {
    let corpus = dir.join("corpus");
    let entries = std::fs::read_dir(&corpus)
        .map_err(|e| Failure::new(format!("{}: {e}", corpus.display())))?;
    let names = entries.flatten().map(|e| e.file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn one(dir: &Path, name: &str, seconds: u32) -> Result<(), Failure> {
    let (found, corpus) = (dir.join("found").join(name), dir.join("corpus").join(name));
    let artifacts = dir.join("artifacts");
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    }
    let mut fuzz = programs::program("cargo");
    fuzz.current_dir(workspace::root())
        .args(["+nightly", "fuzz", "run", "any"])
        .args([found, corpus])
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LONGEST}"))
        .arg(format!("-artifact_prefix={}/{name}-", artifacts.display()))
        .arg("-print_final_stats=1")
        .env("SIGLUM_FUZZ", name);
    programs::run(&mut fuzz)
}
