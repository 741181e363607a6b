//! The state of a container as the daemon has it: look, wait for its end, remove.

use std::time::Duration;

use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptions, WaitContainerOptions};
use futures_util::StreamExt;

use super::super::Exit;
use super::connect::{Daemon, DaemonError, LONG, SHORT, short};

/// How long a wait for the end of a container lasts before its state is read again: a daemon may forget to tell.
const WAIT: Duration = Duration::from_secs(60);
/// Pauses while the daemon does not answer.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often the removal of a container is tried that the daemon refuses.
const REMOVALS: u32 = 5;
/// The exit code of a container that was killed.
const KILLED: i64 = 137;

/// What the daemon knows of a container.
pub(super) enum Found {
    Running,
    Ended(Exit),
    /// It was made, but never ran.
    NotStarted,
    Gone,
}

/// Looks at a container.
pub(super) async fn look(daemon: &Daemon, container: &str) -> Result<Found, DaemonError> {
    let call = daemon.call("inspect the container", SHORT, |d| async move {
        d.inspect_container(container, None::<InspectContainerOptions>).await
    });
    let state = match call.await {
        Ok(found) => found.state.unwrap_or_default(),
        Err(e) if e.is_not_found() => return Ok(Found::Gone),
        Err(e) => return Err(e),
    };
    if state.running == Some(true) || state.paused == Some(true) || state.restarting == Some(true) {
        return Ok(Found::Running);
    }
    use bollard::models::ContainerStateStatusEnum as Status;
    match state.status {
        Some(Status::CREATED) => Ok(Found::NotStarted),
        _ => Ok(Found::Ended(exit_of(
            state.exit_code.unwrap_or(0),
            state.oom_killed == Some(true),
            state.error.as_deref().unwrap_or_default(),
        ))),
    }
}

fn exit_of(code: i64, oom: bool, error: &str) -> Exit {
    let message = match (oom, code, error) {
        (true, ..) => "OOM Killed".to_string(),
        (false, _, error) if !error.is_empty() => short(error),
        (false, 0, _) => String::new(),
        (false, code, _) => format!("Docker container exited with non-zero exit code: {code}"),
    };
    Exit { code, oom, message, ..Exit::default() }
}

/// Waits for the end of a container, whatever becomes of the daemon meanwhile.
pub(super) async fn wait(daemon: &Daemon, container: &str) -> Exit {
    let mut pause = FIRST_PAUSE;
    loop {
        match look(daemon, container).await {
            Ok(Found::Running) => {
                let options = WaitContainerOptions { condition: "not-running".into() };
                let call = daemon.call("wait for the container", WAIT, |d| async move {
                    drop(std::pin::pin!(d.wait_container(container, Some(options))).next().await);
                    Ok(())
                });
                let begin = std::time::Instant::now();
                let _ = call.await;
                // A daemon that answers at once that a running container has ended is not asked again at once.
                if begin.elapsed() > FIRST_PAUSE {
                    pause = FIRST_PAUSE;
                    continue;
                }
            }
            Ok(Found::Ended(exit)) => return exit,
            Ok(Found::NotStarted) => {
                return Exit { code: 1, message: "the container did not start".into(), ..Exit::default() };
            }
            Ok(Found::Gone) => {
                let message = "the container is gone: it was removed, but not by the agent".into();
                return Exit { code: KILLED, message, ..Exit::default() };
            }
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Removes a container, also a running one; one that is gone is fine.
pub(super) async fn remove(daemon: &Daemon, container: &str) -> Result<(), DaemonError> {
    for left in (0..REMOVALS).rev() {
        let options = RemoveContainerOptions { force: true, v: true, link: false };
        let call = daemon
            .call("remove the container", LONG, |d| async move { d.remove_container(container, Some(options)).await });
        match call.await {
            Err(e) if e.is_not_found() => return Ok(()),
            // A daemon refuses while it is busy with the container: Podman that still stops it, or another removal.
            Err(DaemonError::Refused { .. }) if left > 0 => tokio::time::sleep(FIRST_PAUSE).await,
            done => return done,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_containers() {
        assert!(exit_of(0, false, "").success());
        assert_eq!(exit_of(3, false, "").message, "Docker container exited with non-zero exit code: 3");
        let oom = exit_of(137, true, "");
        assert_eq!((oom.message.as_str(), oom.oom), ("OOM Killed", true));
        assert_eq!(exit_of(127, false, "no such file\n").message, "no such file");
    }
}
