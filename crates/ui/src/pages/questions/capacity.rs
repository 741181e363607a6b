//! How many more allocations of a job fit, also after the loss of a node or a datacenter.

use encamp_model::AllocMetric;
use maud::{Markup, html};

use super::ask::{self, Question, table, text, value};
use super::registered::{self, Registered};
use super::what_if;
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::command::{Command, answer};
use crate::parts::state::{Tone, verdict};
use crate::parts::table::facts;
use crate::parts::{form, link, plural, why};
use crate::visit::Visit;

pub(crate) const QUESTION: Question = Question {
    path: "/ui/questions/capacity",
    title: "How many more copies fit?",
    about: "Count how many more allocations of a registered job fit without preemption, what is exhausted first, and \
            what is left after the worst loss of a node or a datacenter.",
};

const LOSSES: [(&str, &str); 3] =
    [("", "No loss"), ("node", "The worst loss of 1 node"), ("dc", "The worst loss of 1 datacenter")];

/// `/ui/questions/capacity`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let fields = html! {
        (registered::field(visit))
        (form::text("group", "Group (all if empty)", text(visit, "group"), ""))
        (form::choice("survive", "Also count after", text(visit, "survive"), &LOSSES))
        (form::switch("preempt", "Lost allocations may preempt others", value(visit, "preempt").is_some()))
        details { summary { "On a changed cluster" } (what_if::fields(visit)) }
    };
    let command = registered::read(visit).await?.map(|job| command(visit, &job));
    ask::page(visit, &QUESTION, &fields, command, answer).await
}

fn command(visit: &Visit, job: &Registered) -> Command {
    let command = Command::new(&["capacity"]).switch("json", true).quiet("-json-output").quiet("-diagnostics=json");
    let command = command.flag("namespace", Some(&job.namespace)).flag("group", value(visit, "group"));
    let command = command.flag("survive", value(visit, "survive"));
    let command = command.switch("allow-preemptions", value(visit, "preempt").is_some());
    let (command, _) = what_if::flags(visit, command);
    command.input(job.json.clone(), "-").after(job.printed(visit))
}

answer! {
    /// The answer of `capacity -json-output`.
    struct Capacity { changes: Vec<String>, groups: Vec<Group> }

    struct Group {
        task_group: String, running: u64, copies: u64, capped: bool, nodes: Vec<Node>, metrics: AllocMetric,
        survival: Option<Survival>,
    }

    struct Node { node_id = "NodeID": String, node_name: String, datacenter: String, copies: u64 }

    struct Survival { lost: String, copies: u64, at_least: u64, unplaced: Option<u64>, decided: u64, of: u64 }
}

fn answer(_: &Visit, capacity: &Capacity) -> Markup {
    html! {
        (sentence(capacity))
        (ask::notes(&capacity.changes))
        @for g in &capacity.groups { (group(g)) }
    }
}

fn sentence(capacity: &Capacity) -> Markup {
    let group = |g: &Group| {
        let at_least = if g.capped { "at least " } else { "" };
        format!("{at_least}{} of group {}", plural(g.copies, "more allocation"), g.task_group)
    };
    let all: Vec<String> = capacity.groups.iter().map(group).collect();
    let fits = capacity.groups.iter().all(|g| g.copies > 0);
    let tone = if fits { Tone::Good } else { Tone::Bad };
    verdict(tone, &format!("There is capacity for {}.", all.join(", ")))
}

fn group(g: &Group) -> Markup {
    html! {
        h3 { "Group " (g.task_group) }
        (facts(&[
            ("Running", html! { (g.running) }),
            ("More fit", html! { @if g.capped { "at least " } (g.copies) }),
            ("The next one lacks", html! { (why::summary(&g.metrics)) }),
            ("After the worst loss", html! { @match &g.survival { Some(s) => (survival(s)), None => "not counted" } }),
        ]))
        (table("Where they fit", &["Node", "Datacenter", "Copies#"], &g.nodes, "No node has capacity for another one.", |n| {
            vec![link::client(&n.node_id, &n.node_name), html! { (n.datacenter) }, html! { (n.copies) }]
        }))
    }
}

fn survival(s: &Survival) -> Markup {
    html! {
        @if s.at_least == s.copies { (s.copies) } @else { "from " (s.at_least) " to " (s.copies) }
        " more fit without " (s.lost)
        @if let Some(unplaced) = s.unplaced { @if unplaced > 0 { "; " (plural(unplaced, "lost allocation")) " cannot be placed again" } }
        span.muted { " (" (s.decided) " of " (s.of) " possible losses decided)" }
    }
}
