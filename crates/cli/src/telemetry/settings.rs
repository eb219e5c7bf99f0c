//! Switching the agents' telemetry on and off: their settings, and the token.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use siglum_agents::{Export, SettingsFile, TELEMETRY, TelemetrySpec, find};
use siglum_domain::access::{Limits, Scope, Secret};
use siglum_domain::{TokenId, TokenName};
use siglum_egress::{Address, Plain};
use siglum_engine::identity::access::{self, AccessError, NewToken};
use siglum_ledger::read;

use super::{Kept, KeptFile, VERSION};
use crate::clock::Ids;
use crate::cx::Cx;
use crate::error::{CommandError, Kind};
use crate::settings_change::{Mode, SettingsChange, refused};
use crate::{env, gateway, store};

/// Where a gateway listens unless told otherwise.
const GATEWAY: &str = "http://127.0.0.1:7477";
/// Who may read a file with a token.
const OWNER_ALONE: u32 = 0o600;
/// What is shown in place of the text of a token.
const HIDDEN: &str = "siglum_…";

/// Where telemetry is to go.
pub struct SetupOptions<'a> {
    pub gateway: Option<&'a str>,
    pub plain: Plain,
    /// The file with the token that another machine's gateway gave.
    pub token_file: Option<&'a Path>,
}

/// What is to be set up.
pub struct Setup {
    kept: Kept,
    /// The token that is not known yet.
    new: Option<(TokenId, Secret)>,
    /// The token whose place it takes.
    old: Option<TokenId>,
    /// What the person should know.
    pub notes: Vec<String>,
    /// Texts that nothing prints.
    pub hidden: Vec<String>,
}

impl Setup {
    /// Where the agents are to send it.
    pub fn gateway(&self) -> &str {
        &self.kept.gateway
    }

    /// Adds to the changes what switches the telemetry of the agents that are here on.
    pub fn plan(
        options: &SetupOptions<'_>,
        cx: &Cx,
        changes: &mut Vec<SettingsChange>,
    ) -> Result<Self, CommandError> {
        let before = Kept::read(&cx.home)?;
        let known = before.as_ref().map(|kept| kept.gateway.as_str());
        let address =
            gateway::address(options.gateway.or(known).unwrap_or(GATEWAY), options.plain)?;
        let standing = before.as_ref().filter(|kept| {
            kept.gateway == address.as_str() && options.token_file.is_none() && holds(cx, kept)
        });
        let (token, new) = match standing {
            Some(kept) => (kept.token.clone(), None),
            None => token(options, &address)?,
        };
        let mut setup = Self {
            kept: Kept {
                version: VERSION,
                gateway: address.as_str().to_owned(),
                id: match &new {
                    Some((id, _)) => Some(*id),
                    None => standing.and_then(|kept| kept.id),
                },
                token,
                files: Vec::new(),
            },
            old: before
                .as_ref()
                .filter(|_| standing.is_none())
                .and_then(|kept| kept.id),
            new,
            notes: Vec::new(),
            hidden: Vec::new(),
        };
        setup.hidden.push(setup.kept.token.clone());
        setup
            .hidden
            .extend(before.iter().map(|kept| kept.token.clone()));
        for spec in present() {
            setup.add(spec, before.as_ref(), changes)?;
        }
        setup.notes.push(
            "GitHub Copilot CLI reads endpoint and token only from its environment: start it with `siglum run`".to_owned(),
        );
        Ok(setup)
    }

