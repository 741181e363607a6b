//! `node drain`: drains a node (`docs/spec/cli.md §10.2`).

use std::collections::BTreeMap;

use super::drain_plan::DrainPlanFlags;
use super::watch;
use crate::monitor::Lines;
use crate::prelude::*;
use crate::prompt::confirm;
use encamp_model::duration::parse_duration;
use encamp_model::requests::DrainSpec;
use encamp_model::{HOUR, quoted};

/// Toggle drain mode on a node
///
/// A draining node accepts no new allocations, and its allocations are migrated to other nodes, as many at a time as
/// the migrate blocks of their jobs allow. The command monitors the drain until all allocations have stopped, unless
/// -detach is given. The argument is the node ID or a prefix of it.
///
/// With -plan, nothing is drained: the scheduler simulates the drain of several nodes, of a running cluster or of a
/// snapshot, and prints the batches.
#[derive(Debug, clap::Parser)]
pub struct NodeDrain {
    /// Enable draining
    #[arg(long)]
    pub enable: bool,
    /// Disable draining
    #[arg(long)]
    pub disable: bool,
    /// Deadline by which all allocations must have moved; those left are stopped. Default: 1h
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub deadline: Option<i64>,
    /// Return immediately instead of monitoring the drain
    #[arg(long)]
    pub detach: bool,
    /// Only monitor a drain in progress
    #[arg(long)]
    pub monitor: bool,
    /// Stop all allocations immediately
    #[arg(long)]
    pub force: bool,
    /// Drain without a deadline
    #[arg(long)]
    pub no_deadline: bool,
    /// Do not stop the allocations of system jobs
    #[arg(long)]
    pub ignore_system: bool,
    /// With -disable, keep the node ineligible for scheduling
    #[arg(long)]
    pub keep_ineligible: bool,
    /// Message that is stored with the drain
    #[arg(long = "m", value_name = "message")]
    pub message: Option<String>,
    /// Metadata that is stored with the drain, as key=value. Can be repeated
    #[arg(long, value_name = "key=value")]
    pub meta: Vec<String>,
    /// Drain the node of the contacted agent
    #[arg(long = "self")]
    pub own: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) planned: DrainPlanFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "[node]", add = CompleteWith::Live(Objects::Nodes))]
    pub(crate) args: Vec<String>,
}

impl Run for NodeDrain {
    const META: Meta = Meta::new("node drain").former_names(&[FormerName::accepted("node-drain")]).examples(&[
        (
            "Start to drain a node for maintenance, without waiting",
            "encamp node drain -enable -yes -detach -deadline 30m \\
    -m \"Kernel update\" f7476465",
        ),
        (
            "Stop all allocations of a node now, and wait until it is empty",
            "encamp node drain -enable -yes -force f7476465",
        ),
        ("End the drain of the node of the contacted agent", "encamp node drain -disable -yes -self"),
        (
            "Plan the drain of all nodes of a class, at most 5 at a time",
            "encamp node drain -plan -snapshot fixtures/demo/cluster.json -batch 5 \\
    class=gpu",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.planned.plan {
            if let Some(line) = self.wrong_plan() {
                return context.usage_error(line);
            }
            return self.planned.run(&self.args, &self.general, context);
        }
        if self.planned.needs_plan() {
            return context.usage_error(ONLY_PLANS);
        }
        if let Some(line) = self.wrong_action() {
            return context.usage_error(line);
        }
        if !self.own && self.args.len() != 1 {
            return context.argument_error("Node ID must be specified if -self isn't being used");
        }
        if let Some(line) = self.wrong_strategy() {
            return context.usage_error(line);
        }
        if self.deadline.is_some_and(|d| d <= 0) {
            return context.failure("A positive drain duration must be given");
        }
        let meta = match self.records() {
            Ok(meta) => meta,
            Err(e) => return context.report(&e),
        };
        context.connected(&self.general, |c, context| self.act(c, context, &meta))
    }
}

/// The message about flags of plans without `-plan`.
const ONLY_PLANS: &str = "-selector, -batch, -allow-preemptions, -survive, -commands, -json and -snapshot need -plan";

impl NodeDrain {
    /// The message about a wrong use of `-plan`.
    fn wrong_plan(&self) -> Option<&'static str> {
        let acts = self.enable || self.disable || self.monitor || self.own || self.detach || self.yes;
        let strategy = self.deadline.is_some() || self.force || self.no_deadline || self.ignore_system;
        let cases = [
            (acts || strategy, "-plan drains nothing: it can't be combined with flags that change a drain"),
            (self.planned.commands && self.planned.json, "-commands can't be combined with -json"),
            (self.planned.batch == Some(0), "-batch must be at least 1"),
            (self.args.is_empty() && self.planned.selector.is_none(), "-plan needs nodes or -selector"),
            (self.args.iter().any(|arg| arg.starts_with('-')), "Flags must come before the nodes"),
        ];
        cases.iter().find(|(wrong, _)| *wrong).map(|(_, line)| *line)
    }

