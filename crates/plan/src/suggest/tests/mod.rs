//! Misfits of all kinds: what is suggested places everything, is what trying all values finds, and can be written.

mod brute_force;
mod misfit;

use encamp_jobspec::edit::rewritten;
use encamp_jobspec::explain::outline::{Outline, Syntax};
use encamp_test_support::seeds::{Suite, Verdict};
use encamp_test_support::tier;

use std::collections::BTreeMap;

use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;

use super::edit::Edit;
use super::*;
use crate::server_context;
use crate::stop::Stop;
use misfit::{Misfit, NOW, options, parsed};

const SUITE: Suite =
    Suite { prefix: "ENCAMP_SUGGEST", test: "-p encamp-plan --lib suggestions_place_everything -- --nocapture" };

/// The share of cases in which the smallest single edit has to be among the first three, percent.
const WANTED: u64 = 95;

fn cases() -> u64 {
    tier::rounds("ENCAMP_SUGGEST_CASES", 40, 1400)
}

/// What occurred.
#[derive(Default)]
struct Met {
    misfits: u64,
    fits: u64,
    helped: u64,
    single: u64,
    among_three: u64,
    pairs: u64,
    /// Where the smallest single edit is not among the first three.
    missed: Vec<String>,
    kinds: BTreeMap<String, u64>,
}

impl Met {
    fn add(&mut self, other: &Met) {
        self.misfits += other.misfits;
        self.fits += other.fits;
        self.helped += other.helped;
        self.single += other.single;
        self.among_three += other.among_three;
        self.pairs += other.pairs;
        self.missed.extend(other.missed.iter().cloned());
        other.kinds.iter().for_each(|(kind, n)| *self.kinds.entry(kind.clone()).or_default() += n);
    }
}

/// The first word of an edit's debug form: its kind.
fn kind(edit: &Edit) -> String {
    format!("{edit:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn asked<'a>(m: &'a Misfit, options: &'a ConvertOptions, server: &'a ServerContext) -> Question<'a> {
    let (state, job) = (&m.state, &m.job);
    Question { state, job, options, server, now: NOW, rollout: None, moves: true, stop: Stop::never() }
}

/// Each suggestion, planned again from the written job file, places everything.
fn places_everything(m: &Misfit, s: &Suggestion, server: &ServerContext) -> Verdict {
    let wrong = |what: String| Err(format!("{what}: {:?}\n{}", s.edits, m.text));
    let outline = Outline::read("job.hcl", &m.text, Syntax::Hcl);
    let edits: Vec<_> = s.edits.iter().flat_map(changes).collect();
    let of_file: Vec<Edit> = s.edits.iter().filter(|e| e.is_of_file()).cloned().collect();
    let text = match rewritten(&outline, Syntax::Hcl, &edits) {
        Ok(text) => text,
        Err(e) => return wrong(format!("not written, {e}")),
    };
    let Ok(job) = parsed(&text) else { return wrong(format!("no job any more:\n{text}")) };
    if Some(&job) != applied(&m.job, &of_file).as_ref() {
        return wrong(format!("another job is written:\n{text}"));
    }
    // Comments inside of a block go with it; there is one kind of these.
    let comments = |text: &str| text.lines().filter(|l| l.contains('#') && !l.contains("# cores")).count();
    if comments(&text) != comments(&m.text) {
        return wrong(format!("comments are lost:\n{text}"));
    }
    let mut scene = Scene { job, state: m.state.clone() };
    let of_cluster = s.edits.iter().filter(|e| !e.is_of_file());
    if !of_cluster.into_iter().all(|e| e.make(&mut scene.job, &mut scene.state)) {
        return wrong("the cluster cannot be changed".into());
    }
    match plan_job(&scene.state, &scene.job, &options(), server, NOW) {
        Ok(plan) if !plan.response.failed_tg_allocs.is_empty() => wrong("something is not placed".into()),
        Ok(plan) if !plan.response.plan_rejections.is_empty() => wrong("a part is rejected".into()),
        Ok(_) => Ok(()),
        Err(e) => wrong(format!("servers refuse it, {e}")),
    }
}

fn case(seed: u64, met: &mut Met) -> Verdict {
    let m = misfit::misfit(seed);
    let (options, server) = (options(), server_context(&m.state));
    let found = suggest(&asked(&m, &options, &server));
    if !found.are_needed() {
        met.fits += 1;
        return Ok(());
    }
    met.misfits += 1;
    met.helped += u64::from(!found.list.is_empty());
    for s in &found.list {
        places_everything(&m, s, &server)?;
        s.edits.iter().for_each(|e| *met.kinds.entry(kind(e)).or_default() += 1);
    }
    met.pairs += u64::from(found.list.first().is_some_and(|s| s.edits.len() > 1));
    if !found.list.is_sorted_by(|a, b| a.cost <= b.cost) {
        return Err("the suggestions are not in the order of their costs".into());
    }
    let Some((best, edit)) = brute_force::smallest(&m, &options, &server) else { return Ok(()) };
    met.single += 1;
    let three = found.list.iter().take(3);
    let among = three.clone().any(|s| s.edits.len() == 1 && s.cost <= best + 1e-9);
    met.among_three += u64::from(among);
    if !among {
        let list: Vec<_> = three.map(|s| (s.cost, &s.edits)).collect();
        met.missed.push(format!("seed {seed} ({}): {edit:?} costs {best:.1}, suggested are {list:?}", m.kind));
    }
    Ok(())
}

#[test]
fn suggestions_place_everything_and_the_smallest_edit_is_among_the_first() {
    let cases = match SUITE.alone() {
        Some(seed) => {
            let mut met = Met::default();
            let verdict = case(seed, &mut met);
            assert!(
                verdict.is_ok() && met.missed.is_empty(),
                "{verdict:?} {:?}\n{}",
                met.missed,
                misfit::misfit(seed).text
            );
            return;
        }
        None => cases(),
    };
    let run = SUITE.run(|seed, _| seed >= SUITE.first() + cases, case, |sum: &mut Met, met| sum.add(met));
    let t = &run.total;
    let counts = format!(
        "{} misfits, {} jobs that fit; {} misfits with suggestions, {} where two edits come first; the smallest single \
         edit is among the first three in {} of {}; {:?}",
        t.misfits, t.fits, t.helped, t.pairs, t.among_three, t.single, t.kinds
    );
    SUITE.judge(&run, &counts);
    assert!(t.misfits * 2 > cases, "{counts}");
    assert!(t.among_three * 100 >= t.single * WANTED, "{counts}\n{}", t.missed.join("\n"));
}
