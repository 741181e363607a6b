use super::*;
use crate::artifacts::archive::Compression;

fn parse(source: &str, options: &[(&str, &str)], mode: Mode) -> Result<Source, SourceError> {
    let options = options.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    Source::parse(source, &options, mode)
}

fn http(source: &str, options: &[(&str, &str)]) -> (String, FileOptions) {
    match parse(source, options, Mode::Any) {
        Ok(Source::Http { url, file }) => (url.into(), file),
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn options_are_taken_from_the_url() {
    let (url, file) = http("https://h/a/b.txt?x=1&filename=c&archive=false", &[("y", "2 3")]);
    assert_eq!((url.as_str(), file.name.as_str(), file.kind), ("https://h/a/b.txt?x=1&y=2+3", "c", None));
    let (url, file) = http("https://h/a/b%20c.tgz?sig=a%2Bb/c", &[]);
    assert_eq!(url, "https://h/a/b%20c.tgz?sig=a%2Bb/c");
    assert_eq!(file.kind, Some(Kind::Tar(Some(Compression::Gzip))));
    assert_eq!(http("http://h/x.GZ", &[]).1.name, "x");
    assert_eq!(http("http://h/x", &[("archive", "tar.zst")]).1.kind, Some(Kind::Tar(Some(Compression::Zstd))));
    assert!(http("http://h/x", &[("checksum", "md5:d41d8cd98f00b204e9800998ecf8427e")]).1.checksum.is_some());
    let (url, file) = http("http://h/p/x.zip//in/dir?v=1", &[]);
    assert_eq!((url.as_str(), file.subdirectory.as_str()), ("http://h/p/x.zip?v=1", "in/dir"));
    assert_eq!(http("http://h//x", &[]).0, "http://h//x");
}

#[test]
fn unusable_sources() {
    for (source, options, mode, want) in [
        ("file:///etc/passwd", &[][..], Mode::Any, SourceError::File),
        ("/etc/passwd", &[], Mode::Any, SourceError::File),
        ("./x", &[], Mode::Any, SourceError::File),
        ("git::file:///x", &[], Mode::Any, SourceError::File),
        ("git::/x/y", &[], Mode::Any, SourceError::File),
        ("git::ext::sh -c x", &[], Mode::Any, SourceError::File),
        ("git::ext://x", &[], Mode::Any, SourceError::Unsupported("ext".into())),
        ("hg::http://h/x", &[], Mode::Any, SourceError::Unsupported("hg".into())),
        ("gcs::https://h/x", &[], Mode::Any, SourceError::Unsupported("gcs".into())),
        ("ftp://h/x", &[], Mode::Any, SourceError::Unsupported("ftp".into())),
        ("http://h/x", &[("archive", "rar")], Mode::Any, SourceError::Archive("rar".into())),
        ("http://h/", &[], Mode::Any, SourceError::FileName(String::new())),
        ("http://h/x", &[("filename", "../y")], Mode::Any, SourceError::FileName("../y".into())),
        ("http://h/%2e%2e%2fx", &[], Mode::Any, SourceError::FileName("../x".into())),
        ("http://h/x", &[], Mode::Dir, SourceError::NoDirectory),
        ("http://h/x.gz", &[], Mode::Dir, SourceError::NoDirectory),
        ("http://h/x.zip//..%2fy", &[], Mode::Any, SourceError::Subdirectory),
        ("github.com/a/b", &[], Mode::File, SourceError::NoFile),
        ("github.com/a", &[], Mode::Any, SourceError::Missing("repository")),
        ("github.com/a/b", &[("ref", "--upload-pack=x")], Mode::Any, SourceError::Value("ref")),
        ("github.com/a/b", &[("depth", "-1")], Mode::Any, SourceError::Value("depth")),
        ("github.com/a/b", &[("checksum", "x")], Mode::Any, SourceError::GitOption("checksum")),
        ("s3::https://h/", &[], Mode::Any, SourceError::FileName(String::new())),
        ("s3::https://h/", &[], Mode::Dir, SourceError::Missing("bucket")),
        ("", &[], Mode::Any, SourceError::Missing("URL")),
    ] {
        assert_eq!(parse(source, options, mode), Err(want), "{source}");
    }
    assert!(matches!(parse("http://[x", &[], Mode::Any), Err(SourceError::Url(_))));
}

#[test]
fn repositories() {
    let git = |source: &str, options: &[(&str, &str)]| match parse(source, options, Mode::Any) {
        Ok(Source::Git(r)) => (r.remote, r.subdirectory, r.reference, r.depth),
        other => panic!("{source}: {other:?}"),
    };
    let none = |remote: &str, below: &str| (remote.to_string(), below.to_string(), None, None);
    assert_eq!(git("github.com/a/b", &[]), none("https://github.com/a/b.git", ""));
    assert_eq!(git("github.com/a/b.git/c/d", &[]), none("https://github.com/a/b.git", "c/d"));
    assert_eq!(git("git::https://h/a.git//c", &[]), none("https://h/a.git", "c"));
    assert_eq!(git("git@github.com:a/b.git", &[]), none("git@github.com:a/b.git", ""));
    assert_eq!(git("git::deploy@h:a/b//c", &[]), none("deploy@h:a/b", "c"));
    assert_eq!(git("git::ssh://git@h/a?x=1", &[]), none("ssh://git@h/a?x=1", ""));
    let (remote, _, reference, depth) = git("git::https://h/a?ref=v1", &[("depth", "3"), ("ref", "other")]);
    assert_eq!((remote.as_str(), reference.as_deref(), depth), ("https://h/a", Some("v1"), Some(3)));
}

#[test]
fn objects() {
    let s3 = |source: &str| match parse(source, &[], Mode::Any) {
        Ok(Source::S3 { object: o, .. }) => {
            (o.endpoint.to_string(), o.virtual_host, o.bucket, o.key, o.region.unwrap_or_default())
        }
        other => panic!("{source}: {other:?}"),
    };
    let want = |endpoint: &str, virtual_host, bucket: &str, key: &str, region: &str| {
        (endpoint.to_string(), virtual_host, bucket.to_string(), key.to_string(), region.to_string())
    };
    let aws = "https://s3.amazonaws.com/";
    assert_eq!(s3("s3::https://s3.amazonaws.com/b/k/x"), want(aws, false, "b", "k/x", ""));
    assert_eq!(s3("b.c.s3.amazonaws.com/k"), want(aws, true, "b.c", "k", ""));
    let west = "https://s3-eu-west-1.amazonaws.com/";
    assert_eq!(s3("s3::https://s3-eu-west-1.amazonaws.com/b/k"), want(west, false, "b", "k", "eu-west-1"));
    let west = "https://s3.eu-west-1.amazonaws.com/";
    assert_eq!(s3("s3::https://b.s3.eu-west-1.amazonaws.com/k"), want(west, true, "b", "k", "eu-west-1"));
    assert_eq!(s3("s3::http://h:9000/b/k%20l?region=x"), want("http://h:9000/", false, "b", "k l", "x"));
}
