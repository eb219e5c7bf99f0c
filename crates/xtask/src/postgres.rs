//! A PostgreSQL server for tests: fresh, on a free port, as an ordinary user. It goes when the program ends that
//! started it, in whatever way, and takes its directory with it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Failure, debian, programs};

/// The variable that tells tests where the server is.
const VARIABLE: &str = "SIGLUM_TEST_PG";
/// The variable that tells tests which certificate the server has.
const CERTIFICATE: &str = "SIGLUM_TEST_PG_CERTIFICATE";
/// The variable that tells tests where the process of the server is noted, which they may kill.
const PID: &str = "SIGLUM_TEST_PG_PID";
/// The variable that tells tests where a server is whose disk may become full.
const SMALL: &str = "SIGLUM_TEST_PG_SMALL";

/// What brings the server's programs, and what makes its certificate.
pub(crate) const PACKAGE: &str = "postgresql";
pub(crate) const OPENSSL: debian::Need = ("openssl", "openssl");

/// Where Debian puts the server's programs, one folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Files in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// How many kibibytes a server may need.
const ROOM: u64 = 4 << 20;

/// Runs the server until its input ends: until whoever holds the other end of it goes. `$1` is the directory. A server
/// that ends before, in whatever way, is started again; once it has its directory for itself, it serves.
const KEEPER: &str = r#"
trap '' INT TERM HUP
directory=$1
shift
(
    while [ ! -e "$directory/stop" ]; do
        "$@" >>"$directory/log" 2>&1 </dev/null
        sleep 0.2
    done
    : >"$directory/stopped"
) &
cat >/dev/null
: >"$directory/stop"
until [ -e "$directory/stopped" ]; do
    kill -INT "$(head -n 1 "$directory/data/postmaster.pid")"
    sleep 0.1
done 2>/dev/null
wait
umount "$directory/small" 2>/dev/null
rm -rf "$directory"
"#;

pub(crate) struct Server {
    /// Its address, for a role that may make databases and schemas, and no more.
    url: String,
    /// The file with its certificate, which it signed itself.
    certificate: PathBuf,
    /// The file whose first line is its process.
    pid: PathBuf,
    keeper: Child,
    /// What the keeper waits on. Taken to let it end.
    input: Option<ChildStdin>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.keeper.wait();
    }
}

/// What tests use.
pub(crate) struct Servers {
    /// The folder with the programs of PostgreSQL.
    binaries: PathBuf,
    main: Server,
    /// One with little room. A full disk is in the way of everybody whose server it is, also where only one tablespace
    /// is on it, so that nobody else uses this one. None where this user may not mount.
    small: Option<Server>,
}

/// `cargo xtask postgres`: starts the servers, says how to use them, and waits.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Usage("postgres takes no arguments".to_owned()));
    }
    let servers = start()?;
    for (name, value) in servers.variables() {
        println!("export {name}='{value}'");
    }
    eprintln!("the servers run until this program is interrupted");
    loop {
        std::thread::park();
    }
}

impl Servers {
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            (VARIABLE, self.main.url.clone()),
            (CERTIFICATE, self.main.certificate.display().to_string()),
            (PID, self.main.pid.display().to_string()),
        ];
        variables.extend(self.small.as_ref().map(|s| (SMALL, s.url.clone())));
        variables
    }
}

/// Servers for tests, which are kept for as long as this lives; none where the environment names one.
pub(crate) fn for_tests() -> Result<Option<Servers>, Failure> {
    if is_named() {
        return Ok(None);
    }
    start().map(Some)
}

/// Whether the environment names a server.
pub(crate) fn is_named() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Whether the server's programs are there.
pub(crate) fn is_installed() -> bool {
    binaries().is_some()
}

/// Tells tests of their servers; those that the environment names are known to them.
pub(crate) fn tell(servers: Option<&Servers>, tests: &mut Command) {
    let Some(servers) = servers else { return };
    tests.envs(servers.variables());
    // What Debian has in `PATH` is a script that looks for the programs each time.
    programs::look_first_in(tests, &servers.binaries);
}

fn start() -> Result<Servers, Failure> {
    let mut missing = Vec::new();
    if !is_installed() {
        missing.push(PACKAGE);
    }
    let (openssl, package) = OPENSSL;
    if programs::find(openssl).is_none() {
        missing.push(package);
    }
    debian::install(&missing)?;
    let binaries = binaries().ok_or_else(|| Failure::new(format!("no initdb below {VERSIONS}")))?;
    let main = Site::new(&binaries, "main")?;
    let small = Site::new(&binaries, "small")?;
    Ok(Servers {
        binaries,
        main: main.started(Site::start)?,
        small: small.started(Site::start_small)?,
    })
}

