//! Monitors an evaluation until it ends, and then its deployment (`docs/spec/cli.md §6.1`).

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Lines, deployment};
use crate::connection::Connection;
use crate::render::metrics::metric_lines;
use crate::render::ui::Ui;
use crate::render::values;
use encamp_model::{
    AllocListStub, ClientStatus, DeploymentStatus, DesiredStatus, EvalStatus, Evaluation, duration, format_duration,
    quoted,
};

/// The polling interval.
const PAUSE: Duration = Duration::from_secs(1);

/// The result of the last poll.
#[derive(Debug, Clone)]
struct Seen {
    status: EvalStatus,
    node: String,
    job: String,
    deployment: String,
    /// Client status by ID.
    allocations: BTreeMap<String, ClientStatus>,
}

impl Default for Seen {
    fn default() -> Seen {
        let none = String::new;
        Seen {
            status: EvalStatus::Pending,
            node: none(),
            job: none(),
            deployment: none(),
            allocations: BTreeMap::default(),
        }
    }
}

impl Seen {
    /// The changes since the last poll, as messages.
    fn update(&mut self, eval: &Evaluation, allocations: &[AllocListStub], verbose: bool) -> Vec<String> {
        let id = |full: &str| quoted(values::id(full, verbose));
        let mut news = Vec::new();
        if self.node.is_empty() && !eval.node_id.is_empty() {
            news.push(format!("Evaluation triggered by node {}", id(&eval.node_id)));
        }
        if self.job.is_empty() && !eval.job_id.is_empty() {
            news.push(format!("Evaluation triggered by job {}", quoted(&eval.job_id)));
        }
        if self.deployment.is_empty() && !eval.deployment_id.is_empty() {
            news.push(format!("Evaluation within deployment: {}", id(&eval.deployment_id)));
        }
        for a in allocations {
            let placed = || format!("node {}, group {}", id(&a.node_id), quoted(&a.task_group));
            match self.allocations.get(&*a.id) {
                None if a.create_index < eval.create_index => {
                    news.push(format!("Allocation {} modified: {}", id(&a.id), placed()));
                }
                None if a.desired_status == DesiredStatus::Run => {
                    news.push(format!("Allocation {} created: {}", id(&a.id), placed()));
                }
                Some(old) if *old != a.client_status => {
                    let why = match a.client_description.as_str() {
                        "" => String::new(),
                        why => format!(" ({why})"),
                    };
                    let (old, new) = (quoted(old.as_str()), quoted(a.client_status.as_str()));
                    news.push(format!("Allocation {} status changed: {old} -> {new}{why}", id(&a.id)));
                }
                _ => {}
            }
        }
        if self.status != eval.status && eval.status != EvalStatus::Pending {
            let (old, new) = (quoted(self.status.as_str()), quoted(eval.status.as_str()));
            news.push(format!("Evaluation status changed: {old} -> {new}"));
        }
        *self = Seen {
            status: eval.status.clone(),
            node: eval.node_id.to_string(),
            job: eval.job_id.to_string(),
            deployment: eval.deployment_id.to_string(),
            allocations: allocations.iter().map(|a| (a.id.to_string(), a.client_status.clone())).collect(),
        };
        news
    }
}

/// Monitors an evaluation. Returns the exit code: 0, 1 after an error or an unsuccessful deployment, or 2 if
/// allocations are unplaced and no deployment is waiting for them.
pub fn watch(connection: &Connection, ui: &mut Ui<'_>, id: &str, verbose: bool) -> u8 {
    let mut lines = Lines::marked(ui, connection.zone.clone());
    let mut id = id.to_string();
    loop {
        match watch_one(connection, &mut lines, &id, verbose) {
            Watched::Ended(code) => return code,
            Watched::ContinuedBy(next) => id = next,
        }
    }
}

/// The end of the monitoring of one evaluation.
enum Watched {
    /// Nothing follows; with the exit code.
    Ended(u8),
    /// The evaluation with this ID follows.
    ContinuedBy(String),
}

