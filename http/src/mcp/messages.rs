//! Messages before the protocol's crate gets them: those that cannot be read or are too large, and what their senders are told.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, ClientJsonRpcMessage, CustomRequest, ErrorCode,
    GetTaskParams, InitializeRequestParams, ReadResourceRequestParams, UpdateTaskParams,
};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// Each takes hundreds of bytes once it is read, and a call that waits keeps them. No arguments of a tool have so many.
const MOST_VALUES: usize = 6_000;
/// What the protocol itself says in `_meta`. Nothing else in it is read here.
const META_OF_PROTOCOL: &str = "io.modelcontextprotocol/";
const PROGRESS_TOKEN: &str = "progressToken";

/// The message without what nobody reads, or what is wrong with it.
pub fn readable(body: &[u8]) -> Result<Vec<u8>, Value> {
    let not_json = |error: serde_json::Error| {
        let told = format!("the body is not JSON: {error}");
        answer(Value::Null, &ErrorData::parse_error(told, None))
    };
    if values_in(body) > MOST_VALUES {
        // Reads to the end and keeps nothing.
        serde_json::from_slice::<IgnoredAny>(body).map_err(not_json)?;
        let told = format!("a message may have {MOST_VALUES} values");
        let error = ErrorData::invalid_request(told, None);
        return Err(answer(Value::Null, &error));
    }
    let mut message: Value = serde_json::from_slice(body).map_err(not_json)?;
    let meta = message.pointer_mut("/params/_meta");
    if let Some(meta) = meta.and_then(Value::as_object_mut) {
        meta.retain(|key, _| key == PROGRESS_TOKEN || key.starts_with(META_OF_PROTOCOL));
    }
    let id = message.get("id").cloned().unwrap_or_default();
    let kept = message.to_string().into_bytes();
    match serde_json::from_value::<ClientJsonRpcMessage>(message) {
        Ok(_) => Ok(kept),
        Err(_) => {
            let told = "the body is no message of the protocol: it must be one object with jsonrpc, method and, for a request, id";
            Err(answer(id, &ErrorData::invalid_request(told, None)))
        }
    }
}

/// How many values and keys a JSON text can have at most, but one, told without building them: each comes after one of
/// these signs.
fn values_in(body: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' | b',' | b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}
pub fn too_large(most: usize) -> Value {
    let told = format!("a body may have {most} bytes");
    answer(Value::Null, &ErrorData::invalid_request(told, None))
}

fn answer(id: Value, error: &ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// The crate takes a request for one of a method that it does not know if it only cannot read its parameters.
pub fn refused(request: &CustomRequest) -> ErrorData {
    let method = request.method.as_str();
    let fault = match method {
        "tools/call" => fault::<CallToolRequestParams>(request),
        "resources/read" => fault::<ReadResourceRequestParams>(request),
        "tasks/get" => fault::<GetTaskParams>(request),
        "tasks/update" => fault::<UpdateTaskParams>(request),
        "tasks/cancel" => fault::<CancelTaskParams>(request),
        "initialize" => fault::<InitializeRequestParams>(request),
        _ => {
            let told = format!("there is no method {method}");
            return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, told, None);
        }
    };
    let told = format!("the parameters of {method} cannot be read: {fault}");
    ErrorData::invalid_params(told, None)
}

fn fault<T: serde::de::DeserializeOwned>(request: &CustomRequest) -> String {
    match request.params_as::<T>() {
        Err(error) => error.to_string(),
        Ok(Some(_)) => "they are of another form".to_owned(),
        Ok(None) => "there are none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(meta: &Value) -> String {
        let params = json!({"name": "get_task", "arguments": {"task_id": "0"}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
    }

    #[test]
    fn a_message_of_very_many_values_is_refused_before_it_is_read() {
        let full: Vec<Value> = vec![json!({"": 0}); MOST_VALUES / 2];
        let told = readable(call(&json!({"x": full})).as_bytes()).unwrap_err();
        assert_eq!(told["error"]["code"], -32600);
        // Signs in a text are no values.
        let text = "[{,:\\\"".repeat(MOST_VALUES);
        assert!(readable(call(&json!({"x": text})).as_bytes()).is_ok());
        assert_eq!(values_in(br#"{"a": [1, "},{\"[", {}]}"#), 6);
    }

    #[test]
    fn of_the_metadata_only_what_the_protocol_names_is_kept() {
        let meta = json!({
            "progressToken": 7, "io.modelcontextprotocol/logLevel": "error", "mine": "x".repeat(1_000),
        });
        let kept = readable(call(&meta).as_bytes()).unwrap();
        let kept: Value = serde_json::from_slice(&kept).unwrap();
        let meta = json!({"progressToken": 7, "io.modelcontextprotocol/logLevel": "error"});
        assert_eq!(kept["params"]["_meta"], meta);
        assert_eq!(kept["params"]["arguments"], json!({"task_id": "0"}));
    }
}
