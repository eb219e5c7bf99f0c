//! The agents that can send telemetry, and what each needs for that.

use std::path::{Path, PathBuf};

use super::{Export, Form, HEADERS, Member, TelemetrySpec, Wanted, Weight};
use crate::command_hooks::Json;
use crate::spec::AgentSpec;
use crate::{claude_code, codex, gemini, qwen};

const ENDPOINT: &[&str] = &["env", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The agents whose settings are edited.
pub static TELEMETRY: &[TelemetrySpec] = &[
    signal(
        &claude_code::SPEC,
        &[Wanted {
            name: "settings.json",
            form: Form::Json {
                members: CLAUDE_CODE,
                theirs: &[
                    &["env", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
                    &["env", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"],
                    &["env", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"],
                    &["otelHeadersHelper"],
                ],
            },
        }],
        None,
    ),
    signal(
        &codex::SPEC,
        &[Wanted {
            name: "config.toml",
            form: Form::Codex,
        }],
        None,
    ),
    signal(
        &gemini::SPEC,
        &[
            Wanted {
                name: "settings.json",
                form: Form::Json {
                    members: GEMINI,
                    theirs: OWN_OUTPUT,
                },
            },
            Wanted {
                name: ".env",
                form: Form::Variables,
            },
        ],
        Some(
            "Gemini CLI reads its token from ~/.gemini/.env, unless a `.env` nearer to the working directory is in the way or the directory is not trusted; under `siglum run` it always has it",
        ),
    ),
    signal(
        &qwen::SPEC,
        &[Wanted {
            name: "settings.json",
            form: Form::Json {
                members: QWEN,
                theirs: OWN_OUTPUT,
            },
        }],
        None,
    ),
    TelemetrySpec {
        agent: "opencode",
        title: "OpenCode",
        config_variable: None,
        home_variable: None,
        default_dir: opencode,
        note: Some(
            "OpenCode reads address and token from its environment alone: start it with `siglum run`",
        ),
        files: &[Wanted {
            name: "opencode.json",
            form: Form::Json {
                members: OPENCODE,
                theirs: &[],
            },
        }],
    },
];

/// The row of an agent that is recorded.
const fn signal(
    agent: &AgentSpec,
    files: &'static [Wanted],
    note: Option<&'static str>,
) -> TelemetrySpec {
    TelemetrySpec {
        agent: agent.name,
        title: agent.title,
        config_variable: agent.config_variable,
        home_variable: agent.home_variable,
        default_dir: agent.default_dir,
        note,
        files,
    }
}

fn opencode(home: &Path) -> PathBuf {
    home.join(".config/opencode")
}

/// Where Gemini CLI and its descendants write their telemetry, if not to an address.
const OWN_OUTPUT: &[&[&str]] = &[
    &["telemetry", "outfile"],
    &["telemetry", "useCollector"],
    &["telemetry", "useCliAuth"],
    &["telemetry", "otlpTracesEndpoint"],
    &["telemetry", "otlpLogsEndpoint"],
    &["telemetry", "otlpMetricsEndpoint"],
];

const CLAUDE_CODE: &[Member] = &[
    decides(&["env", "CLAUDE_CODE_ENABLE_TELEMETRY"], |_| text("1")),
    decides(ENDPOINT, |export| text(&export.gateway)),
    decides(HEADERS, |export| text(&export.header())),
    details(&["env", "OTEL_EXPORTER_OTLP_PROTOCOL"], |_| {
        text("http/protobuf")
    }),
    details(&["env", "OTEL_TRACES_EXPORTER"], |_| text("otlp")),
    details(&["env", "OTEL_LOGS_EXPORTER"], |_| text("otlp")),
    details(&["env", "OTEL_METRICS_EXPORTER"], |_| text("otlp")),
    details(&["env", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA"], |_| {
        text("1")
    }),
];

const GEMINI: &[Member] = &[
    decides(&["telemetry", "enabled"], |_| Json::Bool(true)),
    decides(&["telemetry", "target"], |_| text("local")),
    decides(&["telemetry", "otlpEndpoint"], |export| {
        text(&export.gateway)
    }),
    decides(&["telemetry", "otlpProtocol"], |_| text("http")),
    details(&["telemetry", "logPrompts"], |_| Json::Bool(false)),
];

const QWEN: &[Member] = &[
    GEMINI[0],
    GEMINI[1],
    GEMINI[2],
    GEMINI[3],
    GEMINI[4],
    decides(HEADERS, |export| text(&export.header())),
];

const OPENCODE: &[Member] = &[decides(&["experimental", "openTelemetry"], |_| {
    Json::Bool(true)
})];

const fn decides(path: &'static [&'static str], value: fn(&Export) -> Json) -> Member {
    Member {
        path,
        value,
        weight: Weight::Decides,
    }
}

const fn details(path: &'static [&'static str], value: fn(&Export) -> Json) -> Member {
    Member {
        path,
        value,
        weight: Weight::Details,
    }
}

fn text(value: &str) -> Json {
    Json::Text(value.to_owned())
}

/// The variables by which a command that is launched sends its telemetry, whichever of the agents it starts.
#[must_use]
pub fn environment(export: &Export) -> Vec<(&'static str, String)> {
    let on = |name| (name, "1".to_owned());
    let set = |name, value: &str| (name, value.to_owned());
    vec![
        set("OTEL_EXPORTER_OTLP_ENDPOINT", &export.gateway),
        set("OTEL_EXPORTER_OTLP_HEADERS", &export.header()),
        set("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        on("CLAUDE_CODE_ENABLE_TELEMETRY"),
        on("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA"),
        set("OTEL_TRACES_EXPORTER", "otlp"),
        set("OTEL_LOGS_EXPORTER", "otlp"),
        set("OTEL_METRICS_EXPORTER", "otlp"),
        set("GEMINI_TELEMETRY_ENABLED", "true"),
        set("GEMINI_TELEMETRY_TARGET", "local"),
        set("GEMINI_TELEMETRY_OTLP_ENDPOINT", &export.gateway),
        set("GEMINI_TELEMETRY_OTLP_PROTOCOL", "http"),
        set("GEMINI_TELEMETRY_LOG_PROMPTS", "false"),
        set("QWEN_TELEMETRY_ENABLED", "true"),
        set("QWEN_TELEMETRY_TARGET", "local"),
        set("QWEN_TELEMETRY_OTLP_ENDPOINT", &export.gateway),
        set("QWEN_TELEMETRY_OTLP_PROTOCOL", "http"),
        set("QWEN_TELEMETRY_LOG_PROMPTS", "false"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_agents_that_are_known() {
        for spec in TELEMETRY {
            assert!(crate::known(spec.agent).is_some(), "{}", spec.agent);
            if let Some(agent) = crate::find(spec.agent) {
                assert_eq!(agent.title, spec.title);
            }
        }
    }
}
