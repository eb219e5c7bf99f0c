//! The recorded transcripts, and lines that nobody should write.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;
use siglum_domain::Timestamp;
use siglum_domain::observation::{Fact, Tokens};
use siglum_domain::redact::Redactor;

use super::Reader;
use crate::claude_code::fixture::{
    COMPACT, EDIT, FORK_CHILD, FORK_PARENT, HOOKS, RESUME, SUBAGENT, SUBAGENT_PARENT, WRITE_COMMIT,
    native, read,
};
use crate::claude_code::reduce::reduce;
use crate::hook::HookCall;
use crate::transcript::{Sighting, TranscriptReader as _};

const PARENT: &str = "82d22249-95b9-4a69-be00-56b628d51d90";
const CHILD: &str = "2cb3f475-b8ea-48c1-bf3d-3e24a9b14eb6";

fn reader(session: &str) -> Reader {
    Reader::new("stream".to_owned(), None, native(session)).in_worktree(PathBuf::from("/repo"))
}

fn show(sightings: &[Sighting]) -> String {
    let mut out = String::new();
    for s in sightings {
        let o = &s.observation;
        let mut tags = format!(
            "{}{}",
            if s.copied { "copy of " } else { "" },
            &s.owner.as_str()[..8]
        );
        o.turn
            .iter()
            .for_each(|turn| write!(tags, " turn={}", &turn[..8]).expect("a string"));
        o.subagent
            .iter()
            .for_each(|agent| write!(tags, " in={agent}").expect("a string"));
        let key = format!(
            "{}{}",
            &o.key[..8],
            o.key.find('#').map_or("", |at| &o.key[at..])
        );
        let fact = serde_json::to_string(&o.fact).expect("JSON");
        writeln!(out, "{key} → {} {tags}\n    {fact}", o.event).expect("a string");
    }
    out
}

fn tokens(sightings: &[Sighting]) -> u64 {
    let mut by_event: BTreeMap<&str, Tokens> = BTreeMap::new();
    for s in sightings {
        if let Fact::Message {
            tokens: Some(tokens),
            ..
        } = &s.observation.fact
        {
            by_event.insert(&s.observation.event, *tokens);
        }
    }
    by_event.values().map(|t| t.input + t.output).sum()
}

#[test]
fn a_session_with_a_commit() {
    assert_snapshot!(show(&read(WRITE_COMMIT, &mut reader(PARENT))), @r#"
    017ea92b → prompt:de296258-cf9d-4564-af9d-7c819f9d282a 82d22249 turn=de296258
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    c55361f5 → msg:msg_2d8d297264484f6fa6c4785d 82d22249 turn=de296258
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":5114}},"model":"claude-opus-5-5","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"req_2a45eed03fd4490ea48c69d4"}
    b8b96b78#0 → tool:toolu_3b6d222fc097414a9a0f7870 82d22249 turn=de296258
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":20,\"file_path\":\"/repo/hello.txt\"}"},"path":"hello.txt"}
    be59efef#0 → tool:toolu_3b6d222fc097414a9a0f7870 82d22249 turn=de296258
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":7938}},"duration_ms":null}
    279c27b4 → msg:msg_adf750784c9b4de6a529b2ff 82d22249 turn=de296258
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":9388}},"model":"claude-opus-5-5","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"req_f0ecc7da6e2346779518b948"}
    cf76a987#0 → tool:toolu_429a696615f749cd86be4976 82d22249 turn=de296258
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
    bc9d3d86#0 → tool:toolu_429a696615f749cd86be4976 82d22249 turn=de296258
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":12245}},"duration_ms":null}
    3db36aba → msg:msg_cd3618775c38424593d0a3d5 82d22249 turn=de296258
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":13176}},"model":"claude-opus-5-5","tokens":{"input":500,"output":20,"cache_read":0,"cache_write":0},"request":"req_0ef3dcd151f349618b5b00bc"}
    3db36aba#stop → stop:de296258-cf9d-4564-af9d-7c819f9d282a 82d22249 turn=de296258
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
}

