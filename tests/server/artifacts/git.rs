//! Git repositories, from a server that runs git's own program for HTTP.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use encamp_test_support::notes;

/// Runs `git` in a directory; gives what it printed.
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=n", "-c", "user.email=e@e", "-c", "init.defaultBranch=main"]);
    command.args(["-c", "protocol.file.allow=always"]).args(args).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir);
    let ran = command.output().expect("git");
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_string()
}

/// A repository with two commits on `main`, a tag `v1` at the first, and a branch `side`.
fn repository(root: &Path) -> PathBuf {
    let dir = root.join("repo.git");
    std::fs::create_dir_all(dir.join("sub")).expect("a directory");
    git(&dir, &["init", "-q"]);
    let commit = |name: &str, text: &str| {
        std::fs::write(dir.join(name), text).expect("a file");
        git(&dir, &["add", "."]);
        git(&dir, &["commit", "-q", "-m", text]);
    };
    commit("f", "one");
    commit("sub/g", "below");
    git(&dir, &["tag", "v1"]);
    git(&dir, &["checkout", "-q", "-b", "side"]);
    commit("f", "side");
    git(&dir, &["checkout", "-q", "main"]);
    commit("f", "two");
    git(&dir, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    dir
}

/// Serves all repositories of a directory.
fn serve(root: PathBuf) -> Site {
    Site::start(move |request, to| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let mut child = Command::new("git")
            .args(["-c", "safe.directory=*", "http-backend"])
            .env("GIT_PROJECT_ROOT", &root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", path)
            .env("QUERY_STRING", query)
            .env("CONTENT_TYPE", request.header("content-type"))
            .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
            .env("GIT_PROTOCOL", request.header("git-protocol"))
            .env("REMOTE_USER", "n")
            .env("REMOTE_ADDR", "127.0.0.1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        child.stdin.take().expect("stdin").write_all(&request.body)?;
        let out = child.wait_with_output()?.stdout;
        let end = out.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(0);
        let head = String::from_utf8_lossy(&out[..end]).into_owned();
        let status = head.lines().find_map(|l| l.strip_prefix("Status: ")).unwrap_or("200 OK").to_string();
        let headers: String = head.lines().filter(|l| !l.starts_with("Status")).map(|l| format!("{l}\r\n")).collect();
        send(to, &status, &headers, &out[(end + 4).min(out.len())..])
    })
}

#[test]
fn repositories_are_cloned() {
    if notes::lacks("artifacts from git", "git") {
        return;
    }
    let folder = Folder::new("artifact-git");
    let root = folder.path().join("repositories");
    let dir = repository(&root);
    let first = git(&dir, &["rev-list", "--max-parents=0", "main"]);
    let site = serve(root);
    let agent = development(&folder, "");
    let source = format!("git::{}", site.url("/repo.git"));
    let clone = |to: &str, options: Json| json!({"GetterSource": source, "RelativeDest": to, "GetterOptions": options});
    run(
        &agent,
        "clones",
        json!([
            clone("a", json!({})),
            clone("b", json!({"ref": "v1"})),
            clone("c", json!({"ref": "side", "depth": "1"})),
            clone("d", json!({"ref": first, "depth": "1"})),
            clone("e", json!({"ref": first})),
            {"GetterSource": format!("{source}//sub?ref=side"), "RelativeDest": "f"},
        ]),
        "for d in a b c d e; do cat $d/f; echo; done; cat f/g; ls f; git -c safe.directory='*' -C c rev-list --count HEAD",
    );
    let out = output(&agent, "clones");
    assert!(out.contains("two\none\nside\none\none\nbelowg\n1\n"), "{out}");
    for (n, (artifact, want)) in [
        (clone("a", json!({"ref": "none"})), "git checkout failed"),
        (clone("a", json!({"checksum": format!("md5:{}", "0".repeat(32))})), "checksum can't be used with Git"),
        (clone("a", json!({"sshkey": "*"})), "sshkey is no private key"),
        (json!({"GetterSource": format!("git::{}", site.url("/other.git"))}), "git clone failed"),
        (json!({"GetterSource": format!("git::{}", site.url("/repo.git//none"))}), "has no directory \"none\""),
        (json!({"GetterSource": format!("git::file://{}", dir.display())}), "scheme \"file\" are not allowed"),
        (json!({"GetterSource": format!("git::{}", dir.display())}), "scheme \"file\" are not allowed"),
        (json!({"GetterSource": "git::ext::sh -c true"}), "scheme \"file\" are not allowed"),
    ]
    .into_iter()
    .enumerate()
    {
        let job = format!("bad{n}");
        run(&agent, &job, json!([artifact]), "true");
        event(&agent, &job, want);
    }
}

#[test]
fn hostile_repositories_are_refused() {
    if notes::lacks("artifacts from git", "git") {
        return;
    }
    let folder = Folder::new("artifact-git-hostile");
    let root = folder.path().join("repositories");
    let dir = repository(&root);
    std::os::unix::fs::symlink("../../../../../etc", dir.join("out")).expect("a link");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-q", "-m", "link"]);
    let with_module = root.join("module.git");
    std::fs::create_dir_all(&with_module).expect("a directory");
    git(&with_module, &["init", "-q"]);
    git(&with_module, &["submodule", "add", "-q", "--", dir.to_str().expect("a path"), "module"]);
    git(&with_module, &["commit", "-q", "-m", "module"]);
    let site = serve(root);
    // Without that, the transport would find nothing anyway.
    let agent = development(&folder, "disable_filesystem_isolation = true");
    for (job, path, want) in [
        ("link", "/repo.git", "the artifact has a symbolic link \"out\" that leads out of it"),
        ("module", "/module.git", "transport 'file' not allowed"),
    ] {
        run(&agent, job, json!([{"GetterSource": format!("git::{}", site.url(path))}]), "true");
        event(&agent, job, want);
    }
}
