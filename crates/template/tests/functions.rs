//! The helpers of templates, and what templates read from elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use encamp_template::source::VariableName;
use encamp_template::time::Time;
use encamp_template::value::Map;
use encamp_template::{
    AddressError, Answer, Dependency, Failure, Limits, Object, Options, Rendered, Source, Template, Value,
};

/// Fixed answers.
#[derive(Default)]
struct Fixed(BTreeMap<Dependency, Answer>);

impl Source for Fixed {
    fn read(&self, dependency: &Dependency) -> Answer {
        self.0.get(dependency).cloned().unwrap_or(Answer::Missing)
    }

    fn env(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home".into())
    }

    fn now(&self) -> Time {
        Time::from_unix_nanos(1_709_210_096_000_000_000)
    }

    fn address(&self, expression: &str) -> Result<String, AddressError> {
        if expression == "GetPrivateIP" {
            Ok("10.0.0.1".into())
        } else {
            Err(AddressError::Unknown("no such address".into()))
        }
    }
}

fn render(source: &Fixed, text: &str) -> Result<Rendered, String> {
    let template = Template::parse("t", text, &Options::default()).map_err(|e| e.to_string())?;
    template.render(source, &Limits::default()).map_err(|e| e.to_string())
}

fn text(text: &str) -> String {
    match render(&Fixed::default(), text) {
        Ok(rendered) => rendered.text.unwrap_or_else(|| "missing".into()),
        Err(error) => error,
    }
}

