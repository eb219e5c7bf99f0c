//! What text means, mapped to colours once.

use anstyle::{AnsiColor, Effects, Style as Ansi};
use siglum_domain::evidence::Verdict;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Id,
    Agent,
    Time,
    /// Something that was added, or is certain.
    Added,
    Removed,
    /// Something to look at twice.
    Warning,
    Heading,
    /// Something of less weight.
    Dim,
}

impl Style {
    /// All of them, in their order.
    pub(super) const ALL: [Self; 8] = [
        Self::Id,
        Self::Agent,
        Self::Time,
        Self::Added,
        Self::Removed,
        Self::Warning,
        Self::Heading,
        Self::Dim,
    ];

    /// How a verdict looks.
    pub const fn for_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Certain => Self::Added,
            Verdict::Likely => Self::Time,
            Verdict::Ambiguous | Verdict::Unknown => Self::Warning,
        }
    }

    pub(super) const fn ansi(self) -> Ansi {
        match self {
            Self::Id => AnsiColor::Yellow.on_default(),
            Self::Agent => AnsiColor::Cyan.on_default(),
            Self::Time => AnsiColor::Blue.on_default(),
            Self::Added => AnsiColor::Green.on_default(),
            Self::Removed => AnsiColor::Red.on_default(),
            Self::Warning => AnsiColor::Magenta.on_default(),
            Self::Heading => Ansi::new().effects(Effects::BOLD),
            Self::Dim => Ansi::new().effects(Effects::DIMMED),
        }
    }
}
