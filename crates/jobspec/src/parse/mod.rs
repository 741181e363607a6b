//! Parses job files to client jobs (`docs/spec/jobspec.md §2-4, 6, 8, 9`).
//!
//! - [`variables`]: variables and locals
//! - [`schema`], [`decode`], [`constraint`], [`free`]: the job body
//! - [`normalize`]: normalisation after parsing
//! - [`partial`]: what can be said about a file with mistakes. [`tree`]: its syntax, read once for both
//! - [`api_json`]: jobs as API JSON

mod api_json;
pub(crate) mod constraint;
mod decode;

mod free;
pub(crate) mod normalize;
mod partial;
pub(crate) mod schema;
mod tree;
mod variables;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

pub use api_json::{JobJsonError, JobJsonReason, Kind as JsonKind, Misfit, SyntaxError as JsonSyntaxError, parse_json};

pub use partial::PartialJob;
pub use tree::SyntaxTree;

use encamp_hcl::ast::Body;
use encamp_hcl::body::{BlockRef, BodyRef, Content, Expected};
use encamp_hcl::diag::{Diag, Diagnostics, Sources, Span};
use encamp_hcl::eval::{Evaluator, Names, Scope};
use encamp_hcl::functions::{FunctionContext, RandomBytes};
use encamp_hcl::json::{self, Node};
use encamp_hcl::parser::parse_body;
use encamp_model::api::job::Job;
use variables::VariableFile;

/// Larger files are refused.
const MAX_FILE: usize = 16 << 20;

/// How a job file is read.
#[derive(Clone)]
pub struct ParseOptions {
    /// Base name of the file, as errors show it.
    pub path: String,
    /// `-var` arguments, `name=value`, in order.
    pub vars: Vec<String>,
    /// `-var-file` arguments, in order, relative to the working directory.
    pub var_files: Vec<String>,
    /// The environment; `NOMAD_VAR_<name>` assigns variables.
    pub env: Vec<(String, String)>,
    /// Text of one more variable file, read after the others.
    pub var_content: String,
    /// Undeclared variables are errors.
    pub strict: bool,
    /// Functions may read files.
    pub allow_fs: bool,
    /// The base directory of relative paths.
    pub working_dir: PathBuf,
    /// The value of `~` in `pathexpand`.
    pub home_dir: Option<PathBuf>,
    /// Fills a buffer with random bytes, for `uuidv4` and the salt of `bcrypt`.
    pub random: RandomBytes,
}

impl Default for ParseOptions {
    /// No variables, no files, strict; random bytes are zero.
    fn default() -> Self {
        ParseOptions {
            path: String::new(),
            vars: Vec::new(),
            var_files: Vec::new(),
            env: Vec::new(),
            var_content: String::new(),
            strict: true,
            allow_fs: false,
            working_dir: PathBuf::new(),
            home_dir: None,
            random: Arc::new(|bytes| bytes.fill(0)),
        }
    }
}

/// Why a job file is no job. Prints as Nomad does; [`crate::explain`] tells more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The diagnostics of the phase that failed.
    pub diagnostics: Diagnostics,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostics.fmt(f)
    }
}

impl std::error::Error for ParseError {}

/// A file in either syntax.
pub(crate) enum Document {
    Native(Body),
    Json(Node),
}

impl Document {
    /// The outermost body.
    pub(crate) fn body(&self) -> BodyRef<'_> {
        match self {
            Document::Native(body) => BodyRef::Native(body),
            Document::Json(node) => BodyRef::Json(node),
        }
    }

    /// Reads a text: JSON if the first character other than a space is `{`.
    fn read(bytes: &[u8], name: &str, sources: &Sources) -> Result<Document, Vec<Diag>> {
        let (source, text) = read_text(bytes, name, sources)?;
        if text.trim_start_matches(' ').starts_with('{') {
            json::parse(sources, source).map(Document::Json)
        } else {
            parse_body(sources, source).map(Document::Native)
        }
    }
}

const ROOT: Expected = Expected {
    attributes: &[],
    blocks: &[("job", 1), ("locals", 0), ("variable", 1), ("variables", 0)],
    dynamic: false,
    first: &[],
};

/// Reads a job file in native or JSON syntax.
pub fn parse(body: &[u8], opts: &ParseOptions) -> Result<Job, ParseError> {
    let sources = Sources::default();
    let document = Document::read(body, &opts.path, &sources).map_err(|d| first_only(d, "", &sources))?;
    job(body, &document, &sources, opts)
}

/// The error of which Nomad prints the first diagnostic.
fn first_only(diags: Vec<Diag>, prefix: &str, sources: &Sources) -> ParseError {
    let diagnostics = Diagnostics::new(&diags, sources);
    ParseError { diagnostics: Diagnostics { first_only: true, prefix: prefix.to_owned(), ..diagnostics } }
}

