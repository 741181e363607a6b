//! Snapshots of the server's state as archives (`docs/spec/http-api.md §6.7`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderName;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::request::Request;
use crate::request::body::unread;
use crate::request::response::{Outcome, Response};
use crate::serve::bodies::Pieces;
use encamp_host::{ids, threads};
use encamp_server::Server;
use encamp_server::endpoints::operator;
use encamp_server::storage::store::Store;
use encamp_state::StoreSnapshot;

/// The longest archive.
const MAX_PACKED: u64 = 1 << 30;
/// The most that is unpacked of an archive.
const MAX_UNPACKED: u64 = 4 << 30;
/// How many times its length an archive may unpack to. States get to a tenth of their length, blanks to a thousandth.
const MOST_RATIO: u64 = 100;
/// The most that any archive may decompress to.
const ALWAYS_UNPACKED: u64 = 64 << 20;
/// The most of the files beside the state.
const MOST_META: u64 = 1 << 20;
/// How long an archive waits for another one that is restored.
const WAIT: Duration = Duration::from_secs(30);

/// Restorations need the same files.
static RESTORING: Semaphore = Semaphore::const_new(1);

/// Archives go to files first: what they unpack to is bounded before it is in memory, and there is one at a time.
pub(crate) async fn restore(mut request: Request) -> Outcome {
    check_size(request.length().map_or(0, |bytes| bytes as u64))?;
    let waited = tokio::time::timeout(WAIT, RESTORING.acquire()).await;
    let Ok(Ok(_alone)) = waited else {
        return Err(Error::new(503, "another snapshot is being restored; try again later"));
    };
    let files = Files::new(&request.server()?.settings().data_dir);
    let body = request.take_body();
    receive(body, &files.archive).await?;
    let state = tokio::task::spawn_blocking(move || unpacked(&files)).await;
    let state = state.map_err(|e| Error::internal(e.to_string()))??;
    operator::restore(request.server()?, state).await?;
    Ok(Response::empty())
}

fn failed(text: &str) -> Error {
    Error::internal(format!("failed to restore from snapshot: {text}"))
}

/// The files of a restoration, removed at its end.
struct Files {
    archive: PathBuf,
    state: PathBuf,
}

impl Files {
    fn new(dir: &Path) -> Files {
        Files { archive: dir.join("restore-archive.tmp"), state: dir.join("restore-state.tmp") }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.archive, &self.state] {
            let _ = fs::remove_file(path);
        }
    }
}

/// A new file that nobody else reads.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Refuses an archive that is too large.
fn check_size(bytes: u64) -> Result<(), Error> {
    if bytes > MAX_PACKED {
        return Err(Error::new(413, format!("Request body is larger than {} MiB", MAX_PACKED >> 20)));
    }
    Ok(())
}

/// Writes a body to a file.
async fn receive(body: Body, path: &Path) -> Result<(), Error> {
    let broken = |e: io::Error| failed(&format!("can't write {}: {e}", path.display()));
    let mut file = tokio::fs::File::from_std(create(path).map_err(broken)?);
    let (mut pieces, mut size) = (Pieces::new(body), 0u64);
    while let Some(piece) = pieces.next().await.map_err(unread)? {
        size += piece.len() as u64;
        check_size(size)?;
        file.write_all(&piece).await.map_err(broken)?;
    }
    file.flush().await.map_err(broken)
}

pub(crate) async fn save(request: Request) -> Outcome {
    let options = request.read_options()?;
    // The state of a development server, which ends with the process, is not worth an archive.
    if request.app().settings().dev {
        return Err(Error::internal("failed to open snapshot: open is not supported:"));
    }
    let server = request.server()?.clone();
    if !options.stale {
        server.wait_ready().await?;
    }
    let state = server.snapshot();
    let about = about(&server, &state);
    // All processors work on it; writes go on meanwhile.
    let made = threads::in_background(move || archive(&state, about)).await;
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
    let sums = sums(&Sha256::digest(&meta), &Sha256::digest(content));
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    for (name, bytes) in [("meta.json", &meta[..]), ("state.bin", content), ("SHA256SUMS", sums.as_bytes())] {
        out.write_all(&tar_header(name, bytes.len()))?;
        out.write_all(bytes)?;
        out.write_all(&vec![0; bytes.len().next_multiple_of(512) - bytes.len()])?;
    }
    out.write_all(&[0; 1024])?;
    out.finish()
}