#[test]
fn a_session_with_edits_one_of_which_fails() {
    assert_snapshot!(show(&read(EDIT, &mut reader("18700c51-9c00-43c7-9348-cf28429aaad7"))), @r#"
    58ea97d5 → prompt:b03081be-b5e2-4bb0-b933-ae30d3edc1d2 18700c51 turn=b03081be
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:edit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    b7eb35e5 → msg:msg_4e820a6243e947fb9e43629b 18700c51 turn=b03081be
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":5098}},"model":"claude-opus-5-5","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"req_5786cb074a55436aa6c98e62"}
    d1bc607e#0 → tool:toolu_adb34b16a065449f91b09bb4 18700c51 turn=b03081be
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":27,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
    942c3147#0 → tool:toolu_adb34b16a065449f91b09bb4 18700c51 turn=b03081be
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":7929}},"duration_ms":null}
    ed8fd46d → msg:msg_f63413c4e0d2441bbd4ac189 18700c51 turn=b03081be
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"req_bde0e3bba4804c74947ed129"}
    ed8fd46d#0 → tool:toolu_acecf8f410f445b19f99a4f7 18700c51 turn=b03081be
        {"fact":"tool_started","tool":"Edit","class":"edit","input":{"text":"{\"file_path\":\"/repo/src/list.txt\",\"new_string_bytes\":15,\"old_string_bytes\":6,\"replace_all\":false}"},"path":"src/list.txt"}
    9fbeee62#0 → tool:toolu_acecf8f410f445b19f99a4f7 18700c51 turn=b03081be
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":11042}},"duration_ms":null}
    fc531d06 → msg:msg_2dede87f9190462ca12d9bbe 18700c51 turn=b03081be
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":450,"output":20,"cache_read":0,"cache_write":0},"request":"req_25818f5343b44db68a99d6ea"}
    fc531d06#0 → tool:toolu_469ce81d36b046cab6310b90 18700c51 turn=b03081be
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":45,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
    e9b3bd39#0 → tool:toolu_469ce81d36b046cab6310b90 18700c51 turn=b03081be
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":13553}},"duration_ms":null}
    3ee885f5 → msg:msg_1e1b05f6a3a44fb0931d5d73 18700c51 turn=b03081be
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":500,"output":20,"cache_read":0,"cache_write":0},"request":"req_82fd02830d2340ea8f0bbe60"}
    3ee885f5#0 → tool:toolu_c5ba41a4d12c477d925215ee 18700c51 turn=b03081be
        {"fact":"tool_started","tool":"Edit","class":"edit","input":{"text":"{\"file_path\":\"/repo/README.md\",\"new_string_bytes\":5,\"old_string_bytes\":15,\"replace_all\":false}"},"path":"README.md"}
    2a5f5abe#0 → tool:toolu_c5ba41a4d12c477d925215ee 18700c51 turn=b03081be
        {"fact":"tool_ended","tool":"","class":"other","outcome":"failed","output":{"passage":{"stream":"stream","offset":16081}},"duration_ms":null}
    c577448f → msg:msg_a0f0e0b97f514234abea4da7 18700c51 turn=b03081be
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":550,"output":20,"cache_read":0,"cache_write":0},"request":"req_38388d66d2b2471e8489e709"}
    c577448f#0 → tool:toolu_aeb58bf1946449589b65874a 18700c51 turn=b03081be
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'edit the list'"},"path":null}
    c4c8a42e#0 → tool:toolu_aeb58bf1946449589b65874a 18700c51 turn=b03081be
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":18364}},"duration_ms":null}
    bf1dcda5 → msg:msg_0fc36a8554e24acbafa85480 18700c51 turn=b03081be
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":19246}},"model":"claude-opus-5-5","tokens":{"input":600,"output":20,"cache_read":0,"cache_write":0},"request":"req_b4646d814ced47e081a6decd"}
    bf1dcda5#stop → stop:b03081be-b5e2-4bb0-b933-ae30d3edc1d2 18700c51 turn=b03081be
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
}

