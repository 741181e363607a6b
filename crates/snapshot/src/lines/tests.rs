use super::blocks::{Frames, Stream};
use super::*;
use crate::save::{self, Compression};
use encamp_model::random::Random;
use encamp_model::*;

const MOST: u64 = 1 << 30;

/// The file that the blocks are.
fn parsed(blocks: &impl Blocks, threads: usize) -> Option<SnapshotFile> {
    parse_blocks(blocks, threads).map(Lines::into_file)
}

/// The file in a compressed one.
fn parsed_zstd(file: &[u8], most: u64) -> Option<SnapshotFile> {
    parse_compressed(file, most).map(Lines::into_file)
}

/// Room for the longest line.
const LENGTH: usize = 700;

/// A file with so many nodes, jobs and allocations, as text.
fn text(count: usize) -> String {
    let odd = "\u{2028}\"\\\n},\n{\"ID\":\"[\u{1f600}";
    let alloc = |n: usize| {
        let task_states = [("t\n\"Nodes\":[".to_string(), TaskState::default())].into();
        Allocation { id: format!("a{n}").into(), name: format!("{odd}{n}").into(), task_states, ..Default::default() }
    };
    let node = |n: usize| Node { id: format!("n{n}"), name: odd.into(), ..Default::default() };
    let job = |n: usize| Job { id: format!("j{n}"), name: odd.into(), ..Default::default() };
    let deployment = |n: usize| Deployment { id: format!("d{n}"), ..Default::default() };
    let file = SnapshotFile {
        source: odd.into(),
        index: 7,
        nodes: (0..count).map(node).collect(),
        namespaces: vec![Namespace { name: odd.into(), ..Default::default() }],
        jobs: (0..count).map(job).collect(),
        deployments: (0..count).map(deployment).collect(),
        ..Default::default()
    };
    let mut text = Vec::new();
    save::write(&mut text, Compression::None, &file, (0..count).map(alloc)).expect("a text");
    String::from_utf8(text).expect("UTF-8")
}

fn shown(file: &SnapshotFile) -> String {
    serde_json::to_string(file).expect("a file can be written")
}

/// Whether a text is parsed in blocks; what that gives is what the parser of whole texts gives.
fn compare(text: &[u8], length: usize, threads: usize) -> bool {
    let whole = serde_json::from_slice::<SnapshotFile>(text).ok();
    let parts = parsed(&Stream::new(text, MOST, length), threads);
    if let Some(parts) = &parts {
        let shown_text = String::from_utf8_lossy(text);
        assert_eq!(Some(shown(parts)), whole.as_ref().map(shown), "blocks of {length}: {shown_text}");
    }
    parts.is_some()
}

#[test]
fn blocks_give_what_the_whole_text_gives() {
    for count in [0, 1, 2, 30] {
        let text = text(count);
        for length in [LENGTH, 1000, 4096, 1 << 20] {
            for threads in [1, 2, 5] {
                assert!(compare(text.as_bytes(), length, threads), "{count} objects, blocks of {length}");
            }
        }
        assert!(compare(text.trim_end().as_bytes(), LENGTH, 2), "the last line needs no end");
        assert!(compare(format!("{text} \r\n\n").as_bytes(), LENGTH, 2), "space may follow");
    }
}

#[test]
fn members_may_come_in_any_order_and_be_unknown() {
    let text = text(20);
    let known = "\"Namespaces\":[";
    let others = "\"New\":{\"Nodes\":[]},\n\"More\":[\n{\"a\":1},\n{\"b\":[{}]}\n],\n";
    assert!(compare(text.replacen(known, &format!("{others}{known}"), 1).as_bytes(), LENGTH, 3));
    let nodes = text.find("\"Nodes\":[").expect("nodes");
    let jobs = text.find("\"Jobs\":[").expect("jobs");
    let deployments = text.find("\"Deployments\":[").expect("deployments");
    let swapped = [&text[..nodes], &text[jobs..deployments], &text[nodes..jobs], &text[deployments..]].concat();
    assert!(compare(swapped.as_bytes(), LENGTH, 3));
    let in_one_line = text.replace("\n],\n\"Jobs\"", "],\n\"Jobs\"").replace("\"Nodes\":[\n", "\"Nodes\":[");
    assert!(!compare(in_one_line.as_bytes(), LENGTH, 3));
}

#[test]
fn other_texts_are_left_to_the_parser_of_whole_texts() {
    let good = text(20);
    let value: serde_json::Value = serde_json::from_str(&good).expect("JSON");
    let others = [
        serde_json::to_string_pretty(&value).expect("JSON"),
        serde_json::to_string(&value).expect("JSON"),
        good.replacen("{\n", "{", 1),
        good.replace("{\"ID\":\"a3\"", " {\"ID\":\"a3\""),
        good.replace("\n", "\r\n"),
        format!("\u{feff}{good}"),
        format!("[\n{good}]\n"),
        String::new(),
        "{\n\"Nodes\":[\n".into(),
    ];
    for (n, text) in others.iter().enumerate() {
        assert!(!compare(text.as_bytes(), LENGTH, 3), "text {n}");
    }
    assert!(!compare(good.as_bytes(), 40, 3), "a line is longer than a block");
    assert!(parsed(&Stream::new(good.as_bytes(), good.len() as u64 - 1, LENGTH), 2).is_none());
    assert!(parsed(&Stream::new(good.as_bytes(), good.len() as u64, LENGTH), 2).is_some());
}

