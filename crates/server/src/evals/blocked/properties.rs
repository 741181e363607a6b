//! Compares the tracker with a model that searches a single list.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use encamp_model::{AllocMetric, Resources, SECOND};

const CLASSES: [&str; 4] = ["c0", "c1", "c2", "csi-volume:d:v"];

#[derive(Default)]
struct Naive {
    tracked: Vec<(Evaluation, Option<String>)>,
    unblocks: BTreeMap<String, (u64, i64)>,
    duplicates: Vec<String>,
}

impl Naive {
    fn missed(&self, e: &Evaluation) -> bool {
        let escaped_newest = self.unblocks.values().map(|(u, _)| *u).max().unwrap_or(0);
        if e.escaped_computed_class && e.snapshot_index < escaped_newest {
            return true;
        }
        self.unblocks.iter().any(|(key, (u, _))| {
            e.snapshot_index < *u
                && match e.class_eligibility.get(key) {
                    None | Some(true) => true,
                    Some(false) => e.missing_non_node_resources.contains(key),
                }
        })
    }

    fn block(&mut self, e: Evaluation, token: Option<String>) -> Vec<String> {
        self.tracked.retain(|(o, _)| o.id != e.id);
        let per_node = |x: &Evaluation| x.r#type == JobType::System && !x.escaped_computed_class;
        let rival = self.tracked.iter().position(|(o, _)| {
            o.job_id == e.job_id && per_node(o) == per_node(&e) && (!per_node(&e) || o.node_id == e.node_id)
        });
        if let Some(i) = rival {
            let age = |x: &Evaluation| x.create_index.max(x.snapshot_index);
            if age(&self.tracked[i].0) > age(&e) {
                self.duplicates.push(e.id.to_string());
                return Vec::new();
            }
            self.duplicates.push(self.tracked.remove(i).0.id.to_string());
        }
        if self.missed(&e) {
            return vec![e.id.to_string()];
        }
        self.tracked.push((e, token));
        Vec::new()
    }

    fn release(&mut self, wanted: impl Fn(&Evaluation) -> bool) -> Vec<String> {
        let (out, keep): (Vec<_>, Vec<_>) = std::mem::take(&mut self.tracked).into_iter().partition(|(e, _)| wanted(e));
        self.tracked = keep;
        out.into_iter().map(|(e, _)| e.id.to_string()).collect()
    }
}

fn made(n: usize, a: u8, b: u8, c: u8) -> Evaluation {
    let fate = |i: u8| match (b >> (2 * i)) & 3 {
        0 => None,
        1 => Some(true),
        _ => Some(false),
    };
    let metric = AllocMetric {
        resources_exhausted: [("t".to_string(), Resources { cpu: i64::from(c), ..Resources::default() })].into(),
        ..AllocMetric::default()
    };
    Evaluation {
        // Some return with the same ID, like reblocked evaluations.
        id: if a.is_multiple_of(5) { format!("again{}", b % 3) } else { format!("e{n}") }.into(),
        job_id: format!("j{}", a / 5 % 4).into(),
        r#type: if a.is_multiple_of(3) { JobType::System } else { JobType::Service },
        node_id: format!("n{}", c % 2).into(),
        escaped_computed_class: a.is_multiple_of(7),
        triggered_by: if a.is_multiple_of(4) { EvalTrigger::MaxPlanAttempts } else { EvalTrigger::QueuedAllocs },
        missing_non_node_resources: if c.is_multiple_of(3) { vec![CLASSES[3].into()] } else { Vec::new() }.into(),
        class_eligibility: (0..3u8).filter_map(|i| Some((CLASSES[usize::from(i)].to_string(), fate(i)?))).collect(),
        snapshot_index: n as u64 / 2 + u64::from(c % 4),
        create_index: n as u64 / 2,
        failed_tg_allocs: [("g".to_string(), metric)].into(),
        ..Evaluation::default()
    }
}

fn same(released: Released, expected: Vec<String>) {
    let mut got: Vec<String> = released.into_iter().map(|(e, _)| e.id.to_string()).collect();
    let mut expected = expected;
    got.sort();
    expected.sort();
    assert_eq!(got, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn it_does_what_a_list_would_do(
        steps in proptest::collection::vec((0u8..16, any::<u8>(), any::<u8>(), any::<u8>()), 1..120)
    ) {
        let (mut b, mut naive, mut now) = (BlockedEvals::new(), Naive::default(), 0i64);
        b.set_enabled(true, now);
        for (n, (op, x, y, z)) in steps.into_iter().enumerate() {
            let index = n as u64 / 2 + 1;
            match op {
                0..=7 => {
                    let e = made(n, x, y, z);
                    let token = (x % 2 == 0).then(|| format!("t{n}"));
                    same(b.block(Arc::new(e.clone()), token.clone(), now), naive.block(e, token));
                }
                8 | 9 => {
                    let class = CLASSES[usize::from(x % 3)];
                    naive.unblocks.insert(class.into(), (index, now));
                    let want = |e: &Evaluation| e.escaped_computed_class || e.class_eligibility.get(class) != Some(&false);
                    same(b.unblock_class(class, index, now), naive.release(want));
                }
                10 | 11 => {
                    let node = format!("n{}", x % 2);
                    let want = |e: &Evaluation| e.r#type == JobType::System && !e.escaped_computed_class && e.node_id == node;
                    same(b.unblock_node(&node, now), naive.release(want));
                }
                12 => {
                    let key = CLASSES[3].to_string();
                    naive.unblocks.insert(key.clone(), (index, now));
                    let want = |e: &Evaluation| e.escaped_computed_class && e.missing_non_node_resources.contains(&key);
                    same(b.unblock_resources(std::slice::from_ref(&key), index, now), naive.release(want));
                }
                13 => {
                    let id = format!("again{}", x % 3);
                    b.untrack(&id, now);
                    naive.release(|e| e.id == id);
                }
                14 => same(b.unblock_failed(now), naive.release(|e| e.triggered_by == EvalTrigger::MaxPlanAttempts)),
                _ => {
                    // Five minutes each, so that every tick both releases and prunes.
                    now += PRUNE_INTERVAL + i64::from(x) * SECOND;
                    naive.unblocks.retain(|_, (_, t)| *t >= now - 15 * MINUTE);
                    same(b.tick(now), naive.release(|e| e.triggered_by == EvalTrigger::MaxPlanAttempts));
                }
            }
            let duplicates: Vec<String> = b.take_duplicates().iter().map(|e| e.id.to_string()).collect();
            prop_assert_eq!(duplicates, std::mem::take(&mut naive.duplicates));
            let s = b.stats();
            prop_assert_eq!(s.blocked, naive.tracked.len());
            prop_assert_eq!(s.escaped, naive.tracked.iter().filter(|(e, _)| e.escaped_computed_class).count());
            let lacking: i64 = naive.tracked.iter().map(|(e, _)| e.failed_tg_allocs["g"].resources_exhausted["t"].cpu).sum();
            prop_assert_eq!(s.by_job.values().map(|l| l.cpu).sum::<i64>(), lacking);
            for (e, token) in &naive.tracked {
                prop_assert_eq!(&b.tracked[e.id.as_str()].token, token);
            }
        }
    }
}
