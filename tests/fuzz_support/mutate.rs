//! New inputs from old ones, reproducible from a seed: byte and token mutations, splices, and files made from a
//! grammar.

use encamp_model::random::Random;

/// Words that mean something to the parsers.
const WORDS: [&str; 88] = [
    "job",
    "group",
    "task",
    "config",
    "env",
    "meta",
    "network",
    "port",
    "service",
    "check",
    "connect",
    "sidecar_service",
    "proxy",
    "upstreams",
    "gateway",
    "constraint",
    "affinity",
    "spread",
    "target",
    "update",
    "migrate",
    "restart",
    "reschedule",
    "template",
    "artifact",
    "resources",
    "device",
    "volume",
    "volume_mount",
    "vault",
    "identity",
    "periodic",
    "parameterized",
    "multiregion",
    "scaling",
    "policy",
    "lifecycle",
    "logs",
    "dynamic",
    "content",
    "for_each",
    "labels",
    "variable",
    "variables",
    "locals",
    "default",
    "type",
    "validation",
    "condition",
    "error_message",
    "count",
    "driver",
    "attribute",
    "operator",
    "value",
    "regexp",
    "version",
    "distinct_hosts",
    "static",
    "to",
    "crons",
    "local",
    "var",
    "for",
    "in",
    "if",
    "null",
    "true",
    "false",
    "string",
    "number",
    "bool",
    "any",
    "list(",
    "map(",
    "object({",
    "tuple([",
    "set(",
    "${",
    "%{",
    "<<END\n",
    "\nEND\n",
    "each",
    "attr.kernel.name",
    "NOMAD_META_x",
    "Job",
    "TaskGroups",
    "Tasks",
];
/// Values at the edges.
const VALUES: [&str; 36] = [
    "0",
    "-1",
    "1",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e9999",
    "1e-9999",
    "0.1",
    "\"\"",
    "\"a\"",
    "\"30s\"",
    "\"-1h\"",
    "\"9999999999h\"",
    "\"*/5 * * * *\"",
    "\"0 0 30 2 *\"",
    "\"(a+)+$\"",
    "\"\\\\pL{100}\"",
    "\">= 1.2, < 2\"",
    "\"${attr.x}\"",
    "\"${1 + 1}\"",
    "[]",
    "{}",
    "[1, \"a\", null]",
    "{ a = 1 }",
    "null",
    "\"e\u{301}\u{1F600}\"",
    "\"\\u0000\"",
    "\"é\"",
    "range(5)",
    "\"http://[::1]:99999/%zz\"",
    "\"10.0.0.0/33\"",
    "\"../../x\"",
    "\"UTC\"",
    "\"Europe/Berlin\"",
];
const OPERATORS: [&str; 16] = ["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "?", ":", "!", ".", "[*]"];

/// A choice; `items` is never empty.
fn choose<'a, T>(random: &mut Random, items: &'a [T]) -> &'a T {
    random.pick(items).expect("there are items")
}

fn below(random: &mut Random, n: usize) -> usize {
    random.below(n as u64) as usize
}

/// An input derived from the seeds.
pub fn derive(random: &mut Random, seeds: &[Vec<u8>], max: usize) -> Vec<u8> {
    let mut data = choose(random, seeds).clone();
    for _ in 0..=below(random, 6) {
        mutate(random, &mut data, seeds);
    }
    data.truncate(max);
    data
}

/// The start of a line or word near a random place, so that cuts often fall between tokens.
fn boundary(random: &mut Random, data: &[u8]) -> usize {
    let at = below(random, data.len() + 1);
    match random.below(3) {
        0 => at,
        1 => data.iter().take(at).rposition(|b| *b == b'\n').map_or(0, |i| i + 1),
        _ => data.iter().take(at).rposition(|b| b" \t\n{}[]().,\"=:".contains(b)).map_or(0, |i| i + 1),
    }
}

fn range(random: &mut Random, data: &[u8]) -> (usize, usize) {
    let (a, b) = (boundary(random, data), boundary(random, data));
    (a.min(b), a.max(b))
}

fn insert(data: &mut Vec<u8>, at: usize, text: &[u8]) {
    data.splice(at..at, text.iter().copied());
}

