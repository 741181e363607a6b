//! The changes of a what-if and their command-line syntax.

use thiserror::Error;

use super::find::NotFound;
use crate::settings::SettingError;
use encamp_model::quoted;

/// Nodes by one thing they have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// One node: its ID, the beginning of its ID, or its name.
    One(String),
    /// All nodes of a datacenter.
    Datacenter(String),
    /// All nodes of a node class.
    Class(String),
    /// All nodes of a node pool.
    Pool(String),
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A node is drained, to its end.
    Drain(Nodes),
    /// Nodes go down and stay down.
    Down(Nodes),
    /// New nodes come, alike to a stored one.
    Add {
        /// How many.
        count: usize,
        /// The node they are like.
        like: String,
    },
    /// The count of a group is set, as the scaling endpoint does.
    Scale {
        /// ID of the job.
        job: String,
        /// Name of the group.
        group: String,
        /// The new count.
        count: i64,
    },
    /// A job is stopped.
    Stop(String),
    /// A setting of the scheduler configuration.
    Config {
        /// The setting.
        key: String,
        /// Its value as text.
        value: String,
    },
}

/// A change that is not written correctly, or names what is not there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("-{flag} {}: {problem}", quoted(value))]
pub struct ChangeError {
    /// The flag without its dash.
    pub flag: &'static str,
    /// The given value.
    pub value: String,
    /// The problem and a remedy.
    pub problem: ChangeProblem,
}

/// Why a change can't be made. Displays with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChangeProblem {
    /// The value is not in the form that the flag takes, which is described.
    #[error("{0}")]
    Form(&'static str),
    /// The number of nodes to add is no number, or out of range.
    #[error("{} is not a number of nodes from 1 to {MOST_ADDED}", quoted(.0))]
    NodeCount(String),
    /// The count of a group is no number, or negative.
    #[error("{} is not a count: a whole number from 0 up", quoted(.0))]
    GroupCount(String),
    /// A node or job is not there.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// No node has this ID.
    #[error("no node has this ID")]
    NoNode,
    /// A node to drain is down.
    #[error("node {} is down: its allocations are lost, so there is nothing to drain", quoted(name))]
    NodeDown {
        /// The name of the node.
        name: String,
    },
    /// The job has no such group.
    #[error("job {} has no group {}{hint}", quoted(job), quoted(group))]
    NoGroup {
        /// The ID of the job.
        job: String,
        /// The name that was given.
        group: String,
        /// A hint that names groups; may be empty.
        hint: String,
    },
    /// A system job has one allocation on a node, or none.
    #[error("jobs of type \"system\" can only be scaled between 0 and 1")]
    SystemCount,
    /// The scaling policy does not permit so few.
    #[error("group count was less than scaling policy minimum: {count} < {min}")]
    BelowMinimum {
        /// The count that was given.
        count: i64,
        /// The minimum of the policy.
        min: i64,
    },
    /// The scaling policy does not permit so many.
    #[error("group count was greater than scaling policy maximum: {count} > {max}")]
    AboveMaximum {
        /// The count that was given.
        count: i64,
        /// The maximum of the policy.
        max: i64,
    },
    /// A setting can't be set.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Nodes that are added at most.
pub(crate) const MOST_ADDED: usize = 10_000;

impl Change {
    /// Reads the value of `-drain`.
    pub fn drain(text: &str) -> Result<Change, ChangeError> {
        nodes("drain", text).map(Change::Drain)
    }

    /// Reads the value of `-down`.
    pub fn down(text: &str) -> Result<Change, ChangeError> {
        nodes("down", text).map(Change::Down)
    }

    /// Reads the value of `-add`: `N:like=NODE`.
    pub fn add(text: &str) -> Result<Change, ChangeError> {
        let wrong = |problem| ChangeError { flag: "add", value: text.into(), problem };
        let parts = text.split_once(':').and_then(|(n, rest)| Some((n, rest.strip_prefix("like=")?)));
        let Some((count, like)) = parts.filter(|(_, like)| !like.is_empty()) else {
            return Err(wrong(ChangeProblem::Form("write it as N:like=NODE, for example 3:like=worker-1")));
        };
        match count.parse::<usize>() {
            Ok(count) if (1..=MOST_ADDED).contains(&count) => Ok(Change::Add { count, like: like.into() }),
            _ => Err(wrong(ChangeProblem::NodeCount(count.into()))),
        }
    }

    /// Reads the value of `-scale`: `JOB/GROUP=N`.
    pub fn scale(text: &str) -> Result<Change, ChangeError> {
        let wrong = |problem| ChangeError { flag: "scale", value: text.into(), problem };
        let parts = text.rsplit_once('=').and_then(|(target, n)| Some((target.rsplit_once('/')?, n)));
        let Some(((job, group), count)) = parts.filter(|((job, group), _)| !job.is_empty() && !group.is_empty()) else {
            return Err(wrong(ChangeProblem::Form("write it as JOB/GROUP=N, for example api/server=6")));
        };
        match count.parse::<i64>() {
            Ok(count) if count >= 0 => Ok(Change::Scale { job: job.into(), group: group.into(), count }),
            _ => Err(wrong(ChangeProblem::GroupCount(count.into()))),
        }
    }

    /// Reads the value of `-stop`.
    pub fn stop(text: &str) -> Result<Change, ChangeError> {
        if text.is_empty() {
            let problem = ChangeProblem::Form("it needs the ID of a job");
            return Err(ChangeError { flag: "stop", value: text.into(), problem });
        }
        Ok(Change::Stop(text.into()))
    }

    /// Reads the value of `-config`: `key=value`.
    pub fn config(text: &str) -> Result<Change, ChangeError> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Change::Config { key: key.into(), value: value.into() }),
            _ => {
                let problem = ChangeProblem::Form("write it as key=value, for example scheduler_algorithm=spread");
                Err(ChangeError { flag: "config", value: text.into(), problem })
            }
        }
    }
}

