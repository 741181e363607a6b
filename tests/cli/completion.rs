//! Completion in bash, zsh and fish, as a user sees it: real shells on a pseudo terminal.
//!
//! A shell that is not installed is skipped, except on CI.

use crate::program;
use encamp_test_support::notes;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::canned::serving;
use crate::program::Folder;
use crate::pty::{self, Screen, Terminal};
use crate::server::{Request, Response, Server};
use encamp_cli::completion::Shell;
use serde_json::{Value, json};

/// How long a shell may take for anything.
const BOUND: Duration = Duration::from_secs(30);
const PROMPT: &str = "> ";
/// A letter that is typed behind a completion: it shows where the cursor is, and that the completion is over.
const MARK: &str = "Z";
/// Kills the line, within the editor of each shell. After a signal the shell would set up the terminal again.
const KILL_LINE: &str = "\x15";
/// Where Debian and most others keep the bash-completion package.
const BASH_COMPLETION: &str = "/usr/share/bash-completion/bash_completion";

/// How completion was set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    /// A start-up file of bash reads the script.
    BashSource,
    /// The bash-completion package finds the script.
    BashPackage,
    /// bash runs the program without any script.
    BashCommand,
    /// zsh finds the script in `$fpath`.
    ZshFunction,
    /// A start-up file of zsh reads the script.
    ZshSource,
    /// fish finds the script.
    Fish,
}

use Setup::{BashCommand, BashPackage, BashSource, ZshFunction, ZshSource};

/// All setups that use scripts.
const SCRIPTS: [Setup; 5] = [BashSource, BashPackage, ZshFunction, ZshSource, Setup::Fish];

impl Setup {
    fn shell(self) -> &'static str {
        match self {
            BashSource | BashPackage | BashCommand => "bash",
            ZshFunction | ZshSource => "zsh",
            Setup::Fish => "fish",
        }
    }

    /// What has to be installed.
    fn needs(self) -> PathBuf {
        let shell = || {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut found =
                std::env::split_paths(&path).map(|dir| dir.join(self.shell())).filter(|file| file.is_file());
            found.next().unwrap_or_else(|| self.shell().into())
        };
        if self == BashPackage { BASH_COMPLETION.into() } else { shell() }
    }

    /// Whether it can be tested here.
    fn is_installed(self) -> bool {
        let needed = self.needs();
        let missing = if self == BashPackage { "bash-completion" } else { self.shell() };
        if !needed.is_file() {
            notes::missing("completion", &format!("{missing} is not installed"));
        }
        needed.is_file()
    }

    /// The start-up files, with their paths below the home directory.
    fn files(self) -> Vec<(&'static str, String)> {
        let bash =
            "PS1='> '\nPS2='> '\nunset HISTFILE\nbind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\n";
        let zsh = "PROMPT='> '\nunsetopt prompt_sp prompt_cr beep\nzle_bracketed_paste=()\nfpath=($HOME/functions $fpath)\n\
                   autoload -Uz compinit\ncompinit -D\n";
        let fish = "function fish_prompt; printf '> '; end\nfunction fish_greeting; end\n\
                    set -g fish_autosuggestion_enabled 0\n";
        match self {
            BashSource => vec![(".bashrc", format!("{bash}source <(encamp completion bash)\n"))],
            BashPackage => vec![
                (".bashrc", format!("{bash}source {BASH_COMPLETION}\n")),
                (".local/share/bash-completion/completions/encamp", Shell::Bash.script().into()),
            ],
            BashCommand => vec![(".bashrc", format!("{bash}complete -C encamp encamp\n"))],
            ZshFunction => vec![(".zshrc", zsh.into()), ("functions/_encamp", Shell::Zsh.script().into())],
            ZshSource => vec![(".zshrc", format!("{zsh}source <(encamp completion zsh)\n"))],
            Setup::Fish => vec![
                (".config/fish/config.fish", fish.into()),
                (".config/fish/completions/encamp.fish", Shell::Fish.script().into()),
            ],
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            BashSource | BashPackage | BashCommand => &["--noprofile", "-i"],
            ZshFunction | ZshSource => &["-d", "-i"],
            Setup::Fish => &["-i"],
        }
    }
}

