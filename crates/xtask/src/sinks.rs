//! Tools that show traces, for tests: Phoenix and MLflow, fresh, on free ports of this machine, and nothing of them goes
//! out. They go when the program ends that started them, in whatever way, and take their directories with them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Failure, debian, programs, python};

/// The variables that tell tests where they are: `http://host:port`, and for gRPC `http://host:port` of its own.
const PHOENIX: &str = "SIGLUM_TEST_PHOENIX";
const PHOENIX_GRPC: &str = "SIGLUM_TEST_PHOENIX_GRPC";
const MLFLOW: &str = "SIGLUM_TEST_MLFLOW";

/// Starting takes seconds, and a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(180);

/// Runs a server and all that it starts until its input ends: until whoever holds the other end of it goes. `$1` is the
/// directory.
const KEEPER: &str = r#"
trap '' INT TERM HUP
directory=$1
shift
setsid "$@" >"$directory/log" 2>&1 </dev/null &
server=$!
cat >/dev/null
kill -s KILL -- "-$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf "$directory"
"#;

pub(crate) struct Server {
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

/// What tests use, for as long as this lives.
pub(crate) struct Sinks {
    _servers: [Server; 2],
    variables: [(&'static str, String); 3],
}

/// `cargo xtask sinks`: starts them, says how to use them, and waits.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Usage("sinks takes no arguments".to_owned()));
    }
    let sinks = start()?;
    for (name, value) in &sinks.variables {
        println!("export {name}='{value}'");
    }
    eprintln!("the servers run until this program is interrupted");
    loop {
        std::thread::park();
    }
}

impl Sinks {
    /// Tells tests where they are.
    pub(crate) fn tell(&self, tests: &mut Command) {
        tests.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

/// Installs both where they are missing, and starts them.
pub(crate) fn start() -> Result<Sinks, Failure> {
    debian::ensure(&[("setsid", "util-linux")])?;
    let programs = [
        python::install(&python::PHOENIX)?,
        python::install(&python::MLFLOW)?,
    ];
    let (phoenix, mlflow) = (Site::new("phoenix")?, Site::new("mlflow")?);
    let grpc = programs::free_port()?;
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let variables = [
        (PHOENIX, url(phoenix.port)),
        (PHOENIX_GRPC, url(grpc)),
        (MLFLOW, url(mlflow.port)),
    ];
    // Both at once.
    let servers = [
        phoenix.keep(&phoenix.phoenix(&programs[0], grpc))?,
        mlflow.keep(&mlflow.mlflow(&programs[1]))?,
    ];
    phoenix.await_ready("/healthz")?;
    mlflow.await_ready("/health")?;
    Ok(Sinks {
        _servers: servers,
        variables,
    })
}

/// Where one server runs.
pub(crate) struct Site {
    name: &'static str,
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
}

impl Site {
    pub(crate) fn new(name: &'static str) -> Result<Self, Failure> {
        let directory = format!("siglum-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        fs::create_dir(&directory)
            .map_err(|e| Failure::new(format!("{}: {e}", directory.display())))?;
        Ok(Self {
            name,
            directory,
            port: programs::free_port()?,
        })
    }

    /// A program with nothing in its environment that is not meant for it.
    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = programs::program(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.directory)
            .env("DO_NOT_TRACK", "true");
        command
    }

    fn phoenix(&self, program: &Path, grpc: u16) -> Command {
        let mut phoenix = self.program(program);
        phoenix
            .arg("serve")
            .env("PHOENIX_WORKING_DIR", &self.directory)
            .env("PHOENIX_HOST", "127.0.0.1")
            .env("PHOENIX_PORT", self.port.to_string())
            .env("PHOENIX_GRPC_PORT", grpc.to_string())
            .env("PHOENIX_TELEMETRY_ENABLED", "false")
            .env("PHOENIX_ALLOW_EXTERNAL_RESOURCES", "false");
        phoenix
    }

    fn mlflow(&self, program: &Path) -> Command {
        let mut mlflow = self.program(program);
        let database = self.directory.join("mlflow.db");
        mlflow
            .args(["server", "--host", "127.0.0.1", "--workers", "1"])
            .args(["--port", &self.port.to_string()])
            .arg("--backend-store-uri")
            .arg(format!("sqlite:///{}", database.display()))
            .arg("--artifacts-destination")
            .arg(self.directory.join("artifacts"))
            .env("MLFLOW_DISABLE_TELEMETRY", "true")
            // Else it asks the network for prices.
            .env("MLFLOW_MODEL_CATALOG_URI", "")
            .env("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false");
        mlflow
    }

    pub(crate) fn keep(&self, server: &Command) -> Result<Server, Failure> {
        let mut keeper = programs::program("sh");
        keeper
            .args(["-c", KEEPER, "sh"])
            .arg(&self.directory)
            .arg(server.get_program())
            .args(server.get_args())
            .env_clear()
            .envs(
                server
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(&self.directory)
            .stdin(Stdio::piped());
        let mut keeper = keeper
            .spawn()
            .map_err(|e| Failure::new(format!("sh: {e}")))?;
        let input = keeper.stdin.take();
        Ok(Server { keeper, input })
    }

    fn await_ready(&self, path: &str) -> Result<(), Failure> {
        self.wait_until(|| self.is_ready(path))
    }

    /// Waits until somebody takes connections.
    pub(crate) fn await_connections(&self) -> Result<(), Failure> {
        self.wait_until(|| TcpStream::connect(("127.0.0.1", self.port)).is_ok())
    }

    fn wait_until(&self, is_ready: impl Fn() -> bool) -> Result<(), Failure> {
        let begun = Instant::now();
        while !is_ready() {
            if begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                return Err(Failure::new(format!("{} did not start:\n{log}", self.name)));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn is_ready(&self, path: &str) -> bool {
        let request = format!(
            "GET {path} HTTP/1.0\r\nhost: 127.0.0.1:{}\r\n\r\n",
            self.port
        );
        let response = TcpStream::connect(("127.0.0.1", self.port)).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(request.as_bytes())?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).map(|()| answer)
        });
        response.is_ok_and(|answer| answer.ends_with(b" 200"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_and_what_it_started_go_with_their_holder() {
        let site = Site::new("test").unwrap();
        let mut server = site.program(Path::new("sh"));
        server.args(["-c", "sleep 1000 & echo $! >child; wait"]);
        let server = site.keep(&server).unwrap();
        let file = site.directory.join("child");
        let child = || {
            fs::read_to_string(&file)
                .ok()
                .filter(|text| text.ends_with('\n'))
        };
        while child().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let child = format!("/proc/{}", child().unwrap().trim());
        assert!(Path::new(&child).exists());
        drop(server);
        // Whoever takes in what has lost its parent may be slow to look.
        let is_gone =
            || !fs::read_to_string(format!("{child}/stat")).is_ok_and(|s| !s.contains(" Z "));
        while !is_gone() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!site.directory.exists());
    }
}
