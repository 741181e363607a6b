//! What garbage collection would delete, and what keeps an object.

use maud::{Markup, html};

use super::ask::{self, Question, table, text, value};
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::command::{Command, answer};
use crate::parts::state::{Tone, state, verdict};
use crate::parts::table::facts;
use crate::parts::{form, link, plural, time};
use crate::visit::Visit;

pub(crate) const DRY_RUN: Question = Question {
    path: "/ui/questions/garbage-collection",
    title: "What would garbage collection delete?",
    about: "Show by kind what a run of garbage collection would delete, by which rule and setting, and what it would \
            keep and why. Nothing is deleted.",
};

pub(crate) const EXPLAIN: Question = Question {
    path: "/ui/questions/garbage",
    title: "Why is an object still there?",
    about: "Explain when an evaluation, allocation, job, deployment, node, token or root key is garbage-collected, and \
            the chain of objects that keep it.",
};

/// `/ui/questions/garbage-collection`
pub(crate) async fn dry_run(visit: &Visit) -> Result<Page, PageError> {
    const RUNS: [(&str, &str); 3] =
        [("", "Choose a run"), ("forced", "A run that an operator starts"), ("periodic", "The periodic runs")];
    let fields = html! {
        div.fields {
            (form::choice("run", "Run", text(visit, "run"), &RUNS))
            (form::text("in", "As of this long from now", text(visit, "in"), "4h"))
        }
        (form::switch("verbose", "List every object", value(visit, "verbose").is_some()))
    };
    let command = value(visit, "run").map(|run| {
        let command = Command::new(&["system", "gc"]).switch("dry-run", true).quiet("-json");
        let command = command.switch("periodic", run == "periodic").flag("in", value(visit, "in"));
        command.switch("verbose", value(visit, "verbose").is_some())
    });
    ask::page(visit, &DRY_RUN, &fields, command, dry_run_answer).await
}

