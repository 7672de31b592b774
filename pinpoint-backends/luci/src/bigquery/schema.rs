//! The schema of a table, from a type that `serde` reads.
//!
//! A type is asked to read itself from a reader that gives any value, and notes each request:
//! `deserialize_struct` names the fields, `deserialize_f64` says that one is a number.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize};

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Its number of values.
    #[serde(default)]
    pub mode: ColumnMode,
    /// The columns of a `RECORD`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

/// The type of a column. Each has two names; the second is standard SQL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "they are BigQuery's")]
pub enum ColumnType {
    #[serde(alias = "BOOL")]
    Boolean,
    #[serde(alias = "INT64")]
    Integer,
    #[serde(alias = "FLOAT64")]
    Float,
    String,
    Timestamp,
    #[serde(alias = "STRUCT")]
    Record,
    /// Any other, as text.
    #[serde(other)]
    Other,
}

/// The number of values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ColumnMode {
    /// Zero or one.
    #[default]
    Nullable,
    /// Exactly one.
    Required,
    /// Any number of times, in order.
    Repeated,
}

/// A type has no schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

impl serde::de::Error for SchemaError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The name of the newtype that is a `TIMESTAMP`.
pub(super) const TIMESTAMP: &str = "pinpoint::bigquery::Timestamp";

/// The deepest that BigQuery nests records.
const DEEPEST: usize = 15;

/// The columns of a table whose rows are of this type.
///
/// | in Rust | in BigQuery |
/// | --- | --- |
/// | `bool` | `BOOLEAN` |
/// | `i8` to `i64`, `u8` to `u32` | `INTEGER` |
/// | `f32`, `f64` | `FLOAT` |
/// | `String`, `char`, an enum without data | `STRING` |
/// | [`Timestamp`](super::Timestamp) | `TIMESTAMP` |
/// | a struct | `RECORD` |
/// | `Vec` of any of them | the same, `REPEATED` |
/// | `Option` of any of them | the same, `NULLABLE` |
///
/// All else is `REQUIRED`. Anything without a column is an error: numbers beyond 64 bits with a
/// sign, maps, tuples, lists of lists or of options, types that contain themselves.
///
/// # Errors
///
/// If it is not a struct, or one of its fields has no column.
pub fn schema<T: DeserializeOwned>() -> Result<Vec<Field>, SchemaError> {
    let mut column = Column::default();
    T::deserialize(Probe {
        column: &mut column,
        depth: 0,
    })?;
    match column {
        Column {
            kind: Some(ColumnType::Record),
            mode: None,
            fields,
        } => Ok(fields),
        _ => Err(SchemaError::custom("the rows of a table are structs")),
    }
}

/// The known facts about a column.
#[derive(Default)]
struct Column {
    kind: Option<ColumnType>,
    /// Absent when required.
    mode: Option<ColumnMode>,
    fields: Vec<Field>,
}

/// Gives any value, and notes its kind.
struct Probe<'a> {
    column: &'a mut Column,
    depth: usize,
}

impl Probe<'_> {
    fn is(&mut self, kind: ColumnType) -> Result<(), SchemaError> {
        self.column.kind = Some(kind);
        Ok(())
    }

    fn mode(&mut self, mode: ColumnMode) -> Result<(), SchemaError> {
        match self.column.mode.replace(mode) {
            None => Ok(()),
            Some(_) => Err(SchemaError::custom(
                "a column holds no lists of lists, and no lists or options of each other",
            )),
        }
    }
}

