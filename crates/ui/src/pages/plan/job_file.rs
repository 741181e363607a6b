//! The form with a job file: its text, and the values of its variables.

use std::collections::BTreeMap;

use encamp_model::json::null_is_default;
use maud::{Markup, html};
use serde::Deserialize;

use crate::error::PageError;
use crate::parts::command::{Command, Failure};
use crate::parts::form;
use crate::parts::state::{Tone, notice};
use crate::visit::{self, Visit};

/// How many fields for further variables the form has.
const FURTHER: usize = 2;
/// The most variables of a form.
const MOST_VARIABLES: usize = 200;
/// The file with the values of variables, for the time of a command.
const VARIABLE_FILE: &str = "variables.hcl";

/// A job file, and how it is planned.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobFile {
    text: String,
    /// It is JSON instead of HCL.
    json: bool,
    /// Empty for that of the job file.
    namespace: String,
    /// The node that the plan explains in full; empty for all groups.
    pub explain: String,
    variables: Vec<(String, String)>,
    variable_file: String,
}

/// The job file that the servers store with a job.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Submission {
    source: String,
    format: String,
    variable_flags: BTreeMap<String, String>,
    variables: String,
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Registered {
    version: u64,
}

impl JobFile {
    /// The form that was sent.
    ///
    /// # Errors
    /// There is no job file in it.
    pub(crate) fn submitted(visit: &Visit) -> Result<JobFile, PageError> {
        let all = |name: &'static str| visit.fields().iter().filter(move |(n, _)| n == name).map(|(_, value)| value);
        let variables = all("variable").zip(all("value")).filter(|(name, _)| !name.trim().is_empty());
        let variables = variables.take(MOST_VARIABLES).map(|(name, value)| (name.trim().to_string(), value.clone()));
        let field = |name: &str| visit.field(name).map(str::trim).unwrap_or_default().to_string();
        Ok(JobFile {
            // Browsers send the line ends of the network.
            text: visit.required("text", "The job file")?.replace("\r\n", "\n"),
            json: field("format") == "json",
            namespace: field("namespace"),
            explain: field("explain"),
            variables: variables.collect(),
            variable_file: visit.field("variable_file").unwrap_or_default().replace("\r\n", "\n"),
        })
    }

    /// The job file of a registered job and what is to be said about it: the one that was submitted, or
    /// one that a command generates.
    ///
    /// # Errors
    /// The job cannot be read.
    pub(crate) async fn registered(visit: &Visit, id: &str, namespace: &str) -> Result<(JobFile, Markup), PageError> {
        let path = visit::path("/v1/job/", id, "");
        let found: Option<Registered> = visit.find(&path, &[("namespace", namespace)]).await?;
        let missing = || PageError::Missing { kind: "job", name: id.to_string() };
        let version = found.ok_or_else(missing)?.version.to_string();
        let query = [("namespace", namespace), ("version", version.as_str())];
        let stored: Option<Submission> = visit.find(&format!("{path}/submission"), &query).await.unwrap_or_default();
        if let Some(stored) = stored.filter(|s| !s.source.is_empty()) {
            let file = JobFile {
                text: stored.source,
                json: stored.format == "json",
                namespace: namespace.into(),
                variables: stored.variable_flags.into_iter().collect(),
                variable_file: stored.variables,
                ..JobFile::default()
            };
            return Ok((file, html! {}));
        }
        let command = Command::new(&["job", "inspect"]).switch("hcl", true).flag("namespace", Some(namespace));
        let output = command.argument(id).run(visit).await?;
        if output.code != 0 {
            return Ok((
                JobFile::default(),
                Failure { code: output.code, text: output.stderr, ..Failure::default() }.markup(),
            ));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let note = notice(Tone::Neutral, &html! { p { (output.stderr.trim()) } });
        Ok((JobFile { text, namespace: namespace.into(), ..JobFile::default() }, note))
    }

    /// A command about the job file.
    ///
    /// # Errors
    /// The file with the variables cannot be written.
    pub(crate) fn command(&self, words: &'static [&'static str]) -> Result<Command, PageError> {
        let mut command = Command::new(words).switch("json", self.json).quiet("-diagnostics=json");
        if !self.namespace.is_empty() {
            command = command.flag("namespace", Some(&self.namespace));
        }
        for (name, value) in &self.variables {
            // People see the name alone: values may be secrets.
            command = command.quiet(format!("-var={name}={value}")).told(format!("-var={name}=…"));
        }
        if !self.variable_file.trim().is_empty() {
            let path = command.file(VARIABLE_FILE, Some(self.variable_file.as_bytes()))?;
            command = command.quiet(format!("-var-file={path}")).told(format!("-var-file={VARIABLE_FILE}"));
        }
        let name = if self.json { "job.json" } else { "job.nomad.hcl" };
        Ok(command.input(self.text.as_bytes(), name))
    }

