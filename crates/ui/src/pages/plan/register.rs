//! Registering exactly the plan that was reviewed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encamp_acl::Capability;
use maud::{Markup, html};

use super::answer::Plan;
use super::job_file::JobFile;
use super::{PLAN_FILE, page};
use crate::error::PageError;
use crate::pages::Done;
use crate::pages::routes::Reply;
use crate::parts::command::{self, Command};
use crate::parts::link;
use crate::parts::state::{Tone, verdict};
use crate::visit::Visit;

/// The exit code of `job run` if the outcome is not the reviewed one any more.
const CHANGED: i32 = 3;
/// Differences that a person may accept: names of `-allow`, in words.
const DIFFERENCES: [(&str, &str); 8] = [
    ("placement-moves", "allocations are placed on other nodes"),
    ("more-placed", "more allocations are placed"),
    ("fewer-placed", "fewer allocations are placed"),
    ("more-stops", "more allocations are stopped"),
    ("fewer-stops", "fewer allocations are stopped"),
    ("updates", "other allocations are updated"),
    ("fewer-evictions", "fewer allocations are preempted"),
    ("warnings", "other warnings"),
];

/// What can be done with a plan. Its fields belong to the form of the editor, so that a refused plan can be planned again.
pub(crate) fn form(visit: &Visit, plan: &Plan, content: Option<&str>, namespace: &str) -> Markup {
    let live = visit.source().is_live();
    let may = visit.offers_in(namespace, &[Capability::SubmitJob, Capability::RegisterJob]);
    let index = plan.job_modify_index();
    html! {
        h3 { "This plan" }
        @if let Some(content) = content {
            input type="hidden" form="job" name="plan" value=(content);
            input type="hidden" form="job" name="planned_job" value=(plan.job_id());
            input type="hidden" form="job" name="planned_namespace" value=(namespace);
        }
        @if may && content.is_some() {
            p {
                @if index == 0 { "The job is registered only if it still does not exist" }
                @else { "The job is registered only if nobody has changed it since (modify index " (index) ")" }
                ", and if a plan of the cluster as it is then has the same outcome."
            }
            details {
                summary { "Differences that are accepted" }
                @for (name, text) in DIFFERENCES {
                    label.switch { input type="checkbox" form="job" name="allow" value=(name); span { (text) } }
                }
            }
        }
        p.buttons {
            @if may && content.is_some() {
                button.main type="submit" form="job" formaction="/ui/plan/register" data-plain { "Register as reviewed" }
            }
            @if content.is_some() { (download("plan", "Plan file")) }
            (download("markdown", "Markdown"))
            (download("html", "HTML"))
        }
        p.muted { "The plan file is the plan above. Markdown and HTML are planned again from the editor." }
        @if live && !may { p.muted { "Your token may not register this job." } }
        @if !live { p.muted { "A snapshot file cannot register a job: register the plan file with encamp job run." } }
    }
}

fn download(kind: &str, title: &str) -> Markup {
    html! {
        button.quiet type="submit" form="job" formaction={ "/ui/plan/download?as=" (kind) } data-plain { "Download " (title) }
    }
}

/// The plan that was reviewed, from the form.
///
/// # Errors
/// There is none, or it was not sent as it was.
pub(crate) fn reviewed(visit: &Visit) -> Result<Vec<u8>, PageError> {
    let content = visit.required("plan", "The plan")?;
    STANDARD
        .decode(content)
        .map_err(|_| PageError::Input("The plan of the form is damaged: plan the job again.".into()))
}

/// `POST /ui/plan/register`
pub(crate) async fn register(visit: &Visit) -> Result<Reply, PageError> {
    visit.live_only()?;
    let file = JobFile::submitted(visit)?;
    let mut run = Command::new(&["job", "run"]).switch("detach", true);
    let accepted = visit.fields().iter().filter(|(name, _)| name == "allow").map(|(_, value)| value);
    for name in accepted.filter(|value| DIFFERENCES.iter().any(|(name, _)| name == value)) {
        run = run.flag("allow", Some(name));
    }
    let path = run.file(PLAN_FILE, Some(&reviewed(visit)?))?;
    let run = run.argument(path);
    let output = run.run(visit).await?;
    let (job, namespace) =
        (visit.required("planned_job", "The job")?, visit.field("planned_namespace").unwrap_or("default"));
    if output.code == 0 {
        let message = format!("Job {job} is registered as reviewed.");
        return Ok(Reply::Done(Done::new(link::job_address(namespace, job, ""), message)));
    }
    let said = format!("{}\n{}", output.stderr.trim(), String::from_utf8_lossy(&output.stdout).trim());
    let title = if output.code == CHANGED {
        "The job was not registered: the outcome is not the reviewed one any more. Plan it again and review the new plan."
    } else {
        "The job was not registered."
    };
    let answer = html! {
        (verdict(Tone::Bad, title))
        pre.said { (said.trim()) }
        p.buttons { button.main type="submit" form="job" { "Plan again" } }
        (command::copy(visit, &run.named(PLAN_FILE)))
    };
    Ok(Reply::Page(page(visit, &file, &html! {}, &answer)))
}
