//! `node drain -plan`: in which batches several nodes can be drained (`docs/spec/cli.md §10.2`).

use serde_json::Value;

use crate::cluster::{ClusterFlags, TimeFlags};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::general::GeneralFlags;
use crate::render::json::indented;
use crate::render::metrics::main_reason;
use crate::render::page;
use crate::render::table::{Form, cell, headed, table, table_of_sentences};
use crate::render::ui::Ui;
use crate::render::values::counted;
use crate::search_limit;
use encamp_model::{Node, NodeStatus, format_duration, quoted};
use encamp_plan::drain_plan::{Batch, Blocked, DrainLimits, DrainPlan, drain_plan};
use encamp_plan::survival::Loss;
use encamp_plan::what_if::change::{Change, Nodes};
use encamp_plan::what_if::find;
use encamp_scheduler::constraint::Target;
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// The maximum number of names that a batch lists.
const NAMED: usize = 4;

/// The kind of loss that `-survive` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Survive {
    /// Any one node.
    Node,
    /// Any one datacenter.
    Dc,
}

impl Survive {
    /// The loss.
    pub(crate) fn loss(self) -> Loss {
        match self {
            Survive::Node => Loss::Node,
            Survive::Dc => Loss::Datacenter,
        }
    }
}

/// The flags of the plan of a drain.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct DrainPlanFlags {
    /// Plan the drain of several nodes instead of draining one: print batches in which no task group loses more
    /// allocations at a time than its migrate block allows, and everything that moves is placed. The arguments are
    /// nodes (name, ID or ID prefix), dc=NAME, class=NAME or pool=NAME
    #[arg(long)]
    pub plan: bool,
    /// With -plan, also the nodes with these attributes: key=value or key!=value, separated by commas, where the key is
    /// that of a constraint, such as meta.rack, node.class or attr.kernel.name
    #[arg(long, value_name = "selector")]
    pub selector: Option<String>,
    /// With -plan, the maximum number of nodes that are drained at a time
    #[arg(long, value_name = "nodes")]
    pub batch: Option<usize>,
    /// With -plan, allow that allocations of other jobs are preempted
    #[arg(long)]
    pub allow_preemptions: bool,
    /// With -plan, also print how many allocations the worst loss of one node or one dc would leave unplaced afterwards
    #[arg(long, value_name = "loss", value_enum)]
    pub survive: Option<Survive>,
    /// With -plan, print only the commands that carry the plan out
    #[arg(long)]
    pub commands: bool,
    /// With -plan, print the plan as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
}

impl DrainPlanFlags {
    /// Whether a flag is given that is only for plans.
    pub(super) fn needs_plan(&self) -> bool {
        let values = self.selector.is_some() || self.batch.is_some() || self.survive.is_some();
        values || self.allow_preemptions || self.commands || self.json || self.cluster.snapshot.is_some()
    }

    /// The loss that `-survive` names.
    fn loss(&self) -> Option<Loss> {
        self.survive.map(Survive::loss)
    }

    /// Plans and prints; the exit code.
    pub(super) fn run(&self, nodes: &[String], general: &GeneralFlags, context: &mut Context<'_, '_>) -> u8 {
        match self.planned(nodes, general, context) {
            Ok(plan) => self.print(&plan, context),
            Err(e) => context.report(&e),
        }
    }