#[test]
fn helpers() {
    for (template, want) in [
        (
            r#"{{ base64Encode "a?" }} {{ "YT8=" | base64Decode }} {{ base64URLEncode ">>>" }} {{ base64URLDecode "Pj4-" }}"#,
            "YT8= a? Pj4- >>>",
        ),
        (r#"{{ sha256Hex "a" }}"#, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        (r#"{{ md5sum "a" }}"#, "0cc175b9c0f1b6a831c399e269772661"),
        (r#"{{ hmacSHA256Hex "text" "key" }}"#, "6afa9046a9579cad143a384c1b564b9a250d27d6f6a63f9f20bf3a7594c9e2c6"),
        (r#"{{ "a,b" | split "," | join "-" }} {{ "" | split "," | len }} {{ split "" "ab" }}"#, "a-b 0 [a b]"),
        (
            r#"{{ trim "x" "xax" }}|{{ trimPrefix "a" "ab" }}|{{ trimSuffix "b" "ab" }}|{{ trimSpace " a " }}"#,
            "a|b|a|a",
        ),
        (
            r#"{{ "ab c" | toUpper }} {{ "AB" | toLower }} {{ "a b-c d'e" | toTitle }} {{ replaceAll "a" "b" "aab" }}"#,
            "AB C ab A B-C D'e bbb",
        ),
        (r#"{{ regexMatch "^a+$" "aaa" }} {{ "a1b2" | regexReplaceAll "([0-9])" "<$1>" }}"#, "true a<1>b<2>"),
        ("{{ \"a\\n\\nb\" | indent 2 }}", "  a\n\n  b"),
        (
            r#"{{ 5 | subtract 2 }} {{ add 1 2 }} {{ 6 | divide 4 }} {{ 7 | modulo 4 }} {{ multiply 2 1.5 }} {{ minimum 1 2 }} {{ maximum 1 2.5 }}"#,
            "3 3 1 3 3 1 2.5",
        ),
        (
            r#"{{ parseInt "-7" }} {{ parseUint "7" }} {{ parseFloat "1.5" }} {{ parseBool "t" }} {{ parseInt "" }}"#,
            "-7 7 1.5 true 0",
        ),
        (
            r#"{{ with parseJSON `{"a":[1,2.5,null,"x"],"b":{}}` }}{{ .a }} {{ .b }} {{ toJSON . }}{{ end }}"#,
            r#"[1 2.5 <nil> x] map[] {"a":[1,2.5,null,"x"],"b":{}}"#,
        ),
        (
            r#"{{ toJSON "<&>" }} {{ toUnescapedJSON "<&>" }} {{ toJSONPretty (sprig_dict "a" 1) }}"#,
            "\"\\u003c\\u0026\\u003e\" \"<&>\" {\n  \"a\": 1\n}",
        ),
        (
            "{{ with parseYAML \"a: [1, two]\\nb: &x {c: true}\\nd: *x\\ne: {<<: *x, f: ~}\" }}{{ toJSON . }}{{ end }}",
            r#"{"a":[1,"two"],"b":{"c":true},"d":{"c":true},"e":{"c":true,"f":null}}"#,
        ),
        (
            r#"{{ sprig_dict "a" (sprig_list 1 "x" "true") "b" (sprig_dict "c" "m: n") "d" "l1\nl2\n" | toYAML }}"#,
            "a:\n    - 1\n    - x\n    - \"true\"\nb:\n    c: \"m: n\"\nd: |\n    l1\n    l2",
        ),
        (
            r#"{{ sprig_dict "a" 1 "b" (sprig_dict "c" "x") "d" (sprig_list 1 2) | toTOML }}"#,
            "a = 1\nd = [1, 2]\n\n[b]\nc = \"x\"",
        ),
        (
            r#"{{ in (sprig_list 1 2) 2 }} {{ sprig_list "a" "b" | contains "b" }} {{ containsAll (sprig_list "a") (sprig_list "a" "b") }} {{ containsAny (sprig_list "z") (sprig_list "a") }} {{ containsNone (sprig_list "z") (sprig_list "a") }} {{ containsNotAll (sprig_list "a" "z") (sprig_list "a") }}"#,
            "true true true false true true",
        ),
        (r#"{{ loop 3 }} {{ loop 2 4 }} {{ range loop 5 8 }}{{ . }}{{ end }}"#, "[0 1 2] [2 3] 567"),
        (r#"{{ explodeMap (sprig_dict "a/b" 1 "a/c" 2 "d" 3) | toJSON }}"#, r#"{"a":{"b":1,"c":2},"d":3}"#),
        (
            r#"{{ sprig_dict "a" 1 | mergeMap (sprig_dict "a" 2 "b" 3) | toJSON }} {{ sprig_dict "a" 1 | mergeMapWithOverride (sprig_dict "a" 2) | toJSON }}"#,
            r#"{"a":1,"b":3} {"a":2}"#,
        ),
        (r#"{{ splitToMap "," "=" "a=1, b=2,c" | toJSON }}"#, r#"{"a":"1","b":"2","c":""}"#),
        (
            r#"{{ scratch.Set "a" 1 }}{{ scratch.SetX "a" 2 }}{{ scratch.Get "a" }}{{ scratch.Key "b" }}{{ scratch.MapSet "m" "k" "v" }}{{ scratch.MapValues "m" }}"#,
            "1false[v]",
        ),
        (
            r#"{{ timestamp }} {{ timestamp "unix" }} {{ timestamp "2006-01-02" }} {{ sockaddr "GetPrivateIP" }}"#,
            "2024-02-29T12:34:56Z 1709210096 2024-02-29 10.0.0.1",
        ),
        (r#"{{ env "HOME" }} {{ env "NONE" }}| {{ envOrDefault "NONE" "d" }} {{ mustEnv "HOME" }}"#, "/home | d /home"),
        (
            r#"{{ sprig_default "d" "" }} {{ sprig_ternary "a" "b" true }} {{ sprig_coalesce "" 0 "x" }} {{ sprig_upper "a" }} {{ sprig_trunc 2 "abc" }} {{ sprig_nindent 1 "a" }} {{ sprig_quote "a" }} {{ sprig_add 1 2 3 }} {{ sprig_sha1sum "a" }}"#,
            "d a x A ab \n a \"a\" 6 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
        ),
        (
            r#"{{ sprig_list 3 1 2 | sprig_sortAlpha }} {{ sprig_list 1 1 2 | sprig_uniq }} {{ sprig_has 1 (sprig_list 1) }} {{ sprig_keys (sprig_dict "b" 1 "a" 2) }} {{ sprig_date "2006" sprig_now }} {{ sprig_base "/a/b.c" }} {{ sprig_dir "/a/b" }} {{ sprig_ext "b.c" }}"#,
            "[1 2 3] [1 2] true [a b] 2024 b.c /a .c",
        ),
        (r#"{{ mustEnv "NONE" }}"#, "t:1:4: error calling mustEnv: missing required environment variable: NONE"),
        (r#"{{ parseJSON "{secret" }}"#, "t:1:4: error calling parseJSON: invalid JSON at line 1, column 2"),
        (r#"{{ divide 0 1 }}"#, "t:1:4: error calling divide: division by zero, or an overflow"),
        ("a\n  {{ nope }}", "t:2:6: function \"nope\" not defined"),
        (r#"{{ secret "a" }}"#, "t:1:4: function \"secret\" needs Vault, which is not supported"),
        (r#"{{ plugin "a" }}"#, "t:1:4: function \"plugin\" is disabled by the configuration of the agent"),
    ] {
        assert_eq!(text(template), want, "{template}");
    }
}

#[test]
fn functions_may_be_denied() {
    let options = Options { denied: BTreeSet::from(["executeTemplate".into()]), ..Options::default() };
    let template = r#"{{ define "x" }}[{{ . }}]{{ end }}{{ executeTemplate "x" 1 | toUpper }}"#;
    let error = Template::parse("t", template, &options).unwrap_err();
    assert_eq!(error.failure, Failure::Denied("executeTemplate".into()));
    assert_eq!(text(template), "[1]");
}

fn variable(items: &[(&'static str, &'static str)]) -> Answer {
    let item = |value: &str| Value::object(Object { type_name: "item", text: Some(value.into()), ..Object::default() });
    let entries = items.iter().map(|(k, v)| ((*k).into(), item(v))).collect();
    let keys = Value::texts(items.iter().map(|(k, _)| *k)).unwrap();
    Answer::Ready(Value::object(Object {
        type_name: "items",
        fields: [("Keys", keys)].into(),
        entries: Some(Map::new(entries).unwrap()),
        text: None,
    }))
}

#[test]
fn dependencies_are_recorded_and_missing_ones_told() {
    let name = |path: &str| Dependency::Variable(VariableName::parse(path));
    let mut source = Fixed::default();
    let template = r#"{{ with nomadVar "a" }}{{ .user }} {{ .Keys }}{{ range $k, $v := . }} {{ $k }}={{ $v }}{{ end }}{{ end }}{{ with nomadVar "b@prod" }}{{ .x | toUpper }}{{ end }}{{ (nomadVar "c").x.y }}{{ index (nomadVar "c") "z" }}"#;
    let first = render(&source, template).unwrap();
    assert_eq!(first.text, None);
    let all = BTreeSet::from([name("a"), name("b@prod"), name("c")]);
    assert_eq!(
        (first.missing, first.dependencies.len()),
        (all.clone(), 3),
        "an error does not matter while some are missing"
    );
    source.0.insert(name("a"), variable(&[("pass", "p"), ("user", "u")]));
    assert_eq!(render(&source, template).unwrap().missing, BTreeSet::from([name("b@prod"), name("c")]));
    source.0.insert(name("b@prod"), variable(&[("x", "low")]));
    source.0.insert(name("c"), variable(&[("z", "last")]));
    let done = render(&source, template).unwrap();
    assert_eq!(done.text.as_deref(), Some("u [pass user] pass=p user=uLOW<no value>last"));
    assert_eq!(done.dependencies, all);
    assert_eq!(render(&source, "static").unwrap().dependencies.len(), 0);
    assert_eq!(
        render(&source, r#"{{ if nomadVarExists "q" }}y{{ else }}n{{ end }}"#).unwrap().missing,
        BTreeSet::from([Dependency::VariableExists(VariableName::parse("q"))])
    );
    for (template, want) in [
        (r#"{{ nomadVar "../x" }}"#, "t:1:4: error calling nomadVar: invalid path of a variable: \"../x\""),
        (
            r#"{{ nomadService 1 "a" }}"#,
            "t:1:4: error calling nomadService: expected one argument (a name), or three (a number, a key, a name)",
        ),
    ] {
        assert_eq!(render(&source, template).unwrap_err(), want);
    }
    let many = r#"{{ range loop 5000 }}{{ $v := nomadVar (printf "a/%d" .) }}{{ end }}"#;
    assert_eq!(render(&source, many).unwrap_err(), "t:1:31: the template reads too many variables, services and files");
    source.0.insert(Dependency::File("f".into()), Answer::Failed("escapes".into()));
    assert_eq!(render(&source, r#"{{ file "f" }}"#).unwrap_err(), "t:1:4: error calling file: escapes");
}
