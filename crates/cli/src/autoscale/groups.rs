//! The status of job groups that are scaled, and its source (`docs/spec/cluster-scaling.md §13`).

use super::{counted, print_problems, state, wrapped};
use crate::cluster::{ClusterFlags, FetchFlags};
use crate::connection::Connection;
use crate::context::Environment;
use crate::error::{CommandError, CommandResult};
use crate::general::GeneralFlags;
use crate::render::table::{self, Columns, cell, pairs};
use crate::render::ui::Ui;
use crate::render::values::age;
use encamp_api::Query;
use encamp_autoscale::jobs;
use encamp_autoscale::jobs::status::GroupStatus;
use encamp_model::quoted;
use encamp_snapshot::live::Detail;

/// The note that is printed when the cluster does not report job groups itself.
const OWN_READING: &str = "The cluster does not report job groups: its servers do not scale them, or it is not an \
                           encamp cluster. They were read from its jobs and from Variables; the usage of their \
                           allocations and the last decision of an autoscaler are not known";

/// The source of the status of job groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The leader, which scales them.
    Leader,
    /// Jobs and Variables of the cluster.
    Variables,
}

/// Job groups.
pub(super) struct Groups {
    /// The job groups in the namespace of the connection.
    pub groups: Vec<GroupStatus>,
    /// The source of the status.
    pub source: Source,
    /// Notes about the result.
    pub notes: Vec<String>,
}

impl Groups {
    /// Reads the groups of the connection's namespace.
    pub(super) fn read(
        c: &Connection,
        fetch: &FetchFlags,
        general: &GeneralFlags,
        env: &Environment,
    ) -> CommandResult<Groups> {
        let answer = c.wait(c.client.rows::<GroupStatus>("/v1/autoscale/groups", &Query::default()));
        if let Some((groups, _)) = state::offered(answer, "querying job groups")? {
            return Ok(Groups { groups, source: Source::Leader, notes: Vec::new() });
        }
        let flags = ClusterFlags { fetch: fetch.clone(), ..ClusterFlags::default() };
        let loaded = flags.load(general, Detail::Everything, env).map_err(CommandError::new)?;
        let (cluster, more, now) = loaded.into_state(false, env);
        let client = state::client(c)?;
        let record = |id: &jobs::GroupId| match state::read_group(c, &client, id) {
            Ok(stored) => Ok(stored.record),
            Err(e) => Err(e.to_string()),
        };
        let mut groups = jobs::stored(&cluster, now, record);
        let namespace = c.namespace().unwrap_or("default");
        groups.retain(|g| c.everywhere() || g.namespace == namespace);
        let notes = [OWN_READING.to_string()].into_iter().chain(more).collect();
        Ok(Groups { groups, source: Source::Variables, notes })
    }

    /// Returns the group named `JOB/GROUP`.
    pub(super) fn find(&self, name: &str) -> CommandResult<&GroupStatus> {
        let is = |g: &&GroupStatus| format!("{}/{}", g.job, g.group) == name || g.id().name() == name;
        let mut found = self.groups.iter().filter(is);
        match (found.next(), found.next()) {
            (Some(group), None) => Ok(group),
            (Some(_), Some(_)) => Err(CommandError::new(format!(
                "More than one job group is called {}; choose its namespace with -namespace",
                quoted(name)
            ))),
            (None, _) => Err(CommandError::new(match self.groups.as_slice() {
                [] => format!(
                    "There is no job group {}: no group of a running job is configured for scaling",
                    quoted(name)
                ),
                groups => {
                    let known: Vec<String> = groups.iter().map(|g| g.id().name()).collect();
                    format!("There is no job group {}; there are {}", quoted(name), known.join(", "))
                }
            })),
        }
    }
}

