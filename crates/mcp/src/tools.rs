//! The tools: what they are called, what they take, and what they do.

use std::time::Duration;

use crate::arguments::{Kind, Parameter};
use crate::objects;

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Runs a command: its words, flags that it always has, and the exit codes with which it has answered.
    Command {
        /// The words of the command.
        words: &'static [&'static str],
        /// Flags that it always has.
        flags: &'static [&'static str],
        /// The exit codes of answers.
        answers: &'static [i32],
    },
    /// Plans a job and keeps the plan.
    Plan,
    /// Registers the job of a plan that was kept.
    RunPlan,
    /// Counts the objects of the cluster.
    Summary,
    /// Lists objects.
    List(objects::Kind),
    /// Describes an object.
    Describe(objects::Kind),
    /// Reads a cut answer on.
    ReadOn,
}

/// When a tool is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// Always.
    Always,
    /// About a running cluster: a file does not have what it reads.
    Live,
    /// About a running cluster, if the server may write.
    Writes,
}

/// A tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name in calls.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// When it is offered.
    pub offered: Offered,
    /// What it does.
    pub action: Action,
    /// How long a call may take.
    pub limit: Duration,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// The longest limit of a tool.
pub const LONGEST: Duration = MINUTES;

const SECONDS: Duration = Duration::from_secs(30);
const MINUTES: Duration = Duration::from_secs(180);

const fn parameter(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter { name, kind, required: false, description }
}

const fn required(name: &'static str, kind: Kind, description: &'static str) -> Parameter {
    Parameter { name, kind, required: true, description }
}

const fn read(
    name: &'static str,
    description: &'static str,
    action: Action,
    limit: Duration,
    parameters: &'static [Parameter],
) -> Tool {
    Tool { name, description, offered: Offered::Always, action, limit, parameters }
}

const fn command(words: &'static [&'static str], flags: &'static [&'static str], answers: &'static [i32]) -> Action {
    Action::Command { words, flags, answers }
}

const JOB: Parameter = required("job", Kind::Job, "The text of the job file.");
const FORMAT: Parameter = parameter("format", Kind::Language, "The language of the job file. Default: hcl.");
const VAR: Parameter = parameter("var", Kind::Flags, "Values of variables of the job file: NAME=VALUE.");
const NAMESPACE: Parameter = parameter("namespace", Kind::Flag, "The namespace of jobs that name none.");
const DRAIN: Parameter =
    parameter("drain", Kind::Flags, "Nodes that are drained: name, ID, dc=NAME, class=NAME or pool=NAME.");
const DOWN: Parameter =
    parameter("down", Kind::Flags, "Nodes that are lost: name, ID, dc=NAME, class=NAME or pool=NAME.");
const ADD: Parameter = parameter("add", Kind::Flags, "New nodes like a node of the cluster: N:like=NODE.");
const SCALE: Parameter = parameter("scale", Kind::Flags, "Counts of task groups: JOB/GROUP=N.");
const STOP: Parameter = parameter("stop", Kind::Flags, "Jobs that are stopped.");
const CONFIG: Parameter = parameter("config", Kind::Flags, "Settings of the scheduler configuration: KEY=VALUE.");
const LOSSES: Kind = Kind::Choice(&["node", "dc"]);
const FILTER: Parameter =
    parameter("filter", Kind::Flag, "Filter expression of the API about members of the objects: Priority == 50.");
const PER_PAGE: Parameter = parameter("per_page", Kind::Count, "Objects of a page, at most 500. Default: 100.");
const PAGE: Parameter = parameter("page", Kind::Flag, "The page, as the answer before it named it.");
const IN_NAMESPACE: Parameter = parameter("namespace", Kind::Flag, "The namespace. Default: all.");
const OF_JOB: Parameter = parameter("job", Kind::Flag, "Only those of the job with this ID.");
const STATUS: Parameter = parameter("status", Kind::Flag, "Only those with this status.");

const ANY: &[i32] = &[0, 1];

