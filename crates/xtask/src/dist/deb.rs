//! The Debian package, by `dpkg-deb`.

use std::path::Path;

use super::platform::glibc;
use super::{Built, facts, files};
use crate::{Failure, debian, programs, workspace};

const NEEDS: &[debian::Need] = &[("dpkg-deb", "dpkg"), ("gzip", "gzip")];

/// What `dpkg` runs.
const SCRIPTS: &[&str] = &["postinst", "prerm", "postrm"];

/// What systemd starts, once somebody switches it on.
const UNITS: &[&str] = &[
    "siglum-gateway.service",
    "siglum-backup.service",
    "siglum-backup.timer",
];

/// What lies elsewhere in Debian than below other prefixes.
const MOVED: &[(&str, &str)] = &[
    (
        "share/zsh/site-functions/_siglum",
        "usr/share/zsh/vendor-completions/_siglum",
    ),
    (
        "share/doc/siglum/CHANGELOG.md",
        "usr/share/doc/siglum/changelog",
    ),
];

/// What `copyright` says once more.
const LEFT_OUT: &[&str] = &[
    "share/doc/siglum/LICENSE-MIT",
    "share/doc/siglum/LICENSE-APACHE",
];

pub(super) fn make(built: &Built, prefix: &Path, architecture: &str) -> Result<(), Failure> {
    debian::ensure(NEEDS)?;
    let root = built.folder("deb")?;
    lay_out(built, prefix, &root)?;
    let files = files::below(&root)?;
    let size: u64 = files.iter().map(|path| kilobytes(path)).sum();
    let facts = built
        .facts
        .with("architecture", architecture)
        .with("size", size.to_string())
        .with("libraries", libraries(&built.program)?);
    let control = root.join("DEBIAN");
    files::write(&control.join("control"), facts.fill_file("debian/control")?)?;
    for script in SCRIPTS {
        let path = control.join(script);
        files::write(&path, facts.fill_file(&format!("debian/{script}"))?)?;
        files::executable(&path)?;
    }
    // Without a version in its name, one address leads to that of the newest release.
    let package = built.out.join(format!("siglum_{architecture}.deb"));
    let mut pack = programs::program("dpkg-deb");
    // Without a name, `dpkg-deb` takes what the builder of this machine likes best, which older systems cannot read.
    pack.args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&root)
        .arg(package)
        .env("SOURCE_DATE_EPOCH", facts::epoch());
    programs::run(&mut pack)
}

fn lay_out(built: &Built, prefix: &Path, root: &Path) -> Result<(), Failure> {
    for file in files::below(prefix)? {
        let path = file.strip_prefix(prefix).unwrap_or(&file);
        if LEFT_OUT.iter().any(|left_out| path == Path::new(left_out)) {
            continue;
        }
        let moved = MOVED.iter().find(|(from, _)| path == Path::new(from));
        let to = match moved {
            Some((_, to)) => root.join(to),
            None => root.join("usr").join(path),
        };
        files::copy(&file, &to)?;
    }
    files::executable(&root.join("usr/bin/siglum"))?;
    let facts = built.facts.with("mit", mit()?);
    let put = |from: &str, to: &str| {
        let text = facts.fill_file(from)?;
        files::write(&root.join("usr").join(to), text)
    };
    for unit in UNITS {
        let (from, to) = (
            format!("systemd/{unit}"),
            format!("lib/systemd/system/{unit}"),
        );
        put(&from, &to)?;
    }
    put("debian/copyright", "share/doc/siglum/copyright")?;
    put("systemd/siglum.conf", "lib/sysusers.d/siglum.conf")?;
    put("systemd/gateway.env", "share/doc/siglum/gateway.env")?;
    compress(root)
}

