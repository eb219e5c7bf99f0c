//! Search over imported transcripts: what of planted needles is found, how fast a whole process answers, and how large the
//! index is.

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::Fallible;
use crate::clock::{Chance, now};
use crate::contest::Contest;
use crate::home::Home;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::Run;
use crate::transcript;

/// How much a transcript has, in bytes.
const TRANSCRIPT: usize = 500_000;
/// What an answer may take, in milliseconds.
const MOST: f64 = 100.0;
/// The largest part of the transcripts that the index may take.
const SHARE_MOST: f64 = 0.15;

/// A text that stands in one transcript alone, and what finds it.
struct Needle {
    text: String,
    query: String,
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let megabytes = run.much(1_000, 20);
    let dir = run.dir("search")?;
    let home = Home::create(&run.program, &dir)?;
    let repo = Repo::create(&home, &dir.join("repo"), 20, 20)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    let cwd = repo.dir.to_str().ok_or("a path that is no text")?;
    let chance = Chance::new(11);
    let needles: Vec<Needle> = (0..200).map(|n| needle(&chance, n)).collect();
    let sessions = (megabytes * 1_000_000 / TRANSCRIPT).max(1);
    let mut bytes = 0;
    for nth in 0..sessions {
        let session = format!("11111111-2222-4333-8444-{nth:012}");
        let path = home.transcript(&session);
        bytes += transcript::write(&path, &session, cwd, TRANSCRIPT)?;
        let own = needles.iter().skip(nth).step_by(sessions);
        for (number, needle) in own.enumerate() {
            let lines = planted(&session, cwd, number, needle);
            fs::OpenOptions::new()
                .append(true)
                .open(&path)?
                .write_all(lines.as_bytes())?;
            bytes += lines.len() as u64;
        }
    }
    let lock = home.without_worker()?;
    home.run(&repo.dir, &["import", "--all"])?;
    drop(lock);
    let (filled, _) = home.run(&repo.dir, &["worker", "--once"])?;
    let _lock = home.without_worker()?;
    let index = fs::metadata(home.siglum.join("search.db"))?.len();
    let mut missing = 0;
    for needle in &needles {
        let found = answer(&home, &repo, &needle.query)?;
        missing += usize::from(found == 0);
    }
    let mut lines = times(run, &home, &repo, &needles, megabytes)?;
    #[expect(clippy::cast_precision_loss, reason = "some gigabytes")]
    let (index, bytes, missing) = (index as f64 / 1e6, bytes as f64 / 1e6, missing as f64);
    lines.push(
        Line::new("planted needles that are missing, of 200", missing, "", 1)
            .bound("none", missing == 0.0),
    );
    lines.push(
        Line::new(format!("index of {bytes:.0} MB"), index, "MB", 1)
            .against("transcripts", bytes)
            .bound("≤ 0.15", index / bytes <= SHARE_MOST),
    );
    lines.push(Line::new(
        "worker that reads, folds and indexes",
        filled / 1e3,
        "s",
        1,
    ));
    Ok(lines)
}

/// How many sessions a query finds.
fn answer(home: &Home, repo: &Repo, query: &str) -> Fallible<usize> {
    let args = ["search", "--all", "--json", query];
    let (_, out) = home.run(&repo.dir, &args)?;
    let answer: Value = serde_json::from_slice(&out.stdout)?;
    Ok(answer["data"]["found"].as_array().map_or(0, Vec::len))
}

/// Whole processes: of a rare word, of a common one, of a phrase, of two words and of one that is not typed to its end.
fn times(
    run: &Run,
    home: &Home,
    repo: &Repo,
    needles: &[Needle],
    megabytes: usize,
) -> Fallible<Vec<Line>> {
    let rare = needles[0].query.as_str();
    let queries = [
        ("a rare word", rare),
        ("a common word", "return"),
        ("two words", "return self"),
        ("a phrase", "\"let mut\""),
        ("failed calls", "is:error return"),
        // As the finder asks while somebody types.
        ("the beginning of a word", "retur*"),
    ];
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    for (what, query) in queries {
        contest.arm(what, move || {
            Ok(home.run(&repo.dir, &["search", "--all", query])?.0)
        });
    }
    let times = contest.run(run.much(40, 10))?;
    let line = |(what, _): (&str, &str)| {
        let of = times.arm(what);
        Line::new(
            format!("search for {what}, {megabytes} MB"),
            of.median(),
            "ms",
            of.n(),
        )
        .p95(of.p95())
        .against("empty", times.arm("empty").median())
        .bound("≤ 100 ms", of.median() <= MOST)
    };
    Ok(queries.into_iter().map(line).collect())
}

/// Needles of all kinds: plain, in what JSON escapes, identifiers by their parts, paths, and other alphabets.
fn needle(chance: &Chance, nth: usize) -> Needle {
    let word = letters(chance);
    let of = |text: String, query: String| Needle { text, query };
    match nth % 8 {
        0 => of(format!("the {word} stands here"), word),
        1 => of(
            format!("say \"{word}\"\n\tand \\ go"),
            format!("\"{word}\""),
        ),
        2 => of(format!("call some_{word}_thing()"), word),
        3 => of(
            format!("call some_{word}_thing()"),
            format!("some_{word}_thing"),
        ),
        4 => of(format!("new {word}Builder2 there"), word),
        5 => of(
            format!("see src/{word}/mod.rs now"),
            format!("src/{word}/mod.rs"),
        ),
        6 => of(
            format!("全文検索{word}の索引を作る"),
            format!("検索{word}の"),
        ),
        _ => of(format!("граф größe {word}ß"), format!("{word}ß")),
    }
}

/// A word that no text has.
fn letters(chance: &Chance) -> String {
    let letter = |_| char::from(b'a' + u8::try_from(chance.below(26)).unwrap_or(0));
    (0..14).map(letter).collect()
}

/// A turn with a needle in its prompt or in its answer, as Claude Code writes them.
fn planted(session: &str, cwd: &str, number: usize, needle: &Needle) -> String {
    let line = |kind: &str, message: Value| {
        let line = json!({
            "type": kind, "uuid": format!("{session}-{kind}-{number}"), "cwd": cwd,
            "timestamp": now().to_string(), "sessionId": session, "version": "2.1.329",
            "promptId": format!("planted-{number}"), "message": message,
        });
        format!("{line}\n")
    };
    let (asked, answered) = match number % 2 {
        0 => (needle.text.as_str(), "Done."),
        _ => ("Go on.", needle.text.as_str()),
    };
    let answer = json!({
        "id": format!("msg-{session}-{number}"), "role": "assistant", "model": "claude-opus-5-5",
        "content": [{ "type": "text", "text": answered }], "stop_reason": "end_turn",
    });
    line("user", json!({ "role": "user", "content": asked })) + &line("assistant", answer)
}
