//! The error of results that cannot be shown in the requested form.

use thiserror::Error;

use super::template::TemplateError;

/// A result that cannot be shown in the requested form.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The result has no JSON form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The template cannot be read, or does not fit the result.
    #[error(transparent)]
    Template(#[from] TemplateError),
}
