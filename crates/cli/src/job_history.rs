//! `job history`: the stored versions of a job (`docs/spec/cli.md §8.8`).

use serde_json::Value;

use super::flags::parse_int;
use super::lookup;
use super::prelude::*;
use super::render::styled::Styled;
use super::render::{diff, json, values};
use encamp_model::responses::JobVersionsResponse;
use encamp_model::{DiffType, JobDiff, api, quoted};

/// Display all tracked versions of a job
///
/// Shows the versions of a job that the servers store, newest first; with -p, also the differences between each version
/// and the previous one. The argument is the job ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct JobHistory {
    /// Show the differences between versions
    #[arg(long)]
    pub p: bool,
    /// With -p, compare with the version of this tag
    #[arg(long, value_name = "tag")]
    pub diff_tag: Option<String>,
    /// With -p, compare with this version
    #[arg(long, value_name = "version", value_parser = parse_int)]
    pub diff_version: Option<i64>,
    /// Show the full job of each version
    #[arg(long)]
    pub full: bool,
    /// Show only this version
    #[arg(long, value_name = "version", value_parser = parse_int)]
    pub version: Option<i64>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "job", add = CompleteWith::Live(Objects::Jobs))]
    pub(crate) given: String,
}

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error retrieving job versions";

impl Run for JobHistory {
    const META: Meta = Meta::new("job history").paged().examples(&[
        ("List the versions of a job", "encamp job history web"),
        ("Show the differences between the versions", "encamp job history -p web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let formatted = self.format.json || self.format.template.is_some();
        let tag = self.diff_tag.as_deref().filter(|t| !t.is_empty());
        if formatted && (self.p || self.full) {
            return context.failure("-json and -t are exclusive with -p and -full");
        }
        if (tag.is_some() || self.diff_version.is_some()) && !self.p {
            return context.failure("-diff-tag and -diff-version can only be used with -p");
        }
        if tag.is_some() && self.diff_version.is_some() {
            return context.failure("-diff-tag and -diff-version are mutually exclusive");
        }
        context.connected(&self.general, |c, context| self.show(c, &self.given, tag, context))
    }
}

impl JobHistory {
    fn show(
        &self,
        connection: &Connection,
        given: &str,
        tag: Option<&str>,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        let formatted = self.format.wanted()?;
        let client = &connection.client;
        let (namespace, id) = connection.wait(lookup::job(client, given, &connection.zone))?;
        let with = self
            .diff_version
            .map(|v| u64::try_from(v).map_err(|_| CommandError::new(format!("{FAILED}: there is no version {v}"))));
        let read = client.job_history(namespace.as_deref(), &id, self.p, tag, with.transpose()?);
        let (history, _) = connection.wait(read).context(FAILED)?;
        let compared = tag.is_some() || self.diff_version.is_some();
        let entries = entries(history, compared);
        let Some(version) = self.version else {
            if formatted {
                let all: Result<Vec<Value>, _> = entries.iter().map(|(job, _)| serde_json::to_value(job)).collect();
                let all = Value::Array(all?);
                return self.format.print(context.ui, &all, "[]*api.Job");
            }
            for (i, (job, diff)) in entries.iter().enumerate() {
                if i > 0 {
                    context.ui.output("");
                }
                self.print(job, diff.as_ref(), connection, context)?;
            }
            return Ok(0);
        };
        let wanted = u64::try_from(version).ok();
        let found = entries.iter().find(|(job, _)| job.version.is_some() && job.version == wanted);
        let Some((job, diff)) = found else {
            return Err(CommandError::new(format!("{FAILED}: version {version} of job {} not found", quoted(&id))));
        };
        if formatted {
            let value = serde_json::to_value(job)?;
            return self.format.print(context.ui, &value, "*api.Job");
        }
        self.print(job, diff.as_ref(), connection, context)?;
        Ok(0)
    }

    fn print(
        &self,
        job: &api::Job,
        diff: Option<&JobDiff>,
        connection: &Connection,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<()> {
        let mut rows = vec![
            ("Version", Styled::from(job.version.unwrap_or(0).to_string())),
            ("Stable", job.stable.unwrap_or(false).to_string().into()),
            ("Submit Date", values::time(job.submit_time.unwrap_or(0), &connection.zone).into()),
        ];
        if let Some(tag) = &job.version_tag {
            rows.push(("Tag Name", (&tag.name).into()));
            if !tag.description.is_empty() {
                rows.push(("Tag Description", (&tag.description).into()));
            }
        }
        if let Some(diff) = diff.filter(|d| self.p && d.r#type != DiffType::None) {
            let text = context.ui.markup(diff::job(diff, false).trim());
            let mut value = Styled::from("\n");
            value.push(text);
            rows.push(("Diff", value));
        }
        if self.full {
            let text = json::indented(&serde_json::to_value(job)?).map_err(CommandError::new)?;
            rows.push(("Full", format!("JSON Job:\n{text}").into()));
        }
        context.ui.output(&untrimmed(rows));
        Ok(())
    }
}

/// The versions and their diffs. If they are compared with a given version, each has a diff; otherwise the oldest has
/// none.
fn entries(history: JobVersionsResponse<api::Job>, compared: bool) -> Vec<(api::Job, Option<JobDiff>)> {
    let mut diffs = history.diffs.unwrap_or_default().into_iter();
    let count = history.versions.len();
    let versions = history.versions.into_iter().enumerate();
    versions.map(|(i, job)| (job, if compared || i + 1 < count { diffs.next() } else { None })).collect()
}

/// A block of names and values that preserves the space around the cells.
fn untrimmed(rows: Vec<(&str, Styled)>) -> Styled {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = Styled::default();
    for (i, (name, value)) in rows.into_iter().enumerate() {
        let line_end = if i == 0 { "" } else { "\n" };
        out.push(format!("{line_end}{name:width$} = "));
        // Every bar separates cells.
        out.push(if value.is_empty() { "<none>".into() } else { value.replace('|', " = ") });
    }
    out
}
