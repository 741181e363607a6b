//! Snapshots of the server's state as archives (`docs/spec/http-api.md §6.7`).

use std::io::{self, Read, Write};

use axum::http::{HeaderName, Method};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::access::Need;
use super::error::Error;
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_host::ids;
use encamp_server::Server;
use encamp_server::endpoints::operator;
use encamp_server::store::Store;
use encamp_state::StoreSnapshot;

/// The most that is unpacked of an archive.
const MAX_UNPACKED: u64 = 4 << 30;

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/operator/snapshot", snapshot)];

async fn snapshot(mut request: Request) -> Outcome {
    match *request.method() {
        Method::GET => save(request).await,
        Method::PUT | Method::POST => {
            request.check_region()?;
            request.need(&Need::Management)?;
            let body = request.bytes().await?;
            let state = tokio::task::spawn_blocking(move || unpacked(&body)).await;
            let state = state.map_err(|e| Error::internal(e.to_string()))??;
            operator::restore(request.server()?, state).await?;
            Ok(Response::empty())
        }
        _ => Err(Error::method()),
    }
}

async fn save(request: Request) -> Outcome {
    let options = request.read_options()?;
    request.need(&Need::OperatorCapability("snapshot-save"))?;
    // What a server keeps for the time it runs only is not worth an archive.
    if request.app().settings().dev {
        return Err(Error::internal("failed to open snapshot: open is not supported:"));
    }
    let server = request.server()?.clone();
    if !options.stale {
        server.wait_ready().await?;
    }
    let state = server.snapshot();
    let about = about(&server, &state);
    let made = tokio::task::spawn_blocking(move || archive(&state, about)).await;
    let archive = made.map_err(io::Error::other).flatten();
    let archive = archive.map_err(|e| Error::internal(format!("failed to save snapshot: {e}")))?;
    let digest = format!("sha-256={}", STANDARD.encode(Sha256::digest(&archive)));
    Ok(Response::bytes("application/x-gzip", archive).header(HeaderName::from_static("digest"), &digest))
}

/// `meta.json`, without the size.
fn about(server: &Server, state: &StoreSnapshot) -> serde_json::Value {
    let stats = server.consensus().stats();
    let configuration = server.consensus().configuration();
    let index = state.latest_index();
    let servers: Vec<_> = configuration
        .servers
        .iter()
        .map(|m| json!({ "Suffrage": i32::from(!m.voter), "ID": m.id.to_string(), "Address": m.peer.address }))
        .collect();
    json!({
        "Version": 1,
        "ID": format!("{}-{index}-{}", stats.term, ids::now() / 1_000_000),
        "Index": index,
        "Term": stats.term,
        "Peers": "",
        "Configuration": { "Servers": servers },
        "ConfigurationIndex": configuration.index,
    })
}

fn archive(state: &StoreSnapshot, about: serde_json::Value) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    Store::write_snapshot(state, &mut content)?;
    packed(&content, about)
}

fn packed(content: &[u8], mut about: serde_json::Value) -> io::Result<Vec<u8>> {
    if let Some(members) = about.as_object_mut() {
        members.insert("Size".into(), content.len().into());
    }
    let meta = serde_json::to_vec(&about)?;
    let sums = sums(&meta, content);
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    for (name, bytes) in [("meta.json", &meta[..]), ("state.bin", content), ("SHA256SUMS", sums.as_bytes())] {
        out.write_all(&tar_header(name, bytes.len()))?;
        out.write_all(bytes)?;
        out.write_all(&vec![0; bytes.len().next_multiple_of(512) - bytes.len()])?;
    }
    out.write_all(&[0; 1024])?;
    out.finish()
}

/// The state in an archive that [`packed`] made.
fn unpacked(archive: &[u8]) -> Result<Vec<u8>, Error> {
    let failed = |text: &str| Error::internal(format!("failed to restore from snapshot: {text}"));
    if !archive.starts_with(&[0x1f, 0x8b]) {
        return Err(failed("failed to decompress snapshot: gzip: invalid header"));
    }
    let mut tar = Vec::new();
    let size = GzDecoder::new(archive).take(MAX_UNPACKED).read_to_end(&mut tar);
    let size = size.map_err(|e| failed(&format!("failed to decompress snapshot: {e}")))?;
    if size as u64 == MAX_UNPACKED {
        return Err(failed(&format!("it unpacks to {} GiB or more", MAX_UNPACKED >> 30)));
    }
    let mut rest = tar.as_slice();
    let mut member = |name: &str| {
        let (header, behind) = rest.split_at_checked(512)?;
        let size = std::str::from_utf8(header.get(124..135)?).ok()?;
        let size = usize::from_str_radix(size, 8).ok()?;
        rest = behind.get(size.checked_next_multiple_of(512)?..)?;
        header.starts_with(format!("{name}\0").as_bytes()).then_some(behind.get(..size)?)
    };
    let members = [member("meta.json"), member("state.bin"), member("SHA256SUMS")];
    let [Some(meta), Some(content), Some(told)] = members else {
        return Err(failed("it is not an archive of this program, or incomplete"));
    };
    if told != sums(meta, content).as_bytes() {
        return Err(failed("the archive is damaged: its checksums are wrong"));
    }
    Ok(content.to_vec())
}

