use serde_json::json;

use super::*;
use crate::actions::Action;
use crate::messages::{Piece, Planned, Simulated};
use crate::row::Kind;
use crate::rows::row;

fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for c in keys.chars() {
        let key = match c {
            '\r' => Key::Enter,
            '\x1b' => Key::Esc,
            '\t' => Key::Tab,
            '\x7f' => Key::Backspace,
            c => Key::Char(c),
        };
        effects = state.update(Message::Input(Input::Key(key)));
    }
    effects
}

fn answer(state: &mut State, rows: Vec<Row>) {
    let generation = state.generation;
    let content = Ok(Content::Rows(rows));
    state.update(Message::Answer(Box::new(Answer::View { generation, content })));
}

fn job(namespace: &str, id: &str) -> Row {
    row(View::Jobs, &json!({"ID": id, "Namespace": namespace, "Status": "running"}))
}

/// A running cluster with the job "web" in two namespaces.
fn state() -> State {
    let mut state = State::new("test".into(), true);
    state.update(Message::Answer(Box::new(Answer::Namespaces(vec!["default".into(), "prod".into()]))));
    answer(&mut state, vec![job("default", "web"), job("prod", "web")]);
    state
}

fn question(state: &State) -> String {
    match &state.prompt {
        Prompt::Question(act) => act.question(),
        other => format!("{other:?}"),
    }
}

