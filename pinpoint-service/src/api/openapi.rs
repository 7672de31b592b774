//! `/openapi.json`: the description of the REST interface, from the tables of operations and
//! pages and from the `.proto` files.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor};
use serde_json::{Map, Value, json};

use crate::api::access::{Access, Operation};
use crate::api::descriptors::{POOL, method_of};
use crate::api::operations::{self, GET_REPORT};
use crate::api::rest::HTML;
use crate::page::Page;

/// The statuses of errors.
const ERRORS: [&str; 13] = [
    "400", "401", "403", "404", "405", "409", "413", "415", "429", "500", "501", "503", "504",
];

/// The ids of jobs.
const JOB_ID: &str = "^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$";

/// The side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Fields may be left out or `null`, and numbers may be texts.
    Request,
    /// Unset fields are there, too.
    Answer,
}

/// The description so far.
struct Description {
    schemas: BTreeMap<String, Value>,
    comments: BTreeMap<String, String>,
}

/// The description of all operations, and of these pages.
pub(crate) fn document(pages: impl Iterator<Item = &'static Page>) -> Value {
    let mut description = Description {
        schemas: BTreeMap::new(),
        comments: comments(),
    };
    let mut paths = Map::new();
    let mut add = |path: &str, method: &Method, operation: Value| {
        let path = paths.entry(path).or_insert_with(|| json!({}));
        path[method.as_str().to_ascii_lowercase()] = operation;
    };
    for operation in operations::all() {
        let Some(method) = method_of(operation.rpc) else {
            continue;
        };
        for (number, (verb, path)) in operation.routes.iter().enumerate() {
            let described = description.operation(operation, &method, verb, path, number);
            add(path, verb, described);
        }
    }
    for page in pages {
        add(page.path, &page.method, page_described(page));
    }
    let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
    description
        .schemas
        .insert("Problem".into(), problem_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pinpoint",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Finds the commit that changed a benchmark.",
        },
        "paths": paths,
        "components": {
            "schemas": description.schemas,
            "responses": {
                "Problem": {
                    "description": "The request was not carried out, for the reason given.",
                    "content": { "application/json": problem },
                },
            },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
            },
        },
    })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["code", "message", "details"],
        "properties": {
            "code": { "type": "integer", "description": "The code of gRPC." },
            "message": { "type": "string" },
            "details": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["@type", "fieldViolations"],
                    "properties": {
                        "@type": { "type": "string" },
                        "fieldViolations": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["field", "description"],
                                "properties": {
                                    "field": { "type": "string" },
                                    "description": { "type": "string" },
                                },
                            },
                        },
                    },
                },
            },
        },
    })
}

fn responses(content: Option<Value>) -> Value {
    let mut responses = Map::new();
    let mut good = json!({ "description": "The answer." });
    if let Some(content) = content {
        good["content"] = content;
    }
    responses.insert("200".into(), good);
    for status in ERRORS {
        let problem = json!({ "$ref": "#/components/responses/Problem" });
        responses.insert(status.into(), problem);
    }
    responses.into()
}

/// The operations on the job of an answer's id.
fn links(id: &str) -> Value {
    let of_job =
        operations::all().flat_map(|operation| {
            let first = operation.routes.first();
            first.filter(|(_, path)| path.contains("{job_id}")).map(|_| {
            let id = json!({
                "operationId": operation.rpc.replace('/', "."), "parameters": { "job_id": id },
            });
            (operation.rpc.to_owned().replace(['/', '.'], "-"), id)
        })
        });
    of_job.collect::<Map<_, _>>().into()
}

fn security(access: Access) -> Value {
    match access {
        Access::Anyone => json!([]),
        Access::With(_) => json!([{ "token": [] }]),
    }
}

