-- Passkeys of people. The private half never leaves the device, so nothing here is secret. Each has one of ten places, so
-- that nobody has more.
CREATE TABLE passkeys (
    id TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    place BIGINT NOT NULL,
    credential_id TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    public_key TEXT NOT NULL,
    counter BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);

CREATE UNIQUE INDEX passkeys_of_holder ON passkeys (holder, place);
CREATE UNIQUE INDEX passkeys_by_credential ON passkeys (credential_id);

-- Challenges that wait for an answer, for some minutes. Only the hash is kept. Any server takes the answer.
CREATE TABLE passkey_challenges (
    id TEXT NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    holder TEXT,
    hash TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX passkey_challenges_expiring ON passkey_challenges (expires_at);
