//! How long a server wants to be left alone.

use std::time::Duration;

use ureq::http::HeaderMap;

/// The longest time that a server is left alone; one that wants more is asked again then.
pub(super) const MOST: Duration = Duration::from_secs(60 * 60);

/// What `Retry-After` says, as seconds or as a date. A date is read by the server's own clock, which it tells in
/// `Date`: there is no clock in here, and ours may be wrong.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let wanted = text("retry-after")?;
    if let Ok(seconds) = wanted.parse() {
        return Some(Duration::from_secs(seconds).min(MOST));
    }
    let then = httpdate::parse_http_date(wanted).ok()?;
    let now = httpdate::parse_http_date(text("date")?).ok()?;
    Some(then.duration_since(now).unwrap_or_default().min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let noon = "Sun, 22 Nov 2026 12:00:00 GMT";
        for (wanted, date, after) in [
            ("7", noon, Some(7)),
            (" 0 ", noon, Some(0)),
            ("99999999", noon, Some(3600)),
            ("Sun, 22 Nov 2026 12:00:09 GMT", noon, Some(9)),
            ("Sunday, 22-Nov-26 12:01:00 GMT", noon, Some(60)),
            ("Sun, 22 Nov 2026 11:00:00 GMT", noon, Some(0)),
            ("Sun, 22 Nov 2026 12:00:09 GMT", "yesterday", None),
            ("soon", noon, None),
            ("-1", noon, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", wanted.parse().unwrap());
            headers.insert("date", date.parse().unwrap());
            let found = retry_after(&headers).map(|d| d.as_secs());
            assert_eq!(found, after, "{wanted}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
