//! Templates executed by Go's own text/template and by this crate: both refuse them, or both give the same text.
//!
//! Skipped if Go is not available; with `CI=true` that is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use encamp_template::{Bound, Failure, Limits, NoSource, Options, Template, Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Deserialize)]
struct Ran {
    ok: bool,
    output: String,
    why: String,
}

fn data() -> Json {
    json!({
        "s": "hello", "empty": "", "i": 42, "zero": 0, "f": 1.5, "b": true, "null": null, "none": [],
        "l": [1, 2, 3], "m": {"a": "A", "z": 26}, "words": ["one", "two", "three"],
        "ll": [{"k": "v", "in": [1, 2]}, {"k": "w", "in": []}], "mixed": [1, "a", null, {"x": 1}, [1], 2.5, false],
        "deep": {"a": {"b": {"c": "deep"}}}, "big": 1e30, "small": 1e-30, "neg": -7, "whole": 2e10,
        "é": "accent", "break": 1, "end": 2, "if": 3,
    })
}

/// Go, where it is installed.
fn go() -> Option<PathBuf> {
    let found = [Path::new("go"), Path::new("/usr/local/go/bin/go")]
        .into_iter()
        .find(|go| Command::new(go).arg("version").output().is_ok_and(|o| o.status.success()));
    assert!(found.is_some() || std::env::var("CI").is_err(), "Go is not installed");
    if found.is_none() {
        println!("skipped: Go is not installed");
    }
    found.map(Path::to_path_buf)
}

/// What Go says of each request.
fn by_go(go: &Path, requests: &[Json]) -> Vec<Ran> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
    let mut child = Command::new(go)
        .args(["run", "main.go"])
        .current_dir(folder)
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Go starts");
    let input = serde_json::to_vec(requests).expect("JSON");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(&input).expect("the requests are written"));
    let done = child.wait_with_output().expect("Go ends");
    writer.join().expect("the writer ends");
    assert!(done.status.success(), "{}", done.status);
    serde_json::from_slice(&done.stdout).expect("the answers")
}

fn by_us(request: &Json) -> Result<String, String> {
    let text = |key: &str| request[key].as_str().unwrap_or_default().to_string();
    let options = Options {
        left: text("Left"),
        right: text("Right"),
        error_on_missing_key: request["Strict"] == true,
        ..Options::default()
    };
    let template = Template::parse("t", &text("Text"), &options).map_err(|e| e.to_string())?;
    let dot = Value::from_json(&request["Data"]).map_err(|e| e.to_string())?;
    let done = template.render_with(&NoSource, dot, &Limits::default()).map_err(|e| e.to_string())?;
    done.text.ok_or_else(|| "missing dependencies".into())
}

