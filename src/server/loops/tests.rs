//! The loops with a whole server.

use std::time::Duration;

use super::periodic;
use crate::model::*;
use crate::server::ids;
use crate::server::tests::*;

const HOUR: i64 = 3600 * SECOND;

fn periodic_job(id: &str, cron: &str) -> Job {
    let config = PeriodicConfig { enabled: true, spec: cron.into(), ..Default::default() };
    Job { r#type: "batch".into(), periodic: Some(config), ..job(id, 1) }
}

fn children(server: &crate::server::Server, id: &str) -> Vec<String> {
    server.snapshot().children("default", id).map(|c| c.id.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn periodic_jobs_launch() {
    let dir = Dir::new();
    let id = ids::uuid();
    let server = start(&dir, &id).await;
    let soon = ids::now();
    put_job(&server, periodic_job("every", "* * * * * * *")).await;
    eventually("a launch", || !children(&server, "every").is_empty()).await;
    let child = server.snapshot().state().job("default", &children(&server, "every")[0]).unwrap().clone();
    assert_eq!((child.parent_id.as_str(), child.periodic.is_none(), child.name == child.id), ("every", true, true));
    let launch = server.snapshot().launch("default", "every").unwrap().launch.unix_nanos().unwrap();
    assert!(launch > soon - SECOND && launch % SECOND == 0);
    let evals: Vec<_> = server.snapshot().evals_of_job("default", &child.id).cloned().collect();
    assert_eq!((evals[0].triggered_by.as_str(), evals[0].create_index), ("periodic-job", child.create_index));
    let stopped = Job { stop: true, ..periodic_job("every", "* * * * * * *") };
    put_job(&server, stopped).await;
    assert_eq!(server.queues().periodic().jobs().count(), 0);

    // Other times come in as arguments.
    let mut j = periodic_job("hourly", "0 * * * *");
    j.periodic.as_mut().unwrap().prohibit_overlap = true;
    put_job(&server, j).await;
    let due = server.queues().periodic().next_deadline().unwrap();
    periodic::launch_due(&server, due).await;
    assert_eq!(children(&server, "hourly"), [format!("hourly/periodic-{}", due / SECOND)]);
    assert_eq!(server.queues().periodic().next_deadline(), Some(due + HOUR));
    // There is no node: the child waits for one.
    eventually("a blocked evaluation", || {
        server.snapshot().evals_by_create().any(|e| e.job_id.starts_with("hourly/") && e.status == "blocked")
    })
    .await;
    periodic::launch_due(&server, due + HOUR).await;
    assert_eq!(children(&server, "hourly").len(), 1, "launches may not overlap");
    let forced = periodic::force(&server, "default", "hourly").await.unwrap();
    assert_eq!(children(&server, "hourly").len(), 2);
    assert_eq!(server.snapshot().eval(&forced.eval_id).unwrap().job_id, forced.job_id);
    assert_eq!(server.snapshot().state().job("default", &forced.job_id).unwrap().create_index, forced.index);
    assert_eq!(server.queues().periodic().next_deadline(), Some(due + 2 * HOUR), "the schedule stays");
    put_job(&server, job("plain", 1)).await;
    for (id, text) in [
        ("", "missing job ID for evaluation"),
        ("nothing", "job not found"),
        ("plain", "can't force launch non-periodic job"),
        ("every", r#"force launch for job "every" failed: can't force run non-tracked job "every" (default)"#),
    ] {
        let e = periodic::force(&server, "default", id).await.unwrap_err();
        assert_eq!((e.status, e.message.as_str()), (500, text));
    }

    // A new leader launches once what was missed. Launches of `hourly` must not overlap, those of `free` may.
    put_job(&server, periodic_job("free", "0 * * * *")).await;
    let late = due + 50 * HOUR + 7 * SECOND;
    periodic::catch_up(&server, late).await.unwrap();
    assert_eq!(children(&server, "free"), [format!("free/periodic-{}", late / SECOND)]);
    assert_eq!(children(&server, "hourly").len(), 2);
    server.shutdown().await;
    drop(server);
    let server = start(&dir, &id).await;
    eventually("the tracker", || server.queues().periodic().jobs().count() == 2).await;
    assert!(server.queues().periodic().next_deadline().unwrap() <= ids::now() + HOUR);
    tokio::time::timeout(Duration::from_secs(10), server.shutdown()).await.unwrap();
}
