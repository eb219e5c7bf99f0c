//! A server of PostgreSQL that goes back to a moment, by the words of the page for operators.
//!
//! The commands are read out of the page and run. What they need of a machine with Debian, this machine plays: `sudo`
//! becomes the user of the server, `systemctl` starts and stops a server of this test, and `pg_lsclusters` lists it.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::client::{id, secret, turn_body};
use super::server::{Gateway, Store, base};
use crate::faults::store::on_the_database;
use crate::harness::{World, left_out};

const PAGE: &str = include_str!("../../../../docs/guide/operate.md");

/// The directory of the backups, in the page.
const BACKUPS: &str = "/var/backups/siglum";

/// What the commands of the page meet. `$root` is the directory of all that is here.
const MACHINE: &str = r#"
set -eu
newest=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
command -v initdb >/dev/null || PATH=$PATH:$newest
# PostgreSQL does not run as root.
user=$(id -un)
if [ "$(id -u)" = 0 ]; then
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
fi
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups "$@"
    else
        "$@"
    fi
}
sudo() {
    if [ "$1" = -u ]; then
        shift 2
        as_owner "$@"
    else
        "$@"
    fi
}
server() {
    as_owner pg_ctl -s -w -t 60 -D "$root/17/main" -l "$root/server.log" "$@"
}
start_server() {
    # The machine does not fail here: what was written is there without `fsync`.
    server start -o "-k $root -c listen_addresses= -c fsync=off"
}
systemctl() {
    case "$*" in
    "stop postgresql@17-main") server stop -m fast ;;
    "start postgresql@17-main") start_server ;;
    "restart postgresql") server stop -m fast && start_server ;;
    "stop siglum-gateway" | "start siglum-gateway") ;;
    *) echo "systemctl $*: not played" >&2 && return 1 ;;
    esac
}
pg_lsclusters() {
    [ "$*" = -h ]
    echo "17 main 5432 online $user $root/17/main $root/server.log"
}
gateway() {
    SIGLUM_STORE=$store SIGLUM_TENANT=tests "$siglum" "$@"
}
export PGHOST="$root" PGUSER=postgres
store=postgres://siglum@$(echo "$root" | sed 's|/|%2F|g')/siglum
"#;

/// A machine with a server of its own.
struct Machine {
    world: World,
}

impl Machine {
    /// None where the programs of PostgreSQL are not.
    fn with_a_server() -> Option<Self> {
        let machine = Self {
            world: World::new(),
        };
        let root = &machine.world.root;
        // The user of the server has its files below it.
        std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o755)).unwrap();
        machine.run("command -v initdb setpriv")?;
        machine.must(
            r#"
            install -d -o "$user" -m 0700 "$root/17"
            install -o "$user" -m 0600 /dev/null "$root/server.log"
            chown "$user" "$root"
            as_owner initdb -D "$root/17/main" -U postgres -A trust -E UTF8 --locale=C --no-sync
            start_server
            "#,
        );
        machine.must(
            r#"psql -d postgres -c "CREATE ROLE siglum LOGIN" -c "CREATE DATABASE siglum OWNER siglum""#,
        );
        Some(machine)
    }

    /// What a script prints, if it succeeds.
    fn run(&self, script: &str) -> Option<String> {
        let mut shell = self.world.command("/bin/sh");
        let backups = self.world.root.join("backups");
        let script = script.replace(BACKUPS, backups.to_str().unwrap());
        shell.args(["-c", &format!("{MACHINE}\n{script}")]);
        shell.env("root", &self.world.root);
        shell.env("siglum", World::program());
        // A server that this starts keeps what it inherits: no pipe may be among it.
        let output = |name: &str| std::fs::File::create(self.world.root.join(name)).unwrap();
        shell.stdout(output("stdout")).stderr(output("stderr"));
        let status = shell.status().unwrap();
        let text = |name: &str| std::fs::read_to_string(self.world.root.join(name)).unwrap();
        if !status.success() {
            eprintln!("{script}\n{status}\n{}{}", text("stdout"), text("stderr"));
        }
        status
            .success()
            .then(|| text("stdout").trim_end().to_owned())
    }

    #[track_caller]
    fn must(&self, script: &str) -> String {
        let log = self.world.root.join("server.log");
        self.run(script)
            .unwrap_or_else(|| panic!("{}", std::fs::read_to_string(log).unwrap_or_default()))
    }

    /// Runs the first commands that the page has behind these words.
    #[track_caller]
    fn follow(&self, words: &str) -> String {
        self.must(&commands(words))
    }

    /// The time, by the clock of the server.
    fn now(&self) -> String {
        self.must("psql -At -d postgres -c 'SELECT clock_timestamp()'")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.run("server stop -m immediate || test ! -e \"$root/17/main/postmaster.pid\"");
    }
}

/// The first block of commands behind these words of the page.
#[track_caller]
fn commands(words: &str) -> String {
    let (_, behind) = PAGE.split_once(words).expect(words);
    let (_, block) = behind.split_once("```sh\n").expect(words);
    block.split_once("```").expect(words).0.to_owned()
}

