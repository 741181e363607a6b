//! `job init` on a terminal: the questions about type, driver and resources.

use std::fs;

use crate::program::{Folder, run_in};
use crate::terminal::screen::{CTRL_C, CTRL_D, ENTER, Screen, Size};
use crate::terminal::{Given, encamp, encamp_with};

const SIZE: Size = Size { columns: 80, rows: 24 };
const NOBODY: &str = "http://127.0.0.1:1";
const DOWN: &str = "\x1b[B";
const ESC: &str = "\x1b";

fn init(folder: &Folder, args: &[&str]) -> Screen {
    encamp(SIZE, folder, NOBODY, &[&["job", "init"], args].concat())
}

/// Answers the questions: how often the mark moves down, and what is typed.
fn answer(screen: &Screen, kind: usize, driver: usize, cpu: &str, memory: &str) {
    screen.wait_for("Type of the job:\n");
    screen.press(&[&DOWN.repeat(kind), ENTER].concat());
    screen.wait_for("Driver of the task:\n");
    screen.press(&[&DOWN.repeat(driver), ENTER].concat());
    screen.wait_for("CPU in MHz [");
    screen.press(&[cpu, ENTER].concat());
    screen.wait_for("Memory in MB [");
    screen.press(&[memory, ENTER].concat());
}

fn written(folder: &Folder, name: &str) -> String {
    let text = fs::read_to_string(folder.path().join(name)).expect("a job file");
    fs::remove_file(folder.path().join(name)).expect("a file");
    text
}

#[test]
fn every_answer_makes_a_valid_job_file() {
    let folder = Folder::new("init-answers");
    let drivers = ["exec", "raw_exec", "docker", "java"];
    for (i, kind) in ["service", "batch", "system", "sysbatch"].into_iter().enumerate() {
        for (j, driver) in drivers.into_iter().enumerate() {
            let screen = init(&folder, &["job.hcl"]);
            answer(&screen, i, j, "250", "300");
            let ended = screen.ends().with(0);
            let want = format!(
                "Type of the job: {kind}\nDriver of the task: {driver}\nCPU in MHz: 250\nMemory in MB: 300\nExample job \
                 file written to job.hcl"
            );
            assert_eq!(ended.contents.trim_end(), want);
            for command in [&["job", "validate", "-strict", "job.hcl"][..], &["fmt", "-check", "job.hcl"]] {
                let ran = run_in(folder.path(), command);
                assert_eq!(ran.exit, 0, "{kind} {driver} {command:?}: {}{}", ran.stdout, ran.stderr);
            }
            let text = written(&folder, "job.hcl");
            for part in [
                format!("type = \"{kind}\""),
                format!("driver = \"{driver}\""),
                "cpu    = 250".to_string(),
                "memory = 300".to_string(),
            ] {
                assert!(text.contains(&part), "{part}: {text}");
            }
        }
    }
}

#[test]
fn the_proposed_answers_make_the_file_that_is_written_without_a_terminal() {
    let folder = Folder::new("init-default");
    for flags in [&[][..], &["-short"]] {
        assert_eq!(run_in(folder.path(), &[&["job", "init"], flags].concat()).exit, 0);
        let want = written(&folder, "example.nomad.hcl");
        let screen = init(&folder, flags);
        answer(&screen, 0, 0, "", "");
        screen.ends().with(0);
        assert_eq!(written(&folder, "example.nomad.hcl"), want);
    }
}

#[test]
fn wrong_numbers_are_asked_for_again() {
    let folder = Folder::new("init-numbers");
    let screen = init(&folder, &[]);
    screen.wait_for("Type of the job:\n");
    screen.press(ENTER);
    screen.wait_for("Driver of the task:\n");
    screen.press(ENTER);
    for wrong in ["0", "x", "-1", "99999999999"] {
        screen.wait_for("CPU in MHz [100]: ");
        screen.press(&[wrong, ENTER].concat());
        screen.wait_for("Enter a whole number from 1 up.");
    }
    screen.press(&["500", ENTER].concat());
    screen.wait_for("Memory in MB [64]: ");
    screen.press(&["9", ENTER].concat());
    screen.wait_for("Enter a whole number from 10 up.");
    screen.press(&["10", ENTER].concat());
    screen.ends().with(0).showing("CPU in MHz: 500");
    assert!(written(&folder, "example.nomad.hcl").contains("memory = 10"));
}

