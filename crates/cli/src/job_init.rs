//! `job init`: writes an example job file (`docs/spec/cli.md §8.11`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::autoscale;
use super::example_job::{ExampleDriver, ExampleJob};
use super::examples::write_new;
use super::job_examples;
use super::job_file::cause;
use super::job_inspect::job_file_of;
use super::pick::questions::Questions;
use super::pick::{self, Cancelled};
use super::prelude::*;
use super::render::table::{Form, cell, headed, table_of_sentences};
use encamp_api::{Query, path};
use encamp_model::{JobType, VariableMetadata, quoted};

/// The default name of the file.
const DEFAULT_NAME: &str = "example.nomad.hcl";
/// The path prefix of the variables that hold job templates.
const TEMPLATES: &str = "nomad/job-templates/";
/// The item that holds the job file.
const ITEM: &str = "template";

/// The types of jobs, with what each does.
const TYPES: [(JobType, &str); 4] = [
    (JobType::Service, "keeps running"),
    (JobType::Batch, "runs to its end"),
    (JobType::System, "keeps running on every node"),
    (JobType::Sysbatch, "runs to its end on every node"),
];
/// The least resources of a task, MHz and MB.
const LEAST_CPU: u32 = 1;
const LEAST_MEMORY: u32 = 10;

/// Create an example job file
///
/// Creates an example job file as a starting point. The default file name is example.nomad.hcl. An existing file is not
/// overwritten. On a terminal, the command asks for the type of the job, the driver and the resources, unless -from,
/// -template or -connect says what the file is.
///
/// With -cluster-scaling or -job-scaling, creates an example of the metadata that configures a worker pool or a scaled
/// task group.
///
/// With -from, writes the job file of a registered job, to change it or to register it elsewhere.
///
/// A cluster can store job files as templates in variables: the variable nomad/job-templates/NAME holds a job file in
/// its item "template". -list-examples lists further ones, for the most common uses, which need no cluster.
#[derive(Debug, clap::Parser)]
pub struct JobInit {
    /// Write the example without comments
    #[arg(long)]
    pub short: bool,
    /// Write an example with a Consul service mesh
    #[arg(long)]
    pub connect: bool,
    /// Write cluster_scaling.hcl instead: the metadata that makes a client node a member of a worker pool, with
    /// comments
    #[arg(long)]
    pub cluster_scaling: bool,
    /// Write job_scaling.hcl instead: the metadata of a task group whose count the autoscaler changes, with comments
    #[arg(long)]
    pub job_scaling: bool,
    /// Write the job file of this registered job: the one that was submitted, if the servers store it, or one that is
    /// generated from the job
    #[arg(long, value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub from: Option<String>,
    /// With -from, cluster snapshot file or server backup to read the job from
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    /// Write the job template with this name: one that is stored in the cluster, or else one of -list-examples
    #[arg(long, value_name = "name", add = CompleteWith::Words(job_examples::NAMES))]
    pub template: Option<String>,
    /// List the names of the job templates that are stored in the cluster
    #[arg(long)]
    pub list_templates: bool,
    /// List the job files that -template writes without a cluster
    #[arg(long)]
    pub list_examples: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "filename", add = CompleteWith::DIRECTORIES)]
    pub(crate) optional_args: Vec<String>,
}

impl JobInit {
    /// The job file, and the variables that it was submitted with, as name=value.
    fn text(&self, env: &Environment, example: &ExampleJob) -> CommandResult<(String, Vec<String>)> {
        if let Some(id) = &self.from {
            return job_file_of(id, self.snapshot.as_deref(), &self.general, env);
        }
        if let Some(name) = self.template() {
            let stored = Connection::new(&self.general, env).and_then(|connection| template(&connection, name));
            let text = stored.or_else(|e| job_examples::text(name).map(String::from).ok_or(e))?;
            return Ok((text, Vec::new()));
        }
        let text = if self.connect { include_str!("examples/connect.hcl").into() } else { example.text() };
        Ok((if self.short { without_comments(&text) } else { text }, Vec::new()))
    }

