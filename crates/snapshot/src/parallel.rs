//! Parses the list of allocations, nearly all of the text of a large snapshot, in several threads.
//!
//! Where an allocation begins is known only after all the text before it was read. So each thread but the first starts
//! at a guess: text that looks like the beginning of an allocation. A guess was right if the thread before it, parsing
//! one allocation after the other, arrives exactly there; the results of wrong guesses are dropped.

use std::sync::Arc;
use std::thread;

use serde::de::IgnoredAny;

use super::file::SnapshotFile;
use encamp_model::Allocation;

/// The member that is split.
const LIST: &[u8] = b"\"Allocations\"";
/// How this build begins an allocation.
const ITEM: &[u8] = b"{\"ID\":\"";
/// Shorter texts are not worth a thread.
const WORTH_A_THREAD: usize = 4 << 20;
/// With more threads, memory is the limit.
const MOST_THREADS: usize = 8;

/// Parses a snapshot in as many threads as it is worth. `None` if it is to be parsed in one: it is short, it has no
/// list of allocations, or something in it is wrong, which a parser that reads all of it explains better.
pub(super) fn parse(json: &[u8]) -> Option<SnapshotFile> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = (json.len() / WORTH_A_THREAD).min(cores).min(MOST_THREADS);
    if threads > 1 { parse_in(json, threads) } else { None }
}

/// Parses a snapshot in so many threads.
fn parse_in(json: &[u8], threads: usize) -> Option<SnapshotFile> {
    let list = list_start(json)?;
    let starts = starts(json, list, threads);
    let mut parts: Vec<Option<Part>> = thread::scope(|scope| {
        let parse = |i: usize| Part::parse(json, starts[i], &starts[i + 1..]);
        let others: Vec<_> = (1..starts.len()).map(|i| scope.spawn(move || parse(i))).collect();
        let first = parse(0);
        std::iter::once(first).chain(others.into_iter().map(|part| part.join().ok().flatten())).collect()
    });
    let mut allocations = Vec::new();
    let mut next = 0;
    let end = loop {
        let mut part = parts.get_mut(next)?.take()?;
        allocations.append(&mut part.allocations);
        match part.end {
            End::Start(later) => next += 1 + later,
            End::List(end) => break end,
        }
    };
    let rest = [json.get(..list)?, json.get(end..)?].concat();
    let file: SnapshotFile = serde_json::from_slice(&rest).ok()?;
    Some(SnapshotFile { allocations, ..file })
}

/// Where the first item of the list is, or the end of the list if it is empty. Keys before it are not escaped.
fn list_start(json: &[u8]) -> Option<usize> {
    let mut at = after(json, skip_space(json, 0), b"{")?;
    loop {
        at = skip_space(json, at);
        let key = at;
        at = skip_value(json, at)?;
        let is_list = json.get(key..at)? == LIST;
        at = skip_space(json, after(json, skip_space(json, at), b":")?);
        if is_list {
            return Some(skip_space(json, after(json, at, b"[")?));
        }
        at = skip_value(json, at)?;
        at = after(json, skip_space(json, at), b",")?;
    }
}

/// Where threads start: at the first item, and at guesses that divide the text behind it evenly.
fn starts(json: &[u8], list: usize, threads: usize) -> Vec<usize> {
    let length = json.len() - list;
    let guesses = (1..threads).filter_map(|i| {
        let from = list + length / threads * i;
        (from..json.len()).find(|at| json[*at..].starts_with(ITEM) && is_behind_another(json, *at))
    });
    let mut starts: Vec<usize> = std::iter::once(list).chain(guesses).collect();
    starts.dedup();
    starts
}

/// Whether an object and a comma are before the offset.
fn is_behind_another(json: &[u8], at: usize) -> bool {
    let before = json[..at].trim_ascii_end().strip_suffix(b",");
    before.is_some_and(|before| before.trim_ascii_end().ends_with(b"}"))
}

/// The allocations that one thread parsed.
struct Part {
    allocations: Vec<Arc<Allocation>>,
    end: End,
}

/// Where a thread stopped.
enum End {
    /// At one of the later starts, by its number among them.
    Start(usize),
    /// At the end of the list: the offset of its bracket.
    List(usize),
}

