//! The command line: one file per command. Each starts with the argument struct, whose doc comments are the help text.
//!
//! - [`command`]: commands, and which one a command line names. [`registry`]: all commands. [`flags`]: Go-style flags.
//!   `prelude`: what the files of commands import.
//! - [`completion`]: completion of command lines in shells.
//! - [`terminal`]: progress display and signal handling. [`help`]: help texts.
//! - [`context`]: the context of a command: streams, environment, clock.
//! - [`connection`]: a client for commands that send several requests. [`prompt`]: confirmation prompts.
//! - [`mod@format`]: `-json`, `-t` and pagination. [`lookup`], [`lookup_id`], [`lookup_name`]: objects by prefix.
//! - [`object_kinds`]: the kinds of objects and how they are listed. [`pick`]: choosing one from a list.
//! - [`submitted`]: the output after a job registration. [`launch`]: the next launch of periodic jobs.
//! - [`suggest`]: suggestions for mistyped words.
//! - [`general`]: flags that all commands share. [`job_file`]: reading job files.
//! - [`cluster`]: the state that a command reads; `file_state`: all of a file's. [`changes`]: assumed changes to it.
//! - [`monitor`]: monitoring evaluations and deployments.
//! - [`data`]: API responses as JSON values. [`spec_file`]: specification files; [`examples`], [`example_job`]: example files.
//!   [`objects`]: allocations and nodes by ID prefix. [`object_commands`]: commands that kinds of objects have in common.
//! - [`tls`]: certificates of a cluster. `platform`: what systems do differently.
//! - [`autoscale`]: worker pools. [`autoscale_agent`]: the external autoscaler.
//! - [`render`]: text, JSON and template output.
//!
//! Without the feature `agent`, the commands that need the agent are left out: the program then builds for macOS and
//! Windows too (`docs/dev/release.md`).

pub mod acl;
mod advice;
#[cfg(feature = "agent")]
pub mod agent;
pub mod agent_export;
#[cfg(feature = "agent")]
pub mod agent_flags;
pub mod agent_info;
pub mod agent_log;
pub mod agent_monitor;
pub mod alloc;
pub mod autoscale;
#[cfg(feature = "agent")]
pub mod autoscale_agent;
pub mod capacity;
pub mod changes;
pub mod check;
pub mod cluster;
pub mod command;
pub mod command_documentation;
pub mod command_examples;
pub mod command_meta;
pub mod completion;
#[cfg(feature = "agent")]
pub mod config_validate;
pub mod connection;
pub mod context;
pub mod data;
pub mod deployment_list;
pub mod deployment_status;
pub mod deployment_update;
pub mod diagnostics;
pub mod enterprise;
pub mod environment_variables;
pub mod error;
pub mod eval_delete;
pub mod eval_explain;
pub mod eval_list;
pub mod eval_status;
mod example_job;
pub mod examples;
pub mod exec_session;
pub mod exit_status;
#[cfg_attr(not(feature = "agent"), expect(dead_code, reason = "only the agent's interface reads a whole state"))]
mod file_state;
pub mod flags;
pub mod fmt;
pub mod format;
pub mod gc;
pub mod general;
pub mod help;
pub mod hidden_arguments;
pub mod job_action;
pub mod job_convert;
pub mod job_diff;
pub mod job_dispatch;
pub mod job_eval;
pub mod job_examples;
pub mod job_file;
pub mod job_history;
pub mod job_init;
pub mod job_inspect;
pub mod job_lists;
pub mod job_plan;
pub mod job_restart;
pub mod job_run;
pub mod job_scale;
pub mod job_schema;
pub mod job_start;
pub mod job_status;
pub mod job_stop;
pub mod job_validate;
pub mod job_versions;
pub mod launch;
pub mod launches;
pub mod lookup;
pub mod lookup_id;
pub mod lookup_name;
pub mod lsp;
pub mod manual;
pub mod mcp;
pub mod monitor;
pub mod namespace;
pub mod node;
pub mod object_commands;
pub mod object_kinds;
pub mod objects;
pub mod operator;
pub mod options;
pub mod output_settings;
mod pick;
pub mod plan_file;
mod platform;
mod prelude;
pub mod prompt;
pub mod rebalance;
pub mod registry;
mod remarks;
pub mod render;
pub mod report;
pub mod saved_contexts;
pub mod scaling_policy;
mod search_limit;
pub mod server;
pub mod service;
pub mod setup;
#[cfg(feature = "agent")]
pub mod sim_c1m;
#[cfg(feature = "agent")]
pub mod sim_churn;
pub mod sim_cluster;
#[cfg(feature = "agent")]
pub mod sim_flap;
#[cfg(feature = "agent")]
pub mod sim_gc;
#[cfg(feature = "agent")]
pub mod sim_heartbeats;
#[cfg(feature = "agent")]
pub mod sim_load;
#[cfg(feature = "agent")]
pub mod sim_load_shedding;
pub mod sim_plan;
pub mod snapshot_anonymize;
pub mod snapshot_diff;
pub mod snapshot_fetch;
pub mod snapshot_index;
pub mod snapshot_indexes;
pub mod snapshot_inspect;
pub mod spec_file;
pub mod status;
pub mod submitted;
pub mod suggest;
pub mod system;
pub mod terminal;
pub mod tls;
#[cfg(unix)]
pub mod top;
pub mod tristate;
mod ui_cluster;
pub mod var;
pub mod version;
pub mod volume;
pub mod web;
pub mod what_if;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use command::{Found, Registry};
use context::{Context, Environment};
use output_settings::OutputSettings;
use render::page;
use render::ui::Ui;
use terminal::Size;