/// Prints all groups: a table, followed by the last decisions.
pub(super) fn list(ui: &mut Ui<'_>, groups: &[GroupStatus], now: i64) {
    if groups.is_empty() {
        return ui.output("No job groups");
    }
    let columns: &Columns<'_, GroupStatus> = &[
        ("Group", &|g| cell(&g.id().name())),
        ("Count", &bounded),
        ("CPU", &|g| percent(g.cpu)),
        ("Memory", &|g| percent(g.memory)),
        ("Running", &|g| g.running.to_string()),
        ("Cooldown", &|g| super::status::left(g.cooldown_left)),
        ("Failsafe", &|g| g.failsafe.to_string()),
    ];
    ui.output(&table::columns(groups, columns));
    ui.heading("Last Decisions");
    for g in groups {
        ui.output(&wrapped(&format!("{}: {}", g.id().name(), decision(g, now)), 0));
        reason(ui, g);
    }
    let problems = groups.iter().flat_map(|g| g.problems.iter().map(|p| format!("{}: {p}", g.id().name())));
    print_problems(ui, &problems.collect::<Vec<_>>());
}

/// Prints all details of one group.
pub(super) fn details(ui: &mut Ui<'_>, g: &GroupStatus, now: i64) {
    let measured = i64::try_from(g.measured).unwrap_or(i64::MAX);
    ui.output(&pairs(&[
        ("Namespace", cell(&g.namespace)),
        ("Job", cell(&g.job)),
        ("Group", cell(&g.group)),
        ("Count", g.count.to_string()),
        ("Min/Max", format!("{}/{}", g.min, g.max)),
        ("CPU", percent(g.cpu)),
        ("Memory", percent(g.memory)),
        (
            "Running",
            format!("{}, use known of {}", counted(g.running.try_into().unwrap_or(i64::MAX), "allocation"), measured),
        ),
        (
            "Cooldown Left",
            super::status::cooldowns(g.cooldown_left, g.scale_out_cooldown_left, g.scale_in_cooldown_left),
        ),
        ("Failures", g.failures.to_string()),
        ("Failsafe", cell(&super::status::failsafe(g.failsafe, &g.failsafe_admin))),
        ("Operation", if g.operation.is_empty() { "none".into() } else { cell(&g.operation) }),
    ]));
    ui.section("Last Decision", &decision(g, now));
    reason(ui, g);
    print_problems(ui, &g.problems);
}

/// The last decision and its time.
fn decision(g: &GroupStatus, now: i64) -> String {
    let at = g.last_decision.time.unix_nanos().map(|t| format!(", {}", age(t, now))).unwrap_or_default();
    format!("{}{at}", g.last_decision.action.name())
}

fn reason(ui: &mut Ui<'_>, g: &GroupStatus) {
    for text in [&g.last_decision.reason, &g.operation].into_iter().filter(|t| !t.is_empty()) {
        ui.output(&wrapped(text, 2));
    }
}

/// The count and its bounds.
fn bounded(g: &GroupStatus) -> String {
    format!("{} ({}-{})", g.count, g.min, g.max)
}

fn percent(of: Option<f64>) -> String {
    of.map_or("-".to_string(), |p| format!("{p:.1} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_with_its_namespace_where_that_is_needed() {
        let one = |namespace: &str, job: &str| GroupStatus {
            namespace: namespace.into(),
            job: job.into(),
            group: "g".into(),
            ..GroupStatus::default()
        };
        let groups = vec![one("default", "web"), one("dev", "web"), one("dev", "api")];
        let groups = Groups { groups, source: Source::Leader, notes: Vec::new() };
        let found = |name: &str| groups.find(name).map(|g| g.id().name());
        assert_eq!(found("api/g"), Ok("dev/api/g".into()));
        assert_eq!(found("dev/web/g"), Ok("dev/web/g".into()));
        assert!(found("web/g").is_err_and(|e| e.message().contains("-namespace")));
        assert!(found("db/g").is_err_and(|e| e.message().ends_with("there are web/g, dev/web/g, dev/api/g")));
        assert_eq!([percent(None), percent(Some(45.04))], ["-", "45.0 %"]);
    }
}
