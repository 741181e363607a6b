mod agent;
mod cluster;
mod dice;
mod disk;
mod failure;
mod http;
mod place;
mod rules;
mod schedule;
mod shell;
mod switch;
use std::path::Path;
use std::time::Instant;

fn main() {
    let t = Instant::now();
    let switch = switch::Switch::new(1).unwrap();
    switch::enter(place::Place::Clients).unwrap();
    println!("net {:?}", t.elapsed());
    let args: Vec<String> = std::env::args().collect();
    let mut c = cluster::Cluster::new(switch, Path::new(&args[1]), Path::new(&args[2])).unwrap();
    println!("disks {:?}", t.elapsed());
    if let Err(e) = c.start() { println!("{e}"); }
    println!("ready {:?} leader {:?}", t.elapsed(), c.leader());
    std::thread::sleep(std::time::Duration::from_secs(60));
    println!("{:?}", c.switch.counts);
    let l = c.leader().unwrap();
    let mut r = rules::Rules::default();
    let others: Vec<_> = place::Place::all().into_iter().filter(|p| *p != place::Place::Server(l) && *p != place::Place::Clients).collect();
    r.separate(&[place::Place::Server(l)], &others);
    c.switch.set(r);
    let t = Instant::now();
    loop { let n = c.leader(); if n.is_some() && n != Some(l) { println!("new leader {n:?} {:?}", t.elapsed()); break; } }
    c.switch.set(rules::Rules::default());
    switch::remove_namespaces();
}