/// Reads what an archive unpacks to, up to a limit that follows from its length.
struct Unpacked<R> {
    from: R,
    left: u64,
}

/// The most that an archive of that length may decompress to.
fn most_unpacked(packed: u64) -> u64 {
    packed.saturating_mul(MOST_RATIO).saturating_add(ALWAYS_UNPACKED).min(MAX_UNPACKED)
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buf)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let text = format!(
                "it unpacks to more than {MOST_RATIO} times its size and {} MiB, or more than {} GiB",
                ALWAYS_UNPACKED >> 20,
                MAX_UNPACKED >> 30
            );
            io::Error::new(io::ErrorKind::FileTooLarge, text)
        })?;
        Ok(read)
    }
}

/// Hands the content of the next file in a tar archive to `take`; gives what that gives. `None`: it is another file, or
/// none.
fn member<T>(
    tar: &mut impl Read,
    name: &str,
    most: u64,
    take: impl FnOnce(&mut dyn Read) -> io::Result<T>,
) -> io::Result<Option<T>> {
    let mut header = [0u8; 512];
    tar.read_exact(&mut header)?;
    let size = std::str::from_utf8(&header[124..135]).ok().and_then(|t| u64::from_str_radix(t, 8).ok());
    let (true, Some(size)) = (header.starts_with(format!("{name}\0").as_bytes()), size) else { return Ok(None) };
    if size > most {
        return Ok(None);
    }
    let mut content = tar.by_ref().take(size);
    let taken = take(&mut content)?;
    if content.limit() > 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    io::copy(&mut tar.by_ref().take(size.next_multiple_of(512) - size), &mut io::sink())?;
    Ok(Some(taken))
}

/// The state in an archive that [`packed`] made.
fn unpacked(files: &Files) -> Result<Vec<u8>, Error> {
    let io_error = |path: &Path, e: &io::Error| failed(&format!("{}: {e}", path.display()));
    let archive = File::open(&files.archive).map_err(|e| io_error(&files.archive, &e))?;
    let size = archive.metadata().map_err(|e| io_error(&files.archive, &e))?.len();
    let mut packed = BufReader::with_capacity(1 << 16, archive);
    if !packed.fill_buf().is_ok_and(|b| b.starts_with(&[0x1f, 0x8b])) {
        return Err(failed("failed to decompress snapshot: gzip: invalid header"));
    }
    let mut tar = Unpacked { from: GzDecoder::new(packed), left: most_unpacked(size) };
    let read = members(&mut tar, &files.state);
    // Only then it is known that nothing is missing.
    let rest = io::copy(&mut tar, &mut io::sink());
    let incomplete = || failed("it is not an archive of this program, or it is incomplete");
    let (meta, sum, checksums) = match (read, rest) {
        (Err(e), _) if e.kind() == io::ErrorKind::FileTooLarge => return Err(failed(&e.to_string())),
        (_, Err(e)) if e.kind() == io::ErrorKind::FileTooLarge => return Err(failed(&e.to_string())),
        (_, Err(e)) => return Err(failed(&format!("failed to decompress snapshot: {e}"))),
        (Err(e), Ok(_)) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(incomplete()),
        (Err(e), Ok(_)) => return Err(failed(&format!("failed to decompress snapshot: {e}"))),
        (Ok(None), Ok(_)) => return Err(incomplete()),
        (Ok(Some(read)), Ok(_)) => read,
    };
    if checksums != sums(&Sha256::digest(&meta), &sum).as_bytes() {
        return Err(failed("the archive is damaged: its checksums do not match"));
    }
    fs::read(&files.state).map_err(|e| io_error(&files.state, &e))
}

