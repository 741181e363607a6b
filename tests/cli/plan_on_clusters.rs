//! `job plan` of one job on several clusters: saved contexts, or snapshot files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{Cluster, serve};
use crate::program::{self, Folder, Ran, run_in, run_with};
use crate::server::Server;
use crate::terminal::screen::{SIZES, Screen};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

const DEMO: &str = "-snapshot=demo/cluster.json";
const LAUNCHES: &str = "-snapshot=launches/cluster.json";
const WEB: &str = "demo/registered/web.hcl";

fn plan(flags: &[&str]) -> Ran {
    run_in(&fixtures(), &[&["job", "plan"], flags].concat())
}

fn answer(flags: &[&str]) -> Value {
    let ran = plan(&[&["-json-output"], flags].concat());
    assert_eq!(ran.stderr, "", "{flags:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{flags:?}: {e}\n{}", ran.stdout))
}

fn clusters(answer: &Value) -> Vec<&Value> {
    answer["Clusters"].as_array().expect("clusters").iter().collect()
}

/// Each row says what the plan on that cluster alone says.
#[test]
fn rows_are_the_plans_on_each_cluster_alone() {
    let both = answer(&[DEMO, LAUNCHES, WEB]);
    let [demo, launches] = clusters(&both)[..] else { panic!("{both}") };
    assert_eq!((&demo["Name"], &demo["Kind"]), (&json!("demo/cluster.json"), &json!("snapshot")));
    let mut worst = 0;
    for (row, snapshot) in [(demo, DEMO), (launches, LAUNCHES)] {
        // The command for one cluster also warns about settings of the job.
        let alone = plan(&["-json-output", snapshot, WEB]);
        let plan: Value = serde_json::from_str(&alone.stdout).expect("a plan");
        assert_eq!(row["Plan"], plan, "{snapshot}");
        assert!(plan["Diagnostics"].is_null(), "{plan}");
        assert_eq!(row["ExitCode"], alone.exit, "{snapshot}");
        worst = worst.max(alone.exit);
        assert_eq!((&row["Result"], &row["Error"]), (&json!("fits"), &json!(null)));
    }
    assert_eq!(plan(&[DEMO, LAUNCHES, WEB]).exit, worst);
    // Unless they are wanted as JSON, too.
    let both = answer(&["-diagnostics=json", DEMO, LAUNCHES, WEB]);
    for (row, snapshot) in clusters(&both).into_iter().zip([DEMO, LAUNCHES]) {
        let alone = answer(&["-diagnostics=json", snapshot, WEB]);
        assert_eq!(row["Plan"], alone, "{snapshot}");
        assert!(alone["Diagnostics"].is_array(), "{alone}");
    }
    // It runs there already, and here its three allocations are new.
    assert_eq!((&demo["Fit"]["Placed"], &launches["Fit"]["Placed"]), (&json!(0), &json!(3)));
    assert!(demo["Fit"]["Score"].is_null() && launches["Fit"]["Score"].as_f64().is_some_and(|s| s > 0.0));
    // Three nodes of 10,000 MHz: shop takes 7,500, the run of index 6,000, the new allocations 900.
    assert_eq!(launches["Fit"]["Free"]["CPUFree"], 30_000 - 7_500 - 6_000 - 900);
}

