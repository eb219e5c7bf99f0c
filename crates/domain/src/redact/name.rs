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
    /// The name is short or says little else; a value that may be a plain word does not count.
    Terse,
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
    ("sharedkey", Kind::Machine),
    ("subscriptionkey", Kind::Machine),
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

/// Beginnings of names whose keys find something and open nothing.
const NO_SECRET_KEY_BEFORE: &[&str] = &[
    "alt",
    "any",
    "arrow",
    "backspace",
    "bucket",
    "cache",
    "category",
    "column",
    "composite",
    "config",
    "context",
    "dedup",
    "delete",
    "down",
    "enter",
    "env",
    "escape",
    "event",
    "field",
    "foreign",
    "group",
    "hash",
    "hot",
    "i18n",
    "idempotency",
    "index",
    "item",
    "json",
    "label",
    "left",
    "lookup",
    "map",
    "menu",
    "message",
    "modifier",
    "name",
    "natural",
    "object",
    "parent",
    "partition",
    "primary",
    "public",
    "publishable",
    "query",
    "range",
    "react",
    "registry",
    "restore",
    "right",
    "root",
    "route",
    "routing",
    "row",
    "s3",
    "shift",
    "site",
    "sort",
    "space",
    "state",
    "storage",
    "surrogate",
    "tab",
    "translation",
    "tree",
    "unique",
    "up",
    "websocket",
    "widget",
];

/// Tells what a name says about its value; `None` if nothing.
pub(super) fn classify(name: &str) -> Option<Named> {
    let mut buffer = [0_u8; LONGEST];
    let compact = compact(name, &mut buffer)?;
    if compact.ends_with("tokens") {
        return None;
    }
    if let Some(strength) = short_password(name, compact) {
        return Some(Named {
            kind: Kind::Password,
            strength,
        });
    }
    let Some((start, end, kind)) = last_stem(compact) else {
        return is_key(name).then_some(Named {
            kind: Kind::Machine,
            strength: Strength::Weak,
        });
    };
    if kind == Kind::Machine && is_no_secret(name, &compact[..start], &compact[start..end]) {
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

/// Tells whether the word before the telling part says that it is no secret: `page` of `nextPageToken`.
fn is_no_secret(name: &str, before: &str, stem: &str) -> bool {
    // A cursor is a token that may be written together with its word.
    if stem == "token" && !name.contains(['_', '-']) {
        return NO_SECRET_BEFORE.iter().any(|word| before.ends_with(word));
    }
    let signs = name.bytes().enumerate();
    let end = signs
        .filter(|(_, byte)| byte.is_ascii_alphanumeric())
        .nth(before.len().saturating_sub(1))
        .map_or(0, |(at, _)| at + 1);
    let parts = if before.is_empty() { "" } else { &name[..end] };
    let word = parts
        .rsplit(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let capital = word
        .bytes()
        .zip(word.bytes().skip(1))
        .rposition(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let word = capital.map_or(word, |at| &word[at + 1..]);
    NO_SECRET_BEFORE
        .iter()
        .any(|known| known.eq_ignore_ascii_case(word))
}

/// `DB_PASS`, `smtp-pwd`, `SSHPASS`, `userPw`: too short to be looked for inside words.
fn short_password(name: &str, compact: &str) -> Option<Strength> {
    const SHORT: [&str; 3] = ["pass", "pwd", "pw"];
    /// Programs and things that are written together with it.
    const TOGETHER: [&str; 10] = [
        "ssh", "ldap", "db", "smtp", "store", "key", "user", "root", "admin", "mysql",
    ];
    let ending = SHORT.iter().find(|ending| compact.ends_with(**ending))?;
    let (before, tail) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
    let bytes = before.as_bytes();
    let is_apart = matches!(bytes.last(), Some(b'_' | b'-'));
    if is_apart && bytes.len() > 1 && !bytes.iter().all(|byte| *byte == b'-') {
        return Some(Strength::Strong);
    }
    let is_capital = bytes.last().is_some_and(u8::is_ascii_lowercase)
        && tail.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
    let lead = &compact[..compact.len() - ending.len()];
    if is_capital || TOGETHER.iter().any(|word| lead.ends_with(word)) {
        return Some(Strength::Strong);
    }
    lead.is_empty().then_some(Strength::Terse)
}

/// `STRIPE_KEY`, `Fastly-Key`: a variable, or the name of a header.
fn is_key(name: &str) -> bool {
    let is_variable = name.ends_with("_KEY") && is_shouted(name);
    let tail = name
        .len()
        .checked_sub(4)
        .filter(|at| name.is_char_boundary(*at));
    let Some((before, tail)) = tail.map(|at| name.split_at(at)) else {
        return false;
    };
    let word = before.rsplit(['_', '-']).next().unwrap_or_default();
    (is_variable || tail.eq_ignore_ascii_case("-key"))
        && !word.is_empty()
        && !NO_SECRET_KEY_BEFORE
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word))
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
            "SSHPASS",
            "ADMIN_PW",
            "dbPass",
            "-storepass",
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
            "VIRUSTOTAL_API_KEY",
            "copper_token",
            "statuspageSecret",
        ] {
            check(name, Some((Kind::Machine, Strength::Strong)));
        }
        check(
            "Proxy-Authorization",
            Some((Kind::Authorization, Strength::Strong)),
        );
        for name in ["pass", "pwd", "-pass"] {
            check(name, Some((Kind::Password, Strength::Terse)));
        }
        for name in [
            "STRIPE_KEY",
            "Fastly-Key",
            "Ocp-Apim-Service-Key",
            "token_for_ci",
        ] {
            check(name, Some((Kind::Machine, Strength::Weak)));
        }
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
            "nextPageToken",
            "pagetoken",
            "has_api_key",
            "tokenizer",
            "secretName",
            "PRIMARY_KEY",
            "cache-key",
            "stripe_key",
            "bypass",
            "compass",
        ] {
            check(name, None);
        }
        check("passing", None);
        check(&"token".repeat(40), None);
    }
}
