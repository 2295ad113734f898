-- An address that nobody has confirmed is only claimed: several accounts may claim the same one. Until
-- it is confirmed, `email` holds a name that is no address, made from the id.
ALTER TABLE accounts ADD COLUMN claimed_email TEXT;

-- For the pages. Accounts that were made by a command have none until somebody follows an invitation.
ALTER TABLE accounts ADD COLUMN password_hash TEXT;

CREATE INDEX accounts_by_claimed_email ON accounts (claimed_email, id)
    WHERE claimed_email IS NOT NULL;

-- Links that were mailed to somebody and work once. Only the hash of the token is here.
CREATE TABLE mail_links (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    purpose TEXT NOT NULL,
    person_kind TEXT NOT NULL,
    person_id TEXT NOT NULL,
    email TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);

CREATE INDEX mail_links_of_person ON mail_links (person_kind, person_id, purpose);
CREATE INDEX mail_links_of_address ON mail_links (email, purpose);
CREATE INDEX mail_links_by_age ON mail_links (expires_at);

-- Sessions of people on the pages. A session that was revoked is deleted.
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    person_kind TEXT NOT NULL,
    person_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    signed_in_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    address TEXT NOT NULL,
    user_agent TEXT NOT NULL
);

CREATE INDEX sessions_of_person ON sessions (person_kind, person_id, id);
CREATE INDEX sessions_by_age ON sessions (expires_at);
