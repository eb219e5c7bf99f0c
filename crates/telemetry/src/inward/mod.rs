//! What telemetry says of identity and of work.
//!
//! Every record yields its claims (which agent, which session by whose id) and, where the table of agents names it as
//! the one record of its kind, observations. Claims are not resolved here.

mod claims;
mod heard;
mod records;

pub use claims::{Claims, Origin};
pub use heard::{Heard, hear};
