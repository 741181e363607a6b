//! `job launches` and `launches`, by starting the program on fixtures/launches and on job files of recorded results.

use std::path::{Path, PathBuf};

use encamp_model::{Time, duration};
use serde_json::{Value, json};

use crate::oracle;
use crate::program::{self, Folder, Ran, run_in};
use crate::terminal::screen::{SIZES, Screen};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/launches")
}

fn run(command: &[&str], flags: &[&str]) -> Ran {
    run_in(&fixture(), &[command, flags].concat())
}

fn answer(command: &[&str], flags: &[&str]) -> Value {
    let ran = run(command, flags);
    assert_eq!(ran.stderr, "", "{flags:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{flags:?}: {e}\n{}", ran.stdout))
}

const JOB: &[&str] = &["job", "launches"];
const CALENDAR: &[&str] = &["launches", "-snapshot", "cluster.json"];

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

fn texts<'a>(values: &'a [Value], name: &str) -> Vec<&'a str> {
    values.iter().map(|v| v[name].as_str().unwrap_or_default()).collect()
}

#[test]
fn changes_of_the_clock_are_marked() {
    let spring = run(JOB, &["-n", "2", "-from", "2026-03-27T12:00:00Z", "registered/backup.hcl"]);
    assert_eq!((spring.stderr.as_str(), spring.exit), ("", 0));
    let want = "Job \"backup\" is launched at \"30 2 * * *\", time zone Europe/Berlin.
Overlap is prohibited. A run is expected to take 3h0m0s (max_run_duration).

Launch                     After   Note
2026-03-28T02:30:00+01:00  13h30m
none                               no launch at 2026-03-29 02:30: the clock is set forward from 02:00 to 03:00
2026-03-30T02:30:00+02:00  2d12h
";
    assert_eq!(spring.stdout, want);

    // Flags may follow the file.
    let flags = ["registered/backup.hcl", "-n=4", "-from=2026-10-23T12:00:00Z", "-duration=24h30m", "-json-output"];
    let autumn = answer(JOB, &flags);
    let launches = list(&autumn, "Launches");
    let local = [
        "2026-10-24T02:30:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-26T02:30:00+01:00",
    ];
    assert_eq!(texts(launches, "LocalTime"), local);
    let repeats: Vec<&Value> = launches.iter().map(|l| &l["Repeat"]).collect();
    assert_eq!(repeats, [&json!(null), &json!("first"), &json!("second"), &json!(null)]);
    let skipped: Vec<&Value> = launches.iter().map(|l| &l["Skipped"]["JobID"]).collect();
    let [first, third] = [&launches[0]["JobID"], &launches[2]["JobID"]];
    assert_eq!(skipped, [&json!(null), first, &json!(null), third]);
    assert_eq!(
        (&launches[0]["JobID"], &launches[1]["Skipped"]["Until"]),
        (&json!("backup/periodic-1792801800"), &json!("2026-10-25T01:00:00Z"))
    );
}

#[test]
fn launches_are_those_of_recorded_answers() {
    // What the servers said about a job: when it is launched next, and how long that was from then.
    let mut compared = 0;
    for (transcript, begin) in [
        ("064-job-plan-periodic", "next periodic launch would be at "),
        ("096-job-run-periodic", "Approximate next launch time: "),
        ("098-job-status-periodic-none", "Next Periodic Launch = "),
        ("102-job-status-periodic", "Next Periodic Launch = "),
    ] {
        let Some(path) = oracle::file(&format!("cli/{transcript}.txt")) else { return };
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, said) = text.split_once(begin).expect("a launch");
        let (at, rest) = said.split_once(" (").expect("how long from now");
        let (wait, _) = rest.split_once(" from now").expect("how long from now");
        let at_nanos = Time::parse(at).unwrap().unix_nanos().unwrap();
        let from = Time::from_unix_nanos(at_nanos - duration::parse_duration(wait).unwrap()).to_string();
        let job = oracle::file("cli/jobs/periodic.nomad.hcl").expect("the job file");
        let got = answer(JOB, &["-json-output", "-n=1", "-from", &from, job.to_str().unwrap()]);
        assert_eq!(texts(list(&got, "Launches"), "Time"), [at], "{transcript}");
        compared += 1;
    }
    let recorded = oracle::json("http/reference-2.0.5/0278-jobs-plan-periodic.json").expect("the exchange");
    let mut job = recorded["request"]["body"]["Job"].clone();
    job["Type"] = "batch".into();
    let folder = Folder::new("launches-recorded");
    folder.file("job.json", job.to_string());
    let flags = ["-json", "-json-output", "-n=1", "-from=2026-11-21T05:45:38Z", "job.json"];
    let ran = run_in(folder.path(), &[JOB, &flags].concat());
    let got: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    assert_eq!(list(&got, "Launches")[0]["Time"], recorded["response"]["body"]["NextPeriodicLaunch"]);
    assert_eq!(compared, 4);
}