/// A shell that waits for input in the directory `work` below its home directory.
struct Session {
    setup: Setup,
    terminal: Terminal,
    home: Folder,
}

fn write(root: &Path, name: &str, text: &str) {
    let file = root.join(name);
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory for the test");
    std::fs::write(file, text).expect("a file for the test");
}

impl Session {
    /// Starts the shell, with these files in its home directory. `None` if it is not installed.
    fn start(setup: Setup, test: &str, files: &[&str]) -> Option<Session> {
        Session::start_with(setup, test, files, &[])
    }

    /// The same with more variables in the environment.
    fn start_with(setup: Setup, test: &str, files: &[&str], variables: &[(&str, &str)]) -> Option<Session> {
        if !setup.is_installed() {
            return None;
        }
        let home = Folder::new(&format!("completion-{test}-{setup:?}"));
        let root = home.path();
        std::fs::create_dir_all(root.join("work")).expect("a directory for the test");
        files.iter().for_each(|name| write(root, name, ""));
        setup.files().iter().for_each(|(name, text)| write(root, name, text));
        std::fs::create_dir_all(root.join("bin")).expect("a directory for the test");
        std::os::unix::fs::symlink(program::path(), root.join("bin/encamp")).expect("a link to the program");
        let mut path = std::env::join_paths([root.join("bin")]).expect("a path");
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = pty::command(setup.shell());
        command
            .args(setup.arguments())
            .env_clear()
            .env("HOME", root)
            .env("PATH", path)
            .env("TERM", "xterm")
            .env("LANG", "C.UTF-8")
            .env("INPUTRC", "/dev/null")
            .current_dir(root.join("work"));
        for (name, value) in variables {
            command.env(name, value);
        }
        let session = Session { setup, terminal: Terminal::spawn(command, 30, 120), home };
        session.wait_for("the prompt", |screen| screen.before_cursor() == PROMPT);
        Some(session)
    }

    fn wait_for(&self, what: &str, wanted: impl Fn(&Screen) -> bool) -> Screen {
        self.terminal.wait_until(BOUND, wanted).unwrap_or_else(|last| {
            let raw = self.terminal.raw();
            let end =
                String::from_utf8_lossy(raw.get(raw.len().saturating_sub(300)..).unwrap_or_default()).into_owned();
            panic!("{:?}: {what} does not come:\n{}\ncursor {:?}, after {end:?}", self.setup, last.text(), last.cursor)
        })
    }

    /// Types keys and checks what the line is then. Returns the screen.
    fn check(&self, typed: &str, want: &str) -> Screen {
        self.terminal.send(&format!("{typed}{MARK}"));
        let line = format!("{PROMPT}{want}{MARK}");
        let screen = self.wait_for(&format!("{line:?} after {typed:?}"), |screen| screen.before_cursor() == line);
        self.terminal.send(KILL_LINE);
        self.wait_for("the prompt", |screen| screen.before_cursor() == PROMPT);
        screen
    }

    /// Types keys, and checks that these words are shown below or above the line.
    fn check_shown(&self, typed: &str, words: &[&str], line: &str) {
        self.terminal.send(typed);
        let line = format!("{PROMPT}{line}");
        self.wait_for(&format!("{words:?} after {typed:?}"), |screen| {
            let others: Vec<&str> =
                screen.rows.iter().filter(|row| !row.starts_with(PROMPT)).map(String::as_str).collect();
            words.iter().all(|word| others.iter().any(|row| row.contains(word))) && screen.before_cursor() == line
        });
        self.terminal.send(KILL_LINE);
        self.wait_for("the prompt", |screen| screen.before_cursor() == PROMPT);
    }

