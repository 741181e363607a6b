//! Text output of a simulation.

use super::plan_text::check_name;
use super::{counted, wrapped};
use crate::render::table::{Form, cell, pairs, table};
use crate::render::ui::Ui;
use encamp_autoscale::record::Direction;
use encamp_autoscale::simulate::report::{Ending, Operation, Parameters, Refusal, Report, Sample};
use encamp_autoscale::simulate::svg::{clock, step_of_times};
use encamp_model::{SECOND, format_duration};

/// The columns of the chart, without its axis.
const COLUMNS: usize = 68;
/// The rows of the chart of nodes.
const ROWS: i64 = 8;
/// The characters for fractions of a row, lowest first.
const PARTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The maximum number of operations that are listed; those in the middle are left out.
const MANY: usize = 60;

/// Prints a report.
pub(super) fn print(ui: &mut Ui<'_>, r: &Report) {
    let p = &r.parameters;
    ui.output(&pairs(&[
        ("Pool", cell(&r.pool)),
        ("Time", format!("{}, an evaluation every {}", span(r.seconds), span(r.interval))),
        ("Min/Max", format!("{}/{}", p.min, p.max)),
        ("Fault Tolerance", counted(p.fault_tolerance, "node")),
        ("Cooldown", cooldown(p)),
        ("Scaling Threshold", counted(p.scaling_threshold, "request")),
        ("Scale Factor", counted(p.scale_factor, "node")),
        ("Seed", r.seed.to_string()),
    ]));
    title(ui, "Nodes");
    ui.output(&chart(r, |s| s.nodes));
    title(ui, "Demand");
    ui.output(&format!("  {}", spark(r, "wanted", |s| s.wanted as f64)));
    ui.output(&format!("  {}", spark(r, "unplaced", |s| s.unplaced as f64)));
    ui.output(&format!("  {}", spark(r, "used %", Sample::used_percent)));
    ui.output(&format!("  {}", spark(r, "allowed %", Sample::allowed_percent)));
    title(ui, "Summary");
    ui.output(&pairs(&summary(r)));
    print_operations(ui, &r.operations);
    print_refusals(ui, &r.refusals);
    if !r.failures.is_empty() {
        title(ui, "Failures");
        for f in &r.failures {
            ui.output(&wrapped(&format!("{}: {}", clock(f.seconds), f.problem), 2));
        }
    }
}

