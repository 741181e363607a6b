//! Connect: the `connect` validator (`docs/spec/jobspec.md §14.4`), the `expose-check` validator (`§14.2`), and rules
//! for sidecars and transparent proxies of services (`§14.12`).

use std::collections::BTreeMap;

use thiserror::Error;

use super::constraint::parse_uint;
use super::errors::{Errors, error_list};
use super::gateway::gateway;
use encamp_model::quoted;
use encamp_model::{ConsulConnect, ConsulTransparentProxy, ConsulUpstream, Job, Service, TaskGroup};

/// The transparent proxy of a service's sidecar.
fn transparent_proxy(service: &Service) -> Option<&ConsulTransparentProxy> {
    service.connect.as_ref()?.sidecar_service.as_ref()?.proxy.as_ref()?.transparent_proxy.as_ref()
}

pub(super) fn has_sidecar(service: &Service) -> bool {
    service.connect.as_ref().is_some_and(|c| c.sidecar_service.is_some())
}

fn has_gateway(service: &Service) -> bool {
    service.connect.as_ref().is_some_and(|c| c.gateway.is_some())
}

/// The first rule a group breaks, groups in order.
pub(super) fn validator(job: &Job) -> Option<String> {
    job.task_groups.iter().find_map(|g| {
        g.services
            .iter()
            .find_map(|s| service_rules(g, s))
            .or_else(|| upstreams(g))
            .or_else(|| g.services.iter().find_map(|s| transparent_proxy_rules(g, s)))
    })
}

fn service_rules(group: &TaskGroup, service: &Service) -> Option<String> {
    if has_sidecar(service) {
        return network_rule(group, "connect sidecar", false).or_else(|| lower_case_rule(group, service));
    }
    if has_gateway(service) { network_rule(group, "connect gateway", true) } else { None }
}

/// Exactly one network, in a mode that Connect can work with.
pub(super) fn network_rule(group: &TaskGroup, prefix: &str, host_allowed: bool) -> Option<String> {
    let name = quoted(&group.name);
    let [network] = group.networks.as_slice() else {
        return Some(format!(
            "{prefix}: must have exactly one network for Consul Connect: group {name} has {} networks",
            group.networks.len()
        ));
    };
    let mode = network.mode.as_str();
    if mode == "bridge" || mode.starts_with("cni/") || (host_allowed && mode == "host") {
        return None;
    }
    let choices = if host_allowed { "\"bridge\", \"host\", or \"cni/*\"" } else { "\"bridge\" or \"cni/*\"" };
    Some(format!(
        "{prefix}: invalid network mode for Consul Connect: group {name} uses network mode {}; must be {choices}",
        quoted(mode)
    ))
}

fn lower_case_rule(group: &TaskGroup, service: &Service) -> Option<String> {
    let has_upper = |s: &str| s.chars().any(char::is_uppercase);
    let (s, g) = (quoted(&service.name), quoted(&group.name));
    if has_upper(&service.name) {
        return Some(format!("Consul Connect service name {s} in group {g} must not contain uppercase characters"));
    }
    has_upper(&group.name)
        .then(|| format!("Consul Connect group {g} with service {s} must not contain uppercase characters"))
}

fn upstream_address(u: &ConsulUpstream) -> String {
    if !u.local_bind_socket_path.is_empty() {
        return u.local_bind_socket_path.clone();
    }
    let host = &u.local_bind_address;
    if host.contains(':') { format!("[{host}]:{}", u.local_bind_port) } else { format!("{host}:{}", u.local_bind_port) }
}

/// Every upstream of a group listens on an address of its own.
fn upstreams(group: &TaskGroup) -> Option<String> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for service in &group.services {
        let sidecar = service.connect.as_ref().and_then(|c| c.sidecar_service.as_ref());
        for u in sidecar.and_then(|s| s.proxy.as_ref()).into_iter().flat_map(|p| &p.upstreams) {
            let address = upstream_address(u);
            if let Some(other) = seen.get(&address) {
                return Some(format!(
                    "Consul Connect services {} and {} in group {} using same address for upstreams ({address})",
                    quoted(other),
                    quoted(&service.name),
                    quoted(&group.name)
                ));
            }
            seen.insert(address, &service.name);
        }
    }
    None
}

