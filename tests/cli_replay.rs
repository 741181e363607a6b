//! The plan's terminal form against the recorded runs: canned plan responses in, exact output out.

use std::path::Path;

use encamp::cli::flags::normalise;
use encamp::cli::job_plan::JobPlan;
use encamp::cli::render::plan;
use encamp::cli::render::ui::{ColourInput, Ui};
use encamp::model::{Job, JobPlanResponse};
use serde_json::Value;

#[path = "support/oracle.rs"]
mod oracle;

/// Everything up to the footer's paragraph, which is every program's own.
fn comparable(output: &str) -> (String, String) {
    let output = output.replace("nomad job run", "encamp job run");
    let Some((head, tail)) = output.rsplit_once("encamp job run") else { return (output, String::new()) };
    let (command, paragraph) = tail.split_once("\n\n").unwrap_or((tail, ""));
    let end: String = paragraph.chars().skip_while(|c| *c != '\x1b').collect();
    (format!("{head}encamp job run{command}"), end)
}

fn replay(case: &Value) -> (String, u8) {
    let args: Vec<String> = serde_json::from_value(case["args"].clone()).unwrap();
    let response: JobPlanResponse = serde_json::from_value(case["routes"][0]["body"].clone()).unwrap();
    let flags: Vec<String> = args.iter().skip_while(|a| *a == "job" || *a == "plan").cloned().collect();
    let command = <JobPlan as clap::CommandFactory>::command().no_binary_name(true);
    let matches = command.clone().try_get_matches_from(normalise(&command, &flags).unwrap()).unwrap();
    let parsed = <JobPlan as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
    let path = args.last().unwrap();
    let job =
        Job { r#type: if path.contains("system") { "system".into() } else { "service".into() }, ..Job::default() };
    let colours = ColourInput { forced: parsed.general.force_color, ..ColourInput::default() }.decide();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ui = Ui::new(&mut out, &mut err, colours);
    plan::print(&mut ui, &parsed.view(&response, &job, path, 0));
    ui.finish().unwrap();
    assert!(err.is_empty());
    (String::from_utf8(out).unwrap(), plan::exit_code(&response))
}

#[test]
fn recorded_plans_print_the_same() {
    let Some(folder) = oracle::folder("cli/replay") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| name(p).contains("-plan-"));
    paths.sort();
    let mut equal = 0;
    for path in &paths {
        let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let (stdout, exit) = replay(&case);
        let want = case["stdout"].as_str().unwrap();
        if comparable(&stdout) == comparable(want) && Some(u64::from(exit)) == case["exit"].as_u64() {
            equal += 1;
        } else {
            println!("{}: exit {exit}\n{stdout:?}\n{want:?}", name(path));
        }
    }
    println!("plan replay oracle: {equal}/{} equal", paths.len());
    assert!(!paths.is_empty(), "the oracle has no plan replays");
    assert_eq!(equal, paths.len());
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