/// The names of the variables in a path.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn page_described(page: &Page) -> Value {
    let parameters = parts(page.path).map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let content = match page.path {
        "/healthz" => Some("text/plain; charset=utf-8"),
        "/readyz" | "/openapi.json" => Some("application/json"),
        _ => None,
    };
    let mut responses = responses(content.map(|kind| json!({ kind: {} })));
    if page.path == "/readyz" {
        responses["503"] = json!({
            "description": "The service is not ready.",
            "content": { "application/json": {} },
        });
    }
    if content.is_none() {
        responses = json!({ "default": { "description": "The answer." } });
    }
    json!({
        "operationId": format!("{} {}", page.method, page.path),
        "parameters": parameters.collect::<Vec<_>>(),
        "responses": responses,
        "security": security(page.access),
    })
}

impl Description {
    fn operation(
        &mut self,
        operation: &Operation,
        method: &MethodDescriptor,
        verb: &Method,
        path: &str,
        number: usize,
    ) -> Value {
        let input = method.input();
        let of_path: BTreeSet<_> = parts(path).collect();
        let mut parameters = Vec::new();
        for name in &of_path {
            let Some(field) = input.get_field_by_name(name) else {
                continue;
            };
            let mut schema = self.schema(&field, Side::Answer);
            schema["pattern"] = match name.ends_with("_id") {
                true => JOB_ID,
                // A part of a path is never empty.
                false => "^[^/]+$",
            }
            .into();
            parameters.push(json!({
                "name": name, "in": "path", "required": true, "schema": schema,
                "description": self.comment(field.full_name()),
            }));
        }
        let rest = input
            .fields()
            .filter(|field| !of_path.contains(field.name()));
        let mut described = json!({
            "operationId": match number {
                0 => operation.rpc.replace('/', "."),
                _ => format!("{}.{number}", operation.rpc.replace('/', ".")),
            },
            "tags": [method.parent_service().full_name()],
            "description": self.comment(method.full_name()),
            "security": security(operation.access),
        });
        if *verb == Method::GET {
            for field in rest {
                self.query(&field, "", &mut parameters);
            }
        } else {
            let fields: Vec<_> = rest.collect();
            let schema = self.object(&fields, Side::Request);
            let required = fields
                .iter()
                .any(|field| field.containing_oneof().is_some());
            described["requestBody"] = json!({
                "required": required && !fields.is_empty(),
                "content": { "application/json": { "schema": schema } },
            });
            if ["CreateJob", "RetryJob"].contains(&method.name())
                || method.name().starts_with("Schedule")
            {
                parameters.push(json!({
                    "name": "Idempotency-Key", "in": "header",
                    "description": "Makes a call that is repeated within a day one job.",
                    "schema": { "type": "string", "pattern": "^[!-~]{1,255}$" },
                }));
            }
        }
        let content = match method.is_server_streaming() {
            true => {
                self.message(&method.output(), Side::Answer);
                parameters.push(json!({
                    "name": "Last-Event-ID", "in": "header",
                    "description": "The id of the last event that is known.",
                    "schema": { "type": "string", "pattern": "^[0-9]{1,18}$" },
                }));
                json!({ "text/event-stream": { "schema": { "type": "string" } } })
            }
            false if operation.rpc == GET_REPORT => {
                json!({ HTML: { "schema": { "type": "string" } } })
            }
            false => {
                let schema = self.message(&method.output(), Side::Answer);
                json!({ "application/json": { "schema": schema } })
            }
        };
        described["parameters"] = parameters.into();
        described["responses"] = responses(Some(content));
        let id = match method.output().full_name() {
            "pinpoint.v2.Job" => "$response.body#/summary/jobId",
            "pinpoint.v2.ListJobsResponse" => "$response.body#/jobs/0/jobId",
            _ => return described,
        };
        described["responses"]["200"]["links"] = links(id);
        described
    }

