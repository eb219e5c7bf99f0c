//! Many edits of one large file: what they take on disk, and what each hook takes.

use std::path::Path;

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Contest, Times};
use crate::filler::Filler;
use crate::home::Home;
use crate::payload::Agent;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::{Run, on_disk};

/// The size of the file in bytes.
const FILE: usize = 309_000;
/// What all edits together may take, in MB.
const MOST: f64 = 5.0;
/// How often the ledger's log is brought in, as the worker would.
const MAINTAIN: usize = 10;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let edits = 300;
    let home = Home::create(&run.program, &run.dir("edits")?)?;
    let repo = Repo::create(&home, &run.dir("edits")?.join("repo"), 20, 20)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    let _lock = home.without_worker()?;
    let chance = Chance::new(3);
    let filler = Filler::gather(8 << 20);
    let path = repo.dir.join("src/large.rs");
    std::fs::write(&path, filler.text(&chance, FILE))?;
    let mut agent = Agent::start(&home, &repo.dir, &chance)?;
    home.maintain()?;
    let before = on_disk(&home.siglum)?;
    let mut blobs = 0.0;
    let mut number = 0;
    let mut pre = Vec::new();
    let mut contest = Contest::new();
    contest.arm("empty", || run.empty_process());
    contest.arm("after", || {
        number += 1;
        let text = std::fs::read_to_string(&path)?;
        let (old, new) = change(&text, &filler, &chance);
        let (before, after) = agent.edit(&path, &old, &new)?;
        pre.push(before);
        blobs += hash_object(&home, &repo, &path)?;
        if number % MAINTAIN == 0 {
            home.maintain()?;
        }
        Ok(after)
    });
    let times = contest.run(edits - 2)?;
    home.check()?;
    drop(home.ledger()?);
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    let taken = (on_disk(&home.siglum)? - before) as f64 / 1e6;
    let empty = times.arm("empty").median();
    let pre = Times::from(pre);
    Ok(vec![
        Line::new(format!("{edits} edits of a 309 KB file"), taken, "MB", 1)
            .against("as blobs of git", blobs / 1e6)
            .bound("≤ 5 MB", taken <= MOST),
        Line::new("hook before such an edit", pre.median(), "ms", pre.n()).against("empty", empty),
        Line::new(
            "hook after such an edit",
            times.arm("after").median(),
            "ms",
            edits - 2,
        )
        .p95(times.arm("after").p95())
        .against("empty", empty)
        .bound("p95 ≤ 20 ms", times.arm("after").p95() <= 20.0),
    ])
}

/// Some lines somewhere in the text, and what replaces them.
fn change(text: &str, filler: &Filler, chance: &Chance) -> (String, String) {
    loop {
        let mut from = chance.below(text.len() - 400);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let Some(start) = text[from..].find('\n').map(|at| from + at + 1) else {
            continue;
        };
        let end = text[start..]
            .match_indices('\n')
            .nth(chance.below(4))
            .map_or(text.len(), |(at, _)| start + at + 1);
        let old = &text[start..end];
        if old.trim().len() > 8 && text.matches(old).count() == 1 {
            let size = old.len() + chance.below(120);
            return (
                old.to_owned(),
                format!("{}// {}\n", filler.text(chance, size), chance.hex(12)),
            );
        }
    }
}

/// The bytes that git takes for this content as a loose object.
fn hash_object(home: &Home, repo: &Repo, path: &Path) -> Fallible<f64> {
    let name = path.to_str().ok_or("a path that is no text")?;
    let oid = repo.git(home, &["hash-object", "-w", name])?;
    let object = repo
        .dir
        .join(".git/objects")
        .join(&oid[..2])
        .join(&oid[2..]);
    #[expect(clippy::cast_precision_loss, reason = "a size of some kilobytes")]
    Ok(on_disk(&object)? as f64)
}