/// The tools, in the order of lists.
pub const TOOLS: &[Tool] = &[
    read(
        "cluster_summary",
        "Counts the nodes, jobs, allocations, blocked evaluations and running deployments of the cluster by state.",
        Action::Summary,
        SECONDS,
        &[],
    ),
    read(
        "list_jobs",
        "Lists jobs with the counts of their allocations by state.",
        Action::List(objects::Kind::Job),
        SECONDS,
        &[IN_NAMESPACE, STATUS, FILTER, PER_PAGE, PAGE],
    ),
    read(
        "describe_job",
        "Describes a job: task groups, constraints, resources, counts by state, and the failed placements of its latest \
         evaluation. Environment, arguments and templates of tasks are left out.",
        Action::Describe(objects::Kind::Job),
        SECONDS,
        &[required("job", Kind::Word, "The ID of the job."), parameter("namespace", Kind::Flag, "Its namespace.")],
    ),
    read(
        "list_allocations",
        "Lists allocations: their job, group, node and state.",
        Action::List(objects::Kind::Allocation),
        SECONDS,
        &[
            IN_NAMESPACE,
            OF_JOB,
            parameter("node", Kind::Flag, "Only those on this node: name or ID."),
            STATUS,
            FILTER,
            PER_PAGE,
            PAGE,
        ],
    ),
    read(
        "describe_allocation",
        "Describes an allocation: states and latest events of its tasks, its node, and how it was placed.",
        Action::Describe(objects::Kind::Allocation),
        SECONDS,
        &[required("allocation", Kind::Word, "The ID of the allocation or a prefix of it.")],
    ),
    read(
        "list_nodes",
        "Lists nodes: datacenter, pool, class, state and eligibility.",
        Action::List(objects::Kind::Node),
        SECONDS,
        &[STATUS, FILTER, PER_PAGE, PAGE],
    ),
    read(
        "describe_node",
        "Describes a node: state, resources, drivers, volumes, metadata and latest events.",
        Action::Describe(objects::Kind::Node),
        SECONDS,
        &[required("node", Kind::Word, "The name of the node, its ID or a prefix of that.")],
    ),
    read(
        "list_evaluations",
        "Lists evaluations; those with status blocked wait for capacity.",
        Action::List(objects::Kind::Evaluation),
        SECONDS,
        &[IN_NAMESPACE, OF_JOB, STATUS, FILTER, PER_PAGE, PAGE],
    ),
    read(
        "describe_evaluation",
        "Describes an evaluation: what triggered it, its result, and why placements failed.",
        Action::Describe(objects::Kind::Evaluation),
        SECONDS,
        &[required("evaluation", Kind::Word, "The ID of the evaluation or a prefix of it.")],
    ),
    read(
        "list_deployments",
        "Lists deployments: progress and health of each task group.",
        Action::List(objects::Kind::Deployment),
        SECONDS,
        &[IN_NAMESPACE, OF_JOB, STATUS, FILTER, PER_PAGE, PAGE],
    ),
    read(
        "describe_deployment",
        "Describes a deployment: its state, and progress and health of each task group.",
        Action::Describe(objects::Kind::Deployment),
        SECONDS,
        &[required("deployment", Kind::Word, "The ID of the deployment or a prefix of it.")],
    ),
    Tool {
        offered: Offered::Live,
        ..read(
            "explain_evaluation",
            "Explains the decisions of an evaluation from its recorded metrics: filtered and exhausted nodes, scores, \
             preemptions, failed placements; with suggestions, the smallest edits with which its job is placed now.",
            command(&["eval", "explain"], &[], &[0]),
            MINUTES,
            &[
                required("evaluation", Kind::Word, "The ID of the evaluation or a prefix of it."),
                parameter("suggest", Kind::Switch, "Also list the smallest edits with which everything is placed."),
            ],
        )
    },
    read(
        "validate_job",
        "Checks a job file, and reports all problems with their lines and suggestions.",
        command(&["job", "validate"], &[], &[0]),
        SECONDS,
        &[JOB, FORMAT, VAR, NAMESPACE],
    ),
    read(
        "plan_job",
        "Plans a job with the full scheduler, without changing the cluster: the difference to the registered job, each \
         placement with its node, stopped, updated and preempted allocations, and what finds no place. Keeps the plan.",
        Action::Plan,
        MINUTES,
        &[JOB, FORMAT, VAR, NAMESPACE],
    ),
    read(
        "explain_plan",
        "Plans a job and explains the plan: why nodes were filtered or exhausted, scores of the feasible nodes, which \
         allocations are preempted and why. The cluster may be assumed to be changed.",
        command(&["job", "plan"], &["-explain", "-diff=false"], ANY),
        MINUTES,
        &[JOB, FORMAT, VAR, NAMESPACE, DRAIN, DOWN, ADD, SCALE, STOP, CONFIG],
    ),
    read(
        "explain_node",
        "Explains in full detail what the scheduler decides about one node for a job.",
        command(&["job", "plan"], &["-diff=false"], ANY),
        MINUTES,
        &[required("explain", Kind::Flag, "The node: name, ID or a prefix of that."), JOB, FORMAT, VAR, NAMESPACE],
    ),
    read(
        "suggest_edits",
        "Plans a job that does not fit, and lists the smallest edits with which everything is placed.",
        command(&["job", "plan"], &["-suggest", "-diff=false"], ANY),
        MINUTES,
        &[JOB, FORMAT, VAR, NAMESPACE],
    ),
    read(
        "predict_rollout",
        "Predicts the rollout of a job: the steps of its deployment, how many allocations serve after each, the shortest \
         duration, and what is needed at most.",
        command(&["job", "plan"], &["-rollout", "-diff=false"], ANY),
        MINUTES,
        &[JOB, FORMAT, VAR, NAMESPACE],
    ),
    read(
        "capacity",
        "Counts how many more copies of each task group of a job fit, on which nodes, and which resource is exhausted \
         first. The cluster may be assumed to be changed.",
        command(&["capacity"], &[], ANY),
        MINUTES,
        &[JOB, FORMAT, VAR, NAMESPACE, DRAIN, DOWN, ADD, SCALE, STOP, CONFIG],
    ),
    read(
        "survival",
        "Counts how many more copies of each task group of a job fit after the worst loss of one node or datacenter.",
        command(&["capacity"], &[], ANY),
        MINUTES,
        &[required("survive", LOSSES, "What is lost."), JOB, FORMAT, VAR, NAMESPACE],
    ),
    read(
        "what_if",
        "Simulates drained, lost and new nodes, scaled and stopped jobs and other settings with the full scheduler, and \
         tells which allocations move, are preempted or find no place.",
        command(&["what-if"], &[], ANY),
        MINUTES,
        &[
            DRAIN,
            DOWN,
            ADD,
            SCALE,
            STOP,
            CONFIG,
            NAMESPACE,
            parameter("all", Kind::Switch, "List all jobs, and why each allocation cannot be placed."),
        ],
    ),
    read(
        "drain_plan",
        "Plans the drain of several nodes in batches in which no task group loses more allocations at a time than its job \
         allows.",
        command(&["node", "drain"], &["-plan"], ANY),
        MINUTES,
        &[
            required("nodes", Kind::Words, "Nodes: name, ID, dc=NAME, class=NAME or pool=NAME."),
            parameter("batch", Kind::Count, "The maximum number of nodes that are drained at a time."),
            parameter("allow_preemptions", Kind::Switch, "Allow that allocations of other jobs are preempted."),
            parameter("survive", LOSSES, "Also count what the worst loss of one of these leaves unplaced afterwards."),
        ],
    ),
    read(
        "rebalance",
        "Plans the fewest moves of allocations that reach one goal: empty nodes (free, free_nodes), make a job fit (fit), \
         restore spread (spread) or lower the highest utilisation (even). Nothing is moved.",
        command(&["rebalance"], &["-verbose"], ANY),
        MINUTES,
        &[
            parameter("free", Kind::Count, "Goal: empty so many nodes."),
            parameter("free_nodes", Kind::Flag, "Goal: empty these nodes, separated by commas."),
            parameter("fit", Kind::JobFlag, "Goal: make the job of this job file, in HCL, fit without preemption."),
            parameter("spread", Kind::Switch, "Goal: restore the scores for spread and affinity."),
            parameter("even", Kind::Switch, "Goal: lower the highest utilisation of a node."),
            parameter("max_moves", Kind::Count, "The maximum number of moves."),
            parameter("dc", Kind::Flags, "Move only allocations on nodes of these datacenters."),
            parameter("pool", Kind::Flags, "Move only allocations on nodes of these pools."),
            parameter("job", Kind::Flags, "Move only allocations of these jobs: ID or ID@NAMESPACE."),
            parameter("keep", Kind::Flag, "Move nothing away from nodes with these attributes: KEY=VALUE."),
            VAR,
        ],
    ),
    read(
        "launches",
        "Simulates the launches of periodic jobs to come: which fit, and how late the others are placed.",
        command(&["launches"], &[], ANY),
        MINUTES,
        &[
            parameter("next", Kind::Flag, "The period: 24h, 90m. Default: 24h."),
            parameter("all", Kind::Switch, "List all launches."),
        ],
    ),
    read(
        "explain_gc",
        "Explains when garbage collection deletes an object, and what keeps it.",
        command(&["gc", "explain"], &[], &[0]),
        MINUTES,
        &[required("id", Kind::Word, "The ID of an evaluation, allocation, job, deployment or node.")],
    ),
    Tool {
        offered: Offered::Writes,
        ..read(
            "run_plan",
            "Registers the job of a plan of plan_job, if the cluster would still do what the plan shows. This changes the \
             cluster: let a person review the plan first.",
            Action::RunPlan,
            MINUTES,
            &[
                required("plan", Kind::Word, "The plan, as plan_job named it."),
                parameter(
                    "allow",
                    Kind::Flags,
                    "Differences to the plan that are allowed: placement-moves, more-placed, fewer-placed, more-stops, \
                     fewer-stops, updates, fewer-evictions, counts or warnings.",
                ),
            ],
        )
    },
    read(
        "read_on",
        "Gives more of an answer that was cut.",
        Action::ReadOn,
        SECONDS,
        &[
            required("answer", Kind::Count, "The number of the answer."),
            required("from", Kind::Count, "The first byte."),
        ],
    ),
];

/// The tool with this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        for tool in TOOLS {
            let parameters: BTreeSet<_> = tool.parameters.iter().map(|p| p.name).collect();
            assert_eq!(parameters.len(), tool.parameters.len(), "{}", tool.name);
            assert!(tool.limit <= LONGEST, "{}", tool.name);
        }
        assert!(find("job stop").is_none());
    }

    #[test]
    fn one_tool_writes() {
        let writes: Vec<_> = TOOLS.iter().filter(|t| t.offered == Offered::Writes).map(|t| t.name).collect();
        assert_eq!(writes, ["run_plan"]);
        assert!(TOOLS.iter().filter(|t| t.action == Action::RunPlan).all(|t| t.offered == Offered::Writes));
    }
}
