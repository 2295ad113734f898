//! Who owns the files of the service. An administrator may run a command as root: what that creates must
//! not be closed to the user of the service.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

/// Gives a file or folder that was just created to the owner of another. Without the right to do so, it
/// stays as it is: then its creator is the user of the service.
pub fn give_to_owner_of(created: &Path, like: &Path) {
    let (Ok(own), Ok(other)) = (created.metadata(), like.metadata()) else {
        return;
    };
    if own.uid() != other.uid() {
        let _ = chown(created, Some(other.uid()), Some(other.gid()));
    }
}

/// The same with the folder that it is in.
pub fn give_to_owner_of_folder(created: &Path) {
    if let Some(folder) = created.parent().filter(|folder| *folder != Path::new("")) {
        give_to_owner_of(created, folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_root_creates_belongs_to_the_user_of_the_service() {
        let folder = tempfile::tempdir().unwrap();
        let created = folder.path().join("created");
        std::fs::write(&created, "").unwrap();
        if chown(folder.path(), Some(1234), Some(5678)).is_err() {
            // Only root can make a file of somebody else.
            return;
        }
        give_to_owner_of_folder(&created);
        let owned = created.metadata().unwrap();
        assert_eq!((owned.uid(), owned.gid()), (1234, 5678));
    }
}
