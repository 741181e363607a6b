//! A scaling group that is kept in files by a small program, the provider `command` of the autoscaler.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::program::Folder;

/// Keeps the group: its desired size and its instances, each in a file. New instances are numbered. Every request is
/// written down.
const PROVIDER: &str = r#"dir=$1
request=$(cat)
echo "$request" >>"$dir/requests"
instances=$(cat "$dir/instances")
desired=$(cat "$dir/desired")
save() {
  echo $instances >"$dir/instances.$$" && mv "$dir/instances.$$" "$dir/instances"
  echo $desired >"$dir/desired.$$" && mv "$dir/desired.$$" "$dir/desired"
  echo '{}'
}
case $request in
*'"Verb":"group"'*)
  list=
  for i in $instances; do list="$list,{\"ID\":\"$i\",\"State\":\"active\"}"; done
  echo "{\"Desired\":$desired,\"Min\":1,\"Max\":5,\"Instances\":[${list#,}]}"
  ;;
*'"Verb":"set_desired"'*)
  desired=$(echo "$request" | sed 's/.*"Desired":\([0-9]*\).*/\1/')
  n=$(echo $instances | wc -w)
  while [ "$n" -lt "$desired" ]; do n=$((n + 1)) instances="$instances i-$n"; done
  save
  ;;
*'"Verb":"terminate"'*'"Decrement":true'*)
  gone=$(echo "$request" | sed 's/.*"Instance":"\([^"]*\)".*/\1/')
  left=
  for i in $instances; do [ "$i" = "$gone" ] || left="$left $i"; done
  instances=$left desired=$((desired - 1))
  save
  ;;
*)
  echo "unexpected: $request" >&2
  exit 1
  ;;
esac
"#;

/// A scaling group of 1 to 5 instances, in a folder of its own.
pub struct Group(Folder);

impl Group {
    /// A group with the instance `i-1`.
    pub fn new(name: &str) -> Group {
        Group::of(name, &["i-1"])
    }

    /// A group with these instances.
    pub fn of(name: &str, instances: &[&str]) -> Group {
        let folder = Folder::new(name);
        folder.file("desired", instances.len().to_string());
        folder.file("instances", instances.join(" "));
        folder.file("requests", "");
        folder.file("provider", PROVIDER);
        Group(folder)
    }

    /// The program and its arguments. A shell reads the file: another thread of the test that starts a program at the
    /// same time may still have it open for writing, and then it cannot be executed.
    pub fn command(&self) -> Vec<String> {
        let (program, folder) = (self.0.path().join("provider"), self.0.path());
        vec!["/bin/sh".into(), program.display().to_string(), folder.display().to_string()]
    }

    /// The block `autoscaling` that uses it.
    pub fn block(&self) -> String {
        let command = self.command();
        format!(
            "autoscaling {{\n  enabled = true\n  cluster_interval = \"300ms\"\n\
               provider \"command\" {{\n    command = {command:?}\n  }}\n}}\n"
        )
    }

    /// The content of one of its files: `desired`, `instances`, `requests`.
    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.path().join(file)).unwrap_or_default().trim().to_string()
    }

    /// The requests so far that were to change it.
    pub fn changes(&self) -> Vec<Json> {
        let requests = self.read("requests");
        let requests = requests.lines().map(|line| serde_json::from_str::<Json>(line).expect("a request"));
        requests.filter(|r| r["Verb"] != "group").collect()
    }

    /// Waits until the group is that large.
    pub fn grows_to(&self, size: usize, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.read("desired") != size.to_string() || self.read("instances").split(' ').count() != size {
            let now = (self.read("desired"), self.read("instances"));
            assert!(Instant::now() < deadline, "the group does not grow to {size}: {now:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
