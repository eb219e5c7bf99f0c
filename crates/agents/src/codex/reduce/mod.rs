//! Hook payloads → observations.

mod payload;

#[cfg(test)]
mod tests;

pub(super) use payload::reduce;