/// The same commands, with another value of a variable that they set.
#[track_caller]
fn with_value(commands: &str, variable: &str, value: &str) -> String {
    let is_set = |line: &&str| line.starts_with(&format!("{variable}="));
    let line = commands.lines().find(is_set).expect(variable);
    commands.replacen(line, &format!("{variable}={value}"), 1)
}

/// A program that drives a session of the gateway.
struct Driver {
    session: String,
    epoch: u64,
    head: u64,
}

impl Driver {
    /// Acquires the lease of a session.
    fn acquire(gateway: &Gateway, session: &str, nonce: &str) -> Self {
        let (epoch, head) = gateway.launcher().lease(session, nonce);
        Self {
            session: session.to_owned(),
            epoch,
            head,
        }
    }

    /// Has a turn acknowledged; gives the receipt.
    #[track_caller]
    fn commit(&mut self, gateway: &Gateway, key: &str) -> Value {
        let body = turn_body(self.epoch, self.head, key);
        let turn = gateway.launcher().turn(&self.session, key, &body);
        let committed = turn.expect(key).is(200);
        assert_eq!(committed["already"], false, "{committed}");
        self.head = committed["receipt"]["last"].as_u64().unwrap();
        committed["receipt"].clone()
    }
}

/// The receipts of a session, oldest first.
fn receipts(gateway: &Gateway, session: &str) -> Value {
    let path = format!("/v1/sessions/{session}/receipts");
    gateway.launcher().get(&path).is(200)["items"].take()
}

#[test]
fn a_server_goes_back_to_a_moment_as_the_page_says() {
    let Some(machine) = Machine::with_a_server() else {
        return left_out("there is no PostgreSQL");
    };
    machine.follow("**PostgreSQL.** Once, a directory");
    machine.follow("to go back to any moment. Once:");
    let address = machine.must("echo \"$store\"");
    on_the_database(&address, "siglum", |store| goes_back(&machine, store));
}

fn goes_back(machine: &Machine, store: &Store) {
    let mut gateway = Gateway::start(store);
    let created = |gateway: &Gateway, name: &str| gateway.launcher().create(&base(name));
    let session = id(&created(&gateway, "driven"));
    let mut driver = Driver::acquire(&gateway, &session, "first");
    let mut kept = vec![driver.commit(&gateway, "before-the-backup")];
    machine.follow("and each week:");
    kept.push(driver.commit(&gateway, "before-the-moment"));
    let other = created(&gateway, "before");
    let moment = machine.now();
    driver.commit(&gateway, "lost");
    driver.commit(&gateway, "sent-again");
    let lost = created(&gateway, "after");
    gateway.stop();
    let base_backup = machine.must(&format!("ls -d {BACKUPS}/base-*"));
    let back = commands("**PostgreSQL, to a moment.**");
    let back = with_value(&back, "moment", &format!("'{moment}'"));
    machine.must(&with_value(&back, "base", &base_backup));

    gateway.start_again(store);
    assert_eq!(receipts(&gateway, &session), json!(kept));
    let events = gateway
        .launcher()
        .get(&format!("/v1/sessions/{session}/events"));
    for (text, is_there) in [
        ("did before-the-moment", true),
        ("lost", false),
        ("sent-again", false),
    ] {
        assert_eq!(events.text.contains(text), is_there, "{text}: {events:?}");
    }
    let own = |created: &Value, gateway: &Gateway| {
        let path = format!("/v1/sessions/{}", id(created));
        gateway.client(&secret(created)).get(&path)
    };
    own(&other, &gateway).is(200);
    own(&lost, &gateway).problem(401, "token-unknown");
    let path = format!("/v1/sessions/{}", id(&lost));
    gateway.launcher().get(&path).problem(404, "not-found");
    // It is created again as another one, and a key that was acknowledged is one of a new turn.
    let again = created(&gateway, "after");
    assert_ne!(id(&again), id(&lost));
    own(&again, &gateway).is(200);
    // The lease of the moment is over.
    store.seconds_pass(600);
    let mut driver = Driver::acquire(&gateway, &session, "second");
    kept.push(driver.commit(&gateway, "sent-again"));
    kept.push(driver.commit(&gateway, "new"));
    assert_eq!(receipts(&gateway, &session), json!(kept));
    is_itself_again(machine, &base_backup);
}

/// The settings of the recovery are gone, what the server writes now is archived, and there are base backups of it.
#[track_caller]
fn is_itself_again(machine: &Machine, base_backup: &str) {
    let settings = machine.must("cat \"$root/17/main/postgresql.auto.conf\"");
    assert!(settings.contains("archive_command"), "{settings}");
    assert!(
        !settings.contains("reco") && !settings.contains("restore"),
        "{settings}"
    );
    machine.must(&format!("mv {base_backup} {base_backup}.old"));
    machine.follow("and each week:");
    machine.must("systemctl stop postgresql@17-main");
    let archive = machine.must(&format!("ls {BACKUPS}/wal"));
    let is_whole = |name: &str| name.starts_with("00000002000000") && name.ends_with(".gz");
    assert!(archive.lines().any(is_whole), "{archive}");
    machine.must("systemctl start postgresql@17-main");
}
