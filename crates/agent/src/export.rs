//! Past log messages of the agent, from its log file or the systemd journal (`docs/spec/http-api.md §6.5`).

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use encamp_http::agent::control::LogSource;
use encamp_http::agent::pending::ByteStream;
use encamp_http::error::Error;

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// Reads past messages from the log file or the journal; `file` is the agent's log file, if it has one.
///
/// # Errors
/// There is no log file, or it or the journal cannot be read.
pub async fn open(file: Option<&Path>, from: LogSource) -> Result<ByteStream, Error> {
    match from {
        LogSource::File => {
            let path = file.ok_or_else(|| Error::bad("this agent has no log file: log_file is not configured"))?;
            let opened = File::open(path).await;
            let opened = opened.map_err(|e| Error::internal(format!("open {}: {e}", path.display())))?;
            Ok(chunks(opened, None))
        }
        LogSource::Journal { unit, since, follow } => {
            let mut child = journal(&unit, since, follow)
                .spawn()
                .map_err(|e| Error::internal(format!("journalctl can't be started: {e}")))?;
            let out = child.stdout.take().ok_or_else(|| Error::internal("journalctl has no output"))?;
            Ok(chunks(out, Some(child)))
        }
    }
}

fn journal(unit: &str, since: Duration, follow: bool) -> Command {
    let mut command = Command::new("journalctl");
    command.args(["--no-pager", "--quiet", &format!("--unit={unit}"), &format!("--since=-{}s", since.as_secs())]);
    if follow {
        command.arg("--follow");
    }
    // The client may close its connection at any time.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    command
}

/// The output of a reader until its end; then waits for the child process, if any.
fn chunks<R: AsyncRead + Send + Unpin + 'static>(from: R, child: Option<Child>) -> ByteStream {
    let next = |state: Option<(R, Option<Child>)>| async move {
        let (mut from, mut child) = state?;
        let mut buffer = vec![0; CHUNK];
        match from.read(&mut buffer).await {
            Ok(0) => {
                if let Some(child) = &mut child {
                    let _ = child.wait().await;
                }
                None
            }
            Ok(n) => {
                buffer.truncate(n);
                Some((Ok(buffer.into()), Some((from, child))))
            }
            Err(e) => Some((Err(Error::internal(e.to_string())), None)),
        }
    };
    stream::unfold(Some((from, child)), next).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_asked_for_one_unit() {
        let arguments = |follow| {
            let command = journal("nomad.service", Duration::from_secs(3600), follow);
            command.as_std().get_args().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(arguments(false), ["--no-pager", "--quiet", "--unit=nomad.service", "--since=-3600s"]);
        assert_eq!(arguments(true).last().map(String::as_str), Some("--follow"));
    }

    #[tokio::test]
    async fn a_file_is_read_to_its_end() {
        let path = std::env::temp_dir().join(format!("encamp-export-{}.log", std::process::id()));
        let content = vec![b'x'; CHUNK + 17];
        std::fs::write(&path, &content).expect("written");
        let stream = open(Some(&path), LogSource::File).await.unwrap_or_else(|e| panic!("{e:?}"));
        let parts: Vec<_> = stream.map(|part| part.unwrap_or_else(|e| panic!("{e:?}"))).collect().await;
        assert_eq!(parts.concat(), content);
        std::fs::remove_file(&path).expect("removed");
        let missing = open(Some(&path), LogSource::File).await.err().map(|e| e.status);
        assert_eq!((missing, open(None, LogSource::File).await.err().map(|e| e.status)), (Some(500), Some(400)));
    }
}
