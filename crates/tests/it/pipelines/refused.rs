//! Bad input is refused by its field, and nothing is written.

use super::Runner;
use crate::harness::World;

/// Each command is refused by its field, told without secrets and control characters, and nothing is written.
#[track_caller]
fn all_refused(world: &World, cases: &[(&str, &[&str])]) {
    let repo = world.repo();
    for (field, args) in cases {
        let ran = repo.siglum(&[&["pipeline"], *args].concat());
        assert_eq!(ran.code, Some(2), "{args:?} {ran:?}");
        let complaint = ran.stderr.strip_prefix("error: ").unwrap_or_default();
        let complaint = complaint.strip_prefix("invalid ").unwrap_or(complaint);
        assert!(complaint.starts_with(field), "{args:?} {ran:?}");
        assert!(!ran.stderr.contains(&secret()[4..20]), "{args:?} {ran:?}");
        assert!(!ran.stderr.contains('\u{1b}'), "{args:?} {ran:?}");
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    assert_eq!(world.count("SELECT count(*) FROM pipelines"), 0);
    assert_eq!(world.count("SELECT count(*) FROM pipeline_events"), 0);
}

fn secret() -> String {
    format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36])
}

#[test]
fn bad_input_is_refused_by_field_and_nothing_is_written() {
    let world = World::new();
    let long = |n: usize| "x".repeat(n);
    let secret = secret();
    let (id, phase, name, text) = (long(257), long(65), long(129), long(20_000));
    let cases: &[(&str, &[&str])] = &[
        ("pipeline_id", &["phase", "start", "", "a"]),
        ("pipeline_id", &["phase", "start", " p", "a"]),
        ("pipeline_id", &["phase", "start", "p\u{1b}[31m", "a"]),
        ("pipeline_id", &["phase", "start", &id, "a"]),
        ("pipeline_id", &["phase", "start", &secret, "a"]),
        ("phase", &["phase", "start", "p", ""]),
        ("phase", &["phase", "start", "p", "a\nb"]),
        ("phase", &["phase", "wait", "p", &phase]),
        ("outcome", &["phase", "end", "p", "a", "--outcome", "done"]),
        ("outcome", &["phase", "end", "p", "a", "--outcome", ""]),
        ("phases", &["plan", "p", "a", "b", "a"]),
        ("phase", &["plan", "p", "a", ""]),
        ("name", &["check", "p", "", "passed"]),
        ("name", &["check", "p", &name, "passed"]),
        ("name", &["check", "p", &secret, "passed"]),
        ("result", &["check", "p", "unit", "green"]),
        ("result", &["check", "p", "unit", "PASSED"]),
        ("text", &["check", "p", "unit", "passed", "--summary", ""]),
        (
            "text",
            &["check", "p", "unit", "passed", "--summary", "\u{7}"],
        ),
        (
            "url",
            &["check", "p", "unit", "passed", "--url", "https://a:b@host/"],
        ),
        (
            "url",
            &[
                "check",
                "p",
                "unit",
                "passed",
                "--url",
                "file:///etc/passwd",
            ],
        ),
        (
            "commit",
            &["check", "p", "unit", "passed", "--commit", "HEAD"],
        ),
        ("phase", &["check", "p", "unit", "passed", "--phase", " "]),
        ("key", &["check", "p", "unit", "passed", "--key", "a b"]),
        ("verdict", &["review", "p", "lgtm"]),
        ("role", &["review", "p", "approved", "--role", &phase]),
        ("text", &["review", "p", "approved", "--text", &text]),
        ("text", &["review", "p", "approved", "--text", "  "]),
        ("outcome", &["end", "p", "--outcome", "fine"]),
    ];
    all_refused(&world, cases);
}

#[test]
fn a_contract_without_a_text_that_can_be_kept_is_refused() {
    let world = World::new();
    let big = world.root.join("big");
    std::fs::write(&big, "x ".repeat(40_000)).unwrap();
    let raw = world.root.join("raw");
    std::fs::write(&raw, [0xff, 0xfe, b'a']).unwrap();
    let empty = world.root.join("empty");
    std::fs::write(&empty, "").unwrap();
    let file = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let phase = "x".repeat(65);
    let cases: &[(&str, &[&str])] = &[
        ("text", &["contract", "p", "api", "--file", &file(&big)]),
        ("text", &["contract", "p", "api", "--file", &file(&raw)]),
        ("text", &["contract", "p", "api", "--file", &file(&empty)]),
        (
            "version",
            &[
                "contract",
                "p",
                "api",
                "--file",
                "/etc/hostname",
                "--contract-version",
                &phase,
            ],
        ),
    ];
    all_refused(&world, cases);
}

#[test]
fn what_is_not_there_is_not_found() {
    let world = World::new();
    let repo = world.repo();
    let nobody = "ses_01920000000070008000000000000001";
    for args in [
        &["show", "never"][..],
        &["show", "never", "--watch"],
        &["export", "never"],
        &["end", "never"],
        &["list", "--after", "never"],
        &["phase", "start", "p", "a", "--session", nobody],
    ] {
        let ran = repo.siglum(&[&["pipeline"], args].concat());
        assert_eq!(ran.code, Some(3), "{args:?} {ran:?}");
        assert!(ran.stderr.contains("hint: "), "{args:?} {ran:?}");
    }
    assert_eq!(world.count("SELECT count(*) FROM pipelines"), 0);
    let missing = repo.siglum(&[
        "pipeline",
        "contract",
        "p",
        "api",
        "--file",
        "/no/such/file",
    ]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
}

#[test]
fn secrets_in_texts_are_not_kept() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    let secret = secret();
    let file = world.root.join("contract");
    std::fs::write(&file, format!("push with {secret}\n")).unwrap();
    let text = format!("I saw {secret}");
    runner
        .says(&["contract"], &["api", "--file", file.to_str().unwrap()])
        .ok();
    runner
        .says(&["review"], &["commented", "--text", &text])
        .ok();
    runner
        .says(&["check"], &["leaks", "failed", "--summary", &text])
        .ok();
    let bundle = runner.says(&["export"], &[]).ok();
    assert!(bundle.contains("[redacted:github-token]"), "{bundle}");
    let mut kept = bundle.into_bytes();
    kept.extend(runner.drawing(&[]).into_bytes());
    for name in ["ledger.db", "ledger.db-wal"] {
        kept.extend(std::fs::read(world.siglum_home().join(name)).unwrap_or_default());
    }
    let found = kept.windows(16).any(|w| w == &secret.as_bytes()[4..20]);
    assert!(!found, "a secret was kept");
}
