//! Nothing that is sent makes the reader panic, and what it reads it reads again from its own writing.

use proptest::prelude::*;
use serde_json::Value;
use siglum_domain::redact::Redactor;

use super::{Encoding, Limits, Signal, decode};
use crate::inward::hear;

const RECORDING: &str = include_str!("../../fixtures/copilot/1.0.102-subagent.jsonl");

fn tight() -> Limits {
    Limits {
        records: 20,
        attributes: 12,
        depth: 3,
        text: 40,
    }
}

fn signals() -> impl Strategy<Value = Signal> {
    prop_oneof![
        Just(Signal::Traces),
        Just(Signal::Logs),
        Just(Signal::Metrics)
    ]
}

/// Everything that is done with a batch.
fn through(signal: Signal, encoding: Encoding, bytes: &[u8]) {
    for limits in [Limits::default(), tight()] {
        let Ok(mut batch) = decode(signal, encoding, bytes, &limits) else {
            return;
        };
        assert!(batch.records() <= limits.records);
        assert_eq!(batch.problem.is_some(), batch.rejected > 0);
        assert_eq!(hear(&batch).len(), batch.records());
        let protobuf = batch.to_protobuf();
        let again = decode(signal, Encoding::Protobuf, &protobuf, &limits).unwrap();
        assert_eq!(again.to_protobuf(), protobuf);
        assert_eq!(again.rejected, 0);
        batch.redact(Redactor::shared());
        batch.stamp(|_| None);
        let _ = (
            batch.answer(Encoding::Json),
            batch.select(|index| index.0 % 3 == 0),
        );
    }
}

/// Puts `value` in the place that `at` leads to.
fn replace(json: &mut Value, at: &mut impl Iterator<Item = usize>, value: Value) {
    let step = at.next();
    match (json, step) {
        (Value::Object(map), Some(step)) if !map.is_empty() => {
            let place = step % map.len();
            if let Some(inner) = map.values_mut().nth(place) {
                replace(inner, at, value);
            }
        }
        (Value::Array(list), Some(step)) if !list.is_empty() => {
            let place = step % list.len();
            replace(&mut list[place], at, value);
        }
        (json, _) => *json = value,
    }
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,80}".prop_map(Value::from),
        "[0-9a-fA-F]{0,40}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes(signal in signals(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        through(signal, Encoding::Protobuf, &bytes);
        through(signal, Encoding::Json, &bytes);
    }

    #[test]
    fn any_change_of_json(line in 0_usize..5, depth in 1_usize..14, at in prop::collection::vec(0_usize..40, 14),
        value in leaf(), cut in 0_usize..4000) {
        let line = RECORDING.lines().cycle().nth(line).unwrap();
        let mut line: Value = serde_json::from_str(line).unwrap();
        let signal = match line["signal"].as_str() {
            Some("traces") => Signal::Traces,
            Some("logs") => Signal::Logs,
            _ => Signal::Metrics,
        };
        let mut body = line["body"].take();
        replace(&mut body, &mut at.into_iter().take(depth), value);
        let text = body.to_string();
        through(signal, Encoding::Json, text.as_bytes());
        through(signal, Encoding::Json, &text.as_bytes()[..cut.min(text.len())]);
        let batch = decode(signal, Encoding::Json, text.as_bytes(), &Limits::default());
        if let Ok(batch) = batch {
            let mut bytes = batch.to_protobuf();
            if !bytes.is_empty() {
                let place = cut % bytes.len();
                bytes[place] ^= 0x55;
            }
            through(signal, Encoding::Protobuf, &bytes);
        }
    }
}
