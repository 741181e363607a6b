//! Actions that change the cluster: which are offered for an object, what is asked before, and the command that does it.

use crate::row::{Facts, Kind, Object};

/// What can be done to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Stops a job, or an allocation so that it is replaced.
    Stop,
    /// Restarts the tasks of a job or allocation.
    Restart,
    /// Changes the count of a group of a job.
    Scale {
        /// The group.
        group: String,
        /// Its count as it is.
        from: i64,
        /// Its new count.
        to: i64,
    },
    /// Promotes the canaries of a deployment.
    Promote,
    /// Marks a deployment as failed.
    Fail,
    /// Drains a node.
    Drain,
    /// Ends the drain of a node.
    EndDrain,
    /// Lets a node take no new allocations.
    MakeIneligible,
    /// Lets a node take new allocations again.
    MakeEligible,
    /// Registers a job as its plan was reviewed.
    Register {
        /// The plan file.
        file: String,
        /// The modify index that the job must still have.
        index: u64,
    },
}

/// An action on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// What is done.
    pub action: Action,
    /// To what.
    pub object: Object,
    /// The name of the object in messages.
    pub name: String,
}

/// An action that is offered: its key, and what it does. Scaling asks for the group and the count first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Stop.
    Stop,
    /// Restart.
    Restart,
    /// Scale a group.
    Scale,
    /// Promote.
    Promote,
    /// Fail.
    Fail,
    /// Start or end the drain of a node.
    Drain,
    /// Change the eligibility of a node.
    Eligibility,
}

impl Offer {
    /// Its key.
    pub fn key(self) -> char {
        match self {
            Offer::Stop => 'K',
            Offer::Restart => 'R',
            Offer::Scale => 'C',
            Offer::Promote => 'P',
            Offer::Fail => 'F',
            Offer::Drain => 'D',
            Offer::Eligibility => 'E',
        }
    }

    /// The word for it.
    pub fn label(self, facts: Facts) -> &'static str {
        match self {
            Offer::Stop => "stop",
            Offer::Restart => "restart",
            Offer::Scale => "scale",
            Offer::Promote => "promote",
            Offer::Fail => "fail",
            Offer::Drain if facts.draining => "end the drain",
            Offer::Drain => "drain",
            Offer::Eligibility if facts.ineligible => "make eligible",
            Offer::Eligibility => "make ineligible",
        }
    }

    /// The action; `None` for scaling, which needs a group and a count.
    pub fn action(self, facts: Facts) -> Option<Action> {
        Some(match self {
            Offer::Stop => Action::Stop,
            Offer::Restart => Action::Restart,
            Offer::Scale => return None,
            Offer::Promote => Action::Promote,
            Offer::Fail => Action::Fail,
            Offer::Drain if facts.draining => Action::EndDrain,
            Offer::Drain => Action::Drain,
            Offer::Eligibility if facts.ineligible => Action::MakeEligible,
            Offer::Eligibility => Action::MakeIneligible,
        })
    }
}

/// The actions that are offered for an object of a running cluster.
pub fn offers(kind: Kind, facts: Facts) -> Vec<Offer> {
    match kind {
        Kind::Job if facts.ended => Vec::new(),
        Kind::Job => vec![Offer::Stop, Offer::Restart, Offer::Scale],
        Kind::Allocation if facts.ended => Vec::new(),
        Kind::Allocation => vec![Offer::Stop, Offer::Restart],
        Kind::Deployment if facts.ended => Vec::new(),
        Kind::Deployment if facts.promotable => vec![Offer::Promote, Offer::Fail],
        Kind::Deployment => vec![Offer::Fail],
        // A node that is drained is made eligible by the end of the drain.
        Kind::Node if facts.draining => vec![Offer::Drain],
        Kind::Node => vec![Offer::Drain, Offer::Eligibility],
        Kind::Evaluation | Kind::Other => Vec::new(),
    }
}

impl Act {
    /// What is asked before it is done.
    pub fn question(&self) -> String {
        let kind = self.object.kind.word();
        let name = &self.name;
        let namespace = match self.object.namespace.as_str() {
            "" | "default" => String::new(),
            other => format!(" in namespace {other}"),
        };
        let what = match &self.action {
            Action::Stop if self.object.kind == Kind::Allocation => {
                format!("Stop allocation {name}{namespace}, so that it is replaced")
            }
            Action::Stop => format!("Stop job {name}{namespace} with all its allocations"),
            Action::Restart => format!("Restart the tasks of {kind} {name}{namespace}"),
            Action::Scale { group, from, to } => {
                format!("Scale group {group} of job {name}{namespace} from {from} to {to}")
            }
            Action::Promote => format!("Promote the canaries of deployment {name}{namespace}"),
            Action::Fail => format!("Mark deployment {name}{namespace} as failed"),
            Action::Drain => format!("Drain node {name}: its allocations move to other nodes"),
            Action::EndDrain => format!("End the drain of node {name} and make it eligible"),
            Action::MakeIneligible => format!("Make node {name} ineligible for new allocations"),
            Action::MakeEligible => format!("Make node {name} eligible for new allocations"),
            Action::Register { index: 0, .. } => format!("Register the new job {name}{namespace} as reviewed"),
            Action::Register { index, .. } => {
                format!("Register job {name}{namespace} as reviewed (modify index {index})")
            }
        };
        format!("{what}? [y/N]")
    }

