//! The answers known so far, as the source of templates.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::clock;
use encamp_template::time::Time;
use encamp_template::{AddressError, Answer, Dependency, Source};

/// The answers of a moment, and the environment.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// The answers.
    pub answers: HashMap<Dependency, Answer>,
    /// The environment of the task. May hold secrets.
    pub env: Arc<BTreeMap<String, String>>,
}

impl Source for Known {
    fn read(&self, dependency: &Dependency) -> Answer {
        self.answers.get(dependency).cloned().unwrap_or(Answer::Missing)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }

    fn now(&self) -> Time {
        Time::from_unix_nanos(clock::now())
    }

    fn address(&self, expression: &str) -> Result<String, AddressError> {
        address(expression)
    }
}

/// The first private address, or the first address of an interface.
fn address(expression: &str) -> Result<String, AddressError> {
    let expression = expression.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
    let interfaces = if_addrs::get_if_addrs().map_err(|e| AddressError::Unknown(e.to_string()))?;
    let all = interfaces.iter().filter(|i| !i.is_loopback()).map(|i| (i.name.as_str(), i.ip()));
    let v4 = |ip: std::net::IpAddr| match ip {
        std::net::IpAddr::V4(ip) => Some(ip),
        std::net::IpAddr::V6(_) => None,
    };
    let words: Vec<&str> = expression.split_whitespace().collect();
    let found = match words.as_slice() {
        ["GetPrivateIP"] => all.filter_map(|(_, ip)| v4(ip)).find(std::net::Ipv4Addr::is_private),
        ["GetPublicIP"] => all.filter_map(|(_, ip)| v4(ip)).find(|ip| !ip.is_private() && !ip.is_link_local()),
        ["GetInterfaceIP", name] => {
            let name = name.trim_matches(['"', '\'']);
            all.filter(|(n, _)| *n == name).find_map(|(_, ip)| v4(ip))
        }
        _ => return Err(AddressError::Expression),
    };
    Ok(found.map(|ip| ip.to_string()).unwrap_or_default())
}
