//! `operator audit verify`: whether audit logs are complete (`docs/spec/cli.md §14`).

use std::path::{Path, PathBuf};

use crate::prelude::*;
use encamp_audit::verify::{ChainReport, Problem, Report, verify};

/// Check whether audit logs are complete and unchanged
///
/// Reads files of audit logs and checks the numbers and hashes of their rows: whether rows are missing, were changed, are
/// out of order or were not written in full. Give all files of a log, rotated ones as well, in any order; files of
/// several agents are distinguished. The first row of a log may have a number above 1: older files are removed by
/// rotate_max_files.
///
/// The file with the suffix .head next to a log holds the number of its last row: it shows whether rows at the end are
/// missing. The agent may run meanwhile.
///
/// Whoever can change a log and its head can also compute new hashes. Copy the files, or the output of this command, to
/// a place out of reach.
#[derive(Debug, clap::Parser)]
pub struct AuditVerify {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: LocalFlags,
    #[arg(value_name = "<file>...", add = CompleteWith::Every(&CompleteWith::ANY_FILE))]
    pub(crate) args: Vec<String>,
}

impl Run for AuditVerify {
    const META: Meta = Meta::new("operator audit verify")
        .exit_status(&[
            (0, "All rows are there, in order and unchanged."),
            (1, "Rows are missing, changed, out of order or damaged, or a file cannot be read."),
        ])
        .offline_examples(&[
            ("Check the current file of an audit log", "encamp operator audit verify data/audit/audit.log"),
            ("Check it with its rotated files", "encamp operator audit verify data/audit/audit*.log"),
            ("Print what was found as JSON", "encamp operator audit verify -json data/audit/audit.log"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.args.is_empty() {
            return context.usage_error("This command takes at least one argument: <file>...");
        }
        context.attempt(|context| {
            let directory = &context.env.directory;
            let files: Vec<PathBuf> = self.args.iter().map(|name| directory.join(name)).collect();
            let report = verify(&files).context("Error reading the audit log")?;
            if self.json {
                context.print_json(&report)?;
            } else {
                let shown = |path: &Path| path.strip_prefix(directory).unwrap_or(path).display().to_string();
                let lines = lines(&report, &shown);
                context.ui.output(&lines);
            }
            Ok(u8::from(!report.problems.is_empty()))
        })
    }
}

/// The report as text.
fn lines(report: &Report, shown: &dyn Fn(&Path) -> String) -> String {
    let chain = |c: &ChainReport| {
        let (id, first, last) = (&c.id, c.first, c.last);
        format!("Log {id}: rows {first} to {last} in {}", counted(c.files.len() as u64, "file"))
    };
    let problem = |p: &Problem| format!("{}:{}: {}", shown(&p.file), p.line, p.kind);
    let mut lines: Vec<String> = report.chains.iter().map(chain).collect();
    if report.unlinked > 0 {
        lines.push(format!("Not checked: {} without a number, of an earlier build", counted(report.unlinked, "row")));
    }
    lines.extend(report.problems.iter().map(problem));
    lines.push(match report.problems.len() as u64 {
        0 => "No problem was found".into(),
        n => counted(n, "problem"),
    });
    lines.join("\n")
}

fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
