//! Small job files on which an earlier build and the recorded program differed
//! (`tests/oracle/jobspec-differences/README.md`): whether they are accepted, the JSON, the texts of errors and
//! warnings.
//!
//! `ENCAMP_ORACLE_CASE=text` runs only the cases whose name contains the text and prints both outputs of those that
//! differ.

use std::path::Path;
use std::time::Duration;

use serde_json::{Number, Value};

use crate::oracle;
use crate::program::{Ran, run_for};

/// The cases that differ on purpose: `docs/dev/compatibility.md`, section "Job files", says why. All others have to be
/// equal.
const DIFFERENT: [&str; 18] =
    ["12", "17", "30", "38", "39", "40", "41", "42", "43", "46", "47", "75", "75b", "75c", "76", "78", "87", "97"];

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was recorded of a case.
struct Case {
    name: String,
    args: Vec<String>,
    stdin: String,
    expected: Expected,
}

/// What a run has to come to.
#[derive(Debug)]
enum Expected {
    /// Accepted, whatever is printed.
    Accepted,
    /// Refused, whatever is printed.
    Refused,
    /// Exit code and all that is printed but our explanations.
    Printed { exit: i32, text: Vec<String> },
    /// Values in the printed JSON, by path.
    Values(Vec<(String, Wanted)>),
}

/// A value in the JSON, or how many elements a list has.
#[derive(Debug)]
enum Wanted {
    Absent,
    Length(usize),
    Value(Value),
    /// A number in exactly this form.
    Number(String),
}

/// Lines that say something.
fn said(text: &str) -> Vec<String> {
    text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// What was printed, without the explanations below the first line that begins with `error: ` or `warning: `.
fn printed(ran: &Ran) -> Vec<String> {
    let explained = |line: &&str| line.starts_with("error: ") || line.starts_with("warning: ");
    let stderr: Vec<&str> = ran.stderr.lines().take_while(|line| !explained(line)).collect();
    said(&format!("{}\n{}", stderr.join("\n"), ran.stdout))
}

/// Reads a value as the records write it: `'text'`, `('i', '5')`, `['a']`, `True`, `None`, `12`; gives the rest of the
/// text.
fn literal(text: &str) -> Option<(Wanted, &str)> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('\'') {
        let (value, rest) = quoted(rest)?;
        return Some((if value == "<absent>" { Wanted::Absent } else { Wanted::Value(value.into()) }, rest));
    }
    if let Some(rest) = text.strip_prefix("('i', '").or_else(|| text.strip_prefix("('f', '")) {
        let (number, rest) = quoted(rest)?;
        return Some((Wanted::Number(number), rest.strip_prefix(')')?));
    }
    if let Some(mut rest) = text.strip_prefix('[') {
        let mut list = Vec::new();
        while !rest.starts_with(']') {
            let (value, after) = literal(rest)?;
            let Wanted::Value(value) = value else { return None };
            list.push(value);
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        return Some((Wanted::Value(list.into()), rest.strip_prefix(']')?));
    }
    let (word, rest) = text.split_at(text.find([' ', ',', ']']).unwrap_or(text.len()));
    let value = match word {
        "True" => true.into(),
        "False" => false.into(),
        "None" => Value::Null,
        number => Value::Number(number.parse::<Number>().ok()?),
    };
    Some((Wanted::Value(value), rest))
}

/// The text up to the closing quote, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Some((out, &text[at + 1..])),
            '\\' => out.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            c => out.push(c),
        }
    }
    None
}

/// A line such as `.Job.Name: ref='a' encamp='b'`; `#len` behind a path counts the elements.
fn difference(line: &str) -> Option<(String, Wanted)> {
    let (path, rest) = line.split_once(": ref=")?;
    let (wanted, _) = literal(rest)?;
    Some(match (path.strip_suffix("#len"), wanted) {
        (Some(path), Wanted::Value(n)) => (path.to_owned(), Wanted::Length(usize::try_from(n.as_u64()?).ok()?)),
        (_, wanted) => (path.to_owned(), wanted),
    })
}

/// What documents call a case: the part of its name before the first dash.
fn number(name: &str) -> &str {
    name.split_once('-').map_or(name, |(number, _)| number)
}

impl Case {
    /// Reads what was recorded; why not, where the record has another form.
    fn read(folder: &Path, name: &str, text: &str) -> Result<Case, String> {
        let (head, body) = text.split_once('\n').ok_or("no line")?;
        let case = |args: Vec<String>, stdin, expected| Case { name: name.to_owned(), args, stdin, expected };
        let Some((command, kind)) = head.split_once(" env=None -> ") else {
            // Two outputs of the formatter, which reads standard input. Errors differ in form.
            let stdin = oracle::text_at(&folder.join(format!("{name}.hcl"))).ok_or("no input")?;
            let expected = match body.split_once("\nencamp fmt -\n") {
                Some((text, _)) => Expected::Printed { exit: 0, text: said(text) },
                None => Expected::Refused,
            };
            return Ok(case(vec!["fmt".into(), "-".into()], stdin, expected));
        };
        let args = command.split_whitespace().map(str::to_owned).collect();
        if kind == "json-diff" {
            let values = body.lines().filter(|line| !line.is_empty());
            let values = values.map(|line| difference(line).ok_or_else(|| format!("not a difference: {line}")));
            return Ok(case(args, String::new(), Expected::Values(values.collect::<Result<_, _>>()?)));
        }
        let (recorded, _) = body.split_once("\n--- encamp rc=").ok_or("no output of ours")?;
        let recorded = recorded.strip_prefix("--- reference rc=").ok_or("no recorded output")?;
        let (exit, text) = recorded.split_once('\n').ok_or("no exit code")?;
        let exit = exit.parse().map_err(|e| format!("{exit}: {e}"))?;
        let text = said(text);
        let accepted = text.iter().eq(["(accepted)"]);
        Ok(case(args, String::new(), if accepted { Expected::Accepted } else { Expected::Printed { exit, text } }))
    }

