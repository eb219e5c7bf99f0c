//! Where an assigned value ends, and whether it is a secret or only stands for one.

use super::boundary::{self, MARKER_START};
use super::name::{Kind, Named, Strength};
use super::{entropy, examples, letters};

/// How a value is written, which says how likely it is a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// Between quotes: a literal.
    Quoted,
    /// As in an `.env` file or on a command line: most likely a literal.
    Shell,
    /// Without quotes in something that may be code or prose, or between quotes in a list of things.
    Bare,
}

/// How much of a value is judged; one that is longer is followed to its end once it was found to be a secret.
const JUDGED: usize = 512;
/// Longest value that may be an identifier or a label; keeps the judgement of a hostile text cheap.
const LONGEST_WORDS: usize = 128;

/// Returns where the value that begins at `at` begins and ends without its quotes, and whether it has quotes.
///
/// Looks no further than needed to judge the value; see [`whole_extent`].
pub(super) fn extent(text: &str, at: usize) -> (usize, usize, Option<Written>) {
    extent_within(&text[..boundary::floor(text, at + JUDGED)], at)
}

/// Returns where the value that begins at `at` ends, however long it is.
pub(super) fn whole_extent(text: &str, at: usize) -> usize {
    extent_within(text, at).1
}

fn extent_within(text: &str, at: usize) -> (usize, usize, Option<Written>) {
    let bytes = text.as_bytes();
    let slashes = bytes[at..].iter().take_while(|b| **b == b'\\').count();
    match bytes.get(at + slashes) {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            let start = at + slashes + 1;
            (
                start,
                quoted_end(text, start, slashes, *quote),
                Some(Written::Quoted),
            )
        }
        _ if slashes > 0 => (at, at, None),
        _ => (at, bare_end(text, at), None),
    }
}

/// Finds the quote that closes a value whose opening quote had `depth` backslashes before it.
///
/// JSON inside JSON opens with `\"`, one level deeper with `\\\"`. A quote with fewer backslashes closes an outer
/// string, so the value ends there at the latest.
fn quoted_end(text: &str, start: usize, depth: usize, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let limit = text.len();
    let mut at = start;
    while at < limit {
        let slashes = bytes[at..].iter().take_while(|b| **b == b'\\').count();
        let Some(byte) = bytes.get(at + slashes) else {
            return at;
        };
        let closes = slashes <= depth
            || slashes % 2 == 0
            || (slashes - depth).is_multiple_of(2 * (depth + 1));
        match byte {
            b'\n' | b'\r' => return at,
            b if *b == quote && closes => return at,
            // A double quote without backslash ends any JSON string, whatever quote opened the value.
            b'"' if slashes <= depth || slashes % 2 == 0 => return at,
            _ => at += slashes + usize::from(byte.is_ascii() || slashes == 0),
        }
    }
    limit
}

fn bare_end(text: &str, start: usize) -> usize {
    let ends = |byte: u8| {
        byte.is_ascii_whitespace() || byte.is_ascii_control() || b"\"'`\\<>&|;,".contains(&byte)
    };
    let run = text.as_bytes()[start..]
        .iter()
        .take_while(|b| !ends(**b))
        .count();
    let mut end = start + run;
    while end > start
        && b")]}.:".contains(&text.as_bytes()[end - 1])
        && !is_balanced(&text[start..end])
    {
        end -= 1;
    }
    end
}

/// Tells whether closing brackets at the end of `value` belong to it.
fn is_balanced(value: &str) -> bool {
    let pair = match value.bytes().last() {
        Some(b')') => ('(', ')'),
        Some(b']') => ('[', ']'),
        Some(b'}') => ('{', '}'),
        _ => return false,
    };
    value.matches(pair.0).count() >= value.matches(pair.1).count()
}

/// Tells whether a value under a name that promises a secret is one.
pub(super) fn looks_secret(value: &str, written: Written, named: Named) -> bool {
    let shortest = match (written, named.kind) {
        (Written::Quoted, Kind::Password) => 4,
        (_, Kind::Password) => 6,
        _ => 8,
    };
    if value.len() < shortest || stands_for_something(value) {
        return false;
    }
    if named.kind == Kind::Authorization {
        // A header has no quotes around it; what stands there without a scheme must be a key by itself.
        return match written {
            Written::Quoted => {
                value.bytes().any(|b| b.is_ascii_digit()) && value.split(' ').count() <= 2
            }
            Written::Shell | Written::Bare => value.len() >= 20 && is_mixed(value),
        };
    }
    if value.contains(char::is_whitespace) {
        return looks_like_passphrase(value, named);
    }
    let is_key = has_letters_and_digits(value) || letters::are_drawn(value);
    if named.strength == Strength::Terse && !is_key {
        return false;
    }
    if is_path(value) || is_vocabulary(value) {
        return false;
    }
    if named.strength == Strength::Weak {
        return value.len() >= 16 && is_mixed(value);
    }
    match written {
        Written::Quoted => {
            named.kind == Kind::Password
                || has_letters_and_digits(value)
                || !is_words(value)
                || is_long_single_word(value)
                || letters::are_drawn(value)
        }
        Written::Shell => !is_code(value),
        Written::Bare => {
            letters::are_drawn(value)
                || has_letters_and_digits(value) && !is_words(value) && !is_code(value)
        }
    }
}

