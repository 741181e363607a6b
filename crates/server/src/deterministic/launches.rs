//! Launches that are foreseen are those that an agent makes: real servers under a moved clock launch periodic jobs on the
//! days on which clocks change, and the same launches follow from the meaning of cron specifications alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::cluster::Cluster;
use super::sim::Sim;
use crate::tests::{job, put_job};
use encamp_model::*;
use encamp_plan::launches::{Basis, Extent, Outcome, Period, RunTime, Schedule, calendar, forecast};
use encamp_state::State;
use encamp_test_support::tier;

/// Specifications of all kinds. Most concern the hours in which clocks change.
const LINES: [&str; 60] = [
    "* 2 * * *",
    "*/15 * * * *",
    "0 * * * *",
    "@hourly",
    "@daily",
    "@weekly",
    "@monthly",
    "@yearly",
    "@annually",
    "30 2 * * *",
    "30 1 * * *",
    "0 2 * * *",
    "0 3 * * *",
    "59 1 * * *",
    "0 0 * * *",
    "59 23 * * *",
    "30 0 * * *",
    "15,45 2 * * *",
    "*/10 1 * * *",
    "*/5 2-3 * * *",
    "0 1-3 * * *",
    "0 */2 * * *",
    "0 */3 * * *",
    "20 1/3 * * *",
    "5-20/5 2 * * *",
    "0 12 * * *",
    "30 2 * * sun",
    "30 2 * * 0",
    "30 2 * * 7",
    "30 2 * * sat,sun",
    "0 2 * * mon-fri",
    "30 1 * * 6-7",
    "0 0 1 * *",
    "30 2 1 11 *",
    "30 2 8 3 *",
    "30 2 29 3 *",
    "30 1 25 10 *",
    "0 3 L * *",
    "0 2 LW * *",
    "0 2 15W * *",
    "30 2 * mar,oct *",
    "30 2 * MARCH Sunday",
    "30 1 * nov SUN#1",
    "30 2 * 3 sun#2",
    "30 2 * * sunL",
    "30 1 * * 0L",
    "0 0 13 * fri",
    "0 2 1-7 * sun",
    "0 2 ? * ?",
    "30 2 * * * 2026",
    "30 2 * * * 2027",
    "0 1 * 1-6 * 2020-2030",
    "0 30 2 * * * *",
    "*/20 59 1 * * * *",
    "15 0 3 * * * 2026",
    "0,30 0 1-3 * * sun *",
    "0 0 31 2 *",
    "45 23 31 12 *",
    "29 2 * * *",
    "31 2 * * *",
];

/// Zones whose clocks change at two in the night, at midnight, by half an hour, at a quarter to three, twice in the
/// spring.
const ZONES: [&str; 6] = [
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Pacific/Chatham",
    "Africa/Casablanca",
];

/// How long before and after a change of the clock launches are compared.
const AROUND: i64 = 13 * 3600 * SECOND;
/// More launches than there are in a period.
const MOST: usize = 250;
/// More than any period.
const VERY_LONG: i64 = 400 * 86_400 * SECOND;

/// The seconds around a change of the clock of a zone.
struct Day {
    zone: &'static str,
    from: i64,
    until: i64,
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).expect("a zone")
}

/// The days of 2026 on which the clock of a zone changes.
fn days(name: &'static str) -> Vec<Day> {
    let year = |n: i16| Date::new(n, 1, 1).expect("a day").to_zoned(TimeZone::UTC).expect("a time").timestamp();
    let zone = zone(name);
    let offset = |t: Timestamp| zone.to_offset(t);
    let all = zone.following(year(2026)).map(|t| t.timestamp()).take_while(|t| *t < year(2027));
    let real = all.filter(|t| offset(*t) != offset(Timestamp::from_second(t.as_second() - 1).expect("a time")));
    let day = |t: Timestamp| Day {
        zone: name,
        // Nothing fires in the second that follows.
        from: t.as_second() * SECOND - AROUND + SECOND,
        until: t.as_second() * SECOND + AROUND,
    };
    real.map(day).collect()
}

