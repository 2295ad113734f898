-- Which database the stored files belong to. The same token lies beside the files and is replaced every few
-- minutes, so a copy of the database has an old one. The one before it counts until the new one lies there.
CREATE TABLE files_owner (
    id BIGINT NOT NULL PRIMARY KEY,
    token TEXT NOT NULL,
    previous_token TEXT NOT NULL
);
