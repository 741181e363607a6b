//! Tables of allocations (`docs/spec/cli.md §8.4`).

use std::cmp::Reverse;

use jiff::tz::TimeZone;

use super::table::{Form, table};
use super::values;
use encamp_model::{AllocListStub, ClientStatus, DesiredStatus};

/// How allocations are listed.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a> {
    /// Full IDs and times, evaluations.
    pub verbose: bool,
    /// Names of nodes, if verbose.
    pub node_names: bool,
    /// The zone of times.
    pub zone: &'a TimeZone,
    /// Now, Unix nanoseconds.
    pub now: i64,
}

/// The columns of an allocation in a table.
#[derive(Debug, Clone, Default)]
pub struct Row<'a> {
    /// Its ID.
    pub id: &'a str,
    /// The evaluation that placed or updated it.
    pub eval_id: &'a str,
    /// Its node.
    pub node_id: &'a str,
    /// The name of its node.
    pub node_name: &'a str,
    /// Its task group.
    pub group: &'a str,
    /// The version of its job.
    pub version: u64,
    /// The desired status.
    pub desired: DesiredStatus,
    /// The status that its node reports.
    pub status: ClientStatus,
    /// When it was made, Unix nanoseconds.
    pub created: i64,
    /// When it was changed last, Unix nanoseconds.
    pub modified: i64,
    /// Index of its making.
    pub create_index: u64,
    /// How long it may run, if that is limited, nanoseconds.
    pub max_run: Option<i64>,
}

impl<'a> From<&'a AllocListStub> for Row<'a> {
    fn from(a: &'a AllocListStub) -> Row<'a> {
        Row {
            id: &a.id,
            eval_id: &a.eval_id,
            node_id: &a.node_id,
            node_name: &a.node_name,
            group: &a.task_group,
            version: a.job_version,
            desired: a.desired_status.clone(),
            status: a.client_status.clone(),
            created: a.create_time,
            modified: a.modify_time,
            create_index: a.create_index,
            max_run: None,
        }
    }
}

/// Sorts rows as they are listed: the newest first.
pub fn sort(rows: &mut [Row<'_>]) {
    rows.sort_by(|a, b| (Reverse(a.create_index), a.id).cmp(&(Reverse(b.create_index), b.id)));
}

/// The table of these rows, in their order.
pub fn listed(rows: &[Row<'_>], how: &Listing<'_>) -> String {
    if rows.is_empty() {
        return "No allocations placed".into();
    }
    let deadlines = rows.iter().any(|r| r.max_run.is_some());
    let mut columns = if how.verbose { vec!["ID", "Eval ID", "Node ID"] } else { vec!["ID", "Node ID"] };
    if how.verbose && how.node_names {
        columns.push("Node Name");
    }
    columns.extend(["Task Group", "Version", "Desired", "Status", "Created", "Modified"]);
    if deadlines {
        columns.push("Max Run Deadline");
    }
    let mut lines = vec![columns.join("|")];
    for r in rows {
        let when = |t: i64| if how.verbose { values::time(t, how.zone) } else { values::age(t, how.now) };
        let mut cells = vec![values::id(r.id, how.verbose).to_string()];
        if how.verbose {
            cells.push(r.eval_id.to_string());
        }
        cells.push(values::id(r.node_id, how.verbose).to_string());
        if how.verbose && how.node_names {
            cells.push(r.node_name.to_string());
        }
        cells.extend([r.group, &r.version.to_string(), r.desired.as_str(), r.status.as_str()].map(str::to_string));
        cells.extend([when(r.created), when(r.modified)]);
        if deadlines {
            cells.push(r.max_run.map(|d| when(r.created.saturating_add(d))).unwrap_or_default());
        }
        lines.push(cells.join("|"));
    }
    table(&lines, Form::List)
}

/// The table of allocations, the newest first.
pub fn stubs(allocations: &[AllocListStub], how: &Listing<'_>) -> String {
    let mut rows: Vec<Row<'_>> = allocations.iter().map(Row::from).collect();
    sort(&mut rows);
    listed(&rows, how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::SECOND;

    #[test]
    fn the_newest_is_first_and_deadlines_have_a_column_where_there_are_any() {
        let now = 2_000_000_000 * SECOND;
        let row = |id, create_index, max_run| Row {
            id,
            node_id: "nnnnnnnn-1",
            node_name: "n",
            group: "g",
            desired: DesiredStatus::Run,
            status: ClientStatus::Running,
            created: now - 4 * SECOND,
            modified: now - SECOND,
            create_index,
            max_run,
            ..Row::default()
        };
        let mut rows =
            [row("bbbbbbbb-1", 5, None), row("aaaaaaaa-1", 5, None), row("cccccccc-1", 6, Some(60 * SECOND))];
        sort(&mut rows);
        let how = Listing { verbose: false, node_names: true, zone: &TimeZone::UTC, now };
        assert_eq!(
            listed(&rows, &how),
            "ID        Node ID   Task Group  Version  Desired  Status   Created  Modified  Max Run Deadline\n\
             cccccccc  nnnnnnnn  g           0        run      running  4s ago   1s ago    56s from now\n\
             aaaaaaaa  nnnnnnnn  g           0        run      running  4s ago   1s ago    <none>\n\
             bbbbbbbb  nnnnnnnn  g           0        run      running  4s ago   1s ago    <none>"
        );
        let verbose = listed(&rows[1..2], &Listing { verbose: true, ..how });
        assert!(verbose.starts_with("ID          Eval ID  Node ID     Node Name  Task Group  Version"), "{verbose}");
        assert!(verbose.ends_with("running  2033-05-18T03:33:16Z  2033-05-18T03:33:19Z"), "{verbose}");
        assert_eq!(listed(&[], &how), "No allocations placed");
    }
}
