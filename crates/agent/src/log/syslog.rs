//! The system log, through its local socket.

use std::os::unix::net::UnixDatagram;

use thiserror::Error;

use super::level::Level;

/// Why syslog cannot be used.
#[derive(Debug, Error)]
pub enum SyslogError {
    /// No such facility.
    #[error("invalid syslog facility: {0}")]
    Facility(String),
    /// No socket to write to.
    #[error("cannot connect to /dev/log: {0}")]
    Connect(std::io::Error),
}

/// A connection.
pub(super) struct Syslog {
    socket: UnixDatagram,
    facility: u8,
}

const FACILITIES: [&str; 12] =
    ["KERN", "USER", "MAIL", "DAEMON", "AUTH", "SYSLOG", "LPR", "NEWS", "UUCP", "CRON", "AUTHPRIV", "FTP"];

impl Syslog {
    /// Connects under a facility such as `LOCAL0`.
    pub(super) fn connect(facility: &str) -> Result<Syslog, SyslogError> {
        let facility = number(facility).ok_or_else(|| SyslogError::Facility(facility.into()))?;
        let socket = UnixDatagram::unbound().map_err(SyslogError::Connect)?;
        socket.connect("/dev/log").map_err(SyslogError::Connect)?;
        // A blocked syslog must not block the agent.
        socket.set_nonblocking(true).map_err(SyslogError::Connect)?;
        Ok(Syslog { socket, facility })
    }

    /// Sends a line; it is lost if syslog does not accept it.
    pub(super) fn write(&self, level: Level, line: &str) {
        let priority = self.facility * 8 + severity(level);
        let _ = self.socket.send(format!("<{priority}>encamp[{}]: {line}", std::process::id()).as_bytes());
    }
}

fn number(facility: &str) -> Option<u8> {
    let upper = facility.to_uppercase();
    let local = upper.strip_prefix("LOCAL").and_then(|n| n.parse::<u8>().ok()).filter(|n| *n < 8).map(|n| 16 + n);
    local.or_else(|| FACILITIES.iter().position(|f| *f == upper).and_then(|i| u8::try_from(i).ok()))
}

/// One below its name (`docs/spec/agent-config.md §5.1`).
fn severity(level: Level) -> u8 {
    match level {
        Level::Trace => 7,
        Level::Debug => 6,
        Level::Info => 5,
        Level::Warn => 4,
        Level::Error | Level::Off => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facilities_have_numbers() {
        assert_eq!(
            ["local0", "LOCAL7", "daemon", "LOCAL8", "x"].map(number),
            [Some(16), Some(23), Some(3), None, None]
        );
    }
}
