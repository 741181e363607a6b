//! `snapshot diff`: compares two snapshots.

use super::cluster::SnapshotFlags;
use super::prelude::*;
use super::render::table::{Form, cell, headed, table};
use super::render::ui::Ui;
use super::render::{page, values};
use super::snapshot_inspect::used;
use encamp_jobspec::diff::diff_jobs;
use encamp_model::{ClientStatus, DiffType, FieldDiff, Job, JobDiff, ObjectDiff};
use encamp_snapshot::ClusterSnapshot;
use encamp_snapshot::diff::{Change, Field, JobChange, ObjectChange, Side, SnapshotDiff, diff};

/// The maximum number of lines about one object; further lines are only counted.
const MOST_LINES: usize = 8;
/// The maximum number of objects of a section, unless all are asked for; further objects are only counted.
const MOST_OBJECTS: usize = 20;

/// A part of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Client nodes.
    Nodes,
    /// Jobs and their versions.
    Jobs,
    /// Allocations by job and task group.
    Allocations,
    /// Deployments.
    Deployments,
    /// Node pools.
    Pools,
    /// Namespaces.
    Namespaces,
    /// Volumes.
    Volumes,
    /// The scheduler configuration.
    Config,
}

impl Part {
    /// The heading of its section.
    fn heading(self) -> &'static str {
        match self {
            Part::Nodes => "Nodes",
            Part::Jobs => "Jobs",
            Part::Allocations => "Allocations",
            Part::Deployments => "Deployments",
            Part::Pools => "Node pools",
            Part::Namespaces => "Namespaces",
            Part::Volumes => "Volumes",
            Part::Config => "Scheduler configuration",
        }
    }

    /// What the summary calls so many of its changes.
    fn counted(self, n: usize) -> String {
        let (one, many) = match self {
            Part::Allocations => return format!("allocations of {}", values::counted(n, "task group", "task groups")),
            Part::Nodes => ("node", "nodes"),
            Part::Jobs => ("job", "jobs"),
            Part::Deployments => ("deployment", "deployments"),
            Part::Pools => ("node pool", "node pools"),
            Part::Namespaces => ("namespace", "namespaces"),
            Part::Volumes => ("volume", "volumes"),
            Part::Config => ("setting of the scheduler", "settings of the scheduler"),
        };
        values::counted(n, one, many)
    }
}

/// Compare two cluster snapshots
///
/// Compares two snapshot files: added, removed and changed nodes, registered, changed and stopped jobs and the
/// differences between their versions, allocations by job and task group, deployments, node pools, namespaces, volumes,
/// the scheduler configuration, and resource usage. The source, the time and the index of the snapshots are not
/// compared.
///
/// The output begins with a summary. For changed jobs, only the changed fields are named, not their values, which may be
/// secret.
#[derive(Debug, clap::Parser)]
pub struct SnapshotDiffCommand {
    /// Print everything as JSON, see docs/reference/snapshot-diff.schema.json
    #[arg(long)]
    pub json: bool,
    /// Print only these parts of the comparison, separated by commas
    #[arg(long, value_name = "parts", value_enum, value_delimiter = ',')]
    pub only: Vec<Part>,
    /// Print all changes of each part. By default, the first 20 are printed
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
    #[arg(value_name = "<old> <new>", add = CompleteWith::InTurn(&[CompleteWith::ANY_FILE, CompleteWith::ANY_FILE]))]
    pub(crate) args: Vec<String>,
}