#[test]
fn unplaced_jobs_and_files_that_are_missing_have_rows() {
    let folder = Folder::new("plan-on-clusters");
    let job = std::fs::read_to_string(fixtures().join("launches/registered/shop.hcl")).unwrap();
    folder.file("big.hcl", job.replace("count = 3", "count = 12").replace("dc1", "*"));
    folder.file(
        "nowhere.hcl",
        job.replace("type        = \"service\"", "type = \"service\"\n  node_pool = \"gpu\"").replace("dc1", "*"),
    );
    for name in ["demo", "launches"] {
        std::fs::copy(fixtures().join(name).join("cluster.json"), folder.path().join(format!("{name}.json"))).unwrap();
    }
    let run = |flags: &[&str]| run_in(folder.path(), &[&["job", "plan"], flags].concat());
    let files = ["-snapshot=demo.json", "-snapshot=launches.json", "-snapshot=nosuch.json"];
    let ran = run(&[&files[..], &["big.hcl"]].concat());
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 255));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["Job \"shop\" fits on 1 of 3 clusters.", ""]);
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(lines[2])[..4], ["Cluster", "Result", "Placed", "Unplaced"]);
    let results: Vec<Vec<String>> = lines[3..6].iter().map(|l| words(l)[..4].to_vec()).collect();
    assert_eq!(results[0], ["demo.json", "fits", "12", "0"]);
    assert_eq!(results[1][..2], ["launches.json", "unplaced"]);
    assert_eq!(results[2], ["nosuch.json", "error", "-", "-"]);
    assert!(ran.stdout.contains("\nnosuch.json:\nError reading snapshot: "), "{}", ran.stdout);

    // A pool that only one of the clusters has.
    let refused = run(&[&files[..2], &["nowhere.hcl"]].concat());
    assert_eq!(refused.exit, 255);
    let row = |name: &str| words(refused.stdout.lines().find(|l| l.starts_with(name)).expect("a row"));
    assert_eq!((row("demo.json")[1].as_str(), row("launches.json")[1].as_str()), ("fits", "refused"));
    assert!(refused.stdout.contains("\nlaunches.json:\nError during plan: "), "{}", refused.stdout);

    let gated = run(&[&files[..2], &["-fail-on=unplaced", "big.hcl"]].concat());
    assert_eq!(gated.exit, 2);
    let want = "The plan fails the conditions of -fail-on:\n  * launches.json: unplaced: ";
    assert!(gated.stderr.starts_with(want), "{}", gated.stderr);
    let comment = run(&[&files[..], &["-markdown", "big.hcl"]].concat());
    assert!(
        comment.stdout.starts_with(
            "## Plan of job `shop` on 3 clusters\n\n:warning: Job \"shop\" fits on 1 of 3 clusters.\n\n| Cluster |"
        ),
        "{}",
        comment.stdout
    );
    assert!(comment.stdout.contains("\n| `demo.json` | fits | 12 | 0 | 0 | "), "{}", comment.stdout);
    assert!(comment.stdout.contains("\n`nosuch.json`: `Error reading snapshot: "), "{}", comment.stdout);
}

/// Two clusters that answer, and their contexts.
struct Saved {
    folder: Folder,
    servers: Vec<Server>,
}

impl Saved {
    fn new(name: &str) -> Option<Saved> {
        let folder = Folder::new(name);
        let servers = vec![serve(Cluster::recorded("dev-acl")?).0, serve(Cluster::recorded("fleet")?.shrunk(4)).0];
        folder.file("web.hcl", std::fs::read(fixtures().join(WEB)).unwrap());
        let saved = Saved { folder, servers };
        saved.write("");
        Some(saved)
    }

    /// Writes the contexts `east` and `west`, and more.
    fn write(&self, more: &str) {
        std::fs::create_dir_all(self.folder.path().join("encamp")).unwrap();
        let [east, west] = [&self.servers[0].address, &self.servers[1].address];
        let token = "[\"sh\", \"-c\", \"echo token-of-west\"]";
        let text = format!(
            "[contexts.east]\naddress = \"{east}\"\n\n[contexts.west]\naddress = \"{west}\"\ntoken_command = {token}\n\n{more}"
        );
        self.folder.file("encamp/config.toml", text);
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let config = self.folder.path().to_str().expect("a path");
        let own = [("XDG_CONFIG_HOME", config), ("PATH", "/usr/bin:/bin"), ("ENCAMP_CACHE_DIR", config)];
        let args = [&["job", "plan"], args].concat();
        run_with(self.folder.path(), &args, &[&own[..], env].concat(), None)
    }
}

