//! Tasks of the repository: `cargo xtask help` lists them.
//!
//! Each task runs commands that a person could run by hand, and prints them first. The program depends on the standard
//! library alone, so that it is built in a second.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const HELP: &str = "\
Tasks of the repository.

Usage: cargo xtask <task> [arguments]

Tasks:
  check                    Check format, lints and documentation, as .ci/run does
  test [all]               Run the tests that prove a change; with `all`, also those that take long
  generate                 Write all generated files: manual pages, completion scripts,
                           diagnostics, transcripts of the documentation, the demo cluster,
                           the picture of README.md, the code of `csi`
  picture                  Draw docs/picture.svg, the output of the main command of README.md
  csi                      Write the messages and services of storage plugins in crates/csi, from
                           csi.proto
  figures [FILE...]        Draw docs/dev/growth.svg from FILEs with lines that `encamp sim ... -json`
                           printed. Without a FILE, run the scenarios first (long)
  fuzz TARGET [SECONDS]    Build the fuzzers and run one of them (60 seconds), or all of them
                           one after the other; `fuzz help` lists them
  nemesis [OPTIONS]        Inject faults into real servers and nodes for an hour, and check what clients
                           saw (needs root); `nemesis help` lists the options
  long                     Run .ci/release: all tests, long runs and benchmarks
  release [OPTIONS]        Make the files of a release in dist/; `release help` lists the options
  help                     Print this text

Exit codes: 0 success, 1 a command failed, 2 wrong usage.
";

/// The targets of `fuzz/` that are programs of their own.
const PROGRAMS: [&str; 5] = ["archives", "hcl", "json", "templates", "variables"];
/// The program of the other targets, which are the directories of kept inputs.
const INPUTS: &str = "inputs";
/// Where these directories are.
const CORPUS: &str = "tests/fuzz_targets/corpus";
/// The longest input that a fuzzer makes, in bytes.
const LONGEST_INPUT: u32 = 65_536;
/// How long a fuzzer runs, in seconds.
const FUZZ_SECONDS: u64 = 60;

/// The modules of the test program `cli` that write generated files when `ENCAMP_UPDATE` is set, in steps: the
/// documents of the second step show what is printed about the demo cluster, which the first one writes.
const GENERATORS: [&[&str]; 2] = [
    &["fixtures::"],
    &[
        "generated::",
        "reference_commands::",
        "diagnostics::",
        "what_if::",
        "rebalance::",
        "docs::",
        "walkthrough::",
        "test_tiers::",
        PICTURE,
    ],
];
/// The module of the test program `cli` that draws the picture of README.md.
const PICTURE: &str = "picture::";

/// Numbers of nodes in docs/dev/growth.svg.
const NODES: [&str; 4] = ["500", "1000", "5000", "10000"];
/// The scenarios in docs/dev/growth.svg, with their flags.
const SCENARIOS: [&[&str]; 2] = [&["load-shedding", "-system-jobs", "10"], &["c1m", "-allocs", "200000"]];

/// Why a task ended early.
#[derive(Debug)]
enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// A command or a file failed.
    Failed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) | Failure::Failed(text) => f.write_str(text),
        }
    }
}

