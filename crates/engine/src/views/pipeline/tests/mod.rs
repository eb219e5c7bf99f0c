//! What is recorded, and what is drawn of it.

mod drawings;
mod recording;