    fn differs(&self, ran: &Ran) -> Option<String> {
        match &self.expected {
            Expected::Accepted => (ran.exit != 0).then(|| "refused, but should be accepted".into()),
            Expected::Refused => (ran.exit == 0).then(|| "accepted, but should be refused".into()),
            Expected::Printed { exit, text } => {
                let got = printed(ran);
                (ran.exit != *exit || got != *text).then(|| {
                    format!("exit {}, want {exit}\n{}\n--- want\n{}", ran.exit, got.join("\n"), text.join("\n"))
                })
            }
            Expected::Values(values) => {
                let Ok(json) = serde_json::from_str::<Value>(&ran.stdout) else {
                    return Some(format!("no JSON, exit {}\n{}", ran.exit, ran.stderr));
                };
                let wrong = values.iter().filter_map(|(path, wanted)| {
                    let found = at(&json, path);
                    let same = match wanted {
                        Wanted::Absent => found.is_none(),
                        Wanted::Length(n) => found.and_then(Value::as_array).is_some_and(|list| list.len() == *n),
                        Wanted::Value(value) => found == Some(value),
                        Wanted::Number(text) => {
                            found.and_then(Value::as_number).is_some_and(|n| n.to_string() == *text)
                        }
                    };
                    (!same).then(|| format!("{path}: got {found:?}, want {wanted:?}"))
                });
                let wrong: Vec<String> = wrong.collect();
                (!wrong.is_empty()).then(|| wrong.join("\n"))
            }
        }
    }
}

/// The value at a path such as `.Job.TaskGroups[0].Name`.
fn at<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    path.split(['.', '[']).filter(|step| !step.is_empty()).try_fold(json, |value, step| match step.strip_suffix(']') {
        Some(index) => value.get(index.parse::<usize>().ok()?),
        None => value.get(step),
    })
}

#[test]
fn jobspec_differences() {
    let Some(folder) = oracle::folder("jobspec-differences") else { return };
    let filter = std::env::var("ENCAMP_ORACLE_CASE").ok();
    let (mut equal, mut total, mut different) = (0, 0, Vec::new());
    for (name, path) in oracle::files(&folder, ".txt") {
        if filter.as_ref().is_some_and(|f| !name.contains(f)) {
            continue;
        }
        total += 1;
        let text = oracle::text_at(&path).expect("a record");
        let case = Case::read(&folder, &name, &text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
        let found = case.differs(&run_for(PATIENCE, &folder, &args, &[], &case.stdin));
        if let Some(difference) = found.as_ref().filter(|_| filter.is_some()) {
            println!("{}: {difference}", case.name);
        }
        match found {
            None => equal += 1,
            Some(_) => different.push(case.name),
        }
    }
    println!("jobspec-differences oracle: {equal}/{total} equal");
    println!("different: {}", different.join(", "));
    if !oracle::replaced() {
        different.retain(|name| !DIFFERENT.contains(&number(name)));
        assert!(different.is_empty(), "these cases have to be equal: {different:?}");
    }
}

#[test]
fn every_difference_has_a_reason() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dev/compatibility.md")).unwrap();
    let section = page.split("## ").find(|section| section.starts_with("Job files\n")).unwrap();
    let listed = section.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let listed: Vec<&str> = listed.flat_map(|(cases, _)| cases.split(", ")).filter(|case| *case != "cases").collect();
    assert_eq!(listed, DIFFERENT);
}

#[test]
fn records_are_read() {
    let read = |line| format!("{:?}", difference(line));
    assert_eq!(read(".A[0].k#len: ref=2 encamp=1"), "Some((\".A[0].k\", Length(2)))");
    assert_eq!(read(".A: ref='<absent>' encamp='x'"), "Some((\".A\", Absent))");
    assert_eq!(read(".A: ref='a\\n' encamp='x'"), "Some((\".A\", Value(String(\"a\\n\"))))");
    assert_eq!(read(".A: ref=('i', '5') encamp='x'"), "Some((\".A\", Number(\"5\")))");
    assert_eq!(read(".A: ref=['x', True] encamp=None"), "Some((\".A\", Value(Array [String(\"x\"), Bool(true)])))");
    assert_eq!(read("nothing"), "None");
    let json = serde_json::json!({"A": [{"k": [1]}]});
    assert_eq!(at(&json, ".A[0].k"), Some(&serde_json::json!([1])));
    assert_eq!(at(&json, ".A[1].k"), None);
}