answer! {
    /// The answer of `system gc -dry-run -json`.
    struct DryRun {
        notes: Vec<String>, at: String, kinds: Vec<Kind>, objects: Vec<Object>, objects_omitted: u64,
        thresholds: Vec<Threshold>,
    }

    struct Threshold { setting: String, threshold: i64 }

    struct Kind { kind: String, visible: bool, collected: Vec<Collected>, kept: Vec<Kept> }

    struct Collected { rule: String, setting: String, count: u64, oldest: String, newest: String }

    struct Kept { reason: String, setting: Option<String>, count: u64, next: Option<String> }

    struct Reference { kind: Option<String>, namespace: String, id = "ID": String }

    struct Object { #[serde(flatten)] of: Reference, #[serde(flatten)] decision: Decision, state: Option<String> }

    struct Decision {
        collect: bool, rule: Option<String>, age: Option<Age>, reason: Option<String>, held_by: Option<Reference>,
        tag: String,
    }

    struct Age { setting: String, threshold: i64, since: String, from: String }
}

/// A word of an answer, for people: `too-young` is `too young`.
fn plain(word: &str) -> String {
    word.replace('-', " ")
}

fn dry_run_answer(_: &Visit, run: &DryRun) -> Markup {
    let deleted: u64 = run.kinds.iter().flat_map(|k| &k.collected).map(|c| c.count).sum();
    let kept: u64 = run.kinds.iter().flat_map(|k| &k.kept).map(|k| k.count).sum();
    let collected: Vec<_> = run.kinds.iter().flat_map(|k| k.collected.iter().map(move |c| (k, c))).collect();
    let remaining: Vec<_> = run.kinds.iter().flat_map(|k| k.kept.iter().map(move |c| (k, c))).collect();
    let unseen: Vec<String> = run.kinds.iter().filter(|k| !k.visible).map(|k| plain(&k.kind)).collect();
    html! {
        (verdict(Tone::Neutral, &format!("{} would be deleted, and {kept} retained.", plural(deleted, "object"))))
        p.muted { "As of " (run.at) "." }
        (ask::notes(&run.notes))
        @if !unseen.is_empty() { p { "The source does not show: " (unseen.join(", ")) "." } }
        (table("Deleted", &["Kind", "Rule", "Setting", "Objects#", "Oldest", "Newest"], &collected, "Nothing would be deleted.", |(k, c)| vec![
            html! { (plain(&k.kind)) }, html! { (plain(&c.rule)) }, html! { code { (c.setting) } }, html! { (c.count) },
            html! { (c.oldest) }, html! { (c.newest) },
        ]))
        (table("Retained", &["Kind", "Why", "Setting", "Objects#", "The first can go at"], &remaining, "Nothing would be retained.", |(k, c)| vec![
            html! { (plain(&k.kind)) }, html! { (plain(&c.reason)) }, html! { @if let Some(s) = &c.setting { code { (s) } } },
            html! { (c.count) }, html! { (c.next.as_deref().unwrap_or("-")) },
        ]))
        @if !run.objects.is_empty() {
            (table("Objects", &["Object", "Decision", "Why"], &run.objects, "", |o| vec![reference(&o.of), decided(o.decision.collect), why(&o.decision)]))
            @if run.objects_omitted > 0 { p.muted { (run.objects_omitted) " more objects are not listed." } }
        }
        (table("Settings", &["Setting", "Threshold"], &run.thresholds, "", |t| vec![
            html! { code { (t.setting) } }, html! { (time::duration(t.threshold)) },
        ]))
    }
}

/// An object, with a link to its page or to its explanation.
fn reference(of: &Reference) -> Markup {
    let kind = of.kind.as_deref().unwrap_or("variable");
    let name = match kind {
        "job" => link::job(&of.namespace, &of.id),
        "allocation" => link::allocation(&of.id),
        "evaluation" => link::evaluation(&of.id),
        "deployment" => link::deployment(&of.id),
        "node" => link::client(&of.id, ""),
        _ => html! { code { (of.id) } },
    };
    html! { (plain(kind)) " " (name) }
}

fn decided(collect: bool) -> Markup {
    if collect { state(Tone::Warning, "deleted") } else { state(Tone::Good, "retained") }
}

fn why(decision: &Decision) -> Markup {
    html! {
        (plain(decision.rule.as_deref().or(decision.reason.as_deref()).unwrap_or_default()))
        @if let Some(by) = &decision.held_by { ": " (reference(by)) }
        @if !decision.tag.is_empty() { ", tag " code { (decision.tag) } }
        @if let Some(age) = &decision.age {
            ", " code { (age.setting) } " " (time::duration(age.threshold)) " since " (age.since)
            @if !age.from.is_empty() { ", from " (age.from) " on" }
        }
    }
}

/// `/ui/questions/garbage`
pub(crate) async fn explain(visit: &Visit) -> Result<Page, PageError> {
    let fields = html! {
        div.fields {
            (form::text("id", "ID of the object, or how it begins", text(visit, "id"), ""))
            (form::text("in", "As of this long from now", text(visit, "in"), "4h"))
        }
    };
    let command = value(visit, "id").map(|id| {
        let command = Command::new(&["gc", "explain"]).quiet("-json").flag("in", value(visit, "in"));
        command.flag("namespace", value(visit, "namespace")).argument(id)
    });
    ask::page(visit, &EXPLAIN, &fields, command, explain_answer).await
}

answer! {
    /// The answer of `gc explain -json`.
    struct Explanation {
        notes: Vec<String>, at: String, job: Option<Reference>, chain: Vec<Object>, forced: Decision, run: String,
        interval: i64,
    }
}

fn explain_answer(_: &Visit, found: &Explanation) -> Markup {
    let first = found.chain.first();
    let (tone, sentence) = match first {
        Some(o) if o.decision.collect => (Tone::Warning, format!("The next run of {} deletes it.", found.run)),
        Some(o) => match &o.decision.age {
            Some(age) => (Tone::Neutral, format!("It can be deleted from {} on.", age.from)),
            None => {
                (Tone::Good, format!("It is retained: {}.", plain(o.decision.reason.as_deref().unwrap_or_default())))
            }
        },
        None => (Tone::Neutral, "Nothing is known about the object.".into()),
    };
    html! {
        (verdict(tone, &sentence))
        (ask::notes(&found.notes))
        (facts(&[
            ("As of", html! { (found.at) }),
            ("Periodic run", html! { (found.run) " every " (time::duration(found.interval)) }),
            ("A forced run", html! { (decided(found.forced.collect)) " " (why(&found.forced)) }),
            ("Job", html! { @match &found.job { Some(job) => (reference(job)), None => "-" } }),
        ]))
        (table("What decides, step by step", &["Object", "State", "Decision", "Why"], &found.chain, "", |o| vec![
            reference(&o.of), html! { (o.state.as_deref().unwrap_or_default()) }, decided(o.decision.collect), why(&o.decision),
        ]))
    }
}
