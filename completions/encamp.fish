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
complete -c encamp -n "__fish_encamp_needs_command" -f -a "config" -d 'Check an agent\'s configuration'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "eval" -d 'Look into evaluations'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "job" -d 'Interact with jobs: plan, validate, inspect and write job files'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "snapshot" -d 'Read, look into and compare cluster snapshots'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "sim" -d 'Simulate clusters: make up one to plan against'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "agent" -d 'Runs an encamp agent: a server, a client node, or both'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "capacity" -d 'Show how many more copies of a job\'s groups fit'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "completion" -d 'Print a completion script for a shell'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "fmt" -d 'Bring job files into canonical layout'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "init" -d 'Write an example job file'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "inspect" -d 'Print a job as JSON'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "plan" -d 'Show what registering a job would change'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "run" -d 'Register a job, or print it as JSON'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "validate" -d 'Check a job file without registering it'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "version" -d 'Print the version'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "what-if" -d 'Show where allocations would go if the cluster changed'
complete -c encamp -n "__fish_encamp_using_subcommand config; and not __fish_seen_subcommand_from validate" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand config; and not __fish_seen_subcommand_from validate" -f -a "validate" -d 'Check configuration files of an agent'
complete -c encamp -n "__fish_encamp_using_subcommand config; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from explain" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and not __fish_seen_subcommand_from explain" -f -a "explain" -d 'Explain an evaluation of the past'
complete -c encamp -n "__fish_encamp_using_subcommand eval; and __fish_seen_subcommand_from explain" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init inspect plan run validate" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init inspect plan run validate" -f -a "init" -d 'Write an example job file'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init inspect plan run validate" -f -a "inspect" -d 'Print a job as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init inspect plan run validate" -f -a "plan" -d 'Show what registering a job would change'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init inspect plan run validate" -f -a "run" -d 'Register a job, or print it as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init inspect plan run validate" -f -a "validate" -d 'Check a job file without registering it'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from init" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from inspect" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l detach -d 'Return without waiting for the job to be placed'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l output -d 'Print the job as JSON and stop'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l preserve-counts -d 'Keep the counts of groups that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l preserve-resources -d 'Keep the resources of tasks that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l snapshot -d 'Ask nobody, and check against the namespaces, node pools and settings of this cluster snapshot file or server backup' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from validate" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from fetch" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand snapshot; and __fish_seen_subcommand_from inspect" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from cluster" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and not __fish_seen_subcommand_from cluster" -f -a "cluster" -d 'Write a snapshot file of a made-up cluster'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l nodes -d 'Number of nodes' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l allocs -d 'Number of allocations, those of finished and failed work included' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l seed -d 'What everything made up depends on' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l now -d 'When the snapshot was taken, as RFC 3339 text. Default: 2026-03-01T00:00:00Z' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l out -d 'File to write, or - for standard output. A name that ends in .gz or .zst is compressed. Required' -r
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l json -d 'Print the summary as JSON'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand sim; and __fish_seen_subcommand_from cluster" -s h -l help -d 'Print help (see more with \'--help\')'
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
complete -c encamp -n "__fish_encamp_using_subcommand capacity" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l list -d 'Print the names of files that change. Without it and without -write the result goes to standard output' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l write -d 'Write the result into the files' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand fmt" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand init" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand inspect" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand run" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l region -d 'Region the request goes to. Overrides NOMAD_REGION' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l namespace -d 'Namespace the request is about. Overrides NOMAD_NAMESPACE' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l token -d 'Secret id of the token that authorises the request. Overrides NOMAD_TOKEN' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l ca-cert -d 'File with the certificate authority that signed the server\'s certificate. Overrides NOMAD_CACERT and -ca-path' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l ca-path -d 'Folder with certificate authorities. Overrides NOMAD_CAPATH' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l client-cert -d 'Client certificate for mutual TLS; needs -client-key. Overrides NOMAD_CLIENT_CERT' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l client-key -d 'Key of the client certificate. Overrides NOMAD_CLIENT_KEY' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l tls-server-name -d 'Server name for TLS. Overrides NOMAD_TLS_SERVER_NAME' -r
complete -c encamp -n "__fish_encamp_using_subcommand run" -l json -d 'The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l detach -d 'Return without waiting for the job to be placed'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l output -d 'Print the job as JSON and stop'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l preserve-counts -d 'Keep the counts of groups that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l preserve-resources -d 'Keep the resources of tasks that the cluster has'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l verbose -d 'Show full identifiers'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l ui -d 'Accepted for compatibility; there is no web interface to open'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand run" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l diagnostics -d 'How to print what is wrong with the job file: text on standard error, or json on standard output' -r -f -a "text\t'Text on standard error'
json\t'One JSON object on standard output'"
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l snapshot -d 'Ask nobody, and check against the namespaces, node pools and settings of this cluster snapshot file or server backup' -r
complete -c encamp -n "__fish_encamp_using_subcommand validate" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
complete -c encamp -n "__fish_encamp_using_subcommand version" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l drain -d 'Drain a node (name, ID, or the beginning of the ID), or dc=NAME, class=NAME, pool=NAME, to the end. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l down -d 'Lose a node, or all of dc=NAME, class=NAME or pool=NAME. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l add -d 'Add N new nodes like a node of the cluster: N:like=NODE. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l scale -d 'Set the count of a group: JOB/GROUP=N. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l stop -d 'Stop a job. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l config -d 'Set a setting of the scheduler configuration: key=value, for example scheduler_algorithm=spread. Repeatable' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l snapshot -d 'Cluster snapshot file or server backup to work on, instead of the running cluster at the address' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l concurrency -d 'Requests at the same time. Default: 16' -r
complete -c encamp -n "__fish_encamp_using_subcommand what-if" -l address -d 'Address of the cluster\'s HTTP API. Overrides NOMAD_ADDR. Default: http://127.0.0.1:4646' -r
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
