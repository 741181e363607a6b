//! Job files for the uses that are most common, which `job init -template` writes without a cluster: those of
//! docs/examples/jobs, each of which begins with its summary.

/// Embeds the files of these names.
macro_rules! embedded {
    ($($name:literal)*) => {
        /// The names of all job files, sorted.
        pub const NAMES: &[&str] = &[$($name),*];
        /// Their texts, in the same order.
        const TEXTS: &[&str] =
            &[$(include_str!(concat!("../../../docs/examples/jobs/", $name, ".nomad.hcl"))),*];
    };
}

embedded! {
    "batch-artifact"
    "batch-clean-up"
    "batch-low-priority"
    "batch-namespace"
    "batch-once"
    "batch-parallel"
    "batch-pipeline"
    "batch-reschedule"
    "batch-retry"
    "batch-script"
    "batch-timeout"
    "batch-variables"
    "cluster-peers"
    "database-volume-claim"
    "dispatch-limited"
    "dispatch-report"
    "dispatch-worker"
    "docker-batch"
    "docker-cache"
    "docker-config"
    "docker-sidecar"
    "docker-web"
    "exec-cores"
    "exec-hardened"
    "exec-name-servers"
    "exec-secret-file"
    "exec-service"
    "periodic-backup"
    "periodic-clean-up"
    "periodic-report"
    "service-java"
    "sysbatch-inventory"
    "sysbatch-nightly"
    "system-exporter"
    "system-log-shipper"
    "system-rolling"
    "task-api"
    "web-actions"
    "web-affinity"
    "web-auto-promote"
    "web-blue-green"
    "web-bridge"
    "web-burst"
    "web-canary"
    "web-check-restart"
    "web-config-reload"
    "web-constraint"
    "web-disconnect"
    "web-distinct-hosts"
    "web-distinct-property"
    "web-ephemeral-disk"
    "web-graceful-stop"
    "web-identity"
    "web-init-task"
    "web-load-balancer"
    "web-log-shipper"
    "web-logs"
    "web-meta-env"
    "web-migrate"
    "web-priority"
    "web-proxy-sidecar"
    "web-reschedule"
    "web-rolling"
    "web-scaling"
    "web-script-reload"
    "web-secrets"
    "web-service"
    "web-spread"
    "web-static-port"
    "web-static-site"
    "web-tcp-check"
    "web-template"
    "web-two-checks"
    "web-two-ports"
    "web-two-tiers"
    "web-ui-links"
    "web-warm-up"
    "worker-host-volume"
    "worker-leader"
    "worker-no-network"
    "worker-queue"
    "worker-without-logs"
}

/// The job file of a name.
pub fn text(name: &str) -> Option<&'static str> {
    NAMES.iter().zip(TEXTS).find(|(known, _)| **known == name).map(|(_, text)| *text)
}

/// All names with their summaries: the first sentence of each file.
pub fn summaries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let summary = |text: &'static str| text.lines().next().unwrap_or_default().trim_start_matches("# ");
    NAMES.iter().zip(TEXTS).map(move |(name, text)| (*name, summary(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_embedded_and_have_a_summary() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/jobs");
        let files = dir.read_dir().expect("the directory").flatten().map(|f| f.file_name().into_string().unwrap());
        let mut files: Vec<String> = files.collect();
        files.sort();
        assert!(NAMES.iter().map(|n| format!("{n}.nomad.hcl")).eq(files), "a file is not embedded");
        for (name, summary) in summaries() {
            assert!(summary.ends_with('.') && summary.len() < 140, "{name}: {summary}");
            assert!(text(name).unwrap().contains(&format!("job \"{name}\" {{")), "{name}");
        }
        assert_eq!(text("no-such"), None);
    }
}
