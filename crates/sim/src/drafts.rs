//! Jobs generated from a kind: names, sizes, priorities, datacenters, versions; stored the way a server stores them.

use super::cluster::JobError;
use super::kinds::Kind;
use super::nodes::DATACENTERS;
use encamp_jobspec::admission::{ServerContext, admit};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_model::random::Random;
use encamp_model::*;

/// The namespaces: name, what it is for.
pub(crate) const NAMESPACES: [(&str, &str); 6] = [
    ("default", "Default shared namespace"),
    ("data", "Pipelines and reports"),
    ("ml", "Models and notebooks"),
    ("payments", "Everything around money"),
    ("platform", "What the others run on"),
    ("search", "Search and catalogue"),
];

const WORDS: [&str; 36] = [
    "account", "address", "audit", "basket", "billing", "booking", "catalog", "chat", "coupon", "customer", "delivery",
    "feed", "fraud", "gallery", "image", "index", "invoice", "ledger", "loyalty", "mail", "media", "offer", "order",
    "payout", "photo", "price", "profile", "push", "quote", "rating", "refund", "review", "session", "stock", "ticket",
    "video",
];

/// Thousandths that sizes are multiplied with; 1 on average.
const SIZES: [i64; 8] = [500, 650, 800, 1000, 1000, 1100, 1300, 1650];

/// A kind, read and ready to draw jobs from.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The kind.
    pub kind: &'static Kind,
    job: api::Job,
    drawn: usize,
}

/// The largest MHz and MB one allocation may ask for, and thousandths that asks are multiplied with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Thousandths for CPU.
    pub cpu: i64,
    /// Thousandths for memory.
    pub memory: i64,
    /// Most MHz of a task.
    pub most_cpu: i64,
    /// Most MB of a task.
    pub most_memory: i64,
}

impl Scale {
    /// Sizes as they are.
    pub(crate) const ONE: Scale = Scale { cpu: 1000, memory: 1000, most_cpu: i64::MAX, most_memory: i64::MAX };
}

impl Pattern {
    /// Reads the job file of a kind.
    pub(crate) fn new(kind: &'static Kind) -> Result<Pattern, JobError> {
        Ok(Pattern { kind, job: kind.parse()?, drawn: 0 })
    }

    /// MHz and MB one allocation of each group asks for, unscaled.
    pub(crate) fn base(&self) -> (i64, i64) {
        let resources = |g: &api::TaskGroup| {
            let tasks = g.tasks.iter().flatten().filter_map(|t| t.resources.as_ref());
            tasks.fold((0, 0), |(cpu, memory), r| (cpu + r.cpu.unwrap_or(0), memory + r.memory_mb.unwrap_or(0)))
        };
        let groups = self.job.task_groups.iter().flatten().map(resources);
        groups.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Draws a job. The indexes, times and status are not set.
    pub(crate) fn draw(
        &mut self,
        counts: &[i64],
        scale: Scale,
        server: &ServerContext,
        random: &mut Random,
    ) -> Result<Job, JobError> {
        let mut job = self.job.clone();
        let id = self.id();
        self.drawn += 1;
        let namespace = random.pick(&NAMESPACES).map_or("default", |(name, _)| name);
        (job.name, job.id, job.namespace) = (Some(id.clone()), Some(id), Some(namespace.into()));
        let offset = random.pick(&[-10, -5, 0, 0, 5, 10]).copied().unwrap_or(0);
        job.priority = Some((job.priority.unwrap_or(50) + offset).clamp(1, 100));
        job.datacenters = Some(datacenters(random));
        let size = random.pick(&SIZES).copied().unwrap_or(1000);
        let image = random.below(60) + 2;
        let groups = job.task_groups.iter_mut().flatten();
        for (group, count) in groups.zip(counts.iter().chain(std::iter::repeat(&1))) {
            group.count = Some(*count);
            for task in group.tasks.iter_mut().flatten() {
                tag_image(task.config.as_mut().and_then(|c| c.get_mut("image")), image);
                if let Some(r) = &mut task.resources {
                    let scaled = |v: i64, by: i64| v.saturating_mul(size).saturating_mul(by) / 1_000_000;
                    r.cpu = r.cpu.map(|v| round_cpu(scaled(v, scale.cpu).min(scale.most_cpu)));
                    r.memory_mb = r.memory_mb.map(|v| round_memory(scaled(v, scale.memory).min(scale.most_memory)));
                }
            }
        }
        stored(job, server)
    }

    /// The job of the file itself, for jobs there is one of.
    pub(crate) fn only(&self, server: &ServerContext) -> Result<Job, JobError> {
        let mut job = self.job.clone();
        job.datacenters = Some(vec!["*".into()]);
        job.namespace = Some("platform".into());
        stored(job, server)
    }

    fn id(&self) -> String {
        let word = WORDS.get(self.drawn % WORDS.len()).copied().unwrap_or_default();
        let round = self.drawn / WORDS.len();
        let suffix = if round == 0 { String::new() } else { format!("-{}", round + 1) };
        format!("{word}-{}{suffix}", self.kind.name)
    }
}

/// The job as registration stores it.
fn stored(mut job: api::Job, server: &ServerContext) -> Result<Job, JobError> {
    canonicalize(&mut job);
    let options = ConvertOptions { region: server.region.clone(), ..Default::default() };
    let job = to_server(&job, &options).map_err(|e| JobError::Convert(e.to_string()))?;
    Ok(admit(job, server, None)?.job)
}

/// Everywhere mostly, else two datacenters or one.
fn datacenters(random: &mut Random) -> Vec<String> {
    let [(a, _), (b, _), (c, _)] = DATACENTERS;
    let list: &[&str] = match random.below(20) {
        0..12 => &["*"],
        12..15 => &[a, b],
        15..17 => &[a, c],
        17..19 => &[a],
        _ => &[b],
    };
    list.iter().map(|d| d.to_string()).collect()
}

fn tag_image(image: Option<&mut serde_json::Value>, tag: u64) {
    if let Some(serde_json::Value::String(image)) = image
        && let Some((name, _)) = image.rsplit_once(':')
    {
        *image = format!("{name}:{tag}");
    }
}

/// The version before: an older image. `None` if the job has no image to be older.
pub(crate) fn version_before(job: &Job) -> Option<Job> {
    let mut old = job.clone();
    let mut changed = false;
    for task in old.task_groups.iter_mut().flat_map(|g| &mut g.tasks) {
        if let Some(serde_json::Value::String(image)) = task.config.get_mut("image")
            && let Some((name, tag)) = image.rsplit_once(':')
            && let Ok(tag) = tag.parse::<u64>()
        {
            *image = format!("{name}:{}", tag.saturating_sub(1));
            changed = true;
        }
    }
    changed.then_some(old)
}

/// Sizes as people write them.
fn round_cpu(mhz: i64) -> i64 {
    let step = if mhz >= 500 { 50 } else { 10 };
    (mhz / step * step).max(20)
}

fn round_memory(mb: i64) -> i64 {
    let step = match mb {
        1024.. => 128,
        256.. => 32,
        64.. => 8,
        _ => 4,
    };
    (mb / step * step).max(16)
}
