//! The outcome of a scheduler, in the format of a case's `expected` (`tests/oracle/scheduler/README.md` §4).

use std::collections::{BTreeMap, HashMap};

use encamp_model::*;
use encamp_state::Snapshot;
use serde_json::{Map, Value, json};

use super::{Input, Recorded};

/// Names for the things that were created by the evaluation.
struct Names<'a> {
    snapshot: &'a Snapshot,
    eval_id: &'a str,
    new_deployment: Option<&'a str>,
    created: HashMap<&'a str, usize>,
    placements: HashMap<&'a str, &'a Allocation>,
}

/// The outcome in the shape of `expected`, references to created evaluations as indexes.
pub fn outcome(input: &Input, snapshot: &Snapshot, r: &Recorded) -> Value {
    let plan = &r.plan;
    let new_deployment = plan.deployment.as_ref().map(|d| d.id.as_str()).filter(|id| snapshot.deployment(id).is_none());
    let planned: Vec<&Allocation> = plan.node_allocation.values().flatten().map(|a| a.as_ref()).collect();
    let (new, changed): (Vec<&Allocation>, Vec<&Allocation>) =
        planned.into_iter().partition(|a| snapshot.alloc(&a.id).is_none());
    let names = Names {
        snapshot,
        eval_id: &input.eval.id,
        new_deployment,
        created: r.created.iter().enumerate().map(|(i, e)| (e.id.as_str(), i)).collect(),
        placements: new.iter().map(|a| (a.id.as_str(), *a)).collect(),
    };

    let mut out = Object::default();
    let mut sorted = new.clone();
    sorted.sort_by_key(|a| (&a.task_group, &a.name, &a.node_id));
    out.always("placements", sorted.iter().map(|a| names.placement(a)).collect::<Vec<_>>());
    let mut lists: BTreeMap<&str, Vec<(&str, Value)>> = BTreeMap::from([("inplace", Vec::new())]);
    for a in changed {
        let (kind, value) = names.update(a, plan);
        lists.entry(kind).or_default().push((&a.id, value));
    }
    for (kind, mut list) in lists {
        list.sort_by_key(|(id, _)| *id);
        out.always(kind, list.into_iter().map(|(_, v)| v).collect::<Vec<_>>());
    }
    let mut stops: Vec<&Allocation> = plan.node_update.values().flatten().map(|a| a.as_ref()).collect();
    stops.sort_by_key(|a| &a.id);
    out.always("stops", stops.iter().map(|a| names.stop(a)).collect::<Vec<_>>());
    let mut preemptions: Vec<&Allocation> = plan.node_preemptions.values().flatten().map(|a| a.as_ref()).collect();
    preemptions.sort_by_key(|a| &a.id);
    out.always("preemptions", preemptions.iter().map(|a| names.preemption(a)).collect::<Vec<_>>());
    if let Some(d) = &plan.deployment {
        out.always("deployment", names.deployment(d));
    }
    out.list("deployment_updates", plan.deployment_updates.iter().map(|u| {
        json!({"id": names.deployment_id(&u.deployment_id), "status": u.status, "status_description": u.status_description})
    }));

    let mut annotated: Vec<&str> = Vec::new();
    let mut updates = Map::new();
    if let Some(a) = &plan.annotations {
        annotated.extend(a.preempted_allocs.iter().map(|p| p.id.as_str()));
        updates.extend(a.desired_tg_updates.iter().map(|(g, u)| (g.clone(), desired_updates(u))));
    }
    annotated.sort_unstable();
    out.always("desired_tg_updates", Value::Object(updates));
    out.list("annotated_preempted_allocs", annotated.into_iter().map(Value::from));

    let eval = r.updated.last();
    let failed = eval.map(|e| &e.failed_tg_allocs).into_iter().flatten();
    out.map("failed_tg_allocs", failed.map(|(g, m)| (g.clone(), metrics(m))));
    let queued = eval.map(|e| &e.queued_allocations).into_iter().flatten();
    out.always("queued_allocations", Value::Object(queued.map(|(g, n)| (g.clone(), json!(n))).collect()));
    match r.reblocked.last() {
        Some(e) => {
            out.always("eval_status", e.status.as_str());
            out.always("reblocked_eval", names.created_eval(e, input));
        }
        None => out.always("eval_status", eval.map_or("", |e| e.status.as_str())),
    }
    out.text("eval_status_description", eval.map_or("", |e| &e.status_description));
    let created = |id: &str| names.created.get(id).copied();
    out.always("eval_has_blocked_eval", eval.is_some_and(|e| created(&e.blocked_eval).is_some()));
    if let Some(i) = eval.and_then(|e| created(&e.next_eval)) {
        out.always("eval_next_eval", i);
    }
    out.text("eval_deployment", &eval.map(|e| names.deployment_id(&e.deployment_id)).unwrap_or_default());
    out.always("created_evals", r.created.iter().map(|e| names.created_eval(e, input)).collect::<Vec<_>>());
    out.always("plan_attempts", r.plan_attempts);
    out.value()
}

