//! Each form of `git commit` in two repositories, one with Siglum and an agent, one without: the same is
//! refused, and what comes of it is the same to the byte, but for one trailer where git finds it, and for the
//! names of commits that follow from it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{FORMS, Form};
use crate::harness::{Agent, Ran, Repo, World, characters};

/// Editors: what they do with the message in `$1`.
const EDITORS: &[(&str, &str)] = &[
    ("nothing", ":"),
    (
        "writes",
        "{ printf 'title\\n\\nbody\\n'; cat \"$1\"; } >\"$1.n\" && mv \"$1.n\" \"$1\"",
    ),
    ("empties", ": >\"$1\""),
    ("comments", "printf '# only\\n; comments\\n' >\"$1\""),
    (
        "signs",
        "printf '\\nSigned-off-by: Ada <ada@example.com>\\n' >>\"$1\"",
    ),
    (
        "closes",
        "printf 'title\\n\\nbody\\n\\nReviewed-by: Bo <b@c>\\n# done\\n' >\"$1\"",
    ),
    ("fails", "echo text >\"$1\"; exit 1"),
];

/// Forms that go through an editor: each is used with each of them, and with `GIT_EDITOR=:`.
const EDITED: &[Form] = &[
    ("plain", "git commit -q"),
    ("-v", "git commit -q -v"),
    ("-s", "git commit -q -s"),
    ("-m -e", "git commit -q -m 'given' -e"),
    ("-m '#' -e", "git commit -q -m '#1 given' --edit"),
    ("template", "git -c commit.template=../template commit -q"),
    ("-t -s", "git commit -q -t ../template -s"),
    ("signed template", "git commit -q -t ../signed"),
    ("template of comments", "git commit -q -t ../comments"),
    ("scissors -v", "git -c commit.cleanup=scissors commit -q -v"),
    (
        "auto comments",
        "git -c core.commentChar=auto commit -q -m '#1 given' -e",
    ),
    (
        "auto comments, template",
        "git -c core.commentChar=auto commit -q -t ../comments",
    ),
    ("comment string", "git -c core.commentString='//' commit -q"),
    ("--amend", "git commit -q --amend"),
    ("--amend -s", "git commit -q --amend -s"),
    ("--fixup=amend:", "git commit -q --fixup=amend:HEAD"),
    ("-c HEAD", "git commit -q -c HEAD"),
    ("no status", "git -c commit.status=false commit -q"),
];

/// Forms without an editor, beside those that are taken in any case.
const GIVEN: &[Form] = &[
    ("empty", "git commit -q -m ''"),
    ("blank", "git commit -q -m ' '"),
    ("--no-edit", "git commit -q --no-edit"),
    ("#, by default", "git commit -q -m '#123 fix'"),
    (
        "#, strip",
        "git -c commit.cleanup=strip commit -q -m '#123 fix'",
    ),
    (
        "#, --cleanup=strip",
        "git commit -q --cleanup=strip -m '#123 fix'",
    ),
    (
        "#, whitespace",
        "git commit -q --cleanup=whitespace -m '#123 fix'",
    ),
    (
        "#, scissors",
        "git commit -q --cleanup=scissors -m '#123 fix'",
    ),
    (
        "#, verbatim",
        "git commit -q --cleanup=verbatim -m '#123 fix'",
    ),
    (
        "# below, strip",
        "git commit -q --cleanup=strip -m 'fix' -m '# remark'",
    ),
    (
        "# from a pipe",
        "printf '# a\\n# b\\n' | git commit -q -F -",
    ),
    (
        "# from a pipe, strip",
        "printf '# a\\n# b\\n' | git commit -q --cleanup=strip -F -",
    ),
    (
        "text and # from a pipe",
        "printf '# a\\ntext\\n# b\\n' | git commit -q --cleanup=strip -F -",
    ),
    (
        ";, strip",
        "git -c core.commentChar=';' commit -q --cleanup=strip -m '; fix'",
    ),
    (
        "//, strip",
        "git -c core.commentString='//' commit -q --cleanup=strip -m '// fix'",
    ),
    (
        ";, auto",
        "git -c core.commentChar=auto commit -q --cleanup=strip -m '; fix'",
    ),
    (
        "#, auto",
        "git -c core.commentChar=auto commit -q --cleanup=strip -m '#1 fix'",
    ),
    ("sign-off alone", "git commit -q -s -m ''"),
    (
        "sign-off in the text",
        "git commit -q -m 'Signed-off-by: Ada <ada@example.com>'",
    ),
    (
        "alias, strip",
        "git -c commit.cleanup=strip -c alias.ci='commit -q' ci -m '#123 fix'",
    ),
    (
        "alias with strip",
        "git -c alias.ci='commit -q --cleanup=strip' ci -m '#123 fix'",
    ),
    (
        "trailers below",
        "git commit -q -m title -m 'Signed-off-by: Ada <a@b>\n# remark\nReviewed-by: Bo <b@c>'",
    ),
    (
        "trailers and prose",
        "git commit -q -m title -m 'Signed-off-by: Ada <a@b>\nand so on'",
    ),
    (
        "carriage returns, verbatim",
        "printf 'title \\r\\n\\r\\nbody\\r\\n\\n\\n' | git commit -q --cleanup=verbatim -F -",
    ),
    (
        "carriage returns, trailers, verbatim",
        "printf 'title\\r\\n\\r\\nReviewed-by: Bo <b@c>\\r\\n' | git commit -q --cleanup=verbatim -F -",
    ),
    (
        "no last line break, verbatim",
        "printf 'title' | git commit -q --cleanup=verbatim -F -",
    ),
    ("empty file", "git commit -q -F /dev/null"),
    (
        "empty, allowed",
        "git commit -q --allow-empty-message -m ''",
    ),
    ("template and -m", "git commit -q -m given -t ../template"),
    (
        "template, -F",
        "git commit -q -F ../template -t ../template",
    ),
    ("--fixup", "git commit -q --fixup HEAD"),
    ("-C", "git commit -q -C HEAD"),
    ("--amend --no-edit", "git commit -q --amend --no-edit"),
    ("--amend -m", "git commit -q --amend -m again"),
];

