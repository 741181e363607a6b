//! Scripts and style sheets: their sizes, and that those of others are unchanged.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

use super::cluster::Canned;

const VENDORED: [(&str, &[u8]); 3] = [
    ("idiomorph.min.js", include_bytes!("../assets/vendor/idiomorph.min.js")),
    ("xterm.mjs", include_bytes!("../assets/vendor/xterm.mjs")),
    ("xterm.css", include_bytes!("../assets/vendor/xterm.css")),
];

#[test]
fn files_of_others_have_the_hashes_of_their_list() {
    let list = include_str!("../assets/vendor/README.md");
    for (name, content) in VENDORED {
        let hash = digest(&SHA256, content).as_ref().iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        });
        let line = list.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name} is not listed"));
        assert!(line.contains(&hash), "{name} has the hash {hash}");
    }
}

/// The addresses of the assets that a page names.
fn assets(page: &str) -> Vec<String> {
    let named = page.split('"').filter(|text| text.starts_with("/ui/assets/"));
    named.map(str::to_string).collect()
}

#[tokio::test]
async fn the_first_page_is_at_most_150_kilobytes() {
    let page = Canned::live().open("/ui/").await;
    let mut total = page.body.len();
    let named = assets(&page.body);
    assert!(named.len() >= 4, "{named:?}");
    for address in named {
        let asset = Canned::live().open(&address).await;
        assert!(asset.status.is_success(), "{address}");
        total += asset.body.len();
    }
    assert!(total <= 150_000, "{total} bytes");
}
