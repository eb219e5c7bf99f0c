//! Links from where they are known to where they are asked for: launcher and gateway, ledger and audit,
//! checkpoints of commits and lists of sessions. And answers, which are the same wherever they are asked for.

mod answers;
mod opened;
mod oracle;
mod property;
mod served;
mod stored;
