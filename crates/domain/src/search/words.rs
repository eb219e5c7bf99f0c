//! The words of a text: identifiers whole and by their parts, and scripts without blanks by pairs of characters.

use std::ops::Range;

/// How long a word is at most, in characters. Of a longer one, its start counts.
pub(super) const WORD_MOST: usize = 64;
/// An identifier of more parts is no name that somebody reads, but data.
const PARTS_MOST: usize = 12;

/// A run of characters that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
    /// Whether it is of a script that has no blanks between words.
    pub(super) is_dense: bool,
}

/// The runs of a text in order: letters, digits and `_`, each of one kind of script.
pub(super) fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, sign) in text.char_indices() {
        if !is_of_word(sign) {
            continue;
        }
        let end = at + sign.len_utf8();
        let is_dense = is_dense(sign);
        match runs.last_mut() {
            // A mark belongs to the letter before it.
            Some(run) if run.range.end == at && (run.is_dense == is_dense || is_mark(sign)) => {
                run.range.end = end;
            }
            _ if is_mark(sign) => {}
            _ => runs.push(Run {
                range: at..end,
                is_dense,
            }),
        }
    }
    runs
}

/// A run as it is compared: in lower case, cut to a length, and without marks that stand by themselves.
pub(super) fn folded(run: &str) -> String {
    if run.is_ascii() {
        return run[..run.len().min(WORD_MOST)].to_ascii_lowercase();
    }
    let signs = run.chars().flat_map(char::to_lowercase);
    signs.filter(|c| !is_mark(*c)).take(WORD_MOST).collect()
}

/// The parts of an identifier, by `_` and by the case of its letters; none where it has no other parts than itself.
pub(super) fn parts(run: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = None;
    let mut close = |start: &mut Option<usize>, end: usize| {
        if let Some(start) = start.take() {
            parts.push(start..end);
        }
    };
    let mut signs = run.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, sign)) = signs.next() {
        if sign == '_' {
            close(&mut start, at);
        } else {
            let next = signs.peek().map(|(_, next)| *next);
            // `fooBar` and `foo2Bar`, and the last letter of `HTTP` in `HTTPServer`.
            let begins = sign.is_uppercase()
                && before.is_some_and(|b| {
                    (!b.is_uppercase() && b != '_')
                        || (b.is_uppercase() && next.is_some_and(char::is_lowercase))
                });
            if begins {
                close(&mut start, at);
            }
            start.get_or_insert(at);
        }
        before = Some(sign);
    }
    close(&mut start, run.len());
    let is_whole = parts.len() == 1 && parts[0] == (0..run.len());
    if is_whole || parts.len() > PARTS_MOST {
        parts.clear();
    }
    parts
}

/// Hands each word of a text to `take`, some of them more than once.
pub(super) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    for run in runs(text) {
        let whole = &text[run.range];
        if run.is_dense {
            pairs(whole).iter().for_each(|pair| take(pair));
            continue;
        }
        // Most words of most texts.
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if whole.len() <= WORD_MOST && whole.bytes().all(is_plain) {
            take(whole);
            continue;
        }
        for part in parts(whole) {
            let part = folded(&whole[part]);
            // A mark by itself is no word, and `tsvector` refuses an empty one.
            if !part.is_empty() {
                take(&part);
            }
        }
        take(&folded(whole));
    }
}

/// The pairs of neighbours in a run of a dense script, and its last character alone: each of its characters begins one.
fn pairs(run: &str) -> Vec<String> {
    let signs = dense_signs(run);
    let mut pairs: Vec<String> = signs.windows(2).map(|two| two.iter().collect()).collect();
    pairs.extend(signs.last().map(char::to_string));
    pairs
}

/// The characters of such a run, as they are compared.
pub(super) fn dense_signs(run: &str) -> Vec<char> {
    let signs = run.chars().flat_map(char::to_lowercase);
    signs.filter(|c| !is_mark(*c)).collect()
}

fn is_of_word(sign: char) -> bool {
    sign == '_' || sign.is_alphanumeric() || is_mark(sign)
}

/// A mark over the letter before it, as file systems write accents.
pub(super) const fn is_mark(sign: char) -> bool {
    matches!(sign, '\u{300}'..='\u{36f}')
}

/// Whether a character is of a script that has no blanks between words, or in which particles hang on words.
const fn is_dense(sign: char) -> bool {
    matches!(
        sign,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3130}'..='\u{318f}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut words = BTreeSet::new();
        each_word(text, |word| {
            words.insert(word.to_owned());
        });
        let expected: BTreeSet<String> = expected.iter().map(|w| (*w).to_owned()).collect();
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn identifiers_are_words_whole_and_by_parts() {
        check("parse_query", &["parse_query", "parse", "query"]);
        check("parseQuery", &["parsequery", "parse", "query"]);
        check("HTTPServer2", &["httpserver2", "http", "server2"]);
        check("a/b/c.rs", &["a", "b", "c", "rs"]);
        check("__init__", &["__init__", "init"]);
        check("SHA256 utf8", &["sha256", "utf8"]);
        check("don't", &["don", "t"]);
        check("-- ; \"' *", &[]);
        check("_", &["_"]);
    }

    #[test]
    fn scripts_without_blanks_are_pairs() {
        check("検索の索引", &["検索", "索の", "の索", "索引", "引"]);
        check("parser解析", &["parser", "解析", "析"]);
        check("ГРАФ größe", &["граф", "größe"]);
        check("cafe\u{301}", &["cafe"]);
        check("a_\u{301}", &["a_", "a"]);
        check("_\u{301}", &["_"]);
    }

    #[test]
    fn data_has_few_words() {
        let data = "aBcDeFgHiJkLmNoPqRsTuVwXyZ".repeat(9);
        let mut words = Vec::new();
        each_word(&data, |word| words.push(word.to_owned()));
        assert_eq!(words.len(), 1);
        assert_eq!(words[0].len(), WORD_MOST);
    }
}
