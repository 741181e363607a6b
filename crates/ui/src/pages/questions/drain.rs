//! In which batches nodes can be drained.

use maud::{Markup, html};

use super::ask::{self, Question, table, text, value, values};
use super::what_if::{self, Unplaced};
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::command::{Command, answer};
use crate::parts::state::{Tone, verdict};
use crate::parts::{form, link, plural, time};
use crate::visit::Visit;

pub(crate) const QUESTION: Question = Question {
    path: "/ui/questions/drain-plan",
    title: "In which batches can nodes be drained?",
    about: "Plan the drain of several nodes: batches in which no group loses more allocations at a time than its \
            migrate block allows, and everything that moves is placed. Nothing is drained.",
};

const LOSSES: [(&str, &str); 3] =
    [("", "Not counted"), ("node", "The loss of 1 node"), ("dc", "The loss of 1 datacenter")];

/// `/ui/questions/drain-plan`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let nodes = values(visit, "drain");
    let selector = value(visit, "selector");
    let fields = html! {
        div.fields {
            (form::lines("drain", "Nodes, one per line", &nodes, "node, dc=NAME, class=NAME, pool=NAME"))
            (form::text("selector", "Also nodes with these attributes", text(visit, "selector"), "meta.rack=r1"))
            (form::number("batch", "Most nodes at a time", text(visit, "batch"), 1))
            (form::text("deadline", "Deadline", text(visit, "deadline"), "1h"))
            (form::choice("survive", "Worst loss afterwards", text(visit, "survive"), &LOSSES))
        }
        (form::switch("preempt", "Allocations of other jobs may be preempted", value(visit, "preempt").is_some()))
    };
    let asked = !nodes.is_empty() || selector.is_some();
    let command = asked.then(|| {
        let command = Command::new(&["node", "drain"]).switch("plan", true).quiet("-json").flag("selector", selector);
        let command = command.flag("batch", value(visit, "batch")).flag("deadline", value(visit, "deadline"));
        let command = command.flag("survive", value(visit, "survive"));
        let command = command.switch("allow-preemptions", value(visit, "preempt").is_some());
        nodes.into_iter().fold(command, Command::argument)
    });
    ask::page(visit, &QUESTION, &fields, command, answer).await
}

answer! {
    /// The answer of `node drain -plan -json`.
    struct DrainPlan { batches: Vec<Batch>, blocked: Vec<Blocked>, worst_loss: Option<WorstLoss> }

    struct Node { id = "ID": String, name: String }

    struct Batch { nodes: Vec<Node>, moved: u64, stopped: u64, batch: u64, preempted: u64, waves: u64, at_least: i64 }

    struct Blocked { id = "ID": String, name: String, unplaced: Vec<Unplaced>, preempted: u64 }

    struct WorstLoss { lost: String, unplaced: u64, at_most: u64 }
}

fn answer(_: &Visit, plan: &DrainPlan) -> Markup {
    let numbered: Vec<(usize, &Batch)> = plan.batches.iter().enumerate().map(|(i, b)| (i + 1, b)).collect();
    let columns = ["Batch", "Nodes", "Moved#", "Stopped#", "Of batch jobs#", "Preempted#", "Waits#", "At least"];
    html! {
        (sentence(plan))
        @if let Some(loss) = &plan.worst_loss {
            p {
                "After the drain, the loss of " (loss.lost) " would leave " (plural(loss.unplaced, "allocation")) " unplaced"
                @if loss.at_most > loss.unplaced { "; another loss leaves " (loss.at_most) " at most" } "."
            }
        }
        (table("Batches, in order", &columns, &numbered, "No node can be drained.", |(number, b)| vec![
            html! { (number) },
            html! { @for n in &b.nodes { (link::client(&n.id, &n.name)) " " } },
            html! { (b.moved) }, html! { (b.stopped) }, html! { (b.batch) }, html! { (b.preempted) }, html! { (b.waves) },
            html! { (time::duration(b.at_least)) },
        ]))
        @for b in &plan.blocked {
            h3 { (link::client(&b.id, &b.name)) " cannot be drained" }
            @if b.preempted > 0 { p { (plural(b.preempted, "allocation")) " of other jobs would be preempted." } }
            @if !b.unplaced.is_empty() { (what_if::unplaced(&b.unplaced)) }
        }
    }
}

fn sentence(plan: &DrainPlan) -> Markup {
    let nodes: usize = plan.batches.iter().map(|b| b.nodes.len()).sum();
    let drained = format!(
        "{} can be drained in {}",
        plural(nodes, "node"),
        if plan.batches.len() == 1 { "1 batch".into() } else { format!("{} batches", plan.batches.len()) }
    );
    match plan.blocked.len() {
        0 => verdict(Tone::Good, &format!("{drained}.")),
        n => verdict(Tone::Bad, &format!("{} cannot be drained; {drained}.", plural(n, "node"))),
    }
}