    /// Ends the shell.
    fn end(mut self) {
        self.terminal.send("exit\r");
        let status = self.terminal.wait_for_exit(BOUND).map(|exit| exit.status);
        assert!(
            status.is_ok(),
            "{:?} does not end:\n{}",
            self.setup,
            status.err().map(|s| s.text()).unwrap_or_default()
        );
    }
}

#[test]
fn commands_and_flags_are_completed() {
    for setup in SCRIPTS {
        let Some(session) = Session::start(setup, "commands", &["work/webapp.hcl"]) else { continue };
        session.check("encamp job pl\t", "encamp job plan ");
        session.check("encamp comple\t", "encamp completion ");
        session.check("encamp completion z\t", "encamp completion zsh ");
        session.check("encamp job plan -diag\t", "encamp job plan -diagnostics=");
        session.check("encamp job plan --diag\t", "encamp job plan --diagnostics=");
        session.check("encamp job plan -dif\t", "encamp job plan -diff ");
        session.check("encamp job plan -diagnostics=j\t", "encamp job plan -diagnostics=json ");
        session.check("encamp job plan -diagnostics j\t", "encamp job plan -diagnostics json ");
        session.check("encamp job plan -var a=b -diag\t", "encamp job plan -var a=b -diagnostics=");
        session.check("TZ=UTC encamp job pl\t", "TZ=UTC encamp job plan ");
        session.end();
    }
}

#[test]
fn the_line_stays_where_nothing_fits() {
    for setup in SCRIPTS.into_iter().chain([BashCommand]) {
        let Some(session) = Session::start(setup, "nothing", &["work/webapp.hcl"]) else { continue };
        for line in [
            "encamp job plan -V",
            "encamp -V",
            "encamp nosuch ",
            "encamp job run webapp.hcl ",
            "encamp job status web -js",
            "encamp job plan -address=",
            "encamp job plan -diagnostics=x",
            "encamp job plan nosuch",
            "encamp version ",
        ] {
            session.check(&format!("{line}\t"), line);
        }
        session.end();
    }
}

#[test]
fn several_candidates_are_shown() {
    for setup in SCRIPTS {
        let Some(session) = Session::start(setup, "several", &[]) else { continue };
        // bash rings the bell first. The others would choose one at the second key.
        let tab = if setup.shell() == "bash" { "\t\t" } else { "\t" };
        let line = "encamp job plan -diagnostics=";
        session.check_shown(&format!("{line}{tab}"), &["text", "json"], line);
        session.check_shown(&format!("encamp completion {tab}"), &["bash", "fish", "zsh"], "encamp completion ");
        session.check_shown(&format!("encamp job ta{tab}"), &[], "encamp job tag ");
        session.check_shown(&format!("encamp job tag {tab}"), &["apply", "unset"], "encamp job tag ");
        if setup.shell() != "bash" {
            session.check_shown("encamp job tag \t", &["Tag a version"], "encamp job tag ");
        }
        session.end();
    }
}

#[test]
fn files_are_completed() {
    for setup in SCRIPTS {
        let files = [
            "work/webapp.hcl",
            "work/webapp.md",
            "one/my job.nomad",
            "dirs/sub/in.json",
            "home.hcl",
            "work/cluster.snap",
        ];
        let Some(session) = Session::start(setup, "files", &files) else { continue };
        session.check("encamp job plan \t", "encamp job plan webapp.hcl ");
        session.check("encamp job plan -snapshot cl\t", "encamp job plan -snapshot cluster.snap ");
        session.check("encamp job plan -snapshot=cl\t", "encamp job plan -snapshot=cluster.snap ");
        session.check("encamp job plan -var-file=w\t", "encamp job plan -var-file=webapp.hcl ");
        session.check("encamp job plan -no-color web\t", "encamp job plan -no-color webapp.hcl ");
        session.check("encamp job plan ../dir\t", "encamp job plan ../dirs/");
        session.check("encamp job plan ../dirs/sub/\t", "encamp job plan ../dirs/sub/in.json ");
        session.check("encamp job plan -ca-path=../di\t", "encamp job plan -ca-path=../dirs/");
        session.check("encamp job plan ../one/\t", "encamp job plan ../one/my\\ job.nomad ");
        session.check("encamp job plan ../one/my\\ j\t", "encamp job plan ../one/my\\ job.nomad ");
        session.check("encamp job plan \"../one/my j\t", "encamp job plan \"../one/my job.nomad\" ");
        session.check("encamp job plan '../one/my j\t", "encamp job plan '../one/my job.nomad' ");
        session.check("encamp job plan -var-file=../dirs/sub/i\t", "encamp job plan -var-file=../dirs/sub/in.json ");
        session.check("encamp job plan ~/home\t", "encamp job plan ~/home.hcl ");
        let snapshot = "encamp job plan -snapshot ";
        let tab = if setup.shell() == "bash" { "\t\t" } else { "\t" };
        session.check_shown(&format!("{snapshot}{tab}"), &["webapp.hcl", "webapp.md", "cluster.snap"], snapshot);
        session.end();
    }
}

