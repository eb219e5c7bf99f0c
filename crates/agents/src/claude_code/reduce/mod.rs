//! Hook payloads → observations.

mod body;
mod payload;

#[cfg(test)]
mod tests;

pub(super) use payload::reduce;
