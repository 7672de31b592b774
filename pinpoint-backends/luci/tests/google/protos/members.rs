//! The members of the JSON that a type reads.
//!
//! The type is asked to read itself from a reader that has any value, and notes each request.

use std::cell::RefCell;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// The type of a member.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Member {
    Text,
    Truth,
    Number,
    /// As text or as number: one of 64 bits.
    LongNumber,
    /// Any members.
    Map,
    Message(Vec<(String, Member)>),
    /// One of these names.
    Choice(Vec<String>),
    List(Box<Member>),
}

/// The members of a message, in the order of the type.
pub(super) fn members_of<T: DeserializeOwned>() -> Vec<(String, Member)> {
    let member = RefCell::new(None);
    T::deserialize(MemberProbe(&member)).unwrap_or_else(|error| panic!("{error}"));
    match member.into_inner() {
        Some(Member::Message(members)) => members,
        other => panic!("no message: {other:?}"),
    }
}

/// Has any value, and notes its kind.
struct MemberProbe<'a>(&'a RefCell<Option<Member>>);

impl MemberProbe<'_> {
    fn note(&self, member: Member) {
        *self.0.borrow_mut() = Some(member);
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                self.note(Member::Number);
                visitor.$visit(0)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for MemberProbe<'_> {
    type Error = Error;

    numbers! {
        deserialize_i32 visit_i32
        deserialize_i64 visit_i64
        deserialize_u32 visit_u32
        deserialize_u64 visit_u64
    }

    /// Of the members here, only long numbers take several forms.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(Member::LongNumber);
        visitor.visit_str("0")
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(Member::Truth);
        visitor.visit_bool(false)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(Member::Text);
        visitor.visit_str("")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note(Member::Map);
        visitor.visit_map(&mut Fields::new(&[]))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let member = RefCell::new(None);
        let value = visitor.visit_seq(Once(Some(&member)))?;
        let member = member.into_inner();
        let member = member.ok_or_else(|| Error::custom("a list of nothing"))?;
        self.note(Member::List(Box::new(member)));
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut all = Fields::new(fields);
        let value = visitor.visit_map(&mut all)?;
        self.note(Member::Message(all.members));
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let names = variants.iter().map(|name| (*name).to_owned());
        self.note(Member::Choice(names.collect()));
        let first = variants.first().ok_or_else(|| Error::custom("no choice"))?;
        visitor.visit_enum(Variant(first))
    }

    forward_to_deserialize_any! {
        i8 i16 u8 u16 f32 f64 char str bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct identifier ignored_any
    }
}

/// The fields of a struct, one after the other.
struct Fields {
    left: std::slice::Iter<'static, &'static str>,
    name: &'static str,
    members: Vec<(String, Member)>,
}

impl Fields {
    fn new(names: &'static [&'static str]) -> Self {
        Self {
            left: names.iter(),
            name: "",
            members: Vec::new(),
        }
    }
}

impl<'de> MapAccess<'de> for &mut Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.left.next() else {
            return Ok(None);
        };
        self.name = name;
        let name: StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let member = RefCell::new(None);
        let value = seed.deserialize(MemberProbe(&member))?;
        let member = member.into_inner();
        let member = member.ok_or_else(|| Error::custom(format!("{} reads nothing", self.name)))?;
        self.members.push((self.name.to_owned(), member));
        Ok(value)
    }
}

/// A list of one.
struct Once<'a>(Option<&'a RefCell<Option<Member>>>);

impl<'de> SeqAccess<'de> for Once<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0
            .take()
            .map(|member| seed.deserialize(MemberProbe(member)))
            .transpose()
    }
}

struct Variant(&'static str);

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'_, Error> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Error> {
        Err(Error::custom("a name alone"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a name alone"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        Err(Error::custom("a name alone"))
    }
}
