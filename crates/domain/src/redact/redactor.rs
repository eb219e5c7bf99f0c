//! Applies the rules: one pass for keywords, then each rule only where its keyword occurs.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::boundary::{self, MARKER_START};
use super::keywords::Keywords;
use super::rules::{RULES, Rule, Shape};
use super::{Redacted, assignment, cookies, entropy, examples, inserted, kubernetes, pem, value};

/// How far behind a keyword a match may begin to end; a match that reaches this far is followed to its end.
const WINDOW: usize = 1024;
/// Passes until the text is stable. The first pass finds what there is; a later one sees what a replacement uncovered.
const MOST_PASSES: usize = 8;

/// Removes secrets from text.
///
/// Building one costs the keyword automaton only; the pattern of a rule is compiled when its keyword first occurs.
#[derive(Debug)]
pub struct Redactor {
    keywords: Keywords,
    compiled: Vec<OnceLock<Regex>>,
}

/// A part of the text to replace; only one part of a secret that is cut out in parts carries the marker.
#[derive(Debug)]
struct Cut {
    range: Range<usize>,
    rule: usize,
    has_marker: bool,
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new()
    }
}

impl Redactor {
    /// Builds a redactor with all rules.
    #[must_use]
    pub fn new() -> Self {
        Self {
            keywords: Keywords::new(),
            compiled: RULES.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns the redactor of this process, built at first use.
    #[must_use]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Redactor> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    /// Replaces every secret in `raw` by `[redacted:<rule id>]`.
    ///
    /// Redacting twice changes nothing, lines survive, and a line of valid JSON stays valid JSON.
    #[must_use]
    pub fn redact(&self, raw: &str) -> Redacted {
        Redacted::proven(self.redact_cow(raw).into_owned())
    }

    /// As [`Redactor::redact`], without a copy when there is nothing to replace.
    #[must_use]
    pub fn redact_cow<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        self.redact_where(raw, |_| true).0
    }

    /// Tells whether there is a secret in a text: something to replace.
    #[must_use]
    pub fn has_secret(&self, raw: &str) -> bool {
        matches!(self.redact_cow(raw), Cow::Owned(_))
    }

    /// As [`Redactor::redact_cow`], with only the rules whose id is `wanted`; names the rules that replaced something,
    /// each once.
    #[must_use]
    pub fn redact_where<'a>(
        &self,
        raw: &'a str,
        wanted: impl Fn(&str) -> bool,
    ) -> (Cow<'a, str>, Vec<&'static str>) {
        let (mut text, mut rules) = (Cow::Borrowed(raw), Vec::new());
        for _ in 0..MOST_PASSES {
            let mut cuts = self.cuts(&text);
            cuts.retain(|cut| wanted(RULES[cut.rule].id));
            if cuts.is_empty() {
                break;
            }
            let cuts = merge(cuts);
            rules.extend(cuts.iter().map(|cut| RULES[cut.rule].id));
            text = Cow::Owned(replace(&text, cuts));
        }
        rules.sort_unstable();
        rules.dedup();
        (text, rules)
    }

