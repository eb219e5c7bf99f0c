//! The client, in a process of its own so that its share of the processor is counted apart: sessions are created and
//! driven over many connections, round after round, and what was acknowledged is read back at the end.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection::{Answer, Connection};
use crate::Fallible;
use crate::clock::{Chance, cpu_ms};
use crate::contest::{Times, millis};
use crate::filler::Filler;

/// The bytes of the two events of a turn.
const PROMPT_LEN: usize = 300;
const ANSWER_LEN: usize = 1_400;
/// How often a request is made again when its answer was lost, and how long between.
const TRIES: usize = 200;
const AGAIN: Duration = Duration::from_millis(20);
/// Receipts of a page.
const PAGE: usize = 1_000;

/// One connection, and the session that it drives.
struct Drive {
    connection: Connection,
    addresses: Vec<String>,
    at: usize,
    session: String,
    token: String,
    epoch: u64,
    head: u64,
    turns: usize,
    chance: Chance,
    /// How long each acknowledged request of this round took.
    took: Vec<f64>,
    again: usize,
    /// The digests of the receipts that came.
    receipts: Vec<String>,
}

/// Does what the plan in the first line of its input says. Each further line lets it do the next part: `create N`,
/// `turns N`, `check`. Tells of each in one line.
pub(crate) fn client() -> Fallible<()> {
    let mut lines = std::io::stdin().lock().lines();
    let plan = lines.next().ok_or("no plan")??;
    let plan: Value = serde_json::from_str(&plan)?;
    let filler = Filler::gather(2 << 20);
    let mut drives = drives(&plan)?;
    each(&mut drives, Drive::begin)?;
    println!("{}", json!({"ready": true}));
    for line in lines {
        let line = line?;
        let (what, number) = line.split_once(' ').unwrap_or((&line, "0"));
        let left = AtomicUsize::new(number.parse()?);
        let (wall, cpu) = (Instant::now(), cpu_ms());
        let mut report = match what {
            "create" => {
                let token = plan["token"].as_str().unwrap_or_default();
                each(&mut drives, |d| d.until_none(&left, |d| d.create(token)))?;
                json!({})
            }
            "turns" => {
                each(&mut drives, |d| d.until_none(&left, |d| d.turn(&filler)))?;
                json!({})
            }
            "hand" => json!({"sessions": drives.iter().map(Drive::handover).collect::<Vec<_>>()}),
            _ => {
                each(&mut drives, Drive::check)?;
                json!({"turns": drives.iter().map(|d| d.turns).sum::<usize>()})
            }
        };
        let seconds = wall.elapsed().as_secs_f64();
        let took: Vec<f64> = drives.iter_mut().flat_map(|d| d.took.drain(..)).collect();
        let took = Times::from(took);
        report["n"] = json!(took.n());
        report["seconds"] = json!(seconds);
        report["cpu_ms"] = json!(cpu_ms() - cpu);
        report["p50_ms"] = json!(took.median());
        report["p99_ms"] = json!(took.at(0.99));
        report["again"] = json!(drives.iter().map(|d| d.again).sum::<usize>());
        println!("{report}");
    }
    Ok(())
}

fn drives(plan: &Value) -> Fallible<Vec<Drive>> {
    let text = |v: &Value| v.as_str().map(str::to_owned);
    let addresses: Vec<String> = plan["addresses"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(text)
        .collect();
    let launcher = text(&plan["token"]).ok_or("no token")?;
    let connections = plan["connections"].as_u64().unwrap_or(32);
    let drive = |number: u64| {
        let at = usize::try_from(number)? % addresses.len();
        Ok(Drive {
            connection: Connection::new(addresses[at].clone()),
            addresses: addresses.clone(),
            at,
            session: String::new(),
            token: launcher.clone(),
            epoch: 0,
            head: 0,
            turns: 0,
            chance: Chance::new(number),
            took: Vec::new(),
            again: 0,
            receipts: Vec::new(),
        })
    };
    (0..connections).map(drive).collect()
}

/// Does something on each connection at once.
fn each(
    drives: &mut [Drive],
    work: impl Fn(&mut Drive) -> Result<(), String> + Sync,
) -> Result<(), String> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = drives
            .iter_mut()
            .map(|drive| scope.spawn(move || work(drive)))
            .collect();
        let done = |t: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            t.join()
                .unwrap_or_else(|_| Err("a thread of the client panicked".to_owned()))
        };
        threads.into_iter().try_for_each(done)
    })
}