fn transparent_proxy_rules(group: &TaskGroup, service: &Service) -> Option<String> {
    let proxy = transparent_proxy(service)?;
    if !proxy.no_dns && group.networks.iter().any(|n| n.dns.is_some()) {
        return Some("Consul Connect transparent proxy cannot be used with network.dns unless no_dns=true".into());
    }
    let is_label = |p: &str| group.networks.iter().flat_map(|n| &n.reserved_ports).any(|port| port.label == p);
    let unknown =
        proxy.exclude_inbound_ports.iter().find(|p| parse_uint(p, 10, u64::from(u16::MAX)).is_err() && !is_label(p));
    if let Some(port) = unknown {
        return Some(format!(
            "Consul Connect transparent proxy port {} must be numeric or one of network.port labels",
            quoted(port)
        ));
    }
    (group.services.iter().filter(|s| s.connect.is_some()).count() > 1)
        .then(|| "Consul Connect transparent proxy requires there is only one connect block".into())
}

/// Exposed checks belong to group services with a sidecar, in a group with the right network.
pub(super) fn expose_check(job: &Job) -> Option<String> {
    job.task_groups.iter().find_map(|g| {
        let on_network = || {
            exposed(&g.services).next()?;
            network_rule(g, "connect expose check", false)
        };
        let on_sidecar = || {
            let (s, path) = exposed(&g.services).find(|(s, _)| !has_sidecar(s))?;
            Some(format!("exposed service check {}->{}->{path} requires use of sidecar_proxy", g.name, s.name))
        };
        let on_tasks = || {
            let (t, s, check) = g.tasks.iter().find_map(|t| exposed(&t.services).next().map(|(s, c)| (t, s, c)))?;
            let path = format!("{}[{}]->{}->{check}", g.name, t.name, s.name);
            Some(format!("exposed service check {path} is not a task-group service"))
        };
        on_network().or_else(on_sidecar).or_else(on_tasks)
    })
}

/// Services with the names of their exposed checks.
fn exposed(services: &[Service]) -> impl Iterator<Item = (&Service, &str)> {
    services.iter().flat_map(|s| s.checks.iter().filter(|c| c.expose).map(move |c| (s, c.name.as_str())))
}

/// The errors of a service's connect block.
pub(super) fn connect(c: &ConsulConnect) -> Vec<String> {
    let kinds = [c.native, c.sidecar_service.is_some(), c.gateway.is_some()];
    let mut errors = Errors::default();
    if kinds.into_iter().filter(|k| *k).count() != 1 {
        errors.add("Consul Connect must be exclusively native, make use of a sidecar, or represent a Gateway");
        return errors.into_items();
    }
    let proxy = c.sidecar_service.as_ref().and_then(|s| s.proxy.as_ref());
    if let Some(tproxy) = proxy.and_then(|p| p.transparent_proxy.as_ref()) {
        let mut items = tproxy_errors(tproxy);
        match items.len() {
            0 | 1 => errors.flatten(items.pop()),
            _ => errors.add(error_list(&items)),
        }
    }
    errors.flatten(c.gateway.as_ref().and_then(gateway).map(String::from));
    errors.into_items()
}

