use std::sync::Arc;

use super::*;
use crate::fsm::{Limits, apply};
use crate::storage::persist;
use encamp_ops::{JobDeregister, JobRegister, NodeRegister, Operation, Reply};
use encamp_state::{StateStore, Table};

struct Bench {
    store: StateStore,
    index: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench { store: StateStore::new(), index: 10 }
    }

    fn apply(&mut self, op: Operation) {
        self.index += 1;
        let applied = apply(&mut self.store, self.index, &op, Limits::default());
        assert!(!matches!(applied.reply, Reply::Refused(_)), "{:?}", applied.reply);
    }

    fn node(&mut self, id: &str, controller: Option<bool>, node: Option<bool>) {
        let info = |healthy| {
            let (plugin_id, alloc_id, provider) = ("p".to_string(), format!("alloc-{id}"), "csi.test".to_string());
            let info = CsiInfo {
                plugin_id,
                alloc_id,
                provider,
                requires_controller_plugin: true,
                healthy,
                ..Default::default()
            };
            ("p".to_string(), info)
        };
        let node = Node {
            id: id.into(),
            status: NodeStatus::Ready,
            csi_controller_plugins: controller.map(info).into_iter().collect(),
            csi_node_plugins: node.map(info).into_iter().collect(),
            ..Default::default()
        };
        self.apply(Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 5 })));
    }

    /// Healthy and expected controllers, healthy and expected nodes.
    fn counts(&self) -> Option<[i64; 4]> {
        let p = self.store.csi_plugin("p")?;
        Some([p.controllers_healthy, p.controllers_expected, p.nodes_healthy, p.nodes_expected])
    }

    fn volume(&self) -> &CsiVolume {
        self.store.state().csi_volume("default", "v").unwrap()
    }
}

fn job(kind: JobType, part: &str, count: i64) -> Job {
    let config = TaskCsiPluginConfig { id: "p".into(), r#type: part.into(), ..Default::default() };
    let task = Task { name: "t".into(), csi_plugin_config: Some(config), ..Default::default() };
    let group = TaskGroup { name: "g".into(), count, tasks: vec![task], ..Default::default() };
    Job {
        id: "j".into(),
        namespace: "default".into(),
        r#type: kind,
        task_groups: vec![group],
        submit_time: 8,
        ..Default::default()
    }
}

fn register(job: Job) -> Operation {
    let (job, now) = (Arc::new(job), 8);
    Operation::JobRegister(Box::new(JobRegister { job, eval: None, submission: None, enforce_index: None, now }))
}

fn deregister(purge: bool) -> Operation {
    let job = JobKey::new("default", "j");
    Operation::JobDeregister(Box::new(JobDeregister {
        job,
        purge,
        no_shutdown_delay: false,
        eval: None,
        submit_time: 9,
    }))
}

#[test]
fn plugins_follow_the_reports_of_nodes() {
    let mut b = Bench::new();
    let volume = CsiVolume { id: "v".into(), namespace: "default".into(), plugin_id: "p".into(), ..Default::default() };
    b.apply(Operation::CsiVolumeRegister { volumes: vec![Arc::new(volume)], now: 1 });
    assert!(!b.volume().schedulable);
    b.node("n1", None, Some(true));
    assert_eq!(b.counts(), Some([0, 0, 1, 0]));
    assert!(!b.volume().schedulable && b.volume().controller_required);
    b.node("n2", Some(true), Some(false));
    assert_eq!(b.counts(), Some([1, 0, 1, 0]));
    assert_eq!((b.volume().schedulable, b.volume().provider.as_str(), b.volume().modify_index), (true, "csi.test", 11));
    let plugin = b.store.csi_plugin("p").unwrap();
    assert_eq!((plugin.create_index, plugin.modify_index, plugin.modify_time), (12, 13, 5));
    // A report without news writes nothing.
    b.node("n2", Some(true), Some(false));
    assert_eq!(b.store.index_of(Table::CsiPlugins), 13);
    // Snapshots hold them.
    let mut file = Vec::new();
    persist::write(&b.store, &mut file).unwrap();
    let read = persist::read(&mut file.as_slice()).unwrap();
    assert_eq!(read.csi_plugin("p"), b.store.csi_plugin("p"));
    b.node("n2", None, None);
    assert_eq!(b.counts(), Some([0, 0, 1, 0]));
    b.apply(Operation::NodeDeregister { ids: vec!["n1".into()] });
    assert_eq!((b.counts(), b.volume().schedulable, b.volume().nodes_healthy), (None, false, 0));
}

#[test]
fn plugins_follow_jobs_and_allocations() {
    let mut b = Bench::new();
    b.apply(register(job(JobType::Service, "monolith", 3)));
    assert_eq!(b.counts(), Some([0, 3, 0, 3]));
    b.apply(register(job(JobType::Service, "controller", 2)));
    assert_eq!(b.counts(), Some([0, 2, 0, 0]));
    b.apply(deregister(false));
    assert_eq!(b.counts(), None);
    // System jobs should run what runs of them.
    let system = job(JobType::System, "node", 0);
    b.apply(register(system.clone()));
    let alloc = |id: &str, client_status| {
        Arc::new(Allocation {
            id: format!("alloc-{id}").into(),
            node_id: id.into(),
            namespace: "default".into(),
            job_id: "j".into(),
            task_group: "g".into(),
            job: Some(Arc::new(system.clone())),
            client_status,
            ..Default::default()
        })
    };
    b.store.put_allocs(vec![alloc("n1", ClientStatus::Pending), alloc("n2", ClientStatus::Pending)]);
    let report = |allocs| Operation::AllocClientUpdate { allocs, evals: vec![], now: 9 };
    b.apply(report(vec![alloc("n1", ClientStatus::Running), alloc("n2", ClientStatus::Running)]));
    b.node("n1", None, Some(true));
    b.node("n2", None, Some(true));
    assert_eq!(b.counts(), Some([0, 0, 2, 2]));
    // What a node runs ends with its allocation, even if the node does not report it.
    b.apply(report(vec![alloc("n1", ClientStatus::Complete)]));
    assert_eq!(b.counts(), Some([0, 0, 1, 1]));
    b.apply(deregister(false));
    assert_eq!(b.counts(), Some([0, 0, 1, 0]));
    b.apply(deregister(true));
    assert_eq!(b.counts(), None);
}

#[test]
fn only_empty_plugins_are_deleted() {
    let mut b = Bench::new();
    let delete = |b: &mut Bench| {
        apply(&mut b.store, 90, &Operation::CsiPluginDelete { id: "p".into() }, Limits::default()).reply
    };
    assert_eq!(delete(&mut b), Reply::Refused(Refusal::CsiPluginNotFound { id: "p".into() }));
    b.apply(register(job(JobType::Service, "node", 1)));
    assert_eq!(delete(&mut b), Reply::Refused(Refusal::CsiPluginInUse));
    // An entry of a job that is gone does not keep it.
    let mut left = CsiPlugin { id: "p".into(), ..Default::default() };
    describe(&mut left, "default", "gone", Some((Some(1), None)));
    b.apply(deregister(true));
    b.store.put_csi_plugin(Arc::new(left));
    assert_eq!((delete(&mut b), b.counts()), (Reply::Done, None));
}