    fn cuts(&self, text: &str) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (rule, hit) in self.keywords.hits(text) {
            self.try_rule(text, rule, hit, &mut cuts);
        }
        cuts
    }

    fn try_rule(&self, text: &str, index: usize, hit: Range<usize>, cuts: &mut Vec<Cut>) {
        // A text made of keywords would otherwise be searched from each of them to its end.
        let is_done = cuts
            .iter()
            .rev()
            .take(4)
            .any(|cut| cut.rule == index && cut.range.contains(&hit.start));
        if is_done {
            return;
        }
        let rule = &RULES[index];
        let cut = |range| Cut {
            range,
            rule: index,
            has_marker: true,
        };
        match rule.shape {
            Shape::Token if !boundary::starts_token(text.as_bytes(), hit.start) => {}
            Shape::Random if !has_long_run(&text.as_bytes()[hit.end..]) => {}
            Shape::Login if !has_login(&text.as_bytes()[hit.end..]) => {}
            Shape::Token | Shape::Start | Shape::Random | Shape::Login => {
                let found = self.search(text, index, hit.start, hit.start);
                cuts.extend(found.map(cut));
            }
            Shape::Distinct => {
                let found = self.search(text, index, hit.start, hit.start);
                let found = found.filter(|at| is_told_apart(text, &hit, &text[at.clone()]));
                cuts.extend(found.map(cut));
            }
            Shape::Around(before) => {
                let found = self.search(
                    text,
                    index,
                    boundary::floor(text, hit.start.saturating_sub(before)),
                    hit.start,
                );
                cuts.extend(found.map(cut));
            }
            Shape::Assignment => {
                cuts.extend(assignment::find(text, hit.start, || self.regex(index)).map(cut));
            }
            Shape::Parameter if !is_parameter(text.as_bytes(), hit.start) => {}
            Shape::Parameter => {
                let found = self.search(text, index, hit.start, hit.start);
                cuts.extend(found.map(cut));
            }
            Shape::PrivateKey
            | Shape::PrivateKeyTail
            | Shape::Cookies
            | Shape::InsertedRow
            | Shape::KubernetesSecret => {
                let Some(head) = self.search(text, index, hit.start, hit.start) else {
                    return;
                };
                let (ranges, parts_of_one) = match rule.shape {
                    Shape::PrivateKey => (pem::body_runs(text, head.end), true),
                    Shape::PrivateKeyTail => (pem::tail_runs(text, head.start), true),
                    Shape::InsertedRow => (inserted::values(text, head.end), false),
                    Shape::Cookies => (cookies::values(text, head.end), false),
                    _ => (kubernetes::values(text, head), false),
                };
                cuts.extend(ranges.into_iter().enumerate().map(|(i, range)| Cut {
                    range,
                    rule: index,
                    has_marker: i == 0 || !parts_of_one,
                }));
            }
        }
    }

    /// Searches from `from` for a match that begins at or before `hit`; returns the secret in it.
    fn search(&self, text: &str, index: usize, from: usize, hit: usize) -> Option<Range<usize>> {
        let window_end = boundary::floor(text, hit + WINDOW);
        let found = self.search_in(&text[..window_end], index, from, hit)?;
        let is_accepted = is_accepted(&text[found.clone()], &RULES[index]);
        // Only what is a secret is followed beyond the window: rejected ones may be many and overlap.
        if is_accepted && found.end == window_end && window_end < text.len() {
            return self.search_in(text, index, from, hit).or(Some(found));
        }
        is_accepted.then_some(found)
    }

    fn search_in(&self, text: &str, index: usize, from: usize, hit: usize) -> Option<Range<usize>> {
        let window = &text[from..];
        let regex = self.regex(index);
        let (whole, secret) = if regex.captures_len() > 1 {
            let groups = regex.captures(window)?;
            (groups.get(0)?.range(), groups.name("secret")?.range())
        } else {
            let found = regex.find(window)?.range();
            (found.clone(), found)
        };
        if from + whole.start > hit || from + whole.end <= hit {
            return None;
        }
        let is_around = matches!(RULES[index].shape, Shape::Around(_));
        if is_around && !boundary::starts_token(text.as_bytes(), from + whole.start) {
            return None;
        }
        let start = boundary::after_escape(text.as_bytes(), from + secret.start);
        (start < from + secret.end).then(|| start..from + secret.end)
    }

    fn regex(&self, index: usize) -> &Regex {
        self.compiled[index].get_or_init(|| {
            let rule = &RULES[index];
            let pattern = match rule.shape {
                Shape::Around(_) => rule.pattern.to_owned(),
                _ => format!("^(?:{})", rule.pattern),
            };
            Regex::new(&pattern).expect("because a test compiles every pattern of the table")
        })
    }
}