type Outcome = Result<(), Failure>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["help" | "-h" | "-help" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        ["check"] => check(),
        ["generate"] => generate(),
        ["test"] => test(false),
        ["test", "all"] => test(true),
        ["test", ..] => Err(Failure::Usage("test takes no argument, or `all`".into())),
        ["picture"] => write_generated(&[PICTURE]),
        ["csi"] => csi(),
        ["figures", files @ ..] => figures(files),
        ["fuzz", "help"] => fuzz_targets().map(|targets| println!("{}", targets.join("\n"))),
        ["fuzz", target] => fuzz(target, FUZZ_SECONDS),
        ["fuzz", target, seconds] => seconds_of(seconds).and_then(|seconds| fuzz(target, seconds)),
        ["fuzz", ..] => Err(Failure::Usage("fuzz takes a target and a number of seconds".into())),
        ["release", args @ ..] => forward("xtask-release", args),
        ["nemesis", args @ ..] => forward("xtask-nemesis", args),
        ["long"] => run(&mut Command::new(root().join(".ci/release"))),
        [task @ ("check" | "csi" | "generate" | "long" | "picture" | "help"), ..] => {
            Err(Failure::Usage(format!("{task} takes no arguments")))
        }
        [task, ..] => Err(Failure::Usage(format!("there is no task {task:?}"))),
        [] => Err(Failure::Usage("a task is missing".into())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure @ Failure::Usage(_)) => {
            eprint!("error: {failure}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(failure @ Failure::Failed(_)) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Format, lints and documentation; the commands are those of `.ci/run`.
fn check() -> Outcome {
    run(&mut cargo(&["fmt", "--check"]))?;
    run(&mut cargo(&["clippy", "--locked", "--all-targets", "--", "-D", "warnings"]))?;
    let mut doc = cargo(&["doc", "--locked", "--no-deps", "--lib"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    run(&mut doc)
}

/// The tests that prove a change, or all of them with all rounds (docs/dev/tests.md).
fn test(all: bool) -> Outcome {
    run(&mut tests(&[], all))?;
    if all {
        // The generated code of crates/csi is that of csi.proto. It has dependencies that nothing else needs.
        run(&mut tests(&["--package", "xtask-csi"], all))?;
        run(&mut tests(&["--package", "xtask-nemesis"], all))?;
        run(Command::new(root().join("fuzz/build")).arg("check"))?;
    }
    Ok(())
}

fn tests(packages: &[&str], all: bool) -> Command {
    let mut test = cargo(&["test", "--locked", "--no-fail-fast"]);
    test.args(packages);
    if all {
        test.args(["--", "--include-ignored"]).env("ENCAMP_TESTS", "all").env(CASES_SEED, cases_seed());
    }
    test
}

/// The variable with the seed of the cases that property tests try.
const CASES_SEED: &str = "PROPTEST_RNG_SEED";
/// Its value in `.cargo/config.toml`, which this program gets, too.
const FIRST_TIER_SEED: &str = "1";

/// Another seed in each run of the second tier, unless the caller chose one. It is printed, to repeat a failure.
fn cases_seed() -> String {
    let chosen = std::env::var(CASES_SEED).ok().filter(|seed| seed != FIRST_TIER_SEED);
    let seed = chosen.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |since| since.as_secs()).to_string()
    });
    eprintln!("{CASES_SEED}={seed}");
    seed
}

/// Writes all generated files.
fn generate() -> Outcome {
    csi()?;
    GENERATORS.iter().try_for_each(|modules| write_generated(modules))
}

/// Runs a task by a program of its own, with the dependencies that this one does without.
fn forward(package: &str, args: &[&str]) -> Outcome {
    let mut task = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    task.args(["run", "--quiet", "--locked", "--release", "--package", package, "--manifest-path"]);
    // The working directory stays that of the caller, and so do the paths of files.
    run(task.arg(root().join("Cargo.toml")).arg("--").args(args))
}

/// Writes the generated code of crates/csi, by a program with the dependencies that this one does without.
fn csi() -> Outcome {
    run(&mut cargo(&["run", "--locked", "--package", "xtask-csi"]))
}

/// Writes the generated files of some modules. They come from the sources, not from another build, and from the
/// repository's own recordings.
fn write_generated(modules: &[&str]) -> Outcome {
    let mut update = cargo(&["test", "--locked", "--test", "cli", "--"]);
    update.args(modules).env("ENCAMP_UPDATE", "1").env_remove("ENCAMP_PROGRAM").env_remove("ENCAMP_ORACLE");
    run(&mut update)
}

/// Draws docs/dev/growth.svg from what files hold, or from what is measured now.
fn figures(files: &[&str]) -> Outcome {
    let files = match files {
        [] => vec![measure()?],
        files => files.iter().map(PathBuf::from).collect(),
    };
    let mut draw = Command::new("python3");
    // Paths of files are those of the caller.
    draw.arg(root().join("benches/growth.py")).args(files).stderr(Stdio::inherit());
    let drawn = draw.output().map_err(|e| Failure::Failed(format!("python3: {e}")))?;
    if !drawn.status.success() {
        return Err(Failure::Failed(format!("benches/growth.py: {}", drawn.status)));
    }
    let figure = root().join("docs/dev/growth.svg");
    fs::write(&figure, &drawn.stdout).map_err(|e| failed(&figure, &e))
}

/// Runs the scenarios of docs/dev/growth.svg; gives the file with the results.
fn measure() -> Result<PathBuf, Failure> {
    let folder = root().join("target/figures");
    fs::create_dir_all(&folder).map_err(|e| failed(&folder, &e))?;
    let results = folder.join("growth.jsonl");
    let file = File::create(&results).map_err(|e| failed(&results, &e))?;
    for scenario in SCENARIOS {
        for nodes in NODES {
            let mut sim = cargo(&["run", "--locked", "--release", "--package", "encamp", "--", "sim"]);
            sim.args(scenario).args(["-nodes", nodes, "-json"]);
            run(sim.stdout(file.try_clone().map_err(|e| failed(&results, &e))?))?;
        }
    }
    Ok(results)
}

fn seconds_of(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::Usage(format!("{text:?} is no number of seconds")))
}

/// All targets of `fuzz/`.
fn fuzz_targets() -> Result<Vec<String>, Failure> {
    let folder = root().join(CORPUS);
    let entries = fs::read_dir(&folder).map_err(|e| failed(&folder, &e))?;
    let mut targets: Vec<String> = PROGRAMS.map(String::from).into();
    targets.extend(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()));
    targets.sort();
    Ok(targets)
}

