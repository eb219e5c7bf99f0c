//! Phoenix, which takes the same spans.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Fallible;
use crate::gateway::connection::Connection;
use crate::run::Run;

const PATIENCE: Duration = Duration::from_secs(180);

/// A Phoenix. Killed when it is let go.
pub(crate) struct Phoenix {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
    /// Where its spans are.
    pub(crate) database: PathBuf,
}

impl Phoenix {
    /// Starts one, where its program is named, and waits until it serves.
    pub(crate) fn start(run: &Run) -> Fallible<Option<Self>> {
        let Some(program) = std::env::var_os("SIGLUM_BENCH_PHOENIX") else {
            eprintln!("nothing beside Phoenix: SIGLUM_BENCH_PHOENIX is not set");
            return Ok(None);
        };
        let dir = run.dir("phoenix")?;
        let [port, grpc] = [free_port()?, free_port()?];
        let log = std::fs::File::create(dir.join("log"))?;
        let child = Command::new(program)
            .arg("serve")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &dir)
            .env("PHOENIX_WORKING_DIR", &dir)
            .env("PHOENIX_HOST", "127.0.0.1")
            .env("PHOENIX_PORT", port.to_string())
            .env("PHOENIX_GRPC_PORT", grpc.to_string())
            .env("PHOENIX_TELEMETRY_ENABLED", "false")
            .env("PHOENIX_ALLOW_EXTERNAL_RESOURCES", "false")
            .current_dir(&dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let phoenix = Self {
            child,
            address: format!("127.0.0.1:{port}"),
            database: dir.join("phoenix.db"),
        };
        let begun = Instant::now();
        let mut connection = Connection::new(phoenix.address.clone());
        while !connection
            .get("/healthz")
            .is_ok_and(|(status, _)| status == 200)
        {
            if begun.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(dir.join("log"))?;
                return Err(format!("Phoenix did not start: {log}").into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(Some(phoenix))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> Fallible<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}
