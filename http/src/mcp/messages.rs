//! Messages that cannot be read, and what their senders are told.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, ClientJsonRpcMessage, CustomRequest, ErrorCode,
    GetTaskParams, InitializeRequestParams, ReadResourceRequestParams, UpdateTaskParams,
};
use serde_json::{Value, json};

/// What is wrong with the body of a request; none if it is a message of the protocol.
pub fn unreadable(body: &[u8]) -> Option<Value> {
    let message: Value = match serde_json::from_slice(body) {
        Ok(message) => message,
        Err(error) => {
            let told = format!("the body is not JSON: {error}");
            return Some(answer(Value::Null, &ErrorData::parse_error(told, None)));
        }
    };
    let id = message["id"].clone();
    let _unknown = serde_json::from_value::<ClientJsonRpcMessage>(message).err()?;
    let told = "the body is no message of the protocol: it must be one object with jsonrpc, method and, for a request, id";
    Some(answer(id, &ErrorData::invalid_request(told, None)))
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
