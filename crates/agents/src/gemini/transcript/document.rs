//! The messages of a document that is written in several lines, as older versions do.
//!
//! They are the objects two levels deep, each begun and ended by a line of its own. A text never breaks
//! a line, so nothing in a message looks like its end.

use siglum_domain::observation::Body;
use siglum_domain::redact::Redactor;

/// The line that begins a message.
const BEGIN: &str = "    {";
/// The lines that end one.
const END: &[&str] = &["    }", "    },"];
/// Longest message that is put together, in bytes.
const LONGEST: usize = 16 << 20;
/// Longest text that is kept in the observation where it stands in no line of its own, in bytes.
const INLINE: usize = 64 << 10;

/// A message of which some lines were read.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) offset: u64,
    text: String,
}

/// What a line is in a document.
#[derive(Debug)]
pub(super) enum Piece {
    /// No part of a message.
    Outside,
    /// A part of a message that goes on.
    Within,
    /// The end of this message.
    Whole(Partial),
    /// A part of a message that became too long.
    TooLong,
}

pub(super) fn take(partial: &mut Option<Partial>, offset: u64, line: &str) -> Piece {
    if line == BEGIN {
        let text = line.to_owned();
        *partial = Some(Partial { offset, text });
        return Piece::Within;
    }
    let Some(message) = partial.as_mut() else {
        return Piece::Outside;
    };
    if line.starts_with('{') {
        *partial = None;
        return Piece::Outside;
    }
    if message.text.len() + line.len() > LONGEST {
        *partial = None;
        return Piece::TooLong;
    }
    let ends = END.contains(&line);
    message.text.push_str(if ends { "}" } else { line });
    match partial.take_if(|_| ends) {
        Some(whole) => Piece::Whole(whole),
        None => Piece::Within,
    }
}

impl Partial {
    /// The message as JSON.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// A text of which no line tells nothing else.
pub(super) fn inline(text: &str, redactor: &Redactor) -> Body {
    let end = text.floor_char_boundary(INLINE);
    Body::Text(redactor.redact(&text[..end]))
}