#[test]
fn narrow_windows_break_no_line() {
    let folder = Folder::new("init-narrow");
    let narrow = Size { columns: 40, rows: 12 };
    let screen = encamp(narrow, &folder, NOBODY, &["job", "init"]);
    for mark in ["> service", "> batch", "> system", "> sysbatch"] {
        // The list comes in several writes.
        screen.wait_until(&format!("{mark:?} in five lines"), |screen, _| {
            let contents = screen.contents();
            contents.contains(mark) && contents.trim_end().lines().count() == 5
        });
        let contents = screen.contents();
        let lines: Vec<&str> = contents.trim_end().lines().collect();
        // A line that the terminal wraps is one line here.
        assert!(lines.iter().all(|line| line.chars().count() < usize::from(narrow.columns)), "{contents}");
        screen.press(DOWN);
    }
    screen.press(ENTER);
    screen.wait_for("Driver of the task:");
    screen.press(ENTER);
    for question in ["CPU in MHz [100]: ", "Memory in MB [64]: "] {
        screen.wait_for(question);
        screen.press(&["no number", ENTER].concat());
        screen.wait_for("up.\n");
        screen.press(ENTER);
    }
    let ended = screen.ends().with(0);
    let want = "Type of the job: service\nDriver of the task: exec\nCPU in MHz: 100\nMemory in MB: 64\nExample job file \
                written to example.nomad.hcl";
    assert_eq!(ended.contents.trim_end(), want);
}

#[test]
fn a_cancelled_question_writes_nothing() {
    let folder = Folder::new("init-cancelled");
    for (answers, keys, code, left) in [
        (0, ESC, 1, ""),
        (0, CTRL_C, 130, ""),
        // dialoguer does not know Ctrl-D.
        (0, "\x04\x1b", 1, ""),
        (1, ESC, 1, "Type of the job: service\n"),
        (1, CTRL_C, 130, "Type of the job: service\n"),
        (2, CTRL_C, 130, "Type of the job: service\nDriver of the task: exec\n"),
        (3, CTRL_C, 130, "Type of the job: service\nDriver of the task: exec\nCPU in MHz: 100\n"),
    ] {
        let screen = init(&folder, &[]);
        let questions = ["Type of the job:", "Driver of the task:", "CPU in MHz [100]:", "Memory in MB [64]:"];
        for question in &questions[..answers] {
            screen.wait_for(question);
            screen.press(ENTER);
        }
        screen.wait_for(questions[answers]);
        screen.press(keys);
        let ended = screen.ends().with(code);
        assert_eq!(ended.contents.trim_end(), format!("{left}No job file written."), "{answers} {keys:?}");
    }
    assert_eq!(CTRL_D, "\x04");
    assert!(!folder.path().join("example.nomad.hcl").exists());
}

#[test]
fn nothing_is_asked_where_nothing_is_open() {
    let folder = Folder::new("init-given");
    let cases: &[Given<'_>] = &[
        (&[("TERM", "dumb")], &[]),
        (&[("TERM", "xterm"), ("CI", "true")], &[]),
        (&[("TERM", "xterm"), ("NO_COLOR", "1")], &["-short"]),
        (&[("TERM", "xterm")], &["-connect"]),
        (&[("TERM", "xterm")], &["-template=web-canary"]),
        (&[("TERM", "xterm")], &["-list-examples"]),
        (&[("TERM", "xterm")], &["a", "b"]),
    ];
    for (env, flags) in cases {
        let args = [&["job", "init"], *flags].concat();
        let ended = encamp_with(Size { columns: 200, rows: 90 }, &folder, NOBODY, env, &args).ends();
        let _ = fs::remove_file(folder.path().join("example.nomad.hcl"));
        let ran = run_in(folder.path(), &args);
        let _ = fs::remove_file(folder.path().join("example.nomad.hcl"));
        assert_eq!(
            (ended.contents.trim_end(), ended.code()),
            ((ran.stdout + &ran.stderr).trim_end(), ran.exit),
            "{args:?}"
        );
    }
    folder.file("example.nomad.hcl", "");
    init(&folder, &[]).ends().with(1).showing("Job 'example.nomad.hcl' already exists");
}
