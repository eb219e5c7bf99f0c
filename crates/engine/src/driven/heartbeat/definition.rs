//! A heartbeat that keeps to the rules.

use std::path::{Component, Path};
use std::time::Duration;

use serde_json::Value;
use siglum_domain::AgentName;
use siglum_domain::context::RouteKey;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::link::Link;
use siglum_egress::{Address, Plain};

use super::arguments::Takes;
use super::form::{Form, FormError, no_secret};
use super::schedule::{Hours, Schedule, interval, zone};

/// What an answer is that says that there is nothing to say.
const ACKNOWLEDGE: &str = "HEARTBEAT_OK";
/// The most bytes of a prompt.
pub(super) const PROMPT_MOST: usize = 64 << 10;
/// How long ticks are kept where nobody says it.
const KEEP: Duration = Duration::from_hours(24 * 30);
/// The shortest time that they can be kept.
const KEEP_LEAST: Duration = Duration::from_hours(1);
/// How long a tick may take where nobody says it, and at most.
const WALL: Duration = Duration::from_mins(30);
const WALL_MOST: Duration = Duration::from_hours(24);

/// Whether ticks share a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each tick has a session and a context of its own.
    Isolated,
    /// All ticks go on in the context of their route.
    Shared,
}

/// What is said when the agent wants to be allowed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Refuse,
    /// It is allowed, each time.
    Allow,
    /// Somebody is asked, as long as the tick may take.
    Ask,
}

/// What the agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    Text(String),
    /// What this file in its directory holds at each tick.
    File(String),
}

/// Where answers go. It comes from the definition, never from whoever wrote last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Nowhere,
    /// Into the log of the gateway.
    Log,
    Webhook(Address),
    /// To a program, which the operator's configuration names.
    Command,
    /// Into the conversation of a route.
    Route(RouteKey),
}

impl Target {
    /// Its word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Nowhere => "none",
            Self::Log => "log",
            Self::Webhook(_) => "webhook",
            Self::Command => "command",
            Self::Route(_) => "route",
        }
    }

    /// Where that is, as it is told.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Webhook(address) => format!("webhook {address}"),
            Self::Route(route) => format!("route {route}"),
            other => other.as_str().to_owned(),
        }
    }
}

/// How much a tick may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickLimits {
    pub wall: Duration,
    pub tokens: Option<u64>,
    /// Money, in billionths of a dollar.
    pub nano_usd: Option<u64>,
}

/// A heartbeat that keeps to the rules.
#[derive(Debug, Clone)]
pub struct Definition {
    pub name: HeartbeatName,
    pub schedule: Schedule,
    /// Where its answers, its liveness and its name belong.
    pub route: RouteKey,
    pub agent: AgentName,
    pub isolation: Isolation,
    pub prompt: Prompt,
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// What is said when the agent wants to be allowed something.
    pub permission: Permission,
    /// Links of each tick's session.
    pub links: Vec<Link>,
    pub target: Target,
    /// What the webhook or the command takes.
    pub takes: Option<Takes>,
    /// An answer that is only this is not delivered.
    pub acknowledge: String,
    pub limits: TickLimits,
    pub keep: Duration,
    /// As it was written.
    pub form: Form,
}

