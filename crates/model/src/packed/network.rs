//! Networks and ports of allocations as bytes.

use std::collections::BTreeMap;

use super::codec::{Reader, Writer, flag};
use super::list::Pack;
use crate::alloc::AllocatedPortMapping;
use crate::resources::{CniConfig, DnsConfig, NetworkResource, Port};

const FREQUENT: &[&str] = &[
    "default",
    "bridge",
    "host",
    "none",
    "http",
    "https",
    "grpc",
    "api",
    "web",
    "admin",
    "metrics",
    "db",
    "eth0",
    "127.0.0.1",
    "public",
    "private",
];

/// Which members of a port are set.
mod of_port {
    pub(super) const IGNORE_COLLISION: u64 = 1;
    pub(super) const TO: u64 = 1 << 1;
    /// It is the same number outside and inside.
    pub(super) const SAME_TO: u64 = 1 << 2;
}

/// Which members of a network are set.
mod of_network {
    pub(super) const MODE: u64 = 1;
    pub(super) const IP: u64 = 1 << 1;
    pub(super) const DYNAMIC_PORTS: u64 = 1 << 2;
    pub(super) const RESERVED_PORTS: u64 = 1 << 3;
    pub(super) const DEVICE: u64 = 1 << 4;
    pub(super) const MBITS: u64 = 1 << 5;
    pub(super) const CIDR: u64 = 1 << 6;
    pub(super) const HOSTNAME: u64 = 1 << 7;
    pub(super) const DNS: u64 = 1 << 8;
    pub(super) const CNI: u64 = 1 << 9;
}

/// What host and allocation know of a port: numbers outside and inside, and whether collisions do not matter.
fn write_numbers(w: &mut Writer<'_>, value: i64, to: i64, ignore_collision: bool) {
    let inside = match to {
        0 => 0,
        to if to == value => of_port::SAME_TO,
        _ => of_port::TO,
    };
    w.number(inside | flag(ignore_collision, of_port::IGNORE_COLLISION));
    w.signed(value);
    if inside == of_port::TO {
        w.signed(to);
    }
}

fn read_numbers(r: &mut Reader<'_>) -> (i64, i64, bool) {
    let set = r.number();
    let value = r.signed();
    let to = match set & (of_port::TO | of_port::SAME_TO) {
        of_port::TO => r.signed(),
        of_port::SAME_TO => value,
        _ => 0,
    };
    (value, to, set & of_port::IGNORE_COLLISION != 0)
}

impl Pack for AllocatedPortMapping {
    const FREQUENT: &'static [&'static str] = FREQUENT;

    fn write<'a>(&'a self, w: &mut Writer<'a>) {
        w.text(&self.label);
        write_numbers(w, self.value, self.to, self.ignore_collision);
        w.text(&self.host_ip);
    }

    fn read(r: &mut Reader<'_>) -> AllocatedPortMapping {
        let label = r.text().into_owned();
        let (value, to, ignore_collision) = read_numbers(r);
        AllocatedPortMapping { label, value, to, host_ip: r.text().into_owned(), ignore_collision }
    }
}

fn write_ports<'a>(w: &mut Writer<'a>, ports: &'a [Port]) {
    w.count(ports.len());
    for p in ports {
        w.text(&p.label);
        write_numbers(w, p.value, p.to, p.ignore_collision);
        w.text(&p.host_network);
    }
}

fn read_ports(r: &mut Reader<'_>) -> Vec<Port> {
    let count = r.count();
    let read = |_| {
        let label = r.text().into_owned();
        let (value, to, ignore_collision) = read_numbers(r);
        Port { label, value, to, host_network: r.text().into_owned(), ignore_collision }
    };
    (0..count).map(read).collect()
}

fn write_texts<'a>(w: &mut Writer<'a>, texts: &'a [String]) {
    w.count(texts.len());
    texts.iter().for_each(|text| w.text(text));
}

fn read_texts(r: &mut Reader<'_>) -> Vec<String> {
    (0..r.count()).map(|_| r.text().into_owned()).collect()
}

