//! All routes, and the document of the API, which says where each of them is. The document is committed, and packed into
//! the program; tests make it anew, from the routes and types themselves.

use std::io::Read as _;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::on;
use flate2::read::GzDecoder;

use crate::app::App;
use crate::operations::Operations;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::routes::*;

#[cfg(test)]
mod generated;

/// Lists the operations of the document, each with what answers it.
macro_rules! routes {
    ($($operation:ident: $($handler:ident)::+,)*) => {
        /// All routes but those of gRPC. What is not here cannot be reached.
        pub(crate) fn routes(operations: &Operations) -> Router<App> {
            let mut router = Router::<App>::new();
            $(
                let (method, path) = operations.place(stringify!($operation));
                router = router.route(path, on(method, $($handler)::+));
            )*
            router
        }

        /// The same operations, each as its handler describes it.
        #[cfg(test)]
        fn described() -> Vec<(&'static str, utoipa_axum::router::UtoipaMethodRouter<App>)> {
            vec![$((stringify!($operation), utoipa_axum::routes!($($handler)::+)),)*]
        }
    };
}

routes! {
    getLiveness: health::alive,
    getReadiness: health::ready,
    getMetrics: health::metrics,
    getOpenApi: served,
    listIssuers: issuers::list,
    createSession: creation::create,
    listSessions: sessions::list,
    getSession: sessions::show,
    keepSessionAlive: sessions::keep_alive,
    endSession: sessions::end,
    rotateSessionToken: creation::token_of,
    getLinks: links::list,
    attachLinks: links::attach,
    detachLinks: links::detach,
    listEvents: log::read_log,
    listReceipts: log::receipts,
    streamEvents: log::stream,
    sendMessages: messages::send,
    sendSessionMessages: messages::send_to,
    listMessages: running::history,
    streamMessages: running::stream,
    cancelRun: running::cancel,
    listInteractions: interactions::list,
    answerInteraction: interactions::answer,
    acquireLease: turns::lease,
    renewLease: turns::renew,
    releaseLease: turns::release,
    commitTurn: turns::commit,
    getTurnReceipt: turns::receipt,
    openTurn: turns::open,
    appendToTurn: turns::append,
    abortTurn: turns::abort,
    listHeldTurns: held_turns::list,
    decideTurn: held_turns::decide,
    listHeartbeats: heartbeats::list,
    createHeartbeat: heartbeats::put,
    getHeartbeat: heartbeats::show,
    deleteHeartbeat: heartbeats::remove,
    listHeartbeatTicks: heartbeats::ticks,
    runHeartbeat: heartbeats::run,
    pauseHeartbeat: heartbeats::pause,
    resumeHeartbeat: heartbeats::resume,
    resolveContext: contexts::commands::resolve,
    bootstrapContext: contexts::commands::bootstrap,
    assembleContext: contexts::queries::assemble,
    ingestContextMessage: contexts::commands::ingest,
    commitContextTurn: contexts::commands::commit,
    backfillContext: contexts::commands::backfill,
    recordAfterTurn: contexts::commands::after_turn,
    compactContext: contexts::commands::compact,
    maintainContext: contexts::commands::maintain,
    prepareSubagent: contexts::commands::prepare_subagent,
    endSubagent: contexts::commands::subagent_ended,
    acceptContextGap: contexts::commands::accept_gap,
    getContext: contexts::queries::context,
    listContextGaps: contexts::queries::gaps,
    getContextLineage: contexts::queries::lineage,
    getContextExplanation: contexts::queries::explain,
    listRoutes: contexts::queries::routes,
    getRoute: contexts::queries::route,
    createCheckpoint: checkpoints::record,
    listSessionCheckpoints: checkpoints::of_session,
    listCheckpoints: checkpoints::list,
    getCheckpoint: checkpoints::show,
    attestCommit: attestations::attest,
    withdrawAttestation: attestations::withdraw,
    listCommits: commits::list,
    explainCommit: commits::show,
    explainCommits: commits::explain,
    searchSessions: search::search,
    getCost: cost::sum_up,
    listAuditEntries: audit::list,
    verifyAudit: audit::verify,
    pushReplicas: replicas::take,
    listPipelines: pipelines::list,
    getPipeline: pipelines::show,
    getPipelineDrawing: pipelines::draw,
    getPipelineBundle: pipelines::bundle,
    recordPipelineEvents: pipelines::record,
    exportTraces: telemetry::traces,
    exportLogs: telemetry::logs,
    exportMetrics: telemetry::metrics,
    listUnassignedTelemetry: telemetry::unassigned,
    assignTrace: telemetry::assign,
}

/// The document in JSON, as it is committed.
pub(crate) fn document() -> String {
    const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));
    let mut text = String::new();
    GzDecoder::new(PACKED)
        .read_to_string(&mut text)
        .expect("because the build packed it");
    text
}

/// Get this OpenAPI document
#[cfg_attr(test, utoipa::path(get, path = "/v1/openapi.json", tag = "health", operation_id = "getOpenApi",
    responses((status = 200, description = "The document", body = Object, content_type = "application/json"), Problems)))]
pub(crate) async fn served() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document())
}

#[cfg(test)]
mod tests {
    use super::generated::ACCESS;
    use super::*;
    use crate::request_id;

    #[test]
    fn the_program_has_the_committed_document() {
        assert!(document() == include_str!("../../../docs/openapi.json"));
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
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
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
