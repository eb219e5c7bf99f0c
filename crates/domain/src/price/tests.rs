//! What tokens cost, by hand.

use super::*;
use proptest::prelude::*;

fn at(day: &str) -> Timestamp {
    format!("{day}T12:00:00Z").parse().unwrap()
}

const fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Tokens {
    Tokens {
        input,
        output,
        cache_read,
        cache_write,
    }
}

#[track_caller]
fn check(model: &str, day: &str, tokens: Tokens, expected: Option<&str>) {
    let cost = Prices::built_in().cost(Some(model), at(day), tokens);
    let known = cost.is_whole().then(|| cost.known.to_string());
    assert_eq!(known.as_deref(), expected, "{model}");
    if expected.is_none() {
        assert_eq!((cost.known, cost.unpriced), (NanoUsd(0), tokens));
    }
}

#[test]
fn each_kind_of_token_has_its_price() {
    // 1,000 × $15 + 100 × $75 + 10 × $1.50 + 1 × $18.75, for a million each.
    let used = tokens(1_000, 100, 10, 1);
    check("claude-opus-4-1", "2025-09-01", used, Some("0.022533750"));
    // $1.25, $10, $0.125; what was written to the cache is input.
    check("gpt-5-codex", "2025-10-01", used, Some("0.002252500"));
    check(
        "gpt-5-codex",
        "2025-10-01",
        tokens(0, 0, 0, 0),
        Some("0.000000000"),
    );
}

#[test]
fn a_model_is_known_by_its_name_with_provider_day_or_context() {
    let used = tokens(1_000_000, 0, 0, 0);
    for name in [
        "claude-haiku-4-5",
        "claude-haiku-4-5-20251001",
        "claude-haiku-4-5@20251001",
        "anthropic/claude-haiku-4-5",
        "claude-haiku-4-5[1m]",
    ] {
        check(name, "2026-01-01", used, Some("1.000000000"));
    }
    check("gpt-5-2025-08-07", "2026-01-01", used, Some("1.250000000"));
}

#[test]
fn an_unknown_model_costs_unknown_and_never_nothing() {
    let used = tokens(1, 2, 3, 4);
    for name in [
        "",
        "fake-model",
        "claude-haiku-4-5-latest",
        "claude-haiku-4-5-2025100",
        "claude-haiku-4-5-2025-1001",
        "somebody/claude-haiku-4-5",
        "-20251001",
        "ü20251001",
        "claude",
    ] {
        check(name, "2026-01-01", used, None);
    }
    let prices = Prices::built_in();
    assert_eq!(prices.cost(None, at("2026-01-01"), used).unpriced, used);
    // Nobody could use it then.
    check("claude-haiku-4-5", "2025-01-01", used, None);
}

#[test]
fn the_price_of_the_day_counts() {
    let used = tokens(0, 0, 1_000_000, 0);
    check("claude-sonnet-5-5", "2026-10-06", used, Some("0.200000000"));
    check("claude-sonnet-5-5", "2026-10-07", used, Some("0.100000000"));
}

#[test]
fn a_long_prompt_has_its_own_price() {
    let model = "gemini-2.5-pro";
    check(
        model,
        "2026-01-01",
        tokens(100_000, 1_000_000, 100_000, 0),
        Some("10.137500000"),
    );
    check(
        model,
        "2026-01-01",
        tokens(100_001, 1_000_000, 100_000, 0),
        Some("15.275002500"),
    );
}

#[test]
fn a_sum_with_an_unknown_part_says_so() {
    let prices = Prices::built_in();
    let day = at("2026-01-01");
    let mut sum = prices.cost(Some("claude-haiku-4-5"), day, tokens(1_000, 0, 0, 0));
    assert!(sum.is_whole());
    sum += prices.cost(Some("other"), day, tokens(5, 6, 7, 8));
    assert!(!sum.is_whole());
    assert_eq!(
        (sum.known, sum.unpriced),
        (NanoUsd(1_000_000), tokens(5, 6, 7, 8))
    );
}

#[test]
fn another_table_goes_before_this_one() {
    let text = r#"{"schema": "siglum.prices/1", "date": "2026-11-22", "currency": "USD", "prices": [
        {"provider": "us", "models": ["fake-model", "gpt-5"], "from": "2026-01-01", "input": "0.001", "output": "2", "source": "here"}]}"#;
    let prices = Prices::parse(text).unwrap().before(Prices::built_in());
    let cost = |model| {
        prices
            .cost(Some(model), at("2026-02-01"), tokens(1, 1, 1, 1))
            .known
    };
    assert_eq!(cost("fake-model"), NanoUsd(2_003));
    assert_eq!(cost("gpt-5"), NanoUsd(2_003));
    assert_eq!(cost("gpt-5-mini"), NanoUsd(250 + 2_000 + 25 + 250));
}

