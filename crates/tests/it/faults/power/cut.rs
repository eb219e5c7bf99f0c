//! A disk as a power cut may leave it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::trace::Op;
use crate::harness::Dice;

/// What a disk writes at once, in bytes.
const SECTOR: usize = 512;

/// Some directories as they were, and what was done to them.
pub(super) struct Disk {
    pub(super) before: Vec<(PathBuf, Vec<u8>)>,
    pub(super) ops: Vec<Op>,
}

/// What is left of what nobody waited for.
#[derive(Clone, Copy)]
enum Fate {
    Lost,
    There,
    /// Names are as they were made, what was written is lost.
    Names,
    /// Each for itself.
    Chance,
}

/// The files, by their names below the root.
pub(super) type State = BTreeMap<PathBuf, Vec<u8>>;

impl Disk {
    /// What is there if the power goes before the operation `at`.
    pub(super) fn cut(&self, at: usize, dice: &mut Dice) -> State {
        let done = &self.ops[..at];
        let fate = match dice.roll(5) {
            0 => Fate::Lost,
            1 => Fate::There,
            2 => Fate::Names,
            _ => Fate::Chance,
        };
        let mut files: BTreeMap<usize, Vec<u8>> = (0..)
            .zip(self.before.iter().map(|(_, bytes)| bytes.clone()))
            .collect();
        let mut waiting: BTreeMap<usize, Vec<&Op>> = BTreeMap::new();
        for op in done {
            match op {
                Op::Write { file, .. } | Op::Length { file, .. } => {
                    waiting.entry(*file).or_default().push(op);
                }
                Op::SyncFile { file } => flush(&mut files, waiting.remove(file)),
                Op::SyncAll => {
                    let all = std::mem::take(&mut waiting);
                    flush(&mut files, all.into_values());
                }
                _ => {}
            }
        }
        for op in waiting.into_values().flatten() {
            match (fate, dice.roll(10)) {
                (Fate::Lost | Fate::Names, _) | (Fate::Chance, 0..3) => {}
                (Fate::Chance, 3) => apply(&mut files, op, Some(dice)),
                _ => apply(&mut files, op, None),
            }
        }
        self.named(at, fate, dice, &files)
    }

    /// The moments after a name went, which nothing can bring back.
    pub(super) fn removals(&self) -> Vec<usize> {
        let removed = |op: &Op| matches!(op, Op::Remove { .. });
        let all = self.ops.iter().enumerate();
        all.filter(|(_, op)| removed(op))
            .map(|(n, _)| n + 1)
            .collect()
    }

    /// What is there if all is waited for.
    pub(super) fn whole(&self) -> State {
        let mut files: BTreeMap<usize, Vec<u8>> = (0..)
            .zip(self.before.iter().map(|(_, bytes)| bytes.clone()))
            .collect();
        for op in &self.ops {
            apply(&mut files, op, None);
        }
        self.named(self.ops.len(), Fate::There, &mut Dice(1), &files)
    }

    /// Gives files the names that survive.
    fn named(
        &self,
        at: usize,
        fate: Fate,
        dice: &mut Dice,
        files: &BTreeMap<usize, Vec<u8>>,
    ) -> State {
        let upto = match fate {
            Fate::Lost => 0,
            Fate::There | Fate::Names => at,
            Fate::Chance => dice.index(at + 1),
        };
        let before = self.before.iter().map(|(name, _)| name.clone());
        let mut names: BTreeMap<PathBuf, usize> = before.zip(0..).collect();
        for (n, op) in self.ops[..at].iter().enumerate() {
            if n >= upto && !self.is_kept(n, at) {
                continue;
            }
            match op {
                Op::Create { file, name } => {
                    names.insert(name.clone(), *file);
                }
                Op::Rename { from, to } => {
                    if let Some(file) = names.remove(from) {
                        names.insert(to.clone(), file);
                    }
                }
                Op::Remove { name } => {
                    names.remove(name);
                }
                _ => {}
            }
        }
        let content = |file| files.get(&file).cloned().unwrap_or_default();
        names
            .into_iter()
            .map(|(name, file)| (name, content(file)))
            .collect()
    }

    /// Whether somebody waited for a change of names: for its directory, or for the file that got the name.
    fn is_kept(&self, n: usize, at: usize) -> bool {
        let (name, file) = match &self.ops[n] {
            Op::Create { file, name } => (name, Some(*file)),
            Op::Rename { to, .. } => (to, None),
            Op::Remove { name } => (name, None),
            _ => return false,
        };
        let dir = name.parent();
        self.ops[n + 1..at].iter().any(|later| match later {
            Op::SyncAll => true,
            Op::SyncDir { name } => dir == Some(name.as_path()),
            Op::SyncFile { file: synced } => file == Some(*synced),
            _ => false,
        })
    }
}

fn flush<'a>(
    files: &mut BTreeMap<usize, Vec<u8>>,
    ops: impl IntoIterator<Item = impl IntoIterator<Item = &'a Op>>,
) {
    for op in ops.into_iter().flatten() {
        apply(files, op, None);
    }
}

/// Does to a file what was done; with chance at hand, some sectors at its begin only.
fn apply(files: &mut BTreeMap<usize, Vec<u8>>, op: &Op, torn: Option<&mut Dice>) {
    match op {
        Op::Write { file, at, bytes } => {
            let kept = match torn {
                Some(dice) => dice.index(bytes.len().div_ceil(SECTOR)) * SECTOR,
                None => bytes.len(),
            };
            let at = usize::try_from(*at).unwrap();
            let content = files.entry(*file).or_default();
            let end = at + kept.min(bytes.len());
            if content.len() < end {
                content.resize(end, 0);
            }
            content[at..end].copy_from_slice(&bytes[..end - at]);
        }
        Op::Length { file, length } => {
            let length = usize::try_from(*length).unwrap();
            files.entry(*file).or_default().resize(length, 0);
        }
        _ => {}
    }
}

/// Makes a state real, in a directory that is empty.
pub(super) fn lay_out(state: &State, dir: &Path) {
    for (name, bytes) in state {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
