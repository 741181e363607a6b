//! Open files: their text, what they are, and what is known of them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use lsp_types::Url;
use serde_json::Value as Json;

use crate::cluster::Cluster;
use crate::diagnostics::{Analysis, analyse};
use crate::lens::Planned;
use crate::surroundings::{OtherFile, Surroundings};
use crate::text::Text;
use encamp_jobspec::explain::Syntax;
use encamp_jobspec::explain::outline::Outline;
use encamp_jobspec::parse::{PartialJob, SyntaxTree};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A job file in HCL, or in HCL's JSON form.
    Job,
    /// A job in JSON.
    ApiJob,
    /// One of the other files.
    Other(OtherFile),
    /// A JSON file that is no job: nothing is said about it.
    Unknown,
}

/// An open file.
pub(crate) struct Document {
    /// Its address.
    pub uri: Url,
    /// Its path.
    pub path: PathBuf,
    /// The directory that functions of the file read from.
    pub directory: PathBuf,
    /// The version of the text, as the client counts.
    pub version: i32,
    /// The text.
    pub text: Text,
    /// What it is.
    pub kind: Kind,
    derived: Derived,
    /// What was derived from the former text, until there is time to free it.
    former: Option<Derived>,
    /// The version that was planned last, and what the plan says.
    planned: Option<(i32, Planned)>,
}

/// What is derived from a text.
#[derive(Default)]
struct Derived {
    /// Kept only while problems are searched, since it is large.
    tree: OnceCell<SyntaxTree>,
    outline: OnceCell<Rc<Outline>>,
    partial: OnceCell<Rc<PartialJob>>,
    analysis: OnceCell<Rc<Analysis>>,
    job: OnceCell<Option<Json>>,
}

impl Document {
    /// A file that was opened.
    pub(crate) fn new(uri: Url, directory: PathBuf, version: i32, text: Text) -> Document {
        let path = uri.to_file_path().unwrap_or_else(|()| PathBuf::from(uri.path()));
        let (kind, derived) = recognised(&path, text.as_str());
        Document { uri, path, directory, version, text, kind, derived, former: None, planned: None }
    }

    /// The last component of the path, as positions name the file.
    pub(crate) fn name(&self) -> String {
        name_of(&self.path)
    }

    /// Sets aside what was derived from a former text.
    pub(crate) fn changed(&mut self, version: i32) {
        self.version = version;
        let (kind, derived) = recognised(&self.path, self.text.as_str());
        self.kind = kind;
        self.former = Some(std::mem::replace(&mut self.derived, derived));
    }

    /// Forgets what depends on the cluster.
    pub(crate) fn cluster_changed(&mut self) {
        self.derived.analysis = OnceCell::new();
        self.planned = None;
    }

    /// Frees what is not needed any more, once the problems are shown: that takes a part of the time of finding them.
    pub(crate) fn tidy(&mut self) {
        self.former = None;
        self.derived.tree = OnceCell::new();
    }

    /// Notes what a plan of a version says.
    pub(crate) fn set_planned(&mut self, version: i32, planned: Planned) {
        self.planned = Some((version, planned));
    }

    /// The version that was planned last, and what the plan says.
    pub(crate) fn planned(&self) -> Option<&(i32, Planned)> {
        self.planned.as_ref()
    }

    /// How the job file is written.
    pub(crate) fn syntax(&self) -> Syntax {
        if self.kind == Kind::ApiJob { Syntax::Api } else { Syntax::Hcl }
    }

    /// Whether the file is in HCL's native syntax.
    pub(crate) fn is_native(&self) -> bool {
        !matches!(self.kind, Kind::ApiJob | Kind::Unknown) && !self.text.as_str().trim_start().starts_with('{')
    }

    /// The syntax of a job file in HCL or HCL's JSON form, for what is found out together.
    pub(crate) fn tree(&self) -> &SyntaxTree {
        self.derived.tree.get_or_init(|| SyntaxTree::read(&self.name(), self.text.as_str()))
    }

