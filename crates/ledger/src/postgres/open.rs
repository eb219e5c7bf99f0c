//! Opening a tenant's ledger, and its transactions.

use siglum_domain::{LedgerId, Tenant, Timestamp};

use super::begun::{self, Ended, TRIES};
use super::blob_store::BlobSettings;
use super::connection::{Link, Own};
use super::error::{self, Fault};
use super::hints;
use super::settings::PostgresSettings;
use super::tx::{Access, Tx};
use super::{check, migrate};
use crate::cancellation::Interruptible;
use crate::sqlite::Open;
use crate::{BlobWork, Cancellation, Durability, Ledger, LedgerError, SearchIndex, Transaction};

/// The ledger of one tenant in PostgreSQL, through one connection.
pub struct PostgresLedger {
    /// Absent after it was lost, until the next transaction.
    link: Option<Link>,
    settings: PostgresSettings,
    id: LedgerId,
    key: [u8; 32],
    /// The database knows no notifications.
    is_mute: bool,
    /// Whether anybody still waits for what it reads; nothing where that is not asked.
    cancellation: Option<Cancellation>,
}

impl PostgresLedger {
    /// Opens the ledger of a tenant. [`Open::Command`] creates and migrates, [`Open::Hook`] does neither; how long
    /// to wait is said by the settings.
    ///
    /// # Errors
    /// [`LedgerError::Unreachable`] where there is no such server, database or role; [`LedgerError::Unwritable`]
    /// where the tenant has none and `how` does not create one; [`LedgerError::TooNew`] and
    /// [`LedgerError::Outdated`] by schema.
    pub fn open(settings: &PostgresSettings, how: Open) -> Result<Self, LedgerError> {
        let mut link = Link::make(settings)?;
        let own = match how {
            Open::Command { id, key } => {
                migrate::migrate(&mut link)?;
                migrate::admit(&mut link)?;
                migrate::settle(&mut link, &settings.tenant, id, key)?
            }
            Open::Hook => {
                migrate::admit(&mut link)?;
                existing(&mut link, &settings.tenant)?
            }
        };
        Ok(Self::on(Some(link), settings.clone(), own))
    }

    /// Brings a store to the schema of this program, and makes no ledger there.
    ///
    /// # Errors
    /// As [`PostgresLedger::open`].
    pub fn prepare(settings: &PostgresSettings) -> Result<(), LedgerError> {
        prepared(settings).map(drop)
    }

    /// The ledger of a tenant, on a connection that others use before and after.
    pub(super) fn on(link: Option<Link>, settings: PostgresSettings, own: Own) -> Self {
        Self {
            link,
            settings,
            id: own.id,
            key: own.key,
            is_mute: false,
            cancellation: None,
        }
    }

    /// Lets what it reads from now on be cancelled, or no more.
    pub fn cancel_by(&mut self, cancellation: Option<Cancellation>) {
        self.cancellation = cancellation;
    }

    /// The connection, if it was not lost.
    pub(super) fn into_link(self) -> Option<Link> {
        self.link
    }

    /// A connection on which a transaction was begun. One that turns out to be lost is made anew.
    fn begun(&mut self, opening: &str) -> Result<Link, LedgerError> {
        if let Some(mut link) = self.link.take().filter(|link| !link.client.is_closed()) {
            match link.client.batch_execute(opening) {
                Ok(()) => return Ok(link),
                Err(error) if error::fault(&error) == Fault::Lost => {}
                Err(error) => return Err(error::refused(error)),
            }
        }
        let mut link = self.again()?;
        let begun = link.client.batch_execute(opening);
        begun.map_err(error::refused)?;
        Ok(link)
    }

    /// The connection, or another one where it was lost.
    fn connected(&mut self) -> Result<Link, LedgerError> {
        let link = self.link.take().filter(|link| !link.client.is_closed());
        link.map_or_else(|| self.again(), Ok)
    }

    /// Another connection to the same ledger.
    fn again(&self) -> Result<Link, LedgerError> {
        let mut link = Link::make(&self.settings)?;
        migrate::admit(&mut link)?;
        if existing(&mut link, &self.settings.tenant)?.id != self.id {
            let what = "another ledger is now at its address".to_owned();
            return Err(LedgerError::Damaged(what));
        }
        Ok(link)
    }

