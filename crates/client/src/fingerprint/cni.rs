//! Fingerprints the networks and plugins of the CNI specification (`docs/spec/client.md §4.2`, `§4.4`).

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::NetworkConfig;
use crate::network::{list, versions};

/// The attribute of a plugin begins with this; its name follows.
pub(crate) const VERSION: &str = "plugins.cni.version.";

/// The network modes of the networks in a directory; files that can't be used are logged.
pub(crate) fn modes(dir: &Path) -> Vec<String> {
    let (lists, invalid) = list::read_dir(dir);
    for error in invalid {
        tracing::warn!(target: "client.fingerprint", %error, "skipping a CNI network");
    }
    lists.into_iter().map(|l| format!("cni/{}", l.name)).collect()
}

/// The versions of the plugins, as attributes.
pub(crate) fn plugins(config: &NetworkConfig) -> BTreeMap<String, String> {
    let found = versions::look(&config.cni_path);
    found.into_iter().map(|(name, version)| (format!("{VERSION}{name}"), version)).collect()
}