fn tproxy_errors(p: &ConsulTransparentProxy) -> Vec<String> {
    let mut errors = Errors::default();
    for cidr in &p.exclude_outbound_cidrs {
        if let Err(e) = parse_prefix(cidr) {
            errors.add(format!(
                "could not parse transparent proxy excluded outbound CIDR as network prefix: netip.ParsePrefix({}): {e}",
                quoted(cidr)
            ));
        }
    }
    let uid = Some(("UID", &p.uid)).filter(|(_, uid)| !uid.is_empty());
    for (field, id) in uid.into_iter().chain(p.exclude_u_ids.iter().map(|id| ("ExcludeUIDs", id))) {
        if let Err(e) = parse_uint(id, 10, u64::from(u16::MAX)) {
            errors.add(format!(
                "transparent proxy block has invalid {field} field: invalid user ID {}: {}",
                quoted(id),
                e.reason
            ));
        }
    }
    errors.into_items()
}

/// Why a text is no IP network.
#[derive(Debug, PartialEq, Error)]
enum PrefixError {
    #[error("no '/'")]
    NoSlash,
    #[error("IPv6 zones cannot be present in a prefix")]
    Zone,
    #[error("ParseAddr({}): {}", quoted(.0), address_problem(.0))]
    Address(String),
    #[error("bad bits after slash: {}", quoted(.0))]
    Bits(String),
    #[error("prefix length out of range")]
    Length,
}

/// Checks that the text is an IP network like `10.0.0.0/8`.
fn parse_prefix(s: &str) -> Result<(), PrefixError> {
    let (address, bits) = s.rsplit_once('/').ok_or(PrefixError::NoSlash)?;
    let max = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) if address.contains('%') => return Err(PrefixError::Zone),
        Err(_) => return Err(PrefixError::Address(address.to_string())),
    };
    let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    if !digits || (bits.len() > 1 && bits.starts_with('0')) {
        return Err(PrefixError::Bits(bits.to_string()));
    }
    match bits.parse::<u64>() {
        Ok(n) if n <= max => Ok(()),
        _ => Err(PrefixError::Length),
    }
}

