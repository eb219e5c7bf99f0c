//! Import of everything that seven agents left on a disk: speed, memory and size, killed on the way, and once more.

mod content;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use content::Content;

use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::{FULL, IMPORT, QUICK, Scene};
use crate::home::Home;
use crate::report::Line;
use crate::run::{Run, on_disk};
use crate::watched::{self, Took};

/// The slowest import, in MB per second of one core.
const SPEED_LEAST: f64 = 50.0;
/// The most memory, in MB.
const MEMORY_MOST: f64 = 150.0;
/// The largest parts of the input that ledger and index may take.
const LEDGER_MOST: f64 = 0.25;
const INDEX_MOST: f64 = 0.15;
/// The longest second import, in seconds, and the largest part of the transcripts that it may read.
const AGAIN_MOST: f64 = 5.0;
const REREAD_MOST: f64 = 0.01;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let wanted = if run.quick { QUICK } else { FULL };
    eprintln!("  writing the corpus …");
    let scene = Scene::create(run, "corpus", wanted)?;
    eprintln!("  importing it …");
    let (took, whole) = import(&scene, &scene.home)?;
    let mut lines = first_import(&scene, took, &whole)?;
    eprintln!("  importing it once more …");
    lines.extend(second_import(run, &scene)?);
    eprintln!("  importing it, killed on the way …");
    lines.extend(killed_import(run, &scene, took, &whole)?);
    Ok(lines)
}

/// Imports everything into a ledger, and reads what is there then.
fn import(scene: &Scene, home: &Home) -> Fallible<(Took, Content)> {
    let took = scene.import(home)?;
    home.run(&scene.repo.dir, &["worker", "--once"])?;
    let content = Content::read(&mut home.ledger()?)?;
    Ok((took, content))
}

#[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
fn first_import(scene: &Scene, took: Took, content: &Content) -> Fallible<Vec<Line>> {
    let corpus = &scene.corpus;
    let megabytes = corpus.bytes as f64 / 1e6;
    let input = (corpus.bytes + corpus.plugin_bytes) as f64 / 1e6;
    let index = search_files_mb(&scene.home.siglum)?;
    let ledger = on_disk(&scene.home.siglum)? as f64 / 1e6 - index;
    let speed = megabytes / took.cpu_s;
    let sessions = content.sessions as f64;
    let files = corpus.files;
    let what = |what: &str| format!("import of {megabytes:.0} MB in {files} files: {what}");
    Ok(vec![
        Line::new(what("speed per core"), speed, "MB/s", 1)
            .bound("≥ 50 MB/s", speed >= SPEED_LEAST),
        Line::new(what("wall time"), took.wall_s, "s", 1),
        Line::new(what("resident memory"), took.memory_mb, "MB", 1)
            .bound("≤ 150 MB", took.memory_mb <= MEMORY_MOST),
        Line::new(what("ledger"), ledger, "MB", 1)
            .against("input", input)
            .bound("≤ 0.25", ledger / input <= LEDGER_MOST),
        Line::new(what("index"), index, "MB", 1)
            .against("input", input)
            .bound("≤ 0.15", index / input <= INDEX_MOST),
        Line::new("sessions in the ledger", sessions, "", 1)
            .against("written", corpus.sessions as f64)
            .bound("all", content.sessions == corpus.sessions as u64),
        Line::new("turns in the ledger", content.turns as f64, "", 1),
        Line::new("calls in the ledger", content.calls as f64, "", 1),
        Line::new(
            "tokens in the ledger",
            content.tokens as f64 / 1e6,
            "million",
            1,
        ),
    ])
}

/// The search index and what belongs to its file, in MB.
fn search_files_mb(dir: &Path) -> Fallible<f64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("search.db") {
            bytes += on_disk(&entry.path())?;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
    Ok(bytes as f64 / 1e6)
}

