//! `operator debug`: collects what helps to find out why a cluster misbehaves (`docs/spec/cli.md §14`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::future::{join, join_all};
use serde::Serialize;
use tokio::time::Instant;

use crate::flags::parse_int;
use crate::prelude::*;
use crate::render::table::{Form, table};
use encamp_api::stream::Event;
use encamp_api::types::AgentMembers;
use encamp_api::{ApiError, Client, Query};
use encamp_model::duration::parse_duration;
use encamp_model::responses::NodeListStub;
use encamp_model::{SECOND, format_duration};
use encamp_snapshot::replace::{make_private, replace};

/// The most that is kept of the log of one agent.
const MOST_LOG: usize = 32 << 20;
/// The longest collection.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What is read once, in the folder `cluster`.
const ONCE: &[(&str, &str)] = &[
    ("agent-self", "/v1/agent/self"),
    ("members", "/v1/agent/members"),
    ("regions", "/v1/regions"),
    ("leader", "/v1/status/leader"),
];

/// What is read at each interval, in a folder of its own.
const REPEATED: &[(&str, &str)] = &[
    ("allocations", "/v1/allocations?namespace=*"),
    ("csi-plugins", "/v1/plugins?type=csi"),
    ("csi-volumes", "/v1/volumes?type=csi&namespace=*"),
    ("deployments", "/v1/deployments?namespace=*"),
    ("evaluations", "/v1/evaluations?namespace=*"),
    ("host-volumes", "/v1/volumes?type=host&namespace=*"),
    ("jobs", "/v1/jobs?namespace=*"),
    ("metrics", "/v1/metrics"),
    ("namespaces", "/v1/namespaces"),
    ("node-pools", "/v1/node/pools"),
    ("nodes", "/v1/nodes?resources=true"),
    ("operator-autopilot-health", "/v1/operator/autopilot/health"),
    ("operator-raft", "/v1/operator/raft/configuration"),
    ("operator-scheduler", "/v1/operator/scheduler/configuration"),
];