impl Names<'_> {
    fn deployment_id(&self, id: &str) -> String {
        let new = Some(id) == self.new_deployment || (!id.is_empty() && self.snapshot.deployment(id).is_none());
        if new { "NEW".into() } else { id.to_string() }
    }

    fn placement(&self, a: &Allocation) -> Value {
        let mut o = Object::default();
        o.always("name", a.name.as_str());
        o.always("task_group", a.task_group.as_str());
        o.always("node_id", a.node_id.as_str());
        o.text("previous_allocation", &a.previous_allocation);
        o.always("canary", a.is_canary());
        if let Some(j) = &a.job {
            o.always("downgraded_job_version", j.version);
        }
        o.text("deployment", &self.deployment_id(&a.deployment_id));
        if let Some(t) = &a.reschedule_tracker {
            o.always("reschedule_tracker", tracker(t));
        }
        let mut preempted: Vec<&Text> = a.preempted_allocations.iter().collect();
        preempted.sort_unstable();
        o.list("preempted_allocs", preempted.into_iter().map(|id| json!(id)));
        if let Some(r) = &a.allocated_resources {
            o.always("resources", resources(r));
        }
        if let Some(m) = &a.metrics {
            o.always("metrics", metrics(&m.unpack()));
        }
        o.value()
    }

    /// The list an existing allocation belongs to, and how it is written there. System jobs update in place what
    /// reconnects; it is listed as reconnected only.
    fn update(&self, a: &Allocation, plan: &Plan) -> (&'static str, Value) {
        let stored_states = self.snapshot.alloc(&a.id).map_or(0, |s| s.alloc.alloc_states.len());
        let appended = a.alloc_states.get(stored_states..).unwrap_or_default();
        let inplace = a.eval_id == self.eval_id;
        let kind = match appended.last() {
            Some(s) if s.value == ClientStatus::Unknown => "disconnect_updates",
            Some(_) => "reconnect_updates",
            None if inplace => "inplace",
            None if a.job.is_some() => "reschedule_failed_updates",
            None => "attribute_updates",
        };
        let named_job = a.job.as_ref().filter(|j| !inplace || plan.job.as_ref().is_none_or(|p| p.version != j.version));

        let mut o = Object::default();
        o.always("alloc_id", a.id.as_str());
        o.always("name", a.name.as_str());
        o.always("node_id", a.node_id.as_str());
        o.always("desired_status", a.desired_status.as_str());
        o.always("client_status", a.client_status.as_str());
        o.text("client_description", &a.client_description);
        o.text("deployment", &self.deployment_id(&a.deployment_id));
        o.flag("canary", a.is_canary());
        o.flag("has_deployment_health", a.health().is_some());
        self.followup(&mut o, a);
        if let Some(j) = named_job {
            o.always("job_version", j.version);
        }
        if let Some(t) = &a.reschedule_tracker {
            o.always("reschedule_tracker", tracker(t));
        }
        o.list(
            "appended_states",
            appended.iter().map(|s| {
                let field = if s.field == 0 { "ClientStatus".to_string() } else { s.field.to_string() };
                json!({"field": field, "value": s.value})
            }),
        );
        if inplace && let Some(r) = &a.allocated_resources {
            o.always("resources", resources(r));
        }
        (kind, o.value())
    }

    fn followup(&self, o: &mut Object, a: &Allocation) {
        if let Some(i) = self.created.get(a.followup_eval_id.as_str()) {
            o.always("followup_eval", *i);
        }
    }

    fn stop(&self, a: &Allocation) -> Value {
        let mut o = Object::default();
        o.always("alloc_id", a.id.as_str());
        o.always("name", a.name.as_str());
        o.always("desired_status", a.desired_status.as_str());
        o.always("desired_description", a.desired_description.as_str());
        o.always("client_status", a.client_status.as_str());
        self.followup(&mut o, a);
        if let Some(t) = &a.reschedule_tracker {
            o.always("reschedule_tracker", tracker(t));
        }
        o.value()
    }

    fn preemption(&self, a: &Allocation) -> Value {
        let by = self.placements.get(a.preempted_by_allocation.as_str()).map_or("", |p| p.name.as_str());
        json!({"alloc_id": a.id, "by": by, "node_id": a.node_id})
    }

    fn deployment(&self, d: &Deployment) -> Value {
        let groups = d.task_groups.iter().map(|(name, g)| {
            let value = g.as_ref().map_or(Value::Null, |g| {
                let mut o = Object::default();
                o.always("auto_revert", g.auto_revert);
                o.always("auto_promote", g.auto_promote);
                o.always("progress_deadline", g.progress_deadline);
                o.always("promoted", g.promoted);
                let mut canaries: Vec<String> = g.placed_canaries.iter().map(|id| self.canary(id)).collect();
                canaries.sort_unstable();
                o.list("placed_canaries", canaries.into_iter().map(Value::from));
                o.always("desired_canaries", g.desired_canaries);
                o.always("desired_total", g.desired_total);
                o.always("placed_allocs", g.placed_allocs);
                o.always("healthy_allocs", g.healthy_allocs);
                o.always("unhealthy_allocs", g.unhealthy_allocs);
                o.value()
            });
            (name.clone(), value)
        });
        let mut o = Object::default();
        o.always("id", self.deployment_id(&d.id));
        o.always("job_version", d.job_version);
        o.always("status", d.status.as_str());
        o.always("status_description", d.status_description.as_str());
        o.always("eval_priority", d.eval_priority);
        o.map("task_groups", groups);
        o.value()
    }

    fn canary(&self, id: &str) -> String {
        match self.placements.get(id) {
            Some(a) => format!("NEW {} on {}", a.name, a.node_id),
            None => id.to_string(),
        }
    }

    fn created_eval(&self, e: &Evaluation, input: &Input) -> Value {
        let mut o = Object::default();
        o.always("status", e.status.as_str());
        o.always("triggered_by", e.triggered_by.as_str());
        o.text("status_description", &e.status_description);
        o.always("type", e.r#type.as_str());
        o.always("priority", e.priority);
        o.always("job_id", e.job_id.as_str());
        o.text("node_id", &e.node_id);
        if let Some(t) = e.wait_until.unix_nanos() {
            o.always("wait_until", t);
        }
        o.always("previous_eval_is_this", e.previous_eval == input.eval.id);
        o.map("class_eligibility", e.class_eligibility.iter().map(|(c, ok)| (c.clone(), json!(ok))));
        o.always("escaped_computed_class", e.escaped_computed_class);
        let mut missing = e.missing_non_node_resources.clone();
        missing.sort_unstable();
        o.list("missing_non_node_resources", missing.into_iter().map(Value::from));
        o.list("failed_task_groups", e.failed_tg_allocs.keys().map(|g| json!(g)));
        o.value()
    }
}

