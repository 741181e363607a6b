//! Downloads objects of S3: one, or all below a prefix (`docs/spec/client.md §18`). Requests are signed by their URLs.

use std::time::Duration;

use reqwest::StatusCode;
use rusty_s3::actions::ListObjectsV2;
use rusty_s3::{Bucket, BucketError, Credentials, S3Action, UrlStyle};

use super::archive::Limits;
use super::http::{Downloader, HttpError};
use super::source::Object;
use crate::directory::{Directory, PathError};

/// How long a signed request is valid.
const VALID: Duration = Duration::from_secs(3600);
/// The longest page of a list.
const LONGEST_PAGE: usize = 8 << 20;
/// The variables of credentials.
const VARIABLES: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
/// The variables of the region.
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// Why objects were not downloaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum S3Error {
    /// The bucket can't be addressed.
    #[error("the bucket can't be used: {0}")]
    Bucket(#[from] BucketError),
    /// A download failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The list of objects is no such list.
    #[error("failed to read the list of objects: {0}")]
    List(String),
    /// There is nothing.
    #[error("there is no object {0:?}, and none below it")]
    NotFound(String),
    /// There is too much.
    #[error("there are more than {0} objects (decompression_file_count_limit)")]
    TooMany(u64),
    /// There is too much.
    #[error("the objects are larger than the limit of {0} bytes (http_max_size)")]
    TooLarge(u64),
    /// The key of an object is no path.
    #[error("the key of the object {0:?} can't be a path")]
    Key(String),
    /// A file was not made.
    #[error("failed to write {name:?}: {source}")]
    Write {
        /// The file.
        name: String,
        /// The reason.
        source: PathError,
    },
}

/// A bucket and what opens it.
pub(crate) struct Service<'a> {
    bucket: Bucket,
    credentials: Option<Credentials>,
    object: &'a Object,
    http: &'a Downloader,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

impl<'a> Service<'a> {
    /// The bucket of an object, with the credentials of its options, else of the environment; none: anonymous.
    pub(crate) fn new(object: &'a Object, http: &'a Downloader) -> Result<Service<'a>, S3Error> {
        let region = object.region.clone().or_else(|| REGIONS.into_iter().find_map(variable));
        let region = region.unwrap_or_else(|| Object::default_region().into());
        let style = if object.virtual_host { UrlStyle::VirtualHost } else { UrlStyle::Path };
        let bucket = Bucket::new(object.endpoint.clone(), style, object.bucket.clone(), region)?;
        let given = object.credentials.clone().or_else(|| {
            let [id, secret, token] = VARIABLES;
            Some((variable(id)?, variable(secret)?, variable(token)))
        });
        let credentials = given.map(|(id, secret, token)| match token {
            Some(token) => Credentials::new_with_token(id, secret, token),
            None => Credentials::new(id, secret),
        });
        Ok(Service { bucket, credentials, object, http })
    }

    /// Downloads an object; `false`: it is not there.
    pub(crate) async fn object(&self, key: &str, to: &mut std::fs::File) -> Result<bool, S3Error> {
        let url = || {
            let mut request = self.bucket.get_object(self.credentials.as_ref(), key);
            if let Some(version) = &self.object.version {
                request.query_mut().insert("versionId", version.clone());
            }
            request.sign(VALID)
        };
        match self.http.download(url, to).await {
            Ok(()) => Ok(true),
            Err(HttpError::Status(StatusCode::NOT_FOUND)) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Downloads all objects below the key into a directory.
    pub(crate) async fn below(&self, into: &Directory, limits: Limits) -> Result<(), S3Error> {
        let prefix = match self.object.key.trim_end_matches('/') {
            "" => String::new(),
            key => format!("{key}/"),
        };
        let (mut next, mut count, mut bytes) = (None::<String>, 0_u64, 0_u64);
        loop {
            let mut list = self.bucket.list_objects_v2(self.credentials.as_ref());
            list.with_prefix(prefix.as_str());
            if let Some(token) = &next {
                list.with_continuation_token(token.as_str());
            }
            let page = self.http.text(&list.sign(VALID), LONGEST_PAGE).await?;
            let page = ListObjectsV2::parse_response(&page).map_err(|e| S3Error::List(e.to_string()))?;
            let before = count;
            for object in page.contents {
                count = count.saturating_add(1);
                if let Some(most) = limits.members.filter(|most| count > *most) {
                    return Err(S3Error::TooMany(most));
                }
                let Some(path) = object.key.strip_prefix(&prefix) else { return Err(S3Error::Key(object.key)) };
                // Consoles make such objects for directories.
                if path.is_empty() || path.ends_with('/') {
                    continue;
                }
                let size = self.file(&object.key, path, into).await?;
                bytes = bytes.saturating_add(size);
                if let Some(most) = limits.bytes.filter(|most| bytes > *most) {
                    return Err(S3Error::TooLarge(most));
                }
            }
            next = page.next_continuation_token;
            if next.is_none() || count == before {
                break;
            }
        }
        if count == 0 { Err(S3Error::NotFound(self.object.key.clone())) } else { Ok(()) }
    }

    /// Downloads one of several objects; gives its size.
    async fn file(&self, key: &str, path: &str, into: &Directory) -> Result<u64, S3Error> {
        let wrong = |source: PathError| S3Error::Write { name: key.into(), source };
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if path.contains('\0') || path.split('/').any(|n| matches!(n, "" | "." | "..")) {
            return Err(S3Error::Key(key.into()));
        }
        let mut file = into.make_dirs(parent).and_then(|d| Ok(d.create_file(name)?)).map_err(wrong)?;
        if !self.object(key, &mut file).await? {
            return Err(S3Error::NotFound(key.into()));
        }
        super::publish::make_readable(&file).map_err(|e| wrong(e.into()))?;
        Ok(file.metadata().map_err(|e| wrong(e.into()))?.len())
    }
}
