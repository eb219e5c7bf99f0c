//! Lives of files, in a few lines each.

use super::*;
use proptest::prelude::*;

fn ses(n: u128) -> SessionId {
    SessionId::from_uuid(uuid::Uuid::from_u128(n))
}

fn step(n: u128, before: &str, after: &str) -> Step {
    Step {
        session: ses(n),
        before: before.into(),
        after: after.into(),
        exact: true,
        joint: Joint::Same,
    }
}

/// One letter for each line: `p`arent, `-` for nobody, `1` and `2` for sessions, `'` behind those that
/// are likely.
fn drawn(spans: &[Span]) -> String {
    let mut out = String::new();
    for span in spans {
        for _ in 0..span.lines() {
            match span.origin {
                Origin::Parent => out.push('p'),
                Origin::Unknown => out.push('-'),
                Origin::Session(s) if s == ses(1) => out.push('1'),
                Origin::Session(_) => out.push('2'),
            }
            if span.bridged {
                out.push('\'');
            }
        }
    }
    out
}

#[track_caller]
fn check(parent: &str, steps: &[Step], commit: &str, expected: &str) {
    check_joint(parent, steps, (commit, Joint::Same), expected);
}

#[track_caller]
fn check_joint(parent: &str, steps: &[Step], (commit, joint): (&str, Joint), expected: &str) {
    let mut life = FileLife::new(parent.into());
    steps.iter().for_each(|step| life.write(step));
    let canvas = life.lead_to(commit.as_bytes(), joint);
    let spans = lines_of_commit(&[parent.into()], commit.as_bytes(), &[canvas]);
    assert_eq!(drawn(&spans), expected);
}

#[test]
fn each_line_belongs_to_who_was_seen_writing_it() {
    check("a\n", &[step(1, "a\n", "a\nb\n")], "a\nb\n", "p1");
    let two = [step(1, "a\n", "a\nb\n"), step(2, "a\nb\n", "x\na\nb\n")];
    check("a\n", &two, "x\na\nb\n", "2p1");
}

#[test]
fn what_nobody_was_seen_writing_is_unknown() {
    check("", &[], "a\n", "-");
    let one = [step(1, "a\n", "a\nb\n")];
    check("a\n", &one, "a\nb\nc\n", "p1'-");
    check("a\n", &[step(1, "a\nh\n", "a\nh\nb\n")], "a\nh\nb\n", "p-1");
}

#[test]
fn equal_text_in_what_may_be_another_file_is_nobodys() {
    let one = [step(1, "", "a\nb\nc\n")];
    check_joint("", &one, ("a\nb\nc\n", Joint::Open), "111");
    check_joint("", &one, ("a\nb\nC\n", Joint::Open), "---");
    check_joint("", &one, ("a\nb\nC\n", Joint::Same), "1'1'-");
    let mut other = step(2, "a\nb\nC\n", "a\nb\nC\nd\n");
    other.joint = Joint::Open;
    check("", &[one[0].clone(), other], "a\nb\nC\nd\n", "---2");
}

#[test]
fn what_git_removed_does_not_come_back() {
    let mut life = FileLife::new(Vec::new());
    life.write(&step(1, "", "a\nb\n"));
    life.replace(Canvas::new(Vec::new()));
    for (content, joint) in [("a\nb\n", Joint::Same), ("a\nc\n", Joint::Open)] {
        let canvas = life.lead_to(content.as_bytes(), joint);
        let spans = lines_of_commit(&[Vec::new()], content.as_bytes(), &[canvas]);
        assert_eq!(drawn(&spans), "--", "{content}");
    }
}

#[test]
fn a_write_that_is_taken_back_leaves_what_was_there_before() {
    let steps = [
        step(1, "", "a\nb\n"),
        step(2, "a\nb\n", "x\n"),
        Step {
            joint: Joint::Open,
            ..step(2, "a\nb\n", "a\nb\nc\n")
        },
    ];
    check("", &steps, "a\nb\nc\n", "1'1'2");
}

