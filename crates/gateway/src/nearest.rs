//! Names that nobody knows, of fields and of parameters: they are refused, with the name that was meant perhaps.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use siglum_domain::redact::Redactor;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use crate::problem::Problem;

/// How much of a name is told, in characters.
const NAME_MOST: usize = 120;
/// How many letters a name may differ in from the one that was meant.
const LETTERS_MOST: usize = 2;

/// Refuses a name that is not one of those that are known. `field` is its path.
pub(crate) fn unknown(field: &str, name: &str, known: &[&str]) -> Problem {
    // It may be a secret, and of any length.
    let field = Redactor::shared().redact(field);
    let field = field.as_str().chars().filter(|c| !c.is_control());
    let field: String = field.take(NAME_MOST).collect();
    let rule = match nearest(name, known) {
        Some(meant) => format!("is not known; did you mean `{meant}`?"),
        None if known.is_empty() => "is not known: there are none here".to_owned(),
        None => format!("is not known; known are {}", known.join(", ")),
    };
    Problem::invalid(field, rule)
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > NAME_MOST {
        return None;
    }
    let with_letters = known.iter().map(|one| (letters_apart(name, one), *one));
    let (apart, meant) = with_letters.min()?;
    (apart <= LETTERS_MOST.min(name.len() / 2)).then_some(meant)
}

/// How many letters are to be put in, taken out or changed to make one name of the other.
fn letters_apart(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (column, expected) in other.iter().enumerate() {
            let changed = before + usize::from(letter != *expected);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// The parameters of each route, by method and path, as the document has them.
pub(crate) type Parameters = Arc<HashMap<(Method, String), Vec<String>>>;

/// Reads them from the document. What probes and exporters of other programs call is left to its own rules.
pub(crate) fn parameters(document: &OpenApi) -> Parameters {
    let mut known = HashMap::new();
    for (path, item) in &document.paths.paths {
        for (method, operation) in operations(item) {
            let foreign = ["health", "telemetry"];
            let tags = operation.tags.iter().flatten();
            if tags.into_iter().any(|tag| foreign.contains(&tag.as_str())) {
                continue;
            }
            known.insert((method, path.clone()), query_names(operation));
        }
    }
    Arc::new(known)
}

fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::HEAD, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

fn query_names(operation: &Operation) -> Vec<String> {
    let all = operation.parameters.iter().flatten();
    all.filter_map(|parameter| match parameter {
        RefOr::T(one) if one.parameter_in == ParameterIn::Query => Some(one.name.clone()),
        _ => None,
    })
    .collect()
}

/// Refuses a request with a parameter that its route does not have.
pub(crate) async fn known_parameters(
    State(known): State<Parameters>,
    request: Request,
    next: Next,
) -> Response {
    match unknown_parameter(&known, &request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn unknown_parameter(known: &Parameters, request: &Request) -> Option<Problem> {
    let route = request.extensions().get::<MatchedPath>()?;
    let key = (request.method().clone(), route.as_str().to_owned());
    let known: Vec<&str> = known.get(&key)?.iter().map(String::as_str).collect();
    let query = request.uri().query()?;
    // What is no query at all is told by whoever reads it.
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).ok()?;
    let (name, _) = pairs
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))?;
    Some(unknown(name, name, &known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let known = ["issue_number", "pr_number", "phase"];
        let cases = [
            ("isue_number", Some("issue_number")),
            ("fase", Some("phase")),
            ("phase", Some("phase")),
            ("number", None),
            ("x", None),
            ("", None),
        ];
        for (name, meant) in cases {
            assert_eq!(nearest(name, &known), meant, "{name}");
        }
    }
}
