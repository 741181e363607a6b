//! `monitor export`: past messages of an agent, from its log file and from the journal of its host.

use std::os::unix::fs::PermissionsExt;

use crate::agent::Agent;
use crate::program::{Folder, Ran, path, run_with};

const CONFIG: &str = "bind_addr = \"127.0.0.1\"\nlog_file = \"DIR/logs/\"\nlog_level = \"DEBUG\"\n";

/// A program in the place of `journalctl`, which prints its arguments and two messages.
const JOURNAL: &str = "#!/bin/sh\necho \"$@\"\necho 'first message'\nprintf 'last \\303\\244'\n";

fn export(folder: &Folder, agent: &Agent, flags: &[&str]) -> Ran {
    let args = [&["monitor", "export"], flags].concat();
    run_with(folder.path(), &args, &[("NOMAD_ADDR", &agent.address())], None)
}

/// Starts an agent for which the programs of the folder `bin` come first.
fn start(folder: &Folder, with_log_file: bool) -> Agent {
    let directory = folder.path().to_string_lossy().into_owned();
    let config = if with_log_file { CONFIG } else { "bind_addr = \"127.0.0.1\"\n" };
    folder.file(
        "agent.hcl",
        format!("{}ports {{\n  http = 0\n  rpc = 0\n  serf = 0\n}}\n", config.replace("DIR", &directory)),
    );
    let found = std::env::var("PATH").unwrap_or_default();
    let mut command = std::process::Command::new("env");
    command.arg(format!("PATH={directory}/bin:{found}")).arg(path()).args(["agent", "-dev", "-config", "agent.hcl"]);
    let mut agent = Agent::launch(folder, &mut command);
    agent.serves();
    agent
}

#[test]
fn past_messages_come_from_the_log_file_or_the_journal() {
    let folder = Folder::new("log-export");
    std::fs::create_dir(folder.path().join("bin")).expect("a folder");
    folder.file("bin/journalctl", JOURNAL);
    let program = folder.path().join("bin/journalctl");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let agent = start(&folder, true);

    let ran = export(&folder, &agent, &["-on-disk"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    assert!(ran.stdout.contains("[INFO]"), "{}", ran.stdout);

    for (flags, arguments) in [
        (&["-service-name", "nomad"][..], "--no-pager --quiet --unit=nomad --since=-259200s"),
        (
            &["-service-name", "encamp.service", "-logs-since", "90m"],
            "--no-pager --quiet --unit=encamp.service --since=-5400s",
        ),
        (&["-service-name=nomad", "-follow"], "--no-pager --quiet --unit=nomad --since=-259200s --follow"),
    ] {
        let ran = export(&folder, &agent, flags);
        let printed = format!("{arguments}\nfirst message\nlast ä");
        assert_eq!((ran.stdout.trim_end(), ran.stderr.as_str(), ran.exit), (printed.as_str(), "", 0), "{flags:?}");
    }

    for (flags, error) in [
        (&[][..], "Either -service-name or -on-disk must be set"),
        (&["-on-disk", "-service-name", "nomad"], "Cannot target journald and nomad log file simultaneously"),
        (&["-on-disk", "-follow"], "Cannot follow log file"),
        (&["-service-name", "sshd"], "it must be the name of a unit and contain nomad or encamp"),
        (&["-service-name", "--nomad"], "it must be the name of a unit"),
        (&["-service-name", "nomad", "-logs-since", "-1h"], "it must not be negative"),
        (&["-service-name", "nomad", "-logs-since", "soon"], "Unknown value for logs_since"),
        (&["-on-disk", "-node-id", "ffffffff"], "No node(s) with prefix or id \"ffffffff\" found"),
        (&["-on-disk", "more"], "This command takes no arguments"),
    ] {
        let ran = export(&folder, &agent, flags);
        assert!(ran.exit == 1 && ran.stderr.contains(error), "{flags:?}: {ran:?}");
    }
}

#[test]
fn an_agent_without_a_log_file_says_so() {
    let folder = Folder::new("log-export-none");
    let agent = start(&folder, false);
    let ran = export(&folder, &agent, &["-on-disk"]);
    assert!(ran.exit == 1 && ran.stderr.contains("log_file is not configured"), "{ran:?}");
}
