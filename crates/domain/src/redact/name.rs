//! Which names (of variables, fields, flags, keys) say that their value is a secret.

/// The kind of secret a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Chosen by a person: may be a plain word.
    Password,
    /// Made by a machine: a plain word is rather a name of something.
    Machine,
    /// The value of an authorization header.
    Authorization,
}

/// How sure the name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// The name ends as names of secrets do.
    Strong,
    /// Something unknown follows the telling part; only a random-looking value counts.
    Weak,
}

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: Kind,
    pub(super) strength: Strength,
}

/// Longest name looked at.
pub(super) const LONGEST: usize = 64;

const STEMS: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("secret", Kind::Machine),
    ("token", Kind::Machine),
    ("apikey", Kind::Machine),
    ("accesskey", Kind::Machine),
    ("privatekey", Kind::Machine),
    ("authkey", Kind::Machine),
    ("accountkey", Kind::Machine),
    ("encryptionkey", Kind::Machine),
    ("signingkey", Kind::Machine),
    ("masterkey", Kind::Machine),
    ("credential", Kind::Machine),
    ("authorization", Kind::Authorization),
];

/// Endings after the telling part that keep the name telling.
const HARMLESS_ENDINGS: &[&str] = &[
    "key",
    "value",
    "base64",
    "b64",
    "hash",
    "raw",
    "plain",
    "text",
    "string",
    "hex",
    "default",
    "prod",
    "production",
    "dev",
    "development",
    "staging",
    "test",
    "live",
    "primary",
    "secondary",
    "current",
    "old",
    "new",
    "admin",
    "root",
    "user",
    "db",
    "ro",
    "rw",
    "s",
];

/// Beginnings of what may follow the telling part and says that the value is about a secret, not one.
const ABOUT: &[&str] = &[
    "arn",
    "auth",
    "budget",
    "class",
    "column",
    "count",
    "dir",
    "enabled",
    "endpoint",
    "env",
    "error",
    "exp",
    "field",
    "file",
    "form",
    "format",
    "grammar",
    "header",
    "hint",
    "id",
    "iz",
    "is",
    "index",
    "idx",
    "input",
    "kind",
    "label",
    "len",
    "limit",
    "list",
    "manager",
    "max",
    "message",
    "min",
    "mount",
    "name",
    "param",
    "path",
    "pattern",
    "placeholder",
    "policy",
    "pos",
    "prefix",
    "price",
    "provider",
    "ref",
    "regex",
    "request",
    "required",
    "reset",
    "response",
    "scope",
    "span",
    "status",
    "store",
    "stream",
    "suffix",
    "title",
    "transform",
    "tree",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "var",
    "version",
];

/// Beginnings of names whose tokens are no secrets: cursors, vocabulary, flags.
const NO_SECRET_BEFORE: &[&str] = &[
    "page",
    "next",
    "continuation",
    "sync",
    "cancellation",
    "cancel",
    "eos",
    "bos",
    "pad",
    "unk",
    "stop",
    "sep",
    "mask",
    "special",
    "has",
    "is",
    "needs",
    "invalid",
    "missing",
    "show",
    "forgot",
    "reset",
    "verify",
    "per",
    "each",
    "design",
    "syntax",
    "public",
    "number",
    "num",
    "count",
    "max",
    "total",
];

/// Tells what a name says about its value; `None` if nothing.
pub(super) fn classify(name: &str) -> Option<Named> {
    let mut buffer = [0_u8; LONGEST];
    let compact = compact(name, &mut buffer)?;
    if compact.ends_with("tokens") {
        return None;
    }
    if let Some(named) = short_form(name) {
        return Some(named);
    }
    let (start, end, kind) = last_stem(compact)?;
    let before = &compact[..start];
    if kind == Kind::Machine && NO_SECRET_BEFORE.iter().any(|word| before.ends_with(word)) {
        return None;
    }
    let ending = &compact[end..];
    let strength = if is_harmless(ending) {
        Strength::Strong
    } else if is_about(ending) || ending.strip_prefix('s').is_some_and(is_about) {
        return None;
    } else {
        Strength::Weak
    };
    Some(Named { kind, strength })
}

/// Tells whether the name is a shouted one, as environment variables are.
pub(super) fn is_shouted(name: &str) -> bool {
    !name.bytes().any(|b| b.is_ascii_lowercase())
}

/// Tells whether an ending is made of harmless endings and digits.
fn is_harmless(ending: &str) -> bool {
    let ending = ending.trim_start_matches(|c: char| c.is_ascii_digit());
    ending.is_empty()
        || HARMLESS_ENDINGS
            .iter()
            .any(|word| ending.strip_prefix(word).is_some_and(is_harmless))
}

fn is_about(ending: &str) -> bool {
    ABOUT.iter().any(|word| ending.starts_with(word))
}

/// Writes the name in lower case without separators.
fn compact<'a>(name: &str, buffer: &'a mut [u8; LONGEST]) -> Option<&'a str> {
    let mut len = 0;
    for byte in name.bytes() {
        if !byte.is_ascii_alphanumeric() {
            continue;
        }
        *buffer.get_mut(len)? = byte.to_ascii_lowercase();
        len += 1;
    }
    std::str::from_utf8(&buffer[..len]).ok()
}

/// `DB_PASS`, `smtp-pwd`: too short to be looked for inside words.
fn short_form(name: &str) -> Option<Named> {
    let short = |ending: &str| {
        name.len()
            .checked_sub(ending.len())
            .and_then(|at| name.get(at..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
    };
    ["_pass", "_pwd", "-pass", "-pwd"]
        .iter()
        .any(|ending| name.len() > ending.len() && short(ending))
        .then_some(Named {
            kind: Kind::Password,
            strength: Strength::Strong,
        })
}

fn last_stem(compact: &str) -> Option<(usize, usize, Kind)> {
    STEMS
        .iter()
        .filter_map(|(stem, kind)| compact.rfind(stem).map(|at| (at, at + stem.len(), *kind)))
        .max_by_key(|(_, end, _)| *end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<(Kind, Strength)>) {
        assert_eq!(
            classify(name).map(|n| (n.kind, n.strength)),
            expected,
            "{name}"
        );
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "DB_PASSWORD",
            "user-password",
            "SMTP_PASS",
            "db_pwd",
            "passwordHash",
        ] {
            check(name, Some((Kind::Password, Strength::Strong)));
        }
        for name in [
            "token",
            "API_TOKEN",
            "apiKey",
            "api-key",
            "client_secret",
            "SECRET_KEY_BASE64",
            "accessKey2",
        ] {
            check(name, Some((Kind::Machine, Strength::Strong)));
        }
        check(
            "Proxy-Authorization",
            Some((Kind::Authorization, Strength::Strong)),
        );
        check("token_for_ci", Some((Kind::Machine, Strength::Weak)));
    }

    #[test]
    fn names_about_secrets() {
        for name in [
            "max_tokens",
            "token_count",
            "TOKEN_URL",
            "passwordField",
            "next_page_token",
            "tokenizer",
            "secretName",
        ] {
            check(name, None);
        }
        check("passing", None);
        check(&"token".repeat(40), None);
    }
}
