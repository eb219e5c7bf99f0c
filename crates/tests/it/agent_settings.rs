//! Settings beside the agent's own that keep it from running our hooks.

use std::fs;

use crate::harness::World;

#[test]
fn hooks_that_a_checkout_switches_off_are_reported_there() {
    for name in ["settings.json", "settings.local.json"] {
        let world = World::new();
        let repo = world.repo();
        repo.siglum(&["doctor"]).ok();
        fs::create_dir_all(repo.dir.join(".claude")).unwrap();
        fs::create_dir_all(repo.dir.join("deep/inside")).unwrap();
        let path = repo.dir.join(".claude").join(name);
        fs::write(&path, "{ \"disableAllHooks\": true } // for now").unwrap();
        for dir in ["", "deep/inside"] {
            let here = repo.beside(repo.dir.join(dir));
            let doctor = here.siglum(&["doctor"]);
            assert_eq!(doctor.code, Some(1), "{name}: {doctor:?}");
            let report = doctor
                .stdout
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            for part in ["`disableAllHooks` in", path.to_str().unwrap()] {
                assert!(report.contains(part), "{name}: {part}: {report}");
            }
            let status = here.siglum(&["status"]).ok();
            assert!(status.contains("disableAllHooks"), "{name}: {status}");
        }
        let elsewhere = world.sh(
            &world.root,
            &format!("'{}' doctor", World::program().display()),
        );
        assert!(
            !elsewhere.stdout.contains("disableAllHooks"),
            "{elsewhere:?}"
        );
        fs::write(&path, "{ \"disableAllHooks\": false }").unwrap();
        repo.siglum(&["doctor"]).ok();
    }
}
