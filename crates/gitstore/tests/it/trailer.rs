//! `domain::trailer` against `git interpret-trailers`.

use siglum_domain::{CheckpointId, trailer};

use crate::sandbox::Sandbox;

const LINE: &str = "Siglum-Checkpoint: chk_019200000000700080000000deadbeef";

/// Where the two differ, and why that is right or does no harm.
const DIFFERENT: [&str; 1] = [
    // Git takes the address for a trailer and rewrites it; a message is not ours to rewrite.
    "title\n\nhttp://example.org/x\n",
];

const MESSAGES: [&str; 27] = [
    "title\n",
    "title",
    "title\n\n",
    "title\n\nbody\n",
    "title\nsecond\n\nbody\n\nmore body\n",
    "fix: title\n",
    "fix: title\nSigned-off-by: A <a@b>\n",
    "title\n\nSigned-off-by: A <a@b>\n",
    "title\n\nbody\n\nSigned-off-by: A <a@b>\nCo-authored-by: B <b@c>\n",
    "title\n\nbody\n\nReviewed-by: A\n  with more\n",
    "title\n\nbody: has a colon\nbut is prose\n",
    "title\n\nsee http://example.org/x\n",
    "title\n\nhttp://example.org/x\n",
    "title\n\nNote: one\n\nprose\n",
    "title\n\nbody\n\n(cherry picked from commit 1111111111111111111111111111111111111111)\n",
    "title\n\nbody\n\nSigned-off-by: A <a@b>\n(cherry picked from commit 1111111111111111111111111111111111111111)\n",
    "title\n\n# help\n# more\n",
    "title\n\nSigned-off-by: A <a@b>\n\n# Please enter\n#\n# more\n",
    "title\n\nbody\n\nSigned-off-by: A <a@b>\nprose\n",
    "title\n\nSiglum-Checkpoint: chk_01920000000070008000000012345678\n",
    "title\n\nKey with blanks: x\n",
    "title\n\nbody\n---\nnot a diff\n",
    "title\n\nSigned-off-by: A <a@b>\n# a remark\nCo-authored-by: B <b@c>\n",
    "title\n\nbody\n\nSigned-off-by: A <a@b>\none\ntwo\nthree\n",
    "title\n\nbody\n\nSigned-off-by: A <a@b>\none\ntwo\nthree\nfour\n",
    "title\n\nbody\n\nprose\n  continued\nKey: value\n",
    "title\n\n  continued\nKey: value\n",
];

#[test]
fn the_trailer_stands_where_git_would_put_it() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    let id: CheckpointId = LINE.split_once(": ").unwrap().1.parse().unwrap();
    let mut different = Vec::new();
    for message in MESSAGES {
        let args = [
            "interpret-trailers",
            "--no-divider",
            "--if-exists",
            "addIfDifferent",
            "--trailer",
            LINE,
        ];
        // What git keeps of a message is what counts, so both sides are cleaned as by a commit.
        let kept = |text: &str| tree.git_with(&["stripspace", "--strip-comments"], text.as_bytes());
        let git = kept(&tree.git_with(&args, message.as_bytes()));
        let ours = kept(&trailer::add(message, "#", id));
        if git != ours {
            eprintln!("message {message:?}\n   git {git:?}\n  ours {ours:?}");
            different.push(message);
        }
        let parsed = tree.git_with(
            &["interpret-trailers", "--parse", "--no-divider"],
            ours.as_bytes(),
        );
        assert!(
            parsed.lines().any(|line| line == LINE),
            "git does not see it in {ours:?}"
        );
    }
    assert_eq!(different, DIFFERENT);
}
