//! A plan as a file.

use super::job_file::JobFile;
use super::page;
use super::register::reviewed;
use crate::error::PageError;
use crate::pages::routes::{Download, Reply};
use crate::parts::command::Failure;
use crate::visit::Visit;
use maud::html;

/// The file with the page, for the time of the command.
const HTML_FILE: &str = "plan.html";

/// `POST /ui/plan/download?as=plan|markdown|html`
pub(crate) async fn download(visit: &Visit) -> Result<Reply, PageError> {
    let file = match visit.parameter("as") {
        Some("plan") => Download { name: "plan.encamp", kind: "application/octet-stream", content: reviewed(visit)? },
        Some("markdown") => return report(visit, false).await,
        Some("html") => return report(visit, true).await,
        _ => return Err(PageError::Input("A plan can be downloaded as a plan file, as Markdown or as HTML.".into())),
    };
    Ok(Reply::File(file))
}

/// Plans the job again, for a report.
async fn report(visit: &Visit, html: bool) -> Result<Reply, PageError> {
    let job_file = JobFile::submitted(visit)?;
    let mut command = job_file.command(&["job", "plan"])?;
    command = if html {
        let path = command.file(HTML_FILE, None)?;
        command.quiet(format!("-html={path}"))
    } else {
        command.quiet("-markdown")
    };
    let output = command.run(visit).await?;
    let written =
        if html { command.written(HTML_FILE) } else { Some(output.stdout).filter(|_| (0..=1).contains(&output.code)) };
    let Some(content) = written.filter(|content| !content.is_empty()) else {
        let failure = Failure { code: output.code, text: output.stderr, ..Failure::default() };
        return Ok(Reply::Page(page(visit, &job_file, &html! {}, &failure.markup())));
    };
    let (name, kind) =
        if html { ("plan.html", "text/html; charset=utf-8") } else { ("plan.md", "text/markdown; charset=utf-8") };
    Ok(Reply::File(Download { name, kind, content }))
}
