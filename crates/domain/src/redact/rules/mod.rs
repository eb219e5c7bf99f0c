//! The table of secrets: what they look like, and which keyword makes it worth to look.
//!
//! Order matters where matches overlap: the rule that comes first names the replacement, so known forms come before
//! the rules that judge by names and randomness. Every row has a made-up sample; a test holds each row to it.

mod known;
mod places;
mod surroundings;
mod tokens;
mod vendors;

/// One kind of secret.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Names the kind in the replacement: `[redacted:<id>]`.
    pub id: &'static str,
    /// Words of which one occurs in every match, in lower case; they are looked for in any case.
    pub keywords: &'static [&'static str],
    /// Where the pattern lies relative to the keyword.
    pub shape: Shape,
    /// Regular expression; the group `secret` is replaced, without it the whole match.
    pub pattern: &'static str,
    /// Least entropy of the secret in bits per byte; keeps placeholders readable.
    pub min_entropy: Option<f32>,
    /// A text with one made-up secret that this rule catches, and no other.
    pub sample: &'static str,
}

/// Where the pattern of a rule lies relative to its keyword, and how its match is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The match begins with the keyword, and no word runs into it.
    Token,
    /// As `Token`, and so telling that a name may run into it from the left, as in `my_<token>`.
    Distinct,
    /// The match begins with the keyword, which may be part of a longer name; placeholders are spared.
    Start,
    /// As `Start`; the secret must look random and not like an id.
    Random,
    /// As `Start`, where the keyword is followed by a user, a password and an `@`.
    Login,
    /// The keyword is a parameter of an address; its value must mix letters and digits and be no words.
    Parameter,
    /// The match begins at most this many bytes before the keyword.
    Around(usize),
    /// The keyword is part of a name; the pattern is what stands between the name and its value.
    Assignment,
    /// The pattern is the head of a private key; its body is cut out line by line.
    PrivateKey,
    /// The pattern is the end of a private key whose head is not in the text; the lines before it are cut out.
    PrivateKeyTail,
    /// The pattern is what stands before cookies; the value of each that looks like a key is cut out.
    Cookies,
    /// The pattern begins a statement that inserts rows; the values under telling names of columns are cut out.
    InsertedRow,
    /// The pattern names a Kubernetes secret; the values of its data are cut out.
    KubernetesSecret,
}

/// The tables, in the order of their rules.
const TABLES: [&[Rule]; 5] = [
    tokens::TOKENS,
    vendors::VENDORS,
    surroundings::SURROUNDINGS,
    places::PLACES,
    known::KNOWN,
];

const COUNT: usize = {
    let (mut sum, mut table) = (0, 0);
    while table < TABLES.len() {
        sum += TABLES[table].len();
        table += 1;
    }
    sum
};

/// All kinds of secrets, the specific ones first.
pub const RULES: &[Rule] = &joined();

const fn joined() -> [Rule; COUNT] {
    let mut all = [known::KNOWN[0]; COUNT];
    let (mut at, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            all[at] = TABLES[table][row];
            at += 1;
            row += 1;
        }
        table += 1;
    }
    all
}

const fn token(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    sample: &'static str,
) -> Rule {
    shaped(id, keywords, Shape::Token, pattern, sample)
}

const fn shaped(
    id: &'static str,
    keywords: &'static [&'static str],
    shape: Shape,
    pattern: &'static str,
    sample: &'static str,
) -> Rule {
    Rule {
        id,
        keywords,
        shape,
        pattern,
        min_entropy: Some(3.0),
        sample,
    }
}