impl Part {
    /// Parses items from a start on; `None` if the text there is not a list of allocations.
    fn parse(json: &[u8], start: usize, later: &[usize]) -> Option<Part> {
        let mut allocations = Vec::new();
        let mut at = start;
        if json.get(at) == Some(&b']') {
            return Some(Part { allocations, end: End::List(at) });
        }
        loop {
            let mut items = serde_json::Deserializer::from_slice(json.get(at..)?).into_iter::<Arc<Allocation>>();
            allocations.push(items.next()?.ok()?);
            at = skip_space(json, at + items.byte_offset());
            if json.get(at) == Some(&b']') {
                return Some(Part { allocations, end: End::List(at) });
            }
            at = skip_space(json, after(json, at, b",")?);
            if let Ok(reached) = later.binary_search(&at) {
                return Some(Part { allocations, end: End::Start(reached) });
            }
        }
    }
}

/// The offset behind a value of any kind.
fn skip_value(json: &[u8], at: usize) -> Option<usize> {
    let mut text = serde_json::Deserializer::from_slice(json.get(at..)?).into_iter::<IgnoredAny>();
    text.next()?.ok()?;
    Some(at + text.byte_offset())
}

/// The offset behind a text, if it is there.
fn after(json: &[u8], at: usize, text: &[u8]) -> Option<usize> {
    json.get(at..)?.starts_with(text).then_some(at + text.len())
}

fn skip_space(json: &[u8], at: usize) -> usize {
    let space = json.get(at..).unwrap_or_default().iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
    at + space.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same in one thread and in several; whether it was split.
    fn compare(json: &str, threads: usize) -> bool {
        let whole: Option<SnapshotFile> = serde_json::from_str(json).ok();
        let parts = parse_in(json.as_bytes(), threads);
        let shown = |file: &SnapshotFile| serde_json::to_string(file).expect("a file can be written");
        if let Some(parts) = &parts {
            assert_eq!(Some(shown(parts)), whole.as_ref().map(shown), "{json}");
        }
        parts.is_some()
    }

    /// A file with so many allocations, each with objects that look like allocations themselves.
    fn file(count: usize) -> String {
        let allocation = |n: usize| {
            let text = r#"\"},{\"ID\":\"[{"#;
            let networks = r#"[{"Device":"x"},{"ID":"y","IP":"10.0.0.1"},{"ID":"z"}]"#;
            let resources = format!(r#"{{"Shared":{{"DiskMB":{n},"Networks":{networks}}}}}"#);
            format!(r#"{{"ID":"a{n}","Name":"{text}{n}","AllocatedResources":{resources},"Other":[{{}},{{"ID":""}}]}}"#)
        };
        let allocations: Vec<String> = (0..count).map(allocation).collect();
        let before = r#""Version":2,"Index":7,"Nodes":[{"ID":"n","Name":"},{"},{"ID":"o"}]"#;
        let behind = r#""AllocationJobs":[{"ID":"j"},{"ID":"k"}],"Deployments":[{"ID":"d"}]"#;
        format!(r#"{{{before},"Allocations":[{}],{behind}}}"#, allocations.join(","))
    }

    #[test]
    fn several_threads_find_what_one_finds() {
        for count in [0, 1, 2, 3, 10, 200] {
            for threads in 1..=8 {
                assert!(compare(&file(count), threads), "{count} allocations in {threads} threads");
            }
        }
    }

    #[test]
    fn indented_text_and_odd_spaces_are_no_problem() {
        let value: serde_json::Value = serde_json::from_str(&file(50)).expect("JSON");
        assert!(compare(&serde_json::to_string_pretty(&value).expect("JSON"), 4));
        let odd = file(50).replace("},{\"ID\":\"a", "}\t,\r\n {\"ID\":\"a").replace("],\"Depl", " ] , \"Depl");
        assert!(compare(&odd, 4));
    }

    #[test]
    fn what_is_wrong_is_left_to_one_thread() {
        let good = file(40);
        let damaged = [
            good.replace(r#"{"ID":"a39""#, r#"{"ID":39"#),
            good.replace(r#"{"ID":"a1","#, r#"{"ID":"a1",,"#),
            good.replace("}],\"AllocationJobs", "},],\"AllocationJobs"),
            good.replace("}],\"AllocationJobs", "}]],\"AllocationJobs"),
            good.replace("\"Deployments\"", "\"Allocations\""),
            good.replace("\"Allocations\"", "\"Allocs\""),
            good.replace("\"Allocations\":", "\"Allocations\":null,\"X\":"),
            good.replace("\"Nodes\":[", "\"Nodes\":[3,"),
            good[..good.len() - 1].to_string(),
            good[..good.len() / 2].to_string(),
            format!("{good}x"),
            format!("[{good}]"),
            String::new(),
        ];
        for (n, json) in damaged.iter().enumerate() {
            assert_ne!(json, &good, "damage {n} changes nothing");
            assert!(!compare(json, 4), "damage {n}");
        }
    }
}
