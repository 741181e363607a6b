//! The source of an artifact, as job files write it, and its options (`docs/spec/client.md §18`).

use std::collections::BTreeMap;

use reqwest::Url;

use super::archive::{self, Kind};
use super::checksum::{Checksum, ChecksumError};
use super::order::Mode;

/// Options of downloads over HTTP, and of objects of S3, which are not sent to servers.
const FILE_OPTIONS: [&str; 3] = ["archive", "checksum", "filename"];
/// Options of Git repositories.
const GIT_OPTIONS: [&str; 3] = ["ref", "depth", "sshkey"];
/// Options of objects of S3.
const S3_OPTIONS: [&str; 5] = ["aws_access_key_id", "aws_access_key_secret", "aws_access_token", "region", "version"];
/// Hosts whose repositories need no `git::` and no scheme.
const GIT_HOSTS: [&str; 3] = ["github.com", "gitlab.com", "bitbucket.org"];
/// The domain whose hosts, without a scheme, are those of S3.
const S3_DOMAIN: &str = "amazonaws.com";
/// The region of S3 where none is given.
const DEFAULT_REGION: &str = "us-east-1";

/// Why a source can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SourceError {
    /// It is no URL.
    #[error("the source is not a valid URL: {0}")]
    Url(String),
    /// Files of the host are not to be read.
    #[error("sources of scheme \"file\" are not allowed")]
    File,
    /// Nothing downloads from there.
    #[error("sources of scheme {0:?} are not supported; the schemes are http, https, git and s3")]
    Unsupported(String),
    /// The option `archive` names no kind of archive.
    #[error("archive type {0:?} is not known")]
    Archive(String),
    /// The option `checksum` can't be used.
    #[error(transparent)]
    Checksum(#[from] ChecksumError),
    /// The name of the file is no name.
    #[error("{0:?} can't be the name of a file; the option filename names it")]
    FileName(String),
    /// Only an archive has directories.
    #[error("mode \"dir\" needs an archive or a repository")]
    NoDirectory,
    /// A repository is a directory.
    #[error("mode \"file\" can't be used with Git repositories")]
    NoFile,
    /// Git has no checksums of files.
    #[error("the option {0} can't be used with Git repositories")]
    GitOption(&'static str),
    /// An option has an unusable value.
    #[error("the value of the option {0} can't be used")]
    Value(&'static str),
    /// The URL of an object lacks a part.
    #[error("the source names no {0}")]
    Missing(&'static str),
    /// The part after `//` leads out of the artifact.
    #[error("the path after // leads out of the artifact")]
    Subdirectory,
}

/// Where an artifact comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// A file that an HTTP server has.
    Http {
        /// Its URL, without the options.
        url: Url,
        /// What becomes of it.
        file: FileOptions,
    },
    /// A Git repository.
    Git(Repository),
    /// An object of S3, or all objects below a prefix.
    S3 {
        /// The object.
        object: Object,
        /// What becomes of it.
        file: FileOptions,
    },
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileOptions {
    /// How it is unpacked; none: it is not.
    pub kind: Option<Kind>,
    /// What it must be.
    pub checksum: Option<Checksum>,
    /// Its name, also after it was decompressed.
    pub name: String,
    /// The directory of the archive that is wanted; empty: all.
    pub subdirectory: String,
}

/// A Git repository.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// As `git` wants it. May hold a password.
    pub remote: String,
    /// Branch, tag or commit; none: what the repository says.
    pub reference: Option<String>,
    /// How many commits; none: all.
    pub depth: Option<u32>,
    /// A private key, in base64. Secret.
    pub ssh_key: Option<String>,
    /// The directory that is wanted; empty: all.
    pub subdirectory: String,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("reference", &self.reference).field("depth", &self.depth).finish()
    }
}

/// An object of S3.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// The service, without bucket.
    pub endpoint: Url,
    /// Whether the bucket is part of the host name.
    pub virtual_host: bool,
    /// The bucket.
    pub bucket: String,
    /// The key, or the prefix.
    pub key: String,
    /// The region of the bucket; none: that of the environment.
    pub region: Option<String>,
    /// The version of the object.
    pub version: Option<String>,
    /// Key ID, secret key and session token; none: those of the environment. Secret.
    pub credentials: Option<(String, String, Option<String>)>,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("bucket", &self.bucket).field("key", &self.key).finish()
    }
}

