//! Messages from JSON, forms and queries.
//!
//! Fields have the names of the `.proto` file or their JSON names; a form or a query names nested
//! fields with a dot, as in `pagination.next_cursor`. An unknown name is an error in our own API,
//! where a misspelled limit would be ignored. In Chromium's it is ignored, since its clients may
//! know another version. A field that is given twice is an error, wherever and under either name.

use std::cell::RefCell;
use std::fmt;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The deepest JSON that is read.
const MOST_LEVELS: u32 = 64;

/// The reason why a request is not a valid message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("the body can't be read: {0}")]
    Json(String),
    #[error("the request can't be read: {0}")]
    Request(String),
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("`{field}`: {found:?} is not {wanted}")]
    Text {
        field: String,
        found: String,
        wanted: &'static str,
    },
    #[error("`{0}` can't be given in a query or a form; send the request as JSON")]
    NotText(String),
}

/// The fields of a message so far, by their JSON names.
#[derive(Debug)]
pub(crate) struct Fields {
    descriptor: MessageDescriptor,
    members: Map<String, Value>,
    wrong: Vec<FieldProblem>,
    has_json: bool,
}

/// A field that is left out because it is wrong, and its problem.
pub(crate) type FieldProblem = (String, String);

impl Fields {
    pub(crate) fn new(descriptor: MessageDescriptor) -> Self {
        Self {
            descriptor,
            members: Map::new(),
            wrong: Vec::new(),
            has_json: false,
        }
    }

    fn is_strict(&self) -> bool {
        self.descriptor.package_name() == STRICT
    }

    /// Takes in the fields of a JSON object.
    pub(crate) fn add_json(&mut self, body: &[u8]) -> Result<(), MessageError> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let wrong = self.is_strict().then(RefCell::default);
        let seed = Checked {
            descriptor: Some(self.descriptor.clone()),
            level: 0,
            path: String::new(),
            wrong: wrong.as_ref(),
        };
        let json = |error: serde_json::Error| MessageError::Json(error.to_string());
        let read = seed.deserialize(&mut reader).map_err(json)?;
        self.has_json = true;
        self.wrong
            .extend(wrong.into_iter().flat_map(RefCell::into_inner));
        reader.end().map_err(json)?;
        let Value::Object(members) = read else {
            return Err(MessageError::Json("it is not a JSON object".into()));
        };
        for (name, value) in members {
            if self.members.insert(name.clone(), value).is_some() {
                return Err(MessageError::Twice(name));
            }
        }
        Ok(())
    }

    /// Takes in a field as text.
    pub(crate) fn add_text(&mut self, path: &str, text: &str) -> Result<(), MessageError> {
        let is_strict = self.is_strict();
        let mut descriptor = self.descriptor.clone();
        let mut members = &mut self.members;
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            let Some(field) = field_called(&descriptor, part) else {
                if is_strict {
                    self.wrong
                        .push((path.to_owned(), unknown(&descriptor, part)));
                }
                return Ok(());
            };
            let name = field.json_name().to_owned();
            if parts.peek().is_none() {
                let value = value_of(&field, path, text)?;
                return match (members.get_mut(&name), field.is_list()) {
                    (None, true) => {
                        members.insert(name, Value::Array(vec![value]));
                        Ok(())
                    }
                    (None, false) => {
                        members.insert(name, value);
                        Ok(())
                    }
                    (Some(Value::Array(values)), true) => {
                        values.push(value);
                        Ok(())
                    }
                    _ => Err(MessageError::Twice(path.into())),
                };
            }
            let (Kind::Message(inner), false, false) =
                (field.kind(), field.is_list(), field.is_map())
            else {
                return Err(MessageError::NotText(path.into()));
            };
            descriptor = inner;
            let below = members
                .entry(name)
                .or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(below) = below else {
                return Err(MessageError::Twice(path.into()));
            };
            members = below;
        }
        Ok(())
    }

    /// Returns the message without the wrong fields, and these.
    pub(crate) fn message(self) -> Result<(DynamicMessage, Vec<FieldProblem>), MessageError> {
        let error = match self.has_json {
            true => MessageError::Json,
            false => MessageError::Request,
        };
        DynamicMessage::deserialize(self.descriptor, Value::Object(self.members))
            .map(|message| (message, self.wrong))
            .map_err(|problem| error(problem.to_string()))
    }
}

