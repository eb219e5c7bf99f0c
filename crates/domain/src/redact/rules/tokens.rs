//! Tokens of one vendor each that show by their own form what they are.
//!
//! Kept apart from the table of [`super::known`] only for its length; it stands before that one, since nothing here
//! is a part of something there.

use super::{Rule, Shape};

const fn token(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    sample: &'static str,
) -> Rule {
    shaped(id, keywords, Shape::Token, pattern, sample)
}

const fn shaped(
    id: &'static str,
    keywords: &'static [&'static str],
    shape: Shape,
    pattern: &'static str,
    sample: &'static str,
) -> Rule {
    Rule {
        id,
        keywords,
        shape,
        pattern,
        min_entropy: Some(3.0),
        sample,
    }
}

/// The tokens.
pub(super) const TOKENS: &[Rule] = &[
    token(
        "siglum-token",
        &["siglum_"],
        r"siglum_[A-Za-z0-9._:-]{1,64}_[0-9a-f]{64}(?-u:\b)",
        concat!(
            "si",
            "glum_default_",
            "3f786850e387550fdab836ed7e6dc881",
            "9f86d081884c7d659a2feaa0c55ad015"
        ),
    ),
    token(
        "aws-bedrock-key",
        &["absk"],
        r"ABSK[A-Za-z0-9+/]{100,280}={0,2}",
        concat!(
            "AB",
            "SKrPLizQGSPeQa",
            "7GsMqnXGL7MGBS",
            "9jqSj9KAZaU3ek",
            "2Pcv3b69tGQYAX",
            "4DBY5NEizgciHp",
            "sVD3S8vCJ7ANyL",
            "PCPqxVb8tQUWkW",
            "9wLNNgXT"
        ),
    ),
    token(
        "alibaba-access-key",
        &["ltai"],
        r"LTAI[A-Za-z0-9]{12,26}(?-u:\b)",
        concat!("LT", "AIpS7NtuheG8SG", "fy5eCjbu"),
    ),
    token(
        "yandex-api-key",
        &["aqvn"],
        r"AQVN[A-Za-z0-9_-]{35,38}",
        concat!("AQ", "VND3C9hcQR2cAX", "PxMtJrcvaegQLc", "nCuRsjWc9x"),
    ),
    token(
        "clickhouse-cloud-key",
        &["4b1d"],
        r"4b1d[A-Za-z0-9]{38}(?-u:\b)",
        concat!("4b", "1dwzi9AAF9KAT9", "QVMgR5JtDSYXrv", "DsKvMxa4CPwb"),
    ),
    token(
        "aiven-token",
        &["avns_"],
        r"AVNS_[A-Za-z0-9_-]{18,}",
        concat!("AV", "NS_ARPSidSSxFy", "VyQXtZHbPdVbz"),
    ),
    token(
        "vercel-token",
        &["vcp_", "vca_", "vci_", "vcr_", "vck_"],
        r"vc[pairk]_[A-Za-z0-9]{24,}",
        concat!("vc", "p_sSFvPQwmzmw2", "z8Qsv4Ag36bNVZ", "ivJq"),
    ),
    token(
        "render-key",
        &["rnd_"],
        r"rnd_[A-Za-z0-9]{24,}",
        concat!("rn", "d_T5trwmVDTWgg", "QwxV7qE58kfxZT", "pN"),
    ),
    token(
        "neon-key",
        &["napi_"],
        r"napi_[a-z0-9]{40,}",
        concat!(
            "na",
            "pi_6tqhcnwmtxf",
            "yi4ut7y4u44c4j",
            "na85qc7uxqeuhr",
            "ccn5da8hkvrb4d",
            "hxis8dyqnhh"
        ),
    ),
    token(
        "openshift-token",
        &["sha256~"],
        r"sha256~[A-Za-z0-9_-]{43}",
        concat!(
            "sh",
            "a256~kr4t5i6aH",
            "SN9Bd2trtRKKDd",
            "Gw36a8d3ichdeG",
            "c8XfJJ"
        ),
    ),
    token(
        "gitlab-runner-registration-token",
        &["gr1348941"],
        r"GR1348941[A-Za-z0-9_-]{20,}",
        concat!("GR", "1348941HwkweyA", "TAPvzsnxDhiMa"),
    ),
    token(
        "gitlab-feature-flag-token",
        &["glffct-", "glwt-"],
        r"gl(?:ffct|wt)-[A-Za-z0-9_-]{20,}",
        concat!("gl", "ffct-XYA4fNmcz", "FQT4LAS5cRD"),
    ),
    shaped(
        "azure-devops-token",
        &["azdo"],
        Shape::Around(76),
        r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?-u:\b)",
        concat!(
            "dz",
            "SH2WwCWCFbrpLt",
            "WPe5DqDibwzM49",
            "shFWh6YU8K4AUg",
            "YwNLg5PXaGjr3A",
            "cKfNgUAm6bx78h",
            "b8hVAZDOG7Wu"
        ),
    ),
    token(
        "sourcegraph-token",
        &["sgp_"],
        r"sgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}",
        concat!(
            "sg",
            "p_9217331a5275",
            "7ec8_bcbd2c7d5",
            "df4c453ffe5486",
            "4a79d86908fc65",
            "b7a"
        ),
    ),
    token(
        "circleci-token",
        &["ccipat_", "cciprj_"],
        r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[a-f0-9]{40}",
        concat!(
            "CC",
            "IPAT_G39jCWGWQ",
            "pFP76TMbGYe8B_",
            "1e772687684518",
            "51a5d2232891be",
            "a00aadcf26fc"
        ),
    ),
    token(
        "buildkite-token",
        &["bkua_", "bkaj_", "bkct_"],
        r"bk(?:ua|aj|ct)_[A-Za-z0-9]{32,}",
        concat!(
            "bk",
            "ua_4a382d3e83b",
            "be983a3fb19545",
            "be334ad95ef952",
            "3"
        ),
    ),
    token(
        "octopus-deploy-key",
        &["api-"],
        r"API-[A-Z0-9]{25,34}(?-u:\b)",
        concat!("AP", "I-M3YGTT2DJC8T", "RYX36EY9HKTGHH"),
    ),
    token(
        "harness-token",
        &["pat.", "sat."],
        r"[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
        concat!(
            "pa",
            "t.mWnNCUZB6ZiP",
            "Qj9B5nLKkN.568",
            "b90edca9f9f060",
            "37f5e66.4Kpc6J",
            "TEhNuUjiF4fRdb"
        ),
    ),
    token(
        "sonar-token",
        &["squ_", "sqp_", "sqa_"],
        r"sq[upa]_[a-f0-9]{40}",
        concat!("sq", "u_b72f0aaab421", "2a626d7fa31d26", "5cff2d6f90eece"),
    ),
    token(
        "clojars-token",
        &["clojars_"],
        r"CLOJARS_[a-z0-9]{60}",
        concat!(
            "CL",
            "OJARS_m7cszz6z",
            "3qapszj7nkpbk3",
            "kbihk69mdb36w4",
            "cdr3c39bqrg28n",
            "kxhyhdut7v"
        ),
    ),
    token(
        "nuget-key",
        &["oy2"],
        r"oy2[a-z0-9]{43}(?-u:\b)",
        concat!(
            "oy",
            "29rtbxywfd5fag",
            "bfbkc8dnxn8x8y",
            "c2v3fum4h2x3m2",
            "ym"
        ),
    ),
    token(
        "artifactory-reference-token",
        &["cmvmd"],
        r"cmVmd[A-Za-z0-9]{59}(?-u:\b)",
        concat!(
            "cm",
            "Vmdz5CEqE3WGyt",
            "6kJY2QXWAHcjkX",
            "2b6Ff2WVUgwrQ7",
            "5TdR9dEF9YTxza",
            "enB4gx"
        ),
    ),
    token(
        "langfuse-key",
        &["sk-lf-", "pk-lf-"],
        r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        concat!("sk", "-lf-93e26714-4", "037-4967-9da6-", "e5213036823e"),
    ),
    token(
        "langsmith-key",
        &["lsv2_"],
        r"lsv2_[ps][tk]_[a-f0-9]{32}_[a-f0-9]{10}",
        concat!(
            "ls",
            "v2_pt_c73fbce3",
            "9ec630e92ab6f2",
            "bd267b1a7d_e28",
            "6a566ed"
        ),
    ),
    token(
        "cerebras-key",
        &["csk-"],
        r"csk-[a-z0-9]{40,}",
        concat!(
            "cs",
            "k-zn4848cubmgb",
            "jud8cnpt95cy7n",
            "ujg6v46epj9u2z",
            "k5v78qzu"
        ),
    ),
    token(
        "fireworks-key",
        &["fw_"],
        r"fw_[A-Za-z0-9]{22,}",
        concat!("fw", "_ubFzy57vZr5Ka", "aiSKjLbkdap"),
    ),
    token(
        "pinecone-key",
        &["pcsk_"],
        r"pcsk_[A-Za-z0-9_]{50,}",
        concat!(
            "pc",
            "sk_34Fy4z_McHm",
            "ratDx7dQL5gEvs",
            "rV5HCYsxcbDcSV",
            "k25NriZ274CJ27",
            "xMitbkcbHTd6FF",
            "KU2"
        ),
    ),
    token(
        "tavily-key",
        &["tvly-"],
        r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}",
        concat!("tv", "ly-dev-96QJCzK", "SkumeVi7MgC3yE", "Ft5sEuKjNwi"),
    ),
    token(
        "firecrawl-key",
        &["fc-"],
        r"fc-[a-f0-9]{32}(?-u:\b)",
        concat!("fc", "-1df7e80a3f488", "3d2b1fe69b5cca", "1861a"),
    ),
    token(
        "nvidia-key",
        &["nvapi-"],
        r"nvapi-[A-Za-z0-9_-]{50,}",
        concat!(
            "nv",
            "api-wRBMuciCsC",
            "fHqnZfWKhZS7hS",
            "76auWeDtGFtuLM",
            "dmrHkjjXmWFVBT",
            "ajBdm2SmvnT6"
        ),
    ),
    token(
        "elevenlabs-key",
        &["sk_"],
        r"sk_[a-f0-9]{48}(?-u:\b)",
        concat!(
            "sk",
            "_44146c3dc5083",
            "43494cb260b4f7",
            "2bf3af0bede9e4",
            "ec69595"
        ),
    ),
    token(
        "e2b-key",
        &["e2b_"],
        r"e2b_[a-f0-9]{36,}",
        concat!("e2", "b_a86411d53053", "cb82eea46aebab", "ba998537a79d8e"),
    ),
    token(
        "cursor-key",
        &["crsr_"],
        r"crsr_[a-f0-9]{40,}",
        concat!(
            "cr",
            "sr_4fa5e12dd91",
            "7cc62b61f3dcb0",
            "9bbceb3f4a70b2",
            "0426ad9600aeb6",
            "ea3c7f49963"
        ),
    ),
    token(
        "discord-bot-header",
        &["bot "],
        r"(?i-u:bot) (?P<secret>[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
        concat!(
            "Bo",
            "t M6mQfDb4yAaH",
            "7mGtiApJSDPS.U",
            "vDugS.ZWfeE2Zw",
            "e8awGDSg6UxTCP",
            "qwnTBfdTKbJKrN",
            "7f"
        ),
    ),
    shaped(
        "teams-webhook",
        &["/webhookb2/"],
        Shape::Start,
        r"/webhookb2/(?P<secret>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}@[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/[A-Za-z]+/[a-f0-9]{32}/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
        concat!(
            "/w",
            "ebhookb2/57fc9",
            "be7-69a4-4bba-",
            "96e1-d96f653e3",
            "c6a@51af7c17-c",
            "bc7-4598-9b81-",
            "a3679e557f66/I",
            "ncomingWebhook",
            "/b75cd59eb12ef",
            "058df7cfbcf53d",
            "a4a3b/49f4ebf1",
            "-b629-49ad-990",
            "d-bdfb5796c3a5"
        ),
    ),
    token(
        "shippo-token",
        &["shippo_"],
        r"shippo_(?:live|test)_[a-f0-9]{40}",
        concat!(
            "sh",
            "ippo_live_af5c",
            "e6db31f655333c",
            "ac82f8a78363fb",
            "d48b5867"
        ),
    ),
    token(
        "easypost-key",
        &["ezak", "eztk"],
        r"EZ[AT]K[A-Za-z0-9]{54}",
        concat!(
            "EZ",
            "AKrs4yYxgg9Xi2",
            "fqFxhw72jkcUHt",
            "Jiz9EZDJNVND5D",
            "suLtPAjcckDSap"
        ),
    ),
    token(
        "flutterwave-key",
        &["flwseck"],
        r"FLWSECK(?:_TEST)?-[a-zA-Z0-9]{32}-X",
        concat!(
            "FL",
            "WSECK_TEST-46b",
            "81b63562fd943a",
            "584224302cee85",
            "0-X"
        ),
    ),
    token(
        "plaid-token",
        &["access-"],
        r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        concat!(
            "ac",
            "cess-productio",
            "n-29d501aa-b31",
            "6-4c0e-9a7e-e7",
            "0b675dc3ca"
        ),
    ),
    token(
        "duffel-token",
        &["duffel_"],
        r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}",
        concat!(
            "du",
            "ffel_test_NhLU",
            "QrugbBbPxqnFNJ",
            "sS2QAUZpKPDSv5",
            "em4EJKguPRj"
        ),
    ),
    token(
        "razorpay-key",
        &["rzp_"],
        r"rzp_(?:live|test)_[A-Za-z0-9]{14,}",
        concat!("rz", "p_live_EKivKkq", "zKuheHeG5rZ3Cb", "abG"),
    ),
    token(
        "twilio-api-key",
        &["sk"],
        r"SK[0-9a-f]{32}(?-u:\b)",
        concat!("SK", "01f01b99ff9949", "2c136725c45290", "f2bf"),
    ),
    token(
        "resend-key",
        &["re_"],
        r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?-u:\b)",
        concat!("re", "_fCUXxM4B_DFxQ", "bwvGZSs4GZspyg", "TsZGCG"),
    ),
    shaped(
        "postmark-token",
        &["x-postmark-"],
        Shape::Start,
        r#"(?i-u:X-Postmark-(?:Server|Account)-Token)\\*"?:[ ]?\\*"?(?P<secret>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"#,
        concat!(
            "X-",
            "Postmark-Serve",
            "r-Token: 6a171",
            "c7c-5a35-4e8d-",
            "9dac-d1bcbc874",
            "760"
        ),
    ),
    token(
        "dynatrace-token",
        &["dt0c01.", "dt0s"],
        r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}",
        concat!(
            "dt",
            "0c01.4G38825N8",
            "3DLBNGJ3HHGPUJ",
            "5.5KLP59W6BSBX",
            "W2PHUNFP2RQXQF",
            "XVPP3AVRKTESYP",
            "UKYPNH75SD3SUN",
            "6PVYFG43YR"
        ),
    ),
    token(
        "posthog-key",
        &["phx_", "phs_"],
        r"ph[xs]_[A-Za-z0-9]{40,}",
        concat!(
            "ph",
            "x_sZhQNhbm9wyQ",
            "kqwdh3wQLeCxMu",
            "bHE3XE3kGah4kz",
            "88G"
        ),
    ),
    token(
        "airtable-token",
        &["pat"],
        r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
        concat!(
            "pa",
            "ttA8Kn8FAGzWzY",
            "a.affe0f295735",
            "58a2b07a01c53e",
            "bf0ed23226382a",
            "061e136ae9a060",
            "6d4bedf499"
        ),
    ),
    token(
        "typeform-token",
        &["tfp_"],
        r"tfp_[A-Za-z0-9_.=-]{40,}",
        concat!(
            "tf",
            "p_eq2kLxE5ArKW",
            "Lwuxy323kuzemA",
            "YvQFBJD6pgSyaQ",
            "YzEdTTFKU6QsRH",
            "LKZH3"
        ),
    ),
    token(
        "hubspot-token",
        &["pat-"],
        r"pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        concat!("pa", "t-na1-6922fec5", "-6848-4056-97e", "3-9b630ae9f1a9"),
    ),
    token(
        "contentful-token",
        &["cfpat-"],
        r"CFPAT-[A-Za-z0-9_-]{40,}",
        concat!(
            "CF",
            "PAT-mSFPNHv8KG",
            "xrenMczLey6amc",
            "Gkwgk8zP6rGXJS",
            "Lda2L"
        ),
    ),
    token(
        "mapbox-secret-token",
        &["sk.eyj"],
        r"sk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}",
        concat!(
            "sk",
            ".eyJqVwjNuMry9",
            "46yPAjFDUWBdFB",
            "7bTW3RftCvzham",
            "55gCZcBWD2rVe8",
            "DcszmDUy.CZbqW",
            "QyJqZ6AzWyuRkq",
            "zZa"
        ),
    ),
    token(
        "prefect-key",
        &["pnu_", "pnb_"],
        r"pn[ub]_[A-Za-z0-9]{36}",
        concat!("pn", "u_rTkHsniN9G2K", "P69Ek26B7sA2NB", "fpATgp92UN"),
    ),
    token(
        "readme-key",
        &["rdme_"],
        r"rdme_[a-z0-9]{60,}",
        concat!(
            "rd",
            "me_zysv25jyeuw",
            "tnn3ppqzs6rhhb",
            "4cvvyiism82srk",
            "8fnya9d45h3w4v",
            "y3e7nes6hseryt",
            "rw4"
        ),
    ),
    token(
        "infracost-key",
        &["ico-"],
        r"ico-[A-Za-z0-9]{32}(?-u:\b)",
        concat!("ic", "o-deNajnRqT4gn", "ykL3fkBJFbg6wp", "A4C3qg"),
    ),
    token(
        "scalingo-token",
        &["tk-us-"],
        r"tk-us-[A-Za-z0-9_-]{40,}",
        concat!(
            "tk",
            "-us-cfXeMYvV78",
            "nmEmfWyeHJUjjr",
            "qTHtBVd9qRv6Vy",
            "eSmkSRbEh3"
        ),
    ),
    token(
        "frameio-token",
        &["fio-u-"],
        r"fio-u-[A-Za-z0-9_=-]{60,}",
        concat!(
            "fi",
            "o-u-4rg8m7iMwW",
            "pM3DbufErJFrhB",
            "8NSZQkqUKtgiF5",
            "95CbQAh7rLC9Zk",
            "feGb5mrw6Q6x"
        ),
    ),
    token(
        "adobe-client-secret",
        &["p8e-"],
        r"p8e-[A-Za-z0-9_-]{32}",
        concat!("p8", "e-87uegydbywce", "mshbu8a42dsxjy", "pewv2j"),
    ),
    token(
        "settlemint-token",
        &["sm_"],
        r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}",
        concat!("sm", "_pat_AsfWPpHUJ", "fAveR9Y"),
    ),
    shaped(
        "maxmind-key",
        &["_mmk"],
        Shape::Around(36),
        r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?-u:\b)",
        concat!("KM", "2wVr_nqKYPBFUS", "u4W5jjXVSUNarm", "JFzZXC_mmk"),
    ),
    token(
        "intra42-secret",
        &["s-s4t2"],
        r"s-s4t2(?:ud|af)-[a-f0-9]{64}",
        concat!(
            "s-",
            "s4t2ud-ce9cc92",
            "a32cd8e937ef53",
            "cf6e909924611f",
            "dccd040cde3755",
            "b3bb09b18fa06c",
            "1"
        ),
    ),
    token(
        "one-password-secret-key",
        &["a3-"],
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?-u:\b)",
        concat!("A3", "-SAFRW8-E83A2B", "V6J3R-K5GEE-HR", "BRW-W6C4Q"),
    ),
    token(
        "aws-session-token",
        &["iqojb3jpz2lu", "fwogzxiv"],
        r"(?:IQoJb3JpZ2lu|FwoGZXIv)[A-Za-z0-9+/=%]{80,}",
        concat!(
            "IQ",
            "oJb3JpZ2luX2Vj",
            "exhGT9WrAm777w",
            "k6yzMxg9mEfx7m",
            "yqf9iGMvRFKuJg",
            "Beng6e9NrswTnm",
            "kSY74NKhW9jnxS",
            "w42reU8mBXar4t",
            "vdzFzx"
        ),
    ),
    shaped(
        "curl-password",
        &["curl "],
        Shape::Start,
        r#"curl[ -~]{0,80}?[ ](?:-u|--user)[ =]*\\*["']?[^\s:"'`$@/\\]{1,64}:(?P<secret>[^\s"'`$\\]{4,})"#,
        concat!("curl -s -u ", "me:hunter2-", "Harbour https://x"),
    ),
    shaped(
        "password-flag",
        &["mysql", "mariadb", "sshpass", "redis-cli"],
        Shape::Start,
        r#"(?:(?:mysql|mariadb)[a-z]*(?:[ ][ -~]{0,60}?)?[ ]-p|sshpass[ ]+-p[ ]*|redis-cli[ -~]{0,60}?[ ]-a[ ]+)\\*["']?(?P<secret>[^\s"'`$\\<-][^\s"'`\\]{3,})"#,
        concat!("mysql -u root ", "-phunter2-", "Harbour shop"),
    ),
    shaped(
        "netrc-password",
        &["machine ", "default login"],
        Shape::Start,
        r#"(?:machine[ \t]+\S{1,128}|default)(?:\s|\\n)+login[ \t]+\S{1,64}(?:\s|\\n)+password[ \t]+(?P<secret>[^\s"'`\\]{4,})"#,
        concat!(
            "machine x.example.com login me pass",
            "word hunter2-",
            "Harbour"
        ),
    ),
    shaped(
        "pgpass-password",
        &[":5432:"],
        Shape::Around(64),
        r#"[A-Za-z0-9.*_-]{1,63}:5432:[A-Za-z0-9_*.-]{1,63}:[A-Za-z0-9_*.-]{1,63}:(?P<secret>[^\s:"'`\\]{4,})"#,
        concat!("localhost:5432:", "app:me:hunter2-", "Harbour"),
    ),
    shaped(
        "docker-auth",
        &["\"auth"],
        Shape::Random,
        r#""auth\\*"[ ]?:[ ]?\\*"(?P<secret>[A-Za-z0-9+/]{20,}={0,2})"#,
        concat!("{\"auth\": \"", "q7RzW2mLx0Tb9K", "pVd3Yc5NfHs8==\"}"),
    ),
    shaped(
        "kubeconfig-key",
        &["client-key-data"],
        Shape::Start,
        r#"client-key-data\\*"?:[ ]*\\*"?(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"#,
        concat!(
            "client-key-",
            "data: q7RzW2mLx0Tb9KpVd3Yc5",
            "NfHs8JgAe1Uo4ZiQw6BtXnM0rSv"
        ),
    ),
    shaped(
        "password-hash",
        &[
            "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$gy$", "$apr1$",
        ],
        Shape::Token,
        r"\$(?:1|2[aby]|5|6|g?y|apr1)\$[./A-Za-z0-9=$]{4,40}\$?[./A-Za-z0-9]{20,}",
        concat!(
            "root:$6$",
            "q7RzW2mL$x0Tb9KpVd3Yc5",
            "NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2Dh:1:0"
        ),
    ),
    shaped(
        "named-value",
        &["name: ", "name\":", "name\\\":", "name\\\\\\\":"],
        Shape::Start,
        r#"(?i-u:name)\\*"?:[ ]*\\*["']?[A-Za-z0-9_-]*(?i-u:password|passwd|secret|token|api[_-]?key|credential)[A-Za-z0-9_-]{0,12}\\*["']?,?(?:\s|\\+n)*\\*["']?(?i-u:value)\\*["']?:[ ]*\\*["']?(?P<secret>[^\s"'`\\{}$<\[]{8,})"#,
        concat!("- name: API_SE", "CRET\n  value: q7RzW2mLx", "0Tb9KpVd3"),
    ),
];
