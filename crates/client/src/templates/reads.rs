//! What templates read from the servers: by the HTTP API of the node's own agent, with the task's workload identity, so
//! that a template sees exactly what its task may see (`docs/spec/http-api.md §7.10`).

use std::fmt::{Debug, Write};

use futures_util::future::BoxFuture;

use encamp_model::SecretString;
use encamp_template::Dependency;

/// Reads by the HTTP API of the agent.
pub trait ApiReads: Debug + Send + Sync {
    /// The answer to a GET of a path with its query. `token`: who asks; empty for nobody.
    fn read<'a>(&'a self, path: &'a str, token: &'a SecretString) -> BoxFuture<'a, Result<ApiAnswer, NoAnswer>>;
}

/// An answer of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAnswer {
    /// The status.
    pub status: u16,
    /// The index of the state, for the next blocking read.
    pub index: u64,
    /// The body. May hold secrets.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The agent does not serve its API, yet or any more.
    #[error("the agent does not serve its API")]
    NotServed,
    /// The body could not be read, or is too long.
    #[error("the answer could not be read")]
    Unreadable,
    /// The servers refuse.
    #[error("the servers answered with status {0}")]
    Status(u16),
    /// The answer is not what was asked for.
    #[error("the answer has an unexpected form")]
    Form,
}

/// How long a read blocks, and who has been answered what before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Blocking {
    /// The index of the last answer; 0: none.
    pub index: u64,
    /// Milliseconds.
    pub wait: u128,
    /// Any server may answer, not only the leader.
    pub stale: bool,
}

/// The path of a read with its query; `None` for what is not read from servers.
pub(crate) fn path(dependency: &Dependency, namespace: &str, blocking: Blocking) -> Option<String> {
    let (mut out, namespace) = match dependency {
        Dependency::Variable(name) | Dependency::VariableExists(name) => {
            (format!("/v1/var/{}?", encoded(&name.path, true)), name.namespace.as_deref().unwrap_or(namespace))
        }
        Dependency::VariableList(name) | Dependency::VariableListSafe(name) => {
            let prefix = encoded(&name.path, false);
            (format!("/v1/vars?prefix={prefix}&"), name.namespace.as_deref().unwrap_or(namespace))
        }
        Dependency::Service { name, choose } => {
            let mut out = format!("/v1/service/{}?", encoded(name, false));
            if let Some((count, key)) = choose {
                let _ = write!(out, "choose={count}%7C{}&", encoded(key, false));
            }
            (out, namespace)
        }
        Dependency::Services => ("/v1/services?".to_string(), namespace),
        Dependency::File(_) => return None,
    };
    let _ = write!(out, "namespace={}", encoded(namespace, false));
    if blocking.stale {
        out.push_str("&stale=true");
    }
    if blocking.index > 0 {
        let _ = write!(out, "&index={}&wait={}ms", blocking.index, blocking.wait);
    }
    Some(out)
}

fn encoded(text: &str, slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b'/' if slashes => out.push('/'),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_template::source::VariableName;

    #[test]
    fn paths() {
        let first = Blocking::default();
        let var = Dependency::Variable(VariableName::parse("nomad/jobs/a"));
        assert_eq!(path(&var, "default", first).unwrap(), "/v1/var/nomad/jobs/a?namespace=default");
        let next = Blocking { index: 7, wait: 5000, stale: true };
        let list = Dependency::VariableList(VariableName::parse("a&b@prod"));
        let want = "/v1/vars?prefix=a%26b&namespace=prod&stale=true&index=7&wait=5000ms";
        assert_eq!(path(&list, "default", next).unwrap(), want);
        let service = Dependency::Service { name: "a b".into(), choose: Some((2, "k|".into())) };
        let want = "/v1/service/a%20b?choose=2%7Ck%7C&namespace=n";
        assert_eq!(path(&service, "n", first).unwrap(), want);
        assert_eq!(path(&Dependency::File("x".into()), "n", first), None);
    }
}
