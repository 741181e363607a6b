use std::time::Duration;

use encamp_model::Time;

use super::*;
use crate::cooldown::Cooldowns;
use crate::proof::UnplacedGroup;
use crate::provider::{Instance, InstanceState};
use crate::test_cluster::{NOW, amounts, parameters, pool_view};
use crate::view::Amounts;

/// Five nodes with 50,000 MHz and MB, and a reserve of 1,500 MHz and 2,000 MB.
fn figures(cpu: i64, memory: i64) -> Arithmetic {
    let view = pool_view(5, amounts(50_000, 50_000, 0), amounts(cpu, memory, 0), amounts(1_500, 2_000, 0));
    Arithmetic::new(&view, &parameters())
}

fn scale_in() -> Arithmetic {
    figures(1_000, 2_000)
}

fn scale_out(step: i64) -> Arithmetic {
    Arithmetic { step, ..figures(1_000, 49_000) }
}

fn chosen(instance: Option<&str>) -> NodeView {
    let view = pool_view(1, Amounts::default(), Amounts::default(), Amounts::default());
    NodeView { instance_id: instance.map(str::to_string), ..view.nodes[0].clone() }
}

fn scaling_group(desired: i64, min: i64, max: i64, instances: &[(&str, InstanceState)]) -> ScalingGroup {
    let instances = instances.iter().map(|(id, state)| Instance { id: id.to_string(), state: *state }).collect();
    ScalingGroup { desired, min, max, instances }
}

#[test]
fn removal_tells_of_every_resource() {
    let denied = "cpu: 20000 MHz used, 28500 MHz allowed with 4 nodes, 70 %; \
                  memory: 31000 MB used, 28000 MB allowed with 4 nodes, 110 %; disk: the pool has none; \
                  less than 90 % is needed of each";
    for (memory, passed, want) in [
        (21_000, true, "memory: 21000 MB used, 28000 MB allowed with 4 nodes, 75 %; disk: the pool has none"),
        (
            25_200,
            false,
            "memory: 25200 MB used, 28000 MB allowed with 4 nodes, 90 %; disk: the pool has none; \
                         less than 90 % is needed of each",
        ),
        (31_000, false, denied),
    ] {
        let found = removal(&figures(20_000, memory));
        assert_eq!((found.check, found.passed), (Check::SimulatedRemoval, passed), "{memory}");
        assert!(found.detail.ends_with(want), "{}", found.detail);
    }
    // The prioritised metric is memory, but CPU denies it.
    let by_cpu = removal(&figures(26_000, 27_000 - 2_000));
    assert!(!by_cpu.passed && by_cpu.detail.starts_with("cpu: 26000 MHz used, 28500 MHz allowed with 4 nodes, 91 %"));
    let two = Arithmetic::new(&pool_view(2, amounts(2_000, 0, 0), amounts(5, 0, 0), Amounts::default()), &parameters());
    let found = removal(&two);
    assert!(found.detail.starts_with("cpu: 5 MHz used, nothing allowed with 1 node (0 MHz)"), "{}", found.detail);
    assert!(no_removal().passed);
    let mut nodes = pool_view(3, Amounts::default(), Amounts::default(), Amounts::default()).nodes;
    for (node, reason) in nodes.iter_mut().zip([ProtectedBy::Job, ProtectedBy::Server, ProtectedBy::Job]) {
        node.protected = Some(reason);
    }
    let found = all_protected(&nodes);
    let want = "no node may be removed: of 3 nodes 1 runs a server of the cluster, 2 run a job that sets \
                encamp_protect in its meta";
    assert_eq!((found.passed, found.detail.as_str()), (false, want));
}

