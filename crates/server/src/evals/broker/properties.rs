//! Compares the broker with a model that searches a single list: random enqueues, deliveries, acks, nacks and timeouts.
//! A job never has two outstanding evaluations, no evaluation is lost, and only evaluations pending behind an acked one
//! are cancelled.

use proptest::prelude::*;

use super::*;
use encamp_model::Time;

const SCHEDULERS: [JobType; 2] = [JobType::Service, JobType::Batch];

#[derive(Debug, Clone, PartialEq)]
enum Where {
    Waiting { due: i64, nacked: bool, delayed: bool },
    Pending,
    Ready(QueueName),
    Out { token: String, queue: QueueName, deadline: Option<i64> },
    Cancelable,
}

#[derive(Debug, Clone)]
struct Record {
    eval: Evaluation,
    at: Where,
    deliveries: u32,
    requeue: bool,
}

impl Record {
    fn holds_slot(&self) -> bool {
        matches!(self.at, Where::Ready(_) | Where::Out { .. } | Where::Waiting { nacked: true, .. })
    }

    fn in_its_queue(&self) -> Where {
        Where::Ready(QueueName::Scheduler(self.eval.r#type.clone()))
    }
}

/// The broker, the model, and the outcome of every evaluation.
struct World {
    broker: Broker,
    records: Vec<Record>,
    now: i64,
    made: u64,
    tokens: u64,
    acked: usize,
    cancelled: Vec<Arc<Evaluation>>,
    taken: Vec<Arc<Evaluation>>,
    dropped: usize,
    requeued: usize,
}

impl World {
    fn new() -> World {
        let mut broker = Broker::new();
        broker.set_enabled(true);
        World {
            broker,
            records: Vec::new(),
            now: 0,
            made: 0,
            tokens: 0,
            acked: 0,
            cancelled: Vec::new(),
            taken: Vec::new(),
            dropped: 0,
            requeued: 0,
        }
    }

    fn enqueue(&mut self, a: u8, b: u8, c: u8) {
        self.made += 1;
        let eval = Evaluation {
            id: format!("e{}", self.made).into(),
            job_id: format!("j{}", a % 3).into(),
            namespace: format!("n{}", a / 3 % 2).into(),
            priority: i64::from(b % 3) * 10,
            modify_index: u64::from(c % 7),
            create_index: self.made,
            r#type: SCHEDULERS[usize::from(a / 6 % 2)].clone(),
            wait: if (b / 3).is_multiple_of(4) { i64::from(c % 50) * SECOND } else { 0 },
            wait_until: match b / 3 % 4 {
                1 => Time::from_unix_nanos(self.now + i64::from(c % 60) * SECOND - 10 * SECOND),
                _ => Time::ZERO,
            },
            ..Evaluation::default()
        };
        self.broker.enqueue(Arc::new(eval.clone()), None, self.now);
        self.broker.enqueue(Arc::new(eval.clone()), None, self.now);
        self.broker.enqueue(Arc::new(eval.clone()), Some("nobody's"), self.now);
        self.admit(eval);
    }

    fn admit(&mut self, eval: Evaluation) {
        let due = match eval.wait {
            0 => eval.wait_until.unix_nanos().filter(|t| *t > self.now),
            wait => Some(self.now + wait),
        };
        let delayed = eval.wait == 0;
        let at = due.map_or(Where::Pending, |due| Where::Waiting { due, nacked: false, delayed });
        let waits = due.is_some();
        self.records.push(Record { eval, at, deliveries: 0, requeue: false });
        if !waits {
            self.line_up(self.records.len() - 1);
        }
    }

    fn line_up(&mut self, i: usize) {
        let (ns, job) = (self.records[i].eval.namespace.clone(), self.records[i].eval.job_id.clone());
        let held = self
            .records
            .iter()
            .enumerate()
            .any(|(k, r)| k != i && r.eval.namespace == ns && r.eval.job_id == job && r.holds_slot());
        self.records[i].at = if held { Where::Pending } else { self.records[i].in_its_queue() };
    }

    /// Dequeues for the schedulers whose bits are set.
    fn dequeue(&mut self, bits: u8, choice: u64) {
        let chosen: Vec<JobType> = (0..2).filter(|i| bits >> i & 1 == 1).map(|i| SCHEDULERS[i].clone()).collect();
        let token = self.next_token();
        let got = self.broker.dequeue(&chosen, self.now, choice, || token.clone()).unwrap();
        let queues: Vec<QueueName> = chosen.into_iter().map(QueueName::Scheduler).collect();
        self.dequeued(&queues, got, token);
    }

    fn dequeue_failed(&mut self) {
        let token = self.next_token();
        let got = self.broker.dequeue_failed(self.now, || token.clone()).unwrap();
        self.dequeued(&[QueueName::Failed], got, token);
    }

    fn next_token(&mut self) -> String {
        self.tokens += 1;
        format!("t{}", self.tokens)
    }

    /// Checks what was dequeued from some queues, and takes it over to the model.
    fn dequeued(&mut self, queues: &[QueueName], got: Option<Delivery>, token: String) {
        let offered: Vec<&Record> =
            self.records.iter().filter(|r| matches!(&r.at, Where::Ready(q) if queues.contains(q))).collect();
        let best = offered.iter().map(|r| r.eval.priority).max();
        let Some(d) = got else {
            assert!(offered.is_empty(), "nothing was dequeued although {} are ready", offered.len());
            return;
        };
        assert_eq!(Some(d.eval.priority), best);
        let older = offered
            .iter()
            .filter(|r| r.at == Where::Ready(d.queue.clone()) && r.eval.priority == d.eval.priority)
            .any(|r| r.eval.create_index < d.eval.create_index);
        assert!(!older, "the oldest evaluation of a queue takes precedence");
        let r = self.records.iter_mut().find(|r| r.eval.id == d.eval.id).expect("known to the model");
        r.deliveries += 1;
        assert_eq!(d.deliveries, r.deliveries);
        r.at = Where::Out { token, queue: d.queue, deadline: Some(self.now + NACK_TIMEOUT) };
    }

    /// The n-th outstanding evaluation, and its token.
    fn pick_out(&self, n: u8) -> Option<(usize, String, Option<i64>)> {
        let out: Vec<_> = self
            .records
            .iter()
            .enumerate()
            .filter_map(|(i, r)| match &r.at {
                Where::Out { token, deadline, .. } => Some((i, token.clone(), *deadline)),
                _ => None,
            })
            .collect();
        out.get(usize::from(n) % out.len().max(1)).cloned()
    }

    fn ack(&mut self, n: u8) {
        let Some((i, token, deadline)) = self.pick_out(n) else { return };
        let eval = self.records[i].eval.clone();
        assert_eq!(self.broker.ack(&eval.id, "stale", self.now).unwrap_err(), BrokerError::WrongToken);
        let result = self.broker.ack(&eval.id, &token, self.now);
        if deadline.is_some_and(|d| d <= self.now) {
            assert_eq!(result.unwrap_err(), BrokerError::TooLate);
            return;
        }
        result.unwrap();
        self.acked += 1;
        let requeue = self.records.remove(i).requeue;
        let of_job: Vec<usize> = (0..self.records.len())
            .filter(|k| {
                let r = &self.records[*k];
                r.at == Where::Pending && r.eval.namespace == eval.namespace && r.eval.job_id == eval.job_id
            })
            .collect();
        let best = |k: &&usize| {
            let e = &self.records[**k].eval;
            (e.priority, e.modify_index, std::cmp::Reverse(e.create_index))
        };
        if let Some(kept) = of_job.iter().max_by_key(best).copied() {
            for k in of_job {
                self.records[k].at = Where::Cancelable;
            }
            self.records[kept].at = self.records[kept].in_its_queue();
        }
        if requeue {
            self.requeued += 1;
            self.admit(eval);
        }
    }

    fn nack(&mut self, n: u8) {
        let Some((i, token, _)) = self.pick_out(n) else { return };
        let id = self.records[i].eval.id.to_string();
        assert_eq!(self.broker.nack(&id, "stale", self.now).unwrap_err(), BrokerError::WrongToken);
        self.broker.nack(&id, &token, self.now).unwrap();
        self.give_back(i);
        assert_eq!(self.broker.ack(&id, &token, self.now).unwrap_err(), BrokerError::NotFound);
    }

    fn give_back(&mut self, i: usize) {
        let now = self.now;
        let r = &mut self.records[i];
        r.requeue = false;
        let delay = match r.deliveries {
            1 => SECOND,
            2 => 20 * SECOND,
            _ => {
                r.at = Where::Ready(QueueName::Failed);
                return;
            }
        };
        r.at = Where::Waiting { due: now + delay, nacked: true, delayed: false };
    }

    fn timer(&mut self, n: u8, what: u8) {
        let Some((i, token, deadline)) = self.pick_out(n) else { return };
        let id = self.records[i].eval.id.to_string();
        let fired = deadline.is_some_and(|d| d <= self.now);
        let (result, new) = match what % 3 {
            0 => (self.broker.reset(&id, &token, self.now), Some(self.now + NACK_TIMEOUT)),
            1 => (self.broker.pause(&id, &token, self.now), None),
            _ => (self.broker.resume(&id, &token, self.now), Some(self.now + NACK_TIMEOUT)),
        };
        assert_eq!(result.is_err(), fired && what % 3 < 2);
        if !fired && let Where::Out { deadline, .. } = &mut self.records[i].at {
            *deadline = new;
        }
    }

    fn requeue(&mut self, n: u8) {
        let Some((i, token, _)) = self.pick_out(n) else { return };
        self.broker.enqueue(Arc::new(self.records[i].eval.clone()), Some(&token), self.now);
        self.records[i].requeue = true;
    }

    fn drop_waiting(&mut self, n: u8) {
        let waiting: Vec<usize> =
            (0..self.records.len()).filter(|k| matches!(self.records[*k].at, Where::Waiting { .. })).collect();
        let Some(i) = waiting.get(usize::from(n) % waiting.len().max(1)).copied() else { return };
        let delayed = matches!(self.records[i].at, Where::Waiting { delayed: true, .. });
        assert_eq!(self.broker.drop_waiting(&self.records[i].eval.id), delayed);
        if delayed {
            self.records.remove(i);
            self.dropped += 1;
        }
    }

    fn drop_pending(&mut self, n: u8) {
        let Some(i) = (!self.records.is_empty()).then(|| usize::from(n) % self.records.len()) else { return };
        let pending = self.records[i].at == Where::Pending;
        let (dropped, rest) = self.broker.drop_pending([&self.records[i].eval]);
        assert_eq!(dropped, usize::from(pending));
        assert!(rest.iter().all(|_| matches!(self.records[i].at, Where::Ready(_) | Where::Cancelable)));
        if pending {
            self.records.remove(i);
            self.dropped += 1;
        }
    }

    fn advance(&mut self, seconds: i64) {
        self.now += seconds * SECOND;
        self.broker.tick(self.now);
        // Due evaluations are processed in order of time and ID, because broker and model see the same time.
        let mut due: Vec<(i64, String)> = self
            .records
            .iter()
            .filter_map(|r| match &r.at {
                Where::Waiting { due, .. } => Some((*due, r.eval.id.to_string())),
                Where::Out { deadline: Some(d), .. } => Some((*d, r.eval.id.to_string())),
                _ => None,
            })
            .filter(|(d, _)| *d <= self.now)
            .collect();
        due.sort();
        for (_, id) in due {
            let i = self.records.iter().position(|r| r.eval.id == id).expect("still there");
            match self.records[i].at {
                Where::Out { .. } => self.give_back(i),
                Where::Waiting { nacked: true, .. } => {
                    self.records[i].at = self.records[i].in_its_queue();
                }
                _ => self.line_up(i),
            }
        }
    }

    fn take(&mut self, most: usize) {
        let batch = self.broker.take_cancelable(most);
        assert!(batch.len() <= most);
        for e in batch {
            let i = self.records.iter().position(|r| r.eval.id == e.id).expect("known to the model");
            assert_eq!(self.records.remove(i).at, Where::Cancelable, "{} may not be cancelled", e.id);
            self.taken.push(e);
        }
    }

    fn write(&mut self, succeeds: bool) {
        let batch = std::mem::take(&mut self.taken);
        if succeeds {
            self.cancelled.extend(batch);
            return;
        }
        for e in &batch {
            let eval = Evaluation::clone(e);
            self.records.push(Record { eval, at: Where::Cancelable, deliveries: 0, requeue: false });
        }
        self.broker.put_back(batch);
    }

    fn check(&self) {
        let count = |f: &dyn Fn(&Where) -> bool| self.records.iter().filter(|r| f(&r.at)).count();
        let s = self.broker.stats();
        assert_eq!(s.ready, count(&|w| matches!(w, Where::Ready(_))));
        assert_eq!(s.unacked, count(&|w| matches!(w, Where::Out { .. })));
        assert_eq!(s.pending, count(&|w| *w == Where::Pending));
        assert_eq!(s.waiting, count(&|w| matches!(w, Where::Waiting { .. })));
        assert_eq!(s.delayed, count(&|w| matches!(w, Where::Waiting { delayed: true, .. })));
        assert_eq!(s.delayed, self.broker.delayed().count());
        assert_eq!(s.cancelable, count(&|w| *w == Where::Cancelable));
        for (name, q) in &s.by_queue {
            assert_eq!(q.ready, count(&|w| *w == Where::Ready(name.clone())), "{name}");
            assert_eq!(q.unacked, count(&|w| matches!(w, Where::Out { queue, .. } if queue == name)), "{name}");
        }
        let mut jobs: Vec<_> =
            self.records.iter().filter(|r| r.holds_slot()).map(|r| (&r.eval.namespace, &r.eval.job_id)).collect();
        let held = jobs.len();
        jobs.sort();
        jobs.dedup();
        assert_eq!(jobs.len(), held, "two evaluations of a job hold its slot");
        for r in &self.records {
            let token = match &r.at {
                Where::Out { token, .. } => Some(token.as_str()),
                _ => None,
            };
            assert_eq!(self.broker.outstanding(&r.eval.id), token, "{}", r.eval.id);
        }
        let due = |r: &Record| match r.at {
            Where::Waiting { due, .. } => Some(due),
            Where::Out { deadline, .. } => deadline,
            _ => None,
        };
        assert_eq!(self.broker.next_deadline(), self.records.iter().filter_map(due).min());
        assert_eq!(self.broker.known.len(), self.records.len());
    }

    /// Processes all evaluations: every enqueued evaluation is acked, cancelled or dropped.
    fn drain(&mut self) {
        self.write(true);
        while !self.records.is_empty() {
            let before = (self.records.len(), self.now);
            self.dequeue(0b11, 0);
            self.ack(0);
            self.dequeue_failed();
            self.ack(0);
            self.take(5);
            self.write(true);
            if before.0 == self.records.len() {
                self.advance(61);
            }
            self.check();
        }
        let made = usize::try_from(self.made).unwrap();
        assert_eq!(self.acked + self.cancelled.len() + self.dropped, made + self.requeued);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn none_is_lost_and_none_runs_twice_at_once(
        steps in proptest::collection::vec((0u8..22, any::<u8>(), any::<u8>(), any::<u8>()), 1..150)
    ) {
        let mut w = World::new();
        for (op, a, b, c) in steps {
            match op {
                0..=6 => w.enqueue(a, b, c),
                7..=8 => w.dequeue(a, u64::from(b)),
                9 => w.dequeue(0b11, u64::from(b)),
                10 => w.dequeue_failed(),
                11..=12 => w.ack(a),
                13 => w.nack(a),
                14 => w.timer(a, b),
                15 => w.requeue(a),
                16 => w.advance(i64::from(a % 40)),
                17 => w.take(usize::from(a % 4)),
                18 => w.write(a % 2 == 0),
                19 => w.drop_waiting(a),
                _ => w.drop_pending(a),
            }
            w.check();
        }
        w.drain();
    }
}
