//! How many connections one token or one address may have at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bound for each key, and what is in use of it. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Quota<K> {
    most: usize,
    used: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Quota<K> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            used: Arc::default(),
        }
    }

    /// One more of a key, until the permit is dropped; nothing where the key has its share.
    pub(crate) fn permit(&self, key: &K) -> Option<Permit<K>> {
        let mut used = self.used();
        let count = used.entry(key.clone()).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(used);
        Some(Permit {
            quota: self.clone(),
            key: key.clone(),
        })
    }

    fn used(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of what a key may have.
#[derive(Debug)]
pub(crate) struct Permit<K: Eq + Hash + Clone> {
    quota: Quota<K>,
    key: K,
}

impl<K: Eq + Hash + Clone> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut used = self.quota.used();
        if let Some(count) = used.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                used.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_bound_and_unused_keys_are_dropped() {
        let quota = Quota::new(2);
        let (first, second) = (quota.permit(&"a"), quota.permit(&"a"));
        assert!(first.is_some() && second.is_some());
        assert!(quota.permit(&"a").is_none());
        assert!(quota.permit(&"b").is_some());
        drop(first);
        assert!(quota.permit(&"a").is_some());
        drop(second);
        assert!(quota.used().is_empty());
    }
}