impl Pack for NetworkResource {
    const FREQUENT: &'static [&'static str] = FREQUENT;

    fn write<'a>(&'a self, w: &mut Writer<'a>) {
        let texts = [
            (&self.mode, of_network::MODE),
            (&self.ip, of_network::IP),
            (&self.device, of_network::DEVICE),
            (&self.cidr, of_network::CIDR),
            (&self.hostname, of_network::HOSTNAME),
        ];
        let set = texts.iter().map(|(text, bit)| flag(!text.is_empty(), *bit)).sum::<u64>()
            + flag(!self.dynamic_ports.is_empty(), of_network::DYNAMIC_PORTS)
            + flag(!self.reserved_ports.is_empty(), of_network::RESERVED_PORTS)
            + flag(self.mbits != 0, of_network::MBITS)
            + flag(self.dns.is_some(), of_network::DNS)
            + flag(self.cni.is_some(), of_network::CNI);
        w.number(set);
        texts.iter().filter(|(text, _)| !text.is_empty()).for_each(|(text, _)| w.text(text));
        let ports = [&self.dynamic_ports, &self.reserved_ports];
        ports.iter().filter(|ports| !ports.is_empty()).for_each(|ports| write_ports(w, ports));
        if self.mbits != 0 {
            w.signed(self.mbits);
        }
        if let Some(dns) = &self.dns {
            [&dns.servers, &dns.searches, &dns.options].iter().for_each(|texts| write_texts(w, texts));
        }
        if let Some(cni) = &self.cni {
            w.count(cni.args.len());
            for (key, value) in &cni.args {
                w.text(key);
                w.text(value);
            }
        }
    }

    fn read(r: &mut Reader<'_>) -> NetworkResource {
        let set = r.number();
        let mut out = NetworkResource::default();
        for (text, bit) in [
            (&mut out.mode, of_network::MODE),
            (&mut out.ip, of_network::IP),
            (&mut out.device, of_network::DEVICE),
            (&mut out.cidr, of_network::CIDR),
            (&mut out.hostname, of_network::HOSTNAME),
        ] {
            if set & bit != 0 {
                *text = r.text().into_owned();
            }
        }
        if set & of_network::DYNAMIC_PORTS != 0 {
            out.dynamic_ports = read_ports(r);
        }
        if set & of_network::RESERVED_PORTS != 0 {
            out.reserved_ports = read_ports(r);
        }
        if set & of_network::MBITS != 0 {
            out.mbits = r.signed();
        }
        if set & of_network::DNS != 0 {
            out.dns = Some(DnsConfig { servers: read_texts(r), searches: read_texts(r), options: read_texts(r) });
        }
        if set & of_network::CNI != 0 {
            let args = (0..r.count()).map(|_| (r.text().into_owned(), r.text().into_owned()));
            out.cni = Some(CniConfig { args: args.collect::<BTreeMap<_, _>>() });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::packed::PackedList;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![Just(String::new()), "default|http|10\\.0\\.0\\.[1-3]|[a-c]{0,2}|\\PC{0,20}"]
    }

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![Just(0), -1..3_i64, 20_000..32_000_i64, any::<i64>()]
    }

    prop_compose! {
        fn port()(label in text(), value in number(), to in number(), same in any::<bool>(), host in text(),
            ignore_collision in any::<bool>()) -> Port {
            Port { label, value, to: if same { value } else { to }, host_network: host, ignore_collision }
        }
    }

    fn mapping() -> impl Strategy<Value = AllocatedPortMapping> {
        port().prop_map(|p| AllocatedPortMapping {
            label: p.label,
            value: p.value,
            to: p.to,
            host_ip: p.host_network,
            ignore_collision: p.ignore_collision,
        })
    }

    prop_compose! {
        fn network()(
            texts in proptest::array::uniform5(text()),
            mbits in number(),
            dns in proptest::option::of(vec(vec(text(), 0..3), 3)),
            ports in proptest::array::uniform2(vec(port(), 0..3)),
            cni in proptest::option::of(btree_map(text(), text(), 0..3)),
        ) -> NetworkResource {
            let [mode, device, cidr, ip, hostname] = texts;
            let [reserved_ports, dynamic_ports] = ports;
            let dns = dns.map(|mut lists| {
                let mut next = || lists.pop().unwrap_or_default();
                DnsConfig { servers: next(), searches: next(), options: next() }
            });
            let cni = cni.map(|args| CniConfig { args });
            NetworkResource { mode, device, cidr, ip, hostname, mbits, dns, reserved_ports, dynamic_ports, cni }
        }
    }

    fn check<T: Pack + Clone + Debug + PartialEq + Serialize + DeserializeOwned>(list: &[T]) {
        let packed: PackedList<T> = list.to_vec().into();
        assert_eq!(packed.iter().collect::<Vec<_>>(), list);
        assert_eq!((packed.len(), packed.is_empty()), (list.len(), list.is_empty()));
        assert_eq!(packed.first().as_ref(), list.first());
        assert_eq!(format!("{packed:?}"), format!("{list:?}"));
        let json = serde_json::to_string(list).unwrap();
        assert_eq!(serde_json::to_string(&packed).unwrap(), json);
        assert_eq!(serde_json::from_str::<PackedList<T>>(&json).unwrap(), packed);
        let binary = rmp_serde::to_vec_named(list).unwrap();
        assert_eq!(rmp_serde::to_vec_named(&packed).unwrap(), binary);
        assert_eq!(rmp_serde::from_slice::<PackedList<T>>(&binary).unwrap(), packed);
        let mut again = PackedList::default();
        list.iter().for_each(|record| again.push(record.clone()));
        assert_eq!(again, packed);
        if !list.is_empty() {
            assert_ne!(packed, PackedList::default());
        }
    }

    proptest! {
        #[test]
        fn lists_stay_as_they_are(networks in vec(network(), 0..3), ports in vec(mapping(), 0..4)) {
            check(&networks);
            check(&ports);
        }
    }

    #[test]
    fn a_dynamic_port_takes_few_bytes() {
        let ip = "10.20.30.40".to_string();
        let port = Port {
            label: "http".into(),
            value: 23_456,
            to: 8080,
            host_network: "default".into(),
            ..Default::default()
        };
        let network =
            NetworkResource { mode: "bridge".into(), ip: ip.clone(), dynamic_ports: vec![port], ..Default::default() };
        let mapping =
            AllocatedPortMapping { label: "http".into(), value: 23_456, to: 8080, host_ip: ip, ..Default::default() };
        let sizes = (PackedList::from(vec![network]).packed_len(), PackedList::from(vec![mapping]).packed_len());
        assert!(sizes.0 <= 32 && sizes.1 <= 24, "{sizes:?}");
    }
}
