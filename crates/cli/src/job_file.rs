//! Reading job files (`docs/spec/cli.md §4.8`).

use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::completion::values::{CompleteWith, Files};
use super::context::Environment;
use super::diagnostics::{DiagnosticsFormat, Refused};
use super::environment_variables::FILE_FUNCTIONS;
use super::error::{CommandError, CommandResult, ErrorContext};
use super::flags::FlagKind;
use encamp_api::path;
use encamp_jobspec::admission::AdmissionError;
use encamp_jobspec::edit::{self, EditError, FileEdit};
use encamp_jobspec::explain::outline::Outline;
use encamp_jobspec::explain::{
    Finding, Place, Severity, Syntax, parse_error, parse_json_error, plain_secrets, terraform_names, validation,
};
use encamp_jobspec::parse::{ParseOptions, parse, parse_json};
use encamp_model::{JobSubmission, api, parse_bool, quoted};
use encamp_plan::PlanError;
use encamp_plan::remarks::{Remark, findings};
use encamp_plan::suggest::changes;
use encamp_plan::suggest::edit::Edit;
use encamp_snapshot::file as snapshot;

/// The flags that set the variables of a job file.
#[derive(Debug, Clone, clap::Args)]
pub struct VariableFlags {
    /// Reject variables that the job file does not declare
    #[arg(long, switch = Some(true))]
    pub hcl2_strict: bool,
    /// Value of a variable of the job file, as key=value. Can be given several times
    #[arg(long, value_name = "key=value", action = clap::ArgAction::Append)]
    pub var: Vec<String>,
    /// HCL file with values of variables of the job file. Can be given several times
    #[arg(
        long,
        value_name = "path",
        action = clap::ArgAction::Append,
        add = CompleteWith::Files(Files::Named(&["hcl", "var", "json"]))
    )]
    pub var_file: Vec<String>,
}

/// The flags of commands that read a job file.
#[derive(Debug, Clone, clap::Args)]
pub struct JobFileFlags {
    /// The job file is JSON instead of HCL: a job object, optionally inside a top-level "Job" key
    #[arg(long)]
    pub json: bool,
    /// Format of diagnostics: text on standard error, or json on standard output
    #[arg(long, value_name = "format", value_enum, default_value_t = DiagnosticsFormat::Text)]
    pub diagnostics: DiagnosticsFormat,
    #[command(flatten)]
    pub(crate) variables: VariableFlags,
    /// Vault namespace to set in the job
    #[arg(long, value_name = "namespace")]
    pub vault_namespace: Option<String>,
}

impl VariableFlags {
    /// The flags that `job plan` repeats in the command it suggests, each followed by a space.
    pub fn run_args(&self, namespace: Option<&str>) -> String {
        let mut out: Vec<String> = self.var.iter().map(|v| format!("-var={} ", quoted(v))).collect();
        out.extend(self.var_file.iter().map(|f| format!("-var-file={} ", quoted(f))));
        out.extend(namespace.map(|n| format!("-namespace={} ", quoted(n))));
        out.extend((!self.hcl2_strict).then(|| "-hcl2-strict=false ".to_string()));
        out.concat()
    }

    /// How a job file of this name is parsed.
    pub(crate) fn options(&self, name: &str, env: &Environment) -> ParseOptions {
        ParseOptions {
            path: name.to_string(),
            vars: self.var.clone(),
            var_files: self.var_file.clone(),
            env: env.vars.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            strict: self.hcl2_strict,
            allow_fs: env.var(FILE_FUNCTIONS).and_then(parse_bool) != Some(false),
            working_dir: env.directory.clone(),
            home_dir: env.var("HOME").map(PathBuf::from),
            random: Arc::new(fill_random),
            ..ParseOptions::default()
        }
    }

    /// Reads a job file in HCL.
    pub fn load(&self, path: &str, env: &Environment) -> Result<JobFile, Refused> {
        let source = read(path, env).context(GETTING)?;
        source.refuse_snapshot()?;
        match parse(&source.content, &self.options(&source.name, env)) {
            Ok(job) => Ok(source.with(job, Syntax::Hcl)),
            Err(e) => {
                let error = CommandError::new(format!("{GETTING}: Error parsing job file from {path}:\n{e}"));
                Err(Refused { error, findings: source.located(parse_error(&e)) })
            }
        }
    }
}

impl JobFileFlags {
    /// Reads the job file, or standard input for `-`.
    pub fn load(&self, path: &str, env: &Environment) -> Result<JobFile, Refused> {
        let mut file = if self.json { self.load_json(path, env)? } else { self.variables.load(path, env)? };
        if let Some(namespace) = self.vault_namespace.clone().filter(|n| !n.is_empty()) {
            file.job.vault_namespace = Some(namespace);
        }
        Ok(file)
    }

