//! Names that nobody knows, of fields and of parameters: they are refused, with the name that was meant perhaps.

use siglum_domain::redact::Redactor;

use crate::problem::Problem;

/// How much of a name is told, in characters.
const NAME_MOST: usize = 120;
/// How many letters a name may differ in from the one that was meant.
const LETTERS_MOST: usize = 2;

/// Refuses a name that is not one of those that are known. `field` is its path.
pub(crate) fn unknown(field: &str, name: &str, known: &[&str]) -> Problem {
    // It may be a secret, and of any length.
    let field = Redactor::shared().redact(field);
    let field = field.as_str().chars().filter(|c| !c.is_control());
    let field: String = field.take(NAME_MOST).collect();
    let rule = match nearest(name, known) {
        Some(meant) => format!("unknown name; did you mean `{meant}`?"),
        None if known.is_empty() => "unknown name; no names are allowed here".to_owned(),
        None => format!("unknown name; use one of {}", known.join(", ")),
    };
    Problem::invalid(field, rule)
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > NAME_MOST {
        return None;
    }
    let with_letters = known.iter().map(|one| (letters_apart(name, one), *one));
    let (apart, meant) = with_letters.min()?;
    (apart <= LETTERS_MOST.min(name.len() / 2)).then_some(meant)
}

/// How many letters are to be put in, taken out or changed to make one name of the other.
fn letters_apart(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (column, expected) in other.iter().enumerate() {
            let changed = before + usize::from(letter != *expected);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let known = ["issue_number", "pr_number", "phase"];
        let cases = [
            ("isue_number", Some("issue_number")),
            ("fase", Some("phase")),
            ("phase", Some("phase")),
            ("number", None),
            ("x", None),
            ("", None),
        ];
        for (name, meant) in cases {
            assert_eq!(nearest(name, &known), meant, "{name}");
        }
    }
}
