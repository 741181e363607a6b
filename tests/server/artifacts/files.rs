//! Files and archives over HTTP.

use sha2::Digest;

use super::*;

fn sha256(data: &[u8]) -> String {
    sha2::Sha256::digest(data).iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn files_and_archives_come_to_their_destinations() {
    let folder = Folder::new("artifact-files");
    let archive = gzip(&tar(&[("top/a.txt", b"archived"), ("top/sub/b.txt", b"below")]));
    let (data, single) = (archive.clone(), gzip(b"single"));
    let other = Site::start(|request, to| send(to, "200 OK", "", format!("[{}]", request.header("x-key")).as_bytes()));
    let elsewhere = other.url("/elsewhere");
    let site = Site::start(move |request, to| match request.path.as_str() {
        "/plain.txt" => send(to, "200 OK", "", format!("plain {}", request.header("x-key")).as_bytes()),
        "/a.tar.gz" | "/a.bin?v=1" => send(to, "200 OK", "", &data),
        "/single.gz" => send(to, "200 OK", "", &single),
        "/sums" => send(to, "200 OK", "", format!("{}  a.tar.gz\n", sha256(&data)).as_bytes()),
        "/moved" => send(to, "302 Found", "Location: /plain.txt\r\n", b""),
        "/away" => send(to, "302 Found", &format!("Location: {elsewhere}\r\n"), b""),
        _ => send(to, "404 Not Found", "", b""),
    });
    let agent = development(&folder, "");
    let header = json!({"X-Key": "${NOMAD_META_name}"});
    run(
        &agent,
        "files",
        json!([
            {"GetterSource": site.url("/plain.txt"), "GetterHeaders": header},
            {"GetterSource": site.url("/${NOMAD_TASK_NAME}.txt"), "GetterOptions": {"archive": "false"},
             "GetterMode": "file", "RelativeDest": "local/none"},
        ]),
        "true",
    );
    let failed = event(&agent, "files", "Failed Artifact Download");
    let want = "failed to download artifact \"http://127.0.0.1:";
    let all = events(&failed);
    assert!(
        all.iter().any(|(_, text)| text.starts_with(want) && text.ends_with("the server answered 404 Not Found")),
        "{all:?}"
    );
    assert_eq!(all.iter().filter(|(kind, _)| kind == "Downloading Artifacts").count(), 1);

    run(
        &agent,
        "all",
        json!([
            {"GetterSource": site.url("/plain.txt"), "GetterHeaders": header},
            {"GetterSource": site.url("/moved"), "GetterHeaders": header, "GetterMode": "file", "RelativeDest": "local/m"},
            {"GetterSource": site.url("/away"), "GetterHeaders": header, "GetterMode": "file", "RelativeDest": "${NOMAD_ALLOC_DIR}/data/away"},
            {"GetterSource": site.url("/a.tar.gz"), "GetterOptions": {"checksum": format!("sha256:{}", sha256(&archive))}, "RelativeDest": "local/x"},
            {"GetterSource": site.url("/a.bin?v=1"), "GetterOptions": {"archive": "tar.gz"}, "RelativeDest": "y", "GetterMode": "dir"},
            {"GetterSource": site.url("/a.tar.gz//top/sub"), "RelativeDest": "z"},
            {"GetterSource": site.url("/single.gz"), "GetterOptions": {"filename": "renamed.gz"}},
        ]),
        "cd .. && cat t/local/plain.txt t/local/m alloc/data/away t/local/x/top/a.txt t/y/top/sub/b.txt t/z/b.txt \
         t/local/renamed; stat -c ' %a' t/local/m t/local/x/top; ls -a | tr '\\n' ' '",
    );
    let out = output(&agent, "all");
    let want = "plain valueplain value[]archivedbelowbelowsingle 644\n 755\n. .. alloc t ";
    assert!(out.contains(want), "{out:?}");
    assert_eq!(site.count("/a.bin?v=1"), 1);
}

#[test]
fn files_belong_to_the_user_of_the_task_on_request() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = Folder::new("artifact-owner");
    let archive = gzip(&tar(&[("d/f", b"x")]));
    let site = Site::start(move |request, to| match request.path.as_str() {
        "/a.tgz" => send(to, "200 OK", "", &archive),
        _ => send(to, "200 OK", "", b"x"),
    });
    let agent = development(&folder, "");
    let chown =
        |path: &str, to: &str, chown: bool| json!({"GetterSource": site.url(path), "RelativeDest": to, "Chown": chown});
    let artifacts = json!([chown("/a.tgz", "own", true), chown("/f", "own", true), chown("/a.tgz", "other", false)]);
    let restart = json!({"Attempts": 0, "Mode": "fail"});
    let script = "stat -c '%U' own own/d own/d/f own/f other other/d/f | tr '\\n' ' '";
    run_as(&agent, "owner", "nobody", artifacts, script, restart);
    let out = output(&agent, "owner");
    assert!(out.contains("nobody nobody nobody nobody root root"), "{out}");
}

