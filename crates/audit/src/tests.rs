use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::event::NodeMeta;
use crate::file::LogFile;
use encamp_host::ids;
use encamp_telemetry::Metrics;

/// A temporary directory of a test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("encamp-audit-{}", ids::uuid()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("a file")
    }

    pub(crate) fn file(&self) -> FileSettings {
        let path = self.0.join("audit.log");
        FileSettings { path, rotate_bytes: 0, rotate_duration: Duration::ZERO, rotate_max_files: 0, mode: 0o600 }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn event(endpoint: &str, response: Option<ResponseInfo>) -> Event {
    let request = RequestInfo { endpoint: endpoint.into(), operation: "GET".into(), ..RequestInfo::default() };
    Event::new(PayloadKind::Audit, "row".into(), 1_000_000_000, Auth::default(), request, response)
}

pub(crate) fn log(sinks: Vec<SinkSettings>, metrics: &Metrics) -> AuditLog {
    let settings = Settings { sinks, filters: Filters::default(), key: None, node: NodeMeta::default() };
    AuditLog::open(settings, metrics).expect("an audit log")
}

pub(crate) fn sink(guarantee: Guarantee, file: FileSettings) -> SinkSettings {
    SinkSettings { name: "file".into(), guarantee, file }
}

#[test]
fn a_row_is_one_line_of_json() {
    let auth = Auth {
        r#type: AuthKind::Token,
        accessor_id: "acc".into(),
        name: "ci\n\"x\"".into(),
        global: Some(false),
        ..Auth::default()
    };
    let decisions = vec![Decision { right: "namespace read-job".into(), on: "default".into(), allowed: true }];
    let response =
        ResponseInfo { status_code: 200, allowed: true, decisions, index: Some(7), ..ResponseInfo::default() };
    let request = RequestInfo {
        id: "request".into(),
        operation: "DELETE".into(),
        endpoint: "/v1/job/web".into(),
        route: "/v1/job/{*id}".into(),
        parameters: [("id".to_string(), "web".to_string())].into(),
        ..RequestInfo::default()
    };
    let row = Event::new(PayloadKind::Audit, "row".into(), 1_000_000_000, auth, request, Some(response));
    let line = String::from_utf8(row.line()).expect("text");
    let want = concat!(
        r#"{"created_at":"1970-01-01T00:00:01Z","event_type":"audit","payload":{"id":"row","#,
        r#""stage":"OperationComplete","type":"audit","timestamp":"1970-01-01T00:00:01Z","version":1,"#,
        r#""auth":{"type":"token","accessor_id":"acc","name":"ci\n\"x\"","global":false},"#,
        r#""request":{"id":"request","operation":"DELETE","endpoint":"/v1/job/web","route":"/v1/job/{*id}","#,
        r#""parameters":{"id":"web"},"request_meta":{"remote_address":""},"node_meta":{"ip":"","name":""}},"#,
        r#""response":{"status_code":200,"allowed":true,"#,
        r#""decisions":[{"right":"namespace read-job","on":"default","allowed":true}],"index":7,"duration_ms":0}}}"#,
        "\n"
    );
    assert_eq!(line, want);
}

#[test]
fn texts_of_callers_are_cut() {
    let line = event(&"é".repeat(5000), None).line();
    assert!(line.len() < event::LONGEST_TEXT + 500, "{}", line.len());
    let row: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
    let endpoint = row["payload"]["request"]["endpoint"].as_str().expect("text");
    assert!(endpoint.starts_with("éé") && endpoint.ends_with("é…"), "{endpoint}");
    assert_eq!(row["payload"]["stage"], "OperationReceived");
}

#[test]
fn files_rotate_by_size_age_and_number() {
    let folder = Folder::new();
    let settings = FileSettings { rotate_bytes: 4, rotate_max_files: 2, ..folder.file() };
    let mut file = LogFile::open(&settings).expect("a file");
    for i in 0..5_u64 {
        let (written, rotated) = file.write(UNIX_EPOCH + Duration::from_nanos(i), format!("line{i}\n").as_bytes());
        assert!(written.is_ok() && rotated.is_ok());
    }
    assert_eq!(folder.names(), ["audit-3.log", "audit-4.log", "audit.log"]);
    let texts = ["audit-3.log", "audit-4.log", "audit.log"].map(|n| folder.read(n));
    assert_eq!(texts, ["line2\n", "line3\n", "line4\n"]);
    for name in folder.names() {
        assert_eq!(fs::metadata(folder.0.join(name)).expect("a file").permissions().mode() & 0o777, 0o600);
    }
    let old = Folder::new();
    let mut file = LogFile::open(&FileSettings { rotate_duration: Duration::from_secs(60), ..old.file() }).expect("x");
    let now = SystemTime::now();
    for (after, files) in [(0, 1), (59, 1), (61, 2)] {
        let _ = file.write(now + Duration::from_secs(after), b"x\n");
        assert_eq!(old.names().len(), files, "after {after} s");
    }
}

#[test]
fn a_file_keeps_whole_rows_and_its_permissions() {
    let folder = Folder::new();
    fs::write(folder.0.join("audit.log"), "half a r").expect("written");
    fs::set_permissions(folder.0.join("audit.log"), fs::Permissions::from_mode(0o666)).expect("changed");
    let mut file = LogFile::open(&folder.file()).expect("a file");
    assert!(file.write(SystemTime::now(), b"row\n").0.is_ok());
    assert_eq!(folder.read("audit.log"), "half a r\nrow\n");
    let mode = fs::metadata(folder.0.join("audit.log")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::rename(folder.0.join("audit.log"), folder.0.join("moved")).expect("moved");
    assert!(file.write(SystemTime::now(), b"late\n").0.is_ok());
    file.reopen().expect("opened");
    assert!(file.write(SystemTime::now(), b"new\n").0.is_ok());
    assert_eq!([folder.read("moved"), folder.read("audit.log")], ["half a r\nrow\nlate\n", "new\n"]);
}

#[tokio::test]
async fn an_enforced_row_is_there_when_it_is_acknowledged() {
    let folder = Folder::new();
    let metrics = Metrics::default();
    let log = log(vec![sink(Guarantee::Enforced, folder.file())], &metrics);
    for i in 0..100 {
        log.write(event(&format!("/v1/{i}"), None)).await.expect("written");
        assert_eq!(folder.read("audit.log").lines().count(), i + 1);
    }
    let response = ResponseInfo { status_code: 200, ..ResponseInfo::default() };
    log.write(event("/v1/x", Some(response))).await.expect("written");
    log.note("reload", "signal: hangup", "");
    log.flush().await;
    let text = folder.read("audit.log");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().expect("a row")).expect("JSON");
    assert_eq!(
        (&last["payload"]["type"], &last["payload"]["request"]["operation"]),
        (&"agent".into(), &"reload".into())
    );
    assert_eq!(text.lines().count(), 102);
}

#[tokio::test]
async fn a_full_disk_refuses_or_counts() {
    let folder = Folder::new();
    let full = FileSettings { path: folder.0.join("full.log"), ..folder.file() };
    std::os::unix::fs::symlink("/dev/full", &full.path).expect("a link");
    let metrics = Metrics::default();
    let enforced = log(vec![sink(Guarantee::Enforced, full.clone())], &metrics);
    let error = enforced.write(event("/v1/x", None)).await.expect_err("no room").to_string();
    assert_eq!(error, "audit sink \"file\": No space left on device (os error 28)");
    let relaxed = log(vec![sink(Guarantee::BestEffort, full)], &metrics);
    relaxed.write(event("/v1/x", None)).await.expect("goes on");
    relaxed.flush().await;
    let text = metrics.prometheus().expect("kept");
    assert!(text.contains("nomad_audit_write_failures{") && text.contains("sink=\"file\"} 2"), "{text}");
}

#[tokio::test]
async fn a_sink_that_failed_gets_the_rows_that_show_whether_it_works() {
    let folder = Folder::new();
    let full = FileSettings { path: folder.0.join("full.log"), ..folder.file() };
    std::os::unix::fs::symlink("/dev/full", &full.path).expect("a link");
    let filter = Filter { endpoints: vec!["*".into()], stages: vec![Stage::OperationReceived], operations: Vec::new() };
    let settings = Settings {
        sinks: vec![sink(Guarantee::Enforced, full.clone())],
        filters: Filters(vec![filter]),
        key: None,
        node: NodeMeta::default(),
    };
    let log = AuditLog::open(settings, &Metrics::default()).expect("an audit log");
    let wants = || log.wants(Stage::OperationReceived, "/v1/x", "GET");
    assert!(!wants());
    log.write(event("/v1/x", None)).await.expect_err("no room");
    assert!(wants());
    fs::remove_file(&full.path).expect("removed");
    log.reopen();
    log.write(event("/v1/x", None)).await.expect("room");
    assert!(!wants());
    assert_eq!(folder.read("full.log").lines().count(), 1);
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_names_its_file() {
    let path = PathBuf::from("/proc/nosuch/audit.log");
    let settings = |sinks, key| Settings { sinks, filters: Filters::default(), key, node: NodeMeta::default() };
    let file = FileSettings { path: path.clone(), ..Folder::new().file() };
    let open = |settings| AuditLog::open(settings, &Metrics::default()).expect_err("no such folder").to_string();
    let error = open(settings(vec![sink(Guarantee::BestEffort, file)], None));
    assert!(error.starts_with("sink \"file\": /proc/nosuch/audit.log: "), "{error}");
    assert!(open(settings(Vec::new(), Some(path))).starts_with("key: /proc/nosuch/audit.log: "));
}
