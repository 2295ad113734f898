//! Certificates from an authority that speaks ACME: a real one, pebble.

use std::sync::Arc;
use std::time::Duration;

use legwork::ambient::Clock;
use legwork::https::{Acme, AcmeDependencies, CHALLENGE_PROTOCOL, Ordered, acme_id};
use legwork::settings::AcmeSettings;
use legwork::shutdown::Shutdown;
use legwork::store::{AcmeCertificate, Store};

use super::Door;
use super::pebble::Place;
use crate::support::{TestApp, on_both_engines, until};

on_both_engines!(
    the_first_certificate_comes_by_itself_and_is_kept_sealed,
    a_certificate_is_renewed_and_the_old_one_serves_until_then,
    a_directory_that_is_down_is_asked_again_later,
    a_refused_order_keeps_its_reason_and_its_patience,
    a_challenge_is_answered_by_a_server_that_did_not_order,
    one_of_two_servers_orders,
    a_server_that_stops_while_it_orders_lets_others_order,
    a_row_that_was_deleted_is_made_anew,
);

const DOMAINS: [&str; 2] = ["legwork.example", "www.legwork.example"];
const LOOKS_EVERY: Duration = Duration::from_millis(50);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A server on a database, with an authority and a clock.
struct Site<'a> {
    place: &'a Place,
    clock: Clock,
}

impl<'a> Site<'a> {
    fn new(place: &'a Place) -> Self {
        Self {
            place,
            // The authority issues by the machine's clock.
            clock: Clock::set_to(Clock::system().now()),
        }
    }

    fn settings(&self) -> AcmeSettings {
        AcmeSettings {
            domains: DOMAINS.map(str::to_owned).to_vec(),
            email: "operator@legwork.example".to_owned(),
            directory: self.place.directory(),
        }
    }

    async fn server(&self, store: &Store) -> Acme {
        self.server_that_looks(store, LOOKS_EVERY).await
    }

    /// One whose orders wait, until others have answers to the challenge, ten times as long as those others look.
    async fn patient_server(&self, store: &Store) -> Acme {
        self.server_that_looks(store, LOOKS_EVERY * 10).await
    }

    async fn server_that_looks(&self, store: &Store, poll: Duration) -> Acme {
        let opened = Acme::open(AcmeDependencies {
            store: store.clone(),
            clock: self.clock.clone(),
            settings: self.settings(),
            authorities: Some(self.place.authority_file()),
            poll,
        });
        opened.await.unwrap()
    }

    async fn row(&self, store: &Store) -> AcmeCertificate {
        let settings = self.settings();
        let id = acme_id(&settings.directory, &settings.domains);
        let read = store.read(move |tx| tx.acme_certificate(&id)).await;
        let row: Result<_, legwork::store::StoreError> = read;
        row.unwrap().unwrap()
    }

    fn pass(&self, time: Duration) {
        self.clock.move_to(self.clock.now().plus(time));
    }

    /// Orders until it succeeds: nonces may be refused several times in a row.
    async fn order(&self, server: &Acme) {
        for _ in 0..20 {
            match server.order_if_due().await.unwrap() {
                Ordered::Issued => return,
                Ordered::Failed(_) => self.pass(DAY),
                Ordered::NotDue => panic!("an order is due"),
            }
        }
        panic!("no certificate in 20 tries");
    }
}

fn serial(server: &Acme) -> String {
    server.certificates().current().unwrap().fingerprint()
}

async fn the_first_certificate_comes_by_itself_and_is_kept_sealed(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    let _authority = place.start().await;
    let visitor = place.visitor().await;
    let server = Arc::new(site.server(&app.store).await);
    let door = Door::open(&server.certificates(), place.door()).await;
    let error = visitor.visit(door.address, DOMAINS[0]).await.unwrap_err();
    assert!(error.contains("AccessDenied"), "{error}");

    let shutdown = Shutdown::default();
    let (running, until_then) = (server.clone(), shutdown.clone());
    let running = tokio::spawn(async move { running.run(until_then).await });
    for domain in DOMAINS {
        until("a certificate is served", || async {
            visitor.visit(door.address, domain).await.ok()
        })
        .await;
    }
    shutdown.start();
    running.await.unwrap();

    let error = visitor.visit(door.address, "other.example").await;
    assert!(error.unwrap_err().contains("AccessDenied"));
    let authority = visitor.offering(&[CHALLENGE_PROTOCOL]);
    let error = authority.visit(door.address, DOMAINS[0]).await;
    assert!(error.unwrap_err().contains("AccessDenied"));

    let stored = app.database.everything().await;
    assert!(stored.contains("BEGIN CERTIFICATE"));
    assert!(!stored.contains("PRIVATE KEY") && !stored.contains("key_pkcs8"));

    let restarted = site.server(&app.store).await;
    assert_eq!(serial(&restarted), serial(&server));
    assert_eq!(restarted.order_if_due().await.unwrap(), Ordered::NotDue);
}