    /// The blocks and attributes, as far as they can be read.
    pub(crate) fn outline(&self) -> &Rc<Outline> {
        self.derived.outline.get_or_init(|| {
            let (name, text) = (self.name(), self.text.as_str());
            Rc::new(match self.derived.tree.get() {
                Some(tree) => Outline::of(&name, tree),
                None if self.is_native() => Outline::partial(&name, text),
                None => Outline::read(&name, text, self.syntax()),
            })
        })
    }

    /// The job as far as it can be read, with the values of variables and locals.
    pub(crate) fn partial(&self, around: &dyn Surroundings) -> &Rc<PartialJob> {
        self.derived.partial.get_or_init(|| {
            let options = around.parse_options(&self.name(), &self.directory);
            Rc::new(match self.derived.tree.get() {
                Some(tree) => tree.partial_job(&options),
                None => SyntaxTree::read(&options.path, self.text.as_str()).partial_job(&options),
            })
        })
    }

    /// The problems, and the job if it is valid so far.
    pub(crate) fn analysis(&self, around: &dyn Surroundings, cluster: Option<&Cluster>) -> &Rc<Analysis> {
        self.derived.analysis.get_or_init(|| Rc::new(analyse(self, around, cluster)))
    }

    /// The job with all defaults, in JSON; `None` if it cannot be read.
    pub(crate) fn job_json(&self, around: &dyn Surroundings) -> Option<&Json> {
        let job = || {
            // What was read for the problems is not read again.
            let known = self.derived.analysis.get().and_then(|analysis| analysis.job.clone());
            let mut job = known.or_else(|| self.partial(around).job.clone())?;
            encamp_jobspec::canonicalize::canonicalize(&mut job);
            serde_json::to_value(job).ok()
        };
        self.derived.job.get_or_init(job).as_ref()
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| "file".into(), |n| n.to_string_lossy().into_owned())
}

/// What a file is, by its name and its outermost names, with what was read to know it.
fn recognised(path: &Path, text: &str) -> (Kind, Derived) {
    if let Some(kind) = kind_of(path, text) {
        return (kind, Derived::default());
    }
    let name = name_of(path);
    let tree = SyntaxTree::read(&name, text);
    let outline = Outline::of(&name, &tree);
    let kind = by_content(&outline);
    let mut derived = Derived::default();
    if kind == Kind::Job {
        (derived.tree, derived.outline) = (OnceCell::from(tree), OnceCell::from(Rc::new(outline)));
    }
    (kind, derived)
}

/// What a file is, by its name or its first character; `None`: its names decide.
fn kind_of(path: &Path, text: &str) -> Option<Kind> {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    if name.ends_with(".nomadvars") || name.ends_with(".vars.hcl") || name.ends_with(".var") {
        return Some(Kind::Other(OtherFile::Variables));
    }
    if name.ends_with(".json") || text.trim_start().starts_with('{') {
        let is_hcl = text.contains("\"job\"");
        let is_api = ["\"Job\"", "\"TaskGroups\""].iter().any(|word| text.contains(word));
        return Some(match (is_api, is_hcl) {
            (true, _) => Kind::ApiJob,
            (false, true) => Kind::Job,
            (false, false) => Kind::Unknown,
        });
    }
    (name.ends_with(".nomad") || name.ends_with(".nomad.hcl")).then_some(Kind::Job)
}

fn by_content(outline: &Outline) -> Kind {
    let root = &outline.root;
    let has = |names: &[&str]| root.blocks.iter().any(|b| names.contains(&b.kind.as_str()));
    let sets = |names: &[&str]| names.iter().all(|name| root.setting(name).is_some());
    if has(&["job", "variable", "variables", "locals"]) {
        Kind::Job
    } else if has(&["server", "client", "ports", "addresses", "telemetry", "tls", "plugin", "acl", "advertise"])
        || root.setting("data_dir").is_some()
    {
        Kind::Other(OtherFile::AgentConfiguration)
    } else if sets(&["id", "type"]) || (sets(&["name", "type"]) && has(&["capability"])) {
        Kind::Other(OtherFile::Volume)
    } else if root.setting("name").is_some() && has(&["capabilities", "node_pool_config"]) {
        Kind::Other(OtherFile::Namespace)
    } else if has(&["namespace", "node_pool", "host_volume", "agent", "node", "operator", "quota"]) {
        Kind::Other(OtherFile::Policy)
    } else {
        Kind::Job
    }
}
