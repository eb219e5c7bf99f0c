//! Tool calls of a transcript whose result has not been read yet.

use std::collections::VecDeque;

/// Most calls that are remembered.
const LIMIT: usize = 512;

/// What is known of each call, by the event that it is, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct OpenCalls<C>(VecDeque<(String, C)>);

impl<C> Default for OpenCalls<C> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<C> OpenCalls<C> {
    /// Remembers a call and forgets the oldest if there are too many.
    pub(crate) fn begin(&mut self, event: String, call: C) {
        if self.0.len() == LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((event, call));
    }

    /// What is known of a call.
    pub(crate) fn get(&self, event: &str) -> Option<&C> {
        self.0
            .iter()
            .rev()
            .find_map(|(own, call)| (own == event).then_some(call))
    }

    /// All of them, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &C> {
        self.0.iter().map(|(_, call)| call)
    }

    /// Takes the call that a result belongs to.
    pub(crate) fn end(&mut self, event: &str) -> Option<C> {
        let at = self.0.iter().rposition(|(own, _)| own == event)?;
        self.0.remove(at).map(|(_, call)| call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_a_result_are_forgotten_in_the_end() {
        let mut calls = OpenCalls::default();
        (0..=LIMIT).for_each(|n| calls.begin(format!("tool:{n}"), n));
        assert_eq!(calls.iter().count(), LIMIT);
        assert_eq!(calls.end("tool:0"), None);
        assert_eq!(calls.get("tool:1"), Some(&1));
        assert_eq!(calls.end("tool:1"), Some(1));
        assert_eq!(calls.end("tool:1"), None);
    }
}
