//! Every action in a real browser: a person presses the button, confirms, and the page says what happened.

use encamp_test_support::browser::Browser;
use encamp_test_support::notes;
use serde_json::{Value, json};

use super::filled::{Filled, SAYS, job, plain, text};
use super::pages::sign_in;
use crate::agent::wait_for;
use crate::program::Folder;

/// A person with a browser at the agent.
struct Person {
    browser: Browser,
    base: String,
    _folder: Folder,
}

impl Person {
    /// Opens a browser and signs in with the management token.
    fn signed_in(c: &Filled, suite: &str) -> Option<Person> {
        let folder = Folder::new(&format!("{suite}-browser"));
        let Some(mut browser) = Browser::start(folder.path()) else {
            notes::missing(suite, "chromium is not installed");
            return None;
        };
        let base = c.agent.address();
        sign_in(&mut browser, &base, &c.agent.token);
        Some(Person { browser, base, _folder: folder })
    }

    fn open(&mut self, address: &str) {
        self.browser.visit(&format!("{}{address}", self.base));
    }

    /// Presses a button, and waits for what the next page says.
    fn press(&mut self, button: &str, said: &str) {
        self.browser.click("button", button);
        self.said(said);
    }

    /// Presses a button, confirms what it asks, and waits for what the next page says.
    fn confirm(&mut self, button: &str, said: &str) {
        self.browser.click("button", button);
        self.browser.wait_until("!!document.querySelector('dialog[open]')");
        self.press(button, said);
    }

    /// Opens a form that is behind a button.
    fn unfold(&mut self, title: &str) {
        let summary = format!("[...document.querySelectorAll('summary')].find(s => s.innerText.trim() === {title:?})");
        self.browser.wait_until(&format!("!!{summary}"));
        self.browser.evaluate(&format!("{summary}.click()"));
    }

    /// Waits for a message of the page.
    fn said(&mut self, said: &str) {
        self.browser.wait_for_text(said);
    }
}

/// Waits until the API says so.
fn until(what: &str, fits: impl Fn() -> bool) {
    wait_for(what, || if fits() { Ok(()) } else { Err("not yet".into()) });
}

#[test]
fn jobs_and_deployments_are_changed_by_buttons() {
    let c = Filled::start("web-ui-jobs");
    let Some(mut p) = Person::signed_in(&c, "web-ui-jobs") else { return };
    p.open(&format!("/ui/deployments/{}", c.canary));
    p.press("Promote", "The canaries were promoted.");
    p.said("Deployment completed successfully");
    p.open("/ui/jobs/web@default");
    p.browser.fill("spinbutton", "Count of group front", "2");
    p.press("Scale", "The count of group front is 2 now.");
    until("two allocations", || c.agent.get("/v1/job/web/summary")["Summary"]["front"]["Running"] == 2);
    p.unfold("Restart");
    p.press("Restart allocations", "running allocations were restarted.");
    p.unfold("Evaluate");
    p.press("Evaluate job", "was created.");
    p.open("/ui/jobs/web@default/versions");
    p.confirm("Revert to version 0", "The job is as it was in version 0.");
    p.said("The canaries wait until an operator promotes or fails the deployment.");
    p.press("Pause", "The deployment is paused.");
    p.press("Resume", "The deployment continues.");
    p.confirm("Fail", "The deployment was failed.");
    until("a failed deployment", || c.agent.list("/v1/job/web/deployments").iter().any(|d| d["Status"] == "failed"));
    p.open("/ui/jobs/exporter@default");
    p.unfold("Stop");
    p.confirm("Stop job", "Job exporter was stopped.");
    p.confirm("Start", "Job exporter was started.");
    p.open("/ui/jobs/broken@default");
    p.unfold("Stop");
    p.browser.click("checkbox", "Purge: remove the job and its history as well");
    p.confirm("Stop job", "Job broken was purged.");
    assert_eq!(p.browser.address(), "/ui/jobs");
    p.open("/ui/jobs/convert@default");
    p.unfold("Dispatch");
    p.browser.fill("textbox", "source (optional)", "b");
    p.browser.fill("textbox", "Payload (optional)", "ten lines");
    p.press("Dispatch job", "The job was dispatched.");
    p.open("/ui/jobs/report@default");
    p.confirm("Force launch", "The job was launched: evaluation");
    until("a launched job", || c.agent.list("/v1/jobs?prefix=report/periodic-").len() == 1);
    assert_eq!(p.browser.problems(), [""; 0]);
}

