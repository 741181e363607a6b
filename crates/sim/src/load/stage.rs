//! The common base of all scenarios: servers, a fleet of nodes that reach them, and their progress.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::LoadError;
use super::fleet::{Fleet, FleetOptions, over_network};
use super::mark::{Mark, idle, settle};
use super::outcome::{Outcome, Step, machine};
use super::probe;
use super::process::{self, ServerOptions, ServerProcess};
use super::tally::Tally;
use super::writes::Writes;
use encamp_api::Client;
use encamp_client::clock;
use encamp_model::NodeStatus;
use encamp_model::responses::NodeListStub;

/// Longest time for any step: the slowest reference takes some forty minutes for one.
pub const PATIENCE: Duration = Duration::from_secs(3600);

/// The settings of every scenario.
#[derive(Debug, Clone)]
pub struct Options {
    /// Simulated nodes.
    pub nodes: usize,
    /// Servers.
    pub servers: usize,
    /// The seed of IDs and waits.
    pub seed: u64,
    /// Where servers keep their data.
    pub folder: PathBuf,
    /// Small writes are made meanwhile, and measured.
    pub writes: bool,
    /// Nodes that share a connection; real nodes have one each.
    pub connection_nodes: usize,
}

impl Options {
    /// How many connections so many nodes have.
    fn connections(&self, nodes: usize) -> usize {
        nodes.div_ceil(self.connection_nodes.max(1))
    }
}

/// Servers and nodes; both are gone when it is dropped.
pub struct Stage<'a> {
    options: Options,
    servers: Vec<ServerProcess>,
    leader: usize,
    writes: Option<Writes>,
    shedding: bool,
    /// The nodes.
    pub fleet: Fleet,
    tell: &'a dyn Fn(String),
}

