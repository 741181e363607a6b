//! Files as streams of frames (`docs/spec/http-api.md §6.2`).

use std::io::SeekFrom;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::choose;
use crate::directory::{Directory, Links};
use crate::error::ClientError;
use crate::responses::StreamFrame;
use encamp_model::Bytes;

/// Most data in one frame.
const MOST: usize = 64 * 1024;
/// How often a followed file is polled: the data of one interval is one frame.
const POLL: Duration = Duration::from_millis(200);
/// After so much silence a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Opens a file, each time as if for the first time: what its path leads to may change.
pub(crate) type Opener = Arc<dyn Fn() -> std::io::Result<std::fs::File> + Send + Sync>;

/// Frames, until the end of the channel.
pub type Frames = mpsc::Receiver<Result<StreamFrame, ClientError>>;

/// Sends frames; an error means that nobody listens any more.
struct Sender {
    to: mpsc::Sender<Result<StreamFrame, ClientError>>,
    last: Instant,
}

struct Gone;

impl Sender {
    fn new() -> (Sender, Frames) {
        let (to, frames) = mpsc::channel(4);
        (Sender { to, last: Instant::now() }, frames)
    }

    async fn send(&mut self, frame: StreamFrame) -> Result<(), Gone> {
        self.last = Instant::now();
        self.to.send(Ok(frame)).await.map_err(|_| Gone)
    }

    /// Waits a little; sends a heartbeat when it is time.
    async fn idle(&mut self) -> Result<(), Gone> {
        tokio::select! {
            () = tokio::time::sleep(POLL) => {}
            () = self.to.closed() => return Err(Gone),
        }
        if self.last.elapsed() >= HEARTBEAT {
            self.send(StreamFrame::default()).await?;
        }
        Ok(())
    }

    async fn fail(&mut self, error: std::io::Error) {
        let _ = self.to.send(Err(ClientError::failed(error))).await;
    }
}

/// A file that is read on.
struct Tail {
    file: File,
    open: Opener,
    /// As the frames name it.
    name: String,
    at: u64,
    inode: u64,
}

impl Tail {
    /// Begins at what `start` makes of the file's length.
    async fn open(open: Opener, name: String, start: impl Fn(u64) -> u64) -> std::io::Result<Tail> {
        let file = open()?;
        let meta = file.metadata()?;
        let (mut file, at) = (File::from_std(file), start(meta.len()));
        file.seek(SeekFrom::Start(at)).await?;
        Ok(Tail { file, open, name, at, inode: meta.ino() })
    }

    fn frame(&self) -> StreamFrame {
        StreamFrame { file: self.name.clone(), ..StreamFrame::default() }
    }

    /// Sends all there is now. The inner error is the file's.
    async fn send_all(&mut self, to: &mut Sender) -> Result<std::io::Result<()>, Gone> {
        loop {
            let mut data = vec![0; MOST];
            let mut filled = 0;
            while let Some(space @ [_, ..]) = data.get_mut(filled..) {
                match self.file.read(space).await {
                    Ok(0) => break,
                    Ok(n) => filled += n,
                    Err(e) => return Ok(Err(e)),
                }
            }
            if filled == 0 {
                return Ok(Ok(()));
            }
            data.truncate(filled);
            self.at = self.at.saturating_add(u64::try_from(filled).unwrap_or(0));
            let offset = i64::try_from(self.at).unwrap_or(i64::MAX);
            to.send(StreamFrame { offset, data: Bytes(data), ..self.frame() }).await?;
            if filled < MOST {
                return Ok(Ok(()));
            }
        }
    }

    /// Looks for deletion and truncation; `false`: the file is gone.
    async fn check(&mut self, to: &mut Sender) -> Result<std::io::Result<bool>, Gone> {
        let event = |frame: StreamFrame, text: &str| StreamFrame { file_event: text.into(), ..frame };
        match (self.open)().and_then(|file| file.metadata()) {
            Ok(meta) if meta.ino() == self.inode && meta.len() >= self.at => Ok(Ok(true)),
            Ok(meta) if meta.ino() == self.inode => {
                to.send(event(self.frame(), "file truncated")).await?;
                self.at = 0;
                Ok(self.file.seek(SeekFrom::Start(0)).await.map(|_| true))
            }
            _ => {
                to.send(event(self.frame(), "file deleted")).await?;
                Ok(Ok(false))
            }
        }
    }
}

/// Streams one file. `name` is what the frames say; `from_end`: `offset` counts from the end.
pub fn file(open: Opener, name: String, from_end: bool, offset: u64, follow: bool) -> Frames {
    let (mut to, frames) = Sender::new();
    tokio::spawn(async move {
        let start = |length: u64| if from_end { length.saturating_sub(offset) } else { offset };
        match Tail::open(open, name, start).await {
            Ok(tail) => drop(follow_file(tail, &mut to, follow).await),
            Err(e) => to.fail(e).await,
        }
    });
    frames
}

async fn follow_file(mut tail: Tail, to: &mut Sender, follow: bool) -> Result<(), Gone> {
    loop {
        if let Err(e) = tail.send_all(to).await? {
            to.fail(e).await;
            return Ok(());
        }
        if !follow {
            return Ok(());
        }
        to.idle().await?;
        match tail.check(to).await? {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(e) => {
                to.fail(e).await;
                return Ok(());
            }
        }
    }
}

/// The log files of one stream of a task.
pub struct LogSource {
    /// Directory of the files.
    pub dir: Directory,
    /// `<task>.stdout` or `<task>.stderr`.
    pub name: String,
    /// Count the offset from the end.
    pub from_end: bool,
    /// Bytes to skip.
    pub offset: u64,
    /// Go on when the end is reached.
    pub follow: bool,
}