/// Imports everything again where nothing is new: how long that takes, and how much of the transcripts it reads.
#[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
fn second_import(run: &Run, scene: &Scene) -> Fallible<Vec<Line>> {
    let _lock = scene.home.without_worker()?;
    let took = watched::run(&mut scene.home.command(&scene.repo.dir, IMPORT))?;
    let megabytes = scene.corpus.bytes as f64 / 1e6;
    let mut lines = vec![
        Line::new("second import: wall time", took.wall_s, "s", 1)
            .bound("≤ 5 s", took.wall_s <= AGAIN_MOST),
        Line::new(
            "second import: read, whatever it was",
            took.read_mb,
            "MB",
            1,
        )
        .against("transcripts", megabytes),
    ];
    match transcripts_read(run, scene)? {
        Some(bytes) => {
            let read = bytes as f64 / 1e6;
            let line = Line::new("second import: read of transcripts", read, "MB", 1);
            let line = line.against("transcripts", megabytes);
            lines.push(line.bound("≤ 0.01", read / megabytes <= REREAD_MOST));
        }
        None => eprintln!(
            "  strace is not there, or may not trace: what is read of transcripts is not counted"
        ),
    }
    Ok(lines)
}

/// How many bytes of transcripts an import reads, by the system calls that it makes; nothing where they cannot be traced.
fn transcripts_read(run: &Run, scene: &Scene) -> Fallible<Option<u64>> {
    let log = run.dir("corpus")?.join("strace.log");
    let mut command = Command::new("strace");
    scene.home.apply(&mut command);
    command
        .args([
            "-f",
            "-qq",
            "-y",
            "-s",
            "0",
            "-e",
            "trace=read,pread64,readv,preadv",
        ])
        .arg("-o")
        .arg(&log)
        .arg(&run.program)
        .args(IMPORT)
        .current_dir(&scene.repo.dir);
    if watched::run(&mut command).is_err() {
        return Ok(None);
    }
    let below = format!("<{}/", scene.home.user.display());
    let text = std::fs::read_to_string(log)?;
    let of_transcripts = text.lines().filter(|line| line.contains(&below));
    let bytes = of_transcripts.filter_map(|line| line.rsplit_once(" = ")?.1.parse::<u64>().ok());
    Ok(Some(bytes.sum()))
}

/// Imports everything into another ledger, killed again and again: it must have the same in the end.
#[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
fn killed_import(run: &Run, scene: &Scene, took: Took, whole: &Content) -> Fallible<Vec<Line>> {
    let mut home = Home::create(&run.program, &run.dir("corpus/killed")?)?;
    home.user.clone_from(&scene.home.user);
    let wanted = run.much(20, 3);
    let lock = home.without_worker()?;
    let chance = Chance::new(20);
    let mut kills = 0;
    for _ in 0..wanted {
        let share = 500 + chance.below(1_000);
        let after = took.wall_s * share as f64 / 1_000.0 / (wanted + 1) as f64;
        let mut command = home.command(&scene.repo.dir, IMPORT);
        if !watched::kill_after(&mut command, Duration::from_secs_f64(after))? {
            break;
        }
        kills += 1;
    }
    drop(lock);
    let (_, content) = import(scene, &home)?;
    let kept = content.transcript_bytes;
    let same = *whole
        == Content {
            transcript_bytes: whole.transcript_bytes,
            ..content.clone()
        };
    if !same {
        eprintln!("  not killed: {whole:?}\n  killed:     {content:?}");
    }
    Ok(vec![
        Line::new(
            "killed imports whose ledger differs",
            f64::from(u8::from(!same)),
            "",
            kills,
        )
        .bound("none", same && kills > 0),
        Line::new(
            "killed import: transcripts kept",
            kept as f64 / 1e6,
            "MB",
            kills,
        )
        .against("not killed", whole.transcript_bytes as f64 / 1e6)
        .bound("the same", kept == whole.transcript_bytes),
    ])
}