/// A periodic job. Every third one prohibits overlap.
fn periodic(number: usize, spec: &str, zone: &str) -> Job {
    let config = PeriodicConfig {
        enabled: true,
        spec: spec.into(),
        time_zone: zone.into(),
        prohibit_overlap: number.is_multiple_of(3),
        ..PeriodicConfig::default()
    };
    Job { r#type: JobType::Batch, periodic: Some(config), ..job(&format!("job-{number}"), 1) }
}

/// The IDs of the children of a job that are foreseen. There is no node, so that runs never end.
fn foreseen(job: &Job, day: &Day) -> BTreeSet<String> {
    let schedule = Schedule::new(job.periodic.as_ref().expect("a periodic job")).expect("a schedule");
    let run_time = Some(RunTime { nanos: VERY_LONG, basis: Basis::Given });
    let launches = forecast(job, &schedule, &[], run_time, Extent { from: day.from, count: MOST }).launches;
    assert!(launches.last().is_none_or(|l| l.at > day.until), "{} launches are too few", launches.len());
    launches.into_iter().filter(|l| l.at <= day.until && l.skipped.is_none()).map(|l| l.child).collect()
}

/// The IDs of the children of all jobs that a simulated cluster without nodes has, by job.
fn simulated(jobs: &[Job], day: &Day) -> BTreeMap<String, BTreeSet<String>> {
    let mut state = State::new();
    jobs.iter().for_each(|job| state.upsert_job(Arc::new(job.clone())));
    let period = Period { from: day.from, until: day.until, ..Period::default() };
    let mut all: BTreeMap<String, BTreeSet<String>> =
        jobs.iter().map(|job| (job.id.clone(), BTreeSet::new())).collect();
    for launch in calendar(&state, &period).launches {
        if !matches!(launch.outcome, Outcome::Skipped(_)) {
            all.entry(launch.job.id.clone()).or_default().insert(launch.child);
        }
    }
    all
}

/// The IDs of the children that servers register, by job: the jobs are registered, and then the clock is moved, an hour
/// at a time.
fn launched(seed: u64, jobs: &[Job], day: &Day) -> BTreeMap<String, BTreeSet<String>> {
    let sim = Sim::new(seed, None, false);
    let _inside = sim.enter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let launched = runtime.expect("a runtime").block_on(live(seed, &sim, jobs, day));
    assert_eq!(sim.verdict(), None, "{}", sim.last_lines());
    launched
}

async fn live(seed: u64, sim: &Arc<Sim>, jobs: &[Job], day: &Day) -> BTreeMap<String, BTreeSet<String>> {
    sim.begin();
    let cluster = Cluster::new(seed, sim);
    cluster.begin().await;
    let leader = loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if let Some((_, server)) = cluster.leader()
            && server.queues().periodic().enabled()
        {
            break server;
        }
    };
    sim.move_clock(day.from);
    for job in jobs {
        put_job(&leader, job.clone()).await;
    }
    assert!(sim.now() < day.from + 50 * SECOND, "the registrations take longer than it takes until something fires");
    let mut now = day.from;
    while now < day.until {
        now = day.until.min(now + 3600 * SECOND);
        sim.move_clock(now);
        while leader.queues().periodic().next_deadline().is_some_and(|due| due <= now) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    // The last launch may still be written.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let store = leader.snapshot();
    let children = |job: &Job| store.children("default", &job.id).map(|c| c.id.clone()).collect();
    let all = jobs.iter().map(|job| (job.id.clone(), children(job))).collect();
    drop(store);
    drop(leader);
    cluster.end().await;
    all
}

#[test]
fn servers_launch_what_is_foreseen() {
    let (zones, step) = if tier::is_full() { (ZONES.len(), 1) } else { (1, 2) };
    let (mut compared, mut seed) = (0, 1);
    for day in ZONES.iter().take(zones).flat_map(|zone| days(zone)) {
        seed += 1;
        let jobs: Vec<Job> =
            LINES.iter().enumerate().step_by(step).map(|(n, spec)| periodic(n, spec, day.zone)).collect();
        let launched = launched(seed, &jobs, &day);
        assert!(launched == simulated(&jobs, &day), "the calendar of {} differs", day.zone);
        for job in &jobs {
            let spec = &job.periodic.as_ref().expect("a periodic job").spec;
            // The clock has gone on a little since it was moved.
            assert_eq!(launched[&job.id], foreseen(job, &day), "{spec} in {} until {}", day.zone, day.until / SECOND);
            compared += launched[&job.id].len();
        }
    }
    println!("{compared} launches of servers");
    let least = if tier::is_full() { 1800 } else { 90 };
    assert!(compared > least, "{compared} launches");
}

/// The values of a field that its text means, found by trying every value.
fn values(text: &str, least: usize, most: usize, names: &[&str], first: usize) -> BTreeSet<usize> {
    let number = |word: &str| {
        let named = names.iter().position(|n| *n == word || n[..3] == *word).map(|at| at + first);
        named.or_else(|| word.parse().ok())
    };
    let holds = |value: usize, entry: &str| {
        let (range, step) = entry.split_once('/').map_or((entry, None), |(range, step)| (range, step.parse().ok()));
        let (low, high) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (least, most),
            Some((low, high)) => (number(low).expect("a number"), number(high).expect("a number")),
            None => match number(range) {
                Some(low) => (low, if step.is_some() { most } else { low }),
                None => return false,
            },
        };
        (low..=high).contains(&value) && (value - low).is_multiple_of(step.unwrap_or(1))
    };
    (least..=most).filter(|value| text.split(',').any(|entry| holds(*value, entry))).collect()
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// A specification as it is meant.
struct Meaning {
    seconds: BTreeSet<usize>,
    minutes: BTreeSet<usize>,
    hours: BTreeSet<usize>,
    months: BTreeSet<usize>,
    years: BTreeSet<usize>,
    day: String,
    weekday: String,
}

impl Meaning {
    fn of(spec: &str) -> Meaning {
        let text = match spec {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            spec => spec,
        };
        let text = text.to_lowercase();
        let mut fields: Vec<&str> = text.split(' ').collect();
        if fields.len() < 7 {
            fields.insert(0, "0");
        }
        fields.resize(7, "*");
        Meaning {
            seconds: values(fields[0], 0, 59, &[], 0),
            minutes: values(fields[1], 0, 59, &[], 0),
            hours: values(fields[2], 0, 23, &[], 0),
            months: values(fields[4], 1, 12, &MONTHS, 1),
            years: values(fields[6], 1970, 2099, &[], 0),
            day: fields[3].into(),
            weekday: fields[5].into(),
        }
    }

    /// Whether it fires on a day, whatever the month and the year.
    fn on(&self, date: Date) -> bool {
        let any = |text: &str| text == "*" || text == "?";
        match (any(&self.day), any(&self.weekday)) {
            (true, true) => true,
            (false, true) => self.on_day(date),
            (true, false) => self.on_weekday(date),
            (false, false) => self.on_day(date) || self.on_weekday(date),
        }
    }

    fn on_day(&self, date: Date) -> bool {
        let last = date.last_of_month();
        // The nearest working day to a day, in its month.
        let near = |day: Date| {
            let distance = |d: &Date| (d.day() - day.day()).unsigned_abs();
            let working = day.first_of_month().series(jiff::ToSpan::days(1)).take_while(|d| *d <= last);
            working.filter(|d| !matches!(sunday_zero(*d), 0 | 6)).min_by_key(|d| (distance(d), d.day()))
        };
        match self.day.as_str() {
            "l" => date == last,
            "lw" => near(last) == Some(date),
            text => match text.strip_suffix('w').and_then(|n| n.parse().ok()) {
                Some(n) => date.with().day(n).build().ok().and_then(near) == Some(date),
                None => values(text, 1, 31, &[], 0).contains(&usize::try_from(date.day()).expect("a day")),
            },
        }
    }

    fn on_weekday(&self, date: Date) -> bool {
        let today = sunday_zero(date);
        let is = |word: &str| values(word, 0, 7, &WEEKDAYS, 0).iter().any(|n| n % 7 == today);
        if let Some((word, n)) = self.weekday.split_once('#') {
            return is(word) && (date.day() - 1) / 7 + 1 == n.parse::<i8>().expect("a number");
        }
        match self.weekday.strip_suffix('l') {
            Some(word) => is(word) && date.day() + 7 > date.days_in_month(),
            None => is(&self.weekday),
        }
    }

    /// Whether it fires at a local time.
    fn at(&self, t: DateTime) -> bool {
        let holds = |set: &BTreeSet<usize>, n: i16| usize::try_from(n).is_ok_and(|n| set.contains(&n));
        holds(&self.seconds, t.second().into())
            && holds(&self.minutes, t.minute().into())
            && holds(&self.hours, t.hour().into())
            && holds(&self.months, t.month().into())
            && holds(&self.years, t.year())
            && self.on(t.date())
    }
}

fn sunday_zero(date: Date) -> usize {
    usize::try_from(date.weekday().to_sunday_zero_offset()).expect("0 to 6")
}

/// Every second of the days on which clocks change is asked whether it is one at which the job is launched.
#[test]
fn launches_are_the_seconds_that_specifications_mean() {
    let (lines, least) = if tier::is_full() { (1, 3000) } else { (3, 700) };
    let mut compared = 0;
    for spec in LINES.into_iter().step_by(lines) {
        let meaning = Meaning::of(spec);
        // Without a field for seconds, nothing fires between minutes.
        let step = if meaning.seconds.len() == 1 && meaning.seconds.contains(&0) { 60 } else { 1 };
        for day in ZONES.iter().flat_map(|zone| days(zone)) {
            let zone = zone(day.zone);
            let seconds = (day.from / SECOND..=day.until / SECOND).filter(|s| s % step == 0);
            let fires = |s: &i64| meaning.at(zone.to_datetime(Timestamp::from_second(*s).expect("a time")));
            let want: BTreeSet<String> = seconds.filter(fires).map(|s| format!("job-1/periodic-{s}")).collect();
            assert_eq!(foreseen(&periodic(1, spec, day.zone), &day), want, "{spec} in {}", day.zone);
            compared += want.len();
        }
    }
    println!("{compared} launches");
    assert!(compared > least, "{compared} launches");
}
