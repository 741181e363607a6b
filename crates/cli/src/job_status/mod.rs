//! `job status`: the list of jobs, or the status of one job (`docs/spec/cli.md §8.3`).
//!
//! `one`: the sections about one job. `future`: future rescheduling attempts.

mod future;
mod one;

pub(super) use one::allocation_table;

use serde_json::{Value, json};

use super::lookup;
use super::prelude::*;
use super::render::objects;
use crate::web::hint::UiPage;
use encamp_api::{ApiError, Query, path};
use encamp_model::responses::JobListStub;

/// Display status information about jobs
///
/// Without an argument, lists all jobs. With a job ID or a prefix of it, shows that job: the summary of its task
/// groups, placement failures, the latest deployment and the allocations.
#[derive(Debug, clap::Parser)]
pub struct JobStatus {
    /// Show all allocations with this job ID, including those of earlier jobs
    #[arg(long)]
    pub all_allocs: bool,
    /// Show the evaluations of the job
    #[arg(long)]
    pub evals: bool,
    /// Show brief output: only the job itself
    #[arg(long)]
    pub short: bool,
    /// Show full identifiers and timestamps
    #[arg(long)]
    pub verbose: bool,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) optional_args: Vec<String>,
}

impl Run for JobStatus {
    const META: Meta = Meta::new("job status").paged().examples(&[
        ("List the jobs", "encamp job status"),
        ("Show a job with its evaluations", "encamp job status -evals web"),
        ("Print a job as JSON", "encamp job status -json web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let job = match self.optional_args.as_slice() {
            [] => None,
            [job] => Some(job),
            _ => {
                context.ui.error("This command takes either no arguments or one: <job>");
                // The message uses the short name of this command.
                context.ui.error("For additional help try 'encamp status -help'");
                return 1;
            }
        };
        context.connected(&self.general, |connection, context| match job {
            None => self.list(connection, context),
            Some(job) => self.show(connection, job, context),
        })
    }
}

impl JobStatus {
    fn list(&self, connection: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.format.wanted()?;
        let jobs = connection.wait(connection.client.rows::<JobListStub>("/v1/jobs", &Query::default()));
        let (jobs, _) = jobs.context("Error querying jobs")?;
        if jobs.is_empty() {
            context.ui.output("No running jobs");
            return Ok(0);
        }
        if formatted {
            let one = |job: &JobListStub| json_of(connection, Some(&job.namespace), &job.id, self.all_allocs);
            let all: CommandResult<Vec<Value>> = jobs.iter().map(one).collect();
            return self.format.print(context.ui, &Value::Array(all?), JSON_TYPE);
        }
        let mut jobs = jobs;
        jobs.sort_by(|a, b| (&a.id, &a.namespace).cmp(&(&b.id, &b.namespace)));
        context.ui.output(&lookup::listed(&jobs, connection.everywhere(), &connection.zone));
        UiPage::jobs().show(connection, self.ui, context);
        Ok(0)
    }

    fn show(&self, connection: &Connection, job: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let (namespace, id) = connection.wait(lookup::job(&connection.client, job, &connection.zone))?;
        if self.format.wanted()? {
            let one = json_of(connection, namespace.as_deref(), &id, self.all_allocs)?;
            return self.format.print(context.ui, &json!([one]), JSON_TYPE);
        }
        let code = one::show(self, connection, namespace.as_deref(), &id, context)?;
        UiPage::job(namespace.as_deref(), &id).show(connection, self.ui, context);
        Ok(code)
    }
}

/// The name of the type of the result in template errors.
const JSON_TYPE: &str = "[]command.JobJson";

/// Everything about one job, as the API returns it.
fn json_of(connection: &Connection, namespace: Option<&str>, id: &str, all: bool) -> CommandResult<Value> {
    let query = Query { namespace: namespace.map(str::to_string), ..Query::default() };
    let read = |what: &str, query: &Query| -> Result<Value, ApiError> {
        connection.wait(connection.client.get(&path("/v1/job/", id, what), query)).map(|(value, _)| value)
    };
    let rows = |value: Value, one: fn(Value) -> Value| match value {
        Value::Array(values) => objects::list(values, one),
        _ => json!([]),
    };
    let summary = read("/summary", &query).context("Error querying job summary")?;
    let allocations = read("/allocations", &query.clone().with("all", all.to_string()));
    let allocations = allocations.context("Error querying job allocations")?;
    let evaluations = read("/evaluations", &query).context("Error querying job evaluations")?;
    let deployment = read("/deployment", &query).context("Error querying latest job deployment")?;
    Ok(json!({
        "Summary": summary,
        "Allocations": rows(allocations, objects::allocation_stub),
        "Evaluations": rows(evaluations, objects::evaluation),
        "LatestDeployment": objects::deployment(deployment),
    }))
}
