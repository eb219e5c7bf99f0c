//! The graph as text: boxes from top to bottom, what ran at one time side by side.
//!
//! Pure: the edges say how wide and in which characters, and put colours on the tones.

mod canvas;
mod measure;
mod phase;
mod sheet;
mod symbols;

pub use canvas::{Drawing, Piece, Style, Tone};
pub use measure::duration;
pub use sheet::draw;
