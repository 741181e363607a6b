//! A registered job that a question is about.

use maud::Markup;

use super::ask::{text, value};
use crate::cluster::Source;
use crate::error::PageError;
use crate::parts::command::quoted;
use crate::parts::{form, link};
use crate::visit::{self, Visit};

/// A registered job.
#[derive(Debug)]
pub(crate) struct Registered {
    pub namespace: String,
    pub id: String,
    /// The job as the API writes it.
    pub json: String,
}

/// The field with the job: `ID@NAMESPACE`.
pub(crate) fn field(visit: &Visit) -> Markup {
    form::text("job", "Job", text(visit, "job"), "JOB or JOB@NAMESPACE")
}

/// The ID and the namespace of the job that the address names: `job=ID@NAMESPACE`, or `job=ID&namespace=NAMESPACE`.
pub(crate) fn named(visit: &Visit) -> Option<(&str, &str)> {
    let job = value(visit, "job")?;
    Some(value(visit, "namespace").map_or_else(|| link::split(job), |namespace| (job, namespace)))
}

/// The job that the address names.
///
/// # Errors
/// It does not exist, or cannot be read.
pub(crate) async fn read(visit: &Visit) -> Result<Option<Registered>, PageError> {
    let Some((id, namespace)) = named(visit) else { return Ok(None) };
    let path = visit::path("/v1/job/", id, "");
    match visit.read_text(&path, &[("namespace", namespace)]).await {
        Ok(json) => Ok(Some(Registered { namespace: namespace.into(), id: id.into(), json })),
        Err(e) if e.is_missing() => Err(PageError::Missing { kind: "job", name: id.to_string() }),
        Err(e) => Err(e),
    }
}

impl Registered {
    /// A command line that prints the job, for another one.
    pub(crate) fn printed(&self, visit: &Visit) -> String {
        let file = match visit.source() {
            Source::File { name, .. } => format!(" {}", quoted(&format!("-snapshot={name}"))),
            Source::Agent { .. } | Source::Address(_) => String::new(),
        };
        let namespace = quoted(&format!("-namespace={}", self.namespace));
        format!("encamp job inspect {namespace}{file} -- {} | ", quoted(&self.id))
    }
}
