//! The way of a job file from its text to what is printed, as `job validate` and `job plan` take it.

use std::hint::black_box;

use encamp_cli::render::plan::{Effects, PlanView};
use encamp_cli::render::ui::{Colours, Ui};
use encamp_cli::render::{diff, findings, json, markup, plan, plan_summary};
use encamp_jobspec::admission::{ServerContext, check, check_offline, check_update, error_list};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_jobspec::diff::diff_jobs;
use encamp_jobspec::explain::outline::Outline;
use encamp_jobspec::explain::{self, Severity, Syntax};
use encamp_jobspec::parse::{self, ParseOptions};
use encamp_model::{DiffType, Job, Namespace, NodePool, api};
use encamp_plan::tally::Tally;
use encamp_plan::{plan_job, server_context};
use encamp_state::State;

/// The clock of all runs, Unix nanoseconds.
const NOW: i64 = 1_700_000_000_000_000_000;
/// Jobs with more allocations are not given to the scheduler: this is about job files.
const MAX_PLANNED: i64 = 50;
/// The cluster that jobs are planned on.
const CLUSTER: &[u8] = include_bytes!("../../fixtures/preemption/cluster.json");
/// A job with a variable of every kind of type.
const WITH_VARIABLES: &[u8] = include_bytes!("../../fuzz/variables.hcl");
/// The variables of that job.
pub const VARIABLES: [&str; 12] =
    ["any", "text", "number", "bool", "texts", "numbers", "pair", "set", "object", "objects", "nested", "checked"];

/// How far inputs came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    Refused,
    Parsed,
    Stored,
    Valid,
    Planned,
}

thread_local! {
    static STATE: State = encamp_snapshot::read(CLUSTER, "cluster.json").expect("the fixture is a snapshot").state;
}

/// A job file in HCL, native or JSON syntax.
pub fn hcl(data: &[u8]) -> Reached {
    parsed(parse_with(data, ParseOptions::default()), data)
}

/// A job as API JSON, bare or below `Job`.
pub fn json(data: &[u8]) -> Reached {
    match parse::parse_json(data) {
        Ok(job) => job_seen(job, data, Syntax::Api),
        Err(e) => {
            let finding = explain::parse_json_error("job.json", &String::from_utf8_lossy(data), &e);
            black_box(findings::text(&[finding], true));
            Reached::Refused
        }
    }
}

/// Values of variables. The first byte says where they come from: a variable file, arguments or environment variables
/// (one a line), or the value of the variable that the second byte chooses.
pub fn variables(data: &[u8]) -> Reached {
    let (from, rest) = data.split_first().unwrap_or((&0, &[]));
    let text = String::from_utf8_lossy(rest);
    let mut options = ParseOptions { strict: *from < 128, ..ParseOptions::default() };
    match from % 4 {
        0 => options.var_content = text.into_owned(),
        1 => options.vars = text.lines().take(1000).map(str::to_owned).collect(),
        2 => {
            let pairs = text.lines().take(1000).filter_map(|l| l.split_once('='));
            options.env = pairs.map(|(name, value)| (format!("NOMAD_VAR_{name}"), value.to_owned())).collect();
        }
        _ => {
            let (which, value) = rest.split_first().unwrap_or((&0, &[]));
            let name = VARIABLES.get(usize::from(*which) % VARIABLES.len()).copied().unwrap_or_default();
            options.vars = vec![format!("{name}={}", String::from_utf8_lossy(value))];
        }
    }
    parsed(parse_with(WITH_VARIABLES, options), WITH_VARIABLES)
}

fn parse_with(data: &[u8], options: ParseOptions) -> Result<api::Job, parse::ParseError> {
    parse::parse(data, &ParseOptions { path: "job.hcl".into(), ..options })
}

fn parsed(result: Result<api::Job, parse::ParseError>, data: &[u8]) -> Reached {
    match result {
        Ok(job) => job_seen(job, data, Syntax::Hcl),
        Err(e) => {
            black_box((e.to_string(), findings::text(&explain::parse_error(&e), true)));
            Reached::Refused
        }
    }
}

