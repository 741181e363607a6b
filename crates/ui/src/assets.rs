//! The style sheet and the scripts. Their addresses contain a hash of their content, so that browsers keep them.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use ring::digest::{SHA256, digest};

/// What browsers keep for a year: another content has another address.
const KEPT: &str = "public, max-age=31536000, immutable";

struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

const fn style(name: &'static str, content: &'static str) -> Asset {
    Asset { name, kind: "text/css; charset=utf-8", content }
}

const fn script(name: &'static str, content: &'static str) -> Asset {
    Asset { name, kind: "text/javascript; charset=utf-8", content }
}

const ASSETS: &[Asset] = &[
    style("app.css", include_str!("assets/app.css")),
    style("xterm.css", include_str!("assets/vendor/xterm.css")),
    Asset { name: "icon.svg", kind: "image/svg+xml", content: include_str!("assets/icon.svg") },
    script("app.js", include_str!("assets/app.js")),
    style("topology.css", include_str!("assets/topology.css")),
    script("topology.js", include_str!("assets/topology.js")),
    script("idiomorph.min.js", include_str!("assets/vendor/idiomorph.min.js")),
    script("graph.js", include_str!("assets/graph.js")),
    script("logs.js", include_str!("assets/logs.js")),
    script("terminal.js", include_str!("assets/terminal.js")),
    script("xterm.mjs", include_str!("assets/vendor/xterm.mjs")),
    style("plan.css", include_str!("assets/plan.css")),
    script("plan.js", include_str!("assets/plan.js")),
];

/// A hash over all: scripts import each other by relative addresses.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<u8> = ASSETS.iter().flat_map(|a| a.content.bytes()).collect();
    digest(&SHA256, &all).as_ref().iter().take(8).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
});

/// The address of an asset.
pub(crate) fn address(name: &str) -> String {
    format!("/ui/assets/{}/{name}", *VERSION)
}

/// The response with an asset.
pub(crate) fn response(name: &str) -> Option<Response<Body>> {
    let asset = ASSETS.iter().find(|a| a.name == name)?;
    Response::builder()
        .status(StatusCode::OK)
        .header(header::CONTENT_TYPE, asset.kind)
        .header(header::CACHE_CONTROL, KEPT)
        .body(Body::from(asset.content))
        .ok()
}
