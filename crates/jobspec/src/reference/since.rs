//! The first version of Nomad that knows a block or an attribute, where that is later than 1.0: from its changelog.

/// Block, its attribute or block, version; in byte order.
const SINCE: &[(&str, &str, &str)] = &[
    ("check", "failures_before_warning", "1.7.3"),
    ("check", "tls_server_name", "1.6.0"),
    ("consul", "cluster", "1.7.0"),
    ("consul", "partition", "1.7.3"),
    ("disconnect", "lost_after", "1.8.0"),
    ("disconnect", "reconcile", "1.8.0"),
    ("disconnect", "replace", "1.8.0"),
    ("disconnect", "stop_on_client_after", "1.8.0"),
    ("group", "disconnect", "1.8.0"),
    ("group", "max_client_disconnect", "1.3.0"),
    ("group", "prevent_reschedule_on_lost", "1.7.2"),
    ("group", "secret", "1.11.0"),
    ("identity", "aud", "1.7.0"),
    ("identity", "change_mode", "1.7.0"),
    ("identity", "change_signal", "1.7.0"),
    ("identity", "name", "1.7.0"),
    ("identity", "ttl", "1.7.0"),
    ("job", "node_pool", "1.6.0"),
    ("job", "secret", "1.11.0"),
    ("job", "ui", "1.8.0"),
    ("periodic", "crons", "1.6.2"),
    ("proxy", "transparent_proxy", "1.8.0"),
    ("resources", "cores", "1.1.0"),
    ("resources", "memory_max", "1.1.0"),
    ("resources", "numa", "1.7.0"),
    ("restart", "render_templates", "1.6.2"),
    ("service", "cluster", "1.7.0"),
    ("service", "identity", "1.7.0"),
    ("service", "provider", "1.3.0"),
    ("service", "tagged_addresses", "1.4.0"),
    ("task", "action", "1.7.0"),
    ("task", "consul", "1.7.0"),
    ("task", "identity", "1.5.0"),
    ("task", "schedule", "1.8.0"),
    ("task", "secret", "1.11.0"),
    ("template", "error_on_missing_key", "1.4.3"),
    ("upstreams", "destination_peer", "1.6.2"),
    ("upstreams", "destination_type", "1.6.2"),
    ("upstreams", "local_bind_socket_mode", "1.6.2"),
    ("upstreams", "local_bind_socket_path", "1.6.2"),
    ("vault", "allow_token_expiration", "1.7.3"),
    ("vault", "cluster", "1.7.0"),
    ("vault", "disable_file", "1.6.0"),
    ("vault", "role", "1.7.0"),
    ("volume", "access_mode", "1.1.0"),
    ("volume", "attachment_mode", "1.1.0"),
    ("volume", "per_alloc", "1.1.0"),
    ("volume", "sticky", "1.10.0"),
];

/// The first version with an attribute or block of a block; `None`: 1.0 or earlier, or it is not known.
pub(super) fn since(block: &str, name: &str) -> Option<&'static str> {
    let at = SINCE.binary_search_by_key(&(block, name), |(block, name, _)| (*block, *name)).ok()?;
    SINCE.get(at).map(|(_, _, version)| *version)
}

#[cfg(test)]
mod tests {
    use super::super::place;
    use super::*;

    /// Each entry is found, and names an attribute or a block that there is.
    #[test]
    fn versions_belong_to_existing_fields() {
        assert!(SINCE.is_sorted_by_key(|(block, name, _)| (*block, *name)));
        let mut known = Vec::new();
        let mut open = vec![vec!["job"]];
        while let Some(path) = open.pop() {
            let at = place(path.iter().copied()).expect("a block");
            let kind = *path.last().expect("a kind");
            known.extend(at.attributes().iter().filter_map(|a| Some((kind, a.name, a.since?))));
            for block in at.blocks() {
                known.extend(block.since.map(|version| (kind, block.name, version)));
                if path.len() < 8 {
                    open.push(path.iter().copied().chain([block.name]).collect());
                }
            }
        }
        for entry in SINCE {
            assert!(known.contains(entry), "{entry:?}");
            let numbers: Vec<u32> = entry.2.split('.').map(|n| n.parse().expect("a number")).collect();
            assert!(numbers.len() == 3 && numbers[..2] > [1, 0][..], "{entry:?}");
        }
    }
}
