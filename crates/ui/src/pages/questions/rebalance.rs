//! The fewest moves that empty nodes, spread allocations or make a job fit.

use maud::{Markup, html};

use super::ask::{self, Question, table, text, value, values};
use super::registered;
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::command::{Command, answer};
use crate::parts::state::{Tone, verdict};
use crate::parts::table::facts;
use crate::parts::{form, link, plural, time};
use crate::visit::Visit;

pub(crate) const QUESTION: Question = Question {
    path: "/ui/questions/rebalance",
    title: "Which moves empty nodes or make a job fit?",
    about: "Search for the fewest moves of allocations that reach a goal. Each step is simulated with the full \
            scheduler. Nothing is moved.",
};

const GOALS: [(&str, &str); 6] = [
    ("", "Choose a goal"),
    ("free", "Empty so many nodes"),
    ("free-nodes", "Empty these nodes"),
    ("even", "Lower the highest utilisation"),
    ("spread", "Restore spread and affinity"),
    ("fit", "Make a job fit"),
];
const LOSSES: [(&str, &str); 3] =
    [("", "Not required"), ("node", "The loss of any node"), ("dc", "The loss of any datacenter")];

/// `/ui/questions/rebalance`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let fields = html! {
        div.fields {
            (form::choice("goal", "Goal", text(visit, "goal"), &GOALS))
            (form::number("free", "Number of nodes to empty", text(visit, "free"), 1))
            (form::lines("nodes", "Nodes to empty, one per line", &values(visit, "nodes"), "node, dc=NAME, class=NAME, pool=NAME"))
            (registered::field(visit))
            (form::number("max-moves", "Most moves", text(visit, "max-moves"), 0))
            (form::number("priority", "Only jobs up to this priority", text(visit, "priority"), 1))
            (form::choice("survive", "Each step survives", text(visit, "survive"), &LOSSES))
            (form::text("timeout", "Search for at most", text(visit, "timeout"), "8s"))
        }
        (form::switch("stay", "Batch jobs stay where they are", value(visit, "stay").is_some()))
    };
    ask::page(visit, &QUESTION, &fields, command(visit).await?, answer).await
}

async fn command(visit: &Visit) -> Result<Option<Command>, PageError> {
    let Some(goal) = value(visit, "goal") else { return Ok(None) };
    let command = Command::new(&["rebalance"]).quiet("-json");
    let mut command = command.flag("max-moves", value(visit, "max-moves")).flag("priority", value(visit, "priority"));
    command = command.flag("survive", value(visit, "survive")).flag("timeout", value(visit, "timeout"));
    if value(visit, "stay").is_some() {
        command = command.flag("batch", Some("false"));
    }
    let missing = |what: &str| PageError::Input(format!("{what} is missing for this goal."));
    Ok(Some(match goal {
        "free" => command.flag("free", Some(value(visit, "free").ok_or_else(|| missing("The number of nodes"))?)),
        "free-nodes" => {
            let nodes = values(visit, "nodes");
            if nodes.is_empty() {
                return Err(missing("A node"));
            }
            command.flag("free-nodes", Some(&nodes.join(",")))
        }
        "even" | "spread" => command.switch(goal, true),
        "fit" => {
            let job = registered::read(visit).await?.ok_or_else(|| missing("A job"))?;
            let path = command.file("job.json", Some(job.json.as_bytes()))?;
            let before = format!("{}cat > job.json; ", job.printed(visit));
            command.quiet(format!("-fit={path}")).told("-fit=job.json").after(before)
        }
        other => return Err(PageError::Input(format!("{other} is not a goal."))),
    }))
}

