//! The published libraries of Standard Webhooks verify what we sign, as they are. They look at the
//! machine's clock, so each vector is signed anew, as far from now as it is from its own `now`.

use std::collections::BTreeMap;
use std::time::Duration;

use legwork::ambient::Clock;
use legwork::domain::Timestamp;

use super::peers::{verified_by_npm, verified_by_python};
use super::vectors::{self, TOLERANCE, Vector};

type Headers = BTreeMap<String, String>;

/// Both libraries say this of a delivery.
fn expect(valid: bool, name: &str, secret: &str, headers: &Headers, body: &str) {
    let headers: Vec<_> = headers.clone().into_iter().collect();
    for (library, verdict) in [
        (
            "PyPI",
            verified_by_python(secret, &headers, body.as_bytes()),
        ),
        ("npm", verified_by_npm(secret, &headers, body.as_bytes())),
    ] {
        assert_eq!(verdict, valid, "{name}, by the library of {library}");
    }
}

/// When a vector would have been signed if it were verified now. One that is beyond the tolerance
/// is put well beyond, and others are put at this moment: the clock goes on while we ask.
fn moment(vector: &Vector) -> Timestamp {
    let now = Clock::system().now();
    let away = Duration::from_secs(3_600);
    match vector.age() {
        age if age > TOLERANCE => now.minus(away),
        age if age < -TOLERANCE => now.plus(away),
        _ => now,
    }
}

#[test]
fn the_libraries_agree_with_the_vectors() {
    let vectors = vectors::all();
    let fresh = |vector: &&Vector| vector.fault.as_deref() != Some("headers");
    for vector in vectors.iter().filter(fresh) {
        let headers = vector.signed.headers(moment(vector));
        expect(
            vector.valid,
            &vector.name,
            &vector.secret,
            &headers,
            &vector.body,
        );
    }
}

#[test]
fn the_libraries_refuse_headers_that_were_changed() {
    let vector = &vectors::all()[0];
    let now = Clock::system().now();
    let sent = vector.signed.headers(now);
    let earlier = vector.signed.headers(now.minus(Duration::from_secs(60)));
    let other_id = vector.signed.id.replace('0', "1");
    let signature = &sent["webhook-signature"];
    for (name, header, value) in [
        ("another event", "webhook-id", &other_id),
        (
            "another time",
            "webhook-timestamp",
            &earlier["webhook-timestamp"],
        ),
        (
            "an older signature",
            "webhook-signature",
            &earlier["webhook-signature"],
        ),
        (
            "another version",
            "webhook-signature",
            &signature.replace("v1,", "v2,"),
        ),
        ("no signature", "webhook-signature", &String::new()),
    ] {
        let mut changed = sent.clone();
        changed.insert(header.to_owned(), value.clone());
        expect(false, name, &vector.secret, &changed, &vector.body);
    }
    expect(true, "unchanged", &vector.secret, &sent, &vector.body);
}
