//! Compression of responses (`docs/spec/http-api.md §1.5`).

use std::io::Write;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use futures_util::{StreamExt, stream};

/// How an answer is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// gzip.
    Gzip,
    /// Raw deflate, as Nomad sends it.
    Deflate,
}

impl Encoding {
    /// As `Content-Encoding` names it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }
}

/// The first encoding that the request accepts and we have. Words are compared exactly: `gzip;q=1.0` is none.
pub fn accepted(headers: &HeaderMap) -> Option<Encoding> {
    if headers.contains_key(header::UPGRADE) {
        return None;
    }
    let accept = headers.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
    accept.split(',').find_map(|word| match word.trim() {
        "gzip" => Some(Encoding::Gzip),
        "deflate" => Some(Encoding::Deflate),
        _ => None,
    })
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(DeflateEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> Encoder {
        match encoding {
            Encoding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
            Encoding::Deflate => Encoder::Deflate(DeflateEncoder::new(Vec::new(), Compression::fast())),
        }
    }

    /// Adds input and returns the bytes that can be sent now. Writing to memory does not fail.
    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Encoder::Gzip(e) => {
                let _ = e.write_all(bytes).and_then(|()| e.flush());
                std::mem::take(e.get_mut())
            }
            Encoder::Deflate(e) => {
                let _ = e.write_all(bytes).and_then(|()| e.flush());
                std::mem::take(e.get_mut())
            }
        }
    }

    fn end(self) -> Vec<u8> {
        match self {
            Encoder::Gzip(e) => e.finish(),
            Encoder::Deflate(e) => e.finish(),
        }
        .unwrap_or_default()
    }
}

/// Compresses a body that is there.
pub fn whole(encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(encoding);
    match &mut encoder {
        Encoder::Gzip(e) => drop(e.write_all(bytes)),
        Encoder::Deflate(e) => drop(e.write_all(bytes)),
    }
    encoder.end()
}

/// Compresses a body while it comes; what came is sent at once.
pub fn stream(encoding: Encoding, body: Body) -> Body {
    let parts = body.into_data_stream();
    Body::from_stream(stream::unfold((parts, Some(Encoder::new(encoding))), |(mut parts, encoder)| async move {
        let mut encoder = encoder?;
        match parts.next().await {
            Some(Ok(bytes)) => {
                let out = encoder.push(&bytes);
                Some((Ok(Bytes::from(out)), (parts, Some(encoder))))
            }
            Some(Err(e)) => Some((Err(e), (parts, None))),
            None => Some((Ok(Bytes::from(encoder.end())), (parts, None))),
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn words_are_exact() {
        for (text, want) in [
            ("gzip", Some(Encoding::Gzip)),
            ("br, deflate ,gzip", Some(Encoding::Deflate)),
            ("gzip;q=1.0", None),
            ("identity", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            assert_eq!(accepted(&headers), want, "{text}");
            headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            assert_eq!(accepted(&headers), None);
        }
    }

    #[tokio::test]
    async fn streams_arrive_in_parts() {
        let parts = ["one ", "two ", "three"].map(|p| Ok::<_, std::io::Error>(Bytes::from(p)));
        let body = stream(Encoding::Gzip, Body::from_stream(stream::iter(parts)));
        let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip");
        assert_eq!(text, "one two three");
        let mut empty = String::new();
        flate2::read::DeflateDecoder::new(&whole(Encoding::Deflate, b"")[..])
            .read_to_string(&mut empty)
            .expect("deflate");
        assert_eq!(empty, "");
    }
}