impl Object {
    /// The region, where the environment names none.
    pub(crate) fn default_region() -> &'static str {
        DEFAULT_REGION
    }
}

/// Options by name; the first value of a name counts.
struct Options {
    pairs: Vec<(String, String)>,
    taken: Vec<&'static str>,
}

impl Options {
    fn new(url: &Url, options: &BTreeMap<String, String>) -> Options {
        let own = url.query_pairs().map(|(k, v)| (k.into_owned(), v.into_owned()));
        let given = options.iter().map(|(k, v)| (k.clone(), v.clone()));
        Options { pairs: own.chain(given).collect(), taken: Vec::new() }
    }

    /// The value of an option, which is then no longer part of the URL; none if it is empty.
    fn take(&mut self, name: &'static str) -> Option<String> {
        self.taken.push(name);
        let found = self.pairs.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone());
        found.filter(|v| !v.is_empty())
    }

    /// Writes what is left into the URL.
    fn write(&self, url: &mut Url, given: bool) {
        let taken = |k: &str| self.taken.contains(&k);
        if !given && !self.pairs.iter().any(|(k, _)| taken(k)) {
            // As the job file has it: another order or escaping could break a signature.
            return;
        }
        let left: Vec<_> = self.pairs.iter().filter(|(k, _)| !taken(k)).collect();
        url.set_query(None);
        if !left.is_empty() {
            url.query_pairs_mut().extend_pairs(left);
        }
    }
}

impl Source {
    /// Reads a source and its options.
    pub(crate) fn parse(source: &str, options: &BTreeMap<String, String>, mode: Mode) -> Result<Source, SourceError> {
        let (forced, rest) = match source.split_once("::") {
            Some((forced, rest)) if !forced.is_empty() && forced.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                (Some(forced.to_ascii_lowercase()), rest)
            }
            _ => (None, source),
        };
        if rest.is_empty() {
            return Err(SourceError::Missing("URL"));
        }
        let scheme = rest.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match (forced.as_deref(), scheme.as_deref()) {
            (Some("file"), _) | (_, Some("file")) => Err(SourceError::File),
            (Some("git"), _) | (None, Some("git" | "ssh")) => repository(rest, options, mode),
            (Some("s3"), Some("http" | "https")) => object(rest, options, mode),
            (Some("s3"), None) => object(&format!("https://{rest}"), options, mode),
            (None | Some("http" | "https"), Some("http" | "https")) => http(rest, options, mode),
            (Some(other), _) | (None, Some(other)) => Err(SourceError::Unsupported(other.to_string())),
            (None, None) => detected(rest, options, mode),
        }
    }
}

/// A source without a scheme.
fn detected(source: &str, options: &BTreeMap<String, String>, mode: Mode) -> Result<Source, SourceError> {
    let host = source.split('/').next().unwrap_or_default();
    if GIT_HOSTS.contains(&host) || is_scp(source) {
        return repository(source, options, mode);
    }
    if host == S3_DOMAIN || host.strip_suffix(S3_DOMAIN).is_some_and(|h| h.ends_with('.')) {
        return object(&format!("https://{source}"), options, mode);
    }
    Err(SourceError::File)
}

/// Whether a source is `user@host:path`.
fn is_scp(source: &str) -> bool {
    let Some((before, _)) = source.split_once(':') else { return false };
    before.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty()) && !before.contains('/')
}

fn url_of(text: &str) -> Result<Url, SourceError> {
    let url = Url::parse(text).map_err(|e| SourceError::Url(e.to_string()))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(SourceError::Missing("host"));
    }
    Ok(url)
}

fn http(source: &str, options: &BTreeMap<String, String>, mode: Mode) -> Result<Source, SourceError> {
    let mut url = url_of(source)?;
    url.set_fragment(None);
    let mut all = Options::new(&url, options);
    let mut file = file_options(&mut all, url.path(), mode)?;
    if file.kind.is_some_and(Kind::has_members) {
        let (path, subdirectory) = split_subdirectory(url.path())?;
        if !subdirectory.is_empty() {
            let name = all.take("filename").unwrap_or_else(|| last_name(&path));
            file = FileOptions { name, subdirectory, ..file };
            url.set_path(&path);
        }
    }
    all.write(&mut url, !options.is_empty());
    Ok(Source::Http { url, file })
}

