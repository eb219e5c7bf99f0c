//! Fuzz targets: what must hold for every input, whoever wrote it.
//!
//! Each takes bytes and panics where something does not hold. `fuzz/` runs them under libFuzzer, the
//! test `fuzzed` replays the corpora.

use std::path::Path;

use siglum_agents::{
    AgentSpec, HookCall, InstallState, RecordLine, SettingsFile, Sighting, TranscriptReader,
};
use siglum_domain::intake::Intake;
use siglum_domain::observation::{Body, Fact, Observation};
use siglum_domain::redact::Redactor;
use siglum_domain::{CheckpointId, NativeId, Timestamp, commit_message, trailer};
use siglum_engine::identity::issuers::{KeySet, SignedToken, TokenRefusal};

/// A key or an event's name is no longer than this, in bytes.
const KEY_MOST: usize = 2048;
/// Where the agent's own files would lie.
const AGENT_DIR: &str = "/home/dev/.agent";
/// The checkout that paths are made relative to.
const WORKTREE: &str = "/repo";

/// A target: its name and what it does with an input.
pub type Target = (String, Box<dyn Fn(&[u8]) + Send + Sync>);

/// All targets: for each agent its payloads, its transcripts and its settings, then the rest.
#[must_use]
pub fn targets() -> Vec<Target> {
    let mut all: Vec<Target> = Vec::new();
    for agent in siglum_agents::AGENTS {
        let name = agent.name.replace('-', "_");
        all.push((
            format!("{name}_payload"),
            Box::new(|data| payload(agent, data)),
        ));
        all.push((
            format!("{name}_transcript"),
            Box::new(|data| transcript(agent, data)),
        ));
        all.push((
            format!("{name}_settings"),
            Box::new(|data| settings(agent, data)),
        ));
    }
    all.push(("record_line".to_owned(), Box::new(record_lines)));
    all.push(("redact".to_owned(), Box::new(redact)));
    all.push(("message".to_owned(), Box::new(message)));
    all.push(("intake".to_owned(), Box::new(intake)));
    all.push(("token".to_owned(), Box::new(token)));
    all
}

/// Runs the target of this name.
///
/// # Panics
/// There is none of this name, or something does not hold.
pub fn run(name: &str, data: &[u8]) {
    let all = targets();
    let found = all.iter().find(|(own, _)| own == name);
    let (_, target) = found.unwrap_or_else(|| panic!("no fuzz target is called {name}"));
    target(data);
}

/// A hook's payload gives the same observations each time, without secrets, in a form that can be
/// stored; a path that it names is not taken outside the agent's own directory.
fn payload(agent: &AgentSpec, data: &[u8]) {
    let call = HookCall {
        payload: data,
        redactor: Redactor::shared(),
        digest_key: &[7; 32],
        now: Timestamp::from_seconds(1_700_000_000),
        delivery: "1-1",
        agent_dir: Path::new(AGENT_DIR),
        worktree: Some(Path::new(WORKTREE)),
    };
    let reduced = (agent.reduce)(&call);
    assert_eq!((agent.reduce)(&call), reduced);
    let Ok(reduced) = reduced else { return };
    reduced.observations.iter().for_each(observation);
    for declined in &reduced.declines {
        redacted(&declined.detail);
        assert!(declined.detail.len() <= KEY_MOST);
    }
    if let Some(transcript) = &reduced.transcript {
        assert!(transcript.starts_with(AGENT_DIR), "{transcript:?}");
    }
    for edit in &reduced.edits {
        assert!(!edit.path.to_string_lossy().contains('\0'));
    }
}

/// A line of the record protocol is refused for a reason that can be shown, or gives the same observations each time,
/// without secrets, in a form that can be stored.
fn record_lines(data: &[u8]) {
    for text in data.split(|byte| *byte == b'\n') {
        let line = match RecordLine::parse(text) {
            Ok(line) => line,
            Err(error) => {
                let reason = error.to_string();
                assert!(reason.len() <= KEY_MOST && !reason.contains(char::is_control));
                continue;
            }
        };
        let call = HookCall {
            payload: &[],
            redactor: Redactor::shared(),
            digest_key: &[7; 32],
            now: Timestamp::from_seconds(1_700_000_000),
            delivery: "1-1",
            agent_dir: Path::new(AGENT_DIR),
            worktree: Some(Path::new(WORKTREE)),
        };
        let reduced = line.reduce(&call);
        assert_eq!(line.reduce(&call), reduced);
        reduced.observations.iter().for_each(observation);
        assert!(!reduced.observations.is_empty());
        if !line.is_live() {
            assert!(reduced.edits.is_empty() && reduced.head.is_none());
        }
    }
}

/// A transcript gives the same sightings whether it is read at once or a copy of the reader goes on.
fn transcript(agent: &AgentSpec, data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut reader = reader(agent);
    let (first, second) = lines.split_at(lines.len() / 2);
    let mut offset = 0;
    let mut seen = read(reader.as_mut(), first, &mut offset);
    let (mut copy, mut again) = (reader.copy(), offset);
    let rest = read(reader.as_mut(), second, &mut offset);
    assert_eq!(read(copy.as_mut(), second, &mut again), rest);
    assert!(reader.held_from().is_none_or(|held| held <= offset));
    seen.extend(rest);
    seen.extend(reader.finish());
    seen.iter().for_each(|s| observation(&s.observation));
    for line in lines {
        if let Some(text) = (agent.passage_text)(line) {
            assert!(!text.is_empty());
        }
    }
    let _ = (agent.first_cwd)(data);
}