/// Monitors one evaluation.
fn watch_one(connection: &Connection, lines: &mut Lines<'_, '_>, id: &str, verbose: bool) -> Watched {
    let shown = |full: &str| quoted(values::id(full, verbose));
    lines.info(&format!("Monitoring evaluation {}", shown(id)));
    let mut seen = Seen::default();
    let eval = loop {
        let Ok((eval, _)) = connection.wait(connection.client.evaluation_alone(id)) else {
            lines.error(&format!("No evaluation with id {} found", shown(id)));
            return Watched::Ended(1);
        };
        let allocations = match connection.wait(connection.client.evaluation_allocations(id)) {
            Ok((allocations, _)) => allocations,
            Err(e) => {
                lines.error(&format!("{}: Error reading allocations: {e}", lines.now()));
                return Watched::Ended(1);
            }
        };
        for text in seen.update(&eval, &allocations, verbose) {
            lines.detail(&text);
        }
        if eval.terminal() {
            break eval;
        }
        connection.pause(PAUSE);
    };
    let mut unplaced = !eval.failed_tg_allocs.is_empty();
    let finished = format!("Evaluation {} finished with status {}", shown(&eval.id), quoted(eval.status.as_str()));
    if unplaced {
        lines.info(&format!("{finished} but failed to place all allocations:"));
        print_failures(lines, &eval, verbose);
    } else {
        lines.info(&finished);
    }
    if !eval.next_eval.is_empty() {
        if eval.wait != 0 {
            let wait = format_duration(eval.wait);
            lines.info(&format!("Monitoring next evaluation {} in {wait}", shown(&eval.next_eval)));
            connection.pause(duration::of_nanos(eval.wait));
        }
        return Watched::ContinuedBy(eval.next_eval.to_string());
    }
    if !eval.deployment_id.is_empty() {
        lines.info(&format!("Monitoring deployment {}", shown(&eval.deployment_id)));
        let watch = deployment::Watch { verbose, wait: None, index: None };
        match connection.wait(deployment::watch(&connection.client, lines, &eval.deployment_id, &watch)) {
            Some(DeploymentStatus::Successful) => unplaced = false,
            _ => return Watched::Ended(1),
        }
    }
    Watched::Ended(if unplaced { 2 } else { 0 })
}

/// The placement failures by task group.
fn print_failures(lines: &mut Lines<'_, '_>, eval: &Evaluation, verbose: bool) {
    for (group, metric) in &eval.failed_tg_allocs {
        let n = metric.coalesced_failures.saturating_add(1);
        let noun = values::plural(n, "allocation", "allocations");
        lines.detail(&format!("Task Group {} (failed to place {n} {noun}):", quoted(group)));
        let text = metric_lines(metric, "  ", false, lines.ui.colours_on());
        for line in text.lines() {
            lines.output(&line);
        }
    }
    if !eval.blocked_eval.is_empty() {
        let id = quoted(values::id(&eval.blocked_eval, verbose));
        lines.detail(&format!("Evaluation {id} waiting for additional capacity to place remainder"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stub(id: &str, create_index: u64, desired: DesiredStatus, client: ClientStatus, why: &str) -> AllocListStub {
        AllocListStub {
            id: id.into(),
            node_id: "nnnnnnnn-rest".into(),
            task_group: "g".into(),
            create_index,
            desired_status: desired,
            client_status: client,
            client_description: why.into(),
            ..AllocListStub::default()
        }
    }

    #[test]
    fn only_news_is_told() {
        let eval = Evaluation {
            job_id: "web".into(),
            node_id: "nnnnnnnn-rest".into(),
            status: EvalStatus::Pending,
            create_index: 10,
            ..Evaluation::default()
        };
        let mut seen = Seen::default();
        let first = [
            stub("aaaaaaaa-1", 9, DesiredStatus::Run, ClientStatus::Running, ""),
            stub("bbbbbbbb-1", 11, DesiredStatus::Run, ClientStatus::Pending, ""),
            stub("cccccccc-1", 11, DesiredStatus::Stop, ClientStatus::Complete, ""),
        ];
        let news = [
            "Evaluation triggered by node \"nnnnnnnn\"",
            "Evaluation triggered by job \"web\"",
            "Allocation \"aaaaaaaa\" modified: node \"nnnnnnnn\", group \"g\"",
            "Allocation \"bbbbbbbb\" created: node \"nnnnnnnn\", group \"g\"",
        ];
        assert_eq!(seen.update(&eval, &first, false), news);
        assert!(seen.update(&eval, &first, false).is_empty());
        let second = [
            stub("bbbbbbbb-1", 11, DesiredStatus::Run, ClientStatus::Failed, "Failed tasks"),
            stub("aaaaaaaa-1", 9, DesiredStatus::Run, ClientStatus::Running, ""),
            stub("cccccccc-1", 11, DesiredStatus::Stop, ClientStatus::Lost, ""),
        ];
        let done = Evaluation { status: EvalStatus::Complete, deployment_id: "dddddddd-1".into(), ..eval };
        let news = [
            "Evaluation within deployment: \"dddddddd-1\"",
            "Allocation \"bbbbbbbb-1\" status changed: \"pending\" -> \"failed\" (Failed tasks)",
            "Allocation \"cccccccc-1\" status changed: \"complete\" -> \"lost\"",
            "Evaluation status changed: \"pending\" -> \"complete\"",
        ];
        assert_eq!(seen.update(&done, &second, true), news);
    }
}