/// Runs the program with the arguments and streams of the process.
pub fn main() -> ExitCode {
    if let Some(line) = std::env::var_os(completion::LINE).filter(|line| !line.is_empty()) {
        return complete(line);
    }
    // Neither stream stays locked: another thread draws progress.
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let args: Result<Vec<String>, OsString> = std::env::args_os().skip(1).map(OsString::into_string).collect();
    hidden_arguments::hide();
    let code = match args {
        Ok(args) => {
            let mut env = Environment::of_process();
            saved_contexts::apply(&mut env, &args);
            env.terminal.watch_signals();
            let code = run(&args, &env, &mut out, &mut err);
            env.unwritten.write();
            code
        }
        Err(arg) => {
            // Nothing can be done if standard error is closed as well.
            let _ = writeln!(err, "Argument {} is not valid UTF-8", render::styled::one_line(&arg.to_string_lossy()));
            1
        }
    };
    ExitCode::from(code)
}

/// Prints the completions at the cursor of a command line. This never fails: a shell that gets no completions leaves
/// the line unchanged.
fn complete(line: OsString) -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    if let Ok(line) = line.into_string() {
        let mut env = Environment::of_process();
        saved_contexts::apply(&mut env, &[]);
        // It could ask on the terminal.
        env.token_command = None;
        let text = completion::answer(&line, &args, &env);
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }
    ExitCode::SUCCESS
}

/// Runs one command line and returns its exit code.
pub fn run(args: &[String], env: &Environment, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let settings = OutputSettings::new(args, env);
    let colours = settings.colours();
    let ui = Ui::new(out, err, colours.decide());
    let ui = ui.on_terminal(env.terminal.clone(), env.stdout_is_terminal, colours.escapes_welcome());
    let columns = if env.stderr_is_terminal { Size::of_stderr().map(|size| size.width) } else { None };
    let mut ui = ui.with_pager(settings.pager()).with_error_width(columns);
    if settings.fits_terminal() {
        page::keep_to_terminal();
    }
    let code = dispatch(args, env, &mut ui);
    match ui.finish() {
        Ok(()) => code,
        // The output streams failed, so only the exit code can report it.
        Err(_) => 1,
    }
}

fn dispatch(args: &[String], env: &Environment, ui: &mut Ui<'_>) -> u8 {
    let registry = Registry::new();
    let (found, code) = match registry.find(args) {
        Found::Version => {
            ui.plain(&version::text());
            return 0;
        }
        Found::Help(path) => (path, 0),
        Found::Nothing => (None, 127),
        Found::EarlyFlags(path) => {
            ui.plain("Invalid flags before the subcommand. If these flags are for\nthe subcommand, please put them after the subcommand.\n");
            (Some(path), 1)
        }
        Found::Group(path) => (Some(path), 1),
        Found::Command(command, rest) => {
            if command.meta.paged {
                ui.use_pager();
            }
            return Context::new(ui, env, &registry, command, args).run(rest);
        }
    };
    let text = match &found {
        Some(path) => help::command(&registry, path),
        None => help::general(&registry),
    };
    ui.plain(&text);
    if code != 0 {
        let group = found.as_deref().unwrap_or_default();
        let unknown = || env.stderr_is_terminal.then(|| suggest::unknown(&registry, group, args)).flatten();
        if let Some(hint) = suggest::command(&registry, group, args).or_else(unknown) {
            ui.error_plain(&hint);
        }
    }
    code
}
