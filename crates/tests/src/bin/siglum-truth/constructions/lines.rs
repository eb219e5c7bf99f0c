//! Who wrote the lines of a commit.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::agent::Kind;
use crate::case::{Case, PERSON};

pub(super) fn play(case: &mut Case<'_>) {
    case.judges_lines = true;
    match case.dice.below(10) {
        0 => tool_written(case),
        1 => same_name_on_another_branch(case),
        2 => same_name_in_another_worktree(case),
        3 => same_name_after_reset(case),
        4 => saved_during_a_call(case),
        5 => two_sessions_in_a_file(case),
        6 => moved(case),
        7 => other_line_ends(case),
        8 => patched(case),
        _ => typed_between_edits(case),
    }
}

/// Lines that say who wrote them.
fn text(case: &Case<'_>, who: &str, from: usize, count: usize) -> String {
    let line = |n: usize| format!("k{} by {who}: this is number {n}\n", case.number);
    (from..from + count).map(line).collect()
}

/// Writes a whole file with the tool that the agent has for that.
fn write(case: &mut Case<'_>, agent: usize, path: &PathBuf, content: &str) {
    let before = fs::read_to_string(path).ok();
    let body = content.to_owned();
    let file = path.clone();
    match case.world.agents[agent].kind {
        Kind::Gemini => {
            let input = json!({ "file_path": path, "content": content });
            case.edit_call(agent, "write_file", &input, move |_| {
                fs::write(&file, &body).unwrap();
                json!({
                    "llmContent": format!("Successfully created and wrote to new file: {}.", file.display()),
                    "returnDisplay": {
                        "fileName": "text", "filePath": file, "originalContent": before.unwrap_or_default(),
                        "newContent": body,
                    },
                })
            });
        }
        Kind::Codex => {
            let added: String = content.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!(
                "*** Begin Patch\n*** Add File: {}\n{added}*** End Patch\n",
                path.display()
            );
            let output = format!(
                "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nA {}\n",
                path.display()
            );
            case.edit_call(
                agent,
                "apply_patch",
                &json!({ "command": patch }),
                move |_| {
                    fs::write(&file, body).unwrap();
                    json!(output)
                },
            );
        }
        _ => {
            let input = json!({ "file_path": path, "content": content });
            case.edit_call(agent, "Write", &input, move |_| {
                fs::write(&file, &body).unwrap();
                Case::written(&file, before.as_deref(), &body)
            });
        }
    }
}

/// Replaces text in a file with Claude's tool; something may happen before or after it does so.
fn replace(
    case: &mut Case<'_>,
    agent: usize,
    path: &PathBuf,
    old: &str,
    new: &str,
    around: (impl FnOnce(&mut Case<'_>), impl FnOnce(&mut Case<'_>)),
) {
    let input =
        json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": false });
    let (file, old, new) = (path.clone(), old.to_owned(), new.to_owned());
    case.edit_call(agent, "Edit", &input, move |case| {
        (around.0)(case);
        let before = fs::read_to_string(&file).unwrap();
        let after = before.replacen(&old, &new, 1);
        fs::write(&file, &after).unwrap();
        let response = json!({
            "filePath": file, "oldString": old, "newString": new, "originalFile": before,
            "structuredPatch": [patch(&before, &after)], "userModified": false, "replaceAll": false,
        });
        (around.1)(case);
        response
    });
}

/// One hunk from the first line that differs to the last.
fn patch(before: &str, after: &str) -> serde_json::Value {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let back = |lines: &[&str], n: usize| lines[lines.len() - 1 - n].to_owned();
    let tail = (0..rest)
        .take_while(|&n| back(&old, n) == back(&new, n))
        .count();
    let removed = old[head..old.len() - tail]
        .iter()
        .map(|line| format!("-{line}"));
    let added = new[head..new.len() - tail]
        .iter()
        .map(|line| format!("+{line}"));
    let lines: Vec<String> = removed.chain(added).collect();
    json!({
        "oldStart": head + 1, "oldLines": old.len() - tail - head,
        "newStart": head + 1, "newLines": new.len() - tail - head, "lines": lines,
    })
}

fn by_hand(case: &mut Case<'_>, path: &PathBuf, content: &str) {
    case.tell(format!("a person saves {}:\n{content}", path.display()));
    fs::write(path, content).unwrap();
}

fn commit_all(case: &mut Case<'_>, agent: Option<usize>) {
    let subject = case.subject();
    let command = format!("git add -A && git commit -q -m '{subject}'");
    match agent {
        Some(agent) => {
            case.call(agent, &command);
        }
        None => case.person_types(&command),
    }
}

fn new_file(case: &Case<'_>) -> PathBuf {
    case.path(&format!("text{}", case.number))
}

fn committer(case: &mut Case<'_>, agent: usize) -> Option<usize> {
    case.dice.one_in(2).then_some(agent)
}