/// What becomes of a file with that path.
fn file_options(all: &mut Options, path: &str, mode: Mode) -> Result<FileOptions, SourceError> {
    let [archive, checksum, filename] = FILE_OPTIONS;
    let kind = kind(all.take(archive).as_deref(), path)?;
    let checksum = all.take(checksum).map(|text| Checksum::parse(&text)).transpose()?;
    let mut name = all.take(filename).unwrap_or_else(|| last_name(path));
    if let Some(Kind::Single(_)) = kind {
        name = archive::without_extension(&name);
    }
    if mode == Mode::Dir && !kind.is_some_and(Kind::has_members) {
        return Err(SourceError::NoDirectory);
    }
    // In mode `file` the destination is the name.
    let needed = mode == Mode::Any && !kind.is_some_and(Kind::has_members);
    if needed && (name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0'])) {
        return Err(SourceError::FileName(name));
    }
    Ok(FileOptions { kind, checksum, name, subdirectory: String::new() })
}

/// The kind of archive by the option, else by the extension.
fn kind(option: Option<&str>, path: &str) -> Result<Option<Kind>, SourceError> {
    let by_extension = || {
        let whole = Kind::of_name(path);
        // A directory of an archive.
        whole.or_else(|| path.split_once("//").and_then(|(archive, _)| Kind::of_name(archive)))
    };
    match option {
        None | Some("true" | "1") => Ok(by_extension()),
        Some("false" | "0") => Ok(None),
        Some(name) => Kind::of_name(&format!(".{name}")).map(Some).ok_or_else(|| SourceError::Archive(name.into())),
    }
}

/// The decoded last name of a path.
fn last_name(path: &str) -> String {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    decoded(last)
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Path and subdirectory of `path//subdirectory`.
fn split_subdirectory(path: &str) -> Result<(String, String), SourceError> {
    let Some((path, below)) = path.split_once("//") else { return Ok((path.into(), String::new())) };
    let below = decoded(below.trim_matches('/'));
    if below.split('/').any(|name| name == "..") || below.contains('\0') {
        return Err(SourceError::Subdirectory);
    }
    Ok((path.into(), below))
}

fn repository(source: &str, options: &BTreeMap<String, String>, mode: Mode) -> Result<Source, SourceError> {
    if mode == Mode::File {
        return Err(SourceError::NoFile);
    }
    let (location, query) = source.split_once('?').unwrap_or((source, ""));
    // Only for its query.
    let mut url = Url::parse("https://host/").map_err(|e| SourceError::Url(e.to_string()))?;
    url.set_query(Some(query).filter(|q| !q.is_empty()));
    let mut all = Options::new(&url, options);
    let [reference, depth, ssh_key] = GIT_OPTIONS;
    let reference = all.take(reference);
    if reference.as_deref().is_some_and(|r| r.starts_with('-') || r.contains(|c: char| c.is_ascii_control())) {
        return Err(SourceError::Value("ref"));
    }
    let depth = all.take(depth).map(|d| d.parse().map_err(|_| SourceError::Value("depth"))).transpose()?;
    let ssh_key = all.take(ssh_key);
    for name in FILE_OPTIONS {
        if all.take(name).is_some() {
            return Err(SourceError::GitOption(name));
        }
    }
    let (remote, subdirectory) = remote(location)?;
    if remote.starts_with('-') || remote.contains(|c: char| c.is_ascii_control()) {
        return Err(SourceError::Url("it has control characters".into()));
    }
    if all.pairs.iter().any(|(k, _)| !all.taken.contains(&k.as_str())) && remote.contains("://") {
        let mut url = url_of(&remote)?;
        all.write(&mut url, true);
        return Ok(Source::Git(Repository {
            remote: url.into(),
            reference,
            depth: depth.filter(|d| *d > 0),
            ssh_key,
            subdirectory,
        }));
    }
    Ok(Source::Git(Repository { remote, reference, depth: depth.filter(|d| *d > 0), ssh_key, subdirectory }))
}

/// The remote for `git`, and the subdirectory.
fn remote(location: &str) -> Result<(String, String), SourceError> {
    if let Some((scheme, rest)) = location.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        if scheme == "file" {
            return Err(SourceError::File);
        }
        if !matches!(scheme.as_str(), "http" | "https" | "ssh" | "git") {
            return Err(SourceError::Unsupported(scheme));
        }
        let (path, subdirectory) = split_subdirectory(rest)?;
        let remote = format!("{scheme}://{path}");
        url_of(&remote)?;
        return Ok((remote, subdirectory));
    }
    if is_scp(location) {
        return split_subdirectory(location);
    }
    let host = location.split('/').next().unwrap_or_default();
    if !GIT_HOSTS.contains(&host) {
        return Err(SourceError::File);
    }
    let (path, mut subdirectory) = split_subdirectory(location)?;
    let names: Vec<&str> = path.split('/').filter(|n| !n.is_empty()).collect();
    let [host, owner, name, below @ ..] = names.as_slice() else { return Err(SourceError::Missing("repository")) };
    if subdirectory.is_empty() && !below.is_empty() {
        subdirectory = split_subdirectory(&format!("//{}", below.join("/")))?.1;
    }
    Ok((format!("https://{host}/{owner}/{}.git", name.trim_end_matches(".git")), subdirectory))
}