/// The job of a document whose file is the first of the sources.
fn job(body: &[u8], document: &Document, sources: &Sources, opts: &ParseOptions) -> Result<Job, ParseError> {
    let first_only = |diags: Vec<Diag>, prefix: &str| first_only(diags, prefix, sources);
    let mut files = Vec::new();
    for name in &opts.var_files {
        let read = read_file(opts, name).and_then(|bytes| Document::read(&bytes, name, sources));
        let document = read.map_err(|d| first_only(d, "unable to parse var file: "))?;
        files.push(VariableFile { name: name.clone(), document });
    }
    if !opts.var_content.is_empty() {
        let name = &opts.path;
        let document = Document::read(opts.var_content.as_bytes(), name, sources)
            .map_err(|d| first_only(d, "unable to parse var content: "))?;
        files.push(VariableFile { name: name.clone(), document });
    }
    let functions = FunctionContext {
        allow_fs: opts.allow_fs,
        working_dir: opts.working_dir.clone(),
        home_dir: opts.home_dir.clone(),
        random: opts.random.clone(),
    };
    let checks = FunctionContext { allow_fs: false, ..functions.clone() };
    let mut ev = Evaluator::new(sources, body);

    let root = document.body().content(ROOT, &mut ev, &Rc::new(Scope::default()));
    let job = only_job(&root, &mut ev);
    end_phase(&mut ev)?;
    let Some(job) = job else { return Err(first_only(Vec::new(), "")) };
    // Variables and locals are one phase: the errors of both are reported.
    let values = variables::variables(&root, &files, opts, &checks, &mut ev);
    ev.names = Names::Kept;
    ev.functions = Some(&functions);
    let scope = variables::locals(&root, values, &mut ev);
    end_phase(&mut ev)?;

    let mut decoder = decode::Decoder::new(&mut ev);
    let members = decoder.body(job.body, &schema::JOB, &scope);
    let later = decoder.later;
    end_phase(&mut ev).map_err(|mut error| {
        error.diagnostics.later = Diagnostics::new(&later, sources).list;
        error
    })?;
    if !later.is_empty() {
        return Err(first_only(later, ""));
    }
    let label = job.labels.first().map_or("", |l| l.text.as_str());
    normalize::job(members, label)
        .map_err(|error| first_only(vec![Diag::nowhere("Invalid job", error.to_string())], ""))
}

/// Reads a file that is no job file, without a schema: attributes as they are, each kind of block as a list of objects,
/// one level deeper for each label. Expressions know neither variables nor functions that read files.
pub fn parse_free(body: &[u8], name: &str) -> Result<serde_json::Map<String, serde_json::Value>, ParseError> {
    let sources = Sources::default();
    let document = Document::read(body, name, &sources).map_err(|diags| ParseError {
        diagnostics: Diagnostics { first_only: true, ..Diagnostics::new(&diags, &sources) },
    })?;
    let mut ev = Evaluator::new(&sources, body);
    let functions = FunctionContext {
        allow_fs: false,
        working_dir: PathBuf::new(),
        home_dir: None,
        random: Arc::new(|bytes| bytes.fill(0)),
    };
    ev.functions = Some(&functions);
    let members = free::body(document.body(), &mut ev, &Rc::new(Scope::default()));
    end_phase(&mut ev)?;
    Ok(members)
}

/// Ends the parse if a mistake was reported.
fn end_phase(ev: &mut Evaluator) -> Result<(), ParseError> {
    let diags = match ev.exhausted() {
        Some(diag) => vec![diag],
        None => std::mem::take(&mut ev.diags),
    };
    if diags.iter().all(|d| d.warning) {
        Ok(())
    } else {
        Err(ParseError { diagnostics: Diagnostics::new(&diags, ev.sources) })
    }
}

fn only_job<'c, 'a>(root: &'c Content<'a>, ev: &mut Evaluator) -> Option<&'c BlockRef<'a>> {
    let mut jobs = root.blocks.iter().filter(|b| b.kind == "job");
    let first = jobs.next();
    if let (Some(first), Some(second)) = (first, jobs.next()) {
        let place = ev.sources.range(first.def);
        let detail = format!("Only one block of type \"job\" is allowed. Previous definition was at {place}.");
        ev.report(Diag::at(second.def, "Duplicate job block", detail));
    }
    if first.is_none() && ev.diags.is_empty() {
        ev.report(Diag::nowhere("Missing job block", "A job block is required"));
    }
    first
}

/// Adds a file to the sources: its number and its text, unless it is too large or not UTF-8.
pub(super) fn read_text<'a>(bytes: &'a [u8], name: &str, sources: &Sources) -> Result<(u32, &'a str), Vec<Diag>> {
    if bytes.len() > MAX_FILE {
        let detail = format!("The file {name:?} has more than {MAX_FILE} bytes.");
        return Err(vec![Diag::nowhere("File too large", detail)]);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.valid_up_to();
            let source = sources.add(name, &String::from_utf8_lossy(bytes));
            let start = u32::try_from(valid).unwrap_or(u32::MAX);
            let end = start.saturating_add('\u{fffd}'.len_utf8() as u32);
            let detail =
                "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.";
            return Err(vec![Diag::at(Span { source, start, end }, "Invalid character encoding", detail)]);
        }
    };
    Ok((sources.add(name, text), text))
}

fn read_file(opts: &ParseOptions, name: &str) -> Result<Vec<u8>, Vec<Diag>> {
    std::fs::read(opts.working_dir.join(name)).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            io::ErrorKind::IsADirectory => "is a directory".to_owned(),
            _ => error.to_string(),
        };
        let detail = format!("failed to read {name:?}: open {name}: {why}");
        vec![Diag::nowhere("Failed to read file", detail)]
    })
}

#[cfg(test)]
mod tests;
