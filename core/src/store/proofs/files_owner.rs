//! The token by which the stored files belong to this database (`maintenance/files_owner.rs`).

use crate::store::{StoreError, Tx, columns};

columns! {
    macro owner;
    columns { token, previous_token }
    row FilesOwner = FilesOwner { token, previous: previous_token };
}

crate::store::statements! {
    GET = concat!("SELECT ", owner!(columns), " FROM files_owner WHERE id = 1");
    ADD = "INSERT INTO files_owner (id, token, previous_token) VALUES (1, ?1, ?1)
        ON CONFLICT (id) DO NOTHING";
    RENEW = "UPDATE files_owner SET token = ?2, previous_token = ?1 WHERE id = 1 AND token = ?1";
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesOwner {
    pub token: String,
    pub previous: String,
}

impl Tx<'_> {
    pub fn files_owner(&mut self) -> Result<Option<FilesOwner>, StoreError> {
        self.optional(GET, &[])
    }

    /// The token of this database: this one, unless there is one already.
    pub fn add_files_owner(&mut self, token: &str) -> Result<String, StoreError> {
        self.execute(ADD, &[token.into()])?;
        let kept = self.files_owner()?;
        Ok(kept.map_or_else(|| token.to_owned(), |owner| owner.token))
    }

    /// False when another server was faster.
    pub fn renew_files_owner(&mut self, token: &str, new: &str) -> Result<bool, StoreError> {
        Ok(self.execute(RENEW, &[token.into(), new.into()])? == 1)
    }
}
