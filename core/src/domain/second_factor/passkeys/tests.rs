use proptest::prelude::*;

use super::authenticator::{AuthenticatorData, attested};
use super::cbor::{Item, Reader};
use super::*;
use crate::domain::sha256::Sha256;
use crate::domain::{AccountId, WorkerId};

#[path = "../../../../../tests/it/support/authenticator.rs"]
mod software;

use software::{Answer, Authenticator};

/// Without the flag that says that it may be.
const BACKED_UP: u8 = 1 << 4;
const NOW: Timestamp = Timestamp::from_millis(1_763_200_000_000);
const RANDOM: [u8; CHALLENGE_BYTES] = [7; CHALLENGE_BYTES];

fn holder() -> Person {
    Person::Account(AccountId::new(NOW, &[1; 10]))
}

fn site() -> RelyingParty {
    RelyingParty::of("https://legwork.example.com").unwrap()
}

fn challenge(purpose: ChallengePurpose, holder: Option<Person>) -> Challenge {
    let id = ChallengeId::new(NOW, &[2; 10]);
    Challenge::new(id, (purpose, holder), &RANDOM, NOW)
}

/// One of each algorithm.
fn authenticators() -> [Authenticator; 2] {
    let (id, origin) = (site().id, site().origin);
    [
        Authenticator::es256(&id, &origin),
        Authenticator::eddsa(&id, &origin),
    ]
}

fn registered(given: [String; 2]) -> Result<NewCredential, NotAccepted> {
    let challenge = challenge(ChallengePurpose::Register, Some(holder()));
    let given = GivenRegistration::read(&given[0], &given[1]).ok_or(NotAccepted::Malformed)?;
    given.check(&site(), &challenge)
}

fn answered(
    (authenticator, answer): (&Authenticator, &Answer),
    handle: Option<Person>,
    challenge: &Challenge,
) -> Result<u32, NotAccepted> {
    let key = registered(authenticator.register(&encoded(&RANDOM)))
        .unwrap()
        .key;
    let texts = answer.texts();
    let handle = handle.map(|holder| encoded(&user_handle(holder)));
    let texts = [texts[0].as_str(), &texts[1], &texts[2]];
    let given = GivenAssertion::read(
        &authenticator.id(),
        texts,
        handle.as_deref().unwrap_or_default(),
    );
    let given = given.ok_or(NotAccepted::Malformed)?;
    given.check(&site(), challenge, (&key, holder()))
}

#[test]
fn a_passkey_is_made_and_answers() {
    for mut authenticator in authenticators() {
        authenticator.counter = 5;
        let made = registered(authenticator.register(&encoded(&RANDOM))).unwrap();
        assert_eq!((made.id, made.counter), (authenticator.id(), 5));
        let kept = PublicKey::parse(made.key.algorithm(), &made.key.to_text());
        assert_eq!(kept, Some(made.key));
        authenticator.counter = 6;
        let answer = authenticator.answer(&encoded(&RANDOM));
        let known = challenge(ChallengePurpose::SecondFactor, Some(holder()));
        let anybody = challenge(ChallengePurpose::SignIn, None);
        let used = (&authenticator, &answer);
        assert_eq!(answered(used, Some(holder()), &anybody), Ok(6));
        assert_eq!(answered(used, Some(holder()), &known), Ok(6));
        assert_eq!(answered(used, None, &known), Ok(6));
        // Whose it is must be said by somebody.
        assert_eq!(answered(used, None, &anybody), Err(NotAccepted::Holder));
        let other = Person::Worker(WorkerId::new(NOW, &[1; 10]));
        let of_other = challenge(ChallengePurpose::SecondFactor, Some(other));
        assert_eq!(
            answered(used, Some(other), &anybody),
            Err(NotAccepted::Holder)
        );
        assert_eq!(answered(used, None, &of_other), Err(NotAccepted::Holder));
    }
}

/// Each of these is signed as it should be, and wrong in one thing.
#[test]
fn what_is_wrong_in_one_thing_is_refused() {
    type Break = fn(&mut Authenticator);
    let cases: [(NotAccepted, Break); 7] = [
        (NotAccepted::Origin, |it| {
            it.origin = "http://legwork.example.com".into()
        }),
        (NotAccepted::Origin, |it| {
            it.origin = "https://evil.example".into()
        }),
        (NotAccepted::Origin, |it| it.origin += ":444"),
        (NotAccepted::Site, |it| it.rp_id = "evil.example".into()),
        (NotAccepted::NotPresent, |it| it.flags = software::VERIFIED),
        (NotAccepted::NotVerified, |it| it.flags = software::PRESENT),
        (NotAccepted::Malformed, |it| it.flags |= BACKED_UP),
    ];
    let anybody = challenge(ChallengePurpose::SignIn, None);
    let sent = encoded(&RANDOM);
    for authenticator in authenticators() {
        let mut authenticator = authenticator;
        for (expected, spoil) in cases {
            let (origin, rp_id) = (authenticator.origin.clone(), authenticator.rp_id.clone());
            spoil(&mut authenticator);
            let (given, answer) = (authenticator.register(&sent), authenticator.answer(&sent));
            (authenticator.origin, authenticator.rp_id) = (origin, rp_id);
            authenticator.flags = software::PRESENT | software::VERIFIED;
            assert_eq!(registered(given), Err(expected));
            let used = (&authenticator, &answer);
            assert_eq!(answered(used, Some(holder()), &anybody), Err(expected));
        }
        for other in [encoded(&[8; 32]), String::new(), sent.to_uppercase()] {
            assert_eq!(
                registered(authenticator.register(&other)),
                Err(NotAccepted::Challenge)
            );
            let used = (&authenticator, &authenticator.answer(&other));
            let refused = answered(used, Some(holder()), &anybody);
            assert_eq!(refused, Err(NotAccepted::Challenge));
        }
        wrong_kind_or_frame(&authenticator, &sent);
    }
}

