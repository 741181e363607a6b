//! Files that a task makes to lead the agent out of the directory of the allocation, when somebody reads them by the API.

use std::path::Path;
use std::time::Duration;

use super::host::SECRET;
use crate::agent::{Agent, call};

/// How long an answer may take: the agent waits for no pipe.
const ANSWER: Duration = Duration::from_secs(20);

/// The attempts: name, what a task runs for it, the endpoint and the path that are asked for. `CANARY` stands for a file
/// of the host, `TASK` for the name of the task.
const ATTEMPTS: [(&str, &str, &str); 16] = [
    ("agent_reads_a_link_to_the_host", "ln -s CANARY /local/a", "cat?path=TASK/local/a"),
    (
        "agent_reads_a_link_with_many_parents",
        "ln -s ../../../../../../../../../..CANARY /local/b",
        "cat?path=TASK/local/b",
    ),
    ("agent_reads_below_a_link_to_the_root", "ln -s / /local/c", "cat?path=TASK/local/cCANARY"),
    ("agent_reads_parents_of_a_link", "ln -s /proc/self/cwd /local/d", "cat?path=TASK/local/d/canary"),
    ("agent_lists_a_link_to_the_root", "ln -s / /local/e", "ls?path=TASK/local/e"),
    ("agent_describes_a_link_to_the_host", "ln -s CANARY /local/f", "stat?path=TASK/local/f"),
    ("agent_streams_a_link_to_the_host", "ln -s CANARY /local/g", "stream?follow=false&path=TASK/local/g"),
    ("agent_reads_a_part_of_a_link", "ln -s CANARY /local/h", "readat?offset=0&limit=100&path=TASK/local/h"),
    ("agent_reads_a_link_in_the_shared_directory", "ln -s CANARY /alloc/data/i", "cat?path=alloc/data/i"),
    ("agent_reads_its_own_environment", "ln -s /proc/self/environ /local/j", "cat?path=TASK/local/j"),
    ("agent_reads_secrets_by_a_link", "ln -s ../secrets /local/k", "cat?path=TASK/local/k/key"),
    (
        "agent_reads_secrets_of_another_task_by_a_link",
        "ln -s ../../victim/secrets /alloc/data/l",
        "cat?path=alloc/data/l/key",
    ),
    ("agent_reads_private_files_by_a_link", "ln -s ../private /local/m", "cat?path=TASK/local/m/supervisor"),
    ("agent_reads_a_device", "mknod /local/n b 254 0", "cat?path=TASK/local/n"),
    ("agent_reads_the_memory_of_the_host", "mknod /local/o c 1 1", "cat?path=TASK/local/o"),
    ("agent_reads_a_pipe", "mkfifo /local/p", "cat?path=TASK/local/p"),
];

/// The names of the attempts.
pub fn names() -> Vec<&'static str> {
    ATTEMPTS.iter().map(|(name, ..)| *name).chain(["agent_archives_a_link"]).collect()
}

/// What a task runs to make the files, after its own file `/local/mine`; `before`: what its programs are called by.
pub fn script(canary: &Path, before: &str) -> String {
    let canary = canary.display().to_string();
    let lines = ATTEMPTS.iter().map(|(_, line, _)| format!("{before}{} || exit 1\n", line.replace("CANARY", &canary)));
    let archived = format!("{before}ln -s {canary} /alloc/data/archived || exit 1\n");
    format!(
        "set -u\necho mine >/local/mine\necho {SECRET} >/secrets/key\n{}{archived}echo made\nexec {before}sleep 600\n",
        lines.collect::<String>()
    )
}

/// Asks the agent for the files of an allocation: it gives no byte of what they lead to.
pub fn lead_nowhere(agent: &Agent, alloc: &str, task: &str, canary: &Path) {
    let ask = |path: &str| call(agent.port, "GET", path, "", ANSWER).unwrap_or_else(|e| panic!("{path}: {e}"));
    let fs = |path: &str| format!("/v1/client/fs/{}", path.replacen('?', &format!("/{alloc}?"), 1));
    let own = ask(&fs(&format!("cat?path={task}/local/mine")));
    assert_eq!((own.status, own.body.as_str()), (200, "mine\n"), "what is the task's own can be read");
    for (name, _, path) in ATTEMPTS {
        let path = path.replace("CANARY", &canary.display().to_string()).replace("TASK", task);
        let answer = ask(&fs(&path));
        // The errors of these files are the body of a success, as those of Nomad are.
        let refused =
            ["escapes", "prohibited", "no regular file", "no such file"].iter().any(|w| answer.body.contains(w));
        assert!(refused && answer.body.len() < 300, "{name}: {} {}", answer.status, answer.body);
        assert!(!answer.body.contains(SECRET), "{name}");
    }
    let archive = ask(&format!("/v1/client/allocation/{alloc}/snapshot"));
    assert!(!archive.body.contains(SECRET), "agent_archives_a_link");
}
