//! Plan files.

use encamp_cli::plan_file::format::{self, Content};

/// A plan file, or, behind a zero byte, the JSON of its content. What can be read can be written and read again.
pub(crate) fn file(data: &[u8]) -> bool {
    let read = match data.split_first() {
        Some((0, json)) => {
            let Ok(frame) = zstd::bulk::compress(json, 1) else { return false };
            let head: &[u8] = b"encamp-plan 1\nsignature none\n";
            format::parse(&[head, &frame].concat()).and_then(|sealed| sealed.content())
        }
        _ => format::parse(data).and_then(|sealed| {
            let _ = sealed.key();
            sealed.content()
        }),
    };
    let Ok(content) = read else { return false };
    let again = written(&content);
    assert_eq!(written(&again), again, "a plan file changes when it is written again");
    true
}

fn written(content: &Content) -> Content {
    match format::encode(content, None).and_then(|bytes| format::parse(&bytes)?.content()) {
        Ok(content) => content,
        Err(error) => panic!("a plan cannot be written and read again: {error}"),
    }
}