macro_rules! scalars {
    ($($method:ident $kind:ident $visit:ident $value:expr;)*) => {
        $(
            fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, SchemaError> {
                self.is(ColumnType::$kind)?;
                visitor.$visit($value)
            }
        )*
    };
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*) $what:literal;)*) => {
        $(
            fn $method<V: Visitor<'de>>(
                self, $(_: $argument,)* _: V,
            ) -> Result<V::Value, SchemaError> {
                Err(SchemaError::custom(concat!("there is no column for ", $what)))
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = SchemaError;

    scalars! {
        deserialize_bool Boolean visit_bool false;
        deserialize_i8 Integer visit_i8 0;
        deserialize_i16 Integer visit_i16 0;
        deserialize_i32 Integer visit_i32 0;
        deserialize_i64 Integer visit_i64 0;
        deserialize_u8 Integer visit_u8 0;
        deserialize_u16 Integer visit_u16 0;
        deserialize_u32 Integer visit_u32 0;
        deserialize_f32 Float visit_f32 0.0;
        deserialize_f64 Float visit_f64 0.0;
        deserialize_char String visit_char 'a';
        deserialize_str String visit_str "";
        deserialize_string String visit_str "";
    }

    refused! {
        deserialize_any() "values of any kind";
        deserialize_u64() "u64: use i64";
        deserialize_i128() "i128: use i64";
        deserialize_u128() "u128: use i64";
        deserialize_bytes() "bytes";
        deserialize_byte_buf() "bytes";
        deserialize_unit() "()";
        deserialize_unit_struct(&'static str) "a struct without fields";
        deserialize_tuple(usize) "a tuple or an array: use a struct or a Vec";
        deserialize_tuple_struct(&'static str, usize) "a tuple: use a struct with names";
        deserialize_map() "a map, and so for a flattened struct: use a Vec of structs";
        deserialize_identifier() "a name";
        deserialize_ignored_any() "a value that is ignored";
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, SchemaError> {
        self.mode(ColumnMode::Nullable)?;
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SchemaError> {
        if name == TIMESTAMP {
            self.is(ColumnType::Timestamp)?;
            let text: StrDeserializer<'_, SchemaError> = "1970-01-01T00:00:00Z".into_deserializer();
            return visitor.visit_newtype_struct(text);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, SchemaError> {
        self.mode(ColumnMode::Repeated)?;
        visitor.visit_seq(Once(Some(self)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SchemaError> {
        if self.depth == DEEPEST {
            return Err(SchemaError(format!(
                "{name} is nested more than {DEEPEST} deep, or contains itself"
            )));
        }
        self.is(ColumnType::Record)?;
        if fields.is_empty() {
            return Err(SchemaError(format!("{name} has no fields")));
        }
        visitor.visit_map(Fields {
            names: fields.iter(),
            name: None,
            columns: &mut self.column.fields,
            depth: self.depth + 1,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SchemaError> {
        self.is(ColumnType::String)?;
        let first = variants
            .first()
            .ok_or_else(|| SchemaError(format!("{name} has no values")))?;
        visitor.visit_enum(Unit(first))
    }
}

/// A list of one.
struct Once<'a>(Option<Probe<'a>>);

impl<'de> SeqAccess<'de> for Once<'_> {
    type Error = SchemaError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, SchemaError> {
        self.0
            .take()
            .map(|probe| seed.deserialize(probe))
            .transpose()
    }
}

/// Every field in turn.
struct Fields<'a> {
    names: std::slice::Iter<'static, &'static str>,
    name: Option<&'static str>,
    columns: &'a mut Vec<Field>,
    depth: usize,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = SchemaError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, SchemaError> {
        self.name = self.names.next().copied();
        let name = self.name.map(|name| {
            let name: StrDeserializer<'_, SchemaError> = name.into_deserializer();
            seed.deserialize(name)
        });
        name.transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, SchemaError> {
        let name = self.name.unwrap_or_default();
        let mut column = Column::default();
        let value = seed
            .deserialize(Probe {
                column: &mut column,
                depth: self.depth,
            })
            .map_err(|SchemaError(problem)| SchemaError(format!("{name}: {problem}")))?;
        let Column { kind, mode, fields } = column;
        self.columns.push(Field {
            name: name.into(),
            kind: kind.ok_or_else(|| SchemaError(format!("{name}: there is no column for it")))?,
            mode: mode.unwrap_or(ColumnMode::Required),
            fields,
        });
        Ok(value)
    }
}

/// The first value of an enum.
struct Unit(&'static str);

impl<'de> EnumAccess<'de> for Unit {
    type Error = SchemaError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), SchemaError> {
        let name: StrDeserializer<'_, SchemaError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

fn with_data<T>() -> Result<T, SchemaError> {
    Err(SchemaError::custom(
        "there is no column for an enum with data",
    ))
}

impl<'de> VariantAccess<'de> for Unit {
    type Error = SchemaError;

    fn unit_variant(self) -> Result<(), SchemaError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, SchemaError> {
        with_data()
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, SchemaError> {
        with_data()
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, SchemaError> {
        with_data()
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
