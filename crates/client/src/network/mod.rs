//! Networks of allocations (`docs/spec/client.md §15`): namespaces that programs, the plugins of the CNI specification,
//! attach to networks.
//!
//! - [`Setup`]: makes, checks and removes the network of an allocation. [`records`]: what is stored of networks.
//! - `bridge`: the network of mode `bridge`. `list`: networks that an operator wrote.
//! - `chain`: the plugins of a network, one after the other. `plugin`: one call. `args`: what plugins get to know of an
//!   allocation. `result`: what they say of its addresses.
//! - `versions`: the versions of plugins.

mod args;
mod bridge;
mod chain;
pub(crate) mod list;
mod plugin;
pub mod records;
mod result;
pub(crate) mod versions;

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{Duration, Instant};

use self::args::ArgumentError;
use self::bridge::FirewallError;
use self::chain::Attachment;
use self::list::ListError;
use self::plugin::{CONTAINER, Calls, PluginError};
use self::records::{NetworkRecord, Networks, Phase};
use self::result::ResultError;
use crate::config::NetworkConfig;
use crate::netns;
use crate::programs::{Cancel, RunError};
use crate::store::Store;
use encamp_model::{AllocNetworkStatus, AllocatedPortMapping};

/// Reads a file of a network, in both forms, and what its plugins print; whether all can be used. For fuzzers.
#[doc(hidden)]
pub fn read_foreign(file: &[u8], printed: &[u8]) -> bool {
    let mut usable = true;
    for name in ["10-net.conflist", "10-net.conf"] {
        if let Err(error) = list::parse(std::path::Path::new(name), file) {
            usable = error.to_string().is_empty();
        }
    }
    let Ok(printed) = serde_json::from_slice(printed) else { return false };
    let status = result::status(&printed, INTERFACE).map_err(|error| error.to_string());
    usable && status.is_ok()
}

/// The interface that plugins make.
const INTERFACE: &str = "eth0";
/// How long calls of an earlier run may take to end after they were killed.
const AFTER_KILL: Duration = Duration::from_secs(2);
/// How often a wait looks whether it goes on.
const LOOK: Duration = Duration::from_millis(20);

/// The network modes of a group (`docs/spec/client.md §15.1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The network of the host.
    Host,
    /// A namespace with nothing but a loopback.
    Isolated,
    /// A namespace at the bridge of the node.
    Bridge,
    /// A namespace at a network that the operator wrote.
    Cni(String),
}

impl Mode {
    /// The mode of that name; `None`: there is no such mode.
    pub(crate) fn of_name(name: &str) -> Option<Mode> {
        match name {
            "" | "host" => Some(Mode::Host),
            "none" => Some(Mode::Isolated),
            "bridge" => Some(Mode::Bridge),
            other => other.strip_prefix("cni/").filter(|n| !n.is_empty()).map(|n| Mode::Cni(n.into())),
        }
    }
}