#[test]
fn a_fork_gives_its_origin_back() {
    let child = read(FORK_CHILD, &mut reader(CHILD));
    assert_snapshot!(show(&child), @r#"
    c55361f5 → msg:msg_2d8d297264484f6fa6c4785d copy of 82d22249
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":4883}},"model":"claude-opus-5-5","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"req_2a45eed03fd4490ea48c69d4"}
    b8b96b78#0 → tool:toolu_3b6d222fc097414a9a0f7870 copy of 82d22249
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":20,\"file_path\":\"/repo/hello.txt\"}"},"path":"hello.txt"}
    be59efef#0 → tool:toolu_3b6d222fc097414a9a0f7870 copy of 82d22249
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":7529}},"duration_ms":null}
    279c27b4 → msg:msg_adf750784c9b4de6a529b2ff copy of 82d22249
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":8807}},"model":"claude-opus-5-5","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"req_f0ecc7da6e2346779518b948"}
    cf76a987#0 → tool:toolu_429a696615f749cd86be4976 copy of 82d22249
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
    bc9d3d86#0 → tool:toolu_429a696615f749cd86be4976 copy of 82d22249
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":11486}},"duration_ms":null}
    3db36aba → msg:msg_cd3618775c38424593d0a3d5 copy of 82d22249
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":12343}},"model":"claude-opus-5-5","tokens":{"input":500,"output":20,"cache_read":0,"cache_write":0},"request":"req_0ef3dcd151f349618b5b00bc"}
    9b9485cd → msg:msg_b03ddaf9054141daa22e77af copy of 82d22249
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":14885}},"model":"claude-opus-5-5","tokens":{"input":600,"output":20,"cache_read":0,"cache_write":0},"request":"req_525e062d5b254773b8af23b8"}
    f8bc472d → prompt:db6a784b-df40-4745-aec3-a84b34e38e2e 2cb3f475 turn=db6a784b
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    0e11ebb2 → msg:msg_3abd3751727f4b9b84d0c771 2cb3f475 turn=db6a784b
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":17731}},"model":"claude-opus-5-5","tokens":{"input":700,"output":20,"cache_read":0,"cache_write":0},"request":"req_988e386acdef4648b81d1de5"}
    0e11ebb2#stop → stop:db6a784b-df40-4745-aec3-a84b34e38e2e 2cb3f475 turn=db6a784b
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
    let parent: BTreeSet<_> = read(FORK_PARENT, &mut reader(PARENT))
        .into_iter()
        .map(|s| (s.owner, s.observation.key, s.observation.event))
        .collect();
    for copy in child.into_iter().filter(|s| s.copied) {
        let copy = (copy.owner, copy.observation.key, copy.observation.event);
        assert!(parent.contains(&copy), "{copy:?}");
    }
}

#[test]
fn a_message_costs_once() {
    assert_eq!(tokens(&read(WRITE_COMMIT, &mut reader(PARENT))), 1200 + 60);
    assert_eq!(tokens(&read(RESUME, &mut reader(PARENT))), 1800 + 80);
    let own: Vec<_> = read(FORK_CHILD, &mut reader(CHILD))
        .into_iter()
        .filter(|s| !s.copied)
        .collect();
    assert_eq!(tokens(&own), 2500 + 100 - 1800 - 80);
}