fn mutate(random: &mut Random, data: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let at = boundary(random, data);
    match random.below(12) {
        0 => insert(data, at, choose(random, &WORDS).as_bytes()),
        1 => insert(data, at, choose(random, &VALUES).as_bytes()),
        2 => insert(data, at, choose(random, &OPERATORS).as_bytes()),
        3 => {
            // A value in place of another one.
            let Some(start) = data.iter().skip(at).position(|b| matches!(b, b'=' | b':')).map(|i| at + i + 1) else {
                return;
            };
            let end = data
                .iter()
                .skip(start)
                .position(|b| matches!(b, b'\n' | b',' | b'}'))
                .map_or(data.len(), |i| start + i);
            data.splice(start..end, choose(random, &VALUES).bytes());
        }
        4 => {
            let (start, end) = range(random, data);
            data.drain(start..end);
        }
        5 => {
            let (start, end) = range(random, data);
            let part = data[start..end.min(start + 4096)].to_vec();
            for _ in 0..=below(random, 8) {
                insert(data, at.min(data.len()), &part);
            }
        }
        6 => {
            let other = choose(random, seeds);
            let (start, end) = range(random, other);
            insert(data, at, &other[start..end.min(start + 4096)]);
        }
        7 => {
            if let Some(byte) = data.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        8 => {
            if let Some(byte) = data.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        9 => {
            // Nesting.
            let (start, end) = range(random, data);
            let (open, close) = *choose(
                random,
                &[("[", "]"), ("{", "}"), ("(", ")"), ("\"${", "}\""), ("upper(", ")"), ("x {\n", "\n}\n")],
            );
            let times = 1 + below(random, 100);
            insert(data, end, close.repeat(times).as_bytes());
            insert(data, start, open.repeat(times).as_bytes());
        }
        10 => insert(data, at, call(random, 0).as_bytes()),
        _ => {
            let text = statement(random, 0);
            insert(data, at, text.as_bytes());
        }
    }
}

/// A call of a function of the language.
fn call(random: &mut Random, depth: usize) -> String {
    let name = *choose(random, encamp_hcl::functions::names());
    let count = below(random, 4);
    let args: Vec<String> = (0..count).map(|_| expression(random, depth + 1)).collect();
    format!("{name}({})", args.join(", "))
}

/// An expression of the language.
pub fn expression(random: &mut Random, depth: usize) -> String {
    let limit = if depth > 4 { 3 } else { 12 };
    match random.below(limit) {
        0 | 1 => (*choose(random, &VALUES)).to_owned(),
        2 => (*choose(random, &["local.a", "var.text", "attr.x", "i", "v.value", "v.key"])).to_owned(),
        3 => format!("[{}, {}]", expression(random, depth + 1), expression(random, depth + 1)),
        4 => format!("{{ a = {}, (\"b\") = {} }}", expression(random, depth + 1), expression(random, depth + 1)),
        5 => format!("[for i in {} : {}]", expression(random, depth + 1), expression(random, depth + 1)),
        6 => format!("{{for i, v in {} : i => {}...}}", expression(random, depth + 1), expression(random, depth + 1)),
        7 => format!(
            "({} {} {})",
            expression(random, depth + 1),
            choose(random, &OPERATORS),
            expression(random, depth + 1)
        ),
        8 => format!(
            "\"a${{{}}}%{{ if {} }}b%{{ endif }}\"",
            expression(random, depth + 1),
            expression(random, depth + 1)
        ),
        9 => format!(
            "({} ? {} : {})",
            expression(random, depth + 1),
            expression(random, depth + 1),
            expression(random, depth + 1)
        ),
        10 => {
            format!("{}{}", expression(random, depth + 1), choose(random, &["[0]", ".a", "[*].a", ".*.b", "[\"k\"]"]))
        }
        _ => call(random, depth),
    }
}

/// An attribute or a block.
fn statement(random: &mut Random, depth: usize) -> String {
    let word = choose(random, &WORDS[..56]);
    if depth > 3 || random.below(3) > 0 {
        return format!("{word} = {}\n", expression(random, 0));
    }
    let label = if random.below(2) == 0 { "\"x\" " } else { "" };
    let inside: String = (0..below(random, 4)).map(|_| statement(random, depth + 1)).collect();
    if random.below(4) == 0 {
        let each = expression(random, 2);
        return format!("dynamic \"{word}\" {{\nfor_each = {each}\ncontent {{\n{inside}}}\n}}\n");
    }
    format!("{word} {label}{{\n{inside}}}\n")
}

/// A whole job from the grammar.
pub fn job(random: &mut Random) -> Vec<u8> {
    let mut text = format!("variable \"text\" {{\n default = {}\n}}\n", choose(random, &VALUES));
    text += &format!("locals {{\n a = {}\n}}\njob \"x\" {{\n", expression(random, 0));
    for _ in 0..below(random, 4) {
        text += &statement(random, 0);
    }
    text += "group \"g\" {\n";
    for _ in 0..below(random, 4) {
        text += &statement(random, 1);
    }
    text += "task \"t\" {\ndriver = \"docker\"\n";
    for _ in 0..below(random, 4) {
        text += &statement(random, 2);
    }
    text += "config {\n";
    for _ in 0..below(random, 3) {
        text += &statement(random, 3);
    }
    (text + "}\n}\n}\n}\n").into_bytes()
}