/// The cooldown, or that of each direction where they differ.
fn cooldown(p: &Parameters) -> String {
    let text = |seconds: u64| span(i64::try_from(seconds).unwrap_or(i64::MAX));
    let own = |own: Option<u64>| own.map_or_else(|| format!("{} after any operation", text(p.cooldown)), text);
    match (p.scale_out_cooldown, p.scale_in_cooldown) {
        (None, None) => text(p.cooldown),
        (out, r#in) => format!("out {}, in {}", own(out), own(r#in)),
    }
}

fn title(ui: &mut Ui<'_>, text: &str) {
    ui.output_markup(&format!("\n[bold]{text}[reset]"));
}

fn span(seconds: i64) -> String {
    format_duration(seconds.saturating_mul(SECOND))
}

fn summary(r: &Report) -> Vec<(&'static str, String)> {
    let (n, s, c) = (&r.nodes, &r.saturation, &r.cycles);
    let of = |direction: Direction| r.operations.iter().filter(move |o| o.direction == direction).count();
    let saturated = match s.seconds {
        0 => "none".to_string(),
        seconds => {
            format!("{}, {} at a time at most, {} without a break at most", span(seconds), s.most, span(s.longest))
        }
    };
    let failsafe = r.failsafe.map_or("no".to_string(), |at| format!("from {} on", clock(at)));
    vec![
        ("Nodes", format!("{} to {}, {} in the end", n.least, n.most, n.end)),
        ("Node Hours", format!("{:.2}; {:.2} with {} nodes all the time", n.hours, n.hours_of_most, n.most)),
        ("Operations", format!("{} scale-outs, {} scale-ins", of(Direction::Out), of(Direction::In))),
        ("Unplaced", saturated),
        ("Evaluations", format!("{}: {} refused, {} requests", c.total, c.refused, c.requested)),
        ("Failures", r.failures.len().to_string()),
        ("Failsafe", failsafe),
    ]
}

/// The maximum value in each column.
fn columns(r: &Report, value: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let mut out = Vec::with_capacity(COLUMNS);
    let mut last = r.samples.first().map_or(0.0, &value);
    let mut samples = r.samples.iter().peekable();
    let count = i64::try_from(COLUMNS).unwrap_or(i64::MAX);
    for column in 1..=count {
        let until = r.seconds.saturating_mul(column) / count;
        let mut highest = last;
        while let Some(s) = samples.next_if(|s| s.seconds <= until) {
            last = value(s);
            highest = highest.max(last);
        }
        out.push(highest);
    }
    out
}

/// Rows of blocks over a time axis. Each column shows its maximum.
fn chart(r: &Report, value: impl Fn(&Sample) -> i64) -> String {
    let values = columns(r, |s| value(s) as f64);
    let highest = values.iter().copied().fold(1.0, f64::max);
    let per_row = (highest / ROWS as f64).ceil().max(1.0);
    let rows = (highest / per_row).ceil() as i64;
    let mut lines = Vec::new();
    for row in (0..rows).rev() {
        let below = row as f64 * per_row;
        let line: String = values.iter().map(|v| part((v - below) / per_row)).collect();
        lines.push(format!("  {:>6} |{}", below + per_row, line.trim_end()));
    }
    lines.push(format!("  {:>6} +{}", 0, "-".repeat(COLUMNS)));
    lines.push(format!("          {}", times(r.seconds)));
    lines.join("\n")
}

/// The block character for a fraction of a row.
fn part(share: f64) -> char {
    let eighths = (share.clamp(0.0, 1.0) * 8.0).ceil() as usize;
    PARTS.get(eighths).copied().unwrap_or('█')
}

/// The labels below the axis, each starting at its point in time.
fn times(seconds: i64) -> String {
    let step = step_of_times(seconds);
    let mut line = String::new();
    let mut at = 0;
    while at <= seconds {
        let column = usize::try_from(at.saturating_mul(COLUMNS as i64) / seconds.max(1)).unwrap_or(0);
        let label = clock(at);
        if column + label.len() <= COLUMNS && column >= line.len() {
            line.extend(std::iter::repeat_n(' ', column - line.len()));
            line.push_str(&label);
        }
        at = at.saturating_add(step);
    }
    line
}

/// One row of blocks, followed by its maximum.
fn spark(r: &Report, name: &str, value: impl Fn(&Sample) -> f64) -> String {
    let values = columns(r, value);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let scale = if highest > 0.0 { highest } else { 1.0 };
    // Two columns share one block, so that the maximum fits on the line.
    let line: String = values.chunks(2).map(|v| part(v.iter().copied().fold(0.0, f64::max) / scale)).collect();
    format!("{name:<10}{line}  at most {highest:.0}")
}

fn print_operations(ui: &mut Ui<'_>, operations: &[Operation]) {
    title(ui, "Operations");
    if operations.is_empty() {
        return ui.output("  none");
    }
    let mut rows = vec!["Time|Took|Direction|From|To|Ending|Reason".to_string()];
    let half = MANY / 2;
    let left_out = operations.len().saturating_sub(MANY);
    for (i, o) in operations.iter().enumerate() {
        if left_out > 0 && (half..operations.len() - half).contains(&i) {
            continue;
        }
        let took = o.ended.map_or("-".to_string(), |end| span(end - o.started));
        rows.push(format!(
            "{}|{took}|{}|{}|{}|{}|{}",
            clock(o.started),
            o.direction.name(),
            o.from,
            o.to,
            ending(o.ending),
            cell(&short(&o.reason)),
        ));
    }
    ui.output(&table(&rows, Form::List));
    if left_out > 0 {
        ui.output(&format!("{left_out} more between {half} and {half} of them: -json lists all"));
    }
}

/// The reason up to its first comma; the rest describes the consequence.
fn short(reason: &str) -> String {
    reason.split(',').next().unwrap_or_default().trim_end_matches(" are used").to_string()
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::TakenBack => "taken back",
        Ending::InProgress => "in progress",
    }
}

fn print_refusals(ui: &mut Ui<'_>, refusals: &[Refusal]) {
    title(ui, "Refusals");
    if refusals.is_empty() {
        return ui.output("  none");
    }
    for r in refusals {
        let by = if r.by_scheduler { ", by the scheduler" } else { "" };
        ui.output(&format!("  {} times {}: {}{by}", r.count, r.direction.name(), check_name(r.check)));
        ui.output(&wrapped(&format!("first at {}: {}", clock(r.first), r.example), 6));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_row_and_labels_below_it() {
        assert_eq!([-1.0, 0.0, 0.01, 0.5, 1.0, 9.0].map(part), [' ', ' ', '▁', '▄', '█', '█']);
        let labels = times(86_400);
        assert!(labels.starts_with("0:00    3:00     6:00") && labels.len() <= COLUMNS, "{labels}");
        assert_eq!(times(0), "0:00");
    }

    #[test]
    fn reasons_are_cut_at_the_comma() {
        assert_eq!(short("cpu: 5 of 4 MHz allowed are used, one"), "cpu: 5 of 4 MHz allowed");
    }
}
