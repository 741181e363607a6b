//! Finding commands, help, flags, and the commands that need no cluster and no job file.

use crate::program;
use std::path::Path;

use crate::program::{Folder, run, run_in, run_with};

#[test]
fn version_is_a_command_and_a_flag() {
    let want = format!("encamp v{}\n", env!("CARGO_PKG_VERSION"));
    for args in [&["version"][..], &["-version"], &["--version"], &["-v"], &["-v", "job", "plan"]] {
        let ran = run(args);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), (want.as_str(), "", 0), "{args:?}");
    }
}

#[test]
fn help_is_on_stdout_whatever_the_exit_code() {
    for (args, exit, start) in [
        (&[][..], 127, "Usage: encamp "),
        (&["nosuch"], 127, "Usage: encamp "),
        (&["-h"], 0, "Usage: encamp "),
        (&["job"], 1, "Usage: encamp job <subcommand> [options] [args]\n"),
        (&["job", "nosuch"], 1, "Usage: encamp job <subcommand>"),
        (&["job", "plan", "x", "--help"], 0, "Usage: encamp job plan [options] <path>...\nAlias: encamp plan\n"),
        (&["plan", "-h"], 0, "Usage: encamp job plan [options] <path>...\n"),
        (
            &["-nosuch", "job", "plan"],
            1,
            "Invalid flags before the subcommand. If these flags are for\nthe subcommand, please put them after the subcommand.\n\nUsage: encamp job plan",
        ),
    ] {
        let ran = run(args);
        assert!(ran.stdout.starts_with(start), "{args:?}: {}", ran.stdout);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", exit), "{args:?}");
    }
}

#[test]
fn general_help_lists_commands_but_no_short_names() {
    let help = run(&[]).stdout;
    let rows: Vec<&str> =
        help.lines().filter(|l| l.starts_with("    ")).filter_map(|l| l.split_whitespace().next()).collect();
    for name in ["job", "version", "completion"] {
        assert!(rows.contains(&name), "{name} is missing: {help}");
    }
    for alias in ["plan", "init", "validate", "inspect"] {
        assert!(!rows.contains(&alias), "{alias} is listed: {help}");
    }
    assert!(help.lines().all(|l| l.chars().count() <= 80), "{help}");
}

#[test]
fn group_help_lists_its_commands_sorted() {
    let help = run(&["job", "-help"]).stdout;
    let rows: Vec<&str> = help.split("Subcommands:\n").nth(1).unwrap().lines().map(str::trim_start).collect();
    let mut sorted = rows.clone();
    sorted.sort();
    assert_eq!(rows, sorted);
    assert!(rows.iter().any(|r| r.starts_with("plan")));
}

#[test]
fn wrong_flags_print_one_line_and_the_help() {
    for (args, exit, line) in [
        (&["job", "plan", "-nope", "x"][..], 255, "flag provided but not defined: -nope\n"),
        (&["plan", "-var"], 255, "flag needs an argument: -var\n"),
        (&["job", "plan", "-diff=maybe", "x"], 255, "invalid boolean value \"maybe\" for -diff: parse error\n"),
        (&["job", "init", "---x"], 1, "bad flag syntax: ---x\n"),
        (&["version", "-x"], 1, "flag provided but not defined: -x\n"),
    ] {
        let ran = run(args);
        assert_eq!((ran.stderr.as_str(), ran.exit), (line, exit), "{args:?}");
        assert!(ran.stdout.starts_with("Usage: encamp "), "{args:?}");
    }
}

#[test]
fn init_writes_an_example_once() {
    let folder = Folder::new("init");
    let ran = run_in(folder.path(), &["job", "init"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("Example job file written to example.nomad.hcl\n", 0));
    let text = std::fs::read_to_string(folder.path().join("example.nomad.hcl")).unwrap();
    assert!(text.contains("job \"example\""));

    let again = run_in(folder.path(), &["init", "-short"]);
    assert_eq!(again.stderr, "Job 'example.nomad.hcl' already exists\n");
    assert_eq!((again.stdout.as_str(), again.exit), ("", 1));
    assert_eq!(std::fs::read_to_string(folder.path().join("example.nomad.hcl")).unwrap(), text);

    assert_eq!(run_in(folder.path(), &["init", "-short", "short.hcl"]).exit, 0);
    let short = std::fs::read_to_string(folder.path().join("short.hcl")).unwrap();
    assert!(!short.contains("# ") && short.contains("job \"example\"") && !short.contains("\n\n\n"), "{short}");

    let nowhere = run_in(folder.path(), &["init", "no/such/folder.hcl"]);
    assert_eq!(nowhere.stderr, "Failed to write 'no/such/folder.hcl': no such file or directory\n");
    assert_eq!((nowhere.stdout.as_str(), nowhere.exit), ("", 1));

    let two = run_in(folder.path(), &["init", "a", "b"]);
    assert!(two.stderr.ends_with("For additional help try 'encamp job init -help'\n"), "{}", two.stderr);
}

#[test]
fn completion_scripts_are_printed_for_known_shells() {
    for (shell, file) in [("bash", "encamp.bash"), ("zsh", "_encamp"), ("fish", "encamp.fish")] {
        let ran = run(&["completion", shell]);
        let stored =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(file)).unwrap();
        assert_eq!((ran.stdout, ran.exit), (stored, 0), "{shell}");
    }
    let unknown = run(&["completion", "tcsh"]);
    assert_eq!((unknown.stdout.as_str(), unknown.exit), ("", 1));
    assert!(unknown.stderr.starts_with("Unknown shell \"tcsh\""));
}

#[test]
fn a_line_to_complete_is_answered_whatever_the_arguments_are() {
    let folder = Folder::new("complete");
    folder.file("web.hcl", "");
    let complete = |vars: &[(&str, &str)], args: &[&str]| {
        let ran = run_with(folder.path(), args, vars, None);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0), "{vars:?}");
        ran.stdout
    };
    let line = |line: &str| complete(&[("COMP_LINE", line)], &[]);
    assert_eq!(line("encamp job pl"), "plan\n");
    assert_eq!(line("encamp job plan "), "web.hcl\n");
    assert_eq!(line("encamp job plan -V"), "");
    assert_eq!(line("encamp nosuch "), "");
    assert_eq!(complete(&[("COMP_LINE", "encamp job plan x"), ("COMP_POINT", "13")], &[]), "plan\n");
    // What bash does after `complete -C encamp encamp`.
    let vars = [("COMP_LINE", "encamp job stop -yes web"), ("COMP_POINT", "20"), ("COMP_TYPE", "9")];
    assert_eq!(complete(&vars, &["encamp", "-yes", "stop"]), "-yes\n");
    // A shell that has no line asks for nothing.
    let version = run_with(folder.path(), &["version"], &[("COMP_LINE", "")], None);
    assert!(version.stdout.starts_with("encamp v"));
}

#[test]
fn a_line_that_is_no_text_has_no_completions() {
    use std::os::unix::ffi::OsStrExt;
    let line = std::ffi::OsStr::from_bytes(b"encamp job \xff");
    let out = std::process::Command::new(program::path()).arg("version").env("COMP_LINE", line).output().unwrap();
    assert!(out.status.success() && out.stdout.is_empty() && out.stderr.is_empty(), "{out:?}");
}
