//! The levels of messages.

/// The level of a message; [`Level::Off`] as a limit suppresses all messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Detailed tracing.
    Trace,
    /// Debugging information.
    Debug,
    /// Normal operation.
    Info,
    /// Warnings.
    Warn,
    /// Errors.
    Error,
    /// Nothing.
    Off,
}

impl Level {
    const ALL: [(&'static str, Level); 6] = [
        ("TRACE", Level::Trace),
        ("DEBUG", Level::Debug),
        ("INFO", Level::Info),
        ("WARN", Level::Warn),
        ("ERROR", Level::Error),
        ("OFF", Level::Off),
    ];

    /// The level of that name, in any case.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, level)| *level)
    }

    /// Its name in capital letters.
    pub fn name(self) -> &'static str {
        Level::ALL.iter().find(|(_, level)| *level == self).map_or("OFF", |(name, _)| name)
    }

    pub(super) fn of(level: tracing::Level) -> Level {
        match level {
            tracing::Level::TRACE => Level::Trace,
            tracing::Level::DEBUG => Level::Debug,
            tracing::Level::INFO => Level::Info,
            tracing::Level::WARN => Level::Warn,
            tracing::Level::ERROR => Level::Error,
        }
    }

    pub(super) fn from_number(n: u8) -> Level {
        Level::ALL.get(usize::from(n)).map_or(Level::Off, |(_, level)| *level)
    }
}
