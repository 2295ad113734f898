//! Exports and bundles of files that are in S3, made there.

use std::io::Cursor;
use std::sync::Arc;

use legwork::bundles::{BundleParts, send_bundle, verify_bundle};
use legwork::domain::exports::Export;
use legwork::domain::people::Person;
use legwork::domain::proofs::bundles::BundleSigner;
use legwork::domain::{AccountId, ExportId, TaskId};
use legwork::exports::{PartLimits, PartMaker, make_part};
use legwork::files::{FileKey, copy_file};
use legwork::records::{file_name, task_record};
use legwork::usecases::UseCaseError;

use crate::files::place::{Place, tell};
use crate::support::archive::unzip;
use crate::support::{Database, Engine, TestApp};

/// A proved task whose files are in S3.
async fn moved_task() -> (TestApp, Place, AccountId, TaskId) {
    let database = Arc::new(Database::migrated(Engine::Sqlite));
    let app = TestApp::start(&database).await;
    let (dev, worker) = (app.developer().await, app.ready_worker().await);
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    worker.prove(&task, "one").await;
    let place = Place::s3();
    for key in app.database.column("SELECT file_key FROM proofs").await {
        let key = FileKey::parse(&key).unwrap();
        let now = app.clock.now();
        let copied = copy_file(&app.app.files, &place.files, key, "image/jpeg", now).await;
        assert!(copied.unwrap().is_some());
    }
    let account = AccountId::parse(&dev.account_id).unwrap();
    let task = TaskId::parse(task["id"].as_str().unwrap()).unwrap();
    (app, place, account, task)
}

#[test]
fn an_export_is_streamed_from_s3_into_s3() {
    tell(async {
        let (app, place, account, task) = moved_task().await;
        let now = app.clock.now();
        let id = ExportId::new(now, &[7; 10]);
        let export = Export::new(id, Person::Account(account), now);
        let maker = PartMaker {
            store: &app.store,
            files: &place.files,
            clock: &app.clock,
            limits: PartLimits::default(),
        };
        let made = make_part(maker, &export, 1).await.unwrap();
        assert_eq!(made.next, None);
        let entries = unzip(&place.read_all(made.stored.key).await);
        let folder = format!("tasks/live/{task}/files/");
        assert!(entries.keys().any(|name| name.starts_with(&folder)));
        place.nothing_is_incoming().await;
    });
}

#[test]
fn a_bundle_is_streamed_from_s3() {
    tell(async {
        let (app, place, _, task) = moved_task().await;
        let record = app.store.snapshot(move |tx| {
            let task = tx.any_task(task)?.ok_or(UseCaseError::TaskNotFound)?;
            task_record(tx, task)
        });
        let record = record.await.unwrap();
        let name = file_name(&record.proofs[0]);
        let made_at = app.clock.now();
        let signer = BundleSigner::from_seed(&[7; 32], made_at).unwrap();
        let key = signer.key.clone();
        let parts = BundleParts {
            record,
            signer,
            made_at,
        };
        let (to, mut from) = tokio::sync::mpsc::channel(1);
        let sending = tokio::spawn(send_bundle(parts, place.files.clone(), to));
        let mut bundle = Vec::new();
        while let Some(piece) = from.recv().await {
            bundle.extend_from_slice(&piece.unwrap());
        }
        sending.await.unwrap();
        let verified = verify_bundle(&mut Cursor::new(&bundle), &[key]).unwrap();
        assert!(verified.missing.is_empty());
        assert!(unzip(&bundle).contains_key(&name));
    });
}