#[test]
fn runs_of_a_registered_job_count() {
    let got = answer(JOB, &["-snapshot", "cluster.json", "-json-output", "-n=3", "index"]);
    let runs = &got["RunTime"]["FinishedRuns"];
    let minutes = |n: i64| json!(n * 60_000_000_000_i64);
    assert_eq!((&runs["Count"], &got["RunTime"]["Duration"]), (&json!(3), &minutes(39)));
    assert_eq!((&runs["Shortest"], &runs["Longest"]), (&minutes(38), &minutes(41)));
    let running = &list(&got, "Running")[0];
    assert_eq!(
        (&running["Began"], &running["Until"]),
        (&json!("2026-03-02T11:59:00Z"), &json!("2026-03-02T12:38:00Z"))
    );
    assert!(list(&got, "Launches").iter().all(|l| l["Skipped"].is_null()), "{got}");

    // The run that goes on, and those that are launched, take longer than an hour.
    let long = answer(JOB, &["-snapshot", "cluster.json", "-json-output", "-n=4", "-duration=70m", "index"]);
    let skipped: Vec<bool> = list(&long, "Launches").iter().map(|l| !l["Skipped"].is_null()).collect();
    assert_eq!(skipped, [true, false, true, false], "{long}");
    // A run that has taken longer than what is given is not known to end.
    let flags = ["-snapshot", "cluster.json", "-n=2", "-from=2026-03-02T14:30:00Z", "-duration=30m", "index"];
    let stuck = run(JOB, &flags);
    assert!(stuck.stdout.contains("skipped: index/periodic-1772452740 runs, no end is foreseen"), "{}", stuck.stdout);
    assert!(
        stuck.stdout.ends_with("2 of 2 launches would be skipped, since an earlier run goes on.\n"),
        "{}",
        stuck.stdout
    );
    // The file of a registered job has its runs.
    let file = answer(JOB, &["-snapshot", "cluster.json", "-json-output", "-n=3", "registered/index.hcl"]);
    assert_eq!((&file["RunTime"], &file["Running"]), (&got["RunTime"], &got["Running"]));
}

