//! What is made of the packages of all platforms: the package that npm knows by its name, the formula, the install script,
//! and the checksums, last.

use std::path::Path;

use serde_json::{Value, json};

use super::{Facts, PLATFORMS, Platform, files, npm, prefix, tarball};
use crate::Failure;

/// What a release says of itself: `siglum upgrade --check --from` reads it.
const DESCRIPTION: &str = "release.json";
/// The checksums, which name everything beside them.
const SUMS: &str = "SHA256SUMS";

/// Asks a program which ledgers it writes, writes that down for those who have not got it yet, and gives the facts that
/// packages have from it.
pub(super) fn describe(facts: &Facts, program: &Path, out: &Path) -> Result<Facts, Failure> {
    let text = prefix::output(program, &["version", "--json"])?;
    let report: Value = serde_json::from_slice(&text)
        .map_err(|e| Failure::new(format!("siglum version --json: {e}")))?;
    let data = &report["data"];
    let version = facts.get("version");
    if data["version"] != version {
        let other = &data["version"];
        return Err(Failure::new(format!(
            "the program is {other}, and the manifests say {version}"
        )));
    }
    let release = json!({
        "release": 1,
        "version": version,
        "schema": data["schema"],
        "minimum_git": data["minimum_git"],
    });
    let path = out.join(DESCRIPTION);
    files::write(&path, format!("{release:#}\n"))?;
    let git = data["minimum_git"].as_str().unwrap_or_default();
    Ok(facts.with("minimum_git", git))
}

/// Makes what needs the packages of all platforms that there are.
pub(super) fn finish(facts: &Facts, out: &Path) -> Result<(), Failure> {
    npm::make_main(facts, out)?;
    files::write(&out.join("siglum.rb"), formula(facts, out)?)?;
    let script = out.join("install.sh");
    files::write(&script, facts.fill_file("install.sh")?)?;
    files::executable(&script)?;
    files::write(&out.join(SUMS), sums(out)?)
}

fn formula(facts: &Facts, out: &Path) -> Result<String, Failure> {
    let mut downloads = String::new();
    for platform in PLATFORMS {
        downloads.push_str(&download(facts, platform, out)?.unwrap_or_default());
    }
    let licenses = facts.get("license").split(" OR ");
    let licenses: Vec<String> = licenses.map(|name| format!("\"{name}\"")).collect();
    facts
        .with("downloads", downloads)
        .with("licenses", licenses.join(", "))
        .fill_file("homebrew/siglum.rb")
}

/// Where Homebrew gets the program of a platform, if it is there.
fn download(facts: &Facts, platform: &Platform, out: &Path) -> Result<Option<String>, Failure> {
    let Some((os, cpu)) = platform.homebrew else {
        return Ok(None);
    };
    let version = facts.get("version");
    let name = tarball::name(version, platform.triple);
    let Some(digest) = tarball::digest(out, &name)? else {
        return Ok(None);
    };
    let url = format!(
        "{}/releases/download/v{version}/{name}",
        facts.get("repository")
    );
    Ok(Some(format!(
        "  {os} do\n    {cpu} do\n      url \"{url}\"\n      sha256 \"{digest}\"\n    end\n  end\n\n"
    )))
}

fn sums(out: &Path) -> Result<String, Failure> {
    let mut sums = String::new();
    for name in files::names(out)?.iter().filter(|name| *name != SUMS) {
        sums.push_str(&format!("{}  {name}\n", files::digest(&out.join(name))?));
    }
    Ok(sums)
}