/// Collect information about a cluster in an archive
///
/// Captures, for a while, the logs of servers and nodes, and at each interval the lists of jobs, allocations, nodes,
/// evaluations, deployments and volumes, the metrics, and the state of Raft and Autopilot. What cannot be read is listed
/// in index.json, for example because the token does not allow it.
///
/// The archive holds no tokens, keys and variables. It does contain log messages, and the environment of the agents'
/// machines, from which agents remove what looks like a secret: read it before you give it to somebody.
#[derive(Debug, clap::Parser)]
pub struct Debug {
    /// How long logs are captured
    #[arg(long, value_name = "duration", default_value = "5m")]
    pub duration: String,
    /// How often the lists are captured
    #[arg(long, value_name = "duration", default_value = "30s")]
    pub interval: String,
    /// Minimum level of the log messages
    #[arg(long, value_name = "level", default_value = "TRACE")]
    pub log_level: String,
    /// Include the source location in each log message
    #[arg(long)]
    pub log_include_location: bool,
    /// Maximum number of nodes
    #[arg(long, value_name = "count", default_value = "10", value_parser = parse_int)]
    pub max_nodes: i64,
    /// Capture only nodes of this class
    #[arg(long, value_name = "class", default_value = "")]
    pub node_class: String,
    /// Capture these nodes: IDs or prefixes separated by commas, or all
    #[arg(long, value_name = "ids", default_value = "all", add = CompleteWith::Live(Objects::Nodes))]
    pub node_id: String,
    /// Capture these servers: names separated by commas, leader, or all
    #[arg(long, value_name = "names", default_value = "all")]
    pub server_id: String,
    /// Write the files to a new directory below this one instead of an archive
    #[arg(long, value_name = "directory")]
    pub output: Option<String>,
    /// Allow any server to respond, even if there is no leader
    #[arg(long)]
    pub stale: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for Debug {
    const META: Meta = Meta::new("operator debug").former_names(&[FormerName::accepted("debug")]).examples(&[
        ("Collect logs, metrics and lists for ten seconds", "encamp operator debug -duration 10s -interval 5s"),
        (
            "Collect the log of the leader alone, into a directory",
            "encamp operator debug -duration 2s -interval 1s -server-id leader \\\n    -max-nodes 1 -output debug",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let times = (length("duration", &self.duration), length("interval", &self.interval));
        let (duration, interval) = match times {
            (Ok(duration), Ok(interval)) => (duration, interval),
            (Err(e), _) | (_, Err(e)) => return context.report(&e),
        };
        if interval > duration {
            return context.failure("Error parsing interval: it is longer than -duration");
        }
        context.connected(&self.general, |c, context| {
            let name = format!("nomad-debug-{}", folder_name(context.env.now));
            let cluster = Cluster::find(&self, c)?;
            let agents = format!("{} of {}", cluster.nodes.len(), cluster.all_nodes);
            let about = [
                format!("Servers|{} of {}", cluster.servers.len(), cluster.all_servers),
                format!("Nodes|{agents}"),
                format!("Interval|{}", self.interval),
                format!("Duration|{}", self.duration),
            ];
            context.ui.output(&format!("Starting debugger...\n\n{}\n", table(&about, Form::KeyValue)));
            let capture = Capture { flags: &self, c, cluster, duration, interval };
            match &self.output {
                Some(below) => {
                    let folder = context.env.directory.join(below).join(&name);
                    fs::create_dir_all(&folder).context("Error creating the directory")?;
                    capture.run(&mut Target::Folder(folder.clone()), context).context("Error writing the files")?;
                    context.ui.output(&format!("Created debug directory: {}", folder.display()));
                }
                None => {
                    let path = context.env.directory.join(format!("{name}.tar.gz"));
                    let write = |file: &mut File| {
                        make_private(file)?;
                        let archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
                        let mut target = Target::Archive(Box::new(archive), &name);
                        capture.run(&mut target, context)?;
                        target.finish()
                    };
                    replace(&path, write).context("Error creating the archive")?;
                    context.ui.output(&format!("Created debug archive: {name}.tar.gz"));
                }
            }
            Ok(0)
        })
    }
}

/// A duration of a flag.
fn length(flag: &str, text: &str) -> CommandResult<Duration> {
    let nanos = parse_duration(text).map_err(|e| CommandError::new(format!("Error parsing {flag}: {e}")))?;
    let positive = u64::try_from(nanos).ok().filter(|n| *n > 0).map(Duration::from_nanos);
    positive.filter(|d| *d <= LONGEST).ok_or_else(|| {
        let longest = format_duration(i64::try_from(LONGEST.as_nanos()).unwrap_or(i64::MAX));
        CommandError::new(format!("Error parsing {flag}: it must be above 0s and at most {longest}"))
    })
}

/// `2026-11-27-123700Z`.
fn folder_name(now: i64) -> String {
    let time = jiff::Timestamp::from_second(now.div_euclid(SECOND)).unwrap_or_default();
    time.strftime("%Y-%m-%d-%H%M%SZ").to_string()
}

/// The agents whose logs are captured.
struct Cluster {
    /// Names.
    servers: Vec<String>,
    all_servers: usize,
    /// IDs.
    nodes: Vec<String>,
    all_nodes: usize,
}

impl Cluster {
    fn find(flags: &Debug, c: &Connection) -> CommandResult<Cluster> {
        let query = flags.query();
        let members = c.wait(c.client.get::<AgentMembers>("/v1/agent/members", &query));
        let (AgentMembers { members }, _) = members.context("Failed to retrieve server list; err")?;
        let all: Vec<String> = members.into_iter().map(|member| member.name).collect();
        let servers = match flags.server_id.as_str() {
            "all" | "*" | "" => all.clone(),
            list => list.split(',').map(|name| name.trim().to_string()).collect(),
        };
        let (nodes, _) =
            c.wait(c.client.list::<NodeListStub>("/v1/nodes", &query)).context("Error querying node info")?;
        let of_class = |n: &&NodeListStub| flags.node_class.is_empty() || n.node_class == flags.node_class;
        let ids = nodes.iter().filter(of_class).map(|n| n.id.as_str());
        let wanted: Vec<&str> = flags.node_id.split(',').map(str::trim).collect();
        let all_named = wanted.iter().any(|w| matches!(*w, "all" | "*" | ""));
        let chosen = ids.filter(|id| all_named || wanted.iter().any(|w| id.starts_with(w)));
        let most = usize::try_from(flags.max_nodes).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
        let chosen = chosen.take(most).map(str::to_string).collect();
        Ok(Cluster { servers, all_servers: all.len(), nodes: chosen, all_nodes: nodes.len() })
    }

    /// Each agent: its folder, and the parameter that selects it.
    fn agents(&self) -> Vec<(String, &'static str, &str)> {
        let servers = self.servers.iter().map(|s| (format!("server/{}", file_name(s)), "server_id", s.as_str()));
        let nodes = self.nodes.iter().map(|n| (format!("client/{}", file_name(n)), "node_id", n.as_str()));
        servers.chain(nodes).collect()
    }
}

/// A name that other programs gave, as the name of a file.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    // A dot is only safe inside.
    name.chars().enumerate().map(|(i, c)| if c == '.' && i > 0 { c } else { safe(c) }).take(128).collect()
}

impl Debug {
    fn query(&self) -> Query {
        if self.stale { Query::default().with("stale", "") } else { Query::default() }
    }
}

/// `index.json`: what was captured, and why other things were not.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Index {
    version: &'static str,
    intervals: usize,
    files: Vec<String>,
    /// Why a file is missing or incomplete, by file.
    errors: BTreeMap<String, String>,
}

impl Index {
    /// Writes a file and notes it.
    fn put(&mut self, target: &mut Target<'_>, file: &str, bytes: &[u8]) -> io::Result<()> {
        self.files.push(file.into());
        target.put(file, bytes)
    }
}

/// A collection.
struct Capture<'a> {
    flags: &'a Debug,
    c: &'a Connection,
    cluster: Cluster,
    duration: Duration,
    interval: Duration,
}

