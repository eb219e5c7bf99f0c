//! The chain as a property: whatever links are given, by environment, flags and API, all who are asked
//! say the same of them, or the refusal names the field and nothing was created.

use serde_json::{Map, Value, json};

use super::oracle::{FIELDS, Links, SECRET, in_json, is_good, is_label};
use super::served::Served;
use crate::harness::{Repo, World, number};
use crate::launching::{self, COMMIT, Launch};

/// A small generator of numbers that look random.
struct Chance(u64);

impl Chance {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % sides
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())].clone()
    }

    /// A text for a field, more often good than bad.
    fn text(&mut self, most: Option<usize>) -> String {
        let number = 1 + self.roll(99_999);
        match (most, self.roll(10)) {
            (None, 0..6) => number.to_string(),
            (None, 6) => "9007199254740991".to_owned(),
            (None, _) => self
                .one(&[
                    "0",
                    "-1",
                    "1.0",
                    "007",
                    "9007199254740992",
                    "true",
                    " 4",
                    "x",
                ])
                .to_owned(),
            (Some(_), 0..5) => format!("word {number}"),
            (Some(most), 5) => "ü".repeat(most),
            (Some(_), 6) => self
                .one(&["a=b,c", "--x", "\"q\"", "$HOME", "`x`"])
                .to_owned(),
            (Some(most), 7) => "x".repeat(most + 1),
            (Some(_), 8) => format!("at {SECRET}"),
            (Some(_), _) => self
                .one(&[" x", "x ", "a\tb", "a\nb", "a\u{85}b"])
                .to_owned(),
        }
    }

    fn json(&mut self, most: Option<usize>) -> Value {
        match self.roll(8) {
            0 => self.one(&[
                json!(true),
                json!(1.0),
                json!([1]),
                json!({"a": 1}),
                json!("42"),
                json!(7),
            ]),
            _ => {
                let text = self.text(most);
                let number = text.parse::<u64>().ok().filter(|_| most.is_none());
                number.map_or_else(|| json!(text), |number| json!(number))
            }
        }
    }

    fn label(&mut self) -> (String, String) {
        let key = format!("k{}", self.roll(5));
        match self.roll(8) {
            0 => (" k".to_owned(), "v".to_owned()),
            1 => (key, "v".repeat(257)),
            2 => (key, SECRET.to_owned()),
            3 => (key, String::new()),
            _ => (key, format!("v{}=x", self.roll(9))),
        }
    }
}

/// What one launch is given, and what must come of it.
#[derive(Debug, Default)]
struct Launched {
    flags: Vec<String>,
    variables: Vec<(String, String)>,
    links: Links,
    /// The fields that are refused.
    refused: Vec<&'static str>,
}

const FLAGS: [&str; 5] = ["--issue", "--pr", "--pipeline", "--role", "--phase"];
const ENDS: [&str; 5] = [
    "ISSUE_NUMBER",
    "PR_NUMBER",
    "PIPELINE_ID",
    "AGENT_ROLE",
    "PHASE",
];

fn launched(chance: &mut Chance) -> Launched {
    let mut case = Launched::default();
    let careful = chance.roll(4) > 0;
    for (at, (field, most)) in FIELDS.into_iter().enumerate() {
        let mut found = None;
        if chance.roll(3) == 0 {
            let value = chance.text(most);
            let good = is_good(most, &value);
            if good || !careful {
                case.flags.push(format!("{}={value}", FLAGS[at]));
                match good {
                    true => found = Some(value),
                    false => case.refused.push(field),
                }
            }
        }
        for house in ["SIGLUM", "EGG"] {
            let value = match chance.roll(5) {
                0..3 => chance.text(most),
                3 => chance.one(&["", " ", "\t"]).to_owned(),
                _ => continue,
            };
            let end = match (house, ENDS[at]) {
                ("EGG", "PHASE") => "PIPELINE_PHASE",
                (_, end) => end,
            };
            if found.is_none() && is_good(most, &value) {
                found = Some(value.clone());
            }
            case.variables.push((format!("{house}_{end}"), value));
        }
        case.links
            .extend(found.map(|value| format!("{field}={value}")));
    }
    labels(chance, &mut case, careful);
    case
}

