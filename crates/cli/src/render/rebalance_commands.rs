//! A plan of `rebalance` as a shell script of plain commands.

use encamp_plan::rebalance::{Action, AllocRef, RebalancePlan};

/// A template for `encamp job allocs` that prints something for each allocation that is not healthy yet.
const NOT_HEALTHY: &str = "{{range .}}{{if eq .DesiredStatus \"run\"}}{{if eq .ClientStatus \"pending\"}}x{{else if \
     and (eq .ClientStatus \"running\") (eq .JobType \"service\")}}{{if not .DeploymentStatus}}x{{else if not \
     .DeploymentStatus.Healthy}}x{{end}}{{end}}{{end}}{{end}}";

/// A shell script that carries a plan out with plain commands.
pub fn commands(plan: &RebalancePlan) -> String {
    if plan.steps.is_empty() {
        return "# No moves.".into();
    }
    let mut lines = vec!["set -e".to_string()];
    lines.push("# rebalance run does the same, and compares the cluster with the plan before each step.".into());
    lines.extend(script_functions(plan));
    let count = plan.steps.len();
    for (n, step) in plan.steps.iter().enumerate() {
        lines.push(format!("# Step {} of {count}", n.saturating_add(1)));
        let mut jobs: Vec<(&str, &str)> = Vec::new();
        for action in &step.actions {
            match action {
                Action::MarkIneligible { node } => lines.push(format!("encamp node eligibility -disable {}", node.id)),
                Action::MarkEligible { node } => lines.push(format!("encamp node eligibility -enable {}", node.id)),
                Action::StopAllocation { allocation: a } => {
                    jobs.push((&a.namespace, &a.job_id));
                    lines.push(format!("encamp alloc stop -namespace {} {}", word(&a.namespace), id(a)));
                }
                Action::AwaitHealthy => {
                    jobs.sort_unstable();
                    jobs.dedup();
                    let awaited = std::mem::take(&mut jobs);
                    lines.extend(awaited.iter().map(|(ns, job)| format!("await_healthy {} {}", word(ns), word(job))));
                }
            }
        }
    }
    lines.push("trap - EXIT".into());
    lines.join("\n")
}

/// The ID of an allocation, or a call of the function that finds it: an earlier step creates it.
fn id(a: &AllocRef) -> String {
    let names = || [&a.namespace, &a.job_id, &a.name, &a.node.id].map(|text| word(text)).join(" ");
    a.id.clone().unwrap_or_else(|| format!("\"$(allocation {})\"", names()))
}

/// The functions of the script: nodes are marked eligible again if it fails.
fn script_functions(plan: &RebalancePlan) -> Vec<String> {
    let mut nodes: Vec<&str> = Vec::new();
    for action in plan.steps.iter().flat_map(|s| &s.actions) {
        if let Action::MarkIneligible { node } = action
            && !nodes.contains(&node.id.as_str())
        {
            nodes.push(&node.id);
        }
    }
    let mut lines = vec!["mark_back() {".to_string()];
    lines.extend(nodes.iter().map(|id| format!("  encamp node eligibility -enable {id} || true")));
    lines.extend(["  :".into(), "}".into(), "trap mark_back EXIT".into()]);
    lines.extend([
        "await_healthy() {".to_string(),
        format!(
            "  while [ -n \"$(encamp job allocs -namespace \"$1\" -t '{NOT_HEALTHY}' \"$2\")\" ]; do sleep 1; done"
        ),
        "}".into(),
    ]);
    let by_name = plan
        .steps
        .iter()
        .flat_map(|s| &s.actions)
        .any(|action| matches!(action, Action::StopAllocation { allocation } if allocation.id.is_none()));
    if by_name {
        let template = "{{range .}}{{if and (eq .Name \"'\"$3\"'\") (eq .NodeID \"'\"$4\"'\") (eq .DesiredStatus \
                        \"run\")}}{{.ID}}{{end}}{{end}}";
        lines.extend([
            "allocation() {".to_string(),
            format!("  encamp job allocs -namespace \"$1\" -t '{template}' \"$2\""),
            "}".into(),
        ]);
    }
    lines
}

/// A word of a shell script.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
