//! More tokens of one vendor each that show by their own form what they are.

use super::{Rule, Shape, shaped, token};

pub(super) const VENDORS: &[Rule] = &[
    token(
        "adafruit-key",
        &["aio_"],
        r"aio_[A-Za-z0-9]{28}(?-u:\b)",
        concat!("ai", "o_h8jzPde0IgxLd67ncfBAepfJBd08"),
    ),
    token(
        "akamai-credential",
        &["akab-"],
        r"akab-[a-z0-9]{16}-[a-z0-9]{16}",
        concat!("ak", "ab-gdzdoc9i70j8ht9m-pg9edn587u", "33xtpf"),
    ),
    token(
        "alchemy-key",
        &["alcht_"],
        r"alcht_[A-Za-z0-9]{30}(?-u:\b)",
        concat!("al", "cht_0tHF4vUCsMehGAk7vj7FAc9QeW", "JKYu"),
    ),
    token(
        "amazon-mws-token",
        &["amzn.mws."],
        r"amzn\.mws\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        concat!("am", "zn.mws.abfe228f-219e-49cb-90eb", "-53f16947ccf2"),
    ),
    token(
        "apify-token",
        &["apify_api_"],
        r"apify_api_[A-Za-z0-9_-]{36}",
        concat!("ap", "ify_api_ACzJr4i0B3JrTAwR4y7ojf", "ljoQoaF1LlqsaI"),
    ),
    token(
        "appsync-key",
        &["da2-"],
        r"da2-[a-z0-9]{26}(?-u:\b)",
        concat!("da", "2-8ui6d39zzzzg47dmen2khvdgag"),
    ),
    token(
        "authress-key",
        &["sc_", "ext_", "scauth_", "authress_"],
        r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
        concat!(
            "au",
            "thress_5benyj7wx4h3.j4tg.acc_7",
            "q4k7bn77j8b7tfx.1kwXoIIXGvOoNZ",
            "YW2mZp0zVZomHFwU7bYrEqmSM9wCZ7",
            "Uw9xfogoEmvnEN5a"
        ),
    ),
    token(
        "aws-bedrock-short-key",
        &["bedrock-api-key-"],
        r"bedrock-api-key-[A-Za-z0-9+/=]{60,}",
        concat!(
            "be",
            "drock-api-key-YmVkcm9jay5hbWF6",
            "b25hd3MuY29tiSkpXz9w3QlY7Zkuvq",
            "dt7s8Stqcbnr3yBdGBLEPH7qhT61qt",
            "c4xatws8phP9nhFyJfm5di4PzJ59FH",
            "zA"
        ),
    ),
    Rule {
        min_entropy: Some(3.5),
        ..shaped(
            "azure-registry-password",
            &["+acr"],
            Shape::Around(42),
            r"[A-Za-z0-9+/]{42}\+ACR[A-Za-z0-9]{6}(?-u:\b)",
            concat!(
                "Gz",
                "CueQpBenQtYh5Xj8TPQ7jq4i9DoV8g",
                "z4FkQ1okTz+ACRUAmwux"
            ),
        )
    },
    token(
        "bannerbear-key",
        &["bb_pr_", "bb_ma_"],
        r"bb_(?:pr|ma)_[a-f0-9]{30}(?-u:\b)",
        concat!("bb", "_pr_2aee0ca923732887584d8c4fa2", "8158"),
    ),
    Rule {
        min_entropy: Some(4.4),
        ..shaped(
            "beamer-token",
            &["b_"],
            Shape::Token,
            r"b_[A-Za-z0-9=_-]{44}(?-u:\b)",
            concat!("b_", "GbOfZqfM2oeq3hDavJA76r7icHTp8h", "kqdlm7tOtHWnsR"),
        )
    },
    token(
        "bitbucket-http-token",
        &["bbdc-"],
        r"BBDC-[A-Za-z0-9+/@_-]{40,50}",
        concat!("BB", "DC-MaIScGebcy8F5n3_YNBDRz7ZSgq", "bjG3uhkWKFLf6xuIq"),
    ),
    token(
        "braintree-token",
        &["access_token$"],
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
        concat!(
            "ac",
            "cess_token$production$6v9upctn",
            "7lavyf4m$c02824c1c099724c7f494",
            "1d4072014be"
        ),
    ),
    Rule {
        min_entropy: Some(4.2),
        ..shaped(
            "close-key",
            &["api_"],
            Shape::Token,
            r"api_[A-Za-z0-9.]{44,45}(?-u:\b)",
            concat!("ap", "i_edObOIRpFqa7ZeV7G5IfQV.sEqZe", "2qpUWn7VPDF2yeE6X"),
        )
    },
    token(
        "cloudflare-scoped-token",
        &["cfat_", "cfut_", "cfk_"],
        r"cf(?:at|ut|k)_[A-Za-z0-9]{40,60}(?-u:\b)",
        concat!(
            "cf",
            "ut_tNOPmeMjvqPVStNKiaEd7rRgSnR",
            "FsTHsDDDXh5Jf609e2e86"
        ),
    ),
    token(
        "cosmo-key",
        &["cosmo_"],
        r"cosmo_[a-f0-9]{32}(?-u:\b)",
        concat!("co", "smo_6248b483b7ffc0507ec94dbca3", "a0aac0"),
    ),
    token(
        "defined-networking-key",
        &["dnkey-"],
        r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}",
        concat!(
            "dn",
            "key-9QXEZYEX1RDRG7SJPR16UMX1B9",
            "-BFD02IS5D9IK40VSTQQZPT49ZH7KE",
            "N659O2V21I9MPFLV9FUPXQ0"
        ),
    ),
    token(
        "deno-token",
        &["ddp_", "ddw_"],
        r"dd[pw]_[A-Za-z0-9]{36}(?-u:\b)",
        concat!("dd", "p_0AVHnyrvWdFrK9xiRG7OY32nfr5p", "yzPCB9t3"),
    ),
    Rule {
        min_entropy: Some(4.4),
        ..shaped(
            "dropbox-token",
            &["sl."],
            Shape::Token,
            r"sl\.(?:u\.)?[A-Za-z0-9_-]{77,}",
            concat!(
                "sl",
                ".u.Zqe28-ajY75FnCttn6kfaqDeMqG",
                "3omjMyXHCabM6JOF8EFd0Nhcy_1kGD",
                "2VD_eR1UYzaLi7_zNyD7CHLn_xC-1h",
                "sYgBds1ghxY5OokvQyx7eNWVQ4vnak",
                "JkS1pAWTN3lg8zV5yPU8d0O"
            ),
        )
    },
    token(
        "endor-key",
        &["endr+"],
        r"endr\+[A-Za-z0-9-]{16}(?-u:\b)",
        concat!("en", "dr+vzcycDeZ7dqmVe5x"),
    ),
    token(
        "fleetbase-key",
        &["flb_live_", "flb_test_"],
        r"flb_(?:live|test)_[A-Za-z0-9]{20}(?-u:\b)",
        concat!("fl", "b_live_Ov99NcqVTS77rtaUWM68"),
    ),
    Rule {
        min_entropy: Some(4.2),
        ..shaped(
            "flexport-key",
            &["shltm_"],
            Shape::Token,
            r"shltm_[A-Za-z0-9_-]{40}",
            concat!("sh", "ltm_FdDn87XG3_q_xbMtEPO67kzYuF", "0ie9Pu2njHkAmT"),
        )
    },
    token(
        "fullstory-key",
        &["na1.", "eu1."],
        r"(?:na|eu)1\.[A-Za-z0-9+/]{80,}={0,2}",
        concat!(
            "na",
            "1.BwDr16EpLLJIVGHz4FxFEtKyPiYG",
            "FDm7ena8D5VfLDpgyyjVw57anSBeVR",
            "sfAGeAbP0VxNjAe/9i0mYtluYI0KN1",
            "gNT11cUzYZA5"
        ),
    ),
    Rule {
        min_entropy: Some(4.4),
        ..shaped(
            "gocardless-token",
            &["live_", "sandbox_"],
            Shape::Token,
            r"(?:live|sandbox)_[A-Za-z0-9_-]{40}(?-u:\b)",
            concat!("li", "ve_WBh0fzK4xDXkiadJjPZ67fKN7xV", "GkjwskHk7egyZ"),
        )
    },
    token(
        "instagram-token",
        &["igqvj", "igqw"],
        r"IGQ(?:VJ|W)[A-Za-z0-9=_-]{80,}",
        concat!(
            "IG",
            "QVJC9Zmti18c6EudM7Oyf5TNS05kOY",
            "2oNzN2m1ElKncz8HkywhjpU05mc471",
            "WRcQ1uhyMDJ2OXtPAtLpByQxCGClba",
            "NFDpCWNX0D1lZEzgeiwBxfG"
        ),
    ),
    token(
        "klaviyo-key",
        &["pk_"],
        r"pk_(?:[A-Za-z0-9]{6}_)?[0-9a-f]{34}(?-u:\b)",
        concat!("pk", "_6142a21c402364f9572b85a8e48f6", "87ab5"),
    ),
    token(
        "llama-cloud-key",
        &["llx-"],
        r"llx-[A-Za-z0-9_-]{40,}",
        concat!(
            "ll",
            "x-TaVcojsNOBAGx5diFoNPcbda7wtg",
            "HwIoALtLinxN1Ekia7Zj"
        ),
    ),
    token(
        "lob-key",
        &["live_", "test_"],
        r"(?:live|test)_[a-f0-9]{35}(?-u:\b)",
        concat!("li", "ve_f3248c801bef750117c57513064", "d6d59290"),
    ),
    token(
        "nats-seed",
        &["sua", "saa", "soa", "sna", "sca", "sxa"],
        r"S[ACNOUX]A[A-Z2-7]{55}(?-u:\b)",
        concat!(
            "SU",
            "AI35F4LOGQOCHVQDR3QSNFAKQPMK7M",
            "YVPY66AB3OTNZEKJCBHGKWJBBC"
        ),
    ),
    Rule {
        min_entropy: Some(3.0),
        ..shaped(
            "new-relic-license-key",
            &["ffffnral"],
            Shape::Around(32),
            r"(?:[0-9a-f]{32}|eu01xx[0-9a-f]{26})FFFFNRAL",
            concat!("a1", "2b62c376631129734369aad80b891f", "FFFFNRAL"),
        )
    },
    token(
        "nightfall-key",
        &["nf-"],
        r"NF-[A-Za-z0-9]{32}(?-u:\b)",
        concat!("NF", "-WsNVbYAbBHXgwETd7KnT30fK0skBa", "HmW"),
    ),
    token(
        "ntlm-message",
        &["tlrmtvntuaa"],
        r"TlRMTVNTUAA[A-Za-z0-9+/=]{32,}",
        concat!(
            "Tl",
            "RMTVNTUAADAAAAMaS+m+x/SHuKBD/v",
            "ok+nPTmZYl2dVA7H2vWD6qeSPt5Pv7",
            "4GDqQ7EyIMttFH"
        ),
    ),
    token(
        "pagarme-key",
        &["ak_live_", "ak_test_"],
        r"ak_(?:live|test)_[A-Za-z0-9]{30}(?-u:\b)",
        concat!("ak", "_live_nkpu9mq9Ugk9Qgm7jjYtUtBr", "mgO6g4"),
    ),
    token(
        "pganalyze-key",
        &["pgar_"],
        r"pgar_[A-Za-z0-9]{27}(?-u:\b)",
        concat!("pg", "ar_KDcaz2YBSoGOs7bjqMVzaVp62BL"),
    ),
    token(
        "photoroom-key",
        &["sk_pr_"],
        r"sk_pr_[A-Za-z0-9]{1,64}_[a-fA-F0-9]{40}",
        concat!(
            "sk",
            "_pr_default_e7753eda83d7c58dfe",
            "0d7a0cf318656b3e6f0ba6"
        ),
    ),
    token(
        "pubnub-secret-key",
        &["sec-c-"],
        r"sec-c-[A-Za-z0-9+/=]{36,}",
        concat!(
            "se",
            "c-c-ZlzGW7hUNwOdqryzdaeA6AOS7w",
            "LqgotVz89HoZ9zDnki7XeO"
        ),
    ),
    token(
        "ramp-secret",
        &["ramp_sec_"],
        r"ramp_sec_[A-Za-z0-9]{48}",
        concat!(
            "ra",
            "mp_sec_uEPJUo09jwQO10Y0ADsWJPi",
            "X7EwY2orTyRqBRlEaZUZrwpPE"
        ),
    ),
    token(
        "recharge-token",
        &["sk_1x", "sk_2x", "sk_3x", "sk_5x", "sk_10x", "sk_test_"],
        r"sk_(?:test_)?(?:1|2|3|5|10)x[123]_[0-9a-fA-F]{64}",
        concat!(
            "sk",
            "_1x1_0d2b49c12a4b0062983475eb4",
            "6c5296f72e338d74ff1fe4f7f505ae",
            "f9ebdd250"
        ),
    ),
    token(
        "robinhood-key",
        &["rh-api-"],
        r"rh-api-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        concat!("rh", "-api-1a3ff416-d4a3-4baf-969d-a", "d8199bfca8b"),
    ),
    token(
        "rootly-key",
        &["rootly_"],
        r"rootly_[a-f0-9]{64}",
        concat!(
            "ro",
            "otly_df3a6a9421cc1c93016f1c426",
            "1e5351d70b49895d1a0d1f13dce20c",
            "4fd32f640"
        ),
    ),
    token(
        "salad-key",
        &["salad_cloud_"],
        r"salad_cloud_[A-Za-z0-9]{1,12}_[A-Za-z0-9]{20,}",
        concat!(
            "sa",
            "lad_cloud_user_URQh92fn3hiEbrU",
            "KpCUVl7dxXVTS2j7WfsOJTFDQ74q69",
            "dTcada4PR0NfytM"
        ),
    ),
    token(
        "salesforce-refresh-token",
        &["5aep861"],
        r"5Aep861[A-Za-z0-9._=]{60,}",
        concat!(
            "5A",
            "ep8616931FMdux8KUCERkj9Zhx9PkO",
            "ZAEyXYC8rYWKvsr7NPTZ0Mv3MUa1jM",
            "1tLB4pyyRyMX5oZCsSauqrBk0"
        ),
    ),
    token(
        "salesforce-session",
        &["00d"],
        r"00D[A-Za-z0-9]{12}![A-Za-z0-9_.]{80,}",
        concat!(
            "00",
            "Dr4Ycs17Z43K2!gZJRX6FwIfIJFZym",
            "YWU7otMdRzDTn7qLWaYyDIfIZwXeoz",
            "LH7q41HuEGLmmnmflZSsxKKwzXH2jp",
            "c7Fx3gxODYfjuMbwrHMc"
        ),
    ),
    token(
        "snyk-token",
        &["snyk_uat.", "snyk_sat."],
        r"snyk_[us]at\.[a-z0-9]{8}\.[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)?",
        concat!(
            "sn",
            "yk_uat.i5nqr1gq.bcvmlyfbdcJx3T",
            "DF8265e3MOz7hT9f7uKoPf96QGzlC2",
            "kx9pUolc8q8wd5J1.jdqYGTVPWEdgj",
            "uWa8mRV7LLCWPgEuxqyhxEykCp6"
        ),
    ),
    token(
        "spectral-token",
        &["spu-"],
        r"spu-[a-z0-9]{32}(?-u:\b)",
        concat!("sp", "u-03mckoexi2gybe2v7o4hxjvodl29", "j2j0"),
    ),
    token(
        "swarm-token",
        &["swmtkn-1-", "swmkey-1-"],
        r"SWM(?:TKN-1-[a-z0-9]{50}-[a-z0-9]{25}|KEY-1-[A-Za-z0-9+/]{43})",
        concat!(
            "SW",
            "MTKN-1-cjbrsvkq5gu34hj6dn94shq",
            "mx7qppgys0kdsjb26v6i2a7slx0-wr",
            "lil7olmff57lnimtmae70dv"
        ),
    ),
    token(
        "together-key",
        &["tgp_v1_"],
        r"tgp_v1_[A-Za-z0-9_-]{40,}",
        concat!("tg", "p_v1_q_lb09rIFxUeuVaT5jpTF7WhL", "n_5drcFlCxvnNGdcmb"),
    ),
    token(
        "trufflehog-secret",
        &["thog-secret-"],
        r"thog-secret-[0-9a-f]{32}",
        concat!("th", "og-secret-c7e3b35183ef83337477", "4ec50cd1c1b7"),
    ),
    token(
        "twitter-bearer-token",
        &["aaaaaaaaaaaaaaaaaaaaa"],
        r"A{21,22}[A-Za-z0-9%]{60,}",
        concat!(
            "AA",
            "AAAAAAAAAAAAAAAAAAAzvTB1KZ6u0z",
            "2JduHj9R77p3BQOaxgHleuBmGQboiX",
            "%3DIDOcZ44cc3PNr6RNrOIZ7cNgq7H",
            "aBp8cshtwPkhdM996G5rfD7"
        ),
    ),
    token(
        "ubidots-token",
        &["bbff-", "bbus-"],
        r"BB(?:FF|US)-[A-Za-z0-9]{30,}",
        concat!("BB", "FF-DChGi4s6AKsrpVf7Is1DNSKoPym", "JT5"),
    ),
    token(
        "voiceflow-key",
        &["vf."],
        r"VF\.(?:(?:DM|WS)\.)?[a-fA-F0-9]{24}\.[A-Za-z0-9]{16}(?-u:\b)",
        concat!("VF", ".DM.5ff907a76cc0757aaf896912.9", "3wCQdHy7CwVWgHR"),
    ),
    token(
        "xata-key",
        &["xau_"],
        r"xau_[A-Za-z0-9]{36,}",
        concat!("xa", "u_h7jAvQwiRmNN2r01HgV277WErYOT", "O6TiA3gaAXJF"),
    ),
    token(
        "yandex-iam-token",
        &["t1.", "y0_"],
        r"(?:t1\.[A-Za-z0-9_-]{8,}={0,2}\.[A-Za-z0-9_-]{86}={0,2}|y0_[A-Za-z0-9_-]{50,})",
        concat!(
            "t1",
            ".It1JoW56KTLTYXPa_W4M7Ms3WDlQP",
            "FPA2bdgG_MN.C3X7TfS5biDm0VZty1",
            "-Z4RlvUOUjNwoLR1uLAy0xhnT70baN",
            "aMYmbdzw_Isz0psundmjv-73hbPsET",
            "JveImiSN"
        ),
    ),
    Rule {
        min_entropy: Some(4.2),
        ..shaped(
            "yandex-static-key",
            &["yca", "ycp", "ycm", "ycn", "yco"],
            Shape::Token,
            r"YC[A-Za-z0-9_-]{38}(?-u:\b)",
            concat!("YC", "Mpbdo4zLW9cCdNppock7L2lua530Dt", "AMq94F8R"),
        )
    },
    token(
        "zoho-token",
        &["1000."],
        r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}",
        concat!(
            "10",
            "00.b7d9cf07255bc5097b3acac23db",
            "7c6e7.c180a4742684ee757b6cc69f",
            "67e48eb6"
        ),
    ),
    token(
        "launchdarkly-key",
        &["sdk-", "api-"],
        r"(?:sdk|api)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}",
        concat!("sd", "k-c58ac583-1be3-48cb-98cb-4ba2", "e751989a"),
    ),
];
