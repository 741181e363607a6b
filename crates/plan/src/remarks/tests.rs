//! Generated jobs and clusters: a remark is made if, and only if, its setting has no effect.

use std::collections::BTreeSet;
use std::sync::Arc;

use encamp_jobspec::explain::outline::{Outline, Syntax};
use encamp_model::*;
use encamp_state::State;
use serde_json::{Value, json};

use super::*;
use crate::dry_run;

const NOW: i64 = 1_800_000_000 * SECOND;

/// Numbers that depend on the seed alone.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let at = self.below(of.len() as u64) as usize;
        of[at].clone()
    }
}

fn node(n: usize, dice: &mut Dice) -> Arc<Node> {
    let mut meta = json!({});
    for key in ["rack", "zone"] {
        if let Some(value) = dice.pick(&[None, Some("a"), Some("a"), Some("b")]) {
            meta[key] = json!(value);
        }
    }
    let value = json!({
        "ID": format!("{n:08}"), "Name": format!("n{n}"), "Datacenter": dice.pick(&["dc1", "dc1", "dc2"]),
        "NodePool": "default", "Status": dice.pick(&["ready", "ready", "ready", "down"]),
        "SchedulingEligibility": "eligible", "ModifyIndex": 5, "CreateIndex": 5, "Meta": meta,
        "Attributes": {"kernel.name": "linux"}, "Drivers": {"exec": {"Detected": true, "Healthy": true}},
        "NodeResources": {"Cpu": {"CpuShares": 100_000, "TotalCpuCores": 1}, "Memory": {"MemoryMB": 100_000},
            "Disk": {"DiskMB": 100_000},
            "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": "10.0.0.1/32", "IP": "10.0.0.1"}]},
    });
    let mut node: Node = serde_json::from_value(value).expect("a node");
    node.computed_class = node.compute_class();
    Arc::new(node)
}

fn cluster(dice: &mut Dice) -> State {
    let mut state = State::new();
    for n in 0..=dice.below(5) as usize {
        state.upsert_node(node(n, dice));
    }
    state.index = 20;
    state
}

fn job(datacenters: &[&str], groups: Value) -> Job {
    serde_json::from_value(json!({
        "ID": "j", "Name": "j", "Namespace": "default", "Type": "service", "Priority": 50, "Datacenters": datacenters,
        "NodePool": "default", "TaskGroups": groups,
    }))
    .expect("a job")
}

fn group(name: &str, count: u64) -> Value {
    json!({"Name": name, "Count": count, "EphemeralDisk": {"SizeMB": 10},
        "Tasks": [{"Name": "t", "Driver": "exec", "Resources": {"CPU": 10, "MemoryMB": 10}}]})
}

/// The nodes that a job may use, by hand.
fn usable(state: &State, job: &Job) -> Vec<Arc<Node>> {
    let all = state.nodes().map(|n| n.node.clone());
    let fits = |n: &Arc<Node>| job.datacenters.iter().any(|d| d == "*" || *d == n.datacenter);
    all.filter(|n| n.status == NodeStatus::Ready).filter(fits).collect()
}

fn value(node: &Node, attribute: &str) -> Option<String> {
    match attribute {
        "${node.datacenter}" => Some(node.datacenter.clone()),
        "${meta.rack}" => node.meta.get("rack").cloned(),
        "${meta.zone}" => node.meta.get("zone").cloned(),
        "${attr.kernel.name}" => Some("linux".into()),
        _ => None,
    }
}

const ATTRIBUTES: [&str; 5] =
    ["${node.datacenter}", "${meta.rack}", "${meta.zone}", "${attr.kernel.name}", "${meta.nothing}"];

