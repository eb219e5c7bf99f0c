//! A commit whose answer is lost, on a store that cannot be asked afterwards.

use siglum_domain::LedgerId;

use super::*;

/// How a store goes on that has lost an answer.
#[derive(Debug, Clone, Copy)]
enum Then {
    Unreachable,
    Busy,
    Unwritable,
    /// It is there for the connection, and goes before the transaction is at its end.
    GoneInside,
}

impl Then {
    fn error(self) -> LedgerError {
        match self {
            Self::Unreachable | Self::GoneInside => LedgerError::Unreachable("gone".into()),
            Self::Busy => LedgerError::Busy,
            Self::Unwritable => LedgerError::Unwritable("full".into()),
        }
    }
}

/// A store that loses the answer of one write, and is out of reach from then on.
struct Lossy<'a> {
    inner: &'a mut dyn Ledger,
    /// Whether the write whose answer is lost is stored.
    stores: bool,
    lost: bool,
    then: Then,
}

type Work<'a> = &'a mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>;

impl Ledger for Lossy<'_> {
    fn id(&self) -> LedgerId {
        self.inner.id()
    }

    fn key(&self) -> [u8; 32] {
        self.inner.key()
    }

    fn read(&mut self, work: Work<'_>) -> Result<(), LedgerError> {
        match self.lost {
            true => Err(self.then.error()),
            false => self.inner.read(work),
        }
    }

    fn write(&mut self, durability: Durability, work: Work<'_>) -> Result<(), LedgerError> {
        if self.lost {
            return match self.then {
                Then::GoneInside => self.inner.write(durability, &mut |tx| {
                    work(tx)?;
                    Err(self.then.error())
                }),
                then => Err(then.error()),
            };
        }
        self.lost = true;
        let stores = self.stores;
        let lost = || LedgerError::Unknown("cut".into());
        self.inner.write(durability, &mut |tx| {
            work(tx)?;
            stores.then_some(()).ok_or_else(lost)
        })?;
        Err(lost())
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        self.inner.maintain()
    }

    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        self.inner.maintain_at_work()
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.inner.scrub()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        self.inner.check()
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_never_called_not_committed() {
    for then in [
        Then::Unreachable,
        Then::Busy,
        Then::Unwritable,
        Then::GoneInside,
    ] {
        for stores in [true, false] {
            let (mut stage, session, mut driver) = driving();
            let error = act(&mut stage, |world, inner| {
                let mut lossy = Lossy {
                    inner,
                    stores,
                    lost: false,
                    then,
                };
                let done = driver.commit(world, &mut lossy, "t1", &[stop()]);
                done.unwrap_err()
            });
            assert_eq!(
                error.code(),
                "unknown",
                "{then:?}, stored {stores}: {error}"
            );
            assert_eq!(error.fate(), Fate::Unknown);
            assert_eq!(log(&mut stage, session).len(), usize::from(stores));
            // Asked again where it can be, the store says which it was.
            let done = act(&mut stage, |world, ledger| {
                driver.commit(world, ledger, "t1", &[stop()]).unwrap()
            });
            assert_eq!(done.already, stores);
            assert_eq!(log(&mut stage, session), ["stopped"]);
        }
    }
}

#[test]
fn a_store_that_was_out_of_reach_all_along_has_stored_nothing() {
    let (mut stage, session, mut driver) = driving();
    let error = act(&mut stage, |world, inner| {
        let mut lossy = Lossy {
            inner,
            stores: false,
            lost: true,
            then: Then::Unreachable,
        };
        let done = driver.commit(world, &mut lossy, "t1", &[stop()]);
        done.unwrap_err()
    });
    assert_eq!((error.code(), error.fate()), ("store", Fate::NotCommitted));
    assert_eq!(log(&mut stage, session), [""; 0]);
}
