use siglum_domain::commit::CommitFacts;
use siglum_domain::{Oid, Timestamp};
use siglum_gitstore::{MINIMUM_GIT, MessageSettings, ObjectFormat, blob_id};

use crate::sandbox::{Sandbox, Tree};

const NOWHERE: &str = "1111111111111111111111111111111111111111";

fn facts(tree: &Tree, commit: &Oid) -> CommitFacts {
    let mut facts = tree.gitstore().facts(std::slice::from_ref(commit)).unwrap();
    assert!(facts.missing.is_empty());
    facts.known.remove(0)
}

fn paths(facts: &CommitFacts) -> Vec<&str> {
    facts.changes.iter().map(|c| c.path.as_str()).collect()
}

#[test]
fn a_root_commit_and_one_that_is_missing() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    let message = "title\nsecond line\n\nSiglum-Checkpoint: chk_019200000000700080000000deadbeef";
    let root = tree.commit("f", "1\n", message);
    let nowhere = Oid::new(NOWHERE).unwrap();
    let a_tree = tree.oid("HEAD^{tree}");
    let oids = [nowhere.clone(), root.clone(), a_tree.clone()];
    let facts = tree.gitstore().facts(&oids).unwrap();
    assert_eq!(facts.missing, [nowhere, a_tree.clone()]);
    let known = &facts.known[0];
    assert_eq!((&known.commit, &known.tree), (&root, &a_tree));
    assert!(known.parents.is_empty());
    assert_eq!(known.authored, Timestamp::from_seconds(1_700_000_000));
    assert_eq!(known.committed, Timestamp::from_seconds(1_700_000_100));
    assert_eq!(
        (known.author.as_str(), known.subject.as_str()),
        ("Ann", "title")
    );
    assert_eq!(
        known.named[0].to_string(),
        "chk_019200000000700080000000deadbeef"
    );
    assert_eq!(known.changes[0].before, None);
    assert_eq!(
        known.changes[0].after,
        Some(blob_id(ObjectFormat::Sha1, b"1\n"))
    );
}

#[test]
fn a_merge_changes_what_its_first_parent_lacks() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.commit("f", "1", "one");
    tree.git(&["checkout", "-q", "-b", "side"]);
    let side = tree.commit("side", "2", "two");
    tree.git(&["checkout", "-q", "main"]);
    let main = tree.commit("main", "3", "three");
    tree.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let merge = facts(&tree, &tree.oid("HEAD"));
    assert_eq!(merge.parents, [main, side]);
    assert_eq!(paths(&merge), ["side"]);
    tree.git(&[
        "commit",
        "-q",
        "--allow-empty",
        "--allow-empty-message",
        "-m",
        "",
    ]);
    let empty = facts(&tree, &tree.oid("HEAD"));
    assert_eq!((empty.subject.as_str(), empty.changes.len()), ("", 0));
}

#[test]
fn many_commits_and_weird_paths_in_one_batch() {
    let sandbox = Sandbox::new();
    for format in ["sha1", "sha256"] {
        let tree = sandbox.init(format, &[&format!("--object-format={format}")]);
        let weird = [
            "a b",
            "q\"uo'te",
            "new\nline",
            "ä/ß",
            ":100644 x",
            "-dash",
            "tab\there",
        ];
        let mut commits: Vec<Oid> = weird.iter().map(|p| tree.commit(p, p, p)).collect();
        tree.git(&["mv", "a b", "moved"]);
        tree.git(&["rm", "-q", "-f", "./-dash"]);
        tree.git(&["commit", "-q", "-m", "mv"]);
        commits.push(tree.oid("HEAD"));
        let known = tree.gitstore().facts(&commits).unwrap().known;
        assert_eq!(
            known.iter().map(|f| &f.commit).collect::<Vec<_>>(),
            commits.iter().collect::<Vec<_>>()
        );
        for (facts, path) in known.iter().zip(weird) {
            assert_eq!(paths(facts), [path]);
            assert_eq!(facts.subject, path.lines().next().unwrap());
        }
        let last = known.last().unwrap();
        assert_eq!(paths(last), ["-dash", "a b", "moved"]);
        assert_eq!(
            (&last.changes[0].after, &last.changes[1].after),
            (&None, &None)
        );
        assert_eq!(last.changes[1].before, last.changes[2].after);
        let lines = tree.gitstore().blame("new\nline", None, None).unwrap();
        assert_eq!(
            (lines.len(), lines[1].path.as_str(), lines[1].line),
            (2, "new\nline", 2)
        );
    }
}