impl Capture<'_> {
    fn run(&self, target: &mut Target<'_>, context: &mut Context<'_, '_>) -> io::Result<()> {
        let mut index = Index { version: env!("CARGO_PKG_VERSION"), ..Index::default() };
        let logs = self.c.wait(async {
            let (client, agents) = (&self.c.client, self.cluster.agents());
            for (file, path) in ONCE {
                self.request(target, &mut index, &format!("cluster/{file}.json"), path, self.flags.query()).await?;
            }
            for (folder, parameter, id) in &agents {
                let query = Query::default().with(parameter, *id);
                self.request(target, &mut index, &format!("{folder}/agent-host.json"), "/v1/agent/host", query).await?;
            }
            let until = Instant::now() + self.duration;
            let followed = agents.into_iter().map(|(folder, parameter, id)| async move {
                (format!("{folder}/monitor.log"), self.log(client, parameter, id, until).await)
            });
            let (logs, repeated) = join(join_all(followed), self.intervals(target, &mut index, until, context)).await;
            repeated.map(|()| logs)
        })?;
        for (file, (bytes, error)) in logs {
            if let Some(why) = error {
                index.errors.insert(file.clone(), why);
            }
            index.put(target, &file, &bytes)?;
        }
        index.files.sort_unstable();
        let text = serde_json::to_vec_pretty(&index)?;
        target.put("index.json", &text)
    }

    async fn intervals(
        &self,
        target: &mut Target<'_>,
        index: &mut Index,
        until: Instant,
        context: &mut Context<'_, '_>,
    ) -> io::Result<()> {
        let mut due = Instant::now();
        while due < until {
            tokio::time::sleep_until(due).await;
            context.ui.output(&format!("    Capture interval {:04}", index.intervals));
            for (file, path) in REPEATED {
                let file = format!("interval/{:04}/{file}.json", index.intervals);
                self.request(target, index, &file, path, self.flags.query()).await?;
            }
            index.intervals += 1;
            due += self.interval;
        }
        Ok(())
    }

    /// Stores the answer to a request; an error of the servers is noted.
    async fn request(
        &self,
        target: &mut Target<'_>,
        index: &mut Index,
        file: &str,
        path: &str,
        mut query: Query,
    ) -> io::Result<()> {
        let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
        for (name, value) in parameters.split('&').filter_map(|p| p.split_once('=')) {
            query = match name {
                "namespace" => Query { namespace: Some(value.into()), ..query },
                "resources" => query.with("resources", value),
                _ => query.with("type", value),
            };
        }
        match self.c.client.bytes(path, &query).await {
            Ok(bytes) => index.put(target, file, &bytes),
            Err(e) => {
                index.errors.insert(file.into(), e.to_string());
                Ok(())
            }
        }
    }

    /// The log of an agent until then, and why it is not complete.
    async fn log(
        &self,
        client: &Client,
        parameter: &'static str,
        id: &str,
        until: Instant,
    ) -> (Vec<u8>, Option<String>) {
        let query = Query::default()
            .with("log_level", self.flags.log_level.to_lowercase())
            .with("log_include_location", self.flags.log_include_location.to_string())
            .with(parameter, id);
        let mut log = Vec::new();
        let read = async {
            let mut frames = client.frames("/v1/agent/monitor", &query).await?;
            while let Some(event) = frames.next().await? {
                match event {
                    Event::Data(data) if log.len() + data.len() > MOST_LOG => return Ok(true),
                    Event::Data(data) => log.extend_from_slice(&data),
                    _ => {}
                }
            }
            Ok::<_, ApiError>(false)
        };
        let error = match tokio::time::timeout_at(until, read).await {
            Err(_) => None,
            Ok(Ok(true)) => Some(format!("only the first {} MiB are kept", MOST_LOG >> 20)),
            Ok(Ok(false)) => Some("the agent ended the log".into()),
            Ok(Err(e)) => Some(e.to_string()),
        };
        (log, error)
    }
}

