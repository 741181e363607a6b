//! Names of signals.

use rustix::process::Signal;

/// The signals that may be sent, by name. `SIGNULL` (0) only asks whether the process is there.
const NAMES: &[(&str, Option<Signal>)] = &[
    ("SIGABRT", Some(Signal::ABORT)),
    ("SIGALRM", Some(Signal::ALARM)),
    ("SIGBUS", Some(Signal::BUS)),
    ("SIGCHLD", Some(Signal::CHILD)),
    ("SIGCONT", Some(Signal::CONT)),
    ("SIGFPE", Some(Signal::FPE)),
    ("SIGHUP", Some(Signal::HUP)),
    ("SIGILL", Some(Signal::ILL)),
    ("SIGINT", Some(Signal::INT)),
    ("SIGIO", Some(Signal::IO)),
    ("SIGIOT", Some(Signal::ABORT)),
    ("SIGKILL", Some(Signal::KILL)),
    ("SIGNULL", None),
    ("SIGPIPE", Some(Signal::PIPE)),
    ("SIGPROF", Some(Signal::PROF)),
    ("SIGQUIT", Some(Signal::QUIT)),
    ("SIGSEGV", Some(Signal::SEGV)),
    ("SIGSTOP", Some(Signal::STOP)),
    ("SIGSYS", Some(Signal::SYS)),
    ("SIGTERM", Some(Signal::TERM)),
    ("SIGTRAP", Some(Signal::TRAP)),
    ("SIGTSTP", Some(Signal::TSTP)),
    ("SIGTTIN", Some(Signal::TTIN)),
    ("SIGTTOU", Some(Signal::TTOU)),
    ("SIGUSR1", Some(Signal::USR1)),
    ("SIGUSR2", Some(Signal::USR2)),
    ("SIGWINCH", Some(Signal::WINCH)),
    ("SIGXCPU", Some(Signal::XCPU)),
    ("SIGXFSZ", Some(Signal::XFSZ)),
];

/// The signal of a name: the inner value is none for `SIGNULL`. `None` for an unknown name.
pub(crate) fn of_name(name: &str) -> Option<Option<Signal>> {
    NAMES.iter().find(|(n, _)| *n == name).map(|(_, signal)| *signal)
}

/// The names a node reports in `os.signals`; one that a child's end sends by itself is not among them.
pub fn reported() -> String {
    NAMES.iter().map(|(n, _)| *n).filter(|n| *n != "SIGCHLD").collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(of_name("SIGUSR1"), Some(Some(Signal::USR1)));
        assert_eq!((of_name("SIGNULL"), of_name("SIGNOPE"), of_name("")), (Some(None), None, None));
        assert_eq!(reported().split(',').count(), 28);
    }
}
