//! `snapshot diff`: compares two snapshots.

use super::cluster::SnapshotFlags;
use super::command::Run;
use super::context::{Context, Environment};
use super::error::{CommandError, CommandResult};
use super::general::ColourFlags;
use super::render::json;
use super::render::table::{Form, table};
use super::snapshot_inspect::used;
use encamp_jobspec::diff::diff_jobs;
use encamp_model::{ClientStatus, FieldDiff, Job, JobDiff, ObjectDiff};
use encamp_snapshot::ClusterSnapshot;
use encamp_snapshot::diff::{Change, Field, JobChange, ObjectChange, Side, SnapshotDiff, diff};

/// The maximum number of lines about one object; further lines are only counted.
const MOST_LINES: usize = 8;

/// Compare two cluster snapshots
///
/// Compares two snapshot files: added, removed and changed nodes, registered, changed and stopped jobs and the
/// differences between their versions, allocations by job and task group, deployments, node pools, namespaces, volumes,
/// the scheduler configuration, and resource usage. The source, the time and the index of the snapshots are not
/// compared.
///
/// For changed jobs, only the changed fields are named, not their values, which may be secret.
#[derive(Debug, clap::Parser)]
pub struct SnapshotDiffCommand {
    /// Print everything as JSON, see docs/reference/snapshot-diff.schema.json
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
    #[arg(value_name = "<old> <new>")]
    pub(crate) args: Vec<String>,
}

impl Run for SnapshotDiffCommand {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [old, new] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <old file> <new file>");
        };
        let diff = match self.compare(old, new, context.env) {
            Ok(diff) => diff,
            Err(e) => return context.report(&e),
        };
        if self.json {
            match json::indented(&diff) {
                Ok(text) => context.ui.output(&text),
                Err(e) => return context.failure(&e.to_string()),
            }
            return u8::from(!diff.equal);
        }
        for (heading, text) in sections(&diff) {
            context.ui.output_markup(&format!("[bold]{heading}[reset]"));
            context.ui.output(&format!("{text}\n"));
        }
        context.ui.output(if diff.equal { "Nothing changed" } else { "The snapshots differ" });
        u8::from(!diff.equal)
    }
}

impl SnapshotDiffCommand {
    fn compare(&self, old: &str, new: &str, env: &Environment) -> CommandResult<SnapshotDiff> {
        let (old, new) = (self.reading.load(old, env)?, self.reading.load(new, env)?);
        let mut diff = diff(&old, &new);
        for change in diff.jobs.iter_mut().filter(|j| j.change == Change::Changed) {
            let job = |s: &ClusterSnapshot| s.state.job(&change.namespace, &change.id).cloned();
            change.summary = summary(job(&old).as_deref(), job(&new).as_deref())?;
        }
        Ok(diff)
    }
}