answer! {
    /// The answer of `rebalance -json`.
    struct Rebalance {
        goal: String, steps: Vec<Step>, moves: u64, at_least: u64, reached: bool, missing: Vec<String>,
        freed: Vec<Node>, before: Figures, after: Figures, cut: bool,
    }

    struct Step { moves: Vec<Move>, at_least: i64 }

    struct Move { allocation: Allocation, to: Node, only_there: bool }

    struct Allocation { namespace: String, job_id = "JobID": String, name: String, node: Node }

    struct Node { id = "ID": String, name: String }

    struct Figures { areas: Vec<Area>, unplaced: u64, off_target: u64, largest_memory: i64, largest_cpu: i64 }

    struct Area { pool: String, datacenter: String, empty: u64, highest: Utilisation }

    /// In thousandths of what nodes offer.
    struct Utilisation { cpu: u64, memory: u64 }
}

fn answer(_: &Visit, plan: &Rebalance) -> Markup {
    html! {
        (sentence(plan))
        (ask::notes(&plan.missing))
        (facts(&[
            ("Goal", html! { (plan.goal) }),
            ("Moves", html! { (plan.moves) " (" (plan.at_least) " are necessary at least)" }),
            ("Emptied nodes", html! { @for n in &plan.freed { (link::client(&n.id, &n.name)) " " } @if plan.freed.is_empty() { "none" } }),
            ("Search", html! { @if plan.cut { "ended early: there may be a plan with fewer moves" } @else { "complete" } }),
        ]))
        (steps(&plan.steps))
        (figures(&plan.before, &plan.after))
    }
}

fn sentence(plan: &Rebalance) -> Markup {
    match (plan.reached, plan.moves) {
        (false, _) => verdict(Tone::Bad, "No plan that reaches the goal was found."),
        (true, 0) => verdict(Tone::Good, "The goal is reached already: nothing has to be moved."),
        (true, n) => {
            let text = format!("{} in {} reach the goal.", plural(n, "move"), plural(plan.steps.len(), "step"));
            verdict(Tone::Good, &text)
        }
    }
}

fn steps(steps: &[Step]) -> Markup {
    let moves: Vec<(usize, &Step, &Move)> =
        steps.iter().enumerate().flat_map(|(i, step)| step.moves.iter().map(move |m| (i + 1, step, m))).collect();
    let columns = ["Step", "Allocation", "Job", "From", "To", "Step takes at least"];
    table("Moves", &columns, &moves, "Nothing has to be moved.", |(number, step, m)| {
        vec![
            html! { (number) },
            html! { (m.allocation.name) },
            link::job(&m.allocation.namespace, &m.allocation.job_id),
            link::client(&m.allocation.node.id, &m.allocation.node.name),
            html! { (link::client(&m.to.id, &m.to.name)) @if m.only_there { " (only there)" } },
            html! { (time::duration(step.at_least)) },
        ]
    })
}

fn figures(before: &Figures, after: &Figures) -> Markup {
    let areas: Vec<(&Area, &Area)> = before.areas.iter().zip(&after.areas).collect();
    let change = |a: u64, b: u64| if a == b { a.to_string() } else { format!("{a} → {b}") };
    let percent = |a: u64, b: u64| if a == b { format!("{}%", a / 10) } else { format!("{}% → {}%", a / 10, b / 10) };
    html! {
        (table("Nodes before and after", &["Pool", "Datacenter", "Empty#", "Highest CPU#", "Highest memory#"], &areas, "", |(b, a)| vec![
            html! { (b.pool) },
            html! { (b.datacenter) },
            html! { (change(b.empty, a.empty)) },
            html! { (percent(b.highest.cpu, a.highest.cpu)) },
            html! { (percent(b.highest.memory, a.highest.memory)) },
        ]))
        (facts(&[
            ("Unplaced", html! { (change(before.unplaced, after.unplaced)) }),
            ("Off their spread targets", html! { (change(before.off_target, after.off_target)) }),
            ("Largest allocation that fits", html! {
                (before.largest_memory) " → " (after.largest_memory) " MiB, " (before.largest_cpu) " → " (after.largest_cpu) " MHz"
            }),
        ]))
    }
}