/// The folder with the server's programs: the one in `PATH`, else the newest that Debian has.
fn binaries() -> Option<PathBuf> {
    let is_whole = |dir: &PathBuf| {
        let has = |name: &str| dir.join(name).is_file();
        has("initdb") && has("postgres") && has("psql")
    };
    let in_path = programs::find("initdb").and_then(|p| p.parent().map(Path::to_owned));
    if let Some(dir) = in_path.filter(is_whole) {
        return Some(dir);
    }
    let version = |dir: &fs::DirEntry| dir.file_name().to_str()?.parse::<u32>().ok();
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(VERSIONS)
        .ok()?
        .filter_map(Result::ok)
        .filter_map(|dir| Some((version(&dir)?, dir.path().join("bin"))))
        .filter(|(_, dir)| is_whole(dir))
        .collect();
    versions.sort();
    versions.pop().map(|(_, dir)| dir)
}

/// Where the files of a server are: in memory if there is room. A store is some hundred files, and a disk takes longer to
/// make them than to write what is in them.
fn folder() -> PathBuf {
    let sizes = programs::program("df").args(["-P", "-k", MEMORY]).output();
    let text = sizes.map(|sizes| String::from_utf8_lossy(&sizes.stdout).into_owned());
    let free = text.ok().and_then(|text| {
        let free = text.lines().nth(1)?.split_whitespace().nth(3)?;
        free.parse::<u64>().ok()
    });
    match free {
        Some(free) if free >= ROOM => MEMORY.into(),
        _ => std::env::temp_dir(),
    }
}

/// Who runs the server: PostgreSQL refuses to run as root.
#[derive(Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

fn owner() -> Result<Option<Owner>, Failure> {
    if !debian::is_root() {
        return Ok(None);
    }
    let users =
        fs::read_to_string("/etc/passwd").map_err(|e| Failure::new(format!("/etc/passwd: {e}")))?;
    let find = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2);
        Some(Owner {
            user: numbers.next()?.parse().ok()?,
            group: numbers.next()?.parse().ok()?,
        })
    };
    let found = find("postgres").or_else(|| find("nobody"));
    found
        .map(Some)
        .ok_or_else(|| Failure::new("there is no user `postgres` or `nobody` to run a server as"))
}

