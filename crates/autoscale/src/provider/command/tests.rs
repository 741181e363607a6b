//! Well-behaved and misbehaving programs.

use std::time::Instant;

use rustix::process::{Pid, Signal};

use super::*;

const WEB: GroupId<'static> = GroupId { pool: "web", region: "eu-1" };

/// A shell script as the provider's program.
fn script(text: &str) -> Command {
    script_within(text, limits::CALL)
}

fn script_within(text: &str, timeout: Duration) -> Command {
    let arguments = ["-c", text].map(String::from).to_vec();
    Command::new(CommandSettings { program: "sh".into(), arguments, timeout })
}

/// A directory for what scripts write, removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("encamp-command-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until no process of that ID runs any more.
async fn ends(pid: &str) {
    let began = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{pid} goes on: {stat}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn every_verb_has_its_request() {
    let folder = Folder::new("verbs");
    let path = folder.0.join("requests");
    let p = script(&format!("cat >> '{0}'; echo >> '{0}'; echo '{{}}'", path.display()));
    p.set_desired(WEB, 5).await.unwrap();
    p.terminate(WEB, "i-1", true).await.unwrap();
    p.terminate(WEB, "i-2", false).await.unwrap();
    p.detach(WEB, "i-3").await.unwrap();
    let incomplete = p.group(WEB).await.unwrap_err();
    assert!(
        matches!(&incomplete, ProviderError::Invalid(m) if m.contains("missing field `Desired`")),
        "{incomplete:?}"
    );
    let requests = folder.read("requests");
    let want = [
        r#"{"Version":1,"Verb":"set_desired","Desired":5,"Pool":"web","Region":"eu-1"}"#,
        r#"{"Version":1,"Verb":"terminate","Instance":"i-1","Decrement":true,"Pool":"web","Region":"eu-1"}"#,
        r#"{"Version":1,"Verb":"terminate","Instance":"i-2","Decrement":false,"Pool":"web","Region":"eu-1"}"#,
        r#"{"Version":1,"Verb":"detach","Instance":"i-3","Pool":"web","Region":"eu-1"}"#,
        r#"{"Version":1,"Verb":"group","Pool":"web","Region":"eu-1"}"#,
    ];
    assert_eq!(requests.lines().collect::<Vec<_>>(), want);
}

#[tokio::test]
async fn a_group_is_read() {
    let reply = r#"{"Desired":2,"Min":1,"Max":4,"Instances":[
        {"ID":"i-1","State":"active"},{"ID":"i-2","State":"leaving","Zone":"a"}]}"#;
    let group = script(&format!("echo '{reply}'")).group(WEB).await.unwrap();
    let instance = |id: &str, state| Instance { id: id.into(), state };
    let instances = vec![instance("i-1", InstanceState::Active), instance("i-2", InstanceState::Leaving)];
    assert_eq!(group, ScalingGroup { desired: 2, min: 1, max: 4, instances });
    let unknown = r#"{"Desired":2,"Min":1,"Max":4,"Instances":[{"ID":"i-1","State":"ready"}]}"#;
    let wrong = script(&format!("echo '{unknown}'")).group(WEB).await.unwrap_err();
    assert!(matches!(&wrong, ProviderError::Invalid(m) if m.contains("unknown variant `ready`")), "{wrong:?}");
    let crossed = r#"{"Desired":2,"Min":5,"Max":4,"Instances":[]}"#;
    let wrong = script(&format!("echo '{crossed}'")).group(WEB).await.unwrap_err();
    assert!(matches!(&wrong, ProviderError::Invalid(m) if m.contains("more than the max size")), "{wrong:?}");
}

