//! Monitors a drain until the node is empty (`docs/spec/cli.md §10.2`).

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::connection::Connection;
use crate::context::{Context, clock};
use crate::error::{CommandResult, ErrorContext};
use crate::monitor::Lines;
use crate::render::values::{self, written_time};
use encamp_api::ApiError;
use encamp_model::{Allocation, ClientStatus, DesiredStatus, DrainStrategy, JobType, Node, NodeStatus, quoted};

/// A message about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum News {
    Detail(String),
    Info(String),
    Warning(String),
}

/// The known state of the node.
#[derive(Debug, Default)]
struct NodeSide {
    strategy: Option<DrainStrategy>,
    down: bool,
    seen: bool,
}

impl NodeSide {
    /// The changes of the node, and whether its drain is complete.
    fn update(&mut self, node: &Node) -> (Vec<News>, bool) {
        let mut news = Vec::new();
        let id = &node.id;
        if node.status == NodeStatus::Down && !self.down {
            news.push(News::Warning(format!("Node {} down", quoted(id))));
        }
        self.down = node.status == NodeStatus::Down;
        let Some(strategy) = &node.drain_strategy else {
            news.push(News::Info(format!("Drain complete for node {id}")));
            return (news, true);
        };
        if self.seen && self.strategy.as_ref() != Some(strategy) {
            news.push(News::Info(format!("Node {} drain updated: {}", quoted(id), described(strategy))));
        }
        self.strategy = Some(strategy.clone());
        self.seen = true;
        (news, false)
    }
}

fn described(strategy: &DrainStrategy) -> String {
    let deadline = written_time(strategy.force_deadline);
    match (strategy.ignore_system_jobs, deadline.as_str()) {
        (true, "") => "drain ignoring system jobs".into(),
        (true, at) => format!("drain ignoring system jobs and deadline at {at}"),
        (false, "") => "drain with no deadline".into(),
        (false, at) => format!("drain with deadline at {at}"),
    }
}

/// The known state of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    migrate: bool,
    desired: DesiredStatus,
    client: ClientStatus,
}

/// The known state of the allocations.
#[derive(Debug, Default)]
struct AllocSide {
    seen: BTreeMap<String, Seen>,
    ignore_system: bool,
}

impl AllocSide {
    /// The changes of the allocations, and whether all of them have stopped.
    fn update(&mut self, allocs: &[Allocation], node: &str) -> (Vec<News>, bool) {
        let mut news = Vec::new();
        let mut running = false;
        for alloc in allocs {
            if self.ignore_system && alloc.job.as_ref().is_some_and(|job| job.r#type == JobType::System) {
                continue;
            }
            running |= !alloc.client_terminal();
            let now = Seen {
                migrate: alloc.desired_transition.should_migrate(),
                desired: alloc.desired_status.clone(),
                client: alloc.client_status.clone(),
            };
            // Allocations that had ended before are not part of this drain.
            let before = match self.seen.get(&*alloc.id) {
                Some(before) => before.clone(),
                None if alloc.client_terminal() => now.clone(),
                None => Seen { migrate: false, desired: DesiredStatus::Run, client: now.client.clone() },
            };
            let id = quoted(&alloc.id);
            if now.migrate && !before.migrate {
                news.push(News::Detail(format!("Alloc {id} marked for migration")));
            }
            if now.migrate && now.desired == DesiredStatus::Stop && before.desired != DesiredStatus::Stop {
                news.push(News::Detail(format!("Alloc {id} draining")));
            }
            if now.client != before.client {
                news.push(News::Detail(format!("Alloc {id} status {} -> {}", before.client, now.client)));
            }
            self.seen.insert(alloc.id.to_string(), now);
        }
        if !running {
            news.push(News::Info(format!("All allocations on node {} have stopped", quoted(node))));
        }
        (news, !running)
    }
}