#[test]
fn spreads_and_affinities_are_remarked_on_if_nodes_do_not_differ() {
    let (mut spreads, mut affinities, mut unremarked) = (0, 0, 0);
    for seed in 0..2_000 {
        let mut dice = Dice(seed);
        let state = cluster(&mut dice);
        let datacenters = dice.pick(&[vec!["*"], vec!["dc1"], vec!["dc1", "dc2"]]);
        let (spread, left) = (dice.pick(&ATTRIBUTES), dice.pick(&ATTRIBUTES));
        let right = dice.pick(&["a", "b", "dc1", "linux"]);
        let mut it = group("g", 2);
        it["Spreads"] = json!([{"Attribute": spread, "Weight": 50}]);
        it["Affinities"] = json!([{"LTarget": left, "RTarget": right, "Operand": "=", "Weight": 50}]);
        let job = job(&datacenters, json!([it]));
        let nodes = usable(&state, &job);
        let settled = |attribute: &str| attribute == "${node.datacenter}" && datacenters == ["dc1"];
        let same = nodes.iter().map(|n| value(n, spread)).collect::<BTreeSet<_>>().len() == 1;
        let matching = nodes.iter().filter(|n| value(n, left).as_deref() == Some(right)).count();
        let want = (
            settled(spread) || (nodes.len() > 1 && same),
            settled(left) || (nodes.len() > 1 && (matching == 0 || matching == nodes.len())),
        );
        let found = remarks(&job, Some(&state), NOW);
        let has = |wanted: fn(&Block) -> bool| found.iter().any(|r| wanted(&r.at.block));
        let got = (has(|b| matches!(b, Block::Spread(0))), has(|b| matches!(b, Block::Affinity(0))));
        assert_eq!(got, want, "seed {seed}: {found:?}");
        spreads += u32::from(want.0);
        affinities += u32::from(want.1);
        unremarked += u32::from(want == (false, false));
    }
    assert!(spreads > 200 && affinities > 200 && unremarked > 200, "{spreads} {affinities} {unremarked}");
}

/// The scheduler itself says whether `distinct_hosts` and `distinct_property` leave allocations unplaced.
#[test]
fn distinct_constraints_are_remarked_on_if_allocations_stay_unplaced() {
    let (mut remarked, mut unremarked) = (0, 0);
    for seed in 0..1_500 {
        let mut dice = Dice(seed);
        let state = cluster(&mut dice);
        let of_job = dice.below(2) == 0;
        let constraint = match dice.below(2) {
            0 => json!({"Operand": "distinct_hosts", "RTarget": dice.pick(&["", "true", "true", "false"])}),
            _ => json!({"Operand": "distinct_property", "LTarget": dice.pick(&["${meta.rack}", "${node.datacenter}"]),
                "RTarget": dice.pick(&["", "1", "2"])}),
        };
        let mut groups = vec![group("g", 1 + dice.below(4))];
        if dice.below(2) == 0 {
            groups.push(group("h", 1 + dice.below(2)));
        }
        let mut job = job(&["*"], json!(groups));
        let parsed: Constraint = serde_json::from_value(constraint).expect("a constraint");
        match of_job {
            true => job.constraints.push(parsed),
            false => job.task_groups[0].constraints.push(parsed),
        }
        if usable(&state, &job).is_empty() {
            continue;
        }
        let failed = !dry_run(&state, &job, NOW).expect("a plan").failed_tg_allocs().is_empty();
        let found = remarks(&job, Some(&state), NOW);
        assert_eq!(!found.is_empty(), failed, "seed {seed}: {found:?}");
        *(if failed { &mut remarked } else { &mut unremarked }) += 1;
    }
    assert!(remarked > 200 && unremarked > 200, "{remarked} {unremarked}");
}

fn days(month: u32) -> u32 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[test]
fn cron_specifications_that_never_fire_are_remarked_on() {
    let never = |spec: &str, enabled: bool| {
        let mut job = job(&["*"], json!([]));
        let config = json!({"Enabled": enabled, "Specs": ["@daily", spec], "SpecType": "cron", "TimeZone": "UTC"});
        job.periodic = Some(serde_json::from_value(config).expect("a schedule"));
        let mut found = remarks(&job, None, NOW);
        assert!(found.len() < 2, "{found:?}");
        found.pop().map(|remark| match remark.fact {
            Fact::CronNever { spec: named, why } if named == spec => why,
            other => panic!("{other:?}"),
        })
    };
    let mut cases = 0;
    for month in 1..=12 {
        for day in 1..=31 {
            let want = (day > days(month)).then_some(Never::NoSuchDay);
            assert_eq!(never(&format!("0 0 {day} {month} *"), true), want, "{day} {month}");
            // The day of the week is an alternative.
            assert_eq!(never(&format!("0 0 {day} {month} 1"), true), None, "{day} {month}");
            assert_eq!(never(&format!("0 0 {day} {month} *"), false), None, "{day} {month}");
            for year in [2020, 2026, 2027, 2028, 2099] {
                // NOW is in January of 2027.
                let past = year < 2027 || (year == 2027 && month == 1 && day <= 15);
                let leap = month == 2 && day == 29 && year % 4 != 0;
                let want = match (day > days(month) || leap, past) {
                    (true, _) => Some(Never::NoSuchDay),
                    (false, true) => Some(Never::Past),
                    (false, false) => None,
                };
                assert_eq!(never(&format!("0 0 {day} {month} * {year}"), true), want, "{day} {month} {year}");
                cases += 4;
            }
        }
    }
    assert_eq!(cases, 7_440);
    for (spec, want) in [
        ("0 0 31 2,4,6,9,11 *", Some(Never::NoSuchDay)),
        ("0 0 30-31 2 *", Some(Never::NoSuchDay)),
        ("0 0 31 2,3 *", None),
        ("0 0 L 2 *", None),
        ("0 0 31W 2 *", Some(Never::NoSuchDay)),
    ] {
        assert_eq!(never(spec, true), want, "{spec}");
    }
}