#[test]
fn compaction_and_what_follows() {
    assert_snapshot!(show(&read(COMPACT, &mut reader("1addea8e-88aa-4d9d-9402-c3ddad469c1a"))), @r#"
    19b64829 → prompt:d09c075c-bf44-4762-b65f-773ae9904673 1addea8e turn=d09c075c
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:sub_write]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    bf6eafce → msg:msg_4b188bb8e8f54abcabced76f 1addea8e turn=d09c075c
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"req_a1c9baf9231243a6a23955ed"}
    bf6eafce#0 → tool:toolu_47a6871afd604cd79521334d 1addea8e turn=d09c075c
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":8,\"file_path\":\"/repo/from_helper.txt\"}"},"path":"from_helper.txt"}
    e98cf962#0 → tool:toolu_47a6871afd604cd79521334d 1addea8e turn=d09c075c
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":6715}},"duration_ms":null}
    4c81b658 → msg:msg_8a6970758d2743839cadd949 1addea8e turn=d09c075c
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":350,"output":20,"cache_read":0,"cache_write":0},"request":"req_2dbba456fbc74f2c82f65896"}
    4c81b658#0 → tool:toolu_8195b0583719469f812ff1d3 1addea8e turn=d09c075c
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
    c301f30c#0 → tool:toolu_8195b0583719469f812ff1d3 1addea8e turn=d09c075c
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":9810}},"duration_ms":null}
    5fe2a273 → msg:msg_e9a05bf0524945999ea54b3f 1addea8e turn=d09c075c
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":10692}},"model":"claude-opus-5-5","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"req_8cc5bb17052a4da699558392"}
    5fe2a273#stop → stop:d09c075c-bf44-4762-b65f-773ae9904673 1addea8e turn=d09c075c
        {"fact":"stopped","last_message":null,"background":[]}
    fd2f090d → compact:7802b693-fa2e-46f3-af15-fcd01772a12e 1addea8e turn=7802b693
        {"fact":"compacted","trigger":"manual","summary":{"passage":{"stream":"stream","offset":15001}}}
    e76a998b → prompt:e7d572a6-23cd-485d-bbba-1ff90cb43eff 1addea8e turn=e7d572a6
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    7e525455 → msg:msg_3da721fac9054c2d9c3a24a0 1addea8e turn=e7d572a6
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":25383}},"model":"claude-opus-5-5","tokens":{"input":650,"output":20,"cache_read":0,"cache_write":0},"request":"req_f4bfe806d6d24c73a97f01fb"}
    7e525455#stop → stop:e7d572a6-23cd-485d-bbba-1ff90cb43eff 1addea8e turn=e7d572a6
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
}

#[test]
fn a_sub_agent_and_its_parent() {
    let session = "5dd7576f-f5d2-404b-9633-2ac18376b011";
    assert_snapshot!(show(&read(SUBAGENT_PARENT, &mut reader(session))), @r#"
    b0a0a00c → prompt:b8e2adc7-f885-4a38-9baf-9ccf1b0bb14b 5dd7576f turn=b8e2adc7
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:subagent]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    8cb4ea30 → msg:msg_3ff721e50a794db4b5f3e053 5dd7576f turn=b8e2adc7
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":5106}},"model":"claude-opus-5-5","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"req_200e3cf5a4c34b76be67e31c"}
    37c2247b#0 → tool:toolu_0f906b5a4e1247ca8481306d 5dd7576f turn=b8e2adc7
        {"fact":"tool_started","tool":"Agent","class":"agent","input":{"text":"{\"description\":\"write a file\",\"prompt\":\"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]\",\"subagent_type\":\"general-purpose\"}"},"path":null}
    829cc25b#0 → tool:toolu_0f906b5a4e1247ca8481306d 5dd7576f turn=b8e2adc7
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"stream","offset":8092}},"duration_ms":null}
    829cc25b#agent → sub:a41656a253b697f93 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"subagent_started","agent_type":"","call":"toolu_0f906b5a4e1247ca8481306d"}
    89a257d3 → msg:msg_05cce5f3f84d4a8daaaeadc6 5dd7576f turn=b8e2adc7
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":10916}},"model":"claude-opus-5-5","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"req_96c335dd8fa04c42b0c07602"}
    89a257d3#stop → stop:b8e2adc7-f885-4a38-9baf-9ccf1b0bb14b 5dd7576f turn=b8e2adc7
        {"fact":"stopped","last_message":null,"background":[]}
    2deaf5f8 → prompt:13e77728-fab5-4f60-9dab-cac69db89d35 5dd7576f turn=13e77728
        {"fact":"prompt","text":{"text":"<task-notification>\n<task-id>a41656a253b697f93</task-id>\n<tool-use-id>toolu_0f906b5a4e1247ca8481306d</tool-use-id>\n<output-file>/tmp/agent/claude-0/-repo/5dd7576f-f5d2-404b-9633-2ac18376b011/tasks/a41656a253b697f93.output</output-file>\n<status>completed</status>\n<summary>Agent \"write a file\" finished</summary>\n<note>A task-notification fires each time this agent stops with no live background children of its own. The user can send it another message and resume it, so the same task-id may notify more than once.</note>\n<result>Helper finished.</result>\n<usage><subagent_tokens>470</subagent_tokens><tool_uses>2</tool_uses><duration_ms>1149</duration_ms></usage>\n</task-notification>"},"synthetic":true}
    b9e5e273 → msg:msg_34f8d1f5188c44ccb3dc29fb 5dd7576f turn=13e77728
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":15973}},"model":"claude-opus-5-5","tokens":{"input":550,"output":20,"cache_read":0,"cache_write":0},"request":"req_2289cb5f4d83486fbd53aa66"}
    b9e5e273#stop → stop:13e77728-fab5-4f60-9dab-cac69db89d35 5dd7576f turn=13e77728
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
    let mut inner = Reader::new(
        "agent-a41656a253b697f93".to_owned(),
        Some("a41656a253b697f93".to_owned()),
        native(session),
    );
    assert_snapshot!(show(&read(SUBAGENT, &mut inner)), @r#"
    4598b991 → msg:4598b991-4f45-4e94-a3e4-d1044673433d 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"message","role":"user","text":{"text":"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]"},"model":null,"tokens":null}
    b0a1eac5 → msg:msg_1cbda36855e749cf8a8ad515 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"req_ae071b92d7144e7581b5922a"}
    b0a1eac5#0 → tool:toolu_0eb72c0d78194659abd9d24e 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":8,\"file_path\":\"/repo/from_helper.txt\"}"},"path":null}
    cf3f4aec#0 → tool:toolu_0eb72c0d78194659abd9d24e 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"agent-a41656a253b697f93","offset":5351}},"duration_ms":null}
    cd17fb32 → msg:msg_12fa0de909e5415d81739a33 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"message","role":"assistant","text":{"text":""},"model":"claude-opus-5-5","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"req_2bd3f50757fa44aba91a01ad"}
    cd17fb32#0 → tool:toolu_52870f5fc3ac4a99ab476a41 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
    f84eae14#0 → tool:toolu_52870f5fc3ac4a99ab476a41 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"agent-a41656a253b697f93","offset":8900}},"duration_ms":null}
    83c503e2 → msg:msg_89f828bee53a4a17ac3ec106 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"agent-a41656a253b697f93","offset":9708}},"model":"claude-opus-5-5","tokens":{"input":450,"output":20,"cache_read":0,"cache_write":0},"request":"req_a4c2d5484786440a8d671499"}
    83c503e2#stop → sub:a41656a253b697f93 5dd7576f turn=b8e2adc7 in=a41656a253b697f93
        {"fact":"subagent_stopped","last_message":null}
    "#);
}