    /// Whether the command asks which example is wanted: the flags do not say what the job file is.
    fn asks(&self, context: &Context<'_, '_>) -> bool {
        self.from.is_none() && self.template().is_none() && !self.connect && pick::possible(context)
    }

    /// Asks which example is wanted.
    fn ask(context: &Context<'_, '_>) -> Result<ExampleJob, Cancelled> {
        let questions = Questions::new(context.ui.terminal())?;
        let types = TYPES.each_ref().map(|(kind, about)| (kind.as_str(), *about));
        let kind = questions.select("Type of the job", &types)?;
        let drivers = ExampleDriver::ALL.map(|(driver, about)| (driver.name(), about));
        let driver = questions.select("Driver of the task", &drivers)?;
        let kind = TYPES.get(kind).map_or(JobType::Service, |(kind, _)| kind.clone());
        let driver = ExampleDriver::ALL.get(driver).map_or(ExampleDriver::Exec, |(driver, _)| *driver);
        let sufficient = ExampleJob::new(kind, driver);
        let cpu = questions.number("CPU in MHz", LEAST_CPU, sufficient.cpu)?;
        let memory = questions.number("Memory in MB", LEAST_MEMORY, sufficient.memory)?;
        Ok(ExampleJob { cpu, memory, ..sufficient })
    }

    /// Writes one of the examples about scaling.
    fn scaling(&self, context: &mut Context<'_, '_>) -> u8 {
        let listed = self.list_templates || self.list_examples;
        let others = self.short || self.connect || self.template().is_some() || listed;
        if others || (self.cluster_scaling && self.job_scaling) {
            return context
                .usage_error("-cluster-scaling and -job-scaling can't be combined with each other or other flags");
        }
        if !self.optional_args.is_empty() {
            return context.usage_error("-cluster-scaling and -job-scaling take no arguments");
        }
        autoscale::init::write(
            context,
            if self.cluster_scaling { &autoscale::init::CLUSTER } else { &autoscale::init::JOB },
        )
    }

    /// Writes the job file, after questions about the example.
    fn write(&self, name: &str, context: &mut Context<'_, '_>) -> u8 {
        let file = context.env.directory.join(name);
        let asks = self.asks(context);
        if asks && file.exists() {
            return context.failure(&format!("Job '{name}' already exists"));
        }
        let example = match if asks { JobInit::ask(context) } else { Ok(ExampleJob::default()) } {
            Ok(example) => example,
            Err(how) => {
                context.ui.error_plain("No job file written.");
                return how.exit_code();
            }
        };
        let (text, variables) = match self.text(context.env, &example) {
            Ok(text) => text,
            Err(e) => return context.report(&e),
        };
        match write_new(&file, &text) {
            Ok(()) => {
                let what = if self.from.is_some() { "Job file" } else { "Example job file" };
                context.ui.output(&format!("{what} written to {name}"));
                if !variables.is_empty() {
                    let flags: String = variables.iter().map(|v| format!("-var={} ", quoted(v))).collect();
                    context.ui.output("The job was submitted with variables. To run the file with the same ones:");
                    context.ui.output(&format!("    encamp job run {flags}{name}"));
                }
                0
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                context.failure(&format!("Job '{name}' already exists"))
            }
            Err(e) => context.failure(&format!("Failed to write '{name}': {}", cause(&e))),
        }
    }

    fn template(&self) -> Option<&str> {
        self.template.as_deref().filter(|name| !name.is_empty())
    }