/// Why a namespace is not attached to its network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The network is not known.
    #[error(transparent)]
    List(#[from] ListError),
    /// An argument of the job can't be passed on.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The firewall refused a rule.
    #[error(transparent)]
    Firewall(#[from] FirewallError),
    /// A plugin failed.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The result of the plugins can't be used.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The allocation, or the agent, is to end.
    #[error("it is not needed any more")]
    Canceled,
    /// What is done could not be recorded.
    #[error("failed to record the network: {0}")]
    Record(#[from] io::Error),
}

impl ConnectError {
    /// Whether it was given up because the allocation, or the agent, is to end.
    pub(crate) fn is_canceled(&self) -> bool {
        match self {
            ConnectError::Plugin(error) => error.is_canceled(),
            ConnectError::Firewall(error) => matches!(error.reason(), RunError::Canceled),
            ConnectError::Canceled => true,
            ConnectError::List(_) | ConnectError::Argument(_) | ConnectError::Result(_) | ConnectError::Record(_) => {
                false
            }
        }
    }
}

/// What the plugins of an allocation's network get to know.
pub(crate) struct Wanted {
    /// The network mode.
    pub mode: Mode,
    /// Arguments of the agent.
    pub own_args: Vec<(&'static str, String)>,
    /// Arguments of the job.
    pub job_args: Vec<(String, String)>,
    /// The ports of the allocation.
    pub ports: Vec<AllocatedPortMapping>,
    /// Ports are open on all addresses of the host.
    pub everywhere: bool,
}

impl Wanted {
    /// What plugins are to do; none: nothing.
    pub(crate) fn attachment(&self, config: &NetworkConfig) -> Result<Option<Attachment>, ConnectError> {
        let list = match &self.mode {
            Mode::Host | Mode::Isolated => return Ok(None),
            Mode::Bridge => bridge::list(config),
            Mode::Cni(name) => list::find(&config.cni_config_dir, name)?,
        };
        let own: Vec<(&str, &str)> = self.own_args.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let args = args::text(&own, &self.job_args)?;
        let ports = args::port_mappings(&self.ports, self.everywhere);
        Ok(Some(Attachment { list, args, ports, result: None }))
    }
}

/// Works on the network of an allocation. All of it waits for programs.
pub(crate) struct Setup<'a> {
    /// Settings.
    pub config: &'a NetworkConfig,
    /// All networks.
    pub networks: &'a Networks,
    /// Where they are stored.
    pub store: &'a Store,
    /// The allocation.
    pub alloc_id: &'a str,
    /// Ends the work early.
    pub cancel: &'a Cancel,
}

impl Setup<'_> {
    /// Attaches the namespace to its network, once.
    pub(crate) fn connect(&self, record: &mut NetworkRecord) -> Result<AllocNetworkStatus, ConnectError> {
        let Some(mut attachment) = record.attachment.clone() else {
            record.phase = Phase::Connected;
            self.put(record)?;
            return Ok(AllocNetworkStatus::default());
        };
        if Mode::of_name(&record.mode) == Some(Mode::Bridge) {
            // Of two at the same time, each would add the rule.
            let _one = loop {
                if let Some(one) = self.networks.firewall.try_lock_for(LOOK) {
                    break one;
                }
                if self.cancel.is_set() {
                    return Err(ConnectError::Canceled);
                }
            };
            bridge::admin_chain(self.config, self.cancel)?;
        }
        let (args, before) = (attachment.args.clone(), record.clone());
        let added = attachment.add(&self.calls(&before, &args), |done| {
            record.attachment = Some(done.clone());
            Ok::<(), ConnectError>(self.put(record)?)
        });
        added?;
        let status = status(&attachment)?;
        record.phase = Phase::Connected;
        self.put(record)?;
        Ok(status)
    }

    /// Checks that the namespace is still attached.
    pub(crate) fn check(&self, record: &NetworkRecord) -> Result<(), PluginError> {
        match &record.attachment {
            Some(attachment) => attachment.check(&self.calls(record, &attachment.args)),
            None => Ok(()),
        }
    }

    /// Detaches the namespace from its network, which may be incomplete.
    pub(crate) fn disconnect(&self, record: &NetworkRecord) -> Result<(), PluginError> {
        if record.earlier && record.phase != Phase::Connected {
            end_calls(self.alloc_id);
        }
        match &record.attachment {
            Some(attachment) => attachment.del(&self.calls(record, &attachment.args)),
            None => Ok(()),
        }
    }

    /// Stores the record.
    pub(crate) fn put(&self, record: &NetworkRecord) -> io::Result<()> {
        self.networks.put(self.store, self.alloc_id, record.clone())
    }

    fn calls<'a>(&'a self, record: &'a NetworkRecord, args: &'a str) -> Calls<'a> {
        Calls {
            path: &self.config.cni_path,
            container: self.alloc_id,
            namespace: Some(record.namespace.as_path()).filter(|path| netns::is_namespace(path)),
            interface: INTERFACE,
            args,
            limit: self.config.plugin_limit,
            cancel: self.cancel,
        }
    }
}

/// The addresses that plugins gave.
fn status(attachment: &Attachment) -> Result<AllocNetworkStatus, ResultError> {
    result::status(attachment.result.as_ref().unwrap_or_default(), INTERFACE)
}

impl NetworkRecord {
    /// The addresses of a complete network.
    pub(crate) fn status(&self) -> Result<AllocNetworkStatus, ResultError> {
        self.attachment.as_ref().map_or_else(|| Ok(AllocNetworkStatus::default()), status)
    }
}

/// Kills the calls of plugins that an earlier run of the agent began: they would undo what this one does.
fn end_calls(alloc_id: &str) {
    let is_id = |value: &OsString| value == alloc_id;
    let of_call = || {
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        let marked = all.filter(|p| p.environ().is_ok_and(|env| env.get(OsStr::new(CONTAINER)).is_some_and(is_id)));
        marked.filter_map(|p| rustix::process::Pid::from_raw(p.pid())).collect::<Vec<_>>()
    };
    let until = Instant::now() + AFTER_KILL;
    loop {
        let found = of_call();
        if found.is_empty() || Instant::now() >= until {
            return;
        }
        for pid in found {
            // One that has ended by itself is no error.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        std::thread::sleep(LOOK);
    }
}