#[tokio::test]
async fn refusals_have_kinds() {
    let refusal = |kind: &str, status: u8| {
        let text = format!(r#"{{"Error":{{"Kind":"{kind}","Message":"no\u0007 way"}}}}"#);
        script(&format!("echo '{text}'; exit {status}"))
    };
    let message = || "no\\u{7} way".to_string();
    for (kind, status, want) in [
        ("no_group", 1, ProviderError::NoGroup(message())),
        ("throttled", 0, ProviderError::Throttled(message())),
        ("denied", 7, ProviderError::Denied(message())),
        ("failed", 0, ProviderError::Failed(message())),
    ] {
        assert_eq!(refusal(kind, status).set_desired(WEB, 1).await, Err(want), "{kind}");
    }
    let unknown = refusal("odd", 1).set_desired(WEB, 1).await;
    assert_eq!(unknown, Err(ProviderError::Failed("sh ended with exit status: 1".into())));
}

#[tokio::test]
async fn programs_that_fail() {
    let p = script("printf '\\nno \\033 key\\nsecond' >&2; exit 3");
    let want = ProviderError::Failed("sh ended with exit status: 3: no \\u{1b} key".into());
    assert_eq!(p.set_desired(WEB, 1).await, Err(want));
    let p = script("kill -TERM $$");
    let want = ProviderError::Failed("sh ended with signal: 15 (SIGTERM)".into());
    assert_eq!(p.set_desired(WEB, 1).await, Err(want));
    for (text, problem) in [("", "EOF while parsing"), ("echo ok", "expected value"), ("echo '{} {}'", "trailing")] {
        let error = script(&format!("{text}\necho why >&2")).set_desired(WEB, 1).await.unwrap_err();
        let ProviderError::Invalid(message) = &error else { panic!("{error:?}") };
        assert!(message.contains(problem) && message.ends_with(": why"), "{message}");
    }
    let settings = CommandSettings::new(&["/nosuch/program".to_string()]).unwrap();
    let missing = Command::new(settings).group(WEB).await.unwrap_err();
    assert_eq!(missing, ProviderError::Failed("/nosuch/program: No such file or directory (os error 2)".into()));
    assert_eq!(CommandSettings::new(&[]), None);
    assert_eq!(CommandSettings::new(&[String::new()]), None);
}

#[tokio::test]
async fn a_program_that_never_ends_is_killed_with_its_group() {
    let folder = Folder::new("endless");
    let pids = folder.0.join("pids");
    let text = format!("sleep 1000 & echo $! > '{0}.1'; echo $$ > '{0}.2'; wait", pids.display());
    let p = script_within(&text, Duration::from_millis(500));
    assert_eq!(p.group(WEB).await, Err(ProviderError::Timeout(1)));
    for name in ["pids.1", "pids.2"] {
        let pid = folder.read(name);
        assert_ne!(pid, "");
        ends(&pid).await;
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_the_program() {
    let folder = Folder::new("dropped");
    let file = folder.0.join("pid");
    let p = script(&format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 1000", file.display()));
    {
        let mut call = p.group(WEB);
        let began = Instant::now();
        while !file.exists() {
            assert!(began.elapsed() < Duration::from_secs(20), "it did not start");
            let waited = tokio::time::timeout(Duration::from_millis(5), &mut call).await;
            assert!(waited.is_err(), "{waited:?}");
        }
    }
    ends(&folder.read("pid")).await;
}

#[tokio::test]
async fn floods_are_cut() {
    let began = Instant::now();
    let error = script("exec yes").group(WEB).await;
    assert_eq!(error, Err(limits::too_long()));
    // All of a long stderr is read, its beginning is kept.
    let p = script("echo first >&2; head -c 30000000 /dev/zero >&2; exit 4");
    assert_eq!(p.detach(WEB, "i").await, Err(ProviderError::Failed("sh ended with exit status: 4: first".into())));
    assert!(began.elapsed() < limits::CALL, "it ended by its limit of time: {:?}", began.elapsed());
}

#[tokio::test]
async fn requests_need_not_be_read() {
    // More than a pipe takes.
    let long = "x".repeat(1 << 20);
    let group = GroupId { pool: &long, region: "r" };
    script("exec 0<&-; echo '{}'").set_desired(group, 1).await.unwrap();
    script("echo '{}'").set_desired(group, 1).await.unwrap();
    script("cat > /dev/null; echo '{}'").set_desired(group, 1).await.unwrap();
}

#[tokio::test]
async fn what_a_program_leaves_behind_does_not_hold_the_call() {
    let folder = Folder::new("left");
    let pid = folder.0.join("pid");
    let began = Instant::now();
    // In the group: it is killed.
    script(&format!("sleep 1000 & echo $! > '{}'; echo '{{}}'", pid.display())).detach(WEB, "i").await.unwrap();
    ends(&folder.read("pid")).await;
    // Outside of it: it keeps the pipes, and nobody waits for it.
    let p = script(&format!("setsid sleep 60 & echo $! > '{}'; sleep 0.2; echo '{{}}'", pid.display()));
    p.detach(WEB, "i").await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "it ended by its limit of time: {:?}", began.elapsed());
    let left = folder.read("pid").trim().parse().ok().and_then(Pid::from_raw).unwrap();
    rustix::process::kill_process(left, Signal::KILL).unwrap();
}

#[tokio::test]
async fn calls_run_beside_each_other() {
    let folder = Folder::new("beside");
    // Each waits for the other.
    let text = |own: &str, other: &str| {
        let (own, other) = (folder.0.join(own), folder.0.join(other));
        let (own, other) = (own.display().to_string(), other.display().to_string());
        script(&format!("touch '{own}'; until [ -e '{other}' ]; do sleep 0.01; done; echo '{{}}'"))
    };
    let (one, two) = (text("a", "b"), text("b", "a"));
    let (one, two) = tokio::join!(one.detach(WEB, "i"), two.detach(WEB, "i"));
    assert_eq!((one, two), (Ok(()), Ok(())));
}

#[tokio::test]
async fn the_environment_is_passed_on() {
    let home = std::env::var("PATH").unwrap();
    let error = script("echo \"$PATH\" >&2; exit 1").group(WEB).await.unwrap_err();
    let ProviderError::Failed(text) = error else { panic!("{error:?}") };
    assert!(text.ends_with(&limits::message(home.as_bytes())), "{text}");
}
