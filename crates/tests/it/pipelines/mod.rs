//! `siglum pipeline`: what is recorded of a pipeline, and what is seen of it.

mod export;
mod judged;
mod recorded;
mod refused;
mod runner;
mod seen;
mod watched;

use runner::Runner;
