//! The client, in a process of its own so that its share of the processor is counted apart. What it sends is made before
//! the clock runs.

use std::io::BufRead as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::spans;
use crate::Fallible;
use crate::clock::{cpu_ms, now};
use crate::contest::{Times, millis};
use crate::gateway::connection::Connection;

/// Spans of a request, as agents send them.
pub(crate) const BATCH: usize = 512;
/// How long a server that is full is left alone.
const FULL: Duration = Duration::from_millis(200);
const FULL_MOST: usize = 600;

/// Does what the plan in the first line of its input says. Each further line is how many requests to make, and lets it
/// send that many. Tells of each in one line.
pub(crate) fn client() -> Fallible<()> {
    let mut lines = std::io::stdin().lock().lines();
    let plan = lines.next().ok_or("no plan")??;
    let plan: Value = serde_json::from_str(&plan)?;
    let address = plan["address"].as_str().ok_or("no address")?;
    let token = plan["token"].as_str().unwrap_or_default();
    let count = plan["connections"].as_u64().unwrap_or(4);
    println!("{}", json!({"ready": true}));
    let (mut sent, at) = (0, u64::try_from(now().nanos())?);
    for line in lines {
        let requests: usize = line?.parse()?;
        let bodies: Vec<Vec<u8>> = (0..requests)
            .map(|n| spans::request((sent + n) * BATCH, BATCH, at))
            .collect();
        sent += requests;
        let bytes: usize = bodies.iter().map(Vec::len).sum();
        // A server may have closed one that nobody used meanwhile.
        let mut connections: Vec<Connection> = (0..count)
            .map(|_| Connection::new(address.to_owned()))
            .collect();
        let (wall, cpu) = (Instant::now(), cpu_ms());
        let took = Times::from(all(&mut connections, &bodies, token)?);
        println!(
            "{}",
            json!({
                "spans": requests * BATCH, "bytes": bytes, "seconds": wall.elapsed().as_secs_f64(),
                "cpu_ms": cpu_ms() - cpu, "p50_ms": took.median(), "p99_ms": took.at(0.99),
            })
        );
    }
    Ok(())
}

/// Sends all of them over all connections; how long each took.
fn all(
    connections: &mut [Connection],
    bodies: &[Vec<u8>],
    token: &str,
) -> Result<Vec<f64>, String> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let next = &next;
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| {
                scope.spawn(move || -> Result<Vec<f64>, String> {
                    let mut took = Vec::new();
                    while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let begun = Instant::now();
                        send(connection, body, token)?;
                        took.push(millis(begun));
                    }
                    Ok(took)
                })
            })
            .collect();
        let mut took = Vec::new();
        for thread in threads {
            let one = thread.join();
            took.extend(one.map_err(|_| "a thread of the client panicked".to_owned())??);
        }
        Ok(took)
    })
}

fn send(connection: &mut Connection, body: &[u8], token: &str) -> Result<(), String> {
    for _ in 0..FULL_MOST {
        match connection.post("/v1/traces", "application/x-protobuf", token, body) {
            Ok((200, _)) => return Ok(()),
            Ok((429 | 503, _)) => std::thread::sleep(FULL),
            Ok((status, answer)) => {
                return Err(format!("{status} {}", String::from_utf8_lossy(&answer)));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("the server stayed full".to_owned())
}
