//! The chain as a property: whatever is in variables and flags, ledger, list and the checkpoint of a
//! commit say the same, or the refusal names the field.

use super::{COMMIT, Launch, links, sessions, show};
use crate::harness::{World, number};

/// A small generator of numbers that look random.
struct Chance(u64);

impl Chance {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

/// A field with its flag, its variables, nearest first, and values that are good and bad.
struct Field {
    name: &'static str,
    flag: &'static str,
    variables: &'static [&'static str],
    good: &'static [&'static str],
    bad: &'static [&'static str],
}

/// Longer than any field may be.
const LONG: &str = match std::str::from_utf8(&[b'x'; 257]) {
    Ok(text) => text,
    Err(_) => "",
};

const NUMBERS: (&[&str], &[&str]) = (
    &["1", "42", "701", "9007199254740991"],
    &[
        "0",
        "-1",
        "1.0",
        "007",
        "+5",
        "9007199254740992",
        "true",
        " 4",
        "1_0",
        "\u{664}\u{662}",
    ],
);
const WORDS: (&[&str], &[&str]) = (
    &[
        "coder",
        "my new role",
        "Prüfer",
        "a=b,c",
        "--x",
        "\"q\"",
        "$HOME",
    ],
    &[" x", "x ", "a\tb", "a\nb", LONG],
);

const FIELDS: [Field; 5] = [
    Field {
        name: "issue_number",
        flag: "--issue",
        variables: &["SIGLUM_ISSUE_NUMBER", "EGG_ISSUE_NUMBER"],
        good: NUMBERS.0,
        bad: NUMBERS.1,
    },
    Field {
        name: "pr_number",
        flag: "--pr",
        variables: &["SIGLUM_PR_NUMBER", "EGG_PR_NUMBER"],
        good: NUMBERS.0,
        bad: NUMBERS.1,
    },
    Field {
        name: "pipeline_id",
        flag: "--pipeline",
        variables: &["SIGLUM_PIPELINE_ID", "EGG_PIPELINE_ID"],
        good: WORDS.0,
        bad: WORDS.1,
    },
    Field {
        name: "agent_role",
        flag: "--role",
        variables: &["SIGLUM_AGENT_ROLE", "EGG_AGENT_ROLE"],
        good: WORDS.0,
        bad: WORDS.1,
    },
    Field {
        name: "phase",
        flag: "--phase",
        variables: &["SIGLUM_PHASE", "EGG_PIPELINE_PHASE"],
        good: WORDS.0,
        bad: WORDS.1,
    },
];

/// What one launch is given, and what must come of it.
#[derive(Debug, Default)]
struct Case {
    flags: Vec<String>,
    variables: Vec<(&'static str, &'static str)>,
    /// The links, or the first field that is refused.
    links: Vec<String>,
    refused: Option<&'static str>,
    reported: Vec<&'static str>,
}

fn case(chance: &mut Chance) -> Case {
    let mut case = Case::default();
    for field in &FIELDS {
        let mut found = None;
        match chance.roll(8) {
            0..3 => {
                let value = chance.one(field.good);
                case.flags.extend([field.flag.to_owned(), value.to_owned()]);
                found = Some(value);
            }
            3 if chance.roll(4) == 0 => {
                let value = chance.one(field.bad);
                case.flags.extend([field.flag.to_owned(), value.to_owned()]);
                case.refused.get_or_insert(field.name);
            }
            _ => {}
        }
        for variable in field.variables {
            match chance.roll(5) {
                0 | 1 => {
                    let value = chance.one(field.good);
                    case.variables.push((variable, value));
                    found = found.or(Some(value));
                }
                2 => {
                    case.variables.push((variable, chance.one(field.bad)));
                    case.reported.push(variable);
                }
                3 => case
                    .variables
                    .push((variable, chance.one(&["", " ", "\t"]))),
                _ => {}
            }
        }
        case.links
            .extend(found.map(|value| format!("{}={value}", field.name)));
    }
    case
}

fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[test]
fn flags_and_variables_arrive_at_the_commit_or_are_refused_by_name() {
    let seed = number("SIGLUM_SEED").unwrap_or(0x5eed_1a0c_4e55);
    let cases = number("SIGLUM_CASES").unwrap_or(24);
    let mut chance = Chance(seed);
    let world = World::new();
    let repo = world.repo();
    let (mut landed, mut refusals, mut warned) = (0, 0, 0);
    for round in 0..cases {
        let case = case(&mut chance);
        let what = format!("SIGLUM_SEED={seed} round {round}: {case:#?}");
        let before = world.count("SELECT count(*) FROM statements");
        if let Some(field) = case.refused {
            let script = format!(
                "'{}' run {} -- touch ran",
                World::program().display(),
                quoted(&case.flags)
            );
            let output = Launch::command(&repo, &case.variables, &script)
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{what}\n{stderr}");
            assert!(stderr.contains(field), "{what}\n{stderr}");
            assert!(!repo.dir.join("ran").exists(), "{what}");
            assert_eq!(
                world.count("SELECT count(*) FROM statements"),
                before,
                "{what}"
            );
            refusals += 1;
            continue;
        }
        let native = format!("agent-{round}");
        let flags = format!("{} 2>'{}/said'", quoted(&case.flags), world.root.display());
        let (mut agent, launch) = Launch::agent(&repo, &native, &case.variables, &flags);
        agent.begin("startup");
        agent.sh(COMMIT).ok();
        repo.check(&what, "HEAD", &agent.certain());
        let why = repo.why("HEAD");
        assert_eq!(links(&why.0["committer"]), case.links, "{what}");
        agent.end("other");
        drop(agent);
        assert_eq!(launch.over(), Some(0), "{what}");
        let session = sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(
            links(&show(&repo, &session)["session"]),
            case.links,
            "{what}"
        );
        let rows = format!(
            "SELECT count(*) FROM links WHERE hex(session) = upper('{}')",
            session.trim_start_matches("ses_")
        );
        assert_eq!(
            world.count(&rows),
            i64::try_from(case.links.len()).unwrap(),
            "{what}"
        );
        let checkpoint = why.checkpoints().pop().unwrap();
        let pinned = world
            .json(&repo.dir, &["checkpoint", "show", &checkpoint])
            .to_string();
        assert!(pinned.contains(&session), "{what}\n{pinned}");
        let warnings = std::fs::read_to_string(world.root.join("said")).unwrap();
        for field in &FIELDS {
            for variable in field.variables {
                let is_reported = warnings.contains(&format!("{variable} is "));
                assert_eq!(
                    is_reported,
                    case.reported.contains(variable),
                    "{what}\n{warnings}"
                );
            }
        }
        landed += 1;
        warned += usize::from(!case.reported.is_empty());
    }
    assert!(
        landed > 0 && refusals > 0 && warned > 0,
        "{landed} {refusals} {warned}"
    );
}
