//! Attempts of a container to get out, and of its files to lead the agent out: none succeeds, and
//! `docs/dev/isolation.md` says why.

use super::networks::with_holder;
use super::podman::{PERL_IMAGE, Profile};
use super::*;
use crate::isolation::agent_files;
use crate::isolation::escapes::{Kind, compare};
use crate::isolation::host::{Host, SECRET};
use crate::program::run_with;

/// The capabilities of `cap_add` and of Docker's default list without CAP_NET_RAW.
const GIVEN: u64 = 0xa804_05fb;
/// Attempts that succeed with the seccomp profile that Podman has by default: `docs/dev/isolation.md` says what to do.
const OPEN_BY_DEFAULT: [&str; 8] = [
    "new_user_namespace",
    "process_in_new_user_namespace",
    "process_by_the_newer_call",
    "mount_cgroups_in_user_namespace",
    "raise_own_memory_in_user_namespace",
    "key_ring",
    "keys_of_users_of_the_host",
    "socket_of_the_hypervisor",
];

/// An agent with a volume that tasks may only read.
fn start_with_volume(folder: &Folder, podman: &Podman) -> Agent {
    let tools = folder.path().join("tools").display().to_string();
    let volume = format!("client {{\n host_volume \"tools\" {{\n  path = \"{tools}\"\n  read_only = true\n }}\n");
    let plugin = podman.plugin(&format!("pids_limit = 64\n  {}", with_holder(podman)));
    let text = config(folder, &plugin).replacen("client {\n", &volume, 1);
    let agent = Agent::start(folder, &text, &[]);
    driver(&agent, true);
    agent
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn no_container_gets_out() {
    let Some(podman) = Podman::start_with("escapes", Profile::Strict) else { return };
    attempts(&podman, &[]);
}

#[test]
fn no_container_gets_out_with_the_default_profile() {
    let Some(podman) = Podman::start("escapes-default") else { return };
    attempts(&podman, &OPEN_BY_DEFAULT);
}

/// Makes the attempts; `open`: those that may succeed.
fn attempts(podman: &Podman, open: &[&str]) {
    let folder = Folder::new("containers-escapes");
    let Some(host) = Host::new(&folder, if open.is_empty() { "strict" } else { "default" }) else { return };
    podman.import_perl();
    let agent = start_with_volume(&folder, podman);
    let mut attacker = task(
        "",
        &json!({"image": PERL_IMAGE, "command": "/usr/bin/perl", "args": host.arguments(Kind::Docker),
            "volumes": [".:/own", "../alloc:/shared"], "cap_add": ["audit_write", "mknod"],}),
    );
    attacker["Resources"]["MemoryMB"] = json!(128);
    attacker["VolumeMounts"] = json!([{"Volume": "tools", "Destination": "/tools", "ReadOnly": true}]);
    let mut victim = task("echo key > /secrets/key; sleep 600; : victim-of-isolation", &json!({}));
    victim["Name"] = json!("victim");
    let mut job = job("escapes", JobType::Service, attacker);
    let group = &mut job["TaskGroups"][0];
    group["Tasks"].as_array_mut().expect("tasks").push(victim);
    group["Networks"] = json!([{"Mode": "none"}]);
    group["Volumes"] = json!({"tools": {"Name": "tools", "Type": "host", "Source": "tools", "ReadOnly": true}});
    let alloc = run(&agent, &job, ClientStatus::Running);
    says(&agent, &alloc, "\ndone\t\n");
    compare(Kind::Docker, &output(&agent, &alloc, "stdout"), open);
    // What runs commands in the container can't be changed while it does.
    for _ in 0..5 {
        let args = ["alloc", "exec", "-i=false", "-t=false", "-task", "t", id(&alloc), "/bin/echo", "here"];
        let ran = run_with(folder.path(), &args, &[("NOMAD_ADDR", &agent.address())], None);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("here\n", 0), "{}", ran.stderr);
    }
    let said = output(&agent, &alloc, "stdout");
    assert!(!said.contains("opened"), "{said}");
    host.stays_unharmed();
    stop(&agent, "escapes");
    podman.is_clean();
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn files_of_containers_do_not_lead_the_agent_out() {
    let Some(podman) = Podman::start("files") else { return };
    let folder = Folder::new("containers-files");
    let canary = folder.file("canary", SECRET);
    let agent = start(&folder, &podman, "");
    let mut victim = task("echo key > /secrets/key; sleep 600", &json!({}));
    victim["Name"] = json!("victim");
    let mut job = job("files", JobType::Service, task(&agent_files::script(&canary, "busybox "), &json!({})));
    job["TaskGroups"][0]["Tasks"].as_array_mut().expect("tasks").push(victim);
    let alloc = run(&agent, &job, ClientStatus::Running);
    says(&agent, &alloc, "made\n");
    agent_files::lead_nowhere(&agent, id(&alloc), "t", &canary);
    stop(&agent, "files");
    podman.is_clean();
}

/// A task makes links, and a later one of the allocation mounts them.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn volumes_do_not_lead_out_by_links_of_another_task() {
    let Some(podman) = Podman::start("links") else { return };
    let folder = Folder::new("containers-links");
    let canary = folder.file("canary", SECRET);
    let agent = start(&folder, &podman, "");
    let links = "busybox ln -s / /alloc/data/root; busybox ln -s /etc/shadow /alloc/data/file; \
                 busybox ln -s ../../../.. /alloc/data/parents; echo mine >/alloc/data/mine";
    let mut first = task(links, &json!({}));
    first["Name"] = json!("first");
    first["Lifecycle"] = json!({"Hook": "prestart", "Sidecar": false});
    let mounts = |name: &str, source: &str, status: ClientStatus| {
        let script = format!("cat /x /x{}", canary.display());
        let mut job = job(name, JobType::Batch, task(&script, &json!({"volumes": [format!("{source}:/x")]})));
        job["TaskGroups"][0]["Tasks"].as_array_mut().expect("tasks").push(first.clone());
        run(&agent, &job, status)
    };
    let own = mounts("mine", "../alloc/data/mine", ClientStatus::Failed);
    assert_eq!(output(&agent, &own, "stdout"), "mine\n", "what is the task's own can be mounted");
    for name in ["root", "file", "parents"] {
        let failed = mounts(name, &format!("../alloc/data/{name}"), ClientStatus::Failed);
        let seen = events(&agent, &failed);
        assert!(seen.iter().any(|e| e.contains("cannot mount host path")), "{name}: {seen:?}");
        assert!(!seen.iter().any(|e| e.starts_with("Started")), "{name}: {seen:?}");
    }
    podman.is_clean();
}

