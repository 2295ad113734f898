//! Whether the stored files belong to this database, so that it may delete those it does not know.
//!
//! A token lies beside the files and in the database, and is replaced every few minutes. A copy of the database
//! has an old one, however it was made, and another installation has none. Both leave the files alone.

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::files::{Files, FilesError};
use crate::store::{FilesOwner, Store, StoreError};

/// Whether the files belong to this database. Changes nothing.
pub async fn files_are_ours(store: &Store, files: &Files) -> Result<bool, FilesError> {
    let (mark, own) = look(store, files).await?;
    if is_ours(mark.as_deref(), own.as_ref()) {
        return Ok(true);
    }
    // Other servers may have replaced the token between our two reads.
    let (mark, own) = look(store, files).await?;
    Ok(is_ours(mark.as_deref(), own.as_ref()))
}

/// The same, and replaces the token if they do. Files that belong to nobody are ours from now on.
pub async fn hold_files(store: &Store, files: &Files) -> Result<bool, FilesError> {
    if !files_are_ours(store, files).await? {
        return Ok(false);
    }
    let mut token = next_token(store, files).await?;
    // Another server may have gone on while this one marked the files, and its mark would be lost.
    while let Some(marked) = token {
        files.mark_owner(&marked).await?;
        let own = store.read(|tx| tx.files_owner()).await.map_err(failed)?;
        token = own.map(|own| own.token).filter(|newer| *newer != marked);
    }
    Ok(true)
}

/// The token that the files are to be marked with, if they are.
async fn next_token(store: &Store, files: &Files) -> Result<Option<String>, FilesError> {
    let (mark, own) = look(store, files).await?;
    let new = hex(&ambient::random::<16>());
    match own {
        None => {
            let added = store.write(move |tx| tx.add_files_owner(&new)).await;
            added.map(Some).map_err(failed)
        }
        Some(own) if mark.as_ref() == Some(&own.token) => {
            let (old, next) = (own.token, new.clone());
            let renewed = store.write(move |tx| tx.renew_files_owner(&old, &next));
            Ok(renewed.await.map_err(failed)?.then_some(new))
        }
        // A server ended, or is, between the database and the mark.
        Some(own) => Ok(Some(own.token)),
    }
}

fn is_ours(mark: Option<&str>, own: Option<&FilesOwner>) -> bool {
    match (mark, own) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(mark), Some(own)) => mark == own.token || mark == own.previous,
    }
}

/// The mark first: the database says which one came before.
async fn look(
    store: &Store,
    files: &Files,
) -> Result<(Option<String>, Option<FilesOwner>), FilesError> {
    let mark = files.owner_mark().await?;
    let own = store.read(|tx| tx.files_owner()).await;
    Ok((mark, own.map_err(failed)?))
}

fn failed(error: StoreError) -> FilesError {
    FilesError::Unavailable(error.to_string())
}
