-- The keys that sign proof bundles, all that ever did: whoever checks an old bundle needs an old key.
-- The private keys are service secrets. There is one current key of an algorithm.
CREATE TABLE bundle_keys (
    id TEXT NOT NULL PRIMARY KEY,
    algorithm TEXT NOT NULL,
    public_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    retired_at BIGINT
);

CREATE UNIQUE INDEX bundle_keys_current ON bundle_keys (algorithm) WHERE retired_at IS NULL;
