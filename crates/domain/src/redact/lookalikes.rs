//! Texts that look like secrets and must stay readable.

use super::Redactor;

const LOOKALIKES: &[&str] = &[
    // Digests and ids.
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b (HEAD -> main, origin/main)",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "fix token refresh 3f786850e387550fdab836ed7e6dc881de23001b",
    "the secret: see 3f786850e387550fdab836ed7e6dc881de23001b",
    "550e8400-e29b-41d4-a716-446655440000",
    "token 550e8400-e29b-41d4-a716-446655440000 was revoked",
    "ses_0193f0a1b2c37d4e8f90a1b2c3d4e5f6",
    "trn_0193f0a1b2c37d4e8f90a1b2c3d4e5f6 chk_0193f0a1b2c37d4e8f90a1b2c3d4e5f7",
    "rep_0193f0a1b2c37d4e8f90a1b2c3d4e5f6 evt_0193f0a1b2c37d4e8f90a1b2c3d4e5f7",
    "toolu_01A9bC3dE5fG7hI9jK1lM3nO",
    "call_A9bC3dE5fG7hI9jK1lM3nOpQ",
    "msg_01XyZ9aB3cD5eF7gH9iJ1kL3",
    "req_011CSxYz9aB3cD5eF7gH9iJ1",
    "chatcmpl-A9bC3dE5fG7hI9jK1lM3nOpQrStUv",
    "resp_68a9b3c5d7e9f1a3b5c7d9e1f3a5b7c9",
    r#"{"usage":{"input_tokens":12,"cache_read_input_tokens":18231,"output_tokens":301},"requestId":"req_011CSxYz9aB3cD5eF7gH9iJ1"}"#,
    r#"{"output_tokens":301,"id":"msg_01XyZ9aB3cD5eF7gH9iJ1kL3","session":"550e8400-e29b-41d4-a716-446655440000"}"#,
    "index 83db48f..bf2a1c9 100644",
    "diff --git a/src/token.rs b/src/token.rs",
    "@@ -12,7 +12,7 @@ fn password_matches(password: &str, hash: &str) -> bool {",
    "sha512-q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2DhLy7CjFa9GuEzR3Wb8TqVm5Kx1NpHd6YsA==",
    r#""integrity": "sha512-q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4ZiQw6BtXnM0rSvPk2DhLy7CjFa9GuEzR3Wb8TqVm5Kx1NpHd6YsA==""#,
    r#"checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08""#,
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
    // Paths and addresses.
    "/home/me/project/src/auth/token_refresh.rs",
    "~/.config/siglum/credentials.toml",
    r"C:\Users\me\AppData\secrets\token.json",
    "https://example.com/a/b?c=d#e",
    "https://github.com/siglum/siglum/pull/12",
    "git@github.com:siglum/siglum.git",
    "ssh://git@github.com:22/siglum/siglum.git",
    "http://localhost:8080/token?expires=3600",
    "postgres://localhost:5432/app",
    "see https://docs.rs/regex: the user@host form",
    r#"const TOKEN_URL = "https://auth.example.com/oauth2/v1/token";"#,
    r#"TOKEN_FILE=/run/secrets/token"#,
    r#"password_file: /etc/app/db-password.txt"#,
    r#"secret = "projects/app/secrets/db-password""#,
    // Counts and settings about tokens.
    "token_count=12345",
    "max_tokens: 4096",
    r#""max_tokens": 4096, "total_tokens": 1234567890"#,
    "tokens=123456789",
    "token_budget = 200000",
    "next_page_token: CAUQAA12345678",
    r#"{"token":null,"password":false,"secret":12345678}"#,
    // Code.
    "password_field = form.password",
    "let token = tokenizer.next_token();",
    "let secret = derive_secret(&seed);",
    "const token = req.headers.authorization;",
    "token: string;",
    "password: String,",
    "pub fn with_token(token: impl Into<String>) -> Self",
    "if token == expected_token {",
    "self.api_key = api_key",
    "login(username=username, password=password)",
    r#"api_key = os.environ["ANTHROPIC_API_KEY"]"#,
    r#"apiKey: process.env.OPENAI_API_KEY,"#,
    r#"let key = std::env::var("API_TOKEN").expect("because");"#,
    "enum TokenKind { Identifier, Whitespace, StringLiteral }",
    "Token::Identifier => self.parse_identifier(),",
    r#"{"type":"token","kind":"access_token"}"#,
    r#"<input type="password" name="password" placeholder="password">"#,
    r#".password-field{color:#ffcc00;margin:0 4px}"#,
    "function t(e,n){return e.token=n.accessToken,e.secret=n.clientSecret,e}",
    "desk-top task-list risk-averse disk-usage-analyzer-2000",
    "msg.body.contents and dp.transform(x)",
    "impl<'a> SecretStore for KeychainSecretStore<'a>",
    // Placeholders.
    "API_KEY=${API_KEY}",
    "API_TOKEN=<your-token-here>",
    "PASSWORD=$DB_PASSWORD",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "DB_PASSWORD=changeme",
    "SECRET_KEY=xxxxxxxxxxxxxxxx",
    "OPENAI_API_KEY=sk-...",
    "ANTHROPIC_API_KEY=your-api-key-here",
    "password: ********",
    r#"password = "example""#,
    r#"token = None"#,
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "curl -H \"Authorization: Bearer ${TOKEN}\" https://api.example.com",
    concat!("ghp", "_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    "postgres://app:${DB_PASSWORD}@db/app",
    "https://user:<password>@example.com",
    // Prose.
    "the token is expired",
    "The token has expired; the password must be at least twelve characters long.",
    "Bearer authentication is described in RFC 6750",
    "## Secrets\n\nNever commit a secret. A `token` or `password` belongs in the keychain.",
    "fix(auth): rotate the refresh token when the password changes (#1234)",
    "secret: handled by the secret manager",
    "Note on password: required",
    "password reset link was sent",
    "the `-----BEGIN PRIVATE KEY-----` header marks a key",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQw6BtXnM0rSvPk2DhLy7CjFa9GuEzR3W\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEq7RzW2mLx0Tb9KpV\n-----END PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIQw6BtXnM0rSvPk2DhLy7CjFa9GuEzR3Wb8T me@host",
    "[redacted:github-token]",
    "GITHUB_TOKEN=[redacted:github-token]",
];

#[test]
fn lookalikes_stay_readable() {
    assert!(LOOKALIKES.len() >= 60);
    let changed: Vec<_> = LOOKALIKES
        .iter()
        .map(|text| (*text, Redactor::shared().redact_cow(text)))
        .filter(|(text, redacted)| text != redacted)
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn lookalikes_stay_readable_inside_json() {
    for text in LOOKALIKES {
        let line = serde_json::json!({ "content": text }).to_string();
        assert_eq!(Redactor::shared().redact_cow(&line), line);
        let nested = serde_json::json!({ "line": line }).to_string();
        assert_eq!(Redactor::shared().redact_cow(&nested), nested);
    }
}