/// Facts about groups that need no cluster.
#[test]
fn settings_of_groups_are_remarked_on() {
    let update = |more: Value| {
        let mut update = json!({"MaxParallel": 1, "HealthCheck": "checks", "MinHealthyTime": 10 * SECOND,
            "HealthyDeadline": 300 * SECOND, "ProgressDeadline": 600 * SECOND, "Stagger": SECOND});
        more.as_object().into_iter().flatten().for_each(|(name, value)| update[name] = value.clone());
        json!({"Update": update})
    };
    let check = |successes: i64, interval: i64| {
        let check = json!({"Interval": interval * SECOND, "SuccessBeforePassing": successes});
        json!([{"Name": "s", "Checks": [check]}])
    };
    let facts = |more: Value| {
        let mut it = group("g", 2);
        more.as_object().into_iter().flatten().for_each(|(name, value)| it[name] = value.clone());
        let found = remarks(&job(&["*"], json!([it])), None, NOW);
        found.into_iter().map(|remark| remark.fact).collect::<Vec<_>>()
    };
    let off = |setting| vec![Fact::RolloutOff { setting }];
    assert_eq!(facts(update(json!({"MaxParallel": 0, "Canary": 1}))), off(RolloutSetting::Canary));
    assert_eq!(facts(update(json!({"MaxParallel": 0, "AutoRevert": true}))), off(RolloutSetting::AutoRevert));
    assert_eq!(facts(update(json!({"MaxParallel": 0}))), []);
    let manual = json!({"HealthCheck": "manual", "Canary": 1, "AutoPromote": true});
    assert_eq!(facts(update(manual)), [Fact::ManualPromotion]);
    assert_eq!(facts(update(json!({"HealthCheck": "manual", "Canary": 1}))), []);
    for successes in 0..8 {
        for interval in [1, 10, 40, 60, 100, 290, 300] {
            let mut more = update(json!({}));
            more["Services"] = check(successes, interval);
            let needed = ((successes - 1).max(0) * interval + 10) * SECOND;
            let late = successes > 1 && needed >= 300 * SECOND;
            let want = late.then_some(Fact::CheckTooSlow { needed, deadline: 300 * SECOND });
            assert_eq!(facts(more.clone()), want.into_iter().collect::<Vec<_>>(), "{successes} {interval}");
            more["Update"]["HealthCheck"] = json!("task_states");
            assert_eq!(facts(more), []);
        }
    }
    for (min, max, enabled) in [(2, 2, true), (2, 2, false), (1, 2, true)] {
        let policy = json!({"Scaling": {"Min": min, "Max": max, "Enabled": enabled}});
        let want = if min == max && enabled { vec![Fact::NothingToScale { count: 2 }] } else { vec![] };
        assert_eq!(facts(policy), want);
    }
    let spread =
        |targets: Value| facts(json!({"Spreads": [{"Attribute": "${meta.x}", "Weight": 5, "SpreadTarget": targets}]}));
    assert_eq!(spread(json!([{"Value": "a", "Percent": 100}])), [Fact::SpreadOneTarget { value: "a".into() }]);
    assert_eq!(spread(json!([{"Value": "a", "Percent": 70}])), []);
    assert_eq!(spread(json!([{"Value": "a", "Percent": 0}, {"Value": "b", "Percent": 0}])), [Fact::SpreadNoShares]);
    assert_eq!(spread(json!([])), []);
}

