//! Schemas of times, ids and names, for the forms of answers that have them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{AgentName, CheckpointId, LedgerId, Oid, SessionId, Timestamp};

/// They are texts, and stand in each form themselves: a name of their own would make a class of each in clients.
macro_rules! texts {
    ($($name:ident: $schema:tt;)*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

texts! {
    AgentName: { "type": "string" };
    CheckpointId: { "type": "string" };
    LedgerId: { "type": "string" };
    Oid: { "type": "string" };
    SessionId: { "type": "string" };
    Timestamp: { "type": "string", "format": "date-time" };
}
