//! Which driver makes the network namespace of a group (`docs/spec/client.md §15.1`).

/// A task, and what its driver does with networks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskDriver<'a> {
    /// Name of the task.
    pub task: &'a str,
    /// Name of its driver.
    pub driver: &'a str,
    /// The driver runs tasks in a network of their own.
    pub own_network: bool,
    /// The driver runs them only in namespaces that it makes.
    pub creates_network: bool,
}

/// Why the tasks of a group cannot have a network of their own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RefusedNetwork {
    /// The driver of a task does not have the network mode.
    #[error("task {task} does not support \"{mode}\" networking mode")]
    Mode {
        /// The task.
        task: String,
        /// The network mode.
        mode: String,
    },
    /// Two drivers insist on making the namespace.
    #[error("tasks {first} and {second} want to initiate networking but only one driver can do so")]
    Creators {
        /// A task of the one.
        first: String,
        /// A task of the other one.
        second: String,
    },
}

/// The driver that makes the namespace; none: the agent does.
pub(crate) fn creator<'a>(tasks: &[TaskDriver<'a>], mode: &str) -> Result<Option<&'a str>, RefusedNetwork> {
    if let Some(unable) = tasks.iter().find(|t| !t.own_network) {
        return Err(RefusedNetwork::Mode { task: unable.task.into(), mode: mode.into() });
    }
    let mut creators = tasks.iter().filter(|t| t.creates_network);
    let Some(first) = creators.next() else { return Ok(None) };
    match creators.find(|t| t.driver != first.driver) {
        Some(second) => Err(RefusedNetwork::Creators { first: first.task.into(), second: second.task.into() }),
        None => Ok(Some(first.driver)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_driver_at_most_makes_the_namespace() {
        let task =
            |task, driver, own_network, creates_network| TaskDriver { task, driver, own_network, creates_network };
        let (raw, mock) = (task("a", "raw_exec", true, false), task("b", "mock_driver", false, false));
        let (docker, other) = (task("c", "docker", true, true), task("d", "vm", true, true));
        assert_eq!(creator(&[raw], "bridge"), Ok(None));
        assert_eq!(creator(&[raw, docker, TaskDriver { task: "e", ..docker }], "bridge"), Ok(Some("docker")));
        let error = |tasks: &[TaskDriver<'_>]| creator(tasks, "bridge").unwrap_err().to_string();
        assert_eq!(error(&[raw, mock]), "task b does not support \"bridge\" networking mode");
        assert_eq!(
            error(&[docker, raw, other]),
            "tasks c and d want to initiate networking but only one driver can do so"
        );
    }
}