#[test]
fn counts_that_scaling_changed_and_canaries_without_nodes_are_remarked_on() {
    for (registered, count) in [(2, 2), (5, 2), (1, 3)] {
        let mut state = cluster(&mut Dice(1));
        let mut it = group("g", registered);
        it["Scaling"] = json!({"Min": 1, "Max": 9, "Enabled": true});
        let mut old = job(&["*"], json!([it]));
        state.upsert_job(Arc::new(old.clone()));
        old.task_groups[0].count = count;
        let found = remarks(&old, Some(&state), NOW);
        let want = (registered as i64 != count).then_some(Fact::CountResets { registered: registered as i64, count });
        assert_eq!(found.into_iter().map(|r| r.fact).collect::<Vec<_>>(), want.into_iter().collect::<Vec<_>>());
    }
    let (mut cases, mut remarked) = (0, 0);
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let state = cluster(&mut dice);
        let (count, canaries) = (1 + dice.below(4), dice.below(3));
        let static_port = dice.below(2) == 0;
        let mut it = group("g", count);
        it["Update"] = json!({"MaxParallel": 1, "Canary": canaries, "HealthCheck": "task_states"});
        match static_port {
            true => it["Networks"] = json!([{"Mode": "host", "ReservedPorts": [{"Label": "p", "Value": 80}]}]),
            false => it["Constraints"] = json!([{"Operand": "distinct_hosts", "RTarget": "true"}]),
        }
        let job = job(&["*"], json!([it]));
        let nodes = usable(&state, &job).len() as u64;
        let want = canaries > 0 && count <= nodes && count + canaries > nodes;
        let found = remarks(&job, Some(&state), NOW);
        let got = found.iter().any(|r| matches!(r.fact, Fact::NoNodesForCanaries { .. }));
        assert_eq!(got, want, "seed {seed}: {found:?}");
        cases += 1;
        remarked += u32::from(want);
    }
    assert!(cases == 300 && remarked > 30, "{remarked}");
}

/// Every fact has its block, its line and something to do.
#[test]
fn remarks_have_places() {
    let text = "job \"j\" {\n  datacenters = [\"dc1\"]\n  type        = \"batch\"\n  periodic {\n    crons = [\"@daily\", \"0 0 \
                31 2 *\"]\n  }\n  spread {\n    attribute = \"${node.datacenter}\"\n  }\n  group \"g\" {\n    affinity {\n      \
                attribute = \"${attr.x}\"\n      value     = \"y\"\n    }\n    affinity {\n      attribute = \
                \"${node.datacenter}\"\n      value     = \"dc2\"\n    }\n    scaling {\n      min = 2\n      max = 2\n    }\n    \
                task \"t\" {\n      driver = \"exec\"\n    }\n  }\n}\n";
    let parsed = encamp_jobspec::parse::parse(text.as_bytes(), &encamp_jobspec::parse::ParseOptions::default());
    let mut parsed = parsed.expect("a job");
    encamp_jobspec::canonicalize::canonicalize(&mut parsed);
    let options = encamp_jobspec::convert::ConvertOptions::default();
    let job = encamp_jobspec::convert::to_server(&parsed, &options).expect("a job");
    let outline = Outline::read("f.hcl", text, Syntax::Hcl);
    let found = findings(&outline, &remarks(&job, None, NOW));
    let shown: Vec<String> = found
        .iter()
        .map(|f| {
            let place = f.place.as_ref().expect("a place");
            let line = place.line.as_deref().unwrap_or_default();
            format!(
                "{}:{} {}: {}",
                place.range.start_line,
                place.range.start_column,
                line.trim(),
                f.block_path.join(" > ")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "5:24 crons = [\"@daily\", \"0 0 31 2 *\"]: job \"j\" > periodic",
            "8:5 attribute = \"${node.datacenter}\": job \"j\" > spread",
            "16:7 attribute = \"${node.datacenter}\": job \"j\" > group \"g\" > affinity",
            "21:7 max = 2: job \"j\" > group \"g\" > scaling",
        ]
    );
    assert!(found.iter().all(|f| f.suggestion.as_deref().is_some_and(|help| help.len() > 10)), "{found:#?}");
    assert!(found[0].message.contains("never fires: none of its months has such a day"), "{found:#?}");
}
