//! The section `[[contexts]]` of the user's file: what holds for the contexts of some routes.

use std::time::Duration;

use siglum_domain::context::{Cause, Inherit, RoutePattern, Rule};

const SPAN_RULE: &str = "must be a whole number followed by s, m, h or d, such as 30m";

/// Reads the rules, in their order. One that cannot be read is left out, and told.
pub(super) fn rules(value: &toml::Value) -> (Vec<Rule>, Vec<String>) {
    let mut rules = Vec::new();
    let mut wrong = Vec::new();
    let Some(tables) = value.as_array() else {
        return (
            rules,
            vec!["`contexts` must be a list: write `[[contexts]]`".to_owned()],
        );
    };
    for (place, table) in (1..).zip(tables) {
        match table.as_table().map_or(Err("not a table".to_owned()), rule) {
            Ok(rule) => rules.push(rule),
            Err(why) => wrong.push(format!("rule {place} of `contexts` is ignored: {why}")),
        }
    }
    (rules, wrong)
}

fn rule(table: &toml::Table) -> Result<Rule, String> {
    let routes = table.get("routes").ok_or("`routes` is missing")?;
    let mut rule = Rule {
        routes: text("routes", routes)?
            .parse::<RoutePattern>()
            .map_err(|e| format!("`routes`: {}", e.rule))?,
        inherit: Vec::new(),
        idle: None,
        retention: None,
    };
    for (name, value) in table {
        match name.as_str() {
            "routes" => {}
            "idle_after" => rule.idle = Some(span(name, text(name, value)?)?),
            "retention" => rule.retention = Some(span(name, text(name, value)?)?),
            cause => {
                let cause: Cause = cause
                    .parse()
                    .map_err(|_| format!("unknown key `{}`", crate::ui::one_line(cause, 40)))?;
                let inherit = text(name, value)?.parse::<Inherit>();
                let inherit = inherit.map_err(|e| format!("`{name}`: {}", e.rule))?;
                rule.inherit.push((cause, inherit));
            }
        }
    }
    Ok(rule)
}

fn text<'a>(name: &str, value: &'a toml::Value) -> Result<&'a str, String> {
    value
        .as_str()
        .ok_or_else(|| format!("`{name}` must be a string"))
}

/// A span of time such as `30m`.
fn span(name: &str, text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{name}` {SPAN_RULE}");
    let seconds = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number = &text[..text.len() - 1];
    let is_plain = number.bytes().all(|b| b.is_ascii_digit()) && number.len() <= 9;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match is_plain && number > 0 {
        true => Ok(Duration::from_secs(number * seconds)),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Rule>, Vec<String>) {
        let table: toml::Table = text.parse().unwrap();
        rules(&table["contexts"])
    }

    #[test]
    fn rules_are_read_in_their_order() {
        let text = r#"
            [[contexts]]
            routes = "chat:*"
            reset = "tail:6"
            idle_after = "30m"

            [[contexts]]
            routes = "*"
            retention = "1d"
        "#;
        let (rules, wrong) = read(text);
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(rules[0].inherit, [(Cause::Reset, Inherit::Tail(6))]);
        assert_eq!(rules[0].idle, Some(Duration::from_secs(1800)));
        assert_eq!(rules[1].retention, Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_reported_and_left_out() {
        for (text, why) in [
            ("contexts = 1", "`contexts` must be a list"),
            ("contexts = [1]", "not a table"),
            ("[[contexts]]\nreset = \"none\"", "`routes` is missing"),
            ("[[contexts]]\nroutes = \"a b\"", "`routes`: 1 to 512"),
            (
                "[[contexts]]\nroutes = \"*\"\nreset = \"some\"",
                "`reset`: expected one of",
            ),
            (
                "[[contexts]]\nroutes = \"*\"\nresset = \"none\"",
                "unknown key `resset`",
            ),
            (
                "[[contexts]]\nroutes = \"*\"\nretention = \"1y\"",
                SPAN_RULE,
            ),
            (
                "[[contexts]]\nroutes = \"*\"\nretention = \"0d\"",
                SPAN_RULE,
            ),
            (
                "[[contexts]]\nroutes = \"*\"\nidle_after = 3",
                "must be a string",
            ),
        ] {
            let (rules, wrong) = read(text);
            assert!(rules.is_empty() && wrong.len() == 1, "{text}: {wrong:?}");
            assert!(wrong[0].contains(why), "{wrong:?}");
        }
    }
}
