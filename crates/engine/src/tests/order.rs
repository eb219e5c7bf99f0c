//! Deliveries that overtake each other: the later half of a call may come first.

use siglum_domain::observation::{Side, ToolClass};
use siglum_ledger::OutputMention;

use super::stage::*;

#[test]
fn an_edit_is_put_when_its_content_before_comes_late() {
    let mut stage = Stage::new();
    stage.hear(says("one", vec![file("t", "p", 2, Side::After, Some(2))]));
    stage.hear(says("one", vec![file("t", "p", 1, Side::Before, Some(1))]));
    let repository = stage.repository().id;
    let edits = stage.read(|tx| tx.edits(repository, "a.rs", at(9)));
    let blobs: Vec<_> = edits
        .iter()
        .map(|e| (e.before.as_ref().unwrap().blob.clone(), e.at))
        .collect();
    assert_eq!(blobs, [(oid(1), at(2))]);
}

#[test]
fn a_move_of_head_is_noted_when_head_before_comes_late() {
    let mut stage = Stage::new();
    let after = vec![
        head("t", "p", 4, Side::After, 2),
        returned("t", "p", 4, ToolClass::Shell, "[main 0202020] message"),
    ];
    let one = stage.hear(says("one", after));
    stage.hear(says("one", vec![head("t", "p", 3, Side::Before, 1)]));
    let repository = stage.repository().id;
    let moves = stage.read(|tx| tx.moves_to(repository, &oid(2)));
    let found: Vec<_> = moves.iter().map(|m| (m.session, m.mention, m.at)).collect();
    assert_eq!(found, [(one, OutputMention::Made, at(4))]);
}

#[test]
fn a_call_that_returned_does_not_run_when_its_start_comes_late() {
    let mut stage = Stage::new();
    let done = returned("t", "p", 4, ToolClass::Shell, "");
    stage.hear(says("one", vec![done]));
    stage.hear(says("one", vec![call("t", "p", 3, ToolClass::Shell)]));
    stage.hear(says("one", vec![call("u", "p", 3, ToolClass::Shell)]));
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    let events: Vec<_> = running.iter().map(|c| c.event.as_str()).collect();
    assert_eq!(events, ["tool:u"]);
}

#[test]
fn no_call_runs_in_a_session_that_ended_before_its_start_came() {
    let mut stage = Stage::new();
    stage.hear(says("one", vec![ended(9)]));
    stage.hear(says("one", vec![call("t", "p", 3, ToolClass::Shell)]));
    assert_eq!(
        stage.read(|tx| tx.running_calls("/home/dev/main", at(0))),
        []
    );
}

#[test]
fn the_files_of_one_call_are_edits_of_their_own_in_any_order() {
    let call = ("e", "p");
    let seen = [
        file_at("a.rs", call, 3, Side::Before, Some(1)),
        file_at("b.rs", call, 3, Side::Before, None),
        file_at("a.rs", call, 4, Side::After, Some(2)),
        file_at("b.rs", call, 4, Side::After, Some(3)),
    ];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 1, 3, 0]] {
        let mut stage = Stage::new();
        stage.hear(says("one", vec![prompt("p", 1)]));
        for at in order {
            stage.hear(says("one", vec![seen[at].clone()]));
        }
        let repository = stage.repository().id;
        let mut sides = |path: &str| {
            let edits = stage.read(|tx| tx.edits(repository, path, at(9)));
            let bytes =
                |v: &Option<siglum_domain::observation::FileVersion>| v.as_ref().map(|v| v.bytes);
            edits
                .iter()
                .map(|e| (bytes(&e.before), bytes(&e.after)))
                .collect::<Vec<_>>()
        };
        assert_eq!(sides("a.rs"), [(Some(1), Some(2))], "{order:?}");
        assert_eq!(sides("b.rs"), [(None, Some(3))], "{order:?}");
    }
}