    fn planned(
        &self,
        nodes: &[String],
        general: &GeneralFlags,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<DrainPlan> {
        let cluster = self.cluster.load(general, Detail::Everything, context.env)?.as_of(&self.time)?;
        let (state, notes, now) = cluster.into_state(false, context.env);
        for note in &notes {
            context.ui.warn(note);
        }
        let ids = self.chosen(&state, nodes)?;
        let limits = DrainLimits { nodes: self.batch, preempt: self.allow_preemptions };
        let progress = context.env.terminal.spinner();
        progress.say("Planning the drain");
        Ok(drain_plan(&state, &ids, limits, self.loss(), &search_limit::timed(), now)?)
    }

    /// The IDs of the nodes that arguments and selector name.
    fn chosen(&self, state: &State, given: &[String]) -> CommandResult<Vec<String>> {
        let mut ids = Vec::new();
        for text in given {
            let Change::Drain(which) = Change::drain(text)? else { continue };
            let found = find::nodes(state, &which).map_err(|e| CommandError::new(format!("{}: {e}", quoted(text))))?;
            let named = matches!(which, Nodes::One(_));
            // What a node that is down ran is lost. A single node that is down is an error.
            ids.extend(found.iter().filter(|n| named || n.status != NodeStatus::Down).map(|n| n.id.clone()));
        }
        if let Some(text) = &self.selector {
            ids.extend(selected(state, "selector", text)?);
        }
        Ok(ids)
    }

    fn print(&self, plan: &DrainPlan, context: &mut Context<'_, '_>) -> u8 {
        if self.json {
            match value(plan).and_then(|value| indented(&value).map_err(CommandError::new)) {
                Ok(text) => context.ui.output(&text),
                Err(e) => return context.report(&e),
            }
        } else if self.commands {
            context.ui.output(&commands(plan));
        } else {
            print(context.ui, plan, self.loss());
        }
        u8::from(!plan.is_safe())
    }
}

/// The IDs of the nodes that match the selector of a flag. Nodes that are down do not.
///
/// # Errors
/// The text is no selector, or no node matches.
pub(crate) fn selected(state: &State, flag: &str, text: &str) -> CommandResult<Vec<String>> {
    let selector = Selector::parse(flag, text)?;
    let up = state.nodes().map(|e| &e.node).filter(|n| n.status != NodeStatus::Down);
    let ids: Vec<String> = up.filter(|n| selector.matches(n)).map(|n| n.id.clone()).collect();
    if ids.is_empty() {
        return Err(CommandError::new(format!("No node matches -{flag} {}", quoted(text))));
    }
    Ok(ids)
}

/// Conditions on nodes, all of which have to hold.
struct Selector(Vec<Condition>);

struct Condition {
    key: Target,
    value: String,
    equal: bool,
}

impl Selector {
    fn parse(flag: &str, text: &str) -> CommandResult<Selector> {
        let condition = |part: &str| {
            let wrong = |why: &str| CommandError::new(format!("-{flag} {}: {why}", quoted(part)));
            let (key, value) = part.split_once('=').ok_or_else(|| wrong("expected key=value or key!=value"))?;
            let (key, equal) = key.strip_suffix('!').map_or((key, true), |key| (key, false));
            let key = match Target::parse(&format!("${{{}}}", key.trim())) {
                Target::Unknown => {
                    return Err(wrong("the key must be node.class, node.pool, node.datacenter, attr.… or meta.…"));
                }
                target => target,
            };
            Ok(Condition { key, value: value.trim().to_string(), equal })
        };
        text.split(',').map(|part| condition(part.trim())).collect::<CommandResult<Vec<_>>>().map(Selector)
    }

