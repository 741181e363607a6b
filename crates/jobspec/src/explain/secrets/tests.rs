use super::super::outline::Syntax;
use super::patterns::{is_secret_name, may_be_secret};
use super::*;

fn found(text: &str) -> Vec<Finding> {
    plain_secrets(&Outline::read("f.hcl", text, Syntax::Hcl))
}

fn task(inside: &str) -> String {
    format!(
        "job \"web\" {{\n  group \"api\" {{\n    task \"server\" {{\n      driver = \"docker\"\n{inside}\n    }}\n  }}\n}}\n"
    )
}

#[test]
fn names_of_secrets_end_with_what_they_hold() {
    for name in [
        "PASSWORD",
        "DB_PASSWORD",
        "PGPASSWORD",
        "db-password",
        "API_TOKEN",
        "TOKEN",
        "SECRET",
        "CLIENT_SECRET",
        "API_KEY",
        "APIKEY",
        "AWS_SECRET_ACCESS_KEY",
        "SECRET_KEY_BASE",
        "private_key",
        "PASSWORD_2",
        "ADMIN_PASSWD",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "TOKEN_FILE",
        "PASSWORD_FILE",
        "DB_PASSWORD_PATH",
        "TOKEN_URL",
        "SECRET_NAME",
        "TOKEN_TTL",
        "PUBLIC_KEY",
        "SSH_KEY_PATH",
        "KEY",
        "PWD",
        "MAX_TOKENS",
        "AWS_ACCESS_KEY_ID",
        "PRIMARY_KEY",
        "PARTITION_KEY",
        "TOKENIZER",
        "PASSWORD_MIN_LENGTH",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn references_switches_and_gaps_are_no_secrets() {
    for value in ["hunter2", "changeme", "p@ss word", "12345"] {
        assert!(may_be_secret(value), "{value}");
    }
    for value in [
        "",
        " ",
        "${DB_PASSWORD}",
        "{{ key \"x\" }}",
        "$PASSWORD",
        "/run/secrets/db",
        "file:///x",
        "secrets/token",
        "yes",
        "True",
        "0",
        "<password>",
        "xxxx",
        "********",
        "your-password-here",
        "REPLACE_ME",
        "vault:kv/db#password",
        "arn:aws:x",
    ] {
        assert!(!may_be_secret(value), "{value}");
    }
}

/// The message and the line of each secret, and never the secret.
#[test]
fn secrets_are_found_and_not_repeated() {
    let aws = ["AKIA", "Z3MEEWDY6WBYQ2LQ"].concat();
    let vault = ["hvs.", "CAESIJ0xk9vWb1cZ0aQ2Yx"].concat();
    let aws_id = format!("      env {{\n        ID = \"{aws}\"\n      }}");
    let vault_meta = format!("      meta {{\n        t = \"{vault}\"\n      }}");
    let cases: [(&str, &str, &str); 6] = [
        ("      env {\n        DB_PASSWORD = \"hunter2\"\n      }", "hunter2", "DB_PASSWORD is a secret in plain text"),
        (&aws_id, &aws, "ID has an access key of AWS in plain text"),
        (&vault_meta, &vault, "t has a token of Vault in plain text"),
        (
            "      env {\n        DATABASE_URL = \"postgres://app:hunter2@db:5432/app\"\n      }",
            "hunter2",
            "DATABASE_URL has an address with a password in plain text",
        ),
        (
            "      config {\n        auth {\n          username = \"u\"\n          password = \"hunter2\"\n        }\n      }",
            "hunter2",
            "password is a secret in plain text",
        ),
        (
            "      template {\n        destination = \"secrets/key.pem\"\n        data        = <<EOT\n-----BEGIN RSA PRIVATE \
             KEY-----\nMIIEowIBAAKCAQEAhunter2hunter2\n-----END RSA PRIVATE KEY-----\nEOT\n      }",
            "hunter2",
            "data has a private key in plain text",
        ),
    ];
    for (inside, secret, message) in cases {
        let text = task(inside);
        let found = found(&text);
        assert_eq!(found.len(), 1, "{text}{found:#?}");
        let f = &found[0];
        assert!(f.message.starts_with(message), "{f:#?}");
        assert_eq!(f.severity, crate::explain::Severity::Warning);
        assert!(!format!("{f:?}").contains(secret), "{f:#?}");
        let place = f.place.as_ref().expect("a place");
        let name = f.message.split(' ').next().expect("a name");
        assert!(text.lines().nth(place.range.start_line - 1).is_some_and(|l| l.contains(name)), "{f:#?}");
    }
}

#[test]
fn what_is_no_secret_is_not_reported() {
    for inside in [
        "      env {\n        DB_PASSWORD = \"${DB}\"\n        TOKEN_FILE = \"/x\"\n        MYSQL_RANDOM_ROOT_PASSWORD = \
         \"yes\"\n        EMPTY_SECRET = \"\"\n        ADDR = \"http://user@host:80\"\n        B = \"https://host:80/a:b@c\"\n      }",
        "      # password = \"hunter2\" AKIAZ3MEEWDY6WBYQ2LQ\n      meta {\n        token = \"a\"\n      }",
        "      env {\n        DB = \"postgres://app:${PASSWORD}@db/app\"\n        E = \"postgres://app:<password>@db/app\"\n      }",
        "      env {\n        A = \"AKIAIOSFODNN7EXAMPLE\"\n        H = \"hvs.short\"\n      }",
        "      template {\n        destination = \"secrets/k\"\n        data = <<EOT\n-----BEGIN PRIVATE KEY-----\n{{ with \
         nomadVar \"x\" }}{{ .key }}{{ end }}\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEAhunter2h\n\
         -----END CERTIFICATE-----\nEOT\n      }",
    ] {
        let text = task(inside);
        assert_eq!(found(&text), [], "{text}");
    }
}

#[test]
fn a_template_reads_the_secret_instead() {
    let text = task("      env {\n        DB_PASSWORD = \"hunter2\"\n        LEVEL = \"info\"\n      }");
    let found_here = found(&text);
    let repair = found_here[0].repair.as_ref().expect("a change");
    assert!(!repair.is_certain, "the variable has to be stored first");
    let new = repair.apply(&text).expect("a text");
    assert!(new.contains("nomadVar \"nomad/jobs/web/api/server\""), "{new}");
    assert!(new.contains("DB_PASSWORD={{ .DB_PASSWORD | toJSON }}"), "{new}");
    assert!(!new.contains("hunter2") && new.contains("LEVEL = \"info\""), "{new}");
    assert_eq!(found(&new), []);
    let options = crate::parse::ParseOptions { path: "f.hcl".into(), ..Default::default() };
    let job = crate::parse::parse(new.as_bytes(), &options).expect("a job");
    let task = &job.task_groups.as_ref().expect("groups")[0].tasks.as_ref().expect("tasks")[0];
    let template = &task.templates.as_ref().expect("templates")[0];
    assert_eq!(template.envvars, Some(true));
    assert_eq!(
        template.embedded_tmpl.as_deref().map(str::trim_end),
        Some("{{ with nomadVar \"nomad/jobs/web/api/server\" }}DB_PASSWORD={{ .DB_PASSWORD | toJSON }}{{ end }}")
    );
}

#[test]
fn jobs_in_json_are_read_too() {
    let text = r#"{"Job": {"ID": "a", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Env": {"API_TOKEN": "hunter2",
        "A": "b", "DB_PASSWORD": "hunter3", "SECRET": "hunter4"}}]}]}}"#;
    let found = plain_secrets(&Outline::read("f.json", text, Syntax::Api));
    assert_eq!(found.len(), 3, "{found:#?}");
    // No secret of the line is shown, not even beside another one.
    assert!(!format!("{found:?}").contains("hunter"), "{found:#?}");
    assert!(found.iter().all(|f| f.repair.is_none()), "{found:#?}");
}