/// Tells whether a token is one though a word may run into it: it looks drawn at random, and what runs into it is no part
/// of it. Base64 has no sign such as `_`, and ids of capitals and digits (ULIDs) have no other letters.
fn is_told_apart(text: &str, hit: &Range<usize>, secret: &str) -> bool {
    let bytes = text.as_bytes();
    if boundary::starts_token(bytes, hit.start) {
        return true;
    }
    let before = bytes[hit.start - 1];
    let is_shouted = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    if secret.bytes().all(is_shouted) {
        return !is_shouted(before) && value::is_mixed(secret);
    }
    let has_sign = !bytes[hit.clone()].iter().all(u8::is_ascii_alphanumeric);
    (before == b'_' || has_sign) && entropy::looks_random(secret) && !value::is_slug(secret)
}

/// Tells cheaply whether a random-looking string may follow soon.
fn has_long_run(rest: &[u8]) -> bool {
    let mut run = 0;
    rest.iter().take(80).any(|byte| {
        run = if byte.is_ascii_alphanumeric() || b"+/_-".contains(byte) {
            run + 1
        } else {
            0
        };
        run >= 20
    })
}

/// Tells cheaply whether the authority of an address has a user and a password.
fn has_login(rest: &[u8]) -> bool {
    let authority = rest
        .iter()
        .take(WINDOW)
        .take_while(|byte| !b"/?# \n\"\\".contains(byte));
    authority
        .skip_while(|byte| **byte != b':')
        .any(|byte| *byte == b'@')
}

/// Tells whether a parameter of an address begins at `at`.
fn is_parameter(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| {
        b"?&;".contains(&text[before])
            || boundary::ends_escape(text, before)
            || boundary::ends_url_escape(text, before)
    })
}

/// Judges what a pattern matched.
fn is_accepted(secret: &str, rule: &Rule) -> bool {
    let is_too_plain = rule
        .min_entropy
        .is_some_and(|least| entropy::bits_per_byte(secret) < least);
    if is_too_plain || secret.contains(MARKER_START) || examples::is_documented(secret) {
        return false;
    }
    match rule.shape {
        Shape::Start => !value::stands_for_something(secret) && !value::is_vocabulary(secret),
        Shape::Login => !value::stands_for_something(secret),
        Shape::Parameter => value::is_mixed(secret) && !is_uuid(secret),
        Shape::Random => entropy::looks_random(secret) && !is_id(secret),
        Shape::Token | Shape::Distinct if rule.min_entropy.is_some() => {
            secret.bytes().any(|b| b.is_ascii_uppercase()) || !value::is_slug(secret)
        }
        _ => true,
    }
}

/// Ids stay readable, also as parameters.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// Ids of model providers and ours: a short lower-case word, an underscore, letters and digits.
fn is_id(text: &str) -> bool {
    text.split_once('_').is_some_and(|(kind, _)| {
        (2..=12).contains(&kind.len()) && kind.bytes().all(|b| b.is_ascii_lowercase())
    })
}

/// Orders cuts and joins those that overlap; the first rule of the table names the result.
fn merge(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.range.start, cut.rule));
    let mut merged: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match merged.last_mut() {
            Some(last) if cut.range.start < last.range.end => {
                last.range.end = last.range.end.max(cut.range.end);
                last.rule = last.rule.min(cut.rule);
                last.has_marker |= cut.has_marker;
            }
            _ => merged.push(cut),
        }
    }
    merged
}

fn replace(text: &str, cuts: Vec<Cut>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for cut in cuts {
        out.push_str(&text[kept..cut.range.start]);
        if cut.has_marker {
            out.push_str(MARKER_START);
            out.push_str(RULES[cut.rule].id);
            out.push(']');
        }
        kept = cut.range.end;
    }
    out.push_str(&text[kept..]);
    out
}