fn wrong_kind_or_frame(authenticator: &Authenticator, sent: &str) {
    let attestation = software::text(&Authenticator::attestation(&authenticator.new_data()));
    let client = |kind: &str| authenticator.client_data(kind, sent);
    let refused = registered([encoded(&client("webauthn.get")), attestation.clone()]);
    assert_eq!(refused, Err(NotAccepted::Type));
    let framed = String::from_utf8(client("webauthn.create")).unwrap();
    let framed = framed.replace("\"crossOrigin\":false", "\"crossOrigin\":true");
    let refused = registered([encoded(framed.as_bytes()), attestation]);
    assert_eq!(refused, Err(NotAccepted::Origin));
    let anybody = challenge(ChallengePurpose::SignIn, None);
    let mut answer = authenticator.answer(sent);
    answer.client_data = client("webauthn.create");
    let hash = Sha256::digest(&answer.client_data);
    answer.signature = authenticator.sign(&[&answer.authenticator_data[..], &hash].concat());
    let used = (authenticator, &answer);
    assert_eq!(
        answered(used, Some(holder()), &anybody),
        Err(NotAccepted::Type)
    );
}

#[test]
fn what_is_too_long_is_not_read() {
    let fine = encoded(&[1; 16]);
    let long = |bytes: usize| encoded(&vec![1; bytes]);
    assert!(GivenRegistration::read(&long(4_096), &long(16_384)).is_some());
    for (client, attestation) in [(4_097, 16), (16, 16_385), (0, 16), (16, 0)] {
        assert!(GivenRegistration::read(&long(client), &long(attestation)).is_none());
    }
    let texts = [fine.as_str(); 3];
    assert!(GivenAssertion::read(&long(1_023), texts, "").is_some());
    assert!(GivenAssertion::read(&long(1_024), texts, "").is_none());
    assert!(GivenAssertion::read(&fine, texts, &long(65)).is_none());
    for (place, most) in [4_096, 4_096, 256].into_iter().enumerate() {
        let (mut texts, text) = (texts, long(most + 1));
        texts[place] = &text;
        assert!(GivenAssertion::read(&fine, texts, "").is_none());
    }
    for text in ["a+b/", "AAA=", "====", "é"] {
        assert!(GivenAssertion::read(text, texts, "").is_none(), "{text}");
    }
}

#[test]
fn a_counter_never_goes_back() {
    let key = registered(authenticators()[0].register(&encoded(&RANDOM)))
        .unwrap()
        .key;
    let counted = |stored: i64, given: u32| {
        let passkey = Passkey {
            id: PasskeyId::new(NOW, &[1; 10]),
            holder: holder(),
            credential_id: String::new(),
            key: key.clone(),
            counter: stored,
            name: String::new(),
            created_at: NOW,
            last_used_at: None,
        };
        passkey.counted(given)
    };
    assert_eq!(counted(0, 0), Some(0), "many do not count");
    assert_eq!(counted(0, 1), Some(1));
    assert_eq!(counted(7, 8), Some(8));
    assert_eq!(counted(7, u32::MAX), Some(u32::MAX.into()));
    for given in [7, 6, 0] {
        assert_eq!(counted(7, given), None);
    }
}

#[test]
fn a_site_is_a_name_with_https_or_this_machine() {
    let of = |url: &str| RelyingParty::of(url).map(|site| (site.id, site.origin));
    let is = |id: &str, origin: &str| Some((id.to_owned(), origin.to_owned()));
    let own = "legwork.example.com";
    for (url, expected) in [
        (
            "https://legwork.example.com",
            is(own, "https://legwork.example.com"),
        ),
        (
            "https://Legwork.example.com:443/",
            is(own, "https://legwork.example.com"),
        ),
        (
            "https://legwork.example.com:8443/x",
            is(own, "https://legwork.example.com:8443"),
        ),
        (
            "http://127.0.0.1:8080",
            is("localhost", "http://localhost:8080"),
        ),
        (
            "http://[::1]:8080",
            is("localhost", "http://localhost:8080"),
        ),
        ("http://0.0.0.0:80", is("localhost", "http://localhost")),
        (
            "https://localhost:8443",
            is("localhost", "https://localhost:8443"),
        ),
        ("http://legwork.example.com", None),
        ("https://192.0.2.1", None),
        ("http://192.0.2.1:8080", None),
        ("https://user@legwork.example.com", None),
        ("https://", None),
        ("legwork.example.com", None),
    ] {
        assert_eq!(of(url), expected, "{url}");
    }
}

