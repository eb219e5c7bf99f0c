use proptest::prelude::*;

use super::{by_command, by_tool, repository_name};

const URL: &str = "https://github.com/o/r/pull/7";
const BODY: &str = "gh pr create --title x --body \"$(cat <<'EOF'\n## What\n\n`gh pr view 3` it's \"new\"; (see #4)\n- done\nEOF\n)\"";

/// What a command that printed this opened: numbers with what showed them.
fn opened(command: &str, output: &str) -> Vec<(u64, String)> {
    let opened = by_command(command, output).into_iter();
    opened.map(|o| (o.request.number, o.shown_by)).collect()
}

#[track_caller]
fn opens(command: &str, output: &str) {
    let seven = [(7, "output of gh pr create".to_owned())];
    assert_eq!(opened(command, output), seven, "{command}\n{output}");
}

#[track_caller]
fn opens_none(command: &str, output: &str) {
    assert_eq!(opened(command, output), [], "{command}\n{output}");
}

#[test]
fn a_command_that_opens_a_pull_request_is_known_by_its_words() {
    for command in [
        "gh pr create",
        "gh pr new --fill",
        "gh pr -R o/r create --fill",
        "gh --repo=o/r pr create",
        "cd x && GH_TOKEN=\"$T\" gh pr create --fill",
        "cd '/a b'; env A=1 B=2 /usr/bin/gh pr create -t 'a; b' -b \"c && d\"",
        "git push -u origin HEAD 2>&1 | tail -2 && gh pr create --fill",
        "git push || true; gh pr create --fill",
        "gh pr create --fill && git status && echo ok",
        "gh pr create --fill; git status | head -1",
        "gh pr create --fill 2>&1 | cat",
        "gh pr create --fill | tee /tmp/log | cat",
        "gh pr create --fill 2>/dev/null",
        "# opens it\ngh pr create \\\n  --title 'x' \\\n  --body y\n",
        "URL=$(gh pr create --fill)\necho \"$URL\"",
        "echo \"`gh pr create --fill`\"",
        "if ! gh pr create --fill; then echo no; fi",
        "for b in a; do\n  git push\n  gh pr create --fill\ndone",
        "(cd x && gh pr create --fill)",
        "{ gh pr create --fill; }",
        "timeout 60 gh pr create --fill",
        "gh auth status && gh pr create --body-file - <<EOF\nit's gh pr view\nEOF\n",
        "gh pr create --body $'it\\'s'",
        "gh pr list; gh pr create --fill",
        "gh pr create --fill && gh pr view --json url",
        BODY,
    ] {
        opens(command, URL);
    }
    opens(
        &format!("git add . && git commit -m 'gh pr list' && {BODY}"),
        &format!("[main abc1234] x\n\n{URL}\n"),
    );
}

#[test]
fn all_else_opens_none() {
    for command in [
        "",
        "echo gh pr create",
        "echo 'gh pr create'; cat url",
        "echo \"; gh pr create\"",
        "cat <<EOF\ngh pr create\nEOF",
        "cat <<-'A' <<B\n\tgh pr create\n\tA\ngh pr create\nB\ncat url",
        "# gh pr create\ncat url",
        "git commit -m x # && gh pr create",
        "gh pr view 7",
        "gh pr list",
        "gh pr checkout 7",
        "gh pr edit 7 --title create",
        "gh pr comment create",
        "gh issue create",
        "gh pr create --dry-run",
        "gh --help pr create",
        "hgh pr create",
        "gh-pr create",
        "./gh.sh pr create",
        "xargs gh pr create",
        "grep -r gh pr create",
        "$GH pr create",
        "gh $X create",
        "gh pr 'create '",
        "GH=gh pr create",
        "command -v gh pr create",
        "f() { gh pr create; }; cat url",
        // Whether it went well is not seen.
        "gh pr create --fill 2>&1 | tail -1",
        "(gh pr create --fill 2>&1) | tail -1",
        "{ gh pr create --fill; } | tail -1",
        "gh pr create --fill || gh pr view --json url --jq .url",
        "git push || gh pr create && gh pr view --jq .url",
        "gh pr create --fill 2>/dev/null || cat url",
        "gh pr create --fill 2>/dev/null; cat url",
        "X=$(gh pr create --fill 2>&1); echo \"$X\" | tail -1",
        "gh pr create --fill; gh pr view --json url --jq .url",
        "gh pr edit 7; gh pr create --fill >/dev/null",
        "gh pr create; curl https://example.com",
        // It is not understood.
        "gh pr create --title 'x",
        "gh pr create --title \"x",
        "gh pr create $(",
        "gh pr create )",
        "case x in x) gh pr create;; esac",
    ] {
        opens_none(command, URL);
    }
}

