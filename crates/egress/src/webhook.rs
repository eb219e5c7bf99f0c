//! A webhook: something is handed over to an address that an operator named.

use serde_json::Value;

use crate::address::Address;
use crate::agent::{Timeouts, agent_within};
use crate::reach::{NotPublic, Reach};

/// Why something was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Nobody answers, or not now: it may be tried again.
    #[error("{address}: {why}")]
    Later { address: String, why: String },
    /// It is not wanted.
    #[error("{address}: {why}")]
    Refused { address: String, why: String },
}

/// Hands a document over, once. `id` is the same on each try, so that a receiver can tell doubles. Nothing of the answer
/// is read but whether it was taken; nobody else is asked, wherever the receiver sends.
///
/// # Errors
/// Whether to try it again, and why.
pub fn hand_over(
    address: &Address,
    id: &str,
    document: &Value,
    timeouts: Timeouts,
    reach: Reach,
) -> Result<(), WebhookError> {
    let sent = agent_within(address, timeouts, reach)
        .post(address.as_str())
        .content_type("application/json")
        .header("idempotency-key", id)
        .send(document.to_string());
    let address = address.to_string();
    match sent {
        Err(ureq::Error::Other(error)) if error.is::<NotPublic>() => Err(WebhookError::Refused {
            address,
            why: error.to_string(),
        }),
        Err(error) => Err(WebhookError::Later {
            address,
            why: error.to_string(),
        }),
        Ok(response) => {
            let status = response.status();
            let why = format!("it responds with {}", status.as_u16());
            match status.as_u16() {
                200..=299 => Ok(()),
                408 | 425 | 429 | 500..=599 => Err(WebhookError::Later { address, why }),
                _ => Err(WebhookError::Refused { address, why }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use serde_json::json;

    use super::*;
    use crate::address::Plain;

    /// A receiver that gives one answer, and then what it was sent.
    fn receiver(status: &'static str) -> (Address, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!("http://{}/hook", listener.local_addr().unwrap());
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).unwrap() > 0);
            }
            let lower = head.to_ascii_lowercase();
            let length = lower.split("content-length: ").nth(1).unwrap();
            let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            head + &String::from_utf8_lossy(&body)
        });
        (Address::parse(&text, Plain::Loopback).unwrap(), serving)
    }

    fn send_to(address: &Address, document: &Value, reach: Reach) -> Result<(), WebhookError> {
        hand_over(address, "h@1", document, Timeouts::default(), reach)
    }

    #[test]
    fn what_is_handed_over_has_a_name_and_an_answer_says_whether_to_try_again() {
        for (status, expected) in [
            ("204 No Content", "taken"),
            ("503 Busy", "later"),
            ("429 Slow", "later"),
            ("410 Gone", "refused"),
            ("302 Found", "refused"),
        ] {
            let (address, serving) = receiver(status);
            let result = send_to(&address, &json!({"text": "x"}), Reach::Anywhere);
            let outcome = match result {
                Ok(()) => "taken",
                Err(WebhookError::Later { .. }) => "later",
                Err(WebhookError::Refused { .. }) => "refused",
            };
            assert_eq!(outcome, expected, "{status}");
            let sent = serving.join().unwrap();
            assert!(sent.starts_with("POST /hook HTTP/1.1"), "{sent}");
            assert!(
                sent.to_ascii_lowercase().contains("idempotency-key: h@1"),
                "{sent}"
            );
            assert!(sent.ends_with(r#"{"text":"x"}"#), "{sent}");
        }
        let nobody = Address::parse("http://127.0.0.1:1/", Plain::Loopback).unwrap();
        let result = send_to(&nobody, &json!({}), Reach::Anywhere);
        assert!(
            matches!(result, Err(WebhookError::Later { .. })),
            "{result:?}"
        );
        let near = send_to(&nobody, &json!({}), Reach::Public);
        assert!(
            matches!(near, Err(WebhookError::Refused { .. })),
            "{near:?}"
        );
    }
}