impl Run for SnapshotDiffCommand {
    const META: Meta = Meta::new("snapshot diff")
        .usage_exit(255)
        .flags_anywhere()
        .paged()
        .exit_status(&[(0, "The snapshots are equal."), (1, "The snapshots differ."), (255, "An error occurred.")])
        .offline_examples(&[
            ("Compare two snapshots", "encamp snapshot diff monday.json.zst tuesday.json.zst"),
            ("Print the differences as JSON", "encamp snapshot diff -json monday.json.zst tuesday.json.zst"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [old, new] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <old file> <new file>");
        };
        context.attempt(|context| {
            let diff = self.compare(old, new, context.env)?;
            match self.json {
                true => context.print_json(&diff)?,
                false => self.print(&diff, context.ui),
            }
            Ok(u8::from(!diff.equal))
        })
    }
}

impl SnapshotDiffCommand {
    fn print(&self, diff: &SnapshotDiff, ui: &mut Ui<'_>) {
        let sections = sections(diff);
        ui.output(&format!("{}\n", page::sentence(&summary_line(diff, &sections))));
        ui.output_markup("[bold]Snapshots[reset]");
        ui.output(&snapshots(diff));
        let wanted = |part: Part| self.only.is_empty() || self.only.contains(&part);
        for section in sections.iter().filter(|s| wanted(s.part) && s.changes > 0) {
            ui.output_markup(&format!("\n[bold]{}[reset]", section.part.heading()));
            let shown = if self.all { usize::MAX } else { MOST_OBJECTS };
            ui.output(&section.text(shown));
        }
    }

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
    for group in diff.task_groups.iter().filter(|g| g.r#type != DiffType::None) {
        let path = format!("Group {:?} ", group.name);
        if group.r#type != DiffType::Edited {
            out.push(format!("{path}{}", group.r#type.as_str().to_lowercase()));
            continue;
        }
        add_fields(&path, &group.fields, &mut out);
        add_objects(&path, &group.objects, &mut out);
        for task in group.tasks.iter().filter(|t| t.r#type != DiffType::None) {
            let path = format!("{path}Task {:?} ", task.name);
            if task.r#type != DiffType::Edited {
                out.push(format!("{path}{}", task.r#type.as_str().to_lowercase()));
                continue;
            }
            add_fields(&path, &task.fields, &mut out);
            add_objects(&path, &task.objects, &mut out);
        }
    }
    Ok(out)
}

fn add_fields(path: &str, fields: &[FieldDiff], out: &mut Vec<String>) {
    let changed = fields.iter().filter(|f| f.r#type != DiffType::None);
    out.extend(changed.map(|f| format!("{path}{} {}", f.name, f.r#type.as_str().to_lowercase())));
}

fn add_objects(path: &str, objects: &[ObjectDiff], out: &mut Vec<String>) {
    for object in objects.iter().filter(|o| o.r#type != DiffType::None) {
        let path = format!("{path}{}", object.name);
        if object.r#type == DiffType::Edited {
            add_fields(&format!("{path}."), &object.fields, out);
            add_objects(&format!("{path}."), &object.objects, out);
        } else {
            out.push(format!("{path} {}", object.r#type.as_str().to_lowercase()));
        }
    }
}

/// The changes of one part.
struct Section {
    part: Part,
    /// How many objects differ.
    changes: usize,
    body: Body,
}

enum Body {
    /// The lines about each object.
    Objects(Vec<Vec<String>>),
    /// The rows of a table below its heading.
    Rows(&'static str, Vec<String>),
}

impl Section {
    /// The text of at most so many objects.
    fn text(&self, most: usize) -> String {
        let mut text = match &self.body {
            Body::Objects(objects) => objects.iter().take(most).flatten().cloned().collect::<Vec<_>>().join("\n"),
            Body::Rows(head, rows) => table(&headed(head, rows.iter().take(most).cloned()), Form::Figures),
        };
        let rest = self.changes.saturating_sub(most);
        if rest > 0 {
            text.push_str(&format!("\nand {rest} more; use -all to list them"));
        }
        text
    }
}

/// The parts of the comparison.
fn sections(d: &SnapshotDiff) -> Vec<Section> {
    let head = "Namespace|Job|Group|Placed|Moved|Stopped|Completed|Failed|Lost|Removed|Other";
    let rows = d.allocations.iter().map(|g| {
        let counts = [g.placed, g.moved, g.stopped, g.completed, g.failed, g.lost, g.removed, g.other];
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        format!("{}|{}|{}|{}", cell(&g.namespace), cell(&g.job_id), cell(&g.task_group), counts.join("|"))
    });
    let configuration = d.scheduler_configuration.iter().map(|f| vec![field(f)]).collect();
    let lists = [
        (Part::Nodes, Body::Objects(objects(&d.nodes))),
        (Part::Jobs, Body::Objects(d.jobs.iter().map(job).collect())),
        (Part::Allocations, Body::Rows(head, rows.collect())),
        (Part::Deployments, Body::Objects(objects(&d.deployments))),
        (Part::Pools, Body::Objects(objects(&d.node_pools))),
        (Part::Namespaces, Body::Objects(objects(&d.namespaces))),
        (Part::Volumes, Body::Objects(objects(&d.volumes))),
        (Part::Config, Body::Objects(configuration)),
    ];
    let section = |(part, body)| {
        let changes = match &body {
            Body::Objects(objects) => objects.len(),
            Body::Rows(_, rows) => rows.len(),
        };
        Section { part, changes, body }
    };
    lists.into_iter().map(section).collect()
}

/// The answer: what differs.
fn summary_line(d: &SnapshotDiff, sections: &[Section]) -> String {
    if d.equal {
        return "Nothing changed.".into();
    }
    let parts: Vec<String> = sections.iter().filter(|s| s.changes > 0).map(|s| s.part.counted(s.changes)).collect();
    if parts.is_empty() {
        return "The snapshots differ.".into();
    }
    format!("The snapshots differ in {}.", parts.join(", "))
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

fn objects(changes: &[ObjectChange]) -> Vec<Vec<String>> {
    let lines = changes.iter().map(|c| {
        let name = if c.name.is_empty() || c.name == c.id { c.id.clone() } else { format!("{} ({})", c.id, c.name) };
        std::iter::once(format!("{} {name}", sign(c.change)))
            .chain(some(c.fields.iter().map(field).collect()))
            .collect()
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
