//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::failure::{Failure, Outcome};
use crate::schedule::Kind;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) seed: u64,
    /// How long faults are injected.
    pub(crate) length: Duration,
    /// The program under test.
    pub(crate) program: PathBuf,
    /// The program that the cluster starts with, before upgrades.
    pub(crate) previous: Option<PathBuf>,
    /// Where logs, histories and the report go.
    pub(crate) out: PathBuf,
    pub(crate) kinds: Vec<Kind>,
}

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Help,
    Run(Options),
    /// Draw the report of an earlier run again.
    Report(PathBuf),
}

/// Reads the arguments.
///
/// # Errors
/// They are wrong.
pub(crate) fn parse(args: &[String]) -> Outcome<Request> {
    let usage = |text: String| Failure::Usage(text);
    if let [command, folder] = args
        && command == "report"
    {
        return Ok(Request::Report(folder.into()));
    }
    let mut options = Options {
        seed: 1,
        length: Duration::from_secs(60 * 60),
        program: "target/release/encamp".into(),
        previous: None,
        out: "target/nemesis".into(),
        kinds: Kind::ALL.to_vec(),
    };
    let mut args = args.iter();
    while let Some(name) = args.next() {
        if ["help", "-h", "-help", "--help"].contains(&name.as_str()) {
            return Ok(Request::Help);
        }
        let mut value = || args.next().ok_or_else(|| usage(format!("{name} needs a value")));
        let number = |text: &String| text.parse::<u64>().map_err(|_| usage(format!("{text:?} is no number")));
        match name.trim_start_matches('-') {
            "seed" => options.seed = number(value()?)?,
            "minutes" => options.length = Duration::from_secs(60 * number(value()?)?),
            "program" => options.program = value()?.into(),
            "previous" => options.previous = Some(value()?.into()),
            "out" => options.out = value()?.into(),
            "faults" => {
                let kind = |n: &str| Kind::named(n).ok_or_else(|| usage(format!("there is no fault {n:?}")));
                options.kinds = value()?.split(',').map(kind).collect::<Outcome<_>>()?;
            }
            _ => return Err(usage(format!("there is no option {name:?}"))),
        }
    }
    Ok(Request::Run(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn arguments_are_read() {
        let Ok(Request::Run(options)) = parse(&words("-seed 7 --minutes 3 -program a -previous b -faults kill,loss"))
        else {
            panic!("a run");
        };
        assert_eq!((options.seed, options.length), (7, Duration::from_secs(180)));
        assert_eq!((options.program, options.previous), ("a".into(), Some("b".into())));
        assert_eq!(options.kinds, [Kind::Kill, Kind::Loss]);
        assert_eq!(parse(&words("report x")).ok(), Some(Request::Report("x".into())));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        for wrong in ["-seed", "-seed x", "-faults flood", "-unknown 1", "kill"] {
            assert!(matches!(parse(&words(wrong)), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
