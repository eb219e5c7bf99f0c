//! The API as a document, from the same table as the router.

use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{
    AdditionalProperties, Discriminator, Object, ObjectBuilder, Schema, Type,
};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, Paths, Ref, RefOr};
use utoipa::{Modify, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::ProblemBody;
use crate::problem_responses::{AGENT_PROBLEMS, PROBLEMS, Problems, named, response};
use crate::request_id;
use crate::rights::{Reach, needs};
use crate::routes::*;
use crate::wire::{LabelInput, RunEvent, SealedPosition};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Siglum",
        description = "Sessions, turns, checkpoints and audit of coding agents. Identity is resolved once, carried everywhere, and never guessed.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemBody, LabelInput, RunEvent, SealedPosition)),
    modifiers(&Credentials)
)]
struct Document;

/// The five credentials. All are sent as `authorization: Bearer <token>`.
struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        for (status, text) in PROBLEMS.iter().chain(AGENT_PROBLEMS) {
            let response = RefOr::T(response(text));
            components.responses.insert(named(*status), response);
        }
        for (name, text) in [
            ("launcher", "Creates, reads and ends sessions of its tenant"),
            (
                "attester",
                "A launcher that may also attest that a session made a commit",
            ),
            ("session", "Acts for one session only"),
            ("telemetry", "Exports telemetry only"),
            ("read", "Reads who made which commit, and checkpoints"),
        ] {
            let scheme = HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some(text))
                .build();
            components.add_security_scheme(name, SecurityScheme::Http(scheme));
        }
    }
}

/// All routes but those of gRPC. What is not here cannot be reached.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(served))
        .routes(routes!(issuers::list))
        .routes(routes!(creation::create, sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::keep_alive))
        .routes(routes!(sessions::end))
        .routes(routes!(creation::token_of))
        .routes(routes!(links::list, links::attach))
        .routes(routes!(links::detach))
        .routes(routes!(log::read_log))
        .routes(routes!(log::receipts))
        .routes(routes!(log::stream))
        .routes(routes!(messages::send))
        .routes(routes!(messages::send_to, running::history))
        .routes(routes!(running::stream))
        .routes(routes!(running::cancel))
        .routes(routes!(interactions::list))
        .routes(routes!(interactions::answer))
        .routes(routes!(turns::lease))
        .routes(routes!(turns::renew))
        .routes(routes!(turns::release))
        .routes(routes!(turns::commit, turns::receipt))
        .routes(routes!(turns::open))
        .routes(routes!(turns::append))
        .routes(routes!(turns::abort))
        .routes(routes!(held_turns::list))
        .routes(routes!(held_turns::decide))
        .routes(routes!(heartbeats::list, heartbeats::put))
        .routes(routes!(heartbeats::show, heartbeats::remove))
        .routes(routes!(heartbeats::ticks))
        .routes(routes!(heartbeats::run))
        .routes(routes!(heartbeats::pause))
        .routes(routes!(heartbeats::resume))
        .routes(routes!(contexts::commands::resolve))
        .routes(routes!(contexts::commands::bootstrap))
        .routes(routes!(contexts::queries::assemble))
        .routes(routes!(contexts::commands::ingest))
        .routes(routes!(contexts::commands::commit))
        .routes(routes!(contexts::commands::backfill))
        .routes(routes!(contexts::commands::after_turn))
        .routes(routes!(contexts::commands::compact))
        .routes(routes!(contexts::commands::maintain))
        .routes(routes!(contexts::commands::prepare_subagent))
        .routes(routes!(contexts::commands::subagent_ended))
        .routes(routes!(contexts::commands::accept_gap))
        .routes(routes!(contexts::queries::context))
        .routes(routes!(contexts::queries::gaps))
        .routes(routes!(contexts::queries::lineage))
        .routes(routes!(contexts::queries::explain))
        .routes(routes!(contexts::queries::routes))
        .routes(routes!(contexts::queries::route))
        .routes(routes!(checkpoints::record, checkpoints::of_session))
        .routes(routes!(checkpoints::list))
        .routes(routes!(checkpoints::show))
        .routes(routes!(attestations::attest))
        .routes(routes!(attestations::withdraw))
        .routes(routes!(commits::list))
        .routes(routes!(commits::show))
        .routes(routes!(commits::explain))
        .routes(routes!(search::search))
        .routes(routes!(cost::sum_up))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        .routes(routes!(replicas::take))
        .routes(routes!(pipelines::list))
        .routes(routes!(pipelines::show))
        .routes(routes!(pipelines::draw))
        .routes(routes!(pipelines::bundle))
        .routes(routes!(pipelines::record))
        .routes(routes!(telemetry::traces))
        .routes(routes!(telemetry::logs))
        .routes(routes!(telemetry::metrics))
        .routes(routes!(telemetry::unassigned))
        .routes(routes!(telemetry::assign))
}