    /// The namespace of the job: that of the job file, else that of the form.
    ///
    /// # Errors
    /// The job file cannot be read.
    pub(crate) async fn namespace_of_job(&self, visit: &Visit) -> Result<String, PageError> {
        #[derive(Deserialize)]
        struct Output {
            #[serde(rename = "Job")]
            job: Job,
        }
        #[derive(Deserialize)]
        struct Job {
            #[serde(rename = "Namespace")]
            namespace: Option<String>,
        }
        let output = self.command(&["job", "run"])?.quiet("-output").run(visit).await?;
        let job = serde_json::from_slice::<Output>(&output.stdout).ok().and_then(|output| output.job.namespace);
        let given = Some(&self.namespace).filter(|namespace| !namespace.is_empty());
        Ok(job.or_else(|| given.cloned()).unwrap_or_else(|| "default".to_string()))
    }

    /// The editor with all fields.
    pub(crate) fn form(&self, visit: &Visit) -> Markup {
        const FORMATS: [(&str, &str); 2] = [("hcl", "HCL"), ("json", "JSON")];
        let fields = html! {
            div.editor {
                label for="text" { "Job file" }
                textarea id="text" name="text" rows="22" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off"
                    required aria-describedby="editor-help" { "\n" (self.text) }
                p.muted id="editor-help" hidden {
                    "Tab indents. To leave the editor with the keyboard, press Escape, then Tab. Your draft stays in this tab."
                }
            }
            div.fields {
                (form::choice("format", "Format", if self.json { "json" } else { "hcl" }, &FORMATS))
                (form::text("namespace", "Namespace", &self.namespace, "that of the job file"))
                (form::text("explain", "Explain one node in full", &self.explain, "node name or ID"))
            }
            (self.variables())
            p.buttons {
                button.main type="submit" { "Plan" }
                button.quiet type="submit" formaction="/ui/plan/check" data-answer="check" { "Check" }
            }
        };
        html! {
            form.plan id="job" method="post" action="/ui/plan" data-answer="answer" {
                input type="hidden" name="form_token" value=(visit.form_token);
                (fields)
            }
        }
    }

    fn variables(&self) -> Markup {
        let further = std::iter::repeat_n(("", ""), FURTHER);
        let rows = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(further);
        let open = !(self.variables.is_empty() && self.variable_file.is_empty());
        html! {
            details open[open] {
                summary { "Variables" }
                div.variables {
                    @for (i, (name, value)) in rows.enumerate() {
                        div.variable {
                            input type="text" name="variable" value=(name) aria-label={ "Name of variable " (i + 1) } placeholder="name" autocomplete="off";
                            input type="text" name="value" value=(value) aria-label={ "Value of variable " (i + 1) } placeholder="value" autocomplete="off";
                        }
                    }
                }
                label.field {
                    span { "Text of a variable file" }
                    textarea name="variable_file" rows="3" spellcheck="false" placeholder="region = \"eu\"" { "\n" (self.variable_file) }
                }
                p.muted { "Secrets belong in the variable file: it is never part of a command line." }
            }
        }
    }
}