fn reader(agent: &AgentSpec) -> Box<dyn TranscriptReader> {
    let session = NativeId::new("11111111-2222-4333-8444-555555555555");
    let session = session.expect("because it keeps to the grammar");
    let mut reader = (agent.transcript)("stream".to_owned(), None, session);
    reader.set_worktree(WORKTREE.into());
    reader
}

fn read(reader: &mut dyn TranscriptReader, lines: &[&str], offset: &mut u64) -> Vec<Sighting> {
    let mut seen = Vec::new();
    for line in lines {
        let read = reader.line(*offset, line, Redactor::shared());
        for mention in &read.commits {
            assert!((7..=64).contains(&mention.abbreviated.len()));
        }
        seen.extend(read.sightings);
        *offset += line.len() as u64;
    }
    seen
}

/// Installing twice is installing once, all hooks are there then, and they can be taken out. That what was
/// there comes back is for the tests of `command_hooks` to show, on settings of people's form.
fn settings(agent: &AgentSpec, data: &[u8]) {
    const SHIM: &str = "/home/dev/.local/share/siglum/bin/siglum";
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let paths = (agent.settings)(Path::new(AGENT_DIR));
    for at in 0..paths.len() {
        let file = |(n, path): (usize, &std::path::PathBuf)| SettingsFile {
            path: path.clone(),
            text: (n == at).then(|| text.to_owned()),
        };
        let before: Vec<SettingsFile> = paths.iter().enumerate().map(file).collect();
        let Ok(texts) = (agent.plan_install)(&before, SHIM) else {
            continue;
        };
        let installed = with(&before, texts.clone());
        assert_eq!((agent.plan_install)(&installed, SHIM), Ok(texts));
        let held = (agent.inspect)(&installed, SHIM);
        // What a person switched off stays off.
        let held = matches!(
            held,
            Ok(InstallState::Current
                | InstallState::Untrusted(_)
                | InstallState::SwitchedOff { .. })
        );
        assert!(held);
        assert!((agent.plan_remove)(&installed, SHIM).is_ok());
    }
}

fn with(files: &[SettingsFile], texts: Vec<Option<String>>) -> Vec<SettingsFile> {
    let file = |(file, text): (&SettingsFile, Option<String>)| SettingsFile {
        path: file.path.clone(),
        text,
    };
    files.iter().zip(texts).map(file).collect()
}

/// Redacting twice is redacting once, and no line is lost or added.
fn redact(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let once = Redactor::shared().redact(&text);
    redacted(once.as_str());
    assert_eq!(
        once.as_str().matches('\n').count(),
        text.matches('\n').count()
    );
}

/// The trailer that is added to a message is found there, and nothing is taken for one that is none.
fn message(data: &[u8]) {
    let message = String::from_utf8_lossy(data);
    let checkpoint = CheckpointId::from_uuid(uuid::Uuid::from_u128(7 << 76 | 5));
    let with = trailer::add(&message, "#", checkpoint);
    assert!(trailer::named(&with).contains(&checkpoint), "{with:?}");
    let cleaned = commit_message::cleaned(&with, "#");
    assert!(
        trailer::named(&cleaned).contains(&checkpoint),
        "{cleaned:?}"
    );
    let _ = trailer::malformed(&message);
}

/// What the spool holds is read, or refused; what is read is written as it was.
fn intake(data: &[u8]) {
    let Ok(intake) = serde_json::from_slice::<Intake>(data) else {
        return;
    };
    let stored = serde_json::to_vec(&intake).expect("because it was read from JSON");
    let again: Intake = serde_json::from_slice(&stored).expect("because it was just written");
    assert_eq!(again, intake);
}

/// The token of an issuer is taken apart or refused as malformed; none verifies, since nobody has the secret key.
fn token(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let own = r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    for document in [own.as_bytes(), data] {
        let keys = KeySet::read(&serde_json::from_slice(document).unwrap_or_default());
        match SignedToken::parse(&text) {
            Ok(token) => {
                if let Some(key) = token.key_in(&keys) {
                    assert!(token.verified_claims(key).is_err());
                }
            }
            Err(refusal) => assert!(matches!(refusal, TokenRefusal::Malformed(_))),
        }
    }
}

/// An observation can be stored and read, and its texts hold no secrets.
fn observation(observation: &Observation) {
    assert!(!observation.key.is_empty() && observation.key.len() <= KEY_MOST);
    assert!(!observation.event.is_empty() && observation.event.len() <= KEY_MOST);
    let stored = serde_json::to_string(observation).expect("because all of it is text");
    let read: Observation = serde_json::from_str(&stored).expect("because it was just written");
    assert_eq!(&read, observation);
    bodies(&observation.fact)
        .into_iter()
        .filter_map(Body::text)
        .for_each(redacted);
}

fn bodies(fact: &Fact) -> Vec<&Body> {
    match fact {
        Fact::Prompt { text, .. } | Fact::Message { text, .. } => vec![text],
        Fact::ToolStarted { input, .. } => vec![input],
        Fact::Stopped {
            last_message: body, ..
        }
        | Fact::ToolEnded { output: body, .. }
        | Fact::SubagentStopped { last_message: body }
        | Fact::Compacted { summary: body, .. } => body.iter().collect(),
        _ => Vec::new(),
    }
}

fn redacted(text: &str) {
    assert_eq!(Redactor::shared().redact_cow(text), text);
}