#[test]
fn the_proof_names_groups_without_a_place() {
    let node = chosen(None);
    let group = |n: i64, namespace: &str| UnplacedGroup {
        namespace: namespace.into(),
        job: "web".into(),
        group: format!("g{n}"),
        count: n,
    };
    let proof_of = |unplaced: Vec<UnplacedGroup>| Proof { node_id: "n1".into(), moved: 3, stopped: 1, unplaced };
    let of = |p: &Proof| {
        let found = proof(&node, Ok(p));
        (found.passed, found.detail)
    };
    let (passed, detail) = of(&proof_of(vec![]));
    assert!(passed);
    let want =
        "node \"name-n1\" (n1) can be drained: 3 allocations can be placed on other nodes, 1 end without a replacement";
    assert_eq!(detail, want);
    let (passed, detail) = of(&proof_of(vec![group(1, "default"), group(2, "prod")]));
    assert!(!passed);
    let want = "node \"name-n1\" (n1) cannot be drained: no other node takes 1 of group \"g1\" of job \"web\", \
                2 of group \"g2\" of job \"web\" of namespace \"prod\"";
    assert_eq!(detail, want);
    let (_, detail) = of(&proof_of((0..20).map(|n| group(n, "")).collect()));
    assert!(detail.ends_with("7 of group \"g7\" of job \"web\", 12 more groups"), "{detail}");
    let failed = proof(&node, Err(&ProofError::UnknownNode("n1".into())));
    assert!(!failed.passed && failed.detail.contains("node n1 is not part of the cluster"), "{}", failed.detail);
}

#[test]
fn limits_of_the_scaling_group() {
    use InstanceState::{Active, Leaving};
    let has = [("i-1", Active), ("i-2", Leaving)];
    let group = |desired, min, max| scaling_group(desired, min, max, &has);
    let (node, gone, nameless) = (chosen(Some("i-1")), chosen(Some("i-2")), chosen(None));
    let goes = |from: i64, to: i64| format!("the scaling group goes from {from} to {to} instances; it allows 1 to 6");
    let stays = |to: i64, min: i64, max: i64| {
        format!("the scaling group would go from 5 to {to} instances; it allows {min} to {max}")
    };
    for (what, figures, group, chosen, want) in [
        ("in", scale_in(), group(5, 1, 6), Some(&node), Ok(goes(5, 4))),
        ("in above its maximum", scale_in(), group(5, 1, 3), Some(&node), Ok(goes(5, 4).replace('6', "3"))),
        ("in to its minimum", scale_in(), group(5, 4, 6), Some(&node), Ok(goes(5, 4).replace('1', "4"))),
        ("in at its minimum", scale_in(), group(5, 5, 6), Some(&node), Err(stays(4, 5, 6))),
        ("out", scale_out(1), group(5, 1, 6), None, Ok(goes(5, 6))),
        ("out past its maximum", scale_out(2), group(5, 1, 6), None, Err(stays(7, 1, 6))),
        (
            "another size",
            scale_out(1),
            group(6, 1, 9),
            None,
            Err("the scaling group is to have 6 instances, but 5 nodes are registered".into()),
        ),
        (
            "a leaving instance",
            scale_in(),
            group(5, 1, 6),
            Some(&gone),
            Err("node \"name-n1\" (n1) runs on instance \"i-2\", which the scaling group does not have".into()),
        ),
        (
            "no instance",
            scale_in(),
            group(5, 1, 6),
            Some(&nameless),
            Err("the instance of node \"name-n1\" (n1) is not known: its attribute or client meta \
                 \"unique.platform.aws.instance-id\" must name it"
                .to_string()),
        ),
    ] {
        let found = provider_limits(&figures, Ok(&group), chosen);
        assert_eq!(found.check, Check::ProviderLimits);
        assert_eq!(if found.passed { Ok(found.detail) } else { Err(found.detail) }, want, "{what}");
    }
    let unreadable = provider_limits(&scale_out(1), Err(&ProviderError::Timeout(5)), None);
    assert!(!unreadable.passed);
    assert_eq!(unreadable.detail, "the scaling group could not be read: the provider did not answer within 5 s");
    assert!(provider_limits_unknown(None).passed && provider_limits_unknown(Some(&node)).passed);
    assert!(!provider_limits_unknown(Some(&nameless)).passed);
}

