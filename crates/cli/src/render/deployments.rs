//! Deployments: one as a block, several as a table (`docs/spec/cli.md §11.1`, `§11.3`).

use std::cmp::Reverse;

use super::table::{self, Columns, Form, table};
use super::values;
use encamp_model::{Deployment, DeploymentState};

/// One deployment. Contains markup.
pub fn block(d: &Deployment, verbose: bool) -> String {
    let lines = [
        format!("ID|{}", values::id(&d.id, verbose)),
        format!("Job ID|{}", d.job_id),
        format!("Job Version|{}", d.job_version),
        format!("Status|{}", d.status),
        format!("Description|{}", d.status_description),
    ];
    format!("{}{}", table(&lines, Form::KeyValue), deployed(d))
}

/// One deployment below its job. Contains markup.
pub fn short_block(d: &Deployment, verbose: bool) -> String {
    let lines = [
        format!("ID|{}", values::id(&d.id, verbose)),
        format!("Status|{}", d.status),
        format!("Description|{}", d.status_description),
    ];
    format!("{}{}", table(&lines, Form::KeyValue), deployed(d))
}

/// The groups of a deployment with their heading, nothing if there are none.
fn deployed(d: &Deployment) -> String {
    if d.task_groups.is_empty() {
        return String::new();
    }
    format!("\n\n[bold]Deployed[reset]\n{}", groups(d))
}

fn groups(d: &Deployment) -> String {
    let none = DeploymentState::default();
    let states: Vec<(&String, &DeploymentState)> =
        d.task_groups.iter().map(|(name, state)| (name, state.as_ref().unwrap_or(&none))).collect();
    let any = |has: fn(&DeploymentState) -> bool| states.iter().any(|(_, s)| has(s));
    let reverts = any(|s| s.auto_revert);
    let canaries = any(|s| s.desired_canaries > 0);
    let deadlines = any(|s| s.progress_deadline != 0);
    let columns: [(&str, bool); 9] = [
        ("Task Group", true),
        ("Auto Revert", reverts),
        ("Promoted", canaries),
        ("Desired", true),
        ("Canaries", canaries),
        ("Placed", true),
        ("Healthy", true),
        ("Unhealthy", true),
        ("Progress Deadline", deadlines),
    ];
    let shown = |cells: [String; 9]| {
        let cells = cells.into_iter().zip(&columns).filter(|(_, (_, shown))| *shown).map(|(cell, _)| cell);
        cells.collect::<Vec<_>>().join("|")
    };
    let mut lines = vec![shown(columns.map(|(name, _)| name.to_string()))];
    for (name, s) in states {
        let promoted = if s.desired_canaries > 0 { s.promoted.to_string() } else { "N/A".into() };
        let deadline = Some(values::written_time(s.require_progress_by)).filter(|t| !t.is_empty());
        lines.push(shown([
            name.clone(),
            s.auto_revert.to_string(),
            promoted,
            s.desired_total.to_string(),
            s.desired_canaries.to_string(),
            s.placed_allocs.to_string(),
            s.healthy_allocs.to_string(),
            s.unhealthy_allocs.to_string(),
            deadline.unwrap_or_else(|| "N/A".into()),
        ]));
    }
    table(&lines, Form::List)
}

/// Sorts deployments as they are listed: the newest first.
pub fn sort(all: &mut [Deployment]) {
    all.sort_by(|a, b| (Reverse(a.create_index), &a.id).cmp(&(Reverse(b.create_index), &b.id)));
}

/// The table of these deployments, in their order.
pub fn listed(all: &[Deployment], verbose: bool) -> String {
    if all.is_empty() {
        return "No deployments found".into();
    }
    let columns: &Columns<'_, Deployment> = &[
        ("ID", &|d| values::id(&d.id, verbose).into()),
        ("Job ID", &|d| d.job_id.to_string()),
        ("Job Version", &|d| d.job_version.to_string()),
        ("Status", &|d| d.status.to_string()),
        ("Description", &|d| d.status_description.to_string()),
    ];
    table::columns(all, columns)
}