#[test]
fn objects_are_requested_in_their_own_namespaces() {
    let mut state = state();
    assert_eq!(press(&mut state, "d"), [Effect::Read(Read::Describe(Object::new(Kind::Job, "default", "web")))]);
    press(&mut state, "\x1b");
    assert_eq!(press(&mut state, "jy"), [Effect::Read(Read::Json(Object::new(Kind::Job, "prod", "web")))]);
    press(&mut state, "\x1b");
    let effects = press(&mut state, "\r");
    let [Effect::Read(Read::View { path, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(path, "/v1/job/web/allocations?namespace=prod");
    let allocation =
        |namespace: &str| row(View::Allocations, &json!({"ID": "a", "JobID": "web", "Namespace": namespace}));
    answer(&mut state, vec![allocation("default"), allocation("prod")]);
    assert_eq!(state.selected().map(|(o, _)| o.namespace.as_str()), Some("prod"));
    assert_eq!(state.list.len(), 1);
}

#[test]
fn escape_leads_back_to_the_object() {
    let mut state = state();
    press(&mut state, "j\r");
    assert_eq!(state.view, View::Allocations);
    press(&mut state, "\x1b");
    answer(&mut state, vec![job("default", "web"), job("prod", "web")]);
    assert_eq!((state.view, state.selected().map(|(o, _)| o.namespace.as_str())), (View::Jobs, Some("prod")));
}

#[test]
fn nothing_is_done_without_a_yes() {
    let mut state = state();
    for no in ["n", "\r", "\x1b", "q", "x"] {
        assert_eq!(press(&mut state, "jK"), []);
        assert_eq!(question(&state), "Stop job web in namespace prod with all its allocations? [y/N]");
        assert_eq!(press(&mut state, no), [], "{no:?}");
        assert_eq!(state.prompt, Prompt::None);
    }
    press(&mut state, "K");
    let effects = press(&mut state, "y");
    let [Effect::Act(act)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((&act.action, act.object.namespace.as_str()), (&Action::Stop, "prod"));
}

#[test]
fn a_file_offers_no_action() {
    let mut state = State::new("file".into(), false);
    answer(&mut state, vec![job("default", "web")]);
    for key in ["K", "R", "C", "a"] {
        assert_eq!(press(&mut state, key), []);
        assert_eq!((&state.prompt, &state.overlay), (&Prompt::None, &Overlay::None));
        assert!(state.note.as_ref().is_some_and(|note| note.is_error), "{key}");
    }
}

#[test]
fn a_count_is_asked_for_and_confirmed() {
    let mut state = state();
    let effects = press(&mut state, "C");
    let job = Object::new(Kind::Job, "default", "web");
    assert_eq!(effects, [Effect::Read(Read::Groups(job.clone()))]);
    let groups = Ok(vec![("a".to_string(), 1), ("b".to_string(), 2)]);
    state.update(Message::Answer(Box::new(Answer::Groups(job, groups))));
    press(&mut state, "j\rx5");
    assert_eq!(press(&mut state, "\r"), []);
    assert_eq!(question(&state), "Scale group b of job web from 2 to 5? [y/N]");
    assert!(matches!(press(&mut state, "y").as_slice(), [Effect::Act(_)]));
}

#[test]
fn actions_that_do_not_apply_are_refused() {
    let mut state = state();
    press(&mut state, "P");
    assert_eq!(state.prompt, Prompt::None);
    assert_eq!(state.note.as_ref().map(|note| note.text.as_str()), Some("Promote is not possible here. a: actions"));
}

#[test]
fn errors_of_actions_are_shown_and_the_view_is_read_again() {
    let mut state = state();
    press(&mut state, "K");
    let effects = press(&mut state, "y");
    let Some(Effect::Act(act)) = effects.into_iter().next() else { panic!("an action") };
    let long = "Error deregistering job: Unexpected response code: 500\n(No leader)".to_string();
    let effects = state.update(Message::Answer(Box::new(Answer::Acted(act.clone(), Err(long)))));
    assert!(matches!(effects.as_slice(), [Effect::Read(Read::View { .. })]));
    let Overlay::Text(page) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!(page.lines.last().map(String::as_str), Some("(No leader)"));
    press(&mut state, "\x1b");
    state.update(Message::Answer(Box::new(Answer::Acted(act, Ok(())))));
    assert_eq!(state.note.as_ref().map(|note| note.text.as_str()), Some("The job web is stopped."));
}

#[test]
fn the_command_line_opens_views_and_namespaces() {
    let mut state = state();
    press(&mut state, ":topo\r");
    assert_eq!(state.view, View::Topology);
    press(&mut state, ":ev\ti\x7f\x1b");
    assert_eq!((state.view, &state.prompt), (View::Topology, &Prompt::None));
    let effects = press(&mut state, ":ns prod\r");
    assert_eq!(state.namespace.as_deref(), Some("prod"));
    assert_eq!(effects.len(), 1);
    let effects = press(&mut state, ":jobs\r");
    let [Effect::Read(Read::View { path, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(path, "/v1/jobs?namespace=prod");
    press(&mut state, ":ns nowhere\r");
    assert_eq!((state.namespace.as_deref(), state.note.is_some()), (Some("prod"), true));
    assert_eq!(press(&mut state, ":q\r"), [Effect::Quit]);
}

#[test]
fn digits_choose_namespaces() {
    let mut state = state();
    press(&mut state, "2");
    assert_eq!(state.namespace.as_deref(), Some("prod"));
    press(&mut state, "7");
    assert_eq!(state.namespace.as_deref(), Some("prod"));
    press(&mut state, "0");
    assert_eq!(state.namespace, None);
}

#[test]
fn the_filter_applies_as_it_is_typed() {
    let mut state = state();
    press(&mut state, "/prod");
    assert_eq!(state.list.len(), 1);
    press(&mut state, "\r\x1b");
    assert_eq!(state.list.len(), 2);
}

#[test]
fn a_text_that_was_cancelled_is_not_shown() {
    let mut state = state();
    press(&mut state, "d\x1b");
    state.update(Message::Answer(Box::new(Answer::Text("job web".into(), Ok("text".into())))));
    assert_eq!(state.overlay, Overlay::None);
}

#[test]
fn answers_to_earlier_views_are_dropped() {
    let mut state = state();
    let generation = state.generation;
    press(&mut state, "\t");
    let content = Ok(Content::Rows(vec![job("default", "web")]));
    state.update(Message::Answer(Box::new(Answer::View { generation, content })));
    assert_eq!((state.view, state.list.loaded), (View::Allocations, false));
}

#[test]
fn events_are_followed_and_filtered_by_namespace() {
    let mut state = state();
    press(&mut state, ":events\r");
    for namespace in ["default", "prod"] {
        let event = json!({"Topic": "Job", "Type": "JobRegistered", "Key": "web", "Namespace": namespace});
        let line = json!({"Index": 1, "Events": [event]}).to_string();
        state.update(Message::Events(crate::events::rows(line.as_bytes(), 1)));
    }
    assert_eq!(state.list.len(), 2);
    press(&mut state, "2");
    assert_eq!(state.list.len(), 1);
}

#[test]
fn the_mouse_selects_rows_and_views() {
    let mut state = state();
    state.update(Message::Input(Input::Mouse(crate::input::MouseKind::Press, 4, 4)));
    assert_eq!(state.list.selected, 1);
    state.update(Message::Input(Input::Mouse(crate::input::MouseKind::Press, 8, 1)));
    assert_eq!(state.view, View::Allocations);
    state.update(Message::Size(80, 6));
    press(&mut state, ":jobs\r");
    answer(&mut state, vec![job("default", "web"), job("prod", "web")]);
    state.update(Message::Input(Input::Mouse(crate::input::MouseKind::WheelDown, 0, 0)));
    assert_eq!(state.list.selected, 1);
}

fn allocation() -> Row {
    row(View::Allocations, &json!({"ID": "a1", "JobID": "web", "Namespace": "prod", "ClientStatus": "running"}))
}

#[test]
fn a_task_is_chosen_and_its_output_followed() {
    let mut state = state();
    press(&mut state, "l");
    assert!(state.note.as_ref().is_some_and(|note| note.is_error));
    press(&mut state, ":alloc\r");
    answer(&mut state, vec![allocation()]);
    let object = Object::new(Kind::Allocation, "prod", "a1");
    assert_eq!(press(&mut state, "l"), [Effect::Read(Read::Tasks(object.clone(), Purpose::Logs))]);
    let tasks = Ok(vec!["server".to_string(), "init".to_string()]);
    state.update(Message::Answer(Box::new(Answer::Tasks(object, Purpose::Logs, tasks))));
    let effects = press(&mut state, "j\r");
    let [Effect::Follow { id, path }] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(path.contains("namespace=prod&task=init&type=stdout"), "{path}");
    state.update(Message::Log(*id, Piece::Text("one\n".into())));
    state.update(Message::Log(id + 1, Piece::Text("of another log\n".into())));
    let Overlay::Log(log) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!(log.lines, ["one"]);
    assert!(matches!(press(&mut state, "o").as_slice(), [Effect::Follow { path, .. }] if path.contains("type=stderr")));
    assert_eq!(press(&mut state, "\x1b"), [Effect::StopFollowing]);
}

#[test]
fn a_command_in_a_task_is_asked_for() {
    let mut state = state();
    press(&mut state, ":alloc\r");
    answer(&mut state, vec![allocation()]);
    press(&mut state, "x");
    let object = Object::new(Kind::Allocation, "prod", "a1");
    let tasks = Ok(vec!["server".to_string()]);
    state.update(Message::Answer(Box::new(Answer::Tasks(object.clone(), Purpose::Exec, tasks))));
    let exec =
        crate::messages::Exec { allocation: object, task: "server".into(), words: vec!["/bin/sh".into(), "-i".into()] };
    assert_eq!(press(&mut state, " -i\r"), [Effect::Exec(exec)]);
    state.update(Message::Executed(Ok(3)));
    assert_eq!(state.note.as_ref().map(|note| note.text.as_str()), Some("The command ended with exit code 3."));
}

fn planned(name: &str) -> Planned {
    let mut changes = Changes::default();
    changes.add("n1", crate::topology::Change::Placed, 1);
    let action = Action::Register { file: "plan".into(), index: 7 };
    let register = crate::actions::Act { action, object: Object::new(Kind::Job, "prod", name), name: name.into() };
    Planned { text: "Placements".into(), changes, register }
}

#[test]
fn a_plan_is_registered_as_it_was_reviewed_after_a_yes() {
    let mut state = state();
    let effects = press(&mut state, ":plan -var=a=b web.hcl\r");
    let [Effect::Read(Read::Plan { words, number })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(words, &["-var=a=b", "web.hcl"]);
    press(&mut state, "W");
    assert_eq!(state.prompt, Prompt::None);
    state.update(Message::Answer(Box::new(Answer::Plan(*number, Ok(planned("web"))))));
    assert!(!state.picture.changes.is_empty());
    press(&mut state, "W");
    assert_eq!(question(&state), "Register job web in namespace prod as reviewed (modify index 7)? [y/N]");
    let effects = press(&mut state, "y");
    assert!(matches!(effects.as_slice(), [Effect::Act(act)] if act.command().join(" ") == "job run -detach -- plan"));
}

#[test]
fn a_plan_that_is_outdated_is_not_shown_and_a_file_registers_none() {
    let mut state = State::new("file".into(), false);
    press(&mut state, ":plan a.hcl\r");
    let effects = press(&mut state, ":plan b.hcl\r");
    let [Effect::Read(Read::Plan { number, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    state.update(Message::Answer(Box::new(Answer::Plan(number - 1, Ok(planned("a"))))));
    assert!(state.plan.running && state.plan.page.is_none());
    state.update(Message::Answer(Box::new(Answer::Plan(*number, Ok(planned("b"))))));
    press(&mut state, "W");
    assert_eq!((&state.prompt, state.plan.register.as_ref()), (&Prompt::None, None));
}

#[test]
fn marked_nodes_are_simulated() {
    let mut state = state();
    press(&mut state, ":nodes\r");
    let node = |id: &str| row(View::Nodes, &json!({"ID": id, "Name": format!("node-{id}"), "Status": "ready"}));
    answer(&mut state, vec![node("n1"), node("n2")]);
    press(&mut state, "mjmm");
    let effects = press(&mut state, "w");
    let [Effect::Read(Read::WhatIf { flags, number })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(flags, &["-down=n1", "-drain=n2"]);
    let outcome = Simulated { text: "No allocation would be unplaced.".into(), changes: Changes::default() };
    state.update(Message::Answer(Box::new(Answer::WhatIf(*number, Ok(outcome)))));
    assert!(state.what_if.page.is_some() && !state.what_if.running);
    press(&mut state, "M");
    assert!(state.what_if.marks.is_empty() && state.what_if.page.is_none());
}

#[test]
fn no_key_and_no_size_breaks_the_state() {
    let keys = "mwMW:plan x\roWtxljkgGhls SrR\tdyeaKCPFDE/ab\x7f\r\x1b:topo\rlhjk:ev\r?jG\x1b0129\x1b:x\r:\x1bn";
    for size in [(0, 0), (1, 1), (20, 3), (80, 24), (500, 200)] {
        let mut state = state();
        state.update(Message::Size(size.0, size.1));
        for key in keys.chars() {
            press(&mut state, &key.to_string());
            let area = ratatui::layout::Rect::new(0, 0, size.0, size.1);
            crate::draw::screen(&state, true, area, &mut ratatui::buffer::Buffer::empty(area));
        }
    }
}