/// The package of our own API.
const STRICT: &str = "pinpoint.v2";

fn unknown(descriptor: &MessageDescriptor, name: &str) -> String {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let names = descriptor
        .fields()
        .map(|field| field.json_name().to_owned());
    let names: Vec<_> = names.collect();
    let near = { names.iter() }
        .map(|known| (edits(&plain(known), &plain(name)), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 5)
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((_, known)) => format!("there is no such field; did you mean `{known}`?"),
        None => format!("there is no such field; there are {}", names.join(", ")),
    }
}

/// Returns the reason why a value does not fit this field, if any. Messages are checked field by
/// field.
fn problem_of(field: &FieldDescriptor, value: &Value) -> Option<String> {
    if field.is_map() || value.is_null() {
        return None;
    }
    if field.is_list() {
        return match value.as_array() {
            Some(items) => items.iter().find_map(|item| problem_of_one(field, item)),
            None => Some("it has to be a list".into()),
        };
    }
    problem_of_one(field, value)
}

fn problem_of_one(field: &FieldDescriptor, value: &Value) -> Option<String> {
    let whole = |least: i128, most: i128| {
        let number = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => String::new(),
        };
        let exact = number.parse::<i128>().ok();
        let rounded = || number.parse::<f64>().ok().filter(|it| it.fract() == 0.0);
        let number = exact.or_else(|| rounded().map(|it| it as i128));
        let is_fit = number.is_some_and(|it| (least..=most).contains(&it));
        (!is_fit).then(|| format!("it has to be a whole number from {least} to {most}"))
    };
    let unless = |is_fit: bool, wanted: &str| (!is_fit).then(|| format!("it has to be {wanted}"));
    match field.kind() {
        Kind::Bool => unless(value.is_boolean(), "true or false"),
        Kind::String => unless(value.is_string(), "a text"),
        Kind::Bytes => None,
        Kind::Float | Kind::Double => {
            let is_text = |text: &str| text.parse::<f64>().is_ok();
            unless(
                value.is_number() || value.as_str().is_some_and(is_text),
                "a number",
            )
        }
        Kind::Enum(names) => {
            let is_name = |text: &str| names.get_value_by_name(text).is_some();
            let names = names.values().map(|it| it.name().to_owned());
            let wanted = format!("one of {}", names.collect::<Vec<_>>().join(", "));
            unless(
                value.is_i64() || value.as_str().is_some_and(is_name),
                &wanted,
            )
        }
        Kind::Message(message) if !is_well_known(&message) => {
            unless(value.is_object(), "an object")
        }
        Kind::Message(_) => None,
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => whole(i32::MIN.into(), i32::MAX.into()),
        Kind::Uint32 | Kind::Fixed32 => whole(0, u32::MAX.into()),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => whole(i64::MIN.into(), i64::MAX.into()),
        Kind::Uint64 | Kind::Fixed64 => whole(0, u64::MAX.into()),
    }
}

/// The edits between two names.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().collect();
    let mut before: Vec<_> = (0..=other.len()).collect();
    for (row, letter) in one.chars().enumerate() {
        let mut now = vec![row + 1];
        for (column, own) in other.iter().enumerate() {
            let replaced = before[column] + usize::from(letter != *own);
            now.push(replaced.min(before[column + 1] + 1).min(now[column] + 1));
        }
        before = now;
    }
    before[other.len()]
}

fn field_called(descriptor: &MessageDescriptor, name: &str) -> Option<FieldDescriptor> {
    let by_json = descriptor.get_field_by_json_name(name);
    by_json.or_else(|| descriptor.get_field_by_name(name))
}

