//! Local collection: pinned disks, slots, and the order after a restart.

use super::*;

/// A node that keeps its state, in a directory; it removes the oldest allocations until `limit` are left.
async fn node(servers: &Arc<Fake>, dir: &TempDir, limit: usize, slots: usize) -> Client {
    let base = config(&dir.0);
    let gc = GcConfig { max_allocs: limit, parallel_destroys: slots, ..base.gc.clone() };
    Client::start(Config { dev: false, gc, ..base }, AgentServices::new(servers.clone())).await.unwrap()
}

async fn stop(client: Client) {
    tokio::time::timeout(PATIENCE, client.shutdown()).await.expect("the node stops");
}

fn files(dir: &TempDir, id: &str) -> PathBuf {
    dir.0.join("alloc").join(id)
}

async fn gone(dir: &TempDir, id: &str) {
    until(&format!("the files of {id} are gone"), || (!files(dir, id).exists()).then_some(())).await;
}

/// An allocation whose disk is sticky.
fn sticky(alloc: Allocation) -> Allocation {
    let disk = EphemeralDisk { sticky: true, ..EphemeralDisk::default() };
    with_group(alloc, |g| g.ephemeral_disk = Some(disk))
}

/// Writes an allocation; gives its ID.
fn write(servers: &Fake, alloc: Allocation) -> String {
    let id = alloc.id.to_string();
    servers.write(alloc);
    id
}

