//! Reads job files with mistakes as far as possible: each phase goes on with what the one before it leaves.

use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::variables::{self, VariableFile};
use super::{Document, ParseError, ParseOptions, ROOT, decode, free, normalize, only_job, read_file, schema};
use encamp_hcl::diag::{Diag, Diagnostics, Sources};
use encamp_hcl::eval::{Evaluator, Names, Scope};
use encamp_hcl::functions::FunctionContext;
use encamp_hcl::json;
use encamp_hcl::parser;
use encamp_model::api::job::Job;

/// What is known of a job file that may have mistakes.
#[derive(Debug, Clone)]
pub struct PartialJob {
    /// The job, without the attributes that are wrong.
    pub job: Option<Job>,
    /// Whether every block of the file is in the job: only then does what is missing in it miss in the file.
    pub whole: bool,
    /// The diagnostics of all phases but those of the syntax.
    pub diagnostics: ParseError,
    /// The values of the variables, those that have one.
    pub variables: Map<String, Json>,
    /// The values of the locals, those that can be evaluated.
    pub locals: Map<String, Json>,
}

/// What is known of the job of a document whose file is the first of the sources. `whole`: no block of it is lost.
pub(super) fn partial_job(
    text: &str,
    document: &Document,
    whole: bool,
    sources: &Sources,
    opts: &ParseOptions,
) -> PartialJob {
    let mut files = Vec::new();
    for name in &opts.var_files {
        if let Ok(document) = read_file(opts, name).and_then(|bytes| Document::read(&bytes, name, sources)) {
            files.push(VariableFile { name: name.clone(), document });
        }
    }
    let functions = FunctionContext {
        allow_fs: opts.allow_fs,
        working_dir: opts.working_dir.clone(),
        home_dir: opts.home_dir.clone(),
        random: opts.random.clone(),
    };
    let checks = FunctionContext { allow_fs: false, ..functions.clone() };
    let mut ev = Evaluator::new(sources, text.as_bytes());
    let root = document.body().content(ROOT, &mut ev, &Rc::new(Scope::default()));
    let job = only_job(&root, &mut ev);
    let values = variables::variables(&root, &files, opts, &checks, &mut ev);
    ev.names = Names::Kept;
    ev.functions = Some(&functions);
    let scope = variables::locals(&root, values, &mut ev);
    let known = |root: &str| {
        let entries = scope.roots.get(root).into_iter().flatten();
        let known = entries.filter(|(_, value)| value.is_wholly_known());
        known.filter_map(|(name, value)| Some((name.to_string(), free::to_json(value)?))).collect()
    };
    let (variables, locals) = (known("var"), known("local"));
    let mut later = Vec::new();
    let members = job.map(|job| {
        let mut decoder = decode::Decoder::new(&mut ev);
        let members = decoder.body(job.body, &schema::JOB, &scope);
        later = decoder.later;
        (members, job.labels.first().map_or("", |l| l.text.as_str()))
    });
    let mut diags: Vec<Diag> = std::mem::take(&mut ev.diags);
    diags.extend(ev.exhausted());
    diags.extend(later);
    PartialJob {
        job: members.and_then(|(members, label)| normalize::job(members, label).ok()),
        whole,
        diagnostics: ParseError { diagnostics: Diagnostics::new(&diags, sources) },
        variables,
        locals,
    }
}

/// As much of a document as can be read, and whether no block of it is lost.
pub(super) fn document(text: &str, name: &str, sources: &Sources) -> (Document, bool) {
    if text.trim_start_matches(' ').starts_with('{') {
        let source = sources.add(name, text);
        if let Ok(node) = json::parse(sources, source) {
            return (Document::Json(node), true);
        }
        return (Document::Native(encamp_hcl::ast::Body::default()), false);
    }
    let (_, partial) = parser::parse_partial(sources, name, text);
    (Document::Native(partial.body), !partial.lost_blocks)
}
