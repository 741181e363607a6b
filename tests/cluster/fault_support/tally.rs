//! The results of all rounds as a table.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::fault::Kind;
use super::round::Outcome;

#[derive(Debug, Default)]
pub struct Tally {
    rounds: Vec<Outcome>,
    /// Kinds that are not possible on this machine, with the reason.
    pub skipped: BTreeMap<Kind, &'static str>,
}

/// The percentile of these times, in milliseconds.
fn percentile(times: &[Duration], of: usize) -> String {
    let mut times = times.to_vec();
    times.sort();
    let rank = (times.len() * of).div_ceil(100);
    times.get(rank.saturating_sub(1)).map_or("-".into(), |t| t.as_millis().to_string())
}

impl Tally {
    pub fn add(&mut self, outcome: Outcome) {
        self.rounds.push(outcome);
    }

    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    pub fn acked(&self) -> usize {
        self.rounds.iter().map(|r| r.acked).sum()
    }

    fn row(&self, f: &mut Formatter<'_>, name: &str, kinds: &[Kind]) -> fmt::Result {
        let rounds: Vec<&Outcome> = self.rounds.iter().filter(|r| kinds.contains(&r.fault.kind)).collect();
        let sum = |of: fn(&Outcome) -> usize| rounds.iter().map(|r| of(r)).sum::<usize>();
        let on: Vec<Duration> = rounds.iter().filter_map(|r| r.goes_on).collect();
        let late = rounds.iter().filter(|r| r.goes_on.is_some_and(|t| t > r.fault.lasts)).count();
        let all: Vec<Duration> = rounds.iter().map(|r| r.everywhere).collect();
        let settled: Vec<Duration> = rounds.iter().map(|r| r.settled).collect();
        writeln!(
            f,
            "{name:<8} {:>6} {:>6} {:>7} {:>7} {:>7} | {:>6} {:>6} {:>5} | {:>6} {:>6} {:>6} | {:>6}",
            rounds.len(),
            sum(|r| r.acked),
            sum(|r| r.refused),
            sum(|r| r.unknown),
            sum(|r| r.checks),
            percentile(&on, 50),
            percentile(&on, 99),
            late,
            percentile(&all, 50),
            percentile(&all, 99),
            percentile(&all, 100),
            percentile(&settled, 100),
        )
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "times in ms; late: writes continued only after the fault was fixed")?;
        writeln!(
            f,
            "{:<45} | {:<19} | {:<20} | settled",
            "kind     rounds  acked refused unknown  checks", "writes go on", "everywhere"
        )?;
        writeln!(f, "{:<45} |    p50    p99  late |    p50    p99    max |    max", "")?;
        for kind in Kind::ALL {
            match self.skipped.get(&kind) {
                Some(why) => writeln!(f, "{:<8} skipped: {why}", kind.name())?,
                None => self.row(f, &kind.name(), &[kind])?,
            }
        }
        self.row(f, "all", &Kind::ALL)
    }
}