fn tool_written(case: &mut Case<'_>) {
    let agent = if case.dice.one_in(3) {
        case.agent_but(Kind::Gemini, &[])
    } else {
        case.agent()
    };
    let native = case.native(agent);
    let path = new_file(case);
    let content = text(case, &native, 0, 6);
    write(case, agent, &path, &content);
    let who = committer(case, agent);
    commit_all(case, who);
}

/// Says that these lines of a path are a person's, whoever wrote equal ones elsewhere.
fn persons(case: &mut Case<'_>, path: &str, content: &str) {
    for line in content.lines() {
        let known = (path.to_owned(), line.to_owned(), PERSON.to_owned());
        case.writers.push(known);
    }
}

/// Equal text that does not tell who wrote it.
fn plain_text(case: &Case<'_>) -> String {
    (0..6)
        .map(|n| format!("let value_{} = {n};\n", case.number + n))
        .collect()
}

fn same_name_on_another_branch(case: &mut Case<'_>) {
    let agent = case.agent();
    let path = new_file(case);
    let name = format!("text{}", case.number);
    let content = plain_text(case);
    let branch = format!("draft{}", case.number);
    case.call(agent, &format!("git checkout -q -b {branch}"));
    write(case, agent, &path, &content);
    // What the agent wrote is not asked about: only the person's file is.
    let subject = case.subject();
    let stamp = "export GIT_COMMITTER_NAME='elsewhere'";
    case.call(
        agent,
        &format!("{stamp}; git add -A && git commit -q -m '{subject}'"),
    );
    case.call(agent, "git checkout -q main");
    by_hand(case, &path, &content);
    persons(case, &name, &content);
    commit_all(case, None);
}

fn same_name_in_another_worktree(case: &mut Case<'_>) {
    let side = case.world.root.join(format!("side{}", case.number));
    let name = format!("text{}", case.number);
    let branch = format!("side{}", case.number);
    case.world
        .sh(&format!(
            "git worktree add -q -b {branch} {}",
            side.display()
        ))
        .ok();
    let agent = case.fresh_agent(Kind::Claude);
    case.world.agents[agent].cwd.clone_from(&side);
    case.prompt(agent);
    let content = plain_text(case);
    write(case, agent, &side.join(&name), &content);
    let path = new_file(case);
    by_hand(case, &path, &content);
    persons(case, &name, &content);
    commit_all(case, None);
    case.kill(agent);
}

/// What the agent wrote is gone, by a command of its own; a person writes much the same.
fn same_name_after_reset(case: &mut Case<'_>) {
    let agent = case.agent();
    let path = new_file(case);
    let name = format!("text{}", case.number);
    let content = plain_text(case);
    write(case, agent, &path, &content);
    if case.dice.one_in(2) {
        case.call(agent, &format!("rm {name}"));
    } else {
        let (add, gone) = (case.subject(), case.subject());
        let stamp = "export GIT_COMMITTER_NAME='before'";
        case.call(
            agent,
            &format!("{stamp}; git add -A && git commit -q -m '{add}'"),
        );
        case.call(
            agent,
            &format!("{stamp}; git rm -q {name} && git commit -q -m '{gone}'"),
        );
    }
    let theirs = format!("// by hand\n{content}");
    by_hand(case, &path, &theirs);
    persons(case, &name, &theirs);
    commit_all(case, None);
}

fn saved_during_a_call(case: &mut Case<'_>) {
    let agent = case.agent_but(Kind::Claude, &[]);
    let native = case.native(agent);
    let path = new_file(case);
    let start = text(case, &native, 0, 4);
    write(case, agent, &path, &start);
    let theirs = text(case, PERSON, 10, 3);
    let own = text(case, &native, 20, 2);
    let first = start.lines().next().unwrap().to_owned();
    let replaced = format!("{own}{first}");
    let file = path.clone();
    let save = move |case: &mut Case<'_>| {
        let now = fs::read_to_string(&file).unwrap();
        by_hand(case, &file, &format!("{now}{theirs}"));
    };
    match case.dice.below(3) {
        0 => replace(
            case,
            agent,
            &path,
            &first,
            &replaced,
            (save, |_: &mut Case<'_>| ()),
        ),
        1 => replace(
            case,
            agent,
            &path,
            &first,
            &replaced,
            (|_: &mut Case<'_>| (), save),
        ),
        _ => {
            let call = case.begin_call(agent, "npm test");
            save(case);
            let ran = case.run(agent, "true");
            case.end_call(call, &ran);
            replace(
                case,
                agent,
                &path,
                &first,
                &replaced,
                (|_: &mut Case<'_>| (), |_: &mut Case<'_>| ()),
            );
        }
    }
    let who = committer(case, agent);
    commit_all(case, who);
}

fn two_sessions_in_a_file(case: &mut Case<'_>) {
    let one = case.agent_but(Kind::Claude, &[]);
    let two = case.agent_but(Kind::Claude, &[one]);
    let (first, second) = (case.native(one), case.native(two));
    let path = new_file(case);
    let start = text(case, &first, 0, 6);
    write(case, one, &path, &start);
    let lines: Vec<String> = start.lines().map(str::to_owned).collect();
    let (mine, theirs) = (text(case, &first, 20, 2), text(case, &second, 30, 2));
    let inner_path = path.clone();
    let (at, at_end) = (lines[1].clone(), lines[4].clone());
    let (new, inner_new) = (format!("{mine}{at}"), format!("{theirs}{at_end}"));
    let nothing = |_: &mut Case<'_>| ();
    // The second one's edit lies before, inside or after the first one's.
    let inside = move |case: &mut Case<'_>| {
        replace(
            case,
            two,
            &inner_path,
            &at_end,
            &inner_new,
            (nothing, nothing),
        );
    };
    match case.dice.below(3) {
        0 => replace(case, one, &path, &at, &new, (inside, nothing)),
        1 => replace(case, one, &path, &at, &new, (nothing, inside)),
        _ => {
            replace(case, one, &path, &at, &new, (nothing, nothing));
            inside(case);
        }
    }
    let who = committer(case, two);
    commit_all(case, who);
}

