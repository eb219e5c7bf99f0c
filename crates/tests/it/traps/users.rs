//! Two users of one machine with one repository: each has a ledger of their own.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::COMMIT;
use crate::harness::{Agent, Ran, Repo, World, left_out};

/// A user id that nobody has.
const OTHER: u32 = 54_321;

/// Another user, with a home of their own, who shares a repository with the first.
struct Neighbour<'w> {
    repo: Repo<'w>,
    home: PathBuf,
}

impl<'w> Neighbour<'w> {
    /// Nothing where we may not be two users.
    fn new(repo: &Repo<'w>) -> Option<Self> {
        let allowed = repo.sh(&format!("setpriv --reuid {OTHER} --clear-groups true"));
        if allowed.code != Some(0) {
            left_out("only root can be two users");
            return None;
        }
        let home = repo.world.root.join("neighbour");
        let root = repo.world.root.display();
        repo.sh(&format!(
            "chmod 755 '{root}' '{root}/siglum' '{root}/siglum/bin' && mkdir '{home}' && \
             chown {OTHER} '{home}' && git config core.sharedRepository world && \
             chmod -R a+rwX .git .",
            home = home.display()
        ))
        .ok();
        let repo = repo.clone();
        Some(Self { repo, home })
    }

    /// The start of a shell command as this user.
    fn becomes(&self) -> String {
        let home = self.home.display();
        format!(
            "env HOME='{home}' SIGLUM_HOME='{home}/siglum' GIT_CONFIG_COUNT=1 \
             GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
             setpriv --reuid {OTHER} --clear-groups"
        )
    }

    fn runs(&self, command: &str) -> Ran {
        self.repo.sh(&format!("{} {command}", self.becomes()))
    }

    /// The answer of this user's ledger, as text.
    fn why(&self, revision: &str) -> String {
        let program = World::program();
        let command = format!("'{}' why {revision} --json", program.display());
        self.runs(&command).ok()
    }
}

#[test]
fn each_ledger_knows_its_own_users_sessions_only() {
    let world = World::new();
    let repo = world.repo();
    let Some(neighbour) = Neighbour::new(&repo) else {
        return;
    };
    let mut agent = Agent::start(&repo, "mine");
    let call = agent.shell_call("sleep 60");
    agent.hook("PreToolUse", call.clone());
    let ran = neighbour.runs("git commit -q --allow-empty -m theirs");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    let theirs = repo.id("HEAD");
    let log = agent.bare_sh("git log -1");
    agent.shell_returned(call, &log);
    let why = repo.why(&theirs);
    assert!(!why.committer().starts_with("mine"), "{why}");
    repo.recency_errs("the neighbour");
    agent.sh(COMMIT).ok();
    repo.check("mine", "HEAD", &agent.certain());
    let answer = neighbour.why("HEAD");
    assert!(answer.contains("which is not in this ledger"), "{answer}");
    assert!(answer.contains("\"verdict\":\"unknown\""), "{answer}");
}

#[test]
fn hooks_of_one_user_are_silent_where_the_spool_is_the_others() {
    let world = World::new();
    let repo = world.repo();
    let Some(neighbour) = Neighbour::new(&repo) else {
        return;
    };
    let siglum = repo.dir.join(".git/siglum");
    let spool = siglum.join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    for dir in [&siglum, &spool] {
        std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&neighbour.home, PermissionsExt::from_mode(0o555)).unwrap();
    let ran = neighbour.runs("git commit -q --allow-empty -m 'nowhere to write'");
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", ""),
        "{ran:#?}"
    );
    repo.check("not mine", "HEAD", "unknown unknown");
    std::fs::set_permissions(world.siglum_home(), PermissionsExt::from_mode(0o700)).unwrap();
    let ran = neighbour.runs("git commit -q --allow-empty -m 'no program that they may run'");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    repo.check("not mine either", "HEAD", "unknown unknown");
}

