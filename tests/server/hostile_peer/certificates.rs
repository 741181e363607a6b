//! Every call by every kind of certificate, against a server that checks names (`verify_server_hostname`).

use serde_json::json;

use crate::agent::wait_for;
use crate::hostile_peer::peer::{Peer, certificate, packed};
use crate::member::{Member, Role};
use crate::program::Folder;
use crate::tls::Authority;

/// Calls, and whether nodes may make them.
const CALLS: [(&str, bool); 23] = [
    ("Status.Ping", true),
    ("Node.Register", true),
    ("Node.UpdateStatus", true),
    ("Node.GetClientAllocs", true),
    ("Node.GetClientAllocsConsistent", true),
    ("Node.UpdateAlloc", true),
    ("Node.EmitEvents", true),
    ("Node.UpdateDrain", true),
    ("Node.GetNode", true),
    ("Alloc.GetAllocs", true),
    ("Alloc.SignIdentities", true),
    ("ServiceRegistration.Upsert", true),
    ("ServiceRegistration.DeleteByID", true),
    ("Serf.Members", false),
    ("Serf.ForceLeave", false),
    ("Serf.Keyring", false),
    ("Server.Vouch", false),
    ("Server.Confirm", false),
    ("Raft.Message", false),
    ("Raft.Claim", false),
    ("Raft.Stand", false),
    ("Scheduler.WorkerCall", false),
    ("Operator.RaftRemovePeerByID", false),
];

/// Names of certificates, and whether they are those of a server, and of a node.
const KINDS: [(&str, bool, bool); 6] = [
    ("server.global.nomad", true, false),
    ("client.global.nomad", false, true),
    ("cli.global.nomad", false, false),
    ("server.europe.nomad", false, false),
    ("client.europe.nomad", false, false),
    ("db.example", false, false),
];

#[test]
fn every_certificate_can_only_make_the_calls_of_its_role() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Authority::new();
    let mut server = Member::new("hostile-tls", Role::Server { expect: 1, join: vec![] });
    server.more = authority.configure(server.folder(), "server.global.nomad");
    server.start();
    wait_for("there is a leader", || match server.read("/v1/status/leader")?.as_str() {
        Some("") | None => Err("none".into()),
        Some(_) => Ok(()),
    });
    let folder = Folder::new("hostile-certificates");
    let mut refused = 0;
    for (name, of_server, of_node) in KINDS {
        authority.configure(&folder, name);
        let peer = Peer::with(&server.rpc(), Some(certificate(&folder)));
        for (method, nodes) in CALLS {
            let answer = peer.call(method, &[], packed(&json!({})));
            let names = answer.text.contains("invalid certificate: ");
            let may = of_server || (of_node && nodes);
            assert_eq!(answer.status == 403 && names, !may, "{method} by {name}: {answer:?}");
            refused += usize::from(!may);
        }
    }
    assert_eq!(refused, 13 * 4 + 10 * 5);
    println!("{} calls by {} kinds of certificates, {refused} refused by their names", CALLS.len(), KINDS.len());
}
