-- Two more replaced secrets of an endpoint, older ones in higher places. Each signs until its time.
ALTER TABLE webhook_endpoints ADD COLUMN old_secret_2 TEXT;
ALTER TABLE webhook_endpoints ADD COLUMN old_secret_2_until BIGINT;
ALTER TABLE webhook_endpoints ADD COLUMN old_secret_3 TEXT;
ALTER TABLE webhook_endpoints ADD COLUMN old_secret_3_until BIGINT;

-- Like those of the first two secrets: empty once all texts are sealed.
CREATE INDEX webhook_endpoints_plain_old_2 ON webhook_endpoints (account_id)
    WHERE substr(old_secret_2, 1, 10) <> 'sealed:v1:';
CREATE INDEX webhook_endpoints_plain_old_3 ON webhook_endpoints (account_id)
    WHERE substr(old_secret_3, 1, 10) <> 'sealed:v1:';