/// The licence as a paragraph of `copyright`.
fn mit() -> Result<String, Failure> {
    let text = workspace::read(&workspace::root().join("LICENSE-MIT"))?;
    let lines = text.trim_end().lines().map(|line| match line {
        "" => " .".to_owned(),
        line => format!(" {line}"),
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Debian has manual pages and changelogs compressed.
fn compress(root: &Path) -> Result<(), Failure> {
    let mut gzip = programs::program("gzip");
    gzip.args(["-9", "--no-name", "--recursive"])
        .arg(root.join("usr/share/man"))
        .arg(root.join("usr/share/doc/siglum/changelog"));
    programs::run(&mut gzip)
}

/// The libraries that the program is linked to. A static one needs none.
fn libraries(program: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(program).map_err(files::at(program))?;
    Ok(match glibc(&bytes) {
        Some((major, minor)) => format!("libc6 (>= {major}.{minor}), libgcc-s1, "),
        None => String::new(),
    })
}

fn kilobytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |meta| meta.len().div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a setting of a unit.
    fn setting<'a>(unit: &'a str, name: &str) -> Option<&'a str> {
        let mut lines = unit.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    #[test]
    fn a_gateway_is_given_the_time_that_it_needs_to_stop() {
        let unit = workspace::read(&facts::source("systemd/siglum-gateway.service")).unwrap();
        let given = setting(&unit, "TimeoutStopSec").unwrap();
        let given: u64 = given.trim_end_matches('s').parse().unwrap();
        // As `siglum serve` has it without an option, and what comes after the drain.
        let (drain, after) = (10, 25);
        assert!(given > drain + after, "{given}");
        // Agents would get the signal, too, before the gateway is through with them.
        assert_eq!(setting(&unit, "KillMode"), Some("mixed"));
    }

    /// The commands of a unit, as systemd runs them.
    fn commands(unit: &str) -> Vec<String> {
        let named = |line: &str| {
            let (key, command) = line.split_once('=')?;
            let is_command = matches!(key, "ExecStart" | "ExecStartPost");
            is_command.then(|| command.replace("$$", "$").replace("%%", "%"))
        };
        unit.lines().filter_map(named).collect()
    }

    /// 20 days of the timer, which ends now; each backup is as old as it would be.
    const TWENTY_DAYS: &str = r#"
for ago in $(seq 480 -1 1); do
    hour=$(date -u -d "-$ago hours" +%Y-%m-%dT%H)
    touch -d "-$ago hours" "$hour.db"
    ln -f "$hour.db" "${hour%T*}.db"
done
"#;

    #[test]
    fn backups_of_24_hours_and_14_days_are_kept() {
        let timer = workspace::read(&facts::source("systemd/siglum-backup.timer")).unwrap();
        assert_eq!(setting(&timer, "OnCalendar"), Some("hourly"));
        let unit = workspace::read(&facts::source("systemd/siglum-backup.service")).unwrap();
        let dir = std::env::temp_dir().join(format!("siglum-backups-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let shell = |script: &str| {
            let mut sh = programs::program("sh");
            let ran = sh
                .args(["-euc", script])
                .current_dir(&dir)
                .output()
                .unwrap();
            assert!(ran.status.success(), "{script}: {ran:?}");
            String::from_utf8(ran.stdout).unwrap().trim().to_owned()
        };
        // What the program does, but for what is in the file.
        files::write(&dir.join("siglum"), "#!/bin/sh\n: >\"$2\"\n").unwrap();
        files::executable(&dir.join("siglum")).unwrap();
        shell(TWENTY_DAYS);
        let here = dir.to_str().unwrap();
        for command in commands(&unit) {
            let command = command.replace("/var/lib/siglum-backups", here);
            let program = format!("{here}/siglum");
            let command = command.replace("/usr/bin/siglum", &program);
            // systemd does not look for files by the patterns of a command.
            shell(&format!("set -f; {command}"));
        }
        let count = |names: &str| shell(&format!("ls {names} | wc -l"));
        assert_eq!(count("????-??-??T??.db"), "24");
        let days = count("????-??-??.db");
        // The last backup of the fifteenth day is not 14 days old until the hour of that.
        assert!(["14", "15"].contains(&days.as_str()), "{days}");
        shell(r#"hour=$(ls *T*.db | tail -n 1); [ "$hour" -ef "${hour%T*}.db" ]"#);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_stands_in_units_is_filled() {
        let facts = facts::Facts::load().unwrap();
        for unit in UNITS {
            let text = facts.fill_file(&format!("systemd/{unit}")).unwrap();
            assert!(setting(&text, "Documentation").is_some(), "{unit}");
        }
    }
}
