//! Traces that leave.
