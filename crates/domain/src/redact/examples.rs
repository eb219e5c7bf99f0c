//! Keys that manuals print as examples: everybody has them, and text about them must stay readable.

/// Each begins as written here; they are cut in two so that no scanner takes this list for a leak.
const DOCUMENTED: &[(&str, &str)] = &[
    ("AKIAIOSFODNN7", "EXAMPLE"),
    ("AKIAI44QH8DHB", "EXAMPLE"),
    ("ASIAIOSFODNN7", "EXAMPLE"),
    ("wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY"),
    ("je7MtGbClwBF/2Zp9Utk", "/h3yCo8nvbEXAMPLEKEY"),
    ("sk_test_4eC39Hq", "LyjWDarjtT1zdp7dc"),
    ("sk_test_BQokikJOv", "BiI2HlWgH4olfQ2"),
    (
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
        "/K1SZFPTOtr/KBHBeksoGMGw==",
    ),
    (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwi",
        "aWF0IjoxNTE2MjM5MDIyfQ.",
    ),
    ("QWxhZGRpbjpvcGVu", "IHNlc2FtZQ=="),
    ("QWxhZGRpbjpPcGVu", "U2VzYW1l"),
    ("dXNlcjpwYXNz", "d29yZA=="),
    ("mF_9.B5f-4", ".1JqM"),
    ("2YotnFZFEjr1zCsic", "MWpAA"),
    ("SplxlOBeZQQYbYS6", "WxSbIA"),
    ("tGzv3JOkF0XG5Qx2", "TlKWIA"),
    ("xoxb-263594206564-", "FGqddMF8t08v8N7Oq4i57vs1"),
];

/// Tells whether `secret` is one that a manual made up.
pub(super) fn is_documented(secret: &str) -> bool {
    DOCUMENTED.iter().any(|(head, tail)| {
        secret
            .strip_prefix(head)
            .is_some_and(|rest| rest.starts_with(tail))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_known_and_their_neighbours_are_not() {
        assert!(is_documented(concat!("AKIAIOSFODNN7", "EXAMPLE")));
        assert!(!is_documented(concat!("AKIAIOSFODNN7", "EXAMPLF")));
        assert!(!is_documented(""));
    }
}
