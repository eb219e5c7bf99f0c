use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use siglum_gitstore::{GitError, ObjectAddress, ObjectStore};

/// 5,000 lines that look like code and compress like code.
fn source() -> Vec<String> {
    let mut state = 1_u64;
    let mut next = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let words = [
        "let", "value", "Some", "return", "match", "self", "path", "fn", "index", "error",
    ];
    let mut line = || {
        let mut text = "    ".repeat(1 + usize::try_from(next(3)).unwrap());
        while text.len() < 60 {
            text.push_str(words[usize::try_from(next(10)).unwrap()]);
            text.push_str(&format!("_{:x} ", next(4096)));
        }
        text.truncate(61);
        text
    };
    (0..5000).map(|_| line()).collect()
}

fn disk_blocks(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap());
    entries
        .map(|e| {
            if e.path().is_dir() {
                disk_blocks(&e.path())
            } else {
                e.metadata().unwrap().len().div_ceil(4096) * 4096
            }
        })
        .sum()
}

#[test]
fn three_hundred_edits_stay_small() {
    let dir = tempfile::tempdir().unwrap();
    let store = ObjectStore::open(dir.path()).unwrap();
    let mut lines = source();
    let mut last: Option<ObjectAddress> = None;
    let mut slowest = Duration::ZERO;
    let mut times = Vec::new();
    let mut versions = Vec::new();
    for edit in 0..=300_usize {
        lines[(edit * 1237) % 5000] = format!("    // edit {edit} {:x}", edit * 7_919_919);
        lines.insert((edit * 733) % 5000, format!("    added_by(edit_{edit});"));
        let content = lines.join("\n");
        let start = Instant::now();
        let address = store.put(content.as_bytes(), last.as_ref()).unwrap();
        times.push(start.elapsed());
        slowest = slowest.max(start.elapsed());
        last = Some(address);
        versions.push((address, content));
    }
    times.sort();
    eprintln!(
        "size {} KiB, put median {:?} max {slowest:?}",
        disk_blocks(dir.path()) / 1024,
        times[150]
    );
    assert!(disk_blocks(dir.path()) <= 5_000_000);
    for (address, content) in &versions {
        assert_eq!(store.get(address).unwrap(), content.as_bytes());
    }
    let gone: HashSet<_> = versions.iter().step_by(2).map(|(a, _)| *a).collect();
    assert_eq!(store.remove(&gone).unwrap(), 151);
    for (address, content) in versions.iter().skip(1).step_by(2) {
        assert_eq!(store.get(address).unwrap(), content.as_bytes());
    }
    assert_eq!(store.addresses().unwrap().count(), 150);
    assert!(disk_blocks(dir.path()) <= 3_000_000);
}

#[test]
fn of_a_home_that_was_moved_away_no_other_one_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let (home, away) = (dir.path().join("home"), dir.path().join("away"));
    assert!(ObjectStore::open(home.join("objects")).is_err());
    fs::create_dir(&home).unwrap();
    let store = ObjectStore::open(home.join("objects")).unwrap();
    fs::rename(&home, &away).unwrap();
    assert!(store.put(b"late", None).is_err());
    assert!(!home.exists());
}

#[test]
fn kept_damaged_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = ObjectStore::open(dir.path().join("objects")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let content = source().join("\n");
    let base = store.put(content.as_bytes(), None).unwrap();
    let delta = store
        .put(format!("{content}\nx").as_bytes(), Some(&base))
        .unwrap();
    assert_eq!(store.put(content.as_bytes(), Some(&delta)).unwrap(), base);
    assert_eq!(
        store.put(b"", None).unwrap(),
        ObjectAddress::for_content(b"")
    );
    assert_eq!(store.get(&ObjectAddress::for_content(b"")).unwrap(), b"");
    let unknown = ObjectAddress::for_content(b"unknown");
    assert!(matches!(store.get(&unknown), Err(GitError::NotFound(a)) if a == unknown));
    store
        .put(b"with a base that is gone", Some(&unknown))
        .unwrap();
    let file = |a: &ObjectAddress| {
        dir.path()
            .join("objects")
            .join(&a.to_string()[..2])
            .join(&a.to_string()[2..])
    };
    assert_eq!(
        (mode(&file(&base)), mode(file(&base).parent().unwrap())),
        (0o600, 0o700)
    );
    assert_eq!(mode(&dir.path().join("objects")), 0o700);
    let taken = fs::metadata(file(&delta)).unwrap().len();
    assert!(taken < 300, "{taken}");
    let sound = fs::read(file(&base)).unwrap();
    for damage in [
        &sound[..sound.len() / 2],
        &[],
        &[9],
        &[1, 1, 0],
        b"\x01\x00nonsense",
    ] {
        fs::write(file(&base), damage).unwrap();
        assert!(store.get(&base).is_err());
        assert!(store.get(&delta).is_err());
    }
    fs::write(file(&base), b"").unwrap();
    assert!(!store.contains(&base));
    store.put(content.as_bytes(), None).unwrap();
    assert!(store.get(&delta).is_ok());
    assert_eq!(store.addresses().unwrap().count(), 4);
    assert_eq!(base.to_string().parse(), Ok(base));
    assert!("../etc".parse::<ObjectAddress>().is_err());
    assert!("A".repeat(64).parse::<ObjectAddress>().is_err());
}

#[test]
fn large_files_keep_their_differences_small() {
    let dir = tempfile::tempdir().unwrap();
    let store = ObjectStore::open(dir.path()).unwrap();
    let mut state = 7_u32;
    let mut content: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    })
    .take(5 << 20)
    .collect();
    let base = store.put(&content, None).unwrap();
    let before = disk_blocks(dir.path());
    content.splice(1000..1010, *b"something else");
    let edited = store.put(&content, Some(&base)).unwrap();
    assert!(
        disk_blocks(dir.path()) - before < 64 << 10,
        "{}",
        disk_blocks(dir.path()) - before
    );
    assert_eq!(store.get(&edited).unwrap(), content);
    assert!(matches!(
        store.put(&vec![0; (64 << 20) + 1], None),
        Err(GitError::TooLarge { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_put_is_got(versions in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 1..6)) {
        let dir = tempfile::tempdir().unwrap();
        let store = ObjectStore::open(dir.path()).unwrap();
        let mut base = None;
        for content in &versions {
            let grown = content.repeat(3);
            let address = store.put(&grown, base.as_ref()).unwrap();
            prop_assert_eq!(store.get(&address).unwrap(), grown);
            base = Some(address);
        }
    }
}
