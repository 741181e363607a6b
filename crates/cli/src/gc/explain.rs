//! `gc explain`: when an object is deleted, and what keeps it.

use crate::prelude::*;
use encamp_model::quoted;

use super::super::cluster::ClusterFlags;
use super::super::lookup::LookupError;
use super::super::render::gc;
use super::source::{Found, explanation_of, json_of};
use super::when::WhenFlags;

/// Explain when an object is garbage-collected, and what keeps it
///
/// Shows whether the periodic garbage collection of the servers deletes an object, from when on, which setting of the
/// servers decides that, and the chain of objects that keep it. The object is an evaluation, allocation, job,
/// deployment, node, ACL token (by its accessor) or root key; a unique prefix of its ID is enough.
///
/// The running cluster is read, or a snapshot file or server backup. What the source does not show is said.
#[derive(Debug, clap::Parser)]
pub struct GcExplain {
    /// Print the explanation as JSON, see docs/reference/gc-explain.schema.json
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) when: WhenFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id")]
    pub(crate) id: String,
}

impl Run for GcExplain {
    const META: Meta = Meta::new("gc explain").paged().examples(&[
        ("Explain what keeps an evaluation", "encamp gc explain 2c3f8e0a"),
        ("Print the explanation as JSON", "encamp gc explain -json 2c3f8e0a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| self.explain(self.id.trim(), context))
    }
}

impl GcExplain {
    fn explain(&self, id: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let when = self.when.read()?;
        if id.chars().count() < 2 {
            return Err(LookupError::TooShort { what: "Identifier" }.into());
        }
        let found = explanation_of(&self.cluster, &self.general, context.env, id, when)?;
        let Found { result, source, notes } = found;
        let Some(explanation) = result.explanation else {
            return Err(match result.matches.as_slice() {
                [] => LookupError::NotFound(format!("No object with prefix or ID {} found in {source}", quoted(id))),
                several => LookupError::Ambiguous {
                    objects: None,
                    line: "Prefix matched multiple objects".into(),
                    list: gc::matches(several),
                },
            }
            .into());
        };
        if self.json {
            context.ui.output(&json_of(&explanation, &source, &notes)?);
            return Ok(0);
        }
        notes.iter().for_each(|note| context.ui.warn(&format!("Note: {note}")));
        gc::explanation(context.ui, &explanation, &context.env.zone());
        Ok(0)
    }
}