impl Drive {
    /// Takes one of those that are left until there is none.
    fn until_none(
        &mut self,
        left: &AtomicUsize,
        work: impl Fn(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let take = |left: usize| left.checked_sub(1);
        while left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
        {
            let begun = Instant::now();
            work(self)?;
            self.took.push(millis(begun));
        }
        Ok(())
    }

    /// Asks until there is an answer: the same request twice is done once. One gateway that is gone is left for the
    /// next.
    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let mut last = String::new();
        for _ in 0..TRIES {
            match self.connection.ask(method, path, &self.token, &body) {
                Ok(Answer { status, body }) if (200..300).contains(&status) => return Ok(body),
                Ok(Answer { status: 503, body }) => last = body.to_string(),
                Ok(Answer { status, body }) => {
                    return Err(format!("{method} {path}: {status} {body}"));
                }
                Err(error) => last = error.to_string(),
            }
            self.again += 1;
            self.at = (self.at + 1) % self.addresses.len();
            self.connection.turn_to(self.addresses[self.at].clone());
            thread::sleep(AGAIN);
        }
        Err(format!("{method} {path}: no answer: {last}"))
    }

    fn wanted(&self) -> Value {
        json!({
            "id": format!("ses_{}", siglum_domain::IdSource::fresh(&siglum_platform::clock::Ids).simple()), "agent": "house",
            "links": {"issue_number": 1 + self.chance.below(10_000), "pipeline_id": "load", "agent_role": "coder"},
        })
    }

    /// A session that nobody drives.
    fn create(&mut self, token: &str) -> Result<(), String> {
        let own = std::mem::replace(&mut self.token, token.to_owned());
        let wanted = self.wanted();
        let created = self.ask("POST", "/v1/sessions", &wanted);
        self.token = own;
        created.map(drop)
    }

    /// The session of this connection, its own token, and its lease.
    fn begin(&mut self) -> Result<(), String> {
        let wanted = self.wanted();
        let created = self.ask("POST", "/v1/sessions", &wanted)?;
        let text = |v: &Value| v.as_str().map(str::to_owned).ok_or("no session");
        self.session = text(&created["session"]["id"])?;
        // The token of a session that was there already is another one, and as good.
        self.token = text(&created["token"]["secret"])?;
        let lease = json!({"holder": "bench", "nonce": self.session, "term_ms": 3_600_000});
        let path = format!("/v1/sessions/{}/lease", self.session);
        let lease = self.ask("POST", &path, &lease)?;
        self.epoch = lease["epoch"].as_u64().ok_or("no epoch")?;
        self.head = lease["head"].as_u64().ok_or("no head")?;
        Ok(())
    }

    /// What another client needs in order to go on.
    fn handover(&self) -> Value {
        json!({"session": self.session, "token": self.token, "epoch": self.epoch, "head": self.head})
    }

    fn turn(&mut self, filler: &Filler) -> Result<(), String> {
        let key = format!("t{}", self.turns);
        let body = json!({"epoch": self.epoch, "expected_head": self.head, "events": [
            {"type": "prompt", "key": format!("{key}.p"), "text": filler.text(&self.chance, PROMPT_LEN)},
            {"type": "message", "key": format!("{key}.m"), "text": filler.text(&self.chance, ANSWER_LEN)},
        ]});
        let path = format!("/v1/sessions/{}/turns/{key}", self.session);
        let done = self.ask("PUT", &path, &body)?;
        let receipt = &done["receipt"];
        self.head = receipt["last"].as_u64().ok_or("no receipt")?;
        let digest = receipt["digest"].as_str().ok_or("no digest")?;
        self.receipts.push(digest.to_owned());
        self.turns += 1;
        Ok(())
    }

    /// Everything that was acknowledged is there once, in one chain, and nothing else is.
    fn check(&mut self) -> Result<(), String> {
        let (mut after, mut digests, mut last, mut previous) = (0, Vec::new(), 0, None);
        loop {
            let path = format!(
                "/v1/sessions/{}/receipts?cursor={after}&limit={PAGE}",
                self.session
            );
            let page = self.ask("GET", &path, &Value::Null)?;
            let page = page["items"].as_array().ok_or("no receipts")?;
            for receipt in page {
                let text = |name: &str| receipt[name].as_str().unwrap_or_default().to_owned();
                let follows = previous.as_ref().is_none_or(|p| *p == text("previous"));
                if receipt["first"] != json!(last + 1) || !follows {
                    return Err(format!(
                        "{}: the chain is broken at {receipt}",
                        self.session
                    ));
                }
                last = receipt["last"].as_u64().ok_or("no last")?;
                previous = Some(text("digest"));
                digests.push(text("digest"));
            }
            after += page.len();
            if page.len() < PAGE {
                break;
            }
        }
        let twice = digests.iter().collect::<BTreeSet<_>>().len() < digests.len();
        if digests != self.receipts || twice || last != self.head {
            return Err(format!(
                "{}: {} turns are acknowledged, {} are there, the log ends at {last}",
                self.session,
                self.receipts.len(),
                digests.len()
            ));
        }
        Ok(())
    }
}