    /// Prints the names of the job templates that are stored in the cluster.
    fn list(&self, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let connection = Connection::new(&self.general, context.env)?;
        let query = Query::default().with("prefix", TEMPLATES);
        let found = connection.wait(connection.client.rows::<VariableMetadata>("/v1/vars", &query));
        let (found, _) = found.context(format_args!("Error listing the variables below {TEMPLATES}"))?;
        let mut names: Vec<&str> = found.iter().filter_map(|v| v.path.strip_prefix(TEMPLATES)).collect();
        names.sort_unstable();
        if names.is_empty() {
            context.ui.output(&format!("No variables found below {TEMPLATES}"));
            return Ok(0);
        }
        context.ui.output("Use encamp job init -template=<name> with one of these names:");
        for name in names {
            context.ui.output(&format!("    {name}"));
        }
        Ok(0)
    }
}

/// Reads the job template with that name from the cluster.
fn template(connection: &Connection, name: &str) -> CommandResult<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Variable {
        items: Option<BTreeMap<String, String>>,
    }
    let to = path(&format!("/v1/var/{TEMPLATES}"), name, "");
    let read = connection.wait(connection.client.get::<Variable>(&to, &Query::default()));
    let (variable, _) = read.context(format_args!("Error reading the variable {TEMPLATES}{name}"))?;
    let text = variable.items.and_then(|mut items| items.remove(ITEM));
    text.ok_or_else(|| CommandError::new(format!("The variable {TEMPLATES}{name} has no item {ITEM:?}")))
}

/// The text without whole-line comments and the empty lines around them.
fn without_comments(text: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut after_comment = false;
    for line in text.lines() {
        let comment = line.trim_start().starts_with('#');
        let empty = line.trim().is_empty();
        let opens = out.last().is_none_or(|l| l.trim().is_empty() || l.ends_with('{'));
        if !comment && !(empty && (after_comment || opens)) {
            out.push(line);
        }
        after_comment = comment;
    }
    let mut text = out.join("\n");
    text.push('\n');
    text
}

impl Run for JobInit {
    const META: Meta = Meta::new("job init").alias("init", Listing::Alias).offline_examples(&[
        ("Create example.nomad.hcl, an example job file with comments", "encamp job init"),
        ("Create an example job file without comments", "encamp job init -short api.nomad.hcl"),
        ("List job files for common uses", "encamp job init -list-examples"),
        ("Create one of them", "encamp job init -template=web-canary canary.nomad.hcl"),
        (
            "Write the job file of a job in a snapshot",
            "encamp job init -from web -snapshot fixtures/demo/cluster.json \\
    web-copy.nomad.hcl",
        ),
        ("Create cluster_scaling.hcl, the metadata of a worker pool", "encamp job init -cluster-scaling"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.cluster_scaling || self.job_scaling {
            return self.scaling(context);
        }
        let sources = [self.short || self.connect, self.template().is_some(), self.list_templates];
        if sources.into_iter().filter(|given| *given).count() > 1 {
            let text = "-template, -list-templates and -short or -connect can't be combined with each other";
            return context.usage_error(text);
        }
        if self.from.is_some() && sources.contains(&true) {
            return context.usage_error("-from can't be combined with -short, -connect, -template and -list-templates");
        }
        if self.snapshot.is_some() && self.from.is_none() {
            return context.usage_error("-snapshot needs -from");
        }
        if self.list_examples {
            if sources.contains(&true) || self.from.is_some() || !self.optional_args.is_empty() {
                return context.usage_error("-list-examples takes no arguments and no other flags");
            }
            context.ui.output("Use encamp job init -template=<name> with one of these names:\n");
            let rows = job_examples::summaries().map(|(name, summary)| format!("{name}|{}", cell(summary)));
            context.ui.output(&table_of_sentences(&headed("Name|Summary", rows), Form::List));
            return 0;
        }
        if self.list_templates {
            if !self.optional_args.is_empty() {
                return context.usage_error("-list-templates takes no arguments");
            }
            return context.attempt(|context| self.list(context));
        }
        let name = match self.optional_args.as_slice() {
            [] => DEFAULT_NAME,
            [name] => name,
            _ => return context.usage_error("This command takes no arguments or one: <filename>"),
        };
        self.write(name, context)
    }
}