/// Without one of them, the agent would not resume what comes before it.
#[test]
fn every_line_of_the_chain_is_archived() {
    for text in [WRITE_COMMIT, COMPACT, RESUME] {
        let mut reader = reader(PARENT);
        for line in text.lines() {
            let read = reader.line(7, line, Redactor::shared());
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let is_stored = read.at.or(read.archived).is_some();
            assert_eq!(is_stored, value["uuid"].is_string(), "{line}");
        }
    }
}

#[test]
fn a_session_has_the_name_that_the_agent_gives_it() {
    let mut reader = reader(PARENT);
    let mut name = |session: &str, title: &str| {
        let line =
            format!(r#"{{"type":"custom-title","customTitle":{title},"sessionId":"{session}"}}"#);
        let read = reader.line(0, &line, Redactor::shared());
        read.name.map(|name| name.into_owned())
    };
    assert_eq!(
        name(PARENT, r#""Cart \"a\"""#).as_deref(),
        Some("Cart \"a\"")
    );
    assert_eq!(name(CHILD, "\"Cart\""), None);
    assert_eq!(name(PARENT, "7"), None);
}

#[test]
fn a_line_tells_where_it_was_written() {
    let lines: Vec<_> = WRITE_COMMIT.lines().collect();
    let mut reader = reader(PARENT);
    assert_eq!(reader.line(0, lines[0], Redactor::shared()).at, None);
    let line = reader.line(0, lines[2], Redactor::shared());
    let origin = (
        line.cwd.as_deref(),
        line.git_branch.as_deref(),
        line.version.as_deref(),
    );
    assert_eq!(origin, (Some("/repo"), Some("main"), Some("2.1.329")));
    assert_eq!(line.at, "2026-11-21T00:51:34.3Z".parse::<Timestamp>().ok());
    assert_eq!((line.sightings.len(), reader.held_from()), (0, Some(0)));
}

#[test]
fn hooks_and_transcripts_name_the_same_events() {
    let mut events = BTreeSet::new();
    for line in HOOKS.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let (payload, agent_dir) = (line["stdin"].to_string(), Path::new("/home/dev/.claude"));
        let call = HookCall {
            payload: payload.as_bytes(),
            redactor: Redactor::shared(),
            digest_key: &[0; 32],
            now: Timestamp::default(),
            delivery: "d",
            agent_dir,
            worktree: None,
        };
        let reduced = reduce(&call).expect("a payload");
        events.extend(
            reduced
                .observations
                .into_iter()
                .map(|o| (reduced.native.clone(), o.event)),
        );
    }
    for (text, session) in [
        (RESUME, PARENT),
        (FORK_CHILD, CHILD),
        (EDIT, "18700c51-9c00-43c7-9348-cf28429aaad7"),
    ] {
        for seen in read(text, &mut reader(session))
            .into_iter()
            .filter(|s| !matches!(s.observation.fact, Fact::Message { .. }))
        {
            let failed_before_its_hook =
                seen.observation.event == "tool:toolu_c5ba41a4d12c477d925215ee";
            assert!(
                failed_before_its_hook
                    || events.contains(&(seen.owner, seen.observation.event.clone())),
                "{}",
                seen.observation.event
            );
        }
    }
}

/// Reads in pieces, with a new reader for each, as a worker does.
fn in_pieces(text: &str, session: &str, every: usize) -> Vec<Sighting> {
    let (mut seen, mut at, mut turn, mut own) = (Vec::new(), 0, None, false);
    let mut lines = every;
    while at < text.len() {
        let mut reader = reader(session).resumed(turn.clone(), own);
        let mut end = at;
        for line in text[at..].split_inclusive('\n').take(lines) {
            seen.extend(reader.line(end as u64, line, Redactor::shared()).sightings);
            end += line.len();
        }
        if end == text.len() {
            seen.extend(reader.finish());
        }
        let next = reader
            .held_from()
            .map_or(end, |held| usize::try_from(held).expect("small"));
        lines = if next == at { lines + every } else { every };
        (at, turn, own) = (next, reader.turn().map(str::to_owned), reader.is_own());
    }
    seen
}

#[test]
fn reading_in_pieces_gives_the_same_facts() {
    for (text, session) in [
        (WRITE_COMMIT, PARENT),
        (FORK_CHILD, CHILD),
        (COMPACT, "1addea8e-88aa-4d9d-9402-c3ddad469c1a"),
    ] {
        let whole: BTreeMap<_, _> = read(text, &mut reader(session))
            .into_iter()
            .map(|s| (s.observation.key.clone(), s))
            .collect();
        for every in [1, 2, 7, 20] {
            for piece in in_pieces(text, session, every) {
                let expected = whole.get(&piece.observation.key);
                let news = matches!(
                    piece.observation.fact,
                    Fact::Message { .. } | Fact::Compacted { .. }
                );
                assert!(news || expected == Some(&piece), "{every}: {piece:?}");
            }
        }
    }
}

#[test]
fn lines_that_are_no_json_are_counted_and_skipped() {
    let mut reader = reader(PARENT);
    for line in [
        "",
        "\n",
        "not JSON",
        "{\"type\":\"user\"",
        "[1]",
        "{\"type\":\"user\"}",
        "{\"type\":\"assistant\",\"message\":7}",
    ] {
        assert_eq!(
            reader.line(0, line, Redactor::shared()).sightings,
            [],
            "{line}"
        );
    }
    assert_eq!(reader.skipped(), 3);
}

/// A message that ended for this reason, in a line with these fields.
fn ended_for(reason: &str, content: &str, fields: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"a","timestamp":"2026-11-21T00:51:43Z"{fields},"message":{{"id":"m","content":[{content}],"stop_reason":{reason}}}}}"#
    )
}

