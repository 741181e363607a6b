//! Where the network of a test is: a bridge and subnets with a number that no other process uses. What a killed run
//! left of them is removed before they are used again.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;

use super::output;
use crate::program::remove_folders_of_dead_runs;

/// A file for each number. It is locked while a process uses the number, and has content until its network is removed.
const LOCKS: &str = "/run/encamp-test-networks";
/// The numbers.
const NUMBERS: std::ops::RangeInclusive<u8> = 1..=250;
/// Where plugins note addresses in use, in a directory for each network.
const ADDRESSES: &str = "/var/run/cni";

/// A bridge, its subnets, and the rules of the firewall for them. They are removed at the end.
pub(super) struct Place {
    number: u8,
    lock: File,
}

impl Place {
    /// A place that is free on this machine.
    pub(super) fn claim() -> Place {
        static LEFT: Once = Once::new();
        LEFT.call_once(|| NUMBERS.filter(|n| lock_file(*n).exists()).for_each(|n| drop(Place::lock(n))));
        let place = NUMBERS.filter_map(Place::lock).find(Place::is_free).expect("a network that is free");
        (&place.lock).write_all(std::process::id().to_string().as_bytes()).expect("the note that it is used");
        place
    }

    /// Locks a number, and removes what a run left there that was killed; `None` if somebody uses it.
    fn lock(number: u8) -> Option<Place> {
        std::fs::create_dir_all(LOCKS).expect("a directory for locks");
        let file = File::options().create(true).truncate(false).write(true).open(lock_file(number)).expect("a file");
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Error(error)) => panic!("{}: {error}", lock_file(number).display()),
        }
        let place = Place { number, lock: file };
        if place.is_used() {
            // Its agents, which may still run.
            remove_folders_of_dead_runs();
            place.remove();
        }
        Some(place)
    }

    pub(super) fn bridge(&self) -> String {
        format!("enct{}", self.number)
    }

    pub(super) fn subnet(&self) -> String {
        format!("10.99.{}.0/24", self.number)
    }

    pub(super) fn subnet_ipv6(&self) -> String {
        format!("fd00:e:e:{:x}::/64", self.number)
    }

    /// How the addresses of both subnets begin.
    fn prefixes(&self) -> [String; 2] {
        [format!("10.99.{}.", self.number), format!("fd00:e:e:{:x}:", self.number)]
    }

    fn is_used(&self) -> bool {
        self.lock.metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Whether nothing else on this machine has the bridge or the subnets.
    fn is_free(&self) -> bool {
        let routes = |family: &str, subnet: &str| output("ip", &[family, "route", "list", "root", subnet]).1;
        let bridge = Path::new("/sys/class/net").join(self.bridge()).exists();
        !bridge && routes("-4", &self.subnet()).is_empty() && routes("-6", &self.subnet_ipv6()).is_empty()
    }

    /// Removes the bridge, the notes of addresses, and the rules of the firewall.
    fn remove(&self) {
        let (bridge, prefixes) = (self.bridge(), self.prefixes());
        output("ip", &["link", "del", &bridge]);
        let networks = std::fs::read_dir(ADDRESSES).into_iter().flatten().flatten();
        for note in networks.filter_map(|n| std::fs::read_dir(n.path()).ok()).flatten().flatten() {
            let name = note.file_name().display().to_string();
            if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                let _ = std::fs::remove_file(note.path());
            }
        }
        for (program, prefix) in ["iptables", "ip6tables"].into_iter().zip(&prefixes) {
            for table in ["filter", "nat"] {
                let rules = output(program, &["-w", "10", "-t", table, "-S"]).1;
                removal(&rules, prefix, &bridge).iter().for_each(|change| restore(program, table, change));
            }
        }
        let _ = self.lock.set_len(0);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_used() {
            self.remove();
        }
    }
}

fn lock_file(number: u8) -> std::path::PathBuf {
    Path::new(LOCKS).join(number.to_string())
}

