//! How a verb goes wrong, by its kind.

use super::{BrokenTx, Fault};

impl BrokenTx<'_> {
    fn forgets(&self, verb: &'static str) -> bool {
        self.state.fault == Fault::Blind(verb)
            || (self.state.fault == Fault::Forgets(verb) && self.state.nth > 0)
    }

    /// Whether this call of a verb that writes gets lost.
    pub(super) fn lost(&mut self, verb: &'static str) -> bool {
        match self.state.fault {
            Fault::Lost(faulty) => faulty == verb,
            Fault::Alternate(faulty) if faulty == verb => {
                self.state.calls += 1;
                self.state.calls.is_multiple_of(2)
            }
            _ => false,
        }
    }

    pub(super) fn faulty_lookup<T>(&self, verb: &'static str, found: Option<T>) -> Option<T> {
        found.filter(|_| !self.forgets(verb))
    }

    pub(super) fn listed<T: Clone>(&self, verb: &'static str, mut rows: Vec<T>) -> Vec<T> {
        match self.state.fault {
            _ if self.forgets(verb) => rows.clear(),
            Fault::Reversed(faulty) if faulty == verb => rows.reverse(),
            Fault::Shortened(faulty) if faulty == verb => {
                rows.pop();
            }
            Fault::Doubled(faulty) if faulty == verb && !rows.is_empty() => {
                rows.insert(0, rows[0].clone());
            }
            _ => {}
        }
        rows
    }

    pub(super) fn most(&self, verb: &'static str, limit: usize) -> usize {
        if self.state.fault == Fault::Unlimited(verb) {
            1_000_000
        } else {
            limit
        }
    }

    pub(super) fn ignores(&self, verb: &'static str, argument: &'static str) -> bool {
        self.state.fault == Fault::Ignores(verb, argument)
    }
}

/// Implements a trait of verbs: each is done by the good store, and goes wrong by its kind. The
/// limit of a list stands behind a semicolon. Verbs of the kind `Own` are methods of `BrokenTx`.
macro_rules! broken {
    ($trait:ident, $verbs:ident, $limited:ident;
        $($kind:ident $name:ident($($arg:ident: $ty:ty),* $(; $limit:ident)?) -> $out:ty;)*) => {
        pub(super) const $verbs: &[(Kind, &str)] = &[$((Kind::$kind, stringify!($name))),*];
        pub(super) const $limited: &[&str] =
            [$($({ stringify!($limit); stringify!($name) },)?)*].as_slice();
        impl $trait for BrokenTx<'_> {
            $(fn $name(&mut self, $($arg: $ty,)* $($limit: usize)?) -> Result<$out, LedgerError> {
                self.state.note(stringify!($name));
                $(let $limit = self.most(stringify!($name), $limit);)?
                broken!(@$kind self $name ($($arg,)* $($limit)?))
            })*
        }
    };
    (@Write $self:ident $name:ident $args:tt) => {
        if $self.lost(stringify!($name)) { Ok(()) } else { $self.good.$name $args }
    };
    (@WriteOnce $self:ident $name:ident $args:tt) => {
        broken!(@Write $self $name $args)
    };
    (@Find $self:ident $name:ident $args:tt) => {{
        let found = $self.good.$name $args?;
        Ok($self.faulty_lookup(stringify!($name), found))
    }};
    (@List $self:ident $name:ident $args:tt) => {{
        let rows = $self.good.$name $args?;
        Ok($self.listed(stringify!($name), rows))
    }};
    (@Bag $self:ident $name:ident $args:tt) => {
        broken!(@List $self $name $args)
    };
    (@Own $self:ident $name:ident $args:tt) => {
        $self.$name $args
    };
}

pub(super) use broken;