fn tracker(t: &RescheduleTracker) -> Value {
    let events = t.events.iter().flatten().map(|e| {
        json!({"reschedule_time": e.reschedule_time, "prev_alloc_id": e.prev_alloc_id, "prev_node_id": e.prev_node_id,
            "delay": e.delay})
    });
    json!({"last_reschedule": t.last_reschedule, "events": events.collect::<Vec<_>>()})
}

fn desired_updates(u: &DesiredUpdates) -> Value {
    json!({"ignore": u.ignore, "place": u.place, "migrate": u.migrate, "stop": u.stop,
        "in_place_update": u.in_place_update, "destructive_update": u.destructive_update, "canary": u.canary,
        "preemptions": u.preemptions, "disconnect": u.disconnect, "reconnect": u.reconnect,
        "reschedule_now": u.reschedule_now, "reschedule_later": u.reschedule_later})
}

fn resources(r: &AllocatedResources) -> Value {
    let tasks = r.tasks.iter().map(|(name, t)| {
        let mut o = Object::default();
        o.always("cpu_shares", t.cpu.cpu_shares);
        o.always("memory_mb", t.memory.memory_mb);
        o.always("memory_max_mb", t.memory.memory_max_mb);
        o.list("cores", t.cpu.reserved_cores.iter().map(|c| json!(c)));
        o.list("networks", t.networks.iter().map(network));
        o.list(
            "devices",
            t.devices.iter().map(|d| {
                json!({"vendor": d.vendor, "type": d.r#type, "name": d.name, "count": d.device_ids.len(),
                "pinned_ids": d.device_ids})
            }),
        );
        (name.clone(), o.value())
    });
    let mut o = Object::default();
    o.map("tasks", tasks);
    o.always("disk_mb", r.shared.disk_mb);
    o.list("shared_networks", r.shared.networks.iter().map(|n| network(&n)));
    let is_static = |label: &str| r.shared.networks.iter().any(|n| n.reserved_ports.iter().any(|p| p.label == label));
    o.list(
        "shared_ports",
        r.shared.ports.iter().map(|p| port(&p.label, is_static(&p.label), p.value, p.to, &p.host_ip)),
    );
    o.value()
}

