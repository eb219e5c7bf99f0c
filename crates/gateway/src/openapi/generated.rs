//! The document, from the routes and types themselves.

use std::path::Path;

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

use super::described;
use crate::app::App;
use crate::problem::ProblemBody;
use crate::problem_responses::{AGENT_PROBLEMS, PROBLEMS, named, response};
use crate::request_id;
use crate::rights::{Reach, needs};
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
        .pattern(Some("^[A-Za-z0-9._:/+=@-]+$"));
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
pub(super) const ACCESS: &str = "x-siglum-access";

/// The bodies, and parts of them, that are one of several.
const ARMED: &[&str] = &["ContextMessage", "TurnEvent", "EndSession"];

/// What `\p{C}` stands for in the patterns of this program: characters that nobody sees, as [`Link`](siglum_domain::Link)
/// refuses them; spelled out up to U+FFFF, since few who check a document know classes by name.
const UNSEEN: &str = r"\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff";

/// The document in JSON.
fn document() -> String {
    let mut router: OpenApiRouter<App> = OpenApiRouter::with_openapi(Document::openapi());
    for (id, (schemas, mut paths, handler)) in described() {
        let ids: Vec<_> = operations(&mut paths)
            .map(|operation| operation.operation_id.clone())
            .collect();
        assert_eq!(ids, [Some(id.to_owned())], "the list of routes differs");
        router = router.routes((schemas, paths, handler));
    }
    let mut document = router.into_openapi();
    close_arms(&mut document);
    name_arms(&mut document);
    add_request_ids(&mut document);
    add_rights(&mut document);
    let mut text = document.to_pretty_json().unwrap();
    text.push('\n');
    text.replace(r"\\p{C}", UNSEEN)
}

/// The program routes by the committed document, and serves it. `SIGLUM_UPDATE_SCHEMAS=1` writes it anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test is told to write")]
fn the_committed_document_is_that_of_the_routes_and_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let generated = document();
    if std::env::var_os("SIGLUM_UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap();
    assert!(
        committed == generated,
        "run `SIGLUM_UPDATE_SCHEMAS=1 cargo test -p siglum-gateway`"
    );
}