/// Commits that git makes of others, and what an encoding does to a message. Each begins with a clean
/// checkout.
const HISTORY: &[Form] = &[
    ("merge", "git merge -q --no-ff side -m merged"),
    (
        "merge, its own words",
        "git merge -q --no-ff --no-edit side",
    ),
    ("merge, forward", "git merge -q side"),
    ("merge --log", "git merge -q --no-ff --no-edit --log side"),
    (
        "merge --signoff",
        "git merge -q --no-ff --no-edit --signoff side",
    ),
    ("merge -F", "git merge -q --no-ff -F ../template side"),
    ("merge of two", "git merge -q --no-ff -m octopus side other"),
    (
        "merge --squash",
        "git merge -q --squash side && git commit -q --no-edit",
    ),
    (
        "merge --squash, -m",
        "git merge -q --squash side && git commit -q -m squashed",
    ),
    (
        "merge --no-commit",
        "git merge -q --no-ff --no-commit side; git commit -q -m later",
    ),
    ("merge, refused", "git merge clash"),
    (
        "merge, settled",
        "git merge clash; echo both >file; git commit -q -a --no-edit",
    ),
    (
        "merge --continue",
        "git merge clash; echo both >file; git add file; GIT_EDITOR=: git merge --continue",
    ),
    ("cherry-pick", "git cherry-pick side >/dev/null"),
    ("cherry-pick -x", "git cherry-pick -x side >/dev/null"),
    ("cherry-pick -s", "git cherry-pick -s side >/dev/null"),
    (
        "cherry-pick -e",
        "GIT_EDITOR='sed -i 1s/^/re/' git cherry-pick -e side >/dev/null",
    ),
    (
        "cherry-pick -n",
        "git cherry-pick -n side && git commit -q -m picked",
    ),
    (
        "cherry-pick of two",
        "git cherry-pick side other >/dev/null",
    ),
    (
        "cherry-pick, settled",
        "git cherry-pick clash >/dev/null; echo both >file; git add file; GIT_EDITOR=: git cherry-pick --continue >/dev/null",
    ),
    (
        "cherry-pick, committed",
        "git cherry-pick clash >/dev/null; echo both >file; git commit -q -a --no-edit",
    ),
    ("revert", "git revert --no-edit HEAD >/dev/null"),
    ("revert -s", "git revert --no-edit -s HEAD >/dev/null"),
    (
        "revert -e",
        "GIT_EDITOR='sed -i 1s/^/re/' git revert HEAD >/dev/null",
    ),
    ("revert -n", "git revert -n HEAD && git commit -q -m back"),
    (
        "revert of a merge",
        "git merge -q --no-ff side -m m && git revert --no-edit -m 1 HEAD >/dev/null",
    ),
    (
        "revert of a revert",
        "git revert --no-edit HEAD >/dev/null && git revert --no-edit HEAD >/dev/null",
    ),
    (
        "reword",
        "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/reword/' GIT_EDITOR='sed -i 1s/^/re/' git rebase -q -i HEAD~1",
    ),
    (
        "squash",
        "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/squash/' GIT_EDITOR=: git rebase -q -i --root",
    ),
    (
        "fixup",
        "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i --root",
    ),
    (
        "edit",
        "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1; git commit -q --amend -m edited; git rebase --continue",
    ),
    (
        "autosquash",
        "echo b >>file && git commit -q -a --fixup HEAD && GIT_SEQUENCE_EDITOR=: git rebase -q -i --autosquash --root",
    ),
    ("rebase", "git rebase -q --onto side HEAD~1"),
    (
        "rebase --signoff",
        "git rebase -q --signoff --onto side HEAD~1",
    ),
    (
        "rebase --exec",
        "git rebase -q --exec 'git commit -q --amend -m executed' --onto side HEAD~1",
    ),
    ("am", "git format-patch -q -1 --stdout side | git am -q"),
    (
        "am -s",
        "git format-patch -q -1 --stdout side | git am -q -s",
    ),
    (
        "am -3",
        "git format-patch -q -1 --stdout side | git am -q -3 --keep",
    ),
    (
        "am, settled",
        "git format-patch -q -1 --stdout clash | git am -q; echo both >file; git add file; git am -q --continue",
    ),
    (
        "Latin 1",
        "git -c i18n.commitEncoding=ISO-8859-1 commit -q --allow-empty -m \"$(printf 'caf\\351')\"",
    ),
    (
        "Latin 1, a file",
        "printf 'caf\\351\\n\\nna\\357f\\n' | git -c i18n.commitEncoding=latin1 commit -q --allow-empty -F -",
    ),
    (
        "Latin 1, amended",
        "git -c i18n.commitEncoding=latin1 commit -q --allow-empty -m \"$(printf 'caf\\351')\" && git commit -q --amend --allow-empty --no-edit",
    ),
    (
        "no UTF-8",
        "git commit -q --allow-empty -m \"$(printf 'caf\\351')\"",
    ),
    (
        "a date",
        "git commit -q --allow-empty --date '2001-02-03 04:05:06 +0700' -m dated",
    ),
    (
        "an author",
        "git commit -q --allow-empty --author 'Bo <b@c>' -m theirs",
    ),
    ("spoken", "git commit --allow-empty -m aloud"),
    ("--dry-run", "echo x >>file; git commit -a --dry-run -m no"),
    ("nothing to commit", "git commit -m nothing"),
];