    fn run(
        &mut self,
        durability: Option<Durability>,
        work: &mut dyn FnMut(&mut Tx<'_>) -> Result<(), LedgerError>,
    ) -> Result<(), Ended> {
        let (access, cancellation) = match durability {
            Some(_) => (Access::Write, None),
            None => (Access::Read, self.cancellation.clone()),
        };
        let is_cancelled = || {
            let cancellation = cancellation.as_ref();
            cancellation.is_some_and(Cancellation::is_cancelled)
        };
        if is_cancelled() {
            return Err(Ended::Failed(LedgerError::Cancelled));
        }
        let begun = self.begun(begun::opening(durability));
        // A panic of `work` drops the connection, and with it the transaction.
        let mut link = begun.map_err(Ended::Failed)?;
        link.cancellation.clone_from(&cancellation);
        let running = cancellation.as_ref();
        let running = running.map(|cancellation| cancellation.begin(&link.interrupt));
        let of = (self.settings.tenant.as_str(), self.id, access);
        let done = begun::run(&mut link, of, self.settings.blobs.as_ref(), work);
        link.cancellation = None;
        // What is to end its statement may come late, and would end one of somebody else.
        let was_interrupted = running.is_some_and(Interruptible::end);
        if !was_interrupted && !matches!(done, Err(Ended::Lost(_))) {
            self.link = Some(link);
        }
        done.map_err(|ended| match is_cancelled() {
            true => Ended::Failed(LedgerError::Cancelled),
            false => ended,
        })
    }

    /// The connection, if it was not lost.
    #[cfg(test)]
    pub(super) fn link(&mut self) -> Option<&mut Link> {
        self.link.as_mut()
    }

    /// Where its large payloads are kept, if anywhere but in the database.
    pub(super) fn blobs(&self) -> Option<BlobSettings> {
        self.settings.blobs.clone()
    }

    /// Runs verbs of this store in a transaction that writes, again where it meets others.
    pub(super) fn run_again(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut Tx<'_>) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        for tries in 0..TRIES {
            match self.run(Some(durability), work) {
                Ok(()) => return Ok(()),
                Err(Ended::Failed(error) | Ended::Lost(error)) => return Err(error),
                Err(Ended::Conflict) => std::thread::sleep(begun::pause(tries)),
            }
        }
        Err(LedgerError::Busy)
    }

    /// Runs verbs of this store in a transaction that reads.
    pub(super) fn run_once(
        &mut self,
        work: &mut dyn FnMut(&mut Tx<'_>) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.run(None, work).map_err(|ended| match ended {
            Ended::Conflict => LedgerError::Busy,
            Ended::Failed(error) | Ended::Lost(error) => error,
        })
    }
}

/// A connection to a store that was brought to the schema of this program.
pub(super) fn prepared(settings: &PostgresSettings) -> Result<Link, LedgerError> {
    let mut link = Link::make(settings)?;
    migrate::migrate(&mut link)?;
    migrate::admit(&mut link)?;
    Ok(link)
}

/// What a tenant's ledger says of itself. Refuses where there is none.
pub(super) fn existing(link: &mut Link, tenant: &Tenant) -> Result<Own, LedgerError> {
    migrate::own(link, tenant)?.ok_or_else(|| {
        let what = format!("the store has no ledger for tenant {tenant}");
        LedgerError::Unwritable(what.into())
    })
}

impl Ledger for PostgresLedger {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.run_once(&mut |tx| work(tx))
    }

    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.run_again(durability, &mut |tx| work(tx))
    }

    /// Nothing: the server keeps its own files in order.
    fn maintain(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn announce(&mut self) {
        // A connection that was lost says so once.
        for _ in 0..2 {
            if self.is_mute {
                return;
            }
            let Ok(mut link) = self.connected() else {
                return;
            };
            let sent = hints::tell(&mut link, self.id);
            match sent.map_err(|error| error::fault(&error)) {
                Err(Fault::Lost) => continue,
                sent => self.is_mute = sent.is_err(),
            }
            self.link = Some(link);
            return;
        }
    }

    fn keep_blobs(&mut self, at: Timestamp) -> Result<BlobWork, LedgerError> {
        self.tend_blobs(at)
    }

    /// Deletes the blobs of what was erased, and lets the server take out the old versions of rows. It does so where no
    /// older transaction can see them any more. Their bytes in its files are free then and not overwritten at once, and its own log and
    /// the backups of it keep what they have: those have a time to live of their own.
    fn scrub(&mut self) -> Result<(), LedgerError> {
        let mut link = self.connected()?;
        migrate::scrub(&mut link, self.settings.statement)?;
        self.link = Some(link);
        self.delete_freed_blobs()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        let mut wrong = Vec::new();
        self.run_once(&mut |tx| {
            wrong = check::problems(tx)?;
            Ok(())
        })?;
        wrong.extend(self.blob_problems()?);
        Ok(wrong)
    }

    fn index(&mut self) -> Result<&mut dyn SearchIndex, LedgerError> {
        Ok(self)
    }
}
