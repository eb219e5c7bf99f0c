//! A long transcript in the form that Claude Code writes.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use siglum_domain::Timestamp;

use crate::Fallible;
use crate::clock::{Chance, now};
use crate::filler::Filler;

/// Writes a transcript of at least so many bytes.
pub(crate) fn write(path: &Path, session: &str, cwd: &str, bytes: usize) -> Fallible<u64> {
    let file = std::fs::File::create(path)?;
    let filler = Filler::gather(bytes.min(64 << 20));
    let mut writer = Writer {
        out: std::io::BufWriter::new(file),
        filler: &filler,
        chance: Chance::new(bytes as u64),
        session: session.to_owned(),
        cwd: cwd.to_owned(),
        at: now().plus_millis(-7 * 24 * 3_600_000),
        turn: String::new(),
        parent: Value::Null,
        written: 0,
    };
    while writer.written < bytes {
        writer.turn()?;
    }
    writer.out.flush()?;
    Ok(writer.written as u64)
}

struct Writer<'a, W: Write> {
    out: W,
    filler: &'a Filler,
    chance: Chance,
    session: String,
    cwd: String,
    at: Timestamp,
    turn: String,
    parent: Value,
    written: usize,
}

impl<W: Write> Writer<'_, W> {
    fn uuid(&self) -> String {
        let h = self.chance.hex(32);
        format!(
            "{}-{}-{}-{}-{}",
            &h[..8],
            &h[8..12],
            &h[12..16],
            &h[16..20],
            &h[20..]
        )
    }

    /// Writes one line: what all lines have, and what is its own.
    fn line(&mut self, kind: &str, own: Value) -> Fallible<()> {
        self.at = self.at.plus_millis(50 + self.chance.below(4_000) as i64);
        let uuid = self.uuid();
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": false, "type": kind, "uuid": uuid,
            "timestamp": self.at.to_string(), "userType": "external", "entrypoint": "cli",
            "cwd": self.cwd, "sessionId": self.session, "version": "2.1.329", "gitBranch": "main",
        });
        if let (Value::Object(line), Value::Object(own)) = (&mut line, own) {
            line.extend(own);
        }
        self.parent = Value::String(uuid);
        let text = format!("{line}\n");
        self.out.write_all(text.as_bytes())?;
        self.written += text.len();
        Ok(())
    }

    fn turn(&mut self) -> Fallible<()> {
        self.turn = self.uuid();
        let prompt = self.filler.words(&self.chance, 40);
        let message = json!({"role": "user", "content": prompt});
        self.user(json!({"message": message, "permissionMode": "default"}))?;
        for kind in ["environment", "session_context", "skill_listing"] {
            self.line("attachment", json!({"attachment": {"type": kind}}))?;
        }
        for _ in 0..4 + self.chance.below(12) {
            let words = 20 + self.chance.below(80);
            let text = self.filler.words(&self.chance, words);
            self.assistant(&json!({"type": "text", "text": text}), "tool_use")?;
            match self.chance.below(4) {
                0 => self.edit()?,
                1 => self.shell()?,
                _ => self.read()?,
            }
        }
        let text = self.filler.words(&self.chance, 60);
        self.assistant(&json!({"type": "text", "text": text}), "end_turn")
    }

    fn user(&mut self, own: Value) -> Fallible<()> {
        let turn = self.turn.clone();
        let mut own = own;
        own["promptId"] = Value::String(turn);
        self.line("user", own)
    }

    fn assistant(&mut self, block: &Value, stop: &str) -> Fallible<()> {
        let usage = json!({
            "input_tokens": 4, "output_tokens": 80 + self.chance.below(900),
            "cache_read_input_tokens": 20_000 + self.chance.below(90_000),
            "cache_creation_input_tokens": self.chance.below(4_000),
            "service_tier": "standard",
        });
        let message = json!({
            "id": format!("msg_{}", self.chance.hex(24)), "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": [block], "stop_reason": stop, "usage": usage,
        });
        let request = format!("req_{}", self.chance.hex(20));
        self.line(
            "assistant",
            json!({"message": message, "requestId": request}),
        )
    }

    /// A tool call and its result, which stands in the line twice: for the model and for people.
    fn call(&mut self, tool: &str, input: &Value, content: &str, shown: &Value) -> Fallible<()> {
        let id = format!("toolu_{}", self.chance.hex(24));
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.assistant(&block, "tool_use")?;
        let result = json!({"tool_use_id": id, "type": "tool_result", "content": content});
        let message = json!({"role": "user", "content": [result]});
        self.user(json!({"message": message, "toolUseResult": shown}))
    }

    fn path(&self) -> String {
        format!("{}/src/part{:03}/file.rs", self.cwd, self.chance.below(300))
    }

    fn read(&mut self) -> Fallible<()> {
        let size = 1_000 + self.chance.below(14_000);
        let content = self.filler.text(&self.chance, size).to_owned();
        let numbered: Vec<String> = content
            .lines()
            .enumerate()
            .map(|(n, l)| format!("{:>6}→{l}", n + 1))
            .collect();
        let path = self.path();
        let shown = json!({"type": "text", "file": {"filePath": path, "content": content,
            "numLines": numbered.len(), "startLine": 1, "totalLines": numbered.len()}});
        self.call(
            "Read",
            &json!({"file_path": path}),
            &numbered.join("\n"),
            &shown,
        )
    }

    fn shell(&mut self) -> Fallible<()> {
        let size = 200 + self.chance.below(4_000);
        let mut out = self.filler.text(&self.chance, size).to_owned();
        if self.chance.below(12) == 0 {
            out.push_str(&self.secret());
        }
        let command = format!(
            "grep -rn {} src | head -50",
            self.filler.words(&self.chance, 1)
        );
        let shown = json!({"stdout": out, "stderr": "", "interrupted": false, "isImage": false});
        self.call(
            "Bash",
            &json!({"command": command, "description": "Look"}),
            &out,
            &shown,
        )
    }

    fn edit(&mut self) -> Fallible<()> {
        let (a, b) = (200 + self.chance.below(900), 200 + self.chance.below(900));
        let old = self.filler.text(&self.chance, a).to_owned();
        let new = self.filler.text(&self.chance, b).to_owned();
        let original = format!("{}{old}", self.filler.text(&self.chance, 6_000));
        let path = self.path();
        let shown = json!({"filePath": path, "oldString": old, "newString": new,
            "originalFile": original, "structuredPatch": [], "userModified": false, "replaceAll": false});
        let content = format!("The file {path} has been updated successfully.");
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        self.call("Edit", &input, &content, &shown)
    }

    /// Something that must not be stored; made up, as everything here.
    fn secret(&self) -> String {
        let digits = self.chance.hex(36);
        match self.chance.below(3) {
            0 => format!("\nGITHUB_TOKEN={}_{digits}\n", "ghp"),
            1 => format!("\nexport DATABASE_PASSWORD='{digits}'\n"),
            _ => format!("\nAuthorization: Bearer {digits}{digits}\n"),
        }
    }
}
