//! Running and stopping tasks.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_batch_process_reports_all_details() {
    let bench = Bench::new("batch").await;
    let script =
        "echo $NOMAD_ALLOC_INDEX $NOMAD_META_foo_bar ${NOMAD_JOB_NAME} in $(basename $PWD); echo oops >&2; exit 7";
    let task = shell("main", script, r#","Meta":{"foo-bar":"x"},"Env":{"A":"${NOMAD_META_foo-bar}"}"#);
    let id = bench.run(JobType::Batch, &format!("[{task}]"));
    let alloc = bench.servers.status(&id, ClientStatus::Failed).await;
    assert_eq!(alloc.client_description, "Failed tasks");
    let want = [
        "Task received by client",
        "Building Task Directory",
        "Task started by client",
        "Exit Code: 7",
        "Policy allows no restarts",
    ];
    assert_eq!(texts(&alloc, "main"), want);
    let state = alloc.task_states.get("main").expect("a state");
    assert!(
        state.failed && state.state == TaskStatus::Dead && !state.started_at.is_zero() && !state.finished_at.is_zero()
    );
    let logs = bench.dir.0.join("alloc").join(&id).join("alloc/logs");
    let read = |name: &str| std::fs::read_to_string(logs.join(name)).unwrap();
    assert_eq!((read("main.stdout.0"), read("main.stderr.0")), ("0 x job in main\n".into(), "oops\n".into()));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_process_gets_its_signal_and_its_children_are_stopped() {
    let bench = Bench::new("stop").await;
    let script = "setsid sleep 1000 & echo $!; exec sleep 1000";
    let id = bench.run(JobType::Service, &format!("[{}]", shell("main", script, r#","KillTimeout":5000000000"#)));
    bench.servers.status(&id, ClientStatus::Running).await;
    let log = bench.dir.0.join("alloc").join(&id).join("alloc/logs/main.stdout.0");
    let child = until("the child's number", || std::fs::read_to_string(&log).ok()?.trim().parse::<u32>().ok()).await;
    bench.servers.stop(&id);
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    let want = [
        "Task received by client",
        "Building Task Directory",
        "Task started by client",
        "Sent interrupt. Waiting 5s before force killing",
        "Exit Code: 130, Signal: 2",
        "Task successfully killed",
    ];
    assert_eq!(texts(&alloc, "main"), want);
    assert!(!Path::new(&format!("/proc/{child}")).exists(), "a child in a session of its own is gone too");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_receive_signals_that_the_agent_ignores() {
    let supervisor = |c: &mut Config| {
        let program = c.state_dir.as_ref().unwrap().with_file_name("deaf");
        let script =
            format!("#!/bin/sh\ntrap '' HUP INT QUIT USR1 CHLD TERM\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_encamp"));
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        c.supervisor = Some(program);
    };
    let bench = Bench::with("deaf", supervisor).await;
    let script = "grep -E 'Sig(Ign|Blk)' /proc/self/status; exec sleep 1000";
    let id = bench.run(JobType::Service, &format!("[{}]", shell("main", script, r#","KillTimeout":60000000000"#)));
    bench.servers.status(&id, ClientStatus::Running).await;
    let log = bench.dir.0.join("alloc").join(&id).join("alloc/logs/main.stdout.0");
    let lines = until("the masks", || {
        let text = std::fs::read_to_string(&log).ok()?;
        (text.lines().count() == 2).then_some(text)
    });
    // Two signals are reserved by the C library, which ignores them in all child processes.
    const INTERNAL: u64 = 0b11 << 31;
    for line in lines.await.lines() {
        let mask = line.rsplit('\t').next().and_then(|m| u64::from_str_radix(m, 16).ok());
        assert_eq!(mask.map(|m| m & !INTERNAL), Some(0), "{line}");
    }
    bench.servers.stop(&id);
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    assert!(texts(&alloc, "main").contains(&"Exit Code: 130, Signal: 2".to_string()), "{:?}", texts(&alloc, "main"));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_ignores_its_signal_is_killed_after_the_timeout() {
    let bench = Bench::new("kill").await;
    let script = "trap '' INT; while :; do sleep 0.05; done";
    let id = bench.run(JobType::Service, &format!("[{}]", shell("main", script, r#","KillTimeout":200000000"#)));
    bench.servers.status(&id, ClientStatus::Running).await;
    // The trap has to be set first.
    tokio::time::sleep(Duration::from_millis(200)).await;
    bench.servers.stop(&id);
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    assert!(texts(&alloc, "main").contains(&"Exit Code: 137, Signal: 9".to_string()), "{:?}", texts(&alloc, "main"));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_programs() {
    let bench = Bench::new("missing").await;
    let id =
        bench.run(JobType::Batch, r#"[{"Name":"main","Driver":"raw_exec","Config":{"command":"no-such-program"}}]"#);
    let alloc = bench.servers.status(&id, ClientStatus::Failed).await;
    assert!(texts(&alloc, "main").contains(&"binary \"no-such-program\" could not be found".to_string()));
    let id = bench.run(JobType::Batch, r#"[{"Name":"main","Driver":"raw_exec","Config":{}}]"#);
    assert!(
        events(&bench.servers.status(&id, ClientStatus::Failed).await, "main")
            .contains(&"Failed Validation".to_string())
    );
    let id = bench.run(JobType::Batch, r#"[{"Name":"main","Driver":"nope"}]"#);
    assert!(
        events(&bench.servers.status(&id, ClientStatus::Failed).await, "main").contains(&"Driver Failure".to_string())
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_follow_each_other_through_their_lifecycle() {
    let bench = Bench::new("lifecycle").await;
    let hook = |hook: LifecycleHook, sidecar: bool| format!(r#","Lifecycle":{{"Hook":"{hook}","Sidecar":{sidecar}}}"#);
    let tasks = [
        mock("init", r#"{"run_for":"100ms"}"#, &hook(LifecycleHook::Prestart, false)),
        mock("side", r#"{"run_for":"1h"}"#, &hook(LifecycleHook::Prestart, true)),
        mock("main", r#"{"run_for":"300ms"}"#, r#","Leader":true"#),
        mock("post", r#"{"run_for":"50ms"}"#, &hook(LifecycleHook::Poststart, false)),
        mock("stop", r#"{"run_for":"50ms"}"#, &hook(LifecycleHook::Poststop, false)),
    ];
    let id = bench.run(JobType::Batch, &format!("[{}]", tasks.join(",")));
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    let want = ["Received", "Task Setup", "Started", "Leader Task Dead", "Killing", "Terminated", "Killed"];
    assert_eq!(events(&alloc, "side"), want);
    for task in ["init", "main", "post", "stop"] {
        assert_eq!(events(&alloc, task), ["Received", "Task Setup", "Started", "Terminated"], "{task}");
    }
    let at = |task: &str| {
        let state = alloc.task_states.get(task).expect("a state");
        (state.started_at, state.finished_at)
    };
    assert!(at("init").1 <= at("main").0 && at("main").0 <= at("post").0, "{alloc:?}");
    assert!(at("side").1 <= at("stop").0 && at("main").1 <= at("side").1, "{alloc:?}");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_siblings_stop_the_others() {
    let bench = Bench::new("sibling").await;
    let tasks = [mock("bad", r#"{"run_for":"50ms","exit_code":2}"#, ""), mock("good", r#"{"run_for":"1h"}"#, "")];
    let id = bench.run(JobType::Service, &format!("[{}]", tasks.join(",")));
    let alloc =
        bench.servers.wait(&id, "the sibling is dead", |a| events(a, "good").contains(&"Killed".to_string())).await;
    assert_eq!(
        events(&alloc, "good"),
        ["Received", "Task Setup", "Started", "Sibling Task Failed", "Killing", "Terminated", "Killed"]
    );
    assert_eq!(texts(&alloc, "good")[3], "Task's sibling \"bad\" failed");
    assert_eq!(
        (&alloc.client_status, alloc.task_states.get("good").expect("a state").failed),
        (&ClientStatus::Failed, false)
    );
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_follow_the_policy() {
    let bench = Bench::new("restart").await;
    let policy = r#","RestartPolicy":{"Attempts":2,"Interval":60000000000,"Delay":10000000,"Mode":"fail"}"#;
    let id = bench.run(JobType::Service, &format!("[{}]", mock("main", r#"{"exit_code":3}"#, policy)));
    let alloc = bench.servers.status(&id, ClientStatus::Failed).await;
    assert_eq!(alloc.task_states.get("main").expect("a state").restarts, 2);
    let kinds = events(&alloc, "main");
    assert_eq!(kinds.iter().filter(|k| *k == "Started").count(), 3, "{kinds:?}");
    let last = texts(&alloc, "main").pop().unwrap();
    assert_eq!(last, "Exceeded allowed attempts 2 in interval 1m0s and mode is \"fail\"");
    let start = mock("main", r#"{"start_error":"no","start_error_recoverable":true}"#, policy);
    let id = bench.run(JobType::Service, &format!("[{start}]"));
    let alloc = bench.servers.status(&id, ClientStatus::Failed).await;
    assert_eq!(events(&alloc, "main").iter().filter(|k| *k == "Driver Failure").count(), 3);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_delays_are_waited_for_or_skipped() {
    let bench = Bench::new("delay").await;
    let task = mock("main", r#"{"run_for":"1h"}"#, r#","ShutdownDelay":300000000"#);
    let id = bench.run(JobType::Service, &format!("[{task}]"));
    bench.servers.status(&id, ClientStatus::Running).await;
    let begin = Instant::now();
    bench.servers.stop(&id);
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    assert!(begin.elapsed() >= Duration::from_millis(300));
    let want = ["Received", "Task Setup", "Started", "Killing", "Waiting for shutdown delay", "Terminated", "Killed"];
    assert_eq!(events(&alloc, "main"), want);
    let hour = with_group(alloc_of(&task), |g| g.shutdown_delay = Some(HOUR));
    let id = hour.id.clone();
    bench.servers.write(hour);
    bench.servers.status(&id, ClientStatus::Running).await;
    bench.servers.change(&id, |a| {
        a.desired_status = DesiredStatus::Stop;
        a.desired_transition.no_shutdown_delay = Some(true);
    });
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    assert!(events(&alloc, "main").contains(&"Skipping shutdown delay".to_string()));
    bench.end().await;
}

fn alloc_of(task: &str) -> Allocation {
    alloc(JobType::Service, &format!("[{task}]"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_reported_after_min_healthy_time() {
    let bench = Bench::new("health").await;
    let update = UpdateStrategy {
        max_parallel: 1,
        health_check: "task_states".into(),
        min_healthy_time: 100_000_000,
        healthy_deadline: 400_000_000,
        ..UpdateStrategy::default()
    };
    let deployed = |task: &str| {
        let a = with_group(alloc_of(task), |g| g.update = Some(update.clone()));
        Allocation { deployment_id: "d".into(), ..a }
    };
    let good = deployed(&mock("main", r#"{"run_for":"1h"}"#, ""));
    let bad = deployed(&mock("main", r#"{"start_block_for":"1h"}"#, ""));
    let (good_id, bad_id) = (good.id.clone(), bad.id.clone());
    bench.servers.write(good);
    bench.servers.write(bad);
    let alloc = bench.servers.wait(&good_id, "health", |a| a.health().is_some()).await;
    assert_eq!(alloc.health(), Some(true));
    let alloc = bench.servers.wait(&bad_id, "health", |a| a.health().is_some()).await;
    assert_eq!(alloc.health(), Some(false));
    assert_eq!(texts(&alloc, "main").pop().unwrap(), "Task not running by healthy_deadline of 400ms");
    // A task that never starts does not block the others.
    drop(bench.client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_that_ran_too_long_is_complete() {
    let bench = Bench::new("max").await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let alloc = with_group(
        alloc(JobType::Batch, &format!("[{}]", mock("main", r#"{"run_for":"1h","exit_code":1}"#, ""))),
        |g| {
            g.max_run_duration = Some(300_000_000);
        },
    );
    let alloc = Allocation { create_time: i64::try_from(now).unwrap(), ..alloc };
    let id = alloc.id.to_string();
    bench.servers.write(alloc);
    let alloc = bench.servers.status(&id, ClientStatus::Complete).await;
    assert_eq!(alloc.client_description, "allocation exceeded max_run_duration");
    let killing = alloc
        .task_states
        .get("main")
        .expect("a state")
        .events
        .iter()
        .find(|e| e.r#type == TaskEventType::Killing)
        .unwrap();
    assert_eq!(killing.display_message, "exceeded max_run_duration");
    let details = [("kill_reason", "exceeded max_run_duration"), ("kill_timeout", "5s")];
    assert_eq!(killing.details, details.map(|(k, v)| (k.to_string(), v.to_string())).into());
    bench.end().await;
}
