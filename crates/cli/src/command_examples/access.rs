//! Examples of the commands about access control.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "acl bootstrap",
        &[
            Example::new("Create the first management token", "encamp acl bootstrap"),
            Example::new("Create it with a secret of your own", "encamp acl bootstrap admin-secret.txt"),
        ],
    ),
    (
        "acl policy apply",
        &[
            Example::new("Show what a policy would change", "encamp acl policy apply -dryrun dev dev.policy.hcl"),
            Example::new(
                "Create or update a policy",
                "encamp acl policy apply -description \"Developers\" dev dev.policy.hcl",
            ),
            Example::new(
                "Give a policy to the tasks of a job",
                "encamp acl policy apply -namespace default -job web \\\n    web-tasks dev.policy.hcl",
            ),
        ],
    ),
    (
        "acl policy list",
        &[
            Example::new("List the policies", "encamp acl policy list"),
            Example::new("Print their names", "encamp acl policy list -t '{{range .}}{{.Name}} {{end}}'"),
        ],
    ),
    (
        "acl policy info",
        &[
            Example::new("Show a policy", "encamp acl policy info dev"),
            Example::new("Print its rules", "encamp acl policy info -t '{{.Rules}}' dev"),
        ],
    ),
    (
        "acl policy self",
        &[
            Example::new("Show the policies of the token", "encamp acl policy self"),
            Example::new("Print them as JSON", "encamp acl policy self -json"),
        ],
    ),
    (
        "acl policy delete",
        &[
            Example::new("Delete a policy", "encamp acl policy delete dev"),
            Example::new("Delete the policy of requests without a token", "encamp acl policy delete anonymous"),
        ],
    ),
    (
        "acl role create",
        &[
            Example::new("Create a role", "encamp acl role create -name operators -policy ops"),
            Example::new(
                "Create a role with several policies",
                "encamp acl role create -name release -policy ops -policy dev",
            ),
        ],
    ),
    (
        "acl role list",
        &[
            Example::new("List the roles", "encamp acl role list"),
            Example::new("Print them as JSON", "encamp acl role list -json"),
        ],
    ),
    (
        "acl role info",
        &[
            Example::new("Show a role", "encamp acl role info 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
            Example::new("Show the role of a name", "encamp acl role info -by-name developers"),
        ],
    ),
    (
        "acl role update",
        &[
            Example::new(
                "Add a policy to a role",
                "encamp acl role update -policy ops 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264",
            ),
            Example::new(
                "Replace the policies of a role",
                "encamp acl role update -no-merge -name developers -policy dev \\\n    \
                 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264",
            ),
        ],
    ),
    (
        "acl role delete",
        &[
            Example::new("Delete a role", "encamp acl role delete 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
            Example::new(
                "Delete a role with the token of an administrator",
                "encamp acl role delete -token $ADMIN_TOKEN \\\n    6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264",
            ),
        ],
    ),
    (
        "acl token create",
        &[
            Example::new("Create a token for eight hours", "encamp acl token create -name anna -policy dev -ttl 8h"),
            Example::new("Create a token with a role", "encamp acl token create -name ben -role-name developers"),
            Example::new("Create a management token", "encamp acl token create -name admin -type management"),
        ],
    ),
    (
        "acl token list",
        &[
            Example::new("List the tokens", "encamp acl token list"),
            Example::new("Print their accessor IDs", "encamp acl token list -t '{{range .}}{{.AccessorID}} {{end}}'"),
        ],
    ),
    (
        "acl token self",
        &[
            Example::new("Show the token of the command", "encamp acl token self"),
            Example::new("Print when it expires", "encamp acl token self -t '{{.ExpirationTime}}'"),
        ],
    ),
    (
        "acl token info",
        &[
            Example::new("Show a token", "encamp acl token info e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
            Example::new("Print a token as JSON", "encamp acl token info -json e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
        ],
    ),
    (
        "acl token update",
        &[
            Example::new("Rename a token", "encamp acl token update -name ops e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
            Example::new(
                "Replace the policies of a token",
                "encamp acl token update -policy ops e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35",
            ),
        ],
    ),
    (
        "acl token delete",
        &[
            Example::new("Revoke a token", "encamp acl token delete e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
            Example::new(
                "Revoke a token with the token of an administrator",
                "encamp acl token delete -token $ADMIN_TOKEN \\\n    e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35",
            ),
        ],
    ),
    (
        "acl explain",
        &[
            Example::new(
                "Explain whether a token may register jobs",
                "encamp acl explain e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 submit-job",
            ),
            Example::new(
                "Explain whether it may read a variable",
                "encamp acl explain e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35 \\\n    variable:read default:nomad/jobs/web",
            ),
            Example::new("Explain the token of the command", "encamp acl explain - node:write"),
        ],
    ),
    (
        "acl auth-method create",
        &[
            Example::new(
                "Accept the JSON Web Tokens of another system",
                "encamp acl auth-method create -name ci -type JWT -max-token-ttl 1h \\\n    \
                 -config @ci-auth-method.json",
            ),
            Example::new(
                "Create the method for logins that name none",
                "encamp acl auth-method create -name main -type JWT -default \\\n    \
                 -max-token-ttl 8h -config @ci-auth-method.json",
            ),
        ],
    ),
    (
        "acl auth-method list",
        &[
            Example::new("List the auth methods", "encamp acl auth-method list"),
            Example::new("Print them as JSON", "encamp acl auth-method list -json"),
        ],
    ),
    (
        "acl auth-method info",
        &[
            Example::new("Show an auth method", "encamp acl auth-method info ci"),
            Example::new("Print how long its tokens live", "encamp acl auth-method info -t '{{.MaxTokenTTL}}' ci"),
        ],
    ),
    (
        "acl auth-method update",
        &[
            Example::new("Shorten the life of its tokens", "encamp acl auth-method update -max-token-ttl 30m ci"),
            Example::new("Replace its settings", "encamp acl auth-method update -config @ci-auth-method.json ci"),
        ],
    ),
    (
        "acl binding-rule create",
        &[
            Example::new(
                "Give a role to one team",
                "encamp acl binding-rule create -auth-method ci -bind-type role \\\n    \
                 -bind-name developers -selector 'value.team == \"web\"'",
            ),
            Example::new(
                "Give everybody the policy of their team",
                "encamp acl binding-rule create -auth-method ci -bind-type policy \\\n    \
                 -bind-name 'team-${value.team}'",
            ),
        ],
    ),
    (
        "acl binding-rule list",
        &[
            Example::new("List the binding rules", "encamp acl binding-rule list"),
            Example::new("Print them as JSON", "encamp acl binding-rule list -json"),
        ],
    ),
    (
        "acl binding-rule info",
        &[
            Example::new("Show a binding rule", "encamp acl binding-rule info 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
            Example::new(
                "Print a binding rule as JSON",
                "encamp acl binding-rule info -json 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
            ),
        ],
    ),
    (
        "acl binding-rule update",
        &[
            Example::new(
                "Change the role",
                "encamp acl binding-rule update -bind-name developers \\\n    95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
            ),
            Example::new(
                "Describe a binding rule",
                "encamp acl binding-rule update -description \"Web team\" \\\n    \
                 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
            ),
        ],
    ),
    (
        "login",
        &[
            Example::new("Log in with a token of another system", "encamp login -method ci -login-token $CI_TOKEN"),
            Example::new(
                "Log in with a token that is not on the command line",
                "echo $CI_TOKEN | encamp login -method ci -",
            ),
            Example::new(
                "Print the secret of the token",
                "encamp login -method ci -login-token $CI_TOKEN -t '{{.SecretID}}'",
            ),
        ],
    ),
    (
        "acl binding-rule delete",
        &[
            Example::new(
                "Delete a binding rule",
                "encamp acl binding-rule delete 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
            ),
            Example::new(
                "Delete a binding rule with the token of an administrator",
                "encamp acl binding-rule delete -token $ADMIN_TOKEN \\\n    95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
            ),
        ],
    ),
    (
        "acl auth-method delete",
        &[
            Example::new("Delete an auth method and its binding rules", "encamp acl auth-method delete ci"),
            Example::new(
                "Delete an auth method with the token of an administrator",
                "encamp acl auth-method delete -token $ADMIN_TOKEN main",
            ),
        ],
    ),
];
