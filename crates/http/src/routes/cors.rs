//! Requests that pages of other sites make with a browser (`docs/spec/http-api.md §1.3`).

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::request::response::Response;

/// Paths that answer other sites, and the methods they may use (`docs/spec/http-api.md §1.3`).
const CORS: [(&str, &[&str]); 8] = [
    ("/v1/client/fs/", &["HEAD", "GET"]),
    ("/v1/client/stats", &["HEAD", "GET"]),
    ("/v1/client/allocation/", &["HEAD", "GET"]),
    ("/v1/client/metadata", &["HEAD", "GET"]),
    ("/v1/client/identity", &["HEAD", "GET"]),
    ("/v1/client/identity/renew", &["HEAD", "GET"]),
    ("/v1/vars", &["HEAD", "GET"]),
    ("/v1/var/", &["HEAD", "GET", "PUT", "DELETE"]),
];

/// The methods other sites may use on a path; none if they may not.
pub(super) fn methods(path: &str) -> Option<&'static [&'static str]> {
    let fits = |pattern: &str| if pattern.ends_with('/') { path.starts_with(pattern) } else { path == pattern };
    CORS.iter().find(|(pattern, _)| fits(pattern)).map(|(_, methods)| *methods)
}

/// The answer to a browser that asks whether it may (`docs/spec/http-api.md §1.3`).
pub(super) fn preflight(method: &Method, headers: &HeaderMap, methods: &[&str]) -> Option<Response> {
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_str().ok()?;
    if *method != Method::OPTIONS || !headers.contains_key(header::ORIGIN) {
        return None;
    }
    let mut response = Response::empty().status(204);
    for name in ["Access-Control-Request-Method", "Access-Control-Request-Headers"] {
        response.headers.append(header::VARY, HeaderValue::from_static(name));
    }
    if methods.contains(&asked) {
        response = response.header(header::ACCESS_CONTROL_ALLOW_METHODS, asked);
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            response.headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
    Some(response)
}

/// Lets other sites read an answer.
pub(super) fn share(response: &mut Response, method: &Method, headers: &HeaderMap, methods: &[&str]) {
    response.headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let allowed = *method == Method::OPTIONS || methods.contains(&method.as_str());
    if headers.contains_key(header::ORIGIN) && allowed {
        let mut add = |name: HeaderName, value| response.headers.insert(name, HeaderValue::from_static(value));
        add(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        add(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
}
