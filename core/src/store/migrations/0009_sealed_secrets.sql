-- The master keys that have sealed something here, by their ids. The keys themselves are not in the
-- database: check_value opens only with the right one. One of them is current. Old ones stay, so that
-- none of them becomes current again. Nothing is sealed before seals_since: until then a program that can only read plain texts uses the database too.
CREATE TABLE master_keys (
    id TEXT NOT NULL PRIMARY KEY,
    check_value TEXT NOT NULL,
    is_current BIGINT NOT NULL,
    seals_since BIGINT,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX master_keys_current ON master_keys (is_current) WHERE is_current = 1;

-- Programs that can read sealed texts write 1.
ALTER TABLE processes ADD COLUMN reads_sealed BIGINT NOT NULL DEFAULT 0;

-- The key that the program seals under now. An old key is removed only once nobody uses it.
ALTER TABLE processes ADD COLUMN sealing_key TEXT;

-- The keys of the audit chain, sealed. Lines from before there were any have plain hashes.
ALTER TABLE audit_head ADD COLUMN chain_keys TEXT;

-- Texts that an older program wrote. Once they are sealed, these indexes are empty.
CREATE INDEX webhook_endpoints_plain ON webhook_endpoints (account_id)
    WHERE substr(secret, 1, 10) <> 'sealed:v1:';
CREATE INDEX webhook_endpoints_plain_old ON webhook_endpoints (account_id)
    WHERE substr(old_secret, 1, 10) <> 'sealed:v1:';
CREATE INDEX payments_plain ON payments (task_id)
    WHERE substr(client_secret, 1, 10) <> 'sealed:v1:';
CREATE INDEX sandbox_payments_plain ON sandbox_payments (payment_id)
    WHERE substr(client_secret, 1, 10) <> 'sealed:v1:';
CREATE INDEX sandbox_payout_accounts_plain ON sandbox_payout_accounts (payout_account_id)
    WHERE substr(link_secret, 1, 10) <> 'sealed:v1:';
