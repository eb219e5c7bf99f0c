//! Secrets that are known by what stands around them: options of programs, parts of files, parameters of addresses.

use super::{Rule, Shape, shaped};

/// As [`shaped`], where the secret may be a word that a person chose.
const fn chosen(
    id: &'static str,
    keywords: &'static [&'static str],
    shape: Shape,
    pattern: &'static str,
    sample: &'static str,
) -> Rule {
    Rule {
        min_entropy: None,
        ..shaped(id, keywords, shape, pattern, sample)
    }
}

pub(super) const SURROUNDINGS: &[Rule] = &[
    chosen(
        "curl-password",
        &["curl "],
        Shape::Start,
        r#"curl[ -~]{0,80}?[ ](?:-u|--user)[ =]*\\*["']?[^\s:"'`$@/\\\[]{1,64}:(?P<secret>[^\s"'`$\\]{4,})"#,
        concat!("curl -s -u ", "me:hunter2-", "Harbour https://x"),
    ),
    chosen(
        "password-flag",
        &[
            "mysql",
            "mariadb",
            "sshpass",
            "redis-cli",
            "docker ",
            "podman ",
            "helm ",
            "skopeo ",
            "az login",
            "oc login",
            "cf login",
            "mongo",
            "cqlsh",
            "sqlcmd",
            "psexec",
            "rdesktop",
            "ldap",
            "zip ",
            "7z",
            "unrar ",
            "xfreerdp",
            "wfreerdp",
            "htpasswd ",
            "smbclient",
            "lftp",
            "security ",
            "ssh-keygen ",
            "gh secret set",
            "ncftp",
            "snmp",
        ],
        Shape::Start,
        r#"(?:(?:mysql|mariadb)[a-z]*(?:[ ][ -~]{0,60}?)?[ ]-p|sshpass[ ]+-p[ ]*|redis-cli[ -~]{0,60}?[ ]-a[ ]+|(?:docker|podman|helm[ ]registry|skopeo|az|oc|cf)[ ]+login(?:[ ][ -~]{0,80}?)?[ ]-p[ =]*|(?:mongo[a-z]*|cqlsh|(?i-u:psexec)[0-9.a-z]*|rdesktop)(?:[ ][ -~]{0,80}?)?[ ]-p[ ]+|sqlcmd(?:[ ][ -~]{0,80}?)?[ ]-P[ ]*|ldap[a-z]{3,8}(?:[ ][ -~]{0,160}?)?[ ]-w[ ]*|zip[ ](?:-[a-zA-Z0-9]+[ ]+)*-P[ ]*|(?:7z[a-z]?|unrar)[ ]+[a-z][ ]+(?:[ -~]{0,80}?[ ])?-p|[xw]freerdp3?(?:[ ][ -~]{0,160}?)?[ ]/p(?:assword)?:|htpasswd[ ]+-[A-Za-z0-9]*b[A-Za-z0-9]*[ ]+(?:-[A-Za-z0-9]+[ ]+)*(?:[^\s"'`$\\<-]\S*[ ]+){1,2}|smbclient(?:[ ][ -~]{0,80}?)?[ ]-U[ ]*[^\s%]{1,64}%|lftp(?:[ ][ -~]{0,80}?)?[ ]-u[ ]*[^\s,]{1,64},|security[ ]+(?:add|find)-[a-z-]+(?:[ ][ -~]{0,120}?)?[ ]-w[ ]+|ssh-keygen(?:[ ][ -%'-:<-{}~]{0,120}?)?[ ]-[NP][ ]*|gh[ ]secret[ ]set(?:[ ][ -%'-:<-{}~]{0,120}?)?[ ](?:-b|--body)[ =]*|ncftp[a-z]*(?:[ ][ -%'-:<-{}~]{0,80}?)?[ ]-p[ ]*|snmp[a-z]+(?:[ ][ -%'-:<-{}~]{0,120}?)?[ ]-[AX][ ]*)\\*["']?(?P<secret>[^\s"'`$\\<|&;>-][^\s"'`\\|&;<>]{3,})"#,
        concat!("mysql -u root ", "-phunter2-", "Harbour shop"),
    ),
    chosen(
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
    chosen(
        "pgpass-password",
        &[":5432:"],
        Shape::Around(64),
        r#"[A-Za-z0-9.*_-]{1,63}:5432:[A-Za-z0-9_*.-]{1,63}:[A-Za-z0-9_*.-]{1,63}:(?P<secret>[^\s:"'`\\\[][^\s:"'`\\]{3,})"#,
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
    chosen(
        "openssl-password",
        &["-pass"],
        Shape::Start,
        r#"-pass(?:in|out)?[ =]+\\*["']?pass:(?P<secret>[^\s"'`\\]{3,})"#,
        concat!("openssl rsa -in k.pem -passin pa", "ss:hunter2-Harbour"),
    ),
    chosen(
        "piped-password",
        &[
            "password-stdin",
            "sudo -s",
            "chpasswd",
            "passwd --stdin",
            "--with-token",
        ],
        Shape::Around(200),
        r#"(?:(?:echo|printf)(?:[ ]+-[a-zA-Z]+)*(?:[ ]+\\*["']%s(?:\\+n)?\\*["'])?[ ]+|<<<[ ]*)\\*["']?(?P<secret>[^\s"'`$|&;<>(){}\\]{3,})(?:\\+n)?\\*["']?[ ]*\|[ ]*[^|\n]{0,160}?(?:password-stdin|sudo[ ]+-S|chpasswd|passwd[ ]+--stdin|--with-token)"#,
        concat!(
            "echo hunter2-",
            "Harbour | docker login -u me --password-stdin"
        ),
    ),
    chosen(
        "here-string-password",
        &[
            "password-stdin",
            "sudo -s",
            "chpasswd",
            "passwd --stdin",
            "--with-token",
        ],
        Shape::Start,
        r#"(?:password-stdin|sudo[ ]+-S|chpasswd|passwd[ ]+--stdin|--with-token)[^<\n]{0,120}<<<[ ]*\\*["']?(?P<secret>[^\s"'`$\\]{3,})"#,
        concat!(
            "docker login -u me --password-stdin <<< hunter2-",
            "Harbour"
        ),
    ),
    chosen(
        "sql-password",
        &["identified", "password ", "set password"],
        Shape::Start,
        r#"(?:(?i-u:identified)(?:[ ]+(?i-u:with)[ ]+\S{1,48})?[ ]+(?i-u:by|as)[ ]+(?:(?i-u:password)[ ]+)?\\*["']?|(?i-u:set[ ]+password)[^\n=]{0,80}=[ ]*(?i-u:password)?[ ]*\(?[ ]*\\*'|(?i-u:password)[ ]+\\*')(?P<secret>[^\s"'`;\\<$]{4,})"#,
        concat!("CREATE USER app IDENTIFIED BY 'hunter2-", "Harbour';"),
    ),
    chosen(
        "oracle-password",
        &["jdbc:oracle:"],
        Shape::Start,
        r#"(?i-u:jdbc:oracle):[a-z]+:[^/\s"'@]{1,64}/(?P<secret>[^@\s"'`\\$]{3,})@"#,
        concat!("jdbc:oracle:thin:app/hunter2-", "Harbour@//db:1521/x"),
    ),
    chosen(
        "hcl-default",
        &["variable \"", "variable \\"],
        Shape::Start,
        r#"variable[ ]+\\*"[A-Za-z0-9_-]*(?i-u:password|passwd|secret|token|api_?key|credential|private_key)[A-Za-z0-9_-]{0,12}\\*"[ ]*\{[^}]{0,400}?default[ ]*=[ ]*\\*"(?P<secret>[^\s"\\$]{4,})"#,
        concat!(
            "variable \"db_password\" {\n  default = \"hunter2-",
            "Harbour\"\n}"
        ),
    ),
    shaped(
        "xml-attribute",
        &["key=\"", "name=\"", "key=\\", "name=\\"],
        Shape::Start,
        r#"(?:key|name)=\\*"[A-Za-z0-9_.:-]{0,40}(?i-u:password|passwd|passphrase|secret|token|api[_.-]?key|access[_.-]?key)[A-Za-z0-9_-]{0,8}\\*"(?:[ ]+(?:value=\\*"|[a-z]+=\\*"[^"\\<]{0,40}\\*">)|>)(?P<secret>[^\s"<\\$]{8,})"#,
        concat!(
            "<add key=\"ClearTextPassword\" value=\"hunter2-",
            "Harbour\" />"
        ),
    ),
    chosen(
        "powershell-secure-string",
        &["convertto-securestring"],
        Shape::Start,
        r#"(?i-u:convertto-securestring)(?:[ ]+-[A-Za-z]+)*[ ]+\\*["'](?P<secret>[^\s"'\\$]{4,})"#,
        concat!(
            "ConvertTo-SecureString \"hunter2-",
            "Harbour\" -AsPlainText -Force"
        ),
    ),
    chosen(
        "libcurl-login",
        &["curlopt_"],
        Shape::Start,
        r#"CURLOPT_(?:PROXY)?USERPWD\\*['"]?[ ]*(?:,|=>)[ ]*\\*["'][^"':\\\[]{0,64}:(?P<secret>[^"'\\]{4,})"#,
        concat!(
            "curl_easy_setopt(h, CURLOPT_USERPWD, \"me:hunter2-",
            "Harbour\");"
        ),
    ),
    shaped(
        "basic-login",
        &["basic "],
        Shape::Random,
        r"(?i-u:basic)[ ]+(?P<secret>[A-Za-z0-9+/]{16,}={0,2})",
        concat!("auth: Basic YWRtaW46cTdSelcybUx4", "MFRiOUtwVmQ="),
    ),
    chosen(
        "cookie",
        &["cookie", "curl "],
        Shape::Cookies,
        r#"(?:(?i-u:cookie)\\*["']?[ ]?[:= ,][ ]*\\*["']?|curl[ ][ -~]{0,120}?-b[ ]*\\*["']?)"#,
        concat!(
            "Cookie: theme=dark; sid=q7RzW2mLx0Tb",
            "9KpVd3Yc5N; lang=en"
        ),
    ),
    shaped(
        "signed-address",
        &[
            "x-amz-signature=",
            "x-amz-security-token=",
            "x-goog-signature=",
            "signature=",
            "hmac=",
        ],
        Shape::Parameter,
        r"[A-Za-z-]+=(?P<secret>[A-Za-z0-9%+/._~-]{16,}={0,2})",
        concat!(
            "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=3f9a1c7e5b2d8046",
            "fe19ac73d5820b6e4c97f1a0835de26bb94c07d8e15f3a62"
        ),
    ),
    shaped(
        "address-parameter",
        &[
            "code=",
            "key=",
            "jwt=",
            "ticket=",
            "samlresponse=",
            "appid=",
            "session=",
            "sessionid=",
            "sid=",
        ],
        Shape::Parameter,
        r"[A-Za-z_-]+=(?P<secret>[A-Za-z0-9%+/._~-]{16,}={0,2})",
        concat!("GET /callback?code=4/0q7RzW2mLx0Tb", "9KpVd3Yc5N&state=1"),
    ),
    // A number and a few letters have too little entropy to be told by it; the address says what they are.
    chosen(
        "webhook-address",
        &[
            "hooks.zapier.com/",
            "maker.ifttt.com/",
            "hook.",
            "open.feishu.cn/",
            "open.larksuite.com/",
            "qyapi.weixin.qq.com/",
            ".tines.com/webhook/",
            ".n8n.cloud/webhook",
            "outlook.office.com/webhook/",
            "outlook.office365.com/webhook/",
        ],
        Shape::Start,
        r"(?i-u:hooks\.zapier\.com/hooks/(?:catch|standard)/|maker\.ifttt\.com/trigger/[A-Za-z0-9_-]{1,64}/(?:json/)?with/key/|hook\.(?:[a-z]{2}[0-9]\.)?(?:make\.com|make\.celonis\.com|integromat\.com)/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|\.tines\.com/webhook/|\.n8n\.cloud/webhook(?:-test)?/|outlook\.office(?:365)?\.com/webhook/)(?P<secret>[A-Za-z0-9@_-]+(?:/[A-Za-z0-9@_-]+)*)",
        concat!(
            "https://hook.eu1.make.com/q7rzw2mlx0tb",
            "9kpvd3yc5nfhs8jgae1u"
        ),
    ),
    shaped(
        "snyk-login",
        &["snyk "],
        Shape::Start,
        r"snyk[ ]+(?:auth|config[ ]+set[ ]+api=?)[ ]*(?P<secret>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})",
        concat!("snyk auth 29d501aa-b316-4c0e", "-9a7e-e70b675dc3ca"),
    ),
    shaped(
        "facebook-app-token",
        &["facebook", "fb_", "access_token"],
        Shape::Start,
        r"(?i-u:facebook|fb_|access_token)[ -~]{0,40}?(?P<secret>[0-9]{12,18}(?:\||%7[Cc])[A-Za-z0-9_-]{20,40})",
        concat!(
            "facebook app 123456789012345|q7RzW2mLx0Tb",
            "9KpVd3Yc5NfHs8J"
        ),
    ),
    shaped(
        "azure-key-with-checksum",
        &["jqqj9", "+ast", "acdb", "azse"],
        Shape::Around(90),
        r"[A-Za-z0-9+/]{33,90}(?:JQQJ9|\+ASt|ACDb|AzSe)[A-Za-z0-9+/]{2,40}={0,2}",
        concat!(
            "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2DJQQJ99",
            "q7RzW2mLx0Tb9KpVd3Yc5NfH"
        ),
    ),
    chosen(
        "putty-key",
        &["private-lines:"],
        Shape::PrivateKey,
        r"(?i-u:private-lines):[ ]*[0-9]{1,3}",
        concat!(
            "Private-Lines: 2\nq7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2DhLy7CjFa9GuE\n",
            "q7RzW2mLx0Tb9KpV==\nPrivate-MAC: 0"
        ),
    ),
    chosen(
        "private-key-tail",
        &["-----end"],
        Shape::PrivateKeyTail,
        r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----",
        concat!(
            "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2DhLy7CjFa9GuE\nzW2mLx0Tb9K=\n-----END RSA PRI",
            "VATE KEY-----"
        ),
    ),
    shaped(
        "private-key-in-base64",
        &["ls0tls1crudjti"],
        Shape::Start,
        r"LS0tLS1CRUdJTi(?:BSU0EgUFJJVk|BQUklWQVRF|BFQyBQUklWQ|BPUEVOU1NI|BFTkNSWVBURUQ|BEU0EgUFJJVk|BQR1AgUFJJVk)[A-Za-z0-9+/_-]{40,}={0,2}",
        concat!(
            "LS0tLS1CRUdJTiBQUklW",
            "QVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJna3Foa2lHOXcwQkFRRUZBQVND"
        ),
    ),
    shaped(
        "jwk-private-member",
        &[
            "\"d\":", "\"d\\", "\"p\":", "\"p\\", "\"q\":", "\"q\\", "\"dp\":", "\"dp\\",
            "\"dq\":", "\"dq\\", "\"qi\":", "\"qi\\", "\"k\":", "\"k\\",
        ],
        Shape::Random,
        r#""(?:d[pq]?|p|qi?|k)\\*"[ ]?:[ ]?\\*"(?P<secret>[A-Za-z0-9_-]{40,})\\*""#,
        concat!(
            "{\"kty\":\"EC\",\"d\":\"q7RzW2mLx0Tb9KpVd3Yc5N",
            "fHs8JgAe1Uo4ZiQw6BtXnM0\"}"
        ),
    ),
    chosen(
        "kubernetes-secret",
        &[
            "kind: secret",
            "kind\": \"secret",
            "kind\":\"secret",
            "kind\\",
        ],
        Shape::KubernetesSecret,
        r#"(?i-u:kind\\*"?:[ ]*\\*"?secret)(?-u:\b)"#,
        concat!(
            "kind: Secret\ndata:\n  user: q7RzW2mLx0Tb",
            "9KpVd3Yc5N==\n"
        ),
    ),
];
