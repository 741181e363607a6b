//! Where fuzzers begin: the recorded job files, those of the fixtures and of the examples, and the hostile ones in
//! small.

use std::path::Path;

use crate::recorded;
use encamp_test_support::hostile;

/// Inputs of the three targets.
#[derive(Default)]
pub struct Seeds {
    pub hcl: Vec<Vec<u8>>,
    pub json: Vec<Vec<u8>>,
    pub variables: Vec<Vec<u8>>,
}

/// Values of variables; the first byte says where they come from (`pipeline::variables`).
const VARIABLES: [&str; 14] = [
    "\0text = \"redis:8\"\nnumber = 3\nbool = false\n",
    "\0texts = [\"dc1\", \"dc2\"]\nset = [\"a\", \"a\", \"b\"]\npair = [\"x\", 2]\n",
    "\0object = { name = \"a\", size = 1, tags = [\"x\"] }\nnested = { a = { b = [1, \"c\"] } }\n",
    "\0objects = [{ name = \"http\", port = 80 }, { name = \"https\", port = 443 }]\n",
    "\0{\"text\": \"redis:8\", \"numbers\": {\"a\": 1}, \"any\": {\"deep\": [1, null, true]}}",
    "\0checked = \"red\"\nunknown = 1\nvariable \"x\" {}\n",
    "\0text = <<END\nline\n${upper(\"x\")}\nEND\n",
    "\u{1}text=redis:8\nnumber=3\ntexts=[\"dc1\"]\nobject={name=\"a\",size=1,tags=[]}\n",
    "\u{1}number=1e400\nbool=1\npair=[\"a\"]\nnope=1\n",
    "\u{2}text=x\nnumber=0x10\nset=[\"é\"]\nnested={}\nchecked=a-1\n",
    "\u{3}\u{8}{ name = \"x\", size = \"12\", tags = [\"a\", 1, true] }",
    "\u{3}\u{9}[for i in [1, 2] : { name = \"n${i}\", port = i }]",
    "\u{3}\u{a}{ a = { b = [[[[]]]] } }",
    "\u{3}\u{0}\"${\"${1 + 1}\"}\"",
];

/// All seeds.
pub fn seeds() -> Seeds {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = Seeds::default();
    let own = ["fixtures/demo", "fixtures/preemption", "crates/cli/src/examples"].map(|folder| root.join(folder));
    for folder in ["jobspec", "diff"].into_iter().filter_map(recorded::folder).chain(own) {
        for (name, path) in recorded::files(&folder, "") {
            let Some(content) = recorded::bytes_at(&path) else { continue };
            if name.ends_with(".vars.hcl") {
                seeds.variables.push([b"\0", content.as_slice()].concat());
            } else if name.ends_with(".hcl") {
                seeds.hcl.push(content);
            } else if name.ends_with(".job.json") || name.ends_with(".raw.json") || name.ends_with(".registered.json") {
                seeds.json.push(content);
            }
        }
    }
    for case in hostile::cases(400) {
        match case.kind {
            hostile::Kind::Hcl => seeds.hcl.push(case.content),
            hostile::Kind::Json => seeds.json.push(case.content),
        }
    }
    seeds.variables.extend(VARIABLES.iter().map(|text| text.as_bytes().to_vec()));
    seeds
}