#[track_caller]
fn refused(from: &str, to: &str, expected: &str) {
    let text = r#"{"schema": "siglum.prices/1", "date": "2026-11-22", "currency": "USD", "prices": [
        {"provider": "p", "models": ["m"], "from": "2026-01-01", "input": "1", "output": "2", "source": "s"}]}"#;
    assert!(Prices::parse(text).is_ok() && text.contains(from));
    let error = Prices::parse(&text.replacen(from, to, 1)).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_file_that_is_no_table_is_refused() {
    let amount = |text: &str| {
        format!("`{text}` is not a price in dollars per million tokens, such as `0.125`")
    };
    for wrong in ["", "-1", "1e3", "0.0001", ".5", "1.", "1,5", "1234567890"] {
        refused("\"1\"", &format!("\"{wrong}\""), &amount(wrong));
    }
    refused("\"1\"", "1", "not a price table");
    refused(
        "\"provider\"",
        "\"x\": 1, \"provider\"",
        "not a price table",
    );
    refused("USD", "EUR", "`EUR` is not `USD`");
    refused(
        "prices/1",
        "prices/2",
        "`siglum.prices/2` is not `siglum.prices/1`",
    );
    refused(
        "2026-01-01",
        "2026-02-30",
        "`2026-02-30` is not a date such as 2026-01-31",
    );
    refused(
        "[\"m\"]",
        "[\"m\", \"m\"]",
        "`m` has two prices from the same day",
    );
}

#[test]
fn the_built_in_table_is_sound() {
    let prices = Prices::built_in();
    for (model, of) in &prices.models {
        assert_eq!(undated(model), None, "{model} is named without a day");
        for price in of {
            assert!(price.source.starts_with("https://"), "{model}");
            let all = std::iter::once(&price.rates).chain(price.above.iter().map(|(_, r)| r));
            for r in all {
                assert!(r.cache_read < r.input && r.input < r.output, "{model}");
                assert!(
                    r.cache_write >= r.input && r.cache_write_1h >= r.cache_write,
                    "{model}"
                );
            }
        }
    }
    assert!(prices.date() >= "2026-11-22");
}

proptest! {
    /// No sum of tokens overflows, and parts add up to the whole below the length where prices change.
    #[test]
    fn costs_add_up(a in 0..50_000u64, b in 0..50_000u64, most in Just(u64::MAX)) {
        let prices = Prices::built_in();
        let day = at("2026-11-01");
        let cost = |n| prices.cost(Some("claude-haiku-5-5"), day, tokens(n, n, 0, 0));
        let mut sum = cost(a);
        sum += cost(b);
        prop_assert_eq!(sum, cost(a + b));
        let huge = prices.cost(Some("claude-opus-4-1"), day, tokens(most, most, most, most));
        prop_assert!(huge.known > NanoUsd(u128::from(u64::MAX)));
    }

    /// A sum of several messages has the price of each, or none.
    #[test]
    fn several_messages_cost_what_each_does(prompts in prop::collection::vec(0..400_000u64, 1..6)) {
        let prices = Prices::built_in();
        let (day, model) = (at("2026-11-01"), Some("claude-haiku-5-5"));
        let (mut sum, mut all) = (Cost::default(), Tokens::default());
        for prompt in &prompts {
            sum += prices.cost(model, day, tokens(*prompt, 1, 0, 0));
            all += tokens(*prompt, 1, 0, 0);
        }
        let ends = (*prompts.iter().min().unwrap(), *prompts.iter().max().unwrap());
        let several = prices.cost_of_several(model, day, all, ends);
        let is_one = prompt_band(ends.0) == prompt_band(ends.1);
        prop_assert!(several.is_some() || !is_one);
        prop_assert!(several.is_none_or(|cost| cost == sum));
        let unknown = prices.cost_of_several(None, day, all, ends);
        prop_assert_eq!(unknown.map(|cost| cost.unpriced), Some(all));
    }

    #[test]
    fn any_name_has_a_price_or_none(name in "\\PC{0,24}") {
        let _ = Prices::built_in().price(&name, at("2026-11-01"));
        let _ = Prices::built_in().price(&format!("{name}-20251001"), at("2026-11-01"));
    }
}

#[test]
fn every_limit_of_the_built_in_table_keeps_messages_apart() {
    let prices = Prices::built_in().models.values().flatten();
    let limits: BTreeMap<u64, &str> = prices
        .flat_map(|price| {
            price
                .above
                .iter()
                .map(|(above, _)| (*above, price.provider.as_str()))
        })
        .collect();
    for (limit, provider) in limits {
        let kept_apart = prompt_band(limit) < prompt_band(limit + 1);
        assert!(kept_apart, "{provider}: {limit} is none of PROMPT_LIMITS");
    }
}

#[track_caller]
fn check_shown(known: u128, unpriced: u64, expected: &str) {
    let (known, unpriced) = (NanoUsd(known), tokens(unpriced, 0, 0, 0));
    assert_eq!(Cost { known, unpriced }.to_string(), expected);
}

#[test]
fn money_is_shown_to_a_hundredth_of_a_cent() {
    check_shown(0, 0, "$0.0000");
    check_shown(1, 0, "<$0.0001");
    check_shown(49_999, 0, "<$0.0001");
    check_shown(50_000, 0, "$0.0001");
    check_shown(1_234_567_890, 0, "$1.2346");
    check_shown(1_999_950_000, 0, "$2.0000");
    check_shown(0, 1, "unknown");
    check_shown(1_500_000_000, 1, "$1.5000 + unknown");
}
