//! Questions about the cluster: each is a form whose fields are parameters of the address, so that a question can be sent
//! as a link, and a command that answers it.
//!
//! [`ask`]: what all share. [`what_if`], [`capacity`], [`rebalance`], [`drain`], [`launches`], [`garbage`]: one each.
//! [`worker_pools`]: pools of the autoscaler. [`registered`]: the job that a question is about.

pub(crate) mod ask;
mod capacity;
mod drain;
mod garbage;
mod launches;
mod rebalance;
pub(crate) mod registered;
mod what_if;
mod worker_pools;

use maud::html;

use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::visit::{Visit, with_query};
use ask::Question;

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/questions", handler!(index)),
        ("/ui/questions/what-if", handler!(what_if::page)),
        ("/ui/questions/capacity", handler!(capacity::page)),
        ("/ui/questions/rebalance", handler!(rebalance::page)),
        ("/ui/questions/drain-plan", handler!(drain::page)),
        ("/ui/questions/launches", handler!(launches::page)),
        ("/ui/questions/job-launches", handler!(launches::one_job)),
        ("/ui/questions/garbage-collection", handler!(garbage::dry_run)),
        ("/ui/questions/garbage", handler!(garbage::explain)),
        ("/ui/worker-pools", handler!(worker_pools::list)),
        ("/ui/worker-pools/{pool}", handler!(worker_pools::one)),
    ],
    actions: &[("/ui/worker-pools/{pool}/failsafe", handler!(worker_pools::set_failsafe))],
    streams: &[],
};

/// The questions, in the order of the index.
const QUESTIONS: [Question; 9] = [
    what_if::QUESTION,
    capacity::QUESTION,
    rebalance::QUESTION,
    drain::QUESTION,
    launches::QUESTION,
    launches::ONE_JOB,
    garbage::DRY_RUN,
    garbage::EXPLAIN,
    worker_pools::QUESTION,
];

/// `/ui/questions`
async fn index(visit: &Visit) -> Result<Page, PageError> {
    // Pages of nodes and jobs lead here with what they are about.
    let about: Vec<(&str, &str)> =
        visit.parameters().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = html! {
        p { "Answers are simulated with the full scheduler on the state of the cluster. Nothing is changed by asking." }
        ul.questions {
            @for q in QUESTIONS { li { h2 { a href=(with_query(q.path, &about)) { (q.title) } } p { (q.about) } } }
            li {
                h2 { a href="/ui/plan" { "What would this job file do?" } }
                p { "Plan a job file: diff, placements, preemptions, and what cannot be placed." }
            }
        }
    };
    Ok(Page::new(Area::Questions, "Questions", body).with_assets(ask::ASSETS))
}
