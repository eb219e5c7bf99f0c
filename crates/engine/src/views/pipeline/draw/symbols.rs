//! A sign and a tone for each state.

use siglum_domain::pipeline::{Activity, CheckResult, ReviewVerdict, State};

use super::canvas::Tone;

/// A sign in Unicode and in ASCII, and its tone.
type Sign = (&'static str, &'static str, Tone);

fn pick((unicode, plain, tone): Sign, ascii: bool) -> (&'static str, Tone) {
    (if ascii { plain } else { unicode }, tone)
}

/// The sign of a state.
pub(super) fn of_state(state: State, ascii: bool) -> (&'static str, Tone) {
    let sign = match state {
        State::Pending => ("○", "o", Tone::Dim),
        State::Running => ("▶", ">", Tone::Live),
        State::Awaiting => ("‖", "|", Tone::Warning),
        State::Completed => ("✓", "+", Tone::Good),
        State::Failed => ("✗", "x", Tone::Bad),
        State::Cancelled => ("⊘", "-", Tone::Warning),
        State::Skipped => ("↷", "~", Tone::Dim),
        State::Unknown => ("?", "?", Tone::Warning),
    };
    pick(sign, ascii)
}

/// The sign of what a session does.
pub(super) fn of_activity(activity: Activity, ascii: bool) -> (&'static str, Tone) {
    let state = match activity {
        Activity::Working => State::Running,
        Activity::Waiting => State::Awaiting,
        Activity::Ended | Activity::Completed => State::Completed,
        Activity::Failed | Activity::Lost => State::Failed,
        Activity::Unseen => State::Unknown,
    };
    of_state(state, ascii)
}

/// The sign of a result. What was skipped or came to no result does not look like what passed.
pub(super) fn of_result(result: CheckResult, ascii: bool) -> (&'static str, Tone) {
    let sign = match result {
        CheckResult::Passed => ("✓", "+", Tone::Good),
        CheckResult::Failed => ("✗", "x", Tone::Bad),
        CheckResult::Skipped => ("↷", "~", Tone::Warning),
        CheckResult::Errored => ("!", "!", Tone::Bad),
    };
    pick(sign, ascii)
}

/// The sign of a review.
pub(super) fn of_verdict(verdict: ReviewVerdict, ascii: bool) -> (&'static str, Tone) {
    let sign = match verdict {
        ReviewVerdict::Approved => ("✓", "+", Tone::Good),
        ReviewVerdict::ChangesRequested => ("✗", "x", Tone::Bad),
        ReviewVerdict::Commented => ("·", ".", Tone::Dim),
    };
    pick(sign, ascii)
}
