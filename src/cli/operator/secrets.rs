//! `legwork secrets ...`

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::ambient::{self, Clock};
use crate::cli::{
    Failure, block_on, database_flags, master_key, open_locked_store, open_store, print_line,
};
use crate::domain::accounts::api_key::hex;
use crate::domain::{Actor, Timestamp};
use crate::files::SigningKeys;
use crate::push::Vapid;
use crate::seal::{KeyLock, Keyring, MasterKey};
use crate::settings::Settings;
use crate::store::{MasterKeyRow, SEALED_COLUMNS, SecretPlace, Store, Tx};
use crate::usecases::{self, UseCaseError};

/// How long servers may take to learn of a new key. They look every few seconds.
const SERVERS_LEARN_WITHIN: Duration = Duration::from_secs(60);

pub fn command() -> Command {
    Command::new("secrets")
        .about("Manage the keys that protect secrets in the database")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(rotate_command())
        .subcommand(
            Command::new("prune")
                .about("Remove old master keys after a rotation")
                .long_about(
                    "Seals what is still under an old master key under the current one, then removes \
                     the old keys from master.key. Run it a minute or more after `legwork secrets \
                     rotate`. Backups from before the rotation still need the old key: keep it with \
                     them.",
                )
                .args(database_flags()),
        )
        .subcommand(reset_command())
}

fn rotate_command() -> Command {
    Command::new("rotate")
        .about("Seal all secrets under a new master key, and change the key that signs file URLs")
        .long_about(
            "Adds a new master key to master.key and seals all secrets in the database under it. \
             Running servers learn of it by themselves. The old key stays in the file until you run \
             `legwork secrets prune`, so nothing is lost if the command is interrupted: run it \
             again.\n\n\
             If LEGWORK_MASTER_KEY gives the key, set it to both keys first, separated by a comma, and \
             restart all servers. The key that the database does not know yet becomes the new one. Do \
             the same with master.key if each server has a copy of its own: add the new key as a second \
             line to every copy.\n\n\
             The key that signs file URLs is changed too. URLs that were signed before stay valid for \
             their hour.",
        )
        .arg(
            Arg::new("push-keys")
                .long("push-keys")
                .action(ArgAction::SetTrue)
                .help("Also replace the key for browser notifications. All subscriptions are lost: browsers accept only the key they subscribed to. Restart all servers afterwards"),
        )
        .args(database_flags())
}

fn reset_command() -> Command {
    Command::new("reset")
        .about("Go on after the master key is lost: replace the secrets that cannot be opened")
        .long_about(
            "Only for when the master key is lost for good. Makes a new one and replaces every secret \
             that cannot be opened: webhooks get new secrets, which their developers have to fetch; \
             unpaid tasks cannot be paid any more and have to be created again; browsers have to \
             subscribe to notifications again. Entries of the audit log up to now cannot be checked \
             any more. Tasks, money, files, API keys and sign-ins are not affected. Stop all servers \
             first.",
        )
        .arg(
            Arg::new("yes")
                .long("yes")
                .required(true)
                .action(ArgAction::SetTrue)
                .help("The master key is lost, and the servers are stopped"),
        )
        .args(database_flags())
}

pub fn run(settings: &Settings, command: &str, arguments: &ArgMatches) -> Result<(), Failure> {
    match command {
        "rotate" => rotate(settings, arguments.get_flag("push-keys")),
        "prune" => prune(settings),
        _ => reset(settings),
    }
}