    /// Adds what one agent needs. What was set up otherwise before is taken out first.
    fn add(
        &mut self,
        spec: &TelemetrySpec,
        before: Option<&Kept>,
        changes: &mut Vec<SettingsChange>,
    ) -> Result<(), CommandError> {
        let wrong = |error| refused(&error, "init --telemetry");
        let (disk, mut files) = files(spec, changes)?;
        let export = self.kept.export();
        let stays = before.filter(|kept| kept.export() == export);
        if let (Some(kept), None) = (before, stays) {
            let left = undone(spec, &files, kept).map_err(wrong)?;
            for (file, text) in files.iter_mut().zip(left) {
                file.text = text;
            }
        }
        let plan = spec.plan(&files, &export).map_err(wrong)?;
        let is_on = plan.added.iter().any(|added| !added.is_empty()) || stays.is_some();
        self.notes.extend(plan.kept);
        self.notes
            .extend(spec.note.filter(|_| is_on).map(str::to_owned));
        for (at, (file, mut added)) in disk.iter().zip(plan.added).enumerate() {
            let earlier = before.and_then(|kept| kept.file(&file.path));
            let still = stays
                .and(earlier)
                .into_iter()
                .flat_map(|file| file.added.clone());
            added.extend(still);
            if added.is_empty() {
                continue;
            }
            added.sort();
            added.dedup();
            let secret = spec.holds_token(at);
            let open = mode(&file.path).filter(|mode| secret && *mode != OWNER_ALONE);
            self.kept.files.push(KeptFile {
                path: file.path.clone(),
                added,
                mode: earlier.and_then(|file| file.mode).or(open),
            });
        }
        for (at, (file, text)) in disk.into_iter().zip(plan.texts).enumerate() {
            let ours = self.kept.file(&file.path).is_some() && spec.holds_token(at);
            let mode = if ours {
                Mode::To(OWNER_ALONE)
            } else {
                Mode::AsItIs
            };
            change(changes, file, text, mode);
        }
        Ok(())
    }

    /// Makes the token known and remembers what is about to be added.
    pub fn apply(&self, cx: &Cx) -> Result<(), CommandError> {
        if let Some((id, secret)) = &self.new {
            let new = NewToken {
                id: *id,
                digest: secret.digest(),
                scope: Scope::Telemetry,
                limits: Limits::default(),
                name: TokenName::new("telemetry").expect("because it keeps to the grammar"),
                by: cx.person(),
                expires_at: None,
            };
            access::issue(&*cx.world()?, store::begin(cx)?.as_mut(), &new)?;
        }
        self.kept.write(&cx.home)
    }

    /// The token that nothing needs any more is worth nothing.
    pub fn finish(&self, cx: &Cx) -> Result<(), CommandError> {
        revoke(cx, self.old)
    }
}

/// What is to be taken out.
pub struct Undoing {
    id: Option<TokenId>,
    pub hidden: Vec<String>,
}

impl Undoing {
    /// Adds to the changes what switches the telemetry off, if it is on.
    pub fn plan(cx: &Cx, changes: &mut Vec<SettingsChange>) -> Result<Option<Self>, CommandError> {
        let Some(kept) = Kept::read(&cx.home)? else {
            return Ok(None);
        };
        for spec in TELEMETRY {
            let (disk, files) = files(spec, changes)?;
            let left = undone(spec, &files, &kept).map_err(|error| refused(&error, "uninstall"))?;
            for (file, text) in disk.into_iter().zip(left) {
                let mode = kept.file(&file.path).and_then(|file| file.mode);
                change(changes, file, text, mode.map_or(Mode::AsItIs, Mode::To));
            }
        }
        Ok(Some(Self {
            id: kept.id,
            hidden: vec![kept.token],
        }))
    }

    /// Revokes the token. The settings do not name it any more.
    pub fn finish(&self, cx: &Cx) -> Result<(), CommandError> {
        revoke(cx, self.id)
    }
}

/// A text without the secrets in it.
pub fn without(text: &str, hidden: &[String]) -> String {
    let hide = |text: String, secret: &String| text.replace(secret, HIDDEN);
    hidden.iter().fold(text.to_owned(), hide)
}

/// The agents that were ever used here; where none was, those that are prepared for.
fn present() -> Vec<&'static TelemetrySpec> {
    let here = |spec: &&TelemetrySpec| env::telemetry_dir(spec).is_dir();
    let found: Vec<_> = TELEMETRY.iter().filter(here).collect();
    match found.is_empty() {
        true => TELEMETRY
            .iter()
            .filter(|s| find(s.agent).is_some())
            .collect(),
        false => found,
    }
}