/// Says of bodies that are one of several that no arm has other fields, as serde holds them to it.
fn close_arms(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    for name in ARMED {
        let Some(RefOr::T(Schema::OneOf(one_of))) = schemas.get_mut(*name) else {
            continue;
        };
        for arm in &mut one_of.items {
            if let RefOr::T(Schema::Object(arm)) = arm {
                arm.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
            }
        }
    }
}

/// Makes each arm of what is one of several a schema of its own, named after the whole and its own tag,
/// `TurnEventPrompt`, and says which field tells them apart: generated clients number what has no name, and try all arms
/// where nothing tells them apart.
fn name_arms(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let mut arms = Vec::new();
    for (whole, schema) in schemas.iter_mut() {
        let RefOr::T(Schema::OneOf(one_of)) = schema else {
            continue;
        };
        let mut tags = Vec::new();
        for item in &mut one_of.items {
            let RefOr::T(Schema::Object(arm)) = &*item else {
                continue;
            };
            let Some((field, tag)) = tag(arm) else {
                continue;
            };
            let name = format!("{whole}{}", capitalized(&tag));
            let place = Ref::from_schema_name(&name);
            tags.push((field, tag, place.ref_location.clone()));
            arms.push((name, std::mem::replace(item, RefOr::Ref(place))));
        }
        if let Some((field, _, _)) = tags.first() {
            let field = field.clone();
            let places = tags.into_iter().map(|(_, tag, place)| (tag, place));
            one_of.discriminator = Some(Discriminator::with_mapping(field, places));
        }
    }
    schemas.extend(arms);
}

/// The field of an arm that may have one value only, and that value.
fn tag(arm: &Object) -> Option<(String, String)> {
    arm.properties.iter().find_map(|(name, field)| match field {
        RefOr::T(Schema::Object(field)) => match field.enum_values.as_deref() {
            Some([only]) => Some((name.clone(), only.as_str()?.to_owned())),
            _ => None,
        },
        _ => None,
    })
}

/// `tool_call` as `ToolCall`, `not-started` as `NotStarted`.
fn capitalized(tag: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    tag.split(['_', '-']).map(word).collect()
}

/// Says of every response that it has the id of its request.
fn add_request_ids(document: &mut OpenApi) {
    let id = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(request_id::LENGTH_MOST))
        .pattern(Some(request_id::PATTERN));
    let header = HeaderBuilder::new()
        .schema(Some(id))
        .description(Some(
            "The id of the request: that of the header `x-request-id` of the request if it has this form, otherwise a new one",
        ))
        .build();
    let components = document.components.get_or_insert_default();
    let name = "RequestId".to_owned();
    components.headers.insert(name, RefOr::T(header));
    let mut responses: Vec<_> = components.responses.values_mut().collect();
    for operation in operations(&mut document.paths) {
        responses.extend(operation.responses.responses.values_mut());
    }
    for response in responses {
        // Those that refer to a component have its headers.
        if let RefOr::T(response) = response {
            let header = RefOr::Ref(Ref::new("#/components/headers/RequestId"));
            let name = request_id::HEADER.to_string();
            response.headers.insert(name, header);
        }
    }
}