/// One moment for all, so that the same commits have the same names.
const MOMENT: &str = "1700000000 +0000";

/// How the line begins that Siglum adds.
const KEY: &str = "Siglum-Checkpoint: ";

fn world() -> World {
    let mut world = World::new();
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        world.variables.push((name, PathBuf::from(MOMENT)));
    }
    world
}

struct Pair<'w> {
    plain: Repo<'w>,
    ours: Repo<'w>,
    agent: Agent,
    /// How many forms were compared, and how many of them made a commit with a trailer.
    compared: usize,
    linked: usize,
}

impl<'w> Pair<'w> {
    fn new(world: &'w World) -> Self {
        std::fs::write(world.root.join("template"), "# say why\n\nIssue: \n").unwrap();
        std::fs::write(world.root.join("comments"), "# say why\n; and how\n").unwrap();
        let signed = "Issue: \n\nSigned-off-by: Bo <b@c>\n";
        std::fs::write(world.root.join("signed"), signed).unwrap();
        for (name, script) in EDITORS {
            let path = world.root.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let ours = world.repo();
        let plain = world.at(&world.root.join("plain"));
        std::fs::create_dir(&plain.dir).unwrap();
        plain
            .sh("git init -q -b main . && git commit -q --allow-empty -m base")
            .ok();
        for repo in [&plain, &ours] {
            let start = "echo start >file && git add file && git commit -q -m start -m body && git tag start";
            repo.sh(start).ok();
            for (branch, change) in [
                ("side", "echo side >side"),
                ("other", "echo other >other"),
                ("clash", "echo clash >file"),
            ] {
                let make = format!(
                    "git checkout -q -b {branch} start && {change} && git add -A && git commit -q -m {branch} -m body"
                );
                repo.sh(&make).ok();
            }
            repo.sh("git checkout -q main && echo main >file && git commit -q -a -m main && git tag clean").ok();
        }
        // A played agent has git call its session the author.
        let agent = Agent::start(&ours, "Ada");
        Self {
            plain,
            ours,
            agent,
            compared: 0,
            linked: 0,
        }
    }

    /// Makes the same commit in both and compares what came of it.
    fn compare(&mut self, form: &str, command: &str) {
        self.compare_after(
            "git reset -q --hard start && echo more >>file && git add -A",
            form,
            command,
        );
    }

    /// The same after something else.
    fn compare_after(&mut self, start: &str, form: &str, command: &str) {
        for repo in [&self.plain, &self.ours] {
            repo.sh(start).ok();
        }
        let before = moves(&self.ours).lines().count();
        let theirs = self.plain.sh(command);
        let ours = self.agent.sh(command);
        let mut theirs = Outcome::read(&self.plain, theirs, before);
        let mut ours = Outcome::read(&self.ours, ours, before);
        let mut marked = 0;
        for (ours, theirs) in ours.commits.iter_mut().zip(&mut theirs.commits) {
            let marks = marks(ours);
            assert!(marks <= 1, "{form}: {ours}");
            if marks == 1 {
                marked += 1;
                *ours = without_trailer(ours);
                // A trailer ends the line above it.
                if !theirs.ends_with('\n') {
                    theirs.push('\n');
                }
            }
        }
        assert_eq!(marks(&ours.state), marked, "{form}: {ours:#?}");
        let is_theirs = |line: &&str| !line.starts_with(KEY);
        let state = ours.state.split_inclusive('\n').filter(is_theirs);
        ours.state = state.collect();
        assert_eq!(ours, theirs, "{form}");
        self.compared += 1;
        self.linked += usize::from(marked > 0);
    }

    /// That the same came of all shows something only where Siglum was at work.
    fn end(&self) {
        let Self {
            compared, linked, ..
        } = self;
        eprintln!("{compared} commits are compared, {linked} of them with a trailer");
        assert!(linked * 3 > *compared, "{linked} of {compared}");
    }
}

/// What came of a form in one repository. Commits go by their place among all that there are, and bytes of what git
/// stores are characters, so that none is lost.
#[derive(Debug, PartialEq)]
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// All commits, those among them that HEAD has left again, as git stores them.
    commits: Vec<String>,
    /// Where HEAD went, with the words of git's log.
    moves: String,
    /// Index and checkout, and for each commit the references to it and what git reads as trailers.
    state: String,
}