impl Definition {
    /// Checks a heartbeat.
    ///
    /// # Errors
    /// The first field that breaks a rule, and the rule.
    pub fn parse(name: HeartbeatName, form: Form) -> Result<Self, FormError> {
        no_secrets(&name, &form)?;
        let given = form.agent.as_deref().unwrap_or_default();
        let agent = AgentName::new(given).map_err(|e| FormError::new("agent", e.rule))?;
        let target = target(&form)?;
        let takes = form.schema.as_ref().map(|s| Takes::new(s, &target));
        Ok(Self {
            schedule: schedule(&form)?,
            route: route(&name, &form)?,
            isolation: match form.isolated {
                Some(false) => Isolation::Shared,
                _ => Isolation::Isolated,
            },
            prompt: prompt(&form)?,
            cwd: cwd(&form)?,
            model: word("model", form.model.as_deref(), 200)?,
            permission: match form.permissions.as_deref() {
                None | Some("refuse") => Permission::Refuse,
                Some("allow") => Permission::Allow,
                Some("ask") => Permission::Ask,
                Some(_) => {
                    return Err(FormError::new(
                        "permissions",
                        "expected one of refuse, allow, ask",
                    ));
                }
            },
            links: links(&form)?,
            takes: takes.transpose()?,
            target,
            acknowledge: word("acknowledge", form.acknowledge.as_deref(), 100)?
                .unwrap_or_else(|| ACKNOWLEDGE.to_owned()),
            limits: limits(&form)?,
            keep: length("keep", form.keep.as_deref(), KEEP_LEAST, Duration::MAX)?.unwrap_or(KEEP),
            agent,
            name,
            form,
        })
    }
}

/// Refuses a secret wherever it is written: all of it is kept as it is, and shown. Links have a rule of their own.
fn no_secrets(name: &HeartbeatName, form: &Form) -> Result<(), FormError> {
    no_secret("name", name.as_str())?;
    let form = serde_json::to_value(form).expect("because each field of a form is JSON");
    let fields = form.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| *field != "links") {
        match value.as_str() {
            Some(text) => no_secret(field, text)?,
            None => no_secret(field, &value.to_string())?,
        }
    }
    Ok(())
}

fn schedule(form: &Form) -> Result<Schedule, FormError> {
    let zone = zone(form.zone.as_deref().unwrap_or("UTC"))?;
    let schedule = match (&form.every, &form.cron) {
        (Some(every), None) => Schedule::every(every)?,
        (None, Some(cron)) => Schedule::cron(cron, zone.clone())?,
        _ => return Err(FormError::new("every", "either `every` or `cron`")),
    };
    match &form.active {
        Some(hours) => schedule.within(Hours::parse(hours, zone)?),
        None => schedule.within_any(),
    }
}

fn route(name: &HeartbeatName, form: &Form) -> Result<RouteKey, FormError> {
    let text = match &form.route_key {
        Some(route) => route.clone(),
        None => format!("heartbeat:{name}"),
    };
    let route = RouteKey::new(text).map_err(|e| FormError::new("route_key", e.rule))?;
    Ok(route.converged())
}

fn prompt(form: &Form) -> Result<Prompt, FormError> {
    match (&form.prompt, &form.prompt_file) {
        (Some(text), None) => {
            let length = 1..=PROMPT_MOST;
            if !length.contains(&text.len()) || text.trim().is_empty() {
                return Err(FormError::new("prompt", "text of at most 64 KiB"));
            }
            Ok(Prompt::Text(text.clone()))
        }
        (None, Some(file)) => {
            let within = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
            let is_path = (1..=1_000).contains(&file.len()) && !file.chars().any(char::is_control);
            match is_path && Path::new(file).components().all(within) {
                true if form.cwd.is_some() => Ok(Prompt::File(file.clone())),
                true => Err(FormError::new(
                    "cwd",
                    "must be the directory that contains `prompt_file`",
                )),
                false => Err(FormError::new("prompt_file", "a path within `cwd`")),
            }
        }
        _ => Err(FormError::new("prompt", "either `prompt` or `prompt_file`")),
    }
}

fn cwd(form: &Form) -> Result<Option<String>, FormError> {
    match form.cwd.as_deref() {
        None => Ok(None),
        Some(cwd)
            if cwd.len() <= 4_000
                && Path::new(cwd).is_absolute()
                && !cwd.chars().any(char::is_control) =>
        {
            Ok(Some(cwd.to_owned()))
        }
        Some(_) => Err(FormError::new("cwd", "an absolute path")),
    }
}