impl<'a> Stage<'a> {
    /// Starts the servers, each with `more` configuration, and makes the nodes; none runs yet. `spare` nodes more than
    /// the options say are there to join later.
    ///
    /// # Errors
    /// Servers don't start or find no leader.
    pub async fn open(
        options: &Options,
        spare: usize,
        shedding: bool,
        more: String,
        tell: &'a dyn Fn(String),
    ) -> Result<Stage<'a>, LoadError> {
        tell(format!("starting {} server(s)", options.servers));
        let folder = options.folder.clone();
        let servers = process::start(&ServerOptions {
            servers: options.servers,
            connections: options.connections(options.nodes + spare),
            folder,
            shedding,
            more,
        })
        .await?;
        let leader = process::leader(&servers).await?;
        let writes = match servers.get(leader).filter(|_| options.writes) {
            Some(server) => Some(Writes::start(server.new_client()?)),
            None => None,
        };
        let addresses = servers.iter().map(ServerProcess::rpc_address).collect();
        let made = FleetOptions { nodes: options.nodes + spare, seed: options.seed, alike: true, quick: false };
        let fleet = Fleet::new(&made, clock::now(), over_network(addresses, options.connection_nodes.max(1)));
        Ok(Stage { options: options.clone(), servers, leader, writes, shedding, fleet, tell })
    }

    /// The HTTP interface of the server that led in the beginning.
    pub fn client(&self) -> &Client {
        // `leader` is the place of one of them.
        self.servers[self.leader].client()
    }

    /// Another client of it, with connections of its own.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new_client(&self) -> Result<Client, LoadError> {
        self.servers[self.leader].new_client()
    }

    /// Says how far the scenario is.
    pub fn tell(&self, line: String) {
        (self.tell)(line);
    }

    /// Sets how many workers each server has.
    ///
    /// # Errors
    /// A server refuses.
    pub async fn schedulers(&self, count: usize) -> Result<(), LoadError> {
        let body = json!({
            "num_schedulers": count,
            "enabled_schedulers": ["service", "batch", "system", "sysbatch", "_core"],
        });
        for s in &self.servers {
            let set: Result<(Value, _), _> =
                s.client().put("/v1/agent/schedulers/config", &Default::default(), &body).await;
            set.map_err(|e| LoadError::of("setting the number of schedulers", e))?;
        }
        Ok(())
    }

    /// Lets as many workers run on each server as there are processors.
    ///
    /// # Errors
    /// A server refuses.
    pub(crate) async fn all_schedulers(&self) -> Result<(), LoadError> {
        self.schedulers(machine().cpus).await
    }

    /// Registers a job.
    ///
    /// # Errors
    /// The servers refuse it.
    pub async fn register(&self, job: &Value) -> Result<(), LoadError> {
        let stored: Result<(Value, _), _> = self.client().put("/v1/jobs", &Default::default(), job).await;
        stored.map(drop).map_err(|e| LoadError::of("registering a job", e))
    }

    /// The nodes as the servers list them.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn nodes(&self) -> Result<Vec<NodeListStub>, LoadError> {
        self.client().nodes().await.map(|(nodes, _)| nodes).map_err(|e| LoadError::of("listing nodes", e))
    }

    /// Waits until that many nodes are ready.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub async fn ready(&self, count: usize) -> Result<(), LoadError> {
        self.with_status(NodeStatus::Ready, count).await
    }

    /// Waits until that many nodes are down.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub async fn down(&self, count: usize) -> Result<(), LoadError> {
        self.with_status(NodeStatus::Down, count).await
    }

    async fn with_status(&self, status: NodeStatus, count: usize) -> Result<(), LoadError> {
        let look = || async { Ok(self.nodes().await?.iter().filter(|n| n.status == status).count()) };
        let enough = |n: &usize| {
            self.tell(format!("{n} of {count} nodes are {status}"));
            *n == count
        };
        probe::until(&format!("nodes to be {status}"), PATIENCE, look, enough).await.map(drop)
    }

    /// How many deployments are under way.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn deployments(&self) -> Result<usize, LoadError> {
        let read = self.client().deployments().await;
        let (deployments, _) = read.map_err(|e| LoadError::of("listing deployments", e))?;
        Ok(deployments.iter().filter(|d| d.active()).count())
    }

    /// Waits until no deployment is under way.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub(crate) async fn rolled_out(&self) -> Result<(), LoadError> {
        let none = |n: &usize| {
            self.tell(format!("{n} deployments are in progress"));
            *n == 0
        };
        probe::until("all deployments to end", PATIENCE, || self.deployments(), none).await.map(drop)
    }

    /// Waits until the nodes run that many allocations.
    ///
    /// # Errors
    /// It takes an hour.
    pub async fn running(&self, count: u64) -> Result<(), LoadError> {
        let look = || async { Ok(Tally::get(&self.fleet.tally().running)) };
        let enough = |n: &u64| {
            self.tell(format!("{n} of {count} allocations run"));
            *n == count
        };
        probe::until("all allocations", PATIENCE, look, enough).await.map(drop)
    }

    /// Waits until the server has written a snapshot of its state, if enough has changed for it to write one.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub async fn saved(&self) -> Result<(), LoadError> {
        let due = probe::snapshot_due(self.client()).await?;
        let look = || probe::consensus(self.client(), "last_snapshot_index");
        let written = |index: &u64| {
            self.tell("a snapshot of the state is due".into());
            *index > 0 || !due
        };
        probe::until("a snapshot", PATIENCE, look, written).await.map(drop)
    }

    /// The state to count from.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn mark(&self) -> Result<Mark, LoadError> {
        let mark = Mark::now(self.client(), &self.servers).await;
        if let Some(writes) = &self.writes {
            writes.take();
        }
        mark
    }

    /// Waits until no evaluation is pending any more: jobs whose nodes were lost, or that were registered again, look
    /// complete until their evaluations are processed.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub async fn idle(&self) -> Result<(), LoadError> {
        idle(self.client(), self.tell).await
    }

    /// Waits until no evaluation is pending any more, and counts what was done since the mark.
    ///
    /// # Errors
    /// The server does not answer, or it takes an hour.
    pub async fn settle(&self, name: &'static str, mark: &Mark) -> Result<Step, LoadError> {
        let mut step = settle(self.client(), &self.servers, name, mark, self.tell).await?;
        if let Some((count, longest)) = self.writes.as_ref().map(Writes::take) {
            (step.writes, step.longest_write_ms) = (count, longest.as_secs_f64() * 1000.0);
        }
        Ok(step)
    }

    /// The measurements.
    pub fn outcome(&self, scenario: &'static str, steps: Vec<Step>) -> Outcome {
        Outcome {
            scenario,
            version: env!("CARGO_PKG_VERSION").into(),
            seed: self.options.seed,
            machine: machine(),
            nodes: self.options.nodes,
            servers: self.options.servers,
            shedding: self.shedding,
            steps,
            timings: Vec::new(),
            allocations: 0,
            allocations_per_second: 0.0,
            false_expiries: Tally::get(&self.fleet.tally().expired),
            peak_rss_mb: self.servers.iter().map(ServerProcess::peak_rss).max().unwrap_or(0) >> 20,
            rss_mb: self.servers.iter().map(ServerProcess::rss).max().unwrap_or(0) >> 20,
            server_cpu_seconds: process::cpu_seconds(&self.servers),
            restart: None,
        }
    }

    /// Restarts the server of a scenario with one server; see [`ServerProcess::restart`].
    ///
    /// # Errors
    /// It does not start, or has no leader within an hour.
    pub(crate) async fn restart(&mut self, of_server: &str) -> Result<Duration, LoadError> {
        // `leader` is the place of one of them.
        self.servers[self.leader].restart(of_server, PATIENCE).await
    }

    /// The directory of the server that led in the beginning.
    pub(crate) fn folder(&self) -> &Path {
        self.servers[self.leader].folder()
    }
}