/// The changes that remove the rules of a network, and the chains of its allocations, from the rules of a table.
fn removal(rules: &str, prefix: &str, bridge: &str) -> Vec<String> {
    let added = || rules.lines().filter_map(|rule| rule.strip_prefix("-A "));
    let names = |rule: &str| {
        let addresses = [format!(" {prefix}"), format!("[{prefix}")];
        addresses.iter().any(|a| rule.contains(a.as_str())) || rule.split(' ').any(|word| word == bridge)
    };
    let chain = |rule: &str| rule.split(' ').next().unwrap_or_default().to_string();
    let chains: BTreeSet<String> =
        added().filter(|rule| names(rule)).map(chain).filter(|c| is_of_allocation(c)).collect();
    let leads = |rule: &str| rule.rsplit_once(" -j ").is_some_and(|(_, target)| chains.contains(target));
    let gone = added().filter(|rule| !chains.contains(&chain(rule)) && (names(rule) || leads(rule)));
    let rules = gone.map(|rule| format!("-D {rule}"));
    rules.chain(chains.iter().map(|chain| format!("-F {chain}\n-X {chain}"))).collect()
}

/// Whether a plugin made a chain for one allocation: `CNI-`, perhaps `DN-` or `SN-`, and a part of a hash.
fn is_of_allocation(chain: &str) -> bool {
    let hash = chain.strip_prefix("CNI-").map(|rest| rest.trim_start_matches("DN-").trim_start_matches("SN-"));
    hash.is_some_and(|h| !h.is_empty() && h.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Makes a change, in which arguments are quoted as the program shows them. What is gone already needs none.
fn restore(program: &str, table: &str, change: &str) {
    let mut command = Command::new(format!("{program}-restore"));
    command.args(["--noflush", "--wait=10"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    let input = format!("*{table}\n{change}\nCOMMIT\n");
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let _ = child.wait();
}

#[test]
fn rules_of_one_network_are_removed_and_no_others() {
    let rules = "-P INPUT ACCEPT\n-N CNI-FORWARD\n-N CNI-HOSTPORT-DNAT\n-N CNI-0a1b\n-N CNI-DN-2c\n-N CNI-DN-3d\n\
        -A CNI-FORWARD -d 10.99.1.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n\
        -A CNI-FORWARD -s 10.99.11.2/32 -j ACCEPT\n\
        -A NOMAD-ADMIN -d 10.99.1.0/24 -o enct1 -j ACCEPT\n\
        -A NOMAD-ADMIN -d 10.99.11.0/24 -o enct11 -j ACCEPT\n\
        -A POSTROUTING -s 10.99.1.2/32 -m comment --comment \"name: \\\"nomad\\\" id: \\\"a\\\"\" -j CNI-0a1b\n\
        -A CNI-0a1b -d 10.99.1.0/24 -j ACCEPT\n\
        -A CNI-0a1b ! -d 224.0.0.0/4 -j MASQUERADE\n\
        -A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 20001 -j CNI-DN-2c\n\
        -A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 20002 -j CNI-DN-3d\n\
        -A CNI-DN-2c -p tcp -m tcp --dport 20001 -j DNAT --to-destination 10.99.1.2:8000\n\
        -A CNI-DN-3d -p tcp -m tcp --dport 20002 -j DNAT --to-destination 110.99.1.2:8000\n";
    let wanted = [
        "-D CNI-FORWARD -d 10.99.1.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
        "-D NOMAD-ADMIN -d 10.99.1.0/24 -o enct1 -j ACCEPT",
        "-D POSTROUTING -s 10.99.1.2/32 -m comment --comment \"name: \\\"nomad\\\" id: \\\"a\\\"\" -j CNI-0a1b",
        "-D CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 20001 -j CNI-DN-2c",
        "-F CNI-0a1b\n-X CNI-0a1b",
        "-F CNI-DN-2c\n-X CNI-DN-2c",
    ];
    assert_eq!(removal(rules, "10.99.1.", "enct1"), wanted);
    let rules = "-A CNI-DN-4e -p tcp -j DNAT --to-destination [fd00:e:e:1::2]:8000\n\
        -A CNI-HOSTPORT-DNAT -p tcp -j CNI-DN-4e\n\
        -A CNI-FORWARD -s fd00:e:e:11::2/128 -j ACCEPT\n";
    assert_eq!(
        removal(rules, "fd00:e:e:1:", "enct1"),
        ["-D CNI-HOSTPORT-DNAT -p tcp -j CNI-DN-4e", "-F CNI-DN-4e\n-X CNI-DN-4e"]
    );
}