fn links(form: &Form) -> Result<Vec<Link>, FormError> {
    let mut links = Vec::new();
    let refused = |e: siglum_domain::link::LinkError| FormError::new(e.field, e.rule);
    for (field, value) in &form.links {
        match (field.as_str(), value) {
            ("labels", Value::Object(labels)) => {
                for (key, value) in labels {
                    let text = value.as_str().filter(|_| !key.contains('='));
                    let text =
                        text.ok_or_else(|| FormError::new("labels", "texts, by keys without `=`"))?;
                    let whole = Value::String(format!("{key}={text}"));
                    links.push(Link::from_json("label", &whole).map_err(refused)?);
                }
            }
            ("labels" | "label", _) => return Err(FormError::new("labels", "texts, by key")),
            (field, value) => links.push(Link::from_json(field, value).map_err(refused)?),
        }
    }
    Ok(links)
}

fn target(form: &Form) -> Result<Target, FormError> {
    let word = form.target.as_deref().unwrap_or("log");
    let addresses = [
        ("webhook", "webhook", form.webhook.is_some()),
        ("target_route_key", "route", form.target_route_key.is_some()),
    ];
    for (field, target, is_given) in addresses {
        if is_given && target != word {
            let rule = format!("only with `target` `{target}`");
            return Err(FormError::new(field, rule));
        }
    }
    match word {
        "none" => Ok(Target::Nowhere),
        "log" => Ok(Target::Log),
        "command" => Ok(Target::Command),
        "webhook" => {
            let text = form.webhook.as_deref().unwrap_or_default();
            let address = Address::parse(text, Plain::Loopback);
            Ok(Target::Webhook(
                address.map_err(|e| FormError::new("webhook", e.rule))?,
            ))
        }
        "route" => {
            let route = RouteKey::new(form.target_route_key.clone().unwrap_or_default());
            Ok(Target::Route(
                route
                    .map_err(|e| FormError::new("target_route_key", e.rule))?
                    .converged(),
            ))
        }
        _ => Err(FormError::new(
            "target",
            "expected one of none, log, webhook, command, route",
        )),
    }
}

fn limits(form: &Form) -> Result<TickLimits, FormError> {
    let nano_usd = match form.dollars.as_deref() {
        None => None,
        Some(text) => Some(nano_usd(text).ok_or_else(|| {
            FormError::new(
                "dollars",
                "an amount above 0, at most 1000000, such as 0.50",
            )
        })?),
    };
    if form.tokens == Some(0) {
        return Err(FormError::new("tokens", "a whole number above 0"));
    }
    Ok(TickLimits {
        wall: length(
            "wall",
            form.wall.as_deref(),
            Duration::from_secs(1),
            WALL_MOST,
        )?
        .unwrap_or(WALL),
        tokens: form.tokens,
        nano_usd,
    })
}

fn nano_usd(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    let whole: u64 = whole.parse().ok().filter(|w| *w <= 1_000_000)?;
    let sum = whole.checked_mul(1_000_000_000)?.checked_add(part)?;
    (sum > 0).then_some(sum)
}

fn length(
    field: &str,
    text: Option<&str>,
    least: Duration,
    most: Duration,
) -> Result<Option<Duration>, FormError> {
    let Some(text) = text else { return Ok(None) };
    let length = interval(text).filter(|length| (least..=most).contains(length));
    let rule = || {
        FormError::new(
            field,
            "a duration such as 10m, 2h or 30d, within its bounds",
        )
    };
    length.map(Some).ok_or_else(rule)
}

fn word(field: &str, text: Option<&str>, most: usize) -> Result<Option<String>, FormError> {
    let Some(text) = text else { return Ok(None) };
    let is_word = (1..=most).contains(&text.chars().count())
        && text.trim() == text
        && !text.chars().any(char::is_control);
    if !is_word {
        let rule = format!("1 to {most} characters, no control characters, no blank at an end");
        return Err(FormError::new(field, rule));
    }
    Ok(Some(text.to_owned()))
}
