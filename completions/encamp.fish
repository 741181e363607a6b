# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_encamp_global_optspecs
    string join \n h/help V/version
end

function __fish_encamp_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_encamp_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_encamp_using_subcommand
    set -l cmd (__fish_encamp_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c encamp -n "__fish_encamp_needs_command" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_needs_command" -s V -l version -d 'Print version'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "action" -d 'Run an action of a job'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "agent" -d 'Runs an encamp agent: a server, a client node, or both'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "agent-info" -d 'Show figures of the agent'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "alloc" -d 'Interact with allocations: status, logs, files, stop, restart'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "capacity" -d 'Show how many more copies of a job\'s groups fit'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "completion" -d 'Print a completion script for a shell'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "config" -d 'Check an agent\'s configuration'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "deployment" -d 'Interact with deployments'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "eval" -d 'Interact with evaluations'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "eval-status" -d 'Show an evaluation'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "exec" -d 'Run a command in a task'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "fmt" -d 'Bring job files into canonical layout'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "fs" -d 'Show files of an allocation'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "init" -d 'Write an example job file'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "inspect" -d 'Print a job as JSON'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "job" -d 'Interact with jobs'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "logs" -d 'Show what a task wrote'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "monitor" -d 'Follow the log of an agent'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "namespace" -d 'Interact with namespaces'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "node" -d 'Interact with nodes: status, drains, eligibility, pools'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "operator" -d 'Operate the cluster: scheduling, servers, keys, requests as they are'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "plan" -d 'Show what registering a job would change'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "plugin" -d 'Interact with storage plugins'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "run" -d 'Register a job'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "scaling" -d 'Interact with scaling policies'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "server" -d 'Interact with servers'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "service" -d 'Interact with services that are registered with the servers'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "sim" -d 'Simulate clusters: make one up, or load servers with made-up nodes'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "snapshot" -d 'Read, look into and compare cluster snapshots'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "start" -d 'Start a stopped job'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "status" -d 'Show the status of anything'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "stop" -d 'Stop jobs'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "system" -d 'Interact with the servers\' housekeeping'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "ui" -d 'Open the web interface'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "validate" -d 'Check a job file without registering it'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "var" -d 'Interact with variables'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "version" -d 'Print the version'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "volume" -d 'Interact with volumes'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "what-if" -d 'Show where allocations would go if the cluster changed'
complete -c encamp -n "__fish_encamp_using_subcommand action" -l job -d 'The job: its ID or the beginning of it' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l group -d 'The group whose allocations are looked at' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l task -d 'The task that declares the action' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l alloc -d 'The allocation: its ID or the beginning of it' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l i -d 'Pass standard input on' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand action" -l t -d 'Give the command a terminal. Default: if standard input and output are terminals' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand action" -l e -d 'Character that begins a command to this program at the beginning of a line, or none' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand action" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand action" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand action" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand action" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand action" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l config -d 'A configuration file or folder. May be given several times; later ones win' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l bind -d 'Address to listen on' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l region -d 'Region of the agent. Default: global' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l dc -d 'Datacenter of the agent. Default: dc1' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l data-dir -d 'Folder for the agent\'s data' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l plugin-dir -d 'Folder with plugins. Default: plugins in the data folder' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l node -d 'Name of the agent. Default: the host\'s name' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l log-level -d 'Least important messages to log: TRACE, DEBUG, INFO, WARN, ERROR or OFF. Default: INFO' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l bootstrap-expect -d 'Number of servers to wait for before the first election' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l encrypt -d 'Key that encrypts gossip between servers' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l raft-protocol -d 'Raft protocol version; only 3' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l join -d 'Server to join at start. May be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l retry-join -d 'Server to join, tried again until it works. May be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l retry-max -d 'Failed tries to join until the agent gives up. Default: 0, never' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l retry-interval -d 'Pause between tries to join. Default: 30s' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l state-dir -d 'Folder for the client\'s state. Default: client in the data folder' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l alloc-dir -d 'Folder for allocations. Default: alloc in the data folder' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l alloc-mounts-dir -d 'Folder for what allocations mount. Default: alloc_mounts beside the data folder' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l host-volumes-dir -d 'Folder for dynamic host volumes. Default: host_volumes in the data folder' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l host-volume-plugin-dir -d 'Folder with plugins for host volumes. Default: host_volume_plugins in the data folder' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l node-class -d 'Class of the node' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l node-pool -d 'Pool of the node. Default: default' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l servers -d 'Servers of the client, separated by commas' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l meta -d 'A key and value of the node\'s meta. May be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l network-interface -d 'Network interface of the node' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l preferred-address-family -d 'Family of the node\'s address: ipv4 or ipv6' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l network-speed -d 'Speed of the network in Mbit/s' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l client-intro-token -d 'Token that introduces the client. NOMAD_CLIENT_INTRO_TOKEN overrides it' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l acl-replication-token -d 'Token for reading policies of the authoritative region' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l eventlog-level -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-address -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-auth -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-ca-file -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-cert-file -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-client-service-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-client-http-check-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-key-file -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-server-service-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-server-http-check-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-server-serf-check-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-server-rpc-check-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-token -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-address -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-ca-file -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-ca-path -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-cert-file -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-key-file -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-create-from-role -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-namespace -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-tls-server-name -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-token -r
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l dev -d 'Run as server and client at once, for trying things out. Nothing is kept'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l server -d 'Run as a server'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l client -d 'Run as a client node'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l log-json -d 'Log as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l log-include-location -d 'Log file and line of each message'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l rejoin -d 'Join again after having left'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l acl-enabled -d 'Enforce access control'
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l dev-connect
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l dev-consul
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l dev-vault
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l eventlog
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-auto-advertise
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-checks-use-advertise
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-client-auto-join
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-server-auto-join
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-ssl
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l consul-verify-ssl
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-enabled
complete -c encamp -n "__fish_encamp_using_subcommand agent" -l vault-tls-skip-verify
complete -c encamp -n "__fish_encamp_using_subcommand agent" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand agent-info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "checks" -d 'Show results of service checks'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "exec" -d 'Run a command in a task'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "fs" -d 'Show files of an allocation'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "logs" -d 'Show what a task wrote'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "restart" -d 'Restart tasks of an allocation'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "signal" -d 'Send a signal to tasks of an allocation'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "status" -d 'Show an allocation'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and not __fish_seen_subcommand_from checks exec fs logs restart signal status stop" -f -a "stop" -d 'Stop an allocation and place it anew'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from checks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l task -d 'The task; it can be left out if the allocation has only one' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l group -d 'With -job, take an allocation of this task group' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l i -d 'Pass standard input on' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l t -d 'Give the command a terminal. Default: if standard input and output are terminals' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l e -d 'Character that begins a command to this program at the beginning of a line, or none' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l job -d 'The first argument is a job: take one of its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l it -d 'The same as -i -t'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l ti -d 'The same as -i -t'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l n -d 'With -tail, that many lines' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l c -d 'With -tail, that many bytes' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l group -d 'With -job, take an allocation of this task group' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l H -d 'Print sizes as plain numbers of bytes'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l stat -d 'Show what is known about the file instead of its content'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l f -d 'Go on as more is written'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l tail -d 'Begin near the end'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l job -d 'The first argument is a job: take one of its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from fs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l n -d 'With -tail, that many lines' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l c -d 'With -tail, that many bytes' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l task -d 'The task' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l group -d 'With -job, take an allocation of this task group' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l stdout -d 'Print standard output; the default'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l stderr -d 'Print standard error'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l f -d 'Go on as more is written'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l tail -d 'Begin near the end'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l job -d 'The first argument is a job: take one of its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from logs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l task -d 'Restart this task only' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l all-tasks -d 'Restart all tasks, also those that already ended'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from restart" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l s -d 'The signal' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l task -d 'Signal this task only' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from signal" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l short -d 'Show little'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l stats -d 'Show all that is known about what tasks use'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers and times, and how the node was chosen'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l detach -d 'Print the evaluation\'s ID and return'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l no-shutdown-delay -d 'Stop at once, without the delays that group and tasks ask for'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand alloc; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l snapshot -d 'Cluster snapshot file or server backup to work on, instead of the running cluster at the address' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l drain -d 'Drain a node (name, ID, or the beginning of the ID), or dc=NAME, class=NAME, pool=NAME, to the end. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l down -d 'Lose a node, or all of dc=NAME, class=NAME or pool=NAME. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l add -d 'Add N new nodes like a node of the cluster: N:like=NODE. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l scale -d 'Set the count of a group: JOB/GROUP=N. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l stop -d 'Stop a job. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l config -d 'Set a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l group -d 'Count the copies of this group alone' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l survive -d 'Count also after the worst loss of 1 node or 1 dc; -survive node and -survive dc mean the same' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l allow-partial -d 'Go on without what the token may not read or the cluster does not answer, and say what is missing'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l no-cache -d 'Read everything again, whatever an earlier run left in the cache'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l verbose -d 'List every node, however many there are'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l json-output -d 'Print the result as JSON. (-json says that the job file is JSON)'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand config; and not __fish_seen_subcommand_from validate" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand config; and not __fish_seen_subcommand_from validate" -f -a "validate" -d 'Check configuration files of an agent'
complete -c encamp -n "__fish_encamp_using_subcommand config; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "fail" -d 'Mark a deployment as failed'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "list" -d 'List deployments'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "pause" -d 'Pause a deployment'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "promote" -d 'Accept the canaries of a deployment'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "resume" -d 'Resume a paused deployment'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "status" -d 'Show a deployment'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and not __fish_seen_subcommand_from fail list pause promote resume status unblock" -f -a "unblock" -d 'Let a blocked deployment go on'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from fail" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l filter -d 'Only deployments that match this expression' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l group -d 'Promote only this group. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from promote" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l wait -d 'With -monitor, how long to wait for something new before the deployment is printed again' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l monitor -d 'Watch the deployment until it ends'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand deployment; and __fish_seen_subcommand_from unblock" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from delete explain list status" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from delete explain list status" -f -a "delete" -d 'Delete evaluations'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from delete explain list status" -f -a "explain" -d 'Explain an evaluation of the past'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from delete explain list status" -f -a "list" -d 'List evaluations'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from delete explain list status" -f -a "status" -d 'Show an evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l filter -d 'Delete the evaluations that match this expression' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l yes -d 'Do not ask'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l json -d 'Print the explanation as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l per-page -d 'Entries per page; 0 for all at once' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l page-token -d 'Where the page begins: what the page before said' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l filter -d 'Only entries that match this expression' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l job -d 'Only evaluations of this job' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l status -d 'Only evaluations in this status' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l monitor -d 'Watch the evaluation until it ends, and the deployment it belongs to'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers and times'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l monitor -d 'Watch the evaluation until it ends, and the deployment it belongs to'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l verbose -d 'Show full identifiers and times'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand eval-status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l task -d 'The task; it can be left out if the allocation has only one' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l group -d 'With -job, take an allocation of this task group' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l i -d 'Pass standard input on' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l t -d 'Give the command a terminal. Default: if standard input and output are terminals' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l e -d 'Character that begins a command to this program at the beginning of a line, or none' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l job -d 'The first argument is a job: take one of its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l it -d 'The same as -i -t'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l ti -d 'The same as -i -t'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l list -d 'Print the names of files that change. Without it and without -write the result goes to standard output' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l write -d 'Write the result into the files' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l check -d 'Write nothing; exit with 1 if something would change'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l recursive -d 'Process the folders in a folder too'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l n -d 'With -tail, that many lines' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l c -d 'With -tail, that many bytes' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l group -d 'With -job, take an allocation of this task group' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l H -d 'Print sizes as plain numbers of bytes'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l stat -d 'Show what is known about the file instead of its content'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l f -d 'Go on as more is written'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l tail -d 'Begin near the end'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l job -d 'The first argument is a job: take one of its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand fs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l template -d 'Write the job file of this name that the cluster keeps' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand init" -l short -d 'Write the example without comments'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l connect -d 'Write an example whose service is part of a Consul service mesh'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l list-templates -d 'List the names of the job files that the cluster keeps'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand init" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l snapshot -d 'Cluster snapshot file or server backup to look the job up in' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l version -d 'Print this version of the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l t -d 'Print the job by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l hcl -d 'Print the job file that was submitted'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l with-vars -d 'With -hcl, also tell on standard error how the job was run, variables included'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l file -d 'The argument is a job file in HCL, or - for standard input'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l json -d 'Print the job without the "Job" key around it'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "action" -d 'Run an action of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "allocs" -d 'List the allocations of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "deployments" -d 'List the deployments of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "dispatch" -d 'Dispatch a parameterized job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "eval" -d 'Evaluate a job anew'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "history" -d 'Show the versions of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "init" -d 'Write an example job file'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "inspect" -d 'Print a job as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "periodic" -d 'Interact with periodic jobs'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "plan" -d 'Show what registering a job would change'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "promote" -d 'Accept the canaries of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "restart" -d 'Restart the allocations of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "revert" -d 'Go back to an earlier version of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "run" -d 'Register a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "scale" -d 'Change how many allocations a group has'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "scaling-events" -d 'Show how the counts of a job\'s groups changed'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "start" -d 'Start a stopped job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "status" -d 'Show jobs, or one job and its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "stop" -d 'Stop jobs'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "tag" -d 'Name versions of jobs'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from action allocs deployments dispatch eval history init inspect periodic plan promote restart revert run scale scaling-events start status stop tag validate" -f -a "validate" -d 'Check a job file without registering it'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l job -d 'The job: its ID or the beginning of it' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l group -d 'The group whose allocations are looked at' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l task -d 'The task that declares the action' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l alloc -d 'The allocation: its ID or the beginning of it' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l i -d 'Pass standard input on' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l t -d 'Give the command a terminal. Default: if standard input and output are terminals' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l e -d 'Character that begins a command to this program at the beginning of a line, or none' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from action" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l all -d 'Show allocations of earlier jobs with the same ID too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l verbose -d 'Show full identifiers and times'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from allocs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l all -d 'Show deployments of earlier jobs with the same ID too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l latest -d 'Show only the latest deployment, with its groups'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from deployments" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l meta -d 'A meta value, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l idempotency-token -d 'Make only one job, however often the command runs with this token' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l id-prefix-template -d 'Part of the ID of the job that is made' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l priority -d 'Priority of the job that is made, instead of the parameterized job\'s' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l wait -d 'Wait until the job that is made is dead'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from dispatch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l force-reschedule -d 'Replace failed allocations at once, whatever their reschedule policy says'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from eval" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l diff-tag -d 'With -p, compare with the version of this tag' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l diff-version -d 'With -p, compare with this version' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l version -d 'Show only this version' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l p -d 'Show how versions differ'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l full -d 'Show the whole job of each version'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l template -d 'Write the job file of this name that the cluster keeps' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l short -d 'Write the example without comments'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l connect -d 'Write an example whose service is part of a Consul service mesh'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l list-templates -d 'List the names of the job files that the cluster keeps'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l snapshot -d 'Cluster snapshot file or server backup to look the job up in' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l version -d 'Print this version of the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l t -d 'Print the job by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l hcl -d 'Print the job file that was submitted'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l with-vars -d 'With -hcl, also tell on standard error how the job was run, variables included'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l file -d 'The argument is a job file in HCL, or - for standard input'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l json -d 'Print the job without the "Job" key around it'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from periodic" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from periodic" -f -a "force" -d 'Launch a periodic job now'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l snapshot -d 'Cluster snapshot file or server backup to work on, instead of the running cluster at the address' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l explain -d 'Explain the plan: what kept nodes from being chosen, how those that could take an allocation scored, and who is evicted why. With a node\'s name, ID or beginning of an ID: that node\'s whole story' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l drain -d 'Drain a node (name, ID, or the beginning of the ID), or dc=NAME, class=NAME, pool=NAME, to the end. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l down -d 'Lose a node, or all of dc=NAME, class=NAME or pool=NAME. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l add -d 'Add N new nodes like a node of the cluster: N:like=NODE. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l scale -d 'Set the count of a group: JOB/GROUP=N. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l stop -d 'Stop a job. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l config -d 'Set a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l diff -d 'Print how the job differs from the registered one' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l allow-partial -d 'Go on without what the token may not read or the cluster does not answer, and say what is missing'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l no-cache -d 'Read everything again, whatever an earlier run left in the cache'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l remote -d 'Ask the cluster\'s servers for the plan instead'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l check-remote -d 'Plan here, ask the servers too, and report where the two disagree'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l verbose -d 'Show the content of added and deleted groups and tasks too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l json-output -d 'Print the result as JSON instead'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l markdown -d 'Print the result as a comment for a merge request, in Markdown'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l group -d 'Promote only this group. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from promote" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l batch-size -d 'Allocations that are restarted at the same time: a number, or a percentage of all' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l batch-wait -d 'The pause between batches, or ask' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l group -d 'Restart only allocations of this group. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l task -d 'Restart only this task. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l on-error -d 'What to do after errors: ask, or fail' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l all-tasks -d 'Restart all tasks, also those that ended'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l no-shutdown-delay -d 'Stop tasks at once, whatever delay they have'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l reschedule -d 'Replace the allocations instead of restarting their tasks'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l yes -d 'Do not ask: go on'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l verbose -d 'Show full identifiers, and which allocations are left out'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from restart" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from revert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l check-index -d 'Register only if the job\'s modify index is this; 0 only if the job does not exist' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l eval-priority -d 'Priority of the evaluation, instead of the job\'s' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l consul-namespace -d 'Consul namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l plan -d 'Show the plan of the job first, and ask'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l output -d 'Print the job as JSON and stop'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l preserve-counts -d 'Keep the counts of groups that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l preserve-resources -d 'Keep the resources of tasks that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l check-index -d 'Scale only if the job\'s modify index is this' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scale" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l verbose -d 'Show messages, errors and evaluations too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from scaling-events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l all-allocs -d 'Show allocations of earlier jobs with the same ID too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l evals -d 'Show the evaluations of the job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l short -d 'Show only what the job is'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers and times'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l eval-priority -d 'Priority of the evaluation, instead of the job\'s' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l global -d 'Stop the job in all its regions'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l no-shutdown-delay -d 'Stop tasks at once, whatever delay they have'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l purge -d 'Forget the job too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l yes -d 'Do not ask'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from tag" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from tag" -f -a "apply" -d 'Name a version of a job'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from tag" -f -a "unset" -d 'Take the name of a version of a job away'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l snapshot -d 'Ask nobody, and check against the namespaces, node pools and settings of this cluster snapshot file or server backup' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l n -d 'With -tail, that many lines' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l c -d 'With -tail, that many bytes' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l task -d 'The task' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l group -d 'With -job, take an allocation of this task group' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l stdout -d 'Print standard output; the default'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l stderr -d 'Print standard error'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l f -d 'Go on as more is written'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l tail -d 'Begin near the end'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l job -d 'The first argument is a job: take one of its allocations'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand logs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l log-level -d 'Least level of what is printed. Default: info' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l node-id -d 'The log of this node' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l server-id -d 'The log of this server, by name or ID; leader for the one that leads' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l log-include-location -d 'Tell where in the program each line was written'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l json -d 'Each line as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand monitor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and not __fish_seen_subcommand_from apply delete inspect list status" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and not __fish_seen_subcommand_from apply delete inspect list status" -f -a "apply" -d 'Write a namespace'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and not __fish_seen_subcommand_from apply delete inspect list status" -f -a "delete" -d 'Delete a namespace'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and not __fish_seen_subcommand_from apply delete inspect list status" -f -a "inspect" -d 'Print a namespace as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and not __fish_seen_subcommand_from apply delete inspect list status" -f -a "list" -d 'List namespaces'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and not __fish_seen_subcommand_from apply delete inspect list status" -f -a "status" -d 'Show a namespace'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l description -d 'What the namespace is for' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l quota -d 'Quota of the namespace; community clusters have none' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l json -d 'The file is JSON'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l t -d 'Print by this template, in the syntax of Go\'s text/template' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand namespace; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "config" -d 'Show or change the servers of a node\'s agent'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "drain" -d 'Move the allocations of a node elsewhere'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "eligibility" -d 'Say whether a node takes new allocations'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "identity" -d 'Interact with the identities of nodes'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "meta" -d 'Interact with metadata of nodes'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "pool" -d 'Interact with node pools'
complete -c encamp -n "__fish_encamp_using_subcommand node; and not __fish_seen_subcommand_from config drain eligibility identity meta pool status" -f -a "status" -d 'Show nodes'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l servers -d 'Print the servers that the agent knows'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l update-servers -d 'Replace them by the arguments'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l deadline -d 'How long allocations have to move before they are stopped. Default: 1h' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l m -d 'Why, for the node\'s records' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l meta -d 'More for the node\'s records: key=value. Can be repeated' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l enable -d 'Drain the node'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l disable -d 'Stop draining it'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l detach -d 'Return without watching'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l monitor -d 'Only watch a drain that is going on'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l force -d 'Stop all allocations at once'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l no-deadline -d 'Let allocations move without any limit of time'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l ignore-system -d 'Leave the allocations of system jobs alone'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l keep-ineligible -d 'With -disable, take no new allocations afterwards either'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l self -d 'The node is the agent asked'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l yes -d 'Do not ask'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from drain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l enable -d 'Take new allocations'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l disable -d 'Take no new allocations'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l self -d 'The node is the agent asked'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from eligibility" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from identity" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from identity" -f -a "get" -d 'Show the claims of a node\'s identity'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from identity" -f -a "renew" -d 'Have a node ask for a new identity'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from meta" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from meta" -f -a "apply" -d 'Change metadata of a node'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from meta" -f -a "read" -d 'Show metadata of a node'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "apply" -d 'Write a node pool'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "delete" -d 'Delete a node pool'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "info" -d 'Show a node pool'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "init" -d 'Write an example of a node pool\'s file'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "jobs" -d 'List the jobs of a node pool'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "list" -d 'List node pools'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from pool" -f -a "nodes" -d 'List the nodes of a node pool'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l per-page -d 'Entries per page; 0 for all at once' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l page-token -d 'Where the page begins: what the page before said' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l filter -d 'Only entries that match this expression' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l self -d 'Show the node that is the agent asked'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l stats -d 'Show all that is known about what is used'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l allocs -d 'In the list, show how many allocations run on each node'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l short -d 'Show little'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers and times, and everything known about the node'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l os -d 'In the list, show the operating systems'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l quiet -d 'Print the identifiers only'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand node; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "api" -d 'Send a request to the HTTP API'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "autopilot" -d 'Say how failed servers are dealt with'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "metrics" -d 'Show what the agent measured'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "raft" -d 'Interact with the servers that agree on the log'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "root" -d 'Interact with the keys that encrypt variables and sign identities'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "scheduler" -d 'Say how allocations are placed'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and not __fish_seen_subcommand_from api autopilot metrics raft root scheduler snapshot" -f -a "snapshot" -d 'Save the state of the servers, and restore it'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l X -d 'Method. Default: GET, or POST if there is a body' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l H -d 'One more header, key: value. Can be repeated' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l filter -d 'Filter expression, as parameter of the request' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l dryrun -d 'Print a curl command instead of sending the request'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l verbose -d 'Show request and answer on standard error'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from api" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from autopilot" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from autopilot" -f -a "get-config" -d 'Show how failed servers are dealt with'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from autopilot" -f -a "health" -d 'Show how well the servers are'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from autopilot" -f -a "set-config" -d 'Change how failed servers are dealt with'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l format -d 'Format: prometheus' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l pretty -d 'Indented'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from raft" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from raft" -f -a "list-peers" -d 'List the servers that agree on the log'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from raft" -f -a "remove-peer" -d 'Take a server out of those that agree on the log'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from raft" -f -a "transfer-leadership" -d 'Make another server the leader'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from root" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from root" -f -a "keyring" -d 'Interact with the keys that encrypt variables and sign identities'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from scheduler" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from scheduler" -f -a "get-config" -d 'Show the scheduler configuration'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from scheduler" -f -a "set-config" -d 'Change the scheduler configuration'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from snapshot" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from snapshot" -f -a "restore" -d 'Replace the state of the servers by a saved one'
complete -c encamp -n "__fish_encamp_using_subcommand operator; and __fish_seen_subcommand_from snapshot" -f -a "save" -d 'Save the state of the servers'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l snapshot -d 'Cluster snapshot file or server backup to work on, instead of the running cluster at the address' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l explain -d 'Explain the plan: what kept nodes from being chosen, how those that could take an allocation scored, and who is evicted why. With a node\'s name, ID or beginning of an ID: that node\'s whole story' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l drain -d 'Drain a node (name, ID, or the beginning of the ID), or dc=NAME, class=NAME, pool=NAME, to the end. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l down -d 'Lose a node, or all of dc=NAME, class=NAME or pool=NAME. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l add -d 'Add N new nodes like a node of the cluster: N:like=NODE. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l scale -d 'Set the count of a group: JOB/GROUP=N. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l stop -d 'Stop a job. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l config -d 'Set a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l diff -d 'Print how the job differs from the registered one' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l allow-partial -d 'Go on without what the token may not read or the cluster does not answer, and say what is missing'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l no-cache -d 'Read everything again, whatever an earlier run left in the cache'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l remote -d 'Ask the cluster\'s servers for the plan instead'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l check-remote -d 'Plan here, ask the servers too, and report where the two disagree'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l verbose -d 'Show the content of added and deleted groups and tasks too'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l json-output -d 'Print the result as JSON instead'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l markdown -d 'Print the result as a comment for a merge request, in Markdown'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and not __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and not __fish_seen_subcommand_from status" -f -a "status" -d 'Show storage plugins'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l type -d 'Only plugins of this type: csi' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l short -d 'Show little'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers and times'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand plugin; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand run" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand run" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l check-index -d 'Register only if the job\'s modify index is this; 0 only if the job does not exist' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l eval-priority -d 'Priority of the evaluation, instead of the job\'s' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l consul-namespace -d 'Consul namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l plan -d 'Show the plan of the job first, and ask'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l output -d 'Print the job as JSON and stop'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l preserve-counts -d 'Keep the counts of groups that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l preserve-resources -d 'Keep the resources of tasks that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand scaling; and not __fish_seen_subcommand_from policy" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand scaling; and not __fish_seen_subcommand_from policy" -f -a "policy" -d 'Look into scaling policies'
complete -c encamp -n "__fish_encamp_using_subcommand scaling; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand scaling; and __fish_seen_subcommand_from policy" -f -a "info" -d 'Show a scaling policy'
complete -c encamp -n "__fish_encamp_using_subcommand scaling; and __fish_seen_subcommand_from policy" -f -a "list" -d 'List scaling policies'
complete -c encamp -n "__fish_encamp_using_subcommand server; and not __fish_seen_subcommand_from force-leave join members" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand server; and not __fish_seen_subcommand_from force-leave join members" -f -a "force-leave" -d 'Make a failed server leave'
complete -c encamp -n "__fish_encamp_using_subcommand server; and not __fish_seen_subcommand_from force-leave join members" -f -a "join" -d 'Join servers to a cluster'
complete -c encamp -n "__fish_encamp_using_subcommand server; and not __fish_seen_subcommand_from force-leave join members" -f -a "members" -d 'List the servers'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l prune -d 'Forget it entirely'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from force-leave" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from join" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l verbose -d 'Show also protocol versions and tags'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l detailed -d 'The same as -verbose'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand server; and __fish_seen_subcommand_from members" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand service; and not __fish_seen_subcommand_from delete info list" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand service; and not __fish_seen_subcommand_from delete info list" -f -a "delete" -d 'Take back a registration of a service'
complete -c encamp -n "__fish_encamp_using_subcommand service; and not __fish_seen_subcommand_from delete info list" -f -a "info" -d 'Show where a service runs'
complete -c encamp -n "__fish_encamp_using_subcommand service; and not __fish_seen_subcommand_from delete info list" -f -a "list" -d 'List services'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l per-page -d 'Entries per page; 0 for all at once' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l page-token -d 'Where the page begins: what the page before said' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l filter -d 'Only entries that match this expression' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l verbose -d 'Show everything about each place'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l name -d 'Accepted for compatibility' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand service; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -f -a "c1m" -d 'Measure how fast a million allocations are placed'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -f -a "churn" -d 'Measure a cluster whose nodes and jobs change all the time'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -f -a "cluster" -d 'Write a snapshot file of a made-up cluster'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -f -a "flap" -d 'Measure how servers take nodes that fall silent and return'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -f -a "heartbeats" -d 'Measure what the heartbeats of many nodes cost, and whether any is missed'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from c1m churn cluster flap heartbeats load-shedding" -f -a "load-shedding" -d 'Measure how servers shed superfluous evaluations'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l allocs -d 'Number of allocations' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l nodes -d 'Number of simulated nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l servers -d 'Number of servers: 1, 3 or 5' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l seed -d 'What IDs, attributes and waits of the nodes depend on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l data-dir -d 'Folder for the data of the servers; it must not exist. Default: a new one for temporary files' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l json -d 'Print the result as one line of JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from c1m" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l jobs -d 'Number of service jobs' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l rounds -d 'How often it goes round' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l nodes -d 'Number of simulated nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l servers -d 'Number of servers: 1, 3 or 5' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l seed -d 'What IDs, attributes and waits of the nodes depend on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l data-dir -d 'Folder for the data of the servers; it must not exist. Default: a new one for temporary files' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l json -d 'Print the result as one line of JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from churn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l nodes -d 'Number of nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l allocs -d 'Number of allocations, those of finished and failed work included' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l seed -d 'What everything made up depends on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l now -d 'When the snapshot was taken, as RFC 3339 text. Default: 2026-03-01T00:00:00Z' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l out -d 'File to write, or - for standard output. A name that ends in .gz or .zst is compressed. Required' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l json -d 'Print the summary as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l jobs -d 'Number of service jobs' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l percent -d 'How many of a hundred nodes fall silent' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l nodes -d 'Number of simulated nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l servers -d 'Number of servers: 1, 3 or 5' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l seed -d 'What IDs, attributes and waits of the nodes depend on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l data-dir -d 'Folder for the data of the servers; it must not exist. Default: a new one for temporary files' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l json -d 'Print the result as one line of JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from flap" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l time -d 'How long the nodes live once all are ready, in seconds' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l nodes -d 'Number of simulated nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l servers -d 'Number of servers: 1, 3 or 5' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l seed -d 'What IDs, attributes and waits of the nodes depend on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l data-dir -d 'Folder for the data of the servers; it must not exist. Default: a new one for temporary files' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l json -d 'Print the result as one line of JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from heartbeats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l system-jobs -d 'Number of system jobs' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l nodes -d 'Number of simulated nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l servers -d 'Number of servers: 1, 3 or 5' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l seed -d 'What IDs, attributes and waits of the nodes depend on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l data-dir -d 'Folder for the data of the servers; it must not exist. Default: a new one for temporary files' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l no-shedding -d 'Process every evaluation, as servers did before they shed load'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l json -d 'Print the result as one line of JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from load-shedding" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and not __fish_seen_subcommand_from anonymize diff fetch inspect" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and not __fish_seen_subcommand_from anonymize diff fetch inspect" -f -a "anonymize" -d 'Write a cluster snapshot without names and secrets'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and not __fish_seen_subcommand_from anonymize diff fetch inspect" -f -a "diff" -d 'Show what changed between two cluster snapshots'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and not __fish_seen_subcommand_from anonymize diff fetch inspect" -f -a "fetch" -d 'Read a running cluster into a snapshot file'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and not __fish_seen_subcommand_from anonymize diff fetch inspect" -f -a "inspect" -d 'Show what is in a cluster snapshot'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -l out -d 'File to write. A name that ends in .gz or .zst is compressed. Required' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -l seed -d 'What the numbers of replacements depend on' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -l keep-names -d 'Kinds of names that stay, separated by commas' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from anonymize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from diff" -l json -d 'Print everything as JSON, see docs/snapshot-diff.schema.json'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from diff" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from diff" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from diff" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l out -d 'File to write' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l json -d 'Print how it went as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l allow-partial -d 'Go on without what the token may not read or the cluster does not answer, and say what is missing'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l no-cache -d 'Read everything again, whatever an earlier run left in the cache'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l json -d 'Print everything as JSON, see docs/snapshot-inspect.schema.json'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l allow-partial -d 'Go on without what the token may not read or the cluster does not answer, and say what is missing'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l no-cache -d 'Read everything again, whatever an earlier run left in the cache'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand start" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand start" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand start" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand start" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand start" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand start" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand start" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand start" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand status" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand status" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l eval-priority -d 'Priority of the evaluation, instead of the job\'s' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l detach -d 'Return without watching the evaluation'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l global -d 'Stop the job in all its regions'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l no-shutdown-delay -d 'Stop tasks at once, whatever delay they have'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l purge -d 'Forget the job too'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l yes -d 'Do not ask'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand system; and not __fish_seen_subcommand_from gc reconcile" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand system; and not __fish_seen_subcommand_from gc reconcile" -f -a "gc" -d 'Delete what is dead'
complete -c encamp -n "__fish_encamp_using_subcommand system; and not __fish_seen_subcommand_from gc reconcile" -f -a "reconcile" -d 'Have the servers count again'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from reconcile" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand system; and __fish_seen_subcommand_from reconcile" -f -a "summaries" -d 'Count the summaries of all jobs again'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l authenticate -d 'Accepted for compatibility: signing in is left to the browser'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l show-url -d 'Print the address instead'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand ui" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l snapshot -d 'Ask nobody, and check against the namespaces, node pools and settings of this cluster snapshot file or server backup' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -f -a "get" -d 'Show a variable'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -f -a "init" -d 'Write an example of a variable\'s specification'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -f -a "list" -d 'List variables'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -f -a "lock" -d 'Run a command under a lock'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -f -a "purge" -d 'Delete a variable'
complete -c encamp -n "__fish_encamp_using_subcommand var; and not __fish_seen_subcommand_from get init list lock purge put" -f -a "put" -d 'Write a variable'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l item -d 'Print the value of this key only' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l out -d 'Format: go-template, hcl, json, none or table' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l template -d 'The template, with -out=go-template' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l out -d 'Format of the file: hcl or json' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l quiet -d 'Write the example without comments'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l per-page -d 'Entries per page; 0 for all at once' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l page-token -d 'Where the page begins: what the page before said' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l filter -d 'Only entries that match this expression' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l out -d 'Format: go-template, json, table or terse. Default: table on a terminal, else json' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l template -d 'The template, with -out=go-template' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l ttl -d 'How long the lock stays when this command can\'t renew it' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l delay -d 'How long nobody gets the lock after that' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l max-retry -d 'How often a failed request is tried again' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l backoff -d 'Time between two attempts to get the lock. Default: a little more than -ttl' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l shell -d 'Give the command to a shell' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l early-return -d 'End at once if somebody else holds the lock'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l verbose -d 'Tell what is done on standard error'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from lock" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l check-index -d 'Delete it only if its modify index is this' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from purge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l check-index -d 'Write only if the variable\'s modify index is this; 0 only if it does not exist' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l in -d 'Format of a specification whose name does not tell: hcl or json' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l out -d 'Format: go-template, hcl, json, none or table' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l template -d 'The template, with -out=go-template' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l force -d 'Write whatever is there'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l verbose -d 'Tell what is done on standard error'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand var; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand version" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and not __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and not __fish_seen_subcommand_from status" -f -a "status" -d 'Show volumes'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l type -d 'Only volumes of this type: csi or host' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l node -d 'Only volumes of this node' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l node-pool -d 'Only host volumes of this node pool' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l t -d 'Print the result by this template' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l short -d 'Show little'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l verbose -d 'Show full identifiers and times'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand volume; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l drain -d 'Drain a node (name, ID, or the beginning of the ID), or dc=NAME, class=NAME, pool=NAME, to the end. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l down -d 'Lose a node, or all of dc=NAME, class=NAME or pool=NAME. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l add -d 'Add N new nodes like a node of the cluster: N:like=NODE. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l scale -d 'Set the count of a group: JOB/GROUP=N. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l stop -d 'Stop a job. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l config -d 'Set a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l snapshot -d 'Cluster snapshot file or server backup to work on, instead of the running cluster at the address' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l address -d 'Address of the cluster\'s HTTP API, or several with commas between them: when one does not answer, the next is tried, for up to 30 seconds. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l ignore-unknown-tables -d 'Leave out tables of a server backup that this version does not know, instead of refusing the backup'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l allow-partial -d 'Go on without what the token may not read or the cluster does not answer, and say what is missing'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l no-cache -d 'Read everything again, whatever an earlier run left in the cache'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l verbose -d 'List every allocation, however many there are'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l json -d 'Print the result as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -s h -l help -d 'Print help (see more with \'--help\')'