/// Monitors until the drain is complete and all allocations have stopped. `index` is the index at which the watch of
/// the node starts.
pub(super) fn watch(
    c: &Connection,
    context: &mut Context<'_, '_>,
    node: &Node,
    index: u64,
    ignore_system: bool,
) -> CommandResult<u8> {
    let ignore_system = ignore_system || node.drain_strategy.as_ref().is_some_and(|s| s.ignore_system_jobs);
    let lines = RefCell::new(Lines::plain(context.ui, c.zone.clone()));
    let tell = |news: Vec<News>| {
        let mut lines = lines.borrow_mut();
        news.iter().for_each(|one| print(&mut lines, one));
    };
    let node_side = async {
        let (mut side, mut index) = (NodeSide::default(), index);
        loop {
            let (node, meta) = c.client.node_after(&node.id, index).await?;
            let (news, over) = side.update(&node);
            tell(news);
            if over {
                return Ok::<_, ApiError>(());
            }
            index = next(index, meta.index);
        }
    };
    let alloc_side = async {
        let (mut side, mut index) = (AllocSide { ignore_system, ..AllocSide::default() }, 0);
        loop {
            let (allocs, meta) = c.client.node_allocations_after(&node.id, index).await?;
            let (news, over) = side.update(&allocs, &node.id);
            tell(news);
            if over {
                return Ok::<_, ApiError>(());
            }
            index = next(index, meta.index);
        }
    };
    match c.wait(futures_util::future::try_join(node_side, alloc_side)) {
        Ok(_) => Ok(0),
        Err(e) => Err(e).context(format_args!("{}: Error monitoring drain", values::time(clock(), &c.zone))),
    }
}

/// The index of the next poll: a restored server may have a lower index.
fn next(index: u64, answered: u64) -> u64 {
    if answered < index { 1 } else { answered.max(1) }
}

fn print(lines: &mut Lines<'_, '_>, news: &News) {
    match news {
        News::Detail(text) => lines.detail(text),
        News::Info(text) => lines.info(text),
        News::Warning(text) => {
            let text = format!("{}: {text}", lines.now());
            lines.ui.warn(&text);
        }
    }
    lines.ui.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{DesiredTransition, Job, Time};
    use std::sync::Arc;

    fn alloc(id: &str, migrate: bool, desired: DesiredStatus, client: ClientStatus) -> Allocation {
        Allocation {
            id: id.into(),
            desired_transition: DesiredTransition { migrate: Some(migrate), ..DesiredTransition::default() },
            desired_status: desired,
            client_status: client,
            ..Allocation::default()
        }
    }

    fn texts(news: &[News]) -> Vec<String> {
        let text = |one: &News| match one {
            News::Detail(text) => text.clone(),
            News::Info(text) => format!("info: {text}"),
            News::Warning(text) => format!("warning: {text}"),
        };
        news.iter().map(text).collect()
    }

    #[test]
    fn allocations_are_told_about_until_all_have_stopped() {
        let mut side = AllocSide::default();
        let first = [
            alloc("a", false, DesiredStatus::Run, ClientStatus::Running),
            alloc("old", true, DesiredStatus::Stop, ClientStatus::Complete),
        ];
        assert_eq!(side.update(&first, "n"), (vec![], false));
        let (news, over) = side.update(&[alloc("a", true, DesiredStatus::Run, ClientStatus::Running)], "n");
        assert_eq!((texts(&news).join("\n"), over), ("Alloc \"a\" marked for migration".into(), false));
        let (news, over) = side.update(&[alloc("a", true, DesiredStatus::Stop, ClientStatus::Complete)], "n");
        assert_eq!(
            texts(&news),
            [
                "Alloc \"a\" draining",
                "Alloc \"a\" status running -> complete",
                "info: All allocations on node \"n\" have stopped"
            ]
        );
        assert!(over);
    }

    #[test]
    fn system_jobs_can_be_left_out() {
        let mut side = AllocSide { ignore_system: true, ..AllocSide::default() };
        let job = Job { r#type: JobType::System, ..Job::default() };
        let system =
            Allocation { job: Some(Arc::new(job)), ..alloc("s", false, DesiredStatus::Run, ClientStatus::Running) };
        assert!(side.update(&[system], "n").1);
    }

    #[test]
    fn the_node_is_told_about_until_its_drain_is_over() {
        let at = |text: &str| Some(DrainStrategy { force_deadline: Time::parse(text).unwrap(), ..Default::default() });
        let node =
            |status: NodeStatus, drain_strategy| Node { id: "n".into(), status, drain_strategy, ..Node::default() };
        let mut side = NodeSide::default();
        assert_eq!(side.update(&node(NodeStatus::Ready, at("2026-11-21T06:00:00Z"))), (vec![], false));
        let (news, _) = side.update(&node(NodeStatus::Down, at("2026-11-21T07:00:00Z")));
        assert_eq!(
            texts(&news),
            ["warning: Node \"n\" down", "info: Node \"n\" drain updated: drain with deadline at 2026-11-21T07:00:00Z"]
        );
        let (news, over) = side.update(&node(NodeStatus::Down, None));
        assert_eq!((texts(&news).join(""), over), ("info: Drain complete for node n".into(), true));
        assert_eq!([next(5, 9), next(5, 3), next(0, 0)], [9, 1, 1]);
    }
}
