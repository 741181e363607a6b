//! `job dispatch`: dispatches a parameterized job (`docs/spec/cli.md §8.10`).

use std::collections::BTreeMap;
use std::io::Read;

use super::flags::parse_int;
use super::job_file::cause;
use super::lookup::{self, Kind};
use super::monitor::dispatched;
use super::prelude::*;
use super::render::table::{Form, table};
use super::render::values;
use super::submitted::FollowFlags;
use crate::web::hint::UiPage;
use encamp_api::writes::Dispatch;
use encamp_model::quoted;

/// Dispatch a parameterized job
///
/// Creates an instance of a parameterized job with metadata and a payload. The arguments are the ID of the
/// parameterized job or a prefix of it, and the file with the payload, or - for standard input.
#[derive(Debug, clap::Parser)]
pub struct JobDispatch {
    /// Metadata, as key=value. Can be given several times
    #[arg(long, value_name = "key=value", action = clap::ArgAction::Append)]
    pub meta: Vec<String>,
    /// Idempotency token: of several dispatches with the same token, only the first creates a job
    #[arg(long, value_name = "token")]
    pub idempotency_token: Option<String>,
    /// Prefix template for the ID of the dispatched job
    #[arg(long, value_name = "text")]
    pub id_prefix_template: Option<String>,
    /// Priority of the dispatched job. Default: the priority of the parameterized job
    #[arg(long, value_name = "priority", default_value = "0", hide_default_value = true, value_parser = parse_int)]
    pub priority: i64,
    #[command(flatten)]
    pub(crate) follow: FollowFlags,
    /// Monitor the dispatched job until it is dead
    #[arg(long)]
    pub wait: bool,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<job> [payload]", add = CompleteWith::Live(Objects::ParameterizedJobs))]
    pub(crate) args: Vec<String>,
}

impl Run for JobDispatch {
    const META: Meta = Meta::new("job dispatch").examples(&[
        ("Dispatch a parameterized job with metadata", "encamp job dispatch -meta month=2026-11 report"),
        (
            "Dispatch it with a file as payload, without waiting",
            "encamp job dispatch -detach -meta month=2026-11 report input.csv",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (job, input) = match self.args.as_slice() {
            [job] => (job, None),
            [job, input] => (job, Some(input.as_str())),
            _ => {
                return context
                    .argument_error("This command takes one or two argument: <parameterized job> [input source]");
            }
        };
        context.attempt(|context| {
            let request = self.request(input, context)?;
            let connection = Connection::new(&self.general, context.env)?;
            self.dispatch(&connection, job, &request, context)
        })
    }
}

impl JobDispatch {
    fn request(&self, input: Option<&str>, context: &Context<'_, '_>) -> CommandResult<Dispatch> {
        let pair = |m: &String| match m.split_once('=') {
            Some((key, value)) => Ok((key.to_string(), value.to_string())),
            None => Err(CommandError::new(format!("Error parsing meta value: {m}"))),
        };
        let meta = self.meta.iter().map(pair).collect::<CommandResult<BTreeMap<String, String>>>()?;
        let payload = match input {
            None => Ok(Vec::new()),
            Some("-") => {
                let mut payload = Vec::new();
                std::io::stdin().lock().read_to_end(&mut payload).map(|_| payload)
            }
            Some(file) => std::fs::read(context.env.directory.join(file)),
        };
        let payload = payload.map_err(|e| {
            let open = match input {
                Some(file) if file != "-" => format!("open {file}: "),
                _ => String::new(),
            };
            CommandError::new(format!("Error reading input data: {open}{}", cause(&e)))
        })?;
        Ok(Dispatch {
            meta,
            payload,
            id_prefix_template: self.id_prefix_template.clone().unwrap_or_default(),
            idempotency_token: self.idempotency_token.clone().unwrap_or_default(),
            priority: self.priority,
        })
    }

    fn dispatch(
        &self,
        connection: &Connection,
        given: &str,
        request: &Dispatch,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        let client = &connection.client;
        let found = lookup::job_of(Kind::Parameterized, client, given, &connection.zone);
        let (namespace, id) = connection.wait(found)?;
        let namespace = namespace.as_deref();
        let made = connection.wait(client.dispatch_job(namespace, &id, request));
        let (made, _) = made.context("Failed to dispatch job")?;
        let mut lines = vec![format!("Dispatched Job ID|{}", made.dispatched_job_id)];
        if !made.eval_id.is_empty() {
            lines.push(format!("Evaluation ID|{}", values::id(&made.eval_id, self.follow.verbose)));
        }
        context.ui.output(&table(&lines, Form::KeyValue));
        UiPage::new_job(namespace, &made.dispatched_job_id).show(connection, self.ui, context);
        if !self.follow.detach && !made.eval_id.is_empty() {
            context.ui.output("");
            if self.follow.watch(connection, &made.eval_id, context) != 0 {
                return Ok(1);
            }
        }
        if !self.wait {
            return Ok(0);
        }
        let watch = dispatched::Watch { namespace, id: &made.dispatched_job_id, verbose: self.follow.verbose };
        dispatched::watch(connection, context.ui, &watch)
            .context(format_args!("Error waiting for job {}", quoted(&made.dispatched_job_id)))
    }
}
