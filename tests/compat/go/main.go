// What the reference's own client library does with a server: `go run . ADDRESS`. Prints a line for each step; a step that fails
// ends it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

const (
	patience = time.Minute
	name     = "from-go"
)

func step(format string, args ...any) {
	fmt.Printf("go api: "+format+"\n", args...)
}

func must(err error, what string) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
}

func check(holds bool, format string, args ...any) {
	if !holds {
		panic(fmt.Sprintf(format, args...))
	}
}

// Waits until look says that what is waited for has come.
func until(what string, look func() bool) {
	for end := time.Now().Add(patience); !look(); time.Sleep(50 * time.Millisecond) {
		check(time.Now().Before(end), "%s did not come", what)
	}
}

func ptr[T any](value T) *T {
	return &value
}

func job(id string, count int, text string) *api.Job {
	task := api.NewTask("pretend", "mock_driver").
		SetConfig("run_for", "1h").
		SetConfig("stdout_string", text+" words\n").
		Require(&api.Resources{CPU: ptr(100), MemoryMB: ptr(64)})
	group := api.NewTaskGroup("group", count).AddTask(task)
	made := api.NewServiceJob(id, id, "global", 50).AddTaskGroup(group)
	made.Datacenters = []string{"*"}
	made.Update = &api.UpdateStrategy{MaxParallel: ptr(0)}
	made.SetMeta("text", text)
	return made
}

func running(client *api.Client, count int) []*api.AllocationListStub {
	var now []*api.AllocationListStub
	until(fmt.Sprintf("%d allocations", count), func() bool {
		all, _, err := client.Jobs().Allocations(name, false, nil)
		must(err, "allocations")
		now = nil
		for _, a := range all {
			if a.ClientStatus == "running" && a.DesiredStatus == "run" {
				now = append(now, a)
			}
		}
		return len(now) == count
	})
	return now
}

func main() {
	client, err := api.NewClient(&api.Config{Address: os.Args[1]})
	must(err, "client")
	if len(os.Args) > 2 && os.Args[2] == "access" {
		access(client)
		return
	}
	var node *api.NodeListStub
	until("a node", func() bool {
		nodes, _, err := client.Nodes().List(nil)
		must(err, "nodes")
		if len(nodes) == 1 && nodes[0].Status == "ready" {
			node = nodes[0]
		}
		return node != nil
	})
	made := register(client)
	plan(client, made)
	read(client, node)
	block(client)
	stream(client)
	drain(client, node)
	stop(client)
}

// Access control: makes, uses and revokes tokens.
func access(client *api.Client) {
	refused := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "403")
	}
	_, _, err := client.Jobs().List(nil)
	check(refused(err), "without a token: %v", err)
	root, _, err := client.ACLTokens().Bootstrap(nil)
	must(err, "bootstrap")
	_, _, err = client.ACLTokens().Bootstrap(nil)
	check(err != nil && strings.Contains(err.Error(), "ACL bootstrap already done"), "second bootstrap: %v", err)
	client.SetSecretID(root.SecretID)
	step("bootstrapped")

	rules := "namespace \"default\" {\n  policy = \"read\"\n}\n"
	_, err = client.ACLPolicies().Upsert(&api.ACLPolicy{Name: "readers", Rules: rules}, nil)
	must(err, "policy")
	role, _, err := client.ACLRoles().Create(
		&api.ACLRole{Name: "reading", Policies: []*api.ACLRolePolicyLink{{Name: "readers"}}}, nil)
	must(err, "role")
	policy, _, err := client.ACLPolicies().Info("readers", nil)
	must(err, "read the policy")
	check(policy.Rules == rules, "rules: %v", policy.Rules)
	step("wrote a policy and a role")

	token, _, err := client.ACLTokens().Create(&api.ACLToken{
		Name: "anna", Type: "client", Roles: []*api.ACLTokenRoleLink{{ID: role.ID}}, ExpirationTTL: time.Hour,
	}, nil)
	must(err, "token")
	check(token.ExpirationTime != nil && token.Roles[0].Name == "reading", "token: %+v", token)
	once, _, err := client.ACLTokens().UpsertOneTimeToken(nil)
	must(err, "one-time token")
	exchanged, _, err := client.ACLTokens().ExchangeOneTimeToken(once.OneTimeSecretID, nil)
	must(err, "exchange")
	check(exchanged.AccessorID == root.AccessorID, "exchanged: %v", exchanged.AccessorID)
	_, _, err = client.ACLTokens().ExchangeOneTimeToken(once.OneTimeSecretID, nil)
	check(refused(err), "second exchange: %v", err)
	step("made tokens")

	client.SetSecretID(token.SecretID)
	_, _, err = client.Jobs().List(nil)
	must(err, "jobs")
	_, _, err = client.Nodes().List(nil)
	check(refused(err), "nodes: %v", err)
	self, _, err := client.ACLTokens().Self(nil)
	must(err, "self")
	check(self.AccessorID == token.AccessorID, "self: %v", self.AccessorID)
	_, _, err = client.Jobs().Register(job(name, 1, "first"), nil)
	check(refused(err), "register: %v", err)
	step("used a token")

	client.SetSecretID(root.SecretID)
	_, err = client.ACLTokens().Delete(token.AccessorID, nil)
	must(err, "delete")
	_, err = client.ACLRoles().Delete(role.ID, nil)
	must(err, "delete the role")
	client.SetSecretID(token.SecretID)
	_, _, err = client.Jobs().List(nil)
	check(refused(err), "revoked: %v", err)
	step("revoked the token")
}