    /// The message about flags that do not say what to do.
    fn wrong_action(&self) -> Option<&'static str> {
        let cases = [
            (
                !self.monitor && self.enable == self.disable,
                "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'",
            ),
            (
                self.monitor && (self.enable || self.disable),
                "The -monitor flag cannot be used with the '-enable' or '-disable' flags",
            ),
        ];
        cases.iter().find(|(wrong, _)| *wrong).map(|(_, line)| *line)
    }

    /// The message about flags that do not say how to drain.
    fn wrong_strategy(&self) -> Option<&'static str> {
        let strategy = self.deadline.is_some() || self.force || self.no_deadline || self.ignore_system;
        let cases = [
            (self.disable && strategy, "-disable can't be combined with flags configuring drain strategy"),
            (
                self.deadline.is_some() && (self.force || self.no_deadline),
                "-deadline can't be combined with -force or -no-deadline",
            ),
            (self.force && self.no_deadline, "-force and -no-deadline are mutually exclusive"),
        ];
        cases.iter().find(|(wrong, _)| *wrong).map(|(_, line)| *line)
    }

    /// The metadata to store with the drain.
    fn records(&self) -> CommandResult<BTreeMap<String, String>> {
        let pair = |pair: &String| match pair.split_once('=') {
            Some((key, value)) => Ok((key.to_string(), value.to_string())),
            None => {
                Err(CommandError::new(format!("Error parsing -meta {}: it must have the form key=value", quoted(pair))))
            }
        };
        let mut meta: BTreeMap<String, String> = self.meta.iter().map(pair).collect::<Result<_, _>>()?;
        if let Some(message) = self.message.as_ref().filter(|m| !m.is_empty()) {
            let key = if self.enable { "message" } else { "cancel_message" };
            meta.insert(key.into(), message.clone());
        }
        Ok(meta)
    }

    fn act(&self, c: &Connection, context: &mut Context<'_, '_>, meta: &BTreeMap<String, String>) -> CommandResult<u8> {
        let given = self.args.first().map(String::as_str).unwrap_or_default();
        let id = super::meant(c, self.own, given, "Identifier")?;
        let (node, read_meta) = c.wait(c.client.node(&id)).context("Error toggling drain mode")?;
        let name = quoted(&id);
        if self.monitor {
            if node.drain_strategy.is_none() {
                context.ui.warn("No drain strategy set");
                return Ok(0);
            }
            let mut lines = Lines::plain(context.ui, c.zone.clone());
            lines.info(&format!("Monitoring node {name}: Ctrl-C to detach monitoring"));
            return watch::watch(c, context, &node, read_meta.index, self.ignore_system);
        }
        if !self.yes && !self.own && (given != id || context.object_was_chosen()) {
            let verb = if self.enable { "enable" } else { "disable" };
            let question = format!("Are you sure you want to {verb} drain mode for node {name}? [y/N]");
            if let Err(code) = confirm(context.ui, &question, "Canceling drain toggle") {
                return Ok(code);
            }
        }
        let spec = self.enable.then(|| DrainSpec {
            deadline: match (self.force, self.no_deadline) {
                (true, _) => -1,
                (_, true) => 0,
                _ => self.deadline.unwrap_or(HOUR),
            },
            ignore_system_jobs: self.ignore_system,
        });
        let eligible = self.disable && !self.keep_ineligible;
        let answer = c.ask(c.client.drain_node(&id, spec, eligible, meta), "Error updating drain specification")?;
        if self.disable || self.detach {
            let word = if self.enable { "set" } else { "unset" };
            context.ui.output(&format!("Node {name} drain strategy {word}"));
            return Ok(0);
        }
        let mut lines = Lines::plain(context.ui, c.zone.clone());
        lines.info("Ctrl-C to stop monitoring: will not cancel the node drain");
        lines.info(&format!("Node {name} drain strategy set"));
        watch::watch(c, context, &node, answer.node_modify_index.saturating_sub(1), self.ignore_system)
    }
}