#[test]
fn saved_contexts_are_planned_on_with_their_own_connections() {
    let Some(saved) = Saved::new("plan-on-contexts") else { return };
    let json = |args: &[&str], env: &[(&str, &str)]| -> Value {
        let ran = saved.run(&[&["-json-output", "-no-cache"], args].concat(), env);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
    };
    // The variables of another connection are sent to neither.
    let env = [("NOMAD_ADDR", "http://127.0.0.1:1"), ("NOMAD_TOKEN", "other-token")];
    let both = json(&["-contexts=west,east", "web.hcl"], &env);
    let names: Vec<&Value> = clusters(&both).into_iter().map(|c| &c["Name"]).collect();
    assert_eq!(names, [&json!("west"), &json!("east")], "in the order of the flag");
    let tokens = |server: &Server| -> Vec<Option<String>> {
        let mut all: Vec<_> = server.take().iter().map(|r| r.header("x-nomad-token").map(String::from)).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(tokens(&saved.servers[0]), [None]);
    assert_eq!(tokens(&saved.servers[1]), [Some("token-of-west".to_string())]);
    for row in clusters(&both) {
        let alone =
            saved.run(&["-json-output", "-no-cache", "-context", row["Name"].as_str().unwrap(), "web.hcl"], &[]);
        assert_eq!(row["ExitCode"], alone.exit, "{row}");
        assert_eq!(row["Kind"], "context");
        match serde_json::from_str::<Value>(&alone.stdout) {
            Ok(plan) => assert_eq!(timeless(&row["Plan"]), timeless(&plan)),
            Err(_) => assert!(alone.stderr.contains(row["Error"].as_str().expect("an error")), "{row}: {alone:?}"),
        }
    }
    let all = json(&["-contexts=all", "web.hcl"], &env);
    let facts = |c: &Value| json!([c["Name"], c["Result"], c["Fit"], c["Counts"], c["Error"]]);
    let turned: Vec<Value> = clusters(&both).into_iter().rev().map(facts).collect();
    assert_eq!(clusters(&all).into_iter().map(facts).collect::<Vec<_>>(), turned, "in the order of the names");
}

/// A plan without the evaluations that it would create, which have the time of the plan.
fn timeless(plan: &Value) -> Value {
    let mut plan = plan.clone();
    plan["CreatedEvals"] = Value::Null;
    plan
}

#[test]
fn clusters_that_do_not_answer_have_a_row_and_end() {
    let Some(saved) = Saved::new("plan-on-mute-contexts") else { return };
    // One refuses connections, one accepts them and says nothing.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    saved.write(&format!(
        "[contexts.closed]\naddress = \"http://127.0.0.1:1\"\n\n[contexts.mute]\naddress = \"http://{}\"\n\n[contexts.tokenless]\n\
         address = \"http://127.0.0.1:1\"\ntoken_command = [\"/nosuch\"]\n",
        mute.local_addr().unwrap()
    ));
    let began = Instant::now();
    let ran = saved.run(&["-contexts=mute,closed,tokenless", "-timeout=2s", "web.hcl"], &[]);
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert_eq!(ran.exit, 255, "{ran:?}");
    let row = |name: &str| ran.stdout.lines().find(|l| l.starts_with(name)).expect("a row").split_whitespace().nth(1);
    assert_eq!([row("mute "), row("closed "), row("tokenless ")], [Some("error"); 3], "{}", ran.stdout);
    for text in [
        "\nmute:\nNo answer within 2s\n",
        "\nclosed:\n",
        "\ntokenless:\nError running the token command of context \"tokenless\": /nosuch",
    ] {
        assert!(ran.stdout.contains(text), "{text:?}: {}", ran.stdout);
    }
}

