//! Who may import whom: the table of DESIGN §3 against the manifests. Every crate from outside also
//! needs its reason in `docs/dependencies.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use crate::{Failure, workspace};

/// What a crate may import from the workspace.
#[derive(Clone, Copy)]
enum Imports {
    Only(&'static [&'static str]),
    Any,
}

/// The table of DESIGN §3. A new crate needs a row there and here.
const TABLE: &[(&str, Imports)] = &[
    ("siglum-domain", Imports::Only(&[])),
    ("siglum-ledger", Imports::Only(&["siglum-domain"])),
    ("siglum-gitstore", Imports::Only(&["siglum-domain"])),
    ("siglum-agents", Imports::Only(&["siglum-domain"])),
    ("siglum-telemetry", Imports::Only(&["siglum-domain"])),
    ("siglum-egress", Imports::Only(&["siglum-domain"])),
    ("siglum-platform", Imports::Only(&["siglum-domain"])),
    (
        "siglum-engine",
        Imports::Only(&[
            "siglum-domain",
            "siglum-ledger",
            "siglum-gitstore",
            "siglum-agents",
            "siglum-telemetry",
            "siglum-egress",
        ]),
    ),
    (
        "siglum-gateway",
        Imports::Only(&[
            "siglum-domain",
            "siglum-ledger",
            "siglum-telemetry",
            "siglum-engine",
            "siglum-platform",
        ]),
    ),
    (
        "siglum",
        Imports::Only(&[
            "siglum-domain",
            "siglum-ledger",
            "siglum-gitstore",
            "siglum-agents",
            "siglum-telemetry",
            "siglum-egress",
            "siglum-engine",
            "siglum-gateway",
            "siglum-platform",
        ]),
    ),
    (
        "siglum-store",
        Imports::Only(&[
            "siglum-domain",
            "siglum-ledger",
            "siglum-engine",
            "siglum-platform",
        ]),
    ),
    (
        "siglum-conformance",
        Imports::Only(&["siglum-domain", "siglum-ledger"]),
    ),
    ("xtask", Imports::Only(&[])),
    ("siglum-bench", Imports::Any),
    ("siglum-tests", Imports::Any),
];

/// Crates for tests alone, and those whose tests may import them.
const TESTERS: &[(&str, &[&str])] = &[("siglum-conformance", &["siglum-engine", "siglum-store"])];

/// What a program embeds that stores its sessions here, and what that must not bring in: HTTP, and the types of telemetry.
const EMBEDDED: &str = "siglum-store";
const NOT_EMBEDDED: &[&str] = &["siglum-egress", "siglum-telemetry"];

/// Outside crates that only some crates may use, and those that may if the dependency is optional.
const OUTSIDE: &[(&str, &[&str], &[&str])] = &[
    ("tokio", &["siglum-gateway", "siglum-egress"], &[]),
    ("object_store", &[], &["siglum-egress"]),
    ("postgres", &["siglum-tests"], &["siglum-ledger"]),
    ("tokio-postgres-rustls", &[], &["siglum-ledger"]),
    ("tokio-rustls", &["siglum-gateway"], &[]),
    ("axum", &["siglum-gateway"], &[]),
    ("tower-http", &["siglum-gateway"], &[]),
    (
        "tonic",
        &["siglum-gateway", "siglum-egress", "siglum-tests"],
        &[],
    ),
    ("clap", &["siglum"], &[]),
    ("clap_complete", &["siglum"], &[]),
    ("clap_mangen", &["siglum"], &[]),
    ("anyhow", &["siglum"], &[]),
    (
        "rusqlite",
        &[
            "siglum-ledger",
            "siglum-conformance",
            "siglum-tests",
            "siglum-bench",
        ],
        &[],
    ),
];

/// Where every crate from outside has a row.
const REASONS: &str = "docs/dependencies.md";

/// The number of crates read and what is wrong with them.
pub(crate) fn check(root: &Path) -> Result<(usize, Vec<String>), Failure> {
    let mut problems = Vec::new();
    let dirs = workspace::crate_dirs(root)?;
    let reasons = workspace::read(&root.join(REASONS))?;
    let mut manifests = BTreeMap::new();
    for dir in &dirs {
        let manifest = read_manifest(dir)?;
        problems.extend(check_manifest(&manifest));
        problems.extend(check_reasons(&manifest, &reasons));
        manifests.insert(package_name(&manifest).to_owned(), manifest);
    }
    problems.extend(check_embedded(&read_manifest(root)?, &manifests));
    problems.sort();
    problems.dedup();
    Ok((dirs.len(), problems))
}