#[test]
fn the_program_is_the_one_that_was_typed() {
    for setup in SCRIPTS {
        let Some(session) = Session::start(setup, "program", &[]) else { continue };
        // The bash-completion package loads the script at the first key, and bash then looks for a path only at the
        // next one.
        session.check("encamp job pl\t", "encamp job plan ");
        let bin = session.home.path().join("bin/encamp");
        let bin = bin.display();
        session.check(&format!("{bin} job pl\t"), &format!("{bin} job plan "));
        session.check("~/bin/encamp job pl\t", "~/bin/encamp job plan ");
        session.end();
    }
}

#[test]
fn bash_completes_without_a_script() {
    let files = ["work/webapp.hcl", "one/my job.nomad", "dirs/sub/in.json", "work/größe.hcl"];
    let Some(session) = Session::start(BashCommand, "command", &files) else { return };
    session.check("encamp job pl\t", "encamp job plan ");
    session.check("encamp job plan -diag\t", "encamp job plan -diagnostics ");
    session.check("encamp job plan -diagnostics j\t", "encamp job plan -diagnostics json ");
    session.check("encamp job plan -diagnostics=j\t", "encamp job plan -diagnostics=json ");
    session.check("encamp job plan web\t", "encamp job plan webapp.hcl ");
    session.check("encamp job plan ../di\t", "encamp job plan ../dirs/");
    session.check("encamp job plan ../one/my\\ j\t", "encamp job plan ../one/my\\ job.nomad ");
    session.check("encamp job plan größe.hcl -diag\t", "encamp job plan größe.hcl -diag");
    session.check("encamp job plan grö\t", "encamp job plan größe.hcl ");
    session.end();
}

/// A cluster with ACL objects.
fn acl_server() -> Server {
    serving(vec![
        (
            "GET /v1/acl/policies",
            Response::json(&json!([
                {"Name": "developers", "Description": "Runs jobs: in the shop"}, {"Name": "readers"}, {"Name": "de$(id)"},
            ])),
        ),
        (
            "GET /v1/acl/roles",
            Response::json(&json!([
                {"ID": "6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264", "Name": "operators", "Description": ""},
                {"ID": "7d1f22b3-0c6e-4a55-8b1d-92f4c3e7a610", "Name": "owners", "Description": "of jobs"},
            ])),
        ),
        (
            "GET /v1/acl/tokens",
            Response::json(
                &json!([{"AccessorID": "e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35", "Name": "CI", "Type": "client"}]),
            ),
        ),
        ("GET /v1/acl/auth-methods", Response::json(&json!([{"Name": "gitlab", "Type": "JWT"}]))),
        (
            "GET /v1/acl/binding-rules",
            Response::json(&json!([{"ID": "95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812", "AuthMethod": "gitlab"}])),
        ),
    ])
}

