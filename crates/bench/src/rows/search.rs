//! Search over imported transcripts of all agents: what of planted needles is found, how fast a whole process answers, how
//! large the index is, and what is left of a needle that was forgotten.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Fallible;
use crate::contest::{Contest, timed};
use crate::corpus::{Planted, Scene};
use crate::home::Home;
use crate::report::Line;
use crate::run::Run;
use crate::watched;

/// Megabytes and sessions.
const FULL: (usize, usize) = (1_000, 2_000);
const QUICK: (usize, usize) = (20, 220);
/// What an answer may take, in milliseconds: with everything in the system's cache, and with nothing there.
const MOST: f64 = 100.0;
const COLD_MOST: f64 = 400.0;
/// The most memory, in MB.
const MEMORY_MOST: f64 = 150.0;
/// The largest part of the transcripts that the index may take.
const SHARE_MOST: f64 = 0.15;
/// A word that most sessions have.
const COMMON: &str = "return";

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let scene = Scene::create(run, "search", if run.quick { QUICK } else { FULL })?;
    let (home, dir) = (&scene.home, &scene.repo.dir);
    scene.import(home)?;
    let (filled, _) = home.run(dir, &["worker", "--once"])?;
    let _lock = home.without_worker()?;
    let mut lines = times(run, &scene)?;
    lines.extend(recall(&scene)?);
    lines.extend(beside_ripgrep(&scene)?);
    #[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
    let (index, bytes) = (
        fs::metadata(home.siglum.join("search.db"))?.len() as f64 / 1e6,
        scene.corpus.bytes as f64 / 1e6,
    );
    lines.push(
        Line::new(format!("index of {bytes:.0} MB"), index, "MB", 1)
            .against("transcripts", bytes)
            .bound("≤ 0.15", index / bytes <= SHARE_MOST),
    );
    let what = "worker that reads, folds and indexes";
    lines.push(Line::new(what, filled / 1e3, "s", 1));
    // What is forgotten is found by nobody any more.
    lines.extend(forgotten(&scene)?);
    Ok(lines)
}

/// How many sessions a query finds.
fn answers(scene: &Scene, query: &str) -> Fallible<usize> {
    let args = ["search", "--all", "--json", query];
    let (_, out) = scene.home.run(&scene.repo.dir, &args)?;
    let answer: Value = serde_json::from_slice(&out.stdout)?;
    Ok(answer["data"]["items"].as_array().map_or(0, Vec::len))
}

/// How many needles nothing is found for.
fn recall(scene: &Scene) -> Fallible<Vec<Line>> {
    let mut missing = 0_u32;
    let needles = &scene.corpus.needles;
    for planted in needles {
        if answers(scene, &planted.needle.query)? == 0 {
            let (agent, place, query) =
                (planted.agent, planted.needle.place, &planted.needle.query);
            eprintln!(
                "  missing: {query}, {place:?} of {agent}, session {}",
                planted.session
            );
            missing += 1;
        }
    }
    let what = format!("planted needles that are missing, of {}", needles.len());
    Ok(vec![
        Line::new(what, f64::from(missing), "", 1).bound("none", missing == 0),
    ])
}

/// Whole processes: of a rare word, of a common one, of a phrase, of two words and of one that is not typed to its end; and
/// of a rare and a common word with nothing in the system's cache.
fn times(run: &Run, scene: &Scene) -> Fallible<Vec<Line>> {
    let rare = scene.corpus.needles.first().ok_or("no needle")?;
    let rare = rare.needle.query.as_str();
    let queries = [
        ("a rare word", rare),
        ("a common word", COMMON),
        ("two words", "return self"),
        ("a phrase", "\"let mut\""),
        ("failed calls", "is:error return"),
        // As the finder asks while somebody types.
        ("the beginning of a word", "retur*"),
    ];
    let (home, dir) = (&scene.home, &scene.repo.dir);
    let search =
        |query: &str| -> Fallible<f64> { Ok(home.run(dir, &["search", "--all", query])?.0) };
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    for (what, query) in queries {
        contest.arm(what, move || search(query));
    }
    let warm = contest.run(run.much(40, 10))?;
    let mut contest = Contest::new();
    for (what, query) in [("a rare word, cold", rare), ("a common word, cold", COMMON)] {
        contest.arm(what, move || {
            drop_from_cache(home)?;
            search(query)
        });
    }
    let cold = contest.run(run.much(15, 3))?;
    let megabytes = scene.corpus.bytes / 1_000_000;
    let line = |what: &str, most: f64| {
        let of = if most == MOST {
            warm.arm(what)
        } else {
            cold.arm(what)
        };
        let what = format!("search for {what}, {megabytes} MB");
        Line::new(what, of.median(), "ms", of.n())
            .p95(of.p95())
            .against("empty", warm.arm("empty").median())
            .bound(format!("≤ {most:.0} ms"), of.median() <= most)
    };
    let mut lines: Vec<Line> = queries.map(|(what, _)| line(what, MOST)).into();
    lines.extend(["a rare word, cold", "a common word, cold"].map(|what| line(what, COLD_MOST)));
    let took = watched::run(&mut home.command(dir, &["search", "--all", COMMON]))?;
    lines.push(
        Line::new(
            "search for a common word: resident memory",
            took.memory_mb,
            "MB",
            1,
        )
        .bound("≤ 150 MB", took.memory_mb <= MEMORY_MOST),
    );
    Ok(lines)
}

