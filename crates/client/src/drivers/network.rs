//! What drivers and networks of allocations have to do with each other (`docs/spec/client.md §15`): namespaces that a
//! driver makes, and the files by which tasks with a file system of their own know their network.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::directory::{Directory, PathError};
use encamp_model::DnsConfig;

/// A namespace that a driver is to make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedNamespace {
    /// The allocation.
    pub alloc_id: String,
    /// Its host name; empty: the driver's choice.
    pub hostname: String,
}

/// A namespace that a driver made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MadeNamespace {
    /// The namespace.
    pub path: PathBuf,
    /// What the driver needs to know of it; tasks get it in [`TaskNetwork::made`].
    pub state: Value,
}

/// The network of an allocation, as its tasks know it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskNetwork {
    /// Its host name; empty: none was asked for.
    pub hostname: String,
    /// The address of that name; empty: it has none of its own.
    pub address: String,
    /// The DNS settings; none: those of the host.
    pub dns: Option<DnsConfig>,
    /// What the driver that made the namespace needs to know of it; null: the agent made it, or there is none.
    pub made: Value,
}

impl TaskNetwork {
    /// The content of `/etc/resolv.conf`; none: that of the host.
    pub fn resolv_conf(&self) -> Option<String> {
        let dns = self.dns.as_ref()?;
        let mut out = String::new();
        for server in &dns.servers {
            let _ = writeln!(out, "nameserver {server}");
        }
        for (word, values) in [("search", &dns.searches), ("options", &dns.options)] {
            if !values.is_empty() {
                let _ = writeln!(out, "{word} {}", values.join(" "));
            }
        }
        Some(out)
    }

    /// The files of the task's `/etc` that there are: name and content.
    pub fn files(&self) -> Vec<(String, String)> {
        let files = [("resolv.conf", self.resolv_conf()), ("hosts", self.hosts())];
        files.into_iter().filter_map(|(name, content)| Some((name.into(), content?))).collect()
    }

    /// Writes such files into the private directory of a task, where the task can't change them.
    pub(super) fn write_files(private: &Directory, files: &[(String, String)]) -> Result<(), PathError> {
        files.iter().try_for_each(|(name, content)| private.replace(name, content.as_bytes(), 0o644, None))
    }

    /// The content of `/etc/hosts`; none: the allocation has no host name or no address of its own.
    pub fn hosts(&self) -> Option<String> {
        if self.hostname.is_empty() || self.address.is_empty() {
            return None;
        }
        Some(format!(
            "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{} {}\n",
            self.address, self.hostname
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tasks() {
        let mut network = TaskNetwork::default();
        assert_eq!((network.resolv_conf(), network.hosts()), (None, None));
        network.dns = Some(DnsConfig {
            servers: vec!["10.0.0.53".into(), "fd00::53".into()],
            searches: vec!["a.b".into(), "c.d".into()],
            options: vec!["ndots:2".into()],
        });
        let wanted = "nameserver 10.0.0.53\nnameserver fd00::53\nsearch a.b c.d\noptions ndots:2\n";
        assert_eq!(network.resolv_conf().as_deref(), Some(wanted));
        network.hostname = "web-1".into();
        assert_eq!(network.hosts(), None);
        network.address = "172.26.64.2".into();
        assert!(network.hosts().unwrap().ends_with("\n172.26.64.2 web-1\n"));
        assert_eq!(network.files().into_iter().map(|f| f.0).collect::<Vec<_>>(), ["resolv.conf", "hosts"]);
    }
}
