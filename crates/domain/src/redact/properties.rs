//! What holds for every rule and for every text.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{RULES, Redactor, Rule};

fn redact(text: &str) -> Cow<'_, str> {
    Redactor::shared().redact_cow(text)
}

/// The part of a sample that no output may contain: its longest run of signs that secrets are made of.
fn heart(rule: &Rule) -> &'static str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/_-.".contains(c);
    let redacted = redact(rule.sample);
    rule.sample
        .split(|c| !is_part(c))
        .filter(|run| !redacted.contains(run))
        .max_by_key(|run| run.len())
        .expect("because every sample holds a secret")
}

#[test]
fn every_sample_is_caught_by_its_rule_alone() {
    let wrong: Vec<_> = RULES
        .iter()
        .map(|rule| (rule.id, rule.sample, redact(rule.sample)))
        .filter(|(id, _, redacted)| {
            redacted.matches("[redacted:").count() != 1
                || !redacted.contains(&format!("[redacted:{id}]"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rule_names_are_unique_and_safe() {
    let mut ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
    assert!(ids.iter().all(|id| {
        id.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }));
    assert!(
        RULES
            .iter()
            .flat_map(|rule| rule.keywords)
            .all(|word| !word.is_empty() && *word == word.to_ascii_lowercase())
    );
}

#[test]
fn samples_are_caught_inside_json_and_json_inside_json() {
    for rule in RULES {
        let line =
            json!({"a": {"content": format!("see\n{}\nend", rule.sample)}, "b": 1}).to_string();
        let nested = json!({"line": line, "tail": "\\"}).to_string();
        for text in [line, nested] {
            let redacted = redact(&text);
            assert!(
                redacted.contains(&format!("[redacted:{}]", rule.id)),
                "{}: {redacted}",
                rule.id
            );
            assert!(!redacted.contains(heart(rule)), "{}: {redacted}", rule.id);
            serde_json::from_str::<Value>(&redacted).expect("because redaction keeps JSON valid");
        }
    }
}

#[test]
fn assignments_in_many_dresses_are_caught() {
    let secret = "kr4ken-Harbour77";
    for text in [
        "export API_TOKEN=kr4ken-Harbour77",
        "api_token: kr4ken-Harbour77",
        r#"{"password": "kr4ken-Harbour77"}"#,
        r#"{"line":"{\"password\": \"kr4ken-Harbour77\"}"}"#,
        r#"{"line":"{\"l\":\"{\\\"password\\\": \\\"kr4ken-Harbour77\\\"}\"}"}"#,
        r#"let token: &'static str = "kr4ken-Harbour77";"#,
        r#"config["secret"] = 'kr4ken-Harbour77'"#,
        "mysql --password kr4ken-Harbour77 -u root",
        "mysql --password=kr4ken-Harbour77",
        "https://example.com/?access_token=kr4ken-Harbour77&x=1",
        "<password>kr4ken-Harbour77</password>",
        ":client_secret => \"kr4ken-Harbour77\"",
        "SMTP_PASS=kr4ken-Harbour77",
        r"PASSWORD=kr4ken-Harbour77\nNEXT=1",
        "    password = kr4ken-Harbour77",
        r#"env: API_KEY="kr4ken-Harbour77""#,
    ] {
        assert!(!redact(text).contains(secret), "{}", redact(text));
    }
}

#[test]
fn private_keys_keep_their_lines_in_every_dress() {
    let line = "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2DhLy7CjFa9GuE";
    let head = concat!("-----BEGIN ", "ENCRYPTED PRIVATE", " KEY-----");
    let tail = concat!("-----END ", "ENCRYPTED PRIVATE", " KEY-----");
    let whole = format!("{head}\n{line}\n{line}\nq7Rz=\n{tail}");
    let cut_off = format!("{head}\n{line}\n{line}\nq7RzW2");
    let numbered =
        format!("     1→{head}\n     2→{line}\n     3→{line}\n     4→q7RzW2\n     5→{tail}");
    let diff = whole
        .lines()
        .map(|l| format!("> {l}"))
        .collect::<Vec<_>>()
        .join("\n");
    for text in [whole, cut_off, numbered, diff] {
        for text in [
            text.clone(),
            json!([text]).to_string(),
            json!([json!([text]).to_string()]).to_string(),
        ] {
            let redacted = redact(&text);
            assert!(!redacted.contains("q7Rz"), "{redacted}");
            assert_eq!(redacted.matches("[redacted:").count(), 1, "{redacted}");
            assert_eq!(
                redacted.matches("\\n").count(),
                text.matches("\\n").count(),
                "{redacted}"
            );
            assert_eq!(redacted.matches('\n').count(), text.matches('\n').count());
        }
    }
}

#[test]
fn long_secrets_go_to_their_end() {
    let long = "q7RzW2mLx0Tb".repeat(800);
    let token = RULES
        .iter()
        .find(|rule| rule.id == "anthropic-key")
        .expect("because the table has it")
        .sample;
    for text in [
        format!("{token}{long}"),
        format!("API_TOKEN={long}"),
        format!("{{\"api_key\": \"{long}\"}}"),
    ] {
        assert!(!redact(&text).contains("q7Rz"), "{}", redact(&text));
    }
}

#[test]
fn text_without_secrets_is_not_copied() {
    assert!(matches!(
        redact("a task for the disk, msg.text and max_tokens: 12"),
        Cow::Borrowed(_)
    ));
}

/// The processor's time for this thread: others use the machine, too.
fn time_for(piece: &str, bytes: usize) -> i64 {
    use rustix::time::{ClockId, clock_gettime};
    let now = || clock_gettime(ClockId::ThreadCPUTime);
    let text = piece.repeat(bytes / piece.len() + 1);
    let start = now();
    let _ = redact(&text);
    let end = now();
    (end.tv_sec - start.tv_sec) * 1_000_000 + (end.tv_nsec - start.tv_nsec) / 1_000
}

/// Eight times the text may take eight times as long, not sixty-four times.
#[test]
fn the_time_grows_with_the_text_and_no_faster() {
    let words = RULES.iter().flat_map(|rule| rule.keywords.iter().copied());
    let samples = RULES.iter().map(|rule| rule.sample);
    let hostile = [
        "\"",
        "\\",
        "\\\"",
        "password=\"\\",
        "token: ",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "a:b@://",
        "machine x login ",
        "curl -u ",
        "name: token\n",
        "(secret=[",
        "eyJ.",
    ];
    for piece in words.chain(samples).chain(hostile) {
        // Patterns are compiled at their first use.
        time_for(piece, 64);
        let grows_too_fast = || {
            let (short, long) = (time_for(piece, 2 << 10), time_for(piece, 8 << 10));
            long > 20_000 && long > short * 11
        };
        // Only what happens every time is the text's fault.
        assert!((0..5).any(|_| !grows_too_fast()), "{piece:?}");
    }
}

/// Pieces that make trouble: keywords, separators, quotes, escapes, samples.
fn piece() -> impl Strategy<Value = String> {
    let keywords: Vec<_> = RULES
        .iter()
        .flat_map(|rule| rule.keywords.iter().map(|word| (*word).to_owned()))
        .collect();
    let signs: Vec<_> = [
        "\"",
        "\\\"",
        "\\",
        "\\n",
        "\n",
        ":",
        "=",
        " ",
        "://",
        "@",
        "'",
        "-----END",
        "[redacted:x]",
        "</",
        ">",
        "\\u0041",
        ";",
        "ü",
    ]
    .iter()
    .map(|sign| (*sign).to_owned())
    .collect();
    prop_oneof![
        3 => prop::sample::select(keywords),
        5 => prop::sample::select(signs),
        2 => prop::sample::select(RULES).prop_map(|rule| rule.sample.to_owned()),
        3 => "[a-zA-Z0-9+/_.-]{1,40}",
        1 => any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(768) })]

    #[test]
    fn redaction_is_stable_and_keeps_lines(text in prop_oneof![text(), any::<String>()]) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
        prop_assert_eq!(once.matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn a_json_line_stays_a_json_line(key in text(), value in text(), inner in text()) {
        let nested = json!({ "inner": inner }).to_string();
        let line = json!({ key: [value, nested] }).to_string();
        let redacted = redact(&line);
        prop_assert!(serde_json::from_str::<Value>(&redacted).is_ok(), "{}\n{}", line, redacted);
    }

    #[test]
    fn no_sample_survives(rule in prop::sample::select(RULES), before in "[ -~\n]{0,60}", after in "[ -~\n]{0,60}") {
        let text = format!("{before}\n{}\n{after}", rule.sample);
        prop_assert!(!redact(&text).contains(heart(&rule)), "{}", redact(&text));
        let line = json!({ "text": text }).to_string();
        prop_assert!(!redact(&line).contains(heart(&rule)), "{}", redact(&line));
    }

    #[test]
    fn json_keeps_its_structure(text in text()) {
        let value = json!({ "list": [text, 1], "password": text });
        let redacted = Redactor::shared().redact_json(&value);
        prop_assert_eq!(redacted.as_value()["list"].as_array().map(Vec::len), Some(2));
        prop_assert_eq!(Redactor::shared().redact_json(redacted.as_value()), redacted);
    }
}