/// Asks the system to forget what it has in memory of the files of a home, which a process without rights may.
fn drop_from_cache(home: &Home) -> Fallible<()> {
    for entry in fs::read_dir(&home.siglum)? {
        let path = entry?.path();
        if path.is_file() {
            let file = File::open(&path)?;
            // What is not on the disk yet stays in memory.
            file.sync_all()?;
            #[cfg(target_os = "linux")]
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// The same needles by ripgrep in the transcripts as they are, where it is installed: time, memory, and how many it finds
/// as a person would type them.
fn beside_ripgrep(scene: &Scene) -> Fallible<Vec<Line>> {
    let is_there = Command::new("rg")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        eprintln!("  ripgrep is not installed: nothing is measured beside it");
        return Ok(Vec::new());
    }
    let ripgrep = |args: &[&str]| {
        let mut command = Command::new("rg");
        command.args(["--no-config", "--hidden", "--no-ignore", "-F"]);
        command.args(args).arg("--").arg(".");
        command.current_dir(&scene.home.user);
        command
    };
    let rare = scene.corpus.needles.first().ok_or("no needle")?;
    let took = watched::run(&mut ripgrep(&["-l", "-e", rare.needle.word.as_str()]))?;
    let (mut patterns, needles) = (String::new(), &scene.corpus.needles);
    for planted in needles {
        patterns.push_str(&typed(planted));
        patterns.push('\n');
    }
    let file = scene.home.siglum.with_file_name("patterns");
    fs::write(&file, patterns)?;
    let file = file.to_str().ok_or("a path that is no text")?;
    let (all, out) = timed(|| Ok(ripgrep(&["-o", "--no-filename", "-f", file]).output()?))?;
    let matches = String::from_utf8_lossy(&out.stdout);
    let matches: Vec<&str> = matches.lines().collect();
    let missing = needles
        .iter()
        .filter(|planted| !matches.contains(&typed(planted).as_str()));
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    let missing = missing.count() as f64;
    Ok(vec![
        Line::new("ripgrep for a rare word", took.wall_s * 1e3, "ms", 1),
        Line::new(
            "ripgrep for a rare word: resident memory",
            took.memory_mb,
            "MB",
            1,
        ),
        Line::new("ripgrep for all needles at once", all, "ms", 1),
        Line::new("needles that ripgrep does not find", missing, "", 1),
    ])
}

/// What a person would type to find a needle word by word.
fn typed(planted: &Planted) -> String {
    planted.needle.query.trim_matches('"').to_owned()
}

/// Forgets the session of a needle: no file of the home may have its word any more, and no search finds it.
fn forgotten(scene: &Scene) -> Fallible<Vec<Line>> {
    let planted = scene.corpus.needles.last().ok_or("no needle")?;
    let before = files_with(&scene.home.siglum, planted)?;
    let args = ["forget", "--yes", planted.session.as_str()];
    let (time, _) = scene.home.run(&scene.repo.dir, &args)?;
    let after = files_with(&scene.home.siglum, planted)? + answers(scene, &planted.needle.query)?;
    #[expect(clippy::cast_precision_loss, reason = "some files")]
    let (before, after) = (before as f64, after as f64);
    Ok(vec![
        Line::new("files and answers with a forgotten word", after, "", 1)
            .against("before", before)
            .bound("none", after == 0.0 && before > 0.0),
        Line::new("forgetting a session", time / 1e3, "s", 1),
    ])
}

/// How many files below a directory have the word of a needle, byte by byte.
fn files_with(dir: &Path, planted: &Planted) -> Fallible<usize> {
    let mut found = 0;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            found += files_with(&path, planted)?;
        } else if path.is_file() && contains(&path, planted.needle.tail().as_bytes())? {
            found += 1;
        }
    }
    Ok(found)
}

/// Whether a file has some bytes; it is never in memory as a whole.
fn contains(path: &Path, wanted: &[u8]) -> Fallible<bool> {
    use std::io::Read as _;
    let mut file = File::open(path)?;
    let mut piece = vec![0; 4 << 20];
    let mut kept = 0;
    loop {
        let read = file.read(&mut piece[kept..])?;
        if read == 0 {
            return Ok(false);
        }
        let end = kept + read;
        if memchr::memmem::find(&piece[..end], wanted).is_some() {
            return Ok(true);
        }
        // What is wanted may begin at the end of this piece.
        kept = end.min(wanted.len() - 1);
        piece.copy_within(end - kept..end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_across_pieces() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut text = vec![b'x'; (4 << 20) - 3];
        text.extend(b"needle");
        fs::write(file.path(), &text).unwrap();
        assert!(contains(file.path(), b"needle").unwrap());
        assert!(!contains(file.path(), b"needles").unwrap());
        assert!(!contains(Path::new("/dev/null"), b"needle").unwrap());
    }
}
