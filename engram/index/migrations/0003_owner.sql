-- The process that has a vault open, or had it last. It holds the advisory lock of
-- `owner_lock` as long as its connection lasts. `number` grows with each owner. `journal`
-- names the state folder whose journal may have turns of the vault, '' for none. The work
-- of a vault is due at `due`; while it is open, it is due already, for a process that
-- follows one that died. The table has no content, and the vaults' role may not see it.

CREATE TABLE owner (
    vault_id text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL DEFAULT 1,
    host text NOT NULL, pid integer NOT NULL, address text NOT NULL,
    journal text COLLATE "C" NOT NULL,
    due timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION owner_lock(vault_id text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT hashtextextended('engram ' || vault_id, 0) $$;
