//! More secrets that are known by what stands around them: documents in a shell, lines of files, options, addresses.
//!
//! Kept apart from the table of [`super::surroundings`] only for its length.

use super::{Rule, Shape, shaped};

/// As [`shaped`], with another least entropy; none where the secret may be a word that a person chose.
const fn varied(least: Option<f32>, rule: Rule) -> Rule {
    Rule {
        min_entropy: least,
        ..rule
    }
}

pub(super) const PLACES: &[Rule] = &[
    shaped(
        "telegram-address",
        &["api.telegram.org/"],
        Shape::Start,
        r"(?i-u:api\.telegram\.org)/(?:file/)?bot(?P<secret>[0-9]{6,12}:[A-Za-z0-9_-]{30,})",
        concat!(
            "https://api.telegram.org/bot123456789:q7RzW2mLx0Tb",
            "9KpVd3Yc5NfHs8JgAe1Uo4Z"
        ),
    ),
    varied(
        Some(4.0),
        shaped(
            "facebook-app-token-alone",
            &["0|", "1|", "2|", "3|", "4|", "5|", "6|", "7|", "8|", "9|"],
            Shape::Around(18),
            r"[0-9]{15,17}\|(?P<secret>[A-Za-z0-9_-]{27})(?:[^A-Za-z0-9_-]|$)",
            concat!("123456789012345|q7RzW2mLx0Tb", "9KpVd3Yc5NfHs8J"),
        ),
    ),
    shaped(
        "npm-login",
        &["_auth=", "_auth ="],
        Shape::Random,
        r#"(?i-u:_auth)[ ]?=[ ]?\\*["']?(?P<secret>[A-Za-z0-9+/]{20,}={0,2})"#,
        concat!(
            "//r.example.com/:_auth=YWRtaW46cTdSelcybUx4",
            "MFRiOUtwVmQ="
        ),
    ),
    varied(
        None,
        shaped(
            "here-document-password",
            &["password-stdin", "sudo -s", "chpasswd", "passwd --stdin"],
            Shape::Start,
            r#"(?:password-stdin|sudo[ ]+-S|chpasswd|passwd[ ]+--stdin)[^<\n]{0,120}<<-?[ ]*\\*["']?[A-Za-z_]{1,24}\\*["']?(?:\r?\n|\\+n)(?:[ \t]|\\+t)*(?P<secret>[^\s"'`$\\<]{3,})"#,
            concat!(
                "docker login -u me --password-stdin <<END\nhunter2-",
                "Harbour\nEND"
            ),
        ),
    ),
    varied(
        Some(4.0),
        shaped(
            "here-document-value",
            &["= <<", "=<<"],
            Shape::Around(72),
            r#"[A-Za-z0-9_-]{0,40}(?i-u:password|passwd|passphrase|secret|token|api_?key|private_?key|credential)[A-Za-z0-9_-]{0,12}[ ]*=[ ]*<<[-~]?[ ]*\\*["']?[A-Za-z_]{1,24}\\*["']?(?:\r?\n|\\+n)(?:[ \t]|\\+t)*(?P<secret>[^\s"'`$\\<-][^\s"'`\\]{15,})"#,
            concat!(
                "private_key = <<EOT\nq7RzW2mLx0Tb",
                "9KpVd3Yc5NfHs8JgAe1Uo4Z\nEOT"
            ),
        ),
    ),
    varied(
        None,
        shaped(
            "inserted-row",
            &["insert into"],
            Shape::InsertedRow,
            r#"(?i-u:insert[ ]+into)[ ]+[^\s(]{1,80}[ ]*\("#,
            concat!(
                "INSERT INTO users (name, password) VALUES ('a', 'hunter2-",
                "Harbour')"
            ),
        ),
    ),
    varied(
        None,
        shaped(
            "oracle-login",
            &[
                "connect ", "conn ", "sqlplus ", "expdp ", "impdp ", "sqlldr ",
            ],
            Shape::Start,
            // In small letters the first two are words.
            r#"(?:CONNECT|CONN|(?i-u:sqlplus|expdp|impdp|sqlldr))[ ]+(?:-[A-Za-z]+[ ]+)*\\*["']?[A-Za-z][A-Za-z0-9_$#]{0,30}/(?P<secret>[^\s"'`@/\\$&<]{4,64})@[A-Za-z0-9/(]"#,
            concat!("sqlplus app/hunter2-", "Harbour@//db:1521/x"),
        ),
    ),
    varied(
        Some(3.5),
        shaped(
            "cookies-file",
            &[
                "true\t",
                "false\t",
                "true\\t",
                "false\\t",
                "true\\\\t",
                "false\\\\t",
            ],
            Shape::Start,
            r#"(?:TRUE|FALSE)(?:\t|\\+t)[0-9]{1,12}(?:\t|\\+t)[^\s\\"']{1,64}(?:\t|\\+t)(?P<secret>[^\s"'`\\]{16,})"#,
            concat!(
                ".example.com\tTRUE\t/\tTRUE\t0\tsid\tq7RzW2mLx0Tb",
                "9KpVd3Yc5NfHs8J"
            ),
        ),
    ),
    varied(
        None,
        shaped(
            "windows-share-password",
            &["net use "],
            Shape::Start,
            r#"(?i-u:net[ ]+use)[ ]+(?:[A-Za-z*]:?[ ]+)?\\{2,8}[^\s\\]+\\{1,4}[^\s\\]+[ ]+(?:/(?i-u:user):\S+[ ]+)?(?P<secret>[^\s/*"'`\\$%][^\s"'`\\]{3,})(?:[ ]+/|["'`\\\n]|$)"#,
            concat!("net use X: \\\\host\\share hunter2-", "Harbour /user:me"),
        ),
    ),
    varied(
        None,
        shaped(
            "openssl-key",
            &["openssl "],
            Shape::Start,
            r#"openssl[ ]+(?:enc|aes|des|camellia|aria)[a-z0-9-]*[ ](?:[ -~]{0,120}?[ ])?-[kK][ ]+\\*["']?(?P<secret>[^\s"'`$\\|&;<>-][^\s"'`\\|&;<>]{3,})"#,
            concat!("openssl enc -aes-256-cbc -k hunter2-", "Harbour -in a"),
        ),
    ),
    varied(
        Some(2.8),
        shaped(
            "wifi-key",
            &["psk="],
            Shape::Start,
            r#"(?i-u:psk)=\\*["']?(?P<secret>[^\s"'`\\$<&,;]{8,64})"#,
            concat!("psk=\"hunter2-", "Harbour\""),
        ),
    ),
    shaped(
        "signature-alone",
        &["signature="],
        Shape::Random,
        r"(?i-u:signature)=(?P<secret>[A-Za-z0-9%+/_~-]{20,}={0,2})",
        concat!("the Signature=q7RzW2mLx0Tb", "9KpVd3Yc5NfHs8J="),
    ),
    varied(
        None,
        shaped(
            "masked-in-a-workflow",
            &["::add-mask::"],
            Shape::Start,
            r#"::add-mask::(?P<secret>[^\s"'`\\$]{4,})"#,
            concat!("echo ::add-mask::hunter2-", "Harbour"),
        ),
    ),
    varied(
        Some(2.8),
        shaped(
            "pipedream-address",
            &[".m.pipedream.net"],
            Shape::Around(24),
            r"(?P<secret>e[a-z0-9]{10,20})\.m\.pipedream\.net",
            concat!("https://eoq7rzw2mlx", "0tb9.m.pipedream.net"),
        ),
    ),
    // Nobody's name is that long.
    varied(
        Some(3.0),
        shaped(
            "url-token",
            &[
                "@github.",
                "@gitlab.",
                "@bitbucket.org",
                "@dev.azure.com",
                "x-oauth-basic@",
            ],
            Shape::Around(160),
            r"https?://(?P<secret>[A-Za-z0-9_]{40,128})(?::x-oauth-basic)?@",
            concat!(
                "https://3f9a1c7e5b2d8046",
                "fe19ac73d5820b6e4c97f1a0@github.com/o/r"
            ),
        ),
    ),
    varied(
        None,
        shaped(
            "redis-password",
            &["requirepass ", "masterauth "],
            Shape::Start,
            r#"(?:requirepass|masterauth)[ \t]+\\*["']?(?P<secret>[^\s"'`$\\<]{4,})(?:[ ]+--|[ ]*(?:[\r\n"'`\\]|$))"#,
            concat!("requirepass hunter2-", "Harbour"),
        ),
    ),
    // What has no user to act for begins with a zero byte.
    shaped(
        "sasl-plain",
        &["auth plain ", "authenticate plain "],
        Shape::Start,
        r"AUTH(?:ENTICATE)?[ ]PLAIN[ ]+(?P<secret>A[A-H][A-Za-z0-9+/]{10,}={0,2})",
        concat!("AUTH PLAIN AHVzZXIAcGFz", "c3dvcmQxMjM0NQ=="),
    ),
    // As a line of a protocol ends; what a runner of tests says of a file or a test ends in another way, has a path, or is
    // words.
    varied(
        None,
        shaped(
            "pass-command",
            &["pass "],
            Shape::Start,
            r#"PASS[ ](?P<secret>[^\s"'`\\/:.]{0,60}[0-9][^\s"'`\\/:.]{3,})(?:\r|\\+r)"#,
            concat!("PASS hunter2-", "Harbour\r\n"),
        ),
    ),
    varied(
        None,
        shaped(
            "form-password",
            &["curl "],
            Shape::Start,
            r#"curl[ ](?:[ -~]{0,160}?[ ])?(?:-F|--form(?:-string)?)[ =]*\\*["']?[A-Za-z0-9_.-]{0,40}(?i-u:password|passwd|passphrase)=(?P<secret>[^\s"'`$\\@<{(&;][^\s"'`\\&;]{3,})"#,
            concat!("curl -F password=hunter", "Harbour https://x"),
        ),
    ),
    varied(
        None,
        shaped(
            "httpie-password",
            &["http -", "https -", "http get ", "http post "],
            Shape::Start,
            r#"https?[ ](?:[ -~]{0,120}?[ ])?(?:-a|--auth)[ =]*\\*["']?[^\s:"'`$@/\\<-][^\s:"'`$@/\\]{0,63}:(?P<secret>[^\s"'`$\\/]{4,})"#,
            concat!("http -a me:hunter2-", "Harbour x.example"),
        ),
    ),
    shaped(
        "vault-login",
        &["vault login "],
        Shape::Start,
        r"vault[ ]login[ ]+(?:-[a-z=-]+[ ]+){0,4}(?:token=)?(?P<secret>[sbr]\.[A-Za-z0-9_-]{20,})",
        concat!("vault login s.q7RzW2mLx0Tb", "9KpVd3Yc5NfH"),
    ),
    varied(
        None,
        shaped(
            "composer-password",
            &["http-basic."],
            Shape::Start,
            r#"http-basic\.[A-Za-z0-9.-]{1,100}[ ]+[^\s"']{1,64}[ ]+\\*["']?(?P<secret>[^\s"'`$\\<|&;>-][^\s"'`\\|&;<>]{3,})"#,
            concat!(
                "composer config http-basic.r.example me hunter2-",
                "Harbour"
            ),
        ),
    ),
    shaped(
        "gcloud-refresh-token",
        &["activate-refresh-token "],
        Shape::Start,
        r#"activate-refresh-token[ ]+[^\s"'-][^\s"']{0,100}[ ]+\\*["']?(?P<secret>[A-Za-z0-9/][A-Za-z0-9_./-]{15,})"#,
        concat!(
            "gcloud auth activate-refresh-token me q7RzW2mLx0Tb",
            "9KpVd3Yc5NfHs8J"
        ),
    ),
    varied(
        None,
        shaped(
            "password-prompt",
            &["password for "],
            Shape::Start,
            r#"Password for (?:user(?:[ ]\S{1,64})?|\\*'[^'\n]{1,200}'):[ ]+(?P<secret>[^\s"'`\\$<*\[(][^\s"'`\\]{3,})[ ]*(?:[\r\n"'`\\]|$)"#,
            concat!("Password for user me: hunter2-", "Harbour"),
        ),
    ),
    shaped(
        "extended-private-key",
        &["xprv", "yprv", "zprv", "tprv", "uprv", "vprv"],
        Shape::Token,
        r"[tuvxyz]prv[1-9A-HJ-NP-Za-km-z]{95,112}(?-u:\b)",
        concat!(
            "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiCh",
            "kVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"
        ),
    ),
];