fn read_manifest(dir: &Path) -> Result<Table, Failure> {
    let path = dir.join("Cargo.toml");
    workspace::read(&path)?
        .parse::<Table>()
        .map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

fn package_name(manifest: &Table) -> &str {
    let name = manifest.get("package").and_then(|p| p.get("name"));
    name.and_then(Value::as_str).unwrap_or("(without a name)")
}

fn check_manifest(manifest: &Table) -> Vec<String> {
    let name = package_name(manifest);
    let Some((_, imports)) = TABLE.iter().find(|(known, _)| *known == name) else {
        return vec![format!(
            "crate {name} is unknown: add it to the table in DESIGN §3 and to TABLE in crates/xtask/src/layering.rs"
        )];
    };
    let mut problems = Vec::new();
    for dependency in dependencies(manifest) {
        problems.extend(check_arrow(name, *imports, &dependency));
        problems.extend(check_outside(name, &dependency));
    }
    problems
}

struct Dependency {
    package: String,
    kind: &'static str,
    optional: bool,
}

/// All dependencies of a manifest, those of single targets included, under their real names.
fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets
        .into_iter()
        .flat_map(|t| t.values().filter_map(Value::as_table));
    let mut found = Vec::new();
    for table in tables.chain([manifest]) {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = table.get(kind).and_then(Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
                let optional = value.get("optional").and_then(Value::as_bool);
                found.push(Dependency {
                    package: package.to_owned(),
                    kind,
                    optional: optional.unwrap_or_default(),
                });
            }
        }
    }
    found
}

fn check_arrow(name: &str, imports: Imports, dependency: &Dependency) -> Option<String> {
    let Dependency { package, kind, .. } = dependency;
    let for_tests = TESTERS
        .iter()
        .any(|(tool, testers)| tool == package && testers.contains(&name));
    let is_test = *kind == "dev-dependencies" && (for_tests || package == name);
    let allowed = match imports {
        Imports::Any => true,
        Imports::Only(list) => list.contains(&package.as_str()),
    };
    (is_ours(package) && !is_test && !allowed)
        .then(|| format!("{name} → {package} ({kind}) is not in the table of DESIGN §3"))
}

fn check_outside(name: &str, dependency: &Dependency) -> Option<String> {
    let Dependency {
        package,
        kind,
        optional,
    } = dependency;
    let (_, always, if_optional) = OUTSIDE.iter().find(|(rule, ..)| rule == package)?;
    let allowed = always.contains(&name) || *optional && if_optional.contains(&name);
    let whose = always
        .iter()
        .chain(*if_optional)
        .copied()
        .collect::<Vec<_>>();
    (!allowed).then(|| format!("{name} → {package} ({kind}): only for {}", whose.join(", ")))
}

/// Goes through the crates of ours that the embedded one brings in, each with the features that are asked for.
fn check_embedded(workspace: &Table, manifests: &BTreeMap<String, Table>) -> Vec<String> {
    let shared = workspace
        .get("workspace")
        .and_then(|w| w.get("dependencies"));
    let default = BTreeSet::from(["default".to_owned()]);
    let mut waiting = vec![(EMBEDDED.to_owned(), default)];
    let (mut seen, mut problems) = (BTreeSet::new(), Vec::new());
    while let Some((name, features)) = waiting.pop() {
        let Some(manifest) = manifests.get(&name) else {
            continue;
        };
        if !seen.insert((name.clone(), features.clone())) {
            continue;
        }
        let mut on = BTreeSet::new();
        for feature in &features {
            switch_on(manifest, feature, &mut on);
        }
        let entries = manifest.get("dependencies").and_then(Value::as_table);
        for (package, entry) in entries.into_iter().flatten() {
            let is_optional = entry.get("optional").and_then(Value::as_bool) == Some(true);
            let is_on = !is_optional || on.contains(&format!("dep:{package}"));
            if is_on && NOT_EMBEDDED.contains(&package.as_str()) {
                problems.push(format!("{EMBEDDED} brings in {package}, through {name}"));
            } else if is_on && is_ours(package) {
                let shared = shared.and_then(|shared| shared.get(package.as_str()));
                waiting.push((package.clone(), requested_features(entry, shared)));
            }
        }
    }
    problems
}

/// What a feature of a crate switches on, and what that does.
fn switch_on(manifest: &Table, feature: &str, on: &mut BTreeSet<String>) {
    let features = manifest.get("features").and_then(|f| f.get(feature));
    let items = features.and_then(Value::as_array).into_iter().flatten();
    for item in items.filter_map(Value::as_str) {
        if on.insert(item.to_owned()) {
            switch_on(manifest, item, on);
        }
    }
}

/// The features that a dependency asks for, with what the workspace says of it.
fn requested_features(entry: &Value, shared: Option<&Value>) -> BTreeSet<String> {
    let entries = || [Some(entry), shared].into_iter().flatten();
    let mut defaults = entries().filter_map(|e| e.get("default-features")?.as_bool());
    let default = defaults.next().unwrap_or(true).then_some("default");
    let lists = entries().filter_map(|e| e.get("features")?.as_array());
    let named = lists.flatten().filter_map(Value::as_str);
    named.chain(default).map(str::to_owned).collect()
}

/// The table of reasons writes each crate in bold.
fn check_reasons(manifest: &Table, reasons: &str) -> Vec<String> {
    let missing = |d: &Dependency| {
        !is_ours(&d.package) && !reasons.contains(&format!("| **{}** |", d.package))
    };
    let dependencies = dependencies(manifest).into_iter().filter(missing);
    dependencies
        .map(|d| format!("{} has no row in {REASONS}", d.package))
        .collect()
}