fn nodes(flag: &'static str, text: &str) -> Result<Nodes, ChangeError> {
    let wrong = |form| ChangeError { flag, value: text.into(), problem: ChangeProblem::Form(form) };
    let (kind, name) = text.split_once('=').unwrap_or(("", text));
    if name.is_empty() {
        return Err(wrong("it needs a node, or dc=NAME, class=NAME or pool=NAME"));
    }
    Ok(match kind {
        "dc" | "datacenter" => Nodes::Datacenter(name.into()),
        "class" => Nodes::Class(name.into()),
        "pool" => Nodes::Pool(name.into()),
        "node" => Nodes::One(name.into()),
        "" => Nodes::One(text.into()),
        _ => return Err(wrong("nodes are chosen by dc=NAME, class=NAME or pool=NAME, or one by its name or ID")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_written() {
        let scale = |job: &str, group: &str, count| Change::Scale { job: job.into(), group: group.into(), count };
        assert_eq!(Change::drain("n1"), Ok(Change::Drain(Nodes::One("n1".into()))));
        assert_eq!(Change::down("dc=dc1"), Ok(Change::Down(Nodes::Datacenter("dc1".into()))));
        assert_eq!(Change::down("pool=a=b"), Ok(Change::Down(Nodes::Pool("a=b".into()))));
        assert_eq!(Change::add("3:like=a:b"), Ok(Change::Add { count: 3, like: "a:b".into() }));
        assert_eq!(Change::scale("a/b/c=4"), Ok(scale("a/b", "c", 4)));
        assert_eq!(Change::scale("api/server=0"), Ok(scale("api", "server", 0)));
        assert_eq!(Change::config("a=b=c"), Ok(Change::Config { key: "a".into(), value: "b=c".into() }));
    }

    #[test]
    fn mistakes_say_how_it_is_written() {
        for (result, want) in [
            (Change::drain(""), "-drain \"\": it needs a node, or dc=NAME, class=NAME or pool=NAME"),
            (
                Change::down("rack=1"),
                "-down \"rack=1\": nodes are chosen by dc=NAME, class=NAME or pool=NAME, or one by its name or ID",
            ),
            (Change::add("n1"), "-add \"n1\": write it as N:like=NODE, for example 3:like=worker-1"),
            (Change::add("0:like=n"), "-add \"0:like=n\": \"0\" is not a number of nodes from 1 to 10000"),
            (Change::scale("api=3"), "-scale \"api=3\": write it as JOB/GROUP=N, for example api/server=6"),
            (Change::scale("a/b=-1"), "-scale \"a/b=-1\": \"-1\" is not a count: a whole number from 0 up"),
            (Change::stop(""), "-stop \"\": it needs the ID of a job"),
            (Change::config("x"), "-config \"x\": write it as key=value, for example scheduler_algorithm=spread"),
        ] {
            assert_eq!(result.unwrap_err().to_string(), want);
        }
    }
}