#[test]
fn jobs_without_launches_are_told_from_mistakes() {
    let folder = Folder::new("launches-mistakes");
    let backup = std::fs::read_to_string(fixture().join("registered/backup.hcl")).unwrap();
    let file = |name: &str, from: &str, to: &str| {
        assert!(backup.contains(from), "{from}");
        folder.file(name, backup.replace(from, to));
    };
    file("disabled.hcl", "prohibit_overlap = true", "enabled = false");
    file("never.hcl", "30 2 * * *", "0 0 31 2 *");
    file("spec.hcl", "30 2 * * *", "@every 1h");
    file("zone.hcl", "Europe/Berlin", "Europe/Berln");
    file("both.hcl", "prohibit_overlap = true", "cron = \"@daily\"");
    let run = |flags: &[&str]| run_in(folder.path(), &[JOB, flags].concat());
    let disabled = run(&["disabled.hcl"]);
    assert!(
        disabled.exit == 1 && disabled.stdout.ends_with("\nThe job is not launched: its periodic block is disabled.\n"),
        "{disabled:?}"
    );
    let never = run(&["-from=2026-03-27T12:00:00Z", "never.hcl"]);
    assert!(
        never.exit == 1 && never.stdout.ends_with("\nThere is no launch after 2026-03-27T13:00:00+01:00.\n"),
        "{never:?}"
    );
    let cluster = fixture().join("cluster.json").display().to_string();
    for (flags, want) in [
        (&["spec.hcl"][..], "Invalid cron spec \"@every 1h\": missing field(s)"),
        (&["zone.hcl"], "unknown time zone Europe/Berln"),
        (&["both.hcl"], "Only cron or crons may be used"),
        (&["nosuch.hcl"], "no such file or directory"),
        (&["-n=0", "never.hcl"], "-n must be from 1 to 10000"),
        (&["-from=tomorrow", "never.hcl"], "Invalid value \"tomorrow\" for -from: it has to be a time in RFC 3339"),
        (
            &["-duration=soon", "never.hcl"],
            "Invalid value \"soon\" for -duration: it has to be a duration of a second or more",
        ),
        (&["-duration=-1h", "never.hcl"], "Invalid value \"-1h\" for -duration"),
        (&["-snapshot", &cluster, "shop"], "Job \"shop\" is not periodic"),
        (&["-snapshot", &cluster, "nosuch"], "No job(s) with prefix or ID \"nosuch\" found"),
        (&[], "This command takes one argument: <path or job>"),
    ] {
        let ran = run(flags);
        assert!(ran.exit == 255 && ran.stdout.is_empty() && ran.stderr.contains(want), "{flags:?}: {ran:?}");
    }
}

