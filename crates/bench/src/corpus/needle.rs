//! Texts that stand in one session alone, and what finds them.

use crate::clock::Chance;

/// How many letters a word has that no other text has.
const LETTERS: usize = 14;
/// How many of them are the same in the index, where words share their heads with those before them.
const SHARED: usize = 5;

/// Where a needle stands in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Prompt,
    Answer,
    Command,
    Output,
}

/// A text that stands in one session alone, and what finds it.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    /// The word in it that no other text has.
    pub(crate) word: String,
    pub(crate) text: String,
    pub(crate) query: String,
    pub(crate) place: Place,
}

impl Needle {
    /// Needles of all kinds in all places.
    pub(crate) fn all(chance: &Chance, count: usize) -> Vec<Self> {
        (0..count).map(|nth| Self::new(chance, nth)).collect()
    }

    /// One: plain, in what JSON escapes, an identifier by its parts or whole, a path, in other alphabets.
    fn new(chance: &Chance, nth: usize) -> Self {
        let letter = |_| char::from(b'a' + u8::try_from(chance.below(26)).unwrap_or(0));
        let word: String = (0..LETTERS).map(letter).collect();
        let (text, query) = match nth % 8 {
            0 => (format!("the {word} stands here"), word.clone()),
            1 => (
                format!("say \"{word}\"\n\tand \\ go"),
                format!("\"{word}\""),
            ),
            2 => (format!("call some_{word}_thing()"), word.clone()),
            3 => (
                format!("call some_{word}_thing()"),
                format!("some_{word}_thing"),
            ),
            4 => (format!("new {word}Builder2 there"), word.clone()),
            5 => (
                format!("see src/{word}/mod.rs now"),
                format!("src/{word}/mod.rs"),
            ),
            6 => (
                format!("全文検索{word}の索引を作る"),
                format!("検索{word}の"),
            ),
            _ => (format!("граф größe {word}ß"), format!("{word}ß")),
        };
        let place = match nth / 8 % 4 {
            0 => Place::Prompt,
            1 => Place::Answer,
            2 => Place::Command,
            _ => Place::Output,
        };
        Self {
            word,
            text,
            query,
            place,
        }
    }

    /// What of its word stands in one piece wherever it is stored.
    pub(crate) fn tail(&self) -> &str {
        &self.word[SHARED..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_needles_are_alike() {
        let needles = Needle::all(&Chance::new(11), 200);
        for (nth, needle) in needles.iter().enumerate() {
            assert!(needle.text.contains(&needle.word), "{needle:?}");
            let mut others = needles.iter().skip(nth + 1);
            assert!(others.all(|other| !other.text.contains(needle.tail())));
        }
        for place in [Place::Prompt, Place::Answer, Place::Command, Place::Output] {
            assert!(needles.iter().filter(|n| n.place == place).count() >= 48);
        }
    }
}
