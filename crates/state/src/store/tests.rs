use super::*;

fn eval(id: &str, job: &str, create: u64) -> Arc<Evaluation> {
    Arc::new(Evaluation {
        id: id.into(),
        namespace: "default".into(),
        job_id: job.into(),
        create_index: create,
        ..Default::default()
    })
}

fn alloc(id: &str, eval: &str, deployment: &str) -> Arc<Allocation> {
    Arc::new(Allocation {
        id: id.into(),
        namespace: "default".into(),
        job_id: "web".into(),
        eval_id: eval.into(),
        deployment_id: deployment.into(),
        node_id: "n1".into(),
        create_index: 5,
        ..Default::default()
    })
}

#[test]
fn a_new_store_has_the_built_ins() {
    let s = StateStore::new();
    assert!(s.state().namespace("default").is_some());
    assert_eq!(s.state().node_pools().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["all", "default"]);
    assert_eq!((s.latest_index(), s.index_of(Table::Namespaces), s.index_of(Table::Jobs)), (1, 1, 0));
    assert_eq!(s.state().index, 1);
}

#[test]
fn evaluations_are_found_by_job_and_in_order_of_creation() {
    let mut s = StateStore::new();
    for (id, job, create) in [("c", "web", 3), ("a", "db", 9), ("b", "web", 9)] {
        s.put_eval(eval(id, job, create));
    }
    let ids = |i: &mut dyn Iterator<Item = &Arc<Evaluation>>| i.map(|e| e.id.as_str()).collect::<String>();
    assert_eq!(ids(&mut s.evals_by_create()), "cab");
    assert_eq!(ids(&mut s.evals_by_create().rev()), "bac");
    assert_eq!(ids(&mut s.evals_of_job("default", "web")), "bc");
    assert_eq!(ids(&mut s.evals_from("b")), "bc");
    let frozen = s.snapshot();
    s.remove_eval("b");
    assert_eq!(ids(&mut s.evals_of_job("default", "web")), "c");
    assert_eq!(ids(&mut frozen.evals_of_job("default", "web")), "bc");
}

#[test]
fn allocations_move_between_evaluations_and_deployments() {
    let mut s = StateStore::new();
    s.put_allocs(vec![alloc("x", "e1", "")]);
    s.put_allocs(vec![alloc("x", "e2", "d1")]);
    assert_eq!((s.allocs_of_eval("e1").count(), s.allocs_of_eval("e2").count()), (0, 1));
    assert_eq!((s.allocs_of_deployment("").count(), s.allocs_of_deployment("d1").count()), (0, 1));
    assert_eq!(s.remove_allocs(["x", "y"]).len(), 1);
    assert_eq!((s.alloc_count(), s.allocs_by_create().count(), s.allocs_of_deployment("d1").count()), (0, 0, 0));
    assert!(s.state().allocs_of_node("n1").is_empty());
}

#[test]
fn a_removed_node_leaves_its_allocations_and_its_slot() {
    let mut s = StateStore::new();
    let node = |id: &str| Arc::new(Node { id: id.into(), ..Default::default() });
    s.put_node(node("n1"));
    s.put_allocs(vec![alloc("x", "e1", "")]);
    let slot = s.state().node("n1").unwrap().slot;
    s.remove_node("n1");
    assert!(s.state().node("n1").is_none() && s.state().nodes().next().is_none());
    assert_eq!(s.state().allocs_of_node("n1").len(), 1);
    s.put_node(node("n2"));
    assert_eq!(s.state().node("n2").unwrap().slot, slot);
    assert!(s.state().node("n2").unwrap().allocs.is_empty());
    s.put_node(node("n1"));
    assert_eq!(s.state().node("n1").unwrap().allocs.len(), 1);
}

#[test]
fn children_and_policies_follow_their_jobs() {
    let mut s = StateStore::new();
    let child = Job {
        id: "cron/periodic-1".into(),
        parent_id: "cron".into(),
        namespace: "default".into(),
        ..Default::default()
    };
    s.put_job(Arc::new(child));
    assert_eq!(s.children("default", "cron").count(), 1);
    s.remove_job("default", "cron/periodic-1");
    assert_eq!(s.children("default", "cron").count(), 0);
    let target = [("Namespace", "default"), ("Job", "web"), ("Group", "g")];
    let target = target.map(|(k, v)| (k.to_string(), v.to_string()));
    s.put_scaling_policy(Arc::new(ScalingPolicy { id: "p".into(), target: target.into(), ..Default::default() }));
    assert_eq!(s.scaling_policies_of_job("default", "web").count(), 1);
    s.remove_scaling_policy("p");
    assert_eq!(s.scaling_policies_of_job("default", "web").count(), 0);
}