fn network(n: &NetworkResource) -> Value {
    let mut o = Object::default();
    o.text("mode", &n.mode);
    o.text("device", &n.device);
    o.text("ip", &n.ip);
    if n.mbits != 0 {
        o.always("mbits", n.mbits);
    }
    let reserved = n.reserved_ports.iter().map(|p| (p, true));
    let ports = reserved.chain(n.dynamic_ports.iter().map(|p| (p, false)));
    o.list("ports", ports.map(|(p, fixed)| port(&p.label, fixed, p.value, p.to, "")));
    o.value()
}

fn port(label: &str, fixed: bool, value: i64, to: i64, host_ip: &str) -> Value {
    let mut o = Object::default();
    o.always("label", label);
    o.always("static", fixed);
    if fixed {
        o.always("value", value);
    }
    if to != 0 && to != value {
        o.always("to", to);
    }
    o.text("host_ip", host_ip);
    o.value()
}

fn metrics(m: &AllocMetric) -> Value {
    let mut o = Object::default();
    o.always("nodes_evaluated", m.nodes_evaluated);
    o.always("nodes_filtered", m.nodes_filtered);
    o.always("nodes_exhausted", m.nodes_exhausted);
    o.always("nodes_in_pool", m.nodes_in_pool);
    o.text("node_pool", &m.node_pool);
    o.map("nodes_available", m.nodes_available.iter().flat_map(|a| a.iter()).map(|(d, n)| (d.clone(), json!(n))));
    for (name, counts) in [
        ("class_filtered", &m.class_filtered),
        ("constraint_filtered", &m.constraint_filtered),
        ("class_exhausted", &m.class_exhausted),
        ("dimension_exhausted", &m.dimension_exhausted),
    ] {
        o.map(name, counts.iter().map(|(k, n)| (k.clone(), json!(n))));
    }
    o.map(
        "resources_exhausted",
        m.resources_exhausted.iter().map(|(task, r)| (task.clone(), json!({"cpu": r.cpu, "memory_mb": r.memory_mb}))),
    );
    let mut scores: Vec<&NodeScoreMeta> = m.score_meta_data.iter().collect();
    scores.sort_by(|a, b| b.norm_score.total_cmp(&a.norm_score).then_with(|| a.node_id.cmp(&b.node_id)));
    o.list(
        "score_meta",
        scores.into_iter().map(|s| {
            let scores: Map<String, Value> = s.scores.iter().map(|(n, v)| (n.to_string(), json!(v))).collect();
            json!({"node_id": s.node_id, "norm_score": s.norm_score, "scores": scores})
        }),
    );
    o.always("coalesced_failures", m.coalesced_failures);
    o.value()
}

/// A JSON object whose optional members are left out when empty.
#[derive(Default)]
struct Object(Map<String, Value>);

impl Object {
    fn always(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.always(key, value);
        }
    }

    fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.always(key, true);
        }
    }

    fn list(&mut self, key: &str, values: impl Iterator<Item = Value>) {
        let values: Vec<Value> = values.collect();
        if !values.is_empty() {
            self.always(key, values);
        }
    }

    fn map(&mut self, key: &str, values: impl Iterator<Item = (String, Value)>) {
        let values: Map<String, Value> = values.collect();
        if !values.is_empty() {
            self.always(key, values);
        }
    }

    fn value(self) -> Value {
        Value::Object(self.0)
    }
}
