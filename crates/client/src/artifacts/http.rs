//! Downloads files over HTTP: redirects, resumed transfers, bounds (`docs/spec/client.md §18`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::time::Duration;

use reqwest::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, LAST_MODIFIED,
    LOCATION, RANGE,
};
use reqwest::{Client, Response, StatusCode, Url};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a server may send nothing of a body.
const STALL: Duration = Duration::from_secs(120);
/// Most redirects on the way to a file.
const MOST_REDIRECTS: usize = 10;
/// Most tries one after another that get nothing further.
const MOST_FAILURES: u32 = 4;
/// Most tries of one file.
const MOST_TRIES: u32 = 20;
/// The pause after the first failure; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a file was not downloaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The client for HTTP was not made.
    #[error("failed to set up the HTTP client: {0}")]
    Client(#[source] reqwest::Error),
    /// A header can't be sent.
    #[error("header {0:?} can't be sent")]
    Header(String),
    /// There was no answer, or not all of it.
    #[error("{}", encamp_tls::cause(.0))]
    Exchange(#[source] reqwest::Error),
    /// The server sent nothing for too long.
    #[error("the server sent nothing for {} s", STALL.as_secs())]
    Stalled,
    /// The server answered something else.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// A redirect names no target.
    #[error("the server redirects to no valid URL")]
    NoTarget,
    /// A redirect leads to what is no server.
    #[error("the server redirects to a URL of scheme {0:?}, which is not allowed")]
    RedirectScheme(String),
    /// Redirects do not end.
    #[error("the server redirects more than {MOST_REDIRECTS} times")]
    Redirects,
    /// The file is too large.
    #[error("the file is larger than the limit of {0} bytes (http_max_size)")]
    TooLarge(u64),
    /// The server continues somewhere else than it was asked for.
    #[error("the server resumed the download at another position")]
    Position,
    /// The file was not written.
    #[error("failed to write the downloaded file: {0}")]
    Write(#[source] io::Error),
}

/// How a try ended.
enum Failure {
    /// Another try does not help.
    Final(HttpError),
    /// Another try may help.
    Passing(HttpError),
}

impl Failure {
    fn write(e: io::Error) -> Failure {
        Failure::Final(HttpError::Write(e))
    }
}

/// What is known of a file that is downloaded.
#[derive(Default)]
struct Progress {
    /// Bytes that are stored.
    stored: u64,
    /// Length, if the server sent it.
    length: Option<u64>,
    /// What tells that the file of a later answer is the same: a strong entity tag, or the time of the last change.
    validator: Option<HeaderValue>,
    /// The server sends parts.
    parts: bool,
}

impl Progress {
    /// Whether a transfer can go on where it broke off.
    fn resumes(&self) -> bool {
        self.stored > 0 && self.parts && (self.validator.is_some() || self.length.is_some())
    }
}

/// A client that downloads files.
pub(crate) struct Downloader {
    client: Client,
    headers: HeaderMap,
    /// The largest file, in bytes; none: no limit.
    limit: Option<u64>,
}

impl Downloader {
    /// A client that sends these headers. `insecure`: certificates are not verified.
    pub(crate) fn new(
        headers: &BTreeMap<String, String>,
        insecure: bool,
        limit: Option<u64>,
    ) -> Result<Downloader, HttpError> {
        let client = encamp_tls::client_builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            // The file is stored as the server has it.
            .gzip(false)
            .user_agent("encamp")
            .tls_danger_accept_invalid_certs(insecure)
            .build()
            .map_err(HttpError::Client)?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let parsed = name.parse::<HeaderName>().ok().zip(HeaderValue::from_str(value).ok());
            let (name, mut value) = parsed.ok_or_else(|| HttpError::Header(name.clone()))?;
            value.set_sensitive(true);
            map.append(name, value);
        }
        Ok(Downloader { client, headers: map, limit })
    }

    /// Downloads a file. A broken transfer goes on where it broke off, if the server can do that. `url` is asked for
    /// before each try.
    pub(crate) async fn download(&self, url: impl Fn() -> Url, to: &mut File) -> Result<(), HttpError> {
        let mut progress = Progress::default();
        let (mut failures, mut tries) = (0, 0);
        loop {
            let before = progress.stored;
            let error = match self.attempt(url(), &mut progress, to).await {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(error)) => error,
            };
            if progress.stored > before {
                failures = 0;
            }
            (failures, tries) = (failures + 1, tries + 1);
            if failures >= MOST_FAILURES || tries >= MOST_TRIES {
                return Err(error);
            }
            tokio::time::sleep(PAUSE * 2_u32.pow(failures - 1)).await;
        }
    }

    /// Downloads a short text.
    pub(crate) async fn text(&self, url: &Url, most: usize) -> Result<String, HttpError> {
        let failed = |f| match f {
            Failure::Final(e) | Failure::Passing(e) => e,
        };
        let mut response = self.get(url.clone(), &HeaderMap::new()).await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(HttpError::Status(response.status()));
        }
        let mut out = Vec::new();
        while let Some(chunk) = chunk(&mut response).await.map_err(failed)? {
            out.extend_from_slice(&chunk);
            if out.len() > most {
                return Err(HttpError::TooLarge(u64::try_from(most).unwrap_or(u64::MAX)));
            }
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// One try, from the beginning or from where the last one broke off.
    async fn attempt(&self, url: Url, progress: &mut Progress, to: &mut File) -> Result<(), Failure> {
        let mut extra = HeaderMap::new();
        if progress.resumes() {
            let range = HeaderValue::try_from(format!("bytes={}-", progress.stored));
            extra.extend(range.ok().map(|r| (RANGE, r)));
            extra.extend(progress.validator.clone().map(|v| (IF_RANGE, v)));
        }
        let asked = extra.contains_key(RANGE);
        let mut response = self.get(url, &extra).await?;
        let status = response.status();
        match status {
            StatusCode::PARTIAL_CONTENT if asked => {
                let range = response.headers().get(CONTENT_RANGE).and_then(|v| content_range(v.to_str().ok()?));
                let same = range.is_some_and(|(start, total)| {
                    start == progress.stored
                        && (progress.length.is_none() || total.is_none() || total == progress.length)
                });
                if !same {
                    *progress = Progress::default();
                    return Err(Failure::Passing(HttpError::Position));
                }
            }
            StatusCode::RANGE_NOT_SATISFIABLE if asked => {
                *progress = Progress::default();
                return Err(Failure::Passing(HttpError::Status(status)));
            }
            _ if status.is_success() && status != StatusCode::PARTIAL_CONTENT => {
                *progress = of_answer(&response);
                to.set_len(0).and_then(|()| to.seek(SeekFrom::Start(0))).map_err(Failure::write)?;
            }
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                return Err(Failure::Passing(HttpError::Status(status)));
            }
            _ => return Err(Failure::Final(HttpError::Status(status))),
        }
        if let (Some(limit), Some(length)) = (self.limit, progress.length)
            && length > limit
        {
            return Err(Failure::Final(HttpError::TooLarge(limit)));
        }
        to.seek(SeekFrom::Start(progress.stored)).map_err(Failure::write)?;
        while let Some(chunk) = chunk(&mut response).await? {
            let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            if let Some(limit) = self.limit
                && progress.stored.saturating_add(length) > limit
            {
                return Err(Failure::Final(HttpError::TooLarge(limit)));
            }
            to.write_all(&chunk).map_err(Failure::write)?;
            progress.stored = progress.stored.saturating_add(length);
        }
        Ok(())
    }

    /// The answer at the end of all redirects. Headers of the job are not sent to other servers than the first.
    async fn get(&self, first: Url, extra: &HeaderMap) -> Result<Response, Failure> {
        let origin = first.origin();
        let mut url = first;
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.client.get(url.clone()).headers(extra.clone());
            if url.origin() == origin {
                request = request.headers(self.headers.clone());
            }
            let response = request.send().await.map_err(|e| Failure::Passing(HttpError::Exchange(e)))?;
            let status = response.status();
            let moved = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
            let Some(target) = response.headers().get(LOCATION).filter(|_| moved) else {
                if moved {
                    return Err(Failure::Final(HttpError::NoTarget));
                }
                return Ok(response);
            };
            let target = target.to_str().ok().and_then(|t| url.join(t).ok());
            url = target.ok_or(Failure::Final(HttpError::NoTarget))?;
            if !matches!(url.scheme(), "http" | "https") {
                return Err(Failure::Final(HttpError::RedirectScheme(url.scheme().into())));
            }
        }
        Err(Failure::Final(HttpError::Redirects))
    }
}

/// The next part of a body.
async fn chunk(response: &mut Response) -> Result<Option<impl std::ops::Deref<Target = [u8]> + use<>>, Failure> {
    match tokio::time::timeout(STALL, response.chunk()).await {
        Ok(Ok(chunk)) => Ok(chunk),
        Ok(Err(e)) => Err(Failure::Passing(HttpError::Exchange(e))),
        Err(_) => Err(Failure::Passing(HttpError::Stalled)),
    }
}

/// What the first answer tells of a file.
fn of_answer(response: &Response) -> Progress {
    let headers = response.headers();
    let tag = headers.get(ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/"));
    Progress {
        stored: 0,
        length: headers.get(CONTENT_LENGTH).and_then(|l| l.to_str().ok()?.parse().ok()),
        validator: tag.or_else(|| headers.get(LAST_MODIFIED)).cloned(),
        parts: headers.get(ACCEPT_RANGES).is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"bytes")),
    }
}

/// Start and length of the whole, as `bytes 5-9/10` has them.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let start = range.split_once('-')?.0.trim().parse().ok()?;
    Some((start, total.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_answers() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        for wrong in ["bytes */10", "5-9/10", "bytes 5", "bytes x-9/10", ""] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }
}