fn operations(paths: &mut Paths) -> impl Iterator<Item = &mut Operation> {
    paths.paths.values_mut().flat_map(|item| {
        let all = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
        ];
        all.into_iter().flatten()
    })
}

/// Says of every operation what it needs of a token with limits.
fn add_rights(document: &mut OpenApi) {
    for operation in operations(&mut document.paths) {
        let id = operation.operation_id.as_deref();
        if let Some(needs) = id.and_then(needs) {
            let access = serde_json::json!({
                "right": needs.right.as_str(),
                "by_repository": needs.reach != Reach::Tenant,
            });
            let access = Extensions::from_iter([(ACCESS, access)]);
            operation.extensions = Some(access);
        }
    }
}

/// What the document calls the right that an operation needs, and whether tokens that are limited to repositories may call
/// it.
const ACCESS: &str = "x-siglum-access";

/// The bodies, and parts of them, that are one of several.
const ARMED: &[&str] = &["ContextMessage", "TurnEvent", "EndSession"];

/// What `\p{C}` stands for in the patterns of this program: characters that nobody sees, as [`Link`](siglum_domain::Link)
/// refuses them; spelled out up to U+FFFF, since few who check a document know classes by name.
const UNSEEN: &str = r"\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff";

/// The document in JSON, as it is served and committed.
#[must_use]
pub fn document() -> String {
    let (_, mut document) = routes().split_for_parts();
    close_arms(&mut document);
    name_arms(&mut document);
    add_request_ids(&mut document);
    add_rights(&mut document);
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text.replace(r"\\p{C}", UNSEEN)
}

/// Get this OpenAPI document
#[utoipa::path(get, path = "/v1/openapi.json", tag = "health", operation_id = "getOpenApi",
    responses((status = 200, description = "The document", body = Object, content_type = "application/json"), Problems))]
