//! Planning a job: an editor, what the plan says, and registering exactly what was reviewed.
//!
//! [`job_file`]: the form with the job file and its variables. [`answer`], [`explanation`], [`rollout`]: what a plan says.
//! [`map`]: the nodes that it changes. [`register`]: registering a reviewed plan. [`download`]: the plan as a file.

mod answer;
mod download;
mod explanation;
mod job_file;
mod map;
mod register;
mod rollout;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::questions::{ask, registered};
use super::routes::{QuestionHandler, Reply, Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::command::{self, Outcome};
use crate::parts::diagnostic::{self, Diagnostics};
use crate::parts::form;
use crate::visit::Visit;
use job_file::JobFile;

pub(crate) const ROUTES: Routes = Routes { pages: &[("/ui/plan", handler!(editor))], actions: &[], streams: &[] };

/// The forms of the page.
pub(crate) const QUESTIONS: &[(&str, QuestionHandler)] = &[
    ("/ui/plan", handler!(plan)),
    ("/ui/plan/check", handler!(check)),
    ("/ui/plan/register", handler!(register::register)),
    ("/ui/plan/download", handler!(download::download)),
];

/// The file with the plan, for the time of the command.
const PLAN_FILE: &str = "plan.encamp";

/// `/ui/plan`, `/ui/plan?job=ID@NAMESPACE`
async fn editor(visit: &Visit) -> Result<Page, PageError> {
    let (file, notes) = match registered::named(visit) {
        Some((id, namespace)) => JobFile::registered(visit, id, namespace).await?,
        None => (JobFile::default(), html! {}),
    };
    Ok(page(visit, &file, &notes, &html! {}))
}

/// The page: the editor, then what is said about the job file (`check`), then its plan (`answer`).
fn page(visit: &Visit, file: &JobFile, check: &Markup, answer: &Markup) -> Page {
    let body = html! {
        form.filter method="get" action="/ui/plan" {
            (form::text("job", "Start from a registered job", visit.parameter("job").unwrap_or_default(), "JOB or JOB@NAMESPACE"))
            button type="submit" { "Open" }
        }
        (file.form(visit))
        section id="check" aria-live="polite" { (check) }
        (ask::section(answer))
    };
    Page::new(Area::Plan, "Plan a job", body).with_assets(ask::ASSETS)
}

/// `POST /ui/plan`
async fn plan(visit: &Visit) -> Result<Reply, PageError> {
    let file = JobFile::submitted(visit)?;
    let mut command = file.command(&["job", "plan"])?.quiet("-json-output").quiet("-suggest").quiet("-rollout");
    command = match file.explain.as_str() {
        "" => command.switch("explain", true),
        node => command.flag("explain", Some(node)),
    };
    let out = command.file(PLAN_FILE, None)?;
    let command = command.quiet(format!("-out={out}"));
    let shown = match command.ask::<answer::Plan>(visit).await? {
        Outcome::Failed(failure) => failure.markup(),
        Outcome::Text(text) => html! { pre.said { (text) } },
        Outcome::Answer(found) => {
            let namespace = file.namespace_of_job(visit).await?;
            let plan = command.written(PLAN_FILE).map(|content| STANDARD.encode(content));
            html! {
                (answer::markup(&found.value, &map::markup(visit, &found.value).await))
                (found.remarks())
                (register::form(visit, &found.value, plan.as_deref(), &namespace))
            }
        }
    };
    let shown = html! { (shown) (command::copy(visit, &command)) };
    Ok(Reply::Page(page(visit, &file, &html! {}, &shown)))
}

/// `POST /ui/plan/check`: the diagnostics of the job file, as the person writes it.
async fn check(visit: &Visit) -> Result<Reply, PageError> {
    let file = JobFile::submitted(visit)?;
    let command = file.command(&["job", "validate"])?;
    let found = match command.run(visit).await {
        Ok(output) => match serde_json::from_slice::<Diagnostics>(&output.stdout) {
            Ok(found) if found.valid && found.diagnostics.is_empty() => html! { p { "The job file is valid." } },
            Ok(found) => diagnostic::list(&found.diagnostics),
            Err(_) => html! { pre { (output.stderr.trim()) } },
        },
        Err(e) => html! { p { (e) } },
    };
    Ok(Reply::Page(page(visit, &file, &found, &html! {})))
}
