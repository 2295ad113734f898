-- A link that was voided opens nothing, and counts until it would have expired. The address is counted by a
-- hash under a secret of the service, because it is erased with whoever the link belonged to.
ALTER TABLE mail_links ADD COLUMN voided_at BIGINT;
ALTER TABLE mail_links ADD COLUMN email_hash TEXT NOT NULL DEFAULT '';
CREATE INDEX mail_links_to_address ON mail_links (email_hash, purpose);
DROP INDEX mail_links_of_address;

-- The admin key with which a key was created. Empty for those of the command line.
ALTER TABLE admin_keys ADD COLUMN created_by TEXT;