impl Outcome {
    fn read(repo: &Repo<'_>, ran: Ran, before: usize) -> Self {
        let log = moves(repo);
        let moves: Vec<&str> = log.split_inclusive('\n').skip(before).collect();
        let left: Vec<&str> = moves.iter().filter_map(|m| m.split(' ').nth(1)).collect();
        let list = format!(
            "git rev-list --topo-order --reverse --all {} >.git/listed && \
             git cat-file --batch='%(objectname) %(objectsize)' <.git/listed",
            left.join(" ")
        );
        let (ids, commits): (Vec<String>, Vec<String>) =
            parse_batch(&output(repo, &list)).into_iter().unzip();
        let state = "git status --porcelain=v2 --branch && \
                     git log --no-walk=unsorted --format='%D%n%(trailers:unfold)' --stdin <.git/listed";
        let in_place = |text: String| with_places(&text, &ids);
        let here = |text: String| in_place(text.replace(repo.dir.to_str().unwrap(), "HERE"));
        Self {
            code: ran.code,
            stdout: here(ran.stdout),
            stderr: here(ran.stderr),
            moves: in_place(moves.concat()),
            state: in_place(characters(&output(repo, state))),
            commits: commits.into_iter().map(in_place).collect(),
        }
    }
}

/// What a script prints, which must succeed.
fn output(repo: &Repo<'_>, script: &str) -> Vec<u8> {
    let mut shell = repo.world.command("/bin/sh");
    let shell = shell.args(["-c", script]).current_dir(&repo.dir);
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    output.stdout
}

/// The log of HEAD.
fn moves(repo: &Repo<'_>) -> String {
    characters(&std::fs::read(repo.dir.join(".git/logs/HEAD")).unwrap())
}

