//! The keys, for the help.

/// A part of the help: its title, and keys with their meanings.
type Part = (&'static str, &'static [(&'static str, &'static str)]);

const PARTS: &[Part] = &[
    (
        "Views",
        &[
            (":", "view by name: jobs, allocations, nodes, events, topology, … (Tab completes)"),
            ("Tab Shift-Tab", "next, previous view"),
            ("0, 1 to 9", "all namespaces, one namespace; :ns lists them"),
            ("Enter", "allocations of a job, node or deployment; else the description"),
            ("Esc", "back; remove the filter"),
            ("r Ctrl-l", "read again; draw again"),
            ("q Ctrl-c, Ctrl-z", "quit, suspend"),
        ],
    ),
    (
        "Moving",
        &[
            ("j k ↓ ↑", "next, previous row"),
            ("g G", "first, last row"),
            ("Ctrl-d Ctrl-u", "half a page"),
            ("Space Ctrl-f Ctrl-b", "page"),
            ("h l ← →", "left, right: in the topology and in texts"),
            ("/", "filter as you type"),
            ("s S", "sort by the next column, reverse; topology: group by pool"),
        ],
    ),
    (
        "The selected object",
        &[
            ("d y", "description, JSON"),
            ("e", "explain why allocations of a job are not placed"),
            ("a", "actions: all of them ask before they change anything"),
            ("K R", "stop, restart a job or an allocation"),
            ("C", "scale a group of a job"),
            ("P F", "promote, fail a deployment"),
            ("D E", "drain a node, change its eligibility"),
            ("l x", "output of a task; run a command in a task"),
        ],
    ),
    (
        "Plans",
        &[
            (":plan FILE", "plan a job file; flags before it: -var=name=value"),
            ("o r W", "in the plan: choose a file, plan again, register as reviewed"),
            ("m M", "assume that a node is down, drained; remove all marks"),
            ("w", "what happens then"),
            ("t", "the changes on the topology"),
        ],
    ),
];

/// The help, line by line.
pub fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for (title, keys) in PARTS {
        lines.push((*title).to_string());
        lines.extend(keys.iter().map(|(keys, meaning)| format!("  {keys:<21}{meaning}")));
    }
    lines
}
