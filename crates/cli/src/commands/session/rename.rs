//! `siglum session rename`.

use serde::Serialize;
use siglum_engine::identity::names;
use siglum_engine::views::find;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session.rename/1";

/// Name a session
///
/// Commands that take a session also accept its name, or an unambiguous prefix of it. The name is the label `name` of
/// the session: `siglum link remove SESSION label=name=NAME` removes it.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Name a session
    siglum session rename a1b2c3d4 cart-rounding

  Resume it by its name
    siglum resume cart-rounding")]
pub struct Args {
    /// Session id, the last digits of it, the agent's native id, or its current name
    #[arg(value_name = "SESSION")]
    session: String,
    /// New name, of 1 to 256 characters, that does not look like an id
    #[arg(value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    session: String,
    name: String,
    /// The name that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let name = names::link(&args.name)?;
    if find::looks_like_id(&args.name) {
        return Err(CommandError::usage("a name cannot look like an id")
            .hint("Add a word to it that is not made of hexadecimal digits."));
    }
    let mut ledger = store::open(cx)?;
    let session = find::session(&mut ledger, &args.session)?;
    let (world, person) = (cx.world()?, cx.person());
    let before = names::rename(&world, &mut ledger, session, &name, (&person, "cli"))?;
    if cx.ui.json {
        let answer = Json {
            session: session.to_string(),
            name: args.name.clone(),
            before,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    let short = session.short();
    cx.ui.status(match before {
        Some(before) if before == args.name => {
            format!("Session {short} is already named \"{before}\".")
        }
        Some(before) => format!(
            "Renamed session {short}: \"{before}\" is now \"{}\".",
            args.name
        ),
        None => format!("Named session {short} \"{}\".", args.name),
    });
    Ok(())
}