#[test]
fn a_calendar_adds_up() {
    let got = answer(CALENDAR, &["-json"]);
    let launches = list(&got, "Launches");
    // 24 of index, one of backup, one of invoices, four of cleanup.
    let of = |id: &str| launches.iter().filter(|l| l["ParentID"] == id).collect::<Vec<_>>();
    let counts = ["index", "backup", "invoices", "cleanup"].map(|id| of(id).len());
    assert_eq!(counts, [24, 1, 1, 4]);
    assert!(texts(launches, "Time").is_sorted());
    for name in ["Allocations", "CPU", "MemoryMB"] {
        let sum = |all: &[Value]| all.iter().map(|v| v["Demand"][name].as_i64().unwrap()).sum::<i64>();
        assert_eq!(sum(launches), sum(list(&got, "Hours")), "{name}");
    }
    assert_eq!(list(&got, "Hours").len(), 25, "the last one begins with the last launch");
    for hour in list(&got, "Hours") {
        let start = hour["AtStart"]["CPUFree"].as_i64().unwrap();
        assert!((0..=start).contains(&hour["LeastCPUFree"].as_i64().unwrap()), "{hour}");
        let launched =
            launches.iter().filter(|l| l["Time"].as_str().unwrap()[..13] == hour["Start"].as_str().unwrap()[..13]);
        assert_eq!(hour["Launches"].as_u64().unwrap() as usize, launched.count(), "{hour}");
    }
    // The service uses 7,500 of 30,000 MHz, a run of index 6,000: of the four invoices of 4,500 on nodes of 10,000, one does
    // not fit until the others end, and then takes the room of a clean-up that is launched at this time.
    let [invoices] = of("invoices")[..] else { panic!("{launches:?}") };
    assert_eq!((&invoices["Outcome"], &invoices["Time"]), (&json!("unplaced"), &json!("2026-03-03T00:00:00Z")));
    assert_eq!(invoices["PlacedAt"], "2026-03-03T00:10:00Z", "{invoices}");
    assert_eq!(invoices["Demand"], json!({"Allocations": 4, "CPU": 18_000, "MemoryMB": 12_288}));
    assert!(of("index").iter().chain(&of("backup")).all(|l| l["Outcome"] == "fits"), "{launches:?}");
    let outcomes: Vec<&Value> = of("cleanup").iter().map(|l| &l["Outcome"]).collect();
    assert_eq!(outcomes, ["fits", "fits", "unplaced", "fits"]);
    assert!(of("cleanup").iter().all(|l| l["Demand"]["Allocations"] == 3), "one on each node");
    let ran = run(CALENDAR, &[]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
    assert!(
        ran.stdout.starts_with("2 of 30 launches would not fit.\nFrom 2026-03-02T12:00:00Z to 2026-03-03T12:00:00Z."),
        "{}",
        ran.stdout
    );
    assert_eq!(run(CALENDAR, &[]).stdout, ran.stdout, "the same again");
}

#[test]
fn run_times_decide_about_skips_and_room() {
    let long = answer(CALENDAR, &["-json", "-next=6h", "-duration=index=70m"]);
    let index: Vec<&str> = list(&long, "Launches")
        .iter()
        .filter(|l| l["ParentID"] == "index")
        .map(|l| l["Outcome"].as_str().unwrap())
        .collect();
    assert_eq!(index, ["skipped", "fits", "skipped", "fits", "skipped", "fits"]);
    // The same as the forecast of the job alone.
    let flags = ["-snapshot", "cluster.json", "-json-output", "-n=6", "-duration=70m", "index"];
    let alone: Vec<bool> = list(&answer(JOB, &flags), "Launches").iter().map(|l| !l["Skipped"].is_null()).collect();
    assert_eq!(alone, index.iter().map(|o| *o == "skipped").collect::<Vec<_>>());

    // Half an hour is without a launch that does not fit.
    let short = answer(CALENDAR, &["-json", "-next=30m"]);
    assert_eq!((list(&short, "Launches").len(), run(CALENDAR, &["-next=30m"]).exit), (1, 0), "{short}");
    let given = answer(CALENDAR, &["-json", "-duration=2h", "-duration=index@default=20m"]);
    let basis = |id: &str| list(&given, "Jobs").iter().find(|j| j["JobID"] == id).unwrap()["RunTime"].clone();
    assert_eq!((&basis("index")["Basis"], &basis("invoices")["Basis"]), (&json!("given"), &json!("assumed")));
    assert_eq!(basis("invoices")["Duration"], 7200 * 1_000_000_000_i64);
    let invoices = list(&given, "Launches").iter().find(|l| l["ParentID"] == "invoices").unwrap();
    assert_eq!(invoices["PlacedAt"], "2026-03-03T02:00:00Z", "{invoices}");
    let later = answer(CALENDAR, &["-json", "-at=2026-03-06T22:00:00Z", "-next=48h"]);
    assert_eq!(list(&later, "Launches").iter().filter(|l| l["ParentID"] == "invoices").count(), 0, "a weekend");
    for (flag, want) in [
        ("-next=0s", "-next must be longer than nothing"),
        ("-next=9000h", "-next must be longer than nothing, and at most 366 days"),
        ("-duration=nosuch=1h", "-duration \"nosuch\": "),
        ("-duration=shop=1h", "-duration \"shop\": the job is not launched periodically"),
        ("-duration=index=x", "Invalid value \"x\" for -duration"),
        ("-at=x", "Invalid value \"x\" for -at"),
    ] {
        let ran = run(CALENDAR, &[flag]);
        assert!(ran.exit == 255 && ran.stdout.is_empty() && ran.stderr.contains(want), "{flag}: {ran:?}");
    }
}

/// Nothing is wider than the terminal, and the answer is on the screen.
#[test]
fn launches_fit_the_terminal() {
    let folder = fixture();
    let env = [("TERM", "xterm-256color"), ("PATH", "/usr/bin:/bin"), ("NO_COLOR", "1")];
    let autumn = ["-from=2026-10-23T12:00:00Z", "-n=4", "-duration=24h30m", "registered/backup.hcl"];
    for (args, shows) in [
        ([JOB, &autumn].concat(), "2 of 4 launches would be skipped"),
        ([CALENDAR, &["-no-pager", "-next=6h", "-duration=index=70m", "-all"]].concat(), "Expected run times"),
        ([CALENDAR, &["-no-pager", "-next=13h"]].concat(), "Launches that do not fit"),
    ] {
        let ended = Screen::start(SIZES[0], &folder, &env, &program::path(), &args).ends().showing(shows);
        let raw = String::from_utf8_lossy(&ended.raw).replace('\r', "");
        let wide: Vec<&str> = raw.lines().filter(|l| l.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{args:?}: {wide:?}");
    }
}