#[test]
fn what_waits_for_another_user_is_left_to_them() {
    let world = World::new();
    let repo = world.repo();
    let Some(neighbour) = Neighbour::new(&repo) else {
        return;
    };
    let spool = repo.dir.join(".git/siglum/spool");
    std::fs::create_dir_all(&spool).unwrap();
    std::fs::set_permissions(&spool, PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::set_permissions(&neighbour.home, PermissionsExt::from_mode(0o555)).unwrap();
    neighbour.runs("git commit -q --allow-empty -m theirs").ok();
    let waiting = || std::fs::read_dir(&spool).unwrap().count();
    let before = waiting();
    assert!(before > 0, "it waits in the repository");
    repo.siglum(&["why", "HEAD"]).ok();
    assert_eq!(waiting(), before, "nobody else takes it");
    std::fs::set_permissions(&neighbour.home, PermissionsExt::from_mode(0o755)).unwrap();
    neighbour.why("HEAD");
    assert_eq!(waiting(), 0, "they took it themselves");
}

/// The hooks would run their program, or none, and what they leave in the repository would be out of their reach.
#[test]
fn what_one_user_enabled_is_left_alone_by_another() {
    let world = World::new();
    let repo = world.repo();
    let Some(neighbour) = Neighbour::new(&repo) else {
        return;
    };
    let git = repo.dir.join(".git");
    let hook = git.join("hooks/post-commit");
    let before = std::fs::read(&hook).unwrap();
    let program = World::program();
    let refuse = |command: &str| {
        let ran = neighbour.runs(&format!("'{}' {command}", program.display()));
        assert_eq!(ran.code, Some(1), "{command}: {ran:#?}");
        assert!(ran.stderr.contains("another user"), "{command}: {ran:#?}");
        assert!(git.join("siglum").is_dir(), "{command}");
    };
    for command in ["init --dry-run", "init --yes", "uninstall --yes"] {
        refuse(command);
        assert_eq!(std::fs::read(&hook).unwrap(), before, "{command}");
    }
    // Their home cannot be looked into.
    std::fs::set_permissions(&world.root, PermissionsExt::from_mode(0o711)).unwrap();
    std::fs::set_permissions(world.siglum_home(), PermissionsExt::from_mode(0o700)).unwrap();
    refuse("init --yes");
    assert_eq!(std::fs::read(&hook).unwrap(), before);
    let global = format!("'{}' uninstall --global --yes", program.display());
    let ran = neighbour.runs(&global);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(std::fs::read(&hook).unwrap(), before);
    // Without hooks, the directory tells.
    std::fs::remove_dir_all(git.join("hooks")).unwrap();
    std::fs::set_permissions(git.join("siglum"), PermissionsExt::from_mode(0o700)).unwrap();
    for command in ["init --yes", "uninstall --yes"] {
        refuse(command);
        assert!(!git.join("hooks/post-commit").exists(), "{command}");
    }
    repo.siglum(&["init", "--yes"]).ok();
    repo.siglum(&["uninstall", "--yes"]).ok();
    assert!(!git.join("siglum").exists());
}

/// What the ledger cannot take would be lost there.
#[test]
fn a_spool_that_cannot_be_written_to_is_reported() {
    let world = World::new();
    let repo = world.repo();
    let spools = [
        world.siglum_home().join("spool"),
        repo.dir.join(".git/siglum/spool"),
    ];
    // Root writes everywhere, so somebody else looks.
    let becomes = match rustix::process::geteuid().is_root() {
        true => format!(
            "chown -R {OTHER} '{}' && setpriv --reuid {OTHER} --clear-groups",
            world.root.display()
        ),
        false => String::new(),
    };
    let doctor = format!("{becomes} '{}' doctor", World::program().display());
    repo.sh(&doctor).ok();
    for spool in spools {
        std::fs::create_dir_all(&spool).unwrap();
        std::fs::set_permissions(&spool, PermissionsExt::from_mode(0o500)).unwrap();
        let ran = repo.sh(&doctor);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains("Make it writable"), "{ran:?}");
        std::fs::set_permissions(&spool, PermissionsExt::from_mode(0o700)).unwrap();
        repo.sh(&doctor).ok();
    }
}