#[test]
fn a_plan_is_registered_as_reviewed_and_preempts() {
    let c = Filled::start("web-ui-plans");
    let Some(mut p) = Person::signed_in(&c, "web-ui-plans") else { return };
    p.open("/ui/plan");
    p.browser.fill("textbox", "Job file", "job \"urgent\" {");
    p.browser.click("button", "Check");
    p.browser.wait_until("!!document.querySelector('#check li[data-line]')");
    p.browser.fill("textbox", "Job file", URGENT);
    p.browser.click("button", "Plan");
    p.said("would be preempted (1 created).");
    let victims = p.browser.evaluate("[...document.querySelectorAll('#answer a')].map(a => a.innerText)");
    assert!(victims.as_array().is_some_and(|all| all.contains(&json!("payments"))), "{victims}");
    p.browser.click("button", "Register as reviewed");
    p.said("Job urgent is registered as reviewed.");
    assert_eq!(p.browser.address(), "/ui/jobs/urgent@default");
    let urgent = c.allocation("urgent", "default", |a| a["ClientStatus"] == "running");
    p.open(&format!("/ui/allocations/{}", c.preempting));
    p.said("Preempted by");
    p.browser.click("link", urgent.get(..8).expect("an ID"));
    p.browser.wait_until(&format!("location.pathname === '/ui/allocations/{urgent}'"));
    p.said("Preempts:");
    assert_eq!(p.browser.problems(), [""; 0]);
}

