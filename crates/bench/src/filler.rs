//! Text as agents see it: the sources of libraries on this machine.

use std::path::{Path, PathBuf};

use crate::clock::Chance;

/// Lines of source text.
pub(crate) struct Filler {
    text: String,
    /// Where each line starts.
    starts: Vec<usize>,
}

impl Filler {
    /// Gathers so many bytes of text, or what there is.
    pub(crate) fn gather(bytes: usize) -> Self {
        let registry = std::env::var_os("CARGO_HOME").map_or_else(
            || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
            PathBuf::from,
        );
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::with_capacity(bytes + (1 << 20));
        for root in [registry.join("registry/src"), own] {
            take(&root, bytes, &mut text);
        }
        if text.is_empty() {
            text.push_str("fn main() {}\n");
        }
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let mut starts: Vec<usize> = starts.collect();
        starts.pop();
        Self { text, starts }
    }

    /// About so many bytes of whole lines that follow one another, from anywhere.
    pub(crate) fn text(&self, chance: &Chance, bytes: usize) -> &str {
        let from = self.starts[chance.below(self.starts.len())];
        let mut to = (from + bytes).min(self.text.len());
        while !self.text.is_char_boundary(to) {
            to -= 1;
        }
        let end = self.text[from..to]
            .rfind('\n')
            .map_or(to, |at| from + at + 1);
        &self.text[from..end]
    }

    /// So many words, as a person might write them.
    pub(crate) fn words(&self, chance: &Chance, count: usize) -> String {
        let from = self.starts[chance.below(self.starts.len())];
        let mut words = Vec::with_capacity(count);
        let letters = |w: &&str| w.len() > 1 && w.bytes().all(|b| b.is_ascii_alphabetic());
        for word in self.text[from..]
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(letters)
            .take(count)
        {
            words.push(word);
        }
        words.join(" ")
    }
}

/// Adds the sources below a directory until there is enough. Large files, which are tables as a
/// rule, are left out.
fn take(dir: &Path, enough: usize, text: &mut String) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if text.len() >= enough {
            return;
        }
        let wanted = |p: &Path| p.extension().is_some_and(|e| e == "rs" || e == "md");
        if path.is_dir() && !path.ends_with("target") {
            take(&path, enough, text);
        } else if wanted(&path)
            && let Ok(source) = std::fs::read_to_string(&path)
            && source.len() < 400_000
        {
            text.push_str(&source);
            text.push('\n');
        }
    }
}