/// Whether the token is still worth anything, as far as this machine's store knows it.
fn holds(cx: &Cx, kept: &Kept) -> bool {
    let Some(id) = kept.id else {
        return true;
    };
    let known =
        store::open(cx).and_then(|mut ledger| Ok(read(ledger.as_mut(), |tx| tx.token(id))?));
    matches!(known, Ok(Some(token)) if token.revoked_at.is_none())
}

/// The token by which the gateway knows the agents: made here for one on this machine, else given.
fn token(
    options: &SetupOptions<'_>,
    address: &Address,
) -> Result<(String, Option<(TokenId, Secret)>), CommandError> {
    if let Some(file) = options.token_file {
        let token = gateway::token_file(file)?;
        return Ok((token.reveal().to_owned(), None));
    }
    if !address.is_loopback() {
        return Err(CommandError::usage(format!(
            "{address} is on another machine, which must create the token"
        ))
        .hint("Run `siglum token create --telemetry` there, and pass the token with `--token-file FILE`."));
    }
    let secret = store::new_secret()?;
    Ok((
        secret.reveal().to_owned(),
        Some((TokenId::mint(&Ids), secret)),
    ))
}

fn revoke(cx: &Cx, id: Option<TokenId>) -> Result<(), CommandError> {
    let Some(id) = id else {
        return Ok(());
    };
    let mut ledger = match store::open(cx) {
        // Without its tenant there is no token either.
        Err(error) if error.kind == Kind::NotFound => return Ok(()),
        opened => opened?,
    };
    match access::revoke(&*cx.world()?, ledger.as_mut(), id, &cx.person()) {
        Ok(_) | Err(AccessError::Unknown) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The files of an agent: as they are, and as they are to be after the changes so far.
fn files(
    spec: &TelemetrySpec,
    changes: &[SettingsChange],
) -> Result<(Vec<SettingsFile>, Vec<SettingsFile>), CommandError> {
    let disk = env::read_settings(spec.settings(&env::telemetry_dir(spec)));
    let disk = disk.map_err(|error| refused(&error, "init --telemetry"))?;
    let changed = |file: &SettingsFile| {
        let change = changes.iter().find(|change| change.path == file.path);
        change.map_or_else(|| file.text.clone(), |change| change.after.clone())
    };
    let after = disk.iter().map(|file| SettingsFile {
        path: file.path.clone(),
        text: changed(file),
    });
    let after = after.collect();
    Ok((disk, after))
}

/// The texts without what was added before.
fn undone(
    spec: &TelemetrySpec,
    files: &[SettingsFile],
    kept: &Kept,
) -> Result<Vec<Option<String>>, siglum_agents::SettingsError> {
    let added = |file: &SettingsFile| kept.file(&file.path).map(|f| f.added.clone());
    let added: Vec<Vec<String>> = files.iter().map(|f| added(f).unwrap_or_default()).collect();
    spec.undo(files, &kept.export(), &added)
}

/// Notes what a file is to hold in the end.
fn change(
    changes: &mut Vec<SettingsChange>,
    file: SettingsFile,
    after: Option<String>,
    mode: Mode,
) {
    let at = changes.iter().position(|change| change.path == file.path);
    let before = file.text.clone();
    if before == after {
        if let Some(at) = at {
            changes.remove(at);
        }
        return;
    }
    let change = SettingsChange {
        path: file.path,
        before,
        after,
        mode,
    };
    match at {
        Some(at) => changes[at] = change,
        None => changes.push(change),
    }
}

/// Who may read a file that is there.
fn mode(path: &PathBuf) -> Option<u32> {
    Some(fs::metadata(path).ok()?.permissions().mode() & 0o777)
}

/// Where the export goes that an agent's settings are compared with.
pub fn export(cx: &Cx) -> Result<Option<(Kept, Export)>, CommandError> {
    let kept = Kept::read(&cx.home)?;
    Ok(kept.map(|kept| {
        let export = kept.export();
        (kept, export)
    }))
}
