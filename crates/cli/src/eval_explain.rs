//! `eval explain`: explains the placements of a past evaluation.

use futures_util::stream::{self, StreamExt};

use super::cluster::block_on;
use super::lookup::LookupError;
use super::prelude::*;
use super::render::table::{self, Columns};
use super::render::{json, past};
use encamp_api::Client;
use encamp_model::{Evaluation, short_id};
use encamp_plan::past::{PastEvaluation, explain};

/// The number of concurrent requests.
const CONCURRENCY: usize = 16;

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error querying evaluation";

/// Explain a past evaluation
///
/// Reads an evaluation of a running cluster and the allocations that it created, and explains the decisions of the
/// scheduler from their recorded metrics: the nodes that were filtered or exhausted and why, scores, preemptions, and
/// failed placements.
///
/// The argument is the evaluation ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct EvalExplain {
    /// Print the explanation as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "evaluation", add = CompleteWith::Live(Objects::Evaluations))]
    pub(crate) id: String,
}

impl Run for EvalExplain {
    const META: Meta = Meta::new("eval explain").paged().examples(&[
        ("Explain the placements of an evaluation", "encamp eval explain 2c3f8e0a"),
        ("Print the explanation as JSON", "encamp eval explain -json 2c3f8e0a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = &self.id;
        context.attempt(|context| {
            let client = self.general.client(context.env)?;
            self.print(&block_on(read(&client, id))??, context)
        })
    }
}

impl EvalExplain {
    fn print(&self, explained: &PastEvaluation, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        if !self.json {
            context.ui.output_markup(&past::evaluation(explained, &context.env.zone()));
            return Ok(0);
        }
        context.print_json(&json::versioned(explained)?)?;
        Ok(0)
    }
}

async fn read(client: &Client, id: &str) -> CommandResult<PastEvaluation> {
    let id = find(client, id).await?;
    let (evaluation, _) = client.evaluation(&id).await.context(FAILED)?;
    let (stubs, _) = client.evaluation_allocations(&id).await.context(FAILED)?;
    let reads = stubs.into_iter().map(|stub| async move { client.allocation(&stub.id).await });
    let mut reads = stream::iter(reads).buffer_unordered(CONCURRENCY);
    let mut allocations = Vec::new();
    while let Some(answer) = reads.next().await {
        match answer {
            Ok((a, _)) => allocations.push(a),
            // Garbage collected since the list was read.
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e).context(FAILED),
        }
    }
    Ok(explain(evaluation, allocations))
}

/// The full ID (`docs/spec/cli.md §4.2`).
async fn find(client: &Client, given: &str) -> Result<String, LookupError> {
    if given.chars().count() < 2 {
        return Err(LookupError::TooShort { what: "Identifier" });
    }
    if given.len() == 36 {
        return Ok(given.to_string());
    }
    let digits = given.chars().filter(|c| *c != '-').count();
    let mut prefix = given.to_string();
    if digits % 2 == 1 {
        prefix.pop();
    }
    let found = client.evaluations_with_prefix(&prefix).await;
    let (found, _) = found.map_err(LookupError::request(FAILED))?;
    match found.as_slice() {
        [] => Err(LookupError::NotFound(format!("No evaluation(s) with prefix or id \"{given}\" found"))),
        [only] => Ok(only.id.clone()),
        several => {
            let line = "Prefix matched multiple evaluations".to_string();
            Err(LookupError::Ambiguous { objects: Some(Objects::Evaluations), line, list: listed(several) })
        }
    }
}

fn listed(all: &[Evaluation]) -> String {
    let columns: &Columns<'_, Evaluation> = &[
        ("ID", &|e| short_id(&e.id).into()),
        ("Priority", &|e| e.priority.to_string()),
        ("Triggered By", &|e| e.triggered_by.to_string()),
        ("Job ID", &|e| e.job_id.clone()),
        ("Namespace", &|e| e.namespace.clone()),
        ("Status", &|e| e.status.to_string()),
    ];
    table::columns(all, columns)
}