#[test]
fn user_settings_change_nothing() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.write("d", "");
    tree.git(&["add", "-A"]);
    tree.commit("f", "1\n2\n", "one");
    let plain = facts(&tree, &tree.oid("HEAD"));
    let patch = tree.gitstore().patch_ids(&[tree.oid("HEAD")]).unwrap();
    for setting in [
        "diff.noprefix=true",
        "diff.external=false",
        "diff.renames=copies",
        "color.ui=always",
        "log.showSignature=true",
        "diff.orderFile=f",
        "core.quotePath=true",
        "diff.context=0",
        "diff.mnemonicPrefix=true",
    ] {
        let (key, value) = setting.split_once('=').unwrap();
        tree.git(&["config", key, value]);
    }
    assert_eq!(facts(&tree, &tree.oid("HEAD")), plain);
    assert_eq!(
        tree.gitstore().patch_ids(&[tree.oid("HEAD")]).unwrap(),
        patch
    );
    assert_eq!(tree.gitstore().reflog(5).unwrap().len(), 1);
}

#[test]
fn revisions_lists_and_the_reflog() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    let git = tree.gitstore();
    assert!(git.version().unwrap() >= MINIMUM_GIT);
    assert_eq!(git.head().unwrap(), None);
    assert!(git.reflog(5).unwrap().is_empty());
    assert!(git.all_commits(5).unwrap().is_empty());
    let oids: Vec<Oid> = ["1", "2", "3"]
        .iter()
        .map(|n| tree.commit("f", n, n))
        .collect();
    assert_eq!(git.resolve("HEAD~1").unwrap().as_ref(), Some(&oids[1]));
    assert_eq!(
        git.resolve(&oids[0].as_str()[..8]).unwrap().as_ref(),
        Some(&oids[0])
    );
    for bad in [
        "",
        "nothing",
        "--all",
        "-x",
        "^HEAD",
        "HEAD..main",
        "HEAD^{tree}",
        NOWHERE,
        "a\nb",
    ] {
        assert_eq!(git.resolve(bad).unwrap(), None, "{bad}");
    }
    assert_eq!(
        git.commits_since(Some(&oids[0]), &oids[2], 9).unwrap(),
        [oids[2].clone(), oids[1].clone()]
    );
    assert_eq!(
        git.commits_since(None, &oids[2], 1).unwrap(),
        [oids[2].clone()]
    );
    let nowhere = Oid::new(NOWHERE).unwrap();
    assert_eq!(
        git.commits_since(Some(&nowhere), &oids[2], 9)
            .unwrap()
            .len(),
        3
    );
    assert_eq!(git.all_commits(2).unwrap().len(), 2);
    let moves = git.reflog(2).unwrap();
    assert_eq!(
        (moves[0].old.as_ref(), &moves[0].new),
        (Some(&oids[1]), &oids[2])
    );
    assert_eq!((moves[1].old.as_ref(), moves.len()), (Some(&oids[0]), 2));
    assert_eq!(moves[0].message, "commit: 3");
    assert_eq!(moves[0].at, Timestamp::from_seconds(1_700_000_100));
    assert_eq!(git.reflog(9).unwrap()[2].old, None);
    assert!(
        siglum_gitstore::Git::new("git", sandbox.path("none"))
            .head()
            .is_err()
    );
    assert!(
        siglum_gitstore::Git::new("/no/git", &tree.0)
            .head()
            .is_err()
    );
}

#[test]
fn equal_changes_have_equal_patch_ids() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.commit("f", "1\n", "one");
    tree.git(&["checkout", "-q", "-b", "side"]);
    let original = tree.commit("g", "2\n", "two");
    let binary = tree.commit("b", "\0one", "binary");
    tree.git(&["checkout", "-q", "main"]);
    tree.commit("h", "3\n", "three");
    tree.git(&["cherry-pick", original.as_str()]);
    let copy = tree.oid("HEAD");
    let other = tree.commit("b", "\0two", "other");
    let nowhere = Oid::new(NOWHERE).unwrap();
    let oids = [original.clone(), nowhere, copy.clone(), binary, other];
    let ids = tree.gitstore().patch_ids(&oids).unwrap();
    assert_eq!((ids.len(), &ids[0].0, &ids[1].0), (4, &original, &copy));
    assert_eq!(ids[0].1, ids[1].1);
    assert_ne!(ids[2].1, ids[3].1);
}