#[test]
fn braces_between_changes_that_nobody_saw_are_nobodys() {
    let one = [step(1, "", "a\n}\nb\n")];
    check("", &one, "x\n}\ny\n", "---");
    check("", &one, "a\n}\ny\n", "1'1'-");
}

#[test]
fn a_tool_that_does_not_say_what_it_wrote_is_likely() {
    let vague = Step {
        exact: false,
        ..step(1, "", "a\n")
    };
    check("", &[vague], "a\n", "1'");
}

#[test]
fn a_rewritten_line_leaves_its_writer() {
    check("", &[step(1, "", "a\n")], "b\n", "-");
    check("", &[step(1, "", "a\n"), step(2, "a\n", "b\n")], "b\n", "2");
}

#[test]
fn lines_of_any_parent_are_not_the_commits() {
    let mut life = FileLife::new(b"a\n".to_vec());
    life.write(&step(1, "a\n<\nb\n", "a\nb\nc\n"));
    let canvas = life.lead_to(b"a\nb\nc\n", Joint::Same);
    let parents = [b"a\n".to_vec(), b"b\n".to_vec()];
    assert_eq!(
        drawn(&lines_of_commit(&parents, b"a\nb\nc\n", &[canvas])),
        "pp1"
    );
}

#[test]
fn what_is_known_of_a_commit_is_known_of_its_copy() {
    let span = |first, last, origin| Span {
        first,
        last,
        origin,
        bridged: false,
    };
    let found = [
        span(1, 1, Origin::Parent),
        span(2, 2, Origin::Session(ses(1))),
    ];
    let parent = Canvas::from_spans(
        b"a\n".to_vec(),
        &[span(1, 1, Origin::Session(ses(2)))],
        None,
    );
    let canvas = Canvas::from_spans(b"a\nb\n".to_vec(), &found, Some(&parent));
    let copy = lines_of_commit(&[Vec::new()], b"a\nb\n", &[canvas]);
    assert_eq!(drawn(&copy), "21");
}

#[test]
fn what_others_saved_during_a_call_was_there_before_it_wrote() {
    let check = |before: &str, after: &str, added: &str, expected: Option<&str>| {
        let start = start_among_others(before.as_bytes(), after.as_bytes(), added.as_bytes());
        assert_eq!(start.as_deref(), expected.map(str::as_bytes));
    };
    check("a\n", "a\nb\n", "b\n", None);
    check("a\n", "a\r\nb\r\n", "a\nb", None);
    check("a\n", "x\na\nb\n", "b\n", Some("x\na\n"));
    check("", "x\n", "", Some("x\n"));
    check("a\nb\n", "b\n", "", None);
}

#[test]
fn lines_need_no_line_feed_and_no_text() {
    assert_eq!(count_lines(b""), 0);
    assert_eq!(count_lines(b"a"), 1);
    assert_eq!(count_lines(b"a\n\xff"), 2);
}

#[test]
fn added_lines_are_recognised_by_their_key_only() {
    let added = added_lines(&[1; 32], b"a\n", b"a\nb\n");
    assert_eq!(added, [line_hash(&[1; 32], b"b\n")]);
    assert_ne!(added, added_lines(&[2; 32], b"a\n", b"a\nb\n"));
}

proptest! {
    #[test]
    fn every_line_has_one_origin(
        texts in prop::collection::vec("[abc\n]{0,30}", 2..6),
    ) {
        let mut life = FileLife::new(texts[0].clone().into());
        for (n, w) in texts.windows(2).enumerate() {
            life.write(&step(n as u128, &w[0], &w[1]));
        }
        let commit = texts.last().unwrap();
        let canvas = life.lead_to(commit.as_bytes(), Joint::Same);
        let spans = lines_of_commit(&[texts[0].clone().into()], commit.as_bytes(), &[canvas]);
        let mut next = 1;
        for span in &spans {
            prop_assert_eq!(span.first, next);
            prop_assert!(span.last >= span.first);
            next = span.last + 1;
        }
        prop_assert_eq!(next as usize - 1, count_lines(commit.as_bytes()));
    }
}