async fn a_certificate_is_renewed_and_the_old_one_serves_until_then(app: TestApp) {
    let mut place = Place::new();
    (place.refused_nonces, place.checks_anew) = (15, false);
    let site = Site::new(&place);
    let authority = place.start().await;
    let server = site.server(&app.store).await;
    let door = Door::open(&server.certificates(), place.door()).await;
    site.order(&server).await;
    let (first, row) = (serial(&server), site.row(&app.store).await);
    let pair = server.certificates().current().unwrap();
    let lifetime = pair.not_after.since(pair.not_before);
    let left = pair.not_after.since(row.next_order_at);
    assert!(
        left >= lifetime / 3 && left <= lifetime / 3 + lifetime / 30,
        "{left:?}"
    );

    site.clock
        .move_to(row.next_order_at.minus(Duration::from_secs(1)));
    assert_eq!(server.order_if_due().await.unwrap(), Ordered::NotDue);

    // The authority is gone when it is time. The old certificate is served, until it is back.
    drop(authority);
    site.clock.move_to(row.next_order_at);
    let failed = server.order_if_due().await.unwrap();
    assert!(matches!(failed, Ordered::Failed(_)), "{failed:?}");
    assert_eq!(serial(&server), first);

    // It has forgotten our account, too: we register again.
    let _authority = place.start().await;
    let visitor = place.visitor().await;
    site.pass(DAY);
    site.order(&server).await;
    assert_ne!(serial(&server), first);
    visitor.visit(door.address, DOMAINS[0]).await.unwrap();
    let row = site.row(&app.store).await;
    assert_eq!((row.failures, row.last_error), (0, None));
    assert!(row.next_order_at > site.clock.now());
}

async fn a_directory_that_is_down_is_asked_again_later(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    let server = site.server(&app.store).await;
    let door = Door::open(&server.certificates(), place.door()).await;
    let Ordered::Failed(reason) = server.order_if_due().await.unwrap() else {
        panic!("there is no directory");
    };
    assert!(reason.contains("Connection refused"), "{reason}");
    let row = site.row(&app.store).await;
    assert_eq!(row.failures, 1);
    assert_eq!(row.last_error.as_deref(), Some(reason.as_str()));

    // Neither this server nor one that starts now asks before it is time.
    let _authority = place.start().await;
    let restarted = site.server(&app.store).await;
    site.clock
        .move_to(row.next_order_at.minus(Duration::from_millis(1)));
    for server in [&server, &restarted] {
        assert_eq!(server.order_if_due().await.unwrap(), Ordered::NotDue);
    }
    site.clock.move_to(row.next_order_at);
    assert_eq!(server.order_if_due().await.unwrap(), Ordered::Issued);
    let visitor = place.visitor().await;
    visitor.visit(door.address, DOMAINS[0]).await.unwrap();
}

async fn a_refused_order_keeps_its_reason_and_its_patience(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    let _authority = place.start().await;
    let server = site.server(&app.store).await;
    let mut waits = Vec::new();
    for failures in 1..=3 {
        // Nobody answers where the authority looks.
        let Ordered::Failed(reason) = server.order_if_due().await.unwrap() else {
            panic!("the authority cannot have reached us");
        };
        assert!(reason.contains(DOMAINS[0]), "{reason}");
        assert!(reason.contains("urn:ietf:params:acme:error:"), "{reason}");
        let row = site.row(&app.store).await;
        assert_eq!(row.failures, failures);
        assert!(row.last_error.unwrap().contains(DOMAINS[0]));
        assert_eq!(server.order_if_due().await.unwrap(), Ordered::NotDue);
        waits.push(row.next_order_at.since(site.clock.now()));
        site.clock.move_to(row.next_order_at);
    }
    assert!(waits.is_sorted() && waits[2] > waits[0] * 8, "{waits:?}");
    assert!(server.certificates().current().is_none());
    assert!(challenges(&app).await.is_empty());

    let _door = Door::open(&server.certificates(), place.door()).await;
    assert_eq!(server.order_if_due().await.unwrap(), Ordered::Issued);
    assert_eq!(site.row(&app.store).await.failures, 0);
}