    /// The parameters of a field in a query: those of a message by its fields.
    fn query(&mut self, field: &FieldDescriptor, prefix: &str, parameters: &mut Vec<Value>) {
        let name = format!("{prefix}{}", field.name());
        if let Kind::Message(message) = field.kind()
            && !is_timestamp(&message)
        {
            if !field.is_list() && !field.is_map() {
                for field in message.fields() {
                    self.query(&field, &format!("{name}."), parameters);
                }
            }
            return;
        }
        let one = text_schema(&field.kind());
        let schema = match field.is_list() {
            true => json!({ "type": "array", "items": one }),
            false => one,
        };
        parameters.push(json!({
            "name": name, "in": "query", "schema": schema,
            "description": self.comment(field.full_name()),
        }));
    }

    fn comment(&self, name: &str) -> &str {
        self.comments.get(name).map_or("", String::as_str)
    }

    /// A reference to the schema of a message.
    fn message(&mut self, message: &MessageDescriptor, side: Side) -> Value {
        let name = match side {
            Side::Request => format!("{}.Request", message.full_name()),
            Side::Answer => message.full_name().to_owned(),
        };
        if !self.schemas.contains_key(&name) {
            // Messages may hold each other.
            self.schemas.insert(name.clone(), Value::Null);
            let fields: Vec<_> = message.fields().collect();
            let mut schema = self.object(&fields, side);
            schema["description"] = self.comment(message.full_name()).into();
            self.schemas.insert(name.clone(), schema);
        }
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    fn object(&mut self, fields: &[FieldDescriptor], side: Side) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in fields {
            let mut schema = self.schema(field, side);
            let is_message = matches!(field.kind(), Kind::Message(_));
            let is_optional =
                field.supports_presence() && !is_message || field.containing_oneof().is_some();
            let is_single = !field.is_list() && !field.is_map();
            if side == Side::Request || (is_message && is_single && !is_optional) {
                schema = json!({ "anyOf": [schema, { "type": "null" }] });
            }
            schema["description"] = self.comment(field.full_name()).into();
            if side == Side::Answer && !is_optional {
                required.push(field.json_name().to_owned());
            }
            properties.insert(field.json_name().to_owned(), schema);
        }
        let mut object = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            object["required"] = required.into();
        }
        object
    }

    fn schema(&mut self, field: &FieldDescriptor, side: Side) -> Value {
        if let (true, Kind::Message(entry)) = (field.is_map(), field.kind()) {
            let values = self.schema(&entry.map_entry_value_field(), side);
            return json!({ "type": "object", "additionalProperties": values });
        }
        let one = match field.kind() {
            Kind::Message(message) if is_timestamp(&message) => text_schema(&field.kind()),
            Kind::Message(message) => self.message(&message, side),
            kind => scalar(&kind, side),
        };
        match field.cardinality() == Cardinality::Repeated {
            true => json!({ "type": "array", "items": one }),
            false => one,
        }
    }
}

fn is_timestamp(message: &MessageDescriptor) -> bool {
    message.full_name() == "google.protobuf.Timestamp"
}

/// A value in JSON.
fn scalar(kind: &Kind, side: Side) -> Value {
    let number = |schema: Value, pattern: &str| match side {
        Side::Answer => schema,
        Side::Request => json!({ "anyOf": [schema, { "type": "string", "pattern": pattern }] }),
    };
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Enum(names) => {
            let names = names.values().map(|value| value.name().to_owned());
            let names = json!({ "type": "string", "enum": names.collect::<Vec<_>>() });
            match side {
                Side::Answer => names,
                Side::Request => json!({
                    "anyOf": [names, { "type": "integer", "format": "int32" }],
                }),
            }
        }
        // Of a number that is not finite, the name.
        Kind::Float | Kind::Double => json!({ "type": ["number", "string"], "format": "double" }),
        Kind::String => json!({ "type": "string" }),
        Kind::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
            let schema = json!({
                "type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX,
            });
            number(schema, "^-?[0-9]{1,9}$")
        }
        Kind::Uint32 | Kind::Fixed32 => {
            let schema = json!({
                "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX,
            });
            number(schema, "^[0-9]{1,9}$")
        }
        // Programs that read JSON numbers as floating-point lose no digits of a text.
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => match side {
            Side::Answer => json!({ "type": "string", "pattern": "^-?[0-9]{1,19}$" }),
            Side::Request => number(
                json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
                "^-?[0-9]{1,18}$",
            ),
        },
        Kind::Uint64 | Kind::Fixed64 => match side {
            Side::Answer => json!({ "type": "string", "pattern": "^[0-9]{1,20}$" }),
            Side::Request => number(
                json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
                "^[0-9]{1,19}$",
            ),
        },
        Kind::Message(_) => json!({}),
    }
}