#[test]
fn wrong_and_hostile_artifacts_fail_with_their_reasons() {
    let folder = Folder::new("artifact-hostile");
    let archive = |files: &[(&str, &[u8])]| gzip(&tar(files));
    let up = archive(&[("../../../out", b"x")]);
    let absolute = archive(&[("/tmp/encamp-artifact-out", b"x")]);
    let bomb = archive(&[("zeros", &vec![0; 3 << 20])]);
    let names: Vec<String> = (0..30).map(|n| format!("f{n}")).collect();
    let many = archive(&names.iter().map(|n| (n.as_str(), &b""[..])).collect::<Vec<_>>());
    let site = Site::start(move |request, to| match request.path.as_str() {
        "/plain" => send(to, "200 OK", "", b"plain"),
        "/loop" => send(to, "302 Found", "Location: /loop\r\n", b""),
        "/file" => send(to, "302 Found", "Location: file:///etc/passwd\r\n", b""),
        "/nowhere" => send(to, "302 Found", "", b""),
        "/short" => write!(to, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
        "/long" => write!(to, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nlong"),
        "/endless" => {
            write!(to, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                to.write_all(&[b'x'; 4096])?;
            }
        }
        "/hang" => hang(to),
        "/headers" => {
            write!(to, "HTTP/1.1 200 OK\r\n")?;
            loop {
                to.write_all(b"X-Y: z\r\n")?;
            }
        }
        "/garbage" => to.write_all(b"\0\0\0\0garbage\r\n\r\n"),
        "/up.tgz" => send(to, "200 OK", "", &up),
        "/absolute.tgz" => send(to, "200 OK", "", &absolute),
        "/bomb.tgz" => send(to, "200 OK", "", &bomb),
        "/many.tgz" => send(to, "200 OK", "", &many),
        "/broken.zip" => send(to, "200 OK", "", b"PK no archive"),
        _ => send(to, "404 Not Found", "", b""),
    });
    let settings = "http_read_timeout = \"6s\"\nhttp_max_size = \"1MB\"\ndecompression_size_limit = \"2MB\"\n\
                    decompression_file_count_limit = 20";
    let agent = development(&folder, settings);
    let source = |path: &str| json!({"GetterSource": site.url(path)});
    let md5 = "d41d8cd98f00b204e9800998ecf8427e";
    let cases = [
        (
            json!({"GetterSource": site.url("/plain"), "GetterOptions": {"checksum": format!("md5:{md5}")}}),
            "checksum did not match: expected d41d",
        ),
        (source("/loop"), "the server redirects more than 10 times"),
        (source("/file"), "the server redirects to a URL of scheme \"file\", which is not allowed"),
        (source("/nowhere"), "the server redirects to no valid URL"),
        (source("/short"), "failed to download artifact \"http://"),
        (source("/long"), "the file is larger than the limit of 1000000 bytes (http_max_size)"),
        (source("/endless"), "the file is larger than the limit of 1000000 bytes (http_max_size)"),
        (source("/hang"), "the download took longer than 6s (http_read_timeout)"),
        (source("/headers"), "failed to download artifact \"http://"),
        (source("/garbage"), "failed to download artifact \"http://"),
        (source("/up.tgz"), "a member with the name \"../../../out\", which is not allowed"),
        (source("/absolute.tgz"), "a member with the name \"/tmp/encamp-artifact-out\", which is not allowed"),
        (source("/bomb.tgz"), "larger than the limit of 2000000 bytes (decompression_size_limit)"),
        (source("/many.tgz"), "the archive has more than 20 members (decompression_file_count_limit)"),
        (source("/broken.zip"), "failed to read the archive"),
        (json!({"GetterSource": "file:///etc/passwd"}), "sources of scheme \"file\" are not allowed"),
        (json!({"GetterSource": "/etc/passwd"}), "sources of scheme \"file\" are not allowed"),
        (json!({"GetterSource": "hg::http://127.0.0.1:1/x"}), "sources of scheme \"hg\" are not supported"),
        (json!({"GetterSource": "http://127.0.0.1:1/x"}), "Connection refused"),
        (json!({"GetterSource": site.url("/plain"), "GetterMode": "dir"}), "mode \"dir\" needs an archive"),
        (
            json!({"GetterSource": site.url("/plain"), "RelativeDest": "${NOMAD_META_up}/x"}),
            "artifact destination path escapes alloc directory",
        ),
    ];
    for (n, (artifact, _)) in cases.iter().enumerate() {
        run(&agent, &format!("j{n}"), json!([artifact]), "true");
    }
    for (n, (artifact, want)) in cases.iter().enumerate() {
        let failed = event(&agent, &format!("j{n}"), "Failed Artifact Download");
        let all = events(&failed);
        assert!(all.iter().any(|(_, text)| text.contains(want)), "{artifact}: {all:?} has no {want:?}");
        assert!(!all.iter().any(|(kind, _)| kind == "Started"), "{artifact}");
    }
    assert!(!std::path::Path::new("/tmp/encamp-artifact-out").exists());
}

#[test]
fn a_broken_transfer_goes_on_where_it_broke_off() {
    let folder = Folder::new("artifact-resume");
    let whole: Arc<Vec<u8>> = Arc::new((0..200_000_u32).flat_map(u32::to_le_bytes).collect());
    let data = whole.clone();
    let tries = Arc::new(Mutex::new(0_usize));
    let site = Site::start(move |request, to| {
        let mut tries = tries.lock().expect("a number");
        *tries += 1;
        let length = data.len();
        let start: usize =
            request.header("range").trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0);
        let head = match (start, *tries) {
            (0, _) => format!("200 OK\r\nContent-Length: {length}"),
            // The file is another one: it is sent from the beginning.
            (_, 3) => return send(to, "200 OK", "ETag: \"2\"\r\nAccept-Ranges: bytes\r\n", &data),
            _ => {
                assert_eq!(request.header("if-range"), "\"1\"");
                let left = length - start;
                format!(
                    "206 Partial Content\r\nContent-Length: {left}\r\nContent-Range: bytes {start}-{}/{length}",
                    length - 1
                )
            }
        };
        write!(to, "HTTP/1.1 {head}\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\n\r\n")?;
        to.write_all(&data[start..start + 100_000])
    });
    let agent = development(&folder, "");
    let artifact = json!([{"GetterSource": site.url("/big"), "GetterMode": "file", "RelativeDest": "local/big"}]);
    run(&agent, "resume", artifact, "sha256sum < local/big");
    let out = output(&agent, "resume");
    assert!(out.contains(&sha256(&whole)), "{out}");
    let ranges: Vec<String> =
        site.requests.lock().expect("requests").iter().map(|r| r.header("range").to_string()).collect();
    assert_eq!(ranges.len(), 3, "{ranges:?}");
    assert!(ranges[0].is_empty() && ranges[1] == "bytes=100000-" && ranges[2] == "bytes=200000-", "{ranges:?}");
}
