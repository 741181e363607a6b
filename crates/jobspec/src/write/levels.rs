//! Every attribute of the parser's tables at every level where it may stand, written and parsed again.

use encamp_model::JobType;
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::parse::schema::{Attribute, Block, Inside, JOB, Kind, Occurs, Schema};

/// A member inside of a block: the steps to it, from the job.
type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Member(String),
    /// The first object of a list; the members that it needs.
    First(Map<String, Json>),
}

/// The attribute at the end of a path.
struct Place {
    path: Path,
    attribute: &'static Attribute,
}

/// The members without which an object of this block is no valid one, so that nothing else decides.
fn needed(block: &Block) -> Map<String, Json> {
    let mut out = Map::new();
    if let Some(label) = block.label.filter(|_| block.name != "scaling") {
        out.insert(label.into(), json!("x"));
    }
    match block.name {
        "task" => drop(out.insert("Driver".into(), json!("exec"))),
        "scaling" => out.extend([("Type".into(), json!("vertical_cpu")), ("Max".into(), json!(9))]),
        "lifecycle" => drop(out.insert("Hook".into(), json!("prestart"))),
        "action" => drop(out.insert("Command".into(), json!("x"))),
        "volume" => drop(out.insert("Type".into(), json!("host"))),
        "volume_mount" => out.extend([("Volume".into(), json!("x")), ("Destination".into(), json!("/x"))]),
        "cron" => drop(out.insert("Start".into(), json!("0 0 * * *"))),
        _ => {}
    }
    out
}

/// All attributes below a block, with the paths to them.
fn places(schema: &'static Schema, path: &Path, out: &mut Vec<Place>) {
    for attribute in schema.attributes {
        let mut path = path.clone();
        path.push(Step::Member(attribute.json()));
        out.push(Place { path, attribute });
    }
    for block in schema.blocks {
        let Inside::Schema(inside) = block.inside else { continue };
        // The parser moves these into the tasks.
        let in_job = path.is_empty() && matches!(block.name, "task" | "vault" | "secret");
        let in_group = path.iter().filter(|step| matches!(step, Step::First(_))).count() == 1
            && path.first() == Some(&Step::Member("TaskGroups".into()))
            && path.len() == 2
            && matches!(block.name, "vault" | "secret");
        if in_job || in_group {
            continue;
        }
        let mut path = path.clone();
        path.push(Step::Member(block.json()));
        match block.occurs {
            Occurs::Many => path.push(Step::First(needed(block))),
            Occurs::ByLabel => path.push(Step::Member("x".into())),
            Occurs::Once | Occurs::OnceOfType | Occurs::Last => {}
        }
        places(inside, &path, out);
    }
}

/// Sets the value at a path.
fn set(at: &mut Json, path: &[Step], value: &Json) {
    match path.split_first() {
        None => *at = value.clone(),
        Some((Step::Member(name), rest)) => {
            if at.is_null() {
                *at = json!({});
            }
            set(&mut at[name.as_str()], rest, value);
        }
        Some((Step::First(needed), rest)) => {
            if at.is_null() {
                *at = json!([needed]);
            }
            set(&mut at[0], rest, value);
        }
    }
}

/// Values of an attribute: nothing, and some that are no default.
fn values(kind: Kind) -> Vec<Json> {
    match kind {
        Kind::Str | Kind::OptStr => vec![json!(""), json!("${attr.x} \"é\"")],
        Kind::Bool | Kind::OptBool => vec![json!(false), json!(true)],
        Kind::Int { min, max, .. } => {
            [0, 7, -1].into_iter().filter(|n| (min..=max).contains(n)).map(|n| json!(n as i64)).collect()
        }
        Kind::Duration => vec![json!(0), json!(90_000_000_001_i64)],
        Kind::Strings => vec![json!([]), json!(["x", ""])],
        Kind::Ports => vec![json!([]), json!([7, 0])],
        Kind::StringMap => vec![json!({}), json!({"k": "x", "l": ""})],
    }
}

