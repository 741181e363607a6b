//! Converts some fields of an object to JSON: a search of fifty thousand objects for a status needs no more of each.

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeStruct, Serializer};
use serde_json::value::Serializer as Whole;
use serde_json::{Error, Map, Value};

/// The object with those of its fields that are named; all of it if it has no fields.
///
/// # Errors
/// The object can't be written as JSON.
pub(crate) fn fields<T: Serialize + ?Sized>(object: &T, names: &[String]) -> Result<Value, Error> {
    object.serialize(Picker { names })
}

/// Writes the outermost object only in part.
#[derive(Clone, Copy)]
struct Picker<'a> {
    names: &'a [String],
}

/// The fields found so far.
struct Picked<'a> {
    names: &'a [String],
    found: Map<String, Value>,
    /// Of the member whose value comes next.
    key: Option<String>,
}

impl<'a> Picker<'a> {
    fn begin(self) -> Picked<'a> {
        Picked { names: self.names, found: Map::new(), key: None }
    }
}

impl Picked<'_> {
    fn take<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        if self.names.iter().any(|n| n == key) {
            self.found.insert(key.to_string(), value.serialize(Whole)?);
        }
        Ok(())
    }
}

impl SerializeStruct for Picked<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.take(key, value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(Value::Object(self.found))
    }
}

impl SerializeMap for Picked<'_> {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let key = key.serialize(Whole)?;
        self.key = Some(key.as_str().map_or_else(|| key.to_string(), String::from));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().unwrap_or_default();
        self.take(&key, value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(Value::Object(self.found))
    }
}

/// Methods that leave what is no object to the serializer of whole values.
macro_rules! whole {
    ($(fn $method:ident($ty:ty);)*) => {
        $(fn $method(self, value: $ty) -> Result<Value, Error> {
            Whole.$method(value)
        })*
    };
}

impl<'a> Serializer for Picker<'a> {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = <Whole as Serializer>::SerializeSeq;
    type SerializeTuple = <Whole as Serializer>::SerializeTuple;
    type SerializeTupleStruct = <Whole as Serializer>::SerializeTupleStruct;
    type SerializeTupleVariant = <Whole as Serializer>::SerializeTupleVariant;
    type SerializeMap = Picked<'a>;
    type SerializeStruct = Picked<'a>;
    type SerializeStructVariant = <Whole as Serializer>::SerializeStructVariant;

    whole! {
        fn serialize_bool(bool);
        fn serialize_i8(i8);
        fn serialize_i16(i16);
        fn serialize_i32(i32);
        fn serialize_i64(i64);
        fn serialize_u8(u8);
        fn serialize_u16(u16);
        fn serialize_u32(u32);
        fn serialize_u64(u64);
        fn serialize_f32(f32);
        fn serialize_f64(f64);
        fn serialize_char(char);
        fn serialize_str(&str);
        fn serialize_bytes(&[u8]);
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Whole.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Whole.serialize_unit()
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Value, Error> {
        Whole.serialize_unit_struct(name)
    }

    fn serialize_unit_variant(self, name: &'static str, index: u32, variant: &'static str) -> Result<Value, Error> {
        Whole.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        Whole.serialize_newtype_variant(name, index, variant, value)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Whole.serialize_seq(length)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Error> {
        Whole.serialize_tuple(length)
    }

    fn serialize_tuple_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeTupleStruct, Error> {
        Whole.serialize_tuple_struct(name, length)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Whole.serialize_tuple_variant(name, index, variant, length)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Picked<'a>, Error> {
        Ok(self.begin())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Picked<'a>, Error> {
        Ok(self.begin())
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Whole.serialize_struct_variant(name, index, variant, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{EvalStatus, Evaluation, Node};

    fn picked<T: Serialize>(object: &T, names: &[&str]) -> Value {
        fields(object, &names.iter().map(ToString::to_string).collect::<Vec<_>>()).expect("JSON")
    }

    #[test]
    fn only_what_is_named_is_written() {
        let eval = Evaluation { id: "e".into(), status: EvalStatus::Pending, priority: 50, ..Default::default() };
        assert_eq!(
            picked(&eval, &["Status", "Priority", "Wait", "Nope"]),
            serde_json::json!({"Status": "pending", "Priority": 50})
        );
        assert_eq!(picked(&serde_json::json!({"a": {"b": [1]}, "c": 2}), &["a"]), serde_json::json!({"a": {"b": [1]}}));
        assert_eq!(picked(&Some(&7), &["a"]), serde_json::json!(7));
    }

    #[test]
    fn with_all_names_it_is_the_whole_object() {
        let node = Node { id: "n".into(), meta: [("rack".to_string(), "r1".to_string())].into(), ..Default::default() };
        let whole = serde_json::to_value(&node).expect("JSON");
        let names: Vec<&str> = whole.as_object().expect("an object").keys().map(String::as_str).collect();
        assert!(names.len() > 1);
        assert_eq!(picked(&node, &names), whole);
    }
}
