//! `operator raft info`, `logs`, `state`, `repair`: the Raft log of a server that does not run (`docs/spec/cli.md §14`).

use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Value, json};

use crate::prelude::*;
use encamp_model::{quoted, with_secrets};
use encamp_raft::{Examination, Loss, StoreError, Stored, StoredEntry, StoredLog, examine, repair_files};
use encamp_server::storage::offline::{log_directory, replay};
use encamp_server::storage::persist;

/// Opens the log below the data directory of a server.
fn open(directory: &Path, name: &str) -> CommandResult<StoredLog> {
    StoredLog::open(&log_directory(&directory.join(name))).map_err(explained(name))
}

/// An error of the files of a server, with what to do about it.
fn explained(name: &str) -> impl Fn(StoreError) -> CommandError {
    let name = quoted(name);
    let absent = move || {
        CommandError::new(format!("no raft log found in {name}"))
            .with_hint("The argument is the data directory of a server, or the directory server/raft in it")
    };
    move |e| match e {
        StoreError::Absent { .. } => absent(),
        StoreError::Io { source, .. } if source.kind() == ErrorKind::NotFound => absent(),
        StoreError::Locked { .. } => {
            CommandError::new(e).with_hint("Stop the agent first, or copy its data directory and read the copy")
        }
        other => CommandError::new(other),
    }
}

/// Show the extent of the Raft log of a stopped server
///
/// Prints the directory of the log, the number of its entries, and the indexes of the first and the last one. The
/// argument is the data directory of the server. Its agent must not run. Nothing is changed.
#[derive(Debug, clap::Parser)]
pub struct RaftInfo {
    #[arg(value_name = "<data directory>")]
    pub(crate) directory: String,
}