fn rotate(settings: &Settings, push_keys: bool) -> Result<(), Failure> {
    let (store, now) = (open_store(settings)?, Clock::system().now());
    let keyring = store.keyring().cloned().ok_or_else(no_keyring)?;
    let lock = lock_keys(&store, &keyring, now)?;
    keyring.sealing().ok_or_else(older_program)?;
    let new = next_key(&store, &keyring, lock.as_ref())?;
    let (id, vapid) = (new.id(), Vapid::generate().map_err(Failure)?.to_secret());
    block_on(async {
        let changed = id.clone();
        let change = move |tx: &mut Tx<'_>| {
            rotate_signing_key(tx, now)?;
            if push_keys {
                tx.put_service_secret(master_key::PUSH_KEY, &vapid)?;
                tx.drop_all_push_subscriptions()?;
            }
            usecases::change_master_key(tx, &changed, &Actor::COMMAND_LINE, now)
        };
        store.write(change).await?;
        keyring.seal_under(Some(id.clone()));
        reseal(&store).await
    })??;
    print_line(format_args!("Secrets are now sealed under the key {id}."));
    print_line(format_args!(
        "The old key is still in {}, and backups made before now need it. In a minute or later, run: legwork secrets prune",
        keyring.source().name()
    ));
    if push_keys {
        print_line("The key for browser notifications is new. Restart all servers now.");
    }
    Ok(())
}

/// Keeps others from changing the file until the command ends. What another command has changed
/// until now is known afterwards.
fn lock_keys(store: &Store, keyring: &Keyring, now: Timestamp) -> Result<Option<KeyLock>, Failure> {
    let lock = keyring.source().lock()?;
    block_on(store.refresh_keys(now))??;
    Ok(lock)
}

fn known_keys(store: &Store) -> Result<Vec<MasterKeyRow>, Failure> {
    Ok(block_on(store.snapshot(|tx| tx.master_keys()))??)
}

/// A key that the database has never known: an old one may be in other hands. Makes one in the file
/// if there is none.
fn next_key(
    store: &Store,
    keyring: &Keyring,
    lock: Option<&KeyLock>,
) -> Result<MasterKey, Failure> {
    let known = known_keys(store)?;
    let is_new = |key: &MasterKey| known.iter().all(|known| known.id != key.id());
    if let Some(lock) = lock {
        let mut keys = lock.load()?;
        if !keys.iter().any(is_new) {
            keys.push(MasterKey::generate());
            lock.replace(&keys)?;
        }
        keyring.reload()?;
    }
    keyring.keys().into_iter().find(is_new).ok_or_else(|| {
        Failure(
            "LEGWORK_MASTER_KEY has no new key. Make one with `openssl rand -base64 32`, set \
             LEGWORK_MASTER_KEY to the new and the old one, separated by a comma, restart all servers, \
             and run this command again with that setting"
                .to_owned(),
        )
    })
}

/// The new key signs only once all servers know it.
fn rotate_signing_key(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), UseCaseError> {
    let name = master_key::SIGNING_KEYS;
    if let Some(keys) = tx.find_service_secret(name)? {
        let new = hex(&ambient::random::<32>());
        let keys = SigningKeys::rotated(&keys, &new, now.plus(SERVERS_LEARN_WITHIN), now);
        tx.put_service_secret(name, &keys)?;
    }
    Ok(())
}

/// Seals everything under the current key.
async fn reseal(store: &Store) -> Result<(), UseCaseError> {
    for column in SEALED_COLUMNS {
        let mut after = Some(String::new());
        while let Some(from) = after {
            let page = move |tx: &mut Tx<'_>| usecases::reseal_page(tx, *column, &from);
            after = store.write(page).await?;
        }
    }
    Ok(())
}