fn value_of(field: &FieldDescriptor, path: &str, text: &str) -> Result<Value, MessageError> {
    let not = |wanted| MessageError::Text {
        field: path.into(),
        found: text.into(),
        wanted,
    };
    Ok(match field.kind() {
        _ if field.is_map() => return Err(MessageError::NotText(path.into())),
        Kind::Bool => match text {
            "true" | "1" => Value::Bool(true),
            "false" | "0" => Value::Bool(false),
            _ => return Err(not("true or false")),
        },
        Kind::Enum(names) => match text.parse::<i32>() {
            Ok(number) => number.into(),
            Err(_) if names.get_value_by_name(text).is_some() => text.into(),
            Err(_) => return Err(not("a value of this enum")),
        },
        Kind::String | Kind::Bytes => text.into(),
        Kind::Float | Kind::Double => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => number.into(),
            _ => return Err(not("a number")),
        },
        Kind::Message(message) if message.full_name() == "google.protobuf.Timestamp" => text.into(),
        Kind::Message(_) => return Err(MessageError::NotText(path.into())),
        _ => match text.parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => return Err(not("a whole number")),
        },
    })
}

/// Reads any JSON whose objects name nothing twice; those that are messages, by the JSON
/// names of their fields.
struct Checked<'a> {
    /// The message that an object is; absent for others.
    descriptor: Option<MessageDescriptor>,
    level: u32,
    /// The place in the request.
    path: String,
    /// Collects problems, where all are reported at once.
    wrong: Option<&'a RefCell<Vec<FieldProblem>>>,
}

impl Checked<'_> {
    fn below<E: de::Error>(
        &self,
        descriptor: Option<MessageDescriptor>,
        path: String,
    ) -> Result<Self, E> {
        if self.level == MOST_LEVELS {
            return Err(E::custom(format_args!("more than {MOST_LEVELS} levels")));
        }
        Ok(Self {
            descriptor,
            level: self.level + 1,
            path,
            wrong: self.wrong,
        })
    }

    fn path_to(&self, name: &str) -> String {
        match &*self.path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Checked<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) =
            items.next_element_seed(self.below(self.descriptor.clone(), self.path.clone())?)?
        {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let field = self
                .descriptor
                .as_ref()
                .map(|descriptor| field_called(descriptor, &name));
            let (name, inner, field) = match field {
                // A map, or a value that is not a message.
                None => (name, None, None),
                Some(None) => {
                    // Left out, and no deeper than the rest.
                    members.next_value_seed(self.below(None, String::new())?)?;
                    if let (Some(wrong), Some(descriptor)) = (self.wrong, &self.descriptor) {
                        let problem = unknown(descriptor, &name);
                        wrong.borrow_mut().push((self.path_to(&name), problem));
                    }
                    continue;
                }
                Some(Some(field)) => {
                    let inner = match field.kind() {
                        Kind::Message(inner) if !field.is_map() && !is_well_known(&inner) => {
                            Some(inner)
                        }
                        _ => None,
                    };
                    (field.json_name().to_owned(), inner, Some(field))
                }
            };
            let path = self.path_to(field.as_ref().map_or(&*name, |field| field.name()));
            let value = members.next_value_seed(self.below(inner, path.clone())?)?;
            if let (Some(wrong), Some(field)) = (self.wrong, &field)
                && let Some(problem) = problem_of(field, &value)
            {
                wrong.borrow_mut().push((path, problem));
                continue;
            }
            if read.insert(name.clone(), value).is_some() {
                return Err(de::Error::custom(MessageError::Twice(name)));
            }
        }
        Ok(Value::Object(read))
    }
}

/// Returns true for messages with a special JSON form.
pub(super) fn is_well_known(message: &MessageDescriptor) -> bool {
    message.package_name() == "google.protobuf"
}