#[test]
fn limits_of_the_pool() {
    for (figures, min, max, want) in [
        (scale_in(), 4, 9, Ok("the pool goes from 5 to 4 nodes; it may have 4 to 9")),
        (scale_in(), 5, 9, Err("the pool has 5 nodes and may have no fewer than 5")),
        (scale_in(), 0, 2, Ok("the pool goes from 5 to 4 nodes; it may have 0 to 2")),
        (scale_out(2), 1, 7, Ok("the pool goes from 5 to 7 nodes; it may have 1 to 7")),
        (scale_out(0), 1, 5, Err("the pool has 5 nodes and may have 5 at most")),
        (scale_out(1), 7, 9, Ok("the pool goes from 5 to 6 nodes; it may have 7 to 9")),
    ] {
        let found = pool_limits(&figures, &PoolParameters { min, max, ..parameters() });
        let found = if found.passed { Ok(found.detail) } else { Err(found.detail) };
        assert_eq!(found.as_deref().map_err(String::as_str), want);
    }
}

#[test]
fn the_time_since_the_last_operation() {
    let of = |last: Option<i64>, seconds: u64| {
        let p = PoolParameters { cooldown: Cooldowns::one(Duration::from_secs(seconds)), ..parameters() };
        let record = Record { last_scaling_event: last.map(Time::from_unix_nanos), ..Record::default() };
        let found = Direction::ALL.map(|direction| cooldown(&record, direction, &p, NOW));
        assert_eq!(found[0], found[1], "one cooldown is that of both directions");
        (found[0].passed, found[0].detail.clone())
    };
    let ago = |nanos: i64| Some(NOW - nanos);
    assert_eq!(of(None, 300), (true, "nothing was scaled yet".into()));
    assert_eq!(of(ago(300 * SECOND), 300), (true, "the cooldown of 300 s is over".into()));
    assert_eq!(of(ago(300 * SECOND - 1), 300), (false, "1 s of the cooldown of 300 s are left".into()));
    assert_eq!(of(ago(0), 300), (false, "300 s of the cooldown of 300 s are left".into()));
    assert!(of(ago(0), 0).0);
    let note =
        "300 s of the cooldown of 300 s are left; the last operation is dated in the future and counts as of now";
    assert_eq!(of(ago(-7), 300), (false, note.into()));
    assert!(!of(Some(1), u64::MAX).0 && of(Some(1), 300).0);
}

#[test]
fn the_time_since_the_last_operation_of_a_direction() {
    let seconds = |n| Some(Duration::from_secs(n));
    let cooldown = Cooldowns { scale_out: seconds(60), scale_in: seconds(600), ..Cooldowns::one(Duration::ZERO) };
    let p = PoolParameters { cooldown, ..parameters() };
    let of = |events: &[(Direction, i64)], direction| {
        let mut record = Record::default();
        events.iter().for_each(|(direction, ago)| record.note_scaling(*direction, NOW - ago * SECOND));
        let found = super::cooldown(&record, direction, &p, NOW);
        (found.passed, found.detail)
    };
    let (out, r#in) = ((Direction::Out, 59), (Direction::In, 61));
    assert_eq!(of(&[], Direction::Out), (true, "nothing was scaled yet".into()));
    assert_eq!(of(&[r#in], Direction::Out), (true, "the pool was not scaled out yet".into()));
    assert_eq!(of(&[out], Direction::In), (true, "the pool was not scaled in yet".into()));
    assert_eq!(of(&[r#in, out], Direction::Out), (false, "1 s of the scale-out cooldown of 60 s are left".into()));
    assert_eq!(of(&[out, r#in], Direction::In), (false, "539 s of the scale-in cooldown of 600 s are left".into()));
    let over = (true, "the scale-out cooldown of 60 s is over".into());
    assert_eq!(of(&[(Direction::Out, 60), (Direction::In, 1)], Direction::Out), over);
}

#[test]
fn requests_are_counted_up_to_the_threshold() {
    let p = PoolParameters { scaling_threshold: 3, ..parameters() };
    for (requests, passed) in [(1, false), (2, false), (3, true), (4, true)] {
        let found = consecutive_requests(requests, Direction::Out, &p);
        assert_eq!((found.passed, found.detail), (passed, format!("request {requests} of 3 to scale out")));
    }
}
