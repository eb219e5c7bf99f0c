//! A real gateway, and what it is asked over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::World;

/// `siglum serve` under test, with the token of a launcher.
pub(super) struct Served<'w> {
    world: &'w World,
    variables: Vec<(&'static str, String)>,
    child: Child,
    pub(super) address: String,
    pub(super) token: PathBuf,
    secret: String,
}

impl<'w> Served<'w> {
    /// Starts one on a store of its own: a file, or the tenant of a PostgreSQL server.
    pub(super) fn start(world: &'w World, store: Option<(&str, &str)>) -> Self {
        let home = world.root.join("gateway");
        let mut variables = vec![("SIGLUM_HOME", home.to_str().unwrap().to_owned())];
        if let Some((address, tenant)) = store {
            variables.push(("SIGLUM_STORE", address.to_owned()));
            variables.push(("SIGLUM_TENANT", tenant.to_owned()));
        }
        Self::with(world, variables)
    }

    /// Starts one on the ledger of a home.
    pub(super) fn over(world: &'w World, home: &Path) -> Self {
        let home = home.to_str().unwrap().to_owned();
        Self::with(world, vec![("SIGLUM_HOME", home)])
    }

    fn with(world: &'w World, variables: Vec<(&'static str, String)>) -> Self {
        let made = Self::program(world, &variables)
            .args(["token", "create", "--name", "launcher", "--json"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let made: Value = serde_json::from_slice(&made.stdout).unwrap();
        let secret = made["data"]["secret"].as_str().unwrap().to_owned();
        let token = world.root.join("launcher-token");
        std::fs::write(&token, &secret).unwrap();
        let (child, address) = Self::serve(world, &variables);
        Self {
            world,
            variables,
            child,
            address,
            token,
            secret,
        }
    }

    fn program(world: &World, variables: &[(&'static str, String)]) -> Command {
        let mut command = world.command(World::program());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn serve(world: &World, variables: &[(&'static str, String)]) -> (Child, String) {
        let mut command = Self::program(world, variables);
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]);
        command.args(["--rate", "100000", "--creations", "100000"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).expect(&line);
        let address = ready["data"]["address"].as_str().unwrap();
        (child, address.trim_start_matches("http://").to_owned())
    }

    /// It is killed, and another one takes its place.
    pub(super) fn restart(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        (self.child, self.address) = Self::serve(self.world, &self.variables);
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks, and gives status and body.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.secret,
            body.len()
        );
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        (status, body)
    }

    /// Asks for what must be there.
    #[track_caller]
    pub(super) fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, None);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