/// Why an address does not parse, for the forms that occur: something dotted, or no address at all.
fn address_problem(s: &str) -> &'static str {
    if s.contains(':') || !s.contains('.') {
        return "unable to parse IP";
    }
    for field in s.split('.') {
        if field.is_empty() {
            return "IPv4 field must have at least one digit";
        }
        if !field.bytes().all(|b| b.is_ascii_digit()) {
            return "unexpected character";
        }
        if field.len() > 1 && field.starts_with('0') {
            return "IPv4 field has octet with leading zero";
        }
        if field.parse::<u8>().is_err() {
            return "IPv4 field has value >255";
        }
    }
    if s.split('.').count() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{
        ConsulGateway, ConsulProxy, ConsulSidecarService, DnsConfig, NetworkResource, Port, ServiceCheck, Task,
    };

    fn network(mode: &str) -> NetworkResource {
        NetworkResource { mode: mode.into(), ..NetworkResource::default() }
    }

    fn sidecar(name: &str, change: impl FnOnce(&mut ConsulProxy)) -> Service {
        let mut proxy = ConsulProxy::default();
        change(&mut proxy);
        let sidecar = ConsulSidecarService { proxy: Some(proxy), ..ConsulSidecarService::default() };
        let connect = Some(ConsulConnect { sidecar_service: Some(sidecar), ..ConsulConnect::default() });
        Service { name: name.into(), connect, ..Service::default() }
    }

    fn gateway_service(name: &str) -> Service {
        let connect = Some(ConsulConnect { gateway: Some(ConsulGateway::default()), ..ConsulConnect::default() });
        Service { name: name.into(), connect, ..Service::default() }
    }

    fn job(name: &str, networks: Vec<NetworkResource>, services: Vec<Service>) -> Job {
        let group = TaskGroup { name: name.into(), networks, services, ..TaskGroup::default() };
        Job { task_groups: vec![group], ..Job::default() }
    }

    fn upstream(address: &str, port: i64, socket: &str) -> ConsulUpstream {
        ConsulUpstream {
            local_bind_address: address.into(),
            local_bind_port: port,
            local_bind_socket_path: socket.into(),
            ..ConsulUpstream::default()
        }
    }

    fn tproxy(name: &str, change: impl FnOnce(&mut ConsulTransparentProxy)) -> Service {
        let mut t = ConsulTransparentProxy::default();
        change(&mut t);
        sidecar(name, |p| p.transparent_proxy = Some(t))
    }

    #[test]
    fn connect_validator_texts() {
        let upstreams = |list: Vec<ConsulUpstream>| move |p: &mut ConsulProxy| p.upstreams = list;
        let with_dns = NetworkResource { dns: Some(DnsConfig::default()), ..network("bridge") };
        let port = |label: &str| vec![Port { label: label.into(), ..Port::default() }];
        let with_ports =
            NetworkResource { reserved_ports: port("fixed"), dynamic_ports: port("free"), ..network("bridge") };
        for (job, want) in [
            (job("g", vec![network("bridge")], vec![sidecar("s", |_| {})]), ""),
            (job("g", vec![network("cni/x")], vec![sidecar("s", |_| {})]), ""),
            (job("g", vec![network("host")], vec![gateway_service("s")]), ""),
            (job("g", vec![], vec![Service::default()]), ""),
            (
                job("g", vec![], vec![sidecar("s", |_| {})]),
                "connect sidecar: must have exactly one network for Consul Connect: group \"g\" has 0 networks",
            ),
            (
                job("g", vec![network("host")], vec![sidecar("s", |_| {})]),
                "connect sidecar: invalid network mode for Consul Connect: group \"g\" uses network mode \"host\"; must \
                 be \"bridge\" or \"cni/*\"",
            ),
            (
                job("g", vec![network("none")], vec![gateway_service("s")]),
                "connect gateway: invalid network mode for Consul Connect: group \"g\" uses network mode \"none\"; must \
                 be \"bridge\", \"host\", or \"cni/*\"",
            ),
            (
                job("g", vec![network("bridge")], vec![sidecar("Shop", |_| {})]),
                "Consul Connect service name \"Shop\" in group \"g\" must not contain uppercase characters",
            ),
            (
                job("G", vec![network("bridge")], vec![sidecar("s", |_| {})]),
                "Consul Connect group \"G\" with service \"s\" must not contain uppercase characters",
            ),
            (
                job(
                    "g",
                    vec![network("bridge")],
                    vec![
                        sidecar("a", upstreams(vec![upstream("127.0.0.1", 7000, ""), upstream("", 7000, "")])),
                        sidecar("b", upstreams(vec![upstream("127.0.0.1", 7000, "")])),
                    ],
                ),
                "Consul Connect services \"a\" and \"b\" in group \"g\" using same address for upstreams \
                 (127.0.0.1:7000)",
            ),
            (
                job(
                    "g",
                    vec![network("bridge")],
                    vec![sidecar("a", upstreams(vec![upstream("", 1, "/s"), upstream("", 2, "/s")]))],
                ),
                "Consul Connect services \"a\" and \"a\" in group \"g\" using same address for upstreams (/s)",
            ),
            (
                job("g", vec![with_dns.clone()], vec![tproxy("s", |_| {})]),
                "Consul Connect transparent proxy cannot be used with network.dns unless no_dns=true",
            ),
            (job("g", vec![with_dns], vec![tproxy("s", |t| t.no_dns = true)]), ""),
            (
                job(
                    "g",
                    vec![with_ports.clone()],
                    vec![tproxy("s", |t| {
                        t.exclude_inbound_ports = vec!["80".into(), "fixed".into(), "free".into()];
                    })],
                ),
                "Consul Connect transparent proxy port \"free\" must be numeric or one of network.port labels",
            ),
            (
                job(
                    "g",
                    vec![with_ports],
                    vec![tproxy("s", |t| {
                        t.exclude_inbound_ports = vec!["65536".into()];
                    })],
                ),
                "Consul Connect transparent proxy port \"65536\" must be numeric or one of network.port labels",
            ),
            (
                job("g", vec![network("bridge")], vec![tproxy("s", |_| {}), sidecar("t", |_| {})]),
                "Consul Connect transparent proxy requires there is only one connect block",
            ),
        ] {
            assert_eq!(validator(&job).unwrap_or_default(), want, "{job:?}");
        }
    }

    #[test]
    fn expose_check_texts() {
        let exposed = |mut s: Service| {
            s.checks = vec![ServiceCheck { name: "c".into(), expose: true, ..ServiceCheck::default() }];
            s
        };
        let plain = || Service { name: "s".into(), ..Service::default() };
        assert_eq!(expose_check(&job("g", vec![network("bridge")], vec![exposed(sidecar("s", |_| {}))])), None);
        assert_eq!(
            expose_check(&job("g", vec![], vec![exposed(plain())])).as_deref(),
            Some("connect expose check: must have exactly one network for Consul Connect: group \"g\" has 0 networks")
        );
        assert_eq!(
            expose_check(&job("g", vec![network("bridge")], vec![exposed(plain())])).as_deref(),
            Some("exposed service check g->s->c requires use of sidecar_proxy")
        );
        let mut j = job("g", vec![], vec![]);
        let task = Task { name: "t".into(), services: vec![exposed(plain())], ..Task::default() };
        j.task_groups.iter_mut().for_each(|g| g.tasks = vec![task.clone()]);
        assert_eq!(expose_check(&j).as_deref(), Some("exposed service check g[t]->s->c is not a task-group service"));
    }

    #[test]
    fn connect_block_texts() {
        let exclusively = "Consul Connect must be exclusively native, make use of a sidecar, or represent a Gateway";
        let of = |s: &Service| s.connect.as_ref().map(connect).unwrap_or_default();
        assert_eq!(connect(&ConsulConnect::default()), [exclusively]);
        let mut both = sidecar("s", |_| {});
        both.connect.iter_mut().for_each(|c| c.native = true);
        assert_eq!(of(&both), [exclusively]);
        assert!(connect(&ConsulConnect { native: true, ..ConsulConnect::default() }).is_empty());
        assert_eq!(of(&gateway_service("s")), ["One Consul Gateway Configuration must be set"]);
        let uid = tproxy("s", |t| t.uid = "root".into());
        assert_eq!(
            of(&uid),
            ["transparent proxy block has invalid UID field: invalid user ID \"root\": invalid syntax"]
        );
        let many = tproxy("s", |t| {
            t.exclude_outbound_cidrs = vec!["10.0.0.0".into(), "10.0.0.0/8".into()];
            t.exclude_u_ids = vec!["99999".into()];
        });
        assert_eq!(
            of(&many),
            ["2 errors occurred:\n\t* could not parse transparent proxy excluded outbound CIDR as network prefix: \
              netip.ParsePrefix(\"10.0.0.0\"): no '/'\n\t* transparent proxy block has invalid ExcludeUIDs field: \
              invalid user ID \"99999\": value out of range\n\n"]
        );
    }

    #[test]
    fn prefixes() {
        for good in ["0.0.0.0/0", "10.1.2.3/32", "::/0", "fd00::/128"] {
            assert_eq!(parse_prefix(good), Ok(()), "{good}");
        }
        for (bad, want) in [
            ("x", "no '/'"),
            ("x/8", "ParseAddr(\"x\"): unable to parse IP"),
            ("1.2.3/8", "ParseAddr(\"1.2.3\"): IPv4 address too short"),
            ("1.2.3.256/8", "ParseAddr(\"1.2.3.256\"): IPv4 field has value >255"),
            ("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"),
            ("10.0.0.0/08", "bad bits after slash: \"08\""),
            ("10.0.0.0/33", "prefix length out of range"),
        ] {
            assert_eq!(parse_prefix(bad).map_err(|e| e.to_string()), Err(want.to_string()), "{bad}");
        }
    }
}
