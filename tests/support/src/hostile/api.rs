//! Jobs as API JSON (`-json`).

use super::Outcome::{Either, Refused};
use super::{Add, fill, numbered};

pub(super) fn add(size: usize, add: Add) {
    let whole = |inside: &str| {
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"Name\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Tasks\":[{{\"Name\":\"t\",\"Driver\":\"docker\"}}]}}],{inside}}}}}"
        )
    };
    add("api-deep-arrays", Refused, format!("{{\"Job\":{}", fill(size, "[")));
    add("api-deep-objects", Refused, fill(size, "{\"Job\":"));
    add("api-deep-meta", Either, whole(&format!("\"Meta\":{}{}", fill(size / 2, "["), fill(size / 2, "]"))));
    add(
        "api-deep-config",
        Either,
        format!(
            "{{\"TaskGroups\":[{{\"Tasks\":[{{\"Config\":{{\"a\":{}1{}}}}}]}}]}}",
            fill(size / 2, "["),
            fill(size / 2, "]")
        ),
    );
    add(
        "api-wide-config",
        Either,
        format!("{{\"ID\":\"a\",\"TaskGroups\":[{{\"Tasks\":[{{\"Config\":{{\"a\":[{}1]}}}}]}}]}}", fill(size, "1,")),
    );
    add(
        "api-config-objects",
        Either,
        format!("{{\"ID\":\"a\",\"TaskGroups\":[{{\"Tasks\":[{{\"Config\":{{\"a\":[{}1]}}}}]}}]}}", fill(size, "{},")),
    );
    add("api-unknown-names", Either, whole(&format!("{}\"z\":1", numbered(size, |i| format!("\"a{i}\":[{{}}],")))));
    add(
        "api-double-names",
        Either,
        whole(&format!("{}\"Priority\":50", fill(size, "\"Priority\":50,\"priority\":60,"))),
    );
    add(
        "api-null-groups",
        Either,
        format!("{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{}null]}}}}", fill(size, "null,")),
    );
    add("api-empty-groups", Either, format!("{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{}{{}}]}}}}", fill(size, "{},")));
    add(
        "api-empty-tasks",
        Either,
        format!("{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Tasks\":[{}{{}}]}}]}}}}", fill(size, "{},")),
    );
    add(
        "api-empty-services",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Services\":[{}{{}}]}}]}}}}",
            fill(size, "{},")
        ),
    );
    add("api-empty-constraints", Either, whole(&format!("\"Constraints\":[{}{{}}]", fill(size, "{},"))));
    add("api-empty-spreads", Either, whole(&format!("\"Spreads\":[{}{{}}]", fill(size, "{},"))));
    add("api-empty-affinities", Either, whole(&format!("\"Affinities\":[{}{{}}]", fill(size, "{},"))));
    add(
        "api-empty-networks",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Networks\":[{}{{}}]}}]}}}}",
            fill(size, "{},")
        ),
    );
    add(
        "api-empty-templates",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Tasks\":[{{\"Name\":\"t\",\"Templates\":[{}{{}}]}}]}}]}}}}",
            fill(size, "{},")
        ),
    );
    add(
        "api-same-tasks",
        Either,
        format!(
            "{{\"Job\":{{\"ID\":\"a\",\"TaskGroups\":[{{\"Name\":\"g\",\"Tasks\":[{}{{}}]}}]}}}}",
            fill(size, "{\"Name\":\"a\"},")
        ),
    );
    add(
        "api-giant-numbers",
        Either,
        whole("\"Priority\":1e308,\"Version\":99999999999999999999999,\"CreateIndex\":-1"),
    );
    add("api-long-number", Either, whole(&format!("\"Priority\":{}", fill(size, "9"))));
    add("api-long-text", Either, whole(&format!("\"Region\":\"{}\"", fill(size, "\\u0061"))));
    add("api-surrogates", Either, whole(&format!("\"Region\":\"{}\"", fill(size, "\\ud800"))));
    add("api-giant-count", Refused, "{\"Job\":{\"ID\":\"a\",\"Name\":\"a\",\"TaskGroups\":[{\"Name\":\"g\",\"Count\":2147483648,\"Tasks\":[{\"Name\":\"t\",\"Driver\":\"docker\"}]}]}}".into());
    add("api-many-datacenters", Either, whole(&format!("\"Datacenters\":[{}\"z\"]", fill(size, "\"\","))));
    add("api-trailing", Either, whole("\"Priority\":50") + &fill(size, "]"));
    add("api-blank", Refused, fill(size, " \n"));
}