/// Builds the fuzzers and runs one, or `all`.
fn fuzz(target: &str, seconds: u64) -> Outcome {
    let known = fuzz_targets()?;
    if target != "all" && !known.iter().any(|k| k == target) {
        return Err(Failure::Usage(format!("there is no target {target:?}; there are {}", known.join(", "))));
    }
    let built = root().join("fuzz/target");
    run(Command::new(root().join("fuzz/build")).env("CARGO_TARGET_DIR", &built))?;
    known.iter().filter(|k| target == "all" || *k == target).try_for_each(|k| fuzz_one(k, seconds, &built))
}

/// Runs a fuzzer. The first run of a target begins with the seeds of the seeded fuzzer, or the kept inputs.
fn fuzz_one(target: &str, seconds: u64, built: &Path) -> Outcome {
    let folder = root().join("fuzz");
    let (corpus, found) = (folder.join("corpus").join(target), folder.join("artifacts").join(target));
    let is_program = PROGRAMS.contains(&target);
    if is_program && !corpus.is_dir() {
        let mut seeds = cargo(&["test", "--locked", "--test", "oracle", "fuzz_jobspec::"]);
        run(seeds.env("ENCAMP_FUZZ_SEEDS", folder.join("corpus")).env_remove("ENCAMP_ORACLE"))?;
    }
    // There are no seeds of archives and templates.
    for dir in [&corpus, &found] {
        fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
    }
    let program = if is_program { target } else { INPUTS };
    let mut fuzzer = Command::new(built.join("x86_64-unknown-linux-gnu/release").join(program));
    // libFuzzer puts the name of an input right behind the prefix.
    fuzzer.arg(format!("-artifact_prefix={}/", found.display()));
    fuzzer.args([format!("-max_total_time={seconds}"), format!("-max_len={LONGEST_INPUT}")]).arg(corpus);
    if !is_program {
        // New inputs go to the first directory.
        fuzzer.arg(root().join(CORPUS).join(target)).env("ENCAMP_FUZZ_TARGET", target);
    }
    run(&mut fuzzer)
}

/// The root of the repository.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The cargo that runs this program.
fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// Prints a command, runs it, and fails unless it succeeds.
fn run(command: &mut Command) -> Outcome {
    let shown = shown(command);
    eprintln!("+ {shown}");
    let status = command.status().map_err(|e| Failure::Failed(format!("{shown}: {e}")))?;
    if status.success() { Ok(()) } else { Err(Failure::Failed(format!("{shown}: {status}"))) }
}

/// The line of a command, with the variables that it sets; paths below the root are shown relative to it.
fn shown(command: &Command) -> String {
    let text = |s: &OsStr| s.to_string_lossy().replace(&format!("{}/", root().display()), "");
    let set = command.get_envs().filter_map(|(name, value)| Some(format!("{}={:?}", text(name), text(value?))));
    let program = Path::new(command.get_program());
    let program = match program.file_name() {
        Some(name) if name == "cargo" => text(name),
        _ => text(program.as_os_str()),
    };
    set.chain([program]).chain(command.get_args().map(text)).collect::<Vec<_>>().join(" ")
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