fn object(source: &str, options: &BTreeMap<String, String>, mode: Mode) -> Result<Source, SourceError> {
    let url = url_of(source)?;
    let mut all = Options::new(&url, options);
    let [id, secret, token, region, version] = S3_OPTIONS;
    let (id, secret, token) = (all.take(id), all.take(secret), all.take(token));
    let credentials = match (id, secret) {
        (Some(id), Some(secret)) => Some((id, secret, token)),
        (None, None) => None,
        (None, Some(_)) => return Err(SourceError::Value("aws_access_key_id")),
        (Some(_), None) => return Err(SourceError::Value("aws_access_key_secret")),
    };
    let (region, version) = (all.take(region), all.take(version));
    // A prefix has directories, too.
    let any = if mode == Mode::Dir { Mode::File } else { mode };
    let mut file = file_options(&mut all, url.path(), any)?;
    let mut path = url.path().to_string();
    if file.kind.is_some_and(Kind::has_members) {
        (path, file.subdirectory) = split_subdirectory(&path)?;
        if !file.subdirectory.is_empty() {
            file.name = last_name(&path);
        }
    }
    let (place, key) = place(&url, path.trim_start_matches('/'))?;
    if key.trim_matches('/').is_empty() && mode == Mode::File {
        return Err(SourceError::Missing("object"));
    }
    let object = Object {
        endpoint: place.endpoint,
        virtual_host: place.virtual_host,
        bucket: place.bucket,
        key: decoded(&key),
        region: region.or(place.region),
        version,
        credentials,
    };
    Ok(Source::S3 { object, file })
}

/// A bucket, and where it is.
struct Place {
    endpoint: Url,
    virtual_host: bool,
    bucket: String,
    region: Option<String>,
}

/// The bucket of a URL, and the encoded key. Hosts of AWS may have the region and the bucket in their names.
fn place(url: &Url, path: &str) -> Result<(Place, String), SourceError> {
    let mut endpoint = url.clone();
    endpoint.set_query(None);
    endpoint.set_fragment(None);
    endpoint.set_path("/");
    let first = |path: &str| {
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() { Err(SourceError::Missing("bucket")) } else { Ok((decoded(bucket), key.to_string())) }
    };
    let host = url.host_str().unwrap_or_default().to_string();
    let labels: Vec<&str> =
        host.strip_suffix(&format!(".{S3_DOMAIN}")).map(|h| h.split('.').collect()).unwrap_or_default();
    let (bucket, region) = match labels.as_slice() {
        [] => (None, None),
        [bucket @ .., "s3"] => (Some(bucket.join(".")), None),
        [bucket @ .., "s3", region] => (Some(bucket.join(".")), Some((*region).to_string())),
        [bucket @ .., last] => match last.strip_prefix("s3-") {
            Some(region) => (Some(bucket.join(".")), Some(region.to_string())),
            None => (None, None),
        },
    };
    match bucket.filter(|b| !b.is_empty()) {
        Some(bucket) => {
            let service = host.get(bucket.len() + 1..).unwrap_or_default();
            endpoint.set_host(Some(service)).map_err(|e| SourceError::Url(e.to_string()))?;
            Ok((Place { endpoint, virtual_host: true, bucket, region }, path.to_string()))
        }
        None => {
            let (bucket, key) = first(path)?;
            Ok((Place { endpoint, virtual_host: false, bucket, region }, key))
        }
    }
}

#[cfg(test)]
mod tests;