#[test]
fn blobs_by_one_process() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.write("empty", "");
    tree.write("big", &"x".repeat(2000));
    tree.commit("f", "missing\nblob 3\n", "one");
    let oids = [
        tree.oid("HEAD:f"),
        tree.oid("HEAD:big"),
        Oid::new(NOWHERE).unwrap(),
        tree.oid("HEAD"),
        tree.oid("HEAD:empty"),
    ];
    let blobs = tree.gitstore().blobs(&oids, 1000).unwrap();
    let contents: Vec<Option<&[u8]>> = blobs.iter().map(|(_, c)| c.as_deref()).collect();
    assert_eq!(
        contents,
        [Some(&b"missing\nblob 3\n"[..]), None, None, None, Some(b"")]
    );
    for (format, flag) in [
        (ObjectFormat::Sha1, "sha1"),
        (ObjectFormat::Sha256, "sha256"),
    ] {
        let tree = sandbox.init(flag, &["--object-format", flag]);
        for content in [&b""[..], b"a\r\nb", &[0; 70_000]] {
            let expected = tree.git_with(&["hash-object", "--stdin"], content);
            assert_eq!(blob_id(format, content).as_str(), expected.trim());
        }
    }
}

#[test]
fn blame_follows_a_file_to_its_old_name() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    let one = tree.commit("ä \"old\"", "1\n2\n3\n4\n5\n", "one");
    tree.git(&["mv", "ä \"old\"", "new"]);
    let two = tree.commit("new", "1\n2\nx\n4\n5\n", "two");
    let git = tree.gitstore();
    let lines = git.blame("new", Some(2..=3), Some(&two)).unwrap();
    assert_eq!(
        (&lines[0].commit, lines[0].path.as_str(), lines[0].line),
        (&one, "ä \"old\"", 2)
    );
    assert_eq!(
        (&lines[1].commit, lines[1].path.as_str(), lines[1].line),
        (&two, "new", 3)
    );
    tree.write("new", "0\n1\n2\nx\n4\n5\n");
    let lines = git.blame("new", None, None).unwrap();
    assert!(lines[0].commit.is_zero());
    assert_eq!((&lines[1].commit, lines[1].line, lines.len()), (&one, 1, 6));
    assert!(git.blame("nothing", None, None).is_err());
    assert!(git.blame("new", Some(100..=200), None).is_err());
}

#[test]
fn settings() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    let git = tree.gitstore();
    assert_eq!(git.message_settings().unwrap(), MessageSettings::default());
    for (key, value) in [
        ("commentChar", ";"),
        ("commentChar", "auto"),
        ("commentString", "//"),
    ] {
        tree.git(&["config", &format!("core.{key}"), value]);
        assert_eq!(git.message_settings().unwrap().comment.unwrap(), value);
    }
    tree.git(&["config", "commit.cleanup", "strip"]);
    assert_eq!(git.message_settings().unwrap().cleanup.unwrap(), "strip");
    assert_eq!(git.hooks_path().unwrap(), tree.0.join(".git/hooks"));
    tree.git(&["config", "core.hooksPath", ".husky/_"]);
    assert_eq!(git.hooks_path().unwrap(), tree.0.join(".husky/_"));
}

#[test]
fn a_git_directory_elsewhere() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("home", &[]);
    let one = tree.commit("f", "1", "one");
    let elsewhere = sandbox.path("dotfiles");
    std::fs::rename(tree.0.join(".git"), &elsewhere).unwrap();
    assert!(tree.gitstore().head().is_err());
    let git = tree.gitstore().with_git_dir(&elsewhere);
    assert_eq!(git.head().unwrap().as_ref(), Some(&one));
    assert_eq!(git.hooks_path().unwrap(), elsewhere.join("hooks"));
    assert_eq!(git.blame("f", None, None).unwrap().len(), 1);
}

#[test]
fn abbreviated_ids_in_one_go() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    let (first, second) = (tree.commit("f", "1", "1"), tree.commit("f", "2", "2"));
    let names = [
        &second.as_str()[..7],
        "HEAD",
        "0000000",
        "a\nb",
        first.as_str(),
    ];
    let resolved = tree.gitstore().resolve_ids(&names).unwrap();
    assert_eq!(
        resolved,
        [Some(second.clone()), None, None, None, Some(first.clone())]
    );
}
