//! One file per command. The doc comment of its `Args` is its help.

pub mod adopt;
pub mod backup;
pub mod check;
pub mod checkpoint;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod forget;
pub mod import;
pub mod init;
pub mod link;
pub mod log;
pub mod projection;
pub mod rebuild;
pub mod remove;
pub mod restore;
pub mod run;
pub mod session;
pub mod show;
pub mod status;
pub mod sync;
pub mod time;
pub mod verify;
pub mod why;
pub mod worker;
