//! Issuers of tokens that `siglum serve` takes beside its own: tables `[issuer.NAME]` of the user's configuration.
//!
//! They say alone who is let in, and what for; what a repository's file says of them is left out.

use siglum_domain::Tenant;
use siglum_engine::identity::issuers::{Issuer, IssuerForm};

use crate::config::{self, ISSUERS};
use crate::error::CommandError;
use crate::store;

/// Reads them. One that breaks a rule is an error: whom it was to let in, or to keep out, is not guessed.
pub fn configured() -> Result<Vec<Issuer>, CommandError> {
    let Some(text) = config::user_text()? else {
        return Ok(Vec::new());
    };
    let tenant = match store::is_server() {
        true => store::tenant()?,
        false => store::default_tenant(),
    };
    let wrong = |why: String| {
        let path = config::user_file();
        CommandError::failed(format!("{}: {why}", path.display()))
    };
    let issuers = read(&text, &tenant).map_err(wrong)?;
    let other = issuers.iter().find(|issuer| *issuer.tenant() != tenant);
    if let Some(issuer) = other.filter(|_| !store::is_server()) {
        let name = issuer.name();
        let why = format!("[issuer.{name}] tenant: a file has one tenant, {tenant}");
        return Err(wrong(why));
    }
    Ok(issuers)
}

fn read(text: &str, tenant: &Tenant) -> Result<Vec<Issuer>, String> {
    let mut table: toml::Table = text
        .parse()
        .map_err(|e: toml::de::Error| e.message().to_owned())?;
    let Some(all) = table.remove(ISSUERS) else {
        return Ok(Vec::new());
    };
    let toml::Value::Table(all) = all else {
        return Err(format!(
            "`{ISSUERS}` must have a table for each issuer, such as [issuer.corp]"
        ));
    };
    let mut issuers: Vec<Issuer> = Vec::new();
    for (name, value) in all {
        let wrong = |why: &dyn std::fmt::Display| format!("[issuer.{name}] {why}");
        let form: IssuerForm = value
            .try_into()
            .map_err(|e: toml::de::Error| wrong(&e.message()))?;
        let issuer = Issuer::parse(&name, form, tenant).map_err(|e| wrong(&e))?;
        if issuers.iter().any(|other| other.url() == issuer.url()) {
            return Err(wrong(&"url: another issuer has the same"));
        }
        issuers.push(issuer);
    }
    Ok(issuers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        url = "https://login.example"
        audience = "siglum"
        [[issuer.corp.grant]]
        claims = { groups = "dev" }
        may = ["read"]
    "#;

    fn read_text(text: &str) -> Result<Vec<Issuer>, String> {
        read(text, &store::default_tenant())
    }

    #[test]
    fn issuers_are_tables_of_the_configuration() {
        let issuers = read_text(&format!("record = true\n[issuer.corp]\n{GOOD}")).unwrap();
        assert_eq!(issuers.len(), 1);
        assert_eq!(issuers[0].name(), "corp");
        assert!(read_text("record = true").unwrap().is_empty());
    }

    #[test]
    fn what_breaks_a_rule_is_named_and_refused() {
        let two = format!(
            "[issuer.corp]\n{GOOD}\n[issuer.other]\n{}",
            GOOD.replace(".corp", ".other")
        );
        for (text, words) in [
            ("issuer = 1".to_owned(), "[issuer.corp]"),
            (
                "[issuer.corp]\nurl = \"https://a.example\"".to_owned(),
                "audience",
            ),
            (format!("[issuer.corp]\ncolour = 1\n{GOOD}"), "colour"),
            (
                format!("[issuer.corp]\n{}", GOOD.replace("read", "write")),
                "[issuer.corp] grant 1: `may`",
            ),
            (
                format!("[issuer.corp]\n{}", GOOD.replace("https", "http")),
                "[issuer.corp] url: without encryption",
            ),
            (two, "another issuer"),
        ] {
            let refused = read_text(&text).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
