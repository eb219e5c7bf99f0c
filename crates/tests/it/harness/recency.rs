//! What tools that go by recency or by order would say, from the same records.

use super::repo::Repo;

/// Rules that pick a session of the checkout without evidence.
const RULES: [(&str, &str); 3] = [
    ("heard of last", "last_at DESC, s.id"),
    ("started last", "created_at DESC, s.id"),
    ("first by name", "native"),
];

impl Repo<'_> {
    /// Checks that picking by recency or by name would have been wrong for the last commit, so that the
    /// trap bites: `truth` is who made it, or somebody without a session.
    #[track_caller]
    pub(crate) fn recency_errs(&self, truth: &str) {
        // What waits in a spool was heard, too.
        let _ = self.why("HEAD");
        for (rule, order) in RULES {
            let picked = self.picked_by(order);
            assert_ne!(picked, truth, "the session {rule} happens to be right");
        }
    }

    fn picked_by(&self, order: &str) -> String {
        let sql = format!(
            "SELECT a.native FROM sessions s JOIN aliases a ON a.session = s.id \
             WHERE s.worktree = ?1 ORDER BY {order} LIMIT 1"
        );
        let store = self.world.store();
        store
            .query_row(&sql, [self.dir.to_str().unwrap()], |row| row.get(0))
            .unwrap()
    }
}
