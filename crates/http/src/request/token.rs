//! The token of a request (`docs/spec/http-api.md §4.3`).

use axum::http::HeaderMap;

/// The token of a request (`docs/spec/http-api.md §4.3`); empty for the anonymous one.
pub(crate) fn token_of(headers: &HeaderMap) -> &str {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
    if let Some(token) = text("x-nomad-token").map(str::trim).filter(|t| !t.is_empty()) {
        return token;
    }
    let mut words = text("authorization").unwrap_or_default().split_whitespace();
    match (words.next(), words.next()) {
        (Some(scheme), Some(token)) if scheme.eq_ignore_ascii_case("bearer") => token,
        _ => "",
    }
}