fn is_ours(package: &str) -> bool {
    package.starts_with("siglum") || TABLE.iter().any(|(known, _)| *known == package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(manifest: &str, expected: &[&str]) {
        let manifest = manifest.parse::<Table>().unwrap();
        let found = check_manifest(&manifest);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, part) in found.iter().zip(expected) {
            assert!(found.contains(part), "{found} lacks {part}");
        }
    }

    #[test]
    fn the_workspace_keeps_to_the_table() {
        let (crates, problems) = super::check(&workspace::root()).unwrap();
        assert!(crates > 5, "only {crates} crates found");
        assert!(problems.is_empty(), "{problems:#?}");
    }

    #[test]
    fn an_arrow_the_table_lacks() {
        check(
            "package.name = 'siglum-ledger'\n[dependencies]\nsiglum-gitstore.workspace = true\nsiglum-domain = '1'",
            &["siglum-ledger → siglum-gitstore (dependencies)"],
        );
        check(
            "package.name = 'siglum-domain'\n[dependencies]\nx = { package = 'siglum-agents' }",
            &["siglum-domain → siglum-agents"],
        );
        check(
            "package.name = 'xtask'\n[target.'cfg(unix)'.build-dependencies]\nsiglum = '1'",
            &["xtask → siglum (build-dependencies)"],
        );
    }

    #[test]
    fn only_a_crate_itself_is_free_for_its_tests() {
        check(
            "package.name = 'siglum-ledger'\n[dev-dependencies]\nsiglum-ledger = '1'",
            &[],
        );
        check(
            "package.name = 'siglum-ledger'\n[dev-dependencies]\nsiglum-agents = '1'",
            &["siglum-agents (dev-dependencies)"],
        );
    }

    #[test]
    fn what_is_for_tests_is_no_part_of_a_product() {
        check(
            "package.name = 'siglum-engine'\n[dev-dependencies]\nsiglum-conformance = '1'",
            &[],
        );
        check(
            "package.name = 'siglum-engine'\n[dependencies]\nsiglum-conformance = '1'",
            &["siglum-conformance (dependencies)"],
        );
        check(
            "package.name = 'siglum-gateway'\n[dev-dependencies]\nsiglum-conformance = '1'",
            &["siglum-conformance (dev-dependencies)"],
        );
    }

    #[test]
    fn outside_crates_have_their_place() {
        check(
            "package.name = 'siglum'\n[dependencies]\nclap = '4'\nanyhow = '1'",
            &[],
        );
        check(
            "package.name = 'siglum-engine'\n[dependencies]\ntokio = '1'",
            &["siglum-engine → tokio"],
        );
        check(
            "package.name = 'siglum-ledger'\n[dependencies]\npostgres = '1'",
            &["siglum-ledger → postgres"],
        );
        check(
            "package.name = 'siglum-ledger'\n[dependencies]\npostgres = { version = '1', optional = true }",
            &[],
        );
        check(
            "package.name = 'siglum'\n[dependencies]\nrusqlite = '0'",
            &["only for siglum-ledger"],
        );
    }

    #[test]
    fn an_embedded_store_brings_in_no_network() {
        let table = |text: &str| text.parse::<Table>().unwrap();
        let engine = "package.name = 'siglum-engine'\n\
             [features]\ndefault = ['network']\nnetwork = ['dep:siglum-egress']\n\
             [dependencies]\nsiglum-egress = { workspace = true, optional = true }";
        let embedded = |shared: &str, asked: &str, engine: &str| {
            let store = format!("[dependencies]\nsiglum-engine = {{ workspace = true{asked} }}");
            let manifests = BTreeMap::from([
                (EMBEDDED.to_owned(), table(&store)),
                ("siglum-engine".to_owned(), table(engine)),
            ]);
            let shared =
                format!("[workspace.dependencies]\nsiglum-engine = {{ path = 'x'{shared} }}");
            check_embedded(&table(&shared), &manifests)
        };
        let off = ", default-features = false";
        let found = ["siglum-store brings in siglum-egress, through siglum-engine"];
        assert!(embedded(off, "", engine).is_empty());
        assert_eq!(embedded("", "", engine), found);
        assert_eq!(embedded(off, ", features = ['network']", engine), found);
        assert_eq!(embedded(off, ", default-features = true", engine), found);
        let always = "[dependencies]\nsiglum-egress.workspace = true";
        assert_eq!(embedded(off, "", always), found);
    }

    #[test]
    fn an_unknown_crate() {
        check(
            "package.name = 'siglum-util'",
            &["add it to the table in DESIGN"],
        );
    }

    #[test]
    fn every_crate_from_outside_has_a_reason() {
        let manifest = "[dependencies]\nserde = '1'\nsiglum-domain = '1'\nregex = '1'";
        let manifest = manifest.parse::<Table>().unwrap();
        let problems = check_reasons(&manifest, "| **serde** | wire |");
        assert_eq!(problems, ["regex has no row in docs/dependencies.md"]);
    }
}
