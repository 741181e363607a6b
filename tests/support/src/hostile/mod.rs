//! Job files made to hurt: each is small to write down and large, deep or slow for a careless reader. `size` scales
//! them: the tests take 1 MB, seeds for the fuzzers a few hundred bytes. One module for each stage that is to be hurt.

mod api;
mod bytes;
mod evaluation;
mod functions;
mod jobs;
mod syntax;

use std::fmt::Write;

/// How a file is meant to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// HCL, native or JSON syntax.
    Hcl,
    /// `job validate -json`.
    Json,
}

/// What must come of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Valid,
    Refused,
    /// Refused or not, in time.
    Either,
}

/// One hostile file.
pub struct Case {
    pub name: &'static str,
    pub kind: Kind,
    pub outcome: Outcome,
    pub content: Vec<u8>,
}

use Kind::{Hcl, Json};

/// Takes a file's name, what must come of it, and its text.
type Add<'a> = &'a mut dyn FnMut(&'static str, Outcome, String);

/// A job around some text in its body.
fn job(inside: &str) -> String {
    job_with("", inside, "")
}

/// A job with `locals` and with texts in the job's and in the task's body.
fn job_with(locals: &str, inside: &str, task: &str) -> String {
    format!(
        "locals {{\n{locals}\n}}\njob \"hostile\" {{\n{inside}\n  group \"g\" {{\n    task \"t\" {{\n      driver = \
         \"docker\"\n      config {{\n        image = \"redis:7\"\n      }}\n{task}\n    }}\n  }}\n}}\n"
    )
}

/// The text as often as fits.
fn fill(size: usize, text: &str) -> String {
    text.repeat((size / text.len()).max(1))
}

/// Numbered texts until the size is reached.
fn numbered(size: usize, make: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for i in 0.. {
        out.push_str(&make(i));
        if out.len() >= size {
            break;
        }
    }
    out
}

/// A local of two times the one before, `n` times.
fn doubling(n: usize, seed: &str, make: impl Fn(&str) -> String) -> String {
    let mut out = format!("  a0 = {seed}\n");
    for i in 1..n {
        writeln!(out, "  a{i} = {}", make(&format!("local.a{}", i - 1))).expect("strings can be written");
    }
    out
}

/// All files.
pub fn cases(size: usize) -> Vec<Case> {
    let mut list = Vec::new();
    let mut add = |name, kind, outcome, content: Vec<u8>| list.push(Case { name, kind, outcome, content });
    syntax::add(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    evaluation::add(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    functions::add(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    jobs::add(size, &mut |name, outcome, text: String| add(name, Hcl, outcome, text.into_bytes()));
    api::add(size, &mut |name, outcome, text: String| add(name, Json, outcome, text.into_bytes()));
    bytes::add(size, &mut add);
    list
}
