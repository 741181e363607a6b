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
complete -c encamp -n "__fish_encamp_needs_command" -f -a "job" -d 'Interact with jobs: plan, validate, inspect and write job files'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "completion" -d 'Print a completion script for a shell'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "init" -d 'Write an example job file'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "plan" -d 'Show what registering a job would change'
complete -c encamp -n "__fish_encamp_needs_command" -f -a "version" -d 'Print the version'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init plan" -s h -l help -d 'Print help'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init plan" -f -a "init" -d 'Write an example job file'
complete -c encamp -n "__fish_encamp_using_subcommand job; and not __fish_seen_subcommand_from init plan" -f -a "plan" -d 'Show what registering a job would change'
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
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l snapshot -d 'Cluster snapshot file to plan against' -r
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l diff -d 'Print how the job differs from the registered one' -r -f -a "true\t''
false\t''"
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
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l verbose -d 'Show the content of added and deleted groups and tasks too'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l json-output -d 'Print the result as JSON instead'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand job; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
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
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l hcl2-strict -d 'Refuse variables that the job file does not declare' -r -f -a "true\t''
false\t''"
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l var -d 'Set a variable of the job file, as key=value. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l var-file -d 'File with values for variables of the job file, in HCL. Can be given several times' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l vault-namespace -d 'Vault namespace to set in the job' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l snapshot -d 'Cluster snapshot file to plan against' -r
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l diff -d 'Print how the job differs from the registered one' -r -f -a "true\t''
false\t''"
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
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l verbose -d 'Show the content of added and deleted groups and tasks too'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l json-output -d 'Print the result as JSON instead'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l policy-override -d 'Accepted for compatibility; there are no policies to override'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l tls-skip-verify -d 'Do not verify the server\'s certificate. NOMAD_SKIP_VERIFY does the same'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l insecure -d 'The same as -tls-skip-verify'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l no-color -d 'Print without colours. NOMAD_CLI_NO_COLOR and NO_COLOR do the same'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -l force-color -d 'Print with colours even where output is not a terminal. NOMAD_CLI_FORCE_COLOR does the same'
complete -c encamp -n "__fish_encamp_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c encamp -n "__fish_encamp_using_subcommand version" -s h -l help -d 'Print help'