// The tests use messages of `pinpoint.v1`.
#[cfg(test)]
#[cfg(feature = "published")]
mod tests {
    use pinpoint_report::quantity::without_noise;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use prost::Message;
    use prost_reflect::{ReflectMessage, SerializeOptions};
    use serde_json::Value;

    use super::super::json::to_json;
    use super::*;
    use crate::api::descriptors::POOL;

    fn fields(message: &str) -> Fields {
        Fields::new(POOL.get_message_by_name(message).unwrap())
    }

    /// A message as `prost-reflect` writes it, with unset fields.
    fn reflected(message: &DynamicMessage) -> Value {
        let options = SerializeOptions::new().skip_default_fields(false);
        let value = message.serialize_with_options(serde_json::value::Serializer, &options);
        let mut value = value.unwrap();
        add_absent(&mut value, &message.descriptor());
        value
    }

    /// Adds the messages that are absent, as `null`.
    fn add_absent(value: &mut Value, descriptor: &MessageDescriptor) {
        if is_well_known(descriptor) {
            return;
        }
        match value {
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| add_absent(item, descriptor)),
            Value::Object(members) => {
                for field in descriptor.fields() {
                    let Kind::Message(inner) = field.kind() else {
                        continue;
                    };
                    let name = field.json_name();
                    if field.is_map() {
                        let entry = inner.map_entry_value_field().kind();
                        if let (Kind::Message(inner), Some(Value::Object(entries))) =
                            (entry, members.get_mut(name))
                        {
                            entries
                                .values_mut()
                                .for_each(|entry| add_absent(entry, &inner));
                        }
                    } else if let Some(member) = members.get_mut(name) {
                        add_absent(member, &inner);
                    } else if field.containing_oneof().is_none() {
                        members.insert(name.to_owned(), Value::Null);
                    }
                }
            }
            _ => {}
        }
    }

    /// A message as in answers.
    fn answer(message: &DynamicMessage) -> Value {
        let name = message.descriptor();
        let json = to_json(name.full_name(), &message.encode_to_vec()).unwrap();
        serde_json::from_slice(&json).unwrap()
    }

    const BISECT: &str = "pinpoint.v1.ScheduleBisectRequest";
    const LIST: &str = "pinpoint.v1.QueryJobListRequest";

    #[test]
    fn a_body_has_names_of_both_kinds() {
        let mut read = fields("pinpoint.v1.SchedulePairwiseRequest");
        let body = br#"{"bot_name": "lab", "start_commit": {"main": {"gitHash": "a"}}, "bugId": null, "newer": [1]}"#;
        read.add_json(body).unwrap();
        read.add_text("story", "s").unwrap();
        let message = read.message().unwrap().0;
        let json = answer(&message);
        assert_eq!(json["bot_name"], "lab");
        assert_eq!(json["startCommit"]["main"]["gitHash"], "a");
        assert_eq!(json["story"], "s");
    }

    #[test]
    fn what_is_given_twice_is_an_error() {
        let twice = [
            r#"{"story": "a", "story": "b"}"#,
            r#"{"start_git_hash": "a", "startGitHash": "a"}"#,
        ];
        for body in twice {
            let error = fields(BISECT).add_json(body.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("is given twice"), "{error}");
        }
        let mut read = fields(BISECT);
        read.add_json(br#"{"startGitHash": "a"}"#).unwrap();
        let error = read.add_text("start_git_hash", "a").unwrap_err();
        assert_eq!(error, MessageError::Twice("start_git_hash".into()));

        let mut read = fields(LIST);
        read.add_text("pagination.nextCursor", "c").unwrap();
        read.add_text("pagination.prev_cursor", "d").unwrap();
        let error = read.add_text("pagination.next_cursor", "c").unwrap_err();
        assert_eq!(error, MessageError::Twice("pagination.next_cursor".into()));
    }

    #[test]
    fn texts_are_read_by_the_kind_of_their_field() {
        let mut read = fields(LIST);
        read.add_text("job_type", "JOB_TYPE_BISECT").unwrap();
        read.add_text("pagination.has_next", "true").unwrap();
        let json = answer(&read.message().unwrap().0);
        assert_eq!(json["jobType"], "JOB_TYPE_BISECT");
        assert_eq!(json["pagination"]["hasNext"], true);
        let bad = [
            ("job_type", "Nonsense"),
            ("pagination.has_next", "maybe"),
            ("pagination", "x"),
        ];
        for (name, text) in bad {
            assert!(fields(LIST).add_text(name, text).is_err(), "{name}");
        }
        fields(LIST).add_text("unheard", "x").unwrap();
    }

    #[test]
    fn all_that_is_wrong_in_our_own_api_is_told_with_its_field() {
        let mut read = fields("pinpoint.v2.CreateJobRequest");
        let body = br#"{"bot": 5, "bugId": "x", "benchmrk": "b", "bisection":
            {"maxRun": 5, "maxRuns": -1, "attempts": 1e3, "magnitude": {"percent": true}}}"#;
        read.add_json(body).unwrap();
        read.add_text("bisection.stratgy", "1").unwrap();
        let (message, wrong) = read.message().unwrap();
        let fields: Vec<_> = wrong.iter().map(|(field, _)| &**field).collect();
        let expected = [
            "bot",
            "bug_id",
            "benchmrk",
            "bisection.maxRun",
            "bisection.max_runs",
            "bisection.magnitude.percent",
            "bisection.stratgy",
        ];
        assert_eq!(fields, expected);
        assert!(wrong[3].1.ends_with("did you mean `maxRuns`?"), "{wrong:?}");
        assert_eq!(answer(&message)["bisection"]["attempts"], 1000);
    }

    #[test]
    fn depth_is_limited() {
        let deep = |levels: usize| {
            format!(
                "{{\"newer\": {}{}}}",
                "[".repeat(levels),
                "]".repeat(levels)
            )
        };
        let tags =
            |levels: usize| format!("{{\"a\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(fields(BISECT).add_json(deep(40).as_bytes()).is_ok());
        let unknown = fields(BISECT).add_json(deep(64).as_bytes()).unwrap_err();
        assert!(unknown.to_string().contains("64 levels"), "{unknown}");
        let checked = |text: &str| {
            let seed = Checked {
                descriptor: None,
                level: 0,
                path: String::new(),
                wrong: None,
            };
            seed.deserialize(&mut serde_json::Deserializer::from_str(text))
        };
        assert!(checked(&tags(60)).is_ok());
        assert!(
            checked(&tags(70))
                .unwrap_err()
                .to_string()
                .contains("levels")
        );
    }

    /// Any value of a field that is neither a list nor a map; of messages with a special JSON form,
    /// times alone.
    fn value(kind: &Kind, depth: u32) -> Option<BoxedStrategy<prost_reflect::Value>> {
        use prost_reflect::Value as V;
        Some(match kind {
            Kind::Bool => any::<bool>().prop_map(V::Bool).boxed(),
            // The other JSON writes all digits.
            Kind::Double => (prop::num::f64::NORMAL)
                .prop_map(|number| V::F64(without_noise(number)))
                .boxed(),
            Kind::Float => prop::num::f32::NORMAL.prop_map(V::F32).boxed(),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => any::<i32>().prop_map(V::I32).boxed(),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => any::<i64>().prop_map(V::I64).boxed(),
            Kind::Uint32 | Kind::Fixed32 => any::<u32>().prop_map(V::U32).boxed(),
            Kind::Uint64 | Kind::Fixed64 => any::<u64>().prop_map(V::U64).boxed(),
            Kind::String => any::<String>().prop_map(V::String).boxed(),
            Kind::Bytes => (prop::collection::vec(any::<u8>(), 0..9))
                .prop_map(|bytes| V::Bytes(bytes.into()))
                .boxed(),
            Kind::Enum(names) => {
                let numbers: Vec<_> = names.values().map(|value| value.number()).collect();
                prop::sample::select(numbers)
                    .prop_map(V::EnumNumber)
                    .boxed()
            }
            Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => {
                let inner = inner.clone();
                let time = (0_i64..=253_402_300_799, 0_i32..1_000_000_000);
                time.prop_map(move |(seconds, nanos)| {
                    let mut time = DynamicMessage::new(inner.clone());
                    time.set_field_by_name("seconds", V::I64(seconds));
                    time.set_field_by_name("nanos", V::I32(nanos));
                    V::Message(time)
                })
                .boxed()
            }
            Kind::Message(inner) if is_well_known(inner) || depth == 0 => return None,
            Kind::Message(inner) => any_of(inner, depth - 1).prop_map(V::Message).boxed(),
        })
    }

    /// Any message of this type, with messages inside it as deep as this.
    fn any_of(descriptor: &MessageDescriptor, depth: u32) -> BoxedStrategy<DynamicMessage> {
        let fields = descriptor.fields().filter_map(|field| {
            let entry = field.kind();
            let entry = entry.as_message().filter(|_| field.is_map());
            let kind = entry.map_or(field.kind(), |entry| entry.map_entry_value_field().kind());
            let one = value(&kind, depth)?;
            let value = if field.is_map() {
                prop::collection::btree_map(any::<String>(), one, 0..3)
                    .prop_map(|entries| {
                        let key = prost_reflect::MapKey::String;
                        let entries = entries.into_iter().map(|(name, value)| (key(name), value));
                        prost_reflect::Value::Map(entries.collect())
                    })
                    .boxed()
            } else if field.is_list() {
                (prop::collection::vec(one, 0..3))
                    .prop_map(prost_reflect::Value::List)
                    .boxed()
            } else {
                one
            };
            Some(prop::option::of(value).prop_map(move |value| (field.clone(), value)))
        });
        let descriptor = descriptor.clone();
        let fields: Vec<_> = fields.collect();
        fields
            .prop_map(move |fields| {
                let mut message = DynamicMessage::new(descriptor.clone());
                for (field, value) in fields {
                    if let Some(value) = value {
                        message.set_field(&field, value);
                    }
                }
                message
            })
            .boxed()
    }

    #[test]
    fn every_message_comes_back_from_its_json() {
        for descriptor in POOL.all_messages() {
            if is_well_known(&descriptor) || descriptor.is_map_entry() {
                continue;
            }
            let config = ProptestConfig {
                cases: 16,
                failure_persistence: None,
                ..ProptestConfig::default()
            };
            let there_and_back = |message: DynamicMessage| {
                let written = answer(&message);
                prop_assert_eq!(&written, &reflected(&message));
                let mut read = Fields::new(message.descriptor());
                read.add_json(written.to_string().as_bytes()).unwrap();
                let read = read.message().unwrap().0;
                prop_assert_eq!(answer(&read), written);
                prop_assert_eq!(read.encode_to_vec().len(), message.encode_to_vec().len());
                Ok(())
            };
            let any = any_of(&descriptor, 3);
            TestRunner::new(config).run(&any, there_and_back).unwrap();
        }
    }

    #[test]
    fn answers_carry_what_is_not_set() {
        let descriptor = POOL
            .get_message_by_name("pinpoint.v1.QueryPairwiseResponse")
            .unwrap();
        let json = answer(&DynamicMessage::new(descriptor));
        let expected = serde_json::json!({
            "status": "PAIRWISE_JOB_STATUS_UNSPECIFIED",
            "execution": null,
        });
        assert_eq!(json, expected);
        let descriptor = POOL.get_message_by_name("pinpoint.v1.JobSummary").unwrap();
        let json = answer(&DynamicMessage::new(descriptor));
        assert_eq!(json["created"], Value::Null);
        assert_eq!(json["jobId"], "");
        // An optional field is absent when unset.
        assert!(json.get("bugId").is_none());
    }
}
