//! What happens if a client is lost or drained: the answer of `what-if`, on the page of the client.

use maud::{Markup, html};

use crate::error::PageError;
use crate::pages::data::answers;
use crate::parts::state::{Tone, notice, state};
use crate::parts::table::Table;
use crate::parts::{form, link};
use crate::visit::{Visit, encoded};

/// The questions: name in the address, flag of the command, what is asked.
const QUESTIONS: [(&str, &str, &str); 2] = [
    ("lost", "-down", "What happens if this client is lost?"),
    ("drained", "-drain", "What happens if this client is drained?"),
];

answers! {
    /// What the page shows of the command's answer.
    Answer {
        displaced: Vec<Displaced>,
        unplaced: Vec<Unplaced>,
        fates: Fates,
        notes: Vec<String>,
    }
    /// How many allocations have which fate.
    Fates {
        moved: u64,
        stays: u64,
        stopped: u64,
        unplaced: u64,
    }
    /// A displaced allocation.
    Displaced {
        name: String,
        namespace: String,
        #[serde(rename = "JobID")]
        job_id: String,
        cause: String,
        fate: String,
        from: Place,
        to: Option<Place>,
    }
    /// An allocation and its client.
    Place {
        #[serde(rename = "AllocID")]
        allocation: String,
        #[serde(rename = "NodeID")]
        node: String,
        #[serde(rename = "NodeName")]
        node_name: String,
    }
    /// A task group with unplaced allocations.
    Unplaced {
        count: u64,
        namespace: String,
        #[serde(rename = "JobID")]
        job_id: String,
        task_group: String,
    }
}

/// The questions as links, and the answer to the one that the address names.
///
/// # Errors
/// The command did not run to its end.
pub(super) async fn section(visit: &Visit, id: &str) -> Result<Markup, PageError> {
    let asked = visit.parameter("question").and_then(|name| QUESTIONS.iter().find(|q| q.0 == name));
    let answer = match asked {
        Some((_, flag, _)) => answer(visit, id, flag).await?,
        None => html! {},
    };
    Ok(html! {
        h2 id="question" { "Before you change it" }
        ul.questions {
            @for (name, _, text) in QUESTIONS {
                li { a href={ (visit.address_with("question", Some(name))) "#question" } aria-current=[asked.is_some_and(|a| a.0 == name).then_some("true")] { (text) } }
            }
            li { a href={ "/ui/questions/drain-plan?drain=" (encoded(id)) } { "How can it be drained with other clients?" } }
            li { a href={ "/ui/questions/what-if?drain=" (encoded(id)) } { "More questions" } }
        }
        (answer)
    })
}

async fn answer(visit: &Visit, id: &str, flag: &str) -> Result<Markup, PageError> {
    let output = visit.run(vec!["what-if".into(), format!("{flag}={id}"), "-json".into()], Vec::new()).await?;
    let Ok(answer) = serde_json::from_slice::<Answer>(&output.stdout) else {
        return Ok(notice(Tone::Bad, &html! { p { "The command failed." } pre { (output.stderr.trim()) } }));
    };
    let fates = &answer.fates;
    let (tone, verdict) = match fates.unplaced {
        0 => (Tone::Good, "No allocation would be unplaced.".to_string()),
        1 => (Tone::Bad, "1 allocation would be unplaced.".to_string()),
        n => (Tone::Bad, format!("{n} allocations would be unplaced.")),
    };
    Ok(html! {
        (notice(tone, &html! {
            p { (verdict) " " (answer.displaced.len()) " are displaced: " (fates.moved) " moved, " (fates.stopped) " stopped, "
                (fates.stays) " stay, " (fates.unplaced) " unplaced." }
            @for note in &answer.notes { p { (note) } }
        }))
        @if !answer.unplaced.is_empty() {
            ul { @for u in &answer.unplaced { li { (u.count) " of " (link::job(&u.namespace, &u.job_id)) ", group " (u.task_group) } } }
        }
        (displaced(&answer))
        (form::command(&format!("encamp what-if {flag}={id}")))
    })
}

fn displaced(answer: &Answer) -> Markup {
    let empty = html! { "No allocation is displaced." };
    let mut table = Table::new("Displaced allocations", &["Name", "Job", "Allocation", "Reason", "Goes to"], empty);
    for row in &answer.displaced {
        table.row([
            html! { (row.name) },
            link::job(&row.namespace, &row.job_id),
            link::allocation(&row.from.allocation),
            html! { (row.cause) },
            match &row.to {
                Some(to) => link::client(&to.node, &to.node_name),
                None if row.fate == "unplaced" => state(Tone::Bad, &row.fate),
                None => html! { (row.fate) },
            },
        ]);
    }
    table.markup()
}