    fn matches(&self, node: &Node) -> bool {
        self.0.iter().all(|c| (c.key.resolve(node) == Some(c.value.as_str())) == c.equal)
    }
}

/// The plan as a JSON value (`docs/reference/drain-plan.schema.json`).
fn value(plan: &DrainPlan) -> CommandResult<Value> {
    let mut value = serde_json::to_value(plan).map_err(CommandError::new)?;
    if let Value::Object(members) = &mut value {
        members.insert("SchemaVersion".into(), 1.into());
    }
    Ok(value)
}

fn print(ui: &mut Ui<'_>, plan: &DrainPlan, loss: Option<Loss>) {
    let drained: usize = plan.batches.iter().map(|b| b.nodes.len()).sum();
    let all = drained + plan.blocked.len();
    let batches = counted(plan.batches.len(), "batch", "batches");
    let verdict = if plan.blocked.is_empty() {
        format!("[bold][green]{} can be drained, in {batches}.[reset]", counted(all, "node", "nodes"))
    } else {
        let stay = counted(plan.blocked.len(), "node", "nodes");
        format!("[bold][red]{stay} of {all} cannot be drained; the others can, in {batches}.[reset]")
    };
    ui.output_markup(&verdict);
    let sum = |of: fn(&Batch) -> usize| plan.batches.iter().map(of).sum::<usize>();
    let time: i64 = plan.batches.iter().map(|b| b.at_least).fold(0, i64::saturating_add);
    ui.output(&page::sentence(&format!(
        "{} moved, {} stopped, {} preempted. Replacements take at least {} to become healthy.",
        counted(sum(|b| b.moved), "allocation is", "allocations are"),
        sum(|b| b.stopped),
        sum(|b| b.preempted),
        format_duration(time),
    )));
    if sum(|b| b.batch) > 0 {
        let n = counted(sum(|b| b.batch), "batch allocation runs", "batch allocations run");
        ui.output(&format!("{n} until finished, at the longest until the deadline of the drain."));
    }
    if let (Some(worst), Some(loss)) = (&plan.worst_loss, loss) {
        let kind = loss.noun();
        let n = counted(worst.unplaced, "allocation", "allocations");
        let line = match (worst.unplaced, worst.at_most) {
            (_, 0) => format!("[green]Afterwards, the loss of any one {kind} leaves no allocation unplaced.[reset]"),
            (least, most) if least < most => format!(
                "[red]Afterwards, the worst loss of a {kind} leaves at least {least}, at most {most} allocations \
                 unplaced: {} of {} losses decided.[reset]",
                worst.decided, worst.of
            ),
            _ => format!("[red]Afterwards, the loss of {kind} {} leaves {n} unplaced.[reset]", quoted(&worst.lost)),
        };
        ui.output_markup(&line);
    }
    if !plan.batches.is_empty() {
        let rows = plan.batches.iter().enumerate().map(|(i, b)| {
            let mut names: Vec<String> = b.nodes.iter().take(NAMED).map(|n| cell(&n.name)).collect();
            if b.nodes.len() > NAMED {
                names.push(format!("and {} more", b.nodes.len() - NAMED));
            }
            let (names, time) = (names.join(", "), format_duration(b.at_least));
            let n = b.nodes.len();
            format!("{}|{n}|{}|{}|{}|{}|{time}|{names}", i + 1, b.moved, b.stopped, b.preempted, b.waves)
        });
        let lines = headed("Batch|Nodes|Moved|Stopped|Preempted|Waves|At least|Names", rows);
        ui.output(&format!("\n{}", table(&lines, Form::Figures)));
    }
    if !plan.blocked.is_empty() {
        ui.output_markup("\n[bold][red]Cannot be drained[reset]");
        let lines = headed("Node|Reason", plan.blocked.iter().flat_map(reasons));
        ui.output(&table_of_sentences(&lines, Form::List));
    }
    if !plan.batches.is_empty() {
        ui.output("\nUse -commands to print the commands that carry this plan out.");
    }
}

/// Why a node cannot be drained, as rows.
fn reasons(blocked: &Blocked) -> Vec<String> {
    let name = cell(&blocked.node.name);
    let mut rows: Vec<String> = blocked
        .unplaced
        .iter()
        .map(|u| {
            let why = main_reason(&u.metrics).map(|why| format!(": {why}")).unwrap_or_default();
            let (job, group) = (quoted(&u.owner.job_id), quoted(&u.owner.task_group));
            format!("{name}|{} unplaced of job {job}, group {group}{}", u.count, cell(&why))
        })
        .collect();
    if blocked.preempted > 0 {
        let n = counted(blocked.preempted, "allocation", "allocations");
        rows.push(format!("{name}|would preempt {n}; -allow-preemptions allows that"));
    }
    rows
}

/// A shell script that carries the plan out.
fn commands(plan: &DrainPlan) -> String {
    let mut lines = vec!["set -e".to_string(), "# No allocation moves to a node that is drained later.".to_string()];
    let nodes = || plan.batches.iter().flat_map(|b| &b.nodes);
    lines.extend(nodes().map(|n| format!("encamp node eligibility -disable {}", n.id)));
    for (i, batch) in plan.batches.iter().enumerate() {
        lines.push(format!("# Batch {} of {}", i + 1, plan.batches.len()));
        lines.extend(batch.nodes.iter().map(|n| format!("encamp node drain -enable -yes -detach {}", n.id)));
        lines.extend(batch.nodes.iter().map(|n| format!("encamp node drain -monitor {}", n.id)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_name_what_constraints_name() {
        let mut node = Node { node_class: "big".into(), ..Node::default() };
        node.meta.insert("rack".into(), "r1".into());
        let matches =
            |text: &str| Selector::parse("selector", text).map(|s| s.matches(&node)).map_err(|e| e.to_string());
        assert_eq!(matches("meta.rack=r1, node.class = big"), Ok(true));
        assert_eq!(
            (matches("meta.rack!=r1"), matches("meta.row!=a"), matches("meta.row=a")),
            (Ok(false), Ok(true), Ok(false))
        );
        assert_eq!(matches("rack").unwrap_err(), "-selector \"rack\": expected key=value or key!=value");
        assert!(matches("rack=r1").unwrap_err().contains("the key must be node.class"));
    }
}