/// A value in a query.
fn text_schema(kind: &Kind) -> Value {
    match kind {
        Kind::Message(_) => json!({ "type": "string", "format": "date-time" }),
        Kind::Enum(_) => scalar(kind, Side::Request),
        Kind::Float | Kind::Double => json!({ "type": "number" }),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
            json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX })
        }
        Kind::Uint64 | Kind::Fixed64 => {
            json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX })
        }
        kind => scalar(kind, Side::Answer),
    }
}

/// The comments of the `.proto` files, by the names that they describe.
fn comments() -> BTreeMap<String, String> {
    let mut comments = BTreeMap::new();
    for file in POOL.file_descriptor_protos() {
        let locations = file.source_code_info.iter().flat_map(|info| &info.location);
        for location in locations {
            let index = |place: usize| {
                let index = location.path.get(place).copied().unwrap_or_default();
                usize::try_from(index).unwrap_or_default()
            };
            let name = match location.path[..] {
                [4, _] => file
                    .message_type
                    .get(index(1))
                    .map(|it| it.name().to_owned()),
                [4, _, 2, _] => file.message_type.get(index(1)).and_then(|message| {
                    let field = message.field.get(index(3))?;
                    Some(format!("{}.{}", message.name(), field.name()))
                }),
                [6, _, 2, _] => file.service.get(index(1)).and_then(|service| {
                    let method = service.method.get(index(3))?;
                    Some(format!("{}.{}", service.name(), method.name()))
                }),
                _ => None,
            };
            if let Some(name) = name {
                let lines = location.leading_comments().lines().map(str::trim);
                let text = lines.collect::<Vec<_>>().join(" ").trim().to_owned();
                comments.insert(format!("{}.{name}", file.package()), text);
            }
        }
    }
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value.as_str() {
                        Some(target) if name == "$ref" => found.push(target.to_owned()),
                        _ => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_route_is_described_and_everything_that_is_named_is_there() {
        let document = document(crate::pages::for_programs());
        let mut described = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                described.insert((method.to_uppercase(), path.clone()));
                assert!(ids.insert(operation["operationId"].to_string()), "{path}");
                let parameters = operation["parameters"].as_array().unwrap();
                let of_path = parameters.iter().filter(|it| it["in"] == "path");
                assert_eq!(of_path.count(), parts(path).count(), "{path}");
            }
        }
        let routes = crate::operations();
        // Other pages are for people.
        let programs: Vec<_> = crate::pages::for_programs().collect();
        let of_people = |method: &str, path: &str| {
            let is_it = |page: &&Page| page.method == method && page.path == path;
            crate::pages::all().any(|page| is_it(&page)) && !programs.iter().any(is_it)
        };
        let routes = routes.filter(|(method, path, _)| !of_people(method, path));
        let routes = routes.map(|(method, path, _)| (method.to_owned(), path.to_owned()));
        assert_eq!(described, routes.collect());
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100);
        for target in found {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        let job = &document["components"]["schemas"]["pinpoint.v2.JobSummary"];
        assert_eq!(job["description"], "A job in a list.");
        assert_eq!(job["properties"]["runs"]["type"], "string");
        let create = &document["paths"]["/api/v2/jobs"]["post"];
        assert!(
            create["description"]
                .as_str()
                .unwrap()
                .starts_with("Makes a job.")
        );
        assert_eq!(create["security"], json!([{ "token": [] }]));
        assert_eq!(document["paths"]["/healthz"]["get"]["security"], json!([]));
    }
}