#[test]
fn a_turn_stops_where_the_model_is_done() {
    let text = r#"{"type":"text","text":"Done."}"#;
    let call = r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#;
    let stops = |line: &str| -> Vec<String> {
        let user = r#"{"type":"user","uuid":"u","promptId":"p","message":{"content":"Do it"}}"#;
        let lines = format!("{user}\n{line}\n");
        let seen = read(&lines, &mut reader(PARENT)).into_iter();
        let stops = seen
            .map(|s| s.observation)
            .filter(|o| matches!(o.fact, Fact::Stopped { .. } | Fact::SubagentStopped { .. }));
        stops.map(|o| o.event).collect()
    };
    for reason in [r#""end_turn""#, r#""stop_sequence""#, r#""refusal""#] {
        assert_eq!(stops(&ended_for(reason, text, "")), ["stop:p"], "{reason}");
    }
    // What was cut goes on, and so does what calls, whatever its provider says.
    for reason in [
        r#""tool_use""#,
        r#""max_tokens""#,
        r#""pause_turn""#,
        "null",
        "7",
    ] {
        assert!(stops(&ended_for(reason, text, "")).is_empty(), "{reason}");
    }
    let done = |content: &str, fields: &str| stops(&ended_for(r#""end_turn""#, content, fields));
    assert!(done(&format!("{text},{call}"), "").is_empty());
    // What is inside of a sub-agent stops no turn.
    assert!(done(text, r#","isSidechain":true"#).is_empty());
    assert_eq!(done(text, r#","agentId":"x""#), ["sub:x"]);
    // The turn of a copy has another name.
    assert!(done(text, r#","requestSessionId":"origin""#).is_empty());
}

#[test]
fn secrets_are_removed_from_prompts_commands_and_summaries() {
    let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let lines = format!(
        r#"{{"type":"user","uuid":"u1","message":{{"content":"{token}"}}}}
{{"type":"assistant","uuid":"u2","message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{{"command":"{token}"}}}},{{"type":"tool_use","id":"t","name":"X","input":{{"a":"{token}"}}}},{{"type":"tool_use","id":"t","name":"Write","input":{{"file_path":"/repo/{token}"}}}}]}}}}
"#
    );
    let seen = read(&lines, &mut reader(PARENT));
    assert_eq!(seen.len(), 4);
    assert!(!format!("{seen:?}").contains(token), "{seen:?}");
}

proptest! {
    #[test]
    fn text_never_panics(text in ".{0,300}") {
        let mut reader = reader(PARENT);
        reader.line(0, &text, Redactor::shared());
    }

    #[test]
    fn damaged_transcripts_never_panic(cut in 0_usize..20_000, at in 0_usize..20_000, put in "[\\[\\]{}\",:x0]{0,3}") {
        let mut text = FORK_CHILD.to_owned();
        let floor = |text: &str, at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let at = floor(&text, at);
        text.insert_str(at, &put);
        text.truncate(floor(&text, cut));
        read(&text, &mut reader(CHILD));
    }
}

/// Not a test: prints the speed. `cargo test --release -p siglum-agents -- --ignored speed --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed() {
    let output = "fn main() { println!(\\\"x\\\"); }\\n".repeat(2000);
    let result = format!(
        r#"{{"parentUuid":"x","isSidechain":false,"promptId":"p","type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_1","type":"tool_result","content":"{output}"}}]}},"uuid":"u","timestamp":"2026-11-21T00:51:34.553Z","toolUseResult":{{"stdout":"{output}","stderr":""}},"cwd":"/repo","sessionId":"{PARENT}"}}"#
    );
    for (name, text) in [
        ("large results", format!("{result}\n").repeat(500)),
        ("recorded lines", RESUME.repeat(3000)),
    ] {
        let start = std::time::Instant::now();
        let mut reader = reader(PARENT).resumed(None, true);
        let seen: usize = text
            .lines()
            .map(|line| reader.line(0, line, Redactor::shared()).sightings.len())
            .sum();
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}: {seen} sightings, {:.0} MB/s",
            text.len() as f64 / 1e6 / seconds
        );
    }
}
