//! `job run` of a plan file: plans again, and registers if the reviewed outcome is still the outcome.

use std::collections::BTreeSet;

use super::format::Content;
use super::{CHANGED, Opened, open};
use crate::completion::values::{CompleteWith, texts};
use crate::context::{Context, Environment};
use crate::error::{CommandError, CommandResult};
use crate::job_file::JobFile;
use crate::job_plan::JobPlan;
use crate::job_run::{JobRun, Registration};
use crate::render::values;
use encamp_jobspec::explain::nearest;
use encamp_model::quoted;
use encamp_plan::review::{Allow, Verdict, verdict};

/// The flags of `job run` for plan files.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PlanFileFlags {
    /// Register a plan file also if its outcome differs in this: placement-moves, more-placed, fewer-placed,
    /// more-stops, fewer-stops, updates, fewer-evictions, counts or warnings. Can be given several times, or with a
    /// comma-separated list
    #[arg(
        long,
        value_name = "difference",
        action = clap::ArgAction::Append,
        add = CompleteWith::Texts(|| texts(Allow::ALL, |kind| kind.name()))
    )]
    pub allow: Vec<String>,
    /// Register a plan file only if it is signed with the Ed25519 key in this PEM file. Can be given several times
    #[arg(long, value_name = "key file", action = clap::ArgAction::Append, add = CompleteWith::PEM_FILES)]
    pub verify: Vec<String>,
}

impl PlanFileFlags {
    /// Whether one of the flags is given.
    pub(crate) fn given(&self) -> bool {
        !(self.allow.is_empty() && self.verify.is_empty())
    }

    /// The kinds of differences that `-allow` names.
    fn kinds(&self) -> CommandResult<BTreeSet<Allow>> {
        let words = self.allow.iter().flat_map(|list| list.split(','));
        words.map(|word| Allow::from_name(word).ok_or_else(|| unknown(word))).collect()
    }
}

fn unknown(word: &str) -> CommandError {
    let names: Vec<&str> = Allow::ALL.iter().map(|kind| kind.name()).collect();
    let near = nearest(word, names.iter().copied()).map(|n| format!("Did you mean {n}? ")).unwrap_or_default();
    let all = names.join(", ");
    CommandError::new(format!("Invalid -allow value {}", quoted(word)))
        .with_hint(format!("{near}Valid are {all}. Evictions and changes of the job are never allowed"))
}

/// Runs `job run` of a plan file.
pub(crate) fn run(command: &JobRun, path: &str, context: &mut Context<'_, '_>) -> u8 {
    let done = register(command, path, context);
    done.unwrap_or_else(|code| code)
}

/// `Err` is the exit code; the message has been printed.
fn register(command: &JobRun, path: &str, context: &mut Context<'_, '_>) -> Result<u8, u8> {
    if let Some(flag) = command.fixed_by_plan() {
        let text = format!("{flag} cannot be used with a plan file: it would change what was reviewed");
        return Err(context.failure(&text));
    }
    let allow = command.plan_file.kinds().map_err(|e| context.report(&e))?;
    let Opened { content, sealed, verified } =
        open(path, &command.plan_file.verify, &context.env.directory).map_err(|e| context.report(&e))?;
    if let (Some(key), false) = (sealed.key(), verified) {
        context.ui.warn(&format!("The plan is signed with key {key}; without -verify, the signature is not checked."));
    }
    let file = job_file(&content);
    let source = submitted(command, &content, &file, context).map_err(|e| context.report(&e))?;
    let planner = JobPlan::for_run(command.job.clone(), command.general.clone(), command.follow.verbose);
    let (reviewed, notes) =
        planner.present(&file, context.env).map_err(|e| context.refuse(e, command.job.diagnostics))?;
    notes.iter().for_each(|note| context.ui.warn(note));
    let verdict = verdict(&content.outcome, &reviewed.outcome, &allow);
    if !verdict.holds() {
        refuse(&verdict, &content, path, context);
        return Err(CHANGED);
    }
    for difference in &verdict.accepted {
        let kind = difference.allowed_by().map(Allow::name).unwrap_or_default();
        context.ui.warn(&format!("Allowed by -allow {kind}: {difference}"));
    }
    let holds = if verdict.accepted.is_empty() { "is still the outcome" } else { "holds but for what -allow names" };
    context.ui.output(&format!("The outcome that was reviewed {holds} (plan of {}).", made(&content, context.env)));
    let registration =
        Registration { index: Some(content.outcome.job_modify_index), submission: source, conflict: Some(CHANGED) };
    let registered = command.register(&file, registration, context);
    Ok(context.end(registered))
}

/// When a plan was made.
fn made(content: &Content, env: &Environment) -> String {
    values::time(content.created, &env.zone())
}

fn job_file(content: &Content) -> JobFile {
    let recorded = &content.job_file;
    JobFile::recorded(content.job.clone(), &recorded.path, &recorded.source, recorded.format == "json")
}

/// The submission: the text of the job file and the values of its variables, which are not in the plan.
fn submitted(
    command: &JobRun,
    content: &Content,
    file: &JobFile,
    context: &mut Context<'_, '_>,
) -> CommandResult<Option<encamp_model::JobSubmission>> {
    let flags = &command.job.variables;
    let (needed, given) =
        (content.variables.submitted().next().is_some(), !(flags.var.is_empty() && flags.var_file.is_empty()));
    if given {
        content.variables.require(flags, context.env)?;
    } else if needed {
        context.ui.warn(
            "The servers will not store the job file: the plan does not contain the values of its variables. To have \
             it stored, repeat -var and -var-file.",
        );
        return Ok(None);
    }
    Ok(Some(file.submission(flags, context.env)))
}

fn refuse(verdict: &Verdict, content: &Content, path: &str, context: &mut Context<'_, '_>) {
    let made = made(content, context.env);
    context.ui.error(&format!(
        "Job {} not registered: the outcome is no longer the one of the plan of {made}.",
        quoted(content.job_id())
    ));
    for difference in &verdict.refused {
        let allow = match difference.allowed_by() {
            Some(kind) => format!("-allow {}", kind.name()),
            None => "never allowed".into(),
        };
        context.ui.error(&format!("  * {difference} ({allow})"));
    }
    let file = &content.job_file.path;
    context.ui.error(&format!("Plan again and review the new plan: encamp job plan -out {path} {file}"));
}
