//! A served gateway under load, and the clients that are given as examples: what was acknowledged is there once, whoever
//! was killed and whatever answer was lost.

mod clients;
mod lossy;
mod replicas;
mod served;
