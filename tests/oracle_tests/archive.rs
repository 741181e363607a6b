//! Compares server backup archives of real servers with the responses of their HTTP API at the same index.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use encamp_model::*;
use encamp_snapshot::archive::{self, Archive, ArchiveError, Options};
use encamp_snapshot::file::{self, SnapshotFile};
use encamp_snapshot::save::{self, Compression};
use encamp_state::State;
use encamp_test_support::notes;
use serde_json::Value;

use crate::answers::{self as http, compact, json, keys_only, members, without};
use crate::{oracle, program};

fn folder() -> Option<PathBuf> {
    oracle::folder("archive")
}

fn read(path: &Path, options: Options) -> Result<Archive, ArchiveError> {
    archive::read(File::open(path).expect("the archive"), options)
}

fn sample(folder: &Path, name: &str) -> Archive {
    read(&folder.join(format!("{name}.snap")), Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The names of all samples.
fn samples(folder: &Path) -> Vec<String> {
    oracle::files(folder, ".snap").into_iter().map(|(name, _)| name).collect()
}

/// A recorded answer, if there is one.
fn recorded(folder: &Path, name: &str) -> Option<Value> {
    oracle::json_at(&folder.join(format!("{name}.json")))
}

/// Whether the server that answered was older than 2.0: then its answers are those of before the restore rules.
fn older(expected: &Value) -> bool {
    let major = expected["ServerVersion"].as_str().and_then(|v| v.split('.').next()?.parse::<u64>().ok());
    major.is_some_and(|major| major < 2)
}

/// Objects by what identifies them, compared one by one.
struct Comparison {
    sample: String,
    equal: usize,
    total: usize,
    different: Vec<String>,
}

impl Comparison {
    fn new(sample: &str) -> Comparison {
        Comparison { sample: sample.into(), equal: 0, total: 0, different: Vec::new() }
    }

    fn one(&mut self, what: &str, got: Value, want: Value) {
        let (got, want) = (compact(got), compact(want));
        self.total += 1;
        if got == want {
            self.equal += 1;
        } else {
            self.different.push(format!("{what}: {}", difference("", &got, &want)));
        }
    }

    /// Compares two sets of objects; `key` names the members that identify one.
    fn all(&mut self, what: &str, key: &[&str], got: impl Iterator<Item = Value>, want: &Value) {
        let name = |v: &Value| key.iter().map(|k| v[*k].to_string()).collect::<Vec<_>>().join(" ");
        let mut got: BTreeMap<String, Value> = got.map(|v| (name(&v), v)).collect();
        let none = Vec::new();
        let want: BTreeMap<String, &Value> = want.as_array().unwrap_or(&none).iter().map(|v| (name(v), v)).collect();
        for (name, want) in want {
            let got = got.remove(&name).unwrap_or_default();
            self.one(&format!("{what} {name}"), got, want.clone());
        }
        for (name, got) in got {
            self.one(&format!("{what} {name}"), got, Value::Null);
        }
    }

    fn report(self, totals: &mut (usize, usize)) {
        println!("{}: {}/{} equal", self.sample, self.equal, self.total);
        self.different.iter().take(20).for_each(|d| println!("  {d}"));
        totals.0 += self.equal;
        totals.1 += self.total;
    }
}

/// The first place where two values differ.
fn difference(path: &str, got: &Value, want: &Value) -> String {
    match (got, want) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys());
            let different = keys.filter(|k| a.get(*k) != b.get(*k)).min();
            different.map_or_else(String::new, |k| {
                difference(&format!("{path}.{k}"), a.get(k).unwrap_or(&Value::Null), b.get(k).unwrap_or(&Value::Null))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let different = a.iter().zip(b).position(|(a, b)| a != b);
            different.map_or_else(String::new, |i| difference(&format!("{path}[{i}]"), &a[i], &b[i]))
        }
        _ => format!("{path}: got {got}, want {want}"),
    }
}

/// Members that an answer has and an archive has not, by the list they are in.
const FILLED_IN: &[(&str, &[&str])] = &[
    ("CSIVolumes", &["Allocations"]),
    ("CSIPlugins", &["Allocations"]),
    ("HostVolumes", &["Allocations"]),
    ("ACLPolicies", &["RulesJSON"]),
    // Texts for people that the server makes again.
    ("Allocations", &["DisplayMessage"]),
];
/// Members of servers before 2.0 that nothing reads any more (`docs/spec/snapshot-archive.md §12`).
const FORGOTTEN: &[&str] = &["VaultToken", "ConsulToken", "TaskHandle", "Policies"];

/// What an answer says, without what it cannot have from an archive.
fn answered(expected: &Value, list: &str, old: bool) -> Value {
    let mut value = expected[list].clone();
    for (name, filled_in) in FILLED_IN {
        if *name == list {
            without(&mut value, filled_in);
        }
    }
    if list == "ACLTokens" {
        let tokens = value.as_array_mut().into_iter().flatten();
        tokens.for_each(|token| without(&mut token["Roles"], &["Name"]));
    }
    if matches!(list, "CSIVolumes") {
        let volumes = value.as_array_mut().into_iter().flatten();
        volumes.for_each(|v| keys_only(v, &["ReadAllocs", "WriteAllocs"]));
    }
    if old {
        match list {
            "Nodes" => value.as_array_mut().into_iter().flatten().for_each(|n| {
                ["Resources", "Reserved"].iter().for_each(|gone| drop(members(n).remove(*gone)));
            }),
            "Jobs" | "JobVersions" | "Allocations" | "AllocJobs" => without(&mut value, FORGOTTEN),
            _ => {}
        }
    }
    value
}

/// Compares an archive with the answers of the server that made it (`docs/spec/snapshot-archive.md §9`).
fn compare_with_answers(archive: &Archive, expected: &Value, old: bool, c: &mut Comparison) {
    let t = &archive.tables;
    let want = |list: &str| answered(expected, list, old);
    let job_key = &["Namespace", "ID"];
    c.all("node", &["ID"], t.nodes.iter().map(http::node), &want("Nodes"));
    c.all("job", job_key, t.jobs.iter().map(http::job), &want("Jobs"));
    c.all("version", &["Namespace", "ID", "Version"], t.job_versions.iter().map(json), &want("JobVersions"));
    c.all("evaluation", &["ID"], t.evaluations.iter().map(json), &want("Evaluations"));
    c.all("deployment", &["ID"], t.deployments.iter().map(json), &want("Deployments"));
    c.all("summary", &["Namespace", "JobID"], t.job_summaries.iter().map(json), &want("JobSummaries"));
    let submission_key = &["Namespace", "JobID", "Version"];
    c.all("submission", submission_key, t.job_submissions.iter().map(http::submission), &want("JobSubmissions"));
    c.all("namespace", &["Name"], t.namespaces.iter().map(json), &want("Namespaces"));
    c.all("pool", &["Name"], t.node_pools.iter().map(json), &want("NodePools"));
    c.all("policy", &["Name"], t.acl_policies.iter().map(json), &want("ACLPolicies"));
    c.all("token", &["AccessorID"], t.acl_tokens.iter().map(json), &want("ACLTokens"));
    c.all("role", &["ID"], t.acl_roles.iter().map(json), &want("ACLRoles"));
    c.all("method", &["Name"], t.acl_auth_methods.iter().map(json), &want("ACLAuthMethods"));
    c.all("rule", &["ID"], t.acl_binding_rules.iter().map(json), &want("ACLBindingRules"));
    c.all("variable", &["Namespace", "Path"], t.variables.iter().map(|v| json(&v.metadata())), &want("Variables"));
    c.all("key", &["KeyID"], t.root_keys.iter().map(json), &want("Keyring"));
    c.all("scaling policy", &["ID"], t.scaling_policies.iter().map(json), &want("ScalingPolicies"));
    c.all("service", &["ID"], t.service_registrations.iter().map(json), &want("ServiceRegistrations"));
    c.all("plugin", &["ID"], t.csi_plugins.iter().map(json), &want("CSIPlugins"));
    c.all("host volume", &["ID"], t.host_volumes.iter().map(json), &want("HostVolumes"));
    let configuration = json(&t.scheduler_configuration);
    c.one("configuration", configuration, expected["SchedulerConfiguration"]["SchedulerConfig"].clone());
    compare_allocations(t, &want("Allocations"), &want("AllocJobs"), c);
    for status in expected["JobScaleStatus"].as_array().into_iter().flatten() {
        let of = |e: &&JobScalingEvents| status["Namespace"] == *e.namespace && status["JobID"] == *e.job_id;
        let got = t.scaling_events.iter().find(of).map_or(Value::Null, |e| json(&e.scaling_events));
        let groups = status["TaskGroups"].as_object().into_iter().flatten();
        let want: Value = Value::Object(groups.map(|(group, s)| (group.clone(), s["Events"].clone())).collect());
        c.one(&format!("scaling events of {}", status["JobID"]), got, want);
    }
    // The CSI volume fields that a plan reads are recomputed.
    let volumes = archive.clone().into_snapshot_file(String::new()).volumes.into_iter().filter_map(|v| match v {
        file::Volume::Csi(v) => Some(http::csi_volume(&v)),
        file::Volume::Host(_) => None,
    });
    c.all("CSI volume", job_key, volumes, &want("CSIVolumes"));
}

/// Allocations, and the jobs they were placed with: each pair of jobs is compared once.
fn compare_allocations(t: &archive::Tables, want: &Value, want_jobs: &Value, c: &mut Comparison) {
    let by_id: BTreeMap<&str, &Allocation> = t.allocations.iter().map(|a| (a.id.as_str(), a)).collect();
    let mut pairs = BTreeMap::new();
    assert_eq!(by_id.len(), want.as_array().map_or(0, Vec::len), "allocations");
    for want in want.as_array().into_iter().flatten() {
        let id = want["ID"].as_str().unwrap_or_default();
        let Some(a) = by_id.get(id) else { panic!("no allocation {id}") };
        let mut want = want.clone();
        let name = members(&mut want).remove("JobRef").unwrap_or_default();
        let mut got = http::allocation(a);
        without(&mut got, &["DisplayMessage"]);
        c.one(&format!("allocation {id}"), got, want);
        pairs.insert((name.as_str().unwrap_or_default().to_string(), a.job_ref), id);
    }
    for ((name, position), id) in pairs {
        let job = position.and_then(|i| t.allocation_jobs.get(i as usize));
        c.one(&format!("job of allocation {id}"), job.map_or(Value::Null, http::job), want_jobs[&name].clone());
    }
}

/// Compares a restored archive with what the server's own offline view shows of it.
fn compare_with_restored(archive: &Archive, restored: &Value, c: &mut Comparison) {
    let t = &archive.tables;
    let want = |list: &str| restored[list].clone();
    let job_key = &["Namespace", "ID"];
    let mut nodes = want("Nodes");
    nodes.as_array_mut().into_iter().flatten().for_each(|n| {
        http::numbers_of_base64(n);
        without(n, &["BusAssociativity"]);
    });
    c.all("node", &["ID"], t.nodes.iter().map(json), &nodes);
    c.all("job", job_key, t.jobs.iter().map(json), &want("Jobs"));
    c.all("version", &["Namespace", "ID", "Version"], t.job_versions.iter().map(json), &want("JobVersions"));
    c.all("evaluation", &["ID"], t.evaluations.iter().map(json), &want("Evals"));
    c.all("deployment", &["ID"], t.deployments.iter().map(json), &want("Deployments"));
    c.all("summary", &["Namespace", "JobID"], t.job_summaries.iter().map(json), &want("JobSummaries"));
    c.all("index", &["Key"], t.indexes.iter().map(json), &want("Indexes"));
    c.all("launch", job_key, t.periodic_launches.iter().map(json), &want("PeriodicLaunches"));
    c.all("policy", &["Name"], t.acl_policies.iter().map(json), &want("ACLPolicies"));
    c.all("token", &["AccessorID"], t.acl_tokens.iter().map(json), &want("ACLTokens"));
    c.all("key", &["KeyID"], t.root_keys.iter().map(json), &want("RootKeys"));
    c.all("scaling events", &["Namespace", "JobID"], t.scaling_events.iter().map(json), &want("ScalingEvents"));
    c.all("scaling policy", &["ID"], t.scaling_policies.iter().map(json), &want("ScalingPolicies"));
    c.all("plugin", &["ID"], t.csi_plugins.iter().map(json), &want("CSIPlugins"));
    // No encoder of the server shows claims.
    let volumes = t.csi_volumes.iter().map(|v| {
        let mut v = json(v);
        without(&mut v, &["ReadClaims", "WriteClaims", "PastClaims"]);
        v
    });
    c.all("CSI volume", job_key, volumes, &want("CSIVolumes"));
    let mut allocations = want("Allocs");
    // Signed identities are secrets that nothing here needs.
    allocations.as_array_mut().into_iter().flatten().for_each(|a| drop(members(a).remove("SignedIdentities")));
    let own = t.allocations.iter().map(|a| {
        let job = a.job_ref.and_then(|i| t.allocation_jobs.get(i as usize)).cloned();
        json(&Allocation { job: job.map(Into::into), job_ref: None, ..a.clone() })
    });
    c.all("allocation", &["ID"], own, &allocations);
    let mut meta = restored["SnapshotMeta"].as_array().and_then(|m| m.first()).cloned().unwrap_or_default();
    without(&mut meta, &["Peers"]);
    c.one("meta", json(&archive.meta), meta);
}

#[test]
fn archives_hold_what_their_servers_answered() {
    let Some(folder) = folder() else { return };
    let mut totals = (0, 0);
    for name in &samples(&folder) {
        let Some(expected) = recorded(&folder, &format!("{name}.expected")) else {
            println!("{name}: nothing to compare with");
            continue;
        };
        let mut archive = sample(&folder, name);
        let old = older(&expected);
        assert_eq!(expected["SnapshotIndex"], archive.meta.index, "{name}");
        let mut c = Comparison::new(name);
        if !old {
            archive.restore();
        }
        compare_with_answers(&archive, &expected, old, &mut c);
        c.report(&mut totals);
        if let Some(restored) = recorded(&folder, &format!("{name}.restored")) {
            if old {
                archive.restore();
            }
            let mut c = Comparison::new(&format!("{name}, restored"));
            compare_with_restored(&archive, &restored, &mut c);
            c.report(&mut totals);
        }
    }
    let (equal, total) = totals;
    println!("archive oracle: {equal}/{total} equal");
    if !oracle::replaced() {
        assert_eq!(equal, total);
        assert!(total > 10_000, "only {total} objects were compared");
    }
}

/// The redacted archive has its keys in another order and holds the same but for what redacting changes (§14, 17.5).
#[test]
fn both_orders_of_keys_give_the_same() {
    let Some(folder) = folder() else { return };
    if ["dev-acl", "dev-acl-redacted"].iter().any(|name| oracle::file(&format!("archive/{name}.snap")).is_none()) {
        return;
    }
    let mut plain = sample(&folder, "dev-acl");
    let redacted = sample(&folder, "dev-acl-redacted");
    plain.restore();
    let (mut a, mut b) = (plain.tables, redacted.tables);
    assert_eq!(a.root_keys.len(), b.root_keys.len());
    for (key, hidden) in a.root_keys.iter().zip(&b.root_keys) {
        assert_eq!((hidden.shown_id(), hidden.redacted()), (key.key_id.as_str(), true));
        assert_eq!(&RootKey { key_id: key.key_id.clone(), ..hidden.clone() }, key);
    }
    for t in [&mut a, &mut b] {
        t.root_keys.clear();
        t.indexes.retain(|row| row.key != "root_keys");
        t.node_pools.iter_mut().for_each(|p| p.hash = None);
    }
    macro_rules! same {
        ($($table:ident)*) => {
            // Named one by one, so that a new table can't be forgotten.
            let archive::Tables { $($table: _),* } = &a;
            $(assert!(a.$table == b.$table, "{}: {}", stringify!($table), difference("", &json(&b.$table), &json(&a.$table)));)*
        };
    }
    same! {
        nodes jobs job_versions indexes evaluations allocations allocation_jobs periodic_launches job_summaries deployments
        acl_policies acl_tokens acl_roles acl_auth_methods acl_binding_rules scheduler_configuration cluster_metadata
        scaling_policies scaling_events csi_plugins csi_volumes host_volumes service_registrations variables
        variables_quotas root_keys node_pools job_submissions namespaces
    }
}

/// Everything in a state, as JSON.
fn dump(state: &State) -> Value {
    let allocs: BTreeMap<&str, Value> = state.allocs().map(|a| (a.alloc.id.as_str(), json(&*a.alloc))).collect();
    serde_json::json!({
        "index": state.index,
        "configuration": json(&state.scheduler_config),
        "nodes": state.nodes().map(|n| json(&*n.node)).collect::<Vec<_>>(),
        "pools": state.node_pools().map(|p| json(&**p)).collect::<Vec<_>>(),
        "namespaces": state.namespaces().map(|n| json(&**n)).collect::<Vec<_>>(),
        "jobs": state.jobs().map(|j| json(&*j.current)).collect::<Vec<_>>(),
        "versions": state.jobs().flat_map(|j| j.versions.values()).map(|j| json(&**j)).collect::<Vec<_>>(),
        "allocations": allocs,
        "deployments": state.deployments().map(|d| json(&**d)).collect::<Vec<_>>(),
        "csi": state.csi_volumes().map(|v| json(&**v)).collect::<Vec<_>>(),
        "host": state.host_volumes().map(|v| json(&**v)).collect::<Vec<_>>(),
    })
}

/// A snapshot file holds all that a plan needs of an archive (§17.4).
#[test]
fn a_snapshot_file_made_of_an_archive_gives_the_same_state() {
    let Some(folder) = folder() else { return };
    for name in &samples(&folder) {
        let make = || sample(&folder, name).into_snapshot_file("backup".into());
        let file: SnapshotFile = make();
        let mut text = Vec::new();
        save::write(&mut text, Compression::None, &file, []).expect("a vector takes everything");
        let direct = file::into_state(file).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again = file::read(&text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((direct.taken_at, direct.notes.len()), (again.taken_at, 0), "{name}");
        let (direct, again) = (dump(&direct.state), dump(&again.state));
        assert!(direct == again, "{name}: {}", difference("", &again, &direct));
    }
}

/// Copies of jobs are kept once.
#[test]
fn allocations_share_their_jobs() {
    if oracle::file("archive/fleet.snap").is_none() {
        return;
    }
    let Some(folder) = folder() else { return };
    let fleet = sample(&folder, "fleet");
    if oracle::replaced() {
        return println!(
            "{} jobs of {} allocations",
            fleet.tables.allocation_jobs.len(),
            fleet.tables.allocations.len()
        );
    }
    assert_eq!((fleet.tables.allocations.len(), fleet.tables.allocation_jobs.len()), (4253, 391));
    assert!(fleet.tables.allocations.iter().all(|a| a.job.is_none() && a.job_ref.is_some()));
}

/// The damaged variants of a sample, if they can be made here.
fn variants(folder: &Path, sample: &str, out: &Path, flags: &[&str]) -> Option<Value> {
    let script = oracle::file("archive/make_corrupt.py")?;
    oracle::file(&format!("archive/{sample}.snap"))?;
    let made =
        Command::new("python3").arg(script).arg(folder.join(format!("{sample}.snap"))).arg(out).args(flags).output();
    match made {
        Ok(made) => {
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            Some(serde_json::from_slice(&std::fs::read(out.join("manifest.json")).expect("a manifest")).expect("JSON"))
        }
        Err(e) => {
            notes::missing("backups that scripts change", &format!("python3: {e}"));
            None
        }
    }
}

/// The layers at which a variant may be refused: as the manifest says, but for files that are wrong in several ways.
fn stages(name: &str, manifest: &str) -> Vec<String> {
    match name {
        "flipped-compressed" => ["gzip", "tar", "members", "checksum", "meta"].map(String::from).to_vec(),
        // It is given up before its content can be wrong.
        "bomb-state" => vec!["limit".into()],
        _ => vec![manifest.into()],
    }
}

#[test]
fn damaged_archives_are_refused_each_for_its_reason() {
    let Some(folder) = folder() else { return };
    let out = program::Folder::new("archive-variants");
    let mut judged = 0;
    for (sample_name, flags) in [("empty", &[][..]), ("dev-acl", &["--no-bombs"])] {
        let place = out.path().join(sample_name);
        let Some(manifest) = variants(&folder, sample_name, &place, flags) else { return };
        let original = sample(&folder, sample_name);
        let mut reasons: BTreeMap<String, String> = BTreeMap::new();
        for (name, verdict) in manifest.as_object().expect("variants by name") {
            let path = place.join(format!("{name}.snap"));
            let result = read(&path, Options::default());
            judged += 1;
            match result {
                Ok(archive) => {
                    assert_eq!(verdict["accept"], true, "{sample_name} {name} was accepted");
                    same_content(name, &archive, &original);
                }
                Err(e) => {
                    assert_eq!(verdict["accept"], false, "{sample_name} {name}: {e}");
                    let stages = stages(name, verdict["stage"].as_str().unwrap_or_default());
                    assert!(stages.iter().any(|s| s == e.stage()), "{sample_name} {name}: {} {e}", e.stage());
                    if let Some(other) = reasons.insert(e.to_string(), name.clone()) {
                        assert!(alike(&other, name), "{other} and {name} are both refused with: {e}");
                    }
                }
            }
        }
        for name in ["unknown-type", "unknown-type-63", "enterprise-type"] {
            let archive = read(&place.join(format!("{name}.snap")), Options { lenient: true }).expect(name);
            assert_eq!(archive.tables, original.tables);
            assert_eq!(archive.ignored().map(|(_, n)| n).collect::<Vec<_>>(), [1]);
            assert!(archive.notes().iter().any(|n| n.contains("1 of type")), "{:?}", archive.notes());
        }
        let forbidden = read(&place.join("event-sink.snap"), Options { lenient: true });
        assert_eq!(forbidden.map(|_| ()).map_err(|e| e.stage()), Err("type"));
    }
    println!("archive variants: {judged} judged");
    assert!(judged >= 118 || oracle::replaced());
}

/// Variants that are wrong in the same way.
fn alike(a: &str, b: &str) -> bool {
    const SAME: &[&[&str]] = &[
        &["empty-file", "not-gzip", "not-gzip-text"],
        &["data-after-tar", "second-gzip-member"],
        &["flipped-state", "wrong-checksum", "flipped-meta"],
        // Where a flipped bit shows depends on what it was.
        &["flipped-compressed", "flipped-crc"],
    ];
    SAME.iter().any(|same| same.contains(&a) && same.contains(&b))
}

/// What a variant that is accepted holds.
fn same_content(name: &str, archive: &Archive, original: &Archive) {
    let mut tables = archive.tables.clone();
    match name {
        "state-header-only" => assert_eq!(tables, archive::Tables::default()),
        "ok-unknown-field" | "ok-missing-field" | "ok-str8-bin8" => {
            let value = tables.index("zz_table");
            assert_eq!(
                value,
                if name == "ok-unknown-field" {
                    7
                } else if name == "ok-missing-field" {
                    0
                } else {
                    9
                }
            );
            tables.indexes.retain(|row| row.key != "zz_table");
            assert!(tables == original.tables, "{name}");
        }
        _ => assert!(tables == original.tables, "{name}"),
    }
}

/// A file of a megabyte that unpacks to a gigabyte costs neither time nor memory.
#[test]
fn bombs_are_refused_quickly() {
    let Some(folder) = folder() else { return };
    let _permit = encamp_test_support::permit::processor();
    let out = program::Folder::new("archive-bombs");
    if variants(&folder, "empty", out.path(), &[]).is_none() {
        return;
    }
    let job =
        out.file("job.hcl", "job \"j\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n");
    // Runs a command and prints the largest memory it had, in KiB.
    let measure = "import resource, subprocess, sys\n\
                   code = subprocess.run(sys.argv[1:]).returncode\n\
                   print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    for name in ["bomb-zeros.snap", "bomb-state.snap"] {
        let begin = Instant::now();
        let ran = Command::new("python3")
            .args(["-c", measure, &program::path(), "job", "plan", "-snapshot"])
            .args([&out.path().join(name), &job])
            .output()
            .expect("python3");
        let (took, stderr) = (begin.elapsed(), String::from_utf8_lossy(&ran.stderr));
        assert!(stderr.contains("server backup archive"), "{stderr}");
        let stdout = String::from_utf8_lossy(&ran.stdout);
        let numbers: Vec<u64> = stdout.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        println!("{name}: {took:.2?}, {} MB", numbers[1] >> 10);
        assert_eq!(numbers[0], 255);
        assert!(numbers[1] < 300 << 10, "{} KiB", numbers[1]);
        let limit = if cfg!(debug_assertions) { 60 } else { 2 };
        assert!(took < Duration::from_secs(limit), "{took:?}");
    }
}
