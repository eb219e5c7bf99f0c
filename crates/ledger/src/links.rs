//! The links that a session ever had: a fold of its statements.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::Timestamp;
use siglum_domain::link::{Link, same_slot};

use crate::record::{Statement, StatementRecord};

/// Each link that was ever attached to a session, and whether it stood for the whole of it: it was never detached, and
/// nothing else of its kind was attached before it.
pub(crate) fn links_ever(statements: &[StatementRecord]) -> Vec<(&Link, bool)> {
    let mut first: BTreeMap<&Link, Timestamp> = BTreeMap::new();
    let mut detached = BTreeSet::new();
    for record in statements {
        match &record.statement {
            Statement::LinkAttached { link, .. } => {
                let at = first.entry(link).or_insert(record.at);
                *at = (*at).min(record.at);
            }
            Statement::LinkDetached { link, .. } => {
                detached.insert(link);
            }
            _ => {}
        }
    }
    let is_first = |link: &Link, at: Timestamp| {
        let before = |(other, since): (&&Link, &Timestamp)| same_slot(link, other) && *since < at;
        !first.iter().any(before)
    };
    let ever = first.iter().map(|(link, at)| {
        let is_whole = !detached.contains(link) && is_first(link, *at);
        (*link, is_whole)
    });
    ever.collect()
}

#[cfg(test)]
mod tests {
    use siglum_domain::{LedgerId, SessionId};
    use uuid::Uuid;

    use super::*;

    fn stated(at: i64, is_attached: bool, link: Link) -> StatementRecord {
        let session = SessionId::from_uuid(Uuid::from_u128(1));
        StatementRecord {
            ledger: LedgerId::from_uuid(Uuid::from_u128(1)),
            sequence: 1,
            at: Timestamp::from_nanos(at),
            by: "me".to_owned(),
            source: "cli".to_owned(),
            statement: match is_attached {
                true => Statement::LinkAttached { session, link },
                false => Statement::LinkDetached { session, link },
            },
        }
    }

    #[test]
    fn a_link_stood_for_all_where_none_of_its_kind_came_before_and_it_never_went() {
        let label = |key: &str| Link::Label {
            key: key.to_owned(),
            value: "v".to_owned(),
        };
        let all = [
            stated(5, true, Link::IssueNumber(1)),
            stated(5, true, Link::IssueNumber(2)),
            stated(6, true, Link::IssueNumber(3)),
            stated(9, true, Link::IssueNumber(1)),
            stated(7, true, Link::PrNumber(4)),
            stated(8, false, Link::PrNumber(4)),
            stated(8, false, Link::PrNumber(5)),
            stated(1, true, label("a")),
            stated(2, true, label("b")),
        ];
        let ever = links_ever(&all);
        let whole = |link: Link| {
            ever.iter()
                .find(|(l, _)| **l == link)
                .map(|(_, whole)| *whole)
        };
        assert_eq!(whole(Link::IssueNumber(1)), Some(true));
        assert_eq!(whole(Link::IssueNumber(2)), Some(true));
        assert_eq!(whole(Link::IssueNumber(3)), Some(false));
        assert_eq!(whole(Link::PrNumber(4)), Some(false));
        assert_eq!(whole(Link::PrNumber(5)), None);
        assert_eq!(whole(label("a")), Some(true));
        assert_eq!(whole(label("b")), Some(true));
    }
}
