//! Notifications for the service manager, in the protocol of systemd (`docs/spec/agent-config.md §9.1`).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The state of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The agent is ready.
    Ready,
    /// The agent reloads its configuration.
    Reloading,
    /// The agent is stopping.
    Stopping,
}

/// Notifies the service manager that listens on `socket`, the value of `NOTIFY_SOCKET`. Does nothing without a socket,
/// or if the manager does not listen.
pub fn tell(socket: Option<&str>, state: State) {
    let Some(path) = socket.filter(|s| !s.is_empty()) else { return };
    let message = match state {
        State::Ready => "READY=1".to_string(),
        State::Reloading => format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_micros()),
        State::Stopping => "STOPPING=1".to_string(),
    };
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    };
    // A missing service manager does not stop the agent.
    let _ = address.and_then(|a| UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &a));
}

/// Microseconds of the monotonic clock.
fn monotonic_micros() -> i64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = uptime.split_whitespace().next().and_then(|s| s.parse().ok()).unwrap_or(0.0);
    (seconds * 1e6) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_hears_of_each_state() {
        let path = std::env::temp_dir().join(format!("encamp-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let manager = UnixDatagram::bind(&path).expect("a socket");
        let hear = || {
            let mut buffer = [0; 100];
            let n = manager.recv(&mut buffer).expect("a message");
            String::from_utf8_lossy(&buffer[..n]).into_owned()
        };
        let name = path.to_str();
        tell(name, State::Ready);
        assert_eq!(hear(), "READY=1");
        tell(name, State::Reloading);
        assert!(hear().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        tell(name, State::Stopping);
        assert_eq!(hear(), "STOPPING=1");
        let _ = std::fs::remove_file(&path);
        tell(name, State::Ready);
        tell(None, State::Ready);
    }
}
