//! Attributes, resources and scopes in JSON.

use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList, any_value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use serde_json::Value;

use super::bytes;
use super::fields::{Bad, Fields, Read, float, number};

pub(super) fn attributes(fields: Fields<'_>, key: &'static str) -> Read<Vec<KeyValue>> {
    fields.each(key, attribute)
}

fn attribute(value: &Value) -> Read<KeyValue> {
    let fields = Fields::new(value, "attributes")?;
    Ok(KeyValue {
        key: fields.text("key")?,
        value: fields.get("value").map(any).transpose()?,
        key_strindex: 0,
    })
}

/// A value of any kind. One without a known kind is empty.
pub(super) fn any(value: &Value) -> Read<AnyValue> {
    let fields = Fields::new(value, "value")?;
    let mut found = None;
    for (key, read) in KINDS {
        if let Some(value) = fields.get(key) {
            found = Some(read(value)?);
        }
    }
    Ok(AnyValue { value: found })
}

type Kind = fn(&Value) -> Read<any_value::Value>;

const KINDS: [(&str, Kind); 7] = [
    ("stringValue", |value| {
        let text = value.as_str().ok_or(Bad("stringValue"))?;
        Ok(any_value::Value::StringValue(text.to_owned()))
    }),
    ("boolValue", |value| {
        let truth = value.as_bool().ok_or(Bad("boolValue"))?;
        Ok(any_value::Value::BoolValue(truth))
    }),
    ("intValue", |value| {
        let number = number(value).ok_or(Bad("intValue"))?;
        Ok(any_value::Value::IntValue(number))
    }),
    ("doubleValue", |value| {
        let number = float(value).ok_or(Bad("doubleValue"))?;
        Ok(any_value::Value::DoubleValue(number))
    }),
    ("arrayValue", |value| {
        let values = Fields::new(value, "arrayValue")?.each("values", any_or_empty)?;
        Ok(any_value::Value::ArrayValue(ArrayValue { values }))
    }),
    ("kvlistValue", |value| {
        let values = attributes(Fields::new(value, "kvlistValue")?, "values")?;
        Ok(any_value::Value::KvlistValue(KeyValueList { values }))
    }),
    ("bytesValue", |value| {
        let bytes = value.as_str().and_then(bytes::base64);
        let bytes = bytes.ok_or(Bad("bytesValue"))?;
        Ok(any_value::Value::BytesValue(bytes))
    }),
];

fn any_or_empty(value: &Value) -> Read<AnyValue> {
    match value {
        Value::Null => Ok(AnyValue { value: None }),
        value => any(value),
    }
}

pub(super) fn resource(group: Fields<'_>) -> Read<Option<Resource>> {
    let Some(fields) = group.object("resource")? else {
        return Ok(None);
    };
    Ok(Some(Resource {
        attributes: attributes(fields, "attributes")?,
        dropped_attributes_count: fields.number("droppedAttributesCount")?,
        entity_refs: fields.each("entityRefs", entity)?,
    }))
}

fn entity(value: &Value) -> Read<EntityRef> {
    let fields = Fields::new(value, "entityRefs")?;
    let texts = |key| {
        fields.each(key, |value| {
            value.as_str().map(str::to_owned).ok_or(Bad("entityRefs"))
        })
    };
    Ok(EntityRef {
        schema_url: fields.text("schemaUrl")?,
        r#type: fields.text("type")?,
        id_keys: texts("idKeys")?,
        description_keys: texts("descriptionKeys")?,
    })
}

pub(super) fn scope(group: Fields<'_>) -> Read<Option<InstrumentationScope>> {
    let Some(fields) = group.object("scope")? else {
        return Ok(None);
    };
    Ok(Some(InstrumentationScope {
        name: fields.text("name")?,
        version: fields.text("version")?,
        attributes: attributes(fields, "attributes")?,
        dropped_attributes_count: fields.number("droppedAttributesCount")?,
    }))
}