/// Tells whether a value is a reference, a placeholder or a replacement.
pub(super) fn stands_for_something(value: &str) -> bool {
    const STARTS: &[&str] = &[
        "$",
        "<",
        "%",
        "{{",
        "{",
        "[",
        "(",
        "=",
        "&",
        "!",
        "@{",
        "#{",
        "-----BEGIN",
        "...",
        "*",
    ];
    let first = value.bytes().next();
    value.contains(MARKER_START)
        || examples::is_documented(value)
        || (STARTS.iter().any(|start| value.starts_with(start)) && !is_strong_password(value))
        || value.bytes().all(|b| Some(b) == first)
        || value
            .bytes()
            .filter(|b| matches!(b, b'x' | b'X' | b'*' | b'.'))
            .count()
            * 5
            >= value.len() * 3
}

/// A password may begin with any sign; this one is too varied to be a reference such as `$HOME` or `{name}`.
fn is_strong_password(value: &str) -> bool {
    let bytes = value.as_bytes();
    !value.contains(MARKER_START)
        && matches!(bytes.first(), Some(b'!' | b'*' | b'=' | b'&' | b'%'))
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && !bytes.contains(&b'(')
}

/// Digits behind a word of [`VOCABULARY`], as in `password123456789`; what has more is a number that was drawn.
const NUMBER_MOST: usize = 9;

/// Tells whether every word of a value speaks about secrets or placeholders instead of being one.
pub(super) fn is_vocabulary(value: &str) -> bool {
    value.len() <= LONGEST_WORDS
        && words(value).all(|word| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
            letters.is_empty()
                || word.len() - letters.len() <= NUMBER_MOST
                    && VOCABULARY
                        .iter()
                        .any(|known| known.eq_ignore_ascii_case(letters))
        })
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

const VOCABULARY: &[&str] = &[
    "a",
    "abc",
    "access",
    "an",
    "anthropic",
    "api",
    "apikey",
    "app",
    "auth",
    "authorization",
    "aws",
    "azure",
    "bar",
    "baz",
    "bearer",
    "changeit",
    "changeme",
    "change",
    "client",
    "config",
    "credential",
    "credentials",
    "csrf",
    "current",
    "data",
    "database",
    "db",
    "default",
    "demo",
    "dummy",
    "enter",
    "env",
    "example",
    "expired",
    "fake",
    "false",
    "field",
    "file",
    "foo",
    "form",
    "from",
    "github",
    "gitlab",
    "goes",
    "google",
    "here",
    "hidden",
    "id",
    "in",
    "input",
    "insert",
    "invalid",
    "is",
    "it",
    "json",
    "jwt",
    "key",
    "keys",
    "label",
    "local",
    "login",
    "masked",
    "me",
    "missing",
    "mock",
    "my",
    "name",
    "new",
    "nil",
    "none",
    "not",
    "null",
    "oauth",
    "old",
    "omitted",
    "openai",
    "optional",
    "or",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "path",
    "placeholder",
    "private",
    "public",
    "put",
    "redacted",
    "refresh",
    "replace",
    "request",
    "required",
    "response",
    "role",
    "roles",
    "sample",
    "secret",
    "secrets",
    "server",
    "service",
    "session",
    "set",
    "settings",
    "signing",
    "slack",
    "str",
    "string",
    "stripe",
    "temp",
    "test",
    "testing",
    "tests",
    "text",
    "the",
    "to",
    "todo",
    "token",
    "tokens",
    "true",
    "type",
    "undefined",
    "unknown",
    "url",
    "user",
    "username",
    "value",
    "with",
    "your",
];

/// Splits at signs and where a capital follows a small letter.
fn words(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(|c: char| !c.is_alphanumeric())
        .flat_map(|part| {
            let mut rest = part;
            std::iter::from_fn(move || {
                if rest.is_empty() {
                    return None;
                }
                let bytes = rest.as_bytes();
                let at = (1..bytes.len())
                    .find(|i| bytes[*i].is_ascii_uppercase() && bytes[i - 1].is_ascii_lowercase())
                    .unwrap_or(bytes.len());
                let (word, tail) = rest.split_at(at);
                rest = tail;
                Some(word)
            })
        })
}

/// Tells whether a value is made of words with at most a short number behind each, as identifiers are.
fn is_words(value: &str) -> bool {
    value.len() <= LONGEST_WORDS
        && value
            .bytes()
            .all(|b| boundary::is_word(b) || b"-.:/".contains(&b))
        && words(value).all(|word| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
            word.len() - letters.len() <= 3
                && letters.len() < 20
                && letters.bytes().all(|b| b.is_ascii_alphabetic())
        })
        && !value
            .bytes()
            .zip(value.bytes().skip(1))
            .any(|(a, b)| a.is_ascii_digit() && b.is_ascii_alphabetic())
        && !has_shaken_case(value)
        && !has_mixed_style(value)
}