/// `meta.json`, the checksum of the state, and `SHA256SUMS`; the state goes to a file.
#[expect(clippy::type_complexity, reason = "three files")]
fn members(tar: &mut impl Read, state: &Path) -> io::Result<Option<(Vec<u8>, Vec<u8>, Vec<u8>)>> {
    let whole = |from: &mut dyn Read| {
        let mut all = Vec::new();
        from.read_to_end(&mut all).map(|_| all)
    };
    let Some(meta) = member(tar, "meta.json", MOST_META, whole)? else { return Ok(None) };
    let summed = member(tar, "state.bin", MAX_UNPACKED, |from| {
        let (mut file, mut sum, mut buffer) = (create(state)?, Sha256::new(), vec![0u8; 1 << 16]);
        loop {
            let read = from.read(&mut buffer)?;
            if read == 0 {
                return Ok(sum.finalize().to_vec());
            }
            let piece = buffer.get(..read).unwrap_or_default();
            sum.update(piece);
            file.write_all(piece)?;
        }
    })?;
    let Some(sum) = summed else { return Ok(None) };
    let checksums = member(tar, "SHA256SUMS", MOST_META, whole)?;
    Ok(checksums.map(|checksums| (meta, sum, checksums)))
}

/// `SHA256SUMS` of two checksums.
fn sums(meta: &[u8], content: &[u8]) -> String {
    let hex = |sum: &[u8]| sum.iter().map(|b| format!("{b:02x}")).collect::<String>();
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
    use crate::tests::server::{Answer, TestServer};
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
        let dir = Folder::new();
        let restored = Files::new(&dir.0);
        fs::write(&restored.archive, &bytes).expect("written");
        assert_eq!(unpacked(&restored).expect("the state"), files[1]);
        drop(restored);
        assert_eq!(fs::read_dir(&dir.0).expect("a folder").count(), 0, "nothing stays");
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            let dir = std::env::temp_dir().join(format!("encamp-restore-{}", ids::uuid()));
            fs::create_dir_all(&dir).expect("a folder");
            Folder(dir)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn archives_of_blanks_are_unpacked_only_so_far() {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        out.write_all(&tar_header("meta.json", 2)).expect("gzip");
        out.write_all(&[b' '; 512]).expect("gzip");
        out.write_all(&tar_header("state.bin", 300 << 20)).expect("gzip");
        for _ in 0..300 {
            out.write_all(&vec![0; 1 << 20]).expect("gzip");
        }
        let dir = Folder::new();
        let files = Files::new(&dir.0);
        fs::write(&files.archive, out.finish().expect("gzip")).expect("written");
        let packed = fs::metadata(&files.archive).expect("a file").len();
        let refused = unpacked(&files).expect_err("it is too large");
        assert!(refused.message.contains("it unpacks to more than 100 times its size"), "{}", refused.message);
        let written = fs::metadata(&files.state).expect("a file").len();
        assert!(written <= most_unpacked(packed), "{written}");
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
        // Behind the header of the file, which has 512 bytes.
        let place = 512 + 64 + tar.windows(9).position(|w| w == b"state.bin").expect("the state");
        changed[place] ^= 1;
        for (archive, want) in [
            (b"not a snapshot".to_vec(), "failed to decompress snapshot: gzip: invalid header"),
            (Vec::new(), "failed to decompress snapshot: gzip: invalid header"),
            (saved.body[..saved.body.len() / 2].to_vec(), "failed to decompress snapshot: "),
            (zipped(&tar[..tar.len() / 2]), "it is not an archive of this program, or it is incomplete"),
            (zipped(b"something else"), "it is not an archive of this program, or it is incomplete"),
            (zipped(&changed), "its checksums do not match"),
            (packed(b"\x80 other records", json!({ "Version": 1 })).expect("an archive"), "state snapshot: "),
        ] {
            let (status, text) = put(&s, &archive).await.status_and_text();
            let reason = text.strip_prefix("failed to restore from snapshot: ");
            assert!(status == 500 && reason.is_some_and(|t| t.contains(want)), "{status} {text}, not {want}");
        }

        assert_eq!(put(&s, &saved.body).await.status_and_text(), (200, String::new()));
        let names = s.get("/v1/namespaces").await.json();
        let names: Vec<_> = names.as_array().into_iter().flatten().map(|n| n["Name"].clone()).collect();
        assert_eq!(names, ["default", "kept"]);
        assert_eq!(s.put("/v1/namespace", json!({ "Name": "new" })).await.status, 200);
        s.stop().await;
    }
}