fn base(r#type: &JobType) -> Json {
    json!({"ID": "j", "Type": r#type.as_str(), "TaskGroups": [{"Name": "x", "Tasks": [{"Name": "x", "Driver": "exec"}]}]})
}

/// The value that the members at a path have once a job is canonicalised.
fn default(r#type: &JobType, path: &[Step]) -> Option<Json> {
    let mut job: api::Job = serde_json::from_value(base(r#type)).ok()?;
    canonicalize(&mut job);
    let job = serde_json::to_value(job).ok()?;
    path.iter()
        .try_fold(&job, |at, step| match step {
            Step::Member(name) => at.get(name),
            Step::First(_) => at.get(0),
        })
        .filter(|value| !value.is_null())
        .cloned()
}

/// Writes a job; what is wrong with the file.
fn fault(members: &Json) -> Option<String> {
    let mut job: api::Job = match serde_json::from_value(members.clone()) {
        Ok(job) => job,
        Err(e) => return Some(format!("{members}: {e}")),
    };
    canonicalize(&mut job);
    match write(&job) {
        Err(e) => Some(format!("{members}: {e}")),
        Ok(written) if !written.lost.is_empty() => {
            Some(format!("{members}: lost {:?}\n{}", written.lost, written.text))
        }
        Ok(_) => None,
    }
}

const TYPES: [JobType; 4] = [JobType::Service, JobType::Batch, JobType::System, JobType::Sysbatch];

fn all_places() -> Vec<Place> {
    let mut out = Vec::new();
    places(&JOB, &Vec::new(), &mut out);
    // A job's ID is its label, its type decides which defaults count, and a policy's type follows from where it is.
    let fixed = |place: &Place| match (place.path.as_slice(), place.attribute.name) {
        ([_], "id" | "type") => true,
        ([.., Step::Member(parent), Step::Member(_)], "type") => parent == "Scaling",
        ([.., Step::Member(parent), Step::First(_), Step::Member(_)], "type") => parent == "ScalingPolicies",
        _ => false,
    };
    out.retain(|place| !fixed(place));
    out
}

/// Steps to the blocks of jobs and groups, whose defaults depend on each other and on the type of the job.
const NEAR: usize = 4;

/// Each attribute of a job and its groups alone, with each of its values and its default.
#[test]
fn every_attribute_keeps_its_value_at_every_level() {
    let mut cases = 0;
    let mut faults = Vec::new();
    for r#type in TYPES {
        for place in all_places().into_iter().filter(|place| place.path.len() <= NEAR) {
            let mut values = values(place.attribute.kind);
            values.extend(default(&r#type, &place.path));
            for value in values {
                let mut members = base(&r#type);
                set(&mut members, &place.path, &value);
                cases += 1;
                faults.extend(fault(&members));
            }
        }
    }
    assert!(cases > 500, "{cases}");
    assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
}

/// The attributes of each block inside of groups together: all with their first values, all with their second ones, and
/// so on.
#[test]
fn every_block_keeps_the_values_of_its_attributes() {
    let mut blocks: Vec<(Path, Vec<Place>)> = Vec::new();
    for place in all_places().into_iter().filter(|place| place.path.len() > NEAR) {
        let block = place.path.split_last().map(|(_, block)| block.to_vec()).unwrap_or_default();
        match blocks.iter_mut().find(|(path, _)| *path == block) {
            Some((_, places)) => places.push(place),
            None => blocks.push((block, vec![place])),
        }
    }
    let mut faults = Vec::new();
    for (_, places) in &blocks {
        for at in 0..3 {
            let mut members = base(&JobType::Service);
            for place in places {
                let values = values(place.attribute.kind);
                set(&mut members, &place.path, &values[at % values.len()]);
            }
            faults.extend(fault(&members));
        }
    }
    assert!(blocks.len() > 40, "{}", blocks.len());
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
}

/// A block of the job and of its groups, and their names in JSON.
const INHERITED: [(&str, &str); 3] = [("Reschedule", "ReschedulePolicy"), ("Migrate", "Migrate"), ("Update", "Update")];

#[test]
fn blocks_of_job_and_group_keep_their_values_together() {
    let block = |schema: &'static Schema, json: &str| {
        schema.blocks.iter().find(|b| b.json() == json).map(|b| match b.inside {
            Inside::Schema(inside) => inside,
            _ => panic!("{json} has no table"),
        })
    };
    let mut cases = 0;
    let mut faults = Vec::new();
    for r#type in TYPES {
        for (in_job, in_group) in INHERITED {
            let attributes = block(&JOB, in_job).expect("a table").attributes;
            for (at, first) in attributes.iter().enumerate() {
                // The same attribute at both levels, and another one.
                for second in [Some(first), attributes.get((at + 1) % attributes.len())].into_iter().flatten() {
                    for (of_job, of_group) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                        let mut members = base(&r#type);
                        members[in_job][first.json()] = values(first.kind)[of_job].clone();
                        members["TaskGroups"][0][in_group][second.json()] = values(second.kind)[of_group].clone();
                        // A second group inherits everything.
                        let group = json!({"Name": "y", "Tasks": [{"Name": "x", "Driver": "exec"}]});
                        members["TaskGroups"].as_array_mut().expect("groups").push(group);
                        cases += 1;
                        faults.extend(fault(&members));
                    }
                }
            }
        }
    }
    assert_eq!(cases, 608);
    assert!(faults.is_empty(), "{} of {cases}:\n{}", faults.len(), faults.join("\n"));
}