/// Where files go.
enum Target<'a> {
    /// Into a folder of this name in an archive.
    Archive(Box<tar::Builder<GzEncoder<&'a mut File>>>, &'a str),
    Folder(PathBuf),
}

impl Target<'_> {
    fn put(&mut self, file: &str, bytes: &[u8]) -> io::Result<()> {
        match self {
            Target::Archive(archive, folder) => {
                let mut header = tar::Header::new_gnu();
                header.set_size(bytes.len() as u64);
                header.set_mode(0o600);
                header.set_cksum();
                archive.append_data(&mut header, format!("{folder}/{file}"), bytes)
            }
            Target::Folder(folder) => {
                let path = folder.join(file);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                let mut to = File::create(&path)?;
                make_private(&to)?;
                to.write_all(bytes)
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Target::Archive(archive, _) => archive.into_inner()?.finish().map(drop),
            Target::Folder(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_their_folder() {
        assert_eq!(file_name("server-1.global"), "server-1.global");
        assert_eq!(file_name("../../etc/passwd"), "_._.._etc_passwd");
        assert!(!file_name("..").starts_with('.') && !file_name("/x").contains('/'));
    }

    #[test]
    fn lengths_are_bounded() {
        assert_eq!(length("interval", "30s").ok(), Some(Duration::from_secs(30)));
        for bad in ["", "0s", "-1s", "25h", "soon"] {
            assert!(length("interval", bad).is_err(), "{bad}");
        }
    }
}