async fn challenges(app: &TestApp) -> Vec<String> {
    app.database
        .column("SELECT domain FROM acme_challenges")
        .await
}

async fn a_challenge_is_answered_by_a_server_that_did_not_order(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    let _authority = place.start().await;
    let orders = site.patient_server(&app.store).await;
    let other = app.database.open().await;
    let answers = Arc::new(site.server(&other).await);
    let shutdown = Shutdown::default();
    let (following, until_then) = (answers.clone(), shutdown.clone());
    let following = tokio::spawn(async move { following.follow(&until_then).await });
    let door = Door::open(&answers.certificates(), place.door()).await;
    assert_eq!(orders.order_if_due().await.unwrap(), Ordered::Issued);
    assert!(challenges(&app).await.is_empty());
    let visitor = place.visitor().await;
    let visit = until("the other server has the certificate", || async {
        visitor.visit(door.address, DOMAINS[1]).await.ok()
    });
    let served = visit.await.certificate;
    let stored = site.row(&app.store).await.chain.unwrap();
    let own = stored.lines().collect::<String>();
    assert!(own.contains(&base64_of(&served)), "{own}");
    shutdown.start();
    following.await.unwrap();
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

async fn one_of_two_servers_orders(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    let _authority = place.start().await;
    let first = site.patient_server(&app.store).await;
    let second = site.patient_server(&app.database.open().await).await;
    let third = site.server(&app.store).await;
    let _door = Door::open(&third.certificates(), place.door()).await;
    // The authority reaches the third server, which follows the database, whoever orders.
    let shutdown = Shutdown::default();
    let both = async { tokio::join!(first.order_if_due(), second.order_if_due()) };
    let (a, b) = tokio::select! {
        outcome = both => outcome,
        () = third.follow(&shutdown) => unreachable!(),
    };
    let outcomes = [a.unwrap(), b.unwrap()];
    let issued = outcomes
        .iter()
        .filter(|ordered| **ordered == Ordered::Issued);
    assert_eq!(issued.count(), 1, "{outcomes:?}");
    assert!(outcomes.contains(&Ordered::NotDue), "{outcomes:?}");
    second.refresh().await.unwrap();
    first.refresh().await.unwrap();
    assert_eq!(serial(&first), serial(&second));
}

async fn a_server_that_stops_while_it_orders_lets_others_order(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    // A directory that accepts connections and says nothing.
    let address = place.directory_address();
    let silent = tokio::net::TcpListener::bind(address).await.unwrap();
    let server = Arc::new(site.server(&app.store).await);
    let shutdown = Shutdown::default();
    let (running, until_then) = (server.clone(), shutdown.clone());
    let running = tokio::spawn(async move { running.run(until_then).await });
    let _held = silent.accept().await.unwrap();
    let row = site.row(&app.store).await;
    assert!(
        row.claimed_until
            .is_some_and(|until| until > site.clock.now())
    );
    let other = site.server(&app.store).await;
    assert_eq!(other.order_if_due().await.unwrap(), Ordered::NotDue);
    shutdown.start();
    running.await.unwrap();
    let row = site.row(&app.store).await;
    assert_eq!((row.claimed_until, row.failures), (None, 0));
}

async fn a_row_that_was_deleted_is_made_anew(app: TestApp) {
    let place = Place::new();
    let site = Site::new(&place);
    let server = site.server(&app.store).await;
    app.database.execute("DELETE FROM acme_certificates").await;
    until("it orders again", || async {
        let ordered = server.order_if_due().await.unwrap();
        matches!(ordered, Ordered::Failed(_)).then_some(())
    })
    .await;
}