func register(client *api.Client) *api.JobRegisterResponse {
	made, _, err := client.Jobs().Register(job(name, 2, "first"), nil)
	must(err, "register")
	eval, _, err := client.Evaluations().Info(made.EvalID, nil)
	must(err, "evaluation")
	check(eval.JobID == name && eval.TriggeredBy == "job-register", "%+v", eval)
	running(client, 2)
	step("registered %s: 2 allocations run", name)
	return made
}

func plan(client *api.Client, made *api.JobRegisterResponse) {
	planned, _, err := client.Jobs().Plan(job(name, 3, "first"), true, nil)
	must(err, "plan")
	check(planned.Diff.Type == "Edited" && planned.Annotations.DesiredTGUpdates["group"].Place == 1, "%+v", planned)
	stored, _, err := client.Jobs().Info(name, nil)
	must(err, "job")
	check(*stored.TaskGroups[0].Count == 2, "the plan changed the job")
	step("planned a third one, nothing changed")

	_, _, err = client.Jobs().EnforceRegister(job(name, 3, "first"), made.JobModifyIndex+1000, nil)
	check(err != nil && strings.Contains(err.Error(), api.RegisterEnforceIndexErrPrefix), "a stale index was taken: %v", err)
	_, _, err = client.Jobs().EnforceRegister(job(name, 3, "first"), planned.JobModifyIndex, nil)
	must(err, "register with an index")
	running(client, 3)
	step("ran what was planned, with the index checked")
}

func read(client *api.Client, node *api.NodeListStub) {
	jobs, _, err := client.Jobs().List(nil)
	must(err, "jobs")
	check(len(jobs) == 1 && jobs[0].ID == name, "%+v", jobs)
	summary, _, err := client.Jobs().Summary(name, nil)
	must(err, "summary")
	check(summary.Summary["group"].Running == 3, "%+v", summary)
	versions, diffs, _, err := client.Jobs().Versions(name, true, nil)
	must(err, "versions")
	check(len(versions) == 2 && len(diffs) == 1 && diffs[0].Type == "Edited", "%d versions", len(versions))
	evals, _, err := client.Jobs().Evaluations(name, nil)
	must(err, "evaluations")
	check(len(evals) >= 2, "%+v", evals)
	alloc, _, err := client.Allocations().Info(running(client, 3)[0].ID, nil)
	must(err, "allocation")
	check(alloc.NodeID == node.ID && alloc.TaskStates["pretend"].State == "running", "%+v", alloc)
	check(*alloc.Job.ID == name && alloc.AllocatedResources.Tasks["pretend"].Cpu.CpuShares == 100, "%+v", alloc)
	text := make(chan string)
	go func() {
		cancel := make(chan struct{})
		defer close(cancel)
		frames, errs := client.AllocFS().Logs(alloc, false, "pretend", "stdout", "start", 0, cancel, nil)
		var all bytes.Buffer
		for {
			select {
			case frame, open := <-frames:
				if !open {
					text <- all.String()
					return
				}
				all.Write(frame.Data)
			case err := <-errs:
				must(err, "logs")
			}
		}
	}()
	check(strings.Contains(<-text, "first words"), "no logs")
	file, err := client.AllocFS().Cat(alloc, "/alloc/logs/pretend.stdout.0", nil)
	must(err, "file")
	content, err := io.ReadAll(file)
	must(err, "file")
	check(strings.HasPrefix(string(content), "first words"), "%q", content)
	self, err := client.Agent().Self()
	must(err, "agent")
	check(self.Member.Status == "alive" && self.Stats["nomad"]["leader"] == "true", "%+v", self)
	members, err := client.Agent().Members()
	must(err, "members")
	check(len(members.Members) == 1, "%+v", members)
	leader, err := client.Status().Leader()
	must(err, "leader")
	check(leader != "", "no leader")
	spaces, _, err := client.Namespaces().List(nil)
	must(err, "namespaces")
	check(len(spaces) == 1 && spaces[0].Name == "default", "%+v", spaces)
	config, _, err := client.Operator().SchedulerGetConfiguration(nil)
	must(err, "configuration")
	check(config.SchedulerConfig.SchedulerAlgorithm == "binpack", "%+v", config)
	_, _, err = client.Jobs().Info("nothing", nil)
	check(err != nil && strings.Contains(err.Error(), "404") && strings.Contains(err.Error(), "job not found"), "%v", err)
	step("read jobs, versions, evaluations, allocations, logs, files, members, leader, configuration")
}

