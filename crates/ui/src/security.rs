//! Headers that all responses of the web UI have.

use std::sync::LazyLock;

use axum::http::{HeaderValue, Response, header};

/// Scripts, style sheets and requests are ours alone, and nothing is inline. Nobody may put a page into a frame.
const DIRECTIVES: [(&str, &str); 9] = [
    ("default-src", "'none'"),
    ("script-src", "'self'"),
    ("style-src", "'self'"),
    ("img-src", "'self' data:"),
    ("connect-src", "'self'"),
    ("font-src", "'self'"),
    ("form-action", "'self'"),
    ("base-uri", "'none'"),
    ("frame-ancestors", "'none'"),
];

static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    // The directives have no other characters than those of headers.
    HeaderValue::from_str(&policy(&[])).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

const HEADERS: [(header::HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The content security policy with other sources for some directives.
pub(crate) fn policy(others: &[(&str, &[String])]) -> String {
    let sources = |name: &str, ours: &str| {
        let other = others.iter().find(|(other, _)| *other == name).map(|(_, sources)| sources.join(" "));
        format!("{name} {}", other.unwrap_or_else(|| ours.to_string()))
    };
    DIRECTIVES.map(|(name, ours)| sources(name, ours)).join("; ")
}

/// Adds the headers to a response. Responses that do not say how long they may be kept are not kept.
pub(crate) fn protect<B>(mut response: Response<B>) -> Response<B> {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(POLICY.clone());
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
