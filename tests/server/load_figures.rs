//! How load scenarios read the figures of servers, and how they divide allocations among jobs (`encamp_sim::load`).

use encamp_sim::load::c1m::sizes;
use encamp_sim::load::probe::gauge;
use encamp_sim::load::services::Services;
use encamp_sim::load::timings::Timings;

#[test]
fn allocations_are_divided_evenly_among_jobs() {
    assert_eq!(Services::new(3, 10).counts(), [4, 3, 3]);
    assert_eq!(Services::new(5, 2).counts(), [1, 1]);
}

#[test]
fn job_sizes_add_up_to_all_allocations() {
    assert_eq!(sizes(2500), [1000, 1000, 500]);
    assert!(sizes(0).is_empty());
}

#[test]
fn gauges_are_found_by_their_full_name() {
    let text = "# TYPE a_b gauge\na_b_c{host=\"x\"} 3\na_b{host=\"x\"} 12\nz 7\n";
    assert_eq!((gauge(text, "a_b"), gauge(text, "z"), gauge(text, "a")), (Some(12.0), Some(7.0), None));
}

#[test]
fn quantiles_are_read_from_the_prometheus_text() {
    let mut timings = Timings::default();
    for (median, p99) in [(1.0, 9.0), (3.0, 20.0), (2.0, 5.0)] {
        timings.take(&format!(
            "# TYPE nomad_nomad_plan_apply summary\nnomad_nomad_plan_apply{{quantile=\"0.5\"}} {median}\n\
             nomad_nomad_plan_apply{{quantile=\"0.99\"}} {p99}\nnomad_nomad_plan_apply_sum 7\nnomad_nomad_plan_apply_count 12\n\
             nomad_nomad_plan_applyx{{quantile=\"0.5\"}} 99\nnomad_nomad_plan_evaluate{{quantile=\"0.5\"}} NaN\n"
        ));
    }
    let timings = timings.finish();
    let apply = timings.iter().find(|t| t.name == "nomad_nomad_plan_apply").expect("the metric");
    assert_eq!((apply.count, apply.p50_ms, apply.p99_ms), (12, 2.0, 20.0));
    assert_eq!(timings.len(), 2);
}
