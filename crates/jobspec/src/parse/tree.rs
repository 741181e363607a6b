//! The syntax of a job file, for editors: the text is read once for its job, its outline, and what is known of a file
//! with mistakes.

use super::partial::{document, partial_job};
use super::{Document, ParseError, ParseOptions, PartialJob, first_only, job};
use encamp_hcl::diag::Sources;
use encamp_model::api::job::Job;

/// The syntax of a job file in native or JSON syntax, as far as it can be read.
pub struct SyntaxTree {
    text: String,
    sources: Sources,
    document: Document,
    whole: bool,
    error: Option<ParseError>,
}

impl SyntaxTree {
    /// Reads a file. `name`: what positions call it.
    pub fn read(name: &str, text: &str) -> SyntaxTree {
        let mut sources = Sources::default();
        let (document, whole, error) = match Document::read(text.as_bytes(), name, &sources) {
            Ok(document) => (document, true, None),
            Err(diags) => {
                let error = first_only(diags, "", &sources);
                sources = Sources::default();
                let (document, whole) = document(text, name, &sources);
                (document, whole, Some(error))
            }
        };
        SyntaxTree { text: text.to_owned(), sources, document, whole, error }
    }

    /// Whether the syntax of the file has mistakes.
    pub fn is_broken(&self) -> bool {
        self.error.is_some()
    }

    /// The job, as [`super::parse`] reads it.
    ///
    /// # Errors
    /// The file has mistakes: those of the first phase that found some.
    pub fn job(&self, opts: &ParseOptions) -> Result<Job, ParseError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => job(self.text.as_bytes(), &self.document, &self.sources, opts),
        }
    }

    /// The job as far as possible; [`SyntaxTree::job`] says whether it is right.
    pub fn partial_job(&self, opts: &ParseOptions) -> PartialJob {
        partial_job(&self.text, &self.document, self.whole, &self.sources, opts)
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The outermost body, and the texts that its positions refer to.
    pub(crate) fn document(&self) -> (&Document, &Sources) {
        (&self.document, &self.sources)
    }
}
