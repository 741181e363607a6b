//! Objects of S3, from a server that checks how requests are signed.

use super::*;

const LIST: &str = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
    <Name>bucket</Name><Prefix>tree/</Prefix><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>MEMBERS\
    </ListBucketResult>";

fn list(keys: &[&str]) -> String {
    let members: String = keys.iter().map(|k| format!("<Contents><Key>{k}</Key><Size>1</Size></Contents>")).collect();
    LIST.replace("MEMBERS", &members)
}

#[test]
fn objects_and_prefixes_are_downloaded() {
    let folder = Folder::new("artifact-s3");
    let archive = gzip(&tar(&[("in", b"archived")]));
    let site = Site::start(move |request, to| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let signed = query.contains("X-Amz-Credential=id%2F") && query.contains("%2Feu-west-1%2Fs3%2F");
        if path != "/bucket/public" && !(signed && query.contains("X-Amz-Signature=")) {
            return send(to, "403 Forbidden", "", b"<Error><Code>AccessDenied</Code></Error>");
        }
        match path {
            "/bucket/public" => send(to, "200 OK", "", b"public "),
            "/bucket/one%20object" if query.contains("versionId=7") => send(to, "200 OK", "", b"one "),
            "/bucket/a.tar.gz" => send(to, "200 OK", "", &archive),
            "/bucket/tree/x" => send(to, "200 OK", "", b"x "),
            "/bucket/tree/d/y" => send(to, "200 OK", "", b"y "),
            "/bucket/" if query.contains("prefix=tree%2F") => {
                send(to, "200 OK", "", list(&["tree/", "tree/x", "tree/d/y"]).as_bytes())
            }
            "/bucket/" if query.contains("prefix=bad%2F") => send(to, "200 OK", "", list(&["bad/../../x"]).as_bytes()),
            "/bucket/" => send(to, "200 OK", "", list(&[]).as_bytes()),
            _ => send(to, "404 Not Found", "", b"<Error><Code>NoSuchKey</Code></Error>"),
        }
    });
    let agent = development(&folder, "");
    let source = |key: &str| format!("s3::{}", site.url(&format!("/bucket/{key}")));
    let options = json!({"aws_access_key_id": "id", "aws_access_key_secret": "secret", "region": "eu-west-1"});
    let mut version = options.clone();
    version["version"] = "7".into();
    run(
        &agent,
        "objects",
        json!([
            {"GetterSource": source("public")},
            {"GetterSource": source("one%20object"), "GetterOptions": version},
            {"GetterSource": source("a.tar.gz"), "GetterOptions": options},
            {"GetterSource": source("tree"), "GetterOptions": options, "RelativeDest": "local/tree"},
        ]),
        "cd local; cat public 'one object' tree/x tree/d/y in",
    );
    let out = output(&agent, "objects");
    assert!(out.contains("public one x y archived"), "{out}");
    for (n, (key, options, want)) in [
        ("missing", options.clone(), "there is no object \"missing\", and none below it"),
        ("bad", options.clone(), "the key of the object \"bad/../../x\" can't be a path"),
        ("tree/x", json!({}), "the server answered 403 Forbidden"),
    ]
    .into_iter()
    .enumerate()
    {
        let job = format!("bad{n}");
        run(&agent, &job, json!([{"GetterSource": source(key), "GetterOptions": options}]), "true");
        event(&agent, &job, want);
    }
}