/// The fields in which two versions of a job differ.
fn summary(old: Option<&Job>, new: Option<&Job>) -> CommandResult<Vec<String>> {
    let diff: JobDiff = diff_jobs(old, new, false).map_err(CommandError::new)?;
    let mut out = Vec::new();
    add_fields("", &diff.fields, &mut out);
    add_objects("", &diff.objects, &mut out);
    for group in diff.task_groups.iter().filter(|g| g.r#type != "None") {
        let path = format!("Group {:?} ", group.name);
        if group.r#type != "Edited" {
            out.push(format!("{path}{}", group.r#type.to_lowercase()));
            continue;
        }
        add_fields(&path, &group.fields, &mut out);
        add_objects(&path, &group.objects, &mut out);
        for task in group.tasks.iter().filter(|t| t.r#type != "None") {
            let path = format!("{path}Task {:?} ", task.name);
            if task.r#type != "Edited" {
                out.push(format!("{path}{}", task.r#type.to_lowercase()));
                continue;
            }
            add_fields(&path, &task.fields, &mut out);
            add_objects(&path, &task.objects, &mut out);
        }
    }
    Ok(out)
}

fn add_fields(path: &str, fields: &[FieldDiff], out: &mut Vec<String>) {
    let changed = fields.iter().filter(|f| f.r#type != "None");
    out.extend(changed.map(|f| format!("{path}{} {}", f.name, f.r#type.to_lowercase())));
}

fn add_objects(path: &str, objects: &[ObjectDiff], out: &mut Vec<String>) {
    for object in objects.iter().filter(|o| o.r#type != "None") {
        let path = format!("{path}{}", object.name);
        if object.r#type == "Edited" {
            add_fields(&format!("{path}."), &object.fields, out);
            add_objects(&format!("{path}."), &object.objects, out);
        } else {
            out.push(format!("{path} {}", object.r#type.to_lowercase()));
        }
    }
}

/// The sections to print: headings and texts.
fn sections(d: &SnapshotDiff) -> Vec<(&'static str, String)> {
    let mut out = vec![("Snapshots", snapshots(d))];
    let lists = [
        ("Nodes", objects(&d.nodes)),
        ("Jobs", d.jobs.iter().flat_map(job).collect()),
        ("Deployments", objects(&d.deployments)),
        ("Node pools", objects(&d.node_pools)),
        ("Namespaces", objects(&d.namespaces)),
        ("Volumes", objects(&d.volumes)),
        ("Scheduler configuration", d.scheduler_configuration.iter().map(field).collect::<Vec<_>>()),
    ];
    out.extend(lists.into_iter().filter(|(_, l)| !l.is_empty()).map(|(heading, lines)| (heading, lines.join("\n"))));
    if !d.allocations.is_empty() {
        let head = "Namespace|Job|Group|Placed|Moved|Stopped|Completed|Failed|Lost|Removed|Other";
        let rows = d.allocations.iter().map(|g| {
            let counts = [g.placed, g.moved, g.stopped, g.completed, g.failed, g.lost, g.removed, g.other];
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            format!("{}|{}|{}|{}", g.namespace, g.job_id, g.task_group, counts.join("|"))
        });
        let lines: Vec<String> = std::iter::once(head.to_string()).chain(rows).collect();
        out.push(("Allocations", table(&lines, Form::List)));
    }
    out
}

fn snapshots(d: &SnapshotDiff) -> String {
    let row = |name: &str, s: &Side| {
        let taken = s.taken_at.unix_nanos().map(|_| s.taken_at.to_string()).unwrap_or_default();
        let allocations: usize = s.allocations.values().sum();
        let running = s.allocations.get(&ClientStatus::Running).copied().unwrap_or(0);
        let ready = format!("{}/{}", s.nodes.ready, s.nodes.total);
        format!("{name}|{taken}|{}|{ready}|{running}/{allocations}|{}", s.index, used(&s.used, &s.capacity))
    };
    let head = "|Taken at|Index|Nodes ready|Allocations running|CPU|Memory|Disk";
    table(&[head.to_string(), row("Old", &d.old), row("New", &d.new)], Form::Spaced)
}

fn sign(change: Change) -> &'static str {
    match change {
        Change::Added => "+",
        Change::Removed => "-",
        Change::Changed => "+/-",
    }
}

fn objects(changes: &[ObjectChange]) -> Vec<String> {
    let lines = changes.iter().flat_map(|c| {
        let name = if c.name.is_empty() || c.name == c.id { c.id.clone() } else { format!("{} ({})", c.id, c.name) };
        std::iter::once(format!("{} {name}", sign(c.change))).chain(some(c.fields.iter().map(field).collect()))
    });
    lines.collect()
}

fn job(c: &JobChange) -> Vec<String> {
    let mut lines = vec![format!("{} {} in namespace {}", sign(c.change), c.id, c.namespace)];
    lines.extend(some(c.fields.iter().map(field).chain(c.summary.iter().map(|s| format!("    {s}"))).collect()));
    lines
}

fn field(f: &Field) -> String {
    let side = |text: &str| if text.is_empty() { "<none>".to_string() } else { text.to_string() };
    format!("    {}: {} => {}", f.name, side(&f.old), side(&f.new))
}

/// The first lines, and the number of further lines.
fn some(mut lines: Vec<String>) -> Vec<String> {
    let rest = lines.len().saturating_sub(MOST_LINES);
    if rest > 1 {
        lines.truncate(MOST_LINES);
        lines.push(format!("    and {rest} more"));
    }
    lines
}
