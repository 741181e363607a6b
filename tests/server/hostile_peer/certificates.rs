//! Every call by every kind of certificate, against a server that checks names (`verify_server_hostname`).

use std::collections::BTreeSet;

use serde_json::json;

use crate::agent::wait_for;
use crate::hostile_peer::peer::{Peer, certificate, packed, without_certificate};
use crate::member::{Member, Role};
use crate::program::Folder;
use crate::tls::Authority;

/// Calls, and whether nodes may make them.
const CALLS: [(&str, bool); 30] = [
    ("Status.Ping", true),
    ("Node.Register", true),
    ("Node.UpdateStatus", true),
    ("Node.GetClientAllocs", true),
    ("Node.GetClientAllocsConsistent", true),
    ("Node.UpdateAlloc", true),
    ("Node.EmitEvents", true),
    ("Node.UpdateDrain", true),
    ("Node.GetNode", true),
    ("Node.Connect", true),
    ("Alloc.GetAllocs", true),
    ("Alloc.SignIdentities", true),
    ("Alloc.GetPreviousDisk", true),
    ("ServiceRegistration.Upsert", true),
    ("ServiceRegistration.DeleteByID", true),
    ("CSIVolume.Claim", true),
    ("CSIVolume.Unpublish", true),
    ("Serf.Members", false),
    ("Serf.ForceLeave", false),
    ("Serf.Keyring", false),
    ("Server.Vouch", false),
    ("Server.Confirm", false),
    ("Raft.Message", false),
    ("Raft.Claim", false),
    ("Raft.Stand", false),
    ("Scheduler.WorkerCall", false),
    ("Server.Levels", false),
    ("Node.Connected", false),
    ("Node.Call", false),
    ("Operator.RaftRemovePeerByID", false),
];

/// Names of certificates (common name, DNS name), and whether they are those of a server, and of a node.
const KINDS: [(&str, &str, bool, bool); 8] = [
    ("server.global.nomad", "server.global.nomad", true, false),
    ("client.global.nomad", "client.global.nomad", false, true),
    ("cli.global.nomad", "cli.global.nomad", false, false),
    ("server.europe.nomad", "server.europe.nomad", false, false),
    ("client.europe.nomad", "client.europe.nomad", false, false),
    ("db.example", "db.example", false, false),
    // Either name counts.
    ("server.global.nomad", "db.example", true, false),
    ("db.example", "client.global.nomad", false, true),
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
    let known: BTreeSet<&str> = encamp_rpc::rules::methods().collect();
    assert_eq!(known, CALLS.iter().map(|(method, _)| *method).collect(), "the table has all calls");

    let folder = Folder::new("hostile-certificates");
    let (mut allowed, mut refused) = (0, 0);
    for (common, alternative, of_server, of_node) in KINDS {
        authority.configure_names(&folder, common, alternative);
        let peer = Peer::with(&server.rpc(), Some(certificate(&folder)));
        for (method, nodes) in CALLS {
            let answer = peer.call(method, &[], packed(&json!({})));
            let names = answer.text.contains("invalid certificate: ");
            let may = of_server || (of_node && nodes);
            assert_eq!(answer.status == 403 && names, !may, "{method} by {common}, {alternative}: {answer:?}");
            if may { allowed += 1 } else { refused += 1 }
        }
    }
    assert_eq!((allowed, refused), (30 * 2 + 17 * 2, 13 * 2 + 30 * 4));
    // Without a certificate no call gets as far as that.
    for (method, _) in CALLS {
        let peer = Peer::try_with(&server.rpc(), Some(without_certificate(&folder)));
        let answer = peer.and_then(|p| p.try_call(method, &[], packed(&json!({}))));
        assert!(answer.is_none(), "{method} without a certificate: {answer:?}");
    }
    println!(
        "{} calls by {} kinds of certificates: {allowed} allowed, {refused} refused by their names",
        CALLS.len(),
        KINDS.len()
    );
}
