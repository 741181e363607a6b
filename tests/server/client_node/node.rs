//! How the node reports to its servers, restarts, and collects garbage.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_registers_and_beats_and_registers_again() {
    let bench = Bench::with("register", |c| c.meta = [("rack".to_string(), "r1".to_string())].into()).await;
    until("beats", || (bench.servers.known.lock().unwrap().beats > 2).then_some(())).await;
    let node = bench.servers.known.lock().unwrap().nodes[0].clone();
    assert_eq!((node.status, node.meta["rack"].as_str()), (NodeStatus::Initializing, "r1"));
    assert_eq!(node.drivers["raw_exec"].health_description, "Healthy");
    assert_eq!((node.attributes["driver.mock_driver"].as_str(), node.id), ("1", bench.handle().node_id()));
    bench.servers.known.lock().unwrap().forgot = true;
    until("a second registration", || (bench.servers.known.lock().unwrap().nodes.len() > 1).then_some(())).await;
    assert_eq!(bench.servers.known.lock().unwrap().nodes[1].status, NodeStatus::Ready);
    let stats = bench.handle().stats();
    assert_eq!((stats["known_servers"].as_str(), stats["heartbeat_ttl"].as_str()), ("s1", "50ms"));
    bench.end().await;
}

/// Whether a process exists and has not ended.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_outlive_the_agent() {
    let (servers, dir) = (Fake::new(), TempDir::new("outlive"));
    let settings = || Config { dev: false, ..config(&dir.0) };
    let start = async || Client::start(settings(), AgentServices::new(servers.clone())).await.unwrap();
    let client = start().await;
    let node_id = client.handle().node_id();
    let alloc = alloc(JobType::Service, &format!("[{}]", shell("main", "echo $$; exec sleep 1000", "")));
    let id = alloc.id.clone();
    servers.write(alloc);
    let before = servers.status(&id, ClientStatus::Running).await.task_states.get("main").expect("a state");
    tokio::time::timeout(PATIENCE, client.shutdown()).await.unwrap();
    let log = dir.0.join("alloc").join(&id).join("alloc/logs/main.stdout.0");
    let pid: u32 = until("the number", || std::fs::read_to_string(&log).ok()?.trim().parse().ok()).await;
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "the task stays");

    let client = start().await;
    assert_eq!(client.handle().node_id(), node_id, "the node keeps its ID");
    until("statistics", || client.handle().knows(&id).then_some(())).await;
    until("the task is found again", || {
        let state = client.handle().alloc_stats(&id, "").ok()?;
        state.tasks.is_empty().then_some(())
    })
    .await;
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    let end = Instant::now() + PATIENCE;
    while let Err(error) = client.handle().signal(&id, "main", "SIGNULL").await {
        // Retries until its process is found.
        assert!(error.to_string() == "Task not running" && Instant::now() < end, "{error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let alloc = servers.wait(&id, "the signal", |a| events(a, "main").contains(&"Signaling".to_string())).await;
    assert_eq!(events(&alloc, "main"), ["Received", "Task Setup", "Started", "Signaling"]);
    assert_eq!(
        alloc.task_states.get("main").expect("a state").started_at,
        before.started_at,
        "it was not started again"
    );

    // Killed while the agent is stopped, together with the process that held it.
    tokio::time::timeout(PATIENCE, client.shutdown()).await.unwrap();
    let state = std::fs::read_to_string(dir.0.join("client/allocs").join(&id).join("state.json")).unwrap();
    // The first line is the checksum.
    let state: serde_json::Value = serde_json::from_str(state.split_once('\n').unwrap().1).unwrap();
    let supervisor = state["tasks"]["main"]["handle"]["supervisor"].to_string();
    for pid in [supervisor.as_str(), &pid.to_string()] {
        let process = pid.parse().ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        // The first one may take the other with it.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        until("its end", || (!is_alive(pid)).then_some(())).await;
    }
    let client = start().await;
    let alloc =
        servers.wait(&id, "a new start", |a| events(a, "main").iter().filter(|e| *e == "Started").count() == 2).await;
    let want = ["Received", "Task Setup", "Started", "Signaling", "Failed Restoring Task", "Started"];
    assert_eq!(
        (events(&alloc, "main"), alloc.task_states.get("main").expect("a state").restarts),
        (want.map(String::from).into(), 0),
        "{alloc:?}"
    );
    servers.stop(&id);
    servers.status(&id, ClientStatus::Complete).await;
    tokio::time::timeout(PATIENCE, client.shutdown()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_statuses_do_not_change_after_a_crash() {
    let bench = Bench::with("ended", |c| c.dev = false).await;
    let tasks = format!("[{}]", mock("main", r#"{"run_for": "10ms"}"#, ""));
    let id = bench.run(JobType::Batch, &tasks);
    let reported = bench.servers.status(&id, ClientStatus::Complete).await;
    let servers = bench.servers.clone();
    let dir = bench.end().await;
    // The agent was killed while it removed the allocation: the files are removed before the stored state.
    for gone in ["alloc", "client/allocs"] {
        unmount_below(&dir.0);
        std::fs::remove_dir_all(dir.0.join(gone).join(&id)).unwrap();
        let client =
            Client::start(Config { dev: false, ..config(&dir.0) }, AgentServices::new(servers.clone())).await.unwrap();
        let later = alloc(JobType::Batch, &tasks);
        servers.write(later.clone());
        servers.status(&later.id, ClientStatus::Complete).await;
        tokio::time::timeout(PATIENCE, client.shutdown()).await.expect("the node stops");
        let now = servers.alloc(&id);
        assert_eq!((&now.client_status, &now.task_states), (&reported.client_status, &reported.task_states), "{gone}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_agent_does_not_get_the_directory() {
    let (servers, dir) = (Fake::new(), TempDir::new("lock"));
    let settings = || Config { dev: false, ..config(&dir.0) };
    let client = Client::start(settings(), AgentServices::new(servers.clone())).await.unwrap();
    let error = Client::start(settings(), AgentServices::new(servers.clone())).await.err().unwrap().to_string();
    assert!(
        error.starts_with("timed out while opening database, is another Nomad process accessing data_dir"),
        "{error}"
    );
    client.shutdown().await;
    let client = Client::start(settings(), AgentServices::new(servers)).await.unwrap();
    client.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminal_allocations_are_collected_on_request() {
    let bench = Bench::new("gc").await;
    let running = bench.run(JobType::Service, &format!("[{}]", mock("main", r#"{"run_for":"1h"}"#, "")));
    let dead = bench.run(JobType::Batch, &format!("[{}]", mock("main", "{}", "")));
    bench.servers.status(&running, ClientStatus::Running).await;
    bench.servers.status(&dead, ClientStatus::Complete).await;
    let files = |id: &str| bench.dir.0.join("alloc").join(id).exists();
    let error = bench.handle().gc_alloc(&running).await.unwrap_err();
    assert_eq!(error.to_string(), "No such allocation on client, or allocation not eligible for GC");
    assert_eq!(bench.handle().gc_alloc("nope").await.unwrap_err().status(), 404);
    assert!(files(&dead));
    bench.handle().gc_alloc(&dead).await.unwrap();
    assert!(!files(&dead) && files(&running) && bench.handle().knows(&dead));
    assert_eq!(bench.handle().stats()["num_allocations"], "1");
    bench.servers.forget(&dead);
    until("it is forgotten", || (!bench.handle().knows(&dead)).then_some(())).await;
    // Allocations that the servers removed are stopped and collected.
    bench.servers.forget(&running);
    until("its files are gone", || (!files(&running)).then_some(())).await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_allocations_cause_collection_of_the_oldest() {
    let bench = Bench::with("pressure", |c| c.gc.max_allocs = 2).await;
    let task = format!("[{}]", mock("main", "{}", ""));
    let ids: Vec<String> = (0..2).map(|_| bench.run(JobType::Batch, &task)).collect();
    for id in &ids {
        bench.servers.status(id, ClientStatus::Complete).await;
    }
    let there = |id: &String| bench.dir.0.join("alloc").join(id).exists();
    assert!(ids.iter().all(there), "two are not over the limit of two");
    let third = bench.run(JobType::Service, &format!("[{}]", mock("main", r#"{"run_for":"1h"}"#, "")));
    until("one of the dead goes", || (!ids.iter().all(there)).then_some(())).await;
    assert!(there(&third));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allocations_that_cannot_be_added_are_reported() {
    let bench = Bench::new("refuse").await;
    let bad =
        Allocation { task_group: "nope".into(), ..alloc(JobType::Batch, &format!("[{}]", mock("main", "{}", ""))) };
    let id = bad.id.clone();
    bench.servers.write(bad);
    let alloc = bench.servers.status(&id, ClientStatus::Failed).await;
    let want = "Unable to add allocation due to error: task group \"nope\" not found in the job";
    assert_eq!(alloc.client_description, want);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_servers_runs_on_and_stops_what_must_not() {
    let bench = Bench::new("disconnect").await;
    let task = format!("[{}]", mock("main", r#"{"run_for":"1h"}"#, ""));
    let short = with_group(alloc(JobType::Service, &task), |g| {
        g.disconnect = Some(DisconnectStrategy { stop_on_client_after: Some(SECOND), ..DisconnectStrategy::default() });
    });
    let (short_id, long_id) = (short.id.clone(), bench.run(JobType::Service, &task));
    bench.servers.write(short);
    bench.servers.status(&short_id, ClientStatus::Running).await;
    bench.servers.status(&long_id, ClientStatus::Running).await;
    bench.servers.known.lock().unwrap().down = true;
    let files = |id: &str| bench.dir.0.join("alloc").join(id).exists();
    until("the first is stopped", || (!files(&short_id)).then_some(())).await;
    assert!(files(&long_id));
    bench.servers.known.lock().unwrap().down = false;
    bench.servers.status(&short_id, ClientStatus::Complete).await;
    bench.servers.change(&long_id, |a| a.client_status = ClientStatus::Unknown);
    let alloc = bench.servers.status(&long_id, ClientStatus::Running).await;
    assert_eq!(events(&alloc, "main"), ["Received", "Task Setup", "Started", "Reconnected"]);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_waits_for_its_predecessor_and_takes_its_disk() {
    let bench = Bench::new("sticky").await;
    let writer =
        shell("main", "echo kept > $NOMAD_ALLOC_DIR/data/x; trap 'exit 0' INT; while :; do sleep 0.05; done", "");
    let old = bench.run(JobType::Service, &format!("[{writer}]"));
    bench.servers.status(&old, ClientStatus::Running).await;
    let written = bench.dir.0.join("alloc").join(&old).join("alloc/data/x");
    until("the file", || written.exists().then_some(())).await;
    let reader = format!("[{}]", shell("main", "cat $NOMAD_ALLOC_DIR/data/x", ""));
    let new = with_group(alloc(JobType::Batch, &reader), |g| {
        g.ephemeral_disk = Some(EphemeralDisk { sticky: true, ..EphemeralDisk::default() });
    });
    let new = Allocation { previous_allocation: old.clone(), ..new };
    let id = new.id.clone();
    bench.servers.write(new);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bench.servers.alloc(&id).client_status, ClientStatus::Pending);
    bench.servers.stop(&old);
    bench.servers.status(&id, ClientStatus::Complete).await;
    let log = bench.dir.0.join("alloc").join(&id).join("alloc/logs/main.stdout.0");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "kept\n");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_development_node_leaves_nothing_behind() {
    let bench = Bench::new("dev").await;
    let id = bench.run(JobType::Service, &format!("[{}]", shell("main", "echo $$; exec sleep 1000", "")));
    bench.servers.status(&id, ClientStatus::Running).await;
    let log = bench.dir.0.join("alloc").join(&id).join("alloc/logs/main.stdout.0");
    let pid: u32 = until("the number", || std::fs::read_to_string(&log).ok()?.trim().parse().ok()).await;
    let dir = bench.end().await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists() && !dir.0.join("alloc").join(&id).exists());
}
