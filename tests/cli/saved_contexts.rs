//! Named clusters: which one a command uses, and that the secrets of one are never sent to another.

use crate::canned::{said, serving};
use crate::program::{Folder, Ran, run_with};
use crate::server::{Request, Response, Server};
use serde_json::json;

struct Clusters {
    folder: Folder,
    prod: Server,
    dev: Server,
}

impl Clusters {
    fn new(name: &str) -> Clusters {
        let cluster = || serving(vec![("GET /v1/namespaces", Response::json(&json!([])))]);
        let clusters = Clusters { folder: Folder::new(name), prod: cluster(), dev: cluster() };
        let token = "[\"sh\", \"-c\", \"echo prod-token; echo more\"]";
        clusters.write(&format!(
            "[contexts.prod]\naddress = \"{}\"\nregion = \"eu\"\nnamespace = \"web\"\ntoken_command = {token}\n\n\
             [contexts.dev]\naddress = \"{}\"\n",
            clusters.prod.address, clusters.dev.address
        ));
        clusters
    }

    fn write(&self, text: &str) {
        std::fs::create_dir_all(self.folder.path().join("encamp")).expect("a directory");
        self.folder.file("encamp/config.toml", text);
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let config = self.folder.path().to_str().expect("a path");
        let own = [("NOMAD_ADDR", ""), ("XDG_CONFIG_HOME", config), ("PATH", "/usr/bin:/bin")];
        run_with(self.folder.path(), args, &[&own[..], env].concat(), None)
    }

    /// What the servers were asked by a command.
    fn asked(&self, args: &[&str], env: &[(&str, &str)]) -> (Vec<Request>, Vec<Request>) {
        let ran = self.run(args, env);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{ran:?}");
        (self.prod.take(), self.dev.take())
    }
}

const LIST: &[&str] = &["namespace", "list"];

#[test]
fn contexts_are_selected_listed_and_shown() {
    let clusters = Clusters::new("contexts-selected");
    let run = |args: &[&str]| clusters.run(args, &[]);
    assert_eq!(said(&run(&["context", "show"])), ("No context is selected\n", "", 0));
    assert_eq!(said(&run(&["context", "show", "-short"])), ("", "", 0));
    let unknown = run(&["context", "use", "nosuch"]);
    assert!(unknown.exit == 1 && unknown.stderr.contains("No context \"nosuch\" (context use) in "), "{unknown:?}");
    assert!(unknown.stderr.contains("it has \"dev\", \"prod\""), "{unknown:?}");
    assert_eq!(said(&run(&["context", "use", "prod"])), ("Context \"prod\" is selected\n", "", 0));
    assert_eq!(said(&run(&["context", "show", "-short"])), ("prod\n", "", 0));
    let shown = run(&["context", "show"]).stdout;
    assert!(shown.contains("Selected By   = context use\n") && shown.contains("namespace     = web\n"), "{shown}");
    assert!(!shown.contains("prod-token\n"), "the command is shown and not run: {shown}");
    let listed = run(&["context", "list"]).stdout;
    assert!(listed.lines().any(|l| l.starts_with("*         prod  ")), "{listed}");
    let listed: serde_json::Value = serde_json::from_str(&run(&["context", "list", "-json"]).stdout).expect("JSON");
    assert_eq!((&listed[0]["Name"], &listed[1]["Selected"]), (&json!("dev"), &json!(true)));

    let (prod, dev) = clusters.asked(LIST, &[]);
    let [request] = prod.as_slice() else { panic!("{prod:?}") };
    assert_eq!((request.header("x-nomad-token"), request.param("region")), (Some("prod-token"), Some("eu")));
    assert!(dev.is_empty());
    assert_eq!(said(&run(&["context", "use", "-none"])), ("No context is selected\n", "", 0));
    assert_eq!(said(&run(&["context", "show", "-short"])), ("", "", 0));
}

#[test]
fn secrets_are_not_sent_to_another_cluster() {
    let clusters = Clusters::new("contexts-secrets");
    assert_eq!(clusters.run(&["context", "use", "prod"], &[]).exit, 0);
    let token = |r: &[Request]| r[0].header("x-nomad-token").map(String::from);
    let dev = clusters.dev.address.as_str();

    // An address in the environment or on the command line: nothing of the selected context is used.
    for (args, env) in [
        (LIST.to_vec(), vec![("NOMAD_ADDR", dev)]),
        (LIST.to_vec(), vec![("ENCAMP_ADDR", dev)]),
        ([LIST, &["-address", dev]].concat(), vec![]),
    ] {
        let (prod, dev) = clusters.asked(&args, &env);
        assert!(prod.is_empty() && token(&dev).is_none() && dev[0].param("region").is_none(), "{dev:?}");
    }
    // The flag replaces the connection of the environment, its token as well.
    let other = [("NOMAD_ADDR", dev), ("NOMAD_TOKEN", "dev-token"), ("ENCAMP_REGION", "us")];
    let (prod, _) = clusters.asked(&[LIST, &["-context", "prod"]].concat(), &other);
    assert_eq!((token(&prod).as_deref(), prod[0].param("region")), (Some("prod-token"), Some("eu")));
    // Flags for single settings still count.
    let (prod, _) = clusters.asked(&[LIST, &["-context=prod", "-token", "mine"]].concat(), &other);
    assert_eq!(token(&prod).as_deref(), Some("mine"));
    // A token of the environment goes with a context that the environment selects.
    let (prod, _) = clusters.asked(LIST, &[("ENCAMP_CONTEXT", "prod"), ("NOMAD_TOKEN", "env-token")]);
    assert_eq!(token(&prod).as_deref(), Some("env-token"));
    let (_, dev) = clusters.asked(LIST, &[("ENCAMP_CONTEXT", "dev")]);
    assert_eq!(token(&dev), None);
}

#[test]
fn mistakes_in_the_file_are_told_where_a_cluster_is_needed() {
    let clusters = Clusters::new("contexts-mistakes");
    assert_eq!(clusters.run(&["context", "use", "prod"], &[]).exit, 0);
    clusters.write("[contexts.prod]\naddress = 7\n");
    let ran = clusters.run(LIST, &[]);
    assert!(ran.exit == 1 && ran.stderr.ends_with("config.toml:2:11: address must be a text\n"), "{ran:?}");
    // Commands that need no cluster do not care.
    assert_eq!(clusters.run(&["version"], &[]).exit, 0);
    assert_eq!(said(&clusters.run(&["context", "show", "-short"], &[])), ("prod\n", "", 0));
    for (command, error) in [
        ("[\"sh\", \"-c\", \"exit 3\"]", "sh: exit status: 3"),
        ("[\"sh\", \"-c\", \":\"]", "sh printed no token"),
        ("[\"/nosuch\"]", "/nosuch: No such file or directory"),
    ] {
        clusters.write(&format!("[contexts.prod]\naddress = \"http://127.0.0.1:1\"\ntoken_command = {command}\n"));
        let ran = clusters.run(LIST, &[]);
        let begins = "Error running the token command of context \"prod\": ";
        assert!(ran.exit == 1 && ran.stderr.starts_with(begins) && ran.stderr.contains(error), "{ran:?}");
    }
}