#[test]
fn hostile_cbor_is_refused() {
    let deep = [vec![0x81; 5], vec![0]].concat();
    for (what, bytes) in [
        ("nothing", vec![]),
        ("a length that is not known yet", vec![0x5f, 0xff]),
        ("a map that is not known yet", vec![0xbf, 0xff]),
        ("a tag", vec![0xc0, 0]),
        ("a reserved head", vec![0x1c]),
        ("a cut number", vec![0x19, 1]),
        (
            "more bytes than there are",
            vec![0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ),
        (
            "more values than there are",
            vec![0x9b, 0, 0, 0, 1, 0, 0, 0, 0],
        ),
        (
            "more pairs than there are",
            vec![0xba, 0xff, 0xff, 0xff, 0xff],
        ),
        ("too large a number", vec![0x1b, 0xff, 0, 0, 0, 0, 0, 0, 0]),
        ("text that is none", vec![0x61, 0xff]),
        ("too deep", deep),
    ] {
        assert_eq!(Reader::new(&bytes).skip(), None, "{what}");
    }
    let mut reader = Reader::new(&[0x82, 0x38, 0x63, 0xf5, 0x40]);
    assert_eq!(reader.item(), Some(Item::Array(2)));
    assert_eq!(reader.item(), Some(Item::Integer(-100)));
    assert_eq!(reader.item(), Some(Item::Other));
    assert_eq!(reader.item(), Some(Item::Bytes(&[])));
}

#[test]
fn keys_of_other_kinds_are_refused() {
    let [es256, eddsa] = authenticators();
    let with_key = |authenticator: &Authenticator, place: usize, byte: u8| {
        let (mut data, key) = (authenticator.new_data(), authenticator.cose_key());
        let at = data.len() - key.len() + place;
        data[at] = byte;
        let client = authenticator.client_data("webauthn.create", &encoded(&RANDOM));
        registered([
            encoded(&client),
            encoded(&Authenticator::attestation(&data)),
        ])
    };
    // The type, the algorithm, the curve, a label that comes twice, and a length.
    for (place, byte) in [(2, 3), (4, 0x27), (4, 0x38), (6, 2), (5, 1), (9, 31)] {
        assert_eq!(
            with_key(&es256, place, byte),
            Err(NotAccepted::Malformed),
            "{place}"
        );
    }
    for (place, byte) in [(2, 2), (4, 0x26), (6, 4), (9, 31)] {
        assert_eq!(
            with_key(&eddsa, place, byte),
            Err(NotAccepted::Malformed),
            "{place}"
        );
    }
    // The type twice, and the same.
    let key = es256.cose_key();
    let mut twice = es256.new_data();
    twice.truncate(twice.len() - key.len());
    twice.extend([&[key[0] + 1], &key[1..], &[1, 2]].concat());
    assert!(AuthenticatorData::read(&twice).is_none());
    let mut longer = es256.new_data();
    longer.push(0);
    assert!(AuthenticatorData::read(&longer).is_none());
    assert!(attested(&[Authenticator::attestation(&longer), vec![0]].concat()).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// One bit anywhere, in what the browser or the authenticator says or in the signature.
    #[test]
    fn a_changed_bit_is_refused(which in 0_usize..2, part in 0_usize..3, at: prop::sample::Index, bit in 0_u8..8) {
        let authenticators = authenticators();
        let authenticator = &authenticators[which];
        let mut answer = authenticator.answer(&encoded(&RANDOM));
        let bytes = match part {
            0 => &mut answer.client_data,
            1 => &mut answer.authenticator_data,
            _ => &mut answer.signature,
        };
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let anybody = challenge(ChallengePurpose::SignIn, None);
        prop_assert!(answered((authenticator, &answer), Some(holder()), &anybody).is_err());
    }

    /// Whatever is sent, reading ends and nothing panics.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Reader::new(&bytes).skip();
        let _ = AuthenticatorData::read(&bytes);
        let _ = attested(&bytes);
        let _ = GivenRegistration::read(&encoded(&bytes), &encoded(&bytes)).map(|given| {
            given.check(&site(), &challenge(ChallengePurpose::Register, None))
        });
    }

    /// A real one with some bytes of its key or head changed never panics, and never gives another site's key.
    #[test]
    fn a_spoiled_registration_is_read_or_refused(at: prop::sample::Index, byte: u8) {
        let authenticator = &authenticators()[0];
        let mut data = Authenticator::attestation(&authenticator.new_data());
        let at = at.index(data.len());
        data[at] = byte;
        let client = authenticator.client_data("webauthn.create", &encoded(&RANDOM));
        if let Ok(made) = registered([encoded(&client), encoded(&data)]) {
            prop_assert!(made.key.to_text().len() >= 43);
        }
    }
}