impl Run for RaftInfo {
    const META: Meta = Meta::new("operator raft info").flag_error_note(FlagErrorNote::Args).offline_examples(&[
        ("Show the extent of the log of a stopped server", "encamp operator raft info data"),
        ("Show that of a copy of its log", "encamp operator raft info copies/server-1/raft"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.print(open(&context.env.directory, &self.directory).map(|log| {
            let (path, length, first, last) = (log.dir().display(), log.len(), log.first(), log.last());
            format!("path:        {path}\nlength:      {length}\nfirst index: {first}\nlast index:  {last}")
        }))
    }
}

/// Print the entries of the Raft log of a stopped server as JSON
///
/// Prints one JSON object for each entry, with its index, its term, the type of the operation and the operation itself.
/// The argument is the data directory of the server. Its agent must not run. Nothing is changed. The output holds
/// secrets, such as ACL tokens.
#[derive(Debug, clap::Parser)]
pub struct RaftLogs {
    /// Indent the JSON
    #[arg(long)]
    pub pretty: bool,
    #[command(flatten)]
    pub(crate) general: LocalFlags,
    #[arg(value_name = "<data directory>")]
    pub(crate) directory: String,
}

impl Run for RaftLogs {
    const META: Meta = Meta::new("operator raft logs").flag_error_note(FlagErrorNote::Args).offline_examples(&[
        ("Print the log as lines of JSON", "encamp operator raft logs data"),
        ("Print the log with indentation", "encamp operator raft logs -pretty data"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| {
            self.print(&open(&context.env.directory, &self.directory)?, context)?;
            Ok(0)
        })
    }
}

impl RaftLogs {
    fn print(&self, log: &StoredLog, context: &mut Context<'_, '_>) -> CommandResult<()> {
        let mut failure = None;
        let visited = with_secrets(|| {
            log.visit(|entry| {
                let value = object(&entry);
                let text = value.and_then(|value| match self.pretty {
                    true => serde_json::to_string_pretty(&value),
                    false => serde_json::to_string(&value),
                });
                match text {
                    Ok(text) => context.ui.output(&text),
                    Err(e) => failure = Some(e),
                }
                failure.is_none()
            })
        });
        visited.context("Error reading the log")?;
        failure.map_or(Ok(()), Err).context("Error printing the log")
    }
}

/// An entry as JSON.
fn object(entry: &StoredEntry) -> serde_json::Result<Value> {
    let (kind, command) = match &entry.content {
        Stored::Operation(op) => ("LogCommand", Some(serde_json::to_value(&**op)?)),
        Stored::Configuration(peers) => ("LogConfiguration", Some(json!({ "Configuration": peers }))),
        Stored::Noop => ("LogNoop", None),
    };
    let mut value = json!({ "LogType": kind, "Term": entry.term, "Index": entry.index });
    let (name, body) = match command {
        // An operation without content is its name alone.
        Some(Value::String(name)) => (name, Value::Null),
        Some(Value::Object(of_one)) => of_one.into_iter().next().unwrap_or_default(),
        _ => return Ok(value),
    };
    if let Value::Object(members) = &mut value {
        members.insert("CommandType".into(), name.into());
        members.insert("Body".into(), body);
    }
    Ok(value)
}

/// Print the state of a stopped server as JSON
///
/// Restores the newest snapshot of the server, applies the entries of its Raft log after it, and prints all objects by
/// table. The argument is the data directory of the server. Its agent must not run. Nothing is changed. Entries at the
/// end of the log that no quorum of servers had confirmed are applied, too. The output holds secrets.
#[derive(Debug, clap::Parser)]
pub struct RaftState {
    /// Apply the log up to this index. A number below 1 is counted back from the last index
    #[arg(long, value_name = "index", default_value_t = 0, allow_hyphen_values = true)]
    pub last_index: i64,
    #[arg(value_name = "<data directory>")]
    pub(crate) directory: String,
}

impl Run for RaftState {
    const META: Meta =
        Meta::new("operator raft state").paged().flag_error_note(FlagErrorNote::Args).offline_examples(&[
            ("Print the state of a stopped server", "encamp operator raft state data > state.json"),
            (
                "Print the state before the last ten entries of the log",
                "encamp operator raft state -last-index -10 data",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.print(open(&context.env.directory, &self.directory).and_then(|log| state(&log, self.last_index)))
    }
}

/// The objects of the state as JSON.
fn state(log: &StoredLog, last_index: i64) -> CommandResult<String> {
    let upto =
        if last_index > 0 { last_index.unsigned_abs() } else { log.last().saturating_sub(last_index.unsigned_abs()) };
    let state = replay(log, upto).context("Error reading the log")?;
    with_secrets(|| {
        let mut records = Vec::new();
        persist::write(&state, &mut records).context("Error reading the state")?;
        let mut tables = persist::Tables::new();
        let visited = persist::visit(&mut records.as_slice(), |record| Ok(record.add_to(&mut tables)?));
        visited.context("Error reading the state")?;
        serde_json::to_string_pretty(&tables).context("Error printing the state")
    })
}

/// Repair the damaged Raft log of a stopped server
///
/// Checks the Raft log, the votes and the newest snapshot of the server and prints which files are damaged, up to which
/// entry the log is intact, and which entries are missing. Damaged files get a suffix such as .damaged-1; the log
/// is cut after the last entry that is intact.
///
/// If other servers vote, the server fetches what is missing from them when it is started, and takes no part in
/// elections until then; it does the same by itself when it is started with a damaged log. If it is the only voter,
/// missing entries are given up only with -accept-loss. The flag also ends the wait of servers of which a majority is
/// damaged, so that they elect a leader again: entries that only damaged servers had are lost then. Start the server
/// with the longest log first.
///
/// The argument is the data directory of the server. Its agent must not run.
#[derive(Debug, clap::Parser)]
pub struct RaftRepair {
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Give up missing entries and votes that no other server may have
    #[arg(long)]
    pub accept_loss: bool,
    #[arg(value_name = "<data directory>")]
    pub(crate) directory: String,
}

impl Run for RaftRepair {
    const META: Meta = Meta::new("operator raft repair").flag_error_note(FlagErrorNote::Args).offline_examples(&[
        ("Show which files of a stopped server are damaged", "encamp operator raft repair -dry-run data"),
        ("Repair them", "encamp operator raft repair data"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.print(self.repaired(&context.env.directory))
    }
}

impl RaftRepair {
    fn repaired(&self, directory: &Path) -> CommandResult<String> {
        let path = log_directory(&directory.join(&self.directory));
        let found = examine(&path).map_err(explained(&self.directory))?;
        let mut text = described(&found);
        if found.is_healthy() {
            return Ok(text);
        }
        let refuses = found.alone && found.missing.is_some() && !self.accept_loss;
        if self.dry_run {
            text.push_str("\nNothing was changed\n");
            text.push_str(match (refuses, found.alone) {
                (true, _) => "Next: restore the data directory from a backup, or give up what is lost by -accept-loss",
                (false, true) => "Next: run the command without -dry-run, then start the server",
                (false, false) => "Next: start the server, which repairs itself from the others",
            });
            return Ok(text);
        }
        if refuses {
            return Err(CommandError::new(format!("{text}\nNothing was changed: no other server has what is lost"))
                .with_hint("Restore the data directory from a backup, or give up what is lost by -accept-loss"));
        }
        let loss = if self.accept_loss { Loss::Accept } else { Loss::Refuse };
        repair_files(&path, loss).map_err(explained(&self.directory))?;
        text.push_str("\nRepaired: the damaged files have the suffix .damaged-<n>\n");
        text.push_str(match (loss, found.alone) {
            (Loss::Accept, _) | (_, true) => "Next: start the server",
            (Loss::Refuse, false) => {
                "Next: start the server; it takes no part in elections until a leader has given it what was committed"
            }
        });
        Ok(text)
    }
}

/// What was found, for the operator.
fn described(found: &Examination) -> String {
    let mut lines: Vec<String> = found.damages.iter().map(|d| format!("Damaged: {d}")).collect();
    if found.is_healthy() {
        lines.push("No damage was found".into());
    }
    lines.push(match found.last_entry {
        Some(last) => format!("The log is intact up to entry {last}"),
        None => "No entry of the log is intact".into(),
    });
    if let Some(missing) = &found.missing {
        lines.push(format!("Lost here: {missing}"));
    }
    if found.vote_missing {
        lines.push("The last vote is missing".into());
    }
    if found.in_doubt {
        lines.push("The server waits until a leader has given it all that was committed".into());
    }
    lines.push(if found.alone {
        "No other server votes".into()
    } else {
        "Other servers may have what is missing".to_string()
    });
    lines.join("\n")
}
