//! What only the operating system can do: locks, terminals, detached processes, opening without waiting. What it knows of processes is in
//! `siglum-platform`.

pub mod child;
mod lock;
mod pty;
pub mod regular_file;
mod spawn;
mod stop;
mod terminal_events;

pub use lock::Lock;
pub use pty::{Pty, take_terminal};
pub use siglum_platform::{
    alive, chain, chain_with_paths, command_line, holdings, nearest, started_with,
};
#[cfg(feature = "gateway")]
pub use spawn::start_worker_of_gateway;
pub use spawn::{detach, start_worker};
pub use stop::Stop;
pub use terminal_events::{TerminalEvents, Waker, Wish, leave_interrupts_to_pager};