#[test]
fn names_of_acl_objects_are_completed() {
    let server = acl_server();
    // A busy machine needs more than the usual time.
    let limit = ("ENCAMP_COMPLETION_TIMEOUT", "20s");
    let variables = [("NOMAD_ADDR", server.address.as_str()), ("NOMAD_TOKEN", "of the environment"), limit];
    for setup in SCRIPTS.into_iter().chain([BashCommand]) {
        let Some(session) = Session::start_with(setup, "acl", &["work/rules.hcl"], &variables) else { continue };
        for (typed, want) in [
            ("encamp acl policy info re", "encamp acl policy info readers "),
            ("encamp acl policy delete -no-color de", "encamp acl policy delete -no-color developers "),
            ("encamp acl policy apply read", "encamp acl policy apply readers "),
            ("encamp acl policy apply readers ru", "encamp acl policy apply readers rules.hcl "),
            ("encamp acl role update 6", "encamp acl role update 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264 "),
            ("encamp acl role info -by-name op", "encamp acl role info -by-name operators "),
            ("encamp acl role create -policy=re", "encamp acl role create -policy=readers "),
            ("encamp acl token create -role-name ow", "encamp acl token create -role-name owners "),
            ("encamp acl token info ", "encamp acl token info e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 "),
            ("encamp acl explain e0", "encamp acl explain e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 "),
            ("encamp acl auth-method info ", "encamp acl auth-method info gitlab "),
            (
                "encamp acl binding-rule delete 9",
                "encamp acl binding-rule delete 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812 ",
            ),
            ("encamp login -method=", "encamp login -method=gitlab "),
            // Nothing has that name.
            ("encamp acl policy info x", "encamp acl policy info x"),
            // The value of a variable is not known.
            ("encamp acl policy info -token=$X re", "encamp acl policy info -token=$X re"),
        ] {
            session.check(&format!("{typed}\t"), want);
        }
        if !matches!(setup.shell(), "bash") {
            let typed = "encamp acl role info ";
            let words = ["operators", "owners, of jobs", "6c5ab0e7", "7d1f22b3"];
            session.check_shown(&format!("{typed}\t"), &words, typed);
        }
        session.end();
    }
    let requests = server.take();
    assert!(!requests.is_empty());
    assert!(requests.iter().all(|r| r.header("x-nomad-token") == Some("of the environment")));
}