/// Runs an allocation that ends at once, and waits until it has ended.
async fn ended(servers: &Fake) -> String {
    let id = write(servers, alloc(JobType::Batch, &format!("[{}]", mock("main", "{}", ""))));
    servers.status(&id, ClientStatus::Complete).await;
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_is_not_collected_before_its_replacement_has_it() {
    let (servers, dir) = (Fake::new(), TempDir::new("pinned"));
    let client = node(&servers, &dir, 1, 2).await;
    let endless = format!("[{}]", mock("main", r#"{"run_for":"1h"}"#, ""));
    let victim = write(&servers, alloc(JobType::Service, &endless));
    let writer =
        shell("main", "echo kept > $NOMAD_ALLOC_DIR/data/x; trap 'exit 0' INT; while :; do sleep 0.05; done", "");
    let old = write(&servers, sticky(alloc(JobType::Service, &format!("[{writer}]"))));
    for id in [&victim, &old] {
        servers.status(id, ClientStatus::Running).await;
    }
    let written = files(&dir, &old).join("alloc/data/x");
    until("the file", || written.exists().then_some(())).await;
    // The replacement also waits for an allocation that goes on, so that the predecessor has ended long before.
    let reader = shell("main", "cat $NOMAD_ALLOC_DIR/data/x; exec sleep 1000", "");
    let new = write(
        &servers,
        Allocation {
            previous_allocation: Text::from(&old),
            preempted_allocations: [Text::from(&victim)].into(),
            ..sticky(alloc(JobType::Service, &format!("[{reader}]")))
        },
    );
    servers.stop(&old);
    servers.status(&old, ClientStatus::Complete).await;
    let pinned = |client: &Client| {
        let (handle, old) = (client.handle(), old.clone());
        async move { handle.gc_alloc(&old).await.unwrap_err().to_string() }
    };
    let refused = "No such allocation on client, or allocation not eligible for GC";
    assert_eq!(pinned(&client).await, refused);
    // A younger one goes instead of it, also after a restart of the node.
    let other = ended(&servers).await;
    gone(&dir, &other).await;
    stop(client).await;
    let client = node(&servers, &dir, 1, 2).await;
    let other = ended(&servers).await;
    gone(&dir, &other).await;
    client.handle().gc_all();
    assert_eq!(pinned(&client).await, refused);
    assert!(written.exists());
    assert_eq!(servers.alloc(&new).client_status, ClientStatus::Pending);
    servers.stop(&victim);
    servers.status(&new, ClientStatus::Running).await;
    gone(&dir, &old).await;
    let log = files(&dir, &new).join("alloc/logs/main.stdout.0");
    until("the output", || (std::fs::read_to_string(&log).ok()? == "kept\n").then_some(())).await;
    servers.stop(&new);
    servers.status(&new, ClientStatus::Complete).await;
    stop(client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_whose_replacement_is_postponed_is_not_collected() {
    let (servers, dir) = (Fake::new(), TempDir::new("postponed"));
    let client = node(&servers, &dir, 50, 2).await;
    let failing = format!("[{}]", mock("main", r#"{"exit_code":1}"#, ""));
    let failed = Allocation { followup_eval_id: "later".into(), ..sticky(alloc(JobType::Service, &failing)) };
    let failed = write(&servers, failed);
    servers.status(&failed, ClientStatus::Failed).await;
    let other = ended(&servers).await;
    client.handle().gc_all();
    gone(&dir, &other).await;
    assert!(files(&dir, &failed).exists() && client.handle().gc_alloc(&failed).await.is_err());
    // The servers stop it: a replacement elsewhere has no use for the disk.
    servers.stop(&failed);
    let end = Instant::now() + PATIENCE;
    while let Err(error) = client.handle().gc_alloc(&failed).await {
        assert!(Instant::now() < end, "{error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!files(&dir, &failed).exists());
    stop(client).await;
}

/// Removes a running allocation whose end takes three seconds, while three others are over the limit. Tells whether one
/// of those was removed meanwhile.
async fn beside_a_slow_removal(name: &str, slots: usize) -> bool {
    let (servers, dir) = (Fake::new(), TempDir::new(name));
    let client = node(&servers, &dir, 50, slots).await;
    let endless = alloc(JobType::Service, &format!("[{}]", mock("main", r#"{"run_for":"1h"}"#, "")));
    let slow = write(&servers, with_group(endless, |g| g.shutdown_delay = Some(3 * SECOND)));
    servers.status(&slow, ClientStatus::Running).await;
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(ended(&servers).await);
    }
    servers.forget(&slow);
    // It is ended when its record says so.
    let record = dir.0.join("client/allocs").join(&slow).join("state.json");
    let begun = || std::fs::read_to_string(&record).ok().filter(|text| text.contains(r#""removal":{"#));
    until("it is being removed", begun).await;
    client.handle().gc_all();
    let mut meanwhile = false;
    until("the slow one is gone", || {
        let some = others.iter().any(|id| !files(&dir, id).exists());
        let there = files(&dir, &slow).exists();
        meanwhile |= some && there;
        (!there).then_some(())
    })
    .await;
    for id in &others {
        gone(&dir, id).await;
    }
    stop(client).await;
    meanwhile
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allocation_that_takes_long_to_end_holds_no_slot() {
    assert!(beside_a_slow_removal("slots-2", 2).await);
    assert!(beside_a_slow_removal("slots-1", 1).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_allocations_end_all_at_once() {
    const COUNT: usize = 12;
    const KILL_TIMEOUT: Duration = Duration::from_secs(3);
    let (servers, dir) = (Fake::new(), TempDir::new("forgotten"));
    let client = node(&servers, &dir, 50, 1).await;
    // Only SIGKILL ends it.
    let stubborn = "trap '' INT TERM; touch $NOMAD_TASK_DIR/ready; while :; do sleep 0.05; done";
    let task = shell("main", stubborn, r#","KillTimeout":3000000000"#);
    let all = |_| write(&servers, alloc(JobType::Service, &format!("[{task}]")));
    let ids: Vec<String> = (0..COUNT).map(all).collect();
    for id in &ids {
        let ready = files(&dir, id).join("main/local/ready");
        until("the task ignores signals", || ready.exists().then_some(())).await;
    }
    let begin = Instant::now();
    ids.iter().for_each(|id| servers.forget(id));
    for id in &ids {
        gone(&dir, id).await;
    }
    let took = begin.elapsed();
    assert!(took >= KILL_TIMEOUT, "the tasks did not ignore the signal: {took:?}");
    // One after the other, they would take twelve times as long as one; in pairs, six times.
    assert!(took < KILL_TIMEOUT * 4, "{took:?}");
    stop(client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_ending_survives_a_restart() {
    let (servers, dir) = (Fake::new(), TempDir::new("order"));
    let client = node(&servers, &dir, 50, 1).await;
    // They end in an order that is not the order of their IDs.
    let wait = |millis: u32| format!("[{}]", mock("main", &format!(r#"{{"run_for":"{millis}ms"}}"#), ""));
    let ids: Vec<String> = [900, 300, 600].iter().map(|n| write(&servers, alloc(JobType::Batch, &wait(*n)))).collect();
    for id in &ids {
        servers.status(id, ClientStatus::Complete).await;
    }
    stop(client).await;
    // A record of an earlier build has no mark: the end of the task counts.
    let path = dir.0.join("client/allocs").join(&ids[2]).join("state.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let json: serde_json::Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    assert!(json["marked"].as_i64().unwrap() > 0);
    let mut old = json.as_object().unwrap().clone();
    old.remove("marked");
    std::fs::write(&path, serde_json::to_vec(&old).unwrap()).unwrap();
    let mut left = [true; 3];
    for (limit, next) in [(2, 1), (1, 2), (0, 0)] {
        let client = node(&servers, &dir, limit, 1).await;
        gone(&dir, &ids[next]).await;
        left[next] = false;
        stop(client).await;
        assert_eq!(ids.iter().map(|id| files(&dir, id).exists()).collect::<Vec<_>>(), left);
    }
}
