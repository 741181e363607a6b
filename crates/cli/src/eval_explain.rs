//! `eval explain`: explains the placements of a past evaluation.

use futures_util::stream::{self, StreamExt};

use super::cluster::{ClusterFlags, block_on};
use super::job_plan::suggestions;
use super::lookup::LookupError;
use super::prelude::*;
use super::render::styled::Styled;
use super::render::table::{self, Columns};
use super::render::{json, past, suggest};
use encamp_api::Client;
use encamp_model::{Evaluation, short_id};
use encamp_plan::past::{PastEvaluation, explain};
use encamp_plan::server_context;
use encamp_plan::stop::Stop;
use encamp_plan::suggest::Suggestions;
use encamp_snapshot::live::Detail;

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
/// With -suggest, the job is planned again on the cluster as it is now, and the smallest edits with which everything is
/// placed are listed; see job plan -suggest.
///
/// The argument is the evaluation ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct EvalExplain {
    /// Print the explanation as JSON
    #[arg(long)]
    pub json: bool,
    /// Suggest the smallest edits of the job with which everything is placed on the cluster as it is now
    #[arg(long)]
    pub suggest: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "evaluation", add = CompleteWith::Live(Objects::Evaluations))]
    pub(crate) id: String,
}

impl Run for EvalExplain {
    const META: Meta = Meta::new("eval explain").paged().examples(&[
        ("Explain the placements of an evaluation", "encamp eval explain 2c3f8e0a"),
        ("Suggest edits with which a blocked job is placed", "encamp eval explain -suggest 2c3f8e0a"),
        ("Print the explanation as JSON", "encamp eval explain -json 2c3f8e0a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = &self.id;
        context.attempt(|context| {
            let client = self.general.client(context.env)?;
            let explained = block_on(read(&client, id))??;
            let found = if self.suggest { Some(self.suggestions(&explained, context.env)?) } else { None };
            self.print(&explained, found.as_ref(), context)
        })
    }
}

impl EvalExplain {
    fn print(
        &self,
        explained: &PastEvaluation,
        found: Option<&Suggestions>,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        let zone = context.env.zone();
        let view = found.map(|found| suggest::View { found, path: None, place: &|_| None, zone: &zone });
        if !self.json {
            context.ui.output_markup(&past::evaluation(explained, &zone));
            if let Some(view) = &view {
                let mut text = Styled::from("\n");
                text.push(suggest::text(view, usize::MAX, false, context.ui.colours_on()));
                context.ui.output(&text);
            }
            return Ok(0);
        }
        let mut value = json::versioned(explained)?;
        if let Some(members) = value.as_object_mut() {
            members.extend(view.iter().map(|view| ("Suggestions".to_string(), suggest::value(view))));
        }
        context.print_json(&value)?;
        Ok(0)
    }
}

impl EvalExplain {
    /// The edits with which the job of the evaluation, as it is registered, is placed on the cluster as it is now.
    fn suggestions(&self, explained: &PastEvaluation, env: &Environment) -> CommandResult<Suggestions> {
        let (namespace, id) = (&explained.namespace, &explained.job_id);
        let client = self.general.client(env)?;
        let (job, _) = block_on(client.job_as_stored(namespace, id))?.context("Error querying job")?;
        let cluster = ClusterFlags::default().load(&self.general, Detail::Everything, env)?;
        let (state, _, now) = cluster.into_state(false, env);
        let options = self.general.convert_options(&job, env, &state);
        Ok(suggestions(&state, &job, (&options, &server_context(&state)), now, (true, Stop::never())))
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
        [only] => Ok(only.id.to_string()),
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
        ("Job ID", &|e| e.job_id.to_string()),
        ("Namespace", &|e| e.namespace.to_string()),
        ("Status", &|e| e.status.to_string()),
    ];
    table::columns(all, columns)
}
