//! Runs of agents as they begin, go on and end: processes, leases, limits, native sessions, hooks. The agent is played
//! (`acp_agent.py`); what is said over HTTP is the matter of [`messages`](crate::messages).

mod going_on;
mod headless;
mod hooks;
mod processes;
mod replicas;