fn labels(chance: &mut Chance, case: &mut Launched, careful: bool) {
    let mut known = Vec::new();
    for _ in 0..chance.roll(3) {
        let (key, value) = chance.label();
        let good = is_label(&key, &value);
        if known.contains(&key) || !good && careful {
            continue;
        }
        case.flags.push(format!("--label={key}={value}"));
        match good {
            true => drop(case.links.insert(format!("label={key}={value}"))),
            false => case.refused.push("label"),
        }
        known.push(key);
    }
    let mut stated = Vec::new();
    for _ in 0..chance.roll(3) {
        let (key, value) = chance.label();
        let here = format!("{key}={value}");
        if stated
            .iter()
            .any(|s: &String| s.starts_with(&format!("{key}=")))
        {
            continue;
        }
        if is_label(&key, &value) && !known.contains(&key) {
            case.links.insert(format!("label={here}"));
        }
        stated.push(here);
    }
    if !stated.is_empty() {
        case.variables
            .push(("SIGLUM_LABELS".to_owned(), stated.join(",")));
    }
}

fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// The links in an answer, of the program or the gateway.
pub(super) fn attached_links(of: &Value) -> Links {
    assert!(of["links"].is_array(), "{of}");
    launching::links(of).into_iter().collect()
}

/// The links in the body of an entry of the audit.
fn audited(entry: &Value) -> Links {
    let fields = entry["body"]["links"].as_object().unwrap();
    let of = |(field, values): (&String, &Value)| {
        let values = values.as_array().unwrap().clone();
        // A number stands there as a number.
        let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        let link = |v: Value| format!("{field}={}", text(&v));
        values.into_iter().map(link).collect::<Vec<_>>()
    };
    fields.iter().flat_map(of).collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

/// What the gateway must say of a session.
#[track_caller]
fn agrees(served: &Served<'_>, session: &str, links: &Links, what: &str) {
    let own = served.get(&format!("/v1/sessions/{session}"));
    assert_eq!(&attached_links(&own), links, "session: {what}");
    let listed = served.get(&format!("/v1/sessions/{session}/links"));
    assert_eq!(&attached_links(&listed), links, "links: {what}");
    let (mut query, mut wanted) = (Vec::new(), Links::new());
    for link in links {
        let (field, value) = link.split_once('=').unwrap();
        // Of a field that was attached twice, one may be asked for.
        if field == "label" || !wanted.iter().any(|l| l.starts_with(&format!("{field}="))) {
            query.push(format!("{field}={}", encoded(value)));
            wanted.insert(link.clone());
        }
    }
    let path = format!("/v1/sessions?limit=500&{}", query.join("&"));
    let found = served.get(path.trim_end_matches('&'));
    let ids = found["items"].as_array().unwrap().iter();
    assert!(ids.clone().any(|s| s["id"] == session), "list: {what}");
    for listed in ids {
        assert!(
            attached_links(listed).is_superset(&wanted),
            "list: {what}\n{listed}"
        );
    }
    let none = served.get("/v1/sessions?issue_number=123456789");
    assert_eq!(none["items"], json!([]), "{what}");
}

/// What a session was created with, by the audit.
#[track_caller]
fn created(served: &Served<'_>, session: &str, links: &Links, what: &str) {
    let path = format!("/v1/audit?session={session}&action=session.created");
    let audit = served.get(&path);
    let entries = audit["items"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{what}: {audit}");
    assert_eq!(&audited(&entries[0]), links, "audit: {what}");
}

fn how_many(served: &Served<'_>) -> usize {
    let all = served.get("/v1/sessions?limit=500");
    all["items"].as_array().unwrap().len()
}

/// A launch that is refused: the field is named, and nothing is there that was not before.
#[track_caller]
fn refused(repo: &Repo<'_>, served: &Served<'_>, case: &Launched, flags: &str, what: &str) {
    let world = repo.world;
    let variables = case.variables.iter().map(|(n, v)| (n, v));
    let count = |table: &str| world.count(&format!("SELECT count(*) FROM {table}"));
    let before = (count("sessions"), count("statements"), how_many(served));
    let script = format!("'{}' run {flags} -- touch ran", World::program().display());
    let ran = world
        .command("/bin/sh")
        .args(["-c", &script])
        .envs(variables)
        .current_dir(&repo.dir)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{what}\n{stderr}");
    assert!(
        case.refused.iter().any(|field| stderr.contains(field)),
        "{what}\n{stderr}"
    );
    assert!(!stderr.contains(SECRET), "{what}\n{stderr}");
    assert!(!repo.dir.join("ran").exists(), "{what}");
    let after = (count("sessions"), count("statements"), how_many(served));
    assert_eq!(after, before, "{what}");
}

/// One launch through the gateway. Gives the session, if one was to be.
fn launch(
    chance: &mut Chance,
    repo: &Repo<'_>,
    served: &Served<'_>,
    what: &str,
) -> Option<(String, Links)> {
    let case = launched(chance);
    let what = format!("{what} {case:#?}");
    let world = repo.world;
    let variables: Vec<(&str, &str)> = case
        .variables
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let flags = format!(
        "--gateway {} --gateway-token-file '{}' {}",
        served.url(),
        served.token.display(),
        quoted(&case.flags)
    );
    if !case.refused.is_empty() {
        refused(repo, served, &case, &flags, &what);
        return None;
    }
    let native = format!("agent-{}", chance.roll(1 << 40));
    let (mut agent, launch) = Launch::agent(repo, &native, &variables, &flags);
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    let shown = world.json(&repo.dir, &["session", "show", &native]);
    assert_eq!(
        attached_links(&shown["session"]),
        case.links,
        "session show: {what}"
    );
    let session = shown["session"]["id"].as_str().unwrap().to_owned();
    let why = repo.why("HEAD");
    assert_eq!(
        attached_links(&why.0["committer"]),
        case.links,
        "why: {what}"
    );
    let audit = [
        "audit",
        "list",
        "--session",
        &session,
        "--action",
        "session.created",
    ];
    let audit = world.json(&repo.dir, &audit);
    assert_eq!(
        audited(&audit["items"][0]),
        case.links,
        "audit here: {what}"
    );
    agent.stop();
    agent.end("other");
    drop(agent);
    assert_eq!(launch.over(), Some(0), "{what}");
    agrees(served, &session, &case.links, &what);
    created(served, &session, &case.links, &what);
    let commit = repo.id("HEAD");
    let answer = served.get(&format!("/v1/commits/{commit}"));
    let commit = &answer["items"][0];
    let committer = &commit["committer"];
    assert_eq!(committer["session"], session.as_str(), "{what}\n{answer}");
    assert_eq!(attached_links(committer), case.links, "commit: {what}");
    let checkpoint = why.checkpoints().pop().unwrap();
    let checkpoint = served.get(&format!("/v1/checkpoints/{checkpoint}"));
    assert_eq!(checkpoint["pins"][0]["session"], session.as_str(), "{what}");
    assert_eq!(
        attached_links(&checkpoint["pins"][0]),
        case.links,
        "checkpoint: {what}"
    );
    Some((session, case.links))
}

/// Links as a request has them; what they come to, or the fields that are refused.
fn request(chance: &mut Chance) -> (Value, Result<Links, Vec<&'static str>>) {
    let (mut body, mut links, mut refused) = (Map::new(), Links::new(), Vec::new());
    let careful = chance.roll(3) > 0;
    for (field, most) in FIELDS {
        let value = match chance.roll(3) {
            0 => chance.json(most),
            1 if chance.roll(4) == 0 => Value::Null,
            _ => continue,
        };
        match in_json(most, &value) {
            _ if value.is_null() => {}
            Some(text) => drop(links.insert(format!("{field}={text}"))),
            None if careful => continue,
            None => refused.push(field),
        }
        body.insert(field.to_owned(), value);
    }
    let mut labels = Map::new();
    for _ in 0..chance.roll(3) {
        let (key, value) = chance.label();
        let good = is_label(&key, &value);
        if labels.contains_key(&key) || !good && careful {
            continue;
        }
        match good {
            true => drop(links.insert(format!("label={key}={value}"))),
            false => refused.push("label"),
        }
        labels.insert(key, json!(value));
    }
    if !labels.is_empty() {
        body.insert("labels".to_owned(), Value::Object(labels));
    }
    let come_to = if refused.is_empty() {
        Ok(links)
    } else {
        Err(refused)
    };
    (Value::Object(body), come_to)
}

#[track_caller]
fn names_the_field((status, body): (u16, Value), fields: &[&str], what: &str) {
    assert!((400..500).contains(&status), "{what}: {status} {body}");
    let named = body["field"].as_str().unwrap_or_default();
    let named = fields.iter().any(|field| named.contains(field));
    assert!(named, "{what}: {body}");
    assert!(!body.to_string().contains(SECRET), "{what}: {body}");
}

/// One session of the API, with links that come and go. Gives the session, if one was to be.
fn api(chance: &mut Chance, served: &Served<'_>, what: &str) -> Option<(String, Links)> {
    let (links, come_to) = request(chance);
    let what = format!("{what} {links}");
    let new = json!({"agent": "codex", "links": links});
    let before = how_many(served);
    let answer = served.ask("POST", "/v1/sessions", Some(&new));
    let mut standing = match come_to {
        Ok(links) => links,
        Err(fields) => {
            names_the_field(answer, &fields, &what);
            assert_eq!(how_many(served), before, "{what}");
            return None;
        }
    };
    assert_eq!(answer.0, 201, "{what}: {}", answer.1);
    let session = answer.1["session"]["id"].as_str().unwrap().to_owned();
    created(served, &session, &standing, &what);
    let commit = format!("{:040x}", 1 + chance.roll(1 << 50));
    let claim = json!({"commit": {"repository": "github.com/o/r", "commit": commit}});
    let path = format!("/v1/sessions/{session}/checkpoints");
    let (status, claimed) = served.ask("POST", &path, Some(&claim));
    assert_eq!(status, 201, "{what}: {claimed}");
    for _ in 0..chance.roll(4) {
        let (links, come_to) = request(chance);
        let attach = chance.roll(2) == 0;
        let verb = if attach { "links" } else { "links/detach" };
        let path = format!("/v1/sessions/{session}/{verb}");
        let answer = served.ask("POST", &path, Some(&links));
        match come_to {
            Ok(links) if attach => standing.extend(links),
            Ok(links) => standing.retain(|link| !links.contains(link)),
            Err(fields) => {
                names_the_field(answer, &fields, &format!("{what} {verb} {links}"));
                continue;
            }
        }
        assert_eq!(answer.0, 200, "{what} {verb} {links}: {}", answer.1);
        assert_eq!(attached_links(&answer.1), standing, "{what} {verb} {links}");
    }
    agrees(served, &session, &standing, &what);
    let checkpoint = claimed["checkpoint"]["id"].as_str().unwrap();
    let checkpoint = served.get(&format!("/v1/checkpoints/{checkpoint}"));
    assert_eq!(
        attached_links(&checkpoint["pins"][0]),
        standing,
        "checkpoint: {what}"
    );
    let commit = served.get(&format!("/v1/commits/{commit}"));
    assert_eq!(
        attached_links(&commit["items"][0]["candidates"][0]),
        standing,
        "commit: {what}"
    );
    Some((session, standing))
}

fn everybody_agrees(store: Option<(&str, &str)>) {
    let seed = number("SIGLUM_SEED").unwrap_or(0x11_2358_1321);
    let cases = number("SIGLUM_CASES").unwrap_or(48);
    let mut chance = Chance(seed | 1);
    let world = World::new();
    let repo = world.repo();
    let mut served = Served::start(&world, store);
    let (mut known, mut refusals) = (Vec::new(), 0);
    for round in 0..cases {
        let what = format!("SIGLUM_SEED={seed} round {round}:");
        let made = match chance.roll(4) {
            0 => launch(&mut chance, &repo, &served, &what),
            _ => api(&mut chance, &served, &what),
        };
        match made {
            Some(session) => known.push(session),
            None => refusals += 1,
        }
    }
    served.restart();
    for (session, links) in &known {
        agrees(&served, session, links, "after a restart");
    }
    let many = cases < 20 || known.len() > 10 && refusals > 3;
    assert!(many, "{} {refusals}", known.len());
}

#[test]
fn all_say_the_same_with_a_gateway_on_a_file() {
    everybody_agrees(None);
}

#[test]
fn all_say_the_same_with_a_gateway_on_a_server() {
    if let Ok(address) = std::env::var("SIGLUM_TEST_PG") {
        let tenant = format!("chain-{}", std::process::id());
        everybody_agrees(Some((&address, &tenant)));
    }
}
