//! Search in what was said and done in sessions: the language of queries, the words of a text, and how well a text fits.
//!
//! It is the same for every store and every edge. Nothing here looks anything up.

mod excerpt;
mod fit;
mod query;
mod term;
mod text;
mod words;

pub use excerpt::{Excerpt, excerpt};
pub use fit::{Fit, fit};
pub use query::{SearchQuery, SearchQueryError};
pub use term::{IndexTerm, Term};
pub use text::{Facet, Piece, PieceKind, TurnText, VERSION};