/// Streams log files over their rotations. `over` tells whether the task has ended for good: following ends then.
pub fn logs(source: LogSource, over: impl Fn() -> bool + Send + 'static) -> Frames {
    let (mut to, frames) = Sender::new();
    tokio::spawn(async move { drop(send_logs(source, &mut to, over).await) });
    frames
}

async fn send_logs(source: LogSource, to: &mut Sender, over: impl Fn() -> bool) -> Result<(), Gone> {
    let list = || super::files(&source.dir, &source.name);
    let (mut n, mut at) = loop {
        match list() {
            Ok(files) => match choose::begin(&files, source.from_end, source.offset) {
                Some(begin) => break begin,
                None if !source.follow || over() => return Ok(()),
                None => to.idle().await?,
            },
            Err(e) => {
                to.fail(e).await;
                return Ok(());
            }
        }
    };
    let newest = list().ok().and_then(|f| f.last_key_value().map(|(n, _)| *n)).unwrap_or(n);
    loop {
        let file = format!("{}.{n}", source.name);
        let name = Path::new("alloc/logs").join(&file).display().to_string();
        let dir = source.dir.clone();
        let open = move || -> std::io::Result<std::fs::File> { Ok(dir.open_file(&file, Links::Refused)?.0) };
        let mut tail = match Tail::open(Arc::new(open), name, |_| at).await {
            Ok(tail) => tail,
            Err(e) => {
                to.fail(e).await;
                return Ok(());
            }
        };
        let next = loop {
            // Asked before reading: what was written until then is read.
            let next = list().ok().and_then(|files| files.range(n.saturating_add(1)..).next().map(|(next, _)| *next));
            let ended = over();
            if let Err(e) = tail.send_all(to).await? {
                to.fail(e).await;
                return Ok(());
            }
            match next {
                Some(next) if source.follow || next <= newest => break next,
                None if source.follow && !ended => {
                    to.idle().await?;
                    match tail.check(to).await? {
                        Ok(true) => {}
                        Ok(false) => return Ok(()),
                        Err(e) => {
                            to.fail(e).await;
                            return Ok(());
                        }
                    }
                }
                _ => return Ok(()),
            }
        };
        (n, at) = (next, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::testing::TempDir;

    async fn text(mut frames: Frames) -> (String, Vec<String>) {
        let (mut out, mut names) = (String::new(), Vec::new());
        while let Some(frame) = frames.recv().await {
            let frame = frame.unwrap();
            out += std::str::from_utf8(&frame.data.0).unwrap();
            names.extend((!frame.is_heartbeat()).then_some(frame.file + &frame.file_event));
        }
        (out, names)
    }

    #[tokio::test]
    async fn logs_over_rotations() {
        let dir = TempDir::new("stream");
        let write = |n: u64, s: &str| std::fs::write(dir.path().join(format!("t.stdout.{n}")), s).unwrap();
        write(0, "one\n");
        write(1, "two\n");
        let source = |from_end, offset, follow| LogSource {
            dir: Directory::open(dir.path()).unwrap(),
            name: "t.stdout".into(),
            from_end,
            offset,
            follow,
        };
        let (out, names) = text(logs(source(false, 2, false), || false)).await;
        assert_eq!(
            (out.as_str(), names),
            ("e\ntwo\n", vec!["alloc/logs/t.stdout.0".into(), "alloc/logs/t.stdout.1".into()])
        );
        assert_eq!(text(logs(source(true, 2, false), || false)).await.0, "o\n");
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let follow = tokio::spawn(text(logs(source(false, 0, true), move || seen.load(Ordering::Relaxed))));
        tokio::time::sleep(Duration::from_millis(20)).await;
        write(2, "three\n");
        over.store(true, Ordering::Relaxed);
        assert_eq!(follow.await.unwrap().0, "one\ntwo\nthree\n");
    }

    #[tokio::test]
    async fn a_followed_file_may_shrink_and_vanish() {
        let dir = TempDir::new("follow");
        let path = dir.path().join("f");
        std::fs::write(&path, "12345").unwrap();
        let opener = |path: std::path::PathBuf| -> Opener { Arc::new(move || std::fs::File::open(&path)) };
        let mut frames = file(opener(path.clone()), "/f".into(), true, 2, true);
        let mut next = async || loop {
            let frame = frames.recv().await.unwrap().unwrap();
            if !frame.is_heartbeat() {
                return frame;
            }
        };
        let first = next().await;
        assert_eq!((first.offset, first.data.0), (5, b"45".to_vec()));
        std::fs::write(&path, "6").unwrap();
        assert_eq!(next().await.file_event, "file truncated");
        assert_eq!(next().await.data.0, b"6");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(next().await.file_event, "file deleted");
        assert!(frames.recv().await.is_none());
        let missing = file(opener(dir.path().join("nope")), "/nope".into(), false, 0, true).recv().await;
        assert!(missing.unwrap().is_err());
    }

    #[tokio::test]
    async fn links_among_the_logs_are_not_read() {
        let dir = TempDir::new("links");
        let logs_dir = dir.path().join("logs");
        std::fs::create_dir(&logs_dir).unwrap();
        std::fs::write(dir.path().join("other"), "foreign").unwrap();
        std::fs::write(logs_dir.join("t.stdout.0"), "own").unwrap();
        std::os::unix::fs::symlink("../other", logs_dir.join("t.stdout.1")).unwrap();
        let dir = Directory::open(&logs_dir).unwrap();
        let source = LogSource { dir, name: "t.stdout".into(), from_end: false, offset: 0, follow: false };
        assert_eq!(text(logs(source, || false)).await.0, "own");
    }
}
