//! A served gateway under load: what was acknowledged is there once, whoever was killed and whatever answer was lost.

pub(crate) mod lossy;
mod replicas;
pub(crate) mod served;
