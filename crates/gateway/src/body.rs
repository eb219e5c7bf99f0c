//! JSON bodies, read strictly: one value, UTF-8, no key twice, no deep nesting.

use std::collections::HashSet;
use std::fmt;

use axum::body::{Body as Raw, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use http_body_util::LengthLimitError;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

use siglum_domain::redact::Redactor;

use crate::app::App;
use crate::problem::Problem;
use crate::shares::TooMuch;
use crate::unknown_name::unknown;

/// How deep arrays and objects may lie in each other.
const DEPTH: usize = 32;

/// A body.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        parse(&json(request, app).await?).map(Self)
    }
}

/// The bytes of a body that says that it is JSON.
async fn json(request: Request, app: &App) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::media_type());
    }
    whole(request.into_body(), app, app.limits().body).await
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|v| v.to_str().ok()).unwrap_or_default();
    let mut parts = value.split(';').map(str::trim);
    parts
        .next()
        .is_some_and(|t| t.eq_ignore_ascii_case("application/json"))
        && parts.all(|p| p.is_empty() || p.eq_ignore_ascii_case("charset=utf-8"))
}

/// All of a body, if it is not too large and comes in time.
pub(crate) async fn whole(body: Raw, app: &App, most: usize) -> Result<Bytes, Problem> {
    // What is said to be too large is not waited for.
    let length = axum::body::HttpBody::size_hint(&body).lower();
    if usize::try_from(length).map_or(true, |bytes| bytes > most) {
        return Err(Problem::too_large(most));
    }
    let read = axum::body::to_bytes(body, most);
    match tokio::time::timeout(app.limits().request_wait, read).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_of::<LengthLimitError>(&error) => Err(Problem::too_large(most)),
        Ok(Err(error)) if is_of::<TooMuch>(&error) => Err(Problem::rate_limited(
            "this token sends too much data at once",
            1,
        )),
        Ok(Err(_)) => Err(Problem::body("the body is incomplete")),
        Err(_) => Err(Problem::too_slow()),
    }
}

/// Whether that is why a body cannot be read.
fn is_of<E: std::error::Error + 'static>(error: &axum::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if inner.is::<E>() {
            return true;
        }
        source = inner.source();
    }
    false
}

/// Reads a value.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let reader = &mut serde_json::Deserializer::from_str(strict(bytes)?);
    serde_path_to_error::deserialize(reader).map_err(|error| refused(&error))
}

/// The text of one value.
fn strict(bytes: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::body("the body is not UTF-8"))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    Strict { left: DEPTH }
        .deserialize(&mut reader)
        .and_then(|()| reader.end())
        .map_err(|error| Problem::body(without_content(&error)))?;
    Ok(text)
}

/// Why a value is none of its type.
fn refused(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let field = error.path().to_string();
    if let Some(problem) = unknown_field(&field, error.inner()) {
        return problem;
    }
    let rule = without_content(error.inner());
    match field.as_str() {
        "." => Problem::body(rule),
        _ => Problem::invalid(field, rule),
    }
}

/// Says that nobody knows a field, where that is what is wrong.
fn unknown_field(path: &str, error: &serde_json::Error) -> Option<Problem> {
    let text = error.to_string();
    let rest = text.strip_prefix("unknown field `")?;
    let none = rest.split_once("`, there are no fields");
    let (name, known) = none.or_else(|| rest.rsplit_once("`, expected "))?;
    // Quoted names are every other part.
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let is_named = path == name || path.ends_with(&format!(".{name}"));
    let field = match path {
        path if is_named => path.to_owned(),
        "." => name.to_owned(),
        outer => format!("{outer}.{name}"),
    };
    Some(unknown(&field, name, &known))
}

/// What is wrong, without a word of what was sent: it may be a secret.
fn without_content(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let speaks_of_content = [
        "invalid type",
        "invalid value",
        "invalid length",
        "unknown variant",
    ];
    let message = match text.rsplit_once(", expected ") {
        Some((before, expected)) if speaks_of_content.iter().any(|s| before.starts_with(s)) => {
            format!("expected {expected}")
        }
        _ => text,
    };
    let message = match message.rsplit_once(" at line ") {
        Some((before, _)) => before.to_owned(),
        None => message,
    };
    Redactor::shared().redact(&message).into_string()
}

/// Walks through a value and keeps nothing of it but the keys of one object.
struct Strict {
    left: usize,
}

impl Strict {
    fn deeper<E: Error>(&self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left }),
            None => Err(E::custom(format_args!("nested deeper than {DEPTH} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self.deeper()?)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(A::Error::custom("an object has a duplicate key"));
            }
            keys.insert(key);
            map.next_value_seed(self.deeper()?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        number: Option<u64>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        inner: Option<Inner>,
    }

    #[track_caller]
    fn refused(text: &str) -> (&'static str, Option<String>, String) {
        let problem = parse::<Outer>(text.as_bytes()).unwrap_err();
        let field = problem.field().map(str::to_owned);
        (problem.code(), field, problem.detail().to_owned())
    }

    #[test]
    fn a_key_twice_is_refused_wherever_it_is() {
        for text in [
            r#"{"inner":null,"inner":null}"#,
            r#"{"x":[{"a":1,"a":2}]}"#,
            r#"{"x":{"a":1,"a":2}}"#,
        ] {
            assert_eq!(refused(text).0, "invalid-body", "{text}");
        }
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        for text in [
            "",
            "{",
            "{} {}",
            "nul",
            "\u{feff}{}",
            r#"{"a":1e999}"#,
            &deep,
        ] {
            assert_eq!(refused(text).0, "invalid-body", "{text}");
        }
        let problem = parse::<Outer>(b"{\"a\":\"\xff\"}").unwrap_err();
        assert_eq!(problem.code(), "invalid-body");
    }

    #[test]
    fn a_field_is_named_and_its_value_is_not() {
        let (code, field, detail) = refused(r#"{"inner":{"number":"hunter2 \" `x`"}}"#);
        assert_eq!(code, "invalid-field");
        assert_eq!(field.as_deref(), Some("inner.number"));
        assert!(!detail.contains("hunter2"), "{detail}");
        for value in ["true", "1.0", "-1", "[]", "{}", "1e2"] {
            let (_, field, _) = refused(&format!(r#"{{"inner":{{"number":{value}}}}}"#));
            assert_eq!(field.as_deref(), Some("inner.number"), "{value}");
        }
    }

    #[test]
    fn null_is_absent_and_an_unknown_key_is_refused_with_its_path() {
        let outer: Outer = parse(br#"{"inner":{"number":null}}"#).unwrap();
        assert!(outer.inner.unwrap().number.is_none());
        let (code, field, detail) = refused(r#"{"inner":{"nubmer":1}}"#);
        assert_eq!(
            (code, field.as_deref()),
            ("invalid-field", Some("inner.nubmer"))
        );
        assert!(detail.contains("did you mean `number`?"), "{detail}");
        let (_, field, detail) = refused(r#"{"a`b":1}"#);
        assert_eq!(field.as_deref(), Some("a`b"), "{detail}");
    }
}
