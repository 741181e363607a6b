//! A cluster of ten nodes of official builds, which write null where the build of the other recording leaves fields
//! out: its HTTP API against a backup of the same index (`tests/oracle/archive`).
//!
//! The recording has all objects in full; entries of lists are members of them. Meta of the autoscaler is added to the
//! nodes, here and there.

use std::sync::Arc;

use encamp_autoscale::cycle::{Input, evaluate};
use encamp_autoscale::protection::Protection;
use encamp_autoscale::record::{Record, ResourceType};
use encamp_autoscale::registry::Fallbacks;
use encamp_autoscale::view::JobCache;
use encamp_snapshot::archive;
use encamp_state::State;
use serde_json::{Value, json};

use super::{decided, leader, meta, planned, pool};
use crate::cluster::Cluster;
use crate::program::{Folder, run_with};
use crate::recorded;
use crate::server::{Request, Response, Server};

/// What is added to the recording: the meta of the nodes of the pool.
fn metas(cluster: &Cluster, more: &Value) -> Vec<(String, Value)> {
    let takes_work = |n: &Value| n["Status"] == "ready" && n["SchedulingEligibility"] == "eligible";
    let nodes = cluster.nodes.iter().filter(|(_, n)| takes_work(n) && n["NodePool"] == "default");
    nodes.map(|(id, _)| (id.clone(), meta(&format!("i-{id}"), more.clone()))).collect()
}

/// The state that the backup holds, with that meta.
fn backup(metas: &[(String, Value)]) -> Option<State> {
    let path = recorded::file("archive/dev-acl.snap")?;
    let snapshot = encamp_snapshot::load(&path, archive::Options::default()).expect("the backup");
    let mut state = snapshot.state;
    for (id, meta) in metas {
        let mut node = encamp_model::Node::clone(&state.node(id).expect("the same nodes").node);
        for (key, value) in meta.as_object().expect("meta") {
            node.meta.insert(key.clone(), value.as_str().expect("a text").into());
        }
        state.upsert_node(Arc::new(node));
    }
    Some(state)
}

/// The volumes of the recording.
struct Volumes {
    csi: Vec<Value>,
    host: Vec<Value>,
    claims: Value,
}

impl Volumes {
    fn recorded() -> Option<Volumes> {
        let all = recorded::json("archive/dev-acl.expected.json")?;
        let list = |name: &str| all[name].as_array().expect("a list").clone();
        Some(Volumes {
            csi: list("CSIVolumes"),
            host: list("HostVolumes"),
            claims: all["TaskGroupHostVolumeClaims"].clone(),
        })
    }

    /// The answer to a request about volumes; `None` for others.
    fn answer(&self, r: &Request) -> Option<Response> {
        let entry = |v: &Value| json!({"ID": v["ID"], "Namespace": v["Namespace"], "ModifyIndex": v["ModifyIndex"]});
        let list = |all: &[Value]| Response::json(&all.iter().map(entry).collect::<Vec<_>>());
        let one = |all: &[Value], id: &str| all.iter().find(|v| v["ID"] == id).map(Response::json);
        match (r.path.as_str(), r.param("type")) {
            ("/v1/volumes", Some("csi")) => Some(list(&self.csi)),
            ("/v1/volumes", Some("host")) => Some(list(&self.host)),
            ("/v1/volumes/claims", _) => Some(Response::json(&self.claims)),
            (path, _) => {
                let (kind, id) = path.strip_prefix("/v1/volume/")?.split_once('/')?;
                one(if kind == "csi" { &self.csi } else { &self.host }, id)
            }
        }
    }
}

#[test]
fn plans_decide_as_a_leader_with_the_backup_does() {
    for (tolerance, outcome) in [("0", "scale_in"), ("3", "denied"), ("4", "scale_out")] {
        let more = json!({"replicator_node_fault_tolerance": tolerance, "replicator_max": "20"});
        let Some(mut cluster) = Cluster::recorded("dev-acl") else { return };
        let metas = metas(&cluster, &more);
        let Some(state) = backup(&metas) else { return };
        for (id, meta) in &metas {
            let node = cluster.nodes.get_mut(id).expect("a node");
            node["Meta"].as_object_mut().expect("meta").extend(meta.as_object().expect("meta").clone());
        }
        let pool = pool(&state, &Fallbacks::new());
        assert_eq!(pool.nodes.len(), metas.len());
        let evaluation = evaluate(&Input {
            state: &state,
            jobs: &JobCache::default(),
            pool: &pool,
            record: &Record::new(ResourceType::WorkerPool, &pool.name),
            group: None,
            protection: &Protection::default(),
            now: leader::now(),
        });
        let Some(volumes) = Volumes::recorded() else { return };
        let server = Server::start(move |r| volumes.answer(r).unwrap_or_else(|| cluster.answer(r)));
        let folder = Folder::new("autoscale-recorded-official");
        let cache = folder.path().join("cache").display().to_string();
        let env = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
        let ran = run_with(folder.path(), &["autoscale", "plan", "-json"], &env, None);
        let got = planned(&ran);
        assert_eq!(got, decided(&evaluation), "tolerance {tolerance}");
        assert_eq!(got["Outcome"], outcome, "tolerance {tolerance}: {got:#}");
        assert_ne!(got["Arithmetic"]["Reserve"]["CPU"], 0, "a job of the recording has a scaling block: {got:#}");
    }
}