    /// The job of an edited text of a file that was read with the same flags.
    ///
    /// # Errors
    /// The text describes no job.
    pub(crate) fn again(&self, file: &JobFile, text: &str, env: &Environment) -> CommandResult<api::Job> {
        let parsed = match file.syntax {
            Syntax::Api => parse_json(text.as_bytes()).map_err(|e| e.to_string()),
            Syntax::Hcl => {
                let options = self.variables.options(&file.source.name, env);
                parse(text.as_bytes(), &options).map_err(|e| e.to_string())
            }
        };
        let mut job = parsed.map_err(|e| CommandError::new(format!("The edited job file is no job: {e}")))?;
        if let Some(namespace) = self.vault_namespace.clone().filter(|n| !n.is_empty()) {
            job.vault_namespace = Some(namespace);
        }
        Ok(job)
    }

    fn load_json(&self, path: &str, env: &Environment) -> Result<JobFile, Refused> {
        if !(self.variables.var.is_empty() && self.variables.var_file.is_empty()) {
            return Err(CommandError::new("Invalid job options: cannot use variables with JSON files.").into());
        }
        let source = read(path, env).context(GETTING)?;
        source.refuse_snapshot()?;
        match parse_json(&source.content) {
            Ok(job) => Ok(source.with(job, Syntax::Api)),
            Err(e) => {
                let finding = parse_json_error(&source.name, &source.text(), &e);
                let error = CommandError::new(format!("{GETTING}: {e}"));
                Err(Refused { error, findings: source.located(vec![finding]) })
            }
        }
    }
}

/// The ends of the names of job files in HCL.
pub const HCL_ENDINGS: &[&str] = &[".nomad", ".hcl"];
/// The ends of the names of job files in JSON.
pub const JSON_ENDINGS: &[&str] = &[".json"];

/// The job files that paths name: files, and those in directories, sorted by name. `json`: job files are JSON.
///
/// # Errors
/// A directory cannot be read, or has no job files.
pub fn expanded(paths: &[String], json: bool, env: &Environment) -> CommandResult<Vec<String>> {
    let endings = if json { JSON_ENDINGS } else { HCL_ENDINGS };
    let mut out = Vec::new();
    for path in paths {
        let directory = env.directory.join(path);
        if !directory.is_dir() {
            out.push(path.clone());
            continue;
        }
        let failed = format!("Error reading directory {path:?}");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&directory).context(&failed)? {
            let entry = entry.context(&failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_file() && endings.iter().any(|e| name.ends_with(e)) && !name.starts_with('.') {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Err(CommandError::new(format!("No job files ({}) in directory {path:?}", endings.join(", "))));
        }
        names.sort();
        out.extend(names.into_iter().map(|name| format!("{}/{name}", path.trim_end_matches('/'))));
    }
    Ok(out)
}

/// A job, and the file it came from.
pub struct JobFile {
    pub(crate) job: api::Job,
    source: Source,
    syntax: Syntax,
}

impl JobFile {
    /// The submission that servers store with the job: the text of the file and the values of its variables.
    pub fn submission(&self, variables: &VariableFlags, env: &Environment) -> JobSubmission {
        let flags = variables.var.iter().filter_map(|v| v.split_once('='));
        // Parsing has already read these files; a file that was removed since is missing from the submission.
        let files = variables.var_file.iter().filter_map(|f| std::fs::read_to_string(env.directory.join(f)).ok());
        JobSubmission {
            source: self.text(),
            format: self.format().into(),
            // Servers unescape the values when they are read.
            variable_flags: flags.map(|(name, value)| (name.to_string(), path("", value, ""))).collect(),
            variables: files.collect::<Vec<_>>().join("\n"),
            ..JobSubmission::default()
        }
    }

    /// The file of a recorded job, from its path, its text, and whether it is JSON.
    pub fn recorded(job: api::Job, path: &str, text: &str, json: bool) -> JobFile {
        let source = Source { name: base_name(path), path: path.into(), content: text.as_bytes().to_vec() };
        source.with(job, if json { Syntax::Api } else { Syntax::Hcl })
    }

    /// The path of the file, for display.
    pub fn path(&self) -> &str {
        &self.source.path
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        self.source.text()
    }

    /// The name of its format in submissions.
    pub fn format(&self) -> &'static str {
        if matches!(self.syntax, Syntax::Api) { "json" } else { "hcl2" }
    }

    /// The findings of errors or warnings about the job, with their places in the file.
    pub fn findings(&self, items: &[String], severity: Severity) -> Vec<Finding> {
        let outline = self.outline();
        self.source.located(validation(&outline, items, severity))
    }

    fn outline(&self) -> Outline {
        Outline::read(&self.source.name, &self.source.text(), self.syntax)
    }

    /// Where an edit is in the file; `None`: it is none of the file, or the file has no such place.
    pub(crate) fn place_of(&self, edit: &Edit) -> Option<Place> {
        let outline = self.outline();
        let mut place = changes(edit).first().and_then(|edit| edit::place(&outline, edit))?;
        place.range.file.clone_from(&self.source.path);
        Some(place)
    }

    /// The text of the file after edits.
    ///
    /// # Errors
    /// A value is not written literally, or the file has no such block.
    pub(crate) fn rewritten(&self, edits: &[FileEdit]) -> Result<String, EditError> {
        edit::rewritten(&self.outline(), self.syntax, edits)
    }

    /// Remarks on the job, with their places in the file, and what the file itself makes remarkable.
    pub fn remarks(&self, remarks: &[Remark]) -> Vec<Finding> {
        let outline = self.outline();
        let mut all = terraform_names(&outline, self.syntax);
        all.extend(plain_secrets(&outline));
        all.extend(findings(&outline, remarks));
        self.source.located(all)
    }

    /// Why the job cannot be planned, with the positions of the problems.
    pub fn refused(&self, e: &PlanError) -> Refused {
        let items: &[String] = match e {
            PlanError::Admission(AdmissionError::Invalid(items)) => items,
            _ => &[],
        };
        let error = CommandError::new(format!("Error during plan: {e}"));
        Refused { error, findings: self.findings(items, Severity::Error) }
    }
}