fn prune(settings: &Settings) -> Result<(), Failure> {
    let (store, now) = (open_store(settings)?, Clock::system().now());
    let keyring = store.keyring().cloned().ok_or_else(no_keyring)?;
    let lock = lock_keys(&store, &keyring, now)?;
    let known = known_keys(&store)?;
    let id = current_key(&known, now)?;
    let asked = id.clone();
    if block_on(store.snapshot(move |tx| tx.another_key_seals(&asked, now)))?? {
        let other = format!(
            "a server that runs does not seal under the key {id}: give it that key, or stop it; then try again in a few seconds"
        );
        return Err(Failure(other));
    }
    block_on(reseal(&store))??;
    // Another server with a key file of its own may have rotated.
    if !known_keys(&store)?
        .iter()
        .any(|key| key.is_current && key.id == id)
    {
        let changed = "another key became the current one meanwhile; run this command again later";
        return Err(Failure(changed.to_owned()));
    }
    let Some(lock) = lock else {
        print_line(format_args!(
            "Nothing is sealed under another key than {id}. Remove all others from LEGWORK_MASTER_KEY."
        ));
        return Ok(());
    };
    // A key that the database does not know yet is for the next rotation.
    let is_old = |key: &MasterKey| {
        known
            .iter()
            .any(|old| !old.is_current && old.id == key.id())
    };
    let (old, kept): (Vec<_>, Vec<_>) = lock.load()?.into_iter().partition(is_old);
    if !kept.iter().any(|key| key.id() == id) {
        return Err(no_keyring());
    }
    if !old.is_empty() {
        lock.replace(&kept)?;
    }
    print_line(format_args!(
        "{} holds the current key {id} and no old one.",
        keyring.source().name()
    ));
    Ok(())
}

/// The id of the current key. All servers must know it.
fn current_key(known: &[MasterKeyRow], now: Timestamp) -> Result<String, Failure> {
    let current = known.iter().find(|key| key.is_current);
    let current = current.ok_or_else(no_keyring)?;
    let since = current.seals_since.ok_or_else(older_program)?;
    if now < since.plus(SERVERS_LEARN_WITHIN) {
        let wait = "the key was changed less than a minute ago, and servers may not know it yet; try again later";
        return Err(Failure(wait.to_owned()));
    }
    Ok(current.id.clone())
}

fn reset(settings: &Settings) -> Result<(), Failure> {
    let locked = open_locked_store(settings)?;
    let (source, now) = (master_key::source(settings), Clock::system().now());
    let record = move |tx: &mut Tx<'_>| usecases::record_reset(tx, &Actor::COMMAND_LINE, now);
    let (store, changed) = block_on(locked.reset_keys(source.clone(), now, record))??;
    let lost = block_on(replace_lost(&store, changed, now))??;
    if !changed && lost.is_empty() {
        print_line("The master key opens all secrets in the database. Nothing was changed.");
        return Ok(());
    }
    let count = |place| lost.iter().filter(|lost| **lost == place).count();
    print_line(format_args!(
        "The new master key is in {}. Keep a copy of it elsewhere.",
        source.name()
    ));
    print_line(format_args!(
        "Replaced: {} webhook secrets, which developers get by setting their webhook again (PUT /v1/account/webhook); {} payment secrets.",
        count(SecretPlace::Webhook),
        count(SecretPlace::Payment),
    ));
    match count(SecretPlace::SecondFactor) {
        0 => {}
        factors => print_line(format_args!(
            "{factors} second factors take recovery codes only. Who has none is helped by: legwork second-factor reset"
        )),
    }
    Ok(())
}

/// Returns the places of the secrets that could not be opened. The first transaction that replaces one
/// also records it, unless that is done.
async fn replace_lost(
    store: &Store,
    mut is_recorded: bool,
    now: Timestamp,
) -> Result<Vec<SecretPlace>, UseCaseError> {
    let mut lost = Vec::new();
    for column in SEALED_COLUMNS {
        let mut after = Some(String::new());
        while let Some(from) = after {
            let page = move |tx: &mut Tx<'_>| {
                let (last, replaced) = usecases::replace_lost_page(tx, *column, &from)?;
                if replaced > 0 && !is_recorded {
                    usecases::record_reset(tx, &Actor::COMMAND_LINE, now)?;
                }
                Ok::<_, UseCaseError>((last, replaced))
            };
            let (last, replaced) = store.write(page).await?;
            is_recorded |= replaced > 0;
            lost.extend(std::iter::repeat_n(column.place, replaced));
            after = last;
        }
    }
    Ok(lost)
}

/// It cannot read what is sealed.
fn older_program() -> Failure {
    Failure("a server of an older version is running; replace it first".to_owned())
}

fn no_keyring() -> Failure {
    Failure("the database has no master key yet; start the server once".to_owned())
}
