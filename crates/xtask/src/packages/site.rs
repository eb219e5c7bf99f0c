//! What a server on loopback offers: releases as the forge has them, and packages as the registries have them. All of it is
//! files, which any server can serve.

use std::path::Path;

use serde_json::{Value, json};

use crate::Failure;
use crate::dist::{Facts, PLATFORMS, files, scoped};

/// Where it is served. Nobody else is in its network.
pub(super) const PORT: u16 = 8000;

/// Lays the packages out.
pub(super) fn lay_out(packages: &Path, site: &Path) -> Result<(), Failure> {
    files::clean(site)?;
    let facts = Facts::load()?;
    let version = facts.get("version");
    let releases = site.join("releases");
    for name in files::names(packages)? {
        let from = packages.join(&name);
        for folder in ["latest/download".to_owned(), format!("download/v{version}")] {
            files::copy(&from, &releases.join(folder).join(&name))?;
        }
        if name.ends_with(".whl") {
            files::copy(&from, &site.join("pypi/siglum").join(&name))?;
        }
    }
    damage(
        &releases.join(format!("download/v{version}")),
        &releases.join("damaged"),
    )?;
    npm(packages, version, &site.join("npm"))
}

/// The same release, with the checksums of other files.
fn damage(release: &Path, damaged: &Path) -> Result<(), Failure> {
    for name in files::names(release)?
        .iter()
        .filter(|name| name.ends_with(".tar.gz"))
    {
        files::copy(&release.join(name), &damaged.join(name))?;
        let sums = format!("{}  {name}\n", "0".repeat(64));
        files::write(&damaged.join("SHA256SUMS"), sums)?;
    }
    Ok(())
}

/// The registry's documents: one for each package.
fn npm(packages: &Path, version: &str, registry: &Path) -> Result<(), Failure> {
    let platforms = PLATFORMS.iter().map(|platform| {
        let file = format!("siglum-{}-{version}.tgz", platform.node.name);
        (scoped(platform), file)
    });
    let main = ("siglum".to_owned(), format!("siglum-{version}.tgz"));
    for (name, file) in platforms.chain([main]) {
        let from = packages.join(&file);
        if from.is_file() {
            files::copy(&from, &registry.join("-").join(&file))?;
            let manifest = manifest(&from)?;
            let document = document(&name, version, &file, manifest);
            files::write(&registry.join(&name), document.to_string())?;
        }
    }
    Ok(())
}

/// What the package says of itself, which the registry repeats.
fn manifest(tarball: &Path) -> Result<Value, Failure> {
    let mut tar = crate::programs::program("tar");
    tar.args(["--extract", "--gzip", "--to-stdout", "--file"]);
    let unpacked = tar.arg(tarball).arg("package/package.json").output();
    let text = unpacked.map_err(files::at(tarball))?.stdout;
    serde_json::from_slice(&text).map_err(|e| Failure::new(format!("{}: {e}", tarball.display())))
}

fn document(name: &str, version: &str, file: &str, mut manifest: Value) -> Value {
    manifest["dist"] = json!({ "tarball": format!("http://127.0.0.1:{PORT}/npm/-/{file}") });
    json!({
        "name": name,
        "dist-tags": { "latest": version },
        "versions": { version: manifest },
    })
}
