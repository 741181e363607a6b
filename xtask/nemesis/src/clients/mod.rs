//! Clients, each in a thread of its own: they write and read until the load ends, and record what they saw.

pub(crate) mod events;
pub(crate) mod jobs;
pub(crate) mod locks;
pub(crate) mod polls;
pub(crate) mod registers;
pub(crate) mod sets;
pub(crate) mod watches;

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::dice::Dice;
use crate::history::{Clock, End, Operation, Records};
use crate::http::{self, NoReply, PATIENCE, Reply};
use crate::place::{Place, SERVERS};

/// A client.
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) number: u64,
    pub(crate) clock: Arc<Clock>,
    pub(crate) dice: Dice,
    pub(crate) records: Records,
}

/// An operation that was tried.
pub(crate) struct Tried {
    /// The answer, unless there is none.
    pub(crate) reply: Option<Reply>,
    pub(crate) end: End,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Client {
    /// A server, by chance.
    pub(crate) fn server(&mut self) -> Place {
        let number = self.dice.below(SERVERS.into());
        Place::Server(u8::try_from(number).unwrap_or(0))
    }

    /// Waits between two operations.
    pub(crate) fn pause(&mut self, least: u64, most: u64) {
        thread::sleep(Duration::from_millis(self.dice.between(least, most)));
    }

    /// Sends a request to any server, and records it.
    pub(crate) fn call(&mut self, name: &'static str, method: &str, path: &str, body: &str) -> Tried {
        let server = self.server();
        let writes = method != "GET";
        let from = self.clock.now();
        let answer = http::call(server, method, path, body, PATIENCE);
        let to = self.clock.now();
        let end = match &answer {
            Ok(reply) if (200..300).contains(&reply.status) => End::Done,
            Ok(reply) if reply.status == 404 && !writes => End::Done,
            Ok(reply) if (400..500).contains(&reply.status) => End::Refused,
            // A server that does not know how a write ended answers with an error, too.
            Ok(_) => End::Unknown,
            Err(NoReply::NotSent) => End::Failed,
            Err(NoReply::Unknown) => End::Unknown,
        };
        self.records.operations.push(Operation { client: self.name.clone(), server, name, writes, from, to, end });
        if matches!(end, End::Failed) {
            // Servers that are down refuse connections at once.
            self.pause(20, 60);
        }
        Tried { reply: answer.ok(), end, from, to }
    }
}

/// What a client does until the load ends.
type Run = fn(&mut Client);

/// Starts a client.
fn spawn(kind: &str, number: u64, seed: u64, clock: &Arc<Clock>, run: Run) -> JoinHandle<Records> {
    let name = format!("{kind}-{number}");
    let dice = Dice::new(seed, &name);
    let mut client = Client { name, number, clock: Arc::clone(clock), dice, records: Records::default() };
    thread::spawn(move || {
        run(&mut client);
        client.records
    })
}

/// Starts all clients, in the network of the current thread.
pub(crate) fn start(seed: u64, clock: &Arc<Clock>) -> Vec<JoinHandle<Records>> {
    let kinds: [(&str, u64, Run); 7] = [
        ("registers", 3, registers::run),
        ("sets", 2, sets::run),
        ("locks", 3, locks::run),
        ("jobs", jobs::CLIENTS, jobs::run),
        ("watches", 3, watches::run),
        ("events", 2, events::run),
        ("polls", 1, polls::run),
    ];
    let all = kinds.iter().flat_map(|(kind, count, run)| (0..*count).map(move |number| (kind, number, *run)));
    all.map(|(kind, number, run)| spawn(kind, number, seed, clock, run)).collect()
}
