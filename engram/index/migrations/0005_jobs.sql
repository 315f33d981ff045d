-- When a vault has work that needs no request. No content; the vaults' own role may not
-- see it. `served` is when a daemon last had the vault open: the longest ago is next.

CREATE TABLE job (
    vault_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('extract', 'consolidate')),
    due timestamptz NOT NULL DEFAULT now(),
    served timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (vault_id, kind)
);
