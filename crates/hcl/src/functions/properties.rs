//! No function panics or runs without bound, whatever its arguments.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::number::Number;
use crate::types::Type;

/// Texts that mean something to some function, and others.
const TEXTS: &[&str] = &[
    "",
    "a",
    "%",
    "%s %d",
    "%[9]*x",
    "%05.3f|%-9q",
    "10.0.0.0/8",
    "::/0",
    "fd00::/48",
    "1h30m",
    "-9h",
    "dns",
    "2024-02-29T12:00:00Z",
    "YYYY-MM-DD'T'hh",
    "'",
    "[1,2",
    "{\"a\":[null]}",
    "a,b\n1,2\n",
    "\"",
    "a: [1, &x b, *x]",
    "(a|b)*",
    "[[:alpha:]",
    "$1${x}",
    "e\u{301}👨‍👩‍👧",
    "\u{0}",
    "ß",
    "**",
    "{a,b}*",
    "[",
    "~",
    "-----BEGIN RSA PRIVATE KEY-----\nMA==",
    "aGk=",
    "ff",
    "1e9",
    "- - x\n- |\n  y",
    "<<: 1",
    "\\Q",
    "true",
    "\t\r\n",
];

fn leaf() -> impl Strategy<Value = Value> {
    let numbers = [
        "0",
        "-0",
        "1",
        "-1",
        "2",
        "10",
        "62",
        "0.5",
        "-3.25",
        "1e20",
        "-1e20",
        "1e2000",
        "1e-2000",
        "9223372036854775807",
        "-9223372036854775808",
    ];
    let number = prop::sample::select(numbers.to_vec()).prop_map(|text| Value::Number(Number::parse(text).unwrap()));
    let infinity = Value::Number(Number::from_f64(f64::INFINITY).unwrap());
    prop_oneof![
        Just(Value::Null),
        Just(infinity),
        any::<bool>().prop_map(Value::from),
        number,
        prop::sample::select(TEXTS).prop_map(Value::from),
        "\\PC{0,8}".prop_map(|text| Value::from(text.as_str())),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 12, 4, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..4);
        let entries = prop::collection::btree_map("[a-c]".prop_map(|key| Arc::<str>::from(key.as_str())), inner, 0..4);
        prop_oneof![
            items.clone().prop_map(|items| Value::tuple(items).unwrap()),
            items.clone().prop_map(|items| {
                let tuple = Value::tuple(items).unwrap();
                tuple.convert(&Type::list(Type::Any)).unwrap_or(tuple)
            }),
            items.prop_map(|items| {
                let tuple = Value::tuple(items).unwrap();
                tuple.convert(&Type::set(Type::Any)).unwrap_or(tuple)
            }),
            entries.clone().prop_map(|entries| Value::object(entries).unwrap()),
            entries.prop_map(|entries| {
                let object = Value::object(entries).unwrap();
                object.convert(&Type::map(Type::Any)).unwrap_or(object)
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_function_returns(arguments in prop::collection::vec(value(), 0..5)) {
        let context = FunctionContext {
            working_dir: std::env::temp_dir().join("encamp-no-such-directory"),
            ..support::test_context()
        };
        // bcrypt is slow by design.
        for name in names().iter().filter(|name| !SPECIAL_FORMS.contains(name) && **name != "bcrypt") {
            for count in 0..=arguments.len() {
                let result = call(name, arguments.iter().take(count).cloned().collect(), &context);
                if let Err(error) = result {
                    prop_assert!(error.to_string().len() < 100_000);
                }
            }
        }
    }

    #[test]
    fn encoded_values_are_decoded_to_themselves(original in value()) {
        let context = support::test_context();
        for (encode, decode) in [("jsonencode", "jsondecode"), ("yamlencode", "yamldecode")] {
            let Ok(text) = call(encode, vec![original.clone()], &context) else { continue };
            let back = call(decode, vec![text.clone()], &context);
            prop_assert!(back.is_ok(), "{:?} in {:?}", back, text);
            let again = call(encode, vec![back.unwrap()], &context).unwrap();
            prop_assert!(again.equals(&text), "{:?} became {:?}", text, again);
        }
    }

    #[test]
    fn types_and_conversions_agree(original in value(), other in value()) {
        // Conversion keeps the promises of unification, unless a text is not the number or bool it should be.
        let types = [original.ty(), other.ty()];
        if let Some(common) = crate::types::unify(&types) {
            for value in [&original, &other] {
                if value.is_null() { continue; }
                let converted = value.convert(&common);
                prop_assert!(converted.is_ok(), "{:?} to {}: {:?}", value, common, converted);
                let converted = converted.unwrap();
                prop_assert!(converted.convert(&common).unwrap().equals(&converted));
            }
        }
        prop_assert!(original.equals(&original));
        prop_assert_eq!(original.total_order(&other), other.total_order(&original).reverse());
    }
}
