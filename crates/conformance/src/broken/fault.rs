//! What can be wrong with a store.

/// One fault. The name is that of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The verb writes nothing and says that it did.
    Lost(&'static str),
    /// The verb writes nothing every second time.
    Alternate(&'static str),
    /// The verb finds nothing.
    Blind(&'static str),
    /// The verb finds nothing on a handle that was opened later.
    Forgets(&'static str),
    /// The verb lists the wrong way round.
    Reversed(&'static str),
    /// The verb leaves out the last row.
    Shortened(&'static str),
    /// The verb lists its first row twice.
    Doubled(&'static str),
    /// The verb does not keep to its limit.
    Unlimited(&'static str),
    /// The verb does not look at this argument.
    Ignores(&'static str, &'static str),
    /// The verb says yes, whatever comes of it.
    Affirms(&'static str),
    /// The verb says no, whatever comes of it.
    Denies(&'static str),
    /// The number or time that the verb gives or notes goes back.
    GoesBack(&'static str),
    /// The verb counts one too many.
    OneMore(&'static str),
    /// The verb does to every projection what it is told to do to one.
    Spreads(&'static str),
    /// After the verb nothing is due.
    Undue(&'static str),
    /// The verb loses what waits in the open turn.
    DropsPending(&'static str),
    /// What waits in an open turn stays when it goes.
    KeepsPending,
    /// An entry that waits is taken once more.
    PendsTwice,
    /// A receipt is stored without the key of its driver.
    LosesKey,
    /// A key stands for any number of receipts, and the last one counts.
    KeyMoves,
    /// What is set aside is claimed.
    ClaimsParked,
    /// The verb leaves set aside what is so.
    StaysParked(&'static str),
    /// The verb never lets a sink have less.
    OnlyForward(&'static str),
    /// An observation that is known is stored again.
    TakesTwice,
    /// Every place in a log is one too high.
    Miscounts,
    /// Long texts are cut.
    Cuts,
    /// A receipt that does not follow is said to be stored.
    SaysForked,
    /// A turn, a repository or a statement gets what the caller offers, known or not.
    TakesFresh,
    /// Pins of a checkpoint that is there are not added.
    DropsPins,
    /// What a failed transaction wrote stays.
    HalfCommits,
    /// What a part of a transaction wrote before it failed stays.
    HalfNested,
    /// A transaction that failed says that it succeeded.
    SwallowsErrors,
    /// A failed transaction gives an error of the store.
    OtherError,
    /// Each handle has a store of its own.
    Separate,
    /// Each handle has a key of its own.
    NewKey,
}

impl Fault {
    /// The verb that goes wrong, if it is one alone.
    pub(super) fn verb(self) -> Option<&'static str> {
        match self {
            Self::Lost(verb)
            | Self::Alternate(verb)
            | Self::Blind(verb)
            | Self::Forgets(verb)
            | Self::Reversed(verb)
            | Self::Shortened(verb)
            | Self::Doubled(verb)
            | Self::Unlimited(verb)
            | Self::Ignores(verb, _)
            | Self::Affirms(verb)
            | Self::Denies(verb)
            | Self::GoesBack(verb)
            | Self::OneMore(verb)
            | Self::Spreads(verb)
            | Self::Undue(verb)
            | Self::DropsPending(verb)
            | Self::StaysParked(verb)
            | Self::OnlyForward(verb) => Some(verb),
            _ => None,
        }
    }
}

/// What a verb does, as far as faults go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It writes and says nothing.
    Write,
    /// It writes, and once is enough: a second call never changes anything.
    WriteOnce,
    /// It finds one thing.
    Find,
    /// It lists in an order.
    List,
    /// It lists in no order.
    Bag,
    /// It has faults of its own, too, and else only finds or writes a value.
    Own,
}

impl Kind {
    /// The faults that a verb of this kind can have.
    pub(super) fn faults(self, verb: &'static str) -> Vec<Fault> {
        use Fault::{Alternate, Blind, Doubled, Forgets, Lost, Reversed, Shortened};
        match self {
            Self::Write => vec![Lost(verb), Alternate(verb)],
            Self::WriteOnce => vec![Lost(verb)],
            Self::Find => vec![Blind(verb), Forgets(verb)],
            Self::Bag => vec![Shortened(verb), Doubled(verb), Blind(verb), Forgets(verb)],
            Self::List => [Self::Bag.faults(verb), vec![Reversed(verb)]].concat(),
            Self::Own => Vec::new(),
        }
    }
}
