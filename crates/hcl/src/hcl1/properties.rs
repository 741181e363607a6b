//! The layout of a file changes nothing: whatever stands between the items of an object, the tree is the same.

use proptest::prelude::*;

use super::*;

/// An item of an object: its keys, and its value in the only form that needs no separator inside of it, or its items.
#[derive(Debug, Clone)]
enum Shape {
    Scalar(String, &'static str),
    Block(Vec<String>, bool, Vec<Shape>),
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[g-z_][a-z0-9_.-]{0,6}", "\"[a-z0-9 ./]{1,6}\""]
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let scalars = prop::sample::select(vec![
        "1",
        "-2.5",
        "0x1F",
        "1e5",
        "true",
        "false",
        "\"\"",
        "\"a b\"",
        "\"${x y=\"1\"}\"",
        "[]",
        "[1, \"a\"]",
        "[{ a = 1 b = 2 }]",
    ]);
    let scalar = (key(), scalars).prop_map(|(key, value)| Shape::Scalar(key, value));
    let block = scalar.boxed().prop_recursive(3, 24, 4, |inner| {
        let labels = prop::collection::vec(key(), 1..4);
        (labels, any::<bool>(), prop::collection::vec(inner, 0..4)).prop_map(|(keys, assigned, items)| {
            let assigned = assigned && keys.len() == 1;
            Shape::Block(keys, assigned, items)
        })
    });
    prop::collection::vec(block, 0..6)
}

/// Whether an item can stand right behind the text: words need something between them, numbers only from labels.
fn may_touch(text: &str, item: &Shape) -> bool {
    text.ends_with(['"', '}', ']']) || text.ends_with(|c: char| c.is_ascii_digit()) && matches!(item, Shape::Scalar(..))
}

/// Writes items with the separators that `next` gives.
fn write(items: &[Shape], next: &mut dyn FnMut() -> &'static str, out: &mut String) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(match next() {
                "" if !may_touch(out, item) => " ",
                separator => separator,
            });
        }
        match item {
            Shape::Scalar(key, value) => *out += &format!("{key} = {value}"),
            Shape::Block(keys, assigned, items) => {
                *out += &keys.join(" ");
                out.push_str(if *assigned { " = { " } else { " { " });
                write(items, next, out);
                out.push_str(" }");
            }
        }
    }
}

/// The tree without positions.
fn bare(node: &Node) -> Node {
    let value = match &node.value {
        Value::List(nodes) => Value::List(nodes.iter().map(bare).collect()),
        Value::Object(items) => Value::Object(
            items.iter().map(|i| Item { key: i.key.clone(), pos: Pos::default(), value: bare(&i.value) }).collect(),
        ),
        other => other.clone(),
    };
    Node { pos: Pos::default(), value }
}

const SEPARATORS: [&str; 9] = ["\n", " ", "", "\t", ", ", ",", "\r\n", " /* here */ ", " # end\n"];

proptest! {
    #[test]
    fn separators_of_items_change_nothing(items in shapes(), picks in prop::collection::vec(0..SEPARATORS.len(), 1..40)) {
        let mut lines = String::new();
        write(&items, &mut || "\n", &mut lines);
        let want = parse(&lines).map(|node| bare(&node));
        prop_assert!(want.is_ok(), "{lines}: {want:?}");
        let mut picks = picks.iter().cycle();
        let mut text = String::new();
        let mut next = || picks.next().and_then(|i| SEPARATORS.get(*i)).copied().unwrap_or(" ");
        write(&items, &mut next, &mut text);
        prop_assert_eq!(parse(&text).map(|node| bare(&node)), want, "{}", text);
    }
}
