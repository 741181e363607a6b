//! The next launches of one job, without looking for capacity.

use encamp_model::Job;

use super::child::child_id;
use super::run_time::{RunTime, Running};
use super::schedule::{Gap, Repeat, Schedule};

/// A launch to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// When, Unix nanoseconds.
    pub at: i64,
    /// The ID of the job that it registers.
    pub child: String,
    /// Which of two equal local times it has.
    pub repeat: Option<Repeat>,
    /// Why it is left out, if it is.
    pub skipped: Option<Overlap>,
}

/// A run that goes on when another launch is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The ID of its job.
    pub child: String,
    /// When it ends, Unix nanoseconds; `None` if no end is foreseen.
    pub until: Option<i64>,
}

/// The next launches of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forecast {
    /// The launches in order, those that are left out too.
    pub launches: Vec<Launch>,
    /// What changes of the clock leave out meanwhile.
    pub gaps: Vec<Gap>,
}

/// What limits a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Launches strictly after this time, Unix nanoseconds.
    pub from: i64,
    /// So many.
    pub count: usize,
}

/// The next launches of a periodic job. Of `running` runs and of those that are launched, the ends are foreseen by
/// `run_time`; without one, no overlap is.
pub fn forecast(
    job: &Job,
    schedule: &Schedule,
    running: &[Running],
    run_time: Option<RunTime>,
    extent: Extent,
) -> Forecast {
    let prohibited = job.periodic.as_ref().is_some_and(|p| p.prohibit_overlap);
    let end = |r: &Running| Overlap {
        child: r.child.clone(),
        until: run_time.and_then(|time| time.end(r.began, extent.from)),
    };
    let mut open: Vec<Overlap> = match (prohibited, run_time) {
        (true, Some(_)) => running.iter().map(end).collect(),
        (true, None) | (false, _) => Vec::new(),
    };
    let mut out = Forecast::default();
    let mut last = extent.from;
    while out.launches.len() < extent.count {
        let Some(at) = schedule.next(last) else { break };
        open.retain(|run| run.until.is_none_or(|until| until > at));
        let child = child_id(&job.id, at);
        let skipped = open.first().cloned();
        if let (None, true, Some(time)) = (&skipped, prohibited, run_time) {
            open.push(Overlap { child: child.clone(), until: Some(at.saturating_add(time.nanos)) });
        }
        out.launches.push(Launch { at, child, repeat: schedule.repeat(at), skipped });
        last = at;
    }
    out.gaps = schedule.gaps(extent.from, last);
    out
}

#[cfg(test)]
mod tests {
    use encamp_model::{PeriodicConfig, SECOND};

    use super::super::run_time::{Basis, PastRuns};
    use super::*;

    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;

    fn hourly(prohibit_overlap: bool) -> (Job, Schedule) {
        let config = PeriodicConfig { enabled: true, spec: "@hourly".into(), prohibit_overlap, ..Default::default() };
        let schedule = Schedule::new(&config).expect("a schedule");
        (Job { id: "j".into(), periodic: Some(config), ..Job::default() }, schedule)
    }

    /// For each of the next launches, which run is in its way.
    fn skips(prohibit_overlap: bool, running: &[Running], run_time: Option<RunTime>) -> Vec<Option<String>> {
        let (job, schedule) = hourly(prohibit_overlap);
        let extent = Extent { from: 10 * HOUR + 1, count: 5 };
        let all = forecast(&job, &schedule, running, run_time, extent).launches;
        assert!(all.iter().zip(11..).all(|(l, n)| l.at == n * HOUR && l.child == format!("j/periodic-{}", n * 3600)));
        all.into_iter().map(|l| l.skipped.map(|s| s.child)).collect()
    }

    fn time(nanos: i64, basis: Basis) -> Option<RunTime> {
        Some(RunTime { nanos, basis })
    }

    #[test]
    fn launches_are_left_out_while_a_run_goes_on() {
        let none = || vec![None; 5];
        let long = time(90 * MINUTE, Basis::Given);
        assert_eq!(skips(false, &[], long), none(), "the job permits it");
        assert_eq!(skips(true, &[], None), none(), "nothing is known about runs");
        assert_eq!(skips(true, &[], time(HOUR, Basis::Given)), none(), "the run ends just in time");
        let (first, third) = (Some("j/periodic-39600".to_string()), Some("j/periodic-46800".to_string()));
        assert_eq!(skips(true, &[], long), [None, first, None, third, None]);
    }

    #[test]
    fn runs_that_go_on_count_too() {
        let running = |began| [Running { child: "j/periodic-1".into(), began }];
        let stuck = Some("j/periodic-1".to_string());
        let given = time(90 * MINUTE, Basis::Given);
        assert_eq!(skips(true, &running(10 * HOUR), given)[..2], [stuck.clone(), None]);
        assert_eq!(skips(true, &running(HOUR), given), vec![stuck.clone(); 5], "no end is foreseen");
        let past = Basis::Past(PastRuns { runs: 3, shortest: 1, median: MINUTE, longest: 150 * MINUTE });
        assert_eq!(skips(true, &running(9 * HOUR), time(MINUTE, past))[..2], [stuck, None], "the longest run counts");
        assert_eq!(skips(true, &running(HOUR), time(MINUTE, Basis::Assumed))[0], None, "nothing is known");
    }
}