#[test]
fn flags_for_one_cluster_are_refused() {
    let Some(saved) = Saved::new("plan-on-contexts-flags") else { return };
    for (args, want) in [
        (&["-contexts=east", "-snapshot=x.json", "web.hcl"][..], "-contexts and -snapshot exclude each other"),
        (
            &["-contexts=east", "-address=http://x", "web.hcl"],
            "-contexts cannot be combined with -context, -address or -token",
        ),
        (&["-contexts=east", "-token=x", "web.hcl"], "-contexts cannot be combined with -context, -address or -token"),
        (&["-contexts=east", "web.hcl", "other.hcl"], "one job file is planned at a time"),
        (&["-contexts=east", "-remote", "web.hcl"], "plans are made locally"),
        (&["-contexts=east", "-explain", "web.hcl"], "show the plan on one cluster"),
        (
            &["-contexts=east", "-suggest", "web.hcl"],
            "-suggest and -apply-suggestion are about the plan on one cluster",
        ),
        (&["-contexts=east", "-apply-suggestion=1", "web.hcl"], "are about the plan on one cluster"),
        (&["-snapshot=x.json", "-snapshot=y.json", "-suggest", "web.hcl"], "are about the plan on one cluster"),
        (&["-contexts=east", "-placements", "web.hcl"], "show the plan on one cluster"),
        (&["-contexts=east", "-rollout", "web.hcl"], "show the plan on one cluster"),
        (&["-contexts=east", "-t={{.}}", "web.hcl"], "show the plan on one cluster"),
        (&["-contexts=east", "-junit=x.xml", "web.hcl"], "write the plan on one cluster"),
        (&["-contexts=east", "-sarif=x.json", "web.hcl"], "write the plan on one cluster"),
        (&["-contexts=east", "-html=x.html", "web.hcl"], "write the plan on one cluster"),
        (&["-contexts=east", "-out=plan.encamp", "web.hcl"], "-out"),
        (&["-contexts=east,east", "web.hcl"], "-contexts names \"east\" twice"),
        (&["-contexts=east,", "web.hcl"], "-contexts takes names of saved contexts with commas between them, or all"),
        (&["-contexts=east", "nosuch.hcl"], "no such file or directory"),
        (&["-timeout=3s", "-snapshot=x.json", "web.hcl"], "-timeout needs several clusters"),
    ] {
        let ran = saved.run(args, &[]);
        assert!(ran.exit == 255 && ran.stdout.is_empty() && ran.stderr.contains(want), "{args:?}: {ran:?}");
    }
    // A name that is not saved is a row: the others are planned on.
    let unknown = saved.run(&["-contexts=east,nosuch", "web.hcl"], &[]);
    let want = "\nnosuch:\nNo context \"nosuch\" (-contexts) in ";
    assert!(unknown.exit == 255 && unknown.stdout.contains(want), "{unknown:?}");
    assert!(saved.servers.iter().take(1).all(|s| !s.take().is_empty()));
    let none = run_in(saved.folder.path(), &["job", "plan", "-contexts=all", "web.hcl"]);
    assert!(none.exit == 255 && none.stderr.contains("no context is saved"), "{none:?}");
}

#[test]
fn the_table_fits_the_terminal() {
    let env = [("TERM", "xterm-256color"), ("PATH", "/usr/bin:/bin"), ("NO_COLOR", "1")];
    let long = ["-snapshot=preemption/../preemption/../preemption/cluster.json", "-snapshot=laptop/full.json"];
    let args = [&["job", "plan", DEMO, LAUNCHES], &long[..], &[WEB]].concat();
    let ended = Screen::start(SIZES[0], &fixtures(), &env, &program::path(), &args).ends();
    let ended = ended.showing("Mem free").showing("of 4 clusters");
    let raw = String::from_utf8_lossy(&ended.raw).replace('\r', "");
    let wide: Vec<&str> = raw.lines().filter(|l| l.chars().count() > 80 && l.contains("  ")).collect();
    assert!(wide.is_empty(), "{wide:?}");
}