#[test]
fn the_address_stands_on_a_line_of_its_own() {
    for output in [
        format!("Creating pull request for x into main in o/r\n\n{URL}\n"),
        format!("Warning: 1 uncommitted change\n{URL}"),
        format!("remote:      https://github.com/o/r/pull/new/x\n  {URL}  \r\n{URL}"),
        "https://ghe.example.com:8443/o/r/pull/7".to_owned(),
    ] {
        opens("gh pr create", &output);
    }
    for output in [
        String::new(),
        "https://github.com/o/r/pull/new/x".to_owned(),
        "https://github.com/o/r/pull/7/files".to_owned(),
        "https://github.com/o/r/pull/7#issuecomment-1".to_owned(),
        "https://github.com/o/r/pull/07".to_owned(),
        "https://github.com/o/r/pull/0".to_owned(),
        "https://github.com/o/r/pull/9007199254740992".to_owned(),
        "https://github.com/o/r/pull/".to_owned(),
        "https://github.com/r/pull/7".to_owned(),
        "https://github.com/a/o/r/pull/7".to_owned(),
        "https://github.com/o/../pull/7".to_owned(),
        "https://u:p@github.com/o/r/pull/7".to_owned(),
        "ftp://github.com/o/r/pull/7".to_owned(),
        "github.com/o/r/pull/7".to_owned(),
        format!("see {URL}"),
        format!("remote: {URL}"),
        format!("\"{URL}\""),
        format!("a pull request for branch \"x\" into branch \"main\" already exists:\n{URL}"),
        format!("{URL}\nhttps://github.com/o/r/pull/8"),
    ] {
        opens_none("gh pr create", &output);
    }
    opens_none(&format!("gh pr create; echo {URL}"), URL);
}