/// Everything after parsing. `data` is the file, where problems are looked up.
fn job_seen(mut job: api::Job, data: &[u8], syntax: Syntax) -> Reached {
    let sent = job.clone();
    canonicalize(&mut job);
    black_box(json::indented(&job).expect("jobs are JSON"));
    let options = ConvertOptions { region: "global".into(), ..ConvertOptions::default() };
    let stored = match to_server(&job, &options) {
        Ok(stored) => stored,
        Err(e) => {
            black_box(e);
            return Reached::Parsed;
        }
    };
    let server = server_for(&stored);
    let mut reached = Reached::Stored;
    black_box(check_offline(stored.clone(), &server));
    let mutated = match check(stored.clone(), &server) {
        Ok(checked) => {
            black_box(error_list(&checked.errors));
            if checked.errors.is_empty() {
                reached = Reached::Valid;
            } else {
                let outline = Outline::read("job.hcl", &String::from_utf8_lossy(data), syntax);
                let found = explain::validation(&outline, &checked.errors, Severity::Error);
                black_box((findings::text(&found, true), findings::json(false, &found)));
            }
            checked.job
        }
        Err(e) => {
            black_box(e);
            stored.clone()
        }
    };
    diffs(&stored, &mutated);
    let allocations = stored.task_groups.iter().fold(0_i64, |sum, group| sum.saturating_add(group.count));
    if reached == Reached::Valid && allocations <= MAX_PLANNED && planned(&sent, &options) {
        reached = Reached::Planned;
    }
    reached
}

/// A server that has what the job asks for.
fn server_for(job: &Job) -> ServerContext {
    let mut server = ServerContext { vault_enabled: true, ..ServerContext::default() };
    server.namespaces.push(Namespace { name: job.namespace.clone(), ..Namespace::default() });
    server.node_pools.push(NodePool { name: job.node_pool.clone(), ..NodePool::default() });
    server
}

fn diffs(stored: &Job, mutated: &Job) {
    let show = |old: Option<&Job>, new: Option<&Job>, contextual: bool| {
        let found = diff_jobs(old, new, contextual).expect("the ids are the same");
        black_box(markup::markup(diff::job(&found, true).trim(), true));
        found.r#type
    };
    assert_eq!(show(Some(mutated), Some(mutated), false), DiffType::None, "a job differs from itself");
    assert_eq!(show(None, Some(mutated), true), DiffType::Added);
    assert_eq!(show(Some(mutated), None, false), DiffType::Deleted);
    let empty = Job { id: mutated.id.clone(), ..Job::default() };
    show(Some(&empty), Some(mutated), true);
    show(Some(stored), Some(mutated), true);
    black_box(check_update(Some(stored), mutated)).ok();
}

/// Plans a job on the small cluster and prints the plan.
fn planned(job: &api::Job, options: &ConvertOptions) -> bool {
    STATE.with(|state| {
        let server = server_context(state);
        match plan_job(state, job, options, &server, NOW) {
            Ok(done) => {
                let (mut out, mut err) = (Vec::new(), Vec::new());
                let mut ui = Ui::new(&mut out, &mut err, Colours { markup: true, channels: true });
                let effects = Effects {
                    tally: Tally::of(&done.run, NOW),
                    class_reasons: encamp_plan::explain::class_reasons(&done.run, NOW),
                };
                black_box(plan_summary::markup(&effects.tally));
                let view = PlanView {
                    plan: &done.response,
                    effects: &effects,
                    job_type: done.run.job.r#type.clone(),
                    parameterized: done.run.job.parameterized_job.is_some(),
                    all_at_once: done.run.job.all_at_once,
                    time_zone: done.run.job.periodic.as_ref().map(|p| p.time_zone.as_str()).unwrap_or_default(),
                    now: NOW,
                    diff: true,
                    verbose: true,
                    run_args: "job.hcl".into(),
                };
                plan::print(&mut ui, &view);
                ui.finish().expect("vectors can be written");
                black_box(out);
                true
            }
            Err(e) => {
                black_box(e.to_string());
                false
            }
        }
    })
}
