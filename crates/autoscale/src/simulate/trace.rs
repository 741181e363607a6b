//! The load to replay: a CSV file with the counts of groups over time.

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::{Job, JobType, quoted};
use encamp_state::State;

/// The columns, each of which a trace has once, in any order.
pub const COLUMNS: [&str; 5] = ["time_seconds", "namespace", "job", "group", "count"];
/// The most rows of a trace.
pub const MOST_ROWS: usize = 200_000;
/// The last moment of a trace, in seconds: 31 days.
pub const LAST_SECOND: i64 = 31 * 24 * 3600;
/// The highest count of a group.
pub const HIGHEST_COUNT: i64 = 10_000;

/// A group: namespace, job, name.
pub type GroupKey = (String, String, String);

/// From a moment on a group has a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its line in the file, from 1.
    pub line: usize,
    /// Seconds since the beginning.
    pub seconds: i64,
    /// The group.
    pub group: GroupKey,
    /// Its count.
    pub count: i64,
}

/// A line of a trace that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// A quote is not closed.
#[derive(Debug, thiserror::Error)]
#[error("a quote is not closed")]
struct UnclosedQuote;

/// Why a group of a trace cannot be scaled.
#[derive(Debug, thiserror::Error)]
enum GroupError {
    #[error("the snapshot has no job {} in namespace {}", quoted(.job), quoted(.namespace))]
    NoJob { job: String, namespace: String },
    #[error("job {} has no group {}", quoted(.job), quoted(.group))]
    NoGroup { job: String, group: String },
    #[error("job {} is stopped", quoted(.0))]
    Stopped(String),
    #[error("job {} is periodic or parameterized, and runs nothing itself", quoted(.0))]
    Template(String),
    #[error("job {} is of type {}, whose groups have no count", quoted(.job), quoted(.kind.as_str()))]
    Type { job: String, kind: JobType },
}

/// A trace whose rows ascend by time. It has at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    rows: Vec<Row>,
}

impl Trace {
    /// Reads a CSV file: a header line with [`COLUMNS`], then rows. Empty lines are left out; an empty namespace is
    /// `default`.
    ///
    /// # Errors
    /// The first line that does not hold.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().map(|(i, l)| (i.saturating_add(1), l.trim()));
        let Some((line, header)) = lines.find(|(_, l)| !l.is_empty()) else {
            return Err(TraceError {
                line: 1,
                problem: format!("the file is empty: a header is missing, {}", header()),
            });
        };
        let order = columns(line, header)?;
        let mut rows: Vec<Row> = Vec::new();
        for (line, text) in lines.filter(|(_, l)| !l.is_empty()) {
            if rows.len() >= MOST_ROWS {
                return Err(TraceError { line, problem: format!("a trace has {MOST_ROWS} rows at most") });
            }
            let row = row(line, text, &order)?;
            if let Some(last) = rows.last().filter(|last| last.seconds > row.seconds) {
                let problem = format!("rows must ascend by time, but {} s comes after {} s", row.seconds, last.seconds);
                return Err(TraceError { line, problem });
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(TraceError { line, problem: "there are no rows below the header".into() });
        }
        Ok(Trace { rows })
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// When it ends, in seconds.
    pub fn seconds(&self) -> i64 {
        self.rows.last().map_or(0, |r| r.seconds)
    }

    /// All groups it names.
    pub fn groups(&self) -> BTreeSet<GroupKey> {
        self.rows.iter().map(|r| r.group.clone()).collect()
    }

    /// Whether the state has all jobs and groups, and their scaling blocks allow the counts.
    ///
    /// # Errors
    /// The first row for which that is not so.
    pub fn check(&self, state: &State) -> Result<(), TraceError> {
        let mut bounds: BTreeMap<&GroupKey, (i64, i64)> = BTreeMap::new();
        for row in &self.rows {
            let wrong = |e: GroupError| TraceError { line: row.line, problem: e.to_string() };
            let (min, max) = match bounds.get(&row.group) {
                Some(known) => *known,
                None => *bounds.entry(&row.group).or_insert(group_bounds(state, &row.group).map_err(wrong)?),
            };
            if !(min..=max).contains(&row.count) {
                let problem = format!("the scaling block of the group allows {min} to {max}, not {}", row.count);
                return Err(TraceError { line: row.line, problem });
            }
        }
        Ok(())
    }
}

fn header() -> String {
    COLUMNS.join(",")
}

/// For each of [`COLUMNS`] its place in the file.
fn columns(line: usize, header: &str) -> Result<[usize; 5], TraceError> {
    let wrong = |problem: String| TraceError { line, problem };
    let names = fields(header).map_err(|e| wrong(e.to_string()))?;
    let wanted = || format!("the header must be {}", COLUMNS.join(","));
    let mut order = [0; 5];
    for (place, name) in order.iter_mut().zip(COLUMNS) {
        *place = names
            .iter()
            .position(|n| n.trim() == name)
            .ok_or_else(|| wrong(format!("the column {name} is missing; {}", wanted())))?;
    }
    match names.iter().enumerate().find(|(i, _)| !order.contains(i)) {
        Some((_, name)) => {
            Err(wrong(format!("the column {} is not known, or twice there; {}", quoted(name), wanted())))
        }
        None => Ok(order),
    }
}

fn row(line: usize, text: &str, order: &[usize; 5]) -> Result<Row, TraceError> {
    let wrong = |problem: String| TraceError { line, problem };
    let fields = fields(text).map_err(|e| wrong(e.to_string()))?;
    if fields.len() != COLUMNS.len() {
        return Err(wrong(format!("there are {} values, but must be {}", fields.len(), COLUMNS.len())));
    }
    let [seconds, namespace, job, group, count] = order.map(|i| fields.get(i).map_or("", |f| f.trim()));
    let number = |name: &str, text: &str, most: i64| match text.parse::<i64>() {
        Ok(n) if (0..=most).contains(&n) => Ok(n),
        _ => Err(wrong(format!("{name} is {}, but must be a whole number from 0 to {most}", quoted(text)))),
    };
    let named = |name: &str, text: &str| match text {
        "" => Err(wrong(format!("{name} is empty"))),
        _ => Ok(text.to_string()),
    };
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    Ok(Row {
        line,
        seconds: number("time_seconds", seconds, LAST_SECOND)?,
        group: (namespace.to_string(), named("job", job)?, named("group", group)?),
        count: number("count", count, HIGHEST_COUNT)?,
    })
}

/// The values of a line; those with commas stand in quotes, in which `""` is a quote.
fn fields(line: &str) -> Result<Vec<String>, UnclosedQuote> {
    let mut out = vec![String::new()];
    let mut in_quotes = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(field) = out.last_mut() else { break };
        match (c, in_quotes) {
            ('"', true) if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            ('"', true) => in_quotes = false,
            ('"', false) if field.trim().is_empty() => {
                field.clear();
                in_quotes = true;
            }
            (',', false) => out.push(String::new()),
            (c, _) => field.push(c),
        }
    }
    if in_quotes { Err(UnclosedQuote) } else { Ok(out) }
}