impl Source {
    /// Detects a cluster state given instead of a job file: a snapshot, compressed or not, or a backup.
    fn refuse_snapshot(&self) -> CommandResult<()> {
        if !snapshot::looks_like_one(&self.content) {
            return Ok(());
        }
        Err(CommandError::new(format!(
            "{GETTING}: {} is a snapshot of a cluster, not a job file: give it with -snapshot to job plan, capacity or \
             what-if, and the job file after the flags",
            self.path
        )))
    }

    fn with(self, job: api::Job, syntax: Syntax) -> JobFile {
        JobFile { job, source: self, syntax }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }

    /// Names the file by its path, as the user did.
    fn located(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let places = findings.iter_mut().flat_map(|f| f.place.iter_mut().chain(f.related.iter_mut().map(|(p, _)| p)));
        for place in places.filter(|p| p.range.file == self.name) {
            place.range.file.clone_from(&self.path);
        }
        findings
    }
}

/// The beginning of the messages about job files that cannot be read.
const GETTING: &str = "Error getting job struct";

/// Random bytes from the hasher keys that the standard library gets from the operating system.
fn fill_random(bytes: &mut [u8]) {
    for chunk in bytes.chunks_mut(8) {
        let word = RandomState::new().hash_one(0_u8).to_ne_bytes();
        chunk.iter_mut().zip(word).for_each(|(byte, random)| *byte = random);
    }
}

/// The content of a job file.
struct Source {
    /// The name in the positions of error messages: the last component of the path, or `stdin`.
    name: String,
    /// The path of the file, for display.
    path: String,
    content: Vec<u8>,
}

/// Reads a job file, or standard input for `-`.
fn read(path: &str, env: &Environment) -> CommandResult<Source> {
    if path != "-" {
        return Ok(Source { name: base_name(path), path: path.into(), content: read_file(path, env)? });
    }
    let mut content = Vec::new();
    match std::io::stdin().lock().read_to_end(&mut content) {
        Ok(_) => Ok(Source { name: "stdin".into(), path: "stdin".into(), content }),
        Err(e) => Err(CommandError::new(format!("Error reading standard input: {}", cause(&e)))),
    }
}

fn read_file(path: &str, env: &Environment) -> CommandResult<Vec<u8>> {
    let fail = |text: String| CommandError::new(format!("Error getting jobfile from {}: {text}", quoted(path)));
    if path.contains("://") || path.contains("::") {
        return Err(fail("only local files and - are supported; download the file and give its path".into()));
    }
    let full = absolute(&env.directory, path);
    let shown = full.display();
    let metadata =
        std::fs::metadata(&full).map_err(|e| fail(format!("source path error: stat {shown}: {}", cause(&e))))?;
    if metadata.is_dir() {
        return Err(fail(format!("source path error: {shown} is a directory")));
    }
    std::fs::read(&full).map_err(|e| fail(format!("open {shown}: {}", cause(&e))))
}

/// The absolute path, without `.` and `..`, resolved without access to the file system.
fn absolute(directory: &Path, path: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

fn base_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_string(), |n| n.to_string_lossy().into_owned())
}

/// The text of an I/O error in the usual wording of Unix tools.
pub fn cause(e: &std::io::Error) -> String {
    let text = match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory",
        std::io::ErrorKind::PermissionDenied => "permission denied",
        std::io::ErrorKind::NotADirectory => "not a directory",
        std::io::ErrorKind::AlreadyExists => "file exists",
        _ => return e.to_string(),
    };
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_without_looking() {
        let dir = Path::new("/home/op");
        assert_eq!(absolute(dir, "jobs/./x.hcl"), Path::new("/home/op/jobs/x.hcl"));
        assert_eq!(absolute(dir, "../x.hcl"), Path::new("/home/x.hcl"));
        assert_eq!(absolute(dir, "/a/../../b"), Path::new("/b"));
    }
}
