//! The checker that all other stories here rely on does find faults.

use serde_json::{Value, json};

use super::peers::faults;

fn opening(form: Value) -> Value {
    json!({
        "method": "POST", "path": "/v1/accounts", "query": [], "form": form, "status": 200,
        "answer": {"id": "acct_1", "object": "account"}, "strict": true,
    })
}

fn listing(query: Value, answer: Value) -> Value {
    json!({
        "method": "GET", "path": "/v1/refunds", "query": query, "form": [], "status": 200,
        "answer": answer, "strict": false,
    })
}

fn refunds(status: Value) -> Value {
    let refund = json!({"id": "re_1", "object": "refund", "status": status, "amount": 5,
        "created": 1, "metadata": {}, "unheard_of": true});
    json!({"object": "list", "data": [refund], "has_more": false})
}

#[test]
fn what_is_right_is_found_to_be_right() {
    for right in [
        opening(json!([
            ["type", "express"],
            ["capabilities[transfers][requested]", "true"]
        ])),
        listing(
            json!([["limit", "100"], ["expand[]", "data.charge"]]),
            refunds(json!("pending")),
        ),
        listing(json!([]), refunds(Value::Null)),
        json!({"schema": "account", "value": {"id": "acct_1", "object": "account"}}),
    ] {
        assert_eq!(faults(&right), Vec::<String>::new(), "{right}");
    }
}

#[test]
fn what_is_wrong_is_found_to_be_wrong() {
    let mut elsewhere = opening(json!([]));
    elsewhere["path"] = json!("/v1/acounts");
    let mut incomplete = opening(json!([]));
    incomplete["answer"] = json!({"id": "acct_1"});
    for wrong in [
        elsewhere,
        incomplete,
        opening(json!([["tipe", "express"]])),
        opening(json!([["type", "expres"]])),
        opening(json!([["type", "express"], ["type", "express"]])),
        opening(json!([["capabilities[transfers][asked]", "true"]])),
        opening(json!([["capabilities[transfers][requested]", "yes"]])),
        listing(json!([["limit", "many"]]), refunds(json!("pending"))),
        listing(json!([["starting", "re_1"]]), refunds(json!("pending"))),
        listing(json!([]), refunds(json!(7))),
        listing(json!([]), json!({"object": "list", "data": []})),
        listing(json!([]), json!({"object": "invoice"})),
        json!({"schema": "account", "value": {"object": "account"}}),
    ] {
        assert_ne!(faults(&wrong), Vec::<String>::new(), "{wrong}");
    }
}