    /// What is said when it is done.
    pub fn done(&self) -> String {
        let kind = self.object.kind.word();
        let name = &self.name;
        match &self.action {
            Action::Stop => format!("The {kind} {name} is stopped."),
            Action::Restart => format!("The {kind} {name} is restarted."),
            Action::Scale { group, to, .. } => format!("Group {group} of job {name} has the count {to}."),
            Action::Promote => format!("Deployment {name} is promoted."),
            Action::Fail => format!("Deployment {name} is marked as failed."),
            Action::Drain => format!("Node {name} is draining."),
            Action::EndDrain => format!("The drain of node {name} has ended."),
            Action::MakeIneligible => format!("Node {name} is ineligible."),
            Action::MakeEligible => format!("Node {name} is eligible."),
            Action::Register { .. } => format!("Job {name} is registered as reviewed."),
        }
    }

    /// The command that does it.
    pub fn command(&self) -> Vec<String> {
        let (words, flags): (&[&str], &[&str]) = match (&self.action, self.object.kind) {
            (Action::Stop, Kind::Allocation) => (&["alloc", "stop"], &["-detach"]),
            (Action::Stop, _) => (&["job", "stop"], &["-detach", "-yes"]),
            (Action::Restart, Kind::Allocation) => (&["alloc", "restart"], &[]),
            (Action::Restart, _) => (&["job", "restart"], &["-yes", "-on-error=fail"]),
            (Action::Scale { .. }, _) => (&["job", "scale"], &["-detach"]),
            (Action::Promote, _) => (&["deployment", "promote"], &["-detach"]),
            (Action::Fail, _) => (&["deployment", "fail"], &["-detach"]),
            (Action::Drain, _) => (&["node", "drain"], &["-enable", "-detach", "-yes"]),
            (Action::EndDrain, _) => (&["node", "drain"], &["-disable", "-yes"]),
            (Action::MakeIneligible, _) => (&["node", "eligibility"], &["-disable"]),
            (Action::MakeEligible, _) => (&["node", "eligibility"], &["-enable"]),
            (Action::Register { .. }, _) => (&["job", "run"], &["-detach"]),
        };
        let mut out: Vec<String> = words.iter().chain(flags).map(ToString::to_string).collect();
        if let Action::Register { file, .. } = &self.action {
            out.extend(["--".to_string(), file.clone()]);
            return out;
        }
        out.extend(self.object.flag());
        out.extend(["--".to_string(), self.object.id.clone()]);
        if let Action::Scale { group, to, .. } = &self.action {
            out.extend([group.clone(), to.to_string()]);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(action: Action, kind: Kind, namespace: &str) -> Act {
        Act { action, object: Object::new(kind, namespace, "x1"), name: "x1".into() }
    }

    #[test]
    fn commands_name_the_namespace_of_the_object() {
        let line = |act: &Act| act.command().join(" ");
        assert_eq!(line(&act(Action::Stop, Kind::Job, "prod")), "job stop -detach -yes -namespace=prod -- x1");
        let scale = Action::Scale { group: "g".into(), from: 1, to: 3 };
        assert_eq!(line(&act(scale, Kind::Job, "default")), "job scale -detach -namespace=default -- x1 g 3");
        assert_eq!(line(&act(Action::Drain, Kind::Node, "")), "node drain -enable -detach -yes -- x1");
        assert_eq!(line(&act(Action::Restart, Kind::Allocation, "a")), "alloc restart -namespace=a -- x1");
    }

    #[test]
    fn every_action_asks() {
        for kind in [Kind::Job, Kind::Allocation, Kind::Node, Kind::Deployment] {
            for facts in [Facts::default(), Facts { draining: true, ineligible: true, ..Facts::default() }] {
                for action in offers(kind, facts).into_iter().filter_map(|offer| offer.action(facts)) {
                    let question = act(action, kind, "prod").question();
                    assert!(question.ends_with("? [y/N]") && question.contains("x1"), "{question}");
                }
            }
        }
    }

    #[test]
    fn ended_objects_and_evaluations_offer_nothing() {
        let ended = Facts { ended: true, ..Facts::default() };
        for kind in [Kind::Job, Kind::Allocation, Kind::Deployment] {
            assert!(offers(kind, ended).is_empty());
        }
        assert!(offers(Kind::Evaluation, Facts::default()).is_empty());
    }
}
