//! Tests with a shell script in place of the agent. The tests of the program start real agents.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const WEB: GroupId<'static> = GroupId { pool: "web", region: "here" };

/// The default behaviour of the agent: it runs a task that outlives it, and ends on a signal.
const AGENT: &str = "trap 'exit 1' TERM; setsid sleep 1000 & echo $! > task; while :; do sleep 0.02; done";

/// Where a test works. What runs there is ended with it.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("encamp-local-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let place = Place(path);
        // Written by another process: a program that a process has open for writing cannot be run.
        let script = "printf '#!/bin/sh\\necho \"$@\" > arguments\\n. \"$4\"\\n' > \"$0\" && chmod +x \"$0\"";
        let made = std::process::Command::new("sh").args(["-c", script]).arg(place.program()).status().unwrap();
        assert!(made.success());
        place.agent(AGENT);
        place
    }

    /// Says what agents do from now on.
    fn agent(&self, text: &str) {
        std::fs::write(self.0.join("worker.hcl"), text).unwrap();
    }

    fn program(&self) -> PathBuf {
        self.0.join("program")
    }

    fn settings(&self) -> LocalSettings {
        let (config, servers) = (self.0.join("worker.hcl"), vec!["127.0.0.1:4647".to_string()]);
        let group = LocalGroup { min: 1, max: 4, desired: 2, config, servers };
        let groups = [("web".to_string(), group)].into();
        LocalSettings { directory: self.0.join("local"), program: self.program(), groups }
    }

    /// The provider, as of a process that has just started.
    fn local(&self) -> Local {
        Local::new(self.settings())
    }

    fn group_directory(&self) -> PathBuf {
        self.0.join("local/web")
    }

    fn store(&self) -> Store {
        Store::open(&self.group_directory()).unwrap()
    }

    /// The process of an instance, and that of its task.
    fn processes(&self, id: &str) -> [Process; 2] {
        let entry = self.store().load(0).unwrap().instances[id];
        let file = self.group_directory().join(id).join("task");
        let task = wait(|| std::fs::read_to_string(&file).ok()?.trim().parse().ok().and_then(Process::of));
        [entry.process.unwrap(), task]
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for directory in std::fs::read_dir(self.group_directory()).into_iter().flatten().flatten() {
            process::end_leftovers(&self.program(), &directory.path());
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until something is there.
fn wait<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The IDs of instances in that state.
async fn ids(local: &Local, state: InstanceState) -> Vec<String> {
    let group = local.group(WEB).await.unwrap();
    group.instances.into_iter().filter(|i| i.state == state).map(|i| i.id).collect()
}

async fn active_ids(local: &Local) -> Vec<String> {
    ids(local, InstanceState::Active).await
}

#[tokio::test]
async fn instances_start_with_their_configuration_and_outlive_the_provider() {
    let place = Place::new();
    let local = place.local();
    assert_eq!(local.reconcile().await, Vec::new());
    let ids = active_ids(&local).await;
    assert_eq!(ids.len(), 2);
    let directory = place.group_directory().join(&ids[0]);
    let arguments = wait(|| std::fs::read_to_string(directory.join("arguments")).ok().filter(|t| t.ends_with('\n')));
    let (user, own) = (place.0.join("worker.hcl"), directory.join("instance.json"));
    assert_eq!(arguments, format!("agent -client -config {} -config {}\n", user.display(), own.display()));
    let generated: serde_json::Value = serde_json::from_slice(&std::fs::read(own).unwrap()).unwrap();
    assert_eq!(generated["client"]["meta"]["unique.platform.aws.instance-id"], ids[0].as_str());
    assert_eq!(generated["client"]["servers"][0], "127.0.0.1:4647");
    assert_eq!(generated["data_dir"], directory.join("data").display().to_string());
    assert_eq!(generated["log_file"], directory.join("agent.log").display().to_string());
    let bound = generated["log_rotate_bytes"].as_u64().zip(generated["log_rotate_max_files"].as_u64());
    assert_eq!(bound, Some((4 << 20, 2)), "the log is bounded");
    let before = ids.clone().map_processes(&place);
    drop(local);
    let next = place.local();
    assert_eq!(active_ids(&next).await, ids, "they are found again");
    assert_eq!(ids.map_processes(&place), before);
}

trait MapProcesses {
    fn map_processes(self, place: &Place) -> Vec<Process>;
}

impl MapProcesses for Vec<String> {
    fn map_processes(self, place: &Place) -> Vec<Process> {
        self.iter().map(|id| place.processes(id)[0]).collect()
    }
}

#[tokio::test]
async fn the_size_is_followed_both_ways() {
    let place = Place::new();
    let local = place.local();
    let first = active_ids(&local).await;
    local.set_desired(WEB, 4).await.unwrap();
    let four = active_ids(&local).await;
    assert_eq!((four.len(), &four[..2]), (4, &first[..]));
    local.set_desired(WEB, 1).await.unwrap();
    assert_eq!(active_ids(&local).await, first[..1], "the newest end");
    wait(|| place.store().load(0).ok().filter(|g| !g.instances.is_empty()));
    let began = Instant::now();
    while !ids(&local, InstanceState::Leaving).await.is_empty() {
        assert!(began.elapsed() < STOP, "they end when they are asked to");
    }
    for id in &four[1..] {
        assert!(!place.group_directory().join(id).exists(), "{id}");
    }
    let bounds = |n| ProviderError::Failed(format!("a desired size of {n} is not within 1 and 4"));
    assert_eq!(local.set_desired(WEB, 5).await, Err(bounds(5)));
    assert_eq!(local.set_desired(WEB, 0).await, Err(bounds(0)));
}

#[tokio::test]
async fn termination_leaves_nothing_running() {
    let place = Place::new();
    let local = place.local();
    let before = active_ids(&local).await;
    let processes = place.processes(&before[0]);
    local.terminate(WEB, &before[0], false).await.unwrap();
    assert_eq!(processes.map(Process::runs), [false, false], "agent and task");
    assert!(!place.group_directory().join(&before[0]).exists());
    let replaced = active_ids(&local).await;
    assert_eq!((replaced.len(), &replaced[0]), (2, &before[1]), "another one takes its place");

    let processes = place.processes(&before[1]);
    local.terminate(WEB, &before[1], true).await.unwrap();
    assert_eq!(processes.map(Process::runs), [false, false]);
    let group = local.group(WEB).await.unwrap();
    assert_eq!((group.desired, group.instances.len()), (1, 1));
    let again = local.terminate(WEB, &before[1], true).await;
    let gone = format!("{} is not an instance of the scaling group web", before[1]);
    assert_eq!(again, Err(ProviderError::Failed(gone)));
    let last = local.terminate(WEB, &group.instances[0].id, true).await;
    assert_eq!(last, Err(ProviderError::Failed("a desired size of 0 is not within 1 and 4".into())));
    assert_eq!(active_ids(&local).await.len(), 1);
}

#[tokio::test]
async fn detached_instances_go_on() {
    let place = Place::new();
    let local = place.local();
    let before = active_ids(&local).await;
    local.detach(WEB, &before[0]).await.unwrap();
    local.detach(WEB, &before[0]).await.unwrap();
    let group = local.group(WEB).await.unwrap();
    assert_eq!((group.desired, group.instances.len(), group.has(&before[1])), (1, 1, true));
    let [agent, task] = place.processes(&before[0]);
    assert!(agent.runs() && task.runs());
    agent.signal(Signal::KILL);
    wait(|| (!agent.runs()).then_some(()));
    local.group(WEB).await.unwrap();
    assert!(!place.store().load(0).unwrap().instances.contains_key(&before[0]));
    assert!(place.group_directory().join(&before[0]).exists(), "it stays for inspection");
}

#[tokio::test]
async fn a_crash_between_note_and_start_leaves_one_instance() {
    let place = Place::new();
    let local = place.local();
    local.set_desired(WEB, 1).await.unwrap();
    let id = active_ids(&local).await.remove(0);
    let [agent, task] = place.processes(&id);
    drop(local);
    {
        // As if the provider had ended right after it started the instance.
        let store = place.store();
        let mut group = store.load(0).unwrap();
        let entry = group.instances.get_mut(&id).unwrap();
        (entry.state, entry.process) = (State::Starting, None);
        store.save(&group).unwrap();
    }
    let next = place.local();
    let after = active_ids(&next).await;
    assert!(after.len() == 1 && after[0] != id, "{after:?}");
    wait(|| (!agent.runs() && !task.runs()).then_some(()));
    // As if it had ended before it started one.
    drop(next);
    let [agent, _] = place.processes(&after[0]);
    {
        let store = place.store();
        let mut group = store.load(0).unwrap();
        group.desired = 2;
        let created = now();
        group.instances.insert("i-new".into(), Entry { state: State::Starting, process: None, created });
        store.save(&group).unwrap();
    }
    let last = active_ids(&place.local()).await;
    assert!(last.len() == 2 && last.contains(&after[0]) && !last.contains(&"i-new".to_string()), "{last:?}");
    assert!(agent.runs());
}

#[tokio::test]
async fn a_crash_while_one_ends_does_not_keep_it() {
    let place = Place::new();
    let local = place.local();
    let before = active_ids(&local).await;
    let processes = place.processes(&before[0]);
    drop(local);
    {
        let store = place.store();
        let mut group = store.load(0).unwrap();
        group.instances.get_mut(&before[0]).unwrap().state = State::Terminating;
        group.desired = 1;
        store.save(&group).unwrap();
    }
    let next = place.local();
    next.terminate(WEB, &before[0], true).await.unwrap();
    assert_eq!(processes.map(Process::runs), [false, false]);
    assert_eq!(next.group(WEB).await.unwrap().desired, 1, "it was decremented when it was noted");
    assert_eq!(active_ids(&next).await, before[1..]);
}

#[tokio::test]
async fn instances_that_end_are_replaced_but_not_for_ever_at_once() {
    let place = Place::new();
    let local = place.local();
    let before = active_ids(&local).await;
    let [agent, task] = place.processes(&before[0]);
    agent.signal(Signal::KILL);
    wait(|| (!agent.runs()).then_some(()));
    place.agent("echo started; echo a message > agent.log; echo no such thing >&2; exit 3");
    let began = Instant::now();
    while active_ids(&local).await.len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(20), "none takes its place");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!task.runs(), "its tasks end");
    // The one that took its place fails: there is a log, and a pause of 2 s.
    let log = place.group_directory().join("last-failure.log");
    while std::fs::read_to_string(&log).is_ok_and(|t| t != "a message\nno such thing\n") {
        assert!(began.elapsed() < Duration::from_secs(20), "no log");
        local.group(WEB).await.unwrap();
    }
    let mut seen = std::collections::BTreeSet::new();
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        seen.extend(active_ids(&local).await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), before[1..]);
}