/// The objects that `git cat-file --batch` prints: id and content.
fn parse_batch(mut rest: &[u8]) -> Vec<(String, String)> {
    let mut objects = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = characters(&rest[..end]);
        let (id, size) = head.split_once(' ').unwrap();
        let (content, more) = rest[end + 1..].split_at(size.parse().unwrap());
        objects.push((id.to_owned(), characters(content)));
        rest = &more[1..];
    }
    objects
}

/// The text with places of commits for their ids, whole and short ones.
fn with_places(text: &str, ids: &[String]) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let word = |word: &str| {
        let id = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_meant = |whole: &String| id.len() >= 7 && whole.starts_with(id);
        match ids.iter().position(is_meant) {
            Some(place) => word.replacen(id, &format!("commit {place}"), 1),
            None => word.to_owned(),
        }
    };
    words.map(word).collect()
}

/// How many lines of Siglum's there are.
fn marks(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with(KEY)).count()
}

/// A commit without Siglum's trailer, and without the line above that parts it from the rest.
fn without_trailer(commit: &str) -> String {
    let mut lines: Vec<&str> = commit.split('\n').collect();
    let at = lines.iter().position(|line| line.starts_with(KEY)).unwrap();
    lines.remove(at);
    if lines[at - 1].is_empty() && lines[at].is_empty() {
        lines.remove(at);
    }
    lines.join("\n")
}

#[test]
fn forms_without_an_editor_end_as_without_siglum() {
    let world = world();
    let mut pair = Pair::new(&world);
    for (form, command) in GIVEN.iter().chain(FORMS) {
        pair.compare(form, command);
        pair.compare(
            &format!("{form}, GIT_EDITOR=:"),
            &format!("export GIT_EDITOR=:; {command}"),
        );
    }
    pair.end();
    assert_eq!(world.declines(), [""; 0]);
}

#[test]
fn forms_with_an_editor_end_as_without_siglum() {
    let world = world();
    let mut pair = Pair::new(&world);
    for (form, command) in EDITED {
        for (editor, _) in EDITORS {
            let script = format!(
                "export GIT_EDITOR='{}'; {command}",
                world.root.join(editor).display()
            );
            pair.compare(&format!("{form}, {editor}"), &script);
        }
        pair.compare(
            &format!("{form}, `:`"),
            &format!("export GIT_EDITOR=:; {command}"),
        );
    }
    pair.end();
    assert_eq!(world.declines(), [""; 0]);
}

#[test]
fn history_is_made_as_without_siglum() {
    let world = world();
    let mut pair = Pair::new(&world);
    let clean = "for what in merge cherry-pick revert rebase am; do git $what --quit 2>/dev/null; done; \
                 git checkout -q -f main && git reset -q --hard clean && git clean -q -f";
    for (form, command) in HISTORY {
        pair.compare_after(clean, form, command);
    }
    pair.end();
    let all = [FORMS, GIVEN, EDITED, HISTORY].map(<[Form]>::len);
    eprintln!("{} forms are compared", all.iter().sum::<usize>());
    assert!(all.iter().sum::<usize>() >= 80);
    // A message that is no UTF-8 is left as it is, and that is recorded.
    let declines = world.declines();
    let is_expected = |reason: &String| reason == "message_unreadable";
    assert!(declines.iter().all(is_expected), "{declines:?}");
}

/// A manager of hooks that keeps ours and runs it, and ours put into the hook of the manager once more.
#[test]
fn hooks_that_run_twice_add_one_trailer() {
    let world = World::new();
    let repo = world.repo();
    let legacy = "for h in prepare-commit-msg commit-msg; do mv .git/hooks/$h .git/hooks/$h.legacy; \
                  printf '#!/usr/bin/env bash\\n# File generated by pre-commit: https://pre-commit.com\\n\
\"$0.legacy\" \"$@\"\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done";
    repo.sh(legacy).ok();
    repo.siglum(&["doctor", "--fix"]);
    let mut agent = Agent::start(&repo, "twice");
    agent.sh("git commit -q --allow-empty -m one").ok();
    repo.check("-m", "HEAD", &agent.certain());
    let editor = "GIT_EDITOR='sh -c \"echo two >>\\$1\" --'";
    agent
        .sh(&format!("{editor} git commit -q --allow-empty"))
        .ok();
    repo.check("an editor", "HEAD", &agent.certain());
    for revision in ["HEAD", "HEAD^"] {
        assert_eq!(repo.trailers(revision).len(), 1);
    }
    assert_eq!(
        world.count("SELECT count(*) FROM intents"),
        2,
        "one for each commit"
    );
}