/// The counts a group may have.
fn group_bounds(state: &State, (namespace, id, name): &GroupKey) -> Result<(i64, i64), GroupError> {
    let Some(job) = state.job(namespace, id) else {
        return Err(GroupError::NoJob { job: id.clone(), namespace: namespace.clone() });
    };
    can_be_scaled(job)?;
    let Some(group) = job.lookup_group(name) else {
        return Err(GroupError::NoGroup { job: id.clone(), group: name.clone() });
    };
    Ok(group.scaling.as_ref().map_or((0, i64::MAX), |s| (s.min, s.max)))
}

fn can_be_scaled(job: &Job) -> Result<(), GroupError> {
    match &job.r#type {
        _ if job.stop => Err(GroupError::Stopped(job.id.clone())),
        _ if job.is_template() => Err(GroupError::Template(job.id.clone())),
        JobType::Service | JobType::Batch => Ok(()),
        kind @ (JobType::System | JobType::Sysbatch | JobType::Core | JobType::Unset | JobType::Other(_)) => {
            Err(GroupError::Type { job: job.id.clone(), kind: kind.clone() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "time_seconds,namespace,job,group,count";

    fn wrong(text: &str) -> String {
        Trace::parse(text).expect_err("a wrong trace").to_string()
    }

    #[test]
    fn rows_are_read_by_the_names_of_the_columns() {
        let text = "\u{feff}count, group,job,namespace,time_seconds\r\n\n3,g,\"a, \"\"b\"\"\",,0\r\n4,g,x,prod,60\n";
        let trace = Trace::parse(text).expect("a trace");
        let group = |ns: &str, job: &str| (ns.to_string(), job.to_string(), "g".to_string());
        assert_eq!(
            trace.rows(),
            [
                Row { line: 3, seconds: 0, group: group("default", "a, \"b\""), count: 3 },
                Row { line: 4, seconds: 60, group: group("prod", "x"), count: 4 },
            ]
        );
        assert_eq!((trace.seconds(), trace.groups().len()), (60, 2));
    }

    #[test]
    fn errors_name_the_line() {
        let rows = |rows: &str| wrong(&format!("{HEADER}\n0,,web,g,1\n{rows}\n"));
        assert_eq!(wrong(""), format!("line 1: the file is empty: a header is missing, {HEADER}"));
        assert_eq!(wrong(HEADER), "line 1: there are no rows below the header");
        assert!(
            wrong("0,default,web,g,1").starts_with("line 1: the column time_seconds is missing; the header must be")
        );
        assert!(wrong(&format!("{HEADER},x")).starts_with("line 1: the column \"x\" is not known"));
        assert!(wrong(&format!("{HEADER},count")).starts_with("line 1: the column \"count\" is not known, or twice"));
        assert_eq!(rows("60,,web,g"), "line 3: there are 4 values, but must be 5");
        assert_eq!(rows("60,,web,g,-1"), "line 3: count is \"-1\", but must be a whole number from 0 to 10000");
        assert_eq!(
            rows("1e3,,web,g,1"),
            "line 3: time_seconds is \"1e3\", but must be a whole number from 0 to 2678400"
        );
        assert_eq!(rows("60,,,g,1"), "line 3: job is empty");
        assert_eq!(rows("60,,web,\"g,1"), "line 3: a quote is not closed");
        assert_eq!(rows("60,,web,g,1\n59,,web,g,1"), "line 4: rows must ascend by time, but 59 s comes after 60 s");
    }

    #[test]
    fn there_is_a_most_of_rows() {
        let mut text = format!("{HEADER}\n");
        (0..=MOST_ROWS).for_each(|_| text.push_str("0,,j,g,1\n"));
        assert_eq!(wrong(&text), "line 200002: a trace has 200000 rows at most");
    }
}
