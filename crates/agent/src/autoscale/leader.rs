//! On a server, the loops start and stop with leadership (`docs/spec/cluster-scaling.md §1.1`).

use std::sync::Arc;
use std::time::Duration;

use encamp_http::agent::local_client::LocalClient;
use encamp_server::Server;
use encamp_telemetry::Metrics;
use thiserror::Error;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::loops::{Current, Loops};
use super::node_agents::NodeAgents;
use super::parts::{Parts, PartsError, Place, own_alloc};
use super::server_cluster::{KnownServers, ServerCluster};
use crate::config::Config;
use crate::tls::http_client_tls;

/// The delay before loops that ended while the server is still the leader are restarted.
const PAUSE: Duration = Duration::from_secs(1);
/// The time limit for the thread to end.
const STOP: Duration = Duration::from_secs(2);

/// Scaling on the leader that cannot be set up.
#[derive(Debug, Error)]
pub enum LeaderError {
    /// A component of the loops.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// The thread of the loops.
    #[error("the thread for worker pools cannot be started: {0}")]
    Thread(#[source] std::io::Error),
}

/// The dependencies of the loops of a server.
struct OnLeader {
    server: Server,
    region: String,
    /// The servers that this server knows through gossip.
    known: KnownServers,
    /// The node in the same agent.
    local: Option<Arc<dyn LocalClient>>,
    /// The agents of other nodes.
    agents: Arc<NodeAgents>,
    parts: Parts,
}

impl OnLeader {
    /// Runs the loops whenever the server is the leader, until it stops. `current` holds their pools.
    async fn follow(self, current: Arc<Current>) {
        let mut leadership = self.server.consensus().leadership();
        loop {
            let (leads, term, stopped) = {
                let l = leadership.borrow_and_update();
                (l.is_leader, l.term, l.failed.is_some())
            };
            if stopped {
                return;
            }
            if !leads {
                if leadership.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let mut watch = leadership.clone();
            let followed = tokio::select! {
                biased;
                ended = watch.wait_for(|l| !l.is_leader || l.term != term || l.failed.is_some()) => ended.is_ok(),
                () = self.lead(term, &current) => true,
            };
            current.set(None);
            if !followed {
                return;
            }
        }
    }

    /// Runs the loops in one term, once the server is ready.
    async fn lead(&self, term: u64, current: &Current) {
        if self.server.wait_ready().await.is_ok() {
            let (server, region, local) = (self.server.clone(), self.region.clone(), self.local.clone());
            let cluster = ServerCluster::new(server, region, term, self.known.clone(), local, self.agents.clone());
            let loops = Loops::new(&self.parts, Arc::new(cluster));
            current.set(Some(&loops));
            tracing::info!(target: "autoscale", term, "this server is the leader and scales the worker pools");
            loops.run().await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Follows leadership on a separate thread: evaluations of large clusters must not block the threads that serve
/// requests.
pub struct Running {
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
    agents: Arc<NodeAgents>,
}

impl Running {
    fn start(follower: OnLeader, agents: Arc<NodeAgents>, current: Arc<Current>) -> std::io::Result<Running> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let ((stop, stopped), (end, ended)) = (oneshot::channel::<()>(), oneshot::channel());
        std::thread::Builder::new().name("autoscale".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = follower.follow(current) => {}
                }
            });
            runtime.shutdown_background();
            // The receiver may be gone.
            let _ = end.send(());
        })?;
        Ok(Running { stop, ended, agents })
    }

    /// The agents of nodes are contacted with the certificates of another configuration.
    pub fn tls_changed(&self, config: &Config) {
        self.agents.set_config(agents_config(config));
    }

    /// Stops the loops; the next leader continues from the persisted state.
    pub async fn stop(self) {
        drop(self.stop);
        let _ = tokio::time::timeout(STOP, self.ended).await;
    }
}

/// Starts to follow leadership on the server of an agent, if its configuration enables it. `known`: the servers that
/// the server knows through gossip; `local`: the node in the same agent. Must be called inside a runtime.
///
/// # Errors
/// A provider, a backend for notifications, or the thread cannot be set up.
pub fn start(
    config: &Config,
    server: &Server,
    known: KnownServers,
    local: Option<Arc<dyn LocalClient>>,
    metrics: &Metrics,
) -> Result<Option<(Arc<Current>, Running)>, LeaderError> {
    let Some(block) = config.autoscaling.as_ref().filter(|a| a.enabled) else { return Ok(None) };
    let alloc = std::env::var("NOMAD_ALLOC_ID").ok();
    let place = Place { directory: config.autoscale_dir(), servers: vec![config.advertise.rpc.clone()] };
    let parts = Parts::new(block, place, metrics.clone(), own_alloc(|_| alloc.as_deref()))?;
    let agents = Arc::new(NodeAgents::new(agents_config(config)));
    let follower =
        OnLeader { server: server.clone(), region: config.region.clone(), known, local, agents: agents.clone(), parts };
    let current = Arc::new(Current::new(block.job_scaling));
    let running = Running::start(follower, agents, current.clone()).map_err(LeaderError::Thread)?;
    Ok(Some((current, running)))
}

/// How the agents of nodes are contacted.
fn agents_config(config: &Config) -> encamp_api::Config {
    let tls = http_client_tls(config, format!("client.{}.nomad", config.region));
    encamp_api::Config { tls, ..encamp_api::Config::default() }
}