/// `SHA256SUMS`.
fn sums(meta: &[u8], content: &[u8]) -> String {
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    format!("{}  meta.json\n{}  state.bin\n", hex(meta), hex(content))
}

/// The header of a file of mode 0600 in a tar archive. Names are short.
fn tar_header(name: &str, size: usize) -> [u8; 512] {
    let mut header = [0u8; 512];
    let mut put = |at: usize, text: &[u8]| {
        header.iter_mut().skip(at).zip(text).for_each(|(to, from)| *to = *from);
    };
    let seconds = ids::now() / 1_000_000_000;
    put(0, name.as_bytes());
    put(100, b"0000600\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, format!("{seconds:011o}\0").as_bytes());
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|b| u32::from(*b)).sum();
    let text = format!("{sum:06o}\0 ");
    header.iter_mut().skip(148).zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
    header
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::testing::{Answer, TestServer};
    use encamp_state::StateStore;

    fn unzipped(archive: &[u8]) -> Vec<u8> {
        let mut tar = Vec::new();
        GzDecoder::new(archive).read_to_end(&mut tar).expect("gzip");
        tar
    }

    #[test]
    fn archives_hold_three_files() {
        let state = StateStore::new().snapshot();
        let bytes = archive(&state, json!({ "Index": 1 })).expect("an archive");
        let tar = unzipped(&bytes);
        let mut names = Vec::new();
        let mut files = Vec::new();
        let mut at = 0;
        while tar[at] != 0 {
            let text = |from: usize, to: usize| {
                String::from_utf8_lossy(&tar[at + from..at + to]).trim_matches('\0').to_string()
            };
            let size = usize::from_str_radix(&text(124, 135), 8).expect("a size");
            names.push(text(0, 100));
            files.push(tar[at + 512..at + 512 + size].to_vec());
            at += 512 + size.next_multiple_of(512);
        }
        assert_eq!(names, ["meta.json", "state.bin", "SHA256SUMS"]);
        let meta: serde_json::Value = serde_json::from_slice(&files[0]).expect("JSON");
        assert_eq!(meta["Size"], files[1].len());
        let hex: String = Sha256::digest(&files[1]).iter().map(|b| format!("{b:02x}")).collect();
        assert!(String::from_utf8_lossy(&files[2]).contains(&format!("{hex}  state.bin\n")));
        assert_eq!(unpacked(&bytes).expect("the state"), files[1]);
    }

    async fn put(s: &TestServer, archive: &[u8]) -> Answer {
        let request = axum::http::Request::put("/v1/operator/snapshot").body(archive.to_vec().into());
        s.ask(request.expect("a request")).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_saved_is_there_again() {
        let s = TestServer::start().await;
        assert_eq!(s.put("/v1/namespace", json!({ "Name": "kept" })).await.status, 200);
        let saved = s.get("/v1/operator/snapshot").await;
        let digest = format!("sha-256={}", STANDARD.encode(Sha256::digest(&saved.body)));
        assert_eq!((saved.status, saved.header("digest")), (200, Some(digest.as_str())));
        assert_eq!(s.put("/v1/namespace", json!({ "Name": "lost" })).await.status, 200);

        let zipped = |tar: &[u8]| {
            let mut out = GzEncoder::new(Vec::new(), Compression::fast());
            out.write_all(tar).and_then(|()| out.finish()).expect("gzip")
        };
        let tar = unzipped(&saved.body);
        let mut changed = tar.clone();
        let place = tar.windows(4).position(|w| w == b"kept").expect("the namespace");
        changed[place] = b'w';
        for (archive, want) in [
            (b"not a snapshot".to_vec(), "failed to decompress snapshot: gzip: invalid header"),
            (Vec::new(), "failed to decompress snapshot: gzip: invalid header"),
            (saved.body[..saved.body.len() / 2].to_vec(), "failed to decompress snapshot: "),
            (zipped(&tar[..tar.len() / 2]), "it is not an archive of this program, or incomplete"),
            (zipped(b"something else"), "it is not an archive of this program, or incomplete"),
            (zipped(&changed), "its checksums are wrong"),
            (packed(b"\x80 other records", json!({ "Version": 1 })).expect("an archive"), "state snapshot: "),
        ] {
            let (status, text) = put(&s, &archive).await.told();
            let told = text.strip_prefix("failed to restore from snapshot: ");
            assert!(status == 500 && told.is_some_and(|t| t.contains(want)), "{status} {text}, not {want}");
        }

        assert_eq!(put(&s, &saved.body).await.told(), (200, String::new()));
        let names = s.get("/v1/namespaces").await.json();
        let names: Vec<_> = names.as_array().into_iter().flatten().map(|n| n["Name"].clone()).collect();
        assert_eq!(names, ["default", "kept"]);
        assert_eq!(s.put("/v1/namespace", json!({ "Name": "new" })).await.status, 200);
        s.stop().await;
    }
}