/// Tells whether a value is words with signs between them, as directories and branches are called.
pub(super) fn is_slug(value: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let is_name =
        |part: &str| is_words(part) && part.bytes().filter(u8::is_ascii_uppercase).count() <= 3;
    let parts = || value.split(['-', '_']);
    let words = parts().skip(1).filter(|part| !is_number(part));
    words.count() >= 2 && parts().all(|part| is_number(part) || is_name(part))
}

/// Both cases, joined by `_` and by `-`: two naming styles in one name.
fn has_mixed_style(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|b| is(&b));
    value.contains('_')
        && value.contains('-')
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
}

/// Mixed case that no naming style produces, as in `aBcDQzRtYp`.
fn has_shaken_case(value: &str) -> bool {
    let bytes = value.as_bytes();
    let turns = bytes
        .windows(2)
        .filter(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
        .count();
    turns * 4 > bytes.len()
}

fn is_long_single_word(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
        && words(value).nth(1).is_none()
}

fn is_path(value: &str) -> bool {
    const STARTS: &[&str] = &["./", "../", "~/", "file:", "C:", "c:"];
    STARTS.iter().any(|start| value.starts_with(start))
        || value.contains("://")
        || (value.contains('/')
            && value
                .split('/')
                .all(|part| is_words(part) || part.bytes().all(|b| b.is_ascii_digit())))
}

/// Tells whether a value without quotes is an expression rather than a literal.
fn is_code(value: &str) -> bool {
    let dotted = value.contains('.') && is_words(value);
    dotted
        || value.contains("::")
        || value.contains("->")
        || value.contains("${")
        || value.contains("$(")
        || value
            .find(['(', '[', '{'])
            .is_some_and(|at| is_words(&value[..at]))
}

/// Tells whether a value mixes letters and digits as keys do that a machine made, and stands for nothing else.
pub(super) fn is_mixed(value: &str) -> bool {
    has_letters_and_digits(value)
        && entropy::bits_per_byte(value) >= 3.0
        && !is_words(value)
        && !is_path(value)
        && !stands_for_something(value)
}

fn has_letters_and_digits(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A few plain words under the name of a password, unless they are a label or a sentence about passwords.
fn looks_like_passphrase(value: &str, named: Named) -> bool {
    if named.strength != Strength::Strong {
        return false;
    }
    let about = words(value).any(|word| {
        VOCABULARY
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word))
    });
    let count = value.split_whitespace().count();
    match named.kind {
        Kind::Password => !about && count <= 8 && !value.ends_with(['.', '!', '?', ':']),
        _ => !about && count <= 3 && entropy::looks_random(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::name;

    #[test]
    fn a_value_ends_where_its_quotes_end() {
        let check = |text: &str, at, expected: &str| {
            let (start, end, _) = extent(text, at);
            assert_eq!(&text[start..end], expected, "{text}");
        };
        check(r#""abc", "d""#, 0, "abc");
        check(r#""a\"bc", "d""#, 0, r#"a\"bc"#);
        check(r#"\"abc\", \"d\"""#, 0, "abc");
        check(r#"\"a\\\"bc\", "d""#, 0, r#"a\\\"bc"#);
        check(r#"\"abc\\\\\", "d""#, 0, "abc");
        check(r#"\"abc" , "d""#, 0, "abc");
        check("'abc\ndef'", 0, "abc");
        check("abc def", 0, "abc");
        check(r"abc\ndef", 0, "abc");
        check("abc),", 0, "abc");
        check("f(abc)", 0, "f(abc)");
    }

    #[test]
    fn values_are_judged_by_how_they_are_written() {
        let check = |value, written, name, expected| {
            let named = name::classify(name).expect("because the name promises a secret");
            assert_eq!(
                looks_secret(value, written, named),
                expected,
                "{name}: {value}"
            );
        };
        check("hunter2", Written::Quoted, "password", true);
        check(
            "correct horse battery staple",
            Written::Quoted,
            "password",
            true,
        );
        check("Enter your password", Written::Quoted, "password", false);
        check("correcthorse", Written::Shell, "DB_PASSWORD", true);
        check(
            "process.env.DB_PASSWORD",
            Written::Shell,
            "DB_PASSWORD",
            false,
        );
        check("getToken(user)", Written::Shell, "TOKEN", false);
        check("hashed_password2", Written::Bare, "password", false);
        check("s3cr3t-pa55", Written::Bare, "password", true);
        check("whitespace", Written::Quoted, "token", false);
        check("aabbccddeeff0011", Written::Quoted, "token", true);
        check("test", Written::Quoted, "password", false);
        check("hunter2", Written::Quoted, "pass", true);
        check("all green", Written::Quoted, "pass", false);
        check("gLKOmxgJTeKdNnFRIBXu", Written::Quoted, "pass", true);
        check("authenticationProvider", Written::Quoted, "pass", false);
        check("$2b$12$abc", Written::Quoted, "password", false);
        check("/run/secrets/db", Written::Quoted, "password", false);
    }
}