/// Runs the program as a shell does for the words after a line.
fn words_after(line: &str, variables: &[(&str, &str)]) -> (String, Duration) {
    let mut command = std::process::Command::new(program::path());
    command.env_clear().env("COMP_LINE", line).env("ENCAMP_COMPLETE", "bash").envs(variables.iter().copied());
    let begun = Instant::now();
    let output = command.output().expect("the program runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    (String::from_utf8(output.stdout).expect("text"), begun.elapsed())
}

#[test]
fn a_cluster_that_does_not_answer_delays_no_one() {
    let server = acl_server();
    let line = "encamp acl policy info ";
    let limit = ("ENCAMP_COMPLETION_TIMEOUT", "20s");
    let answered = words_after(line, &[("NOMAD_ADDR", &server.address), limit]).0;
    assert_eq!(answered, "words\ndevelopers\nreaders\n");
    let given = format!("encamp acl policy info -address={} -token abc r", server.address);
    server.take();
    assert_eq!(words_after(&given, &[("NOMAD_ADDR", "http://127.0.0.1:1"), limit]).0, "words\nreaders\n");
    assert_eq!(server.take()[0].header("x-nomad-token"), Some("abc"), "flags win");
    let never = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_COMPLETION_TIMEOUT", "0")];
    assert_eq!((words_after(line, &never).0.as_str(), server.take().len()), ("words\n", 0));

    // A key that is pressed again within a moment needs no request, with another token it does.
    let folder = Folder::new("completion-cache");
    let cached = |token: &str| {
        let cache = folder.path().to_string_lossy().into_owned();
        let pairs =
            [("NOMAD_ADDR", server.address.as_str()), ("XDG_CACHE_HOME", &cache), ("NOMAD_TOKEN", token), limit];
        words_after(line, &pairs)
    };
    let (_, first) = (server.take(), Instant::now());
    assert_eq!((cached("a").0, cached("a").0), (answered.clone(), answered.clone()));
    // A very busy machine takes longer than names are kept.
    let most = if first.elapsed() < Duration::from_secs(5) { 1 } else { 2 };
    assert!((1..=most).contains(&server.take().len()), "the second key asked again");
    assert_eq!((cached("b").0, server.take().len()), (answered, 1));

    // Accepts connections and never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let unanswered = format!("http://{}", listener.local_addr().expect("an address"));
    let refused = serving(vec![("GET /v1/acl/policies", Response::text(403, "Permission denied"))]);
    for address in [unanswered.as_str(), refused.address.as_str(), "http://127.0.0.1:1", "no address"] {
        let (words, took) = words_after(line, &[("NOMAD_ADDR", address)]);
        assert_eq!(words, "words\n", "{address}");
        // The limit is 0.3 s; a busy machine starts programs slowly.
        assert!(took < Duration::from_secs(10), "{address}: {took:?}");
    }
}

/// A cluster with objects of every kind that is completed.
fn cluster_of_objects() -> Server {
    let id = |first: &str| format!("{first}-1111-2222-3333-444444444444");
    let row = |first: &str, more: Value| {
        let mut row = json!({"ID": id(first)});
        row.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        row
    };
    serving(vec![
        (
            "GET /v1/jobs",
            Response::json(&json!([
                {"ID": "web", "Type": "service", "Status": "running"}, {"ID": "web-batch", "Type": "batch"},
                {"ID": "api/v1", "Type": "service"}, {"ID": "bad name", "Type": "service"},
            ])),
        ),
        ("GET /v1/nodes", Response::json(&json!([row("aa11aa11", json!({"Name": "n1", "Status": "ready"}))]))),
        ("GET /v1/allocations", Response::json(&json!([row("bb22bb22", json!({"Name": "web.front[0]"}))]))),
        ("GET /v1/evaluations", Response::json(&json!([row("cc33cc33", json!({"JobID": "web"}))]))),
        ("GET /v1/deployments", Response::json(&json!([row("dd44dd44", json!({"JobID": "web"}))]))),
        ("GET /v1/namespaces", Response::json(&json!([{"Name": "default"}, {"Name": "payments"}]))),
        ("GET /v1/node/pools", Response::json(&json!([{"Name": "gpu"}, {"Name": "general"}]))),
        ("GET /v1/vars", Response::json(&json!([{"Path": "nomad/jobs/web"}, {"Path": "shop/db"}]))),
        ("GET /v1/volumes", Response::json(&json!([{"ID": "database", "Name": "database"}]))),
        ("GET /v1/plugins", Response::json(&json!([{"ID": "ebs", "Provider": "ebs.csi.aws.com"}]))),
    ])
}

/// What stands in the line after a word was begun.
const OF_OBJECTS: &[(&str, &str)] = &[
    ("job status api", "job status api/v1 "),
    ("job inspect api", "job inspect api/v1 "),
    ("job stop -purge web-", "job stop -purge web-batch "),
    ("job history web-", "job history web-batch "),
    ("job restart web-", "job restart web-batch "),
    ("job scale api", "job scale api/v1 "),
    ("job allocs web-", "job allocs web-batch "),
    ("job deployments web-", "job deployments web-batch "),
    ("job dispatch web-", "job dispatch web-batch "),
    ("job eval web-", "job eval web-batch "),
    ("job promote web-", "job promote web-batch "),
    ("job revert web-", "job revert web-batch "),
    ("job start web-", "job start web-batch "),
    ("job scaling-events web-", "job scaling-events web-batch "),
    ("job periodic force web-", "job periodic force web-batch "),
    ("job tag apply -name stable web-", "job tag apply -name stable web-batch "),
    ("job init -from web-", "job init -from web-batch "),
    ("eval list -job web-", "eval list -job web-batch "),
    ("stop web-", "stop web-batch "),
    ("job status w", "job status web"),
    ("job status bad", "job status bad"),
    ("node status a", "node status aa11aa11-1111-2222-3333-444444444444 "),
    ("node drain -enable aa1", "node drain -enable aa11aa11-1111-2222-3333-444444444444 "),
    ("node eligibility -enable aa", "node eligibility -enable aa11aa11-1111-2222-3333-444444444444 "),
    ("node identity get aa", "node identity get aa11aa11-1111-2222-3333-444444444444 "),
    ("node meta read -node-id aa", "node meta read -node-id aa11aa11-1111-2222-3333-444444444444 "),
    ("monitor -node-id=aa", "monitor -node-id=aa11aa11-1111-2222-3333-444444444444 "),
    ("alloc status bb", "alloc status bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc logs -f bb22bb22-", "alloc logs -f bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc logs -job web-", "alloc logs -job web-batch "),
    ("alloc exec bb", "alloc exec bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc fs bb", "alloc fs bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc restart bb", "alloc restart bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc signal -s SIGHUP bb", "alloc signal -s SIGHUP bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc stop bb", "alloc stop bb22bb22-1111-2222-3333-444444444444 "),
    ("alloc checks bb", "alloc checks bb22bb22-1111-2222-3333-444444444444 "),
    ("eval status cc", "eval status cc33cc33-1111-2222-3333-444444444444 "),
    ("eval explain cc", "eval explain cc33cc33-1111-2222-3333-444444444444 "),
    ("eval delete cc", "eval delete cc33cc33-1111-2222-3333-444444444444 "),
    ("deployment status dd", "deployment status dd44dd44-1111-2222-3333-444444444444 "),
    ("deployment promote dd", "deployment promote dd44dd44-1111-2222-3333-444444444444 "),
    ("deployment fail dd", "deployment fail dd44dd44-1111-2222-3333-444444444444 "),
    ("deployment pause dd", "deployment pause dd44dd44-1111-2222-3333-444444444444 "),
    ("deployment resume dd", "deployment resume dd44dd44-1111-2222-3333-444444444444 "),
    ("namespace status pay", "namespace status payments "),
    ("namespace inspect pay", "namespace inspect payments "),
    ("namespace delete pay", "namespace delete payments "),
    ("job status -namespace pay", "job status -namespace payments "),
    ("job status -namespace=pay", "job status -namespace=payments "),
    ("node pool info gp", "node pool info gpu "),
    ("node pool jobs gen", "node pool jobs general "),
    ("node pool nodes gen", "node pool nodes general "),
    ("node pool delete g", "node pool delete g"),
    ("var get shop", "var get shop/db "),
    ("var list nomad", "var list nomad/jobs/web "),
    ("var purge shop", "var purge shop/db "),
    ("var put shop", "var put shop/db "),
    ("volume status data", "volume status database "),
    ("volume deregister data", "volume deregister database "),
    ("volume detach data", "volume detach database "),
    ("volume delete data", "volume delete database "),
    ("plugin status e", "plugin status ebs "),
    ("plugin status x", "plugin status x"),
];

#[test]
fn objects_of_the_cluster_are_completed() {
    assert!(OF_OBJECTS.len() >= 60, "{}", OF_OBJECTS.len());
    let server = cluster_of_objects();
    let variables = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_COMPLETION_TIMEOUT", "20s")];
    for setup in SCRIPTS {
        let Some(session) = Session::start_with(setup, "objects", &[], &variables) else { continue };
        for (typed, want) in OF_OBJECTS {
            session.check(&format!("encamp {typed}\t"), &format!("encamp {want}"));
        }
        session.end();
    }
    let requests = server.take();
    let even = |r: &Request| {
        let prefix = r.query.iter().find(|(name, _)| name == "prefix").map_or("", |(_, value)| value.as_str());
        prefix.chars().filter(char::is_ascii_hexdigit).count() % 2 == 0
    };
    let nodes: Vec<&Request> = requests.iter().filter(|r| r.path == "/v1/nodes").collect();
    assert!(!nodes.is_empty() && nodes.iter().all(|r| even(r)), "servers take prefixes of even length");
}