func block(client *api.Client) {
	_, meta, err := client.Jobs().Info(name, nil)
	must(err, "job")
	begin := time.Now()
	_, same, err := client.Jobs().Info(name, &api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: 300 * time.Millisecond})
	must(err, "blocking read")
	check(same.LastIndex == meta.LastIndex && time.Since(begin) >= 300*time.Millisecond, "%+v after %s", same, time.Since(begin))
	type answer struct {
		job  *api.Job
		meta *api.QueryMeta
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		j, m, err := client.Jobs().Info(name, &api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: patience})
		answers <- answer{j, m, err}
	}()
	select {
	case a := <-answers:
		panic(fmt.Sprintf("the answer came before the change: %+v", a))
	case <-time.After(200 * time.Millisecond):
	}
	_, _, err = client.Jobs().Register(job(name, 3, "second"), nil)
	must(err, "register")
	a := <-answers
	must(a.err, "blocking read")
	check(a.meta.LastIndex > meta.LastIndex && a.job.Meta["text"] == "second", "%+v", a)
	running(client, 3)
	step("a blocking read woke when the job changed")
}

func stream(client *api.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	topics := map[api.Topic][]string{api.TopicJob: {"streamed"}, api.TopicAllocation: {"streamed"}}
	events, err := client.EventStream().Stream(ctx, topics, 0, nil)
	must(err, "event stream")
	_, _, err = client.Jobs().Register(job("streamed", 1, "first"), nil)
	must(err, "register")
	want := map[string]bool{"JobRegistered": true, "AllocationUpdated": true}
	for batch := range events {
		must(batch.Err, "events")
		for _, event := range batch.Events {
			switch event.Topic {
			case api.TopicJob:
				j, err := event.Job()
				must(err, "job of an event")
				check(*j.ID == "streamed", "%+v", event)
			case api.TopicAllocation:
				a, err := event.Allocation()
				must(err, "allocation of an event")
				check(a.JobID == "streamed", "%+v", event)
			}
			delete(want, event.Type)
		}
		if len(want) == 0 {
			break
		}
	}
	check(len(want) == 0, "no events of %v", reflect.ValueOf(want).MapKeys())
	_, _, err = client.Jobs().Deregister("streamed", true, nil)
	must(err, "purge")
	step("events were streamed")
}

func drain(client *api.Client, node *api.NodeListStub) {
	spec := &api.DrainSpec{Deadline: time.Second}
	changed, err := client.Nodes().UpdateDrain(node.ID, spec, false, nil)
	must(err, "drain")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told := 0
	for message := range client.Nodes().MonitorDrain(ctx, node.ID, changed.LastIndex, false) {
		check(message.Level != api.MonitorMsgLevelError, "%s", message)
		told++
	}
	check(ctx.Err() == nil && told > 0, "the drain did not end")
	drained, _, err := client.Nodes().Info(node.ID, nil)
	must(err, "node")
	check(!drained.Drain && drained.SchedulingEligibility == "ineligible", "%+v", drained)
	check(drained.LastDrain.Status == api.DrainStatusComplete, "%+v", drained.LastDrain)
	running(client, 0)
	_, err = client.Nodes().ToggleEligibility(node.ID, true, nil)
	must(err, "eligibility")
	running(client, 3)
	step("drained the node, watched it with %d messages, and took it back", told)
}

func stop(client *api.Client) {
	_, _, err := client.Jobs().Deregister(name, false, nil)
	must(err, "stop")
	running(client, 0)
	until("the end of the job", func() bool {
		stored, _, err := client.Jobs().Info(name, nil)
		must(err, "job")
		return *stored.Status == "dead" && *stored.Stop
	})
	_, _, err = client.Jobs().Deregister(name, true, nil)
	must(err, "purge")
	_, _, err = client.Jobs().Info(name, nil)
	check(err != nil, "the job is still there")
	must(client.System().GarbageCollect(), "garbage collection")
	step("stopped and purged")
}