fn moved(case: &mut Case<'_>) {
    let agent = case.agent();
    let native = case.native(agent);
    let path = new_file(case);
    let content = text(case, &native, 0, 8);
    write(case, agent, &path, &content);
    let name = format!("text{}", case.number);
    if case.dice.one_in(2) {
        commit_all(case, Some(agent));
        let command = format!("git mv {name} {name}-moved");
        case.call(agent, &command);
    } else {
        case.call(agent, &format!("mv {name} {name}-moved"));
    }
    let who = committer(case, agent);
    commit_all(case, who);
}

fn other_line_ends(case: &mut Case<'_>) {
    let agent = case.agent_but(Kind::Claude, &[]);
    let native = case.native(agent);
    let name = case.dice.pick(&["win", "bat"]);
    // Of these, git keeps the lines without their carriage returns.
    let attributes = case.world.repo.join(".git/info/attributes");
    fs::write(attributes, "*.bat text eol=crlf\n").unwrap();
    let path = case.path(&format!("text{}.{name}", case.number));
    let content = text(case, &native, 0, 5).replace('\n', "\r\n");
    write(case, agent, &path, &content);
    let who = committer(case, agent);
    commit_all(case, who);
}

fn typed_between_edits(case: &mut Case<'_>) {
    let agent = case.agent_but(Kind::Claude, &[]);
    let native = case.native(agent);
    let path = new_file(case);
    let start = text(case, &native, 0, 4);
    write(case, agent, &path, &start);
    let theirs = text(case, PERSON, 10, 2);
    by_hand(case, &path, &format!("{theirs}{start}"));
    let last = start.lines().last().unwrap().to_owned();
    let new = format!("{last}\n{}", text(case, &native, 20, 1).trim_end());
    replace(
        case,
        agent,
        &path,
        &last,
        &new,
        (|_: &mut Case<'_>| (), |_: &mut Case<'_>| ()),
    );
    let who = committer(case, agent);
    commit_all(case, who);
}

/// Codex changes some lines of a file by a patch.
fn patched(case: &mut Case<'_>) {
    let agent = case.agent_but(Kind::Codex, &[]);
    let native = case.native(agent);
    let path = new_file(case);
    let theirs = text(case, PERSON, 0, 4);
    by_hand(case, &path, &theirs);
    let own = text(case, &native, 10, 2);
    let lines: Vec<&str> = theirs.lines().collect();
    let added: String = own.lines().map(|line| format!("+{line}\n")).collect();
    let patch = format!(
        "*** Begin Patch\n*** Update File: {}\n@@\n {}\n{added} {}\n*** End Patch\n",
        path.display(),
        lines[1],
        lines[2],
    );
    let file = path.clone();
    let output = format!(
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM {}\n",
        path.display()
    );
    let saves_meanwhile = case.dice.one_in(3);
    let more = text(case, PERSON, 30, 1);
    case.edit_call(
        agent,
        "apply_patch",
        &json!({ "command": patch }),
        move |case| {
            let before = fs::read_to_string(&file).unwrap();
            let (head, tail) = before.split_at(before.match_indices('\n').nth(1).unwrap().0 + 1);
            fs::write(&file, format!("{head}{own}{tail}")).unwrap();
            if saves_meanwhile {
                let now = fs::read_to_string(&file).unwrap();
                by_hand(case, &file, &format!("{now}{more}"));
            }
            json!(output)
        },
    );
    let who = committer(case, agent);
    commit_all(case, who);
}