#[test]
fn the_end_of_standard_error_is_kept_even_without_a_log() {
    let place = Place::new();
    let store = place.store();
    let instance = store.instance("i-1");
    store::make_directory(&instance).unwrap();
    let errors = [vec![b'x'; 100_000], b"the end\n".to_vec()].concat();
    std::fs::write(instance.join(ERRORS), &errors).unwrap();
    std::fs::write(place.group_directory().join("last-failure.log"), "an earlier one").unwrap();
    let kept = std::fs::read(store.keep_log(&instance)).unwrap();
    assert_eq!(kept, errors[errors.len() - (64 << 10)..]);
    std::fs::write(instance.join(LOG), "a message\n").unwrap();
    std::fs::write(instance.join(ERRORS), "").unwrap();
    assert_eq!(std::fs::read(store.keep_log(&instance)).unwrap(), b"a message\n");
    // A missing file is not retained, and is no error.
    std::fs::remove_file(instance.join(ERRORS)).unwrap();
    assert!(!store.keep_log(&instance).exists());
}

#[tokio::test]
async fn a_foreign_process_is_left_alone() {
    let place = Place::new();
    let local = place.local();
    local.set_desired(WEB, 1).await.unwrap();
    let id = active_ids(&local).await.remove(0);
    let [agent, _] = place.processes(&id);
    let mut foreign =
        std::process::Command::new("sleep").arg("60").stdout(std::process::Stdio::null()).spawn().unwrap();
    {
        // As after a restart of the machine: the ID of the process is used again.
        let store = place.store();
        let mut group = store.load(0).unwrap();
        group.instances.get_mut(&id).unwrap().process = Some(Process { pid: foreign.id(), start: agent.start - 1 });
        store.save(&group).unwrap();
    }
    let began = Instant::now();
    while place.group_directory().join(&id).exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "it stays");
        local.group(WEB).await.unwrap();
    }
    assert_eq!(foreign.try_wait().unwrap(), None);
    assert!(!agent.runs(), "it is found by its mark");
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let place = Place::new();
    let other = GroupId { pool: "other", region: "here" };
    let unknown = place.local().group(other).await;
    assert_eq!(unknown, Err(ProviderError::NoGroup("other is not configured".into())));
    let missing = Local::new(LocalSettings { program: "/nosuch/encamp".into(), ..place.settings() });
    let error = missing.group(WEB).await.unwrap_err().to_string();
    assert!(error.starts_with("an instance can't be started: /nosuch/encamp: No such file"), "{error}");
    assert_eq!(missing.reconcile().await, Vec::new(), "there is a pause");
    assert!(place.store().load(0).unwrap().instances.is_empty());
    std::fs::write(place.group_directory().join("group.json"), "{").unwrap();
    let failed = place.local().reconcile().await;
    let [(pool, ProviderError::Failed(text))] = failed.as_slice() else { panic!("{failed:?}") };
    assert!(pool == "web" && text.contains("group.json: EOF while parsing"), "{text}");
    let odd = r#"{"Version":1,"Desired":1,"Instances":{"../x":{"State":"running","Created":1}}}"#;
    std::fs::write(place.group_directory().join("group.json"), odd).unwrap();
    let error = place.local().group(WEB).await.unwrap_err().to_string();
    assert!(error.ends_with("\"../x\" is not an instance ID"), "{error}");
}

#[tokio::test]
async fn two_processes_share_a_directory() {
    let place = Place::new();
    let (one, two) = (place.local(), place.local());
    let (a, b) = tokio::join!(active_ids(&one), active_ids(&two));
    assert_eq!((a.len(), a), (2, b), "none is started twice");
}