/// A job that fits only in place of job `payments`.
const URGENT: &str = r#"job "urgent" {
  priority = 100

  group "front" {
    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }

      resources {
        cpu    = 20
        memory = 1100
      }
    }
  }
}
"#;

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn tasks_are_followed_entered_restarted_and_stopped() {
    let c = Filled::start("web-ui-tasks");
    let Some(mut p) = Person::signed_in(&c, "web-ui-tasks") else { return };
    let at = format!("/ui/allocations/{}", c.web);
    p.open(&format!("{at}/server/logs"));
    p.said("Following.");
    let told = c.run(&["alloc", "exec", &c.web, "/bin/sh", "-c", "echo a line printed later > local/say/1"], &[]);
    assert_eq!(told.exit, 0, "{}", told.stderr);
    p.browser.wait_until("document.getElementById('log').textContent.includes('a line printed later')");
    p.open(&format!("{at}/server/exec?command=/bin/sh"));
    p.said("Connected.");
    p.browser.wait_until("document.activeElement.matches('.xterm textarea')");
    p.browser.press_letters("echo answer $((6*7))");
    p.browser.press_enter();
    p.browser.wait_until("document.querySelector('.xterm-rows').textContent.includes('answer 42')");
    p.browser.press_letters("exit 3");
    p.browser.press_enter();
    p.said("The command ended with exit code 3.");
    p.open("/ui/jobs/web@default");
    p.browser.click("link", "Run");
    p.browser.wait_until("!!document.querySelector('.xterm-rows')?.textContent.includes('hello from the action')");
    p.open(&format!("{at}/fs"));
    p.browser.click("link", "server/");
    p.browser.wait_until("location.search.includes('server')");
    p.open(&at);
    p.unfold("Restart");
    p.press("Restart tasks", "The tasks restart.");
    until("a restarted task", || {
        let alloc = c.agent.get(&format!("/v1/allocation/{}", c.web));
        let task = &alloc["TaskStates"]["server"];
        task["Restarts"] == 1 && task["State"] == "running" && alloc["ClientStatus"] == "running"
    });
    p.open(&at);
    p.unfold("Signal");
    p.press("Send signal", "SIGHUP was sent.");
    p.open(&at);
    p.confirm("Stop and replace", "The allocation is being stopped: evaluation");
    until("the end", || c.agent.get(&format!("/v1/allocation/{}", c.web))["DesiredStatus"] == "stop");
    assert_eq!(p.browser.problems(), [""; 0]);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn clients_variables_and_settings_are_changed_by_forms() {
    let c = Filled::start("web-ui-settings-forms");
    let Some(mut p) = Person::signed_in(&c, "web-ui-settings-forms") else { return };
    // A batch job runs on until the deadline of a drain.
    c.put("/v1/jobs", &job("slow", "batch", SAYS, plain()));
    c.allocation("slow", "default", |a| a["ClientStatus"] == "running");
    client(&c, &mut p);
    variables(&c, &mut p);
    access(&c, &mut p);
    until("a registered service", || !c.agent.list("/v1/service/shop").is_empty());
    p.open("/ui/services/shop@default");
    p.confirm("Delete", "deleted");
    for (kind, new, name) in [("namespaces", "New namespace", "Team"), ("pools", "New node pool", "gpu")] {
        p.open("/ui/namespaces");
        p.unfold(new);
        p.browser.fill("textbox", "Name", name);
        p.press("Save", "Saved.");
        assert_eq!(p.browser.address(), format!("/ui/{kind}/{name}"));
        p.confirm("Delete", "is deleted.");
    }
    let read = |path: &str| c.agent.send("GET", path, &Value::Null).status;
    p.open(&format!("/ui/storage/volumes/host/{}", c.volume));
    p.confirm("Delete", "deleted");
    assert_eq!(read(&format!("/v1/volume/host/{}", c.volume)), 404);
    assert_eq!(p.browser.problems(), [""; 0]);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn definitions_and_claims_are_changed_by_forms() {
    let c = Filled::start("web-ui-rare-forms");
    let Some(mut p) = Person::signed_in(&c, "web-ui-rare-forms") else { return };
    p.open("/ui/access-control/auth-methods/pipeline");
    p.press("Save", "The auth method is saved.");
    p.open(&format!("/ui/access-control/binding-rules/{}", c.rule));
    p.press("Save", "The binding rule is saved.");
    p.open("/ui/access-control/binding-rules");
    p.unfold("New binding rule");
    let rule = json!({"AuthMethod": "pipeline", "BindType": "policy", "BindName": "readers", "Description": "by form"});
    p.browser.fill("textbox", "Definition (JSON)", &rule.to_string());
    p.press("Save", "The binding rule is saved.");
    assert!(c.agent.list("/v1/acl/binding-rules").iter().any(|r| r["Description"] == "by form"));
    let sticky = json!({"Volumes": {"data": {"Name": "data", "Type": "host", "Source": "scratch", "Sticky": true,
        "AccessMode": "single-node-writer", "AttachmentMode": "file-system"}}});
    c.put("/v1/jobs", &job("keeper", "service", SAYS, [Value::Null, sticky, Value::Null]));
    c.allocation("keeper", "default", |a| a["ClientStatus"] == "running");
    until("a claim", || c.agent.list("/v1/volumes/claims").len() == 1);
    p.open("/ui/storage/claims");
    p.confirm("Delete", "deleted");
    until("no claim", || c.agent.list("/v1/volumes/claims").is_empty());
    assert_eq!(p.browser.problems(), [""; 0]);
}

/// Eligibility; a drain, its change and its end.
fn client(c: &Filled, p: &mut Person) {
    let node = || c.agent.get(&format!("/v1/node/{}", c.node));
    p.open(&format!("/ui/clients/{}", c.node));
    p.press("Accept no new allocations", "The client is ineligible.");
    assert_eq!(node()["SchedulingEligibility"], "ineligible");
    p.press("Accept new allocations", "The client is eligible.");
    p.unfold("Drain");
    p.browser.fill("textbox", "Message", "a new kernel");
    p.confirm("Drain", "The client drains.");
    p.said("a new kernel");
    assert_eq!(node()["Drain"], true);
    p.press("Stop the drain", "The drain is stopped.");
    until("the end of the drain", || {
        node()["SchedulingEligibility"] == "eligible" && node()["DrainStrategy"].is_null()
    });
}

/// A new variable, another value, and its end.
fn variables(c: &Filled, p: &mut Person) {
    p.open("/ui/variables");
    p.browser.click("link", "New variable");
    p.browser.wait_until("location.pathname === '/ui/variables/new'");
    p.browser.fill("textbox", "Path", "nomad/jobs/shop");
    p.browser.fill("textbox", "Key", "colour");
    p.browser.fill("textbox", "Value", "green");
    p.press("Save", "The variable is saved.");
    let value = || c.agent.get("/v1/var/nomad/jobs/shop")["Items"].clone();
    assert_eq!(value(), json!({"colour": "green"}));
    p.browser.click("link", "Edit");
    p.browser.wait_until("location.pathname.endsWith('/edit')");
    p.browser.fill("textbox", "Value", "red");
    p.press("Save", "The variable is saved.");
    assert_eq!(value(), json!({"colour": "red"}));
    p.confirm("Delete", "The variable is deleted.");
    assert_eq!(c.agent.send("GET", "/v1/var/nomad/jobs/shop", &Value::Null).status, 404);
}

/// A policy, a role and a token.
fn access(c: &Filled, p: &mut Person) {
    p.open("/ui/access");
    p.unfold("New policy");
    p.browser.fill("textbox", "Name", "deployers");
    p.press("Save", "saved");
    p.open("/ui/access-control/roles");
    p.unfold("New role");
    p.browser.fill("textbox", "Name", "team");
    p.browser.fill("textbox", "Policies", "deployers");
    p.press("Save", "The role is saved.");
    p.confirm("Delete", "Deleted.");
    p.open("/ui/access-control/tokens");
    p.unfold("New token");
    p.browser.fill("textbox", "Name", "pipeline");
    p.browser.fill("textbox", "Policies", "deployers");
    p.press("Create", "The token is created.");
    let made = c.agent.list("/v1/acl/tokens").into_iter().find(|t| t["Name"] == "pipeline").expect("a token");
    assert_eq!(p.browser.address(), format!("/ui/access-control/tokens/{}", text(&made, "AccessorID")));
    p.confirm("Delete", "Deleted.");
    p.open("/ui/access-control/policies/deployers");
    p.confirm("Delete", "Deleted.");
    p.open(&format!("/ui/access-control/binding-rules/{}", c.rule));
    p.confirm("Delete", "Deleted.");
    p.open("/ui/access-control/auth-methods/pipeline");
    p.confirm("Delete", "Deleted.");
}
