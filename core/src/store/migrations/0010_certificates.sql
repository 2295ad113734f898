-- Certificates from an authority that speaks ACME. All servers on the database share them.

-- Our account at each authority. The credentials hold the account's private key; they are sealed.
CREATE TABLE acme_accounts (
    directory TEXT NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    credentials TEXT NOT NULL
);

-- One row for each directory and list of domains. The private key is sealed. One server at a time
-- holds the claim and orders.
CREATE TABLE acme_certificates (
    id TEXT NOT NULL PRIMARY KEY,
    chain TEXT,
    private_key TEXT,
    -- Grows when the certificate or the challenges change, so that servers know what to read again.
    revision BIGINT NOT NULL DEFAULT 0,
    claim TEXT,
    claimed_until BIGINT,
    next_order_at BIGINT NOT NULL,
    -- Failed orders in a row, and what the authority said last.
    failures BIGINT NOT NULL DEFAULT 0,
    last_error TEXT
);

-- What the authority must be shown in a handshake for each domain while it checks: a certificate and
-- its key, sealed. Every server has them, because the authority may reach any.
CREATE TABLE acme_challenges (
    id TEXT NOT NULL PRIMARY KEY,
    certificate_id TEXT NOT NULL,
    domain TEXT NOT NULL,
    answer TEXT NOT NULL
);

CREATE INDEX acme_challenges_of_certificate ON acme_challenges (certificate_id, domain);
