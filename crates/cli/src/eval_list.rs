//! `eval list`: evaluations (`docs/spec/cli.md §11.2`).

use serde_json::Value;

use super::completion::values::texts;
use super::data;
use super::format::next_page;
use super::prelude::*;
use super::render::{evaluations, objects};
use crate::web::hint::UiPage;
use encamp_api::Query;
use encamp_model::{EvalStatus, Evaluation};

/// List evaluations
///
/// Lists all evaluations, newest first.
#[derive(Debug, clap::Parser)]
pub struct EvalList {
    #[command(flatten)]
    pub(crate) page: PageFlags,
    /// List only evaluations of this job
    #[arg(long, value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub job: Option<String>,
    /// List only evaluations with this status
    #[arg(long, value_name = "status", add = CompleteWith::Texts(|| texts(EvalStatus::ALL, EvalStatus::as_str)))]
    pub status: Option<String>,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for EvalList {
    const META: Meta = Meta::new("eval list").paged().examples(&[
        ("List the evaluations", "encamp eval list"),
        ("List the evaluations of a job that placed all allocations", "encamp eval list -job web -status complete"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| self.list(context))
    }
}

impl EvalList {
    fn list(&self, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.list.format.wanted()?;
        let connection = Connection::new(&self.general, context.env)?;
        let mut query = self.page.query(Query::default());
        for (name, value) in [("job", &self.job), ("status", &self.status)] {
            if let Some(value) = value.as_deref().filter(|v| !v.is_empty()) {
                query = query.with(name, value);
            }
        }
        let rows = connection.wait(connection.client.rows::<Value>("/v1/evaluations", &query));
        let (mut rows, meta) = rows.context("Error querying evaluations")?;
        if formatted {
            data::newest_first(&mut rows);
            let list = objects::list(rows, objects::evaluation);
            return self.list.format.print(context.ui, &list, "[]*api.Evaluation");
        }
        if rows.is_empty() {
            context.ui.output("No evals found");
            return Ok(0);
        }
        let evals: Result<Vec<Evaluation>, _> = rows.iter().map(encamp_api::json::from_value).collect();
        let mut evals = evals.context("Error querying evaluations")?;
        evaluations::sort(&mut evals);
        context.ui.output(&evaluations::listed(&evals, self.list.verbose));
        next_page(context, &meta);
        UiPage::evaluations().show(&connection, self.ui, context);
        Ok(0)
    }
}