pub(crate) async fn served() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The committed document is the one that is served. `SIGLUM_UPDATE_SCHEMAS=1` writes it anew.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test is told to write")]
    fn the_committed_document_is_the_served_one() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let served = document();
        if std::env::var_os("SIGLUM_UPDATE_SCHEMAS").is_some() {
            std::fs::write(&file, &served).unwrap();
        }
        let committed = std::fs::read_to_string(&file).unwrap();
        assert!(
            committed == served,
            "run `SIGLUM_UPDATE_SCHEMAS=1 cargo test -p siglum-gateway`"
        );
    }

    /// A field that nobody knows is refused by every route: one that is at the wrong place never vanishes. What is left
    /// out has a form that others gave it, or is checked by its own reader.
    #[test]
    fn every_body_refuses_fields_that_nobody_knows() {
        const FOREIGN: &[&str] = &["MessageInput", "ExportSpans", "ExportLogs", "ExportMetrics"];
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let mut left: Vec<serde_json::Value> = Vec::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                left.push(operation["requestBody"]["content"]["application/json"].clone());
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        while let Some(value) = left.pop() {
            if let Some(name) = value["$ref"].as_str() {
                let name = name.rsplit('/').next().unwrap();
                if !FOREIGN.contains(&name) && seen.insert(name.to_owned()) {
                    let schema = &document["components"]["schemas"][name];
                    let arms = schema["oneOf"].as_array().into_iter().flatten();
                    for one in arms.chain([schema]) {
                        let open =
                            one["properties"].is_object() && one["additionalProperties"] != false;
                        assert!(!open, "{name} takes fields that nobody knows");
                    }
                    left.push(schema.clone());
                }
            }
            match value {
                serde_json::Value::Array(items) => left.extend(items),
                serde_json::Value::Object(fields) => left.extend(fields.into_values()),
                _ => {}
            }
        }
        assert!(
            seen.contains("CreateSession") && seen.contains("TurnEvent"),
            "{seen:?}"
        );
    }

    /// Generated clients call their classes after the schemas and their methods after the operations.
    #[test]
    fn schemas_are_nouns_and_operations_are_verbs_with_a_noun() {
        const VERBS: &[&str] = &[
            "abort",
            "accept",
            "acquire",
            "answer",
            "append",
            "assemble",
            "assign",
            "attach",
            "attest",
            "backfill",
            "bootstrap",
            "cancel",
            "commit",
            "compact",
            "create",
            "decide",
            "delete",
            "detach",
            "end",
            "explain",
            "export",
            "get",
            "ingest",
            "keep",
            "list",
            "maintain",
            "open",
            "pause",
            "prepare",
            "push",
            "record",
            "release",
            "renew",
            "resolve",
            "resume",
            "rotate",
            "run",
            "search",
            "send",
            "stream",
            "verify",
            "withdraw",
        ];
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for name in schemas.keys() {
            for suffix in ["Told", "Asked", "Said", "Heard", "Found", "Taken", "Done"] {
                assert!(!name.ends_with(suffix), "{name}");
            }
        }
        let mut names = std::collections::BTreeSet::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let name = operation["operationId"].as_str().unwrap();
                let verb = name.find(char::is_uppercase).map_or(name, |at| &name[..at]);
                assert!(VERBS.contains(&verb) && verb != name, "{name}");
                assert!(names.insert(name.to_owned()), "{name} twice");
            }
        }
    }

    /// Generated clients number what has no name, and try all arms of a whole where no field tells them apart.
    #[test]
    fn arms_are_schemas_that_a_field_tells_apart() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mapping = &schemas["TurnEvent"]["discriminator"]["mapping"];
        let arm = "#/components/schemas/TurnEventToolCall";
        assert_eq!(mapping["tool_call"], arm);
        for (name, schema) in schemas {
            let Some(arms) = schema["oneOf"].as_array() else {
                continue;
            };
            let field = schema["discriminator"]["propertyName"].as_str().unwrap();
            let mapping = schema["discriminator"]["mapping"].as_object().unwrap();
            let mapped: Vec<_> = mapping.values().collect();
            assert_eq!(mapped.len(), arms.len(), "{name}");
            for arm in arms {
                assert!(mapped.contains(&&arm["$ref"]), "{name}: {arm}");
                let arm = arm["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
                let schema = &schemas[arm];
                let tag = schema["properties"][field]["enum"][0].as_str().unwrap();
                assert_eq!(mapping[tag], format!("#/components/schemas/{arm}"));
                let required = schema["required"].as_array().unwrap();
                assert!(required.iter().any(|name| name == field), "{arm}");
            }
        }
    }

    /// What a generated client has no name for is an inline object or a list of words within another schema, and what has
    /// no description is there without a comment.
    #[test]
    fn parts_of_schemas_have_names_and_schemas_have_descriptions() {
        fn check(value: &serde_json::Value, place: &str) {
            let words = value["enum"].as_array().map_or(0, Vec::len);
            assert!(words < 2, "{place}: name these words");
            assert!(!value["properties"].is_object(), "{place}: name this");
            match value {
                serde_json::Value::Array(items) => items.iter().for_each(|one| check(one, place)),
                serde_json::Value::Object(fields) => {
                    for (name, field) in fields {
                        check(field, &format!("{place}.{name}"));
                    }
                }
                _ => {}
            }
        }
        // Words of these languages for something else.
        const TAKEN: &[&str] = &[
            "Any",
            "Date",
            "Dict",
            "Error",
            "Exception",
            "List",
            "Map",
            "None",
            "Object",
            "Promise",
            "Record",
            "Set",
            "String",
            "Symbol",
            "Type",
        ];
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            let text = schema["description"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{name} has no description");
            assert!(!TAKEN.contains(&name.as_str()), "{name}");
            let fields = schema["properties"].as_object().into_iter().flatten();
            for (field, schema) in fields {
                check(schema, &format!("{name}.{field}"));
            }
            check(&schema["items"], &format!("{name}.items"));
        }
    }

    /// Whoever reads one list reads all of them alike.
    #[test]
    fn lists_have_items_and_their_operations_are_called_so() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let name = operation["operationId"].as_str().unwrap();
                let json = &operation["responses"]["200"]["content"]["application/json"];
                let body = json["schema"]["$ref"].as_str().unwrap_or_default();
                let body = body.rsplit('/').next().unwrap();
                let verb = name.find(char::is_uppercase).map_or(name, |at| &name[..at]);
                let lists = ["list", "search"].contains(&verb) || name == "explainCommit";
                assert_eq!(body.ends_with("List"), lists, "{name}: {body}");
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let has = |wanted: &str| parameters.clone().any(|p| p["name"] == wanted);
                if lists {
                    let fields = &schemas[body]["properties"];
                    assert!(fields["items"].is_object(), "{body}");
                    // The records of one commit are as many as there are repositories that have it, and issuers as many as are
                    // named in the settings.
                    let pages = !["explainCommit", "listIssuers"].contains(&name);
                    assert_eq!(fields["next"].is_object(), pages, "{name}");
                    assert_eq!((has("cursor"), has("limit")), (pages, pages), "{name}");
                }
                for parameter in parameters {
                    assert!(parameter["description"].is_string(), "{name}: {parameter}");
                }
                assert!(operation["summary"].is_string(), "{name}");
            }
        }
    }

    #[test]
    fn every_response_has_the_id_of_its_request() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let components = &document["components"];
        let paths = document["paths"].as_object().unwrap();
        let operations = paths.values().flat_map(|p| p.as_object().unwrap().values());
        let of_routes = operations.flat_map(|o| o["responses"].as_object().unwrap().values());
        let own = of_routes.filter(|response| response["$ref"].is_null());
        let shared = components["responses"].as_object().unwrap().values();
        let header = serde_json::json!({ "$ref": "#/components/headers/RequestId" });
        for response in own.chain(shared) {
            assert_eq!(response["headers"]["x-request-id"], header, "{response}");
        }
        let schema = &components["headers"]["RequestId"]["schema"];
        assert_eq!(schema["maxLength"], request_id::LENGTH_MOST);
    }

    /// Each operation that needs a token has one row, and what reads is what changes nothing.
    #[test]
    fn every_operation_needs_a_right() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        // These have a body because their questions are long.
        let asks = ["assembleContext", "explainCommits"];
        let mut known = std::collections::BTreeSet::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for (method, operation) in methods.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                let Some(right) = operation[ACCESS]["right"].as_str() else {
                    assert!(operation["security"].is_null(), "{id} needs a row");
                    continue;
                };
                let reads = method == "get" || asks.contains(&id);
                assert!(right == "admin" || (right == "read") == reads, "{id}");
                known.insert(id.to_owned());
            }
        }
        let rows = crate::rights::TABLE.iter().map(|(id, ..)| (*id).to_owned());
        assert_eq!(rows.clone().count(), known.len());
        assert_eq!(rows.collect::<std::collections::BTreeSet<_>>(), known);
    }

    /// Each route says who may call it, but for those that anybody may.
    #[test]
    fn every_route_says_who_may_call_it() {
        let (_, document) = routes().split_for_parts();
        let text = document.to_json().unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let open = ["/v1/openapi.json", "/v1/issuers"];
                let public = !path.starts_with("/v1/") || open.contains(&path.as_str());
                let says = operation["security"]
                    .as_array()
                    .is_some_and(|s| !s.is_empty());
                assert_eq!(says, !public, "{method} {path}");
            }
        }
    }
}