/// Runtimes that are not up to date keep files of the host open while they start a container.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn working_directories_do_not_lead_out_by_files_of_the_runtime() {
    let Some(podman) = Podman::start("directories") else { return };
    let folder = Folder::new("containers-directories");
    let canary = folder.file("canary", SECRET);
    let agent = start(&folder, &podman, "");
    let parents = "../".repeat(12);
    let script = format!("cat {parents}{}; echo tried", canary.display());
    let jobs: Vec<String> = (3..12).map(|file| format!("file{file}")).collect();
    for (name, file) in jobs.iter().zip(3..) {
        let more = json!({"work_dir": format!("/proc/self/fd/{file}"), "network_mode": "none"});
        register(&agent, &job(name, JobType::Batch, task(&script, &more)));
    }
    for name in &jobs {
        let mut ended = Json::Null;
        wait_for("the end of the task", || {
            ended = agent.list(&format!("/v1/job/{name}/allocations")).into_iter().next().ok_or("none yet")?;
            let status = ended["ClientStatus"].as_str().unwrap_or_default();
            if ["complete", "failed"].contains(&status) { Ok(()) } else { Err(status.to_string()) }
        });
        let said = output(&agent, &ended, "stdout");
        assert!(!said.contains(SECRET), "{name}: {said}");
    }
    podman.is_clean();
}

/// A user who is not root has no capabilities. Without `no-new-privileges`, a program may make its user another one, with
/// the capabilities that the container has.
#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn programs_that_run_as_root_have_the_capabilities_of_the_container() {
    let Some(podman) = Podman::start("privileges") else { return };
    let folder = Folder::new("containers-privileges");
    podman.import_perl();
    let agent = start(&folder, &podman, "");
    let runs = |name: &str, program: &str, options: &[&str]| {
        let prints = r#"print "$> "; open F, "/proc/self/status"; /^CapEff:\s*(\w+)/ and print $1 for <F>"#;
        let more = json!({"image": PERL_IMAGE, "security_opt": options, "network_mode": "none"});
        let mut task = task(&format!("exec /usr/bin/{program} -e '{prints}'"), &more);
        task["User"] = json!("bob");
        let ended = run(&agent, &job(name, JobType::Batch, task), ClientStatus::Complete);
        let said = output(&agent, &ended, "stdout");
        let (user, capabilities) = said.split_once(' ').unwrap_or_else(|| panic!("{name}: {said}"));
        (user.to_string(), u64::from_str_radix(capabilities, 16).expect("capabilities"))
    };
    assert_eq!(runs("plain", "perl", &[]), ("1000".into(), 0));
    let (user, capabilities) = runs("as-root", "perl-as-root", &[]);
    assert_eq!((user.as_str(), capabilities & !GIVEN), ("0", 0), "{capabilities:x}");
    assert_ne!(capabilities, 0);
    assert_eq!(runs("none", "perl-as-root", &["no-new-privileges"]), ("1000".into(), 0));
    podman.is_clean();
}