fn compare(requests: &[Json]) {
    let Some(go) = go() else { return };
    let mut wrong = Vec::new();
    for (request, theirs) in requests.iter().zip(by_go(&go, requests)) {
        let ours = by_us(request);
        let same = match &ours {
            Ok(text) => theirs.ok && *text == theirs.output,
            Err(_) => !theirs.ok,
        };
        if !same {
            let theirs = if theirs.ok { Ok(theirs.output) } else { Err(theirs.why) };
            wrong.push(format!("{}\n   Go: {theirs:?}\n ours: {ours:?}", request["Text"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), requests.len(), wrong.join("\n"));
}

#[test]
fn a_table_of_templates() {
    let table = include_str!("go/cases.txt");
    let mut requests = Vec::new();
    for line in table.lines() {
        let text = line.replace('⏎', "\n");
        for strict in [false, true] {
            requests.push(json!({"Text": text, "Left": "", "Right": "", "Strict": strict, "Data": data()}));
        }
        let other = text.replace("{{", "<%").replace("}}", "%>");
        requests.push(json!({"Text": other, "Left": "<%", "Right": "%>", "Strict": false, "Data": data()}));
    }
    assert!(requests.len() > 1000);
    compare(&requests);
}

#[test]
fn templates_put_together_at_random() {
    let pieces = [
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        "if ",
        "else",
        "end",
        "range ",
        "with ",
        ".l",
        ".s",
        ".m.a",
        ".i",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        "print ",
        "len ",
        "index ",
        "1",
        "\"a\"",
        "eq ",
        "and ",
        "text",
        "\n",
        "nil",
        ".",
        "{{end}}",
        "{{else}}",
        "{{range .l}}",
        "{{if .i}}",
        "{{$x := 1}}",
        "{{$x}}",
        "{{.}}",
        "{{break}}",
        ",",
        "define \"t\"",
        "template \"t\" ",
        "/*",
        "*/",
        "true",
    ];
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap_or(0)
    };
    let requests: Vec<Json> = (0..6000)
        .map(|_| {
            let count = 1 + next(9);
            let text: String = (0..count).map(|_| pieces[next(pieces.len())]).collect();
            json!({"Text": text, "Left": "", "Right": "", "Strict": false, "Data": data()})
        })
        .collect();
    compare(&requests);
}

#[test]
fn templates_without_end_are_stopped() {
    let failed = |text: &str| {
        let template = Template::parse("t", text, &Options::default()).unwrap();
        template.render(&NoSource, &Limits::default()).unwrap_err().failure
    };
    for (text, bound) in [
        (r#"{{define "t"}}{{template "t"}}{{end}}{{template "t"}}"#, Bound::Depth),
        ("{{range 999999999999}}{{end}}", Bound::Steps),
        (r#"{{range 999999999}}{{print "0123456789012345678901234567890123456789"}}{{end}}"#, Bound::Output),
        (r#"{{$x := "xx"}}{{range 60}}{{$x = print $x $x}}{{end}}"#, Bound::Output),
        ("{{$x := 1}}{{range 200}}{{$x = sprig_list $x}}{{end}}", Bound::Depth),
        ("{{$x := 1}}{{range 60}}{{$x = sprig_list $x $x}}{{end}}{{print $x}}", Bound::Output),
        ("{{$x := 1}}{{range 60}}{{$x = sprig_list $x $x}}{{end}}{{sprig_toJson $x}}", Bound::Output),
        (
            r#"{{$x := sprig_dict "a" 1}}{{range 60}}{{$x = sprig_dict "a" $x "b" $x}}{{end}}{{toTOML $x}}"#,
            Bound::Output,
        ),
        ("{{loop 999999999999}}", Bound::Memory),
        ("{{sprig_untilStep 0 -9000000000000000000 -1}}", Bound::Memory),
        (r#"{{sprig_repeat 999999999999 "x"}}"#, Bound::Output),
        (r#"{{indent 999999999999 "x"}}"#, Bound::Output),
        (r#"{{range 9999999}}{{$x := sprig_repeat 1000000 "x"}}{{end}}"#, Bound::Memory),
        (r#"{{$l := loop 1000000}}{{containsAll $l $l}}"#, Bound::Steps),
        (r#"{{$l := loop 1000000}}{{range 1000000}}{{$x := in $l -1}}{{end}}"#, Bound::Steps),
        (r#"{{range 1000000}}{{$x := regexMatch "(a|b){100}" "c"}}{{end}}"#, Bound::Steps),
        (
            r#"{{$x := sprig_dict "a" 1}}{{range 60}}{{$x = sprig_dict "a" $x "b" $x}}{{end}}{{mergeMap $x $x | len}}"#,
            Bound::Memory,
        ),
        (r#"{{range $i := 9999999}}{{scratch.MapSet "a" (print $i) "x"}}{{end}}"#, Bound::Memory),
    ] {
        assert_eq!(failed(text), Failure::Bound(bound), "{text}");
    }
    for open in ["{{if 1}}", "{{range 1}}", "{{with 1}}"] {
        let (open, close) = (open.repeat(60), "{{end}}".repeat(60));
        let text = format!("{{{{define \"t\"}}}}{open}{{{{template \"t\"}}}}{close}{{{{end}}}}{{{{template \"t\"}}}}");
        assert_eq!(failed(&text), Failure::Bound(Bound::Depth));
    }
    let parens = format!(
        "{{{{define \"t\"}}}}{{{{template \"t\" {}1{}}}}}{{{{end}}}}{{{{template \"t\"}}}}",
        "(print ".repeat(60),
        ")".repeat(60)
    );
    assert_eq!(failed(&parens), Failure::Bound(Bound::Depth));
    let nested = format!("{}1{}", "{{(".replace("{{", "{{ ").to_string() + &"(".repeat(500), ")".repeat(501) + "}}");
    let error = Template::parse("t", &nested, &Options::default()).unwrap_err();
    assert_eq!(error.failure, Failure::Bound(Bound::Depth));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}", inside in "[-a-z0-9 .$|(){}:=\"'`\\\\/*+_,\n]{0,40}") {
        for text in [text, format!("{{{{{inside}}}}}"), format!("{{{{range .}}}}{{{{{inside}}}}}{{{{end}}}}")] {
            if let Ok(template) = Template::parse("t", &text, &Options::default()) {
                let _ = template.render(&NoSource, &Limits::default());
            }
        }
    }
}