#[test]
fn what_is_wrong_is_left_to_the_parser_of_whole_texts() {
    let good = text(20);
    let lists = ["Nodes", "Jobs", "Allocations", "Deployments"];
    let mut damaged = vec![
        good.replace("{\"ID\":\"a7\"", "{\"ID\":7"),
        good.replace("{\"ID\":\"n7\"", "{\"ID\":\"n7\"}{\"ID\":\"x\""),
        good.replacen("\"Index\":7,", "\"Index\":7", 1),
        good.replacen("\"Index\":7,", "\"Index\":7,,", 1),
        good.replacen("\"Index\":7,", "\"Index\":7},{", 1),
        good.replace("\n}\n", ",\n}\n"),
        good.replace("\n}\n", "\n}\n}\n"),
        good.replace("\n}\n", "\n"),
        format!("{good}x\n"),
        good[..good.len() / 2].to_string(),
    ];
    for list in lists {
        let start = format!("\"{list}\":[\n");
        damaged.push(good.replace(&start, &format!("{start}]\n{start}")));
        damaged.push(good.replace(&start, &format!("{start}],\n{start}")));
        damaged.push(good.replace(&start, &format!("{start}7,\n")));
        damaged.push(good.replace(&start, &format!("{start}[\n")));
        damaged.push(good.replace(&start, &format!("\"X\":{{\n{start}")));
        damaged.push(good.replace(&start, &format!("\"X\":[\n{start}")));
        damaged.push(good.replace(&start, &format!("\"X\":[\n{{\n{start}")));
    }
    damaged.extend((0..20).map(|n| good.replace(&format!("{{\"ID\":\"a{n}\""), "{\"ID\":\"b\"},,{\"ID\":\"x\"")));
    damaged.extend(["},\n{\"ID\":\"a9\"", "},\n{\"ID\":\"j9\""].map(|between| good.replace(between, &between[..1])));
    damaged.extend(
        ["},\n{\"ID\":\"a9\"", "},\n{\"ID\":\"d9\""].map(|between| good.replacen(',', "", 1).replace(between, "}")),
    );
    for (n, text) in damaged.iter().enumerate() {
        assert_ne!(text, &good, "damage {n} changes nothing");
        assert!(serde_json::from_str::<SnapshotFile>(text).is_err(), "damage {n} is none");
        assert!(!compare(text.as_bytes(), LENGTH, 3), "damage {n}");
    }
}

/// One change anywhere.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let mut below = |limit: usize| usize::try_from(random.below(limit.max(1) as u64)).expect("small");
    let (at, other) = (below(bytes.len()), below(bytes.len()));
    let length = below(40).min(bytes.len() - at.max(other));
    match below(6) {
        0 => bytes.truncate(at),
        1 => bytes[at] = b"\n\"{}[],:\\ 0a"[below(12)],
        2 => bytes[at] ^= 1 << below(8),
        3 => drop(bytes.drain(at..at + length)),
        4 => bytes.insert(at, b"\n\"{}[],:\\ 0a"[below(12)]),
        _ => {
            let copy = bytes[at..at + length].to_vec();
            drop(bytes.splice(other..other, copy));
        }
    }
}

#[test]
fn no_damage_gives_another_file() {
    let good = text(6).into_bytes();
    let mut parsed = 0;
    for seed in 0..4000 {
        let mut random = Random::new(seed, "damage of lines");
        let mut bytes = good.clone();
        (0..=random.below(2)).for_each(|_| damage(&mut random, &mut bytes));
        parsed += usize::from(compare(&bytes, LENGTH, 2));
    }
    assert!(parsed > 100, "{parsed} are whole, such as those in which the change is within a text");
}

/// Frames of so many lines each.
fn frames(text: &str, count: usize) -> Vec<u8> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let frames = lines.chunks(count).map(|lines| zstd::bulk::compress(lines.concat().as_bytes(), 1).expect("a frame"));
    frames.collect::<Vec<_>>().concat()
}

#[test]
fn frames_give_what_the_whole_text_gives() {
    let text = text(30);
    for lines in [1, 2, 7, 50] {
        let file = frames(&text, lines);
        let whole: SnapshotFile = serde_json::from_str(&text).expect("a file");
        for threads in [1, 2, 5] {
            let frames = Frames::new(&file, MOST).expect("frames");
            assert_eq!(parsed(&frames, threads).as_ref().map(shown), Some(shown(&whole)));
        }
        assert!(Frames::new(&file, text.len() as u64 - 1).is_none(), "it holds too much");
        assert_eq!(parsed_zstd(&file, MOST).as_ref().map(shown), Some(shown(&whole)));
    }
    let one = zstd::bulk::compress(text.as_bytes(), 1).expect("a frame");
    assert!(Frames::new(&one, MOST).is_none());
    assert!(parsed_zstd(&one, MOST).is_some());
    let within_lines =
        [&text[..1000], &text[1000..]].map(|half| zstd::bulk::compress(half.as_bytes(), 1).expect("half"));
    assert!(parsed_zstd(&within_lines.concat(), MOST).is_none());
}

#[test]
fn no_damage_of_frames_gives_another_file() {
    let good = frames(&text(12), 7);
    for seed in 0..4000 {
        let mut random = Random::new(seed, "damage of frames");
        let mut bytes = good.clone();
        damage(&mut random, &mut bytes);
        let whole = zstd::stream::decode_all(&bytes[..]).ok();
        let whole = whole.and_then(|text| serde_json::from_slice::<SnapshotFile>(&text).ok());
        if let Some(parts) = parsed_zstd(&bytes, MOST) {
            assert_eq!(Some(shown(&parts)), whole.as_ref().map(shown), "seed {seed}");
        }
    }
}
