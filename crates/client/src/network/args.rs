//! What plugins get to know of an allocation: `CNI_ARGS` and the ports of the host (`docs/spec/client.md §15.2`).

use super::chain::PortMapping;
use encamp_model::AllocatedPortMapping;

/// An argument that `CNI_ARGS` can't hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the argument {name:?} of the network plugins has a name or a value with ';', '=' or a control character")]
pub(crate) struct ArgumentError {
    name: String,
}

/// `CNI_ARGS`; `own`: the arguments of the agent, which win over those of the job.
pub(crate) fn text(own: &[(&str, &str)], job: &[(String, String)]) -> Result<String, ArgumentError> {
    let job = job.iter().map(|(k, v)| (k.as_str(), v.as_str())).filter(|(k, _)| own.iter().all(|(o, _)| o != k));
    let mut out = String::from("IgnoreUnknown=true");
    for (name, value) in own.iter().copied().chain(job.filter(|(k, _)| *k != "IgnoreUnknown")) {
        let bad = |c: char| c == ';' || c.is_control();
        if name.is_empty() || name.contains(|c| c == '=' || bad(c)) || value.contains(bad) {
            return Err(ArgumentError { name: name.chars().filter(|c| !c.is_control()).take(128).collect() });
        }
        out.push_str(&format!(";{name}={value}"));
    }
    Ok(out)
}

/// The ports of the host that lead into the namespace, for TCP and UDP each; `everywhere`: on all addresses.
pub(crate) fn port_mappings(ports: &[AllocatedPortMapping], everywhere: bool) -> Vec<PortMapping> {
    let mapping = |port: &AllocatedPortMapping, protocol: &str| PortMapping {
        host_port: port.value,
        container_port: if port.to > 0 { port.to } else { port.value },
        protocol: protocol.into(),
        host_ip: if everywhere { String::new() } else { port.host_ip.clone() },
    };
    ports.iter().flat_map(|port| ["tcp", "udp"].map(|protocol| mapping(port, protocol))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_of_the_agent_win() {
        let job = |list: &[(&str, &str)]| list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect::<Vec<_>>();
        let own = [("NOMAD_REGION", "global"), ("NOMAD_JOB_ID", "web")];
        let given = job(&[("NOMAD_REGION", "x"), ("IgnoreUnknown", "false"), ("a", "b=c")]);
        let wanted = "IgnoreUnknown=true;NOMAD_REGION=global;NOMAD_JOB_ID=web;a=b=c";
        assert_eq!(text(&own, &given).as_deref(), Ok(wanted));
        for (name, value) in [("a", "b;K8S=1"), ("a;b", ""), ("a=b", ""), ("", "x"), ("a", "b\nc")] {
            assert!(text(&own, &job(&[(name, value)])).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn ports_are_mapped_for_both_protocols() {
        let port = |value, to| AllocatedPortMapping {
            label: "http".into(),
            value,
            to,
            host_ip: "10.0.0.1".into(),
            ..AllocatedPortMapping::default()
        };
        assert_eq!(
            json!(port_mappings(&[port(20_001, 80)], true)),
            json!([
                {"hostPort": 20_001, "containerPort": 80, "protocol": "tcp"},
                {"hostPort": 20_001, "containerPort": 80, "protocol": "udp"},
            ])
        );
        assert_eq!(
            json!(port_mappings(&[port(20_002, 0)], false)[0]),
            json!({"hostPort": 20_002, "containerPort": 20_002, "protocol": "tcp", "hostIP": "10.0.0.1"})
        );
    }
}
