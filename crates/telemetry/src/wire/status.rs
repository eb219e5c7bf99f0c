//! What the sender of something unreadable is told: `google.rpc.Status`.

use prost::Message;
use serde_json::json;

use super::batch::Encoding;

/// The code of gRPC for a request that is wrong in itself.
const INVALID_ARGUMENT: i32 = 3;

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Says why a request cannot be read, in the form that the request has.
#[must_use]
pub fn status(encoding: Encoding, message: &str) -> Vec<u8> {
    let (code, message) = (INVALID_ARGUMENT, message.to_owned());
    match encoding {
        Encoding::Protobuf => Status { code, message }.encode_to_vec(),
        Encoding::Json => json!({ "code": code, "message": message })
            .to_string()
            .into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let bytes = status(Encoding::Protobuf, "no");
        assert_eq!(bytes, [8, 3, 18, 2, b'n', b'o']);
        let text = status(Encoding::Json, "no");
        assert_eq!(text, br#"{"code":3,"message":"no"}"#);
    }
}