fn password() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|e| Failure::new(format!("/dev/urandom: {e}")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Where and how one server runs.
struct Site {
    binaries: PathBuf,
    owner: Option<Owner>,
    directory: PathBuf,
    password: String,
    port: u16,
}

impl Site {
    fn new(binaries: &Path, name: &str) -> Result<Self, Failure> {
        let directory = format!("siglum-postgres-{}-{name}", std::process::id());
        Ok(Self {
            binaries: binaries.to_owned(),
            owner: owner()?,
            directory: folder().join(directory),
            password: password()?,
            port: programs::free_port()?,
        })
    }

    /// Starts what `how` says; nothing stays of what did not start.
    fn started<T>(&self, how: impl Fn(&Self) -> Result<T, Failure>) -> Result<T, Failure> {
        let started = how(self);
        if started.is_err() {
            let _ = fs::remove_dir_all(&self.directory);
        }
        started
    }

    fn start(&self) -> Result<Server, Failure> {
        let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", self.directory.display()));
        fs::create_dir(&self.directory).map_err(failed)?;
        fs::set_permissions(&self.directory, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let secret = self.directory.join("password");
        fs::write(&secret, &self.password).map_err(failed)?;
        self.hand_over(&self.directory)?;
        self.hand_over(&secret)?;
        self.make_files(&secret)?;
        self.make_certificate()?;
        let mut server = self.keep()?;
        self.await_ready(&mut server)?;
        self.furnish()?;
        Ok(server)
    }

    /// Starts one that has the tablespace `small`.
    fn start_small(&self) -> Result<Option<Server>, Failure> {
        let server = self.start()?;
        Ok(self.make_small_room()?.then_some(server))
    }

    /// A program of the server, run by its owner.
    fn program(&self, name: &str) -> Command {
        let program = self.binaries.join(name);
        let Some(owner) = self.owner else {
            return programs::program(program);
        };
        let mut command = programs::program("setpriv");
        command
            .arg(format!("--reuid={}", owner.user))
            .arg(format!("--regid={}", owner.group))
            .arg("--clear-groups")
            .arg(program);
        command
    }

    fn make_files(&self, secret: &Path) -> Result<(), Failure> {
        let mut initdb = self.program("initdb");
        initdb
            .arg("--pgdata")
            .arg(self.directory.join("data"))
            .arg("--pwfile")
            .arg(secret)
            .args(["--username=postgres", "--auth=scram-sha-256"])
            .args(["--encoding=UTF8", "--locale=C"])
            .current_dir(&self.directory);
        quietly(&mut initdb)
    }

    /// Makes a certificate for the server's address, so that it can be reached by TLS, too.
    fn make_certificate(&self) -> Result<(), Failure> {
        let key = self.directory.join("key.pem");
        let mut openssl = programs::program("openssl");
        openssl
            .args(["req", "-x509", "-nodes", "-days", "2"])
            .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-subj", "/CN=siglum tests"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(self.certificate());
        quietly(&mut openssl)?;
        self.hand_over(&key)
    }

    fn certificate(&self) -> PathBuf {
        self.directory.join("certificate.pem")
    }

    fn pid(&self) -> PathBuf {
        self.directory.join("data/postmaster.pid")
    }

    /// Gives a file to the owner of the server.
    fn hand_over(&self, path: &Path) -> Result<(), Failure> {
        let (user, group) = self.owner.map(|o| (o.user, o.group)).unzip();
        std::os::unix::fs::chown(path, user, group)
            .map_err(|e| Failure::new(format!("{}: {e}", path.display())))
    }

    fn keep(&self) -> Result<Server, Failure> {
        let server = self.program("postgres");
        let mut keeper = programs::program("sh");
        keeper
            .args(["-c", KEEPER, "sh"])
            .arg(&self.directory)
            .arg(server.get_program())
            .args(server.get_args())
            .arg("-D")
            .arg(self.directory.join("data"))
            .arg("-k")
            .arg(&self.directory)
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-c", "max_connections=500", "-c", "ssl=on"])
            // Tests kill the server, and not the machine: what it has written is there without this.
            .args(["-c", "fsync=off", "-c", "full_page_writes=off"])
            .args(["-c", "ssl_key_file=../key.pem"])
            .args(["-c", "ssl_cert_file=../certificate.pem"])
            .current_dir(&self.directory)
            .stdin(Stdio::piped());
        let mut keeper = keeper
            .spawn()
            .map_err(|e| Failure::new(format!("sh: {e}")))?;
        let input = keeper.stdin.take();
        let (password, port) = (&self.password, self.port);
        Ok(Server {
            url: format!("postgres://siglum:{password}@127.0.0.1:{port}/siglum"),
            certificate: self.certificate(),
            pid: self.pid(),
            keeper,
            input,
        })
    }

    fn psql(&self, sql: &str) -> Command {
        let mut psql = self.program("psql");
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-U", "postgres", "-d", "postgres"])
            .args(["--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .env("PGPASSWORD", &self.password)
            .current_dir(&self.directory);
        psql
    }

    fn await_ready(&self, server: &mut Server) -> Result<(), Failure> {
        let begun = Instant::now();
        while quietly(&mut self.psql("SELECT 1")).is_err() {
            let is_gone = !self.pid().exists();
            let patience = Duration::from_secs(if is_gone { 5 } else { 60 });
            if begun.elapsed() > patience {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                drop(server.input.take());
                return Err(Failure::new(format!("PostgreSQL did not start:\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Makes room that is soon full, for tests of a full disk: the tablespace `small`. `false` where this user may not
    /// mount.
    fn make_small_room(&self) -> Result<bool, Failure> {
        let Some(owner) = self.owner else {
            return Ok(false);
        };
        let place = self.directory.join("small");
        let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", place.display()));
        fs::create_dir(&place).map_err(failed)?;
        let mut mount = programs::program("mount");
        let Owner { user, group } = owner;
        mount
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size=24m,mode=700,uid={user},gid={group}"))
            .arg("tmpfs")
            .arg(&place);
        if quietly(&mut mount).is_err() {
            return Ok(false);
        }
        let tablespace = format!("CREATE TABLESPACE small LOCATION '{}'", place.display());
        quietly(&mut self.psql(&tablespace))?;
        quietly(&mut self.psql("GRANT CREATE ON TABLESPACE small TO siglum"))?;
        Ok(true)
    }

    /// Makes the role of the tests and its database, whose language orders words otherwise than by their bytes, as
    /// those of many people do.
    fn furnish(&self) -> Result<(), Failure> {
        let role = format!(
            "CREATE ROLE siglum LOGIN CREATEDB PASSWORD '{}'",
            self.password
        );
        quietly(&mut self.psql(&role))?;
        let plain = "CREATE DATABASE siglum OWNER siglum TEMPLATE template0";
        let english = format!("{plain} LOCALE_PROVIDER icu ICU_LOCALE 'en-US'");
        quietly(&mut self.psql(&english)).or_else(|_| quietly(&mut self.psql(plain)))
    }
}

/// Runs a program and shows what it says only if it fails.
fn quietly(command: &mut Command) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command
        .output()
        .map_err(|e| Failure::new(format!("{name}: {e}")))?;
    if out.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&out.stderr);
    Err(Failure::new(format!("{name}: {}: {stderr}", out.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_goes_with_its_holder() {
        if binaries().is_none() {
            println!("not tested: there is no PostgreSQL here");
            return;
        }
        let site = Site::new(&binaries().unwrap(), "test").unwrap();
        let server = site.started(Site::start).unwrap();
        let pid = server.keeper.id();
        let process = || {
            let noted = fs::read_to_string(site.pid()).unwrap_or_default();
            noted.lines().next().unwrap_or_default().to_owned()
        };
        let first = process();
        assert!(Path::new(&format!("/proc/{first}")).exists());
        // Killed, it is started again, and goes all the same.
        quietly(programs::program("kill").args(["-KILL", &first])).unwrap();
        let begun = Instant::now();
        while process() == first || quietly(&mut site.psql("SELECT 1")).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(50));
        }
        let second = process();
        let directory = site.directory.clone();
        drop(server);
        assert!(!Path::new(&format!("/proc/{second}")).exists());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert!(!directory.exists());
    }
}
