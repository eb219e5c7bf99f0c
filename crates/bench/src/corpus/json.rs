//! JSON whose fields stand in the order in which they are written: readers look for what matters in the head of a line.

/// A value, as it is written.
#[derive(Debug, Clone)]
pub(super) struct Json(String);

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string())
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self(number.to_string())
    }
}

impl From<bool> for Json {
    fn from(flag: bool) -> Self {
        Self(flag.to_string())
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self(object.text())
    }
}

impl From<Vec<Object>> for Json {
    fn from(items: Vec<Object>) -> Self {
        list(items)
    }
}

impl From<Vec<String>> for Json {
    fn from(items: Vec<String>) -> Self {
        list(items)
    }
}

impl From<Vec<&str>> for Json {
    fn from(items: Vec<&str>) -> Self {
        list(items)
    }
}

/// Nothing is `null`.
impl From<Option<&str>> for Json {
    fn from(text: Option<&str>) -> Self {
        text.map_or_else(|| Self("null".to_owned()), Self::from)
    }
}

fn list<T: Into<Json>>(items: Vec<T>) -> Json {
    let text = |item: T| {
        let Json(text) = item.into();
        text
    };
    let items: Vec<String> = items.into_iter().map(text).collect();
    Json(format!("[{}]", items.join(",")))
}

/// An object in the making: its fields, without the braces.
#[derive(Debug, Clone, Default)]
pub(super) struct Object(String);

impl Object {
    /// Adds a field behind the others.
    pub(super) fn field(mut self, name: &str, value: impl Into<Json>) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(&value.into().0);
        self
    }

    /// Adds the fields of another one.
    pub(super) fn with(mut self, more: &Self) -> Self {
        if !self.0.is_empty() && !more.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&more.0);
        self
    }

    pub(super) fn text(&self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// An object with these fields.
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {
        $crate::corpus::json::Object::default()$(.field($name, $value))*
    };
}
pub(super) use object;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order() {
        let inner = object! { "z": 1_u64, "a": Vec::<Object>::new() };
        let none: Option<&str> = None;
        let line = object! { "type": "a\"ü\n", "message": inner, "none": none }
            .with(&object! { "last": true });
        let expected = r#"{"type":"a\"ü\n","message":{"z":1,"a":[]},"none":null,"last":true}"#;
        assert_eq!(line.text(), expected);
    }
}