#[test]
fn other_programs_and_several_at_once() {
    let of = |command: &str, output: &str, number: u64, by: &str| {
        assert_eq!(
            opened(command, output),
            [(number, format!("output of {by}"))]
        );
    };
    of("hub pull-request -m x", URL, 7, "hub pull-request");
    let merge = "https://gitlab.example.com/g/sub/r/-/merge_requests/12";
    let output =
        format!("Creating merge request for x into main in g/sub/r\n\n!12 x (x)\n {merge}\n");
    of("glab mr create --fill", &output, 12, "glab mr create");
    of("glab mr new -y", &output, 12, "glab mr create");
    opens_none("glab mr view", merge);
    opens_none("gh pr create", merge);
    opens_none("glab mr create", URL);
    opens_none("glab mr create", "https://gitlab.com/r/-/merge_requests/12");
    let two = format!("{URL}\nhttps://github.com/o/r/pull/8\n");
    let both = opened("gh pr create --head a && gh pr create --head b", &two);
    assert_eq!(both.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn the_result_of_a_tool_has_address_and_number() {
    let text = r#"{"id":1,"number":7,"html_url":"https://github.com/o/r/pull/7"}"#;
    let quoted = serde_json::Value::from(text);
    for result in [
        text.to_owned(),
        format!(r#"[{{"type":"text","text":{quoted}}}]"#),
        format!(r#"{{"content":[{{"type":"text","text":{quoted}}}],"isError":false}}"#),
        quoted.to_string(),
    ] {
        for tool in ["mcp__github__create_pull_request", "create_pull_request"] {
            let opened = by_tool(tool, &result).unwrap_or_else(|| panic!("{tool} {result}"));
            assert_eq!(
                (opened.request.number, opened.request.repository.as_str()),
                (7, "o/r")
            );
            assert_eq!(opened.shown_by, format!("result of {tool}"));
        }
        for tool in [
            "mcp__github__get_pull_request",
            "mcp__github__create_pull_request_review",
            "mcp__github__recreate_pull_request",
            "Bash",
        ] {
            assert_eq!(by_tool(tool, &result), None, "{tool}");
        }
    }
    for result in [
        r#"{"number":8,"html_url":"https://github.com/o/r/pull/7"}"#,
        r#"{"html_url":"https://github.com/o/r/pull/7"}"#,
        r#"{"number":7.0,"html_url":"https://github.com/o/r/pull/7"}"#,
        r#"{"number":7,"html_url":"https://github.com/o/r/issues/7","x":"/pull/7"}"#,
        r#"{"base":{"number":7,"html_url":"https://github.com/o/r/pull/7"}}"#,
        "https://github.com/o/r/pull/7",
        "[[[[[[\"/pull/\"]]]]]]",
    ] {
        assert_eq!(
            by_tool("mcp__github__create_pull_request", result),
            None,
            "{result}"
        );
    }
    let merge = r#"{"iid":3,"web_url":"https://gitlab.com/g/r/-/merge_requests/3"}"#;
    assert!(by_tool("mcp__gitlab__create_merge_request", merge).is_some());
}

#[test]
fn repositories_have_one_name_however_they_are_cloned() {
    for address in [
        "https://github.com/o/r.git",
        "https://user:token@github.com/o/r",
        "ssh://git@github.com:22/o/r.git",
        "git@github.com:o/r.git",
        "work:o/r",
        "https://github.com/o/r/",
    ] {
        assert_eq!(
            repository_name(address).as_deref(),
            Some("o/r"),
            "{address}"
        );
    }
    for address in [
        "",
        "/srv/o/r.git",
        "../o/r",
        "file:///srv/o/r",
        "./a:b/c",
        "host:r",
        "https://github.com",
    ] {
        assert_eq!(repository_name(address), None, "{address}");
    }
    let request = by_command("gh pr create", URL).remove(0).request;
    assert!(request.is_of("O/r") && !request.is_of("o/s"));
}

/// Pieces of which command lines are made.
const PIECES: &[&str] = &[
    "gh", "pr", "create", " ", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{", "}", "'", "\"",
    "`", "$(", "$((", "${", "$'", "\\", "#", "<<EOF", "EOF", "<<-", ">", "2>&1", "&>", "<(", "if",
    "then", "fi", "for", "done", "case", "!", "é", "A=b", "\t", "\r",
];

proptest! {
    #[test]
    fn no_line_is_too_much(
        line in prop::collection::vec(prop::sample::select(PIECES), 0..60),
        any in ".{0,80}",
    ) {
        let line = line.concat();
        for command in [line.as_str(), any.as_str(), &format!("{line}{any}")] {
            let _ = by_command(command, URL);
            let _ = by_command("gh pr create", command);
            let _ = by_tool("create_pull_request", &format!("{command}/pull/"));
            let _ = repository_name(command);
            // What stands in quotes is no command, whatever it is.
            let quoted = format!("echo '{}'", command.replace('\'', ""));
            prop_assert!(by_command(&quoted, URL).is_empty());
        }
    }
}

#[test]
fn deep_and_long_lines_are_left_alone() {
    for sign in ["(", "$(", "`$(", "\"$(", "{ ", "if ", "<<A "] {
        opens_none(&sign.repeat(20_000), URL);
    }
    opens(&format!("{}gh pr create", "echo x; ".repeat(8_000)), URL);
}
